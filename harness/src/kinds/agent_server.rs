//! Agent servers under test. One keeps what it was made for, so that each scenario has one to itself.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use diverge_protocol::rules::Revision;
use diverge_protocol::rules::revisions::Revisions;
use diverge_protocol::scenario::{Iut, Scenario};
use mock_agent_server::server::{self, Behaviour, Listen, Server};
use mock_agent_server::settings::{self, ARGUMENTS, MESSAGES, REFUSED_ARGUMENTS};
use mock_agent_server::{faults, hollow, variants};
use tokio::net::TcpStream;

use super::each::each;
use super::reach::{BACKOFF, REACHING, STARTING};
use super::{Kind, Playing, Selection, Setting, Trial, reference};
use crate::config::{AgentServerConfig, Config, Messages};
use crate::iut::{Plug, PlugError, address};
use crate::mutants::Mutant;
use crate::play::{self, Patience};
use crate::port::Port;
use crate::process::{CommandLine, Pipes, Process};
use crate::runner::Progress;
use crate::suite::{self, SelectError};

/// Agent servers.
#[derive(Debug)]
pub struct AgentServer;

impl Kind for AgentServer {
    fn iut(&self) -> Iut {
        Iut::AgentServer
    }

    fn mutants(&self) -> Vec<Mutant> {
        let hollow = hollow::all().map(|it| (it.name, it.about));
        reference::mutants(self.iut(), hollow, faults::all(), variants::all())
    }

    fn in_tree(&self) -> Config {
        let text = |text: &str| Some(text.to_owned());
        Config {
            agent_server: AgentServerConfig {
                arguments: serde_json::from_str(ARGUMENTS).ok(),
                refused_arguments: serde_json::from_str(REFUSED_ARGUMENTS).ok(),
                messages: Messages {
                    ordinary: text(MESSAGES.ordinary),
                    tool: text(MESSAGES.tool),
                    long: text(MESSAGES.long),
                    holding: text(MESSAGES.holding),
                    failing: text(MESSAGES.failing),
                },
            },
            ..Config::default()
        }
    }

    fn pauses(&self) -> Duration {
        let settings = settings::Settings::new(Revision::Scope);
        settings.hold * 2
    }

    fn trials(
        &self,
        selection: &Selection,
        revision: Option<Revision>,
        setting: &Setting,
    ) -> Result<Vec<Box<dyn Trial>>, SelectError> {
        let scenarios = suite::select(Iut::AgentServer, selection)?;
        let mut trials: Vec<Box<dyn Trial>> = Vec::new();
        for each in [Revision::Scope, Revision::Path] {
            let of_it = |it: &&Arc<Scenario>| it.revision == each;
            let scenarios: Vec<_> = scenarios.iter().filter(of_it).cloned().collect();
            let wanted = revision.is_none_or(|revision| revision == each);
            if wanted && !scenarios.is_empty() {
                trials.push(Box::new(Judged {
                    scenarios,
                    revision: each,
                    setting: setting.clone(),
                }));
            }
        }
        Ok(trials)
    }
}

/// Agent servers and the scenarios of one revision that they are judged by.
struct Judged {
    scenarios: Vec<Arc<Scenario>>,
    revision: Revision,
    setting: Setting,
}

impl Trial for Judged {
    fn iut(&self) -> Iut {
        Iut::AgentServer
    }

    fn revision(&self) -> Option<Revision> {
        Some(self.revision)
    }

    fn ids(&self) -> Vec<String> {
        self.scenarios.iter().map(|it| it.id.clone()).collect()
    }

    fn lacking(&self, id: &str) -> Option<String> {
        let scenario = self.scenarios.iter().find(|it| it.id == id)?;
        play::agent_server_lacking(scenario, &self.setting.config.agent_server)
    }

    fn keep(&mut self, ids: &[String]) {
        suite::keep(&mut self.scenarios, ids);
    }

    fn play<'a>(&'a self, progress: &'a mut (dyn FnMut(Progress) + Send)) -> Playing<'a> {
        Box::pin(async move {
            let way = Way::of(&self.setting.plug)?;
            if matches!(way, Way::Url(_)) && self.scenarios.len() > 1 {
                return Err(PlugError::OneScenario(Iut::AgentServer));
            }
            let (way, patience) = (&way, &self.setting.patience);
            let config = &self.setting.config.agent_server;
            let play = |scenario: Arc<Scenario>| async move {
                play::agent_server(&scenario, way, config, patience).await
            };
            Ok(each(&self.scenarios, &self.setting, progress, play).await)
        })
    }
}

/// How agent servers are had, each for one scenario.
#[derive(Debug, Clone)]
pub enum Way {
    /// The reference, so behaved.
    Reference(Behaviour),
    /// Started by this command, as often as a scenario needs one.
    Launch(CommandLine, Starts),
    /// One that runs already at this address.
    Url(SocketAddr),
}

/// How long the processes of one command took until they accepted: the slowest, in milliseconds.
#[derive(Debug, Clone, Default)]
pub struct Starts(Arc<AtomicU64>);

impl Starts {
    fn took(&self, time: Duration) {
        let time = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.0.fetch_max(time.max(1), Ordering::Relaxed);
    }

    /// How long another may take that listens elsewhere than it was told, perhaps, where others have shown how long it
    /// takes.
    fn allowed(&self, patience: &Patience) -> Duration {
        match self.0.load(Ordering::Relaxed) {
            0 => STARTING,
            slowest => (Duration::from_millis(slowest) * 4)
                .max(patience.limit())
                .min(STARTING),
        }
    }
}

/// What a server is given for its port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Given {
    /// A port that is free.
    Free,
    /// This, as the value of its variable.
    Port(String),
    /// Nothing.
    NoPort,
}

/// Why a server could not be had for a scenario.
#[derive(Debug, thiserror::Error)]
pub enum ReachError {
    /// The scenario cannot be played here.
    #[error("{0}")]
    Lacking(String),
    /// The server cannot be started.
    #[error(transparent)]
    Plug(#[from] PlugError),
}

/// The one port that servers have without being given any: whoever needs it has it alone.
static DEFAULT_PORT: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
/// It was waited for in vain: what listens there is no server of another run's, which would have gone.
static TAKEN: AtomicBool = AtomicBool::new(false);
/// How often, and how long apart, that port is tried until it is free.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(100);

type Alone = tokio::sync::MutexGuard<'static, ()>;

/// Waits until nothing is at the default port.
async fn default_port(patience: &Patience) -> Result<Alone, ReachError> {
    let alone = DEFAULT_PORT.lock().await;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, settings::DEFAULT_PORT));
    let tries = match TAKEN.load(Ordering::Relaxed) {
        true => 1,
        false => TRIES,
    };
    for _ in 0..tries {
        match TcpListener::bind(address) {
            Ok(_) => return Ok(alone),
            Err(_) => patience.start().paused(PAUSE).await,
        }
    }
    TAKEN.store(true, Ordering::Relaxed);
    Err(ReachError::Lacking(format!(
        "needs {address}, where something else listens"
    )))
}

impl Way {
    pub(super) fn of(plug: &Plug) -> Result<Self, PlugError> {
        Ok(match plug {
            Plug::Reference(mutant) => Self::Reference(reference::behaviour(mutant.as_ref())),
            Plug::Launch(command) => Self::Launch(CommandLine::parse(command)?, Starts::default()),
            Plug::Url(url) => {
                let authority = url.strip_prefix("http://").unwrap_or(url);
                let authority = authority.trim_end_matches('/');
                let address = authority
                    .to_socket_addrs()
                    .ok()
                    .and_then(|mut it| it.next());
                Self::Url(address.ok_or_else(|| PlugError::Address(address::shown(url)))?)
            }
            Plug::InProcess(_) => return Err(PlugError::NotInProcess(Iut::AgentServer)),
        })
    }

    /// Starts a server on a free port.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(super) async fn start_anywhere(
        &self,
        revision: Revision,
        patience: &Patience,
    ) -> Result<Subject, PlugError> {
        let started = self.start(&Given::Free, None, revision, patience).await;
        started.map_err(|error| match error {
            ReachError::Plug(error) => error,
            ReachError::Lacking(why) => PlugError::Listen(io::Error::other(why)),
        })
    }

    /// Starts a server that is given this for its port, where `kept` is the port that it may name.
    ///
    /// # Errors
    /// When it cannot be started, or not like that.
    pub async fn start(
        &self,
        given: &Given,
        kept: Option<Port>,
        revision: Revision,
        patience: &Patience,
    ) -> Result<Subject, ReachError> {
        let (variable, port) = match given {
            Given::Free => (None, 0),
            Given::Port(text) => (Some(text.clone()), settings::port(Some(text))),
            Given::NoPort => (None, settings::DEFAULT_PORT),
        };
        if let (Self::Url(_), Given::Port(_) | Given::NoPort) = (self, given) {
            let why = "a server that runs already is given no port";
            return Err(ReachError::Lacking(why.to_owned()));
        }
        // A server that makes light of its port may be at the default one as well.
        let alone = match given {
            Given::Free => None,
            Given::Port(_) | Given::NoPort => Some(default_port(patience).await?),
        };
        let mut address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let mut kept = kept;
        let body = match self {
            Self::Url(url) => {
                address = *url;
                Body::Url
            }
            Self::Reference(behaviour) => {
                let serve = |listen| {
                    server::serve(server::Config {
                        listen,
                        revision,
                        behaviour: behaviour.clone(),
                    })
                };
                let server = if *given == Given::Free {
                    let free = Port::listen(|at| serve(Listen::At(at))).await;
                    let (server, port) = free.map_err(PlugError::Listen)?;
                    address = port.address();
                    kept = Some(port);
                    server
                } else {
                    serve(Listen::Port(variable))
                        .await
                        .map_err(PlugError::Listen)?
                };
                Body::Reference(server)
            }
            Self::Launch(command, starts) => {
                let mut variable = variable;
                if *given == Given::Free {
                    let port = Port::take().map_err(PlugError::Listen)?;
                    address = port.address();
                    variable = Some(address.port().to_string());
                    kept = Some(port);
                }
                let without = variable.is_none().then_some("PORT");
                let mut environment = vec![(
                    "CONFORMANCE_REVISION",
                    Revisions::spoken(revision).to_owned(),
                )];
                environment.extend(variable.map(|value| ("PORT", value)));
                let process = Process::start_without(command, &environment, without, Pipes::None)?;
                Body::Launched {
                    command: command.clone(),
                    starts: starts.clone(),
                    told: *given == Given::Free,
                    state: Mutex::new(State {
                        process,
                        reached: false,
                    }),
                }
            }
        };
        Ok(Subject {
            address,
            body,
            _kept: kept,
            _alone: alone,
        })
    }
}

/// The agent server of one scenario. Dropping it ends what was started.
#[derive(Debug)]
pub struct Subject {
    address: SocketAddr,
    body: Body,
    _kept: Option<Port>,
    _alone: Option<Alone>,
}

#[derive(Debug)]
enum Body {
    Url,
    Reference(Server),
    Launched {
        command: CommandLine,
        starts: Starts,
        /// It was given a port that cannot be misread.
        told: bool,
        state: Mutex<State>,
    },
}

#[derive(Debug)]
struct State {
    process: Process,
    reached: bool,
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Subject {
    /// Where it must be.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Opens a connection to it; while nobody accepts and its process lives, tries again.
    ///
    /// # Errors
    /// The system's reason.
    pub async fn connect(&self, patience: &Patience) -> io::Result<TcpStream> {
        let allowed = match &self.body {
            Body::Launched { state, .. } if lock(state).reached => REACHING,
            Body::Launched { told: true, .. } => STARTING,
            Body::Launched { starts, .. } => starts.allowed(patience),
            Body::Url | Body::Reference(_) => REACHING,
        };
        let alive = || match &self.body {
            Body::Launched { state, .. } => lock(state).process.ended().is_none(),
            Body::Url | Body::Reference(_) => true,
        };
        let mut backoff = BACKOFF.iter().copied();
        let mut tried = Duration::ZERO;
        loop {
            match TcpStream::connect(self.address).await {
                Err(error)
                    if error.kind() == io::ErrorKind::ConnectionRefused
                        && tried < allowed
                        && alive() =>
                {
                    let pause = backoff.next().unwrap_or(BACKOFF[BACKOFF.len() - 1]);
                    patience.start().paused(pause).await;
                    tried += pause;
                }
                Err(error) => return Err(error),
                Ok(stream) => {
                    if let Body::Launched { state, starts, .. } = &self.body
                        && !std::mem::replace(&mut lock(state).reached, true)
                    {
                        starts.took(tried);
                    }
                    return Ok(stream);
                }
            }
        }
    }

    /// How a launched process ended and what it wrote last, where it has ended.
    #[must_use]
    pub fn last_words(&self) -> Option<String> {
        let Body::Launched { command, state, .. } = &self.body else {
            return None;
        };
        let mut state = lock(state);
        let status = state.process.ended()?;
        let mut words = format!("`{}` ended ({status})", command.text());
        let said = state.process.said().join(" ⏎ ");
        if !said.is_empty() {
            words.push_str(" after writing: ");
            words.push_str(&said);
        }
        Some(words)
    }

    /// Ends what was started, and waits until it is gone.
    pub async fn end(self) {
        match self.body {
            Body::Url => {}
            Body::Reference(server) => server.stop().await,
            Body::Launched { state, .. } => {
                let state = state.into_inner().unwrap_or_else(PoisonError::into_inner);
                state.process.end().await;
            }
        }
    }
}
