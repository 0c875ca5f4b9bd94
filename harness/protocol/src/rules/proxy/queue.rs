//! The messages that the host enqueues: where they wait, in which calls they are, and what becomes of them.

use std::collections::HashMap;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::catalogue::RequirementId;
use super::super::json;
use super::super::violation::Cx;
use super::call::{self, Reply};
use super::{Listening, id};
use crate::transcript::LinkId;
use crate::wire::agent_server::Fate;
use crate::wire::channel::{EnqueueAnswer, EnqueueAsk};

/// A message as any reader must find it, whatever its content says.
#[derive(Debug, Deserialize)]
pub(super) struct Words {
    key: String,
    content: Box<RawValue>,
}

impl Words {
    /// Reads a message.
    pub(super) fn read(body: &[u8]) -> Option<Self> {
        let object = body.trim_ascii_start().starts_with(b"{");
        let words: Self = serde_json::from_slice(body).ok().filter(|_| object)?;
        words.content.get().starts_with('[').then_some(words)
    }

    fn same(&self, message: &Message) -> bool {
        self.key == message.words.key
            && json::same_value(self.content.get(), message.words.content.get())
    }
}

#[derive(Debug, Deserialize)]
struct Run {
    messages: Vec<Box<RawValue>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    InRun,
    Offered,
    /// Its channel has been answered or finished while it waited, or nothing is said of it.
    Gone,
}

/// What the agent server's answer makes of a message, and the requirement that says so.
#[derive(Debug, Clone)]
enum Due {
    Open,
    Delivered(RequirementId),
    Dequeued,
    Error(RequirementId, Option<String>),
}

#[derive(Debug)]
struct Message {
    words: Words,
    sent: u64,
    state: State,
    due: Due,
    /// When its fate became known.
    due_since: u64,
    /// When a dequeue of its key was first sent behind it.
    dequeued: Option<u64>,
    /// When such a dequeue was first answered.
    withdrawn: Option<u64>,
    /// Why it waits again after it was offered.
    missed: Option<RequirementId>,
    /// A run that was made while its answer was under way may leave it out.
    may_skip: bool,
    /// When the proxy was first known to have it.
    known: Option<u64>,
    /// Nobody owes it a service.
    uncertain: bool,
    /// Its channel's number was taken, so it is none.
    ignored: bool,
    /// It was answered as dequeued.
    gave_back: bool,
}

impl Message {
    /// What it breaks to put it to the agent server again.
    fn spent(&self, offering: bool) -> RequirementId {
        match (&self.due, self.state) {
            _ if self.ignored => id::CHANNEL_DUPLICATE,
            (Due::Error(id::REFUSED, _), _) => id::REFUSED_FOR_GOOD,
            (Due::Error(..), _) => id::NOT_RETRIED,
            _ if self.gave_back && self.missed.is_some() => id::IN_FLIGHT,
            (Due::Open, State::Gone) if self.gave_back => id::WAITING,
            (_, State::InRun) if offering => id::NOT_OFFERED_TOO,
            _ => id::ONCE,
        }
    }

    /// Whether leaving it out while later ones are taken says nothing.
    fn excused(&self) -> bool {
        self.uncertain || self.dequeued.is_some()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Phase {
    /// No run has been asked for.
    #[default]
    Never,
    Starting,
    Streaming,
    /// The newest run was refused.
    Refused,
    Ended,
}

/// All messages, in the order in which they were sent.
#[derive(Debug, Default)]
pub(super) struct Queue {
    messages: Vec<Message>,
    runs: HashMap<LinkId, Vec<usize>>,
    offers: HashMap<LinkId, usize>,
    phase: Phase,
    /// The run that the phase is about, and when it was asked for.
    newest: Option<(LinkId, u64)>,
    /// The loop has missed a message.
    halted: bool,
    /// When the newest loop ended, or did not start.
    last_end: u64,
    /// When the agent server last did what lets the proxy offer a message.
    last_turn: u64,
    /// A message came that cannot be read.
    pub(super) unreadable: bool,
}

impl Queue {
    /// The host enqueues a message. Returns its index.
    pub(super) fn push(&mut self, words: Words, body: &[u8], uncertain: bool, seq: u64) -> usize {
        self.messages.push(Message {
            words,
            sent: seq,
            state: State::Waiting,
            due: Due::Open,
            due_since: 0,
            dequeued: None,
            withdrawn: None,
            missed: None,
            may_skip: false,
            known: None,
            uncertain: uncertain || EnqueueAsk::decode(body).is_err(),
            ignored: false,
            gave_back: false,
        });
        self.messages.len() - 1
    }

    /// A message whose channel's number was taken.
    pub(super) fn ignore(&mut self, index: usize) {
        if let Some(message) = self.messages.get_mut(index) {
            message.ignored = true;
            message.state = State::Gone;
        }
    }

    /// The number that a message came under may have been free after all.
    pub(super) fn doubt(&mut self, index: usize) {
        if let Some(message) = self.messages.get_mut(index) {
            message.ignored = false;
            message.uncertain = true;
            message.state = State::Waiting;
        }
    }

    /// Whether the agent server has said what becomes of a message.
    pub(super) fn is_due(&self, index: usize) -> bool {
        let message = self.messages.get(index);
        message.is_some_and(|it| !matches!(it.due, Due::Open))
    }

    fn waiting(&self) -> impl Iterator<Item = (usize, &Message)> {
        let all = self.messages.iter().enumerate();
        all.filter(|(_, it)| it.state == State::Waiting)
    }

    /// Finds the message that words are, and takes it. A message that does not wait, or is another one, is told.
    fn take(
        &mut self,
        words: &Words,
        behind: Option<usize>,
        offering: bool,
        cx: &mut Cx<'_>,
    ) -> Option<usize> {
        let later = |index: usize| behind.is_none_or(|behind| index > behind);
        let exact: Vec<_> = self
            .waiting()
            .filter(|(_, it)| words.same(it))
            .map(|(index, _)| index)
            .collect();
        let found = exact.iter().copied().find(|index| later(*index));
        let (changed, offered) = if offering {
            (id::OFFERED, "a message as it was enqueued")
        } else {
            (id::RUN_MESSAGE, "messages as they were enqueued")
        };
        let index = match found.or(exact.first().copied()) {
            Some(index) => index,
            None => {
                if let Some(spent) = self.messages.iter().rfind(|it| words.same(it)) {
                    let allowed = "messages that wait";
                    cx.flag(spent.spent(offering), allowed, "one that does not");
                    return None;
                }
                let similar = self.waiting().find(|(index, it)| {
                    later(*index)
                        && (it.words.key == words.key
                            || json::same_value(it.words.content.get(), words.content.get()))
                });
                match similar {
                    Some((index, _)) => {
                        cx.flag(changed, offered, "another key or another content");
                        index
                    }
                    None => {
                        let id = if self.unreadable {
                            id::UNREADABLE_NO_CALL
                        } else {
                            changed
                        };
                        cx.flag(id, offered, "a message that nobody enqueued");
                        return None;
                    }
                }
            }
        };
        self.know(index, cx.seq);
        Some(index)
    }

    /// The proxy has this message, and so all before it.
    fn know(&mut self, index: usize, seq: u64) {
        for message in self.messages.iter_mut().take(index + 1) {
            message.known.get_or_insert(seq);
        }
    }

    /// The agent server is asked to run a loop.
    pub(super) fn run(&mut self, link: LinkId, body: &[u8], cx: &mut Cx<'_>) {
        let beside = matches!(self.phase, Phase::Starting | Phase::Streaming);
        if beside {
            let allowed = "no run beside another";
            cx.flag(id::ONE_AT_A_TIME, allowed, "a second run");
        }
        let object = body.trim_ascii_start().starts_with(b"{");
        let run = serde_json::from_slice::<Run>(body).ok().filter(|_| object);
        let words: Option<Vec<_>> = run.and_then(|run| {
            let messages = run.messages.iter();
            messages
                .map(|it| Words::read(it.get().as_bytes()))
                .collect()
        });
        let mut members = Vec::new();
        match words {
            Some(words) if !words.is_empty() => {
                let mut behind = None;
                let mut ordered = true;
                for words in &words {
                    let Some(index) = self.take(words, behind, false, cx) else {
                        continue;
                    };
                    ordered &= behind.is_none_or(|behind| index > behind);
                    behind = behind.max(Some(index));
                    if let Some(message) = self.messages.get_mut(index) {
                        message.state = State::InRun;
                    }
                    members.push(index);
                }
                self.judge_members(&members, ordered, cx);
            }
            words => {
                let id = match words {
                    None if self.unreadable => id::UNREADABLE_NO_CALL,
                    _ => id::RUN_MESSAGE,
                };
                let allowed = "an object with the messages that wait";
                cx.flag(id, allowed, "something else");
            }
        }
        self.runs.insert(link, members);
        if !beside {
            self.phase = Phase::Starting;
            self.newest = Some((link, cx.seq));
            self.halted = false;
        }
    }

    /// Judges which messages are in a run, beside what each of them is.
    fn judge_members(&mut self, members: &[usize], ordered: bool, cx: &mut Cx<'_>) {
        let last_end = self.last_end;
        let in_time = |seq: Option<u64>| seq.is_some_and(|seq| seq < last_end);
        for message in members.iter().filter_map(|index| self.messages.get(*index)) {
            if in_time(message.withdrawn) {
                let id = match message.missed {
                    Some(_) => id::IN_FLIGHT,
                    None => id::WAITING,
                };
                cx.flag(id, "no message that was dequeued", "one of them");
            }
        }
        let missed = |index: &&usize| {
            let message = self.messages.get(**index);
            message.is_some_and(|it| it.missed.is_some())
        };
        if !ordered {
            let id = match members.iter().find(missed) {
                Some(_) => id::MISSED_FIRST,
                None => id::ORDER,
            };
            let allowed = "the order in which they were enqueued";
            cx.flag(id, allowed, "another order");
        }
        let last = members.iter().max().copied();
        let mut fault = None;
        for (index, message) in self.messages.iter_mut().enumerate() {
            if message.state != State::Waiting || message.excused() {
                continue;
            }
            let skipped = last.is_some_and(|last| index < last);
            let id = match message.missed {
                _ if std::mem::take(&mut message.may_skip) => continue,
                Some(_) if skipped => id::MISSED_FIRST,
                None if skipped && !in_time(message.known) => id::ORDER,
                _ if in_time(message.known) => id::ONE_RUN,
                _ => continue,
            };
            fault.get_or_insert(id);
        }
        if let Some(id) = fault.filter(|_| !members.is_empty()) {
            let allowed = "every message that waits";
            cx.flag(id, allowed, "a run without one of them");
        }
    }

    /// The agent server is offered a message. `inactive` is when the host was last told that a loop ended.
    pub(super) fn offer(
        &mut self,
        link: LinkId,
        body: &[u8],
        inactive: Option<u64>,
        cx: &mut Cx<'_>,
    ) {
        let Some(words) = Words::read(body) else {
            let id = if self.unreadable {
                id::UNREADABLE_NO_CALL
            } else {
                id::OFFERED
            };
            cx.flag(id, "a message", "something else");
            return;
        };
        let busy = self.offers.values().any(|index| {
            self.messages
                .get(*index)
                .is_some_and(|it| it.state == State::Offered)
        });
        if busy {
            let allowed = "no offer while another is unanswered";
            cx.flag(id::ONE_DELIVERY, allowed, "a second offer");
        }
        let Some(index) = self.take(&words, None, true, cx) else {
            return;
        };
        let over = |message: &Message| {
            let newest = self.newest.map(|(_, seq)| seq);
            self.phase == Phase::Ended
                && inactive.is_some_and(|it| it < message.sent && newest < Some(it))
        };
        let nothing_runs = match self.phase {
            Phase::Never | Phase::Refused => true,
            _ => self.messages.get(index).is_some_and(over),
        };
        if nothing_runs {
            cx.flag(id::RUN_MESSAGE, "a run, since nothing runs", "an offer");
        } else if self.phase == Phase::Starting {
            let allowed = "no offer before the run has started";
            cx.flag(id::WAITS_FOR_START, allowed, "an offer");
        } else if self.halted {
            let allowed = "no offer to a loop that missed a message";
            cx.flag(id::HALTED, allowed, "an offer");
        } else if self
            .waiting()
            .any(|(it, message)| it < index && !message.excused())
        {
            let allowed = "the message that has waited longest";
            cx.flag(id::ORDER, allowed, "a later one");
        }
        let last_turn = self.last_turn;
        if let Some(message) = self.messages.get_mut(index) {
            if message.withdrawn.is_some_and(|seq| seq < last_turn) {
                let allowed = "no message that was dequeued";
                cx.flag(id::WAITING, allowed, "one of them");
            }
            message.state = State::Offered;
            self.offers.insert(link, index);
        }
    }

    /// A run is answered.
    pub(super) fn run_answered(&mut self, link: LinkId, reply: &Reply, seq: u64) {
        let due = match reply {
            Reply::Success(_) => Due::Delivered(id::DELIVERED_AT_START),
            Reply::Refusal { .. } => match reply.words() {
                Some(words) => Due::Error(id::RUN_REFUSED, Some(words.to_owned())),
                None => Due::Error(id::RUN_REFUSED_NO_JSON, None),
            },
            Reply::Lost => Due::Error(id::RUN_UNREACHABLE, None),
        };
        for index in self.runs.get(&link).into_iter().flatten() {
            if let Some(message) = self.messages.get_mut(*index) {
                (message.due, message.due_since) = (due.clone(), seq);
            }
        }
        if self.newest.is_some_and(|(newest, _)| newest == link) {
            self.last_turn = seq;
            self.phase = match reply {
                Reply::Success(_) => Phase::Streaming,
                _ => Phase::Refused,
            };
            if self.phase == Phase::Refused {
                self.last_end = seq;
            }
        }
    }

    /// A loop is over.
    pub(super) fn ended(&mut self, link: LinkId, seq: u64) {
        if self.newest.is_some_and(|(newest, _)| newest == link) {
            self.phase = Phase::Ended;
            self.last_end = seq;
        }
    }

    /// An offer is answered.
    pub(super) fn offer_answered(&mut self, link: LinkId, reply: &Reply, seq: u64) {
        let Some(message) = self
            .offers
            .get(&link)
            .and_then(|index| self.messages.get_mut(*index))
        else {
            return;
        };
        self.last_turn = seq;
        let missed = match reply {
            Reply::Success(body) => match Fate::decode(body) {
                Ok(Fate::Delivered) => {
                    message.due = Due::Delivered(id::DELIVERED);
                    None
                }
                Ok(Fate::Dequeued) => {
                    message.due = Due::Dequeued;
                    None
                }
                Ok(Fate::Missed) => Some(id::MISSED),
                Err(_) => Some(id::UNREADABLE_FATE),
            },
            Reply::Refusal {
                status: 400..=499, ..
            } => {
                let words = reply.words().map(str::to_owned);
                message.due = Due::Error(id::REFUSED, words);
                None
            }
            Reply::Refusal { .. } => Some(id::FAILED),
            Reply::Lost => Some(id::UNREADABLE_FATE),
        };
        message.due_since = seq;
        if missed.is_some() {
            message.missed = missed;
            message.may_skip = true;
            message.state = State::Waiting;
            self.halted = self.phase == Phase::Streaming;
        } else {
            message.state = State::Gone;
        }
    }

    /// The host takes back what waits under a key. Returns the messages that may.
    pub(super) fn dequeue(&mut self, key: &str, seq: u64) -> Vec<usize> {
        let mut candidates = Vec::new();
        for (index, message) in self.messages.iter_mut().enumerate() {
            let settled = message.state == State::Gone || !matches!(message.due, Due::Open);
            if message.words.key == key && !settled {
                message.dequeued.get_or_insert(seq);
                candidates.push(index);
            }
        }
        candidates
    }

    /// Whether one of these waits and cannot be taken, until the agent server does something.
    pub(super) fn is_stuck(&self, candidates: &[usize]) -> bool {
        let busy = self.messages.iter().any(|it| it.state == State::Offered);
        let stuck = match self.phase {
            Phase::Starting => true,
            Phase::Streaming => busy || self.halted,
            Phase::Never | Phase::Refused | Phase::Ended => false,
        };
        let waits = |index: &usize| {
            let message = self.messages.get(*index);
            message.is_some_and(|it| it.state == State::Waiting && !it.uncertain)
        };
        stuck && candidates.iter().any(waits)
    }

    /// Whether the agent server has done something since, that lets the proxy take messages.
    pub(super) fn moved_since(&self, seq: u64) -> bool {
        self.last_end.max(self.last_turn) > seq
    }

    /// A dequeue that was sent at `sent` has been answered.
    pub(super) fn withdrawn(&mut self, key: &str, sent: u64, seq: u64) {
        for message in self.messages.iter_mut().filter(|it| it.sent < sent) {
            message.known.get_or_insert(seq);
            if message.words.key == key && matches!(message.due, Due::Open) {
                message.withdrawn.get_or_insert(seq);
            }
        }
    }

    /// Whether nothing runs, for all that the host knew when it sent something.
    pub(super) fn is_idle(&self, sent: u64, inactive: Option<u64>) -> bool {
        let newest = self.newest.map(|(_, seq)| seq);
        newest.is_none() || inactive.is_some_and(|it| it < sent && newest < Some(it))
    }

    /// A message's channel is finished without an answer. Tells whether nobody owed it one.
    pub(super) fn unserved(&mut self, index: usize) -> bool {
        let Some(message) = self.messages.get_mut(index) else {
            return true;
        };
        message.state = State::Gone;
        message.uncertain
    }

    /// A message's channel is answered.
    pub(super) fn answered(
        &mut self,
        index: usize,
        payload: &Bytes,
        listening: &Listening,
        cx: &mut Cx<'_>,
    ) {
        self.know(index, cx.seq);
        let others = self.messages.iter().any(|it| it.dequeued.is_some());
        let Some(message) = self.messages.get_mut(index) else {
            return;
        };
        let answer = EnqueueAnswer::decode(cx.profile, payload).ok();
        let dequeued = matches!(answer, Some(EnqueueAnswer::Dequeued));
        let before = |since: u64| message.dequeued.is_some_and(|seq| seq < since);
        let (id, allowed, good) = match (&message.due, message.state) {
            (Due::Open, State::Waiting | State::Gone) => {
                let failed = listening.failed_after(message.sent);
                let good = match answer {
                    Some(EnqueueAnswer::Dequeued) => message.dequeued.is_some(),
                    Some(EnqueueAnswer::Error(_)) => failed,
                    _ => false,
                };
                let id = match message.missed {
                    Some(missed) => missed,
                    None if dequeued && others => id::OTHERS_STAY,
                    None if failed => id::RUN_UNREACHABLE,
                    None => id::WHEN_KNOWN,
                };
                (id, "no answer yet", good)
            }
            // Whether a dequeue reaches what a run starts on is not said.
            (Due::Open, state) => {
                let good = dequeued && state == State::InRun && message.dequeued.is_some();
                (id::WHEN_KNOWN, "no answer yet", good)
            }
            (Due::Delivered(id), state) => {
                let good = match answer {
                    Some(EnqueueAnswer::Delivered) => true,
                    Some(EnqueueAnswer::Dequeued) => {
                        state == State::InRun && before(message.due_since)
                    }
                    _ => false,
                };
                (*id, "delivered", good)
            }
            (Due::Dequeued, _) => (id::DEQUEUED, "dequeued", dequeued),
            (Due::Error(id, words), _) => {
                let good = match answer {
                    Some(EnqueueAnswer::Error(error)) => {
                        call::says(error, words.as_deref()).is_ok()
                    }
                    _ => false,
                };
                (*id, "the error that the agent server said", good)
            }
        };
        message.gave_back = dequeued;
        if message.state == State::Waiting {
            message.state = State::Gone;
        }
        if !good {
            let received = match answer {
                None => "what is no answer",
                Some(EnqueueAnswer::Delivered) => "delivered",
                Some(EnqueueAnswer::Dequeued) => "dequeued",
                Some(EnqueueAnswer::Error(_)) => "an error",
            };
            cx.flag(id, allowed, received);
        }
    }
}
