//! What a conversation with a proxy has come to: the provider's links and scopes, and the agent server's calls.

use std::collections::{HashMap, VecDeque};

use bytes::Bytes;
use diverge_link::Sender;
use diverge_protocol::transcript::{AgentCall, LinkId};
use diverge_protocol::wire::frame::Frame;
use diverge_protocol::wire::sse::EventReader;
use mock_agent_server::{Call, CallId};
use tokio::task::JoinHandle;

/// A frame that came and has not been read by a step.
#[derive(Debug, Clone)]
pub(super) struct Incoming {
    pub seq: u64,
    pub frame: Frame,
}

/// How a link ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ended {
    pub seq: u64,
    /// With a close frame.
    pub in_order: bool,
}

/// A WebSocket of the provider's.
#[derive(Debug)]
pub(super) struct Host {
    pub name: String,
    /// In the path revision, what it was opened for.
    pub path: Option<AgentCall>,
    pub link: LinkId,
    pub sender: Sender,
    pub reader: JoinHandle<()>,
    pub ended: Option<Ended>,
    /// The provider has closed it, or broken it.
    pub left: bool,
    pub next_scope: u32,
    /// Frames that belong to no scope of the scenario, and messages that are no frames.
    pub stray: VecDeque<(u64, String)>,
    /// Messages of the path revision.
    pub messages: VecDeque<(u64, Bytes)>,
}

impl Drop for Host {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

/// A scope that the provider asked for.
#[derive(Debug)]
pub(super) struct Scope {
    pub name: String,
    pub host: usize,
    pub number: u32,
    /// Responses and the finish.
    pub main: VecDeque<Incoming>,
    pub responses_read: u32,
    pub finished: Option<u64>,
    pub channels: HashMap<String, Channel>,
    /// Answers and finishes, by channel number.
    pub answers: HashMap<u32, VecDeque<Incoming>>,
    pub next_channel: u32,
}

/// A channel that the provider opened.
#[derive(Debug, Clone, Copy)]
pub(super) struct Channel {
    pub number: u32,
    pub asks: Option<AgentCall>,
    pub answers_read: u32,
}

/// A call that the agent server got.
#[derive(Debug)]
pub(super) struct Called {
    pub id: CallId,
    /// Its name in the scenario, once a step has read it.
    pub name: Option<String>,
    pub asks: Option<AgentCall>,
    pub link: LinkId,
    pub seq: u64,
    pub call: Call,
    /// The answer is begun; of a stream, it goes on.
    pub answered: bool,
    pub streams: bool,
    pub dropped: bool,
    /// Reads the bytes that were sent as they are for the events that they make.
    pub raw: EventReader,
}
