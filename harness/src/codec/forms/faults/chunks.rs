//! What is wrong about chunks and what they hold.

use diverge_protocol::wire::Rule;
use diverge_protocol::wire::surface::Surface;

use super::super::Form;
use super::{VOLUMES, at, fine_with, refuses, takes};

pub(super) fn all() -> Vec<Form> {
    vec![
        takes(
            "codec-any-chunk-type",
            "codec.chunk.types",
            "It takes a chunk of a type that it does not know.",
            |payload, fault| {
                fault.rule == Rule::ConstantExpected
                    && fault.pointer == "/type"
                    && payload.surface == Surface::Chunk
            },
        ),
        takes(
            "codec-types-in-any-case",
            "codec.chunk.types",
            "It takes a type in any case.",
            |payload, fault| {
                fault.rule == Rule::ConstantExpected
                    && fault.pointer == "/type"
                    && fine_with(payload, &payload.text().to_ascii_lowercase())
            },
        ),
        takes(
            "codec-path-user-in-scope",
            "codec.chunk.types",
            "It takes the path revision's user chunk in the scope revision.",
            |payload, fault| {
                fault.rule == Rule::ConstantExpected && payload.has("\"type\":\"user\"")
            },
        ),
        takes(
            "codec-chunk-unread",
            "codec.chunk.types",
            "It does not read what a chunk is inside a response.",
            |payload, fault| {
                payload.surface.has_first_byte()
                    && payload.looks_like() == "chunk"
                    && fault.rule == Rule::ConstantExpected
            },
        ),
        takes(
            "codec-parts-without-key",
            "codec.chunk.key",
            "It takes a part of a message without its key.",
            |_, fault| fault.pointer == "/key" && fault.rule == Rule::MemberMissing,
        ),
        takes(
            "codec-numbers-as-keys",
            "codec.chunk.key",
            "It takes a number for a key.",
            |_, fault| fault.pointer == "/key" && fault.found == "a number",
        ),
        refuses(
            "codec-no-icons",
            "codec.payload.well-formed",
            "It does not know what a link may have besides its address and name.",
            |payload| payload.has("\"icons\"") && payload.has("\"description\""),
        ),
        refuses(
            "codec-no-signature",
            "codec.payload.well-formed",
            "It refuses a chunk with all of its members.",
            |payload| payload.has("\"annotations\"") && payload.has("\"logprobs\""),
        ),
        refuses(
            "codec-messages-are-texts",
            "codec.chunk.any-value",
            "It wants a notification's message to be a text.",
            |payload| payload.has("\"notification\"") && !payload.has("\"message\":\""),
        ),
        takes(
            "codec-any-decimal",
            "codec.logprob.decimal",
            "It takes any text for a decimal.",
            |_, fault| fault.rule == Rule::DecimalExpected && fault.found.starts_with("a string"),
        ),
        takes(
            "codec-decimals-from-anything",
            "codec.logprob.decimal",
            "It takes a truth value or a list for a decimal.",
            |_, fault| fault.rule == Rule::DecimalExpected && !fault.found.starts_with("a string"),
        ),
        refuses(
            "codec-decimals-are-numbers",
            "codec.logprob.decimal",
            "It refuses a decimal that is written as a text.",
            |payload| payload.has("logprob\":\""),
        ),
        refuses(
            "codec-short-decimals",
            "codec.logprob.decimal",
            "It refuses a decimal of more digits than a double holds.",
            |payload| payload.has("-0.12345678901234567890"),
        ),
        takes(
            "codec-empty-results",
            "codec.mcp.result",
            "It takes a tool's response that says nothing.",
            |payload, fault| {
                payload.has("tool_response")
                    && fault.rule == Rule::MemberMissing
                    && fault.pointer.is_empty()
            },
        ),
        takes(
            "codec-any-block",
            "codec.mcp.block",
            "It takes a content block of any type.",
            |_, fault| {
                fault.rule == Rule::ConstantExpected
                    && fault.pointer.starts_with("/content/")
                    && at(fault, "/type")
            },
        ),
        takes(
            "codec-any-audience",
            "codec.mcp.constants",
            "It takes any word for an audience.",
            |_, fault| fault.rule == Rule::ConstantExpected && fault.pointer.contains("/audience/"),
        ),
        takes(
            "codec-any-theme",
            "codec.mcp.constants",
            "It takes any word for a theme or a type of result.",
            |_, fault| {
                fault.rule == Rule::ConstantExpected
                    && (at(fault, "/theme") || at(fault, "/resultType"))
            },
        ),
        takes(
            "codec-empty-resources",
            "codec.mcp.resource-contents",
            "It takes a resource without a text or a blob.",
            |_, fault| fault.rule == Rule::MemberMissing && at(fault, "/resource"),
        ),
        refuses(
            "codec-reads-base64",
            "codec.mcp.data",
            "It refuses data that is not base64.",
            |payload| {
                payload.has("\"data\":\"not ")
                    || payload.has("\"data\":\"QQ=\"")
                    || payload.has("\"data\":\"§")
                    || payload.has("\"data\":\"?")
            },
        ),
        refuses(
            "codec-reads-addresses",
            "codec.mcp.data",
            "It refuses what is no address or no media type.",
            |payload| payload.has("\"uri\":\"no ") || payload.has("\"mimeType\":\"\""),
        ),
        takes(
            "codec-any-mode",
            "codec.refusal.mode",
            "It takes any text for a mode.",
            |_, fault| fault.rule == Rule::ConstantExpected && at(fault, "/mode"),
        ),
        refuses(
            "codec-two-modes",
            "codec.refusal.mode",
            "It does not know the mode read_only.",
            |payload| {
                payload.has("\"read_only\"")
                    && payload
                        .bytes
                        .first()
                        .is_some_and(|byte| VOLUMES.contains(byte))
            },
        ),
    ]
}
