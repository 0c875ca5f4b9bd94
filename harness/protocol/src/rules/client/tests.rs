//! The checkers of a client, each on a talk that breaks one requirement and on one that does not.

use std::time::Duration;

use bytes::Bytes;

use super::{ClientCheckers, id};
use crate::rules::RequirementId;
use crate::transcript::{LinkId, LinkKind, Role, Transcript, What};
use crate::wire::{Frame, FrameType, Profile};

const REQUEST: &[u8] =
    br#"{"image":{"name":"a/b","digest":"sha256:00"},"memory":1,"disk":2,"arguments":null}"#;

struct Talk {
    transcript: Transcript,
    checkers: ClientCheckers,
    wire: LinkId,
    output: LinkId,
    broken: Vec<RequirementId>,
}

impl Talk {
    fn new() -> Self {
        let mut transcript = Transcript::default();
        let wire = transcript.open(LinkKind::Client, "client", None);
        let output = transcript.open(LinkKind::Output, "client", None);
        let mut checkers = ClientCheckers::new(Profile::scope());
        transcript.links.iter().for_each(|link| checkers.link(link));
        Self {
            transcript,
            checkers,
            wire,
            output,
            broken: Vec::new(),
        }
    }

    /// With the credential and the request on scope 1 sent.
    fn asked() -> Self {
        let mut talk = Self::new();
        talk.client(FrameType::Authorization, 0, 0, b"\0secret");
        talk.client(FrameType::Request, 1, 0, &[b"\0", REQUEST].concat());
        talk
    }

    fn event(&mut self, link: LinkId, sender: Role, what: What) {
        self.transcript.record(Duration::ZERO, link, sender, what);
        let mut wrong = Vec::new();
        let event = self.transcript.events.last().expect("it was recorded");
        self.checkers.event(event, &mut wrong);
        self.broken.extend(wrong.iter().map(|it| it.requirement));
    }

    fn client(&mut self, kind: FrameType, scope: u32, channel: u32, payload: &[u8]) {
        let frame = Frame::new(kind, scope, channel, payload.to_vec());
        self.event(self.wire, Role::Client, What::Binary(frame.encode()));
    }

    fn provider(&mut self, kind: FrameType, scope: u32, channel: u32, payload: &[u8]) {
        let frame = Frame::new(kind, scope, channel, payload.to_vec());
        self.event(self.wire, Role::Provider, What::Binary(frame.encode()));
    }

    fn line(&mut self, line: &str) {
        let line = Bytes::from(line.to_owned());
        self.event(self.output, Role::Client, What::Line(line));
    }
}

#[test]
fn the_ids_are_those_of_the_catalogue() {
    for id in id::ALL {
        assert_eq!(RequirementId::new(id.as_str()), Some(*id));
    }
}

#[test]
fn an_ordinary_client_breaks_nothing() {
    let mut talk = Talk::asked();
    talk.provider(FrameType::Response, 1, 0, b"\0{\"id\":\"x\"}");
    talk.client(FrameType::ChannelRequest, 1, 1, b"\x06");
    talk.provider(FrameType::ChannelRequest, 1, 1, b"\x0c{}");
    talk.client(FrameType::ChannelResponse, 1, 1, b"\0{}");
    talk.client(FrameType::ChannelResponseFinish, 1, 1, b"");
    talk.provider(FrameType::ChannelResponseFinish, 1, 1, b"");
    talk.client(FrameType::ChannelRequest, 1, 1, b"\0");
    talk.provider(FrameType::ResponseFinish, 1, 0, b"");
    // This was on its way.
    talk.client(FrameType::ChannelRequest, 1, 2, b"\x06");
    for line in [
        r#"{"event":"id","id":"x"}"#,
        "",
        r#"{"event":"note"}"#,
        r#" {"more":1,"event":"finished"} "#,
    ] {
        talk.line(line);
    }
    talk.event(talk.output, Role::Client, What::Exited { code: Some(0) });
    assert_eq!(talk.broken, []);
}

#[test]
fn what_is_wrong_on_the_wire_is_told_by_its_requirement() {
    type Act = fn(&mut Talk);
    let cases: [(Act, RequirementId); 12] = [
        (
            |talk| talk.event(talk.wire, Role::Client, What::Text("hello".to_owned())),
            id::BINARY,
        ),
        (
            |talk| {
                talk.event(
                    talk.wire,
                    Role::Client,
                    What::Binary(Bytes::from_static(b"\x01")),
                )
            },
            id::FRAMES,
        ),
        (
            |talk| talk.client(FrameType::Response, 1, 0, b"\x08"),
            id::FRAMES,
        ),
        (
            |talk| talk.client(FrameType::ChannelResponseFinish, 1, 0, b"x"),
            id::FRAMES,
        ),
        (
            |talk| talk.client(FrameType::Authorization, 0, 0, b"\0secret"),
            id::CREDENTIAL_ONCE,
        ),
        (
            |talk| talk.client(FrameType::Request, 2, 0, b"\0{}"),
            id::RUN_ONCE,
        ),
        (
            |talk| talk.client(FrameType::ChannelRequest, 2, 1, b"\x06"),
            id::CHANNEL_OPEN_SCOPE,
        ),
        (
            |talk| {
                talk.client(FrameType::ChannelRequest, 1, 1, b"\x06");
                talk.client(FrameType::ChannelRequest, 1, 1, b"\x06");
            },
            id::CHANNEL_FREE_NUMBER,
        ),
        (
            |talk| talk.client(FrameType::ChannelRequest, 1, 1, b"\xfa"),
            id::CHANNEL_READABLE,
        ),
        (
            |talk| talk.client(FrameType::ChannelRequest, 1, 1, b"\x08[]"),
            id::CHANNEL_READABLE,
        ),
        (
            |talk| talk.client(FrameType::ChannelResponseFinish, 1, 7, b""),
            id::CHANNEL_ANSWERS,
        ),
        (
            |talk| {
                talk.provider(FrameType::ChannelRequest, 1, 7, b"\x07key");
                talk.client(FrameType::ChannelResponseFinish, 1, 7, b"");
                talk.client(FrameType::ChannelResponse, 1, 7, b"\x01");
            },
            id::CHANNEL_ANSWERS,
        ),
    ];
    for (at, (act, broken)) in cases.into_iter().enumerate() {
        let mut talk = Talk::asked();
        act(&mut talk);
        assert_eq!(talk.broken, [broken], "case {at}");
    }
}

#[test]
fn the_first_words_are_judged_too() {
    let mut talk = Talk::new();
    talk.client(FrameType::Request, 1, 0, &[b"\0", REQUEST].concat());
    assert_eq!(talk.broken, [id::CREDENTIAL_FIRST]);
    let mut talk = Talk::new();
    talk.client(FrameType::Authorization, 0, 0, b"\x01secret");
    talk.client(FrameType::Request, 1, 0, b"\0[]");
    assert_eq!(talk.broken, [id::CREDENTIAL_GIVEN, id::RUN_READABLE]);
}

#[test]
fn what_is_wrong_with_the_lines_is_told_by_its_requirement() {
    let finished = r#"{"event":"finished"}"#;
    for (lines, broken) in [
        (vec!["finished"], id::LINE_OBJECT),
        (vec![r#"["id"]"#], id::LINE_OBJECT),
        (vec![r#"{"event":"chunk"}"#], id::LINE_MEMBERS),
        (vec![finished, finished], id::FINISH_LAST),
        (vec![finished, r#"{"event":"active"}"#], id::FINISH_LAST),
    ] {
        let mut talk = Talk::asked();
        lines.iter().for_each(|line| talk.line(line));
        assert_eq!(talk.broken, [broken], "{lines:?}");
    }
    for code in [Some(1), None] {
        let mut talk = Talk::asked();
        talk.line(finished);
        talk.event(talk.output, Role::Client, What::Exited { code });
        assert_eq!(talk.broken, [id::FINISH_EXIT], "{code:?}");
    }
}
