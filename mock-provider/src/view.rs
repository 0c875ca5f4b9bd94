//! What interceptors see: what has happened so far, and each frame as the message it is.
//!
//! The view follows the true inputs and the outputs of the reference, whatever an interceptor makes of them. When an
//! interceptor is shown an input or output, the view holds what happened *before* it: at a loop's first chunk,
//! [`RunView::chunks`] is 0.

use std::collections::HashMap;

use bytes::Bytes;
use diverge_intercept::Notes;
use diverge_protocol::wire::begin::BeginKind;
use diverge_protocol::wire::request::RunRequest;
use diverge_protocol::wire::run::RunKind;
use diverge_protocol::wire::{Frame, FrameType, Profile};

use crate::fault::{Role, Step};
use crate::policy::{ClientId, Input, Output, RunId};
use crate::settings::Settings;

/// What has happened so far.
#[derive(Debug)]
pub struct View {
    /// The provider's settings.
    pub settings: Settings,
    clients: HashMap<ClientId, ClientView>,
    ids: Vec<String>,
}

/// What has happened on a client's connection.
#[derive(Debug, Default)]
pub struct ClientView {
    /// Credentials that came.
    pub credentials: usize,
    /// Frames that came.
    pub frames: usize,
    /// The last run of each scope number, ended or not.
    pub runs: HashMap<u32, RunView>,
}

/// What has happened in a run that was asked for. It is kept after its finish, until its scope number is used again.
#[derive(Debug)]
pub struct RunView {
    /// The client it is for.
    pub client: ClientId,
    /// Its scope number.
    pub scope: u32,
    /// The run request's payload.
    pub request: Bytes,
    /// The text of the request's `arguments`, where the request can be read.
    pub arguments: Option<String>,
    /// The run, once it is taken on.
    pub run: Option<RunId>,
    /// Whether the proxy was asked to begin.
    pub begun: bool,
    /// The id, once it is out.
    pub id: Option<String>,
    /// Whether a loop is open.
    pub in_loop: bool,
    /// Loops that began.
    pub loops: usize,
    /// Chunks of the loop that began last.
    pub chunks: usize,
    /// Responses sent.
    pub responses: usize,
    /// Whether the finish is out.
    pub finished: bool,
    /// The client's open channels: what each asks, by its number.
    pub client_channels: HashMap<u32, Bytes>,
    /// Channels that the client opened.
    pub client_opened: usize,
    /// The client's finished channels: what each asked, by its number.
    pub client_finished: HashMap<u32, Bytes>,
    /// The provider's open channels to the client: what each asks, by its number.
    pub asks: HashMap<u32, Bytes>,
    /// Channels that the provider opened to the client.
    pub asked: usize,
    /// The provider's open channels to the proxy: what each asks, by its number.
    pub proxy_channels: HashMap<u32, Bytes>,
    /// Requests that named the scope while it was open.
    pub duplicates: usize,
    /// The run that had the scope number before, without its own forerunner.
    pub previous: Option<Box<RunView>>,
}

impl View {
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            settings,
            clients: HashMap::new(),
            ids: Vec::new(),
        }
    }

    /// What has happened on that connection, while it lasts.
    #[must_use]
    pub fn client(&self, id: ClientId) -> Option<&ClientView> {
        self.clients.get(&id)
    }

    /// The last run of every scope number of every client that is connected.
    pub fn runs(&self) -> impl Iterator<Item = &RunView> {
        self.clients
            .values()
            .flat_map(|client| client.runs.values())
    }

    /// What has happened on each connection that lasts.
    pub fn clients(&self) -> impl Iterator<Item = &ClientView> {
        self.clients.values()
    }

    /// The last run under that scope number.
    #[must_use]
    pub fn scope(&self, client: ClientId, scope: u32) -> Option<&RunView> {
        self.clients.get(&client)?.runs.get(&scope)
    }

    /// That run.
    #[must_use]
    pub fn run(&self, id: RunId) -> Option<&RunView> {
        self.scope(id.client, id.scope)
            .filter(|run| run.run == Some(id))
    }

    /// The ids of all runs so far, in order.
    #[must_use]
    pub fn ids(&self) -> &[String] {
        &self.ids
    }

    /// The frame of an input, as the message it is.
    #[must_use]
    pub fn read_input(&self, input: &Input) -> Option<Message<'_>> {
        match input {
            Input::ClientBinary(client, bytes) => {
                self.read(Flow::FromClient, Peer::Client(*client), bytes)
            }
            Input::ProxyBinary(run, bytes) => self.read(Flow::FromProxy, Peer::Proxy(*run), bytes),
            _ => None,
        }
    }

    /// The frame of an output, as the message it is.
    #[must_use]
    pub fn read_output(&self, output: &Output) -> Option<Message<'_>> {
        match output {
            Output::ToClient(client, bytes) => {
                self.read(Flow::ToClient, Peer::Client(*client), bytes)
            }
            Output::ToProxy(run, bytes) => self.read(Flow::ToProxy, Peer::Proxy(*run), bytes),
            _ => None,
        }
    }

    fn read(&self, flow: Flow, peer: Peer, bytes: &Bytes) -> Option<Message<'_>> {
        let frame = Frame::decode(bytes.clone()).ok()?;
        let run = match peer {
            Peer::Client(client) => self.scope(client, frame.scope),
            Peer::Proxy(run) => self.run(run),
        };
        let part = Part::of(flow, &frame, run);
        Some(Message {
            view: self,
            flow,
            peer,
            part,
            run,
            frame,
        })
    }

    fn run_mut(&mut self, client: ClientId, scope: u32) -> Option<&mut RunView> {
        self.clients.get_mut(&client)?.runs.get_mut(&scope)
    }
}

impl Notes<Role> for View {
    fn note_input(&mut self, input: &Input) {
        match input {
            Input::ClientOpened(client) => {
                self.clients.insert(*client, ClientView::default());
            }
            Input::ClientClosed(client) | Input::ClientLost(client) => {
                self.clients.remove(client);
            }
            Input::ClientBinary(client, bytes) => {
                if let (Ok(frame), Some(view)) =
                    (Frame::decode(bytes.clone()), self.clients.get_mut(client))
                {
                    view.note(*client, frame);
                }
            }
            _ => {}
        }
    }

    fn note_output(&mut self, output: &Output) {
        match output {
            Output::Dial(id) => {
                if let Some(run) = self.run_mut(id.client, id.scope) {
                    run.run = Some(*id);
                }
            }
            Output::ToClient(client, bytes) => {
                let Ok(frame) = Frame::decode(bytes.clone()) else {
                    return;
                };
                let id = self
                    .run_mut(*client, frame.scope)
                    .and_then(|run| run.note_told(&frame));
                self.ids.extend(id);
            }
            Output::ToProxy(id, bytes) => {
                if let (Ok(frame), Some(run)) = (
                    Frame::decode(bytes.clone()),
                    self.run_mut(id.client, id.scope),
                ) {
                    match frame.kind {
                        FrameType::Request => run.begun = true,
                        FrameType::ChannelRequest => {
                            run.proxy_channels.insert(frame.channel, frame.payload);
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
}

impl ClientView {
    fn note(&mut self, client: ClientId, frame: Frame) {
        self.frames += 1;
        let open = self.runs.get_mut(&frame.scope).filter(|run| !run.finished);
        match (frame.kind, open) {
            (FrameType::Authorization, _) => self.credentials += 1,
            (FrameType::Request, None) => {
                let previous = self.runs.remove(&frame.scope).map(|run| {
                    Box::new(RunView {
                        previous: None,
                        ..run
                    })
                });
                let run = RunView {
                    previous,
                    ..RunView::new(client, frame.scope, frame.payload)
                };
                self.runs.insert(frame.scope, run);
            }
            (FrameType::Request, Some(run)) => run.duplicates += 1,
            (FrameType::ChannelRequest, Some(run))
                if !run.client_channels.contains_key(&frame.channel) =>
            {
                run.client_opened += 1;
                run.client_channels.insert(frame.channel, frame.payload);
            }
            (FrameType::ChannelResponseFinish, Some(run)) => {
                run.asks.remove(&frame.channel);
            }
            _ => {}
        }
    }
}

impl RunView {
    fn new(client: ClientId, scope: u32, request: Bytes) -> Self {
        let arguments = RunRequest::decode(Profile::scope(), &request)
            .ok()
            .map(|it| it.arguments.get().to_owned());
        Self {
            client,
            scope,
            request,
            arguments,
            run: None,
            begun: false,
            id: None,
            in_loop: false,
            loops: 0,
            chunks: 0,
            responses: 0,
            finished: false,
            client_channels: HashMap::new(),
            client_opened: 0,
            client_finished: HashMap::new(),
            asks: HashMap::new(),
            asked: 0,
            proxy_channels: HashMap::new(),
            duplicates: 0,
            previous: None,
        }
    }

    /// Notes what the client was told, and gives the id if that is what it was told.
    fn note_told(&mut self, frame: &Frame) -> Option<String> {
        match frame.kind {
            FrameType::Response => return self.note_response(&frame.payload),
            FrameType::ResponseFinish => self.finished = true,
            FrameType::ChannelRequest => {
                self.asked += 1;
                self.asks.insert(frame.channel, frame.payload.clone());
            }
            FrameType::ChannelResponseFinish => {
                if let Some(ask) = self.client_channels.remove(&frame.channel) {
                    self.client_finished.insert(frame.channel, ask);
                }
            }
            _ => {}
        }
        None
    }

    fn note_response(&mut self, payload: &Bytes) -> Option<String> {
        self.responses += 1;
        match RunKind::of(payload).ok()? {
            RunKind::Id => {
                let body = serde_json::from_slice::<serde_json::Value>(&payload[1..]).ok()?;
                self.id = body["id"].as_str().map(str::to_owned);
                return self.id.clone();
            }
            RunKind::Active => {
                self.in_loop = true;
                self.loops += 1;
                self.chunks = 0;
            }
            RunKind::Chunk => self.chunks += 1,
            RunKind::Inactive => self.in_loop = false,
            _ => {}
        }
        None
    }
}

/// Which way a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// From a client to the provider.
    FromClient,
    /// From the provider to a client.
    ToClient,
    /// From a proxy to the provider.
    FromProxy,
    /// From the provider to a proxy.
    ToProxy,
}

/// The other end of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// A client.
    Client(ClientId),
    /// The proxy of a run.
    Proxy(RunId),
}

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// An authorization.
    Credential,
    /// A run request, or a begin request.
    Request,
    /// The proxy's word that the program is registered.
    Begun,
    /// The id.
    Id,
    /// One of the five refusals.
    Refusal,
    /// An error in place of the id, or in place of begun.
    EarlyError,
    /// An error after the id.
    LateError,
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
    fn of(flow: Flow, frame: &Frame, run: Option<&RunView>) -> Self {
        let error = if run.is_some_and(|run| run.id.is_some()) {
            Self::LateError
        } else {
            Self::EarlyError
        };
        match frame.kind {
            FrameType::Authorization => Self::Credential,
            FrameType::Request => Self::Request,
            FrameType::ResponseFinish => Self::Finish,
            FrameType::ChannelRequest => Self::Ask,
            FrameType::ChannelResponse => Self::Answer,
            FrameType::ChannelResponseFinish => Self::AnswerFinish,
            FrameType::Response if flow == Flow::FromProxy => {
                match BeginKind::of(Profile::scope(), &frame.payload) {
                    Ok(BeginKind::Begun) => Self::Begun,
                    Ok(BeginKind::Error) => error,
                    Ok(BeginKind::Chunk) => Self::Chunk,
                    Ok(BeginKind::Active) => Self::Active,
                    Ok(BeginKind::Inactive) => Self::Inactive,
                    Err(_) => Self::OtherResponse,
                }
            }
            FrameType::Response => match RunKind::of(&frame.payload) {
                Ok(RunKind::Id) => Self::Id,
                Ok(RunKind::Error) => error,
                Ok(RunKind::Chunk) => Self::Chunk,
                Ok(RunKind::Active) => Self::Active,
                Ok(RunKind::Inactive) => Self::Inactive,
                Ok(_) => Self::Refusal,
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
    /// Where it comes from or goes to.
    pub peer: Peer,
    /// What it is.
    pub part: Part,
    /// The run it belongs to: the last one under its scope number, or the one that the proxy serves.
    pub run: Option<&'a RunView>,
    /// The frame itself.
    pub frame: Frame,
}

impl Message<'_> {
    /// Whether it is such a part of a run that was asked for, and the run is as `when` says.
    #[must_use]
    pub fn is(&self, part: Part, when: impl FnOnce(&RunView) -> bool) -> bool {
        self.part == part && self.run.is_some_and(when)
    }

    /// What stands behind the payload's first byte.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        self.frame.payload.get(1..).unwrap_or_default()
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
        match (self.flow, self.peer) {
            (Flow::FromClient, Peer::Client(client)) => Input::ClientBinary(client, bytes).into(),
            (_, Peer::Client(client)) => Output::ToClient(client, bytes).into(),
            (Flow::FromProxy, Peer::Proxy(run)) => Input::ProxyBinary(run, bytes).into(),
            (_, Peer::Proxy(run)) => Output::ToProxy(run, bytes).into(),
        }
    }

    /// The client and the scope of the run that it belongs to.
    #[must_use]
    pub fn scope(&self) -> (ClientId, u32) {
        match self.peer {
            Peer::Client(client) => (client, self.frame.scope),
            Peer::Proxy(run) => (run.client, run.scope),
        }
    }

    /// A frame of the provider's to the client, on the same run's scope.
    #[must_use]
    pub fn tell_client(&self, kind: FrameType, channel: u32, payload: impl Into<Bytes>) -> Step {
        let (client, scope) = self.scope();
        Output::ToClient(client, Frame::new(kind, scope, channel, payload).encode()).into()
    }

    /// A response of the provider's to the client, on the same run's scope.
    #[must_use]
    pub fn respond(&self, payload: impl Into<Bytes>) -> Step {
        self.tell_client(FrameType::Response, 0, payload)
    }

    /// The finish of the same run's scope.
    #[must_use]
    pub fn finish(&self) -> Step {
        self.tell_client(FrameType::ResponseFinish, 0, Bytes::new())
    }
}
