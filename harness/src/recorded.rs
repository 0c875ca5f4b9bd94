//! Transcripts read back from the JSON Lines that `run --transcripts` writes.
//!
//! In the place of a masked secret stands other text of its length and kind: the same for the same secret of one
//! transcript, another for another, so that what must be equal is judged as if the secret were there.

use std::collections::HashMap;
use std::io::{self, BufReader, Read};
use std::time::Duration;

use bytes::Bytes;
use diverge_protocol::rules::{Checkers, ProxyCheckers, Revision, Violation};
use diverge_protocol::transcript::{
    AgentCall, Event, Link, LinkId, LinkKind, Role, RunRef, Transcript, What,
};
use diverge_protocol::wire::Profile;
use serde::Deserialize;

use crate::lines::next_line;

/// The longest line that is read, in bytes: a message of 64 MiB in hex, and what stands around it.
const LONGEST: usize = 129 << 20;
/// The longest secret that something can stand in for, in bytes.
const LONGEST_SECRET: usize = 64 << 20;

/// A transcript that was read back.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    /// What happened.
    pub transcript: Transcript,
    /// The line that each event stands in.
    pub lines: Vec<u64>,
    /// What stands in for secrets.
    pub stand_ins: Vec<String>,
}

/// Why a transcript cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RecordedError {
    /// The input fails.
    #[error(transparent)]
    Read(#[from] io::Error),
    /// A line is at fault.
    #[error("line {line}: {why}")]
    Line {
        /// Its number.
        line: u64,
        /// What is wrong, and what was expected.
        why: String,
    },
}

/// Whether a line is of a transcript: of a link, or of something that happened on one.
pub(crate) fn is_line(line: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Any {
        #[serde(rename = "link")]
        _link: u32,
    }
    serde_json::from_slice::<Any>(line).is_ok()
}

impl Recorded {
    /// Reads a transcript to its end, from a first line of this number on.
    pub(crate) fn read(
        first: &[u8],
        number: u64,
        input: &mut BufReader<impl Read>,
    ) -> Result<Self, RecordedError> {
        let mut recorded = Self::default();
        let mut stand_ins = StandIns::default();
        let (mut number, mut line) = (number, first.to_vec());
        loop {
            let at_fault = |why| RecordedError::Line { line: number, why };
            if line.len() > LONGEST {
                return Err(at_fault(format!("it is longer than {LONGEST} bytes")));
            }
            if !line.trim_ascii().is_empty() {
                recorded
                    .line(&line, number, &mut stand_ins)
                    .map_err(at_fault)?;
            }
            number += 1;
            if !next_line(input, LONGEST, &mut line)? {
                break;
            }
        }
        let texts = stand_ins.made.into_values();
        recorded.stand_ins = texts
            .filter_map(|text| String::from_utf8(text).ok())
            .collect();
        Ok(recorded)
    }

    fn line(&mut self, line: &[u8], number: u64, stand_ins: &mut StandIns) -> Result<(), String> {
        #[derive(Deserialize)]
        struct Kind {
            seq: Option<u64>,
        }
        let wrong = |error: serde_json::Error| format!("no line of a transcript: {error}");
        let kind: Kind = serde_json::from_slice(line).map_err(wrong)?;
        if kind.seq.is_none() {
            let link = serde_json::from_slice::<LinkLine>(line)
                .map_err(wrong)?
                .read()?;
            if link.id.0 as usize != self.transcript.links.len() {
                let expected = self.transcript.links.len();
                return Err(format!(
                    "link {} where link {expected} was expected",
                    link.id.0
                ));
            }
            self.transcript.links.push(link);
            return Ok(());
        }
        let event = serde_json::from_slice::<EventLine>(line)
            .map_err(wrong)?
            .read(stand_ins)?;
        if self.transcript.link(event.link).is_none() {
            let link = event.link.0;
            return Err(format!(
                "an event of link {link}, which no line before it tells of"
            ));
        }
        if event.seq != self.transcript.events.len() as u64 {
            let expected = self.transcript.events.len();
            return Err(format!(
                "event {} where event {expected} was expected",
                event.seq
            ));
        }
        self.transcript.events.push(event);
        self.lines.push(number);
        Ok(())
    }
}

/// Whom a transcript tells enough of to be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Judged {
    /// A provider: what it says to its client is there.
    Provider,
    /// A proxy: what it says to its host is there, and what it asks of its agent server.
    Proxy(Revision),
}

impl Judged {
    /// All of a transcript, outermost first. A proxy that stands between a provider under test and no agent server is
    /// the harness's own, and so is a provider between a client under test and no proxy.
    pub(crate) fn of(transcript: &Transcript) -> Vec<Self> {
        let has = |of: fn(LinkKind) -> bool| transcript.links.iter().any(|link| of(link.kind));
        let reads = has(|kind| kind == LinkKind::Output);
        let begins = has(|kind| kind == LinkKind::Begin);
        let provider = has(|kind| kind == LinkKind::Client) && (begins || !reads);
        let calls = has(|kind| matches!(kind, LinkKind::Call | LinkKind::Address));
        let scope = begins && (calls || !provider);
        let path = has(|kind| matches!(kind, LinkKind::Path(_)));
        let parties = [
            (provider, Self::Provider),
            (scope, Self::Proxy(Revision::Scope)),
            (path, Self::Proxy(Revision::Path)),
        ];
        let there = parties.into_iter().filter(|(is, _)| *is);
        there.map(|(_, party)| party).collect()
    }

    /// Its name, for a sentence.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Provider => "a provider",
            Self::Proxy(_) => "a proxy",
        }
    }

    /// Whether there is anything of its own to be judged: silence keeps no rule.
    pub(crate) fn says_something(self, transcript: &Transcript) -> bool {
        transcript.events.iter().any(|event| {
            let kind = transcript.link(event.link).map(|link| link.kind);
            let its = match self {
                Self::Provider => kind == Some(LinkKind::Client) && event.sender == Role::Provider,
                Self::Proxy(_) => {
                    matches!(kind, Some(LinkKind::Begin | LinkKind::Path(_)))
                        && event.sender == Role::Proxy
                }
            };
            its && matches!(event.what, What::Binary(_))
        })
    }

    /// Everything that the checkers find wrong with it in a whole transcript.
    pub(crate) fn judge(self, transcript: &Transcript) -> Vec<Violation> {
        let mut wrong = Vec::new();
        match self {
            Self::Provider => {
                let mut checkers = Checkers::new(Profile::scope());
                transcript.links.iter().for_each(|link| checkers.link(link));
                let events = transcript.events.iter();
                events.for_each(|event| checkers.event(event, &mut wrong));
                checkers.end(&mut wrong);
            }
            Self::Proxy(revision) => {
                let mut checkers = ProxyCheckers::new(Profile::scope(), revision);
                transcript.links.iter().for_each(|link| checkers.link(link));
                let beyond = |event: &&Event| {
                    let link = transcript.link(event.link);
                    link.is_some_and(|link| link.kind != LinkKind::Client)
                };
                let events = transcript.events.iter().filter(beyond);
                events.for_each(|event| checkers.event(event, &mut wrong));
                checkers.end(&mut wrong);
            }
        }
        wrong
    }
}

#[derive(Deserialize)]
struct LinkLine {
    link: u32,
    kind: String,
    path: Option<String>,
    name: String,
    run: Option<RunLine>,
}

#[derive(Deserialize)]
struct RunLine {
    link: u32,
    scope: u32,
    generation: u32,
}

impl LinkLine {
    fn read(self) -> Result<Link, String> {
        let call = || self.path.as_deref().and_then(AgentCall::named);
        let kind = match (self.kind.as_str(), call()) {
            ("client", _) => LinkKind::Client,
            ("begin", _) => LinkKind::Begin,
            ("path", Some(call)) => LinkKind::Path(call),
            ("call", _) => LinkKind::Call,
            ("address", _) => LinkKind::Address,
            ("output", _) => LinkKind::Output,
            _ => {
                return Err(
                    "no `kind` of link that there is: client, begin, path with the `path` \
                            of an exchange, call, address, or output"
                        .to_owned(),
                );
            }
        };
        Ok(Link {
            id: LinkId(self.link),
            kind,
            name: self.name,
            run: self.run.map(|run| RunRef {
                link: LinkId(run.link),
                scope: run.scope,
                generation: run.generation,
            }),
        })
    }
}

#[derive(Deserialize)]
struct EventLine {
    seq: u64,
    time_us: u64,
    link: u32,
    sender: String,
    what: String,
    subprotocol: Option<String>,
    status: Option<u16>,
    method: Option<String>,
    path: Option<String>,
    content_type: Option<String>,
    raw: Option<Raw>,
}

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "`raw` is hex, or a list of hex and of masked pieces"
)]
enum Raw {
    Whole(String),
    Pieces(Vec<Piece>),
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "a piece is hex, or has `length` and `digest`")]
enum Piece {
    Plain(String),
    Masked {
        length: usize,
        digest: String,
        json: Option<String>,
    },
}

impl EventLine {
    fn read(self, stand_ins: &mut StandIns) -> Result<Event, String> {
        const ROLES: [Role; 4] = [Role::Client, Role::Provider, Role::Proxy, Role::AgentServer];
        let sender = ROLES.into_iter().find(|role| role.as_str() == self.sender);
        let has_raw = self.raw.is_some();
        let raw = Bytes::from(stand_ins.bytes(self.raw)?);
        let what = match self.what.as_str() {
            "opened" => What::Opened {
                subprotocol: self.subprotocol,
            },
            "refused" => What::Refused {
                status: self.status,
            },
            "binary" => What::Binary(raw),
            "text" => What::Text(
                String::from_utf8(raw.to_vec()).map_err(|_| "a text message that is not UTF-8")?,
            ),
            "request" => What::Request {
                method: self.method.ok_or("a request without its `method`")?,
                path: self.path.ok_or("a request without its `path`")?,
                body: raw,
            },
            "response" => What::Response {
                status: self.status.ok_or("a response without its `status`")?,
                content_type: self.content_type,
                body: has_raw.then_some(raw),
            },
            "event" => What::ServerEvent(raw),
            "line" => What::Line(raw),
            "exited" => What::Exited {
                code: self.status.map(i32::from),
            },
            "closed" => What::Closed,
            "broken" => What::Broken,
            _ => {
                return Err(
                    "no `what` that there is: opened, refused, binary, text, request, \
                            response, event, line, exited, closed or broken"
                        .to_owned(),
                );
            }
        };
        Ok(Event {
            seq: self.seq,
            at: Duration::from_micros(self.time_us),
            link: LinkId(self.link),
            sender: sender
                .ok_or("no `sender` that there is: client, provider, proxy or agent-server")?,
            what,
        })
    }
}

/// What tells one secret of a transcript from another.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Secret {
    digest: String,
    length: usize,
    json: Option<String>,
}

/// What stands in for the secrets of one transcript.
#[derive(Debug, Default)]
struct StandIns {
    made: HashMap<Secret, Vec<u8>>,
    /// How many there are of a length and kind.
    alike: HashMap<(usize, Option<String>), usize>,
}

impl StandIns {
    fn bytes(&mut self, raw: Option<Raw>) -> Result<Vec<u8>, String> {
        let pieces = match raw {
            None => return Ok(Vec::new()),
            Some(Raw::Whole(hex)) => vec![Piece::Plain(hex)],
            Some(Raw::Pieces(pieces)) => pieces,
        };
        let (mut bytes, mut plain) = (Vec::new(), Vec::new());
        for piece in pieces {
            match piece {
                Piece::Plain(hex) => {
                    crate::decode::unhex(hex.as_bytes(), &mut plain)?;
                    bytes.append(&mut plain);
                }
                Piece::Masked { length, .. } if length > LONGEST_SECRET => {
                    return Err(format!("a secret of more than {LONGEST_SECRET} bytes"));
                }
                Piece::Masked {
                    length,
                    digest,
                    json,
                } => bytes.extend_from_slice(self.of(Secret {
                    digest,
                    length,
                    json,
                })?),
            }
        }
        Ok(bytes)
    }

    fn of(&mut self, secret: Secret) -> Result<&[u8], String> {
        if !self.made.contains_key(&secret) {
            let alike = self
                .alike
                .entry((secret.length, secret.json.clone()))
                .or_default();
            let made = stand_in(secret.json.as_deref(), secret.length, *alike)?;
            *alike += 1;
            self.made.insert(secret.clone(), made);
        }
        Ok(self
            .made
            .get(&secret)
            .map(Vec::as_slice)
            .unwrap_or_default())
    }
}

const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz";
const DIGITS: &[u8] = b"0123456789";
const SPACES: &[u8] = b" \n\t\r";

/// Text of a kind of JSON, or of none, and a length; another for each index, as far as the length has room for them.
fn stand_in(json: Option<&str>, length: usize, index: usize) -> Result<Vec<u8>, String> {
    let word = |word: &str| {
        let spaces = length.saturating_sub(word.len());
        [word.as_bytes(), &counted(SPACES, spaces, index)].concat()
    };
    let between = |open: u8, letters, close: u8| {
        let inner = counted(letters, length.saturating_sub(2), index);
        [&[open], inner.as_slice(), &[close]].concat()
    };
    let behind = |first: u8, letters| {
        let rest = counted(letters, length.saturating_sub(1), index);
        [&[first], rest.as_slice()].concat()
    };
    Ok(match json {
        None => behind(b'x', LETTERS),
        Some("object") => between(b'{', SPACES, b'}'),
        Some("array") => between(b'[', SPACES, b']'),
        Some("string") => between(b'"', LETTERS, b'"'),
        Some("number") if length == 1 => counted(DIGITS, 1, index),
        Some("number") => behind(b'1', DIGITS),
        Some("boolean") if length == 4 || (length > 5 && index.is_multiple_of(2)) => word("true"),
        Some("boolean") => word("false"),
        Some("null") => word("null"),
        Some(_) => return Err("a secret of no kind of JSON that there is".to_owned()),
    })
}

/// The number in the base of these letters, in as many of them as asked for.
fn counted(letters: &[u8], length: usize, mut number: usize) -> Vec<u8> {
    let mut text = vec![letters[0]; length];
    for place in text.iter_mut().rev() {
        if number == 0 {
            break;
        }
        *place = letters[number % letters.len()];
        number /= letters.len();
    }
    text
}

#[cfg(test)]
mod tests;
