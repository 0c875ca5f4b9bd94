//! The implementation under test, and how it is had.

pub(crate) mod address;

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

use diverge_protocol::scenario::Iut;

use crate::mutants::Mutant;

/// How an implementation is had.
#[derive(Debug, Clone)]
pub enum Plug {
    /// The in-tree reference: conforming, or as one of its mutants.
    Reference(Option<Mutant>),
    /// A command line that the harness starts.
    Launch(String),
    /// A server that is running already.
    Url(String),
    /// A server that is started in this process.
    InProcess(InProcess),
}

/// How an implementation is started in this process: as often as the run needs one.
#[derive(Clone)]
pub struct InProcess(Arc<StartFn>);

type StartFn = dyn Fn(Place) -> Pin<Box<dyn Future<Output = Start> + Send>> + Send + Sync;

/// What starting a server in this process comes to.
pub type Start = Result<Started, Box<dyn Error + Send + Sync>>;

/// What a server that is started in this process is told.
#[derive(Debug, Clone)]
pub struct Place {
    /// Where to serve WebSocket on: port 0 of loopback, so that each server gets a port of its own.
    pub listen: SocketAddr,
    /// Where the proxy of every container answers.
    pub proxy: SocketAddr,
    /// The one credential to accept.
    pub credential: String,
}

/// A server that was started in this process. Dropping it drops the guard, which stops the server.
pub struct Started {
    url: String,
    _guard: Box<dyn Any + Send + Sync>,
}

impl InProcess {
    /// A server that `start` starts.
    pub fn new<F, S>(start: F) -> Self
    where
        F: Fn(Place) -> S + Send + Sync + 'static,
        S: Future<Output = Start> + Send + 'static,
    {
        Self(Arc::new(move |place| Box::pin(start(place))))
    }

    /// Starts one.
    ///
    /// # Errors
    /// What the server itself says.
    pub async fn start(&self, place: Place) -> Start {
        (self.0)(place).await
    }
}

impl fmt::Debug for InProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InProcess")
    }
}

impl Started {
    /// A server that answers WebSocket handshakes at `address`; dropping `guard` stops it.
    pub fn at(address: SocketAddr, guard: impl Any + Send + Sync) -> Self {
        Self::with_url(format!("ws://{address}/"), guard)
    }

    /// A server that answers WebSocket handshakes at `url`; dropping `guard` stops it.
    pub fn with_url(url: impl Into<String>, guard: impl Any + Send + Sync) -> Self {
        Self {
            url: url.into(),
            _guard: Box::new(guard),
        }
    }

    /// Where clients reach it.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl fmt::Debug for Started {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Started({})", self.url)
    }
}

/// Why an implementation could not be had.
#[derive(Debug, thiserror::Error)]
pub enum PlugError {
    /// The command could not be started.
    #[error("could not start `{command}`: {error}")]
    Start {
        /// The command line.
        command: String,
        /// The system's reason.
        error: io::Error,
    },
    /// The command line cannot be taken apart.
    #[error("`{0}` is no command line: a quote is not closed, or it is empty")]
    CommandLine(String),
    /// The address for the mock proxy cannot be had.
    #[error(
        "could not listen on {address} for the containers' proxy: {error}; set [provider] proxy_listen"
    )]
    ProxyAddress {
        /// The address.
        address: SocketAddr,
        /// The system's reason.
        error: io::Error,
    },
    /// An implementation that speaks on its standard streams has no address.
    #[error("{} has no address; --launch starts it", .0.as_str())]
    NoAddress(Iut),
    /// A server in this process did not start.
    #[error("could not start the implementation in this process: {0}")]
    InProcess(Box<dyn Error + Send + Sync>),
    /// An implementation of this kind is not started in this process.
    #[error("{} is no server in this process; give the command that starts it", .0.as_str())]
    NotInProcess(Iut),
    /// A chain that is to be had like a single implementation.
    #[error(
        "a chain is several programs: --provider, --proxy, --agent-server and --client each give the command of one"
    )]
    NotAlone,
    /// An implementation that serves one connection in its life.
    #[error(
        "what runs already ({}) can play one scenario: select it with --scenario ID, or let --launch start one for each",
        .0.as_str()
    )]
    OneScenario(Iut),
    /// An address that leads nowhere.
    #[error("`{0}` is no address: expected something like http://127.0.0.1:8080")]
    Address(String),
    /// An address at which there can be no WebSocket.
    #[error("`{0}` is no WebSocket address: expected something like ws://127.0.0.1:9000")]
    NoWebSocket(String),
    /// An address that asks for TLS.
    #[error("`{0}` asks for TLS, which is not built: give the ws:// address behind it")]
    Tls(String),
    /// The harness itself could not listen.
    #[error("the harness could not listen on loopback: {0}")]
    Listen(io::Error),
}

impl Plug {
    /// The implementation in words, for the head of a report.
    #[must_use]
    pub fn in_words(&self) -> String {
        match self {
            Self::Reference(None) => "the in-tree reference".to_owned(),
            Self::Reference(Some(mutant)) => {
                format!("the in-tree reference, {}", mutant.in_words())
            }
            Self::Launch(command) => command.clone(),
            Self::Url(url) => address::shown(url),
            Self::InProcess(_) => "a server in this process".to_owned(),
        }
    }

    /// What of it must not be shown.
    #[must_use]
    pub fn secrets(&self) -> Vec<String> {
        match self {
            Self::Url(url) => address::secrets(url),
            Self::Reference(_) | Self::Launch(_) | Self::InProcess(_) => Vec::new(),
        }
    }
}
