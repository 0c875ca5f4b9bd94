//! Judges what an agent server says in its loops, one event at a time.

use std::collections::{HashMap, HashSet};

use super::catalogue::{RequirementId, Revision};
use super::json::is_json;
use super::violation::Violation;
use crate::wire::agent_server::Fate;
use crate::wire::channel::EnqueueAsk;
use crate::wire::chunk::{Chunk, ToolCall, Usage, user_parts};
use crate::wire::path_run::{PathChunk, Prompt};
use crate::wire::{Malformed, Rule};

mod landing;

use landing::Messages;

const ONE_OBJECT: RequirementId = RequirementId::known("agent.chunk.one-object");
const KIND: RequirementId = RequirementId::known("agent.chunk.kind");
const MEMBERS: RequirementId = RequirementId::known("agent.chunk.members");
const LAST_WORD: RequirementId = RequirementId::known("agent.failure.last-word");
const RESPONSE_KNOWN: RequirementId = RequirementId::known("agent.tool.response-known");
const ARGUMENTS_JSON: RequirementId = RequirementId::known("agent.tool.arguments-json");
const PARENT_KNOWN: RequirementId = RequirementId::known("agent.tool.parent-known");
const USAGE_SUM: RequirementId = RequirementId::known("agent.usage.sum");

/// So many bytes of one call's arguments are kept; a call with more is not held to being JSON.
const LONGEST: usize = 16 << 20;

/// A message, as an agent server is asked with it.
#[derive(Debug, Clone)]
pub struct Message {
    /// What tells that it landed.
    parts: Vec<PathChunk>,
}

impl Message {
    /// A message of the scope revision.
    ///
    /// # Errors
    /// The rule broken by a block that was not judged before.
    pub fn new(ask: &EnqueueAsk) -> Result<Self, Malformed> {
        let parts = user_parts(&ask.key, ask.blocks()?);
        let parts = parts.into_iter().map(|it| PathChunk::Shared(Box::new(it)));
        Ok(Self {
            parts: parts.collect(),
        })
    }

    /// A prompt of the path revision.
    #[must_use]
    pub fn prompt(prompt: &str) -> Self {
        let user = PathChunk::User(Prompt {
            prompt: prompt.to_owned(),
            meta: None,
        });
        Self { parts: vec![user] }
    }
}

/// Which message that joined, among all of one conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Joined(usize);

/// How a loop's stream came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// As HTTP ends a body.
    Whole,
    /// It broke off, or its reader left: what was not seen may have been said.
    CutOff,
}

/// A call of a tool.
#[derive(Debug, Default)]
struct Called {
    /// Its arguments so far; none once there were more than are kept.
    arguments: Option<String>,
    answered: bool,
}

/// An agent's conversation, as far as its loops have come.
///
/// Events are judged when they come; what only shows later is told at the loop's [`end`](Self::end), with a message's
/// [`fate`](Self::fate), or when everything has [`settled`](Self::settled). The numbers that events and the rest are given
/// come back as the [`seq`](Violation::seq) of what is wrong with them.
#[derive(Debug)]
pub struct ChunkStream {
    revision: Revision,
    messages: Messages,
    /// Every call that was ever made, and those of the running loop with their arguments.
    known: HashSet<String>,
    calls: HashMap<String, Called>,
    /// The event that said that the loop failed.
    fatal: Option<u64>,
}

impl ChunkStream {
    /// A conversation that has not begun.
    #[must_use]
    pub fn new(revision: Revision) -> Self {
        Self {
            revision,
            messages: Messages::new(revision),
            known: HashSet::new(),
            calls: HashMap::new(),
            fatal: None,
        }
    }

    /// A loop began on these messages.
    pub fn begin(&mut self, messages: &[Message]) {
        self.messages.begin(messages);
        self.calls.clear();
        self.fatal = None;
    }

    /// A message was sent to join. To tell its fate later, keep what this returns.
    pub fn joined(&mut self, message: Message) -> Joined {
        self.messages.joined(message)
    }

    /// A message that joined was answered.
    pub fn fate(&mut self, seq: u64, joined: Joined, fate: Fate, out: &mut Vec<Violation>) {
        self.messages.fate(joined, fate, &mut Judge { seq, out });
    }

    /// A message that joined was refused, or will never be answered.
    pub fn forgotten(&mut self, joined: Joined) {
        self.messages.forgotten(joined);
    }

    /// Judges the data of the next event.
    pub fn event(&mut self, seq: u64, data: &[u8], out: &mut Vec<Violation>) {
        let mut judge = Judge { seq, out };
        if let Some(fatal) = self.fatal {
            let received = format!("an event behind the fatal notification of event {fatal}");
            judge.flag(LAST_WORD, "the end of the stream", received);
            return;
        }
        let chunk = match self.revision {
            Revision::Scope => Chunk::decode(data).map(|it| PathChunk::Shared(Box::new(it))),
            Revision::Path => PathChunk::decode(data),
        };
        match chunk {
            Ok(chunk) => self.chunk(chunk, &mut judge),
            // Some may take it, so it is not held against who said it; nobody knows what it says.
            Err(fault) if fault.rule.is_open() => {}
            Err(fault) => judge.malformed(&fault),
        }
    }

    /// The loop's stream is over.
    pub fn end(&mut self, seq: u64, ending: Ending, out: &mut Vec<Violation>) {
        let mut judge = Judge { seq, out };
        self.messages.end(ending, &mut judge);
        let whole = ending == Ending::Whole && self.fatal.is_none();
        for (_, call) in self.calls.drain().filter(|_| whole) {
            judge.arguments(&call);
        }
    }

    /// Nothing is to come any more: tells of messages that were answered one way and done the other.
    pub fn settled(&mut self, seq: u64, out: &mut Vec<Violation>) {
        self.messages.settled(&mut Judge { seq, out });
    }

    fn chunk(&mut self, chunk: PathChunk, judge: &mut Judge<'_>) {
        self.messages.chunk(&chunk, judge);
        let PathChunk::Shared(chunk) = chunk else {
            return;
        };
        let parent = match &*chunk {
            Chunk::AssistantReasoning(it)
            | Chunk::AssistantTextContent(it)
            | Chunk::AssistantRefusal(it) => &it.parent_tool_call_id,
            Chunk::AssistantImageContent(it) | Chunk::AssistantAudioContent(it) => {
                &it.parent_tool_call_id
            }
            Chunk::AssistantToolCall(it) => &it.parent_tool_call_id,
            Chunk::ToolResponse(it) => &it.parent_tool_call_id,
            _ => &None,
        };
        if let Some(parent) = parent
            && !self.known.contains(parent)
        {
            let allowed = "the id of a call that came before";
            judge.flag_at(PARENT_KNOWN, allowed, "another", "/parent_tool_call_id");
        }
        match *chunk {
            Chunk::AssistantToolCall(call) => self.call(call, judge),
            Chunk::ToolResponse(response) => match self.calls.get_mut(&response.id) {
                Some(call) => call.answered = true,
                None if self.known.contains(&response.id) => {}
                None => {
                    let allowed = "the id of a call that came before";
                    judge.flag_at(RESPONSE_KNOWN, allowed, "another", "/id");
                }
            },
            Chunk::Usage(usage) => judge.usage(&usage),
            Chunk::Notification(it) if it.is_fatal => self.fatal = Some(judge.seq),
            _ => {}
        }
    }

    fn call(&mut self, fragment: ToolCall, judge: &mut Judge<'_>) {
        // What comes under the id of a call that was answered is another call.
        let again = self.calls.get(&fragment.id).is_some_and(|it| it.answered);
        if again && let Some(call) = self.calls.remove(&fragment.id) {
            judge.arguments(&call);
        }
        let fresh = || Called {
            arguments: Some(String::new()),
            answered: false,
        };
        let call = self.calls.entry(fragment.id.clone());
        let call = call.or_insert_with(fresh);
        if let (Some(arguments), Some(more)) = (&mut call.arguments, &fragment.arguments) {
            arguments.push_str(more);
        }
        call.arguments.take_if(|it| it.len() > LONGEST);
        self.known.insert(fragment.id);
    }
}

/// Says what is wrong with one event.
struct Judge<'a> {
    seq: u64,
    out: &'a mut Vec<Violation>,
}

impl Judge<'_> {
    fn flag(
        &mut self,
        requirement: RequirementId,
        allowed: impl Into<String>,
        received: impl Into<String>,
    ) {
        self.out.push(Violation {
            requirement,
            seq: self.seq,
            allowed: allowed.into(),
            received: received.into(),
            pointer: None,
        });
    }

    fn flag_at(&mut self, id: RequirementId, allowed: &str, received: &str, pointer: &str) {
        self.flag(id, allowed, received);
        if let Some(flagged) = self.out.last_mut() {
            flagged.pointer = Some(pointer.to_owned());
        }
    }

    /// The same of an earlier event.
    fn flag_earlier(&mut self, seq: u64, id: RequirementId, allowed: &str, received: &str) {
        self.flag(id, allowed, received);
        if let Some(flagged) = self.out.last_mut() {
            flagged.seq = seq;
        }
    }

    fn malformed(&mut self, fault: &Malformed) {
        let requirement = match (fault.rule, fault.pointer.as_str()) {
            (Rule::JsonEncoding | Rule::JsonSyntax | Rule::JsonTrailing, _) => ONE_OBJECT,
            (Rule::ObjectExpected, "") => ONE_OBJECT,
            (_, "/type") => KIND,
            _ => MEMBERS,
        };
        self.flag(
            requirement,
            fault.expected.clone().into_owned(),
            fault.found.clone().into_owned(),
        );
        if let Some(flagged) = self.out.last_mut() {
            flagged.pointer = (!fault.pointer.is_empty()).then(|| fault.pointer.clone());
        }
    }

    fn usage(&mut self, usage: &Usage) {
        let sum = usage.completion_tokens.checked_add(usage.prompt_tokens);
        if sum != Some(usage.total_tokens) {
            let allowed = "the sum of completion and prompt tokens";
            self.flag_at(USAGE_SUM, allowed, "another number", "/total_tokens");
        }
    }

    /// Judges the arguments of a call that has all its fragments; one without any has no arguments.
    fn arguments(&mut self, call: &Called) {
        let Some(arguments) = call.arguments.as_ref().filter(|it| !it.is_empty()) else {
            return;
        };
        if !is_json(arguments.as_bytes()) {
            let allowed = "fragments of arguments that add up to one JSON value";
            self.flag(ARGUMENTS_JSON, allowed, "fragments that do not");
        }
    }
}

#[cfg(test)]
mod tests;
