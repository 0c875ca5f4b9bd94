//! Results for programs.

use super::{Heading, Reporter};
use crate::runner::{Finished, Progress};

/// Prints one JSON object a line.
#[derive(Debug)]
pub struct Jsonl;

impl Jsonl {
    /// A reporter for one run.
    #[must_use]
    pub fn new(_: Heading) -> Self {
        Self
    }
}

impl Reporter for Jsonl {
    fn progress(&mut self, _: &Progress) {}

    fn finish(&mut self, _: &Finished) {}
}
