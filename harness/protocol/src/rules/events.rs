//! Judges a stream of agent events, one line at a time.

use std::collections::HashMap;

use super::catalogue::RequirementId;
use super::json::type_of;
use super::violation::{Length, Violation};
use crate::wire::Malformed;
use crate::wire::agent_event::{AgentEvent, EventKind, EventRevision};

const KNOWN_TYPE: RequirementId = RequirementId::known("events.known-type");
const MEMBERS: RequirementId = RequirementId::known("events.members");
const COST_ONCE: RequirementId = RequirementId::known("events.cost-once");
const COST_BEFORE_END: RequirementId = RequirementId::known("events.cost-before-end");
const COST_OF_SUCCESS: RequirementId = RequirementId::known("events.cost-of-success");
const ENDS_ONCE: RequirementId = RequirementId::known("events.ends-once");
const SILENT_AFTER_END: RequirementId = RequirementId::known("events.silent-after-end");
const RESULT_OF_USE: RequirementId = RequirementId::known("events.result-of-use");
const RESULT_ONCE: RequirementId = RequirementId::known("events.result-once");
const ENDED: RequirementId = RequirementId::known("events.ended");

/// So many bytes of the assistant's text are kept, to compare the response with.
const TAIL: usize = 1 << 20;

/// One run's stream, as far as it has come.
///
/// Every line is judged when it comes; only what its absence breaks waits for the [`end`](Self::end). What is kept is
/// the ids of tool uses and the end of the text.
#[derive(Debug)]
pub struct EventStream {
    revision: EventRevision,
    line: u64,
    events: u64,
    malformed: u64,
    /// The lines of the first cost and of the first end.
    cost: Option<u64>,
    end: Option<(u64, EventKind)>,
    /// Uses and results by tool use id.
    uses: HashMap<String, (u64, u64)>,
    text: String,
    text_is_whole: bool,
    note: Option<(u64, &'static str)>,
    /// The requirements that something in the stream could have broken.
    exercised: Vec<RequirementId>,
}

impl EventStream {
    /// A stream that has not begun.
    #[must_use]
    pub fn new(revision: EventRevision) -> Self {
        Self {
            revision,
            line: 0,
            events: 0,
            malformed: 0,
            cost: None,
            end: None,
            uses: HashMap::new(),
            text: String::new(),
            text_is_whole: true,
            note: None,
            exercised: Vec::new(),
        }
    }

    /// How many events there were, malformed ones aside.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events
    }

    /// How many lines were no event.
    #[must_use]
    pub fn malformed(&self) -> u64 {
        self.malformed
    }

    /// Whether the run has succeeded or failed.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    /// Whether something in the stream could have broken the requirement.
    #[must_use]
    pub fn exercised(&self, requirement: RequirementId) -> bool {
        self.exercised.contains(&requirement)
    }

    /// A line and what is odd about it without being wrong.
    #[must_use]
    pub fn note(&self) -> Option<(u64, &'static str)> {
        self.note
    }

    /// Judges the next line, without its line break. A blank one is no event, and not held against the stream.
    pub fn line(&mut self, raw: &[u8], out: &mut Vec<Violation>) {
        self.line += 1;
        if raw.trim_ascii().is_empty() {
            return;
        }
        self.exercise(&[KNOWN_TYPE]);
        match AgentEvent::decode(self.revision, raw) {
            Ok(event) => {
                self.exercise(&[MEMBERS]);
                self.events += 1;
                self.event(event, out);
            }
            // What may be read or not is still the event that it says it is.
            Err(fault) if fault.rule.is_open() => {
                self.exercise(&[MEMBERS]);
                self.events += 1;
                if let Some(kind) = type_of(raw).and_then(|name| EventKind::named(&name)) {
                    self.order(kind, out);
                }
            }
            Err(fault) => self.unreadable(&fault, out),
        }
    }

    /// Judges a line that is too long to be read.
    pub fn long_line(&mut self, limit: usize, out: &mut Vec<Violation>) {
        self.line += 1;
        self.malformed += 1;
        self.exercise(&[KNOWN_TYPE]);
        let allowed = format!("a line of at most {}", Length(limit));
        self.flag(KNOWN_TYPE, allowed, "a longer one", out);
    }

    /// The stream is over: adds what only shows in hindsight.
    pub fn end(&mut self, out: &mut Vec<Violation>) {
        if self.events == 0 {
            return;
        }
        self.exercise(&[ENDED]);
        if self.end.is_none() {
            self.flag(
                ENDED,
                "a `done` or an `error`",
                "the end of the stream",
                out,
            );
        }
    }

    fn unreadable(&mut self, fault: &Malformed, out: &mut Vec<Violation>) {
        self.malformed += 1;
        let is_type = fault.pointer == "/type" || fault.pointer.is_empty();
        let requirement = if is_type { KNOWN_TYPE } else { MEMBERS };
        self.exercise(&[requirement]);
        out.push(Violation {
            requirement,
            seq: self.line,
            allowed: fault.expected.clone().into_owned(),
            received: fault.found.clone().into_owned(),
            pointer: (!fault.pointer.is_empty()).then(|| fault.pointer.clone()),
        });
    }

    fn event(&mut self, event: AgentEvent, out: &mut Vec<Violation>) {
        let open = self.end.is_none();
        self.order(event.kind(), out);
        match event {
            AgentEvent::AssistantText(text) => self.keep(&text.delta),
            AgentEvent::ToolUse(tool) => self.uses.entry(tool.tool_use_id).or_default().0 += 1,
            AgentEvent::ToolResult(result) => self.result(result.tool_use_id, out),
            AgentEvent::Done(done) if open => self.response(&done.response),
            _ => {}
        }
    }

    /// Judges that an event of this kind may come now.
    fn order(&mut self, kind: EventKind, out: &mut Vec<Violation>) {
        let is_end = matches!(kind, EventKind::Done | EventKind::Error);
        if let Some((line, end)) = self.end {
            let what = format!("`{kind}`, behind the `{end}` of line {line}");
            if is_end {
                self.flag(ENDS_ONCE, "one event that ends the run", &what, out);
            }
            if kind == EventKind::Cost {
                self.exercise(&[COST_BEFORE_END]);
                let allowed = "a cost in front of the run's end only";
                self.flag(COST_BEFORE_END, allowed, &what, out);
            }
            self.flag(SILENT_AFTER_END, "the end of the stream", &what, out);
        }
        if kind == EventKind::Cost {
            self.exercise(&[COST_ONCE]);
            if let Some(first) = self.cost {
                let again = format!("another, behind that of line {first}");
                self.flag(COST_ONCE, "one cost", again, out);
            }
            self.cost.get_or_insert(self.line);
        }
        if is_end && self.end.is_none() {
            self.exercise(&[ENDS_ONCE, SILENT_AFTER_END]);
            if self.cost.is_some() {
                self.exercise(&[COST_BEFORE_END]);
            }
            if kind == EventKind::Done {
                self.exercise(&[COST_OF_SUCCESS]);
                if self.cost.is_none() {
                    let allowed = "a `cost` in front of the `done`";
                    self.flag(COST_OF_SUCCESS, allowed, "a `done` without one", out);
                }
            }
            self.end = Some((self.line, kind));
        }
    }

    fn result(&mut self, id: String, out: &mut Vec<Violation>) {
        self.exercise(&[RESULT_OF_USE]);
        let Some((uses, results)) = self.uses.get_mut(&id) else {
            let allowed = "the `toolUseId` of an earlier `tool_use`";
            self.flag_at(
                RESULT_OF_USE,
                allowed,
                "one that none had",
                "/toolUseId",
                out,
            );
            return;
        };
        *results += 1;
        let again = results > uses;
        self.exercise(&[RESULT_ONCE]);
        if again {
            let allowed = "one result for each use";
            self.flag_at(RESULT_ONCE, allowed, "another", "/toolUseId", out);
        }
    }

    fn keep(&mut self, delta: &str) {
        self.text.push_str(delta);
        if self.text.len() > 2 * TAIL {
            let from = self.text.len() - TAIL;
            let cut = (from..).find(|at| self.text.is_char_boundary(*at));
            self.text.drain(..cut.unwrap_or(from));
            self.text_is_whole = false;
        }
    }

    fn response(&mut self, response: &str) {
        let comparable =
            !self.text.is_empty() && (self.text_is_whole || response.len() <= self.text.len());
        if comparable && !self.text.ends_with(response) {
            let odd = "the response is not what the fragments of text end with";
            self.note = Some((self.line, odd));
        }
    }

    fn exercise(&mut self, requirements: &[RequirementId]) {
        for requirement in requirements {
            if !self.exercised.contains(requirement) {
                self.exercised.push(*requirement);
            }
        }
    }

    fn flag(
        &self,
        requirement: RequirementId,
        allowed: impl Into<String>,
        received: impl Into<String>,
        out: &mut Vec<Violation>,
    ) {
        out.push(Violation {
            requirement,
            seq: self.line,
            allowed: allowed.into(),
            received: received.into(),
            pointer: None,
        });
    }

    fn flag_at(
        &self,
        requirement: RequirementId,
        allowed: &str,
        received: &str,
        pointer: &str,
        out: &mut Vec<Violation>,
    ) {
        self.flag(requirement, allowed, received, out);
        if let Some(flagged) = out.last_mut() {
            flagged.pointer = Some(pointer.to_owned());
        }
    }
}

#[cfg(test)]
mod tests;
