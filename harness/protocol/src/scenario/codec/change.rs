//! Payloads as a person writes them, and the one change that makes a neighbour of one.

use std::fmt;
use std::str::FromStr;

use crate::wire::mutate::{Mutation, MutationError, Place, mutate};
use crate::wire::surface::Surface;

/// A payload as it is written: `{"type":"usage",…}`, `9 {"token":"t"}` where a first byte says what the rest is, or
/// `hex 02 00000001 …`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload {
    /// The byte in front of the JSON.
    pub first: Option<u8>,
    /// The JSON, or all of what is written in hex.
    pub body: Vec<u8>,
}

impl Payload {
    /// Reads a payload of `surface`.
    ///
    /// # Errors
    /// What is wrong with the text, and what is expected.
    pub fn read(surface: Surface, text: &str) -> Result<Payload, String> {
        if let Some(digits) = text.strip_prefix("hex ") {
            return Ok(Payload {
                first: None,
                body: unhex(digits)?,
            });
        }
        if surface == Surface::Frame {
            return Err("a frame is written as `hex` and its bytes".to_owned());
        }
        if !surface.has_first_byte() {
            return Ok(Payload {
                first: None,
                body: text.as_bytes().to_vec(),
            });
        }
        let (first, body) = text.split_once(' ').unwrap_or((text, ""));
        let first = first.parse().map_err(|_| {
            format!("a {surface} is written as its first byte, in decimal, a space and its JSON, or as `hex` and its bytes")
        })?;
        Ok(Payload {
            first: Some(first),
            body: body.as_bytes().to_vec(),
        })
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        self.first
            .iter()
            .copied()
            .chain(self.body.iter().copied())
            .collect()
    }

    fn text(&self) -> Result<&str, ChangeError> {
        std::str::from_utf8(&self.body).map_err(|_| ChangeError::NotText)
    }
}

impl fmt::Display for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.first, std::str::from_utf8(&self.body)) {
            (Some(first), Ok("")) => write!(f, "{first}"),
            (Some(first), Ok(body)) => write!(f, "{first} {body}"),
            (None, Ok(body)) if body.starts_with(['{', '[', '"']) => f.write_str(body),
            _ => write!(f, "hex {}", hex(&self.bytes())),
        }
    }
}

/// One change of a payload: a named mutation of its JSON, or one of its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A mutation of the JSON.
    Json(Mutation),
    /// `nothing`: leave no byte.
    Nothing,
    /// `first-byte N`: put another first byte in front of the JSON.
    FirstByte(u8),
    /// `put OFFSET HEX`: put other bytes in the place of those there.
    Put(usize, Vec<u8>),
    /// `bytes [PLACE] HEX`: put bytes in the place of a value of the JSON.
    Bytes(Place, Vec<u8>),
    /// `append-bytes HEX`: put bytes behind everything.
    AppendBytes(Vec<u8>),
}

/// A change that cannot be read, or cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// The JSON cannot be mutated so.
    #[error(transparent)]
    Mutation(#[from] MutationError),
    /// It is no change at all.
    #[error("`{verb}` takes {takes}")]
    Arguments {
        /// The verb.
        verb: &'static str,
        /// What must follow it.
        takes: &'static str,
    },
    /// There are no such bytes.
    #[error("there are no such bytes to change: the payload has {0}")]
    NoSuchBytes(usize),
    /// There is no first byte to change.
    #[error("this payload has no first byte in front of its JSON")]
    NoFirstByte,
    /// The payload is no text.
    #[error("the payload is no text, so that no place can be found in it")]
    NotText,
}

const OFFSET_AND_HEX: &str = "a number of bytes to skip, and hex digits";
const PLACE_AND_HEX: &str = "a JSON pointer, which may be left out, and hex digits";

impl FromStr for Change {
    type Err = ChangeError;

    fn from_str(line: &str) -> Result<Change, ChangeError> {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let wrong = |verb, takes| move |_| ChangeError::Arguments { verb, takes };
        Ok(match verb {
            "nothing" if rest.is_empty() => Change::Nothing,
            "first-byte" => Change::FirstByte(
                rest.parse()
                    .map_err(|_| ())
                    .map_err(wrong("first-byte", "a number from 0 to 255"))?,
            ),
            "put" => {
                let (offset, digits) = rest.split_once(' ').unwrap_or((rest, ""));
                let offset = offset
                    .parse()
                    .map_err(|_| ())
                    .map_err(wrong("put", OFFSET_AND_HEX))?;
                let bytes = unhex(digits)
                    .map_err(|_| ())
                    .map_err(wrong("put", OFFSET_AND_HEX))?;
                Change::Put(offset, bytes)
            }
            "bytes" => {
                let (place, digits) = match rest.split_once(' ') {
                    Some((place, digits)) if place.starts_with('/') => {
                        (Place::parse(place), digits)
                    }
                    _ => (Place::default(), rest),
                };
                let bytes = unhex(digits)
                    .map_err(|_| ())
                    .map_err(wrong("bytes", PLACE_AND_HEX))?;
                Change::Bytes(place, bytes)
            }
            "append-bytes" => Change::AppendBytes(
                unhex(rest)
                    .map_err(|_| ())
                    .map_err(wrong("append-bytes", "hex digits"))?,
            ),
            _ => match Mutation::from_str(line) {
                Err(MutationError::UnknownVerb(verb, mut known)) => {
                    known.extend(["nothing", "first-byte", "put", "bytes", "append-bytes"]);
                    return Err(MutationError::UnknownVerb(verb, known).into());
                }
                other => Change::Json(other?),
            },
        })
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::Json(mutation) => mutation.fmt(f),
            Change::Nothing => f.write_str("nothing"),
            Change::FirstByte(byte) => write!(f, "first-byte {byte}"),
            Change::Put(offset, bytes) => write!(f, "put {offset} {}", hex(bytes)),
            Change::Bytes(place, bytes) => {
                let gap = if place.is_whole() { "" } else { " " };
                write!(f, "bytes {place}{gap}{}", hex(bytes))
            }
            Change::AppendBytes(bytes) => write!(f, "append-bytes {}", hex(bytes)),
        }
    }
}

impl Change {
    /// The neighbour that this change makes of a payload.
    ///
    /// # Errors
    /// When the payload has nothing that can be changed so.
    pub fn apply(&self, payload: &Payload) -> Result<Vec<u8>, ChangeError> {
        let first = payload.first.into_iter();
        let with = |body: &[u8]| first.clone().chain(body.iter().copied()).collect();
        let body = &payload.body;
        Ok(match self {
            Change::Nothing => Vec::new(),
            Change::FirstByte(byte) => match payload.first {
                Some(_) => [&[*byte], body.as_slice()].concat(),
                None => return Err(ChangeError::NoFirstByte),
            },
            Change::Put(offset, bytes) => {
                let mut all = payload.bytes();
                let length = all.len();
                let old = all.get_mut(*offset..offset.saturating_add(bytes.len()));
                old.ok_or(ChangeError::NoSuchBytes(length))?
                    .copy_from_slice(bytes);
                all
            }
            Change::AppendBytes(bytes) => [payload.bytes().as_slice(), bytes].concat(),
            Change::Bytes(place, bytes) => {
                let span = place.span_in(payload.text()?)?;
                with(&[&body[..span.start], bytes, &body[span.end..]].concat())
            }
            // Bytes are taken away and put around also where the payload is no text.
            Change::Json(Mutation::Truncate(bytes)) => {
                let mut all = payload.bytes();
                let left = all
                    .len()
                    .checked_sub(*bytes)
                    .ok_or(ChangeError::NoSuchBytes(all.len()))?;
                all.truncate(left);
                all
            }
            Change::Json(mutation) => with(mutate(payload.text()?, mutation)?.as_bytes()),
        })
    }
}

/// The bytes that hex digits spell; spaces between them do not count.
fn unhex(text: &str) -> Result<Vec<u8>, String> {
    let digits: Option<Vec<u8>> = text
        .chars()
        .filter(|c| *c != ' ')
        .map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect();
    match digits {
        Some(digits) if digits.len() % 2 == 0 && !digits.is_empty() => Ok(digits
            .chunks_exact(2)
            .map(|pair| pair[0] << 4 | pair[1])
            .collect()),
        _ => Err("expected bytes in hex, two digits each".to_owned()),
    }
}

/// Bytes in hex, as a codec reads them.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble)]);
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(surface: Surface, payload: &str, change: &str) -> Result<Vec<u8>, String> {
        let change = change
            .parse::<Change>()
            .map_err(|error| error.to_string())?;
        change
            .apply(&Payload::read(surface, payload)?)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_payload_is_read_with_its_first_byte_or_in_hex() {
        let read = |surface, text| Payload::read(surface, text).map(|payload| payload.bytes());
        assert_eq!(read(Surface::RunResponse, "8"), Ok(vec![8]));
        assert_eq!(read(Surface::RunResponse, "6 []"), Ok(b"\x06[]".to_vec()));
        assert_eq!(read(Surface::Chunk, "{}"), Ok(b"{}".to_vec()));
        assert_eq!(
            read(Surface::Frame, "hex 02 00000001"),
            Ok(vec![2, 0, 0, 0, 1])
        );
        for (surface, text) in [
            (Surface::Frame, "2"),
            (Surface::RunResponse, "{}"),
            (Surface::Chunk, "hex 0"),
        ] {
            assert!(read(surface, text).is_err(), "{text}");
        }
    }

    #[test]
    fn each_change_makes_its_neighbour() {
        let run = |change| changed(Surface::RunResponse, r#"1 {"name":"v"}"#, change);
        assert_eq!(run("nothing"), Ok(vec![]));
        assert_eq!(run("first-byte 2"), Ok(b"\x02{\"name\":\"v\"}".to_vec()));
        assert_eq!(run("put 2 2a"), Ok(b"\x01{*name\":\"v\"}".to_vec()));
        assert_eq!(
            run("bytes /name 22 ff 22"),
            Ok(b"\x01{\"name\":\"\xff\"}".to_vec())
        );
        assert_eq!(run("bytes 30"), Ok(b"\x010".to_vec()));
        assert_eq!(
            run("append-bytes 00"),
            Ok(b"\x01{\"name\":\"v\"}\x00".to_vec())
        );
        assert_eq!(run("truncate 12"), Ok(b"\x01".to_vec()));
        assert_eq!(run("drop /name"), Ok(b"\x01{}".to_vec()));
        for wrong in [
            "put 11 2a2a2a",
            "truncate 14",
            "bytes /other 00",
            "put x 00",
            "first-byte 256",
            "vanish",
        ] {
            assert!(run(wrong).is_err(), "{wrong}");
        }
        assert!(changed(Surface::Chunk, "{}", "first-byte 2").is_err());
    }

    #[test]
    fn a_change_is_written_as_it_is_read() {
        for line in [
            "nothing",
            "first-byte 7",
            "put 3 00ff",
            "bytes /a/0 22ff22",
            "bytes ff",
            "append-bytes 0a",
            "set /a 1",
        ] {
            let change: Change = line.parse().expect(line);
            assert_eq!(change.to_string(), line);
        }
    }
}
