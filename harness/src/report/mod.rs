//! Results for people and for programs, all from the one stream of outcomes.

mod closing;
pub(crate) mod conversation;
mod diagram;
mod failure;
mod files;
mod golden;
mod grow;
mod html;
mod json;
mod jsonl;
mod junit;
mod lanes;
mod markdown;
mod mask;
mod page;
mod pretty;
pub(crate) mod prose;
mod reading;
pub mod record;
pub(crate) mod style;
mod summary;
mod tally;
mod tell;
#[cfg(test)]
pub(crate) mod testing;
mod transcripts;

use std::collections::HashSet;
use std::sync::Arc;

use diverge_protocol::rules::Revision;
use diverge_protocol::scenario::Iut;

pub use files::{Files, NoReport, ReportError, ReportFormat, ReportTarget};
pub use golden::{golden, together};
pub use jsonl::Jsonl;
pub(crate) use lanes::around;
pub use lanes::{Lanes, Row};
pub use mask::Mask;
pub(crate) use mask::{Seen, stand_in};
pub use pretty::Pretty;
pub(crate) use tell::tell;
pub use transcripts::Transcripts;
#[cfg(test)]
pub(crate) use transcripts::written;

use crate::runner::{Finished, Progress};
use crate::verdict::{Exit, Outcome};

/// What a report says at its head and needs for its replay commands.
#[derive(Debug, Clone)]
pub struct Heading {
    /// What kind of implementation is judged.
    pub iut: Iut,
    /// The revision, where the kind has revisions.
    pub revision: Option<Revision>,
    /// The implementation, in words.
    pub subject: String,
    /// The command line that plays one scenario again; the scenario's id is put behind it.
    pub replay: String,
    /// How many scenarios there will be.
    pub scenarios: usize,
    /// The ids of scenarios that are played and told, and decide nothing.
    pub unscored: Arc<HashSet<String>>,
    /// Texts that must appear nowhere.
    pub secrets: Vec<String>,
}

/// The story of a result that is no pass, as the command line prints it, with its colours.
#[must_use]
pub fn story(outcome: &Outcome, heading: &Heading) -> String {
    failure::render(outcome, Some(&outcome.title), heading)
}

impl Heading {
    /// Whether the result of this scenario counts.
    #[must_use]
    pub fn scores(&self, id: &str) -> bool {
        !self.unscored.contains(id)
    }
}

/// Something that shows results as they come. A run has parts, one for each kind and revision that is judged.
pub trait Reporter {
    /// A part begins.
    fn begin(&mut self, heading: &Heading);
    /// One more result of the part.
    fn progress(&mut self, progress: &Progress);
    /// The part is over.
    fn end(&mut self, finished: &Finished);
    /// All parts are over; `whole` is the sum of what they came to.
    fn finish(&mut self, whole: &Finished);
    /// The run ends here, before all of it was played.
    fn abandon(&mut self, _exit: Exit, _why: &str) {}
}
