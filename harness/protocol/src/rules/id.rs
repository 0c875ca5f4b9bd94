//! The ids that the checkers name.

use super::catalogue::RequirementId;

macro_rules! ids {
    ($($name:ident = $id:literal,)+) => {
        $(pub(super) const $name: RequirementId = RequirementId::known($id);)+

        #[cfg(test)]
        pub(super) const ALL: &[RequirementId] = &[$($name,)+];
    };
}
pub(super) use ids;

ids! {
    HANDSHAKE_PLAIN = "transport.handshake-plain",
    BINARY_ONLY = "transport.binary-only",
    FRAME_HEADER = "frame.header",
    FRAME_FINISH_EMPTY = "frame.finish-empty",
    FRAME_SERVER_TYPES = "frame.server-types",
    AUTH_NOTHING_BEFORE = "auth.nothing-before-credential",
    AUTH_REJECTED_SILENTLY = "auth.rejected-silently",
    AUTH_SECOND_ENDS = "auth.second-credential-ends-connection",
    SCOPE_FINISHED_ONCE = "scope.finished-once",
    SCOPE_SILENT_AFTER_FINISH = "scope.silent-after-finish",
    SCOPE_DUPLICATE_IGNORED = "scope.duplicate-ignored",
    CONNECTIONS_INDEPENDENT = "scope.connections-independent",
    CHANNEL_LIVE_NUMBER = "channel.live-number-not-reused",
    CHANNEL_DUPLICATE_IGNORED = "channel.duplicate-ignored",
    CHANNEL_ENDED_BY_SCOPE = "channel.ended-by-scope-finish",
    CHANNEL_FINISHED_ONCE = "channel.finished-once",
    CHANNEL_WITHOUT_REQUEST = "channel.answer-without-request",
    CHANNEL_UNREADABLE = "channel.unreadable-finished-bare",
    REQUEST_ANSWERED_BARE = "request.answered-bare",
    REQUEST_MISSING_MEMBER = "request.missing-member",
    REQUEST_WRONG_TYPE = "request.wrong-type",
    REQUEST_TRAILING_BYTES = "request.trailing-bytes",
    REQUEST_REPEATED_MEMBER = "request.repeated-member",
    REFUSAL_ERROR = "refusal.error-one-json-value",
    REFUSAL_WELL_FORMED = "refusal.well-formed",
    REFUSAL_STRICT = "refusal.members-strict",
    REFUSAL_THEN_FINISH = "refusal.then-finish",
    REFUSAL_NOTHING_DEPLOYED = "refusal.nothing-deployed",
    BEGIN_ONE_CONNECTION = "begin.one-connection",
    BEGIN_NO_CREDENTIAL = "begin.no-credential",
    BEGIN_FIRST = "begin.first",
    BEGIN_ONCE = "begin.once",
    BEGIN_WELL_FORMED = "begin.well-formed",
    BEGIN_ARGUMENTS_VALUE = "begin.arguments-value",
    BEGIN_ARGUMENTS_BYTES = "begin.arguments-bytes",
    FIRST_RESPONSE = "run.first-response",
    SILENT_BEFORE_ID = "run.silent-before-id",
    EARLY_KEPT = "run.early-channels-kept",
    EARLY_IN_ORDER = "run.early-channels-in-order",
    ID_WELL_FORMED = "run.id-well-formed",
    ID_ONCE = "run.id-once",
    ID_UNIQUE = "run.id-unique",
    ID_UNGUESSABLE = "run.id-unguessable",
    ID_NOT_DERIVED = "run.id-not-derived",
    PAYLOAD_KNOWN = "run.payload-known",
    QUIET_ALLOWED = "run.quiet-allowed",
    SURVIVES_CHANNELS = "run.survives-channel-failures",
    ACTIVE_RELAYED = "run.active.relayed",
    ACTIVE_BARE = "run.active.bare",
    ACTIVE_NOT_IN_LOOP = "run.active.not-in-open-loop",
    ACTIVE_NOT_BEFORE_ID = "run.active.not-before-id",
    ACTIVE_NOT_INVENTED = "run.active.not-invented",
    CHUNK_RELAYED = "run.chunk.relayed",
    CHUNK_VERBATIM = "run.chunk.verbatim",
    CHUNK_IN_ORDER = "run.chunk.in-order",
    CHUNK_ONE_EACH = "run.chunk.one-response-each",
    CHUNK_NOT_INVENTED = "run.chunk.not-invented",
    CHUNK_NOT_OUTSIDE = "run.chunk.not-outside-loop",
    INACTIVE_RELAYED = "run.inactive.relayed",
    INACTIVE_VERBATIM = "run.inactive.verbatim",
    INACTIVE_IN_LOOP = "run.inactive.only-in-open-loop",
    INACTIVE_NOT_INVENTED = "run.inactive.not-invented",
    WORDS_NOT_FORGED = "run.words-not-forged",
    ERROR_RELAYED = "run.error.relayed",
    ERROR_VERBATIM = "run.error.verbatim",
    ERROR_THEN_FINISH = "run.error.then-finish",
    ERROR_NO_INACTIVE = "run.error.no-inactive",
    ERROR_ONLY_FROM_PROXY = "run.error.only-from-proxy",
    ERROR_ONCE = "run.error.once",
    STOP_NO_ANSWER = "stop.no-answer",
    ENQUEUE_REQUEST = "enqueue.request-relayed",
    ENQUEUE_ANSWER = "enqueue.answer-relayed",
    ENQUEUE_VERBATIM = "enqueue.answer-verbatim",
    ENQUEUE_LATE = "enqueue.late-answer",
    ENQUEUE_UNSERVED = "enqueue.unserved",
    ENQUEUE_MANY = "enqueue.many",
    DEQUEUE_REQUEST = "dequeue.request-relayed",
    DEQUEUE_ANSWER = "dequeue.answer-relayed",
    SCHEMA_REQUEST = "schema.request-relayed",
    SCHEMA_ANSWER = "schema.answer-relayed",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_has_every_id() {
        for id in ALL {
            assert_eq!(RequirementId::new(id.as_str()), Some(*id));
        }
    }
}
