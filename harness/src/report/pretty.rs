//! Results for people.

use super::{Heading, Reporter};
use crate::runner::{Finished, Progress};

/// Prints one line a result.
#[derive(Debug)]
pub struct Pretty;

impl Pretty {
    /// A reporter for one run.
    #[must_use]
    pub fn new(_: Heading) -> Self {
        Self
    }
}

impl Reporter for Pretty {
    fn progress(&mut self, progress: &Progress) {
        let Progress::Done(outcome) = progress else { return };
        let message = outcome.message.as_deref().unwrap_or_default();
        anstream::println!("{:<14} {:<60} {message}", outcome.verdict.as_str(), outcome.id);
        if let Some(divergence) = &outcome.divergence {
            let step = divergence.step.as_ref().map(|(at, text)| format!("{} {text}", at.display()));
            anstream::println!("    {:?}\n    {}", divergence.requirements, step.unwrap_or_default());
            for event in &outcome.transcript.events {
                anstream::println!("      {:>3} {:?} {:?} {:?}", event.seq, event.link, event.sender, event.what);
            }
        }
    }

    fn finish(&mut self, finished: &Finished) {
        anstream::println!("{finished:?}");
    }
}
