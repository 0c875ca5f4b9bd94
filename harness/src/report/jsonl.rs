//! Results as JSON Lines on standard output, each as it comes.

use std::collections::HashSet;
use std::sync::Arc;

use diverge_protocol::rules::RequirementId;
use serde::Serialize;

use super::mask::Mask;
use super::record::Counts;
use super::{Heading, Reporter};
use crate::baseline::Finding;
use crate::output::{say, tell};
use crate::runner::{Finished, Progress};
use crate::verdict::{Outcome, Summary, Verdict};

/// Writes one JSON object a line.
#[derive(Debug, Default)]
pub struct Jsonl {
    secrets: Vec<String>,
    unscored: Arc<HashSet<String>>,
}

impl Jsonl {
    fn masked(&self, text: &str) -> String {
        Mask::of(&Default::default(), &self.secrets).text(text)
    }
}

impl Reporter for Jsonl {
    fn begin(&mut self, heading: &Heading) {
        self.secrets.clone_from(&heading.secrets);
        self.unscored = Arc::clone(&heading.unscored);
    }

    fn progress(&mut self, progress: &Progress) {
        match progress {
            Progress::Done(outcome) => {
                let mut line = ScenarioLine::of(outcome, &self.secrets);
                line.unscored = self.unscored.contains(&outcome.id);
                print(&line);
            }
            Progress::Note(note) => tell(&self.masked(note)),
        }
    }

    fn end(&mut self, finished: &Finished) {
        // What concerns no scenario has no line of its own; people still get to know.
        for connection in &finished.unclaimed {
            tell(&format!(
                "a connection to the proxy that no scenario asked for: {}",
                self.masked(connection)
            ));
        }
        if let Some((_, why)) = &finished.stopped {
            tell(&format!("error: {}", self.masked(why)));
        }
    }

    fn finish(&mut self, whole: &Finished) {
        for finding in whole.baseline.iter().flat_map(|it| &it.findings) {
            print(&BaselineLine::of(finding));
        }
        let mut line = SummaryLine::of(&whole.summary);
        line.without_baseline =
            whole
                .without
                .as_ref()
                .zip(whole.exit_without())
                .map(|(counts, exit)| WithoutBaseline {
                    exit: exit.code(),
                    counts: Counts::of(counts),
                });
        line.unscored = whole.unscored.total();
        print(&line);
    }
}

fn print(line: &impl Serialize) {
    if let Ok(line) = serde_json::to_string(line) {
        say(&line);
    }
}

#[derive(Serialize)]
struct ScenarioLine<'a> {
    event: &'static str,
    id: &'a str,
    verdict: &'static str,
    requirements: &'a [RequirementId],
    strength: Option<&'static str>,
    duration_us: u64,
    message: Option<String>,
    #[serde(flatten)]
    failed: Option<Failed<'a>>,
    /// Whether it decides nothing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unscored: bool,
}

#[derive(Serialize)]
struct Failed<'a> {
    failed_requirement: Option<RequirementId>,
    failed_requirements: &'a [RequirementId],
}

impl<'a> ScenarioLine<'a> {
    fn of(outcome: &'a Outcome, secrets: &[String]) -> Self {
        let without = outcome
            .expectation
            .as_ref()
            .map_or(outcome.verdict, |it| it.verdict);
        let failed = matches!(without, Verdict::Fail | Verdict::Warn | Verdict::Unstable);
        let masked = |message: &str| Mask::of(&outcome.transcript, secrets).text(message);
        Self {
            event: "scenario",
            id: &outcome.id,
            verdict: outcome.verdict.as_str(),
            requirements: &outcome.requirements,
            strength: outcome.strength().map(|strength| strength.as_str()),
            duration_us: u64::try_from(outcome.duration.as_micros()).unwrap_or(u64::MAX),
            message: outcome.message.as_deref().map(masked),
            unscored: false,
            failed: failed.then(|| {
                let wrong = outcome
                    .divergence
                    .as_ref()
                    .map_or(&outcome.requirements, |divergence| &divergence.requirements);
                Failed {
                    failed_requirement: wrong.first().copied(),
                    failed_requirements: wrong,
                }
            }),
        }
    }
}

/// An entry of the baseline that turns the run red.
#[derive(Serialize)]
struct BaselineLine<'a> {
    event: &'static str,
    trouble: &'static str,
    entry: &'a str,
    line: usize,
    message: &'a str,
}

impl<'a> BaselineLine<'a> {
    fn of(finding: &'a Finding) -> Self {
        Self {
            event: "baseline",
            trouble: finding.trouble.as_str(),
            entry: &finding.entry,
            line: finding.line,
            message: &finding.message,
        }
    }
}

#[derive(Serialize)]
struct SummaryLine {
    event: &'static str,
    #[serde(flatten)]
    counts: Counts,
    #[serde(skip_serializing_if = "is_none")]
    unscored: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    without_baseline: Option<WithoutBaseline>,
}

impl SummaryLine {
    fn of(summary: &Summary) -> Self {
        Self {
            event: "summary",
            counts: Counts::of(summary),
            unscored: 0,
            without_baseline: None,
        }
    }
}

fn is_none(number: &usize) -> bool {
    *number == 0
}

/// What the run would have come to without its baseline.
#[derive(Serialize)]
struct WithoutBaseline {
    exit: u8,
    #[serde(flatten)]
    counts: Counts,
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::super::testing;
    use super::*;

    fn line(outcome: &Outcome) -> Value {
        let line = serde_json::to_string(&ScenarioLine::of(outcome, &["hunter2".to_owned()]))
            .expect("it serializes");
        serde_json::from_str(&line).expect("it is JSON")
    }

    #[test]
    fn a_pass_says_what_it_tested_and_has_no_message() {
        let mut outcome = testing::outcome(Verdict::Pass);
        outcome.duration = Duration::from_micros(812);
        let expected = json!({
            "event": "scenario",
            "id": "provider/streams/one-loop",
            "verdict": "pass",
            "requirements": ["run.chunk.relayed"],
            "strength": "stated",
            "duration_us": 812,
            "message": null,
        });
        assert_eq!(line(&outcome), expected);
    }

    #[test]
    fn a_failure_names_everything_that_is_wrong_and_quotes_no_secret() {
        let mut outcome = testing::failed();
        outcome.message = Some("expected the chunk; got \"hunter2\"".to_owned());
        let line = line(&outcome);
        assert_eq!(line["verdict"], "fail");
        assert_eq!(line["failed_requirement"], "run.chunk.verbatim");
        assert_eq!(
            line["failed_requirements"],
            json!(["run.chunk.verbatim", "run.chunk.one-response-each"])
        );
        assert_eq!(
            line["message"],
            "expected the chunk; got \"‹secret, 7 bytes›\""
        );
    }

    #[test]
    fn the_members_stand_in_the_order_that_the_design_fixes() {
        let mut summary = Summary::default();
        summary.add(Verdict::Pass);
        let line = serde_json::to_string(&SummaryLine::of(&summary)).expect("it serializes");
        let expected = r#"{"event":"summary","pass":1,"fail":0,"warn":0,"not_applicable":0,"inconclusive":0,"expected_fail":0,"stale":0,"unstable":0}"#;
        assert_eq!(line, expected);
        let line = serde_json::to_string(&ScenarioLine::of(&testing::failed(), &[]))
            .expect("it serializes");
        let members = [
            "event",
            "id",
            "verdict",
            "requirements",
            "strength",
            "duration_us",
            "message",
            "failed_r",
        ];
        let places: Vec<_> = members
            .iter()
            .map(|member| line.find(&format!("\"{member}")))
            .collect();
        assert!(places.is_sorted() && places[0] == Some(1), "{line}");
    }
}
