//! What interceptors see: what has happened so far, and each frame as the message it is.
//!
//! The view follows the true inputs and the outputs of the reference, whatever an interceptor makes of them. When an
//! interceptor is shown an input or output, the view holds what happened *before* it: at a loop's first chunk,
//! [`ScopeView::chunks`] is 0.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use diverge_intercept::Notes;
use diverge_protocol::rules::Revision;
use diverge_protocol::wire::begin::BeginKind;
use diverge_protocol::wire::profile::BeginChannel;
use diverge_protocol::wire::{Frame, FrameType, Profile};

use crate::fault::{Role, Step};
use crate::policy::{Call, CallId, Endpoint, HostId, Input, Output, Word};

/// What has happened so far.
#[derive(Debug)]
pub struct View {
    /// The revision that is played.
    pub revision: Revision,
    /// The host's connections, in their order, also those that ended.
    pub hosts: BTreeMap<HostId, HostView>,
    /// The last scope of each number, in the scope revision.
    pub scopes: HashMap<u32, ScopeView>,
    /// The begins that were read, in the scope revision.
    pub begins: usize,
    /// The calls to the agent server, in their order.
    pub calls: BTreeMap<CallId, CallView>,
    /// The connection that what is done now answers.
    hearing: Option<HostId>,
}

/// What has happened on a connection of the host's.
#[derive(Debug, Default)]
pub struct HostView {
    /// Its path.
    pub path: String,
    /// Messages that came, text and binary.
    pub heard: usize,
    /// Text messages that came.
    pub texts: usize,
    /// Messages that were sent.
    pub sent: usize,
    /// Whether it ended, by whichever side.
    pub ended: bool,
}

/// What has happened on a scope. It is kept after its finish, until its number is used again.
#[derive(Debug, Default)]
pub struct ScopeView {
    /// Its number.
    pub number: u32,
    /// The request's payload.
    pub request: Bytes,
    /// Requests that named it while it was open.
    pub duplicates: usize,
    /// Whether the program has its arguments.
    pub begun: bool,
    /// Whether a loop is open.
    pub in_loop: bool,
    /// Loops that began.
    pub loops: usize,
    /// Chunks of the loop that began last.
    pub chunks: usize,
    /// Responses sent.
    pub responses: usize,
    /// Whether its finish is out.
    pub finished: bool,
    /// The host's open channels: what each asks, by its number.
    pub channels: BTreeMap<u32, Bytes>,
    /// The host's finished channels: what each asked, by its number.
    pub answered: HashMap<u32, Bytes>,
    /// Channels that the host opened.
    pub opened: usize,
}

/// A call to the agent server.
#[derive(Debug)]
pub struct CallView {
    /// The call.
    pub call: Call,
    /// The connection whose message it was made for.
    pub host: Option<HostId>,
    /// Whether its events come, or came.
    pub streams: bool,
    /// Events that came.
    pub events: usize,
    /// The status of its answer, where it has a whole one.
    pub status: Option<u16>,
    /// Whether it is over.
    pub over: bool,
}

impl View {
    pub(crate) fn new(revision: Revision) -> Self {
        Self {
            revision,
            hosts: BTreeMap::new(),
            scopes: HashMap::new(),
            begins: 0,
            calls: BTreeMap::new(),
            hearing: None,
        }
    }

    /// The scope on which the program begun, while it is open.
    #[must_use]
    pub fn begun(&self) -> Option<&ScopeView> {
        self.scopes.values().find(|it| it.begun && !it.finished)
    }

    /// The calls of an endpoint, in their order.
    pub fn calls_of(&self, endpoint: Endpoint) -> impl Iterator<Item = (CallId, &CallView)> {
        let calls = self.calls.iter();
        calls
            .filter(move |(_, view)| view.call.endpoint == endpoint)
            .map(|(id, view)| (*id, view))
    }

    /// Whether a call of an endpoint is not over.
    #[must_use]
    pub fn is_asking(&self, endpoint: Endpoint) -> bool {
        self.calls_of(endpoint).any(|(_, call)| !call.over)
    }

    /// The call under that number.
    #[must_use]
    pub fn call(&self, id: CallId) -> Option<&CallView> {
        self.calls.get(&id)
    }

    /// The endpoint that a call is for.
    #[must_use]
    pub fn endpoint(&self, id: CallId) -> Option<Endpoint> {
        Some(self.calls.get(&id)?.call.endpoint)
    }

    /// What that connection asks, in the path revision.
    #[must_use]
    pub fn asks(&self, host: HostId) -> Option<Endpoint> {
        crate::path::endpoint(&self.hosts.get(&host)?.path)
    }

    /// The frame of an input, as the message it is.
    #[must_use]
    pub fn read_input(&self, input: &Input) -> Option<Message<'_>> {
        match input {
            Input::Binary(host, bytes) => self.read(Flow::FromHost, *host, bytes),
            _ => None,
        }
    }

    /// The frame of an output, as the message it is.
    #[must_use]
    pub fn read_output(&self, output: &Output) -> Option<Message<'_>> {
        match output {
            Output::Send(host, bytes) => self.read(Flow::ToHost, *host, bytes),
            _ => None,
        }
    }

    fn read(&self, flow: Flow, host: HostId, bytes: &Bytes) -> Option<Message<'_>> {
        if self.revision != Revision::Scope {
            return None;
        }
        let frame = Frame::decode(bytes.clone()).ok()?;
        Some(Message {
            view: self,
            flow,
            host,
            part: Part::of(&frame),
            scope: self.scopes.get(&frame.scope),
            frame,
        })
    }

    fn host(&mut self, host: HostId) -> &mut HostView {
        self.hosts.entry(host).or_default()
    }

    fn note_frame(&mut self, frame: Frame) {
        let open = self.scopes.get_mut(&frame.scope).filter(|it| !it.finished);
        match (frame.kind, open) {
            (FrameType::Request, None) => {
                let scope = ScopeView {
                    number: frame.scope,
                    request: frame.payload,
                    ..ScopeView::default()
                };
                self.scopes.insert(frame.scope, scope);
            }
            (FrameType::Request, Some(scope)) => scope.duplicates += 1,
            (FrameType::ChannelRequest, Some(scope))
                if !scope.channels.contains_key(&frame.channel) =>
            {
                scope.opened += 1;
                scope.channels.insert(frame.channel, frame.payload);
            }
            _ => {}
        }
    }
}

impl Notes<Role> for View {
    fn note_input(&mut self, input: &Input) {
        self.hearing = match input {
            Input::Opened(host, _) | Input::Binary(host, _) | Input::Text(host, _) => Some(*host),
            _ => None,
        };
        match input {
            Input::Opened(host, path) => {
                let path = path.clone();
                let view = HostView {
                    path,
                    ..HostView::default()
                };
                self.hosts.insert(*host, view);
            }
            Input::Binary(host, bytes) => {
                self.host(*host).heard += 1;
                if self.revision == Revision::Scope
                    && let Ok(frame) = Frame::decode(bytes.clone())
                {
                    self.note_frame(frame);
                }
            }
            Input::Text(host, _) => {
                self.host(*host).heard += 1;
                self.host(*host).texts += 1;
            }
            Input::Closed(host) | Input::Lost(host) => self.host(*host).ended = true,
            Input::Agent(id, word) => {
                if let Some(call) = self.calls.get_mut(id) {
                    call.over |= word.is_last();
                    if let Word::Answered { status, .. } = word {
                        call.status = Some(*status);
                    }
                    call.streams |= *word == Word::Streams;
                    call.events += usize::from(matches!(word, Word::Event(_)));
                }
            }
            Input::Woken => {}
        }
    }

    fn note_output(&mut self, output: &Output) {
        match output {
            Output::Send(host, bytes) => {
                self.host(*host).sent += 1;
                if self.revision == Revision::Scope
                    && let Ok(frame) = Frame::decode(bytes.clone())
                    && let Some(scope) = self.scopes.get_mut(&frame.scope)
                {
                    scope.note_told(&frame);
                }
            }
            Output::Close(host) | Output::Drop(host) => self.host(*host).ended = true,
            Output::Call(id, call) => {
                self.begins += usize::from(call.endpoint == Endpoint::Register);
                let view = CallView {
                    call: call.clone(),
                    host: self.hearing,
                    streams: false,
                    events: 0,
                    status: None,
                    over: false,
                };
                self.calls.insert(*id, view);
            }
            Output::HangUp(id) => {
                if let Some(call) = self.calls.get_mut(id) {
                    call.over = true;
                }
            }
            Output::SendText(..) | Output::Flood(..) | Output::Wake => {}
        }
    }
}

impl ScopeView {
    fn note_told(&mut self, frame: &Frame) {
        match frame.kind {
            FrameType::Response => self.responses += 1,
            FrameType::ResponseFinish => self.finished = true,
            FrameType::ChannelResponseFinish => {
                if let Some(ask) = self.channels.remove(&frame.channel) {
                    self.answered.insert(frame.channel, ask);
                }
            }
            _ => {}
        }
        match Part::of(frame) {
            Part::Begun => self.begun = true,
            Part::Active => {
                self.in_loop = true;
                self.loops += 1;
                self.chunks = 0;
            }
            Part::Chunk => self.chunks += 1,
            Part::Inactive => self.in_loop = false,
            _ => {}
        }
    }

    /// The numbers of the open channels that ask that.
    pub fn open(&self, kind: BeginChannel) -> impl Iterator<Item = u32> {
        let channels = self.channels.iter();
        channels
            .filter(move |(_, ask)| asked(ask) == Some(kind))
            .map(|(number, _)| *number)
    }
}

/// What a channel request asks.
#[must_use]
pub fn asked(payload: &[u8]) -> Option<BeginChannel> {
    let (kind, _) = Profile::scope().begin_channels.split(payload).ok()?;
    Some(kind)
}

/// Which way a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// From the host to the proxy.
    FromHost,
    /// From the proxy to the host.
    ToHost,
}

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// An authorization.
    Credential,
    /// A request.
    Request,
    /// The program has its arguments.
    Begun,
    /// An error.
    Error,
    /// A chunk.
    Chunk,
    /// A loop began.
    Active,
    /// A loop ended.
    Inactive,
    /// A response that is none of these.
    OtherResponse,
    /// A scope's finish.
    Finish,
    /// A channel is opened.
    Ask,
    /// A piece of a channel's answer.
    Answer,
    /// A channel's finish.
    AnswerFinish,
}

impl Part {
    fn of(frame: &Frame) -> Self {
        match frame.kind {
            FrameType::Authorization => Self::Credential,
            FrameType::Request => Self::Request,
            FrameType::ResponseFinish => Self::Finish,
            FrameType::ChannelRequest => Self::Ask,
            FrameType::ChannelResponse => Self::Answer,
            FrameType::ChannelResponseFinish => Self::AnswerFinish,
            FrameType::Response => match BeginKind::of(Profile::scope(), &frame.payload) {
                Ok(BeginKind::Begun) => Self::Begun,
                Ok(BeginKind::Error) => Self::Error,
                Ok(BeginKind::Chunk) => Self::Chunk,
                Ok(BeginKind::Active) => Self::Active,
                Ok(BeginKind::Inactive) => Self::Inactive,
                Err(_) => Self::OtherResponse,
            },
        }
    }
}

/// One frame on its way, with what is known about it.
#[derive(Debug)]
pub struct Message<'a> {
    /// What happened before it.
    pub view: &'a View,
    /// Which way it goes.
    pub flow: Flow,
    /// The connection that it is on.
    pub host: HostId,
    /// What it is.
    pub part: Part,
    /// The last scope under its number.
    pub scope: Option<&'a ScopeView>,
    /// The frame itself.
    pub frame: Frame,
}

impl Message<'_> {
    /// Whether it is such a part of a scope that was asked for, and the scope is as `when` says.
    #[must_use]
    pub fn is(&self, part: Part, when: impl FnOnce(&ScopeView) -> bool) -> bool {
        self.part == part && self.scope.is_some_and(when)
    }

    /// What stands behind the payload's first byte.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        self.frame.payload.get(1..).unwrap_or_default()
    }

    /// What the channel asks that it is on.
    #[must_use]
    pub fn channel(&self) -> Option<BeginChannel> {
        let open = || self.scope?.channels.get(&self.frame.channel);
        match self.part {
            Part::Ask => asked(&self.frame.payload),
            Part::Answer | Part::AnswerFinish => asked(open()?),
            _ => None,
        }
    }

    /// Whether it answers a channel that asks that.
    #[must_use]
    pub fn answers(&self, kind: BeginChannel) -> bool {
        self.flow == Flow::ToHost && self.part == Part::Answer && self.channel() == Some(kind)
    }

    /// Whether it finishes a channel that asks that.
    #[must_use]
    pub fn finishes(&self, kind: BeginChannel) -> bool {
        self.flow == Flow::ToHost && self.part == Part::AnswerFinish && self.channel() == Some(kind)
    }

    /// Whether the host opens a channel that asks that, on a scope that is open and under a number that is free.
    #[must_use]
    pub fn opens(&self, kind: BeginChannel) -> bool {
        let fresh = |it: &ScopeView| !it.finished && !it.channels.contains_key(&self.frame.channel);
        self.flow == Flow::FromHost && self.is(Part::Ask, fresh) && self.channel() == Some(kind)
    }

    /// The message as it is.
    #[must_use]
    pub fn pass(&self) -> Step {
        self.with_frame(self.frame.clone())
    }

    /// The message with another payload.
    #[must_use]
    pub fn with_payload(&self, payload: impl Into<Bytes>) -> Step {
        self.with_frame(Frame {
            payload: payload.into(),
            ..self.frame.clone()
        })
    }

    /// The message with another body behind its payload's first byte.
    #[must_use]
    pub fn with_body(&self, body: &[u8]) -> Step {
        let first = self.frame.payload.get(..1).unwrap_or_default();
        self.with_payload([first, body].concat())
    }

    /// The message with another frame.
    #[must_use]
    pub fn with_frame(&self, frame: Frame) -> Step {
        self.with_bytes(frame.encode())
    }

    /// The message with other bytes, which need not be a frame.
    #[must_use]
    pub fn with_bytes(&self, bytes: Bytes) -> Step {
        match self.flow {
            Flow::FromHost => Input::Binary(self.host, bytes).into(),
            Flow::ToHost => Output::Send(self.host, bytes).into(),
        }
    }

    /// A frame to the host, on the same scope.
    #[must_use]
    pub fn tell(&self, kind: FrameType, channel: u32, payload: impl Into<Bytes>) -> Step {
        let frame = Frame::new(kind, self.frame.scope, channel, payload);
        Output::Send(self.host, frame.encode()).into()
    }

    /// A response to the host, on the same scope.
    #[must_use]
    pub fn respond(&self, kind: BeginKind, body: &[u8]) -> Step {
        let payload = Profile::scope().begin_responses.payload(kind, body);
        self.tell(FrameType::Response, 0, payload)
    }

    /// The finish of the same scope.
    #[must_use]
    pub fn finish(&self) -> Step {
        self.tell(FrameType::ResponseFinish, 0, Bytes::new())
    }

    /// The finish of the same channel.
    #[must_use]
    pub fn finish_channel(&self) -> Step {
        self.tell(
            FrameType::ChannelResponseFinish,
            self.frame.channel,
            Bytes::new(),
        )
    }
}
