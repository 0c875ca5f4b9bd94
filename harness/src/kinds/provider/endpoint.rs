//! The provider under test: where it is reached, and the process that is started for it.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use diverge_link::{ConnectError, Connection, Limits};
use mock_provider::server::Server;
use mock_proxy::Hub;

use super::super::reach::{REACHING, STARTING, reach};
use crate::config::ProviderConfig;
use crate::iut::{Place, Plug, PlugError, Started};
use crate::play::Patience;
use crate::process::{CommandLine, Pipes, Process, free_address};

/// One way to an implementation, with the address at which its containers' proxies answer.
#[derive(Debug)]
pub struct Endpoint {
    hub: Arc<Hub>,
    credential: String,
    body: Body,
}

#[derive(Debug)]
enum Body {
    Reference { url: String, _server: Box<Server> },
    Launched(Launched),
    InProcess(Started),
    Url(String),
}

#[derive(Debug)]
struct Launched {
    command: CommandLine,
    environment: Vec<(&'static str, String)>,
    state: Mutex<Running>,
}

#[derive(Debug)]
struct Running {
    process: Process,
    url: String,
    /// How many processes came before this one.
    generation: u64,
    reached: bool,
}

impl Endpoint {
    /// Plugs an implementation in, with an address of its own for its proxies.
    ///
    /// # Errors
    /// When it cannot be started, or an address cannot be had.
    pub async fn plug(plug: &Plug, config: &ProviderConfig) -> Result<Self, PlugError> {
        let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let address = if matches!(plug, Plug::Url(_)) {
            config.proxy_listen
        } else {
            loopback
        };
        let hub = Hub::bind(address, Limits::default())
            .await
            .map_err(|error| PlugError::ProxyAddress { address, error })?;
        let credential = config.credential.clone();
        let body = match plug {
            Plug::Url(url) => Body::Url(url.clone()),
            Plug::InProcess(server) => {
                let place = Place {
                    listen: loopback,
                    proxy: hub.address(),
                    credential: credential.clone(),
                };
                let started = server.start(place).await;
                Body::InProcess(started.map_err(PlugError::InProcess)?)
            }
            Plug::Reference(mutant) => {
                let behaviour = super::behaviour(mutant.as_ref());
                let server = super::serve(loopback, hub.address(), config, behaviour)
                    .await
                    .map_err(PlugError::Listen)?;
                Body::Reference {
                    url: format!("ws://{}/", server.address()),
                    _server: Box::new(server),
                }
            }
            Plug::Launch(command) => {
                let command = CommandLine::parse(command)?;
                let environment = vec![
                    ("CONFORMANCE_PROXY", hub.address().to_string()),
                    ("CONFORMANCE_CREDENTIAL", credential.clone()),
                    ("CONFORMANCE_REVISION", "scope".to_owned()),
                ];
                let running = start(&command, &environment, 0)?;
                Body::Launched(Launched {
                    command,
                    environment,
                    state: Mutex::new(running),
                })
            }
        };
        Ok(Self {
            hub: Arc::new(hub),
            credential,
            body,
        })
    }

    /// Where the implementation's containers reach their proxy.
    #[must_use]
    pub fn hub(&self) -> &Hub {
        &self.hub
    }

    /// The credential that it accepts.
    #[must_use]
    pub fn credential(&self) -> &str {
        &self.credential
    }

    /// Its WebSocket address now.
    #[must_use]
    pub fn url(&self) -> String {
        match &self.body {
            Body::Reference { url, .. } | Body::Url(url) => url.clone(),
            Body::InProcess(server) => server.url().to_owned(),
            Body::Launched(launched) => launched.state().url.clone(),
        }
    }

    /// Opens a WebSocket to it; while nobody accepts and its process lives, tries again.
    ///
    /// # Errors
    /// [`ConnectError::Refused`] when nobody accepts in time; others as they come.
    pub async fn connect(
        &self,
        limits: Limits,
        patience: &Patience,
    ) -> Result<Connection, ConnectError> {
        let allowed = match &self.body {
            Body::Launched(launched) if !launched.state().reached => STARTING,
            _ => REACHING,
        };
        let connected = reach(|| self.url(), limits, patience, allowed, || self.alive()).await;
        if let (Body::Launched(launched), true) = (&self.body, connected.is_ok()) {
            launched.state().reached = true;
        }
        connected
    }

    /// Whether there can be an answer: a launched process runs, or there is none to ask about.
    #[must_use]
    pub fn alive(&self) -> bool {
        match &self.body {
            Body::Launched(launched) => launched.state().process.ended().is_none(),
            Body::Reference { .. } | Body::InProcess(_) | Body::Url(_) => true,
        }
    }

    /// How a launched process ended and what it wrote last, where it has ended.
    #[must_use]
    pub fn last_words(&self) -> Option<String> {
        let Body::Launched(launched) = &self.body else {
            return None;
        };
        let mut state = launched.state();
        let status = state.process.ended()?;
        let mut words = format!("`{}` ended ({status})", launched.command.text());
        let said = state
            .process
            .said()
            .join(" ⏎ ")
            .replace(&self.credential, "‹credential›");
        if !said.is_empty() {
            words.push_str(" after writing: ");
            words.push_str(&said);
        }
        Some(words)
    }

    /// Which process this is, counted from 0.
    #[must_use]
    pub fn generation(&self) -> u64 {
        match &self.body {
            Body::Launched(launched) => launched.state().generation,
            Body::Reference { .. } | Body::InProcess(_) | Body::Url(_) => 0,
        }
    }

    /// Whether a connection was ever had.
    #[must_use]
    pub fn reached(&self) -> bool {
        match &self.body {
            Body::Launched(launched) => launched.state().reached || launched.state().generation > 0,
            Body::Reference { .. } | Body::InProcess(_) | Body::Url(_) => true,
        }
    }

    /// Starts the process again where it has died; says whether it had.
    ///
    /// # Errors
    /// When it cannot be started again.
    pub fn revive(&self) -> Result<bool, PlugError> {
        let Body::Launched(launched) = &self.body else {
            return Ok(false);
        };
        let mut state = launched.state();
        if state.process.ended().is_none() {
            return Ok(false);
        }
        let generation = state.generation + 1;
        *state = start(&launched.command, &launched.environment, generation)?;
        Ok(true)
    }

    /// Ends the process and its group, and waits until they are gone.
    pub async fn unplug(self) {
        if let Body::Launched(launched) = self.body {
            let running = launched
                .state
                .into_inner()
                .unwrap_or_else(PoisonError::into_inner);
            running.process.end().await;
        }
    }
}

impl Launched {
    fn state(&self) -> std::sync::MutexGuard<'_, Running> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn start(
    command: &CommandLine,
    environment: &[(&'static str, String)],
    generation: u64,
) -> Result<Running, PlugError> {
    let listen = free_address().map_err(PlugError::Listen)?;
    let mut environment = environment.to_vec();
    environment.push(("CONFORMANCE_LISTEN", listen.to_string()));
    Ok(Running {
        process: Process::start(command, &environment, Pipes::None)?,
        url: format!("ws://{listen}/"),
        generation,
        reached: false,
    })
}
