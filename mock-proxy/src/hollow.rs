//! Hollow proxies: peers that implement nothing, and must pass nothing.

use bytes::Bytes;
use diverge_protocol::rules::Revision;
use diverge_protocol::wire::{Frame, FrameType};

use crate::policy::{Admission, HostId, Input, Output, Proxy};

/// What happens to a host before its WebSocket is up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// Requests for a WebSocket are granted.
    Open,
    /// They are answered with HTTP status 503.
    Status,
    /// The TCP connection is ended without an answer.
    HangUp,
}

/// A named hollow proxy.
#[derive(Debug, Clone, Copy)]
pub struct Hollow {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
    /// What it does with a handshake.
    pub door: Door,
    opened: Act,
    heard: Act,
}

/// What is done when a host opened its connection (with no bytes) or sent a binary message.
type Act = fn(Revision, HostId, &Bytes, &mut Vec<Output>);

const NOTHING: Act = |_, _, _, _| {};
const DROP: Act = |_, host, _, out| out.push(Output::Drop(host));

const HOLLOW: &[Hollow] = &[
    Hollow {
        name: "refuse",
        about: "answers the handshake with an HTTP error",
        door: Door::Status,
        opened: NOTHING,
        heard: NOTHING,
    },
    Hollow {
        name: "hang-up",
        about: "hangs up instead of a handshake",
        door: Door::HangUp,
        opened: NOTHING,
        heard: NOTHING,
    },
    hollow(
        "hang-up-after-handshake",
        "hangs up after the handshake",
        DROP,
        NOTHING,
    ),
    hollow(
        "hang-up-after-first-message",
        "hangs up after the first message",
        NOTHING,
        DROP,
    ),
    hollow(
        "close-after-handshake",
        "ends every connection with a close frame, and says nothing",
        |_, host, _, out| out.push(Output::Close(host)),
        NOTHING,
    ),
    hollow(
        "mute",
        "takes everything and says nothing",
        NOTHING,
        NOTHING,
    ),
    hollow(
        "echo",
        "sends every message back",
        NOTHING,
        |_, host, bytes, out| out.push(Output::Send(host, bytes.clone())),
    ),
    hollow(
        "finish",
        "answers everything with a bare finish, or a close frame",
        NOTHING,
        |revision, host, bytes, out| answer(revision, host, bytes, None, out),
    ),
    hollow(
        "error",
        "answers everything with an error and the finish, or a close frame",
        NOTHING,
        |revision, host, bytes, out| answer(revision, host, bytes, Some(b"\x01null"), out),
    ),
    hollow(
        "begun",
        "answers everything with the byte that means success, and an empty list",
        NOTHING,
        |revision, host, bytes, out| match (revision, Frame::decode(bytes.clone())) {
            (Revision::Scope, Ok(frame)) => {
                let begun = Frame::new(FrameType::Response, frame.scope, 0, &b"\0[]"[..]);
                out.push(Output::Send(host, begun.encode()));
            }
            (Revision::Scope, Err(_)) => {}
            (Revision::Path, _) => out.push(Output::Send(host, Bytes::from_static(b"\0[]"))),
        },
    ),
    hollow(
        "flood",
        "sends chunks without end",
        |revision, host, _, out| {
            out.push(Output::Flood(
                host,
                match revision {
                    Revision::Scope => {
                        Frame::new(FrameType::Response, 1, 0, &b"\x02{}"[..]).encode()
                    }
                    Revision::Path => Bytes::from_static(b"\0{}"),
                },
            ));
        },
        NOTHING,
    ),
];

const fn hollow(name: &'static str, about: &'static str, opened: Act, heard: Act) -> Hollow {
    Hollow {
        name,
        about,
        door: Door::Open,
        opened,
        heard,
    }
}

/// All hollow proxies; each plays both revisions.
pub fn all() -> impl Iterator<Item = &'static Hollow> {
    HOLLOW.iter()
}

/// The hollow proxy of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Hollow> {
    all().find(|hollow| hollow.name == name)
}

/// A hollow proxy at work in a revision.
#[derive(Debug, Clone, Copy)]
pub struct Playing {
    /// Which one.
    pub hollow: Hollow,
    /// The revision whose bytes it says.
    pub revision: Revision,
}

impl Proxy for Playing {
    fn admit(&mut self, _: &str) -> Admission {
        match self.hollow.door {
            Door::Open | Door::HangUp => Admission::Granted,
            Door::Status => Admission::Refused(503),
        }
    }

    fn on(&mut self, input: Input, out: &mut Vec<Output>) {
        match input {
            Input::Opened(host, _) => {
                (self.hollow.opened)(self.revision, host, &Bytes::new(), out);
            }
            Input::Binary(host, bytes) => (self.hollow.heard)(self.revision, host, &bytes, out),
            _ => {}
        }
    }
}

/// Answers a message, and finishes what it is on: its channel or its scope, or its connection.
fn answer(
    revision: Revision,
    host: HostId,
    bytes: &Bytes,
    said: Option<&'static [u8]>,
    out: &mut Vec<Output>,
) {
    if revision == Revision::Path {
        out.extend(said.map(|said| Output::Send(host, said.into())));
        return out.push(Output::Close(host));
    }
    let Ok(frame) = Frame::decode(bytes.clone()) else {
        return;
    };
    let (answer, finish) = match frame.kind {
        FrameType::ChannelRequest => (FrameType::ChannelResponse, FrameType::ChannelResponseFinish),
        _ => (FrameType::Response, FrameType::ResponseFinish),
    };
    let mut send = |kind, payload| {
        let frame = Frame::new(kind, frame.scope, frame.channel, payload);
        out.push(Output::Send(host, frame.encode()));
    };
    if let Some(said) = said {
        send(answer, Bytes::from_static(said));
    }
    send(finish, Bytes::new());
}
