//! Enqueue, dequeue and schema: the client's asks on their way to the proxy, and its answers on their way back.

mod answers;
mod carried;

use std::collections::{HashMap, VecDeque};

use bytes::Bytes;

use super::catalogue::RequirementId;
use super::violation::Cx;
use super::{Outstanding, OutstandingKind, id};
use crate::wire::profile::{BeginChannel, ClientChannel};

/// How many asks are remembered that ended, or that came on open channels.
const KEPT: usize = 32;
/// How many answers that cannot be told apart are kept.
const LOOSE: usize = 1 << 10;

/// A kind of ask that the provider only carries on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AskKind {
    Enqueue,
    Dequeue,
    Schema,
}

impl AskKind {
    pub(super) fn of_client(channel: ClientChannel) -> Option<Self> {
        match channel {
            ClientChannel::Enqueue => Some(Self::Enqueue),
            ClientChannel::Dequeue => Some(Self::Dequeue),
            ClientChannel::Schema => Some(Self::Schema),
            _ => None,
        }
    }

    fn of_begin(channel: BeginChannel) -> Option<Self> {
        Self::of_client(channel.into())
    }

    fn name(self) -> &'static str {
        match self {
            Self::Enqueue => "enqueue",
            Self::Dequeue => "dequeue",
            Self::Schema => "schema request",
        }
    }

    fn request(self) -> RequirementId {
        match self {
            Self::Enqueue => id::ENQUEUE_REQUEST,
            Self::Dequeue => id::DEQUEUE_REQUEST,
            Self::Schema => id::SCHEMA_REQUEST,
        }
    }

    fn answer(self, enqueue: RequirementId) -> RequirementId {
        match self {
            Self::Enqueue => enqueue,
            Self::Dequeue => id::DEQUEUE_ANSWER,
            Self::Schema => id::SCHEMA_ANSWER,
        }
    }
}

/// An ask of the client's that has not been finished.
#[derive(Debug)]
struct Ask {
    kind: AskKind,
    body: Bytes,
    seq: u64,
    /// The client asked before the id.
    early: bool,
    /// Any answer will do.
    lenient: bool,
    /// It cannot be told from another one.
    loose: bool,
    relayed: bool,
    answer: Option<(u64, Bytes)>,
    more_answers: bool,
    finished: bool,
    /// How many answers the client has got.
    answered: u32,
}

impl Ask {
    fn is(&self, kind: AskKind, body: &Bytes) -> bool {
        self.kind == kind && self.body == *body
    }

    /// Whether the proxy has not said a word to it, so that it cannot have been finished.
    fn waits(&self) -> bool {
        !self.lenient && !self.loose && self.answer.is_none() && !self.finished
    }
}

/// An ask on a number whose ask has not been finished, as far as the client can know.
#[derive(Debug)]
struct Again {
    channel: u32,
    /// What it asks, if that is something to carry on.
    ask: Option<(AskKind, Bytes)>,
    seq: u64,
    /// The server heard it while the first ask waited for the proxy.
    certain: bool,
}

impl Again {
    fn asks(&self, kind: AskKind, body: &Bytes) -> bool {
        self.ask
            .as_ref()
            .is_some_and(|ask| ask.0 == kind && ask.1 == *body)
    }
}

/// A channel that the provider opened on the begin scope for an ask.
#[derive(Debug)]
struct Carried {
    kind: AskKind,
    body: Bytes,
    /// The client's channel and the event of its ask; `None` where it cannot be told.
    ask: Option<(u32, u64)>,
    answered: bool,
}

/// An answer to one of several asks that cannot be told apart; without bytes where the proxy only finished.
#[derive(Debug)]
struct LooseAnswer {
    kind: AskKind,
    body: Bytes,
    seq: u64,
    answer: Option<Bytes>,
}

/// All asks of one run.
#[derive(Debug, Default)]
pub(super) struct Asks {
    asks: HashMap<u32, Ask>,
    carried: HashMap<u32, Carried>,
    loose: VecDeque<LooseAnswer>,
    ended: VecDeque<(AskKind, Bytes)>,
    again: Vec<Again>,
    /// Asks that the server may have heard or ignored.
    doubtful: VecDeque<(AskKind, Bytes)>,
    /// The latest channel request of the client's that the server has answered, so it has heard all before it.
    heard: u64,
}

/// Whether the run's state excuses an answer that the proxy did not give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Excuse(pub bool);

/// A new ask of the client's.
#[derive(Debug)]
pub(super) struct NewAsk {
    pub kind: AskKind,
    pub body: Bytes,
    pub seq: u64,
    pub early: bool,
    pub lenient: bool,
}

impl Asks {
    /// The client asks something on a free channel.
    pub(super) fn asked(&mut self, channel: u32, ask: NewAsk) {
        let NewAsk {
            kind,
            body,
            seq,
            early,
            lenient,
        } = ask;
        let ask = Ask {
            kind,
            body,
            seq,
            early,
            lenient,
            loose: false,
            relayed: false,
            answer: None,
            more_answers: false,
            finished: false,
            answered: 0,
        };
        self.asks.insert(channel, ask);
    }

    /// The client asks again on a channel that it has not seen finished.
    pub(super) fn asked_again(&mut self, channel: u32, ask: Option<(AskKind, Bytes)>, seq: u64) {
        if self.again.len() < KEPT {
            self.again.push(Again {
                channel,
                ask,
                seq,
                certain: false,
            });
        } else if let Some((kind, body)) = ask {
            self.doubt(kind, body);
        }
    }

    /// The client asks something that the server may take for a second request on an open channel.
    pub(super) fn doubt(&mut self, kind: AskKind, body: Bytes) {
        if self.doubtful.len() == KEPT {
            self.doubtful.pop_front();
        }
        self.doubtful.push_back((kind, body));
    }

    /// The server has answered a channel request.
    pub(super) fn hears(&mut self, seq: u64) {
        self.heard = self.heard.max(seq);
    }

    /// Something is about to happen after which asks may be finished: what was heard before it was heard in time.
    pub(super) fn settle(&mut self, channel: Option<u32>) {
        for again in self
            .again
            .iter_mut()
            .filter(|it| channel.is_none_or(|channel| it.channel == channel))
        {
            again.certain |=
                again.seq < self.heard && self.asks.get(&again.channel).is_some_and(Ask::waits);
        }
    }

    fn waits(&self, channel: u32) -> bool {
        self.asks.get(&channel).is_some_and(Ask::waits)
    }

    /// A channel was finished. Tells whether all further asks on it were certainly to be ignored.
    pub(super) fn again_was_certain(&mut self, channel: u32) -> bool {
        let mut certain = true;
        let (these, others) = std::mem::take(&mut self.again)
            .into_iter()
            .partition(|it| it.channel == channel);
        self.again = others;
        let these: Vec<Again> = these;
        for it in these.into_iter().filter(|it| !it.certain) {
            certain = false;
            if let Some((kind, body)) = it.ask {
                self.doubt(kind, body);
            }
        }
        certain
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(super) fn outstanding(&self, into: &mut Vec<Outstanding>) {
        let kind = OutstandingKind::Answer;
        let due = self
            .asks
            .values()
            .filter(|ask| !ask.lenient && !ask.loose && ask.answered == 0);
        into.extend(
            due.filter_map(|ask| ask.answer.as_ref())
                .map(|(seq, _)| Outstanding { kind, seq: *seq }),
        );
        let loose = self.loose.iter().filter(|it| it.answer.is_some());
        into.extend(loose.map(|it| Outstanding { kind, seq: it.seq }));
    }

    fn find(&mut self, channel: u32, seq: u64) -> Option<&mut Ask> {
        self.asks.get_mut(&channel).filter(|ask| ask.seq == seq)
    }

    /// The proxy answered on a channel that the provider opened.
    pub(super) fn proxy_answers(&mut self, channel: u32, payload: &Bytes, seq: u64) {
        let Some(carried) = self.carried.get_mut(&channel) else {
            return;
        };
        let again = std::mem::replace(&mut carried.answered, true);
        if let Some((channel, ask)) = carried.ask {
            self.settle(Some(channel));
            if let Some(ask) = self.find(channel, ask) {
                if again {
                    ask.more_answers = true;
                } else {
                    ask.answer = Some((seq, payload.clone()));
                }
            }
        } else if !again {
            let (kind, body) = (carried.kind, carried.body.clone());
            self.keep_loose(LooseAnswer {
                kind,
                body,
                seq,
                answer: Some(payload.clone()),
            });
        }
    }

    /// The proxy finished a channel that the provider opened.
    pub(super) fn proxy_finishes(&mut self, channel: u32, seq: u64) {
        let Some(carried) = self.carried.remove(&channel) else {
            return;
        };
        if let Some((channel, ask)) = carried.ask {
            self.settle(Some(channel));
            if let Some(ask) = self.find(channel, ask) {
                ask.finished = true;
            }
        } else if !carried.answered {
            self.keep_loose(LooseAnswer {
                kind: carried.kind,
                body: carried.body,
                seq,
                answer: None,
            });
        }
    }

    /// Keeps an answer that belongs to one of several asks, if there still are any.
    fn keep_loose(&mut self, answer: LooseAnswer) {
        let mut asks = self.asks.values();
        let wanted = asks.any(|ask| ask.loose && !ask.lenient && ask.is(answer.kind, &answer.body));
        if wanted && self.loose.len() < LOOSE {
            self.loose.push_back(answer);
        }
    }

    /// The client got an answer on one of its channels.
    pub(super) fn answered(
        &mut self,
        channel: u32,
        payload: &Bytes,
        excuse: Excuse,
        cx: &mut Cx<'_>,
    ) {
        let Some(ask) = self.asks.get(&channel) else {
            return;
        };
        if !ask.lenient
            && !excuse.0
            && let Some((rule, allowed, received)) = self.judge_answer(ask, payload)
        {
            cx.flag(self.named(channel, ask, rule), allowed, received);
        }
        let same = |it: &LooseAnswer| {
            ask.loose && ask.is(it.kind, &it.body) && it.answer.as_ref() == Some(payload)
        };
        if let Some(at) = self.loose.iter().position(same) {
            self.loose.remove(at);
        }
        if let Some(ask) = self.asks.get_mut(&channel) {
            ask.answered = ask.answered.saturating_add(1);
        }
    }

    /// The client got the finish of one of its channels.
    pub(super) fn channel_finished(&mut self, channel: u32, excuse: Excuse, cx: &mut Cx<'_>) {
        let Some(ask) = self.asks.remove(&channel) else {
            return;
        };
        if ask.loose && !ask.relayed {
            // Which of the equal asks was carried on is not known, so one of the others still will be.
            let other = self
                .asks
                .values_mut()
                .find(|it| it.loose && it.relayed && it.is(ask.kind, &ask.body));
            if let Some(other) = other {
                other.relayed = false;
            }
        }
        if !ask.lenient && !excuse.0 && ask.answered == 0 {
            self.judge_bare(channel, &ask, cx);
        }
        if self.ended.len() == KEPT {
            self.ended.pop_front();
        }
        self.ended.push_back((ask.kind, ask.body));
    }
}
