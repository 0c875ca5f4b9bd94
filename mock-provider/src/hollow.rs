//! Hollow providers: peers that implement nothing, and must pass nothing.

use bytes::Bytes;
use diverge_protocol::wire::run::RunResponse;
use diverge_protocol::wire::{Frame, FrameType};

use crate::checks;
use crate::policy::{ClientId, Input, Output, Provider};

/// What happens to a client before its WebSocket is up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// The handshake is completed.
    Open,
    /// The handshake is answered with HTTP status 503.
    Status,
    /// The TCP connection is ended without an answer.
    HangUp,
}

/// A named hollow provider.
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

/// What is done when a client opened its connection (with no bytes) or sent a binary message.
type Act = fn(ClientId, &Bytes, &mut Vec<Output>);

const NOTHING: Act = |_, _, _| {};
const DROP: Act = |client, _, out| out.push(Output::DropClient(client));

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
        "hang-up-after-first-frame",
        "hangs up after the first message",
        NOTHING,
        DROP,
    ),
    hollow(
        "hang-up-after-id",
        "answers the first request with an id, and hangs up",
        NOTHING,
        |client, bytes, out| {
            if bytes.first() == Some(&FrameType::Request.byte()) {
                answer(client, bytes, &[(FrameType::Response, id())], out);
                out.push(Output::DropClient(client));
            }
        },
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
        |client, bytes, out| {
            out.push(Output::ToClient(client, bytes.clone()));
        },
    ),
    hollow(
        "finish",
        "answers everything with a bare finish",
        NOTHING,
        |client, bytes, out| {
            answer(
                client,
                bytes,
                &[(FrameType::ResponseFinish, Vec::new())],
                out,
            );
        },
    ),
    hollow(
        "error",
        "answers everything with an error and a finish",
        NOTHING,
        |client, bytes, out| {
            let error = (FrameType::Response, checks::error("no"));
            answer(
                client,
                bytes,
                &[error, (FrameType::ResponseFinish, Vec::new())],
                out,
            );
        },
    ),
    hollow(
        "id",
        "answers everything with an id",
        NOTHING,
        |client, bytes, out| {
            answer(client, bytes, &[(FrameType::Response, id())], out);
        },
    ),
    hollow(
        "flood",
        "sends frames without end",
        |client, _, out| {
            let frame = Frame::new(FrameType::Response, 1, 0, &b"\x07{}"[..]);
            out.push(Output::Flood(client, frame.encode()));
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

/// All hollow providers.
pub fn all() -> impl Iterator<Item = &'static Hollow> {
    HOLLOW.iter()
}

/// The hollow provider of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Hollow> {
    all().find(|hollow| hollow.name == name)
}

impl Provider for Hollow {
    fn on(&mut self, input: Input, out: &mut Vec<Output>) {
        match input {
            Input::ClientOpened(client) => (self.opened)(client, &Bytes::new(), out),
            Input::ClientBinary(client, bytes) => (self.heard)(client, &bytes, out),
            _ => {}
        }
    }
}

/// Answers a message on its own scope.
fn answer(
    client: ClientId,
    bytes: &Bytes,
    answers: &[(FrameType, Vec<u8>)],
    out: &mut Vec<Output>,
) {
    let Ok(frame) = Frame::decode(bytes.clone()) else {
        return;
    };
    for (kind, payload) in answers {
        out.push(Output::ToClient(
            client,
            Frame::new(*kind, frame.scope, 0, payload.clone()).encode(),
        ));
    }
}

fn id() -> Vec<u8> {
    RunResponse::Id("0".into()).encode()
}
