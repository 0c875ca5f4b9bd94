//! A proxy on sockets: the shell around whatever plays it.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use diverge_intercept::{Chosen, Repertoire};
use diverge_link::http;
use diverge_link::{Connection, Handshake, Heard, Limits, Lines, Listener};
use diverge_protocol::rules::Revision;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::{AbortHandle, JoinHandle, JoinSet};

use crate::fault::{Intercepted, Role, reference};
use crate::hollow::{self, Door, Hollow, Playing};
use crate::policy::{Admission, Call, CallId, Endpoint, HostId, Input, Output, Proxy, Word};
use crate::settings::Settings;
use crate::{faults, variants};

pub use diverge_intercept::Behaviour;

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

const REPERTOIRE: Repertoire<Role, Hollow> = Repertoire {
    fault: faults::find,
    variant: variants::find,
    hollow: hollow::find,
};

impl Config {
    fn proxy(&self) -> io::Result<(Box<dyn Proxy>, Door)> {
        let revision = self.revision;
        Ok(match self.behaviour.choose(revision, &REPERTOIRE)? {
            Chosen::Reference => (reference(revision, Settings::default()), Door::Open),
            Chosen::Intercepted(intercept) => {
                (Box::new(Intercepted::new(revision, intercept)), Door::Open)
            }
            Chosen::Hollow(hollow) => {
                let playing = Playing {
                    hollow: *hollow,
                    revision,
                };
                (Box::new(playing), hollow.door)
            }
        })
    }
}

/// What the loop is told.
enum Event {
    Input(Input),
    Host(Connection, String),
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
    hosts: Lines<HostId>,
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
            hosts: Lines::default(),
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
                let events = self.events.clone();
                let hear = move |heard| {
                    let input = match heard {
                        Heard::Binary(bytes) => Input::Binary(id, bytes),
                        Heard::Text(text) => Input::Text(id, text),
                        Heard::Closed => Input::Closed(id),
                        Heard::Lost => Input::Lost(id),
                    };
                    tell(&events, Event::Input(input));
                };
                self.hosts.open(id, connection, &mut self.tasks, hear);
                Input::Opened(id, path)
            }
            Event::Input(input) => {
                match &input {
                    Input::Closed(id) | Input::Lost(id) => self.hosts.forget(id),
                    Input::Agent(id, word) if word.is_last() => drop(self.calls.remove(id)),
                    _ => {}
                }
                input
            }
        }
    }

    fn act(&mut self, output: Output) {
        match output {
            Output::Send(id, bytes) => self.hosts.send(&id, bytes),
            Output::SendText(id, text) => self.hosts.send_text(&id, text),
            Output::Flood(id, bytes) => self.hosts.flood(&id, bytes),
            Output::Close(id) => self.hosts.close(&id),
            Output::Drop(id) => self.hosts.hang_up(&id),
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
