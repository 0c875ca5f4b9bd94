//! What faults of the client's channels have in common: which channel a message is about, and how to answer it.

use bytes::Bytes;
use diverge_protocol::wire::profile::{BeginChannel, ClientChannel};
use diverge_protocol::wire::{FrameType, Profile};

use crate::fault::{Interceptor, Step, on, replace, rewrite};
use crate::view::{Flow, Message, Part, RunView};

/// What a channel request of the client's asks, by its payload.
pub(super) fn asked(payload: &[u8]) -> Option<ClientChannel> {
    Profile::scope().client_channels.word(*payload.first()?)
}

/// How many open channels of the client's ask that.
pub(super) fn open(run: &RunView, kind: ClientChannel) -> usize {
    let asks = run.client_channels.values();
    asks.filter(|ask| asked(ask) == Some(kind)).count()
}

/// The client's open channels that ask that, by number.
pub(super) fn numbers(run: &RunView, kind: ClientChannel) -> Vec<u32> {
    let asks = run.client_channels.iter();
    let mut numbers: Vec<u32> = asks
        .filter(|(_, ask)| asked(ask) == Some(kind))
        .map(|(number, _)| *number)
        .collect();
    numbers.sort_unstable();
    numbers
}

/// Whether the client opens a channel that asks that.
pub(super) fn opens(message: &Message<'_>, kind: ClientChannel) -> bool {
    message.flow == Flow::FromClient
        && message.part == Part::Ask
        && asked(&message.frame.payload) == Some(kind)
}

/// Whether an open run's client opens a channel that asks that, and the run is as `when` says.
pub(super) fn opens_when(
    message: &Message<'_>,
    kind: ClientChannel,
    when: impl FnOnce(&RunView) -> bool,
) -> bool {
    opens(message, kind) && message.run.is_some_and(|run| !run.finished && when(run))
}

/// Whether the provider carries such an ask on to the proxy.
pub(super) fn carries(message: &Message<'_>, kind: BeginChannel) -> bool {
    let word = |byte: &u8| Profile::scope().begin_channels.word(*byte);
    message.flow == Flow::ToProxy
        && message.part == Part::Ask
        && message.frame.payload.first().and_then(word) == Some(kind)
}

fn on_open_channel(message: &Message<'_>, part: Part, kind: ClientChannel) -> bool {
    message.flow == Flow::ToClient
        && message.is(part, |run| {
            let ask = run.client_channels.get(&message.frame.channel);
            ask.is_some_and(|ask| asked(ask) == Some(kind))
        })
}

/// Whether the provider answers such an ask.
pub(super) fn answers(message: &Message<'_>, kind: ClientChannel) -> bool {
    on_open_channel(message, Part::Answer, kind)
}

/// Whether the provider finishes the channel of such an ask.
pub(super) fn finishes(message: &Message<'_>, kind: ClientChannel) -> bool {
    on_open_channel(message, Part::AnswerFinish, kind)
}

/// An answer on the channel that the message is about.
pub(super) fn answer(message: &Message<'_>, payload: impl Into<Bytes>) -> Step {
    message.tell_client(FrameType::ChannelResponse, message.frame.channel, payload)
}

/// The finish of a channel of the client's.
pub(super) fn finish(message: &Message<'_>, channel: u32) -> Step {
    message.tell_client(FrameType::ChannelResponseFinish, channel, Bytes::new())
}

/// Finishes the channels for which `when` holds at once, without carrying their asks on.
pub(super) fn turn_away(when: impl FnMut(&Message<'_>) -> bool + Send + 'static) -> Interceptor {
    replace(Flow::FromClient, when, |message| {
        vec![finish(message, message.frame.channel)]
    })
}

/// Answers such asks where the proxy only finishes their channel.
pub(super) fn answer_unserved(kind: ClientChannel, payload: &'static [u8]) -> Interceptor {
    let mut answered = std::collections::HashSet::new();
    on(Flow::ToClient, move |message, next| {
        let channel = (message.scope(), message.frame.channel);
        if answers(message, kind) {
            answered.insert(channel);
        } else if finishes(message, kind) && !answered.remove(&channel) {
            next.push(answer(message, payload));
        }
        next.push(message.pass());
    })
}

/// Takes the white space out of the answers to such asks that start with that byte.
pub(super) fn compact_answers(kind: ClientChannel, first: u8) -> Interceptor {
    rewrite(
        Flow::ToClient,
        move |message| answers(message, kind) && message.frame.payload.first() == Some(&first),
        |message| {
            [&message.frame.payload[..1], &compact(message.body())]
                .concat()
                .into()
        },
    )
}

/// JSON without the white space between its parts.
pub(super) fn compact(json: &[u8]) -> Vec<u8> {
    let (mut quoted, mut escaped) = (false, false);
    let mut kept = json.to_vec();
    kept.retain(|byte| {
        let keep = quoted || !byte.is_ascii_whitespace();
        if escaped {
            escaped = false;
        } else if quoted && *byte == b'\\' {
            escaped = true;
        } else if *byte == b'"' {
            quoted = !quoted;
        }
        keep
    });
    kept
}

/// Whether a text stands somewhere in the bytes.
pub(super) fn holds(bytes: &[u8], text: &str) -> bool {
    bytes
        .windows(text.len())
        .any(|part| part == text.as_bytes())
}

/// Whether a run's last loop handed values back.
#[derive(Default)]
pub(super) struct Unfed(std::collections::HashSet<(crate::policy::ClientId, u32)>);

impl Unfed {
    pub(super) fn note(&mut self, message: &Message<'_>) {
        if message.flow == Flow::FromProxy && message.part == Part::Inactive {
            if message.body() == b"{}" {
                self.0.remove(&message.scope());
            } else {
                self.0.insert(message.scope());
            }
        }
    }

    pub(super) fn is(&self, message: &Message<'_>) -> bool {
        self.0.contains(&message.scope())
    }
}
