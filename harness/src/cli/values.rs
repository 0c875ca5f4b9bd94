//! The words that several commands take.

use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;

use clap::ValueEnum;
use clap::builder::TypedValueParser;
use diverge_protocol::rules::Revision;
use diverge_protocol::scenario::Iut;
use diverge_protocol::wire::agent_event::EventRevision;

/// How many scenarios are played at once.
pub(super) fn jobs() -> impl TypedValueParser<Value = usize> {
    clap::value_parser!(u16).range(1..=1000).map(usize::from)
}

/// Which kind of list.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum ListWhat {
    /// Scenario ids and titles
    Scenarios,
    /// Requirement ids, strengths and sentences
    Requirements,
    /// Faults, variants and hollow peers of the references
    Mutants,
}

/// The kinds of implementations that can be judged.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum IutArg {
    /// A server that clients ask to run containers
    Provider,
    /// A program that asks a server to run a container; what it is told is advice, since the protocol binds no client
    Client,
    /// A program beside an agent server in a container, which a provider's server dials
    Proxy,
    /// A program that says of payloads what they are, or that they are malformed
    Codec,
    /// An agent's HTTP server, as a proxy calls it
    AgentServer,
    /// A program that writes a stream of agent events
    Events,
    /// A client, a provider, a proxy and an agent server in a row, judged at every link
    Chain,
}

impl IutArg {
    /// The kind in the catalogue's words.
    #[must_use]
    pub fn iut(self) -> Iut {
        match self {
            Self::Provider => Iut::Provider,
            Self::Client => Iut::Client,
            Self::Proxy => Iut::Proxy,
            Self::Codec => Iut::Codec,
            Self::AgentServer => Iut::AgentServer,
            Self::Events => Iut::Events,
            Self::Chain => Iut::Chain,
        }
    }
}

/// How results are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Pretty,
    /// One JSON object a line, as results come
    Jsonl,
}

/// The protocol's revisions.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum RevisionArg {
    /// Runs on scopes of the nine-byte frame
    Scope,
    /// Runs on a WebSocket path of the proxy
    Path,
}

impl RevisionArg {
    /// The revision in the catalogue's words.
    #[must_use]
    pub fn revision(self) -> Revision {
        match self {
            Self::Scope => Revision::Scope,
            Self::Path => Revision::Path,
        }
    }
}

/// A revision to play: one that is built in, or a file.
#[derive(Debug, Clone)]
pub enum PlayedRevision {
    /// Built in.
    Named(RevisionArg),
    /// What this file says of it.
    File(PathBuf),
}

impl FromStr for PlayedRevision {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let named = RevisionArg::from_str(text, false);
        Ok(named.map_or_else(|_| Self::File(text.into()), Self::Named))
    }
}

/// The revisions of the AgentEvent surface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EventsRevisionArg {
    /// The six events of the document
    Document,
    /// Those, and the later `compaction_boundary`
    Compaction,
}

impl EventsRevisionArg {
    /// The revision in the codec's words.
    #[must_use]
    pub fn revision(self) -> EventRevision {
        match self {
            Self::Document => EventRevision::Document,
            Self::Compaction => EventRevision::Compaction,
        }
    }
}
