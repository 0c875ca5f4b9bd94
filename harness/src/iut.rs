//! The implementation under test, and how it is had.

use std::io;
use std::net::SocketAddr;

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
            Self::Url(url) => url.clone(),
        }
    }
}
