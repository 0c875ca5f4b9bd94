//! Codecs that are wrong about one thing each, in the way that a hurried port is.

use std::borrow::Cow;

use diverge_protocol::wire::surface::Surface;
use diverge_protocol::wire::{Malformed, Rule};

use super::{Form, Manner, Payload};
use crate::mutants::Duty;

type Takes = fn(&Payload<'_>, &Malformed) -> bool;

/// A codec that accepts what is malformed in one way.
fn takes(name: &'static str, requirement: &'static str, about: &'static str, takes: Takes) -> Form {
    fault(name, requirement, about, Manner::Takes(takes))
}

/// A codec that rejects what is well formed in one way.
fn refuses(
    name: &'static str,
    requirement: &'static str,
    about: &'static str,
    refuses: fn(&Payload<'_>) -> bool,
) -> Form {
    fault(name, requirement, about, Manner::Refuses(refuses))
}

fn fault(
    name: &'static str,
    requirement: &'static str,
    about: &'static str,
    manner: Manner,
) -> Form {
    Form {
        name,
        about,
        duty: Duty::Caught(requirement),
        manner,
    }
}

/// The fault's pointer ends so.
fn at(fault: &Malformed, end: &str) -> bool {
    fault.pointer.ends_with(end)
}

/// The same payload with other bytes is well formed.
fn fine_as(payload: &Payload<'_>, bytes: &[u8]) -> bool {
    payload.surface.judge(bytes).is_ok()
}

/// The same payload with other JSON is well formed.
fn fine_with(payload: &Payload<'_>, json: &str) -> bool {
    let first = &payload.bytes[..payload.bytes.len() - payload.json().len()];
    fine_as(payload, &[first, json.as_bytes()].concat())
}

/// The number at the fault's place, as a double.
fn number(payload: &Payload<'_>, fault: &Malformed) -> Option<f64> {
    let text = std::str::from_utf8(payload.bytes.get(fault.offset?..)?).ok()?;
    let end = text.find([',', '}', ']', ' ']).unwrap_or(text.len());
    text[..end].parse().ok()
}

/// Whether the JSON is of that kind, by its first character.
fn starts_with(payload: &Payload<'_>, first: &[char]) -> bool {
    payload.text().trim_start().starts_with(first)
}

const VOLUMES: std::ops::RangeInclusive<u8> = 1..=5;

pub(super) fn all() -> Vec<Form> {
    let mut all = frames();
    all.extend(json());
    all.extend(objects());
    all.extend(types());
    all.extend(chunks());
    all.extend(revisions());
    all.extend(answers());
    all
}

fn frames() -> Vec<Form> {
    vec![
        takes(
            "codec-short-frames",
            "codec.frame.header",
            "It takes a frame that is cut within its header.",
            |_, fault| fault.rule == Rule::FrameShort,
        ),
        refuses(
            "codec-small-scopes",
            "codec.frame.header",
            "It reads a scope as a number with a sign, and refuses what is below zero.",
            |payload| {
                payload.surface == Surface::Frame
                    && payload.bytes.get(1).is_some_and(|byte| *byte >= 0x80)
            },
        ),
        takes(
            "codec-any-frame-type",
            "codec.frame.type",
            "It takes a frame of any type.",
            |_, fault| fault.rule == Rule::FrameUnknownType,
        ),
        takes(
            "codec-masks-frame-type",
            "codec.frame.type",
            "It reads the type from three bits.",
            |payload, fault| {
                fault.rule == Rule::FrameUnknownType
                    && payload.bytes.first().is_some_and(|byte| byte & 7 < 7)
            },
        ),
        takes(
            "codec-finish-with-payload",
            "codec.frame.finish-empty",
            "It takes a finish with bytes behind its header.",
            |_, fault| fault.rule == Rule::FrameFinishWithPayload,
        ),
        refuses(
            "codec-reads-frame-payload",
            "codec.frame.payload-unread",
            "It reads a response's payload with its frame.",
            |payload| {
                payload.surface == Surface::Frame
                    && payload.bytes.get(9).is_some_and(|byte| *byte > 9)
            },
        ),
        takes(
            "codec-takes-nothing",
            "codec.payload.empty",
            "It takes a payload without a byte for its first kind.",
            |_, fault| fault.rule == Rule::PayloadEmpty,
        ),
        takes(
            "codec-any-first-byte",
            "codec.payload.first-byte",
            "It takes a first byte that it does not know.",
            |_, fault| fault.rule == Rule::PayloadUnknownFirstByte,
        ),
        takes(
            "codec-next-first-byte",
            "codec.payload.first-byte",
            "It counts one first byte too far.",
            |payload, fault| {
                fault.rule == Rule::PayloadUnknownFirstByte && payload.bytes.first() == Some(&10)
            },
        ),
        takes(
            "codec-digits-as-first-byte",
            "codec.payload.first-byte",
            "It takes a digit for the first byte.",
            |payload, fault| {
                fault.rule == Rule::PayloadUnknownFirstByte
                    && payload.bytes.first().is_some_and(u8::is_ascii_digit)
            },
        ),
        refuses(
            "codec-reads-behind-active",
            "codec.payload.active-alone",
            "It refuses bytes behind an active.",
            |payload| payload.looks_like() == "active" && payload.bytes.len() > 1,
        ),
    ]
}

fn json() -> Vec<Form> {
    vec![
        takes(
            "codec-trailing",
            "codec.json.trailing",
            "It reads one value and leaves the rest.",
            |_, fault| fault.rule == Rule::JsonTrailing,
        ),
        takes(
            "codec-trailing-zeros",
            "codec.json.trailing",
            "It takes zero bytes behind the JSON.",
            |payload, fault| fault.rule == Rule::JsonTrailing && payload.bytes.last() == Some(&0),
        ),
        takes(
            "codec-many-values",
            "codec.json.trailing",
            "It takes one value behind the other.",
            |payload, fault| {
                fault.rule == Rule::JsonTrailing
                    && payload
                        .bytes
                        .last()
                        .is_some_and(|byte| b"}\"1l".contains(byte))
            },
        ),
        takes(
            "codec-byte-order-mark",
            "codec.json.byte-order-mark",
            "It passes over a byte order mark.",
            |payload, _| {
                payload
                    .text()
                    .strip_prefix('\u{feff}')
                    .is_some_and(|rest| fine_with(payload, rest))
            },
        ),
        refuses(
            "codec-no-mark-at-all",
            "codec.json.byte-order-mark",
            "It refuses the character of the byte order mark anywhere.",
            |payload| payload.has("\u{feff}"),
        ),
        takes(
            "codec-lossy-text",
            "codec.json.utf-8",
            "It puts a mark in the place of bytes that are not UTF-8.",
            |payload, fault| {
                fault.rule == Rule::JsonEncoding
                    && fine_with(payload, &String::from_utf8_lossy(payload.json()))
            },
        ),
        takes(
            "codec-latin-1",
            "codec.json.utf-8",
            "It reads bytes that are not UTF-8 as Latin-1.",
            |payload, fault| {
                let text: String = payload
                    .json()
                    .iter()
                    .map(|byte| char::from(*byte))
                    .collect();
                fault.rule == Rule::JsonEncoding && fine_with(payload, &text)
            },
        ),
        refuses(
            "codec-no-wide-characters",
            "codec.json.utf-8",
            "It refuses characters of four bytes.",
            |payload| payload.text().chars().any(|c| c.len_utf8() == 4),
        ),
        refuses(
            "codec-errors-are-objects",
            "codec.json.one-value",
            "It refuses an error that is no object.",
            |payload| {
                payload.surface.has_first_byte()
                    && payload.looks_like() == "error"
                    && !starts_with(payload, &['{'])
            },
        ),
        refuses(
            "codec-no-null-error",
            "codec.json.one-value",
            "It refuses null for an error or a begun.",
            |payload| payload.surface.has_first_byte() && payload.text() == "null",
        ),
        takes(
            "codec-error-is-text",
            "codec.json.one-value",
            "It takes any text for an error.",
            |payload, fault| {
                payload.surface.has_first_byte()
                    && payload.looks_like() == "error"
                    && fault.rule == Rule::JsonSyntax
            },
        ),
        takes(
            "codec-relaxed-commas",
            "codec.json.syntax",
            "It takes a comma behind the last member or element.",
            |payload, fault| {
                fault.rule == Rule::JsonSyntax
                    && fine_with(
                        payload,
                        &payload.text().replace(",}", "}").replace(",]", "]"),
                    )
            },
        ),
        takes(
            "codec-comments",
            "codec.json.syntax",
            "It passes over comments.",
            |payload, fault| {
                fault.rule == Rule::JsonSyntax
                    && fine_with(
                        payload,
                        &payload.text().replace("/**/", "").replace("//\n", ""),
                    )
            },
        ),
        takes(
            "codec-single-quotes",
            "codec.json.syntax",
            "It takes strings in single quotes.",
            |payload, fault| {
                fault.rule == Rule::JsonSyntax
                    && fine_with(payload, &payload.text().replace('\'', "\""))
            },
        ),
        takes(
            "codec-python-words",
            "codec.json.syntax",
            "It takes True, False and None.",
            |payload, fault| {
                fault.rule == Rule::JsonSyntax
                    && fine_with(
                        payload,
                        &payload
                            .text()
                            .replace("True", "true")
                            .replace("False", "false")
                            .replace("None", "null"),
                    )
            },
        ),
        takes(
            "codec-cut-short",
            "codec.json.syntax",
            "It closes what is still open at the end.",
            |payload, fault| {
                fault.rule == Rule::JsonSyntax
                    && ["}", "\"}", "]}"]
                        .iter()
                        .any(|end| fine_with(payload, &(payload.text().to_owned() + end)))
            },
        ),
        takes(
            "codec-control-characters",
            "codec.json.strings",
            "It takes control characters in a string.",
            |payload, fault| {
                let text: Cow<'_, str> = payload.text().chars().filter(|c| *c >= ' ').collect();
                fault.rule == Rule::JsonSyntax
                    && text.len() < payload.text().len()
                    && fine_with(payload, &text)
            },
        ),
        takes(
            "codec-any-escape",
            "codec.json.strings",
            "It takes a backslash in front of any character.",
            |payload, fault| {
                fault.rule == Rule::JsonSyntax
                    && payload.has("\\")
                    && fine_with(payload, &payload.text().replace('\\', ""))
            },
        ),
        refuses(
            "codec-no-escaped-pairs",
            "codec.json.strings",
            "It refuses a character that is escaped in two halves.",
            |payload| payload.has("\\ud83d"),
        ),
        refuses(
            "codec-names-as-written",
            "codec.json.strings",
            "It compares names and constants as they are written, escapes and all.",
            |payload| {
                payload.has("{\"\\u")
                    || payload.has("_\\u")
                    || payload.has("\"\\u0061")
                    || payload.has("\\u005")
            },
        ),
        takes(
            "codec-plus-signs",
            "codec.json.numbers",
            "It takes a plus in front of a number.",
            |payload, fault| {
                fault.rule == Rule::JsonSyntax
                    && fine_with(payload, &payload.text().replace('+', ""))
            },
        ),
        takes(
            "codec-bare-points",
            "codec.json.numbers",
            "It takes a point without digits before or behind it.",
            |payload, fault| {
                fault.rule == Rule::JsonSyntax
                    && (payload.text().starts_with('.') || payload.has(".]"))
            },
        ),
        takes(
            "codec-not-a-number",
            "codec.json.numbers",
            "It takes NaN and Infinity.",
            |payload, fault| {
                fault.rule == Rule::JsonSyntax && (payload.has("NaN") || payload.has("Infinity"))
            },
        ),
        takes(
            "codec-leading-zeros",
            "codec.json.numbers",
            "It takes zeros in front of a number.",
            |payload, fault| {
                matches!(fault.rule, Rule::JsonSyntax | Rule::JsonTrailing)
                    && (payload.text().starts_with("09") || payload.has("[07"))
            },
        ),
        refuses(
            "codec-no-white-space",
            "codec.json.white-space",
            "It refuses white space around its JSON.",
            |payload| payload.text().trim() != payload.text(),
        ),
        takes(
            "codec-unicode-spaces",
            "codec.json.white-space",
            "It takes any space of Unicode for white space.",
            |payload, fault| {
                let text: String = payload
                    .text()
                    .chars()
                    .filter(|c| !c.is_whitespace())
                    .collect();
                matches!(fault.rule, Rule::JsonSyntax | Rule::JsonTrailing)
                    && text.len() < payload.text().len()
                    && fine_with(payload, &text)
            },
        ),
    ]
}

fn objects() -> Vec<Form> {
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

fn types() -> Vec<Form> {
    vec![
        takes(
            "codec-texts-from-anything",
            "codec.type.string",
            "It makes a text of a number or a truth value.",
            |_, fault| {
                fault.rule == Rule::StringExpected
                    && (fault.found == "a number" || fault.found == "a boolean")
            },
        ),
        takes(
            "codec-texts-from-lists",
            "codec.type.string",
            "It joins a list of texts to one.",
            |_, fault| fault.rule == Rule::StringExpected && fault.found == "an array",
        ),
        refuses(
            "codec-no-empty-text",
            "codec.type.string",
            "It refuses an empty text, name or id.",
            |payload| payload.has("\"text\":\"\"") || payload.has("\"name\":\"\""),
        ),
        takes(
            "codec-object-for-constant",
            "codec.type.constant-not-object",
            "It takes an object with a constant as its one member for the constant, as derived readers do.",
            |_, fault| {
                fault.rule == Rule::StringExpected
                    && fault.found == "an object"
                    && !at(fault, "text")
                    && !at(fault, "id")
            },
        ),
        takes(
            "codec-truth-from-numbers",
            "codec.type.boolean",
            "It takes 0 and 1 for false and true.",
            |_, fault| fault.rule == Rule::BoolExpected && fault.found == "a number",
        ),
        takes(
            "codec-truth-from-texts",
            "codec.type.boolean",
            "It takes a text for true or false.",
            |_, fault| fault.rule == Rule::BoolExpected && fault.found == "a string",
        ),
        takes(
            "codec-whole-doubles",
            "codec.type.unsigned",
            "It takes 2.0 for a count.",
            |payload, fault| {
                fault.rule == Rule::UnsignedExpected
                    && number(payload, fault)
                        .is_some_and(|it| it >= 0.0 && it.fract() == 0.0 && it < 1e19)
            },
        ),
        takes(
            "codec-rounds-counts",
            "codec.type.unsigned",
            "It reads a count through a double, and loses digits.",
            |payload, fault| {
                fault.rule == Rule::UnsignedExpected
                    && number(payload, fault).is_some_and(|it| it >= 0.0)
            },
        ),
        takes(
            "codec-negative-counts",
            "codec.type.unsigned",
            "It takes a count below zero.",
            |payload, fault| {
                fault.rule == Rule::UnsignedExpected
                    && number(payload, fault).is_some_and(|it| it < 0.0)
            },
        ),
        takes(
            "codec-counts-from-texts",
            "codec.type.unsigned",
            "It takes a count that is written as a text.",
            |_, fault| fault.rule == Rule::UnsignedExpected && fault.found == "a string",
        ),
        refuses(
            "codec-signed-counts",
            "codec.type.unsigned",
            "It holds counts with a sign, and refuses great ones.",
            |payload| {
                payload.has("\":18446744073709551615") || payload.has("\":9223372036854775808")
            },
        ),
        takes(
            "codec-wide-bytes",
            "codec.type.byte",
            "It takes any number for a byte.",
            |_, fault| fault.rule == Rule::ByteExpected && fault.found != "a string",
        ),
        takes(
            "codec-text-bytes",
            "codec.type.byte",
            "It takes a text for a byte.",
            |_, fault| fault.rule == Rule::ByteExpected && fault.found == "a string",
        ),
        takes(
            "codec-double-times",
            "codec.type.integer",
            "It reads a time through a double.",
            |payload, fault| {
                fault.rule == Rule::IntegerExpected && number(payload, fault).is_some()
            },
        ),
        refuses(
            "codec-no-early-times",
            "codec.type.integer",
            "It refuses a time below zero.",
            |payload| payload.has("\"timestampMs\":-"),
        ),
        takes(
            "codec-numbers-from-texts",
            "codec.type.number",
            "It takes a text for a number.",
            |_, fault| fault.rule == Rule::NumberExpected && fault.found == "a string",
        ),
        refuses(
            "codec-numbers-with-points",
            "codec.type.number",
            "It wants a point in a cost.",
            |payload| payload.has("\"costUsd\":2,"),
        ),
        takes(
            "codec-one-for-a-list",
            "codec.type.array",
            "It takes an element for a list of it.",
            |_, fault| fault.rule == Rule::ArrayExpected,
        ),
        takes(
            "codec-empty-object-for-list",
            "codec.type.array",
            "It takes an empty object for an empty list.",
            |_, fault| fault.rule == Rule::ArrayExpected && fault.found == "an object",
        ),
    ]
}

fn chunks() -> Vec<Form> {
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

fn revisions() -> Vec<Form> {
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

fn answers() -> Vec<Form> {
    let judged =
        |name, requirement, about, judge| fault(name, requirement, about, Manner::Judges(judge));
    vec![
        judged(
            "codec-swaps-refusals",
            "codec.answers.kind",
            "It takes one refusal for another.",
            |_, verdict| match verdict.ok() {
                Some("volume-held") => Some("volume-mounted"),
                kind => kind,
            },
        ),
        judged(
            "codec-names-the-frame",
            "codec.answers.kind",
            "It tells a chunk inside a response by its type.",
            |payload, verdict| match verdict.ok() {
                Some("chunk") => payload.types().into_iter().next(),
                kind => kind,
            },
        ),
        judged(
            "codec-kinds-in-lower-case",
            "codec.answers.kind",
            "It spells kinds its own way.",
            |_, verdict| match verdict.ok() {
                Some("assistant_text") => Some("AssistantText"),
                Some("response-finish") => Some("response_finish"),
                kind => kind,
            },
        ),
        fault(
            "codec-explains",
            "codec.answers.line",
            "It tells why it rejects, on the same line.",
            Manner::Says(
                |line| match super::answer(line, |_, verdict| verdict.ok()) {
                    answer if answer == "reject" => "reject: malformed\n".to_owned(),
                    answer => answer + "\n",
                },
            ),
        ),
        fault(
            "codec-skips-empty",
            "codec.answers.line",
            "It does not answer where a payload has no byte.",
            Manner::Says(|line| match line.trim_end().contains(' ') {
                true => super::answer(line, |_, verdict| verdict.ok()) + "\n",
                false => String::new(),
            }),
        ),
        fault(
            "codec-dies-of-deep-ones",
            "codec.answers.line",
            "It dies of a payload that nests three lists.",
            Manner::Says(|line| match line.contains("5b5b5b") {
                true => super::hollow::DIES.to_owned(),
                false => super::answer(line, |_, verdict| verdict.ok()) + "\n",
            }),
        ),
        fault(
            "codec-knows-no-frames",
            "codec.answers.line",
            "It answers with a question mark to what it does not know.",
            Manner::Says(|line| match line.starts_with("path-") {
                true => "?\n".to_owned(),
                false => super::answer(line, |_, verdict| verdict.ok()) + "\n",
            }),
        ),
    ]
}

impl Payload<'_> {
    /// The chunk types that stand in it.
    fn types(&self) -> Vec<&'static str> {
        let kinds = Surface::Chunk.kinds();
        kinds
            .into_iter()
            .filter(|kind| self.has(&format!("\"{kind}\"")))
            .collect()
    }
}
