//! Container proxies under test. A proxy serves one connection in its life, so that each scenario has one to itself.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use diverge_link::{ConnectError, Connection, Limits};
use diverge_protocol::rules::Revision;
use diverge_protocol::rules::revisions::Revisions;
use diverge_protocol::scenario::{Iut, Scenario};
use diverge_protocol::transcript::AgentCall;
use mock_proxy::server::{self, Behaviour, Server};
use mock_proxy::{faults, hollow, variants};

use super::each::each;
use super::launched::Launched;
use super::reach::{REACHING, reach};
use super::{Kind, Playing, Selection, Setting, Trial, reference};
use crate::iut::{Plug, PlugError, address};
use crate::mutants::{Duty, Mutant};
use crate::play::{self, Patience};
use crate::port::Port;
use crate::process::CommandLine;
use crate::runner::Progress;
use crate::suite::{self, SelectError};

/// Proxies.
#[derive(Debug)]
pub struct Proxy;

impl Kind for Proxy {
    fn iut(&self) -> Iut {
        Iut::Proxy
    }

    fn mutants(&self) -> Vec<Mutant> {
        let hollow = hollow::all().map(|it| (it.name, it.about));
        reference::mutants(self.iut(), hollow, faults::all(), variants::all())
    }

    fn trials(
        &self,
        selection: &Selection,
        revision: Option<Revision>,
        setting: &Setting,
    ) -> Result<Vec<Box<dyn Trial>>, SelectError> {
        let scenarios = suite::select(Iut::Proxy, selection)?;
        let mut trials: Vec<Box<dyn Trial>> = Vec::new();
        for each in [Revision::Scope, Revision::Path] {
            let of_it = |it: &&Arc<Scenario>| it.revision == each;
            let scenarios: Vec<_> = scenarios.iter().filter(of_it).cloned().collect();
            let wanted = revision.is_none_or(|revision| revision == each);
            if wanted && !scenarios.is_empty() && plays(&setting.plug, each) {
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

/// Whether the implementation is one of the revision: some mutants are of one alone.
fn plays(plug: &Plug, revision: Revision) -> bool {
    let Plug::Reference(Some(mutant)) = plug else {
        return true;
    };
    match mutant.duty {
        Duty::Caught(_) => {
            faults::find(mutant.name).is_some_and(|it| it.revisions.contains(&revision))
        }
        Duty::Green => {
            variants::find(mutant.name).is_some_and(|it| it.revisions.contains(&revision))
        }
        Duty::NothingPasses => true,
    }
}

/// Proxies and the scenarios of one revision that they are judged by.
struct Judged {
    scenarios: Vec<Arc<Scenario>>,
    revision: Revision,
    setting: Setting,
}

impl Trial for Judged {
    fn iut(&self) -> Iut {
        Iut::Proxy
    }

    fn revision(&self) -> Option<Revision> {
        Some(self.revision)
    }

    fn ids(&self) -> Vec<String> {
        self.scenarios.iter().map(|it| it.id.clone()).collect()
    }

    fn keep(&mut self, ids: &[String]) {
        suite::keep(&mut self.scenarios, ids);
    }

    fn play<'a>(&'a self, progress: &'a mut (dyn FnMut(Progress) + Send)) -> Playing<'a> {
        Box::pin(async move {
            let way = Way::of(&self.setting.plug)?;
            if matches!(way, Way::Url(_)) && self.scenarios.len() > 1 {
                return Err(PlugError::OneScenario(Iut::Proxy));
            }
            let (way, patience) = (&way, &self.setting.patience);
            let play = |scenario: Arc<Scenario>| async move {
                play::proxy(&scenario, way, patience).await
            };
            Ok(each(&self.scenarios, &self.setting, progress, play).await)
        })
    }
}

/// How proxies are had, each for one scenario.
#[derive(Debug, Clone)]
pub enum Way {
    /// The reference, so behaved.
    Reference(Behaviour),
    /// Started by this command.
    Launch(CommandLine),
    /// One that runs already at this address.
    Url(String),
}

impl Way {
    pub(super) fn of(plug: &Plug) -> Result<Self, PlugError> {
        Ok(match plug {
            Plug::Reference(mutant) => Self::Reference(reference::behaviour(mutant.as_ref())),
            Plug::Launch(command) => Self::Launch(CommandLine::parse(command)?),
            Plug::Url(url) => Self::Url(address::of_web_socket(url)?.to_owned()),
            Plug::InProcess(_) => return Err(PlugError::NotInProcess(Iut::Proxy)),
        })
    }

    /// Where the agent server must listen: a proxy that runs already was told where, if anywhere else than usual, by
    /// the variable that tells it to any program in a container.
    #[must_use]
    pub fn agent_address(&self) -> Option<SocketAddr> {
        match self {
            Self::Url(_) => {
                let told = std::env::var("PORT")
                    .ok()
                    .and_then(|port| port.parse().ok());
                Some(SocketAddr::from((
                    Ipv4Addr::LOCALHOST,
                    told.unwrap_or(8080),
                )))
            }
            Self::Reference(_) | Self::Launch(_) => None,
        }
    }

    /// Starts a proxy whose agent server is at `agent`.
    ///
    /// # Errors
    /// When it cannot be started.
    pub async fn start(&self, agent: SocketAddr, revision: Revision) -> Result<Subject, PlugError> {
        Ok(match self {
            Self::Url(url) => Subject(Body::Url(url.trim_end_matches('/').to_owned())),
            Self::Reference(behaviour) => {
                let (server, port) = Port::listen(|listen| {
                    server::serve(server::Config {
                        listen,
                        agent,
                        revision,
                        behaviour: behaviour.clone(),
                    })
                })
                .await
                .map_err(PlugError::Listen)?;
                Subject(Body::Reference(server, port))
            }
            Self::Launch(command) => {
                let environment = vec![
                    ("PORT", agent.port().to_string()),
                    (
                        "CONFORMANCE_REVISION",
                        Revisions::spoken(revision).to_owned(),
                    ),
                ];
                let launched = Launched::start(command.clone(), environment)?;
                Subject(Body::Launched(Box::new(launched)))
            }
        })
    }
}

/// The proxy of one scenario. Dropping it ends what was started.
#[derive(Debug)]
pub struct Subject(Body);

#[derive(Debug)]
enum Body {
    Url(String),
    Reference(Server, Port),
    Launched(Box<Launched>),
}

impl Subject {
    /// Its WebSocket address, in the path revision with the path of an exchange.
    #[must_use]
    pub fn url(&self, path: Option<AgentCall>) -> String {
        match &self.0 {
            Body::Url(base) => with_path(base, path),
            Body::Reference(server, _) => at(server.address(), path),
            Body::Launched(launched) => at(launched.address(), path),
        }
    }

    /// Opens a WebSocket to it; while nobody accepts and its process lives, tries again.
    ///
    /// # Errors
    /// [`ConnectError::Refused`] when nobody accepts in time; others as they come.
    pub async fn connect(
        &self,
        path: Option<AgentCall>,
        patience: &Patience,
    ) -> Result<Connection, ConnectError> {
        let limits = Limits::default();
        match &self.0 {
            Body::Launched(launched) => {
                let url = |address| at(address, path);
                launched.connect(url, limits, patience).await
            }
            Body::Url(_) | Body::Reference(..) => {
                reach(|| self.url(path), limits, patience, REACHING, || true).await
            }
        }
    }

    /// How a launched process ended and what it wrote last, where it has ended.
    #[must_use]
    pub fn last_words(&self) -> Option<String> {
        match &self.0 {
            Body::Launched(launched) => launched.last_words(),
            Body::Url(_) | Body::Reference(..) => None,
        }
    }

    /// Ends what was started, and waits until it is gone.
    pub async fn end(self) {
        match self.0 {
            Body::Url(_) => {}
            Body::Reference(server, _port) => server.stop().await,
            Body::Launched(launched) => launched.end().await,
        }
    }
}

fn at(address: SocketAddr, path: Option<AgentCall>) -> String {
    with_path(&format!("ws://{address}"), path)
}

fn with_path(base: &str, path: Option<AgentCall>) -> String {
    match path {
        Some(call) => format!("{base}/agent/{}", call.name()),
        None => format!("{base}/"),
    }
}
