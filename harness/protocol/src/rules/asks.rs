//! Enqueue, dequeue and schema: the client's asks on their way to the proxy, and its answers on their way back.

use std::collections::{HashMap, VecDeque};

use bytes::Bytes;

use super::catalogue::RequirementId;
use super::violation::{Cx, Length, difference};
use super::{Outstanding, OutstandingKind, id};
use crate::wire::profile::{BeginChannel, ClientChannel};

/// How many ended asks are remembered, to know one that is carried on twice.
const ENDED: usize = 32;
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
    /// Whether it reads at all is open, so any answer will do.
    lenient: bool,
    /// It is not certain that the server heard it as an ask of its own.
    doubtful: bool,
    /// It cannot be told from another one.
    loose: bool,
    relayed: bool,
    answer: Option<(u64, Bytes)>,
    more_answers: bool,
    finished: Option<u64>,
    /// How many answers the client has got.
    answered: u32,
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
    asks: HashMap<u32, VecDeque<Ask>>,
    carried: HashMap<u32, Carried>,
    loose: VecDeque<LooseAnswer>,
    ended: VecDeque<(AskKind, Bytes)>,
    /// The bodies of asks that the server must have ignored.
    ignored: VecDeque<(AskKind, Bytes)>,
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
    /// The client asks something on a channel that is free, or may be.
    pub(super) fn asked(&mut self, channel: u32, ask: NewAsk, doubtful: bool) {
        let NewAsk { kind, body, seq, early, lenient } = ask;
        self.asks.entry(channel).or_default().push_back(Ask {
            kind,
            body,
            seq,
            early,
            lenient,
            doubtful,
            loose: false,
            relayed: false,
            answer: None,
            more_answers: false,
            finished: None,
            answered: 0,
        });
    }

    /// The client asks again on a channel that is certainly still open.
    pub(super) fn ignored(&mut self, kind: AskKind, body: Bytes) {
        if self.ignored.len() == ENDED {
            self.ignored.pop_front();
        }
        self.ignored.push_back((kind, body));
    }

    /// Whether the ask on a channel is still without any word of the proxy's, so that it cannot have been finished.
    pub(super) fn waits_for_proxy(&self, channel: u32) -> bool {
        let ask = self.asks.get(&channel).and_then(VecDeque::front);
        ask.is_some_and(|ask| !ask.lenient && !ask.loose && ask.answer.is_none() && ask.finished.is_none())
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(super) fn outstanding(&self, into: &mut Vec<Outstanding>) {
        let kind = OutstandingKind::Answer;
        let first = self.asks.values().filter_map(VecDeque::front);
        let due = first.filter(|ask| !ask.lenient && !ask.loose && ask.answered == 0);
        into.extend(due.filter_map(|ask| ask.answer.as_ref()).map(|(seq, _)| Outstanding { kind, seq: *seq }));
        let loose = self.loose.iter().filter(|it| it.answer.is_some());
        into.extend(loose.map(|it| Outstanding { kind, seq: it.seq }));
    }

    /// The provider opened a channel on the begin scope.
    pub(super) fn carried_on(&mut self, channel: u32, opened: BeginChannel, body: Bytes, begun: bool, cx: &mut Cx<'_>) {
        let Some(kind) = AskKind::of_begin(opened) else {
            return;
        };
        let ask = self.match_ask(kind, &body, begun, cx);
        self.carried.insert(channel, Carried { kind, body, ask, answered: false });
    }

    fn match_ask(&mut self, kind: AskKind, body: &Bytes, begun: bool, cx: &mut Cx<'_>) -> Option<(u32, u64)> {
        let all = || self.asks.iter().flat_map(|(channel, asks)| asks.iter().map(|ask| (*channel, ask)));
        let waiting = || all().filter(|(_, ask)| ask.kind == kind && !ask.relayed);
        let equal = || waiting().filter(|(_, ask)| ask.body == *body);
        if let Some((channel, ask)) = equal().min_by_key(|(_, ask)| ask.seq) {
            let (seq, early) = (ask.seq, ask.early);
            let several = equal().nth(1).is_some() || ask.loose;
            let before = |(_, it): &(u32, &Ask)| it.early && !it.relayed && !it.lenient && !it.doubtful && it.seq < seq;
            if early && !several && all().any(|it| before(&it)) {
                let received = "one that it opened later";
                cx.flag(id::EARLY_IN_ORDER, "first the channel that the client opened first", received);
            }
            if early && !begun {
                let received = format!("the {} carried on", kind.name());
                cx.flag(id::EARLY_KEPT, "nothing of the client's channels before begun", received);
            }
            if several {
                let group = self.asks.values_mut().flatten().filter(|it| it.kind == kind && it.body == *body);
                group.filter(|it| !it.relayed || it.loose).for_each(|it| it.loose = true);
            }
            let ask = self.find(channel, seq)?;
            ask.relayed = true;
            return (!ask.loose).then_some((channel, seq));
        }
        if self.ignored.iter().any(|it| it.0 == kind && it.1 == *body) {
            let received = format!("the second {} carried on", kind.name());
            cx.flag(id::CHANNEL_DUPLICATE_IGNORED, "nothing for a request on an open channel", received);
            return None;
        }
        let twice = all().any(|(_, ask)| ask.kind == kind && ask.body == *body)
            || self.ended.iter().any(|it| it.0 == kind && it.1 == *body);
        if twice {
            if kind != AskKind::Schema {
                cx.flag(kind.request(), format!("each {} once", kind.name()), "one that was carried on before");
            }
            return None;
        }
        let changed = waiting().filter(|(_, ask)| !ask.lenient).min_by_key(|(_, ask)| ask.seq);
        if let Some((channel, ask)) = changed {
            let seq = ask.seq;
            let received = difference(body, &ask.body);
            cx.flag(kind.request(), format!("the body of the client's {}", kind.name()), received);
            let ask = self.find(channel, seq)?;
            ask.relayed = true;
            return Some((channel, seq));
        }
        if kind != AskKind::Schema && !waiting().any(|(_, ask)| ask.lenient) {
            let received = format!("one of {} that no client asked", Length(body.len()));
            cx.flag(kind.request(), format!("only the {} that the client asks", kind.name()), received);
        }
        None
    }

    fn find(&mut self, channel: u32, seq: u64) -> Option<&mut Ask> {
        self.asks.get_mut(&channel)?.iter_mut().find(|ask| ask.seq == seq)
    }

    /// The proxy answered on a channel that the provider opened.
    pub(super) fn proxy_answers(&mut self, channel: u32, payload: &Bytes, seq: u64) {
        let Some(carried) = self.carried.get_mut(&channel) else {
            return;
        };
        let again = std::mem::replace(&mut carried.answered, true);
        if let Some((channel, ask)) = carried.ask {
            if let Some(ask) = self.find(channel, ask) {
                if again {
                    ask.more_answers = true;
                } else {
                    ask.answer = Some((seq, payload.clone()));
                }
            }
        } else if !again {
            let (kind, body) = (carried.kind, carried.body.clone());
            self.keep_loose(LooseAnswer { kind, body, seq, answer: Some(payload.clone()) });
        }
    }

    /// The proxy finished a channel that the provider opened.
    pub(super) fn proxy_finishes(&mut self, channel: u32, seq: u64) {
        let Some(carried) = self.carried.remove(&channel) else {
            return;
        };
        if let Some((channel, ask)) = carried.ask {
            if let Some(ask) = self.find(channel, ask) {
                ask.finished = Some(seq);
            }
        } else if !carried.answered {
            self.keep_loose(LooseAnswer { kind: carried.kind, body: carried.body, seq, answer: None });
        }
    }

    /// Keeps an answer that belongs to one of several asks, if there still are any.
    fn keep_loose(&mut self, answer: LooseAnswer) {
        let mut asks = self.asks.values().flatten();
        let wanted = asks.any(|ask| ask.loose && ask.kind == answer.kind && ask.body == answer.body);
        if wanted && self.loose.len() < LOOSE {
            self.loose.push_back(answer);
        }
    }

    /// The client got an answer on one of its channels.
    pub(super) fn answered(&mut self, channel: u32, payload: &Bytes, excuse: Excuse, cx: &mut Cx<'_>) {
        let Some(at) = self.asks.get(&channel).and_then(VecDeque::front) else {
            return;
        };
        let kind = at.kind;
        let verdict = if at.lenient || excuse.0 { None } else { self.judge_answer(at, payload) };
        let loose = at.loose.then(|| at.body.clone());
        if let Some((rule, allowed, received)) = verdict {
            cx.flag(rule, allowed, received);
        }
        if let Some(body) = loose {
            let same = |it: &LooseAnswer| it.kind == kind && it.body == body && it.answer.as_ref() == Some(payload);
            if let Some(at) = self.loose.iter().position(same) {
                self.loose.remove(at);
            }
        }
        if let Some(ask) = self.asks.get_mut(&channel).and_then(VecDeque::front_mut) {
            ask.answered = ask.answered.saturating_add(1);
        }
    }

    fn judge_answer(&self, ask: &Ask, payload: &Bytes) -> Option<(RequirementId, String, String)> {
        let kind = ask.kind;
        let got = format!("an answer of {}", Length(payload.len()));
        if ask.answered > 0 {
            if ask.more_answers {
                return None;
            }
            return Some((kind.answer(id::ENQUEUE_ANSWER), "one answer".to_owned(), "a second answer".to_owned()));
        }
        if ask.loose {
            let group = || self.loose.iter().filter(|it| it.kind == kind && it.body == ask.body);
            if group().any(|it| it.answer.as_ref() == Some(payload)) {
                return None;
            }
            let rule = if group().next().is_some() { id::ENQUEUE_VERBATIM } else { id::ENQUEUE_LATE };
            return Some((kind.answer(rule), "an answer of the proxy's, unchanged".to_owned(), got));
        }
        if !ask.relayed {
            let allowed = format!("the {} carried on to the proxy first", kind.name());
            return Some((kind.request(), allowed, got));
        }
        let own = ask.answer.as_ref().map(|(_, answer)| answer);
        if own == Some(payload) {
            return None;
        }
        let mut others = self.asks.values().flatten();
        if others.any(|it| it.kind == kind && it.answer.as_ref().is_some_and(|(_, answer)| answer == payload)) {
            let received = "the answer to another ask".to_owned();
            return Some((kind.answer(id::ENQUEUE_MANY), "the answer to this ask".to_owned(), received));
        }
        match (own, ask.finished) {
            (Some(own), _) => {
                let allowed = "the proxy's answer byte for byte".to_owned();
                Some((kind.answer(id::ENQUEUE_VERBATIM), allowed, difference(payload, own)))
            }
            (None, Some(_)) => {
                Some((kind.answer(id::ENQUEUE_UNSERVED), "the finish alone, as from the proxy".to_owned(), got))
            }
            (None, None) => Some((kind.answer(id::ENQUEUE_LATE), "nothing before the proxy's answer".to_owned(), got)),
        }
    }

    /// The client got the finish of one of its channels. Tells whether another ask may follow on the number.
    pub(super) fn channel_finished(&mut self, channel: u32, excuse: Excuse, cx: &mut Cx<'_>) -> bool {
        let Some(asks) = self.asks.get_mut(&channel) else {
            return false;
        };
        let Some(ask) = asks.pop_front() else {
            return false;
        };
        let more = !asks.is_empty();
        if !more {
            self.asks.remove(&channel);
        }
        if let Some(next) = self.asks.get_mut(&channel).and_then(VecDeque::front_mut) {
            next.doubtful = true;
        }
        if !ask.lenient && !excuse.0 && ask.answered == 0 {
            self.judge_bare(&ask, cx);
        }
        if self.ended.len() == ENDED {
            self.ended.pop_front();
        }
        self.ended.push_back((ask.kind, ask.body));
        more
    }

    fn judge_bare(&mut self, ask: &Ask, cx: &mut Cx<'_>) {
        let kind = ask.kind;
        if ask.loose {
            let same = |it: &LooseAnswer| it.kind == kind && it.body == ask.body && it.answer.is_none();
            match self.loose.iter().position(same) {
                Some(at) => drop(self.loose.remove(at)),
                None => cx.flag(kind.answer(id::ENQUEUE_LATE), "an answer of the proxy's", "the finish alone"),
            }
        } else if !ask.relayed {
            let allowed = format!("the {} carried on to the proxy", kind.name());
            cx.flag(kind.request(), allowed, "the channel's finish without that");
        } else if let Some((seq, answer)) = &ask.answer {
            let allowed = format!("the proxy's answer of {} (event {seq})", Length(answer.len()));
            cx.flag(kind.answer(id::ENQUEUE_ANSWER), allowed, "the finish alone");
        } else if ask.finished.is_none() {
            let allowed = "nothing before the proxy's answer";
            cx.flag(kind.answer(id::ENQUEUE_LATE), allowed, "the finish alone");
        }
    }
}
