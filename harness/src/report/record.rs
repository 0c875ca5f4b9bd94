//! A run's results as data: what reports in files are made of, without a secret in them.
//!
//! The JSON report is this data as it is; its members are documented here and in `results.schema.json`. Within a
//! version, members may be added; none goes away or changes its meaning.

use std::sync::Arc;

use diverge_protocol::rules::RequirementId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::failure::{self, events_told_of, is_provisional};
use super::lanes::{self, Lanes, Offence};
use super::mask::Mask;
use super::style::printable;
use super::{Heading, style};
use crate::baseline::Reckoning;
use crate::runner::Finished;
use crate::verdict::{Divergence, Outcome, Summary, Verdict};

/// What the data is called.
pub const FORMAT: &str = "diverge-conformance-results";
/// The version of its form.
pub const VERSION: u32 = 1;

/// What came of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Results {
    /// Always `diverge-conformance-results`.
    pub format: String,
    /// The version of this form.
    pub version: u32,
    /// The version of the harness.
    pub harness: String,
    /// When the run started, as RFC 3339 has it, in UTC.
    pub started: String,
    /// The results, in the order in which they came.
    #[serde(with = "shared")]
    #[schemars(with = "Vec<Record>")]
    pub results: Vec<Arc<Record>>,
    /// How the run ended, or how far it had come.
    #[serde(flatten)]
    pub end: End,
}

/// Records that are shared stand in the data as if they were not.
mod shared {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serializer};

    use super::Record;

    pub(super) fn serialize<S: Serializer>(
        records: &[Arc<Record>],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(records.iter().map(Arc::as_ref))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<Arc<Record>>, D::Error> {
        let records = Vec::<Record>::deserialize(deserializer)?;
        Ok(records.into_iter().map(Arc::new).collect())
    }
}

/// What is known of a run when it ends, or so far.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct End {
    /// What was judged: a part for each kind of implementation and revision.
    pub parts: Vec<Part>,
    /// How many results there are of each verdict.
    pub summary: Counts,
    /// Whether the run came to its end. Of a run that did not, the results are those that had come.
    pub complete: bool,
    /// The exit code, where the run ended by itself.
    pub exit: Option<u8>,
    /// Whether warnings fail the run.
    pub strict: bool,
    /// Why the run stopped early.
    pub stopped: Option<String>,
    /// Connections that belonged to no scenario.
    pub unclaimed: Vec<String>,
    /// What the baseline came to, where there is one.
    pub baseline: Option<BaselineRecord>,
}

/// What was judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    /// The kind of implementation.
    pub iut: String,
    /// The revision, where the kind has revisions.
    pub revision: Option<String>,
    /// The implementation, in words.
    pub subject: String,
    /// How many results there are to be.
    pub scenarios: usize,
}

/// One scenario's result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    /// The scenario.
    pub id: String,
    /// The kind of implementation.
    pub iut: String,
    /// The revision, where the kind has revisions.
    pub revision: Option<String>,
    /// What the scenario is about, in a line.
    pub title: String,
    /// Its topic.
    pub topic: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Whether it counts; what a revision does not score yet is played and told, and decides nothing.
    pub scored: bool,
    /// What it tests.
    pub requirements: Vec<String>,
    /// The strength that decided: of what failed, or else the strongest of what was tested.
    pub strength: Option<String>,
    /// Whether it rests on a number that the revision may have moved.
    pub provisional: bool,
    /// How long it took, in microseconds.
    pub duration_us: u64,
    /// For a verdict other than pass: why, in one line.
    pub message: Option<String>,
    /// What was seen where the protocol leaves a choice.
    pub readings: Vec<String>,
    /// Where it left its script, and what that breaks.
    pub failure: Option<Failure>,
    /// The entry of the baseline that decided the verdict.
    pub expectation: Option<Expected>,
    /// The command that plays just this again.
    pub replay: String,
}

/// How a scenario left its script.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// The step that was being played.
    pub step: Option<String>,
    /// Where that step is written: file, line and column.
    pub at: Option<String>,
    /// What was allowed.
    pub allowed: String,
    /// What came.
    pub received: String,
    /// Where in what came, as a JSON pointer.
    pub pointer: Option<String>,
    /// What else is known, such as that the process ended.
    pub besides: Option<String>,
    /// Everything that is wrong with it; the first is to blame.
    pub broken: Vec<Broken>,
    /// The last messages of all links.
    pub lanes: Option<Lanes>,
}

/// A requirement that was broken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Broken {
    /// Its id.
    pub id: String,
    /// Its sentence.
    pub text: String,
    /// How firmly it stands.
    pub strength: String,
    /// Where it is read.
    pub source: String,
}

/// Why a failure was expected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Expected {
    /// The reason that the baseline gives.
    pub reason: String,
    /// Where more is told about it.
    pub link: Option<String>,
    /// The verdict without the baseline.
    pub verdict: Verdict,
}

/// What a baseline came to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BaselineRecord {
    /// The file.
    pub path: String,
    /// The entries that turn the run red.
    pub findings: Vec<FindingRecord>,
    /// How many results would be of each verdict without it.
    pub summary_without: Counts,
    /// The exit code that the run would have without it.
    pub exit_without: Option<u8>,
}

/// An entry of a baseline that turns the run red.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FindingRecord {
    /// `stale`, `unmatched` or `expired`.
    pub trouble: String,
    /// What it names.
    pub entry: String,
    /// Its line in the file.
    pub line: usize,
    /// What is wrong, and what to do about it.
    pub message: String,
}

/// How many scenarios got each verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Every expectation was met.
    pub pass: usize,
    /// A stated requirement was broken.
    pub fail: usize,
    /// An observed or inferred requirement was broken.
    pub warn: usize,
    /// Something was not there that the scenario needs.
    pub not_applicable: usize,
    /// A control broke, or the harness was starved.
    pub inconclusive: usize,
    /// It did not pass, as the baseline says.
    pub expected_fail: usize,
    /// It passed, though the baseline says that it would not.
    pub stale: usize,
    /// Its verdict differed between repetitions.
    pub unstable: usize,
}

impl Counts {
    pub(super) fn of(summary: &Summary) -> Self {
        Self {
            pass: summary.count(Verdict::Pass),
            fail: summary.count(Verdict::Fail),
            warn: summary.count(Verdict::Warn),
            not_applicable: summary.count(Verdict::NotApplicable),
            inconclusive: summary.count(Verdict::Inconclusive),
            expected_fail: summary.count(Verdict::ExpectedFail),
            stale: summary.count(Verdict::Stale),
            unstable: summary.count(Verdict::Unstable),
        }
    }

    pub(super) fn add(&mut self, verdict: Verdict) {
        *self.slot(verdict) += 1;
    }

    /// How many got `verdict`.
    #[must_use]
    pub fn get(mut self, verdict: Verdict) -> usize {
        *self.slot(verdict)
    }

    fn slot(&mut self, verdict: Verdict) -> &mut usize {
        match verdict {
            Verdict::Pass => &mut self.pass,
            Verdict::Fail => &mut self.fail,
            Verdict::Warn => &mut self.warn,
            Verdict::NotApplicable => &mut self.not_applicable,
            Verdict::Inconclusive => &mut self.inconclusive,
            Verdict::ExpectedFail => &mut self.expected_fail,
            Verdict::Stale => &mut self.stale,
            Verdict::Unstable => &mut self.unstable,
        }
    }

    /// All of them.
    #[must_use]
    pub fn total(self) -> usize {
        Verdict::ALL
            .into_iter()
            .map(|verdict| self.get(verdict))
            .sum()
    }
}

impl Results {
    /// A run that starts now; `strict` says whether warnings fail it.
    pub(super) fn start(strict: bool) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            harness: env!("CARGO_PKG_VERSION").to_owned(),
            started: format!("{:.0}", jiff::Timestamp::now()),
            results: Vec::new(),
            end: End {
                strict,
                ..End::default()
            },
        }
    }

    /// How many results are still to come, as far as is known.
    #[must_use]
    pub fn missing(&self) -> usize {
        let parts = self.end.parts.iter();
        let expected: usize = parts.map(|part| part.scenarios).sum();
        expected.saturating_sub(self.results.len())
    }

    /// The verdict on the run as a whole, in a few words.
    #[must_use]
    pub fn in_words(&self) -> &'static str {
        let count = &self.end.summary;
        match self.end.exit {
            _ if !self.end.complete && self.end.stopped.is_none() => "the run is not over",
            Some(0) => "conforms",
            Some(1) if count.fail + count.unstable > 0 || !self.end.unclaimed.is_empty() => {
                "does not conform"
            }
            Some(1) if count.inconclusive > 0 => "undecided",
            Some(1) if count.warn > 0 => "does not conform",
            Some(1) if count.pass == 0 => "nothing passed",
            Some(1) => "stopped early",
            Some(3) => "the baseline is out of date",
            Some(4) => "not reached",
            _ => "not judged",
        }
    }
}

impl Part {
    pub(super) fn of(heading: &Heading, mask: &Mask) -> Self {
        Self {
            iut: heading.iut.as_str().to_owned(),
            revision: heading.revision.map(|it| it.as_str().to_owned()),
            subject: printable(&mask.text(&heading.subject)),
            scenarios: heading.scenarios,
        }
    }

    /// The kind, and the revision where it has several.
    #[must_use]
    pub fn name(&self) -> String {
        named(&self.iut, self.revision.as_deref())
    }
}

/// The kind, and the revision where it has several.
pub(super) fn named(iut: &str, revision: Option<&str>) -> String {
    match revision {
        Some(revision) if iut != "provider" => format!("{iut}, {revision} revision"),
        _ => iut.to_owned(),
    }
}

impl Record {
    /// The result without a secret; `mask` knows those of the heading.
    pub(super) fn of(outcome: &Outcome, heading: &Heading, mask: &Mask) -> Self {
        let own;
        let mask = if outcome.message.is_some() || !outcome.readings.is_empty() {
            own = Mask::of(&outcome.transcript, &heading.secrets);
            &own
        } else {
            mask
        };
        let masked = |text: &str| printable(&mask.text(text));
        let ids = outcome.requirements.iter();
        Self {
            id: outcome.id.clone(),
            iut: heading.iut.as_str().to_owned(),
            revision: heading.revision.map(|it| it.as_str().to_owned()),
            title: masked(&outcome.title),
            topic: outcome.topic.clone(),
            verdict: outcome.verdict,
            scored: heading.scores(&outcome.id),
            requirements: ids.map(|id| id.as_str().to_owned()).collect(),
            strength: outcome.strength().map(|it| it.as_str().to_owned()),
            provisional: is_provisional(outcome),
            duration_us: u64::try_from(outcome.duration.as_micros()).unwrap_or(u64::MAX),
            message: outcome.message.as_deref().map(masked),
            readings: outcome.readings.iter().map(|it| masked(it)).collect(),
            failure: outcome
                .divergence
                .as_ref()
                .map(|divergence| Failure::of(outcome, divergence, mask)),
            expectation: outcome.expectation.as_ref().map(|it| Expected {
                reason: masked(&it.reason),
                link: it.link.as_deref().map(masked),
                verdict: it.verdict,
            }),
            replay: failure::replay(heading, &outcome.id, mask),
        }
    }

    /// The requirement that is to blame.
    #[must_use]
    pub fn blamed(&self) -> Option<&Broken> {
        self.failure.as_ref()?.broken.first()
    }
}

impl Failure {
    fn of(outcome: &Outcome, divergence: &Divergence, mask: &Mask) -> Self {
        let masked = |text: &str| printable(&mask.text(text));
        let step = divergence.step.as_ref();
        Self {
            step: step.map(|(_, text)| masked(text)),
            at: step.map(|(at, _)| at.display()),
            allowed: masked(&divergence.allowed),
            received: masked(&divergence.received),
            pointer: divergence.pointer.as_deref().map(masked),
            besides: failure::besides(outcome, divergence).map(masked),
            broken: divergence.requirements.iter().map(Broken::of).collect(),
            lanes: (!outcome.transcript.events.is_empty()).then(|| {
                let offence = divergence
                    .seq
                    .map_or(Offence::Silence(outcome.duration), Offence::Event);
                let texts = format!("{} {}", divergence.allowed, divergence.received);
                lanes::lanes(&outcome.transcript, offence, &events_told_of(&texts), mask)
            }),
        }
    }
}

impl Broken {
    fn of(id: &RequirementId) -> Self {
        let requirement = id.requirement();
        Self {
            id: id.as_str().to_owned(),
            text: requirement.map_or_else(String::new, |it| it.text.clone()),
            strength: requirement.map_or_else(String::new, style::strength),
            source: requirement.map_or_else(String::new, style::source),
        }
    }
}

impl BaselineRecord {
    fn of(reckoning: &Reckoning, whole: &Finished) -> Self {
        let findings = reckoning.findings.iter().map(|finding| FindingRecord {
            trouble: finding.trouble.as_str().to_owned(),
            entry: finding.entry.clone(),
            line: finding.line,
            message: finding.message.clone(),
        });
        Self {
            path: reckoning.path.clone(),
            findings: findings.collect(),
            summary_without: whole.without.as_ref().map(Counts::of).unwrap_or_default(),
            exit_without: whole.exit_without().map(|exit| exit.code()),
        }
    }
}

impl End {
    /// Takes in what a part came to.
    pub(super) fn part(&mut self, finished: &Finished, mask: &Mask) {
        let unclaimed = finished.unclaimed.iter();
        self.unclaimed
            .extend(unclaimed.map(|it| printable(&mask.text(it))));
        if let Some((_, why)) = &finished.stopped {
            self.stopped
                .get_or_insert_with(|| printable(&mask.text(why)));
        }
    }

    /// The run is over.
    pub(super) fn whole(&mut self, whole: &Finished, exit: u8) {
        self.complete = whole.stopped.is_none();
        self.exit = Some(exit);
        self.baseline = whole
            .baseline
            .as_ref()
            .map(|reckoning| BaselineRecord::of(reckoning, whole));
    }
}
