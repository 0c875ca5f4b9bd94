//! A stream of agent events as an implementation under test: one result for each requirement.

pub mod emitter;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use diverge_protocol::rules::{Catalogue, EventStream, Iut, Requirement, Strength, Violation};
use diverge_protocol::scenario::{Located, Place, Source};
use diverge_protocol::transcript::Transcript;
use diverge_protocol::wire::agent_event::EventRevision;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};

use crate::iut::PlugError;
use crate::play::Patience;
use crate::process::{CommandLine, Pipes, Process};
use crate::verdict::{Divergence, Outcome, Verdict};

/// The longest line that is read, in bytes.
const LONGEST: usize = 64 << 20;
/// So many lines without one that moves the run on are enough to know a program that will not stop.
const IDLE: u64 = 1000;
/// So many lines are enough of any run.
const MOST: u64 = 1_000_000;

/// The requirements that a stream is judged by.
pub fn requirements() -> impl Iterator<Item = &'static Requirement> {
    let all = Catalogue::get().requirements().iter();
    all.filter(|it| it.iut.contains(&Iut::Events) && it.excluded.is_none())
}

/// The id of the result for a requirement.
#[must_use]
pub fn scenario_id(requirement: &Requirement) -> String {
    let name = requirement.id.as_str();
    let name = name.strip_prefix("events.").unwrap_or(name);
    let topic = match name {
        "known-type" | "members" => "form",
        name if name.starts_with("result") => "tools",
        name if name.starts_with("cost") => "cost",
        _ => "end",
    };
    format!("events/{topic}/{name}")
}

/// A stream that is being judged, with everything that is wrong with it so far.
#[derive(Debug)]
pub struct Judge {
    stream: EventStream,
    wrong: Vec<Violation>,
    subject: Arc<Source>,
    ended_by: Option<String>,
    lines: u64,
}

impl Judge {
    /// Judges the stream of a program, which is named by `subject`, by a revision of the surface.
    #[must_use]
    pub fn new(subject: &str, revision: EventRevision) -> Self {
        let source = Source {
            path: subject.to_owned(),
            text: String::new(),
        };
        Self {
            stream: EventStream::new(revision),
            wrong: Vec::new(),
            subject: Arc::new(source),
            ended_by: None,
            lines: 0,
        }
    }

    /// Judges one line.
    pub fn line(&mut self, line: &[u8]) {
        self.lines += 1;
        if line.len() > LONGEST {
            self.stream.long_line(LONGEST, &mut self.wrong);
        } else {
            self.stream.line(line, &mut self.wrong);
        }
    }

    /// The results, in the order of the catalogue.
    #[must_use]
    pub fn outcomes(mut self, duration: Duration) -> Vec<Outcome> {
        self.stream.end(&mut self.wrong);
        requirements()
            .map(|requirement| self.outcome(requirement, duration))
            .collect()
    }

    fn outcome(&self, requirement: &Requirement, duration: Duration) -> Outcome {
        let id = scenario_id(requirement);
        let topic = id.split('/').nth(1).unwrap_or_default().to_owned();
        let broken = self
            .wrong
            .iter()
            .find(|it| it.requirement == requirement.id);
        let verdict = match broken {
            Some(_) if requirement.strength == Strength::Stated => Verdict::Fail,
            Some(_) => Verdict::Warn,
            None if self.control().is_some() => Verdict::Inconclusive,
            None if !self.stream.exercised(requirement.id) => Verdict::NotApplicable,
            None => Verdict::Pass,
        };
        let mut message = match verdict {
            Verdict::Inconclusive => self.control(),
            Verdict::NotApplicable => Some("nothing in the stream could break it".to_owned()),
            _ => None,
        };
        if let Some(broken) = broken {
            let more = self.ended_by.as_ref().map(|why| format!("; {why}"));
            let more = more.unwrap_or_default();
            message = Some(format!(
                "expected {}; got {}{more}",
                broken.allowed, broken.received
            ));
        }
        let note = self.stream.note().filter(|_| id == "events/end/ends-once");
        Outcome {
            id,
            title: requirement.text.clone(),
            topic,
            verdict,
            requirements: vec![requirement.id],
            duration,
            message,
            divergence: broken.map(|broken| self.divergence(broken)),
            readings: note
                .map(|(line, odd)| format!("line {line}: {odd}"))
                .into_iter()
                .collect(),
            evaluated: u32::try_from(self.lines).unwrap_or(u32::MAX),
            transcript: Transcript::default(),
            script: Vec::new(),
            expectation: None,
        }
    }

    fn divergence(&self, broken: &Violation) -> Divergence {
        let line = usize::try_from(broken.seq).unwrap_or(usize::MAX);
        let place = Place {
            line,
            column: 1,
            bytes: 0..0,
        };
        let at = Located {
            source: Arc::clone(&self.subject),
            place,
        };
        let mut requirements = vec![broken.requirement];
        for other in self.wrong.iter().filter(|it| it.seq == broken.seq) {
            if !requirements.contains(&other.requirement) {
                requirements.push(other.requirement);
            }
        }
        Divergence {
            step: Some((at, format!("line {line} of the stream"))),
            allowed: broken.allowed.clone(),
            received: broken.received.clone(),
            pointer: broken.pointer.clone(),
            requirements,
            by_rule: true,
            seq: None,
        }
    }

    /// Why nothing can pass: a stream that shows no run shows no rule kept either.
    fn control(&self) -> Option<String> {
        let why = if self.stream.malformed() > 0 {
            "a line of the stream could not be read as an event"
        } else if self.stream.events() == 0 {
            "the stream has no event"
        } else if !self.stream.has_ended() {
            "the stream stopped before its run ended"
        } else if self.stream.events() == 1 {
            "the stream shows nothing but its run's end"
        } else {
            return None;
        };
        let more = self.ended_by.as_ref().map(|why| format!("; {why}"));
        Some(format!("{why}{}", more.unwrap_or_default()))
    }
}

/// Judges what a command writes on its standard output. It is told the revision by its environment.
///
/// # Errors
/// When it cannot be started, or fails without writing anything.
pub async fn judge_command(
    command: &str,
    revision: EventRevision,
    patience: &Patience,
) -> Result<Judge, PlugError> {
    let command_line = CommandLine::parse(command)?;
    let failed = |error| PlugError::Start {
        command: command.to_owned(),
        error,
    };
    let environment = [("CONFORMANCE_REVISION", revision.name().to_owned())];
    let mut process = Process::start(&command_line, &environment, Pipes::Output)?;
    let mut judge = Judge::new(command, revision);
    let stdout = process.stdout();
    let mut output = BufReader::new(stdout.ok_or_else(|| failed(io::Error::other("no output")))?);
    let mut waited = patience.start();
    let (mut line, limit) = (Vec::new(), LONGEST as u64 + 2);
    let mut moved = (0, 0);
    loop {
        let mut bounded = (&mut output).take(limit - line.len() as u64);
        let read = tokio::select! {
            read = bounded.read_until(b'\n', &mut line) => read,
            () = waited.exhausted() => {
                if !judge.stream.has_ended() {
                    let limit = patience.limit();
                    judge.ended_by = Some(format!("no line within {} ms", limit.as_millis()));
                }
                break;
            }
        };
        match read {
            Ok(read) if read > 0 => {}
            _ => break,
        }
        waited.restart();
        let whole = line.last() == Some(&b'\n');
        judge.line(if whole {
            &line[..line.len() - 1]
        } else {
            &line
        });
        if !whole && line.len() as u64 == limit {
            // Nothing behind a line without end can be told from it.
            break;
        }
        if judge.stream.events() > moved.0 && !judge.stream.has_ended() {
            moved = (judge.stream.events(), judge.lines);
        }
        if judge.lines - moved.1 > IDLE || judge.lines > MOST {
            judge.ended_by = Some(format!("it still wrote after {} lines", judge.lines));
            return Ok(judge);
        }
        line.clear();
    }
    drop(output);
    let ended = tokio::select! {
        status = process.wait() => status.ok(),
        () = waited.exhausted() => None,
    };
    match ended {
        Some(status) if !status.success() && judge.lines == 0 => {
            let said = process.said().join(" ⏎ ");
            let said = if said.is_empty() {
                String::new()
            } else {
                format!(" but, on its standard error: {said}")
            };
            let why = format!("it ended ({status}) and wrote nothing{said}");
            return Err(failed(io::Error::other(why)));
        }
        Some(status) if !status.success() && judge.ended_by.is_none() => {
            judge.ended_by = Some(format!("the process ended ({status})"));
        }
        _ => {}
    }
    Ok(judge)
}

#[cfg(test)]
mod tests {
    use super::emitter::{self, Duty};
    use super::*;

    #[test]
    fn every_emitter_does_its_duty() {
        for emitter in emitter::all() {
            assert_eq!(emitter.wrong(), Vec::<String>::new(), "{}", emitter.name);
        }
    }

    #[test]
    fn every_requirement_has_a_fault_of_its_own() {
        for requirement in requirements() {
            let id = requirement.id.as_str();
            let duty = Duty::Caught(id);
            assert!(emitter::all().any(|emitter| emitter.duty == duty), "{id}");
        }
    }

    #[test]
    fn the_reference_passes_everything() {
        let outcomes = emitter::REFERENCE.outcomes();
        assert_eq!(outcomes.len(), requirements().count());
        for outcome in outcomes {
            assert_eq!(outcome.verdict, Verdict::Pass, "{}", outcome.id);
        }
    }
}
