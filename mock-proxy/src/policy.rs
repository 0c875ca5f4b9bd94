//! What happens to a proxy, and what it does: the words between whatever plays one and the sockets around it.

use bytes::Bytes;

/// A connection of the host's, which is the provider's server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostId(pub u64);

/// A call to the agent server, numbered in the order of the calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(pub u64);

/// What happens to a proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A connection that was admitted is open, on this path.
    Opened(HostId, String),
    /// The host sent a binary message.
    Binary(HostId, Bytes),
    /// The host sent a text message.
    Text(HostId, String),
    /// The host ended its connection with a close frame.
    Closed(HostId),
    /// The host's connection broke, without a close frame.
    Lost(HostId),
    /// The agent server said this on a call.
    Agent(CallId, Word),
    /// The turn that [`Output::Wake`] asked for.
    Woken,
}

/// What an agent server says on a call. A call is over with its answer, its end or its failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    /// There is no answer, or it broke off: the reason, for people.
    Failed(String),
    /// The whole answer.
    Answered {
        /// Its HTTP status.
        status: u16,
        /// Its body.
        body: Bytes,
    },
    /// The answer to a run is a success, and its events follow.
    Streams,
    /// The data of an event.
    Event(Bytes),
    /// The stream of events ended as it should.
    Ended,
    /// The stream of events broke off: the reason, for people.
    Broke(String),
}

impl Word {
    /// Whether nothing follows it on its call.
    #[must_use]
    pub fn is_last(&self) -> bool {
        !matches!(self, Self::Streams | Self::Event(_))
    }
}

/// What a proxy does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Send the host a binary message.
    Send(HostId, Bytes),
    /// Send the host a text message; only a fault does.
    SendText(HostId, String),
    /// End the host's connection with a close frame.
    Close(HostId),
    /// End the host's connection without one; only a fault does.
    Drop(HostId),
    /// Call the agent server.
    Call(CallId, Call),
    /// Give a call up: its connection ends.
    HangUp(CallId),
    /// Send the host this message without end; only a hollow proxy does.
    Flood(HostId, Bytes),
    /// Hand in [`Input::Woken`] once everything that has already arrived was handed in.
    Wake,
}

/// Something that an agent server can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// Take the arguments.
    Register,
    /// Tell the schema of the arguments.
    Schema,
    /// Run a loop.
    Run,
    /// Take a message into the loop that runs.
    Enqueue,
    /// Give messages back that still wait.
    Dequeue,
}

impl Endpoint {
    /// Every endpoint.
    pub const ALL: [Self; 5] = [
        Self::Register,
        Self::Schema,
        Self::Run,
        Self::Enqueue,
        Self::Dequeue,
    ];

    /// Its path at the agent server; behind `/agent` it is the path revision's WebSocket path.
    #[must_use]
    pub fn path(self) -> &'static str {
        match self {
            Self::Register => "/register",
            Self::Schema => "/schema",
            Self::Run => "/run",
            Self::Enqueue => "/enqueue",
            Self::Dequeue => "/dequeue",
        }
    }
}

/// A call to the agent server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// What is asked.
    pub endpoint: Endpoint,
    /// The body; none where it is empty.
    pub body: Bytes,
    /// The body's type, where there is a body.
    pub content_type: &'static str,
}

impl Call {
    /// A call whose body is JSON.
    #[must_use]
    pub fn new(endpoint: Endpoint, body: impl Into<Bytes>) -> Self {
        Self {
            endpoint,
            body: body.into(),
            content_type: "application/json",
        }
    }
}

/// How a request for a WebSocket is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// It is granted.
    Granted,
    /// It is answered with this HTTP status.
    Refused(u16),
}

/// Something that plays a proxy.
pub trait Proxy: Send {
    /// Says how to answer a request for a WebSocket on this path. A request that is granted may still come to nothing.
    fn admit(&mut self, path: &str) -> Admission;

    /// Takes one input and appends what is to be done, in order.
    fn on(&mut self, input: Input, out: &mut Vec<Output>);
}

/// Hands out the numbers of calls.
#[derive(Debug, Default)]
pub(crate) struct Calls(u64);

impl Calls {
    pub(crate) fn call(&mut self, call: Call, out: &mut Vec<Output>) -> CallId {
        let id = CallId(self.0);
        self.0 += 1;
        out.push(Output::Call(id, call));
        id
    }
}
