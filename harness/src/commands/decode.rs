//! `decode`: payloads in hex, each told to a person or as a line of JSON.

mod explain;

use std::io::{self, BufReader, BufWriter, Read, Write};

use diverge_protocol::wire::Malformed;
use serde::Serialize;

use super::complain;
use crate::cli::DecodeArgs;
use crate::decode::{self, Decoded, Said, Surface};
use crate::lines::next_line;
use crate::output;
use crate::report::{Seen, stand_in};
use crate::verdict::Exit;

/// The longest payload that is read, in bytes; a longer line is told as an error.
const LONGEST: usize = 64 << 20;

/// How deep JSON may nest to be repeated in a line of JSON: what common readers of JSON take.
const DEEPEST: usize = 127;

/// One line of the input.
enum Line<'a> {
    Good(Decoded<'a>),
    Malformed(Malformed),
    NotHex(String),
}

pub(crate) fn decode(args: &DecodeArgs) -> Exit {
    let mut input = BufReader::with_capacity(1 << 16, io::stdin().lock());
    let shown = match args.batch {
        true => decode_lines(args, &mut input, &mut BufWriter::new(io::stdout().lock())),
        false => {
            let mut out = BufWriter::new(anstream::stdout().lock());
            decode_lines(args, &mut input, &mut out)
        }
    };
    match shown {
        Ok(true) => Exit::Conforms,
        Ok(false) => Exit::Fails,
        Err(error) => {
            complain(&format!("could not read standard input: {error}"));
            Exit::Usage
        }
    }
}

/// Reads lines until the input ends; says whether all were good.
fn decode_lines(
    args: &DecodeArgs,
    input: &mut BufReader<impl Read>,
    out: &mut impl Write,
) -> io::Result<bool> {
    let events = args.events_revision.revision();
    let (mut line, mut payload) = (Vec::new(), Vec::new());
    let (mut number, mut good) = (0, true);
    let mut seen = Seen::default();
    while next_line(input, LONGEST * 2 + 2, &mut line)? {
        number += 1;
        let read = if line.len() > LONGEST * 2 + 2 {
            Line::NotHex(format!("the line is longer than {LONGEST} bytes in hex"))
        } else {
            match decode::unhex(&line, &mut payload) {
                Err(why) => Line::NotHex(why),
                Ok(()) => match decode::decode(args.frame, events, &payload) {
                    Ok(decoded) => Line::Good(decoded),
                    Err(fault) => Line::Malformed(fault),
                },
            }
        };
        good &= matches!(read, Line::Good(_));
        if let (false, Some(place)) = (args.show_secrets, secret_place(args.frame, &payload)) {
            seen.see(place);
        }
        let written = match args.batch {
            true => write_line(out, number, &read, args.show_secrets, &seen),
            false => explain::write(out, number, args, &payload, &read, &seen),
        };
        // Whoever writes one line and waits for its answer gets it.
        let flushed = written.and_then(|()| match input.buffer().is_empty() {
            true => out.flush(),
            false => Ok(()),
        });
        if flushed.is_err() {
            output::take(flushed);
            return Ok(good);
        }
    }
    output::take(out.flush());
    Ok(good)
}

/// Where a payload has secrets, if its first byte says so: well formed or not.
fn secret_place(surface: Surface, payload: &[u8]) -> Option<&[u8]> {
    match decode::kind(surface, payload)? {
        "inactive" => payload.get(1..),
        _ => None,
    }
}

#[derive(Serialize)]
struct Rejected<'a> {
    verdict: &'static str,
    rule: &'a str,
    message: String,
}

#[derive(Serialize)]
struct NotHex<'a> {
    verdict: &'static str,
    line: u64,
    message: &'a str,
}

/// Writes one line as JSON.
fn write_line(
    out: &mut impl Write,
    number: u64,
    line: &Line<'_>,
    secrets: bool,
    seen: &Seen,
) -> io::Result<()> {
    match line {
        Line::Good(decoded) => write_good(out, decoded, secrets, seen)?,
        Line::Malformed(fault) => serde_json::to_writer(
            &mut *out,
            &Rejected {
                verdict: "reject",
                rule: fault.rule.as_str(),
                message: fault.to_string(),
            },
        )?,
        Line::NotHex(why) => serde_json::to_writer(
            &mut *out,
            &NotHex {
                verdict: "error",
                line: number,
                message: why,
            },
        )?,
    }
    writeln!(out)
}

fn write_good(
    out: &mut impl Write,
    decoded: &Decoded<'_>,
    secrets: bool,
    seen: &Seen,
) -> io::Result<()> {
    write!(
        out,
        r#"{{"verdict":"accept","kind":"{}","value":"#,
        decoded.kind
    )?;
    match &decoded.said {
        Said::Nothing => write!(out, "null")?,
        Said::Frame(frame) => {
            let (scope, channel, bytes) = (frame.scope, frame.channel, frame.payload.len());
            write!(
                out,
                r#"{{"scope":{scope},"channel":{channel},"payload_bytes":{bytes}"#
            )?;
            if secrets {
                write!(out, r#","payload":"{:x}""#, frame.payload)?;
            }
            write!(out, "}}")?;
        }
        Said::Secrets(text) if !secrets => write!(out, "{}", masked(text, seen))?,
        Said::Json(text) | Said::Secrets(text) if decode::depth(text) > DEEPEST => {
            let bytes = text.len();
            write!(
                out,
                r#"null,"omitted":"{bytes} bytes of JSON nested deeper than {DEEPEST}""#
            )?;
        }
        Said::Json(text) | Said::Secrets(text) => one_line(out, &seen.json(text.trim_ascii()))?,
    }
    write!(out, "}}")
}

/// Writes JSON as it came, except that nothing in it ends the line: a line break between tokens becomes a space, and
/// the characters in strings that some programs take for one are escaped.
fn one_line(out: &mut impl Write, text: &str) -> io::Result<()> {
    let breaks = |c| matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}');
    let mut rest = text;
    while let Some(at) = rest.find(breaks) {
        let (before, behind) = rest.split_at(at);
        write!(out, "{before}")?;
        let mut characters = behind.chars();
        match characters.next() {
            Some('\n' | '\r') | None => write!(out, " ")?,
            Some(other) => write!(out, "\\u{:04x}", u32::from(other))?,
        }
        rest = characters.as_str();
    }
    write!(out, "{rest}")
}

/// An object of secrets as JSON: each name, and in the place of each value its length.
fn masked(text: &str, seen: &Seen) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let Some(members) = decode::members(text) else {
        return quoted(&stand_in(text.len()));
    };
    let members = members.iter().map(|(name, value)| {
        let raw = value.get();
        let bare = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"'));
        format!(
            "{}:{}",
            quoted(&seen.text(name)),
            quoted(&stand_in(bare.unwrap_or(raw).len()))
        )
    });
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use diverge_strategies::{self as strategies, planted};
    use proptest::prelude::*;
    use proptest::strategy::Union;

    use super::*;
    use crate::cli::EventsRevisionArg;

    const MARKER: &str = "planted-7f3a";

    /// What `decode` writes about these payloads.
    fn told(frame: Surface, batch: bool, payloads: &[Vec<u8>]) -> String {
        let args = DecodeArgs {
            frame,
            batch,
            show_secrets: false,
            events_revision: EventsRevisionArg::Document,
        };
        let line = |payload: &Vec<u8>| format!("{:x}\n", bytes::Bytes::copy_from_slice(payload));
        let input: String = payloads.iter().map(line).collect();
        let mut out = Vec::new();
        decode_lines(&args, &mut BufReader::new(input.as_bytes()), &mut out)
            .expect("it is written");
        String::from_utf8(out).expect("UTF-8")
    }

    proptest! {
        #[test]
        fn a_planted_value_turns_up_neither_in_its_line_nor_in_a_later_one(
            inner in planted(MARKER),
            (frame, first) in prop::sample::select(&[(Surface::RunResponse, 9), (Surface::BeginResponse, 4)][..]),
            cut in any::<prop::sample::Index>(),
            batch in any::<bool>(),
        ) {
            let values = format!(r#"{{"K":{inner},"M":"{MARKER}"}}"#);
            let end = (0..=cut.index(values.len() + 1)).rfind(|end| values.is_char_boundary(*end));
            let cut = &values[..end.unwrap_or_default()];
            // What is an error in one frame is begun in the other; each is any JSON.
            let later = format!(r#"{{"so":["it is {MARKER}!"],"{MARKER}":null}}"#);
            let error = if first == 9 { 6 } else { 1 };
            let payloads = [
                [&[first], cut.as_bytes()].concat(),
                [&[first], values.as_bytes()].concat(),
                [&[error], later.as_bytes()].concat(),
            ];
            let told = told(frame, batch, &payloads);
            prop_assert!(!told.contains(MARKER), "{told}");
            prop_assert!(told.contains("‹secret"), "{told}");
        }

        #[test]
        fn a_line_is_accepted_with_its_kind_or_rejected_with_its_rule(
            (frame, payload) in Union::new(
                Surface::ALL.iter().map(|surface| (Just(*surface), strategies::bytes(*surface))),
            ),
        ) {
            let told = told(frame, true, std::slice::from_ref(&payload));
            prop_assert_eq!(told.lines().count(), 1);
            let line: serde_json::Value = serde_json::from_str(&told).expect("a line of JSON");
            match frame.judge(&payload) {
                Ok(kind) => prop_assert_eq!((&line["verdict"], &line["kind"]), (&"accept".into(), &kind.into())),
                Err(fault) => {
                    let rule = fault.rule.as_str().into();
                    prop_assert_eq!((&line["verdict"], &line["rule"]), (&"reject".into(), &rule));
                }
            }
        }
    }
}
