//! The begin response: what a proxy sends a provider, told by a first byte that the profile names.

use std::fmt;

use super::chunk::{self, ChunkKind};
use super::profile::Profile;
use super::shape::Shape;
use super::vocabulary::vocabulary;
use super::{Malformed, Unsaid};

vocabulary! {
    /// What a begin response is.
    pub enum BeginKind {
        /// The program registered, and declared this.
        Begun = "begun",
        /// The begin failed, or a loop's secrets could not be collected.
        Error = "error",
        /// A chunk of the conversation.
        Chunk = "chunk",
        /// A loop began.
        Active = "active",
        /// The end of a loop, with the secrets that rotate.
        Inactive = "inactive",
    }
}

impl BeginKind {
    /// The kind of a payload by its first byte; nothing behind it is read.
    ///
    /// # Errors
    /// An empty payload, or a first byte that the profile does not name.
    pub fn of(profile: &Profile, payload: &[u8]) -> Result<BeginKind, Malformed> {
        profile.begin_responses.split(payload).map(|(kind, _)| kind)
    }
}

/// One begin response, borrowed from its payload. Debugging output shows what is raw by its length.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum BeginResponse<'a> {
    /// What the program declared: exactly one JSON value, as its bytes.
    Begun(&'a [u8]),
    /// An error: exactly one JSON value, as its bytes.
    Error(&'a [u8]),
    /// A chunk.
    Chunk {
        /// Its kind.
        kind: ChunkKind,
        /// Its JSON, as it came.
        raw: &'a [u8],
    },
    /// A loop began.
    Active,
    /// A loop ended.
    Inactive {
        /// The object of rotating secrets, as it came.
        raw: &'a [u8],
    },
}

impl<'a> BeginResponse<'a> {
    /// Reads one payload whole. An active is read by its first byte alone, like the run response's.
    ///
    /// # Errors
    /// The rule broken, with offsets counted from the payload's first byte.
    pub fn decode(profile: &Profile, payload: &'a [u8]) -> Result<BeginResponse<'a>, Malformed> {
        let (kind, raw) = profile.begin_responses.split(payload)?;
        let response = match kind {
            BeginKind::Begun => Shape::Any.judge(raw).map(|()| BeginResponse::Begun(raw)),
            BeginKind::Error => Shape::Any.judge(raw).map(|()| BeginResponse::Error(raw)),
            BeginKind::Chunk => chunk::judge(raw).map(|kind| BeginResponse::Chunk { kind, raw }),
            BeginKind::Active => Ok(BeginResponse::Active),
            BeginKind::Inactive => Shape::AnyObject
                .judge(raw)
                .map(|()| BeginResponse::Inactive { raw }),
        };
        response.map_err(|fault| fault.behind(1))
    }

    /// What it is.
    pub fn kind(&self) -> BeginKind {
        match self {
            BeginResponse::Begun(_) => BeginKind::Begun,
            BeginResponse::Error(_) => BeginKind::Error,
            BeginResponse::Chunk { .. } => BeginKind::Chunk,
            BeginResponse::Active => BeginKind::Active,
            BeginResponse::Inactive { .. } => BeginKind::Inactive,
        }
    }

    /// The payload that says this; raw parts go out as they are.
    pub fn encode(&self, profile: &Profile) -> Vec<u8> {
        profile.begin_responses.payload(self.kind(), self.raw())
    }

    fn raw(&self) -> &'a [u8] {
        match self {
            BeginResponse::Begun(raw) | BeginResponse::Error(raw) => raw,
            BeginResponse::Chunk { raw, .. } | BeginResponse::Inactive { raw } => raw,
            BeginResponse::Active => &[],
        }
    }
}

impl fmt::Debug for BeginResponse<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BeginResponse")
            .field("kind", &self.kind())
            .field("raw", &Unsaid(self.raw().len()))
            .finish()
    }
}
