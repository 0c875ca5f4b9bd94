//! The surfaces whose payloads can be told apart by name, as tools are asked about them.

use bytes::Bytes;

use super::agent_event::{self, EventKind, EventRevision};
use super::begin::{BeginKind, BeginResponse};
use super::chunk::{self, ChunkKind};
use super::frame::{Frame, FrameType};
use super::path_run::{PathRunKind, PathRunRequest, PathRunResponse};
use super::run::{RunKind, RunResponse};
use super::vocabulary::{Vocabulary, vocabulary};
use super::{Malformed, Profile};
use crate::rules::Revision;

vocabulary! {
    /// A surface, by the name that `decode --frame` and a codec under test know it by.
    pub enum Surface {
        /// A frame: nine header bytes and a payload.
        Frame = "frame",
        /// What a provider sends on a run scope.
        RunResponse = "run-response",
        /// What a proxy sends on its begin scope.
        BeginResponse = "begin-response",
        /// What a proxy of the path revision sends.
        PathRunResponse = "path-run-response",
        /// What a proxy of the path revision is asked.
        PathRunRequest = "path-run-request",
        /// The JSON of a chunk of the scope revision.
        Chunk = "chunk",
        /// The JSON of an event of an AgentEvent stream.
        AgentEvent = "agent-event",
    }
}

/// The one kind of a path run request.
const REQUEST: &str = "request";

impl Surface {
    /// What it is, in a few words.
    #[must_use]
    pub const fn about(self) -> &'static str {
        match self {
            Surface::Frame => "a frame: nine header bytes and a payload",
            Surface::RunResponse => "what a provider sends on a run scope",
            Surface::BeginResponse => "what a proxy sends on its begin scope",
            Surface::PathRunResponse => "what a proxy of the path revision sends",
            Surface::PathRunRequest => "what a proxy of the path revision is asked",
            Surface::Chunk => "the JSON of a chunk of the scope revision",
            Surface::AgentEvent => "the JSON of an event of an AgentEvent stream",
        }
    }

    /// The kinds that its payloads can be.
    #[must_use]
    pub fn kinds(self) -> Vec<&'static str> {
        fn names<V: Vocabulary>(all: &[V]) -> Vec<&'static str> {
            all.iter().map(|word| word.name()).collect()
        }
        match self {
            Surface::Frame => names(FrameType::ALL),
            Surface::RunResponse => names(RunKind::ALL),
            Surface::BeginResponse => names(BeginKind::ALL),
            Surface::PathRunResponse => names(PathRunKind::ALL),
            Surface::PathRunRequest => vec![REQUEST],
            Surface::Chunk => names(ChunkKind::ALL),
            Surface::AgentEvent => names(EventRevision::Document.kinds()),
        }
    }

    /// Whether the first byte of a payload says what the rest is.
    #[must_use]
    pub const fn has_first_byte(self) -> bool {
        matches!(
            self,
            Surface::RunResponse | Surface::BeginResponse | Surface::PathRunResponse
        )
    }

    /// The revisions of the protocol that have it; events belong to neither, and so to both.
    #[must_use]
    pub const fn revisions(self) -> &'static [Revision] {
        match self {
            Surface::PathRunResponse | Surface::PathRunRequest => &[Revision::Path],
            Surface::AgentEvent => &[Revision::Scope, Revision::Path],
            _ => &[Revision::Scope],
        }
    }

    /// Judges one payload, and says what kind it is. A frame's direction is not judged.
    ///
    /// # Errors
    /// The rule broken.
    pub fn judge(self, payload: &[u8]) -> Result<&'static str, Malformed> {
        Ok(match self {
            Surface::Frame => Frame::decode_strict(Bytes::copy_from_slice(payload))?
                .kind
                .name(),
            Surface::RunResponse => RunResponse::decode(payload)?.kind().name(),
            Surface::BeginResponse => BeginResponse::decode(Profile::scope(), payload)?
                .kind()
                .name(),
            Surface::PathRunResponse => PathRunResponse::decode(payload)?.kind().name(),
            Surface::PathRunRequest => PathRunRequest::decode(payload).map(|_| REQUEST)?,
            Surface::Chunk => chunk::judge(payload)?.name(),
            Surface::AgentEvent => agent_event::judge(EventRevision::Document, payload)?.name(),
        })
    }
}

impl EventRevision {
    /// The kinds of event that the revision has.
    #[must_use]
    pub const fn kinds(self) -> &'static [EventKind] {
        match self {
            EventRevision::Document => EventKind::ALL.split_at(6).0,
            EventRevision::Compaction => EventKind::ALL,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_that_is_told_is_one_of_the_surface() {
        for (surface, payload) in [
            (Surface::Frame, &[3u8, 0, 0, 0, 1, 0, 0, 0, 0][..]),
            (Surface::RunResponse, b"\x08"),
            (Surface::BeginResponse, b"\x00[]"),
            (Surface::PathRunResponse, b"\x01null"),
            (Surface::PathRunRequest, br#"{"prompt":""}"#),
            (
                Surface::Chunk,
                br#"{"type":"notification","is_fatal":true,"message":0}"#,
            ),
            (Surface::AgentEvent, br#"{"type":"error","message":""}"#),
        ] {
            let kind = surface.judge(payload).expect("it is well formed");
            assert!(surface.kinds().contains(&kind), "{surface} {kind}");
            assert!(surface.judge(b"").is_err(), "{surface}");
        }
    }
}
