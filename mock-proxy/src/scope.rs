//! The reference of the scope revision, without I/O: one connection, one begin scope on it, and the loops of its program.

use std::collections::{HashMap, HashSet};

use bytes::Bytes;
use diverge_protocol::wire::begin::BeginKind;
use diverge_protocol::wire::channel::{ChannelAsk, DequeueAnswer, EnqueueAnswer, SchemaAnswer};
use diverge_protocol::wire::request::BeginRequest;
use diverge_protocol::wire::{Frame, FrameType, Profile};

use crate::answers::{self, error_of, is_success};
use crate::policy::{Admission, Call, CallId, Calls, Endpoint, HostId, Input, Output, Proxy, Word};
use crate::queue::Queue;
use crate::settings::Settings;

/// The path that the host dials.
pub const PATH: &str = "/";

/// The conforming reference of the scope revision.
#[derive(Debug, Default)]
pub struct Policy {
    settings: Settings,
    /// Whether the one connection was granted.
    claimed: bool,
    host: Option<HostId>,
    begin: Option<Begin>,
    calls: Calls,
    begins: usize,
}

/// The begin scope.
#[derive(Debug)]
struct Begin {
    scope: u32,
    open: HashSet<u32>,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// The program is asked to take its arguments; the channels that came meanwhile wait.
    Registering { call: CallId, early: Vec<Frame> },
    Begun {
        queue: Queue,
        asked: HashMap<CallId, Asked>,
    },
}

/// What a call is made for.
#[derive(Debug)]
enum Asked {
    Schema { channel: u32 },
    Dequeue { channel: u32, withdrew: bool },
}

impl Proxy for Policy {
    fn admit(&mut self, path: &str) -> Admission {
        if path != PATH {
            return Admission::Refused(404);
        }
        if std::mem::replace(&mut self.claimed, true) {
            return Admission::Refused(409);
        }
        Admission::Granted
    }

    fn on(&mut self, input: Input, out: &mut Vec<Output>) {
        match input {
            Input::Opened(host, _) => self.host = Some(host),
            Input::Binary(host, message) if self.host == Some(host) => {
                if let Ok(frame) = Frame::decode(message) {
                    self.on_frame(host, frame, out);
                }
            }
            Input::Closed(host) | Input::Lost(host) if self.host == Some(host) => self.give_up(),
            Input::Agent(call, word) => {
                if let Some(host) = self.host {
                    self.on_word(host, call, word, out);
                }
            }
            _ => {}
        }
    }
}

impl Policy {
    /// A proxy that nobody has connected to.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            ..Self::default()
        }
    }

    fn on_frame(&mut self, host: HostId, frame: Frame, out: &mut Vec<Output>) {
        match frame.kind {
            FrameType::Authorization => {
                self.give_up();
                out.push(Output::Close(host));
            }
            FrameType::Request => self.on_request(host, &frame, out),
            FrameType::ChannelRequest => self.on_ask(host, frame, out),
            // Answers go to channels that a proxy opened; this one opens none.
            FrameType::Response
            | FrameType::ResponseFinish
            | FrameType::ChannelResponse
            | FrameType::ChannelResponseFinish => {}
        }
    }

    /// Asks the program to begin, or tells why not. A request on the open scope is disregarded.
    fn on_request(&mut self, host: HostId, frame: &Frame, out: &mut Vec<Output>) {
        if self
            .begin
            .as_ref()
            .is_some_and(|it| it.scope == frame.scope)
        {
            return;
        }
        let Ok(request) = BeginRequest::decode(Profile::scope(), &frame.payload) else {
            return out.push(finish(host, frame.scope));
        };
        if self.begin.is_some() || (self.begins > 0 && !self.settings.begins_again) {
            let error = answers::begun_already(&self.settings);
            out.push(respond(host, frame.scope, BeginKind::Error, &error));
            return out.push(finish(host, frame.scope));
        }
        let body = format!("{{\"arguments\":{}}}", request.arguments.get());
        let call = self.calls.call(Call::new(Endpoint::Register, body), out);
        self.begins += 1;
        self.begin = Some(Begin {
            scope: frame.scope,
            open: HashSet::new(),
            stage: Stage::Registering {
                call,
                early: Vec::new(),
            },
        });
    }

    /// Serves something that the host asks on a channel of the begin scope, once the program has begun.
    fn on_ask(&mut self, host: HostId, frame: Frame, out: &mut Vec<Output>) {
        let Some(begin) = &mut self.begin else {
            return;
        };
        if begin.scope != frame.scope || !begin.open.insert(frame.channel) {
            return;
        }
        let mut side = Side {
            host,
            scope: begin.scope,
            open: &mut begin.open,
            calls: &mut self.calls,
            out,
        };
        match &mut begin.stage {
            Stage::Registering { early, .. } => early.push(frame),
            Stage::Begun { queue, asked } => {
                serve(&frame, queue, asked, &self.settings, &mut side);
            }
        }
    }

    fn on_word(&mut self, host: HostId, call: CallId, word: Word, out: &mut Vec<Output>) {
        let Some(begin) = &mut self.begin else {
            return;
        };
        let mut side = Side {
            host,
            scope: begin.scope,
            open: &mut begin.open,
            calls: &mut self.calls,
            out,
        };
        match &mut begin.stage {
            Stage::Registering { call: own, early } if *own == call => {
                let declared = match &word {
                    Word::Answered { status, body } if is_success(*status) => {
                        answers::declared(body)
                    }
                    _ => None,
                };
                let Some(list) = declared else {
                    let error = error_of(&word, &self.settings);
                    side.respond(BeginKind::Error, &error);
                    side.out.push(finish(host, begin.scope));
                    self.begin = None;
                    return;
                };
                side.respond(BeginKind::Begun, &list);
                let (mut queue, mut asked) = (Queue::default(), HashMap::new());
                for frame in std::mem::take(early) {
                    serve(&frame, &mut queue, &mut asked, &self.settings, &mut side);
                }
                begin.stage = Stage::Begun { queue, asked };
            }
            Stage::Registering { .. } => {}
            Stage::Begun { queue, asked } => match asked.remove(&call) {
                Some(asked) => tell(&asked, &word, &self.settings, &mut side),
                None => queue.hear(call, word, &self.settings, &mut side),
            },
        }
    }

    /// The connection is gone, and with it everything that was on it. Nobody waits for its calls any more.
    fn give_up(&mut self) {
        self.host = None;
        self.begin = None;
    }
}

/// Serves a channel, or finishes it bare.
fn serve(
    frame: &Frame,
    queue: &mut Queue,
    asked: &mut HashMap<CallId, Asked>,
    settings: &Settings,
    side: &mut Side<'_>,
) {
    let channel = frame.channel;
    let ask = Profile::scope()
        .begin_channels
        .split(&frame.payload)
        .and_then(|(kind, body)| ChannelAsk::decode(kind, body));
    match ask {
        Ok(ChannelAsk::Enqueue(ask)) => queue.enqueue(channel, ask, settings, side),
        Ok(ChannelAsk::Dequeue(ask)) => {
            let (withdrew, asks) = queue.dequeue(&ask.key, settings, side);
            if asks {
                let body = serde_json::json!({"key": ask.key}).to_string();
                let call = side.call(Endpoint::Dequeue, body);
                asked.insert(call, Asked::Dequeue { channel, withdrew });
            } else {
                side.answer(channel, &dequeued(withdrew));
            }
        }
        Ok(ChannelAsk::Schema) => {
            let call = side.call(Endpoint::Schema, Bytes::new());
            asked.insert(call, Asked::Schema { channel });
        }
        _ => side.finish(channel),
    }
}

/// Answers a channel by what the agent server answered.
fn tell(asked: &Asked, word: &Word, settings: &Settings, side: &mut Side<'_>) {
    let success = match word {
        Word::Answered { status, body } if is_success(*status) => Some(body),
        _ => None,
    };
    match asked {
        Asked::Schema { channel } => {
            let answer = match success.filter(|body| answers::is_json(body)) {
                Some(schema) => SchemaAnswer::Schema(schema).encode(Profile::scope()),
                None => SchemaAnswer::Error(&error_of(word, settings)).encode(Profile::scope()),
            };
            side.answer(*channel, &answer);
        }
        Asked::Dequeue { channel, withdrew } => {
            let answer = match success.and_then(|body| answers::withdrew(body)) {
                Some(there) => dequeued(there || *withdrew),
                None => DequeueAnswer::Error(&error_of(word, settings)).encode(Profile::scope()),
            };
            side.answer(*channel, &answer);
        }
    }
}

fn dequeued(withdrew: bool) -> Vec<u8> {
    let answer = if withdrew {
        DequeueAnswer::Withdrawn
    } else {
        DequeueAnswer::NothingWaited
    };
    answer.encode(Profile::scope())
}

fn respond(host: HostId, scope: u32, kind: BeginKind, body: &[u8]) -> Output {
    let payload = Profile::scope().begin_responses.payload(kind, body);
    Output::Send(
        host,
        Frame::new(FrameType::Response, scope, 0, payload).encode(),
    )
}

fn finish(host: HostId, scope: u32) -> Output {
    Output::Send(
        host,
        Frame::new(FrameType::ResponseFinish, scope, 0, Bytes::new()).encode(),
    )
}

/// The begin scope as its parts use it: the host on one side, the agent server on the other.
pub(crate) struct Side<'a> {
    host: HostId,
    scope: u32,
    /// The host's open channels.
    open: &'a mut HashSet<u32>,
    calls: &'a mut Calls,
    out: &'a mut Vec<Output>,
}

impl Side<'_> {
    pub(crate) fn call(&mut self, endpoint: Endpoint, body: impl Into<Bytes>) -> CallId {
        self.calls.call(Call::new(endpoint, body), self.out)
    }

    pub(crate) fn active(&mut self) {
        self.respond(BeginKind::Active, b"");
    }

    pub(crate) fn chunk(&mut self, data: &[u8]) {
        self.respond(BeginKind::Chunk, data);
    }

    pub(crate) fn inactive(&mut self, settings: &Settings) {
        self.respond(BeginKind::Inactive, &settings.values);
    }

    /// Tells the fate of a message.
    pub(crate) fn settle(&mut self, channel: u32, fate: EnqueueAnswer<'_>) {
        self.answer(channel, &fate.encode(Profile::scope()));
    }

    fn respond(&mut self, kind: BeginKind, body: &[u8]) {
        self.out.push(respond(self.host, self.scope, kind, body));
    }

    fn answer(&mut self, channel: u32, payload: &[u8]) {
        let payload = Bytes::copy_from_slice(payload);
        self.on_channel(FrameType::ChannelResponse, channel, payload);
        self.finish(channel);
    }

    fn finish(&mut self, channel: u32) {
        self.open.remove(&channel);
        self.on_channel(FrameType::ChannelResponseFinish, channel, Bytes::new());
    }

    fn on_channel(&mut self, kind: FrameType, channel: u32, payload: Bytes) {
        let frame = Frame::new(kind, self.scope, channel, payload);
        self.out.push(Output::Send(self.host, frame.encode()));
    }
}
