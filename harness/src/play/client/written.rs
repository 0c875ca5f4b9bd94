//! What a client's process writes of its run, against what the provider has sent: where the harness plays the provider,
//! and where it only listens in on one.

use std::collections::VecDeque;

use diverge_protocol::rules::RequirementId;
use diverge_protocol::scenario::acts::{ClientEnd, Told};
use diverge_protocol::transcript::LinkId;
use diverge_protocol::wire::client_line::ClientLine;
use diverge_protocol::wire::credential_payload;
use diverge_protocol::wire::frame::{Frame, FrameType};
use diverge_protocol::wire::profile::Profile;
use diverge_protocol::wire::run::RunResponse;
use serde_json::Value;

use super::super::describe;
use super::super::halt::{Halt, Peek, diverged};
use crate::client::Given;

/// The output of one client.
pub(crate) struct Written {
    /// The link of its lines.
    pub link: LinkId,
    /// What it must tell of what the provider sent, oldest first.
    pub due: VecDeque<ClientLine>,
    /// The provider has finished its run.
    pub finished: bool,
    /// How the client's process ended.
    pub ended: Option<Ended>,
    /// Lines that no step has read.
    lines: VecDeque<(u64, ClientLine)>,
    /// It has told trouble.
    troubled: bool,
    /// How many loops it has told the end of.
    pub loops: usize,
}

/// How a client's process ended.
#[derive(Debug, Clone)]
pub(crate) struct Ended {
    pub seq: u64,
    pub code: Option<i32>,
    /// What it said last, for a person.
    pub said: Vec<String>,
}

impl Written {
    pub(crate) fn new(link: LinkId) -> Self {
        Self {
            link,
            due: VecDeque::new(),
            finished: false,
            ended: None,
            lines: VecDeque::new(),
            troubled: false,
            loops: 0,
        }
    }

    /// Takes in a line. An event of a client's own, a blank line: its affair.
    pub(crate) fn line(&mut self, seq: u64, line: &[u8]) {
        if let Ok(line) = ClientLine::decode(line)
            && !matches!(line, ClientLine::Other(_))
        {
            self.troubled |= line.is_trouble();
            self.lines.push_back((seq, line));
        }
    }

    /// Notes what the client must tell of a response.
    pub(crate) fn owes(&mut self, payload: &[u8]) {
        self.due.extend(line_of(payload));
    }

    /// The first line that no step has read, in words.
    pub(crate) fn left(&self) -> Option<(u64, String)> {
        let (seq, line) = self.lines.front()?;
        Some((*seq, in_words(line)))
    }

    /// Where a client is gone, nothing more will come of it.
    pub(crate) fn gone(&self, allowed: &str, blamed: Option<RequirementId>) -> Peek {
        match &self.ended {
            Some(ended) => Peek::other(allowed, &end_in_words(ended), Some(ended.seq), blamed),
            None => Peek::Pending,
        }
    }

    /// The requirement that is broken where what is due first is not told, or not told well.
    pub(crate) fn untold(&self) -> Option<RequirementId> {
        self.of(self.due.front()?)
    }

    /// The requirement that such a line is told, and told once.
    fn of(&self, line: &ClientLine) -> Option<RequirementId> {
        RequirementId::new(match line {
            ClientLine::Id(_) => "client.id.told",
            ClientLine::Refused { .. } => "client.refusal.told",
            ClientLine::Error(_) if self.loops == 0 => "client.error.early",
            ClientLine::Error(_) => "client.error.late",
            ClientLine::Active if self.loops > 0 => "client.loop.repeats",
            ClientLine::Active => "client.active.told",
            ClientLine::Chunk(_) => "client.chunk.told",
            ClientLine::Inactive(_) => "client.inactive.told",
            ClientLine::Finished => "client.finish.told",
            _ => "client.trouble.told",
        })
    }

    /// Whether the next line is `told`, of the oldest such thing that is due or else with the text that is `given`.
    pub(super) fn peek_told(
        &mut self,
        told: Told,
        given: Option<String>,
        secret: &str,
        blamed: Option<RequirementId>,
        read: &mut Vec<u64>,
    ) -> Peek {
        let due = self.due.iter().position(|due| told.is(due));
        let wanted = match given {
            Some(raw) => match told {
                Told::Error => Some(ClientLine::Error(raw)),
                Told::Chunk => Some(ClientLine::Chunk(raw)),
                Told::Inactive => Some(ClientLine::Inactive(raw)),
                _ => None,
            },
            None => due.and_then(|due| self.due.get(due).cloned()),
        };
        let allowed = match (&wanted, told) {
            (Some(wanted), _) => in_words(wanted),
            (None, Told::Trouble) => "`malformed` or `protocol-error`".to_owned(),
            (None, _) => format!("`{}`", told.name()),
        };
        let silent = RequirementId::new("client.trouble.told");
        let troubled = told == Told::Trouble;
        let Some((seq, line)) = self.lines.front().cloned() else {
            let blamed = if troubled { silent } else { blamed };
            return self.gone(&allowed, blamed);
        };
        if !told.is(&line) {
            // Nothing was made of it, so that it was not taken for anything either.
            let dropped = troubled && line == ClientLine::Finished;
            let blamed = if dropped { silent } else { blamed };
            return Peek::other(&allowed, &in_words(&line), Some(seq), blamed);
        }
        if let Some(other) = wanted.as_ref().and_then(|due| difference(&line, due)) {
            let finer = other.and_then(RequirementId::new);
            return Peek::other(&allowed, &received(&line), Some(seq), finer.or(blamed));
        }
        if let Some(quoted) = troubled.then(|| quoted(&line, secret)).flatten() {
            return Peek::other(
                "a message that quotes none of the values",
                "one that quotes a value",
                Some(seq),
                Some(quoted),
            );
        }
        if let Some(due) = due {
            self.due.remove(due);
        }
        self.lines.pop_front();
        read.push(seq);
        Peek::Met
    }

    /// Whether the next line tells what is due first, and that is `told`; `blamed` is what is broken where it is not.
    pub(crate) fn peek_first(
        &mut self,
        told: Told,
        blamed: Option<RequirementId>,
        read: &mut Vec<u64>,
    ) -> Peek {
        let Some(due) = self.due.front().cloned() else {
            let allowed = format!("`{}`, once the provider has sent it", told.name());
            return match self.lines.front() {
                Some((seq, line)) => {
                    Peek::other(&allowed, &in_words(line), Some(*seq), self.of(line))
                }
                None => self.gone(&allowed, RequirementId::new("client.finish.told")),
            };
        };
        let untold = self.untold();
        let Some((seq, line)) = self.lines.front().cloned() else {
            return self.gone(&in_words(&due), untold);
        };
        if let Some(finer) = difference(&line, &due) {
            let finer = finer.and_then(RequirementId::new);
            let allowed = in_words(&due);
            return Peek::other(&allowed, &received(&line), Some(seq), finer.or(untold));
        }
        if !told.is(&line) {
            // It tells what came, and that this came is not its fault.
            let allowed = format!("`{}`", told.name());
            return Peek::other(&allowed, &in_words(&line), Some(seq), blamed);
        }
        self.loops += usize::from(told == Told::Inactive);
        self.due.pop_front();
        self.lines.pop_front();
        read.push(seq);
        Peek::Met
    }

    pub(crate) fn peek_ended(
        &mut self,
        end: ClientEnd,
        blamed: Option<RequirementId>,
        read: &mut Vec<u64>,
    ) -> Peek {
        let allowed = match end {
            ClientEnd::Well => "the client's end with the exit status 0, and no line before it",
            ClientEnd::Anyhow => "the client's end, and no line before it but of trouble",
            ClientEnd::Lost => "the client's end, and no line before it but of a lost connection",
        };
        while let Some((seq, line)) = self.lines.front() {
            let passes = match end {
                ClientEnd::Well => false,
                ClientEnd::Anyhow => {
                    line.is_trouble() || (*line == ClientLine::Finished && self.finished)
                }
                ClientEnd::Lost => line.is_trouble(),
            };
            if !passes {
                let taken = end == ClientEnd::Lost && *line == ClientLine::Finished;
                let lost = taken.then(|| RequirementId::new("client.finish.lost"));
                let blamed = lost.flatten().or(blamed);
                return Peek::other(allowed, &in_words(line), Some(*seq), blamed);
            }
            self.lines.pop_front();
        }
        let Some(ended) = &self.ended else {
            return Peek::Pending;
        };
        let shown = self.troubled || ended.code != Some(0);
        match end {
            ClientEnd::Well if ended.code != Some(0) => self.gone(allowed, blamed),
            ClientEnd::Lost if !shown => {
                let unshown = RequirementId::new("client.finish.loss-shown");
                let allowed = "a line that tells of the lost connection, or another exit status";
                self.gone(allowed, unshown)
            }
            _ => {
                read.push(ended.seq);
                Peek::Met
            }
        }
    }
}

/// Fails where a client's credential, or its run request, is not the one that it was given.
///
/// # Errors
/// With what differs; `seq` is the message.
pub(crate) fn as_given(frame: &Frame, given: &Given, seq: u64) -> Result<(), Halt> {
    let differs = |allowed, received, id| {
        let id = RequirementId::new(id);
        Err(diverged(allowed, received, Some(seq), id))
    };
    match frame.kind {
        FrameType::Authorization if frame.payload != credential_payload(&given.credential) => {
            differs(
                "the credential that the client was given",
                "another credential",
                "client.connection.credential-given",
            )
        }
        FrameType::Request => {
            let asked = Profile::scope().run_request.split(&frame.payload);
            let asked = asked.map_or_else(|_| Value::Null, |(_, json)| value(json));
            if asked == value(given.request.as_bytes()) {
                return Ok(());
            }
            differs(
                "the run request that the client was given",
                "a run request that differs from it",
                "client.run.as-given",
            )
        }
        _ => Ok(()),
    }
}

/// JSON as a value; what cannot be read equals nothing that was given.
fn value(json: &[u8]) -> Value {
    serde_json::from_slice(json).unwrap_or_default()
}

/// What a client tells of a response: of one that cannot be read, that it is malformed.
fn line_of(payload: &[u8]) -> Option<ClientLine> {
    let text = |raw: &[u8]| String::from_utf8_lossy(raw).into_owned();
    Some(match RunResponse::decode(payload) {
        // A step that expects trouble waits for no text.
        Err(_) => return None,
        Ok(RunResponse::Id(id)) => ClientLine::Id(id),
        Ok(RunResponse::Refusal { kind, name, mode }) => ClientLine::Refused {
            kind: kind.run_kind().name().to_owned(),
            name,
            mode: mode.map(|mode| mode.name().to_owned()),
        },
        Ok(RunResponse::Error(raw)) => ClientLine::Error(text(raw)),
        Ok(RunResponse::Chunk { raw, .. }) => ClientLine::Chunk(text(raw)),
        Ok(RunResponse::Active) => ClientLine::Active,
        Ok(RunResponse::Inactive { raw }) => ClientLine::Inactive(text(raw)),
    })
}

/// A line in words, without the values of an inactive.
fn in_words(line: &ClientLine) -> String {
    let event = line.event();
    match line {
        ClientLine::Id(text)
        | ClientLine::Error(text)
        | ClientLine::Chunk(text)
        | ClientLine::Malformed(text)
        | ClientLine::ProtocolError(text) => {
            format!("`{event}`: {}", describe::shorten(text, 160))
        }
        ClientLine::Refused { kind, name, mode } => {
            let mode = mode.as_ref().map(|mode| format!(", mode {mode}"));
            format!("`{event}`: {kind}, name {name}{}", mode.unwrap_or_default())
        }
        ClientLine::Inactive(raw) => format!("`{event}` ({} bytes)", raw.len()),
        ClientLine::Active | ClientLine::Finished | ClientLine::Other(_) => format!("`{event}`"),
    }
}

/// A line in words that is of the right event.
fn received(line: &ClientLine) -> String {
    match line {
        ClientLine::Inactive(_) => "an `inactive` with other characters".to_owned(),
        line => in_words(line),
    }
}

fn end_in_words(ended: &Ended) -> String {
    let mut words = match ended.code {
        Some(code) => format!("the client's end with the exit status {code}"),
        None => "the client's end by a signal".to_owned(),
    };
    let said = ended.said.join(" ⏎ ");
    if !said.is_empty() {
        words.push_str("; on its standard error: ");
        words.push_str(&said);
    }
    words
}

/// A refusal's kind in its bare letters: how it is spelled is the client's affair.
fn bare_kind(kind: &str) -> String {
    let letters = kind.chars().filter(|c| c.is_ascii_alphanumeric());
    let letters: String = letters.map(|c| c.to_ascii_lowercase()).collect();
    letters
        .strip_prefix("volume")
        .map_or(letters.clone(), str::to_owned)
}

/// What of a line that is of the right event is not as it must be, and the requirement for that where it has one.
fn difference(line: &ClientLine, due: &ClientLine) -> Option<Option<&'static str>> {
    let differ = match (line, due) {
        (
            ClientLine::Refused { kind, name, mode },
            ClientLine::Refused {
                kind: wanted,
                name: volume,
                mode: its,
            },
        ) => {
            if bare_kind(kind) != bare_kind(wanted) || name != volume {
                return Some(None);
            }
            return (mode != its).then_some(Some("client.refusal.mode"));
        }
        (ClientLine::Error(raw), ClientLine::Error(sent)) if raw != sent => {
            Some("client.error.verbatim")
        }
        (ClientLine::Chunk(raw), ClientLine::Chunk(sent)) if raw != sent => {
            // Another chunk is not this one in other characters.
            let same = |a: &str, b: &str| {
                let read = |text: &str| serde_json::from_str::<Value>(text).ok();
                read(a).is_some_and(|a| Some(a) == read(b))
            };
            same(raw, sent).then_some("client.chunk.verbatim")
        }
        (ClientLine::Inactive(raw), ClientLine::Inactive(sent)) if raw != sent => {
            Some("client.inactive.verbatim")
        }
        _ if line == due => return None,
        _ => None,
    };
    Some(differ)
}

/// The requirement that is broken where what is said of trouble quotes the scenario's secret.
fn quoted(line: &ClientLine, secret: &str) -> Option<RequirementId> {
    let (ClientLine::Malformed(text) | ClientLine::ProtocolError(text)) = line else {
        return None;
    };
    text.contains(secret)
        .then(|| RequirementId::new("client.inactive.unquoted"))
        .flatten()
}

#[cfg(test)]
mod tests {
    use diverge_protocol::wire::run::RunKind;

    use super::*;

    /// What the provider has sent, and what the client has written of it.
    fn written(due: &[&[u8]], lines: &[&str]) -> Written {
        let mut written = Written::new(LinkId(0));
        due.iter().for_each(|payload| written.owes(payload));
        let mut lines = lines.iter().zip(0..);
        lines
            .by_ref()
            .for_each(|(line, seq)| written.line(seq, line.as_bytes()));
        written
    }

    fn blamed(peek: Peek) -> Vec<&'static str> {
        let Peek::Diverged(Halt::Diverged(divergence)) = peek else {
            panic!("nothing is wrong");
        };
        divergence
            .requirements
            .iter()
            .map(|id| id.as_str())
            .collect()
    }

    const CHUNK: &[u8] = b"\x07{\"type\":\"assistant_reasoning\",\"text\":\"a\"}";

    #[test]
    fn a_malformed_response_is_owed_no_line_of_its_kind() {
        assert_eq!(line_of(b"\x08"), Some(ClientLine::Active));
        let refused = line_of(br#"?"#);
        assert_eq!(refused, None);
        let held = [&[RunKind::VolumeHeld.byte()], &br#"["v"]"#[..]].concat();
        assert_eq!(line_of(&held), None);
    }

    #[test]
    fn a_chunk_that_is_not_told_is_missed_by_the_line_behind_it() {
        let mut output = written(
            &[b"\x08", CHUNK, b"\x09{}"],
            &[
                r#"{"event":"active"}"#,
                r#"{"event":"inactive","raw":"{}"}"#,
            ],
        );
        let mut read = Vec::new();
        assert!(matches!(
            output.peek_first(Told::Active, None, &mut read),
            Peek::Met
        ));
        let next = output.peek_first(Told::Inactive, None, &mut read);
        assert_eq!((blamed(next), read), (vec!["client.chunk.told"], vec![0]));
    }

    #[test]
    fn what_the_provider_sends_is_not_charged_to_the_client_that_tells_it() {
        let mut output = written(&[b"\x06null"], &[r#"{"event":"error","raw":"null"}"#]);
        let other = RequirementId::new("chain.goes-on");
        let peek = output.peek_first(Told::Active, other, &mut Vec::new());
        assert_eq!(blamed(peek), ["chain.goes-on"]);
    }

    #[test]
    fn a_client_that_is_told_nothing_has_nothing_to_tell() {
        let mut silent = written(&[], &[]);
        let peek = silent.peek_first(Told::Id, None, &mut Vec::new());
        assert!(matches!(peek, Peek::Pending));
        let mut talking = written(&[], &[r#"{"event":"protocol-error","message":"?"}"#]);
        let peek = talking.peek_first(Told::Id, None, &mut Vec::new());
        assert_eq!(blamed(peek), ["client.trouble.told"]);
    }
}
