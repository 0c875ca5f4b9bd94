//! The chunk: one event of an agent's conversation, told apart by its `type`.

use rmcp::model::{
    AudioContent, ContentBlock, EmbeddedResource, ImageContent, Resource, TextContent,
};
use serde::Serialize;

use super::parts::object;
use super::run::write_json;
use super::shape::{self, Shape, Tagged};
use super::vocabulary::vocabulary;
use super::{Malformed, reader};

pub use super::logprob::{Logprob, TopLogprob};
pub use super::parts::{Delta, Medium, Notification, Part, ToolCall, ToolResponse, Usage};

vocabulary! {
    /// The kinds of chunk of the scope revision, by `type` (run response page, The chunk).
    pub enum ChunkKind {
        /// The model's reasoning, a delta.
        AssistantReasoning = "assistant_reasoning",
        /// The model's text, a delta.
        AssistantTextContent = "assistant_text_content",
        /// An image from the model.
        AssistantImageContent = "assistant_image_content",
        /// Audio from the model.
        AssistantAudioContent = "assistant_audio_content",
        /// The model calls a tool; a delta of its arguments.
        AssistantToolCall = "assistant_tool_call",
        /// The model declines, a delta.
        AssistantRefusal = "assistant_refusal",
        /// A tool's result.
        ToolResponse = "tool_response",
        /// A text block of a message that landed.
        UserTextContent = "user_text_content",
        /// An image block of a message that landed.
        UserImageContent = "user_image_content",
        /// An audio block of a message that landed.
        UserAudioContent = "user_audio_content",
        /// An embedded resource of a message that landed.
        UserResource = "user_resource",
        /// A resource link of a message that landed.
        UserResourceLink = "user_resource_link",
        /// Tokens used, to be summed.
        Usage = "usage",
        /// Something about the run itself.
        Notification = "notification",
    }
}

impl ChunkKind {
    /// Whether the chunk is a part of a message that landed, and so carries a `key`.
    pub const fn is_user_part(self) -> bool {
        matches!(
            self,
            ChunkKind::UserTextContent
                | ChunkKind::UserImageContent
                | ChunkKind::UserAudioContent
                | ChunkKind::UserResource
                | ChunkKind::UserResourceLink
        )
    }
}

/// Judges that the bytes are exactly one chunk, every member of it, and says which kind.
///
/// # Errors
/// The first rule broken (run response page, Malformed).
pub fn judge(raw: &[u8]) -> Result<ChunkKind, Malformed> {
    judge_text(shape::text(raw)?)
}

fn judge_text(text: &str) -> Result<ChunkKind, Malformed> {
    // The variants stand in the order of the kinds; a test holds them together.
    CHUNK.variant(text).map(|variant| ChunkKind::ALL[variant])
}

/// A chunk of the scope revision.
static CHUNK: Shape = Shape::Tagged(&Tagged {
    tag: "type",
    expected: "one of the fourteen chunk types",
    variants: &[
        ("assistant_reasoning", object::DELTA),
        ("assistant_text_content", object::DELTA),
        ("assistant_image_content", object::MEDIUM),
        ("assistant_audio_content", object::MEDIUM),
        ("assistant_tool_call", object::TOOL_CALL),
        ("assistant_refusal", object::DELTA),
        ("tool_response", object::TOOL_RESPONSE),
        ("user_text_content", object::TEXT_PART),
        ("user_image_content", object::MEDIUM_PART),
        ("user_audio_content", object::MEDIUM_PART),
        ("user_resource", object::RESOURCE_PART),
        ("user_resource_link", object::LINK_PART),
        ("usage", object::USAGE),
        ("notification", object::NOTIFICATION),
    ],
    reserved: None,
});

/// One chunk, read whole.
///
/// Numbers inside `_meta` and `structuredContent` are held as MCP's types hold them, as doubles: what must agree byte
/// for byte is compared as bytes.
#[derive(Debug, Clone)]
pub enum Chunk {
    /// `assistant_reasoning`
    AssistantReasoning(Delta),
    /// `assistant_text_content`
    AssistantTextContent(Delta),
    /// `assistant_image_content`
    AssistantImageContent(Medium<ImageContent>),
    /// `assistant_audio_content`
    AssistantAudioContent(Medium<AudioContent>),
    /// `assistant_tool_call`
    AssistantToolCall(ToolCall),
    /// `assistant_refusal`
    AssistantRefusal(Delta),
    /// `tool_response`
    ToolResponse(ToolResponse),
    /// `user_text_content`
    UserTextContent(Part<TextContent>),
    /// `user_image_content`
    UserImageContent(Part<ImageContent>),
    /// `user_audio_content`
    UserAudioContent(Part<AudioContent>),
    /// `user_resource`
    UserResource(Part<EmbeddedResource>),
    /// `user_resource_link`
    UserResourceLink(Part<Resource>),
    /// `usage`
    Usage(Usage),
    /// `notification`
    Notification(Notification),
}

/// A chunk's own members behind its `type`.
#[derive(Serialize)]
struct Typed<'a, T> {
    r#type: &'static str,
    #[serde(flatten)]
    rest: &'a T,
}

impl Chunk {
    /// Reads a chunk's JSON.
    ///
    /// # Errors
    /// Those of [`judge`].
    pub fn decode(raw: &[u8]) -> Result<Chunk, Malformed> {
        let text = shape::text(raw)?;
        Chunk::parse(judge_text(text)?, text)
    }

    /// Reads text that was judged to be a chunk of that kind.
    pub(super) fn parse(kind: ChunkKind, text: &str) -> Result<Chunk, Malformed> {
        Ok(match kind {
            ChunkKind::AssistantReasoning => Chunk::AssistantReasoning(Delta::parse(text)?),
            ChunkKind::AssistantTextContent => Chunk::AssistantTextContent(Delta::parse(text)?),
            ChunkKind::AssistantImageContent => Chunk::AssistantImageContent(Medium::parse(text)?),
            ChunkKind::AssistantAudioContent => Chunk::AssistantAudioContent(Medium::parse(text)?),
            ChunkKind::AssistantToolCall => Chunk::AssistantToolCall(reader::parse(text)?),
            ChunkKind::AssistantRefusal => Chunk::AssistantRefusal(Delta::parse(text)?),
            ChunkKind::ToolResponse => Chunk::ToolResponse(ToolResponse::parse(text)?),
            ChunkKind::UserTextContent => Chunk::UserTextContent(Part::parse_text(text)?),
            ChunkKind::UserImageContent => Chunk::UserImageContent(Part::parse(text)?),
            ChunkKind::UserAudioContent => Chunk::UserAudioContent(Part::parse(text)?),
            ChunkKind::UserResource => Chunk::UserResource(Part::parse(text)?),
            ChunkKind::UserResourceLink => Chunk::UserResourceLink(Part::parse(text)?),
            ChunkKind::Usage => Chunk::Usage(reader::parse(text)?),
            ChunkKind::Notification => Chunk::Notification(reader::parse(text)?),
        })
    }

    /// What it is.
    pub fn kind(&self) -> ChunkKind {
        match self {
            Chunk::AssistantReasoning(_) => ChunkKind::AssistantReasoning,
            Chunk::AssistantTextContent(_) => ChunkKind::AssistantTextContent,
            Chunk::AssistantImageContent(_) => ChunkKind::AssistantImageContent,
            Chunk::AssistantAudioContent(_) => ChunkKind::AssistantAudioContent,
            Chunk::AssistantToolCall(_) => ChunkKind::AssistantToolCall,
            Chunk::AssistantRefusal(_) => ChunkKind::AssistantRefusal,
            Chunk::ToolResponse(_) => ChunkKind::ToolResponse,
            Chunk::UserTextContent(_) => ChunkKind::UserTextContent,
            Chunk::UserImageContent(_) => ChunkKind::UserImageContent,
            Chunk::UserAudioContent(_) => ChunkKind::UserAudioContent,
            Chunk::UserResource(_) => ChunkKind::UserResource,
            Chunk::UserResourceLink(_) => ChunkKind::UserResourceLink,
            Chunk::Usage(_) => ChunkKind::Usage,
            Chunk::Notification(_) => ChunkKind::Notification,
        }
    }

    /// The chunk's JSON.
    pub fn encode(&self) -> Vec<u8> {
        let kind = self.kind().name();
        match self {
            Chunk::AssistantReasoning(rest) => typed(kind, rest),
            Chunk::AssistantTextContent(rest) => typed(kind, rest),
            Chunk::AssistantImageContent(rest) => typed(kind, rest),
            Chunk::AssistantAudioContent(rest) => typed(kind, rest),
            Chunk::AssistantToolCall(rest) => typed(kind, rest),
            Chunk::AssistantRefusal(rest) => typed(kind, rest),
            Chunk::ToolResponse(rest) => typed(kind, rest),
            Chunk::UserTextContent(rest) => typed(kind, rest),
            Chunk::UserImageContent(rest) => typed(kind, rest),
            Chunk::UserAudioContent(rest) => typed(kind, rest),
            Chunk::UserResource(rest) => typed(kind, rest),
            Chunk::UserResourceLink(rest) => typed(kind, rest),
            Chunk::Usage(rest) => typed(kind, rest),
            Chunk::Notification(rest) => typed(kind, rest),
        }
    }
}

/// The JSON of members behind a `type`.
pub(super) fn typed(kind: &'static str, rest: &impl Serialize) -> Vec<u8> {
    let mut json = Vec::new();
    write_json(&mut json, &Typed { r#type: kind, rest });
    json
}

/// A message that landed, as its chunks: one to a block, in order, each under the message's key. A block of a kind
/// that MCP adds later has no chunk.
pub fn user_parts(key: &str, content: Vec<ContentBlock>) -> Vec<Chunk> {
    fn part<C>(key: &str, content: C) -> Part<C> {
        Part {
            key: key.to_owned(),
            content,
        }
    }
    content
        .into_iter()
        .filter_map(|block| match block {
            ContentBlock::Text(block) => Some(Chunk::UserTextContent(part(key, block))),
            ContentBlock::Image(block) => Some(Chunk::UserImageContent(part(key, block))),
            ContentBlock::Audio(block) => Some(Chunk::UserAudioContent(part(key, block))),
            ContentBlock::Resource(block) => Some(Chunk::UserResource(part(key, block))),
            ContentBlock::ResourceLink(block) => Some(Chunk::UserResourceLink(part(key, block))),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_lists_the_kinds_in_their_order() {
        let Shape::Tagged(tagged) = &CHUNK else {
            panic!("a chunk is tagged")
        };
        let names: Vec<_> = tagged.variants.iter().map(|(name, _)| *name).collect();
        let kinds: Vec<_> = ChunkKind::ALL.iter().map(|kind| kind.name()).collect();
        assert_eq!(names, kinds);
    }
}
