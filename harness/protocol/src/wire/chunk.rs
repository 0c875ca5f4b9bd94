//! The chunk: one event of an agent's conversation, told apart by its `type`.

use serde::Serialize;

use super::Malformed;
use super::mcp::{Block, Embedded, Link, Media, Text};
use super::parts::object;
use super::run::write_json;
use super::shape::{self, Shape, Tagged};
use super::tape::{Build, Play};
use super::vocabulary::vocabulary;

pub use super::logprob::{Logprob, TokenBytes, TopLogprob};
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
    // The variants stand in the order of the kinds; a test holds them together.
    let variant = CHUNK.variant(shape::text(raw)?)?;
    Ok(ChunkKind::ALL[variant])
}

/// A chunk of the scope revision.
pub static CHUNK: Shape = Shape::Tagged(&Tagged {
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

/// One chunk, read whole. Free-form parts stay byte for byte as they came.
#[derive(Debug, Clone, PartialEq)]
pub enum Chunk {
    /// `assistant_reasoning`
    AssistantReasoning(Delta),
    /// `assistant_text_content`
    AssistantTextContent(Delta),
    /// `assistant_image_content`
    AssistantImageContent(Medium),
    /// `assistant_audio_content`
    AssistantAudioContent(Medium),
    /// `assistant_tool_call`
    AssistantToolCall(ToolCall),
    /// `assistant_refusal`
    AssistantRefusal(Delta),
    /// `tool_response`
    ToolResponse(ToolResponse),
    /// `user_text_content`
    UserTextContent(Part<Text>),
    /// `user_image_content`
    UserImageContent(Part<Media>),
    /// `user_audio_content`
    UserAudioContent(Part<Media>),
    /// `user_resource`
    UserResource(Box<Part<Embedded>>),
    /// `user_resource_link`
    UserResourceLink(Box<Part<Link>>),
    /// `usage`
    Usage(Usage),
    /// `notification`
    Notification(Notification),
}

impl Chunk {
    /// Reads a chunk's JSON.
    ///
    /// # Errors
    /// Those of [`judge`].
    pub fn decode(raw: &[u8]) -> Result<Chunk, Malformed> {
        CHUNK.build(raw)
    }

    /// Builds a chunk of that kind from its members.
    pub(super) fn members(kind: ChunkKind, play: &mut Play<'_, '_>) -> Option<Chunk> {
        Some(match kind {
            ChunkKind::AssistantReasoning => Chunk::AssistantReasoning(play.members()?),
            ChunkKind::AssistantTextContent => Chunk::AssistantTextContent(play.members()?),
            ChunkKind::AssistantImageContent => Chunk::AssistantImageContent(play.members()?),
            ChunkKind::AssistantAudioContent => Chunk::AssistantAudioContent(play.members()?),
            ChunkKind::AssistantToolCall => Chunk::AssistantToolCall(play.members()?),
            ChunkKind::AssistantRefusal => Chunk::AssistantRefusal(play.members()?),
            ChunkKind::ToolResponse => Chunk::ToolResponse(play.members()?),
            ChunkKind::UserTextContent => Chunk::UserTextContent(play.members()?),
            ChunkKind::UserImageContent => Chunk::UserImageContent(play.members()?),
            ChunkKind::UserAudioContent => Chunk::UserAudioContent(play.members()?),
            ChunkKind::UserResource => Chunk::UserResource(Box::new(play.members()?)),
            ChunkKind::UserResourceLink => Chunk::UserResourceLink(Box::new(play.members()?)),
            ChunkKind::Usage => Chunk::Usage(play.members()?),
            ChunkKind::Notification => Chunk::Notification(play.members()?),
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

/// The JSON of members behind a `type`, of which there is one at least.
pub(super) fn typed(kind: &'static str, rest: &impl Serialize) -> Vec<u8> {
    let mut json = Vec::with_capacity(256);
    json.extend_from_slice(br#"{"type":""#);
    json.extend_from_slice(kind.as_bytes());
    json.push(b'"');
    let rest_at = json.len();
    write_json(&mut json, rest);
    // The object of the rest goes on where it would open.
    json[rest_at] = b',';
    json
}

impl Build for Chunk {
    fn build(play: &mut Play<'_, '_>) -> Option<Chunk> {
        let kind = *ChunkKind::ALL.get(play.object()?)?;
        Chunk::members(kind, play)
    }
}

/// A message that landed, as its chunks: one to a block, in order, each under the message's key.
pub fn user_parts(key: &str, content: Vec<Block>) -> Vec<Chunk> {
    fn part<C>(key: &str, content: C) -> Part<C> {
        Part {
            key: key.to_owned(),
            content,
        }
    }
    content
        .into_iter()
        .map(|block| match block {
            Block::Text(block) => Chunk::UserTextContent(part(key, block)),
            Block::Image(block) => Chunk::UserImageContent(part(key, block)),
            Block::Audio(block) => Chunk::UserAudioContent(part(key, block)),
            Block::Resource(block) => Chunk::UserResource(Box::new(part(key, *block))),
            Block::ResourceLink(block) => Chunk::UserResourceLink(Box::new(part(key, *block))),
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
