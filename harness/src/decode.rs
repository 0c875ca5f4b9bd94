//! One payload read: what it says, where in it what stands, or the rule that it breaks.

use std::fmt;
use std::ops::Range;

use bytes::Bytes;
use diverge_protocol::wire::agent_event::{self, EventRevision};
use diverge_protocol::wire::begin::BeginResponse;
use diverge_protocol::wire::chunk;
use diverge_protocol::wire::frame::{Frame, HEADER};
use diverge_protocol::wire::path_run::{self, PathRunRequest, PathRunResponse};
use diverge_protocol::wire::run::RunResponse;
use diverge_protocol::wire::{Malformed, Profile};
use serde::de::{Deserializer as _, MapAccess, Visitor};
use serde_json::value::RawValue;

pub use diverge_protocol::wire::surface::Surface;

/// A payload that is well formed.
#[derive(Debug)]
pub(crate) struct Decoded<'a> {
    /// What it is.
    pub kind: &'static str,
    /// What it says.
    pub said: Said<'a>,
}

/// What a payload says.
#[derive(Debug)]
pub(crate) enum Said<'a> {
    /// No more than its kind.
    Nothing,
    /// This JSON, as it came.
    Json(&'a str),
    /// This object of secrets, as it came.
    Secrets(&'a str),
    /// A frame.
    Frame(Frame),
}

/// Reads one payload; an event of an AgentEvent stream by a revision of that surface.
pub(crate) fn decode(
    surface: Surface,
    events: EventRevision,
    payload: &[u8],
) -> Result<Decoded<'_>, Malformed> {
    // What is accepted as JSON is UTF-8.
    let text = |raw| std::str::from_utf8(raw).unwrap_or_default();
    let json = |kind, raw| Decoded {
        kind,
        said: Said::Json(text(raw)),
    };
    let behind_first = payload.get(1..).unwrap_or_default();
    Ok(match surface {
        Surface::Frame => {
            let frame = Frame::decode_strict(Bytes::copy_from_slice(payload))?;
            Decoded {
                kind: frame.kind.name(),
                said: Said::Frame(frame),
            }
        }
        Surface::RunResponse => {
            let response = RunResponse::decode(payload)?;
            let kind = response.kind().name();
            match response {
                RunResponse::Active => Decoded {
                    kind,
                    said: Said::Nothing,
                },
                RunResponse::Inactive { raw } => Decoded {
                    kind,
                    said: Said::Secrets(text(raw)),
                },
                _ => json(kind, behind_first),
            }
        }
        Surface::BeginResponse => {
            let response = BeginResponse::decode(Profile::scope(), payload)?;
            let kind = response.kind().name();
            match response {
                BeginResponse::Active => Decoded {
                    kind,
                    said: Said::Nothing,
                },
                BeginResponse::Inactive { raw } => Decoded {
                    kind,
                    said: Said::Secrets(text(raw)),
                },
                _ => json(kind, behind_first),
            }
        }
        Surface::PathRunResponse => json(
            PathRunResponse::decode(payload)?.kind().name(),
            behind_first,
        ),
        Surface::PathRunRequest => {
            PathRunRequest::decode(payload)?;
            json("request", payload)
        }
        Surface::Chunk => json(chunk::judge(payload)?.name(), payload),
        Surface::AgentEvent => json(agent_event::judge(events, payload)?.name(), payload),
    })
}

/// A run of a payload's bytes, and what it is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The bytes.
    pub bytes: Range<usize>,
    /// What they are, without quoting more of them than a number or a kind.
    pub what: String,
}

/// What the bytes of a payload are, as far as that can be told without its JSON: also of one that is malformed.
pub(crate) fn map(surface: Surface, payload: &[u8]) -> Vec<Place> {
    let place = |bytes: Range<usize>, what: &str| Place {
        bytes,
        what: what.to_owned(),
    };
    let all = payload.len();
    let mut places = Vec::new();
    match surface {
        Surface::Frame => {
            let parts = [
                (0..1, "the type"),
                (1..5, "the scope"),
                (5..HEADER, "the channel"),
            ];
            for (bytes, what) in parts {
                let number = payload.get(bytes.clone()).map(|bytes| {
                    bytes
                        .iter()
                        .fold(0u64, |sum, byte| sum << 8 | u64::from(*byte))
                });
                let Some(number) = number else { break };
                places.push(place(bytes, &format!("{what}, {number}")));
            }
            let known = places.last().map_or(0, |place| place.bytes.end);
            if all > known {
                let rest = if known == HEADER {
                    "the payload"
                } else {
                    "a header cut short"
                };
                places.push(place(known..all, rest));
            }
        }
        Surface::RunResponse | Surface::BeginResponse | Surface::PathRunResponse => {
            let Some(first) = payload.first() else {
                return places;
            };
            let (kind, body) = match kind(surface, payload) {
                Some("active") => ("active", "not read"),
                Some(kind @ "inactive") => (kind, "the object of secrets"),
                Some(kind) => (kind, "JSON"),
                None => ("nothing that this surface has", "unknown"),
            };
            places.push(place(0..1, &format!("the first byte, {first}: {kind}")));
            if all > 1 {
                places.push(place(1..all, body));
            }
        }
        Surface::PathRunRequest | Surface::Chunk | Surface::AgentEvent if all > 0 => {
            places.push(place(0..all, "JSON"));
        }
        Surface::PathRunRequest | Surface::Chunk | Surface::AgentEvent => {}
    }
    places
}

/// The kind that a payload's first byte names, on a surface where it names one.
pub(crate) fn kind(surface: Surface, payload: &[u8]) -> Option<&'static str> {
    use diverge_protocol::wire::{begin::BeginKind, path_run::PathRunKind, run::RunKind};
    match surface {
        Surface::RunResponse => RunKind::of(payload).ok().map(RunKind::name),
        Surface::BeginResponse => BeginKind::of(Profile::scope(), payload)
            .ok()
            .map(BeginKind::name),
        Surface::PathRunResponse => PathRunKind::of(payload)
            .ok()
            .map(path_run::PathRunKind::name),
        _ => None,
    }
}

/// The members of an object, each with its raw value; none where the text is no object or its names are no text.
pub(crate) fn members(text: &str) -> Option<Vec<(String, &RawValue)>> {
    struct Members;
    impl<'de> Visitor<'de> for Members {
        type Value = Vec<(String, &'de RawValue)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut members = Vec::new();
            while let Some(member) = map.next_entry()? {
                members.push(member);
            }
            Ok(members)
        }
    }
    serde_json::Deserializer::from_str(text)
        .deserialize_map(Members)
        .ok()
}

/// How deep a JSON text nests its values.
pub(crate) fn depth(text: &str) -> usize {
    let (mut depth, mut deepest, mut quoted, mut escaped) = (0usize, 0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' | b'[' if !quoted => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// The bytes that a line of hex digits spells, put into `into`; white space around them does not count.
///
/// # Errors
/// What is wrong with the line, which is not quoted: it may hold a secret.
pub(crate) fn unhex(line: &[u8], into: &mut Vec<u8>) -> Result<(), String> {
    into.clear();
    let start = line.len() - line.trim_ascii_start().len();
    let digits = line.trim_ascii();
    let digit = |byte: u8| (byte as char).to_digit(16).map(|digit| digit as u8);
    if let Some(at) = digits.iter().position(|byte| digit(*byte).is_none()) {
        return Err(format!("no hex digit at column {}", start + at + 1));
    }
    if digits.len() % 2 == 1 {
        return Err(format!("{} hex digits are no whole bytes", digits.len()));
    }
    into.reserve(digits.len() / 2);
    into.extend(digits.chunks_exact(2).filter_map(|pair| {
        let [high, low] = [digit(pair[0])?, digit(pair[1])?];
        Some(high << 4 | low)
    }));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_is_read_and_what_is_none_is_told_by_its_column() {
        let mut bytes = Vec::new();
        assert_eq!(unhex(b" 09fF\r", &mut bytes), Ok(()));
        assert_eq!(bytes, [9, 255]);
        assert_eq!(unhex(b"", &mut bytes), Ok(()));
        assert!(bytes.is_empty());
        let wrong = |line: &[u8]| unhex(line, &mut Vec::new()).expect_err("it is wrong");
        assert_eq!(wrong(b" 0g"), "no hex digit at column 3");
        assert_eq!(wrong(b"012"), "3 hex digits are no whole bytes");
    }

    #[test]
    fn depth_counts_brackets_outside_strings() {
        assert_eq!(depth(r#"{"a":[1,"[[[\"{"],"b":{}}"#), 2);
        assert_eq!(depth("7"), 0);
    }

    #[test]
    fn the_map_covers_every_byte_of_anything() {
        for surface in Surface::ALL {
            for first in 0..=u8::MAX {
                for length in [0, 1, 4, 8, 9, 12] {
                    let payload = vec![first; length];
                    let places = map(*surface, &payload);
                    let mut next = 0;
                    for place in &places {
                        assert_eq!(place.bytes.start, next, "{surface:?} {payload:?}");
                        next = place.bytes.end;
                    }
                    assert_eq!(next, length, "{surface:?} {payload:?}");
                }
            }
        }
    }
}
