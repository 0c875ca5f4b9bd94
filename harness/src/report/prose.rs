//! A scenario's steps as a numbered list, for people who read rather than watch.

use diverge_protocol::rules::RequirementId;
use diverge_protocol::scenario::{Action, Part, Step};

use super::style::{self, QUIET, paint};
use crate::play::step_text;

/// The longest text of a detail that is shown.
const LONGEST: usize = 60;
/// The widest line behind which what it checks stands in a column with the others.
const WIDEST: usize = 70;

/// The steps, a line each, with what each checks.
pub(crate) fn steps(steps: &[Step]) -> String {
    let mut prose = Prose::default();
    prose.steps(steps, 0, Part::Probe);
    let fits = |width: &usize| *width <= WIDEST;
    let wide = prose
        .lines
        .iter()
        .map(|(line, _)| style::width(line))
        .filter(fits)
        .max()
        .unwrap_or_default();
    let line = |(line, checks): &(String, Option<RequirementId>)| match checks {
        None => format!("{line}\n"),
        Some(id) => {
            let padding = " ".repeat(wide.saturating_sub(style::width(line)));
            format!("{line}{padding}  {}\n", paint(QUIET, id))
        }
    };
    prose.lines.iter().map(line).collect()
}

#[derive(Default)]
struct Prose {
    /// Each line, and what its step checks.
    lines: Vec<(String, Option<RequirementId>)>,
    number: usize,
}

impl Prose {
    fn steps(&mut self, steps: &[Step], depth: usize, mut part: Part) {
        for step in steps {
            if step.part != part {
                part = step.part;
                self.heading(
                    depth,
                    if part == Part::Control {
                        "control: what must work"
                    } else {
                        "probe"
                    },
                );
            }
            self.step(step, depth);
        }
    }

    fn heading(&mut self, depth: usize, text: &str) {
        self.lines
            .push((format!("      {}{text}", "  ".repeat(depth)), None));
    }

    fn step(&mut self, step: &Step, depth: usize) {
        match &step.action {
            Action::OneOf(branches) => {
                self.branches("one of these", "or", branches, depth, step.part)
            }
            Action::EitherOrder(branches) => {
                self.branches("in any order", "and", branches, depth, step.part)
            }
            Action::Repeat(times, steps) => {
                self.heading(depth, &format!("{times} times"));
                self.steps(steps, depth + 1, step.part);
            }
            Action::AnyNumberOf(steps) => {
                self.heading(depth, "any number of");
                self.steps(steps, depth + 1, step.part);
            }
            Action::NotApplicable(why) => self.line(depth, &format!("not applicable: {why}"), None),
            _ => {
                let line = format!("{}{}", step_text(step), details(step));
                self.line(depth, &line, step.checks);
            }
        }
    }

    fn line(&mut self, depth: usize, text: &str, checks: Option<RequirementId>) {
        self.number += 1;
        let text = style::printable(text);
        self.lines.push((
            format!("  {:>2}  {}{text}", self.number, "  ".repeat(depth)),
            checks,
        ));
    }

    fn branches(
        &mut self,
        first: &str,
        next: &str,
        branches: &[Vec<Step>],
        depth: usize,
        part: Part,
    ) {
        for (at, branch) in branches.iter().enumerate() {
            self.heading(depth, if at == 0 { first } else { next });
            self.steps(branch, depth + 1, part);
        }
    }
}

/// What a step's line says besides who does what.
fn details(step: &Step) -> String {
    let args = &step.args;
    let mut details = Vec::new();
    let mut detail = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            details.push(format!("{name} {}", style::fit(&value, LONGEST)));
        }
    };
    let number = |number: Option<u32>| number.map(|number| number.to_string());
    let byte = |byte: Option<u8>| byte.map(|byte| byte.to_string());
    detail(
        "broken by",
        args.mutate.as_ref().map(|mutation| format!("`{mutation}`")),
    );
    detail("answer", args.answer.clone());
    detail("number", number(args.number));
    detail("type", byte(args.frame_type));
    detail("scope", number(args.scope));
    detail("channel field", number(args.channel_field));
    detail("mode", byte(args.mode));
    detail("json", args.json.clone());
    detail("hex", args.hex.clone());
    detail("text", args.text.clone());
    detail("arguments", args.arguments.clone());
    detail("image", args.image.clone());
    detail("volume mounts", args.volume_mounts.clone());
    detail("FUSE files", args.fuse_file_mounts.clone());
    detail("FUSE directories", args.fuse_directory_mounts.clone());
    for (pointer, json) in &args.parts {
        detail(
            "with",
            Some(format!(
                "{json} at {}",
                if pointer.is_empty() {
                    "its root"
                } else {
                    pointer
                }
            )),
        );
    }
    detail("kept as", args.capture.clone());
    if details.is_empty() {
        String::new()
    } else {
        format!(", {}", details.join(", "))
    }
}
