//! What chunks are made of, in both revisions: MCP content, and the members that the protocol puts beside it.

use serde::Serialize;

use super::logprob::{LOGPROB, Logprob};
use super::mcp::{
    EMBEDDED, LINK, MEDIA, META_ONLY, Media, RESULT, RESULT_ANY_OF, Raw, TEXT, Text, ToolResult,
};
use super::shape::{Member, Object, Shape, members, optional, required};
use super::tape::{Fill, Play};

/// A fragment of text from the model, its reasoning or its refusal.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Delta {
    /// The tool call whose sub-agent says this; none on the main thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_tool_call_id: Option<String>,
    /// Log probabilities of this fragment's tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logprobs: Option<Vec<Logprob>>,
    /// The text.
    #[serde(flatten)]
    pub content: Text,
}

/// An image or audio from the model.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Medium {
    /// The tool call whose sub-agent says this; none on the main thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_tool_call_id: Option<String>,
    /// The image or audio.
    #[serde(flatten)]
    pub content: Media,
}

/// A fragment of a call of a tool.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct ToolCall {
    /// The tool call whose sub-agent says this; none on the main thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_tool_call_id: Option<String>,
    /// The call's id; fragments of one call share it.
    pub id: String,
    /// Metadata of the call, an object.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Raw>,
    /// The tool's name.
    pub name: String,
    /// A fragment of the arguments' JSON text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
}

/// A tool's result.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct ToolResponse {
    /// The tool call whose sub-agent says this; none on the main thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_tool_call_id: Option<String>,
    /// The call that it answers.
    pub id: String,
    /// The result.
    #[serde(flatten)]
    pub result: ToolResult,
}

/// One block of a message that landed.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Part<C> {
    /// The message's key.
    pub key: String,
    /// The block.
    #[serde(flatten)]
    pub content: C,
}

/// Tokens used since the last such chunk.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Usage {
    /// Tokens generated.
    pub completion_tokens: u64,
    /// Tokens read.
    pub prompt_tokens: u64,
    /// Both.
    pub total_tokens: u64,
    /// Metadata, an object.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Raw>,
}

/// Something about the run itself.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Notification {
    /// Whether the loop failed with this.
    pub is_fatal: bool,
    /// What happened: any JSON value, byte for byte as it came.
    pub message: Raw,
    /// Metadata, an object.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Raw>,
}

/// A message that landed, as the path revision tells it.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Prompt {
    /// The message's text.
    pub prompt: String,
    /// Metadata, an object.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Raw>,
}

impl Fill for Delta {
    #[inline]
    fn fill(&mut self, name: &str, play: &mut Play<'_, '_>) -> Option<()> {
        match name {
            "parent_tool_call_id" => play.put(&mut self.parent_tool_call_id),
            "logprobs" => play.put(&mut self.logprobs),
            _ => self.content.fill(name, play),
        }
    }
}

impl Fill for Medium {
    fn fill(&mut self, name: &str, play: &mut Play<'_, '_>) -> Option<()> {
        match name {
            "parent_tool_call_id" => play.put(&mut self.parent_tool_call_id),
            _ => self.content.fill(name, play),
        }
    }
}

impl Fill for ToolCall {
    fn fill(&mut self, name: &str, play: &mut Play<'_, '_>) -> Option<()> {
        match name {
            "parent_tool_call_id" => play.put(&mut self.parent_tool_call_id),
            "id" => play.put(&mut self.id),
            "_meta" => play.put(&mut self.meta),
            "name" => play.put(&mut self.name),
            "arguments" => play.put(&mut self.arguments),
            _ => play.pass(),
        }
    }
}

impl Fill for ToolResponse {
    fn fill(&mut self, name: &str, play: &mut Play<'_, '_>) -> Option<()> {
        match name {
            "parent_tool_call_id" => play.put(&mut self.parent_tool_call_id),
            "id" => play.put(&mut self.id),
            _ => self.result.fill(name, play),
        }
    }
}

impl<C: Fill> Fill for Part<C> {
    fn fill(&mut self, name: &str, play: &mut Play<'_, '_>) -> Option<()> {
        match name {
            "key" => play.put(&mut self.key),
            _ => self.content.fill(name, play),
        }
    }
}

impl Fill for Usage {
    fn fill(&mut self, name: &str, play: &mut Play<'_, '_>) -> Option<()> {
        match name {
            "completion_tokens" => play.put(&mut self.completion_tokens),
            "prompt_tokens" => play.put(&mut self.prompt_tokens),
            "total_tokens" => play.put(&mut self.total_tokens),
            "_meta" => play.put(&mut self.meta),
            _ => play.pass(),
        }
    }
}

impl Fill for Notification {
    fn fill(&mut self, name: &str, play: &mut Play<'_, '_>) -> Option<()> {
        match name {
            "is_fatal" => play.put(&mut self.is_fatal),
            "message" => play.put(&mut self.message),
            "_meta" => play.put(&mut self.meta),
            _ => play.pass(),
        }
    }
}

impl Fill for Prompt {
    fn fill(&mut self, name: &str, play: &mut Play<'_, '_>) -> Option<()> {
        match name {
            "prompt" => play.put(&mut self.prompt),
            "_meta" => play.put(&mut self.meta),
            _ => play.pass(),
        }
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
