//! Results for people: a progress bar while it goes on, each failure as it comes, and what it all comes to.

use std::collections::HashMap;
use std::time::Instant;

use diverge_protocol::rules::{RequirementId, Revision};
use diverge_protocol::scenario::Iut;
use diverge_protocol::transcript::Transcript;
use indicatif::{ProgressBar, ProgressStyle};

use super::closing::{self, closing};
use super::mask::Mask;
use super::style::{self, QUIET, STRONG, paint, say};
use super::tally::{Tally, section};
use super::{Heading, Reporter, failure};
use crate::runner::{Finished, Progress};
use crate::verdict::{Outcome, Summary, Verdict};

/// Writes a report to standard output, and shows progress on standard error where that is a terminal.
#[derive(Debug, Default)]
pub struct Pretty {
    part: Option<Part>,
    parts: usize,
}

/// One part of the run.
#[derive(Debug)]
struct Part {
    heading: Heading,
    mask: Mask,
    bar: ProgressBar,
    started: Instant,
    summary: Summary,
    tally: Tally,
    failures: Stories,
    warnings: Stories,
    /// Warnings are told when all failures have been.
    warned: String,
    /// What is not scored, a line each.
    unscored: Vec<String>,
}

impl Part {
    fn new(heading: Heading) -> Self {
        let mask = Mask::of(&Transcript::default(), &heading.secrets);
        let scenarios = style::count(heading.scenarios, "scenario");
        let subject = style::printable(&mask.text(&heading.subject));
        say(&format!(
            "{} {subject}, {scenarios}",
            paint(STRONG, format!("{}:", kind(&heading)))
        ));
        let bar = ProgressBar::new(heading.scenarios as u64);
        if let Ok(style) = ProgressStyle::with_template("{bar:30.dim} {pos}/{len} {msg}") {
            bar.set_style(style.progress_chars("━━─"));
        }
        Self {
            heading,
            mask,
            bar,
            started: Instant::now(),
            summary: Summary::default(),
            tally: Tally::default(),
            failures: Stories::default(),
            warnings: Stories::default(),
            warned: String::new(),
            unscored: Vec::new(),
        }
    }

    fn done(&mut self, outcome: &Outcome) {
        if !self.heading.scores(&outcome.id) {
            self.bar.inc(1);
            let line = format!("  {}  {}\n", outcome.id, outcome.verdict.as_str());
            return self.unscored.push(line);
        }
        self.summary.add(outcome.verdict);
        self.tally.add(outcome, &self.mask_of(outcome));
        let shown = [
            Verdict::Fail,
            Verdict::Unstable,
            Verdict::Stale,
            Verdict::Warn,
            Verdict::Inconclusive,
        ];
        let counts = shown
            .iter()
            .filter(|verdict| self.summary.count(**verdict) > 0);
        let counts: Vec<String> = counts
            .map(|verdict| format!("{} {}", self.summary.count(*verdict), verdict.as_str()))
            .collect();
        self.bar.set_message(counts.join(", "));
        self.bar.inc(1);
        match outcome.verdict {
            Verdict::Pass | Verdict::NotApplicable | Verdict::ExpectedFail | Verdict::Stale => {}
            Verdict::Fail | Verdict::Inconclusive | Verdict::Unstable => {
                let story = self.failures.tell(outcome, &self.heading);
                self.bar.suspend(|| say(&story));
            }
            Verdict::Warn => {
                let story = self.warnings.tell(outcome, &self.heading);
                self.warned.push_str(&format!("{story}\n"));
            }
        }
    }

    fn mask_of(&self, outcome: &Outcome) -> Mask {
        let shows_texts = outcome.message.is_some() || !outcome.readings.is_empty();
        if shows_texts {
            Mask::of(&outcome.transcript, &self.heading.secrets)
        } else {
            Mask::default()
        }
    }

    fn unclaimed(&self, finished: &Finished) -> Option<String> {
        let lines = finished.unclaimed.iter().map(|about| {
            let about = style::printable(&self.mask.text(about));
            format!("{}\n", style::wrap(&about, "  "))
        });
        section("connections to the proxy that no scenario asked for", lines)
    }

    fn stopped(&self, finished: &Finished) -> Option<String> {
        let (_, why) = finished.stopped.as_ref()?;
        let why = style::printable(&self.mask.text(why));
        let left = self
            .heading
            .scenarios
            .saturating_sub(finished.summary.total());
        let left = if left > 0 {
            format!("; {} not played", style::count(left, "scenario"))
        } else {
            String::new()
        };
        section(
            "the run stopped early",
            std::iter::once(style::wrap(&format!("{why}{left}"), "  ") + "\n"),
        )
    }
}

/// The kind of implementation, and the revision where there is more than one.
fn kind(heading: &Heading) -> String {
    let iut = heading.iut.as_str();
    match heading.revision {
        Some(Revision::Path) => format!("{iut}, path revision"),
        Some(Revision::Scope) if heading.iut != Iut::Provider => format!("{iut}, scope revision"),
        Some(Revision::Scope) | None => iut.to_owned(),
    }
}

/// What has been told, so that of results that are alike only the first is told in full.
#[derive(Debug, Default)]
struct Stories {
    told: HashMap<(RequirementId, String), String>,
    titles: Option<HashMap<String, String>>,
    /// Whether the last one was told in short.
    in_short: bool,
}

impl Stories {
    fn tell(&mut self, outcome: &Outcome, heading: &Heading) -> String {
        let likenesses = failure::likenesses(outcome);
        let like = likenesses
            .iter()
            .find_map(|likeness| self.told.get(likeness))
            .cloned();
        let first = like.clone().unwrap_or_else(|| outcome.id.clone());
        for likeness in likenesses {
            self.told.entry(likeness).or_insert_with(|| first.clone());
        }
        if let Some(like) = like {
            let gap = if self.in_short { "" } else { "\n" };
            self.in_short = true;
            return format!("{gap}{}", failure::in_short(outcome, &like));
        }
        self.in_short = false;
        let titles = self.titles.get_or_insert_with(|| {
            let scenarios = crate::suite::built_in(heading.iut).unwrap_or_default();
            scenarios
                .iter()
                .map(|scenario| (scenario.id.clone(), scenario.title.clone()))
                .collect()
        });
        failure::render(
            outcome,
            titles.get(&outcome.id).map(String::as_str),
            heading,
        )
    }
}

impl Reporter for Pretty {
    fn begin(&mut self, heading: &Heading) {
        if self.parts > 0 {
            say("");
        }
        self.parts += 1;
        self.part = Some(Part::new(heading.clone()));
    }

    fn progress(&mut self, progress: &Progress) {
        if let Some(part) = &mut self.part {
            part.progress(progress);
        }
    }

    fn end(&mut self, finished: &Finished) {
        if let Some(mut part) = self.part.take() {
            part.end(finished);
        }
    }

    /// Each part has had its own last line; what is left is what comes of the baseline, and so of the run.
    fn finish(&mut self, whole: &Finished) {
        if let Some(reckoning) = &whole.baseline {
            let told = closing::reckoning(reckoning);
            if !told.is_empty() {
                say(&format!("\n{}", told.trim_end()));
            }
            say(&format!("\n{}", closing::closing_of_all(whole)));
        }
    }
}

impl Part {
    fn progress(&mut self, progress: &Progress) {
        match progress {
            Progress::Done(outcome) => self.done(outcome),
            Progress::Note(note) => {
                let note = style::printable(&self.mask.text(note));
                self.bar.suspend(|| say(&paint(QUIET, note)));
            }
        }
    }

    fn end(&mut self, finished: &Finished) {
        let elapsed = self.started.elapsed();
        self.bar.finish_and_clear();
        let head = if finished.strict {
            "warnings, which fail the run"
        } else {
            "warnings"
        };
        let sections = [
            section(head, std::iter::once(std::mem::take(&mut self.warned))),
            section(
                "not scored in this revision yet",
                std::mem::take(&mut self.unscored).into_iter(),
            ),
            self.tally.expected(),
            self.tally.not_applicable(),
            self.tally.readings(),
            self.tally.slowest(),
            self.tally.broken(),
            self.tally.topics(),
            self.tally.provisional(),
            self.unclaimed(finished),
            self.stopped(finished),
        ];
        sections
            .iter()
            .flatten()
            .for_each(|section| say(&format!("\n{}", section.trim_end())));
        say(&format!("\n{}", closing(finished, elapsed)));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn of_failures_that_are_alike_only_the_first_is_told_in_full() {
        let scenarios = crate::suite::built_in(testing::heading().iut).expect("the files are good");
        let mut stories = Stories::default();
        let mut tell = |id: &str| {
            let outcome = Outcome {
                id: id.to_owned(),
                ..testing::failed()
            };
            anstream::adapter::strip_str(&stories.tell(&outcome, &testing::heading())).to_string()
        };
        let story = tell(&scenarios[0].id);
        let title = &scenarios[0].title;
        assert!(
            story.contains(title.split(' ').next().unwrap_or_default()),
            "`{title}` in\n{story}"
        );
        assert!(story.contains("received"), "{story}");
        let as_first = format!("as {}", scenarios[0].id);
        assert_eq!(
            tell("p/t/second"),
            format!("\nFAIL          p/t/second  {as_first}")
        );
        assert_eq!(
            tell("p/t/third"),
            format!("FAIL          p/t/third  {as_first}")
        );
    }
}
