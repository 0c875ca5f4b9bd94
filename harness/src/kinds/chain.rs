//! Chains of implementations: a client, a provider, a proxy and an agent server, each a program of its own, judged at
//! every link between them.
//!
//! Whoever is not launched is the in-tree reference: started as a process of this very program where it is the command
//! line, and in this process where it is the library. Each scenario has a chain to itself.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use diverge_protocol::rules::Revision;
use diverge_protocol::scenario::{Iut, Scenario};
use tokio::sync::mpsc;

use super::each::each;
use super::{Kind, Playing, Selection, Setting, Trial, agent_server, client, provider, proxy};
use crate::config::Config;
use crate::iut::{Plug, PlugError};
use crate::mutants::Mutant;
use crate::play::{self, Parties, Played};
use crate::port::Port;
use crate::runner::Progress;
use crate::suite::{self, SelectError};

/// Calls that may wait between the proxy and the stage.
const WAITING: usize = 256;

/// Chains.
#[derive(Debug)]
pub struct Chain;

/// A fault of one of the references, as a fault of the chain that it stands in.
struct Faulty {
    name: &'static str,
    role: Iut,
    fault: &'static str,
}

const fn faulty(name: &'static str, role: Iut, fault: &'static str) -> Faulty {
    Faulty { name, role, fault }
}

/// Some of the references' faults that show in whole conversations: a chain is no place to look for all of them.
const FAULTS: &[Faulty] = &[
    faulty("provider-chunk-lost", Iut::Provider, "chunk-lost"),
    faulty("provider-chunks-swapped", Iut::Provider, "chunks-swapped"),
    faulty("provider-active-padded", Iut::Provider, "active-padded"),
    faulty(
        "provider-enqueue-answer-lost",
        Iut::Provider,
        "enqueue-answer-lost",
    ),
    faulty(
        "provider-dequeue-answer-lost",
        Iut::Provider,
        "dequeue-answer-lost",
    ),
    faulty("provider-schema-lost", Iut::Provider, "schema-lost"),
    faulty("provider-stop-ignored", Iut::Provider, "stop-ignored"),
    faulty("proxy-begun-lost", Iut::Proxy, "begun-lost"),
    faulty("proxy-active-lost", Iut::Proxy, "active-lost"),
    faulty("proxy-chunk-lost", Iut::Proxy, "chunk-lost"),
    faulty("proxy-inactive-lost", Iut::Proxy, "inactive-lost"),
    faulty(
        "proxy-enqueue-answered-twice",
        Iut::Proxy,
        "enqueue-answered-twice",
    ),
    faulty("proxy-never-offered", Iut::Proxy, "never-offered"),
    faulty(
        "proxy-withdrawn-as-nothing",
        Iut::Proxy,
        "withdrawn-as-nothing",
    ),
    faulty("agent-register-array", Iut::AgentServer, "register-array"),
    faulty(
        "agent-arguments-unchecked",
        Iut::AgentServer,
        "arguments-unchecked",
    ),
    faulty("agent-run-failing", Iut::AgentServer, "run-failing"),
    faulty("agent-parts-missing", Iut::AgentServer, "parts-missing"),
    faulty(
        "agent-stream-left-open",
        Iut::AgentServer,
        "stream-left-open",
    ),
    faulty(
        "agent-usage-total",
        Iut::AgentServer,
        "usage-total-of-completion",
    ),
    faulty(
        "agent-waiting-left-hanging",
        Iut::AgentServer,
        "waiting-left-hanging",
    ),
    faulty(
        "agent-joined-parts-missing",
        Iut::AgentServer,
        "joined-parts-missing",
    ),
    faulty(
        "agent-response-to-other-call",
        Iut::AgentServer,
        "response-to-other-call",
    ),
    faulty(
        "client-credential-without-mode",
        Iut::Client,
        "credential-without-mode",
    ),
    faulty(
        "client-arguments-as-text",
        Iut::Client,
        "request-arguments-as-text",
    ),
    faulty("client-id-untold", Iut::Client, "id-untold"),
    faulty("client-error-untold", Iut::Client, "early-error-untold"),
    faulty("client-active-untold", Iut::Client, "active-untold"),
    faulty(
        "client-second-loop-out-of-place",
        Iut::Client,
        "second-loop-out-of-place",
    ),
    faulty(
        "client-chunks-turned-round",
        Iut::Client,
        "chunks-turned-round",
    ),
    faulty("client-finish-untold", Iut::Client, "finish-untold"),
    faulty(
        "client-summary-behind-the-finish",
        Iut::Client,
        "summary-behind-the-finish",
    ),
    faulty(
        "client-finish-exits-with-1",
        Iut::Client,
        "finish-exits-with-1",
    ),
];

static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Says that this process is the command line, so that references can be started as processes of their own.
pub(crate) fn is_command_line() {
    if let Ok(program) = std::env::current_exe() {
        let _ = PROGRAM.set(program);
    }
}

impl Kind for Chain {
    fn iut(&self) -> Iut {
        Iut::Chain
    }

    fn mutants(&self) -> Vec<Mutant> {
        FAULTS
            .iter()
            .filter_map(|it| {
                let fault = fault_of(it)?;
                Some(Mutant {
                    iut: Iut::Chain,
                    name: it.name,
                    about: fault.about,
                    duty: fault.duty,
                })
            })
            .collect()
    }

    fn in_tree(&self) -> Config {
        Config {
            agent_server: agent_server::AgentServer.in_tree().agent_server,
            ..Config::default()
        }
    }

    fn pauses(&self) -> Duration {
        // Longer than a holding message stays, and much shorter than a long one does.
        agent_server::AgentServer.pauses() * 3 / 4
    }

    fn trials(
        &self,
        selection: &Selection,
        revision: Option<Revision>,
        setting: &Setting,
    ) -> Result<Vec<Box<dyn Trial>>, SelectError> {
        if revision == Some(Revision::Path) {
            return Ok(Vec::new());
        }
        let scenarios = suite::select(Iut::Chain, selection)?;
        Ok(vec![Box::new(Judged {
            scenarios,
            setting: setting.clone(),
        })])
    }
}

/// What a fault of a chain is where its reference is judged alone.
fn fault_of(it: &Faulty) -> Option<Mutant> {
    let kind: &dyn Kind = match it.role {
        Iut::Provider => &provider::Provider,
        Iut::Proxy => &proxy::Proxy,
        Iut::Client => &client::Client,
        _ => &agent_server::AgentServer,
    };
    kind.mutants()
        .into_iter()
        .find(|mutant| mutant.name == it.fault)
}

/// A chain and the scenarios that it is judged by.
struct Judged {
    scenarios: Vec<Arc<Scenario>>,
    setting: Setting,
}

/// How the parties of a chain are had.
struct Ways {
    provider: Plug,
    proxy: proxy::Way,
    agent: agent_server::Way,
    client: client::Way,
}

impl Ways {
    fn of(setting: &Setting) -> Result<Self, PlugError> {
        let launched = &setting.config.chain;
        let Plug::Reference(mutant) = &setting.plug else {
            return Err(PlugError::NotAlone);
        };
        let mutant = mutant.as_ref();
        let faulty = mutant.and_then(|it| FAULTS.iter().find(|faulty| faulty.name == it.name));
        let party = |iut: Iut, launched: &Option<String>| {
            let fault = faulty.filter(|it| it.role == iut).and_then(fault_of);
            match (launched, PROGRAM.get()) {
                (Some(command), _) => Plug::Launch(command.clone()),
                (None, Some(program)) => Plug::Launch(reference(program, iut, fault.as_ref())),
                (None, None) => Plug::Reference(fault),
            }
        };
        Ok(Self {
            provider: party(Iut::Provider, &launched.provider),
            proxy: proxy::Way::of(&party(Iut::Proxy, &launched.proxy))?,
            agent: agent_server::Way::of(&party(Iut::AgentServer, &launched.agent_server))?,
            client: client::Way::of(&party(Iut::Client, &launched.client))?,
        })
    }
}

/// The command that starts a reference as a process of this program.
fn reference(program: &std::path::Path, iut: Iut, fault: Option<&Mutant>) -> String {
    let program = program.display().to_string();
    let quoted = shlex::try_quote(&program).map_or_else(|_| program.clone(), Into::into);
    let fault = fault.map(|fault| fault.name);
    match (iut, fault) {
        (Iut::Client, fault) => format!("{quoted} client {}", fault.unwrap_or_default()),
        (_, None) => format!("{quoted} serve {}", iut.as_str()),
        (_, Some(fault)) => format!("{quoted} serve {} --fault {fault}", iut.as_str()),
    }
}

impl Judged {
    /// The configuration: of the agent server and the client, their own where they are launched, and else the references'.
    fn config(&self) -> Config {
        let mut config = self.setting.config.clone();
        if config.chain.agent_server.is_none() {
            config.agent_server = Chain.in_tree().agent_server;
        }
        config.client.enqueues |= config.chain.client.is_none();
        config
    }

    async fn one(&self, scenario: &Scenario, ways: &Ways, config: &Config) -> Played {
        match self.parties(ways, config).await {
            Ok((endpoint, parties)) => {
                let patience = &self.setting.patience;
                let client = &ways.client;
                let played =
                    play::chain(scenario, &endpoint, parties, client, config, patience).await;
                endpoint.unplug().await;
                played
            }
            Err(error) => Played::Unreachable(error.to_string()),
        }
    }

    async fn parties(
        &self,
        ways: &Ways,
        config: &Config,
    ) -> Result<(provider::Endpoint, Parties), PlugError> {
        let (to, arrivals) = mpsc::channel(WAITING);
        let bind = |address| mock_agent_server::Endpoint::bind(address, to.clone());
        let listening = Port::listen(bind).await.map_err(PlugError::Listen)?;
        let agent = ways
            .agent
            .start_anywhere(Revision::Scope, &self.setting.patience)
            .await?;
        let proxy = ways
            .proxy
            .start(listening.1.address(), Revision::Scope)
            .await?;
        let endpoint = provider::Endpoint::plug(&ways.provider, &config.provider).await?;
        let parties = Parties {
            proxy,
            agent,
            listening,
            arrivals,
        };
        Ok((endpoint, parties))
    }
}

impl Trial for Judged {
    fn iut(&self) -> Iut {
        Iut::Chain
    }

    fn revision(&self) -> Option<Revision> {
        Some(Revision::Scope)
    }

    fn ids(&self) -> Vec<String> {
        self.scenarios.iter().map(|it| it.id.clone()).collect()
    }

    fn lacking(&self, id: &str) -> Option<String> {
        let scenario = self.scenarios.iter().find(|it| it.id == id)?;
        play::chain_lacking(scenario, &self.config())
    }

    fn keep(&mut self, ids: &[String]) {
        suite::keep(&mut self.scenarios, ids);
    }

    fn play<'a>(&'a self, progress: &'a mut (dyn FnMut(Progress) + Send)) -> Playing<'a> {
        Box::pin(async move {
            let ways = &Ways::of(&self.setting)?;
            let config = &self.config();
            let play =
                |scenario: Arc<Scenario>| async move { self.one(&scenario, ways, config).await };
            Ok(each(&self.scenarios, &self.setting, progress, play).await)
        })
    }
}
