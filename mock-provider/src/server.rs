//! A provider on sockets: the shell around whatever plays it.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;

use diverge_intercept::{Chosen, Repertoire};
use diverge_link::{Connection, Handshake, Heard, Limits, Lines, Listener};
use diverge_protocol::rules::Revision;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::{AbortHandle, JoinHandle, JoinSet};

use crate::fault::{Intercepted, Role};
use crate::hollow::{self, Door, Hollow};
use crate::policy::{ClientId, Greeting, Input, Output, Policy, Provider, RunId};
use crate::settings::{Settings, Volumes};
use crate::{faults, variants};

pub use diverge_intercept::Behaviour;

/// What a provider is started with.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where to listen for clients; port 0 lets the system pick one.
    pub listen: SocketAddr,
    /// Where the proxy of every container answers.
    pub proxy: SocketAddr,
    /// The one credential that is accepted.
    pub credential: String,
    /// The volumes there are.
    pub volumes: Volumes,
    /// Which provider to play.
    pub behaviour: Behaviour,
}

/// A running provider. Dropping it stops it and everything that it holds.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Server {
    /// The address that clients dial.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops the provider, and returns once its port is free.
    pub async fn stop(mut self) {
        self.task.abort();
        // An abort is how it always ends.
        let _ = (&mut self.task).await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Starts a provider.
///
/// # Errors
/// When there is no behaviour of that name, or the address cannot be had.
pub async fn serve(config: Config) -> io::Result<Server> {
    let (provider, door) = config.provider()?;
    let listener = Listener::bind(config.listen, Limits::default()).await?;
    let address = listener.address()?;
    if door == Door::Status {
        return Ok(Server {
            address,
            task: tokio::spawn(refuse(listener)),
        });
    }
    let shell = Shell::new(provider, format!("ws://{}/", config.proxy));
    Ok(Server {
        address,
        task: tokio::spawn(shell.run(listener, door)),
    })
}

const REPERTOIRE: Repertoire<Role, Hollow> = Repertoire {
    fault: faults::find,
    variant: variants::find,
    hollow: hollow::find,
};

impl Config {
    fn provider(&self) -> io::Result<(Box<dyn Provider>, Door)> {
        let settings = Settings::new(self.credential.clone(), self.volumes.clone());
        Ok(match self.behaviour.choose(Revision::Scope, &REPERTOIRE)? {
            Chosen::Reference => (Box::new(Policy::new(settings)), Door::Open),
            Chosen::Intercepted(intercept) => {
                (Box::new(Intercepted::new(settings, intercept)), Door::Open)
            }
            Chosen::Hollow(hollow) => (Box::new(*hollow), hollow.door),
        })
    }
}

/// Answers every connection with an HTTP error.
async fn refuse(listener: Listener) {
    while let Ok(handshake) = listener.accept().await {
        handshake.refuse().await;
    }
}

/// What the loop is told.
enum Event {
    Input(Input),
    Client(Connection),
    Proxy(RunId, Connection),
}

/// The one task that owns the provider, and the tasks that it starts.
struct Shell {
    provider: Box<dyn Provider>,
    proxy: String,
    clients: Lines<ClientId>,
    proxies: Lines<RunId>,
    dialling: HashMap<RunId, AbortHandle>,
    accepted: u64,
    tasks: JoinSet<()>,
    events: UnboundedSender<Event>,
    mailbox: UnboundedReceiver<Event>,
}

impl Shell {
    fn new(provider: Box<dyn Provider>, proxy: String) -> Self {
        let (events, mailbox) = unbounded_channel();
        Self {
            provider,
            proxy,
            clients: Lines::default(),
            proxies: Lines::default(),
            dialling: HashMap::new(),
            accepted: 0,
            tasks: JoinSet::new(),
            events,
            mailbox,
        }
    }

    async fn run(mut self, listener: Listener, door: Door) {
        let mut out = Vec::new();
        loop {
            tokio::select! {
                handshake = listener.accept() => match handshake {
                    Ok(handshake) if door == Door::HangUp => handshake.hang_up(),
                    Ok(handshake) => self.complete(handshake),
                    Err(_) => tokio::task::yield_now().await,
                },
                Some(event) = self.mailbox.recv() => {
                    if let Some(input) = self.note(event) {
                        self.provider.on(input, &mut out);
                        for output in out.drain(..) {
                            self.act(output);
                        }
                    }
                }
            }
            while self.tasks.try_join_next().is_some() {}
        }
    }

    fn complete(&mut self, handshake: Handshake) {
        let events = self.events.clone();
        let greeting = self.provider.greet();
        self.tasks.spawn(async move {
            let answered = match greeting {
                Greeting::Plain => handshake.complete().await,
                Greeting::Subprotocol => handshake.complete_naming("unoffered").await,
                Greeting::Refused => return handshake.refuse().await,
            };
            if let Ok(connection) = answered {
                tell(&events, Event::Client(connection));
            }
        });
    }

    /// Does what an event means for the connections, and gives the input that it is.
    fn note(&mut self, event: Event) -> Option<Input> {
        match event {
            Event::Client(connection) => {
                let id = ClientId(self.accepted);
                self.accepted += 1;
                let hear = self.hear(move |heard| match heard {
                    Heard::Binary(bytes) => Input::ClientBinary(id, bytes),
                    Heard::Text(text) => Input::ClientText(id, text),
                    Heard::Closed => Input::ClientClosed(id),
                    Heard::Lost => Input::ClientLost(id),
                });
                self.clients.open(id, connection, &mut self.tasks, hear);
                Some(Input::ClientOpened(id))
            }
            Event::Proxy(id, connection) => {
                // A proxy whose run was given up meanwhile is not wanted any more.
                self.dialling.remove(&id)?;
                let hear = self.hear(move |heard| match heard {
                    Heard::Binary(bytes) => Input::ProxyBinary(id, bytes),
                    Heard::Text(text) => Input::ProxyText(id, text),
                    Heard::Closed | Heard::Lost => Input::ProxyClosed(id),
                });
                self.proxies.open(id, connection, &mut self.tasks, hear);
                Some(Input::ProxyOpened(id))
            }
            Event::Input(input) => {
                match &input {
                    Input::ClientClosed(id) | Input::ClientLost(id) => self.clients.forget(id),
                    Input::ProxyClosed(id) => self.proxies.forget(id),
                    Input::ProxyRefused(id) => drop(self.dialling.remove(id)),
                    _ => {}
                }
                Some(input)
            }
        }
    }

    fn act(&mut self, output: Output) {
        match output {
            Output::ToClient(id, bytes) => self.clients.send(&id, bytes),
            Output::TextToClient(id, text) => self.clients.send_text(&id, text),
            Output::Flood(id, bytes) => self.clients.flood(&id, bytes),
            Output::CloseClient(id) => self.clients.close(&id),
            Output::DropClient(id) => self.clients.hang_up(&id),
            Output::Dial(id) => self.dial(id),
            Output::ToProxy(id, bytes) => self.proxies.send(&id, bytes),
            Output::TextToProxy(id, text) => self.proxies.send_text(&id, text),
            Output::CloseProxy(id) => {
                if let Some(dial) = self.dialling.remove(&id) {
                    dial.abort();
                }
                self.proxies.close(&id);
            }
            Output::Wake => tell(&self.events, Event::Input(Input::Woken)),
        }
    }

    fn dial(&mut self, id: RunId) {
        let (url, events) = (self.proxy.clone(), self.events.clone());
        let dial = self.tasks.spawn(async move {
            let dialled = diverge_link::connect(&url, Limits::default()).await;
            tell(
                &events,
                match dialled {
                    Ok(connection) => Event::Proxy(id, connection),
                    Err(_) => Event::Input(Input::ProxyRefused(id)),
                },
            );
        });
        self.dialling.insert(id, dial);
    }

    /// Tells the loop what is heard on a connection, as the input that it is.
    fn hear<F: Fn(Heard) -> Input>(&self, input: F) -> impl Fn(Heard) + use<F> {
        let events = self.events.clone();
        move |heard| tell(&events, Event::Input(input(heard)))
    }
}

/// Tells the loop; once that is gone there is nobody to tell.
fn tell(events: &UnboundedSender<Event>, event: Event) {
    let _ = events.send(event);
}
