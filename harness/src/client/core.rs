//! The reference client, without I/O: what it says and writes about what happens to it.

use std::collections::VecDeque;

use bytes::Bytes;
use diverge_protocol::wire::client_line::ClientLine;
use diverge_protocol::wire::credential_payload;
use diverge_protocol::wire::frame::{Frame, FrameType};
use diverge_protocol::wire::profile::{ClientChannel, Profile, RequestKind};
use diverge_protocol::wire::run::{RunKind, RunResponse};

/// What a client is given.
#[derive(Clone, Default)]
pub struct Given {
    /// Where the provider is.
    pub url: String,
    /// Its credential.
    pub credential: String,
    /// The run request, as JSON.
    pub request: String,
    /// Bodies to enqueue: the first behind the id, each next one behind the end of a loop.
    pub enqueues: VecDeque<String>,
    /// Whether it stops its run at the end of a loop, or behind the id, when it has nothing to enqueue any more.
    pub stops: bool,
}

impl std::fmt::Debug for Given {
    /// Without the credential.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Given")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

/// What happens to a client.
#[derive(Debug)]
pub enum Input {
    /// It was started.
    Started,
    /// Its WebSocket is up.
    Opened,
    /// A binary message came.
    Binary(Bytes),
    /// A text message came.
    Text(String),
    /// The connection ended; whether in order.
    Lost(bool),
}

/// What a client does.
#[derive(Debug)]
pub enum Output {
    /// It dials the provider.
    Connect,
    /// It sends a message.
    Send(Bytes),
    /// It sends a text message.
    Text(String),
    /// It writes a line.
    Line(ClientLine),
    /// It writes a line of its own making.
    Raw(String),
    /// It closes the connection.
    Close,
    /// It ends, with this exit status.
    Exit(u8),
}

/// The scope on which the run is asked for.
pub(super) const SCOPE: u32 = 1;

/// The reference client.
#[derive(Debug)]
pub struct Core {
    /// What it was given.
    pub(super) given: Given,
    pub(super) scope: u32,
    /// The id has come.
    pub(super) started: bool,
    /// A refusal, or an error, has come.
    pub(super) refused: bool,
    /// A loop is open.
    pub(super) active: bool,
    /// How many loops have ended.
    pub(super) loops: u32,
    /// How many chunks have come.
    pub(super) chunks: u32,
    /// The run is finished.
    pub(super) finished: bool,
    next_channel: u32,
    /// What a form keeps for later.
    pub(super) kept: Vec<Output>,
}

impl Core {
    /// A client that was given this.
    #[must_use]
    pub fn new(given: Given) -> Self {
        Self {
            given,
            scope: SCOPE,
            started: false,
            refused: false,
            active: false,
            loops: 0,
            chunks: 0,
            finished: false,
            next_channel: 1,
            kept: Vec::new(),
        }
    }

    /// Does what a client does about what happens.
    pub fn on(&mut self, input: &Input, out: &mut Vec<Output>) {
        match input {
            Input::Started => out.push(Output::Connect),
            Input::Opened => {
                out.push(self.credential());
                out.push(self.request(&self.given.request));
            }
            Input::Binary(message) => {
                if let Ok(frame) = Frame::decode(message.clone()) {
                    self.frame(&frame, out);
                }
            }
            Input::Text(_) => {}
            Input::Lost(_) if self.finished => {}
            Input::Lost(_) => {
                let why = "the connection ended before the finish";
                out.push(trouble(why));
                out.push(Output::Exit(1));
            }
        }
    }

    /// The frame with the credential.
    pub(super) fn credential(&self) -> Output {
        let payload = credential_payload(&self.given.credential);
        send(FrameType::Authorization, 0, 0, &payload)
    }

    /// The frame that asks for a run.
    pub(super) fn request(&self, request: &str) -> Output {
        let table = &Profile::scope().run_request;
        let payload = table.payload(RequestKind::Request, request.as_bytes());
        send(FrameType::Request, self.scope, 0, &payload)
    }

    /// The frame that opens a channel.
    pub(super) fn ask(&mut self, channel: ClientChannel, body: &[u8]) -> Output {
        let payload = Profile::scope().client_channels.payload(channel, body);
        let number = self.next_channel;
        self.next_channel += 1;
        send(FrameType::ChannelRequest, self.scope, number, &payload)
    }

    /// The payload of a response on the run's scope, where that is what came.
    pub(super) fn payload(&self, input: &Input) -> Option<Bytes> {
        let Input::Binary(message) = input else {
            return None;
        };
        let frame = Frame::decode(message.clone()).ok()?;
        let response = frame.kind == FrameType::Response && frame.scope == self.scope;
        response.then_some(frame.payload)
    }

    /// What stands behind the first byte of a response of this kind, where that is what came.
    pub(super) fn body(&self, input: &Input, kind: RunKind) -> Option<String> {
        let payload = self.payload(input)?;
        let body = payload.strip_prefix(&[kind.byte()])?;
        Some(String::from_utf8_lossy(body).into_owned())
    }

    fn frame(&mut self, frame: &Frame, out: &mut Vec<Output>) {
        match frame.kind {
            FrameType::ChannelRequest if frame.scope == self.scope => {
                // It serves none of them.
                let finish = FrameType::ChannelResponseFinish;
                out.push(send(finish, frame.scope, frame.channel, b""));
            }
            FrameType::Response if frame.scope == self.scope && !self.finished => {
                self.response(&frame.payload, out);
            }
            FrameType::ResponseFinish if frame.scope == self.scope && !self.finished => {
                self.finished = true;
                out.push(Output::Line(ClientLine::Finished));
                out.push(Output::Close);
                out.push(Output::Exit(0));
            }
            _ => {}
        }
    }

    pub(super) fn response(&mut self, payload: &[u8], out: &mut Vec<Output>) {
        let response = match RunResponse::decode(payload) {
            Ok(response) => response,
            Err(malformed) => {
                let line = ClientLine::Malformed(malformed.to_string());
                return out.push(Output::Line(line));
            }
        };
        let text = |raw: &[u8]| String::from_utf8_lossy(raw).into_owned();
        let line = match response {
            _ if self.refused => return out.push(trouble("a response behind the last one")),
            RunResponse::Id(_) | RunResponse::Refusal { .. } if self.started => {
                return out.push(trouble("a first response behind the id"));
            }
            RunResponse::Id(id) => {
                self.started = true;
                ClientLine::Id(id)
            }
            RunResponse::Refusal { kind, name, mode } => {
                self.refused = true;
                ClientLine::Refused {
                    kind: kind.run_kind().name().to_owned(),
                    name,
                    mode: mode.map(|mode| mode.name().to_owned()),
                }
            }
            RunResponse::Error(raw) => {
                self.refused = true;
                ClientLine::Error(text(raw))
            }
            RunResponse::Active if !self.started || self.active => {
                return out.push(trouble("active, where no loop can begin"));
            }
            RunResponse::Active => {
                self.active = true;
                ClientLine::Active
            }
            _ if !self.active => return out.push(trouble("something of a loop, and none is open")),
            RunResponse::Chunk { raw, .. } => {
                self.chunks += 1;
                ClientLine::Chunk(text(raw))
            }
            RunResponse::Inactive { raw } => {
                self.active = false;
                self.loops += 1;
                ClientLine::Inactive(text(raw))
            }
        };
        let waits = matches!(line, ClientLine::Id(_) | ClientLine::Inactive(_));
        out.push(Output::Line(line));
        if waits {
            if let Some(body) = self.given.enqueues.pop_front() {
                out.push(self.ask(ClientChannel::Enqueue, body.as_bytes()));
            } else if self.given.stops {
                out.push(self.ask(ClientChannel::Stop, b""));
            }
        }
    }
}

/// The message that carries a frame.
pub(super) fn send(kind: FrameType, scope: u32, channel: u32, payload: &[u8]) -> Output {
    Output::Send(Frame::new(kind, scope, channel, payload.to_vec()).encode())
}

/// A line that says what is out of place.
pub(super) fn trouble(why: &str) -> Output {
    Output::Line(ClientLine::ProtocolError(why.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(payload: &[u8]) -> Input {
        Input::Binary(Frame::new(FrameType::Response, SCOPE, 0, payload.to_vec()).encode())
    }

    fn told(core: &mut Core, payload: &[u8]) -> Vec<String> {
        let mut out = Vec::new();
        core.on(&response(payload), &mut out);
        let line = |output: &Output| match output {
            Output::Line(line) => Some(line.event().to_owned()),
            _ => None,
        };
        out.iter().filter_map(line).collect()
    }

    #[test]
    fn a_run_is_told_in_the_order_of_its_responses() {
        let mut core = Core::new(Given::default());
        for (payload, event) in [
            (&b"\x08"[..], "protocol-error"),
            (b"\0{\"id\":\"x\"}", "id"),
            (b"\x09{}", "protocol-error"),
            (b"\x08", "active"),
            (b"\x08", "protocol-error"),
            (b"\x09[]", "malformed"),
            (b"\x09{}", "inactive"),
            (b"\x06null", "error"),
            (b"\x08", "protocol-error"),
        ] {
            assert_eq!(told(&mut core, payload), [event], "{payload:?}");
        }
    }

    #[test]
    fn what_it_was_given_to_enqueue_is_asked_loop_by_loop_and_then_it_stops() {
        let mut core = Core::new(Given {
            enqueues: [r#"{"key":"a","content":[]}"#.to_owned()].into(),
            stops: true,
            ..Given::default()
        });
        let mut asked = |payload: &[u8]| {
            let mut out = Vec::new();
            core.on(&response(payload), &mut out);
            let tag = |output: &Output| match output {
                Output::Send(message) => message.get(9).copied(),
                _ => None,
            };
            out.iter().filter_map(tag).collect::<Vec<u8>>()
        };
        let table = &Profile::scope().client_channels;
        let enqueue = table.byte(ClientChannel::Enqueue);
        assert_eq!(asked(b"\0{\"id\":\"x\"}"), [enqueue]);
        assert!(asked(b"\x08").is_empty());
        assert_eq!(asked(b"\x09{}"), [table.byte(ClientChannel::Stop)]);
    }
}
