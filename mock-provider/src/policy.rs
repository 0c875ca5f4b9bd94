//! The reference provider, without I/O: what it does on every input, for all clients and all runs.

use std::collections::HashMap;

use bytes::Bytes;
use diverge_protocol::wire::request::RunRequest;
use diverge_protocol::wire::{Frame, FrameType, Profile};

use crate::checks;
use crate::credential;
use crate::run::{Run, Then};
use crate::settings::Settings;

/// A client connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClientId(pub u64);

/// A run: the scope of a client that it answers, and how many runs came before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunId {
    /// The client connection.
    pub client: ClientId,
    /// The scope number of the run request.
    pub scope: u32,
    /// How many runs were taken on before, by this provider.
    pub nth: u64,
}

/// What happens to a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A client connected.
    ClientOpened(ClientId),
    /// A client sent a binary message.
    ClientBinary(ClientId, Bytes),
    /// A client sent a text message.
    ClientText(ClientId, String),
    /// A client's connection ended.
    ClientClosed(ClientId),
    /// A client's connection broke, without a close frame.
    ClientLost(ClientId),
    /// The run's proxy accepted the connection that was dialled.
    ProxyOpened(RunId),
    /// The run's proxy cannot be connected to.
    ProxyRefused(RunId),
    /// The run's proxy sent a binary message.
    ProxyBinary(RunId, Bytes),
    /// The run's proxy sent a text message.
    ProxyText(RunId, String),
    /// The connection to the run's proxy ended.
    ProxyClosed(RunId),
    /// The turn that [`Output::Wake`] asked for.
    Woken,
}

/// What a provider does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Send a client a binary message.
    ToClient(ClientId, Bytes),
    /// Send a client a text message; only a fault does.
    TextToClient(ClientId, String),
    /// End a client's connection with a close frame.
    CloseClient(ClientId),
    /// End a client's connection without one.
    DropClient(ClientId),
    /// Connect to the run's proxy.
    Dial(RunId),
    /// Send the run's proxy a binary message.
    ToProxy(RunId, Bytes),
    /// Send the run's proxy a text message; only a fault does.
    TextToProxy(RunId, String),
    /// End the connection to the run's proxy, or give up dialling it.
    CloseProxy(RunId),
    /// Send a client this message without end; only a hollow provider does.
    Flood(ClientId, Bytes),
    /// Hand in [`Input::Woken`] once everything that has already arrived was handed in.
    Wake,
}

/// How a client's handshake is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Greeting {
    /// Granted, with nothing added.
    #[default]
    Plain,
    /// Granted, with a subprotocol that nobody offered; only a fault does.
    Subprotocol,
    /// Answered with an HTTP error; only a fault does.
    Refused,
}

/// Something that plays a provider.
pub trait Provider: Send {
    /// Says how to answer the handshake of the next client.
    fn greet(&mut self) -> Greeting {
        Greeting::Plain
    }

    /// Takes one input and appends what is to be done, in order.
    fn on(&mut self, input: Input, out: &mut Vec<Output>);
}

#[derive(Debug, Default)]
struct Client {
    accepted: bool,
    scopes: HashMap<u32, RunId>,
}

/// The conforming reference.
#[derive(Debug)]
pub struct Policy {
    settings: Settings,
    clients: HashMap<ClientId, Client>,
    runs: HashMap<RunId, Run>,
    taken_on: u64,
}

impl Provider for Policy {
    fn on(&mut self, input: Input, out: &mut Vec<Output>) {
        match input {
            Input::ClientOpened(client) => {
                self.clients.insert(client, Client::default());
            }
            Input::ClientBinary(client, message) => {
                if let Ok(frame) = Frame::decode(message) {
                    self.on_client_frame(client, frame, out);
                }
            }
            Input::ClientClosed(client) | Input::ClientLost(client) => {
                self.give_up(client, out);
            }
            Input::ProxyOpened(run) => match self.runs.get_mut(&run) {
                Some(run) => run.begin(&self.settings, out),
                None => out.push(Output::CloseProxy(run)),
            },
            Input::ProxyRefused(id) => {
                self.with_run(id, out, |run, _, out| run.fail("no proxy answers", out))
            }
            Input::ProxyBinary(id, message) => {
                if let Ok(frame) = Frame::decode(message) {
                    self.with_run(id, out, |run, settings, out| {
                        run.on_proxy_frame(frame, settings, out)
                    });
                }
            }
            Input::ProxyClosed(id) => self.with_run(id, out, |run, _, out| run.on_proxy_gone(out)),
            Input::ClientText(..) | Input::ProxyText(..) | Input::Woken => {}
        }
    }
}

impl Policy {
    /// A provider without clients.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            clients: HashMap::new(),
            runs: HashMap::new(),
            taken_on: 0,
        }
    }

    fn on_client_frame(&mut self, id: ClientId, frame: Frame, out: &mut Vec<Output>) {
        let Some(client) = self.clients.get_mut(&id) else {
            return;
        };
        match frame.kind {
            FrameType::Authorization
                if !client.accepted && credential::accepted(&frame.payload, &self.settings) =>
            {
                client.accepted = true;
            }
            FrameType::Authorization => self.reject(id, out),
            FrameType::Request if !client.accepted => self.reject(id, out),
            FrameType::Request => self.on_request(id, &frame, out),
            FrameType::ChannelRequest
            | FrameType::ChannelResponse
            | FrameType::ChannelResponseFinish => {
                if let Some(&run) = client.scopes.get(&frame.scope) {
                    self.with_run(run, out, |run, settings, out| {
                        run.on_client_frame(frame, settings, out)
                    });
                }
            }
            FrameType::Response | FrameType::ResponseFinish => {}
        }
    }

    /// Refuses the run, or takes it on and dials its proxy. A request on an open scope is disregarded.
    fn on_request(&mut self, id: ClientId, frame: &Frame, out: &mut Vec<Output>) {
        let Some(client) = self.clients.get_mut(&id) else {
            return;
        };
        if client.scopes.contains_key(&frame.scope) {
            return;
        }
        let mut send = |kind, payload: Vec<u8>| {
            out.push(Output::ToClient(
                id,
                Frame::new(kind, frame.scope, 0, payload).encode(),
            ));
        };
        let Ok(request) = RunRequest::decode(Profile::scope(), &frame.payload) else {
            return send(FrameType::ResponseFinish, Vec::new());
        };
        if let Some(refusal) = checks::refusal(&request, &self.settings) {
            send(FrameType::Response, refusal);
            return send(FrameType::ResponseFinish, Vec::new());
        }
        let run = RunId {
            client: id,
            scope: frame.scope,
            nth: self.taken_on,
        };
        self.taken_on += 1;
        client.scopes.insert(frame.scope, run);
        self.runs
            .insert(run, Run::new(run, request.arguments, &self.settings));
        out.push(Output::Dial(run));
    }

    /// Lets an open run do something, and ends it if that was its last.
    fn with_run(
        &mut self,
        id: RunId,
        out: &mut Vec<Output>,
        act: impl FnOnce(&mut Run, &Settings, &mut Vec<Output>) -> Then,
    ) {
        let Some(run) = self.runs.get_mut(&id) else {
            return;
        };
        if act(run, &self.settings, out) == Then::Ends {
            out.push(Output::CloseProxy(id));
            run.finish(&self.settings, out);
            self.runs.remove(&id);
            if let Some(client) = self.clients.get_mut(&id.client) {
                client.scopes.remove(&id.scope);
            }
        }
    }

    /// Ends a connection that broke the rules of authorization, and everything on it.
    fn reject(&mut self, id: ClientId, out: &mut Vec<Output>) {
        self.give_up(id, out);
        out.push(Output::CloseClient(id));
    }

    /// Forgets a client, and stops the containers of all its runs.
    fn give_up(&mut self, id: ClientId, out: &mut Vec<Output>) {
        let Some(client) = self.clients.remove(&id) else {
            return;
        };
        for run in client.scopes.into_values() {
            self.runs.remove(&run);
            out.push(Output::CloseProxy(run));
        }
    }
}
