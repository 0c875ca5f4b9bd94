//! What a step expects of a client: compared with what waits to be read, without waiting itself.

use diverge_protocol::rules::RequirementId;
use diverge_protocol::scenario::Args;
use diverge_protocol::scenario::acts::{ClientAct, ClientEnd, Told};
use diverge_protocol::wire::client_line::ClientLine;
use diverge_protocol::wire::credential_payload;
use diverge_protocol::wire::frame::FrameType;
use diverge_protocol::wire::profile::Profile;
use serde_json::Value;

use super::super::describe;
use super::super::halt::{Halt, Peek};
use super::Player;
use super::state::Ended;

/// A line in words, without the values of an inactive.
pub(super) fn line_in_words(line: &ClientLine) -> String {
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

impl Player<'_> {
    pub(super) fn peek_act(
        &mut self,
        act: ClientAct,
        args: &Args,
        blamed: Option<RequirementId>,
    ) -> Result<Peek, Halt> {
        let at = self.client(args)?;
        Ok(match act {
            ClientAct::Connection => self.peek_connection(at, blamed),
            ClientAct::Credential => self.peek_credential(at, blamed),
            ClientAct::Run => self.peek_run(at, blamed),
            ClientAct::Tells(told) => self.peek_told(at, told, args, blamed),
            ClientAct::Ends(end) => self.peek_ended(at, end, blamed),
            _ => return Err(super::script("this step is done, not expected")),
        })
    }

    /// Where a client is gone, nothing more will come of it.
    fn gone(&self, at: usize, allowed: &str, blamed: Option<RequirementId>) -> Peek {
        let client = &self.stage.clients[at];
        match &client.ended {
            Some(ended) => Peek::other(allowed, &end_in_words(ended), Some(ended.seq), blamed),
            None => Peek::Pending,
        }
    }

    /// Where the connection is gone as well as where the client is.
    fn left(&self, at: usize, allowed: &str, blamed: Option<RequirementId>) -> Peek {
        match &self.stage.clients[at].socket {
            Some(socket) if socket.ended => {
                Peek::other(allowed, "the end of the connection", None, blamed)
            }
            _ => self.gone(at, allowed, blamed),
        }
    }

    fn peek_connection(&self, at: usize, blamed: Option<RequirementId>) -> Peek {
        let client = &self.stage.clients[at];
        if client.socket.is_some() {
            return Peek::Met;
        }
        // Whoever it was that came to none need not have been the client.
        let allowed = match &client.failed {
            Some(why) => {
                format!("a WebSocket from the client, and a connection came to none ({why})")
            }
            None => "a WebSocket from the client".to_owned(),
        };
        self.gone(at, &allowed, blamed)
    }

    fn peek_credential(&mut self, at: usize, blamed: Option<RequirementId>) -> Peek {
        let allowed = "the credential that the client was given";
        let client = &mut self.stage.clients[at];
        let Some((seq, frame)) = client.frames.front() else {
            return self.left(at, allowed, blamed);
        };
        let given = credential_payload(&client.given.credential);
        if frame.kind != FrameType::Authorization {
            return Peek::other(allowed, &describe::frame(frame), Some(*seq), blamed);
        }
        if frame.payload != given {
            let given = RequirementId::new("client.connection.credential-given");
            let received = "another credential";
            return Peek::other(allowed, received, Some(*seq), given.or(blamed));
        }
        self.stage.told.push(*seq);
        client.frames.pop_front();
        Peek::Met
    }

    fn peek_run(&mut self, at: usize, blamed: Option<RequirementId>) -> Peek {
        let allowed = "the run request that the client was given";
        let client = &mut self.stage.clients[at];
        let Some((seq, frame)) = client.frames.front() else {
            return self.left(at, allowed, blamed);
        };
        if frame.kind != FrameType::Request {
            return Peek::other(allowed, &describe::frame(frame), Some(*seq), blamed);
        }
        let asked = Profile::scope().run_request.split(&frame.payload);
        let asked = asked.map_or_else(|_| Value::Null, |(_, json)| read(json));
        if asked != read(client.given.request.as_bytes()) {
            let given = RequirementId::new("client.run.as-given");
            let received = "a run request that differs from it";
            return Peek::other(allowed, received, Some(*seq), given.or(blamed));
        }
        client.scope = Some(frame.scope);
        self.stage.told.push(*seq);
        client.frames.pop_front();
        Peek::Met
    }

    fn peek_told(
        &mut self,
        at: usize,
        told: Told,
        args: &Args,
        blamed: Option<RequirementId>,
    ) -> Peek {
        let given = args.json.as_ref().map(|json| self.fill(json));
        let client = &mut self.stage.clients[at];
        let due = client.due.iter().position(|due| told.is(due));
        let wanted = match given {
            Some(raw) => match told {
                Told::Error => Some(ClientLine::Error(raw)),
                Told::Chunk => Some(ClientLine::Chunk(raw)),
                Told::Inactive => Some(ClientLine::Inactive(raw)),
                _ => None,
            },
            None => due.and_then(|due| client.due.get(due).cloned()),
        };
        let allowed = match (&wanted, told) {
            (Some(wanted), _) => line_in_words(wanted),
            (None, Told::Trouble) => "`malformed` or `protocol-error`".to_owned(),
            (None, _) => format!("`{}`", told.name()),
        };
        let silent = RequirementId::new("client.trouble.told");
        let troubled = told == Told::Trouble;
        let Some((seq, line)) = client.lines.front().cloned() else {
            let blamed = if troubled { silent } else { blamed };
            return self.gone(at, &allowed, blamed);
        };
        if !told.is(&line) {
            // Nothing was made of it, so that it was not taken for anything either.
            let dropped = troubled && line == ClientLine::Finished;
            let blamed = if dropped { silent } else { blamed };
            return Peek::other(&allowed, &line_in_words(&line), Some(seq), blamed);
        }
        if let Some(other) = wanted.as_ref().and_then(|due| difference(&line, due)) {
            let finer = other.and_then(RequirementId::new);
            let received = match line {
                ClientLine::Inactive(_) => "an `inactive` with other characters".to_owned(),
                line => line_in_words(&line),
            };
            return Peek::other(&allowed, &received, Some(seq), finer.or(blamed));
        }
        if let Some(quoted) = troubled.then(|| self.quoted(&line)).flatten() {
            return Peek::other(
                "a message that quotes none of the values",
                "one that quotes a value",
                Some(seq),
                Some(quoted),
            );
        }
        let client = &mut self.stage.clients[at];
        if let Some(due) = due {
            client.due.remove(due);
        }
        client.lines.pop_front();
        self.stage.told.push(seq);
        Peek::Met
    }

    /// The requirement that is broken where what is said of trouble quotes the scenario's secret.
    fn quoted(&self, line: &ClientLine) -> Option<RequirementId> {
        let (ClientLine::Malformed(text) | ClientLine::ProtocolError(text)) = line else {
            return None;
        };
        let secret = format!("secret-{}", self.stage.token);
        text.contains(&secret)
            .then(|| RequirementId::new("client.inactive.unquoted"))
            .flatten()
    }

    fn peek_ended(&mut self, at: usize, end: ClientEnd, blamed: Option<RequirementId>) -> Peek {
        let client = &mut self.stage.clients[at];
        let allowed = match end {
            ClientEnd::Well => "the client's end with the exit status 0, and no line before it",
            ClientEnd::Anyhow => "the client's end, and no line before it but of trouble",
            ClientEnd::Lost => "the client's end, and no line before it but of a lost connection",
        };
        while let Some((seq, line)) = client.lines.front() {
            let passes = match end {
                ClientEnd::Well => false,
                ClientEnd::Anyhow => {
                    line.is_trouble() || (*line == ClientLine::Finished && client.finished)
                }
                ClientEnd::Lost => line.is_trouble(),
            };
            if !passes {
                let taken = end == ClientEnd::Lost && *line == ClientLine::Finished;
                let lost = taken.then(|| RequirementId::new("client.finish.lost"));
                let blamed = lost.flatten().or(blamed);
                return Peek::other(allowed, &line_in_words(line), Some(*seq), blamed);
            }
            client.lines.pop_front();
        }
        let Some(ended) = &client.ended else {
            return Peek::Pending;
        };
        let shown = client.troubled || ended.code != Some(0);
        match end {
            ClientEnd::Well if ended.code != Some(0) => self.gone(at, allowed, blamed),
            ClientEnd::Lost if !shown => {
                let unshown = RequirementId::new("client.finish.loss-shown");
                let allowed = "a line that tells of the lost connection, or another exit status";
                self.gone(at, allowed, unshown)
            }
            _ => {
                self.stage.told.push(ended.seq);
                Peek::Met
            }
        }
    }
}

/// JSON as a value; what cannot be read equals nothing that was given.
fn read(json: &[u8]) -> Value {
    serde_json::from_slice(json).unwrap_or_default()
}
