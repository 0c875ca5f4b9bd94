//! The path revision: a connection for each exchange, and the calls that they make.

mod run;

use std::collections::HashMap;

use bytes::Bytes;

use self::run::Run;
use super::super::Outstanding;
use super::super::catalogue::RequirementId;
use super::super::json;
use super::super::violation::{Cx, Length};
use super::call::{self, Reply};
use super::{Listening, id};
use crate::transcript::{AgentCall, LinkId, What};
use crate::wire::agent_server::{Fate, Outcome};

/// One connection.
#[derive(Debug)]
struct Path {
    kind: AgentCall,
    /// What it asks, and since when.
    ask: Option<(Bytes, u64)>,
    /// A text message came ahead of the ask.
    text_first: bool,
    /// The host has ended it, or said more than it may.
    left: bool,
    /// The proxy has ended it.
    over: bool,
    /// A call has been made for it.
    called: bool,
    /// It has been answered, where it is no run.
    answered: bool,
    run: Run,
}

impl Path {
    /// Why nothing may come on it, where nothing was asked.
    fn unasked(&self) -> RequirementId {
        if self.text_first {
            id::PATH_TEXT_FIRST
        } else {
            id::PATH_LEFT_UNASKED
        }
    }
}

/// A call that is no run, and its answer.
#[derive(Debug)]
struct Answer {
    kind: AgentCall,
    body: Bytes,
    reply: Option<Reply>,
}

/// All connections, by their number, and all calls.
#[derive(Debug, Default)]
pub(super) struct Paths {
    paths: HashMap<LinkId, Path>,
    /// Answers that no connection has been given.
    answers: HashMap<LinkId, Answer>,
    /// Which connection a run belongs to.
    runs: HashMap<LinkId, LinkId>,
    /// A register has succeeded.
    registered: bool,
}

impl Paths {
    pub(super) fn announced(&mut self, link: LinkId, kind: AgentCall) {
        self.paths.entry(link).or_insert_with(|| Path {
            kind,
            ask: None,
            text_first: false,
            left: false,
            over: false,
            called: false,
            answered: false,
            run: Run::default(),
        });
    }

    pub(super) fn event(
        &mut self,
        link: LinkId,
        from_proxy: bool,
        what: &What,
        listening: &Listening,
        cx: &mut Cx<'_>,
    ) {
        let beside = self.runs_beside(link);
        let Some(path) = self.paths.get_mut(&link).filter(|path| !path.over) else {
            return;
        };
        match what {
            What::Opened { .. } => {
                // These ask nothing in words.
                if matches!(path.kind, AgentCall::Dequeue | AgentCall::Schema) {
                    path.ask = Some((Bytes::new(), cx.seq));
                }
            }
            What::Refused {
                status: Some(status),
            } => {
                let id = match path.kind {
                    AgentCall::Run if beside => id::PATH_SECOND_REFUSED,
                    _ => id::PATH_PARALLEL,
                };
                cx.flag(id, "a WebSocket", format!("the status {status}"));
            }
            What::Text(text) if from_proxy => {
                let received = format!("a text message of {}", Length(text.len()));
                cx.flag(id::PATH_BINARY_ONLY, "binary messages", received);
            }
            What::Text(_) => path.text_first |= path.ask.is_none(),
            What::Binary(message) if from_proxy => self.message(link, message, listening, cx),
            What::Binary(message) => {
                if path.ask.is_some() {
                    path.left = true;
                    return;
                }
                path.ask = Some((message.clone(), cx.seq));
                if path.kind == AgentCall::Run {
                    let others = self.paths.values_mut().filter(|it| it.run.streams());
                    others.for_each(|it| it.run.disturbed = true);
                }
            }
            What::Closed | What::Broken if !from_proxy => path.left = true,
            What::Broken => {
                path.over = true;
                if !path.left {
                    cx.flag(id::PATH_CLEAN_CLOSE, "a close frame", "an end without one");
                }
            }
            What::Closed => {
                path.over = true;
                self.closed(link, cx);
            }
            _ => {}
        }
    }

    fn message(&mut self, link: LinkId, message: &Bytes, listening: &Listening, cx: &mut Cx<'_>) {
        let beside = self.runs_beside(link);
        let Some(path) = self.paths.get_mut(&link) else {
            return;
        };
        let Some((ask, asked)) = path.ask.clone() else {
            cx.flag(path.unasked(), "no message", "a message");
            return;
        };
        if path.kind == AgentCall::Run {
            // A proxy may know by itself that the run will be refused.
            let refused = call::value(&ask).is_none() || beside || !self.registered;
            let failed = listening.failed_after(asked) || (refused && !path.called);
            let mut found = Vec::new();
            let mut own = Cx {
                out: &mut found,
                profile: cx.profile,
                ..*cx
            };
            path.run.message(message, failed, &mut own);
            if path.text_first {
                for violation in &mut found {
                    violation.requirement = id::PATH_TEXT_FIRST;
                }
            }
            cx.out.append(&mut found);
            return;
        }
        let kind = path.kind;
        if std::mem::replace(&mut path.answered, true) {
            cx.flag(self.expected(kind, &ask), "one message", "another message");
            return;
        }
        let mine = |it: &&Answer| it.kind == kind && same(&it.body, &ask) && it.reply.is_some();
        let right = |it: &&Answer| it.reply.as_ref().is_some_and(|it| fits(kind, it, message));
        let all = self.answers.iter();
        let mut mine: Vec<_> = all.filter(|(_, it)| mine(it)).collect();
        mine.sort_by_key(|(call, _)| **call);
        let found = mine
            .iter()
            .find(|(_, it)| right(it))
            .map(|(call, _)| **call);
        let taken = found.or(mine.first().map(|(call, _)| **call));
        match taken {
            None => {
                let again = kind == AgentCall::Register && self.registered;
                let failed =
                    (listening.failed_after(asked) || again) && fits(kind, &Reply::Lost, message);
                if !failed {
                    let id = match kind {
                        AgentCall::Enqueue => id::PATH_WHEN_KNOWN,
                        _ => self.expected(kind, &ask),
                    };
                    cx.flag(
                        id,
                        "an answer once the agent server has answered",
                        "a message",
                    );
                }
            }
            Some(call) => {
                if found.is_none() {
                    let id = self.expected(kind, &ask);
                    cx.flag(id, "what the agent server said", "something else");
                }
                self.answers.remove(&call);
            }
        }
    }

    /// The proxy closes a connection in order.
    fn closed(&self, link: LinkId, cx: &mut Cx<'_>) {
        let Some(path) = self.paths.get(&link) else {
            return;
        };
        let Some((ask, _)) = path.ask.as_ref().filter(|_| !path.left) else {
            return;
        };
        if path.text_first && !path.called {
            return;
        }
        if path.kind == AgentCall::Run {
            path.run.closed(cx);
        } else if !path.answered {
            let allowed = "a message ahead of the close";
            cx.flag(self.expected(path.kind, ask), allowed, "a close");
        }
    }

    /// What a wrong answer breaks.
    fn expected(&self, kind: AgentCall, ask: &Bytes) -> RequirementId {
        let mut all = self.answers.values();
        let answer = all.find(|it| it.kind == kind && same(&it.body, ask) && it.reply.is_some());
        let reply = answer.and_then(|it| it.reply.as_ref());
        match (kind, reply) {
            (AgentCall::Dequeue, _) => id::PATH_DEQUEUE,
            (AgentCall::Schema, _) => id::PATH_SCHEMA,
            (AgentCall::Register, Some(Reply::Success(body))) if !body.is_empty() => {
                id::PATH_BODY_UNREAD
            }
            (AgentCall::Register, None | Some(Reply::Success(_))) => id::PATH_REGISTERED,
            (AgentCall::Register, _) if self.registered => id::PATH_REGISTER_AGAIN,
            (AgentCall::Register, _) => id::PATH_REGISTER_REFUSED,
            (_, None) => id::PATH_FATE,
            (_, Some(Reply::Success(body))) if Fate::decode(body).is_ok() => id::PATH_FATE,
            (_, Some(Reply::Success(_))) => id::PATH_UNREADABLE_FATE,
            (_, Some(_)) => id::PATH_ENQUEUE_ERROR,
        }
    }

    pub(super) fn called(&mut self, link: LinkId, kind: AgentCall, body: &Bytes, cx: &mut Cx<'_>) {
        let open = |path: &Path| path.kind == kind && !path.called;
        let mut waiting: Vec<_> = self
            .paths
            .iter()
            .filter_map(|(link, path)| {
                let (ask, asked) = path.ask.as_ref().filter(|_| open(path))?;
                Some((*asked, *link, ask.clone()))
            })
            .collect();
        waiting.sort_by_key(|(asked, ..)| *asked);
        let worded = !matches!(kind, AgentCall::Dequeue | AgentCall::Schema);
        let verbatim = waiting.iter().filter(|(.., ask)| !worded || ask == body);
        let ambiguous = verbatim.clone().count() > 1;
        let found = verbatim
            .clone()
            .next()
            .or_else(|| waiting.iter().find(|(.., ask)| same(ask, body)));
        let Some((_, path, ask)) = found.or(waiting.first()).cloned() else {
            let mut paths = self.paths.values();
            let left = paths.any(|it| it.kind == kind && it.left && it.ask.is_none());
            let id = match kind {
                _ if left => id::PATH_LEFT_UNASKED,
                AgentCall::Register => id::PATH_REGISTERED,
                AgentCall::Schema => id::PATH_SCHEMA,
                AgentCall::Run => id::PATH_PROMPT,
                AgentCall::Enqueue => id::PATH_FATE,
                AgentCall::Dequeue => id::PATH_DEQUEUE_ASKS,
            };
            cx.flag(id, "a call for each that the host asked for", "a call more");
            return;
        };
        if found.is_none() {
            let id = match kind {
                AgentCall::Register => id::PATH_REGISTERED,
                AgentCall::Enqueue => id::PATH_FATE,
                _ => id::PATH_PROMPT,
            };
            cx.flag(id, "what the host asked", "something else");
        } else if kind == AgentCall::Run && ask != body {
            let allowed = "the message of the host byte for byte";
            cx.flag(id::PATH_REQUEST_VERBATIM, allowed, "other bytes");
        }
        if kind == AgentCall::Run && ambiguous {
            // Which call is for which connection cannot be told.
            let alike = verbatim.map(|(_, link, _)| *link).collect::<Vec<_>>();
            for link in alike {
                if let Some(path) = self.paths.get_mut(&link) {
                    path.run.blurred = true;
                }
            }
        }
        let others = self.runs_beside(path);
        if let Some(it) = self.paths.get_mut(&path) {
            it.called = true;
            it.run.called = true;
            it.run.beside = others;
            it.run.unregistered = !self.registered;
        }
        if kind == AgentCall::Run {
            self.runs.insert(link, path);
        } else {
            self.answers.insert(
                link,
                Answer {
                    kind,
                    body: ask,
                    reply: None,
                },
            );
        }
    }

    /// Whether another run goes on.
    fn runs_beside(&self, path: LinkId) -> bool {
        let mut others = self.paths.iter().filter(|(link, _)| **link != path);
        others.any(|(_, it)| it.run.streams())
    }

    fn run(&mut self, call: LinkId) -> Option<&mut Run> {
        let path = self.runs.get(&call)?;
        self.paths.get_mut(path).map(|path| &mut path.run)
    }

    pub(super) fn replied(&mut self, link: LinkId, kind: AgentCall, reply: &Reply, _: &Cx<'_>) {
        if kind == AgentCall::Run {
            if let Some(run) = self.run(link) {
                run.replied(reply);
            }
            return;
        }
        if let Some(answer) = self.answers.get_mut(&link) {
            answer.reply = Some(reply.clone());
        }
        self.registered |= kind == AgentCall::Register && matches!(reply, Reply::Success(_));
    }

    pub(super) fn streamed(&mut self, link: LinkId, data: &Bytes, cx: &Cx<'_>) {
        if let Some(run) = self.run(link) {
            run.streamed(data, cx.seq);
        }
    }

    pub(super) fn ended(&mut self, link: LinkId, broken: bool, _: &Cx<'_>) {
        if let Some(run) = self.run(link) {
            run.ended(broken);
        }
    }

    /// The proxy gave a call up.
    pub(super) fn dropped(&mut self, link: LinkId, cx: &mut Cx<'_>) {
        let path = self.runs.get(&link);
        let Some(path) = path.and_then(|path| self.paths.get_mut(path)) else {
            return;
        };
        let waited_for = !path.left && !path.over && path.run.streams();
        if waited_for && !std::mem::replace(&mut path.run.blurred, true) {
            let allowed = "to wait for the end of the events";
            cx.flag(path.run.early_end(), allowed, "the end of the call");
        }
    }

    pub(super) fn outstanding(&self, link: LinkId) -> Vec<Outstanding> {
        let path = self.paths.get(&link);
        let path = path.filter(|path| !path.left && !path.over);
        path.map(|path| path.run.outstanding()).unwrap_or_default()
    }
}

fn same(ask: &[u8], body: &[u8]) -> bool {
    let values = call::value(ask).zip(call::value(body));
    ask == body || values.is_some_and(|(ask, body)| json::same_value(ask, body))
}

/// Whether a message says what an agent server answered.
fn fits(kind: AgentCall, reply: &Reply, message: &[u8]) -> bool {
    let Some((tag, body)) = message.split_first() else {
        return false;
    };
    let error = |expected: u8| *tag == expected && call::says(body, reply.words()).is_ok();
    match (kind, reply) {
        (AgentCall::Register, Reply::Success(_)) => *tag == 0,
        (AgentCall::Schema, Reply::Success(schema)) => match call::value(schema) {
            Some(schema) => *tag == 0 && call::says(body, Some(schema)).is_ok(),
            None => error(1),
        },
        (AgentCall::Enqueue, Reply::Success(fate)) => match Fate::decode(fate) {
            Ok(Fate::Delivered) => *tag == 0,
            Ok(Fate::Dequeued) => *tag == 1,
            Ok(Fate::Missed) => *tag == 2,
            Err(_) => error(3),
        },
        (AgentCall::Dequeue, Reply::Success(outcome)) => match Outcome::decode(outcome) {
            Ok(Outcome::Dequeued) => *tag == 0,
            Ok(Outcome::Empty) => *tag == 1,
            Err(_) => error(2),
        },
        (AgentCall::Enqueue, _) => error(3),
        (AgentCall::Dequeue, _) => error(2),
        (AgentCall::Register | AgentCall::Schema, _) => error(1),
        (AgentCall::Run, _) => false,
    }
}
