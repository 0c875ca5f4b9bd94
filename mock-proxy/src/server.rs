//! A proxy on sockets: the shell around whatever plays it.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use diverge_link::http;
use diverge_link::{Connection, Handshake, Limits, Listener, Message, Receiver, Sender};
use diverge_protocol::rules::Revision;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::{AbortHandle, JoinHandle, JoinSet};

use crate::fault::{Intercepted, reference};
use crate::hollow::{self, Door, Playing};
use crate::policy::{Admission, Call, CallId, Endpoint, HostId, Input, Output, Proxy, Word};
use crate::settings::Settings;
use crate::{faults, variants};

/// Which proxy to play.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Behaviour {
    /// The reference.
    #[default]
    Conforming,
    /// The reference with the fault of that name.
    Fault(String),
    /// The conforming variant of that name.
    Variant(String),
    /// The hollow proxy of that name.
    Hollow(String),
}

/// What a proxy is started with.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where to listen for the host; port 0 lets the system pick one.
    pub listen: SocketAddr,
    /// Where the agent server answers.
    pub agent: SocketAddr,
    /// The revision to speak.
    pub revision: Revision,
    /// Which proxy to play.
    pub behaviour: Behaviour,
}

/// A running proxy. Dropping it stops it and everything that it holds.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    /// The task ends when this is dropped.
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Server {
    /// The address that the host dials.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops the proxy, and returns once its port is free and nothing of it calls the agent server any more.
    pub async fn stop(self) {
        drop(self.stop);
        // It has nothing to tell.
        let _ = self.task.await;
    }
}

/// Starts a proxy.
///
/// # Errors
/// When the revision has no behaviour of that name, or the address cannot be had.
pub async fn serve(config: Config) -> io::Result<Server> {
    let (proxy, door) = config.proxy()?;
    let listener = Listener::bind(config.listen, Limits::default()).await?;
    let address = listener.address()?;
    let shell = Shell::new(proxy, config.agent);
    let (stop, stopped) = oneshot::channel();
    Ok(Server {
        address,
        stop,
        task: tokio::spawn(shell.run(listener, door, stopped)),
    })
}

impl Config {
    fn proxy(&self) -> io::Result<(Box<dyn Proxy>, Door)> {
        let unknown = |kind: &str, name: &str| {
            io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("there is no {kind} `{name}` in this revision"),
            )
        };
        let intercept = match &self.behaviour {
            Behaviour::Conforming => {
                return Ok((reference(self.revision, Settings::default()), Door::Open));
            }
            Behaviour::Hollow(name) => {
                let hollow = *hollow::find(name).ok_or_else(|| unknown("hollow proxy", name))?;
                let playing = Playing {
                    hollow,
                    revision: self.revision,
                };
                return Ok((Box::new(playing), hollow.door));
            }
            Behaviour::Fault(name) => faults::find(name)
                .filter(|fault| fault.revision == self.revision)
                .ok_or_else(|| unknown("fault", name))?
                .build(),
            Behaviour::Variant(name) => variants::find(name)
                .filter(|variant| variant.revisions.contains(&self.revision))
                .ok_or_else(|| unknown("variant", name))?
                .build(),
        };
        let proxy = Intercepted::new(self.revision, intercept);
        Ok((Box::new(proxy), Door::Open))
    }
}

/// What the loop is told.
enum Event {
    Input(Input),
    Host(Connection, String),
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

/// The proxy, shared with the handshakes, which are decided while they are read.
type Shared = Arc<Mutex<Box<dyn Proxy>>>;

fn lock(proxy: &Shared) -> MutexGuard<'_, Box<dyn Proxy>> {
    proxy.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The one task that feeds the proxy, and the tasks that it starts.
struct Shell {
    proxy: Shared,
    agent: SocketAddr,
    hosts: HashMap<HostId, Line>,
    calls: HashMap<CallId, AbortHandle>,
    accepted: u64,
    tasks: JoinSet<()>,
    events: UnboundedSender<Event>,
    mailbox: UnboundedReceiver<Event>,
}

impl Shell {
    fn new(proxy: Box<dyn Proxy>, agent: SocketAddr) -> Self {
        let (events, mailbox) = unbounded_channel();
        Self {
            proxy: Arc::new(Mutex::new(proxy)),
            agent,
            hosts: HashMap::new(),
            calls: HashMap::new(),
            accepted: 0,
            tasks: JoinSet::new(),
            events,
            mailbox,
        }
    }

    async fn run(mut self, listener: Listener, door: Door, mut stopped: oneshot::Receiver<()>) {
        let mut out = Vec::new();
        loop {
            tokio::select! {
                _ = &mut stopped => break,
                handshake = listener.accept() => match handshake {
                    Ok(handshake) if door == Door::HangUp => handshake.hang_up(),
                    Ok(handshake) => self.complete(handshake),
                    Err(_) => tokio::task::yield_now().await,
                },
                Some(event) = self.mailbox.recv() => {
                    let input = self.note(event);
                    lock(&self.proxy).on(input, &mut out);
                    for output in out.drain(..) {
                        self.act(output);
                    }
                }
            }
            while self.tasks.try_join_next().is_some() {}
        }
        // A call that is on its way is gone before its port can be somebody else's.
        self.tasks.shutdown().await;
    }

    fn complete(&mut self, handshake: Handshake) {
        let (events, proxy) = (self.events.clone(), Arc::clone(&self.proxy));
        self.tasks.spawn(async move {
            let mut asked = String::new();
            let admit = |path: &str| {
                asked = path.to_owned();
                match lock(&proxy).admit(path) {
                    Admission::Granted => Ok(()),
                    Admission::Refused(status) => Err(status),
                }
            };
            if let Ok(connection) = handshake.complete_if(admit).await {
                tell(&events, Event::Host(connection, asked));
            }
        });
    }

    /// Does what an event means for the connections, and gives the input that it is.
    fn note(&mut self, event: Event) -> Input {
        match event {
            Event::Host(connection, path) => {
                let id = HostId(self.accepted);
                self.accepted += 1;
                let line = self.line(id, connection);
                self.hosts.insert(id, line);
                Input::Opened(id, path)
            }
            Event::Input(input) => {
                match &input {
                    Input::Closed(id) | Input::Lost(id) => drop(self.hosts.remove(id)),
                    Input::Agent(id, word) if word.is_last() => drop(self.calls.remove(id)),
                    _ => {}
                }
                input
            }
        }
    }

    fn act(&mut self, output: Output) {
        match output {
            Output::Send(id, bytes) => write(self.hosts.get(&id), Write::Binary(bytes)),
            Output::SendText(id, text) => write(self.hosts.get(&id), Write::Text(text)),
            Output::Flood(id, bytes) => write(self.hosts.get(&id), Write::Flood(bytes)),
            Output::Close(id) => write(self.hosts.remove(&id).as_ref(), Write::Close),
            Output::Drop(id) => {
                if let Some(line) = self.hosts.remove(&id) {
                    line.reader.abort();
                }
            }
            Output::Call(id, call) => {
                let task = self
                    .tasks
                    .spawn(make(self.agent, id, call, self.events.clone()));
                self.calls.insert(id, task);
            }
            Output::HangUp(id) => {
                if let Some(call) = self.calls.remove(&id) {
                    call.abort();
                }
            }
            Output::Wake => tell(&self.events, Event::Input(Input::Woken)),
        }
    }

    /// Starts the reader and the writer of a connection.
    fn line(&mut self, id: HostId, connection: Connection) -> Line {
        let (sender, receiver) = connection.split();
        let (writer, orders) = unbounded_channel();
        self.tasks.spawn(write_all(sender, orders));
        let reader = self
            .tasks
            .spawn(read_all(id, receiver, self.events.clone()));
        Line { writer, reader }
    }
}

async fn read_all(id: HostId, mut receiver: Receiver, events: UnboundedSender<Event>) {
    loop {
        let input = match receiver.receive().await {
            Message::Binary(bytes) => Input::Binary(id, bytes),
            Message::Text(text) => Input::Text(id, text),
            Message::Closed if receiver.got_close_frame() => Input::Closed(id),
            Message::Closed => Input::Lost(id),
        };
        let last = matches!(input, Input::Closed(_) | Input::Lost(_));
        tell(&events, Event::Input(input));
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

/// Makes a call, and tells the loop every word of its answer.
async fn make(agent: SocketAddr, id: CallId, call: Call, events: UnboundedSender<Event>) {
    let say = |word| tell(&events, Event::Input(Input::Agent(id, word)));
    let endpoint = call.endpoint;
    let last = match http::call(agent, written(call)).await {
        Err(error) => Word::Failed(error.to_string()),
        Ok(response) if endpoint == Endpoint::Run && response.is_success() => {
            say(Word::Streams);
            let mut stream = response.events();
            loop {
                match stream.next().await {
                    Ok(Some(data)) => say(Word::Event(data)),
                    Ok(None) => break Word::Ended,
                    Err(error) => break Word::Broke(error.to_string()),
                }
            }
        }
        Ok(response) => {
            let status = response.status;
            match response.bytes().await {
                Ok(body) => Word::Answered { status, body },
                Err(error) => Word::Failed(error.to_string()),
            }
        }
    };
    say(last);
}

/// The call as HTTP has it.
fn written(call: Call) -> http::Call {
    http::Call {
        method: match call.endpoint {
            Endpoint::Schema => http::Method::GET,
            _ => http::Method::POST,
        },
        path: call.endpoint.path().to_owned(),
        content_type: (!call.body.is_empty()).then(|| call.content_type.to_owned()),
        body: call.body,
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
