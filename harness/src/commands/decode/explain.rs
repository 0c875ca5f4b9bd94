//! One payload told to a person: its bytes, what it says, or what is wrong with it.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::ops::Range;

use diverge_protocol::wire::Malformed;

use super::{Line, masked};
use crate::cli::DecodeArgs;
use crate::decode::{self, Decoded, Place, Said};
use crate::report::Seen;
use crate::report::style::{self, BAD, GOOD, QUIET, STRONG, count, paint, printable, wrap};

/// Columns that the labels take.
const LABEL: usize = 12;
/// At most so many lines of a value are shown, each at most [`style::WIDTH`] wide.
const LINES: usize = 200;
/// At most so many members are told in the byte map.
const MEMBERS: usize = 40;
/// At most so many bytes are shown raw, around the place that matters.
const RAW: usize = 64;

/// Writes the whole story of one line.
pub(super) fn write(
    out: &mut impl Write,
    number: u64,
    args: &DecodeArgs,
    payload: &[u8],
    line: &Line<'_>,
    seen: &Seen,
) -> io::Result<()> {
    let mut story = String::new();
    let about = format!("{}, {}", args.frame.name(), count(payload.len(), "byte"));
    let (verdict, about) = match line {
        Line::Good(decoded) => (
            format!("{}  {}", paint(GOOD, "accept"), paint(STRONG, decoded.kind)),
            about,
        ),
        Line::Malformed(fault) => (
            format!("{}  {}", paint(BAD, "reject"), paint(STRONG, fault.rule)),
            about,
        ),
        Line::NotHex(_) => (paint(BAD, "error"), "not hex".to_owned()),
    };
    let _ = writeln!(story, "line {number}  {verdict}  {}", paint(QUIET, about));
    match line {
        Line::Good(decoded) => good(&mut story, args, payload, decoded, seen),
        Line::Malformed(fault) => malformed(&mut story, args, payload, fault),
        Line::NotHex(why) => entry(&mut story, "because", why),
    }
    writeln!(out, "{story}")
}

fn entry(story: &mut String, name: &str, text: &str) {
    let wrapped = wrap(&printable(text), &" ".repeat(LABEL));
    let label = paint(QUIET, format!("  {name:<width$}", width = LABEL - 2));
    let _ = writeln!(story, "{label}{}", wrapped.trim_start());
}

fn good(story: &mut String, args: &DecodeArgs, payload: &[u8], decoded: &Decoded<'_>, seen: &Seen) {
    let mut places = decode::map(args.frame, payload);
    if let Said::Json(text) | Said::Secrets(text) = &decoded.said {
        places.extend(members_of(payload.len() - text.len(), text, seen));
    }
    bytes(story, &places);
    let value = match &decoded.said {
        Said::Nothing => return,
        Said::Frame(frame) => {
            entry(story, "scope", &frame.scope.to_string());
            entry(story, "channel", &frame.channel.to_string());
            if args.show_secrets {
                entry(story, "payload", &format!("{:x}", frame.payload));
            } else if !frame.payload.is_empty() {
                let length = count(frame.payload.len(), "byte");
                entry(
                    story,
                    "payload",
                    &format!("{length}; --show-secrets shows them"),
                );
            }
            return;
        }
        Said::Secrets(text) if !args.show_secrets => masked(text, seen),
        Said::Secrets(text) | Said::Json(text) => seen.json(text),
    };
    let mut name = "value";
    for line in pretty(value.trim_ascii()) {
        let label = paint(QUIET, format!("  {name:<width$}", width = LABEL - 2));
        let shown = style::fit(&printable(&line), style::WIDTH - LABEL);
        let _ = writeln!(story, "{label}{shown}");
        name = "";
    }
}

fn malformed(story: &mut String, args: &DecodeArgs, payload: &[u8], fault: &Malformed) {
    entry(story, "rule", fault.rule.sentence());
    let pointer = if fault.pointer.is_empty() {
        "the whole value, or what is no JSON"
    } else {
        &fault.pointer
    };
    let place = match fault.offset {
        Some(offset) => format!("{pointer}, noticed at byte {offset}"),
        None => pointer.to_owned(),
    };
    entry(story, "at", &place);
    entry(story, "allowed", &fault.expected);
    entry(story, "found", &fault.found);
    bytes(story, &decode::map(args.frame, payload));
    if payload.is_empty() {
        return;
    }
    if !args.show_secrets {
        // Whatever is malformed may be an inactive in the wrong place, or cut short.
        entry(
            story,
            "text",
            "hidden, since it may hold a secret; --show-secrets shows it",
        );
        return;
    }
    let offset = fault.offset.unwrap_or(0).min(payload.len());
    let around = offset.saturating_sub(RAW / 2)..(offset + RAW / 2).min(payload.len());
    let cut = |at: usize, end: usize| if at == end { "" } else { "…" };
    let text = format!(
        "{}{}⟨here⟩{}{}",
        cut(around.start, 0),
        String::from_utf8_lossy(&payload[around.start..offset]),
        String::from_utf8_lossy(&payload[offset..around.end]),
        cut(around.end, payload.len()),
    );
    entry(story, "text", &text);
}

/// The byte map, ends included as people count them.
fn bytes(story: &mut String, places: &[Place]) {
    let range = |bytes: &Range<usize>| match bytes.len() {
        1 => bytes.start.to_string(),
        _ => format!("{} to {}", bytes.start, bytes.end - 1),
    };
    let ranges: Vec<String> = places.iter().map(|place| range(&place.bytes)).collect();
    let wide = ranges.iter().map(String::len).max().unwrap_or_default();
    for (at, (place, range)) in places.iter().zip(ranges).enumerate() {
        let name = if at == 0 { "bytes" } else { "" };
        entry(story, name, &format!("{range:<wide$}  {}", place.what));
    }
}

/// Where the members of an object stand that begins behind `start` bytes.
fn members_of(start: usize, text: &str, seen: &Seen) -> Vec<Place> {
    let members = decode::members(text).unwrap_or_default();
    let more = members.len().saturating_sub(MEMBERS);
    let mut places: Vec<Place> = members
        .iter()
        .take(MEMBERS)
        .filter_map(|(name, value)| {
            let at = (value.get().as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
            let bytes = start + at..start + at + value.get().len();
            let kind = kind_of(value.get());
            Some(Place {
                bytes,
                what: format!("· {}: {kind}", style::fit(&seen.text(name), 40)),
            })
        })
        .collect();
    if let (Some(last), 1..) = (places.last_mut(), more) {
        let _ = write!(last.what, ", and {} behind it", count(more, "more member"));
    }
    places
}

fn kind_of(raw: &str) -> &'static str {
    match raw.as_bytes().first() {
        Some(b'"') => "a string",
        Some(b'{') => "an object",
        Some(b'[') => "an array",
        Some(b't' | b'f') => "true or false",
        Some(b'n') => "null",
        _ => "a number",
    }
}

/// JSON in lines that show its nesting, every token as it came.
fn pretty(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    let (mut depth, mut quoted, mut escaped) = (0usize, false, false);
    let fresh = |depth: usize| "  ".repeat(depth.min(20));
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        if lines.len() > LINES {
            lines.pop();
            lines.push(format!("… {} more", count(text.len() - at, "byte")));
            break;
        }
        let Some(line) = lines.last_mut() else { break };
        if quoted {
            // What is too wide to be shown is not kept either.
            if line.len() < 4 * style::WIDTH {
                line.push(c);
            }
            (quoted, escaped) = (escaped || c != '"', !escaped && c == '\\');
            continue;
        }
        match c {
            '"' => {
                line.push(c);
                quoted = true;
            }
            '{' | '[' => {
                line.push(c);
                while characters
                    .next_if(|(_, c)| c.is_ascii_whitespace())
                    .is_some()
                {}
                let closes = |next: &(usize, char)| matches!(next.1, '}' | ']');
                if let Some((_, end)) = characters.next_if(closes) {
                    line.push(end);
                } else {
                    depth += 1;
                    lines.push(fresh(depth));
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                lines.push(format!("{}{c}", fresh(depth)));
            }
            ',' => {
                line.push(c);
                lines.push(fresh(depth));
            }
            ':' => line.push_str(": "),
            c if c.is_ascii_whitespace() => {}
            c => line.push(c),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_laid_out_with_every_token_as_it_came() {
        let text = r#"{"a":[1.00,  "x, \"y\": {"],"b":{ },"c":-0.12345678901234567890123}"#;
        let lines = [
            "{",
            "  \"a\": [",
            "    1.00,",
            "    \"x, \\\"y\\\": {\"",
            "  ],",
            "  \"b\": {},",
            "  \"c\": -0.12345678901234567890123",
            "}",
        ];
        assert_eq!(pretty(text), lines);
    }

    #[test]
    fn a_long_value_is_cut_and_says_so() {
        let lines = pretty(&format!("[{}1]", "1,".repeat(10_000)));
        assert_eq!(lines.len(), LINES + 1);
        assert!(lines[LINES].starts_with("… "), "{}", lines[LINES]);
    }
}
