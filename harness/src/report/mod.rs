//! Results for people and for programs, all from the one stream of outcomes.

pub(crate) mod conversation;
mod diagram;
mod failure;
mod jsonl;
mod lanes;
mod mask;
mod pretty;
pub(crate) mod prose;
mod reading;
pub(crate) mod style;
mod tally;
#[cfg(test)]
mod testing;
mod transcripts;

use diverge_protocol::scenario::Iut;

pub use jsonl::Jsonl;
pub use mask::Mask;
pub(crate) use mask::stand_in;
pub use pretty::Pretty;
pub use transcripts::Transcripts;

use crate::runner::{Finished, Progress};

/// What a report says at its head and needs for its replay commands.
#[derive(Debug, Clone)]
pub struct Heading {
    /// What kind of implementation is judged.
    pub iut: Iut,
    /// The implementation, in words.
    pub subject: String,
    /// The command line that runs this again; a failure adds `--scenario ID`.
    pub replay: String,
    /// How many scenarios there will be.
    pub scenarios: usize,
    /// Texts that must appear nowhere.
    pub secrets: Vec<String>,
}

/// Something that shows results as they come.
pub trait Reporter {
    /// One more result.
    fn progress(&mut self, progress: &Progress);
    /// The run is over.
    fn finish(&mut self, finished: &Finished);
}
