//! The path revision: one prompt on `/agent/run`, and the messages that answer it.

use serde::{Deserialize, Serialize};

use super::chunk::{Chunk, ChunkKind, typed};
use super::parts::object;
use super::run::write_json;
use super::shape::{self, Object, Shape, Tagged, required};
use super::tape::{Build, Play};
use super::vocabulary::vocabulary;
use super::{Malformed, Rule};

pub use super::parts::Prompt;

/// What one loop is asked (path page, the request).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PathRunRequest {
    /// The prompt.
    pub prompt: String,
}

/// What asks for a loop.
pub static REQUEST: Shape = Shape::Object(&Object::open(&[required("prompt", Shape::Str)]));

impl PathRunRequest {
    /// Reads the one message that a server sends; no byte stands in front of its JSON.
    ///
    /// # Errors
    /// The rule broken.
    pub fn decode(message: &[u8]) -> Result<PathRunRequest, Malformed> {
        REQUEST.read(message)
    }

    /// The message that asks this.
    pub fn encode(&self) -> Vec<u8> {
        let mut message = Vec::new();
        write_json(&mut message, self);
        message
    }
}

vocabulary! {
    /// What a message from the proxy is; the first byte is the variant's place.
    pub enum PathRunKind {
        /// A chunk of the loop.
        Chunk = "chunk",
        /// The run was refused, or broke off.
        Error = "error",
    }
}

impl PathRunKind {
    /// The first byte of a message of this kind.
    pub const fn byte(self) -> u8 {
        self as u8
    }

    /// The kind of a message by its first byte; nothing behind it is read.
    ///
    /// # Errors
    /// [`Rule::PayloadEmpty`], or [`Rule::PayloadUnknownFirstByte`] above 1.
    pub fn of(message: &[u8]) -> Result<PathRunKind, Malformed> {
        const ALLOWED: &str = "a first byte of 0 or 1";
        let unknown = |byte| {
            let found = format!("the byte {byte}");
            Malformed::bytes(Rule::PayloadUnknownFirstByte, 0, ALLOWED, found)
        };
        match message.first() {
            None => Err(Malformed::bytes(Rule::PayloadEmpty, 0, ALLOWED, "no byte")),
            Some(0) => Ok(PathRunKind::Chunk),
            Some(1) => Ok(PathRunKind::Error),
            Some(byte) => Err(unknown(byte)),
        }
    }
}

vocabulary! {
    /// The kinds of chunk of the path revision, by `type`.
    pub enum PathChunkKind {
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
        /// A message that landed.
        User = "user",
        /// Tokens used, to be summed.
        Usage = "usage",
        /// Something about the run itself.
        Notification = "notification",
    }
}

impl PathChunkKind {
    /// The same kind in the scope revision; a message that landed has its parts there instead.
    pub fn shared(self) -> Option<ChunkKind> {
        ChunkKind::named(self.name())
    }
}

/// A chunk of the path revision.
pub static PATH_CHUNK: Shape = Shape::Tagged(&Tagged {
    tag: "type",
    expected: "one of the ten chunk types",
    variants: &[
        ("assistant_reasoning", object::DELTA),
        ("assistant_text_content", object::DELTA),
        ("assistant_image_content", object::MEDIUM),
        ("assistant_audio_content", object::MEDIUM),
        ("assistant_tool_call", object::TOOL_CALL),
        ("assistant_refusal", object::DELTA),
        ("tool_response", object::TOOL_RESPONSE),
        ("user", object::PROMPT),
        ("usage", object::USAGE),
        ("notification", object::NOTIFICATION),
    ],
    reserved: None,
});

/// Judges that the bytes are exactly one chunk of the path revision, and says which kind.
///
/// # Errors
/// The first rule broken.
pub fn judge(raw: &[u8]) -> Result<PathChunkKind, Malformed> {
    // The variants stand in the order of the kinds; a test holds them together.
    let variant = PATH_CHUNK.variant(shape::text(raw)?)?;
    Ok(PathChunkKind::ALL[variant])
}

/// One chunk of the path revision, read whole.
#[derive(Debug, Clone, PartialEq)]
pub enum PathChunk {
    /// A chunk that both revisions have.
    Shared(Box<Chunk>),
    /// A message that landed.
    User(Prompt),
}

impl PathChunk {
    /// Reads a chunk's JSON.
    ///
    /// # Errors
    /// Those of [`judge`].
    pub fn decode(raw: &[u8]) -> Result<PathChunk, Malformed> {
        PATH_CHUNK.build(raw)
    }

    /// The chunk's JSON.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            PathChunk::Shared(chunk) => chunk.encode(),
            PathChunk::User(prompt) => typed(PathChunkKind::User.name(), prompt),
        }
    }
}

impl Build for PathChunk {
    fn build(play: &mut Play<'_, '_>) -> Option<PathChunk> {
        let kind = *PathChunkKind::ALL.get(play.object()?)?;
        Some(match kind.shared() {
            Some(kind) => PathChunk::Shared(Box::new(Chunk::members(kind, play)?)),
            None => PathChunk::User(play.members()?),
        })
    }
}

/// One message from the proxy, borrowed from its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathRunResponse<'a> {
    /// A chunk.
    Chunk {
        /// Its kind.
        kind: PathChunkKind,
        /// Its JSON, as it came.
        raw: &'a [u8],
    },
    /// An error: exactly one JSON value, as its bytes.
    Error(&'a [u8]),
}

impl<'a> PathRunResponse<'a> {
    /// Reads one message whole.
    ///
    /// # Errors
    /// The rule broken, with offsets counted from the message's first byte.
    pub fn decode(message: &'a [u8]) -> Result<PathRunResponse<'a>, Malformed> {
        let kind = PathRunKind::of(message)?;
        let raw = message.get(1..).unwrap_or_default();
        let response = match kind {
            PathRunKind::Chunk => judge(raw).map(|kind| PathRunResponse::Chunk { kind, raw }),
            PathRunKind::Error => Shape::Any.judge(raw).map(|()| PathRunResponse::Error(raw)),
        };
        response.map_err(|fault| fault.behind(1))
    }

    /// What it is.
    pub fn kind(&self) -> PathRunKind {
        match self {
            PathRunResponse::Chunk { .. } => PathRunKind::Chunk,
            PathRunResponse::Error(_) => PathRunKind::Error,
        }
    }

    /// The message that says this; raw parts go out as they are.
    pub fn encode(&self) -> Vec<u8> {
        let (PathRunResponse::Chunk { raw, .. } | PathRunResponse::Error(raw)) = self;
        [&[self.kind().byte()], *raw].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_lists_the_kinds_in_their_order() {
        let Shape::Tagged(tagged) = &PATH_CHUNK else {
            panic!("a chunk is tagged")
        };
        let names = tagged.variants.iter().map(|(name, _)| *name);
        assert!(names.eq(PathChunkKind::ALL.iter().map(|kind| kind.name())));
    }
}
