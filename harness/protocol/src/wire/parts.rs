//! What chunks are made of, in both revisions: MCP content, and the members that the protocol puts beside it.

use rmcp::model::{Annotations, CallToolResult, MetaObject, RequestMetaObject, TextContent};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::logprob::{LOGPROB, Logprob};
use super::mcp::{EMBEDDED, LINK, MEDIA, META_ONLY, RESULT, RESULT_ANY_OF, TEXT};
use super::shape::{Member, Object, Shape, members, optional, required};
use super::{Malformed, reader};

/// A fragment of text from the model, its reasoning or its refusal.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Delta {
    /// The tool call whose sub-agent says this; none on the main thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_tool_call_id: Option<String>,
    /// Log probabilities of this fragment's tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logprobs: Option<Vec<Logprob>>,
    /// The text.
    #[serde(flatten)]
    pub content: TextContent,
}

/// An image or audio from the model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Medium<C> {
    /// The tool call whose sub-agent says this; none on the main thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_tool_call_id: Option<String>,
    /// The image or audio.
    #[serde(flatten)]
    pub content: C,
}

/// A fragment of a call of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The tool call whose sub-agent says this; none on the main thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_tool_call_id: Option<String>,
    /// The call's id; fragments of one call share it.
    pub id: String,
    /// Metadata of the call.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<RequestMetaObject>,
    /// The tool's name.
    pub name: String,
    /// A fragment of the arguments' JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
}

/// A tool's result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolResponse {
    /// The tool call whose sub-agent says this; none on the main thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_tool_call_id: Option<String>,
    /// The call that it answers.
    pub id: String,
    /// The result.
    #[serde(flatten)]
    pub result: CallToolResult,
}

/// One block of a message that landed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Part<C> {
    /// The message's key.
    pub key: String,
    /// The block.
    #[serde(flatten)]
    pub content: C,
}

/// Tokens used since the last such chunk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens generated.
    pub completion_tokens: u64,
    /// Tokens read.
    pub prompt_tokens: u64,
    /// Both.
    pub total_tokens: u64,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<MetaObject>,
}

/// Something about the run itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Notification {
    /// Whether the loop failed with this.
    pub is_fatal: bool,
    /// What happened: any JSON value, byte for byte as it came.
    pub message: Box<RawValue>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<MetaObject>,
}

/// A message that landed, as the path revision tells it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prompt {
    /// The message's text.
    pub prompt: String,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<MetaObject>,
}

// MCP's types and ours ignore each other's members, so each is read from the whole text: serde's `flatten` would buffer
// every value, and lose digits. What a kind requires was judged before.

/// What the protocol puts beside MCP's members, in any kind.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Beside {
    parent_tool_call_id: Option<String>,
    logprobs: Option<Vec<Logprob>>,
    key: String,
    id: String,
}

/// The same together with text, which is most of what is sent: read in one pass.
#[derive(Deserialize)]
struct BesideText {
    #[serde(default)]
    parent_tool_call_id: Option<String>,
    #[serde(default)]
    logprobs: Option<Vec<Logprob>>,
    #[serde(default)]
    key: String,
    text: String,
    #[serde(rename = "_meta")]
    meta: Option<MetaObject>,
    annotations: Option<Annotations>,
}

impl BesideText {
    fn parse(text: &str) -> Result<(Beside, TextContent), Malformed> {
        let read: BesideText = reader::parse(text)?;
        let mut content = TextContent::new(read.text);
        content.meta = read.meta;
        content.annotations = read.annotations;
        let beside = Beside {
            parent_tool_call_id: read.parent_tool_call_id,
            logprobs: read.logprobs,
            key: read.key,
            ..Beside::default()
        };
        Ok((beside, content))
    }
}

impl Delta {
    pub(super) fn parse(text: &str) -> Result<Delta, Malformed> {
        let (beside, content) = BesideText::parse(text)?;
        Ok(Delta {
            parent_tool_call_id: beside.parent_tool_call_id,
            logprobs: beside.logprobs,
            content,
        })
    }
}

impl Part<TextContent> {
    pub(super) fn parse_text(text: &str) -> Result<Part<TextContent>, Malformed> {
        let (Beside { key, .. }, content) = BesideText::parse(text)?;
        Ok(Part { key, content })
    }
}

impl<C: DeserializeOwned> Part<C> {
    pub(super) fn parse(text: &str) -> Result<Part<C>, Malformed> {
        let Beside { key, .. } = reader::parse(text)?;
        let content = reader::parse(text)?;
        Ok(Part { key, content })
    }
}

impl<C: DeserializeOwned> Medium<C> {
    pub(super) fn parse(text: &str) -> Result<Medium<C>, Malformed> {
        let beside: Beside = reader::parse(text)?;
        Ok(Medium {
            parent_tool_call_id: beside.parent_tool_call_id,
            content: reader::parse(text)?,
        })
    }
}

impl ToolResponse {
    pub(super) fn parse(text: &str) -> Result<ToolResponse, Malformed> {
        let beside: Beside = reader::parse(text)?;
        Ok(ToolResponse {
            parent_tool_call_id: beside.parent_tool_call_id,
            id: beside.id,
            result: reader::parse(text)?,
        })
    }
}

const TYPE: &[Member] = &[required("type", Shape::Str)];
const PARENT: &[Member] = &[optional("parent_tool_call_id", Shape::Str)];
const KEY: &[Member] = &[required("key", Shape::Str)];
const LOGPROBS: &[Member] = &[optional("logprobs", Shape::Array(&LOGPROB))];

/// The objects of the chunk types; each starts with its tag.
pub(super) mod object {
    use super::*;

    pub const DELTA: Object = Object::open(members![TYPE, PARENT, LOGPROBS, TEXT]);
    pub const MEDIUM: Object = Object::open(members![TYPE, PARENT, MEDIA]);
    pub const TOOL_CALL: Object = Object::open(members![
        TYPE,
        PARENT,
        &[
            required("id", Shape::Str),
            required("name", Shape::Str),
            optional("arguments", Shape::Str),
        ],
        META_ONLY,
    ]);
    pub const TOOL_RESPONSE: Object = Object::open(members![
        TYPE,
        PARENT,
        &[required("id", Shape::Str)],
        RESULT,
    ])
    .with_any_of(RESULT_ANY_OF)
    .or_instead("_meta");
    pub const TEXT_PART: Object = Object::open(members![TYPE, KEY, TEXT]);
    pub const MEDIUM_PART: Object = Object::open(members![TYPE, KEY, MEDIA]);
    pub const RESOURCE_PART: Object = Object::open(members![TYPE, KEY, EMBEDDED]);
    pub const LINK_PART: Object = Object::open(members![TYPE, KEY, LINK]);
    pub const USAGE: Object = Object::open(members![
        TYPE,
        &[
            required("completion_tokens", Shape::U64),
            required("prompt_tokens", Shape::U64),
            required("total_tokens", Shape::U64),
        ],
        META_ONLY,
    ]);
    pub const NOTIFICATION: Object = Object::open(members![
        TYPE,
        &[
            required("is_fatal", Shape::Bool),
            required("message", Shape::Any),
        ],
        META_ONLY,
    ]);
    pub const PROMPT: Object =
        Object::open(members![TYPE, &[required("prompt", Shape::Str)], META_ONLY]);
}
