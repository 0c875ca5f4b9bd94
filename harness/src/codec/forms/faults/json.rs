//! What is wrong about JSON itself.

use std::borrow::Cow;

use diverge_protocol::wire::Rule;

use super::super::Form;
use super::{fine_with, refuses, starts_with, takes};

pub(super) fn all() -> Vec<Form> {
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
