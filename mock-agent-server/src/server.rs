//! An agent server on a socket: the shell around whatever plays it.

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use diverge_intercept::{Chosen, Repertoire};
use diverge_protocol::rules::Revision;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};

use crate::call::{Call, CallId};
use crate::endpoint::{Arrival, Endpoint};
use crate::fault::{Intercepted, Role};
use crate::hollow::{self, Door, Hollow};
use crate::policy::{AgentServer, Alarm, Input, Output, Policy};
use crate::settings::Settings;
use crate::{faults, variants};

pub use diverge_intercept::Behaviour;

/// Calls that may wait to be taken in.
const WAITING: usize = 64;

/// Where to listen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    /// Here; port 0 lets the system pick one.
    At(SocketAddr),
    /// On 127.0.0.1, at the port that this value of the variable `PORT` says to whatever is played.
    Port(Option<String>),
}

/// What an agent server is started with.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where to listen.
    pub listen: Listen,
    /// The revision that is spoken.
    pub revision: Revision,
    /// Which agent server to play.
    pub behaviour: Behaviour,
}

/// A running agent server. Dropping it stops it and everything that it holds.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Server {
    /// The address that callers dial.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops the server, and returns once its port is free.
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

/// Starts an agent server.
///
/// # Errors
/// When there is no behaviour of that name, or the address cannot be had.
pub async fn serve(config: Config) -> io::Result<Server> {
    let (player, door) = config.player()?;
    let address = match &config.listen {
        Listen::At(address) => *address,
        Listen::Port(variable) => (Ipv4Addr::LOCALHOST, player.port(variable.as_deref())).into(),
    };
    if door == Door::Open {
        let (to, arrivals) = mpsc::channel(WAITING);
        let endpoint = Endpoint::bind(address, to).await?;
        let address = endpoint.address();
        let task = tokio::spawn(Shell::new(player).run(endpoint, arrivals));
        return Ok(Server { address, task });
    }
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    let task = match door {
        Door::HangUp => tokio::spawn(hang_up(listener)),
        // Its port was free a moment ago, and nobody accepts connections there.
        Door::Shut | Door::Open => {
            drop(listener);
            tokio::spawn(std::future::ready(()))
        }
    };
    Ok(Server { address, task })
}

const REPERTOIRE: Repertoire<Role, Hollow> = Repertoire {
    fault: faults::find,
    variant: variants::find,
    hollow: hollow::find,
};

impl Config {
    fn player(&self) -> io::Result<(Box<dyn AgentServer>, Door)> {
        let settings = Settings::new(self.revision);
        Ok(match self.behaviour.choose(self.revision, &REPERTOIRE)? {
            Chosen::Reference => (Box::new(Policy::new(settings)), Door::Open),
            Chosen::Intercepted(intercept) => {
                (Box::new(Intercepted::new(settings, intercept)), Door::Open)
            }
            Chosen::Hollow(hollow) => (Box::new(*hollow), hollow.door),
        })
    }
}

/// Ends every connection that is accepted.
async fn hang_up(listener: TcpListener) {
    loop {
        match listener.accept().await {
            Ok(connection) => drop(connection),
            Err(_) => tokio::task::yield_now().await,
        }
    }
}

/// The one task that owns the player, and the calls that it answers.
struct Shell {
    player: Box<dyn AgentServer>,
    calls: HashMap<CallId, Call>,
    alarms: JoinSet<Alarm>,
    /// Turns that were asked for.
    wakes: usize,
}

impl Shell {
    fn new(player: Box<dyn AgentServer>) -> Self {
        Self {
            player,
            calls: HashMap::new(),
            alarms: JoinSet::new(),
            wakes: 0,
        }
    }

    async fn run(mut self, _endpoint: Endpoint, mut arrivals: mpsc::Receiver<Arrival>) {
        let mut out = Vec::new();
        loop {
            let input = tokio::select! {
                biased;
                arrival = arrivals.recv() => match arrival {
                    Some(Arrival::Called(call)) => self.called(*call),
                    Some(Arrival::Dropped(id)) => {
                        self.calls.remove(&id);
                        Input::Dropped(id)
                    }
                    None => return,
                },
                Some(Ok(alarm)) = self.alarms.join_next() => Input::Rung(alarm),
                () = tokio::task::yield_now(), if self.wakes > 0 => {
                    self.wakes -= 1;
                    Input::Woken
                }
            };
            self.player.on(input, &mut out);
            for output in out.drain(..) {
                self.act(output);
            }
        }
    }

    fn called(&mut self, call: Call) -> Input {
        let input = Input::Called(call.id, call.asked.clone());
        self.calls.insert(call.id, call);
        input
    }

    /// Does it, unless the caller is gone meanwhile.
    fn act(&mut self, output: Output) {
        let (Output::Answer(id, _)
        | Output::Stream(id, _)
        | Output::Event(id, _)
        | Output::Raw(id, _)
        | Output::Flood(id, _)
        | Output::End(id)
        | Output::Cut(id)) = output
        else {
            return self.wait(output);
        };
        let Some(call) = self.calls.get_mut(&id) else {
            return;
        };
        let told = match output {
            Output::Answer(_, answer) => call.respond(answer),
            Output::Stream(_, head) => call.stream(head),
            Output::Event(_, data) => call.event(&data),
            Output::Raw(_, bytes) => call.raw(bytes),
            Output::Flood(_, bytes) => call.flood(bytes),
            Output::End(_) => call.end(),
            _ => {
                call.break_off();
                Ok(())
            }
        };
        // A call that was answered whole needs no keeping, nor does one whose caller is gone.
        if told.is_err() || !call.goes_on() {
            self.calls.remove(&id);
        }
    }

    fn wait(&mut self, output: Output) {
        match output {
            Output::Alarm(alarm, time) => {
                self.alarms.spawn(async move {
                    tokio::time::sleep(time).await;
                    alarm
                });
            }
            Output::Wake => self.wakes += 1,
            _ => {}
        }
    }
}
