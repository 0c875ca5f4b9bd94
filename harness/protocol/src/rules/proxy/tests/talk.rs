//! Conversations in a few words.

use std::time::Duration;

use crate::rules::{Outstanding, ProxyCheckers, Revision, Violation};
use crate::transcript::{AgentCall, LinkId, LinkKind, Role, Transcript, What};
use crate::wire::{Frame, FrameType, Profile};

/// The scope of the begin.
pub const BEGIN: u32 = 7;

pub const BEGUN: u8 = 0;
pub const ERROR: u8 = 1;
pub const CHUNK: u8 = 2;
pub const ACTIVE: u8 = 3;
pub const INACTIVE: u8 = 4;

pub const DELIVERED: &[u8] = &[0];
pub const DEQUEUED: &[u8] = &[1];

/// A first byte and what follows it.
pub fn word(tag: u8, body: impl AsRef<[u8]>) -> Vec<u8> {
    [&[tag], body.as_ref()].concat()
}

/// An error's payload, on whichever surface has this byte for it.
pub fn refused() -> Vec<u8> {
    word(2, REFUSAL)
}

/// What the agent server says when it refuses something.
pub const REFUSAL: &str = r#"{"kind":"no","n":1.50}"#;

/// A message of this key, and a content of its own.
pub fn message(key: &str) -> String {
    format!(r#"{{"key":"{key}","content":[{{"type":"text","text":"{key}!"}}]}}"#)
}

/// The body of a run of messages with these keys.
pub fn run_of(keys: &[&str]) -> String {
    let messages: Vec<_> = keys.iter().map(|key| message(key)).collect();
    format!(r#"{{"messages":[{}]}}"#, messages.join(","))
}

/// A conversation and what is wrong with it.
pub struct Talk {
    pub checkers: ProxyCheckers,
    transcript: Transcript,
    out: Vec<Violation>,
    pub host: LinkId,
}

impl Talk {
    fn new(revision: Revision) -> Self {
        Self {
            checkers: ProxyCheckers::new(Profile::scope(), revision),
            transcript: Transcript::default(),
            out: Vec::new(),
            host: LinkId(0),
        }
    }

    /// A connection of the scope revision.
    pub fn scope() -> Self {
        let mut talk = Self::new(Revision::Scope);
        talk.host = talk.link(LinkKind::Begin);
        talk
    }

    /// The path revision.
    pub fn path() -> Self {
        Self::new(Revision::Path)
    }

    pub fn link(&mut self, kind: LinkKind) -> LinkId {
        let id = self.transcript.open(kind, "link", None);
        let link = self
            .transcript
            .link(id)
            .cloned()
            .expect("a link just opened");
        self.checkers.link(&link);
        id
    }

    /// From here on nothing listens where the agent server does.
    pub fn agent_server_leaves(&mut self) {
        let address = self.link(LinkKind::Address);
        self.at(address, Role::AgentServer, What::Closed);
    }

    /// From here on it listens again.
    pub fn agent_server_returns(&mut self) {
        let address = self.link(LinkKind::Address);
        self.at(
            address,
            Role::AgentServer,
            What::Opened { subprotocol: None },
        );
    }

    pub fn at(&mut self, link: LinkId, sender: Role, what: What) {
        let seq = self.transcript.record(Duration::ZERO, link, sender, what);
        let event = self.transcript.events[seq as usize].clone();
        self.checkers.event(&event, &mut self.out);
    }

    pub fn opens(&mut self) {
        self.at(
            self.host,
            Role::Provider,
            What::Opened { subprotocol: None },
        );
    }

    /// The host sends a message whole.
    pub fn raw(&mut self, message: &[u8]) {
        let message = What::Binary(message.to_vec().into());
        self.at(self.host, Role::Provider, message);
    }

    pub fn frame(
        &mut self,
        sender: Role,
        kind: FrameType,
        at: (u32, u32),
        payload: impl AsRef<[u8]>,
    ) {
        let frame = Frame::new(kind, at.0, at.1, payload.as_ref().to_vec());
        self.at(self.host, sender, What::Binary(frame.encode()));
    }

    pub fn host_sends(&mut self, kind: FrameType, at: (u32, u32), payload: impl AsRef<[u8]>) {
        self.frame(Role::Provider, kind, at, payload);
    }

    pub fn proxy_sends(&mut self, kind: FrameType, at: (u32, u32), payload: impl AsRef<[u8]>) {
        self.frame(Role::Proxy, kind, at, payload);
    }

    /// The host opens a scope.
    pub fn requests(&mut self, scope: u32, payload: impl AsRef<[u8]>) {
        self.host_sends(FrameType::Request, (scope, 9), payload);
    }

    /// The host begins with these arguments.
    pub fn begins(&mut self, scope: u32, arguments: &str) {
        self.requests(scope, word(0, format!(r#"{{"arguments":{arguments}}}"#)));
    }

    /// The proxy says something on a scope.
    pub fn says(&mut self, scope: u32, tag: u8, body: impl AsRef<[u8]>) {
        self.proxy_sends(FrameType::Response, (scope, 0), word(tag, body));
    }

    /// The proxy says something on the scope of the begin.
    pub fn gets(&mut self, tag: u8, body: impl AsRef<[u8]>) {
        self.says(BEGIN, tag, body);
    }

    pub fn finishes(&mut self, scope: u32) {
        self.proxy_sends(FrameType::ResponseFinish, (scope, 0), "");
    }

    /// The host opens a channel.
    pub fn asks(&mut self, channel: u32, payload: impl AsRef<[u8]>) {
        self.host_sends(FrameType::ChannelRequest, (BEGIN, channel), payload);
    }

    pub fn enqueues(&mut self, channel: u32, key: &str) {
        self.asks(channel, word(3, message(key)));
    }

    pub fn dequeues(&mut self, channel: u32, key: &str) {
        self.asks(channel, word(4, format!(r#"{{"key":"{key}"}}"#)));
    }

    pub fn answers(&mut self, channel: u32, payload: impl AsRef<[u8]>) {
        self.proxy_sends(FrameType::ChannelResponse, (BEGIN, channel), payload);
    }

    pub fn ends(&mut self, channel: u32) {
        self.proxy_sends(FrameType::ChannelResponseFinish, (BEGIN, channel), "");
    }

    /// An answer and the finish.
    pub fn serves(&mut self, channel: u32, payload: impl AsRef<[u8]>) {
        self.answers(channel, payload);
        self.ends(channel);
    }

    /// The proxy calls the agent server.
    pub fn calls(&mut self, kind: AgentCall, body: impl AsRef<[u8]>) -> LinkId {
        let link = self.link(LinkKind::Call);
        let method = if kind == AgentCall::Schema {
            "GET"
        } else {
            "POST"
        };
        let request = What::Request {
            method: method.into(),
            path: format!("/{}", kind.name()),
            body: body.as_ref().to_vec().into(),
        };
        self.at(link, Role::Proxy, request);
        link
    }

    /// The agent server answers, whole.
    pub fn replies(&mut self, call: LinkId, status: u16, body: impl AsRef<[u8]>) {
        let response = What::Response {
            status,
            content_type: None,
            body: Some(body.as_ref().to_vec().into()),
        };
        self.at(call, Role::AgentServer, response);
    }

    /// The agent server answers with a stream.
    pub fn streams(&mut self, call: LinkId) {
        let response = What::Response {
            status: 200,
            content_type: None,
            body: None,
        };
        self.at(call, Role::AgentServer, response);
    }

    pub fn event(&mut self, call: LinkId, data: &str) {
        let data = What::ServerEvent(data.as_bytes().to_vec().into());
        self.at(call, Role::AgentServer, data);
    }

    pub fn over(&mut self, call: LinkId) {
        self.at(call, Role::AgentServer, What::Closed);
    }

    pub fn breaks_off(&mut self, call: LinkId) {
        self.at(call, Role::AgentServer, What::Broken);
    }

    /// A begin under way, and its register.
    pub fn registering(&mut self) -> LinkId {
        self.opens();
        self.begins(BEGIN, "[1.50]");
        self.calls(AgentCall::Register, r#"{ "arguments": [1.50] }"#)
    }

    /// A program that has begun.
    pub fn begun(&mut self) {
        let register = self.registering();
        self.replies(register, 200, "{}");
        self.gets(BEGUN, "[]");
    }

    /// A run that has been asked for with a message `a`, on the channel 1.
    pub fn asked(&mut self) -> LinkId {
        self.begun();
        self.enqueues(1, "a");
        self.calls(AgentCall::Run, run_of(&["a"]))
    }

    /// A loop that the host knows of, on a message `a`.
    pub fn looping(&mut self) -> LinkId {
        let run = self.asked();
        self.streams(run);
        self.serves(1, DELIVERED);
        self.gets(ACTIVE, "");
        run
    }

    /// That loop, with a message `b` offered, on the channel 2.
    pub fn offering(&mut self) -> (LinkId, LinkId) {
        let run = self.looping();
        self.enqueues(2, "b");
        (run, self.calls(AgentCall::Enqueue, message("b")))
    }

    /// The loop ends, and the host knows.
    pub fn rests(&mut self, run: LinkId) {
        self.over(run);
        self.gets(INACTIVE, "{}");
    }

    pub fn outstanding(&self) -> Vec<Outstanding> {
        self.checkers.outstanding()
    }

    /// A connection to a path of the path revision.
    pub fn dials(&mut self, kind: AgentCall) -> LinkId {
        let link = self.link(LinkKind::Path(kind));
        self.at(link, Role::Provider, What::Opened { subprotocol: None });
        link
    }

    /// The same, and its ask.
    pub fn dials_with(&mut self, kind: AgentCall, ask: &str) -> LinkId {
        let link = self.dials(kind);
        self.host_says(link, ask);
        link
    }

    pub fn host_says(&mut self, link: LinkId, ask: &str) {
        let ask = What::Binary(ask.as_bytes().to_vec().into());
        self.at(link, Role::Provider, ask);
    }

    pub fn hears(&mut self, link: LinkId, tag: u8, body: impl AsRef<[u8]>) {
        let message = What::Binary(word(tag, body).into());
        self.at(link, Role::Proxy, message);
    }

    pub fn closes(&mut self, link: LinkId) {
        self.at(link, Role::Proxy, What::Closed);
    }

    /// Ends the conversation, and tells what it broke.
    pub fn broken(mut self) -> Vec<&'static str> {
        self.checkers.end(&mut self.out);
        for violation in &self.out {
            assert!(!violation.allowed.is_empty() && !violation.received.is_empty());
        }
        self.out.iter().map(|it| it.requirement.as_str()).collect()
    }

    /// Ends the conversation, which must have broken nothing.
    #[track_caller]
    pub fn breaks_nothing(self) {
        assert_eq!(self.broken(), [] as [&str; 0]);
    }
}
