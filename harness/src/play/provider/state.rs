//! What a scenario's conversation has come to: its links, runs and channels, and what waits to be read on them.

use std::collections::{HashMap, VecDeque};

use bytes::Bytes;
use diverge_link::Sender;
use diverge_protocol::transcript::LinkId;
use diverge_protocol::wire::frame::Frame;
use tokio::task::JoinHandle;

use super::beyond::Upstream;
use super::watched::Downstream;

/// A frame that came and has not been read by a step.
#[derive(Debug, Clone)]
pub(super) struct Incoming {
    pub seq: u64,
    pub frame: Frame,
}

/// What every open WebSocket has: a way to send, and the task that reads.
#[derive(Debug)]
pub(super) struct Wire {
    pub link: LinkId,
    pub sender: Sender,
    pub reader: JoinHandle<()>,
    /// The provider's end of the connection: when it was seen.
    pub closed: Option<u64>,
    /// The harness sent a close frame.
    pub closing: bool,
}

impl Wire {
    /// The provider ended the connection: the harness lets go of it too, since some peers wait for that.
    pub fn ended(&mut self, seq: u64) {
        self.closed = Some(seq);
        self.sender.let_go();
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

/// A connection of the client's.
#[derive(Debug)]
pub(super) struct ClientLink {
    pub name: String,
    pub wire: Wire,
    /// The end of the client's process, in a chain that has one.
    pub downstream: Option<Downstream>,
    /// Frames that belong to no run of the scenario.
    pub stray: VecDeque<Incoming>,
    /// How many run requests went out under each scope number.
    pub generations: HashMap<u32, u32>,
    pub next_scope: u32,
}

impl ClientLink {
    /// How many run requests went out under this scope number before; one more does now.
    pub(super) fn generation(&mut self, scope: u32) -> u32 {
        let count = self.generations.entry(scope).or_default();
        *count += 1;
        *count - 1
    }
}

/// A connection to the mock proxy.
#[derive(Debug)]
pub(super) struct ProxyLink {
    pub wire: Wire,
    /// The end of a real proxy, in a chain.
    pub upstream: Option<Upstream>,
    pub begin_scope: Option<u32>,
    pub next_channel: u32,
    /// Frames on the begin scope that no step has read: channel requests.
    pub requests: VecDeque<Incoming>,
    /// Answers and finishes on channels that the proxy opened.
    pub answers: HashMap<u32, VecDeque<Incoming>>,
}

/// A run that the client asked for.
#[derive(Debug)]
pub(super) struct Run {
    pub name: String,
    pub client: usize,
    pub scope: u32,
    pub generation: u32,
    pub token: Option<String>,
    pub proxy: Option<usize>,
    /// Responses and the finish.
    pub main: VecDeque<Incoming>,
    /// Responses that steps have read.
    pub responses_read: u32,
    /// The finish came.
    pub finished: Option<u64>,
    /// Channels that the provider opened and no step has read.
    pub requests: VecDeque<Incoming>,
    /// Answers and finishes on channels that the client opened.
    pub answers: HashMap<u32, VecDeque<Incoming>>,
    pub channels: HashMap<String, Channel>,
    pub next_channel: u32,
    /// The proxy ended the run: begin error, finish or close.
    pub proxy_ended: bool,
}

impl Run {
    /// One that is asked for now, under this scope number and generation of it.
    pub(super) fn asked(
        name: String,
        client: usize,
        (scope, generation): (u32, u32),
        token: Option<String>,
    ) -> Self {
        Self {
            name,
            client,
            scope,
            generation,
            token,
            proxy: None,
            main: Default::default(),
            responses_read: 0,
            finished: None,
            requests: Default::default(),
            answers: Default::default(),
            channels: Default::default(),
            next_channel: 1,
            proxy_ended: false,
        }
    }
}

/// Who opened a channel that a step names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opener {
    Client,
    Provider,
    Proxy,
}

/// A named channel of a run.
#[derive(Debug, Clone)]
pub(super) struct Channel {
    pub opener: Opener,
    /// Its number where the harness's client or proxy sees it.
    pub number: u32,
    /// For a client's channel: tag and body as sent.
    pub payload: Bytes,
    /// For a client's channel: its number on the begin scope, once the proxy got it.
    pub relayed_as: Option<u32>,
    /// What the proxy has answered and the client has not read.
    pub answers_due: VecDeque<Bytes>,
    pub responses_read: u32,
}

impl Channel {
    pub(super) fn new(opener: Opener, number: u32, payload: Bytes) -> Self {
        Self {
            opener,
            number,
            payload,
            relayed_as: None,
            answers_due: VecDeque::new(),
            responses_read: 0,
        }
    }
}
