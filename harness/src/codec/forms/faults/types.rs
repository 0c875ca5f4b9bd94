//! What is wrong about the types of values.

use diverge_protocol::wire::Rule;

use super::super::Form;
use super::{at, number, refuses, takes};

pub(super) fn all() -> Vec<Form> {
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
