//! A run's results as data: what reports in files are made of, without a secret in them.

use serde::{Deserialize, Serialize};

use crate::verdict::{Summary, Verdict};

/// How many scenarios got each verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
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
}
