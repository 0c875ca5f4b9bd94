//! One result that is no pass, told so that its reader can mend what is wrong.

use diverge_protocol::rules::RequirementId;
use diverge_protocol::transcript::Transcript;

use super::Heading;
use super::lanes::{self, Offence};
use super::mask::Mask;
use super::style::{self, QUIET, STRONG, paint, wrap};
use crate::verdict::{Divergence, Outcome, Verdict};

/// Columns that the labels take.
const LABEL: usize = 14;

/// The whole story of `outcome`, an empty line before it; `title` is what its scenario is about.
pub(super) fn render(outcome: &Outcome, title: Option<&str>, heading: &Heading) -> String {
    let mask = Mask::of(&outcome.transcript, &heading.secrets);
    let mut story = Story {
        lines: vec![String::new(), head(outcome)],
        mask: &mask,
    };
    if let Some(title) = title {
        story.lines.push(wrap(title, &" ".repeat(LABEL)));
    }
    story.lines.push(String::new());
    match &outcome.divergence {
        Some(divergence) => story.divergence(divergence),
        None => story.entry("because", outcome.message.as_deref().unwrap_or_default()),
    }
    if let Some(divergence) = &outcome.divergence {
        story.requirements(&divergence.requirements);
        if let Some(besides) = besides(outcome, divergence) {
            story.entry("besides", besides);
        }
    }
    story.lanes(outcome);
    story.lines.push(String::new());
    story
        .lines
        .push(label("replay", &replay(heading, &outcome.id, &mask)));
    story.lines.join("\n")
}

/// One line for a result that went the way of another that has been told already.
pub(super) fn in_short(outcome: &Outcome, like: &str) -> String {
    format!(
        "{}  {}",
        verdict(outcome),
        paint(QUIET, format!("as {like}"))
    )
}

/// What makes two failures of one requirement alike, each by itself: the step, and what was allowed and came.
pub(super) fn likenesses(outcome: &Outcome) -> Vec<(RequirementId, String)> {
    let Some(divergence) = &outcome.divergence else {
        return Vec::new();
    };
    let step = divergence.step.as_ref().map(|(at, _)| at.display());
    let happening = format!("{}\n{}", divergence.allowed, divergence.received);
    let blamed = divergence.requirements.first();
    blamed
        .into_iter()
        .flat_map(|id| {
            step.clone()
                .into_iter()
                .chain([happening.clone()])
                .map(|by| (*id, by))
        })
        .collect()
}

/// Whether what decided rests on a number that the revision may have moved.
pub(super) fn is_provisional(outcome: &Outcome) -> bool {
    let judged = outcome
        .divergence
        .as_ref()
        .map_or(&outcome.requirements, |divergence| &divergence.requirements);
    judged
        .iter()
        .filter_map(|id| id.requirement())
        .any(|requirement| requirement.provisional)
}

/// The command that plays one scenario again.
pub(super) fn replay(heading: &Heading, id: &str, mask: &Mask) -> String {
    let id = shlex::try_quote(id).map_or_else(|_| id.to_owned(), std::borrow::Cow::into_owned);
    // The program's own name is no secret, even where the credential happens to be a part of it.
    let (program, arguments) = heading
        .replay
        .split_once(' ')
        .unwrap_or((&heading.replay, ""));
    format!("{program} {}{id}", mask.text(arguments))
}

fn head(outcome: &Outcome) -> String {
    let provisional = if is_provisional(outcome) && outcome.divergence.is_some() {
        "  provisional"
    } else {
        ""
    };
    let more = paint(
        QUIET,
        format!("{}{provisional}", style::duration(outcome.duration)),
    );
    format!("{}  {more}", verdict(outcome))
}

/// The verdict and the id.
fn verdict(outcome: &Outcome) -> String {
    let word = match outcome.verdict {
        Verdict::Pass => "pass",
        Verdict::Fail => "FAIL",
        Verdict::Warn => "warn",
        Verdict::NotApplicable => "n/a",
        Verdict::Inconclusive => "inconclusive",
        Verdict::ExpectedFail => "expected",
        Verdict::Stale => "STALE",
        Verdict::Unstable => "UNSTABLE",
    };
    let padding = " ".repeat(LABEL.saturating_sub(word.len()));
    format!(
        "{}{padding}{}",
        paint(style::of(outcome.verdict), word),
        paint(STRONG, &outcome.id)
    )
}

fn label(label: &str, text: &str) -> String {
    format!(
        "{}{text}",
        paint(QUIET, format!("  {label:<width$}", width = LABEL - 2))
    )
}

struct Story<'a> {
    lines: Vec<String>,
    mask: &'a Mask,
}

impl Story<'_> {
    fn entry(&mut self, name: &str, text: &str) {
        let text = style::printable(&self.mask.text(text));
        let wrapped = wrap(&text, &" ".repeat(LABEL));
        self.lines.push(label(name, wrapped.trim_start()));
    }

    fn divergence(&mut self, divergence: &Divergence) {
        match &divergence.step {
            Some((at, text)) => {
                self.lines.push(label("step", &self.mask.text(text)));
                self.lines.push(label("", &paint(QUIET, at.display())));
            }
            None => self.lines.push(label("step", "after the last one")),
        }
        self.entry("allowed", &divergence.allowed);
        self.entry("received", &divergence.received);
        if let Some(pointer) = &divergence.pointer {
            self.entry("at", pointer);
        }
    }

    fn requirements(&mut self, requirements: &[RequirementId]) {
        self.lines.push(String::new());
        for (at, id) in requirements.iter().enumerate() {
            let name = if at == 0 { "breaks" } else { "and" };
            let Some(requirement) = id.requirement() else {
                self.lines.push(label(name, id.as_str()));
                continue;
            };
            let strength = paint(QUIET, format!("  {}", style::strength(requirement)));
            self.lines
                .push(label(name, &format!("{}{strength}", paint(STRONG, id))));
            self.lines.push(wrap(&requirement.text, &" ".repeat(LABEL)));
            self.lines.push(paint(
                QUIET,
                wrap(&style::source(requirement), &" ".repeat(LABEL)),
            ));
        }
    }

    fn lanes(&mut self, outcome: &Outcome) {
        let Transcript { events, .. } = &outcome.transcript;
        let Some(divergence) = outcome.divergence.as_ref().filter(|_| !events.is_empty()) else {
            return;
        };
        let offence = divergence
            .seq
            .map_or(Offence::Silence(outcome.duration), Offence::Event);
        let told = events_told_of(&format!("{} {}", divergence.allowed, divergence.received));
        let lanes = lanes::of_transcript(&outcome.transcript, offence, &told, self.mask);
        self.lines.push(format!("\n{}", lanes.trim_end()));
    }
}

/// What the message adds to the divergence, such as that the process ended.
pub(super) fn besides<'o>(outcome: &'o Outcome, divergence: &Divergence) -> Option<&'o str> {
    let told = format!(
        "expected {}; got {}",
        divergence.allowed, divergence.received
    );
    let more = outcome.message.as_deref()?.strip_prefix(&told)?;
    Some(more.trim_start_matches("; ")).filter(|more| !more.is_empty())
}

/// The numbers of the events that a checker's text names.
pub(super) fn events_told_of(text: &str) -> Vec<u64> {
    let number = |rest: &str| {
        rest.split(|c: char| !c.is_ascii_digit())
            .next()?
            .parse()
            .ok()
    };
    text.split("event ").skip(1).filter_map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn a_failure_says_where_what_why_and_how_to_see_it_again() {
        let story = plain(&render(
            &testing::failed(),
            Some("A loop is relayed"),
            &testing::heading(),
        ));
        for part in [
            "FAIL          provider/streams/one-loop  1.9 ms",
            "              A loop is relayed",
            "  step        client expects chunk",
            "              scenarios/provider/streams.yaml:14:9",
            "  allowed     the chunk that the proxy sent",
            "  received    a chunk with \"‹secret, 7 bytes›\"",
            "  at          /type",
            "  breaks      run.chunk.verbatim  stated",
            "  and         run.chunk.one-response-each  ",
            "  replay      diverge-conformance run provider --launch 'serve ‹secret, 7 bytes›' --scenario \
             provider/streams/one-loop",
        ] {
            assert!(
                story.lines().any(|line| line.starts_with(part)),
                "`{part}` in\n{story}"
            );
        }
        let verbatim = testing::id("run.chunk.verbatim")
            .requirement()
            .expect("it is there");
        assert!(
            story.contains(verbatim.text.split_at(40).0)
                && story.contains(&verbatim.source.section),
            "{story}"
        );
    }

    #[test]
    fn events_that_the_text_names_are_shown_too() {
        assert_eq!(
            events_told_of("first the chunk of event 9 (event 12), no event at all"),
            [9, 12]
        );
    }

    #[test]
    fn a_secret_is_in_no_part_of_it_and_no_line_is_too_wide() {
        let story = plain(&render(&testing::failed(), None, &testing::heading()));
        assert!(!story.contains("hunter2"), "{story}");
        for line in story.lines().filter(|line| !line.contains("replay")) {
            assert!(style::width(line) <= style::WIDTH, "{line}");
        }
    }

    #[test]
    fn what_the_process_did_besides_is_told() {
        let mut outcome = testing::failed();
        outcome
            .message
            .as_mut()
            .expect("it has one")
            .push_str("; the implementation's process ended");
        let story = plain(&render(&outcome, None, &testing::heading()));
        assert!(
            story.contains("  besides     the implementation's process ended"),
            "{story}"
        );
    }

    #[test]
    fn a_result_without_a_divergence_gives_its_reason() {
        let mut outcome = testing::outcome(Verdict::Inconclusive);
        outcome.message = Some("the harness was starved".to_owned());
        let story = plain(&render(&outcome, None, &testing::heading()));
        assert!(
            story.contains("  because     the harness was starved"),
            "{story}"
        );
    }

    #[test]
    fn failures_at_one_step_or_by_one_message_are_alike() {
        let alike = |one: &Outcome, other: &Outcome| {
            let others = likenesses(other);
            likenesses(one)
                .iter()
                .any(|likeness| others.contains(likeness))
        };
        let one = testing::failed();
        let (mut here, mut there, mut elsewhere) = (one.clone(), one.clone(), one.clone());
        let divergence = |outcome: &mut Outcome| outcome.divergence.take().expect("it has one");
        let other = "something else".to_owned();
        here.divergence = Some(Divergence {
            received: other.clone(),
            ..divergence(&mut here)
        });
        there.divergence = Some(Divergence {
            step: None,
            ..divergence(&mut there)
        });
        elsewhere.divergence = Some(Divergence {
            step: None,
            received: other,
            ..divergence(&mut elsewhere)
        });
        assert!(alike(&one, &here) && alike(&one, &there) && !alike(&one, &elsewhere));
        assert!(likenesses(&testing::outcome(Verdict::Inconclusive)).is_empty());
        assert!(plain(&in_short(&here, &one.id)).ends_with("  as provider/streams/one-loop"));
    }
}
