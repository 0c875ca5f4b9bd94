//! The provider under test: where it is reached, and the process that is started for it.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use diverge_link::{ConnectError, Connection, Limits};
use diverge_protocol::rules::Revision;
use diverge_protocol::rules::revisions::Revisions;
use mock_provider::server::Server;
use mock_proxy::Hub;

use super::super::launched::Launched;
use super::super::reach::{REACHING, reach};
use crate::config::ProviderConfig;
use crate::iut::{Place, Plug, PlugError, Started, address};
use crate::play::Patience;
use crate::port::Port;
use crate::process::CommandLine;

/// One way to an implementation, with the address at which its containers' proxies answer.
#[derive(Debug)]
pub struct Endpoint {
    hub: Arc<Hub>,
    /// The hub's, where it was not told one.
    _port: Option<Port>,
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

impl Endpoint {
    /// Plugs an implementation in, with an address of its own for its proxies.
    ///
    /// # Errors
    /// When it cannot be started, or an address cannot be had.
    pub async fn plug(plug: &Plug, config: &ProviderConfig) -> Result<Self, PlugError> {
        let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let bind = |address| Hub::bind(address, Limits::default());
        let told = matches!(plug, Plug::Url(_)).then_some(config.proxy_listen);
        let (hub, port) = match told {
            Some(address) => bind(address).await.map(|hub| (hub, None)),
            None => Port::listen(bind)
                .await
                .map(|(hub, port)| (hub, Some(port))),
        }
        .map_err(|error| PlugError::ProxyAddress {
            address: told.unwrap_or(loopback),
            error,
        })?;
        let credential = config.credential.clone();
        let body = match plug {
            Plug::Url(url) => Body::Url(address::of_web_socket(url)?.to_owned()),
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
                let behaviour = super::reference::behaviour(mutant.as_ref());
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
                    (
                        "CONFORMANCE_REVISION",
                        Revisions::spoken(Revision::Scope).to_owned(),
                    ),
                ];
                Body::Launched(Launched::start(command, environment)?)
            }
        };
        Ok(Self {
            hub: Arc::new(hub),
            _port: port,
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
            Body::Launched(launched) => at(launched.address()),
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
        match &self.body {
            Body::Launched(launched) => launched.connect(at, limits, patience).await,
            Body::Reference { .. } | Body::InProcess(_) | Body::Url(_) => {
                reach(|| self.url(), limits, patience, REACHING, || true).await
            }
        }
    }

    /// Whether there can be an answer: a launched process runs, or there is none to ask about.
    #[must_use]
    pub fn alive(&self) -> bool {
        match &self.body {
            Body::Launched(launched) => launched.alive(),
            Body::Reference { .. } | Body::InProcess(_) | Body::Url(_) => true,
        }
    }

    /// How a launched process ended and what it wrote last, where it has ended.
    #[must_use]
    pub fn last_words(&self) -> Option<String> {
        let Body::Launched(launched) = &self.body else {
            return None;
        };
        let words = launched.last_words()?;
        Some(words.replace(&self.credential, "‹credential›"))
    }

    /// Which process this is, counted from 0.
    #[must_use]
    pub fn generation(&self) -> u64 {
        match &self.body {
            Body::Launched(launched) => launched.generation(),
            Body::Reference { .. } | Body::InProcess(_) | Body::Url(_) => 0,
        }
    }

    /// Whether a connection was ever had.
    #[must_use]
    pub fn reached(&self) -> bool {
        match &self.body {
            Body::Launched(launched) => launched.reached(),
            Body::Reference { .. } | Body::InProcess(_) | Body::Url(_) => true,
        }
    }

    /// Starts the process again where it has died; says whether it had.
    ///
    /// # Errors
    /// When it cannot be started again.
    pub fn revive(&self) -> Result<bool, PlugError> {
        match &self.body {
            Body::Launched(launched) => launched.revive(),
            Body::Reference { .. } | Body::InProcess(_) | Body::Url(_) => Ok(false),
        }
    }

    /// Ends the process and its group, and waits until they are gone.
    pub async fn unplug(self) {
        if let Body::Launched(launched) = self.body {
            launched.end().await;
        }
    }
}

fn at(address: SocketAddr) -> String {
    format!("ws://{address}/")
}
