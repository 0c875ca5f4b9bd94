//! Conversations of a faithful provider with a client and proxies that do anything, while messages of both directions
//! are under way: nothing of it may be held against the provider.

use std::collections::{HashMap, HashSet, VecDeque};

use super::faithful::{Dice, Faithful, Fault};
use super::talk::*;
use crate::transcript::{LinkId, Role, What};
use crate::wire::{Frame, FrameType};

/// What the harness knows of a proxy connection.
#[derive(Default)]
struct Proxy {
    has_begin: bool,
    begun: bool,
    in_loop: bool,
    over: bool,
    /// Channels that the provider opened and that have not been answered.
    channels: Vec<u32>,
}

struct Race {
    talk: Talk,
    dice: Dice,
    provider: Faithful,
    to_provider: VecDeque<Frame>,
    links: HashMap<usize, LinkId>,
    proxies: Vec<Proxy>,
    /// Client and proxies may do what attentive ones do not.
    wild: bool,
    /// Scopes whose finish the client has not read.
    open: HashSet<u32>,
    chunks: u32,
}

impl Race {
    fn new(seed: u64, wild: bool, fault: Fault) -> Self {
        let (to_provider, links, proxies, open) = Default::default();
        let mut provider = Faithful::new(!seed);
        provider.fault = fault;
        let (talk, dice) = (Talk::new(), Dice(seed));
        Self {
            talk,
            provider,
            dice,
            to_provider,
            links,
            proxies,
            wild,
            open,
            chunks: 0,
        }
    }

    /// Plays, and lets everything arrive that is under way.
    fn play(mut self) -> Talk {
        for _ in 0..600 {
            self.step();
        }
        for _ in 0..400 {
            self.provider_reads_client();
            self.provider_reads_proxy();
            self.client_reads();
            self.proxy_reads();
        }
        for run in &self.provider.runs {
            let due = self.talk.outstanding_of(run.reference);
            assert!(
                self.provider.fault != Fault::None || due.is_empty(),
                "{due:?} for {:?}",
                run.reference
            );
        }
        self.talk
    }

    fn step(&mut self) {
        match self.dice.roll(10) {
            0 => self.client_acts(),
            1 | 2 => self.proxy_acts(),
            3 | 4 => self.provider_reads_client(),
            5 | 6 => self.provider_reads_proxy(),
            7 | 8 => self.client_reads(),
            _ => self.proxy_reads(),
        }
    }

    fn client_sends(&mut self, kind: FrameType, scope: u32, channel: u32, payload: Vec<u8>) {
        self.talk.client_sent(kind, (scope, channel), &payload);
        self.to_provider
            .push_back(Frame::new(kind, scope, channel, payload));
    }

    fn client_acts(&mut self) {
        let scope = self.dice.roll(2);
        let channel = self.dice.roll(if self.wild { 4 } else { 1000 });
        if self.dice.one_in(4) && (self.wild || !self.open.contains(&scope)) {
            self.open.insert(scope);
            let bad = self.wild && self.dice.one_in(4);
            let payload = if bad {
                vec![0, b'{']
            } else {
                request(["1", "{\"a\": 1}"][self.dice.roll(2) as usize])
            };
            self.client_sends(FrameType::Request, scope, 0, payload);
            return;
        }
        let payload = match self.dice.roll(if self.wild { 14 } else { 60 }) {
            0 => vec![STOP],
            1 if self.wild => vec![200],
            2 => word(READ, r#"{"path":[]}"#),
            3..=5 => vec![SCHEMA],
            6 | 7 => word(DEQUEUE, r#"{"key" : "k"}"#),
            _ => enqueue(["k", "l", "m"][self.dice.roll(3) as usize]),
        };
        self.client_sends(FrameType::ChannelRequest, scope, channel, payload);
    }

    fn provider_reads_client(&mut self) {
        if let Some(frame) = self.to_provider.pop_front() {
            self.provider.client_sent(&frame);
        }
    }

    fn provider_reads_proxy(&mut self) {
        if let Some(at) = self.some_run()
            && let Some(what) = self.provider.runs[at].from_proxy.pop_front()
        {
            self.provider.proxy_sent(at, &what);
        }
    }

    fn some_run(&mut self) -> Option<usize> {
        let runs = self.provider.runs.len();
        (runs > 0).then(|| self.dice.roll(runs as u32) as usize)
    }

    fn client_reads(&mut self) {
        if let Some(frame) = self.provider.to_client.pop_front() {
            if frame.kind == FrameType::ResponseFinish {
                self.open.remove(&frame.scope);
            }
            self.talk
                .at(CLIENT, Role::Provider, What::Binary(frame.encode()));
        }
    }

    fn proxy_reads(&mut self) {
        let Some(at) = self.some_run() else { return };
        let Some(what) = self.provider.runs[at].to_proxy.pop_front() else {
            return;
        };
        while self.proxies.len() <= at {
            self.proxies.push(Proxy::default());
        }
        if matches!(what, What::Opened { .. }) {
            let reference = self.provider.runs[at].reference;
            let link = self.talk.proxy_link(Some(reference));
            self.links.insert(at, link);
            return;
        }
        let proxy = &mut self.proxies[at];
        if let What::Binary(bytes) = &what {
            let frame = Frame::decode(bytes.clone()).expect("a frame");
            match frame.kind {
                FrameType::Request => proxy.has_begin = true,
                _ => proxy.channels.push(frame.channel),
            }
        }
        self.talk.at(self.links[&at], Role::Provider, what);
    }

    fn proxy_acts(&mut self) {
        let Some(at) = self.some_run().filter(|at| *at < self.proxies.len()) else {
            return;
        };
        let disorder = self.wild && self.dice.one_in(40);
        let proxy = &mut self.proxies[at];
        if !proxy.has_begin || (proxy.over && !disorder) {
            return;
        }
        let channel = (!proxy.channels.is_empty() && self.dice.one_in(2)).then(|| {
            let channel = self.dice.roll(proxy.channels.len() as u32) as usize;
            proxy.channels.remove(channel)
        });
        let messages = if let Some(channel) = channel {
            let answer = Frame::new(
                FrameType::ChannelResponse,
                BEGIN,
                channel,
                vec![self.dice.roll(2) as u8],
            );
            let finish = Frame::new(FrameType::ChannelResponseFinish, BEGIN, channel, vec![]);
            if self.dice.one_in(4) {
                vec![finish]
            } else {
                vec![answer, finish]
            }
        } else {
            let n = self.dice.roll(3);
            let (tag, body) = match self.dice.roll(if disorder { 8 } else { 60 }) {
                _ if !proxy.begun && !disorder => (BEGUN, "[]".to_owned()),
                0 => (PROXY_ERROR, format!("{{\"name\": {n}}}")),
                1 => (u8::MAX, String::new()),
                2 => (BEGUN, "[]".to_owned()),
                3 if disorder => (PROXY_ACTIVE, String::new()),
                4 if disorder => (PROXY_INACTIVE, "{}".to_owned()),
                _ if !proxy.in_loop && !self.dice.one_in(6) => (PROXY_ACTIVE, String::new()),
                5..10 => (PROXY_INACTIVE, format!("{{\"a\" :{n}}}")),
                _ => {
                    self.chunks += 1;
                    (
                        PROXY_CHUNK,
                        format!("{{\"n\": {}}}", if self.wild { n } else { self.chunks }),
                    )
                }
            };
            if tag == BEGUN && proxy.begun && !disorder
                || tag == PROXY_INACTIVE && !proxy.in_loop && !disorder
            {
                return;
            }
            proxy.begun |= tag == BEGUN;
            proxy.in_loop = (proxy.in_loop || tag == PROXY_ACTIVE) && tag != PROXY_INACTIVE;
            proxy.over |= tag == PROXY_ERROR || tag == u8::MAX;
            if tag == u8::MAX {
                vec![Frame::new(FrameType::ResponseFinish, BEGIN, 0, vec![])]
            } else {
                vec![Frame::new(FrameType::Response, BEGIN, 0, word(tag, body))]
            }
        };
        for frame in messages {
            let what = What::Binary(frame.encode());
            self.talk.at(self.links[&at], Role::Proxy, what.clone());
            self.provider.runs[at].from_proxy.push_back(what);
        }
    }
}

#[test]
fn a_faithful_provider_breaks_nothing_however_messages_cross() {
    for seed in 0..150 {
        for wild in [true, false] {
            Race::new(seed, wild, Fault::None).play().breaks_nothing();
        }
    }
}

/// However messages cross, the first thing that is held against a provider is what it does wrong.
#[test]
fn a_fault_is_told_by_its_name() {
    for (fault, names) in [
        (Fault::LosesChunk, &["run.chunk.relayed"][..]),
        (Fault::RepeatsChunk, &["run.chunk.one-response-each"]),
        (Fault::ChangesChunk, &["run.chunk.verbatim"]),
        (
            Fault::DelaysChunk,
            &["run.chunk.in-order", "run.chunk.relayed"],
        ),
        (
            Fault::LosesActive,
            &[
                "run.active.relayed",
                "run.inactive.only-in-open-loop",
                "run.chunk.not-outside-loop",
            ],
        ),
        (Fault::ChangesInactive, &["run.inactive.verbatim"]),
        (Fault::ChangesError, &["run.error.verbatim"]),
        (
            Fault::LosesAnswer,
            &[
                "enqueue.answer-relayed",
                "dequeue.answer-relayed",
                "schema.answer-relayed",
                "enqueue.late-answer",
            ],
        ),
        (
            Fault::ChangesAnswer,
            &[
                "enqueue.answer-verbatim",
                "dequeue.answer-relayed",
                "schema.answer-relayed",
            ],
        ),
        (
            Fault::CarriesTwice,
            &["enqueue.request-relayed", "dequeue.request-relayed"],
        ),
        (
            Fault::AnswersEarly,
            &[
                "enqueue.request-relayed",
                "enqueue.late-answer",
                "enqueue.many",
                "enqueue.unserved",
                "enqueue.answer-verbatim",
                "enqueue.answer-relayed",
            ],
        ),
        // The pending channels may be finished before the run is, and the run may have been about to end.
        (
            Fault::EndsEarly,
            &[
                "run.quiet-allowed",
                "run.chunk.relayed",
                "run.active.relayed",
                "run.inactive.relayed",
                "run.error.relayed",
                "enqueue.late-answer",
                "dequeue.answer-relayed",
                "schema.answer-relayed",
                "enqueue.request-relayed",
                "dequeue.request-relayed",
                "schema.request-relayed",
                "enqueue.answer-relayed",
            ],
        ),
    ] {
        let mut caught = 0;
        for seed in 0..40 {
            let violations = Race::new(seed, false, fault).play().violations();
            let Some(first) = violations.first() else {
                continue;
            };
            assert!(
                names.contains(&first.requirement.as_str()),
                "{fault:?}, seed {seed}: {first:#?}"
            );
            caught += 1;
        }
        assert!(caught > 4, "{fault:?} was caught {caught} times");
    }
}

/// A finish for a request on an open scope reads as the run's own where the run may have ended.
#[test]
fn an_answered_duplicate_is_told_where_it_is_certain() {
    let (mut caught, mut named) = (0, 0);
    for seed in 0..60 {
        let violations = Race::new(seed, true, Fault::AnswersDuplicate)
            .play()
            .violations();
        let Some(first) = violations.first() else {
            continue;
        };
        let name = first.requirement.as_str();
        assert!(
            name == "scope.duplicate-ignored" || name.ends_with(".relayed"),
            "seed {seed}: {violations:#?}"
        );
        caught += 1;
        named += u32::from(name == "scope.duplicate-ignored");
    }
    assert!(named * 2 > caught && caught > 10, "{named} of {caught}");
}
