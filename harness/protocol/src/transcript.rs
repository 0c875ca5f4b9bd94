//! What happened on every link of one scenario, in one order.
//!
//! A transcript is the only source of verdicts, reports, diagrams and snapshots. An [`Event`] is one message, or the
//! opening or end of a link; the [`Link`]s it refers to say between whom.

use std::time::Duration;

use bytes::Bytes;

use crate::wire::vocabulary::vocabulary;

/// One of the four parties of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Asks a provider to run a container.
    Client,
    /// Runs containers for clients.
    Provider,
    /// Stands beside the container's program and answers the provider.
    Proxy,
    /// The program in the container.
    AgentServer,
}

impl Role {
    /// The role's name in transcripts and diagrams.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Provider => "provider",
            Self::Proxy => "proxy",
            Self::AgentServer => "agent-server",
        }
    }
}

/// A link's number within its transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LinkId(pub u32);

/// Which two parties a link joins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LinkKind {
    /// Client and provider.
    Client,
    /// Provider and proxy.
    Begin,
    /// Provider and proxy, in the path revision: a WebSocket of its own for each exchange.
    Path(AgentCall),
    /// Proxy and agent server: one HTTP call.
    Call,
    /// Where the agent server listens. Nothing is said there: it opens and closes.
    Address,
    /// A client under test and whoever reads what it writes on its standard output.
    Output,
}

impl LinkKind {
    /// Who opens such a link, and who answers.
    #[must_use]
    pub fn roles(self) -> (Role, Role) {
        match self {
            Self::Client => (Role::Client, Role::Provider),
            Self::Begin | Self::Path(_) => (Role::Provider, Role::Proxy),
            Self::Call | Self::Address => (Role::Proxy, Role::AgentServer),
            Self::Output => (Role::Client, Role::Client),
        }
    }

    /// Its name in transcripts.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Begin => "begin",
            Self::Path(_) => "path",
            Self::Call => "call",
            Self::Address => "address",
            Self::Output => "output",
        }
    }
}

vocabulary! {
    /// What an agent server is asked for over HTTP, and a proxy over a path of the path revision.
    pub enum AgentCall {
        /// Take the arguments, or the agent.
        Register = "register",
        /// Tell the schema of the arguments.
        Schema = "schema",
        /// Run a loop.
        Run = "run",
        /// Take a message into the running loop.
        Enqueue = "enqueue",
        /// Give waiting messages back.
        Dequeue = "dequeue",
    }
}

/// The run scope that a begin connection serves: the client link and the scope number of its run request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RunRef {
    /// The client link that carried the run request.
    pub link: LinkId,
    /// The scope number of the run request.
    pub scope: u32,
    /// How many run requests under that number came before on that link.
    pub generation: u32,
}

/// One connection of a scenario.
#[derive(Debug, Clone)]
pub struct Link {
    /// Its number.
    pub id: LinkId,
    /// Whom it joins.
    pub kind: LinkKind,
    /// Its name in the scenario, for people.
    pub name: String,
    /// For a begin link, the run it serves, where that is known.
    pub run: Option<RunRef>,
}

/// What was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// The WebSocket is up. `subprotocol` is the header of the accepting side's reply, if it sent one.
    Opened {
        /// The `Sec-WebSocket-Protocol` header of the reply.
        subprotocol: Option<String>,
    },
    /// The WebSocket was not granted; the HTTP status, where one came.
    Refused {
        /// The HTTP status of the reply.
        status: Option<u16>,
    },
    /// A binary message, whole.
    Binary(Bytes),
    /// A text message, whole.
    Text(String),
    /// An HTTP request, whole.
    Request {
        /// Its method.
        method: String,
        /// Its path.
        path: String,
        /// Its body.
        body: Bytes,
    },
    /// The answer to an HTTP request.
    Response {
        /// Its status.
        status: u16,
        /// Its content type.
        content_type: Option<String>,
        /// Its body; a stream of events has none here, its events follow.
        body: Option<Bytes>,
    },
    /// The data of one server-sent event.
    ServerEvent(Bytes),
    /// A line of a program's standard output, without its end.
    Line(Bytes),
    /// The program ended, with this exit status where it has one.
    Exited {
        /// 0 to 255.
        code: Option<i32>,
    },
    /// The sender ended the link in order: by a close frame, or at the end of a stream of events. Where the link cannot
    /// tell, also without a close frame.
    Closed,
    /// The sender's end of the link broke off.
    Broken,
}

/// One thing that happened on one link.
#[derive(Debug, Clone)]
pub struct Event {
    /// Its place in the transcript, from 0.
    pub seq: u64,
    /// Time since the scenario began.
    pub at: Duration,
    /// The link.
    pub link: LinkId,
    /// Who did it.
    pub sender: Role,
    /// What was done.
    pub what: What,
}

/// The links and events of one scenario.
#[derive(Debug, Clone, Default)]
pub struct Transcript {
    /// All links, by number.
    pub links: Vec<Link>,
    /// All events, by sequence number.
    pub events: Vec<Event>,
}

impl Transcript {
    /// Adds a link and returns its number.
    pub fn open(&mut self, kind: LinkKind, name: impl Into<String>, run: Option<RunRef>) -> LinkId {
        let id = LinkId(u32::try_from(self.links.len()).unwrap_or(u32::MAX));
        self.links.push(Link {
            id,
            kind,
            name: name.into(),
            run,
        });
        id
    }

    /// Records an event and returns its sequence number.
    pub fn record(&mut self, at: Duration, link: LinkId, sender: Role, what: What) -> u64 {
        let seq = self.events.len() as u64;
        self.events.push(Event {
            seq,
            at,
            link,
            sender,
            what,
        });
        seq
    }

    /// The link with this number, which this transcript made.
    #[must_use]
    pub fn link(&self, id: LinkId) -> Option<&Link> {
        self.links.get(id.0 as usize)
    }
}
