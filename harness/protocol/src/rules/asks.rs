//! Enqueue, dequeue and schema: the client's asks on their way to the proxy, and its answers on their way back.

use std::collections::{HashMap, VecDeque};

use bytes::Bytes;

use super::catalogue::RequirementId;
use super::violation::{Cx, Length, difference};
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

    /// The provider opened a channel on the begin scope.
    pub(super) fn carried_on(
        &mut self,
        channel: u32,
        opened: BeginChannel,
        body: Bytes,
        begun: bool,
        cx: &mut Cx<'_>,
    ) {
        let Some(kind) = AskKind::of_begin(opened) else {
            return;
        };
        let ask = self.match_ask(kind, &body, begun, cx);
        self.carried.insert(
            channel,
            Carried {
                kind,
                body,
                ask,
                answered: false,
            },
        );
    }

    fn match_ask(
        &mut self,
        kind: AskKind,
        body: &Bytes,
        begun: bool,
        cx: &mut Cx<'_>,
    ) -> Option<(u32, u64)> {
        let equal = || {
            self.asks
                .iter()
                .filter(|(_, ask)| ask.is(kind, body) && !ask.relayed)
        };
        if let Some((&channel, ask)) = equal().min_by_key(|(_, ask)| ask.seq) {
            let (seq, early) = (ask.seq, ask.early);
            let several = equal().nth(1).is_some() || ask.loose;
            let before = |it: &Ask| it.early && !it.relayed && !it.lenient && it.seq < seq;
            if early && !several && self.asks.values().any(before) {
                let received = "one that it opened later";
                cx.flag(
                    id::EARLY_IN_ORDER,
                    "first the channel that the client opened first",
                    received,
                );
            }
            if early && !begun {
                let received = format!("the {} carried on", kind.name());
                cx.flag(
                    id::EARLY_KEPT,
                    "nothing of the client's channels before begun",
                    received,
                );
            }
            // Whether the server heard an equal ask that it may also have ignored cannot be told.
            let doubtful = self.doubtful.iter().any(|it| it.0 == kind && it.1 == *body)
                || self.again.iter().any(|it| it.asks(kind, body));
            for it in self
                .asks
                .values_mut()
                .filter(|it| it.is(kind, body) && (!it.relayed || it.loose))
            {
                it.loose |= several;
                it.lenient |= doubtful;
            }
            let ask = self.asks.get_mut(&channel)?;
            ask.relayed = true;
            return (!ask.loose && !ask.lenient).then_some((channel, seq));
        }
        if self.doubtful.iter().any(|it| it.0 == kind && it.1 == *body) {
            return None;
        }
        let mut again = self
            .again
            .iter()
            .filter(|it| it.asks(kind, body))
            .peekable();
        if again.peek().is_none() {
            return self.match_no_ask(kind, body, cx);
        }
        if again.all(|it| it.certain || self.waits(it.channel)) {
            let received = format!("the second {} carried on", kind.name());
            cx.flag(
                id::CHANNEL_DUPLICATE_IGNORED,
                "nothing for a request on an open channel",
                received,
            );
            self.again
                .iter_mut()
                .filter(|it| it.asks(kind, body))
                .for_each(|it| it.certain = true);
        }
        None
    }

    /// The provider carried on what the client did not ask in these words.
    fn match_no_ask(&mut self, kind: AskKind, body: &Bytes, cx: &mut Cx<'_>) -> Option<(u32, u64)> {
        let twice = self.asks.values().any(|ask| ask.is(kind, body))
            || self.ended.iter().any(|it| it.0 == kind && it.1 == *body);
        if twice {
            if kind != AskKind::Schema {
                cx.flag(
                    kind.request(),
                    format!("each {} once", kind.name()),
                    "one that was carried on before",
                );
            }
            return None;
        }
        let waiting = || {
            self.asks
                .iter()
                .filter(|(_, ask)| ask.kind == kind && !ask.relayed)
        };
        let changed = waiting()
            .filter(|(_, ask)| !ask.lenient)
            .min_by_key(|(_, ask)| ask.seq);
        if let Some((&channel, ask)) = changed {
            let (seq, received) = (ask.seq, difference(body, &ask.body));
            cx.flag(
                kind.request(),
                format!("the body of the client's {}", kind.name()),
                received,
            );
            self.asks.get_mut(&channel)?.relayed = true;
            return Some((channel, seq));
        }
        if kind != AskKind::Schema && waiting().next().is_none() {
            let received = format!("one of {} that no client asked", Length(body.len()));
            cx.flag(
                kind.request(),
                format!("only the {} that the client asks", kind.name()),
                received,
            );
        }
        None
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

    /// An answer that cannot be this ask's is one to a second request on its channel, where there was one.
    fn named(&self, channel: u32, ask: &Ask, rule: RequirementId) -> RequirementId {
        let again = self.again.iter().any(|it| it.channel == channel);
        if again && ask.waits() {
            id::CHANNEL_DUPLICATE_IGNORED
        } else {
            rule
        }
    }

    fn judge_answer(&self, ask: &Ask, payload: &Bytes) -> Option<(RequirementId, String, String)> {
        let kind = ask.kind;
        let got = format!("an answer of {}", Length(payload.len()));
        if ask.answered > 0 {
            if ask.more_answers {
                return None;
            }
            return Some((
                kind.answer(id::ENQUEUE_ANSWER),
                "one answer".to_owned(),
                "a second answer".to_owned(),
            ));
        }
        if ask.loose {
            let group = || {
                self.loose
                    .iter()
                    .filter(|it| it.kind == kind && it.body == ask.body)
            };
            if group().any(|it| it.answer.as_ref() == Some(payload)) {
                return None;
            }
            let rule = if group().next().is_some() {
                id::ENQUEUE_VERBATIM
            } else {
                id::ENQUEUE_LATE
            };
            return Some((
                kind.answer(rule),
                "an answer of the proxy's, unchanged".to_owned(),
                got,
            ));
        }
        if !ask.relayed {
            let allowed = format!("the {} carried on to the proxy first", kind.name());
            return Some((kind.request(), allowed, got));
        }
        let own = ask.answer.as_ref().map(|(_, answer)| answer);
        if own == Some(payload) {
            return None;
        }
        let mut others = self.asks.values();
        if others.any(|it| {
            it.kind == kind
                && it
                    .answer
                    .as_ref()
                    .is_some_and(|(_, answer)| answer == payload)
        }) {
            let received = "the answer to another ask".to_owned();
            return Some((
                kind.answer(id::ENQUEUE_MANY),
                "the answer to this ask".to_owned(),
                received,
            ));
        }
        match (own, ask.finished) {
            (Some(own), _) => {
                let allowed = "the proxy's answer byte for byte".to_owned();
                Some((
                    kind.answer(id::ENQUEUE_VERBATIM),
                    allowed,
                    difference(payload, own),
                ))
            }
            (None, true) => Some((
                kind.answer(id::ENQUEUE_UNSERVED),
                "the finish alone, as from the proxy".to_owned(),
                got,
            )),
            (None, false) => Some((
                kind.answer(id::ENQUEUE_LATE),
                "nothing before the proxy's answer".to_owned(),
                got,
            )),
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

    fn judge_bare(&mut self, channel: u32, ask: &Ask, cx: &mut Cx<'_>) {
        let kind = ask.kind;
        if ask.loose {
            let same = |it: &LooseAnswer| ask.is(it.kind, &it.body) && it.answer.is_none();
            match self.loose.iter().position(same) {
                Some(at) => drop(self.loose.remove(at)),
                None => cx.flag(
                    kind.answer(id::ENQUEUE_LATE),
                    "an answer of the proxy's",
                    "the finish alone",
                ),
            }
        } else if !ask.relayed {
            let allowed = format!("the {} carried on to the proxy", kind.name());
            cx.flag(
                self.named(channel, ask, kind.request()),
                allowed,
                "the channel's finish without that",
            );
        } else if let Some((seq, answer)) = &ask.answer {
            let allowed = format!(
                "the proxy's answer of {} (event {seq})",
                Length(answer.len())
            );
            cx.flag(kind.answer(id::ENQUEUE_ANSWER), allowed, "the finish alone");
        } else if !ask.finished {
            let rule = self.named(channel, ask, kind.answer(id::ENQUEUE_LATE));
            cx.flag(
                rule,
                "nothing before the proxy's answer",
                "the finish alone",
            );
        }
    }
}
