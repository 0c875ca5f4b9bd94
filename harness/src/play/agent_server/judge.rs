//! The rules that every answer and every stream of an agent server is held to, whatever the scenario asks.

use std::collections::HashSet;

use diverge_protocol::rules::{
    ChunkStream, Ending, Joined, Message, RequirementId, Revision, Violation,
};
use diverge_protocol::wire::Malformed;
use diverge_protocol::wire::agent_server::{
    Endpoint, Fate, Outcome, PathRunRequest, Registered, RunAsk,
};
use diverge_protocol::wire::channel::EnqueueAsk;
use diverge_protocol::wire::sse::Event;
use serde_json::Value;

use super::super::describe::shorten;

const REGISTER_BODY: &str = "agent.register.body";
const DEPENDENCY_FORM: &str = "agent.register.dependency-form";
const DEPENDENCY_ONCE: &str = "agent.register.dependency-once";
const REGISTER_EMPTY: &str = "agent.path.register-empty";
const SCHEMA_JSON: &str = "agent.schema.json";
const SCHEMA_COVERS: &str = "agent.schema.covers-arguments";
const REFUSAL_JSON: &str = "agent.refusal.json";
const REFUSAL_KIND: &str = "agent.refusal.kind";
const CONTENT_TYPE: &str = "agent.run.content-type";
const ENDS_CLEANLY: &str = "agent.run.ends-cleanly";
const NO_ERROR_EVENT: &str = "agent.stream.no-error-event";
const UNNAMED: &str = "agent.stream.unnamed";
const BLANK_LINE: &str = "agent.stream.blank-line";
const FATE_FORM: &str = "agent.enqueue.fate-form";
const OUTCOME_FORM: &str = "agent.dequeue.outcome-form";

/// What a dependency has.
const DEPENDENCY: [&str; 5] = ["image", "memory", "disk", "arguments", "database"];

/// An answer, whole.
#[derive(Debug, Clone)]
pub(in crate::play) struct Answer {
    pub seq: u64,
    pub status: u16,
    pub body: bytes::Bytes,
}

impl Answer {
    pub(in crate::play) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// Holds an agent server to the rules.
#[derive(Debug)]
pub(in crate::play) struct Judge {
    revision: Revision,
    chunks: ChunkStream,
    /// The call whose stream is the loop's.
    running: Option<usize>,
    /// The arguments that were taken, and the schema.
    arguments: Option<Value>,
    schema: Option<Value>,
    pub violations: Vec<Violation>,
}

impl Judge {
    pub(in crate::play) fn new(revision: Revision) -> Self {
        Self {
            revision,
            chunks: ChunkStream::new(revision),
            running: None,
            arguments: None,
            schema: None,
            violations: Vec::new(),
        }
    }

    fn flag(&mut self, seq: u64, requirement: &str, allowed: &str, received: &str) {
        let Some(requirement) = RequirementId::new(requirement) else {
            debug_assert!(false, "the catalogue has no {requirement}");
            return;
        };
        self.violations.push(Violation {
            requirement,
            seq,
            allowed: allowed.to_owned(),
            received: received.to_owned(),
            pointer: None,
        });
    }

    fn malformed(&mut self, seq: u64, requirement: &str, fault: &Malformed) {
        let Some(requirement) = RequirementId::new(requirement) else {
            debug_assert!(false, "the catalogue has no {requirement}");
            return;
        };
        self.violations.push(Violation {
            requirement,
            seq,
            allowed: fault.expected.clone().into_owned(),
            received: fault.found.clone().into_owned(),
            pointer: (!fault.pointer.is_empty()).then(|| fault.pointer.clone()),
        });
    }

    fn message(&self, body: &[u8]) -> Option<Message> {
        match self.revision {
            Revision::Scope => Message::new(&EnqueueAsk::decode(body).ok()?).ok(),
            Revision::Path => Some(Message::prompt(&PathRunRequest::decode(body).ok()?.prompt)),
        }
    }

    /// A message is sent to join.
    pub(in crate::play) fn joins(&mut self, body: &[u8]) -> Option<Joined> {
        let message = self.message(body)?;
        Some(self.chunks.joined(message))
    }

    /// A call for a loop was answered with success; of two streams at once, the first is the loop's.
    pub(in crate::play) fn begins(
        &mut self,
        seq: u64,
        call: usize,
        asked: &[u8],
        content_type: Option<&str>,
    ) {
        let essence = content_type
            .and_then(|it| it.split(';').next())
            .map(str::trim);
        if !essence.is_some_and(|it| it.eq_ignore_ascii_case("text/event-stream")) {
            let received = content_type.unwrap_or("none");
            self.flag(
                seq,
                CONTENT_TYPE,
                "the content type text/event-stream",
                received,
            );
        }
        if self.running.is_some() {
            return;
        }
        self.running = Some(call);
        let messages: Vec<Message> = match self.revision {
            Revision::Scope => RunAsk::decode(asked)
                .map(|ask| ask.messages)
                .unwrap_or_default()
                .iter()
                .filter_map(|it| Message::new(it).ok())
                .collect(),
            Revision::Path => self.message(asked).into_iter().collect(),
        };
        self.chunks.begin(&messages);
    }

    /// An event came on the stream of a call.
    pub(in crate::play) fn event(&mut self, seq: u64, call: usize, event: &Event) {
        match event.name.as_deref() {
            Some(b"error") => {
                let received = "an event of that name";
                self.flag(seq, NO_ERROR_EVENT, "no event called error", received);
            }
            Some(name) if !name.is_empty() && name != b"message" => {
                let received = String::from_utf8_lossy(name).into_owned();
                self.flag(seq, UNNAMED, "an event without a name", &received);
            }
            _ => {}
        }
        if self.running == Some(call) {
            self.chunks.event(seq, &event.data, &mut self.violations);
        }
    }

    /// A stream came to its end.
    pub(in crate::play) fn ends(&mut self, seq: u64, call: usize, ending: Ending, cut_short: bool) {
        if ending == Ending::CutOff {
            self.flag(
                seq,
                ENDS_CLEANLY,
                "the end of the body",
                "a body that broke off",
            );
        } else if cut_short {
            let received = "the end of the body in an event";
            self.flag(
                seq,
                BLANK_LINE,
                "a blank line behind the last event",
                received,
            );
        }
        self.over(seq, call, ending);
    }

    /// A stream's reader left.
    pub(in crate::play) fn dropped(&mut self, seq: u64, call: usize) {
        self.over(seq, call, Ending::CutOff);
    }

    fn over(&mut self, seq: u64, call: usize, ending: Ending) {
        if self.running == Some(call) {
            self.running = None;
            self.chunks.end(seq, ending, &mut self.violations);
        }
    }

    /// A call was answered, whole.
    pub(in crate::play) fn answered(
        &mut self,
        endpoint: Endpoint,
        asked: &[u8],
        joined: Option<Joined>,
        answer: &Answer,
    ) {
        let fate = match (endpoint, answer.is_success()) {
            (Endpoint::Enqueue, true) => Fate::decode(&answer.body)
                .map_err(|fault| self.malformed(answer.seq, FATE_FORM, &fault))
                .ok(),
            _ => None,
        };
        match (joined, fate) {
            (Some(joined), Some(fate)) => {
                self.chunks
                    .fate(answer.seq, joined, fate, &mut self.violations);
            }
            (Some(joined), None) => self.chunks.forgotten(joined),
            _ => {}
        }
        if !answer.is_success() {
            return self.refused(endpoint, answer);
        }
        match endpoint {
            Endpoint::Register => self.registered(asked, answer),
            Endpoint::Schema => self.schema(answer),
            Endpoint::Dequeue => {
                if let Err(fault) = Outcome::decode(&answer.body) {
                    self.malformed(answer.seq, OUTCOME_FORM, &fault);
                }
            }
            Endpoint::Run | Endpoint::Enqueue => {}
        }
    }

    fn refused(&mut self, endpoint: Endpoint, answer: &Answer) {
        if endpoint == Endpoint::Schema {
            return;
        }
        let body = shorten(&String::from_utf8_lossy(&answer.body), 80);
        let received = match body.is_empty() {
            true => format!("status {} without a body", answer.status),
            false => body,
        };
        let kind = match serde_json::from_slice::<Value>(&answer.body) {
            Ok(body) => body.get("kind").is_some_and(Value::is_string),
            Err(_) if endpoint == Endpoint::Dequeue => false,
            Err(_) => {
                return self.flag(answer.seq, REFUSAL_JSON, "a refusal in JSON", &received);
            }
        };
        if !kind {
            let allowed = "a refusal that has a kind, a string";
            self.flag(answer.seq, REFUSAL_KIND, allowed, &received);
        }
    }

    fn registered(&mut self, asked: &[u8], answer: &Answer) {
        let name = match self.revision {
            Revision::Scope => "arguments",
            Revision::Path => "agent",
        };
        let mut asked: Value = serde_json::from_slice(asked).unwrap_or_default();
        self.arguments = asked.get_mut(name).map(Value::take);
        self.covers(answer.seq);
        if self.revision == Revision::Path {
            if answer.status != 204 || !answer.body.is_empty() {
                let received = format!(
                    "status {} and a body of {} bytes",
                    answer.status,
                    answer.body.len()
                );
                let allowed = "status 204 and no body";
                self.flag(answer.seq, REGISTER_EMPTY, allowed, &received);
            }
            return;
        }
        let registered = match Registered::decode(&answer.body) {
            Ok(registered) => registered,
            Err(fault) => return self.malformed(answer.seq, REGISTER_BODY, &fault),
        };
        let mut seen = HashSet::new();
        for dependency in registered.dependencies.unwrap_or_default() {
            let value: Value = serde_json::from_str(dependency.get()).unwrap_or_default();
            for member in DEPENDENCY {
                if value.get(member).is_none() {
                    let allowed = format!("a dependency with the member {member}");
                    self.flag(answer.seq, DEPENDENCY_FORM, &allowed, "one without");
                }
            }
            if !seen.insert(value.to_string()) {
                let allowed = "each dependency once";
                self.flag(answer.seq, DEPENDENCY_ONCE, allowed, "one that came before");
            }
        }
    }

    fn schema(&mut self, answer: &Answer) {
        let schema = serde_json::from_slice::<Value>(&answer.body).ok();
        let schema = schema.filter(|it| it.is_object() || it.is_boolean());
        match schema.filter(|it| validator(it).is_ok()) {
            Some(schema) => {
                self.schema = Some(schema);
                self.covers(answer.seq);
            }
            None => {
                let received = shorten(&String::from_utf8_lossy(&answer.body), 80);
                self.flag(answer.seq, SCHEMA_JSON, "a JSON Schema", &received);
            }
        }
    }

    fn covers(&mut self, seq: u64) {
        let (Some(arguments), Some(schema)) = (&self.arguments, &self.schema) else {
            return;
        };
        if let Ok(Some(validator)) = validator(schema)
            && let Err(error) = validator.validate(arguments)
        {
            let received = shorten(&error.to_string(), 120);
            let allowed = "a schema that allows the arguments that were taken";
            self.flag(seq, SCHEMA_COVERS, allowed, &received);
        }
    }

    /// Nothing is to come any more.
    pub(in crate::play) fn settled(&mut self, seq: u64) {
        self.chunks.settled(seq, &mut self.violations);
    }
}

/// What judges by a schema; none where it refers to what is not there to be read, and an error where it is none.
fn validator(schema: &Value) -> Result<Option<jsonschema::Validator>, ()> {
    match jsonschema::validator_for(schema) {
        Ok(validator) => Ok(Some(validator)),
        Err(error)
            if matches!(
                error.kind(),
                jsonschema::error::ValidationErrorKind::Referencing(_)
            ) && refers_elsewhere(schema) =>
        {
            Ok(None)
        }
        Err(_) => Err(()),
    }
}

/// Whether a schema refers to others, which are not fetched.
fn refers_elsewhere(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => members.iter().any(|(name, value)| {
            let target = value.as_str().filter(|_| name == "$ref");
            name == "$id"
                || target.is_some_and(|it| !it.starts_with('#'))
                || refers_elsewhere(value)
        }),
        Value::Array(items) => items.iter().any(refers_elsewhere),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_requirement_of_the_rules_is_in_the_catalogue() {
        for id in [
            REGISTER_BODY,
            DEPENDENCY_FORM,
            DEPENDENCY_ONCE,
            REGISTER_EMPTY,
            SCHEMA_JSON,
            SCHEMA_COVERS,
            REFUSAL_JSON,
            REFUSAL_KIND,
            CONTENT_TYPE,
            ENDS_CLEANLY,
            NO_ERROR_EVENT,
            UNNAMED,
            BLANK_LINE,
            FATE_FORM,
            OUTCOME_FORM,
        ] {
            assert!(RequirementId::new(id).is_some(), "{id}");
        }
    }
}
