//! The AgentEvent: one JSON object of an agent's event stream, told apart by its `type`.
//!
//! Which order events may come in is not judged here.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::chunk::typed;
use super::shape::{self, Member, Object, Shape, Tagged, members, optional, required};
use super::vocabulary::vocabulary;
use super::{Malformed, reader};

vocabulary! {
    /// Revisions of the events surface.
    pub enum EventRevision {
        /// The document's six events.
        Document = "document",
        /// Those, and the later one that marks a compaction.
        Compaction = "compaction",
    }
}

vocabulary! {
    /// The kinds of event, by `type`.
    pub enum EventKind {
        /// A fragment of the assistant's text.
        AssistantText = "assistant_text",
        /// A tool is about to run.
        ToolUse = "tool_use",
        /// A tool ran.
        ToolResult = "tool_result",
        /// What the run cost.
        Cost = "cost",
        /// The run succeeded.
        Done = "done",
        /// The run failed.
        Error = "error",
        /// Earlier turns were compacted; not in the document.
        CompactionBoundary = "compaction_boundary",
    }
}

impl EventRevision {
    /// The shape of its events.
    pub fn shape(self) -> &'static Shape {
        match self {
            EventRevision::Document => &DOCUMENT,
            EventRevision::Compaction => &COMPACTION,
        }
    }
}

const TYPE: &[Member] = &[required("type", Shape::Str)];
const TEXT: &[Member] = &[required("delta", Shape::Str)];
const TOOL_USE: &[Member] = &[
    required("toolUseId", Shape::Str),
    required("tool", Shape::Str),
    required("input", Shape::Any),
];
const TOOL_RESULT: &[Member] = &[
    required("toolUseId", Shape::Str),
    required("output", Shape::Any),
    optional("isError", Shape::Bool),
];
const COST: &[Member] = &[
    required("costUsd", Shape::Number),
    required("tokens", Shape::Object(&TOKENS)),
];
const DONE: &[Member] = &[
    required("response", Shape::Str),
    required("transcript", Shape::Array(&TURN)),
];
const ERROR: &[Member] = &[required("message", Shape::Str)];
const BOUNDARY: &[Member] = &[
    required("trigger", Shape::Const(&["auto", "manual"])),
    required("preTokens", Shape::U64),
    required("postTokens", Shape::U64),
    required("cumulativeDroppedTokens", Shape::U64),
    required("durationMs", Shape::U64),
];

static TOKENS: Object = Object::open(&[
    optional("input", Shape::U64),
    optional("output", Shape::U64),
    optional("cacheCreation", Shape::U64),
    optional("cacheRead", Shape::U64),
]);

static TURN: Shape = Shape::Object(&Object::open(&[
    required("role", Shape::Const(&["user", "assistant", "tool_result"])),
    required("content", Shape::Any),
    required("timestampMs", Shape::I64),
]));

/// The events by `type`: the document's six, then the later one.
const EVENTS: &[(&str, Object)] = &[
    ("assistant_text", Object::open(members![TYPE, TEXT])),
    ("tool_use", Object::open(members![TYPE, TOOL_USE])),
    ("tool_result", Object::open(members![TYPE, TOOL_RESULT])),
    ("cost", Object::open(members![TYPE, COST])),
    ("done", Object::open(members![TYPE, DONE])),
    ("error", Object::open(members![TYPE, ERROR])),
    (
        "compaction_boundary",
        Object::open(members![TYPE, BOUNDARY]),
    ),
];

/// An event of the document.
static DOCUMENT: Shape = Shape::Tagged(&Tagged {
    tag: "type",
    expected: "one of the six event types",
    variants: EVENTS.split_at(6).0,
    reserved: Some("custom"),
});

/// An event of the later revision.
pub(super) static COMPACTION: Shape = Shape::Tagged(&Tagged {
    tag: "type",
    expected: "one of the seven event types",
    variants: EVENTS,
    reserved: Some("custom"),
});

/// Judges that the bytes are exactly one event, every member of it, and says which kind.
///
/// # Errors
/// The first rule broken (agent event page).
pub fn judge(revision: EventRevision, raw: &[u8]) -> Result<EventKind, Malformed> {
    // The variants stand in the order of the kinds; a test holds them together.
    let variant = revision.shape().variant(shape::text(raw)?)?;
    Ok(EventKind::ALL[variant])
}

/// One event, read whole. Free-form parts stay byte for byte as they came.
#[derive(Debug, Clone)]
pub enum AgentEvent {
    /// `assistant_text`
    AssistantText(AssistantText),
    /// `tool_use`
    ToolUse(ToolUse),
    /// `tool_result`
    ToolResult(ToolResult),
    /// `cost`
    Cost(Cost),
    /// `done`
    Done(Done),
    /// `error`
    Error(Failure),
    /// `compaction_boundary`
    CompactionBoundary(CompactionBoundary),
}

/// A fragment of the assistant's text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssistantText {
    /// The fragment.
    pub delta: String,
}

/// A tool is about to run.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolUse {
    /// The use's id, which its result quotes.
    pub tool_use_id: String,
    /// The tool's name.
    pub tool: String,
    /// What it is given: any JSON value.
    pub input: Box<RawValue>,
}

/// A tool ran.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    /// The id of the use.
    pub tool_use_id: String,
    /// What came out: any JSON value.
    pub output: Box<RawValue>,
    /// Whether that is a failure; absent means no.
    #[serde(default, deserialize_with = "or_default")]
    pub is_error: bool,
}

/// What the run cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cost {
    /// In US dollars.
    pub cost_usd: f64,
    /// In tokens.
    pub tokens: TokenCounts,
}

/// Tokens by what became of them; each absent means none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TokenCounts {
    /// Read.
    #[serde(deserialize_with = "or_default")]
    pub input: u64,
    /// Generated.
    #[serde(deserialize_with = "or_default")]
    pub output: u64,
    /// Written to a cache.
    #[serde(deserialize_with = "or_default")]
    pub cache_creation: u64,
    /// Read from a cache.
    #[serde(deserialize_with = "or_default")]
    pub cache_read: u64,
}

/// The run succeeded.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Done {
    /// The last assistant message's text.
    pub response: String,
    /// Every turn, in order.
    pub transcript: Vec<AgentTurn>,
}

/// One turn of a transcript.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentTurn {
    /// Whose turn it was.
    pub role: Role,
    /// What was said: any JSON value.
    pub content: Box<RawValue>,
    /// When, in milliseconds of Unix time.
    pub timestamp_ms: i64,
}

/// Whose turn it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The user's.
    User,
    /// The assistant's.
    Assistant,
    /// A tool's.
    ToolResult,
}

/// The run failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Why, for a person.
    pub message: String,
}

/// Earlier turns were compacted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionBoundary {
    /// What set it off.
    pub trigger: Trigger,
    /// Tokens before.
    pub pre_tokens: u64,
    /// Tokens after.
    pub post_tokens: u64,
    /// Tokens dropped so far.
    pub cumulative_dropped_tokens: u64,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}

/// What set a compaction off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// The agent itself.
    Auto,
    /// A person.
    Manual,
}

fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

impl AgentEvent {
    /// Reads an event's JSON.
    ///
    /// # Errors
    /// Those of [`judge`].
    pub fn decode(revision: EventRevision, raw: &[u8]) -> Result<AgentEvent, Malformed> {
        let kind = judge(revision, raw)?;
        let text = shape::text(raw)?;
        Ok(match kind {
            EventKind::AssistantText => AgentEvent::AssistantText(reader::parse(text)?),
            EventKind::ToolUse => AgentEvent::ToolUse(reader::parse(text)?),
            EventKind::ToolResult => AgentEvent::ToolResult(reader::parse(text)?),
            EventKind::Cost => AgentEvent::Cost(reader::parse(text)?),
            EventKind::Done => AgentEvent::Done(reader::parse(text)?),
            EventKind::Error => AgentEvent::Error(reader::parse(text)?),
            EventKind::CompactionBoundary => AgentEvent::CompactionBoundary(reader::parse(text)?),
        })
    }

    /// What it is.
    pub fn kind(&self) -> EventKind {
        match self {
            AgentEvent::AssistantText(_) => EventKind::AssistantText,
            AgentEvent::ToolUse(_) => EventKind::ToolUse,
            AgentEvent::ToolResult(_) => EventKind::ToolResult,
            AgentEvent::Cost(_) => EventKind::Cost,
            AgentEvent::Done(_) => EventKind::Done,
            AgentEvent::Error(_) => EventKind::Error,
            AgentEvent::CompactionBoundary(_) => EventKind::CompactionBoundary,
        }
    }

    /// The event's JSON, on one line unless a free-form part has line breaks.
    pub fn encode(&self) -> Vec<u8> {
        let kind = self.kind().name();
        match self {
            AgentEvent::AssistantText(rest) => typed(kind, rest),
            AgentEvent::ToolUse(rest) => typed(kind, rest),
            AgentEvent::ToolResult(rest) => typed(kind, rest),
            AgentEvent::Cost(rest) => typed(kind, rest),
            AgentEvent::Done(rest) => typed(kind, rest),
            AgentEvent::Error(rest) => typed(kind, rest),
            AgentEvent::CompactionBoundary(rest) => typed(kind, rest),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schemas_list_the_kinds_in_their_order() {
        for shape in [&DOCUMENT, &COMPACTION] {
            let Shape::Tagged(tagged) = shape else {
                panic!("an event is tagged")
            };
            let kinds = EventKind::ALL.iter().map(|kind| kind.name());
            let names = tagged.variants.iter().map(|(name, _)| *name);
            assert!(names.eq(kinds.take(tagged.variants.len())));
        }
        assert_eq!(
            judge(EventRevision::Compaction, COMPACTED.as_bytes()),
            Ok(EventKind::CompactionBoundary)
        );
        assert!(judge(EventRevision::Document, COMPACTED.as_bytes()).is_err());
    }

    const COMPACTED: &str = r#"{"type":"compaction_boundary","trigger":"auto","preTokens":9,"postTokens":3,"cumulativeDroppedTokens":6,"durationMs":1}"#;
}
