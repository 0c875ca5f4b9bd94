//! Transcripts as JSON Lines, one file a scenario: the links, then the events, without a secret in them.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use diverge_protocol::transcript::{Link, LinkKind, Transcript, What};
use hmac::{Hmac, KeyInit, Mac};
use serde::Serialize;
use serde::de::IgnoredAny;
use serde::ser::Serializer;
use sha2::Sha256;

use super::mask::Mask;
use super::reading::{Read, read};
use crate::verdict::Outcome;

/// A directory that transcripts are written into.
#[derive(Debug)]
pub struct Transcripts {
    directory: PathBuf,
    complained: AtomicBool,
}

impl Transcripts {
    /// Makes the directory where it is not there yet.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn into_directory(directory: &Path) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        Ok(Self {
            directory: directory.to_owned(),
            complained: AtomicBool::new(false),
        })
    }

    /// Writes what happened in a scenario, if anything did, to `iut/topic/name.jsonl` or `iut/topic/name/case.jsonl`.
    /// The first that cannot be written is complained of.
    pub fn write(&self, outcome: &Outcome) {
        if let Err(error) = self.try_write(outcome)
            && !self.complained.swap(true, Ordering::Relaxed)
        {
            crate::output::tell(&format!("error: could not write transcripts: {error}"));
        }
    }

    /// Whether every transcript so far could be written.
    #[must_use]
    pub fn all_written(&self) -> bool {
        !self.complained.load(Ordering::Relaxed)
    }

    fn try_write(&self, outcome: &Outcome) -> io::Result<()> {
        if outcome.transcript.links.is_empty() {
            return Ok(());
        }
        let path = self.directory.join(file_name(&outcome.id));
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut file = io::BufWriter::new(fs::File::create(path)?);
        write(&outcome.transcript, &Digests::new()?, &mut file)?;
        file.flush()
    }
}

/// The id as a path below the directory, whatever characters it has.
fn file_name(id: &str) -> PathBuf {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' {
            c
        } else {
            '_'
        }
    };
    let mut path: PathBuf = id
        .split('/')
        .map(|part| part.chars().map(plain).collect::<String>())
        .collect();
    path.set_extension("jsonl");
    path
}

fn write(transcript: &Transcript, digests: &Digests, out: &mut impl Write) -> io::Result<()> {
    let mask = Mask::of(transcript, &[]);
    for link in &transcript.links {
        write_line(&LinkLine::of(link), out)?;
    }
    for message in read(transcript) {
        write_line(&EventLine::of(&message, &mask, digests), out)?;
    }
    Ok(())
}

/// A transcript as it is written.
#[cfg(test)]
pub(crate) fn written(transcript: &Transcript) -> Vec<u8> {
    let mut out = Vec::new();
    let digests = Digests::new().expect("there is randomness");
    write(transcript, &digests, &mut out).expect("a vector takes everything");
    out
}

fn write_line(line: &impl Serialize, out: &mut impl Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, line)?;
    out.write_all(b"\n")
}

/// Digests by a key that is forgotten with its transcript: they tell which secrets are equal, and nothing else.
struct Digests(Hmac<Sha256>);

impl Digests {
    fn new() -> io::Result<Self> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(|error| io::Error::other(error.to_string()))?;
        Hmac::new_from_slice(&key)
            .map(Self)
            .map_err(io::Error::other)
    }

    fn of(&self, text: &[u8]) -> String {
        let mut keyed = self.0.clone();
        keyed.update(text);
        hex(&keyed.finalize().into_bytes()[..16])
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[derive(Serialize)]
struct LinkLine<'a> {
    link: u32,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'static str>,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<RunLine>,
}

/// The run request that a begin link serves.
#[derive(Serialize)]
struct RunLine {
    link: u32,
    scope: u32,
    generation: u32,
}

impl<'a> LinkLine<'a> {
    fn of(link: &'a Link) -> Self {
        Self {
            link: link.id.0,
            kind: link.kind.as_str(),
            path: match link.kind {
                LinkKind::Path(call) => Some(call.name()),
                _ => None,
            },
            name: &link.name,
            run: link.run.map(|run| RunLine {
                link: run.link.0,
                scope: run.scope,
                generation: run.generation,
            }),
        }
    }
}

#[derive(Serialize)]
struct EventLine<'a> {
    seq: u64,
    time_us: u64,
    link: u32,
    sender: &'static str,
    what: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    subprotocol: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_type: Option<&'a str>,
    #[serde(flatten)]
    head: Option<Head<'a>>,
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        serialize_with = "plain_if_it_can_be"
    )]
    raw: Vec<Piece>,
}

/// What a frame's header and its payload's first byte say.
#[derive(Serialize)]
struct Head<'a> {
    #[serde(rename = "type")]
    frame_type: &'static str,
    scope: u32,
    channel: u32,
    kind: &'a str,
}

/// A piece of a message.
#[derive(Serialize)]
#[serde(untagged)]
enum Piece {
    /// In hex.
    Plain(String),
    /// A secret.
    Masked {
        /// Its length in bytes.
        length: usize,
        /// Equal for equal secrets of one transcript.
        digest: String,
        /// What kind of JSON value it is, where it is one.
        #[serde(skip_serializing_if = "Option::is_none")]
        json: Option<&'static str>,
    },
}

impl<'a> EventLine<'a> {
    fn of(message: &'a Read<'_>, mask: &Mask, digests: &Digests) -> Self {
        let event = message.event;
        let (what, subprotocol, status) = match &event.what {
            What::Opened { subprotocol } => ("opened", subprotocol.as_deref(), None),
            What::Refused { status } => ("refused", None, *status),
            What::Binary(_) => ("binary", None, None),
            What::Text(_) => ("text", None, None),
            What::Request { .. } => ("request", None, None),
            What::Response { status, .. } => ("response", None, Some(*status)),
            What::ServerEvent(_) => ("event", None, None),
            What::Line(_) => ("line", None, None),
            What::Exited { code } => {
                let status = code.and_then(|code| u16::try_from(code).ok());
                ("exited", None, status)
            }
            What::Closed => ("closed", None, None),
            What::Broken => ("broken", None, None),
        };
        let (method, path) = match &event.what {
            What::Request { method, path, .. } => (Some(method.as_str()), Some(path.as_str())),
            _ => (None, None),
        };
        let content_type = match &event.what {
            What::Response { content_type, .. } => content_type.as_deref(),
            _ => None,
        };
        let head = message.frame.as_ref().map(|frame| Head {
            frame_type: frame.kind.name(),
            scope: frame.scope,
            channel: frame.channel,
            kind: &message.word,
        });
        Self {
            seq: event.seq,
            time_us: u64::try_from(event.at.as_micros()).unwrap_or(u64::MAX),
            link: event.link.0,
            sender: event.sender.as_str(),
            what,
            subprotocol,
            status,
            method,
            path,
            content_type,
            head,
            raw: pieces(message, mask, digests),
        }
    }
}

/// The raw bytes, with their secrets masked by place and by value.
fn pieces(message: &Read<'_>, mask: &Mask, digests: &Digests) -> Vec<Piece> {
    let raw = message.raw();
    let place = message
        .secret
        .as_ref()
        .map_or(raw.len()..raw.len(), |secret| secret.place.clone());
    let before = mask.places(&raw[..place.start]).into_iter();
    let after = mask.places(&raw[place.end..]).into_iter();
    let after = after.map(|range| range.start + place.end..range.end + place.end);
    let mut pieces = Vec::new();
    let mut at = 0;
    for secret in before
        .chain([place.clone()])
        .chain(after)
        .filter(|range| !range.is_empty())
    {
        if at < secret.start {
            pieces.push(Piece::Plain(hex(&raw[at..secret.start])));
        }
        let text = &raw[secret.clone()];
        pieces.push(Piece::Masked {
            length: text.len(),
            digest: digests.of(text),
            json: kind_of_json(text),
        });
        at = secret.end;
    }
    if at < raw.len() {
        pieces.push(Piece::Plain(hex(&raw[at..])));
    }
    pieces
}

/// The kind of JSON that a text is. Digits count as a number, since they may stand within one.
fn kind_of_json(text: &[u8]) -> Option<&'static str> {
    if !text.iter().all(u8::is_ascii_digit) {
        serde_json::from_slice::<IgnoredAny>(text).ok()?;
    }
    Some(match text.trim_ascii_start().first()? {
        b'n' => "null",
        b't' | b'f' => "boolean",
        b'"' => "string",
        b'[' => "array",
        b'{' => "object",
        _ => "number",
    })
}

/// A message without a secret is one text.
fn plain_if_it_can_be<S: Serializer>(pieces: &[Piece], serializer: S) -> Result<S::Ok, S::Error> {
    match pieces {
        [Piece::Plain(hex)] => serializer.serialize_str(hex),
        pieces => pieces.serialize(serializer),
    }
}

#[cfg(test)]
mod tests {
    use diverge_protocol::wire::frame::{Frame, FrameType};
    use serde_json::Value;

    use super::super::testing::{self, Talk};
    use super::*;
    use crate::verdict::Verdict;

    const MARKER: &str = "planted-marker-é";

    /// A values object relayed, and its text turning up in a chunk.
    fn leaky() -> Outcome {
        let mut outcome = testing::outcome(Verdict::Pass);
        let values = serde_json::json!({ "name": MARKER }).to_string();
        let mut talk = Talk::default();
        talk.client(FrameType::Authorization, 0, 0, b"\0hunter2");
        talk.proxy(
            FrameType::Response,
            1,
            0,
            &[b"\x04", values.as_bytes()].concat(),
        );
        talk.provider(
            FrameType::Response,
            1,
            0,
            &[b"\x09", values.as_bytes()].concat(),
        );
        talk.provider(
            FrameType::Response,
            1,
            0,
            format!("\u{7}{{\"text\":\"{MARKER}\"}}").as_bytes(),
        );
        talk.provider(FrameType::ResponseFinish, 1, 0, b"");
        outcome.transcript = talk.transcript;
        outcome
    }

    fn lines(outcome: &Outcome) -> Vec<Value> {
        let text = String::from_utf8(written(&outcome.transcript)).expect("it is text");
        assert!(
            !text.contains(MARKER) && !text.contains("hunter2"),
            "{text}"
        );
        assert!(
            !text.contains(&hex(MARKER.as_bytes())) && !text.contains(&hex(b"hunter2")),
            "{text}"
        );
        text.lines()
            .map(|line| serde_json::from_str(line).expect("a line is JSON"))
            .collect()
    }

    #[test]
    fn links_come_first_and_then_every_event_decoded_and_raw() {
        let lines = lines(&leaky());
        assert_eq!(
            lines[0],
            serde_json::json!({"link": 0, "kind": "client", "name": "client"})
        );
        let run = serde_json::json!({"link": 0, "scope": 1, "generation": 0});
        assert_eq!(lines[1]["run"], run);
        let finish = lines.last().expect("there are lines");
        assert_eq!(finish["type"], "response-finish");
        assert_eq!(finish["kind"], "finish");
        assert_eq!(finish["sender"], "provider");
        assert_eq!(
            finish["raw"],
            hex(&Frame::new(FrameType::ResponseFinish, 1, 0, Vec::new()).encode())
        );
    }

    #[test]
    fn equal_secrets_have_equal_digests_in_one_transcript_only() {
        let outcome = leaky();
        let (lines, others) = (lines(&outcome), lines(&outcome));
        let values = |lines: &[Value], at: usize| lines[at]["raw"][1].clone();
        assert_eq!(values(&lines, 3)["json"], "object");
        assert_eq!(values(&lines, 3), values(&lines, 4));
        assert_ne!(values(&lines, 3), values(&others, 3));
        assert_eq!(values(&lines, 5)["length"], MARKER.len());
        assert_eq!(values(&lines, 2)["length"], "hunter2".len());
    }

    #[test]
    fn there_is_a_file_for_each_scenario_by_its_id() {
        let directory = tempfile::tempdir().expect("there is room");
        let transcripts =
            Transcripts::into_directory(&directory.path().join("new")).expect("it can be made");
        transcripts.write(&leaky());
        let text = fs::read_to_string(directory.path().join("new/provider/streams/one-loop.jsonl"));
        assert_eq!(text.expect("the file is there").lines().count(), 7);
        assert_eq!(file_name("a/../b.c/d"), Path::new("a/__/b_c/d.jsonl"));
    }
}
