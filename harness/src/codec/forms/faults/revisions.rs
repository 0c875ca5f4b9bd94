//! What is wrong about the path revision, and about events.

use diverge_protocol::wire::Rule;
use diverge_protocol::wire::surface::Surface;

use super::super::Form;
use super::{at, fine_as, refuses, takes};

pub(super) fn all() -> Vec<Form> {
    vec![
        takes(
            "codec-parts-in-path",
            "codec.path.types",
            "It takes the parts of a message in the path revision.",
            |payload, fault| {
                payload.surface == Surface::PathRunResponse
                    && fault.rule == Rule::ConstantExpected
                    && payload.has("\"user_")
            },
        ),
        takes(
            "codec-any-path-type",
            "codec.path.types",
            "It takes any type in the path revision.",
            |payload, fault| {
                payload.surface == Surface::PathRunResponse && fault.rule == Rule::ConstantExpected
            },
        ),
        takes(
            "codec-user-without-prompt",
            "codec.path.user",
            "It takes a user chunk without a prompt.",
            |_, fault| fault.rule == Rule::MemberMissing && fault.pointer == "/prompt",
        ),
        takes(
            "codec-prompt-of-blocks",
            "codec.path.user",
            "It takes content blocks for a prompt.",
            |_, fault| fault.found == "an array" && fault.pointer == "/prompt",
        ),
        takes(
            "codec-tagged-request",
            "codec.path.request",
            "It passes over a byte in front of a request.",
            |payload, _| {
                payload.surface == Surface::PathRunRequest
                    && payload
                        .bytes
                        .get(1..)
                        .is_some_and(|rest| fine_as(payload, rest))
            },
        ),
        takes(
            "codec-later-request",
            "codec.path.request",
            "It takes a request of another revision.",
            |payload, fault| {
                payload.surface == Surface::PathRunRequest && fault.rule == Rule::MemberMissing
            },
        ),
        takes(
            "codec-custom-events",
            "codec.event.types",
            "It takes the reserved event.",
            |payload, fault| {
                payload.surface == Surface::AgentEvent
                    && fault.rule == Rule::ConstantExpected
                    && payload.has("\"custom\"")
            },
        ),
        takes(
            "codec-later-events",
            "codec.event.types",
            "It takes the event of a later revision.",
            |payload, fault| {
                payload.surface == Surface::AgentEvent
                    && fault.rule == Rule::ConstantExpected
                    && payload.has("\"compaction_boundary\"")
            },
        ),
        takes(
            "codec-any-event",
            "codec.event.types",
            "It takes events of any type.",
            |payload, fault| {
                payload.surface == Surface::AgentEvent
                    && fault.rule == Rule::ConstantExpected
                    && fault.pointer == "/type"
            },
        ),
        takes(
            "codec-partial-events",
            "codec.event.members",
            "It takes an event that lacks a member.",
            |payload, fault| {
                payload.surface == Surface::AgentEvent && fault.rule == Rule::MemberMissing
            },
        ),
        takes(
            "codec-partial-turns",
            "codec.event.members",
            "It takes a turn that lacks a member.",
            |payload, fault| {
                payload.surface == Surface::AgentEvent
                    && fault.rule == Rule::MemberMissing
                    && fault.pointer.starts_with("/transcript/")
            },
        ),
        takes(
            "codec-any-role",
            "codec.event.roles",
            "It takes any word for a role.",
            |_, fault| fault.rule == Rule::ConstantExpected && at(fault, "/role"),
        ),
        refuses(
            "codec-no-tool-role",
            "codec.event.roles",
            "It does not know the role of a tool's result.",
            |payload| payload.has("\"role\":\"tool_result\""),
        ),
        refuses(
            "codec-says-whether-error",
            "codec.event.defaults",
            "It wants each result to say whether it is a failure.",
            |payload| {
                payload.surface == Surface::AgentEvent
                    && payload.has("\"tool_result\",")
                    && !payload.has("\"isError\"")
            },
        ),
        refuses(
            "codec-counts-all-tokens",
            "codec.event.defaults",
            "It wants the tokens that were read to be counted.",
            |payload| payload.has("\"tokens\":{") && !payload.has("\"input\""),
        ),
        refuses(
            "codec-inputs-are-objects",
            "codec.event.any-value",
            "It wants a tool's input to be an object.",
            |payload| payload.has("\"tool_use\"") && !payload.has("\"input\":{"),
        ),
        refuses(
            "codec-outputs-are-texts",
            "codec.event.any-value",
            "It wants a tool's output to be a text.",
            |payload| payload.has("\"tool_result\",") && !payload.has("\"output\":\""),
        ),
    ]
}
