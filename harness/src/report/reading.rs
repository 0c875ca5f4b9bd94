//! A transcript read once: who says what to whom, in a word, and where in it secrets stand.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use diverge_protocol::transcript::{
    AgentCall, Event, Link, LinkId, LinkKind, Role, Transcript, What,
};
use diverge_protocol::wire::client_line::ClientLine;
use diverge_protocol::wire::frame::{Frame, FrameType, HEADER};
use diverge_protocol::wire::profile::{
    BeginChannel, ClientChannel, Profile, ProviderChannel, ProxyChannel,
};
use diverge_protocol::wire::run::RunKind;

/// One event, read.
#[derive(Debug)]
pub(super) struct Read<'t> {
    /// The event.
    pub event: &'t Event,
    /// Its link.
    pub link: &'t Link,
    /// Who it goes to; of an opening, the side that was dialled.
    pub to: Role,
    /// Who it comes from; of an opening, the side that dialled.
    pub from: Role,
    /// The frame, where it is one.
    pub frame: Option<Frame>,
    /// What it is, in a word or two.
    pub word: Cow<'static, str>,
    /// Where behind that word's first byte the message's own content stands, in the raw bytes.
    pub body: Range<usize>,
    /// What of it is secret by its place, in the raw bytes.
    pub secret: Option<Secret>,
}

/// A secret place in a message.
#[derive(Debug)]
pub(super) struct Secret {
    /// The whole place.
    pub place: Range<usize>,
    /// The texts in it, each to be known again elsewhere.
    pub texts: Vec<Range<usize>>,
}

impl Read<'_> {
    /// The raw bytes of the message; an opening or an end has none.
    pub(super) fn raw(&self) -> &[u8] {
        match &self.event.what {
            What::Binary(bytes) => bytes,
            What::Text(text) => text.as_bytes(),
            What::Request { body, .. } => body,
            What::Response { body, .. } => body.as_deref().unwrap_or_default(),
            What::ServerEvent(data) | What::Line(data) => data,
            What::Opened { .. }
            | What::Refused { .. }
            | What::Closed
            | What::Broken
            | What::Exited { .. } => &[],
        }
    }
}

/// Reads every event of a transcript.
pub(super) fn read(transcript: &Transcript) -> impl Iterator<Item = Read<'_>> {
    let mut channels = Channels::default();
    transcript
        .events
        .iter()
        .filter_map(move |event| Some(channels.read(event, transcript.link(event.link)?)))
}

/// What a channel was opened for.
#[derive(Debug, Clone, Copy)]
enum Ask {
    Client(ClientChannel),
    Provider(ProviderChannel),
    Begin(BeginChannel),
    Proxy(ProxyChannel),
}

impl Ask {
    fn of(link: LinkKind, opener: Role, first: u8) -> Option<Self> {
        let profile = Profile::scope();
        match (link, opener) {
            (LinkKind::Client, Role::Client) => {
                profile.client_channels.word(first).map(Self::Client)
            }
            (LinkKind::Client, _) => profile.provider_channels.word(first).map(Self::Provider),
            (LinkKind::Begin, Role::Provider) => {
                profile.begin_channels.word(first).map(Self::Begin)
            }
            (LinkKind::Begin, _) => profile.proxy_channels.word(first).map(Self::Proxy),
            (LinkKind::Path(_) | LinkKind::Call | LinkKind::Address | LinkKind::Output, _) => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Client(channel) => channel.name(),
            Self::Provider(channel) => channel.name(),
            Self::Begin(channel) => channel.name(),
            Self::Proxy(channel) => channel.name(),
        }
    }

    /// Whether what is asked and answered there is nobody else's business.
    fn is_secret(self) -> bool {
        let name = self.name();
        name == ClientChannel::Secrets.name() || name.starts_with("vault-")
    }

    /// The texts of a secret ask that stands in `body`: a vault's keys and values, or all of it.
    fn texts(self, raw: &[u8], body: Range<usize>) -> Vec<Range<usize>> {
        let start = body.start;
        match self.name() {
            "vault-set" => {
                let length = raw
                    .get(start..start + 2)
                    .map_or(0, |two| usize::from(two[0]) << 8 | usize::from(two[1]));
                let key = (start + 2).min(body.end)..(start + 2 + length).min(body.end);
                vec![key.clone(), key.end..body.end]
            }
            "vault-lock" => {
                let key = (start + 4).min(body.end)..body.end;
                vec![key]
            }
            _ => vec![body],
        }
    }

    /// An answer's name by its first byte, where the profile has one.
    fn answer(self, first: u8) -> Option<&'static str> {
        let profile = Profile::scope();
        match self {
            Self::Client(ClientChannel::Enqueue) | Self::Begin(BeginChannel::Enqueue) => profile
                .enqueue_answers
                .word(first)
                .map(|answer| answer.name()),
            Self::Client(ClientChannel::Dequeue) | Self::Begin(BeginChannel::Dequeue) => profile
                .dequeue_answers
                .word(first)
                .map(|answer| answer.name()),
            Self::Client(ClientChannel::Schema) | Self::Begin(BeginChannel::Schema) => profile
                .schema_answers
                .word(first)
                .map(|answer| answer.name()),
            _ => None,
        }
    }
}

/// The channels seen so far, by link, scope, number and opener.
#[derive(Debug, Default)]
struct Channels {
    asks: HashMap<(LinkId, u32, u32, Role), Vec<Ask>>,
}

/// A message of the path revision in a word: an ask, or an answer by its first byte.
fn path_word(kind: LinkKind, back: bool, bytes: &[u8]) -> &'static str {
    let LinkKind::Path(call) = kind else {
        return "message";
    };
    if !back {
        return call.name();
    }
    let Some(first) = bytes.first() else {
        return "empty message";
    };
    match (call, first) {
        (AgentCall::Run, 0) => "chunk",
        (AgentCall::Register, 0) => "registered",
        (AgentCall::Schema, 0) => "schema",
        (AgentCall::Enqueue, 0) => "delivered",
        (AgentCall::Enqueue, 1) => "dequeued",
        (AgentCall::Enqueue, 2) => "missed",
        (AgentCall::Dequeue, 0) => "withdrawn",
        (AgentCall::Dequeue, 1) => "nothing waited",
        (AgentCall::Run | AgentCall::Register | AgentCall::Schema, 1)
        | (AgentCall::Enqueue, 3)
        | (AgentCall::Dequeue, 2) => "error",
        _ => "message with an unknown first byte",
    }
}

impl Channels {
    fn read<'t>(&mut self, event: &'t Event, link: &'t Link) -> Read<'t> {
        let (dialler, dialled) = link.kind.roles();
        let listens = link.kind == LinkKind::Address;
        let dials = matches!(event.what, What::Opened { .. }) && !listens;
        let back = event.sender == dialled && !dials;
        let (from, to) = if back {
            (dialled, dialler)
        } else {
            (dialler, dialled)
        };
        let mut read = Read {
            event,
            link,
            from,
            to,
            frame: None,
            word: Cow::Borrowed(""),
            body: 0..0,
            secret: None,
        };
        match &event.what {
            What::Opened { .. } if listens => read.word = "listens".into(),
            What::Closed if listens => read.word = "listens no more".into(),
            What::Opened { .. } => read.word = "connects".into(),
            What::Refused {
                status: Some(status),
            } => read.word = format!("refuses with HTTP status {status}").into(),
            What::Refused { status: None } => read.word = "hangs up instead of a handshake".into(),
            What::Closed => read.word = "closes".into(),
            What::Broken => read.word = "breaks off".into(),
            What::Request { method, path, body } => {
                read.word = format!("{method} {path}").into();
                read.body = 0..body.len();
            }
            What::Response { status, body, .. } => {
                read.word = match body {
                    Some(body) => {
                        read.body = 0..body.len();
                        format!("{status}").into()
                    }
                    None => format!("{status}, a stream of events").into(),
                };
            }
            What::ServerEvent(data) => {
                read.word = "event".into();
                read.body = 0..data.len();
            }
            What::Line(line) => {
                read.word = "writes".into();
                read.body = 0..line.len();
                if matches!(ClientLine::decode(line), Ok(ClientLine::Inactive(_))) {
                    // Its values are known from the message that it tells of.
                    read.word = "writes inactive".into();
                    read.secret = secret(0..line.len(), Vec::new());
                }
            }
            What::Exited { code: Some(code) } => read.word = format!("exits with {code}").into(),
            What::Exited { code: None } => read.word = "is ended by a signal".into(),
            What::Binary(bytes) if matches!(link.kind, LinkKind::Path(_)) => {
                read.word = path_word(link.kind, back, bytes).into();
                read.body = usize::from(back).min(bytes.len())..bytes.len();
            }
            What::Text(text) => {
                read.word = "text message".into();
                read.body = 0..text.len();
            }
            What::Binary(bytes) => match Frame::decode(bytes.clone()) {
                Ok(frame) => {
                    self.frame(&mut read, &frame, bytes);
                    read.frame = Some(frame);
                }
                Err(_) if bytes.len() < HEADER => {
                    read.word = "message too short for a frame".into();
                    read.body = 0..bytes.len();
                }
                Err(_) => {
                    read.word = format!("frame of type {}", bytes[0]).into();
                    read.body = 1..bytes.len();
                }
            },
        }
        read
    }

    fn frame(&mut self, read: &mut Read<'_>, frame: &Frame, raw: &[u8]) {
        let profile = Profile::scope();
        let first = frame.payload.first().copied();
        let behind_first = (HEADER + 1).min(raw.len())..raw.len();
        let key = |opener| (read.link.id, frame.scope, frame.channel, opener);
        read.body = HEADER..raw.len();
        let word = match frame.kind {
            FrameType::Authorization => {
                read.secret = secret(behind_first.clone(), vec![behind_first]);
                return read.word = "credential".into();
            }
            FrameType::Request => match read.link.kind {
                LinkKind::Client => first
                    .and_then(|first| profile.run_request.word(first))
                    .map(|_| "run"),
                LinkKind::Begin => first
                    .and_then(|first| profile.begin_request.word(first))
                    .map(|_| "begin"),
                LinkKind::Path(_) | LinkKind::Call | LinkKind::Address | LinkKind::Output => None,
            },
            FrameType::Response => {
                let word = match read.link.kind {
                    LinkKind::Client => first.and_then(RunKind::from_byte).map(RunKind::name),
                    LinkKind::Begin => first
                        .and_then(|first| profile.begin_responses.word(first))
                        .map(|kind| kind.name()),
                    LinkKind::Path(_) | LinkKind::Call | LinkKind::Address | LinkKind::Output => {
                        None
                    }
                };
                if word == Some(RunKind::Inactive.name()) {
                    read.secret = secret(behind_first.clone(), vec![behind_first.clone()]);
                }
                word
            }
            FrameType::ResponseFinish => return read.word = "finish".into(),
            FrameType::ChannelRequest => {
                let ask = first.and_then(|first| Ask::of(read.link.kind, read.from, first));
                self.asks.entry(key(read.from)).or_default().extend(ask);
                if let Some(ask) = ask.filter(|ask| ask.is_secret()) {
                    read.secret =
                        secret(behind_first.clone(), ask.texts(raw, behind_first.clone()));
                }
                ask.map(Ask::name)
            }
            FrameType::ChannelResponse => {
                let asks = self
                    .asks
                    .get(&key(read.to))
                    .map(Vec::as_slice)
                    .unwrap_or_default();
                if asks.iter().any(|ask| ask.is_secret()) {
                    read.secret = secret(behind_first.clone(), vec![behind_first.clone()]);
                }
                let answer = asks
                    .last()
                    .zip(first)
                    .and_then(|(ask, first)| ask.answer(first));
                match (answer, asks.last()) {
                    (Some(answer), _) => {
                        read.body = behind_first;
                        return read.word = format!("answer: {answer}").into();
                    }
                    (None, Some(ask)) => {
                        return read.word = format!("{} answer", ask.name()).into();
                    }
                    (None, None) => Some("answer"),
                }
            }
            FrameType::ChannelResponseFinish => {
                let ask = self.asks.get(&key(read.to)).and_then(|asks| asks.last());
                let word = ask.map_or(Cow::Borrowed("channel finish"), |ask| {
                    format!("{} finish", ask.name()).into()
                });
                return read.word = word;
            }
        };
        match word {
            Some(word) => {
                read.word = word.into();
                if frame.kind != FrameType::ChannelResponse {
                    read.body = behind_first;
                }
            }
            None => read.word = format!("unknown {}", frame.kind.name()).into(),
        }
    }
}

fn secret(place: Range<usize>, texts: Vec<Range<usize>>) -> Option<Secret> {
    (!place.is_empty()).then_some(Secret { place, texts })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn words(frames: &[(LinkKind, Role, Frame)]) -> Vec<(String, bool)> {
        let mut transcript = Transcript::default();
        let client = transcript.open(LinkKind::Client, "client", None);
        let begin = transcript.open(LinkKind::Begin, "proxy of run", None);
        for (kind, sender, frame) in frames {
            let link = if *kind == LinkKind::Client {
                client
            } else {
                begin
            };
            transcript.record(Duration::ZERO, link, *sender, What::Binary(frame.encode()));
        }
        read(&transcript)
            .map(|read| (read.word.clone().into_owned(), read.secret.is_some()))
            .collect()
    }

    fn word(kind: LinkKind, sender: Role, frame: Frame) -> (String, bool) {
        words(&[(kind, sender, frame)]).remove(0)
    }

    #[test]
    fn run_and_begin_responses_are_told_by_their_link() {
        let response = |tag: u8| Frame::new(FrameType::Response, 1, 0, vec![tag, b'{', b'}']);
        assert_eq!(
            word(LinkKind::Client, Role::Provider, response(9)),
            ("inactive".into(), true)
        );
        assert_eq!(
            word(LinkKind::Begin, Role::Proxy, response(4)),
            ("inactive".into(), true)
        );
        assert_eq!(
            word(LinkKind::Begin, Role::Proxy, response(2)),
            ("chunk".into(), false)
        );
        assert_eq!(
            word(LinkKind::Client, Role::Provider, response(99)),
            ("unknown response".into(), false)
        );
    }

    #[test]
    fn an_answer_is_named_after_what_its_channel_asks() {
        let frame = |kind, payload: &[u8]| Frame::new(kind, 1, 7, payload.to_vec());
        let said = words(&[
            (
                LinkKind::Client,
                Role::Client,
                frame(FrameType::ChannelRequest, b"\x08{}"),
            ),
            (
                LinkKind::Client,
                Role::Provider,
                frame(FrameType::ChannelResponse, b"\0"),
            ),
            (
                LinkKind::Client,
                Role::Provider,
                frame(FrameType::ChannelResponseFinish, b""),
            ),
            // The provider's channel of the same number is another channel.
            (
                LinkKind::Client,
                Role::Provider,
                frame(FrameType::ChannelRequest, b"\x07key"),
            ),
            (
                LinkKind::Client,
                Role::Client,
                frame(FrameType::ChannelResponse, b"\0value"),
            ),
        ]);
        let expected = [
            ("enqueue", false),
            ("answer: delivered", false),
            ("enqueue finish", false),
            ("vault-get", true),
            ("vault-get answer", true),
        ];
        assert_eq!(
            said,
            expected.map(|(word, secret)| (word.to_owned(), secret))
        );
    }

    #[test]
    fn what_is_no_frame_is_told_by_its_length_or_type() {
        let mut transcript = Transcript::default();
        let link = transcript.open(LinkKind::Client, "client", None);
        for bytes in [&b"\x01\x02"[..], &[9; 12]] {
            transcript.record(
                Duration::ZERO,
                link,
                Role::Client,
                What::Binary(bytes.to_vec().into()),
            );
        }
        let words: Vec<_> = read(&transcript).map(|read| read.word).collect();
        assert_eq!(words, ["message too short for a frame", "frame of type 9"]);
    }
}
