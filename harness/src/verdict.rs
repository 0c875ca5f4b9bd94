//! What came of a scenario, and what comes of a run.

use std::time::Duration;

use diverge_protocol::rules::{RequirementId, Strength};
use diverge_protocol::scenario::{Located, Scenario};
use diverge_protocol::transcript::Transcript;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The verdict of one scenario.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every expectation was met and no rule was broken.
    Pass,
    /// A stated requirement was broken.
    Fail,
    /// An observed or inferred requirement was broken.
    Warn,
    /// It needs something that is not there.
    NotApplicable,
    /// A control broke, or the harness was starved.
    Inconclusive,
    /// It did not pass, as the baseline says it would not.
    ExpectedFail,
    /// It passed, though the baseline says that it would not.
    Stale,
    /// Played several times, it came to different verdicts.
    Unstable,
}

impl Verdict {
    /// Every verdict, in the order of summaries.
    pub const ALL: [Self; 8] = [
        Self::Pass,
        Self::Fail,
        Self::Warn,
        Self::NotApplicable,
        Self::Inconclusive,
        Self::ExpectedFail,
        Self::Stale,
        Self::Unstable,
    ];

    /// Its name in results.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Warn => "warn",
            Self::NotApplicable => "not_applicable",
            Self::Inconclusive => "inconclusive",
            Self::ExpectedFail => "expected_fail",
            Self::Stale => "stale",
            Self::Unstable => "unstable",
        }
    }
}

/// What a baseline expects of a scenario, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expectation {
    /// Why a failure is expected.
    pub reason: String,
    /// Where more is told about it.
    pub link: Option<String>,
    /// The verdict that the scenario has without the baseline.
    pub verdict: Verdict,
}

/// How a scenario left the path of its script.
#[derive(Debug, Clone)]
pub struct Divergence {
    /// The step that was being played, and its text in short.
    pub step: Option<(Located, String)>,
    /// What was allowed there.
    pub allowed: String,
    /// What came.
    pub received: String,
    /// Where in what came, as a JSON pointer.
    pub pointer: Option<String>,
    /// Everything that is wrong with it; the first is to blame.
    pub requirements: Vec<RequirementId>,
    /// Whether a rule checker found it, rather than the script.
    pub by_rule: bool,
    /// The offending event in the transcript.
    pub seq: Option<u64>,
}

/// One scenario's result.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The scenario.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its topic.
    pub topic: String,
    /// The verdict.
    pub verdict: Verdict,
    /// What it tests.
    pub requirements: Vec<RequirementId>,
    /// Wall time.
    pub duration: Duration,
    /// For a verdict other than pass: why, in one line.
    pub message: Option<String>,
    /// Where it diverged.
    pub divergence: Option<Divergence>,
    /// What the scenario recorded of readings that the protocol leaves open.
    pub readings: Vec<String>,
    /// How many expectations were evaluated.
    pub evaluated: u32,
    /// What happened.
    pub transcript: Transcript,
    /// The events of the transcript that steps sent or read, by their numbers, in the order of the scenario's steps.
    pub script: Vec<u64>,
    /// The baseline's entry that decided the verdict.
    pub expectation: Option<Expectation>,
}

impl Outcome {
    /// A result without a conversation.
    #[must_use]
    pub fn unplayed(scenario: &Scenario, verdict: Verdict, message: String) -> Self {
        Self {
            id: scenario.id.clone(),
            title: scenario.title.clone(),
            topic: scenario.topic().to_owned(),
            verdict,
            requirements: scenario.requirements.clone(),
            duration: Duration::ZERO,
            message: Some(message),
            divergence: None,
            readings: Vec::new(),
            evaluated: 0,
            transcript: Transcript::default(),
            script: Vec::new(),
            expectation: None,
        }
    }

    /// The strength that decided: of what failed, or else the strongest of what was tested.
    #[must_use]
    pub fn strength(&self) -> Option<Strength> {
        let judged = self
            .divergence
            .as_ref()
            .map_or(&self.requirements, |divergence| &divergence.requirements);
        judged
            .iter()
            .filter_map(|id| id.requirement())
            .map(|requirement| requirement.strength)
            .max()
    }
}

/// How many scenarios got each verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Summary {
    counts: [usize; Verdict::ALL.len()],
}

impl Summary {
    /// Counts one more.
    pub fn add(&mut self, verdict: Verdict) {
        self.counts[verdict as usize] += 1;
    }

    /// Counts what another summary counted.
    pub fn add_all(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count += more;
        }
    }

    /// How many got `verdict`.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> usize {
        self.counts[verdict as usize]
    }

    /// All of them.
    #[must_use]
    pub fn total(&self) -> usize {
        self.counts.iter().sum()
    }
}

/// The exit codes that other programs rely on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// 0: the implementation conforms.
    Conforms,
    /// 1: a scenario failed, was unstable or inconclusive, or none passed, or the run was interrupted.
    Fails,
    /// 2: the command line or a scenario file is at fault.
    Usage,
    /// 3: the baseline has an entry that is stale, matches nothing or is past its date.
    Stale,
    /// 4: the implementation could not be started or reached.
    Unreachable,
    /// 5: the harness is at fault, or what it says cannot be written.
    Harness,
}

impl Exit {
    /// The number.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Conforms => 0,
            Self::Fails => 1,
            Self::Usage => 2,
            Self::Stale => 3,
            Self::Unreachable => 4,
            Self::Harness => 5,
        }
    }

    /// Where several apply, the one that counts: the first of 2, 5, 4, 1, 3, 0.
    #[must_use]
    pub fn worst(self, other: Self) -> Self {
        let rank = |exit: Self| match exit {
            Self::Usage => 0,
            Self::Harness => 1,
            Self::Unreachable => 2,
            Self::Fails => 3,
            Self::Stale => 4,
            Self::Conforms => 5,
        };
        if rank(self) <= rank(other) {
            self
        } else {
            other
        }
    }
}
