//! The channels that the host opens on a begin scope.

use std::cmp::Ordering;
use std::collections::HashMap;

use bytes::Bytes;

use super::super::catalogue::RequirementId;
use super::super::violation::Cx;
use super::call::{self, Reply};
use super::dequeues::Dequeues;
use super::queue::{Queue, Words};
use super::{Listening, id};
use crate::transcript::{AgentCall, LinkId};
use crate::wire::Frame;
use crate::wire::channel::{DequeueAsk, SchemaAnswer};
use crate::wire::profile::BeginChannel;

#[derive(Debug, Clone, Copy)]
enum Kind {
    Enqueue(usize),
    Dequeue(usize),
    Schema,
    /// Nobody can read it, as the requirement says.
    Unreadable(RequirementId),
    /// It is not judged.
    Other,
}

#[derive(Debug)]
struct Channel {
    kind: Kind,
    sent: u64,
    /// It was opened before begun, so nobody owes it a service.
    early: bool,
    /// It was opened behind an authorization.
    late: bool,
    answered: bool,
    finished: bool,
    /// When a request under its number last came while it was open, and the message that it carried.
    again: Option<u64>,
    ignored: Vec<usize>,
    /// The proxy is known to have passed over that request.
    certain: bool,
    /// When the host last sent an answer or a finish under its number.
    touched: Option<u64>,
}

impl Channel {
    /// What an answer or a finish too many breaks.
    fn surplus(&self) -> Option<RequirementId> {
        match self.kind {
            Kind::Enqueue(_) => Some(id::ONE_ANSWER),
            Kind::Dequeue(_) => Some(id::NOTHING_WAITED),
            Kind::Schema => Some(id::SCHEMA_RELAYED),
            Kind::Unreadable(id) => Some(id),
            Kind::Other => None,
        }
    }
}

/// All channels, and what is asked on them.
#[derive(Debug, Default)]
pub(super) struct Channels {
    channels: HashMap<(u32, u32), Channel>,
    queue: Queue,
    dequeues: Dequeues,
    /// Calls for the schema that are not answered, and answers that no channel has been given.
    schema_calls: usize,
    schemas: Vec<Reply>,
    /// The proxy is known to have read what the host sent up to here.
    read: u64,
}

impl Channels {
    /// The host asks. `in_loop` is whether a loop is open for certain.
    pub(super) fn requested(
        &mut self,
        frame: &Frame,
        begun: bool,
        late: bool,
        in_loop: bool,
        cx: &Cx<'_>,
    ) {
        let at = (frame.scope, frame.channel);
        let (tag, body) = match cx.profile.begin_channels.split(&frame.payload) {
            Ok((tag, body)) => (Some(tag), body),
            Err(_) => (None, &[][..]),
        };
        if let Some(open) = self.channels.get_mut(&at).filter(|it| !it.finished) {
            open.again = Some(cx.seq);
            let words = Words::read(body).filter(|_| tag == Some(BeginChannel::Enqueue));
            if let Some(words) = words {
                let index = self.queue.push(words, body, false, cx.seq);
                self.queue.ignore(index);
                open.ignored.push(index);
            }
            return;
        }
        let kind = match tag {
            None => Kind::Unreadable(id::UNKNOWN_ASK),
            Some(BeginChannel::Enqueue) => match Words::read(body) {
                Some(words) => Kind::Enqueue(self.queue.push(words, body, !begun || late, cx.seq)),
                None => {
                    self.queue.unreadable = true;
                    Kind::Unreadable(id::UNREADABLE_ENQUEUE)
                }
            },
            Some(BeginChannel::Dequeue) => match DequeueAsk::decode(body) {
                Ok(ask) => {
                    let queue = &mut self.queue;
                    Kind::Dequeue(self.dequeues.push(ask, in_loop, queue, cx.seq))
                }
                // A laxer reader takes it.
                Err(_) if has_key(body) => Kind::Other,
                Err(_) => {
                    self.dequeues.unreadable = true;
                    Kind::Unreadable(id::UNREADABLE_DEQUEUE)
                }
            },
            Some(BeginChannel::Schema) => Kind::Schema,
            Some(BeginChannel::Postgres | BeginChannel::Daemon | BeginChannel::Secrets) => {
                Kind::Other
            }
        };
        let channel = Channel {
            kind,
            sent: cx.seq,
            early: !begun,
            late,
            answered: false,
            finished: false,
            again: None,
            ignored: Vec::new(),
            certain: false,
            touched: None,
        };
        self.channels.insert(at, channel);
    }

    /// The host answers or finishes under a number.
    pub(super) fn touched(&mut self, scope: u32, channel: u32, seq: u64) {
        let channel = self.channels.get_mut(&(scope, channel));
        if let Some(channel) = channel.filter(|it| !it.finished) {
            channel.touched = Some(seq);
        }
    }

    /// The agent server is called, for something else than a register.
    pub(super) fn called(
        &mut self,
        link: LinkId,
        kind: AgentCall,
        body: &Bytes,
        inactive: Option<u64>,
        cx: &mut Cx<'_>,
    ) {
        match kind {
            AgentCall::Register => {}
            AgentCall::Run => self.queue.run(link, body, cx),
            AgentCall::Enqueue => self.queue.offer(link, body, inactive, cx),
            AgentCall::Dequeue => {
                let queue = &self.queue;
                self.dequeues.called(link, body, queue, inactive, cx);
            }
            AgentCall::Schema => {
                let asks = self.channels.values();
                let open = asks.filter(|it| matches!(it.kind, Kind::Schema) && !it.answered);
                if open.count() <= self.schema_calls + self.schemas.len() {
                    let allowed = "a call for each schema request";
                    cx.flag(id::SCHEMA_RELAYED, allowed, "a call more");
                }
                self.schema_calls += 1;
            }
        }
    }

    /// The agent server answers.
    pub(super) fn replied(&mut self, link: LinkId, kind: AgentCall, reply: &Reply, cx: &Cx<'_>) {
        // A request that the proxy has read while its number was taken, it has passed over.
        let read = self.read;
        for channel in self.channels.values_mut().filter(|it| !it.finished) {
            let undecided = match channel.kind {
                Kind::Enqueue(index) => !self.queue.is_due(index),
                _ => false,
            };
            channel.certain |= undecided && channel.again.is_some_and(|again| again <= read);
        }
        match kind {
            AgentCall::Register => {}
            AgentCall::Run => self.queue.run_answered(link, reply, cx.seq),
            AgentCall::Enqueue => self.queue.offer_answered(link, reply, cx.seq),
            AgentCall::Dequeue => self.dequeues.replied(link, reply),
            AgentCall::Schema => {
                self.schema_calls = self.schema_calls.saturating_sub(1);
                self.schemas.push(reply.clone());
            }
        }
    }

    /// A loop is over.
    pub(super) fn ended(&mut self, link: LinkId, seq: u64) {
        self.queue.ended(link, seq);
    }

    /// The proxy answers on a channel.
    pub(super) fn answered(
        &mut self,
        frame: &Frame,
        listening: &Listening,
        in_loop: bool,
        cx: &mut Cx<'_>,
    ) {
        self.judge(frame, "an answer", cx, |channels, channel, cx| {
            if channel.finished || channel.answered {
                if let Some(id) = channel.surplus() {
                    cx.flag(id, "one answer and one finish", "another answer");
                }
                return;
            }
            channel.answered = true;
            match channel.kind {
                Kind::Enqueue(index) => {
                    let queue = &mut channels.queue;
                    queue.answered(index, &frame.payload, listening, cx);
                }
                Kind::Dequeue(index) => {
                    let (queue, with) = (&mut channels.queue, (listening, in_loop));
                    let payload = &frame.payload;
                    channels.dequeues.answered(index, payload, queue, with, cx);
                }
                Kind::Schema => channels.schema(channel.sent, &frame.payload, listening, cx),
                Kind::Unreadable(id) => cx.flag(id, "the bare finish", "an answer"),
                Kind::Other => {}
            }
        });
    }

    /// The proxy finishes a channel.
    pub(super) fn finished(&mut self, frame: &Frame, cx: &mut Cx<'_>) {
        self.judge(frame, "a finish", cx, |channels, channel, cx| {
            if std::mem::replace(&mut channel.finished, true) {
                if let Some(id) = channel.surplus() {
                    cx.flag(id, "one answer and one finish", "another finish");
                }
                return;
            }
            if !channel.certain {
                for index in channel.ignored.drain(..) {
                    channels.queue.doubt(index);
                }
            }
            let missing = match channel.kind {
                _ if channel.answered => None,
                Kind::Enqueue(index) if channels.queue.unserved(index) => None,
                _ if channel.early => None,
                Kind::Enqueue(_) => Some(id::ONE_ANSWER),
                Kind::Dequeue(index) => Some(channels.dequeues.expected(index).0),
                Kind::Schema => Some(channels.next_schema().0),
                Kind::Unreadable(_) | Kind::Other => None,
            };
            if let Some(id) = missing {
                cx.flag(id, "an answer ahead of the finish", "the bare finish");
            }
        });
    }

    /// Judges a frame on a channel, whose circumstances tell what a fault is about.
    fn judge(
        &mut self,
        frame: &Frame,
        what: &str,
        cx: &mut Cx<'_>,
        judge: impl FnOnce(&mut Self, &mut Channel, &mut Cx<'_>),
    ) {
        let at = (frame.scope, frame.channel);
        let Some(mut channel) = self.channels.remove(&at) else {
            let allowed = "a channel that the host opened";
            cx.flag(id::OPEN_ONLY, allowed, format!("{what} on another"));
            return;
        };
        let mut found = Vec::new();
        let mut own = Cx {
            out: &mut found,
            profile: cx.profile,
            ..*cx
        };
        if channel.late {
            let allowed = "nothing for a channel behind an authorization";
            own.flag(id::CREDENTIAL_SILENT, allowed, what);
        } else if channel.finished && channel.again.is_some() && !channel.certain {
            // The number may have been free when it was asked for again.
        } else {
            self.read = self.read.max(channel.sent);
            judge(self, &mut channel, &mut own);
            // Whatever last came across it is to blame.
            let id = match channel.again.cmp(&channel.touched) {
                Ordering::Greater => Some(id::CHANNEL_DUPLICATE),
                Ordering::Less => Some(id::SEPARATE_NUMBERS),
                Ordering::Equal => None,
            };
            if let Some(id) = id {
                for violation in &mut found {
                    violation.requirement = id;
                }
            }
        }
        cx.out.append(&mut found);
        self.channels.insert(at, channel);
    }

    fn schema(&mut self, sent: u64, payload: &Bytes, listening: &Listening, cx: &mut Cx<'_>) {
        let answer = SchemaAnswer::decode(cx.profile, payload).ok();
        let fits = |reply: &Reply| match (reply, answer) {
            (Reply::Success(body), Some(SchemaAnswer::Schema(schema))) => {
                call::value(body).is_some_and(|body| call::says(schema, Some(body)).is_ok())
            }
            (Reply::Success(body), Some(SchemaAnswer::Error(_))) => call::value(body).is_none(),
            (_, Some(SchemaAnswer::Error(error))) => call::says(error, reply.words()).is_ok(),
            _ => false,
        };
        let found = self.schemas.iter().position(fits);
        if found.is_none() && self.schemas.is_empty() {
            let error = matches!(answer, Some(SchemaAnswer::Error(_)));
            if !error || !listening.failed_after(sent) {
                let allowed = "what the agent server answers";
                cx.flag(id::SCHEMA_RELAYED, allowed, "an answer without one");
            }
            return;
        }
        if found.is_none() {
            let (id, allowed) = self.next_schema();
            cx.flag(id, allowed, "something else");
        }
        self.schemas.remove(found.unwrap_or(0));
    }

    /// What the answer is to be that has waited longest for a channel, and what another one breaks.
    fn next_schema(&self) -> (RequirementId, &'static str) {
        match self.schemas.first() {
            Some(Reply::Success(body)) if call::value(body).is_none() => {
                (id::SCHEMA_NO_JSON, "an error")
            }
            Some(Reply::Refusal { .. } | Reply::Lost) => (id::SCHEMA_ERROR, "an error"),
            _ => (id::SCHEMA_RELAYED, "the schema that the agent server told"),
        }
    }

    /// Whether the host waits for nothing that it asked for.
    pub(super) fn are_quiet(&self) -> bool {
        self.channels.values().all(|it| it.finished)
    }
}

fn has_key(body: &[u8]) -> bool {
    serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(body)
        .is_ok_and(|object| object.get("key").is_some_and(serde_json::Value::is_string))
}
