//! Messages that land in a loop: those that it starts on, and those that join it.

use std::collections::VecDeque;

use serde_json::Value;

use super::{Ending, Judge, Message};
use crate::rules::catalogue::{RequirementId, Revision};
use crate::wire::agent_server::Fate;
use crate::wire::chunk::Chunk;
use crate::wire::path_run::PathChunk;

const AGAIN: RequirementId = RequirementId::known("agent.run.again");
const FIRST: RequirementId = RequirementId::known("agent.parts.first");
const BEFORE_OUTPUT: RequirementId = RequirementId::known("agent.parts.before-output");
const COMPLETE: RequirementId = RequirementId::known("agent.parts.complete");
const ORDER: RequirementId = RequirementId::known("agent.parts.order");
const KEY: RequirementId = RequirementId::known("agent.parts.key");
const KIND: RequirementId = RequirementId::known("agent.parts.kind");
const CONTENT: RequirementId = RequirementId::known("agent.parts.content");
const DELIVERED_PARTS: RequirementId = RequirementId::known("agent.enqueue.delivered-parts");
const TOGETHER: RequirementId = RequirementId::known("agent.enqueue.parts-together");
const OF_MESSAGES: RequirementId = RequirementId::known("agent.enqueue.parts-of-messages");
const NOT_TAKEN: RequirementId = RequirementId::known("agent.dequeue.not-taken");
const DELIVERED_PROMPT: RequirementId = RequirementId::known("agent.path.delivered-prompt");
const NO_ECHO: RequirementId = RequirementId::known("agent.path.no-echo");

/// So many parts of messages that earlier loops started on are remembered.
const REMEMBERED: usize = 256;

/// The messages of a conversation.
#[derive(Debug)]
pub(super) struct Messages {
    revision: Revision,
    /// Parts that must still come before anything else.
    due: VecDeque<PathChunk>,
    /// Parts that the running loop has begun with, or the prompt that is not to be echoed.
    started: Vec<PathChunk>,
    /// Parts that earlier loops began with.
    earlier: VecDeque<PathChunk>,
    /// What came before the last due part, and whether the assistant said it.
    premature: Vec<(u64, bool)>,
    /// Due parts that came before others: out of order if those still come, and else it is those that are missing.
    ahead: Vec<u64>,
    joined: Vec<Waiting>,
    landing: Option<Landing>,
    running: bool,
}

/// A message that joined.
#[derive(Debug)]
struct Waiting {
    parts: Vec<PathChunk>,
    fate: Option<Fate>,
    landed: bool,
    /// Nothing is held against it any more: it was refused, or it may have landed unseen.
    excused: bool,
}

/// A message whose parts are coming.
#[derive(Debug)]
struct Landing {
    /// The messages that it may be.
    candidates: Vec<usize>,
    /// How many of its parts have come.
    count: usize,
}

impl Messages {
    pub fn new(revision: Revision) -> Self {
        Self {
            revision,
            due: VecDeque::new(),
            started: Vec::new(),
            earlier: VecDeque::new(),
            premature: Vec::new(),
            ahead: Vec::new(),
            joined: Vec::new(),
            landing: None,
            running: false,
        }
    }

    pub fn begin(&mut self, messages: &[Message]) {
        self.earlier.extend(self.started.drain(..));
        let surplus = self.earlier.len().saturating_sub(REMEMBERED);
        self.earlier.drain(..surplus);
        self.started = messages.iter().flat_map(|it| it.parts.clone()).collect();
        self.due = match self.revision {
            Revision::Scope => self.started.iter().cloned().collect(),
            Revision::Path => VecDeque::new(),
        };
        self.premature.clear();
        self.ahead.clear();
        self.landing = None;
        self.running = true;
    }

    pub fn joined(&mut self, message: Message) -> super::Joined {
        self.joined.push(Waiting {
            fate: None,
            landed: false,
            // One without blocks has no parts that could come.
            excused: message.parts.is_empty(),
            parts: message.parts,
        });
        super::Joined(self.joined.len() - 1)
    }

    pub fn forgotten(&mut self, joined: super::Joined) {
        if let Some(message) = self.joined.get_mut(joined.0) {
            message.excused = true;
        }
    }

    pub fn fate(&mut self, joined: super::Joined, fate: Fate, judge: &mut Judge<'_>) {
        let Some(message) = self.joined.get_mut(joined.0) else {
            return;
        };
        message.fate = Some(fate);
        if fate == Fate::Delivered {
            if !self.running {
                self.undelivered(judge);
            }
            return;
        }
        if !message.landed || message.excused {
            return;
        }
        // It may have been one like it that landed.
        match self.twin(joined.0, Waiting::may_land) {
            Some(twin) => {
                self.joined[joined.0].landed = false;
                self.joined[twin].landed = true;
            }
            None => self.contradicted(fate, judge),
        }
    }

    /// Another message that says the same and fits.
    fn twin(&self, at: usize, fits: fn(&Waiting) -> bool) -> Option<usize> {
        let parts = &self.joined[at].parts;
        let all = self.joined.iter().enumerate();
        let mut twins = all.filter(|(other, it)| *other != at && fits(it));
        let twin = twins.find(|(_, it)| alike(&it.parts, parts));
        twin.map(|(other, _)| other)
    }

    /// Nothing more comes of messages that were delivered: tells of those that did not land.
    fn undelivered(&mut self, judge: &mut Judge<'_>) {
        for at in 0..self.joined.len() {
            let message = &self.joined[at];
            if message.fate != Some(Fate::Delivered) || message.landed || message.excused {
                continue;
            }
            match self.twin(at, |it| it.landed && it.fate != Some(Fate::Delivered)) {
                Some(twin) => {
                    self.joined[twin].landed = false;
                    self.joined[at].landed = true;
                }
                None => {
                    self.joined[at].excused = true;
                    let allowed = "the parts of a message that was delivered";
                    judge.flag(self.delivery(), allowed, "none, or not all of them");
                }
            }
        }
    }

    /// A message that came in the loop was answered as if it had not.
    fn contradicted(&self, fate: Fate, judge: &mut Judge<'_>) {
        let received = format!("`{}` for one that came in the loop", fate.name());
        judge.flag(self.delivery(), "`delivered`", received.clone());
        if fate == Fate::Dequeued {
            judge.flag(NOT_TAKEN, "a withdrawn message that is not taken", received);
        }
    }

    fn delivery(&self) -> RequirementId {
        match self.revision {
            Revision::Scope => DELIVERED_PARTS,
            Revision::Path => DELIVERED_PROMPT,
        }
    }

    pub fn chunk(&mut self, chunk: &PathChunk, judge: &mut Judge<'_>) {
        let part = key_of(chunk).is_some() || matches!(chunk, PathChunk::User(_));
        match (part, self.due.is_empty()) {
            (true, false) => self.first_part(chunk, judge),
            (true, true) => self.joined_part(chunk, judge),
            (false, false) => self.premature.push((judge.seq, is_assistants(chunk))),
            (false, true) => self.landed(judge),
        }
    }

    pub fn end(&mut self, ending: Ending, judge: &mut Judge<'_>) {
        self.running = false;
        if ending == Ending::CutOff {
            self.landing = None;
            self.due.clear();
            for message in self.joined.iter_mut().filter(|it| it.may_land()) {
                message.excused = true;
            }
            return;
        }
        self.landed(judge);
        self.undelivered(judge);
        if !self.due.is_empty() {
            let received = format!("the loop's end, with {} missing", self.due.len());
            judge.flag(COMPLETE, "a user part for every block", received);
            self.due.clear();
        }
    }

    pub fn settled(&mut self, judge: &mut Judge<'_>) {
        self.undelivered(judge);
    }

    /// A user part where one of a message that the loop starts on is due.
    fn first_part(&mut self, chunk: &PathChunk, judge: &mut Judge<'_>) {
        for (seq, assistants) in self.premature.drain(..) {
            let allowed = "the parts of the messages that the loop starts on";
            judge.flag_earlier(seq, FIRST, allowed, "something else in front of one");
            if assistants {
                let received = "the assistant's output in front of one";
                judge.flag_earlier(seq, BEFORE_OUTPUT, allowed, received);
            }
        }
        if let Some(at) = self.due.iter().position(|due| same(due, chunk)) {
            self.due.remove(at);
            match at {
                0 => {
                    for seq in self.ahead.drain(..) {
                        let allowed = "the part of the next block";
                        judge.flag_earlier(seq, ORDER, allowed, "the part of a later one");
                    }
                }
                _ => self.ahead.push(judge.seq),
            }
            return;
        }
        if self.earlier.iter().any(|it| same(it, chunk)) {
            let allowed = "a part of the loop's own messages";
            return judge.flag(AGAIN, allowed, "a part of an earlier loop's");
        }
        let Some(due) = self.due.pop_front() else {
            return;
        };
        if kind_of(&due) != kind_of(chunk) {
            let allowed = format!("`{}`, as the block", kind_of(&due));
            judge.flag(KIND, allowed, format!("`{}`", kind_of(chunk)));
            if let Some(pointed) = judge.out.last_mut() {
                pointed.pointer = Some("/type".to_owned());
            }
        }
        if key_of(&due) != key_of(chunk) {
            judge.flag_at(KEY, "the key of its message", "another", "/key");
        }
        if kind_of(&due) == kind_of(chunk) && !same(&with_key_of(&due, chunk), &due) {
            judge.flag(CONTENT, "the block's own members", "others");
        }
    }

    /// A user part behind those of the messages that the loop started on.
    fn joined_part(&mut self, chunk: &PathChunk, judge: &mut Judge<'_>) {
        if let Some(landing) = &mut self.landing {
            let next = |at: &usize| self.joined[*at].parts.get(landing.count);
            let goes_on = |at: &usize| next(at).is_some_and(|part| same(part, chunk));
            let still: Vec<usize> = landing.candidates.iter().copied().filter(goes_on).collect();
            if !still.is_empty() {
                landing.candidates = still;
                landing.count += 1;
                return self.land_if_whole(judge);
            }
            self.landed(judge);
        }
        let starts = |it: &Waiting| it.parts.first().is_some_and(|part| same(part, chunk));
        let those = |fits: fn(&Waiting) -> bool| -> Vec<usize> {
            let fit = |(_, it): &(usize, &Waiting)| fits(it) && starts(it);
            let all = self.joined.iter().enumerate();
            all.filter(fit).map(|(at, _)| at).collect()
        };
        let mut candidates = those(Waiting::may_land);
        if candidates.is_empty() {
            candidates = those(|it| !it.landed);
        }
        if !candidates.is_empty() {
            let count = 1;
            self.landing = Some(Landing { candidates, count });
            return self.land_if_whole(judge);
        }
        self.unexpected(chunk, judge);
    }

    /// A user part that begins no message which could land.
    fn unexpected(&mut self, chunk: &PathChunk, judge: &mut Judge<'_>) {
        let has = |it: &Waiting| it.parts.iter().any(|part| same(part, chunk));
        if self.joined.iter().any(|it| it.landed && has(it)) {
            return judge.flag(self.delivery(), "the parts of a message once", "one again");
        }
        if self.started.iter().any(|it| same(it, chunk)) {
            return match self.revision {
                Revision::Scope => judge.flag(COMPLETE, "one part for each block", "another"),
                Revision::Path => judge.flag(
                    NO_ECHO,
                    "no user chunk of the prompt that the loop started on",
                    "one",
                ),
            };
        }
        if self.revision == Revision::Path
            && let Some(message) = self.joined.iter_mut().find(|it| it.may_land())
        {
            message.landed = true;
            let allowed = "the prompt of a message that joined, as it was";
            return judge.flag(DELIVERED_PROMPT, allowed, "another");
        }
        let nearly = |it: &Waiting| {
            let near = |part: &PathChunk| {
                key_of(part).is_some_and(|key| key_of(chunk) == Some(key))
                    || same(&with_key_of(part, chunk), part)
            };
            it.may_land() && it.parts.iter().any(near)
        };
        if let Some(message) = self.joined.iter_mut().find(|it| nearly(it)) {
            message.landed = true;
            let allowed = "the parts of a message, each with its key, kind and content";
            return judge.flag(
                TOGETHER,
                allowed,
                "a part that is different, or not the first",
            );
        }
        let allowed = "parts of messages that started or joined the loop";
        judge.flag(OF_MESSAGES, allowed, "a part of none of them");
    }

    fn land_if_whole(&mut self, judge: &mut Judge<'_>) {
        let Some(landing) = &self.landing else { return };
        let longest = landing
            .candidates
            .iter()
            .map(|at| self.joined[*at].parts.len());
        if longest.max() == Some(landing.count) {
            self.landed(judge);
        }
    }

    /// No more parts of the message that is landing come.
    fn landed(&mut self, judge: &mut Judge<'_>) {
        let Some(Landing { candidates, count }) = self.landing.take() else {
            return;
        };
        let whole = |at: &usize| self.joined[*at].parts.len() == count;
        let found = candidates.iter().copied().find(whole);
        let Some(at) = found.or(candidates.first().copied()) else {
            return;
        };
        if found.is_none() {
            let allowed = "all parts of a message, one behind another";
            judge.flag(TOGETHER, allowed, "something else before the last of them");
        }
        let message = &mut self.joined[at];
        message.landed = true;
        if let Some(fate) = message.fate.filter(|fate| *fate != Fate::Delivered)
            && !message.excused
        {
            self.contradicted(fate, judge);
        }
    }
}

impl Waiting {
    /// Whether it may still land.
    fn may_land(&self) -> bool {
        !self.landed && matches!(self.fate, None | Some(Fate::Delivered))
    }
}

fn is_assistants(chunk: &PathChunk) -> bool {
    let PathChunk::Shared(chunk) = chunk else {
        return false;
    };
    chunk.kind().name().starts_with("assistant_")
}

fn kind_of(chunk: &PathChunk) -> &'static str {
    match chunk {
        PathChunk::Shared(chunk) => chunk.kind().name(),
        PathChunk::User(_) => "user",
    }
}

fn key_of(chunk: &PathChunk) -> Option<&str> {
    let PathChunk::Shared(chunk) = chunk else {
        return None;
    };
    Some(match &**chunk {
        Chunk::UserTextContent(part) => &part.key,
        Chunk::UserImageContent(part) | Chunk::UserAudioContent(part) => &part.key,
        Chunk::UserResource(part) => &part.key,
        Chunk::UserResourceLink(part) => &part.key,
        _ => return None,
    })
}

/// The second chunk under the first one's key.
fn with_key_of(one: &PathChunk, other: &PathChunk) -> PathChunk {
    let mut other = other.clone();
    if let (Some(to), PathChunk::Shared(chunk)) = (key_of(one), &mut other) {
        let key = match &mut **chunk {
            Chunk::UserTextContent(part) => &mut part.key,
            Chunk::UserImageContent(part) | Chunk::UserAudioContent(part) => &mut part.key,
            Chunk::UserResource(part) => &mut part.key,
            Chunk::UserResourceLink(part) => &mut part.key,
            _ => return other,
        };
        to.clone_into(key);
    }
    other
}

fn alike(one: &[PathChunk], other: &[PathChunk]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
}

/// Whether two chunks say the same: members that their kinds do not know aside, objects in any order, and numbers by
/// their value. What a path's `user` has besides its prompt is its author's.
fn same(one: &PathChunk, other: &PathChunk) -> bool {
    if let (PathChunk::User(one), PathChunk::User(other)) = (one, other) {
        return one.prompt == other.prompt;
    }
    if one == other {
        return true;
    }
    if kind_of(one) != kind_of(other) || key_of(one) != key_of(other) {
        return false;
    }
    let value = |chunk: &PathChunk| serde_json::from_slice::<Value>(&chunk.encode());
    match (value(one), value(other)) {
        (Ok(one), Ok(other)) => equal(&one, &other),
        _ => false,
    }
}

fn equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || one.as_f64() == other.as_f64()
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let same = |(name, one): (&String, &Value)| {
                other.get(name).is_some_and(|other| equal(one, other))
            };
            one.len() == other.len() && one.iter().all(same)
        }
        _ => one == other,
    }
}
