//! Conversations in a few words.

use std::time::Duration;

use crate::rules::{Checkers, Outstanding, Violation};
use crate::transcript::{Link, LinkId, LinkKind, Role, RunRef, Transcript, What};
use crate::wire::{Frame, FrameType, Profile, credential_payload};

/// The client link of every conversation.
pub const CLIENT: LinkId = LinkId(0);
/// The scope of the first run.
pub const RUN: u32 = 1;
/// The scope of every begin request.
pub const BEGIN: u32 = 40;
/// Arguments that give their bytes away.
pub const ARGUMENTS: &str = r#"{ "b": 1.50, "a": "x" }"#;
/// An id that nobody guesses.
pub const ID: &str = r#"{"id":"6f1b0c52-62c2-4b7e-9a59-0d1f4b8f6a10"}"#;

pub const BEGUN: u8 = 0;
pub const PROXY_ERROR: u8 = 1;
pub const PROXY_CHUNK: u8 = 2;
pub const PROXY_ACTIVE: u8 = 3;
pub const PROXY_INACTIVE: u8 = 4;

pub const STOP: u8 = 0;
pub const READ: u8 = 2;
pub const SCHEMA: u8 = 6;
pub const ENQUEUE: u8 = 8;
pub const DEQUEUE: u8 = 9;

pub const BEGIN_SCHEMA: u8 = 1;
pub const BEGIN_ENQUEUE: u8 = 3;
pub const BEGIN_DEQUEUE: u8 = 4;

/// A first byte and what follows it.
pub fn word(tag: u8, body: impl AsRef<[u8]>) -> Vec<u8> {
    let mut payload = vec![tag];
    payload.extend_from_slice(body.as_ref());
    payload
}

/// A run request with these arguments.
pub fn request(arguments: &str) -> Vec<u8> {
    let image = r#"{"name":"acme/echo","digest":"sha256:00112233445566778899aabbccddeeff"}"#;
    word(
        0,
        format!(r#"{{"image":{image},"memory":1,"disk":1,"arguments":{arguments}}}"#),
    )
}

/// A begin request with these arguments.
pub fn begin_request(arguments: &str) -> Vec<u8> {
    word(0, format!(r#"{{"arguments":{arguments}}}"#))
}

/// An enqueue of a message.
pub fn enqueue(key: &str) -> Vec<u8> {
    word(
        ENQUEUE,
        format!(r#"{{"key":"{key}", "content":[{{"type":"text","text":"hi"}}]}}"#),
    )
}

/// The same, as the provider carries it on.
pub fn carried(ask: &[u8], tag: u8) -> Vec<u8> {
    word(tag, &ask[1..])
}

/// A conversation and what is wrong with it.
pub struct Talk {
    checkers: Checkers,
    transcript: Transcript,
    out: Vec<Violation>,
    proxy: LinkId,
}

impl Talk {
    /// A connection without a credential.
    pub fn silent() -> Self {
        Self::of(Checkers::new(Profile::scope()))
    }

    /// A connection as a tap sees it, with its credential.
    pub fn tapped() -> Self {
        let mut talk = Self::of(Checkers::client_side(Profile::scope()));
        talk.credential();
        talk
    }

    fn of(checkers: Checkers) -> Self {
        let (transcript, out) = (Transcript::default(), Vec::new());
        let mut talk = Self {
            checkers,
            transcript,
            out,
            proxy: LinkId(u32::MAX),
        };
        talk.client_link("client");
        talk
    }

    /// A connection with its credential.
    pub fn new() -> Self {
        let mut talk = Self::silent();
        talk.credential();
        talk
    }

    /// A run whose request came and whose proxy got its begin request.
    pub fn begins() -> Self {
        let mut talk = Self::new();
        talk.request(RUN, &request(ARGUMENTS));
        talk.proxy_link(Some(run()));
        talk.begin(&begin_request(ARGUMENTS));
        talk
    }

    /// A run that has its id.
    pub fn running() -> Self {
        let mut talk = Self::begins();
        talk.proxy_says(BEGUN, "[]");
        talk.gets(0, ID);
        talk
    }

    /// A run in a loop.
    pub fn looping() -> Self {
        let mut talk = Self::running();
        talk.proxy_says(PROXY_ACTIVE, "");
        talk.gets(8, "");
        talk
    }

    fn announce(&mut self, kind: LinkKind, name: &str, run: Option<RunRef>) -> LinkId {
        let id = self.transcript.open(kind, name, run);
        let link = self
            .transcript
            .link(id)
            .cloned()
            .expect("a link just opened");
        self.checkers.link(&link);
        id
    }

    /// Another connection of the client's.
    pub fn client_link(&mut self, name: &str) -> LinkId {
        let id = self.announce(LinkKind::Client, name, None);
        self.at(id, Role::Client, What::Opened { subprotocol: None });
        id
    }

    /// A proxy connection, to which what the proxy says from here on belongs.
    pub fn proxy_link(&mut self, run: Option<RunRef>) -> LinkId {
        let id = self.announce(LinkKind::Begin, "begin", run);
        self.proxy = id;
        self.at(id, Role::Provider, What::Opened { subprotocol: None });
        id
    }

    /// A proxy connection whose handshake the proxy refuses.
    pub fn refused_proxy_link(&mut self, run: Option<RunRef>) {
        let id = self.announce(LinkKind::Begin, "refused", run);
        self.at(id, Role::Proxy, What::Refused { status: Some(503) });
    }

    /// The run of a proxy connection becomes known.
    pub fn tell_run(&mut self, id: LinkId, run: RunRef) {
        let (kind, name) = (LinkKind::Begin, "begin".to_owned());
        self.checkers.link(&Link {
            id,
            kind,
            name,
            run: Some(run),
        });
    }

    pub fn at(&mut self, link: LinkId, sender: Role, what: What) {
        let seq = self.transcript.record(Duration::ZERO, link, sender, what);
        let event = self.transcript.events[seq as usize].clone();
        self.checkers.event(&event, &mut self.out);
    }

    pub fn frame(
        &mut self,
        link: LinkId,
        sender: Role,
        kind: FrameType,
        at: (u32, u32),
        payload: impl AsRef<[u8]>,
    ) {
        let frame = Frame::new(kind, at.0, at.1, payload.as_ref().to_vec());
        self.at(link, sender, What::Binary(frame.encode()));
    }

    pub fn client_sent(&mut self, kind: FrameType, at: (u32, u32), payload: impl AsRef<[u8]>) {
        self.frame(CLIENT, Role::Client, kind, at, payload);
    }

    pub fn provider_sent(&mut self, kind: FrameType, at: (u32, u32), payload: impl AsRef<[u8]>) {
        self.frame(CLIENT, Role::Provider, kind, at, payload);
    }

    pub fn sends_proxy(&mut self, kind: FrameType, at: (u32, u32), payload: impl AsRef<[u8]>) {
        self.frame(self.proxy, Role::Provider, kind, at, payload);
    }

    pub fn proxy_sent(&mut self, kind: FrameType, at: (u32, u32), payload: impl AsRef<[u8]>) {
        self.frame(self.proxy, Role::Proxy, kind, at, payload);
    }

    pub fn credential(&mut self) {
        self.client_sent(FrameType::Authorization, (0, 0), credential_payload("tok"));
    }

    pub fn request(&mut self, scope: u32, payload: &[u8]) {
        self.client_sent(FrameType::Request, (scope, 9), payload);
    }

    pub fn begin(&mut self, payload: &[u8]) {
        self.sends_proxy(FrameType::Request, (BEGIN, 0), payload);
    }

    pub fn proxy_says(&mut self, tag: u8, body: impl AsRef<[u8]>) {
        self.proxy_sent(FrameType::Response, (BEGIN, 0), word(tag, body));
    }

    pub fn proxy_finishes(&mut self) {
        self.proxy_sent(FrameType::ResponseFinish, (BEGIN, 0), "");
    }

    pub fn proxy_closes(&mut self) {
        self.at(self.proxy, Role::Proxy, What::Closed);
    }

    /// Says that the proxy's connection will be cut.
    pub fn lossy(&mut self) {
        self.checkers.lossy(self.proxy);
    }

    /// The client gets a response on the first run's scope.
    pub fn gets(&mut self, tag: u8, body: impl AsRef<[u8]>) {
        self.provider_sent(FrameType::Response, (RUN, 0), word(tag, body));
    }

    pub fn gets_finish(&mut self) {
        self.provider_sent(FrameType::ResponseFinish, (RUN, 0), "");
    }

    pub fn asks(&mut self, channel: u32, payload: impl AsRef<[u8]>) {
        self.client_sent(FrameType::ChannelRequest, (RUN, channel), payload);
    }

    pub fn carries(&mut self, channel: u32, payload: impl AsRef<[u8]>) {
        self.sends_proxy(FrameType::ChannelRequest, (BEGIN, channel), payload);
    }

    pub fn proxy_answers(&mut self, channel: u32, payload: impl AsRef<[u8]>) {
        self.proxy_sent(FrameType::ChannelResponse, (BEGIN, channel), payload);
        self.proxy_ends(channel);
    }

    pub fn proxy_ends(&mut self, channel: u32) {
        self.proxy_sent(FrameType::ChannelResponseFinish, (BEGIN, channel), "");
    }

    pub fn answered(&mut self, channel: u32, payload: impl AsRef<[u8]>) {
        self.provider_sent(FrameType::ChannelResponse, (RUN, channel), payload);
    }

    pub fn ended(&mut self, channel: u32) {
        self.provider_sent(FrameType::ChannelResponseFinish, (RUN, channel), "");
    }

    /// An answer and the finish.
    pub fn served(&mut self, channel: u32, payload: impl AsRef<[u8]>) {
        self.answered(channel, payload);
        self.ended(channel);
    }

    /// The client stops the run, and it stops.
    pub fn stops(&mut self) {
        self.asks(99, [STOP]);
        self.gets_finish();
    }

    pub fn outstanding(&self) -> Vec<Outstanding> {
        self.checkers.outstanding(run())
    }

    pub fn outstanding_of(&self, run: RunRef) -> Vec<Outstanding> {
        self.checkers.outstanding(run)
    }

    pub fn loop_open(&self) -> bool {
        self.checkers.loop_open(run())
    }

    /// How many events there have been.
    pub fn events(&self) -> u64 {
        self.transcript.events.len() as u64
    }

    /// Ends the conversation and tells what it broke.
    pub fn violations(mut self) -> Vec<Violation> {
        self.checkers.end(&mut self.out);
        self.out
    }

    /// Ends the conversation, which must have broken exactly these, in this order.
    #[track_caller]
    pub fn breaks(self, requirements: &[&str]) {
        let violations = self.violations();
        let broken: Vec<_> = violations
            .iter()
            .map(|it| it.requirement.as_str())
            .collect();
        assert_eq!(broken, requirements, "{violations:#?}");
        for violation in violations {
            assert!(violation.requirement.requirement().is_some());
            assert!(!violation.allowed.is_empty() && !violation.received.is_empty());
        }
    }

    /// Ends the conversation, which must have broken nothing.
    #[track_caller]
    pub fn breaks_nothing(self) {
        self.breaks(&[]);
    }
}

/// The first run.
pub fn run() -> RunRef {
    RunRef {
        link: CLIENT,
        scope: RUN,
        generation: 0,
    }
}
