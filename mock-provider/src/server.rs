//! A provider on sockets: the shell around whatever plays it.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;

use bytes::Bytes;
use diverge_link::{Connection, Handshake, Limits, Listener, Message, Receiver, Sender};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::{AbortHandle, JoinHandle, JoinSet};

use crate::fault::Intercepted;
use crate::hollow::{self, Door, Hollow};
use crate::policy::{ClientId, Greeting, Input, Output, Policy, Provider, RunId};
use crate::settings::{Settings, Volumes};
use crate::{faults, variants};

/// Which provider to play.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Behaviour {
    /// The reference.
    #[default]
    Conforming,
    /// The reference with the fault of that name.
    Fault(String),
    /// The conforming variant of that name.
    Variant(String),
    /// The hollow provider of that name.
    Hollow(String),
}

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

impl Config {
    fn provider(&self) -> io::Result<(Box<dyn Provider>, Door)> {
        let settings = Settings::new(self.credential.clone(), self.volumes.clone());
        let unknown = |kind: &str, name: &str| {
            io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("there is no {kind} `{name}`"),
            )
        };
        let intercept = match &self.behaviour {
            Behaviour::Conforming => return Ok((Box::new(Policy::new(settings)), Door::Open)),
            Behaviour::Hollow(name) => {
                let hollow: Hollow =
                    *hollow::find(name).ok_or_else(|| unknown("hollow provider", name))?;
                return Ok((Box::new(hollow), hollow.door));
            }
            Behaviour::Fault(name) => faults::find(name)
                .ok_or_else(|| unknown("fault", name))?
                .build(),
            Behaviour::Variant(name) => variants::find(name)
                .ok_or_else(|| unknown("variant", name))?
                .build(),
        };
        Ok((Box::new(Intercepted::new(settings, intercept)), Door::Open))
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

/// What a writer is told.
enum Write {
    Binary(Bytes),
    Text(String),
    Flood(Bytes),
    Close,
}

/// One open connection: the way to its writer, and its reader.
struct Line {
    writer: UnboundedSender<Write>,
    reader: AbortHandle,
}

/// The one task that owns the provider, and the tasks that it starts.
struct Shell {
    provider: Box<dyn Provider>,
    proxy: String,
    clients: HashMap<ClientId, Line>,
    proxies: HashMap<RunId, Line>,
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
            clients: HashMap::new(),
            proxies: HashMap::new(),
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
                let line = self.line(connection, move |message, farewell| match message {
                    Message::Binary(bytes) => Input::ClientBinary(id, bytes),
                    Message::Text(text) => Input::ClientText(id, text),
                    Message::Closed if farewell => Input::ClientClosed(id),
                    Message::Closed => Input::ClientLost(id),
                });
                self.clients.insert(id, line);
                Some(Input::ClientOpened(id))
            }
            Event::Proxy(id, connection) => {
                // A proxy whose run was given up meanwhile is not wanted any more.
                self.dialling.remove(&id)?;
                let line = self.line(connection, move |message, _| match message {
                    Message::Binary(bytes) => Input::ProxyBinary(id, bytes),
                    Message::Text(text) => Input::ProxyText(id, text),
                    Message::Closed => Input::ProxyClosed(id),
                });
                self.proxies.insert(id, line);
                Some(Input::ProxyOpened(id))
            }
            Event::Input(input) => {
                match &input {
                    Input::ClientClosed(id) | Input::ClientLost(id) => {
                        drop(self.clients.remove(id))
                    }
                    Input::ProxyClosed(id) => drop(self.proxies.remove(id)),
                    Input::ProxyRefused(id) => drop(self.dialling.remove(id)),
                    _ => {}
                }
                Some(input)
            }
        }
    }

    fn act(&mut self, output: Output) {
        match output {
            Output::ToClient(id, bytes) => write(self.clients.get(&id), Write::Binary(bytes)),
            Output::TextToClient(id, text) => write(self.clients.get(&id), Write::Text(text)),
            Output::Flood(id, bytes) => write(self.clients.get(&id), Write::Flood(bytes)),
            Output::CloseClient(id) => write(self.clients.remove(&id).as_ref(), Write::Close),
            Output::DropClient(id) => {
                if let Some(line) = self.clients.remove(&id) {
                    line.reader.abort();
                }
            }
            Output::Dial(id) => self.dial(id),
            Output::ToProxy(id, bytes) => write(self.proxies.get(&id), Write::Binary(bytes)),
            Output::TextToProxy(id, text) => write(self.proxies.get(&id), Write::Text(text)),
            Output::CloseProxy(id) => {
                if let Some(dial) = self.dialling.remove(&id) {
                    dial.abort();
                }
                write(self.proxies.remove(&id).as_ref(), Write::Close);
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

    /// Starts the reader and the writer of a connection.
    fn line(
        &mut self,
        connection: Connection,
        input: impl Fn(Message, bool) -> Input + Send + 'static,
    ) -> Line {
        let (sender, receiver) = connection.split();
        let (writer, orders) = unbounded_channel();
        self.tasks.spawn(write_all(sender, orders));
        let reader = self
            .tasks
            .spawn(read_all(receiver, self.events.clone(), input));
        Line { writer, reader }
    }
}

async fn read_all(
    mut receiver: Receiver,
    events: UnboundedSender<Event>,
    input: impl Fn(Message, bool) -> Input,
) {
    loop {
        let message = receiver.receive().await;
        let last = message == Message::Closed;
        let farewell = receiver.got_close_frame();
        tell(&events, Event::Input(input(message, farewell)));
        if last {
            return;
        }
    }
}

/// Writes until there is nothing more to write, or nobody to write it to.
async fn write_all(mut sender: Sender, mut orders: UnboundedReceiver<Write>) {
    while let Some(order) = orders.recv().await {
        let written = match order {
            Write::Binary(bytes) => sender.send(bytes).await,
            Write::Text(text) => sender.send_text(text).await,
            Write::Close => sender.close().await,
            Write::Flood(bytes) => loop {
                if let Err(gone) = sender.send(bytes.clone()).await {
                    break Err(gone);
                }
            },
        };
        if written.is_err() {
            return;
        }
    }
}

/// Tells the loop; once that is gone there is nobody to tell.
fn tell(events: &UnboundedSender<Event>, event: Event) {
    let _ = events.send(event);
}

/// Gives a writer an order, unless its connection is gone.
fn write(line: Option<&Line>, order: Write) {
    if let Some(line) = line {
        let _ = line.writer.send(order);
    }
}
