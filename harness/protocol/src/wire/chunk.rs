//! The chunk: one event of an agent's conversation, told apart by its `type`.

use super::Malformed;
use super::mcp::{EMBEDDED, LINK, MEDIA, META_ONLY, RESULT, RESULT_ANY_OF, TEXT};
use super::shape::{self, Member, Object, Shape, Tagged, optional, required};
use super::vocabulary::vocabulary;

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
    let text = shape::text(raw)?;
    let variant = CHUNK.judge_text(text)?;
    // The variants stand in the order of the kinds; a test holds them together.
    Ok(variant
        .and_then(|index| ChunkKind::ALL.get(index))
        .copied()
        .unwrap_or(ChunkKind::Notification))
}

const TYPE: &[Member] = &[required("type", Shape::Str)];
const PARENT: &[Member] = &[optional("parent_tool_call_id", Shape::Str)];
const KEY: &[Member] = &[required("key", Shape::Str)];
const LOGPROBS: &[Member] = &[optional("logprobs", Shape::Array(&LOGPROB))];

static LOGPROB: Shape = Shape::Object(&Object::open(&[&[
    required("token", Shape::Str),
    optional("bytes", Shape::Array(&Shape::U8)),
    required("logprob", Shape::Decimal),
    required("top_logprobs", Shape::Array(&TOP_LOGPROB)),
]]));

static TOP_LOGPROB: Shape = Shape::Object(&Object::open(&[&[
    required("token", Shape::Str),
    optional("bytes", Shape::Array(&Shape::U8)),
    optional("logprob", Shape::Decimal),
]]));

const CALL: &[Member] = &[
    required("id", Shape::Str),
    required("name", Shape::Str),
    optional("arguments", Shape::Str),
];

const USAGE: &[Member] = &[
    required("completion_tokens", Shape::U64),
    required("prompt_tokens", Shape::U64),
    required("total_tokens", Shape::U64),
];

const NOTIFICATION: &[Member] = &[
    required("is_fatal", Shape::Bool),
    required("message", Shape::Any),
];

const DELTA: Object = Object::open(&[TYPE, PARENT, LOGPROBS, TEXT]);
const MEDIUM: Object = Object::open(&[TYPE, PARENT, MEDIA]);

/// A chunk of the scope revision.
pub static CHUNK: Shape = Shape::Tagged(&Tagged {
    tag: "type",
    expected: "one of the fourteen chunk types",
    variants: &[
        ("assistant_reasoning", DELTA),
        ("assistant_text_content", DELTA),
        ("assistant_image_content", MEDIUM),
        ("assistant_audio_content", MEDIUM),
        (
            "assistant_tool_call",
            Object::open(&[TYPE, PARENT, CALL, META_ONLY]),
        ),
        ("assistant_refusal", DELTA),
        (
            "tool_response",
            Object {
                groups: &[TYPE, PARENT, &[required("id", Shape::Str)], RESULT],
                closed: false,
                any_of: RESULT_ANY_OF,
            },
        ),
        ("user_text_content", Object::open(&[TYPE, KEY, TEXT])),
        ("user_image_content", Object::open(&[TYPE, KEY, MEDIA])),
        ("user_audio_content", Object::open(&[TYPE, KEY, MEDIA])),
        ("user_resource", Object::open(&[TYPE, KEY, EMBEDDED])),
        ("user_resource_link", Object::open(&[TYPE, KEY, LINK])),
        ("usage", Object::open(&[TYPE, USAGE, META_ONLY])),
        (
            "notification",
            Object::open(&[TYPE, NOTIFICATION, META_ONLY]),
        ),
    ],
});

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
