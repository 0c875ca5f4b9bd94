//! A provider that keeps the rules and takes every freedom, without sockets: messages in, messages out.

use std::collections::{HashMap, VecDeque};

use bytes::Bytes;

use super::talk::*;
use crate::transcript::{RunRef, What};
use crate::wire::request::RunRequest;
use crate::wire::{Frame, FrameType, Profile};

/// Numbers that look random.
pub struct Dice(pub u64);

impl Dice {
    /// A number below `sides`.
    pub fn roll(&mut self, sides: u32) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32 % sides
    }

    /// Whether one in `sides` came up.
    pub fn one_in(&mut self, sides: u32) -> bool {
        self.roll(sides) == 0
    }
}

/// What the provider does wrong, once in a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    None,
    LosesChunk,
    RepeatsChunk,
    ChangesChunk,
    DelaysChunk,
    LosesActive,
    ChangesInactive,
    ChangesError,
    LosesAnswer,
    ChangesAnswer,
    CarriesTwice,
    AnswersEarly,
    EndsEarly,
    AnswersDuplicate,
}

/// A channel of the client's in a run.
struct Asked {
    /// The channel to the proxy.
    carried: Option<u32>,
    held: Option<Bytes>,
}

/// One run at the provider.
pub struct Served {
    pub scope: u32,
    pub reference: RunRef,
    /// What is sent to the proxy and has not been read by it.
    pub to_proxy: VecDeque<What>,
    /// What the proxy sent and the provider has not read.
    pub from_proxy: VecDeque<What>,
    over: bool,
    begun: bool,
    has_id: bool,
    in_loop: bool,
    delayed: Option<Vec<u8>>,
    relays_outside: bool,
    ends_on_disorder: bool,
    stop_acts_early: bool,
    stop_waits: bool,
    asked: HashMap<u32, Asked>,
    order: Vec<u32>,
    carried: HashMap<u32, u32>,
    next_channel: u32,
}

/// The provider.
pub struct Faithful {
    pub fault: Fault,
    pub dice: Dice,
    /// What is sent to the client and has not been read by it.
    pub to_client: VecDeque<Frame>,
    pub runs: Vec<Served>,
    requests: HashMap<u32, u32>,
}

impl Faithful {
    pub fn new(seed: u64) -> Self {
        let (to_client, runs, requests) = Default::default();
        Self {
            fault: Fault::None,
            dice: Dice(seed),
            to_client,
            runs,
            requests,
        }
    }

    /// Whether to go wrong in this way now.
    fn errs(&mut self, fault: Fault) -> bool {
        self.fault == fault && self.dice.one_in(3)
    }

    fn send(&mut self, kind: FrameType, scope: u32, channel: u32, payload: Vec<u8>) {
        self.to_client
            .push_back(Frame::new(kind, scope, channel, payload));
    }

    fn open(&self, scope: u32) -> Option<usize> {
        self.runs
            .iter()
            .position(|run| run.scope == scope && !run.over)
    }

    /// Reads one frame of the client's.
    pub fn client_sent(&mut self, frame: &Frame) {
        match frame.kind {
            FrameType::Request => self.request(frame),
            FrameType::ChannelRequest => {
                if let Some(run) = self.open(frame.scope) {
                    self.ask(run, frame.channel, frame.payload.clone());
                }
            }
            _ => {}
        }
    }

    fn request(&mut self, frame: &Frame) {
        let count = self.requests.entry(frame.scope).or_default();
        let reference = RunRef {
            link: CLIENT,
            scope: frame.scope,
            generation: *count,
        };
        *count += 1;
        if self
            .open(frame.scope)
            .is_some_and(|run| self.runs[run].has_id)
            && self.errs(Fault::AnswersDuplicate)
        {
            self.send(FrameType::ResponseFinish, frame.scope, 0, vec![]);
        }
        if self.open(frame.scope).is_some() {
            return;
        }
        let Ok(request) = RunRequest::decode(Profile::scope(), &frame.payload) else {
            self.send(FrameType::ResponseFinish, frame.scope, 0, vec![]);
            return;
        };
        if self.dice.one_in(8) {
            let refusals = [
                word(6, "null"),
                word(1, r#"{"name":"v"}"#),
                word(5, r#"{"mode":"ephemeral","name":""}"#),
            ];
            let refusal = refusals[self.dice.roll(3) as usize].clone();
            self.send(FrameType::Response, frame.scope, 0, refusal);
            self.send(FrameType::ResponseFinish, frame.scope, 0, vec![]);
            return;
        }
        let begin = Frame::new(
            FrameType::Request,
            BEGIN,
            3,
            begin_request(request.arguments.get()),
        );
        let opened = What::Opened { subprotocol: None };
        self.runs.push(Served {
            scope: frame.scope,
            reference,
            to_proxy: VecDeque::from([opened, What::Binary(begin.encode())]),
            from_proxy: VecDeque::new(),
            over: false,
            begun: false,
            has_id: false,
            in_loop: false,
            delayed: None,
            relays_outside: self.dice.one_in(2),
            ends_on_disorder: self.dice.one_in(2),
            stop_acts_early: self.dice.one_in(2),
            stop_waits: false,
            asked: HashMap::new(),
            order: Vec::new(),
            carried: HashMap::new(),
            next_channel: 0,
        });
    }

    fn ask(&mut self, at: usize, channel: u32, payload: Bytes) {
        let run = &mut self.runs[at];
        if run.asked.contains_key(&channel) {
            return;
        }
        let stop = payload.first() == Some(&STOP);
        if stop && (run.has_id || run.stop_acts_early) {
            let scope = run.scope;
            if self.dice.one_in(2) {
                self.send(FrameType::ChannelResponseFinish, scope, channel, vec![]);
            }
            self.finish(at);
            return;
        }
        let held = (!run.has_id).then(|| payload.clone());
        run.stop_waits |= stop;
        run.asked.insert(
            channel,
            Asked {
                carried: None,
                held,
            },
        );
        run.order.push(channel);
        if run.has_id {
            self.serve(at, channel, &payload);
        }
    }

    fn serve(&mut self, at: usize, channel: u32, payload: &Bytes) {
        let scope = self.runs[at].scope;
        let tag = match payload.first() {
            Some(&ENQUEUE) => BEGIN_ENQUEUE,
            Some(&DEQUEUE) => BEGIN_DEQUEUE,
            Some(&SCHEMA) => BEGIN_SCHEMA,
            Some(&STOP) => return,
            other => {
                if other == Some(&READ) {
                    self.send(FrameType::ChannelResponse, scope, channel, vec![0]);
                }
                self.channel_ends(at, channel);
                return;
            }
        };
        if self.errs(Fault::AnswersEarly) && tag == BEGIN_ENQUEUE {
            self.send(FrameType::ChannelResponse, scope, channel, vec![0]);
        }
        let twice = self.errs(Fault::CarriesTwice) && tag != BEGIN_SCHEMA;
        let run = &mut self.runs[at];
        let number = run.next_channel;
        run.next_channel += 2;
        if let Some(asked) = run.asked.get_mut(&channel) {
            asked.carried = Some(number);
        }
        run.carried.insert(number, channel);
        let frame = Frame::new(
            FrameType::ChannelRequest,
            BEGIN,
            number,
            carried(payload, tag),
        );
        run.to_proxy.push_back(What::Binary(frame.encode()));
        if twice {
            let frame = Frame::new(
                FrameType::ChannelRequest,
                BEGIN,
                number + 1,
                carried(payload, tag),
            );
            run.to_proxy.push_back(What::Binary(frame.encode()));
        }
    }

    fn channel_ends(&mut self, at: usize, channel: u32) {
        let run = &mut self.runs[at];
        if let Some(number) = run.asked.remove(&channel).and_then(|asked| asked.carried) {
            run.carried.remove(&number);
        }
        let scope = run.scope;
        self.send(FrameType::ChannelResponseFinish, scope, channel, vec![]);
    }

    fn finish(&mut self, at: usize) {
        let pending: Vec<u32> = self.runs[at].asked.keys().copied().collect();
        if self.dice.one_in(2) {
            for channel in pending {
                self.channel_ends(at, channel);
            }
        }
        let run = &mut self.runs[at];
        run.over = true;
        run.to_proxy.push_back(What::Closed);
        let scope = run.scope;
        self.send(FrameType::ResponseFinish, scope, 0, vec![]);
    }

    /// Reads one message of a proxy's.
    pub fn proxy_sent(&mut self, at: usize, what: &What) {
        if self.runs[at].over {
            return;
        }
        let frame = match what {
            What::Binary(bytes) => Frame::decode(bytes.clone()).expect("a frame"),
            _ => return self.proxy_ended(at, None),
        };
        match frame.kind {
            FrameType::Response => self.word(at, &frame.payload),
            FrameType::ResponseFinish => self.proxy_ended(at, None),
            FrameType::ChannelResponse => {
                let (scope, channel) = (
                    self.runs[at].scope,
                    self.runs[at].carried.get(&frame.channel).copied(),
                );
                if let Some(channel) = channel
                    && !self.errs(Fault::LosesAnswer)
                {
                    let changed = self.errs(Fault::ChangesAnswer);
                    let answer = if changed {
                        vec![2, b'1']
                    } else {
                        frame.payload.to_vec()
                    };
                    self.send(FrameType::ChannelResponse, scope, channel, answer);
                }
            }
            FrameType::ChannelResponseFinish => {
                if let Some(channel) = self.runs[at].carried.get(&frame.channel).copied() {
                    self.channel_ends(at, channel);
                }
            }
            _ => {}
        }
    }

    fn proxy_ended(&mut self, at: usize, error: Option<&[u8]>) {
        let (scope, has_id) = (self.runs[at].scope, self.runs[at].has_id);
        match error {
            Some(error) if has_id => {
                let changed = self.errs(Fault::ChangesError);
                let error = if changed { b"\"failed\"" } else { error };
                self.send(FrameType::Response, scope, 0, word(6, error));
            }
            None if has_id => {}
            _ => self.send(
                FrameType::Response,
                scope,
                0,
                word(6, "\"it did not begin\""),
            ),
        }
        self.finish(at);
    }

    fn word(&mut self, at: usize, payload: &[u8]) {
        let run = &mut self.runs[at];
        let (tag, body) = payload.split_first().expect("a first byte");
        let in_order = match *tag {
            BEGUN => !run.begun,
            PROXY_ACTIVE => run.begun && !run.in_loop,
            PROXY_INACTIVE => run.begun && run.in_loop,
            PROXY_CHUNK => run.begun,
            _ => true,
        };
        if !in_order {
            if run.ends_on_disorder {
                self.proxy_ended(at, None);
            }
            return;
        }
        let (scope, in_loop) = (run.scope, run.in_loop);
        let relays = in_loop || run.relays_outside;
        match *tag {
            BEGUN => return self.begun(at),
            PROXY_ERROR => return self.proxy_ended(at, Some(body)),
            PROXY_CHUNK if relays => self.chunk(at, body),
            PROXY_CHUNK => {}
            PROXY_ACTIVE => {
                run.in_loop = true;
                if !self.errs(Fault::LosesActive) {
                    self.send(FrameType::Response, scope, 0, word(8, ""));
                }
            }
            _ => {
                run.in_loop = false;
                let body = if self.errs(Fault::ChangesInactive) {
                    b"{}"
                } else {
                    body
                };
                self.send(FrameType::Response, scope, 0, word(9, body));
            }
        }
        if self.fault == Fault::EndsEarly && self.dice.one_in(10) {
            self.finish(at);
        }
    }

    fn chunk(&mut self, at: usize, body: &[u8]) {
        let (scope, in_loop) = (self.runs[at].scope, self.runs[at].in_loop);
        let mut chunk = word(7, body);
        if in_loop && self.errs(Fault::ChangesChunk) {
            chunk.push(b' ');
        }
        if in_loop && self.errs(Fault::LosesChunk) {
            return;
        }
        let repeats = self.errs(Fault::RepeatsChunk);
        if in_loop && self.runs[at].delayed.is_none() && self.errs(Fault::DelaysChunk) {
            self.runs[at].delayed = Some(chunk);
            return;
        }
        self.send(FrameType::Response, scope, 0, chunk.clone());
        if repeats {
            self.send(FrameType::Response, scope, 0, chunk);
        }
        if let Some(delayed) = self.runs[at].delayed.take() {
            self.send(FrameType::Response, scope, 0, delayed);
        }
    }

    fn begun(&mut self, at: usize) {
        let id = format!(
            "{{\"id\":\"{:08x}{:08x}\"}}",
            self.dice.roll(u32::MAX),
            self.dice.roll(u32::MAX)
        );
        let run = &mut self.runs[at];
        (run.begun, run.has_id) = (true, true);
        let (scope, early, stops) = (run.scope, std::mem::take(&mut run.order), run.stop_waits);
        self.send(FrameType::Response, scope, 0, word(0, id));
        for channel in early {
            let held = self.runs[at]
                .asked
                .get_mut(&channel)
                .and_then(|asked| asked.held.take());
            if let Some(payload) = held {
                self.serve(at, channel, &payload);
            }
        }
        if stops {
            self.finish(at);
        }
    }
}
