//! What the host takes back, and what it is told of it.

use bytes::Bytes;

use super::super::catalogue::RequirementId;
use super::super::violation::Cx;
use super::call::{self, Reply};
use super::queue::Queue;
use super::{Listening, id};
use crate::transcript::LinkId;
use crate::wire::agent_server::Outcome;
use crate::wire::channel::{DequeueAnswer, DequeueAsk};

#[derive(Debug)]
struct Dequeue {
    key: String,
    sent: u64,
    /// A loop was open for certain when it was sent.
    in_loop: bool,
    /// The messages that it may take back from the proxy.
    candidates: Vec<usize>,
    /// One of those could go nowhere.
    stuck: bool,
    call: Option<LinkId>,
    reply: Option<Reply>,
    answered: bool,
}

impl Dequeue {
    fn outcome(&self) -> Option<Outcome> {
        match &self.reply {
            Some(Reply::Success(body)) => Outcome::decode(body).ok(),
            _ => None,
        }
    }

    /// What the agent server's answer calls for, and what another answer breaks.
    fn expected(&self) -> (RequirementId, &'static str) {
        match (&self.reply, self.outcome()) {
            (Some(_), Some(Outcome::Dequeued)) => (id::WITHDRAWN, "withdrawn"),
            (Some(_), None) => (id::DEQUEUE_ERROR, "an error"),
            _ => (id::NOTHING_WAITED, "nothing waited"),
        }
    }
}

/// All dequeues, in the order in which they were sent.
#[derive(Debug, Default)]
pub(super) struct Dequeues {
    all: Vec<Dequeue>,
    /// One came that cannot be read.
    pub(super) unreadable: bool,
}

impl Dequeues {
    /// The host asks. Returns the dequeue's index.
    pub(super) fn push(
        &mut self,
        ask: DequeueAsk,
        in_loop: bool,
        queue: &mut Queue,
        seq: u64,
    ) -> usize {
        let candidates = queue.dequeue(&ask.key, seq);
        self.all.push(Dequeue {
            stuck: queue.is_stuck(&candidates),
            key: ask.key,
            sent: seq,
            in_loop,
            candidates,
            call: None,
            reply: None,
            answered: false,
        });
        self.all.len() - 1
    }

    /// The agent server is asked.
    pub(super) fn called(
        &mut self,
        link: LinkId,
        body: &[u8],
        queue: &Queue,
        inactive: Option<u64>,
        cx: &mut Cx<'_>,
    ) {
        let key = DequeueAsk::decode(body).ok().map(|ask| ask.key);
        let open = |it: &Dequeue| it.call.is_none() && !it.answered;
        let same = |it: &Dequeue| open(it) && Some(&it.key) == key.as_ref();
        let found = self.all.iter().position(same);
        if found.is_none() {
            let allowed = "the key of a dequeue that the host asked for";
            let id = if self.unreadable {
                id::UNREADABLE_DEQUEUE
            } else {
                id::DEQUEUE_ASKS
            };
            cx.flag(id, allowed, "something else");
        }
        let found = found.or_else(|| self.all.iter().position(open));
        if let Some(dequeue) = found.and_then(|at| self.all.get_mut(at)) {
            dequeue.call = Some(link);
            if queue.is_idle(dequeue.sent, inactive) {
                let allowed = "no call while nothing runs";
                cx.flag(id::IDLE_ASKS_NOBODY, allowed, "a dequeue");
            }
        }
    }

    /// The agent server answers.
    pub(super) fn replied(&mut self, link: LinkId, reply: &Reply) {
        if let Some(dequeue) = self.all.iter_mut().find(|it| it.call == Some(link)) {
            dequeue.reply = Some(reply.clone());
        }
    }

    /// What the agent server's answer calls for, and what another answer breaks.
    pub(super) fn expected(&self, index: usize) -> (RequirementId, &'static str) {
        let dequeue = self.all.get(index);
        dequeue.map_or((id::NOTHING_WAITED, "an answer"), Dequeue::expected)
    }

    /// The host is told. `in_loop` is whether a loop is open for certain.
    pub(super) fn answered(
        &mut self,
        index: usize,
        payload: &Bytes,
        queue: &mut Queue,
        (listening, in_loop): (&Listening, bool),
        cx: &mut Cx<'_>,
    ) {
        let twins = |it: &&Dequeue| !it.answered;
        let open = self.all.iter().filter(twins).count();
        let Some(dequeue) = self.all.get_mut(index) else {
            return;
        };
        dequeue.answered = true;
        let answer = DequeueAnswer::decode(cx.profile, payload).ok();
        let failed = listening.failed_after(dequeue.sent);
        let none = dequeue.candidates.is_empty();
        let outcome = dequeue.outcome();
        let (mut id, mut allowed) = dequeue.expected();
        let stuck = dequeue.stuck && open == 1 && !queue.moved_since(dequeue.sent);
        if stuck && id == id::NOTHING_WAITED {
            (id, allowed) = (id::WAITING, "withdrawn");
        }
        let good = match (answer, outcome) {
            (Some(DequeueAnswer::Withdrawn), Some(Outcome::Dequeued)) => true,
            (Some(DequeueAnswer::Withdrawn), _) => !none,
            (Some(DequeueAnswer::NothingWaited), _) => id == id::NOTHING_WAITED,
            (Some(DequeueAnswer::Error(error)), _) => {
                let words = dequeue.reply.as_ref().and_then(Reply::words);
                call::says(error, words).is_ok() && (failed || id == id::DEQUEUE_ERROR)
            }
            (None, _) => false,
        };
        let unasked = match dequeue.call {
            None => dequeue.in_loop && in_loop && !failed,
            Some(_) => dequeue.reply.is_none() && none,
        };
        if unasked {
            let allowed = "to ask the agent server first";
            cx.flag(id::DEQUEUE_ASKS, allowed, "an answer");
        } else if !good {
            let received = match answer {
                None => "what is no answer",
                Some(DequeueAnswer::Withdrawn) => "withdrawn",
                Some(DequeueAnswer::NothingWaited) => "nothing waited",
                Some(DequeueAnswer::Error(_)) => "an error",
            };
            cx.flag(id, allowed, received);
        }
        queue.withdrawn(&dequeue.key, dequeue.sent, cx.seq);
    }
}
