//! What a run tells while it goes on, and what it comes to.

use crate::baseline::Reckoning;
use crate::verdict::{Exit, Outcome, Summary, Verdict};

/// What a run tells while it goes on.
#[derive(Debug)]
pub enum Progress {
    /// A scenario has its result.
    Done(Box<Outcome>),
    /// Something about the run as a whole, for people.
    Note(String),
}

/// What a run came to.
#[derive(Debug, Default)]
pub struct Finished {
    /// The counts.
    pub summary: Summary,
    /// What ended the run early, and its exit code.
    pub stopped: Option<(Exit, String)>,
    /// Connections that belonged to no scenario.
    pub unclaimed: Vec<String>,
    /// Whether warnings fail the run.
    pub strict: bool,
    /// The counts as they would be without the baseline, where there is one.
    pub without: Option<Summary>,
    /// The counts of scenarios that are not scored; they decide nothing.
    pub unscored: Summary,
    /// What the baseline came to; of a whole run only.
    pub baseline: Option<Reckoning>,
}

impl Finished {
    /// The exit code of the run.
    #[must_use]
    pub fn exit(&self) -> Exit {
        self.exit_by(&self.summary).worst(self.baseline_exit())
    }

    /// The exit code that the baseline asks for.
    #[must_use]
    pub fn baseline_exit(&self) -> Exit {
        let found = self.baseline.as_ref();
        let is_stale = self.summary.count(Verdict::Stale) > 0
            || found.is_some_and(|reckoning| !reckoning.findings.is_empty());
        if is_stale {
            Exit::Stale
        } else {
            Exit::Conforms
        }
    }

    /// The exit code that the run would have without the baseline, where there is one.
    #[must_use]
    pub fn exit_without(&self) -> Option<Exit> {
        self.without.as_ref().map(|counts| self.exit_by(counts))
    }

    fn exit_by(&self, counts: &Summary) -> Exit {
        let count = |verdict| counts.count(verdict);
        let wrong = [Verdict::Fail, Verdict::Inconclusive, Verdict::Unstable];
        let failed = wrong.into_iter().map(count).sum::<usize>() > 0
            || (self.strict && count(Verdict::Warn) > 0)
            || count(Verdict::Pass) + count(Verdict::Stale) == 0
            || !self.unclaimed.is_empty();
        let judged = if failed { Exit::Fails } else { Exit::Conforms };
        self.stopped
            .as_ref()
            .map_or(judged, |(exit, _)| exit.worst(judged))
    }
}

impl Finished {
    /// The run ends here, unless something ended it before.
    pub(crate) fn stop(&mut self, exit: Exit, why: String) {
        if self.stopped.is_none() {
            self.stopped = Some((exit, why));
        }
    }
}

impl Finished {
    /// Takes in what another part of the run came to.
    pub(crate) fn add(&mut self, other: Self) {
        self.summary.add_all(&other.summary);
        self.unscored.add_all(&other.unscored);
        if let Some(without) = other.without {
            self.without.get_or_insert_default().add_all(&without);
        }
        if let Some((exit, why)) = other.stopped {
            self.stop(exit, why);
        }
        self.unclaimed.extend(other.unclaimed);
    }
}
