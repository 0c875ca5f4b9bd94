//! What a run tells while it goes on, and what it comes to.

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
}

impl Finished {
    /// The exit code of the run.
    #[must_use]
    pub fn exit(&self) -> Exit {
        let count = |verdict| self.summary.count(verdict);
        let failed = count(Verdict::Fail) + count(Verdict::Inconclusive) > 0
            || (self.strict && count(Verdict::Warn) > 0)
            || count(Verdict::Pass) == 0
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
        if let Some((exit, why)) = other.stopped {
            self.stop(exit, why);
        }
        self.unclaimed.extend(other.unclaimed);
    }
}
