//! What is wrong about objects and their members.

use diverge_protocol::wire::Rule;
use diverge_protocol::wire::surface::Surface;

use super::super::Form;
use super::{fine_with, refuses, takes};

pub(super) fn all() -> Vec<Form> {
    vec![
        takes(
            "codec-arrays-for-objects",
            "codec.object.not-array",
            "It takes an array of an object's values for the object, as derived readers do.",
            |_, fault| fault.rule == Rule::ObjectExpected && fault.found == "an array",
        ),
        takes(
            "codec-arrays-inside",
            "codec.object.not-array",
            "It takes such an array for an object inside another.",
            |_, fault| {
                fault.rule == Rule::ObjectExpected
                    && fault.found == "an array"
                    && !fault.pointer.is_empty()
            },
        ),
        takes(
            "codec-defaults",
            "codec.object.required",
            "It takes a missing member for an empty one.",
            |_, fault| fault.rule == Rule::MemberMissing,
        ),
        takes(
            "codec-defaults-inside",
            "codec.object.required",
            "It does not look for missing members two levels down.",
            |_, fault| fault.rule == Rule::MemberMissing && fault.pointer.matches('/').count() > 2,
        ),
        takes(
            "codec-null-for-required",
            "codec.object.required-not-null",
            "It takes null for a member that must be there.",
            |_, fault| fault.found == "null" && !fault.pointer.is_empty(),
        ),
        refuses(
            "codec-no-null",
            "codec.object.optional-null",
            "It refuses null for an optional member.",
            |payload| payload.has(":null"),
        ),
        takes(
            "codec-last-wins",
            "codec.object.repeated",
            "Of a repeated member it takes the last.",
            |_, fault| fault.rule == Rule::MemberRepeated,
        ),
        takes(
            "codec-repeats-inside",
            "codec.object.repeated",
            "It takes repeated members in objects inside others.",
            |_, fault| fault.rule == Rule::MemberRepeated && fault.pointer.matches('/').count() > 1,
        ),
        refuses(
            "codec-closed-objects",
            "codec.object.unknown-ignored",
            "It refuses members that it does not know, in every object.",
            |payload| {
                [
                    "\"more\"",
                    "\"agent\"",
                    "\"rank\"",
                    "\"cost\"",
                    "\"level\"",
                    "\"model\"",
                ]
                .iter()
                .any(|name| payload.has(name))
            },
        ),
        takes(
            "codec-unknown-in-refusals",
            "codec.refusal.unknown-member",
            "It ignores members of a refusal that it does not know.",
            |_, fault| fault.rule == Rule::MemberUnknown,
        ),
        takes(
            "codec-one-refusal",
            "codec.refusal.unknown-member",
            "It reads all refusals as one object with an optional mode.",
            |payload, fault| fault.rule == Rule::MemberUnknown && payload.has("\"mode\""),
        ),
        takes(
            "codec-names-in-any-case",
            "codec.object.names-exact",
            "It takes the names of members in any case.",
            |payload, fault| {
                let lower = payload.text().to_ascii_lowercase();
                lower != payload.text()
                    && matches!(fault.rule, Rule::MemberMissing | Rule::MemberUnknown)
                    && fine_with(payload, &lower)
            },
        ),
        takes(
            "codec-two-spellings",
            "codec.object.names-exact",
            "It takes a name in snake case or camel case.",
            |payload, fault| {
                let name = fault
                    .pointer
                    .rsplit('/')
                    .next()
                    .unwrap_or_default()
                    .replace('_', "")
                    .to_ascii_lowercase();
                fault.rule == Rule::MemberMissing
                    && payload
                        .text()
                        .replace('_', "")
                        .to_ascii_lowercase()
                        .contains(&format!("\"{name}\":"))
            },
        ),
        refuses(
            "codec-type-first",
            "codec.object.any-order",
            "It wants the type in front of the other members.",
            |payload| {
                payload.has("\"type\"")
                    && !payload.text().trim_start().starts_with("{\"type\"")
                    && matches!(payload.surface, Surface::Chunk | Surface::AgentEvent)
            },
        ),
        refuses(
            "codec-sorted-members",
            "codec.object.any-order",
            "It wants members in the order of the listings.",
            |payload| {
                payload.text().starts_with("{\"mode\"")
                    || payload.text().starts_with("{\"prompt\"") && payload.has("\"type\"")
            },
        ),
        takes(
            "codec-text-for-object",
            "codec.type.object",
            "It takes a text for an object of one member.",
            |_, fault| fault.rule == Rule::ObjectExpected && fault.found == "a string",
        ),
        takes(
            "codec-null-for-object",
            "codec.type.object",
            "It takes null for an object.",
            |_, fault| fault.rule == Rule::ObjectExpected && fault.found == "null",
        ),
        takes(
            "codec-any-values",
            "codec.values.object",
            "It takes any JSON for the values.",
            |payload, fault| {
                payload.looks_like() == "inactive" && fault.rule == Rule::ObjectExpected
            },
        ),
        refuses(
            "codec-values-are-text",
            "codec.values.object",
            "It wants the values of secrets to be texts.",
            |payload| {
                payload.looks_like() == "inactive" && payload.text() != "{}" && !payload.has(":\"")
            },
        ),
    ]
}
