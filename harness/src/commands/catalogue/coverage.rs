//! `coverage`: whether each requirement has a scenario that tests it and a mutant that tries the scenario.

use diverge_protocol::rules::{Requirement, Strength};

use super::{Everything, aligned, titled};
use crate::report::style::{self, BAD, GOOD, QUIET, STRONG, paint, say, wrap};
use crate::verdict::Exit;

/// `coverage`.
pub(crate) fn coverage() -> Exit {
    let everything = match Everything::new() {
        Ok(everything) => everything,
        Err(exit) => return exit,
    };
    let rows: Vec<Covered> = everything
        .requirements
        .iter()
        .map(|it| Covered::of(it, &everything))
        .collect();
    say(covered_table(&rows).trim_end());
    let excluded: String = rows
        .iter()
        .filter_map(|row| {
            Some(entry_below(
                row.requirement.id.as_str(),
                row.requirement.excluded.as_deref()?,
            ))
        })
        .collect();
    if !excluded.is_empty() {
        say(titled("not tested, and why").trim_end());
        say(excluded.trim_end());
    }
    let missing: Vec<&Covered> = rows.iter().filter(|row| row.lacks().is_some()).collect();
    let tested = rows
        .iter()
        .filter(|row| row.scenarios > 0 && row.mutants > 0)
        .count();
    let excluded = rows
        .iter()
        .filter(|row| row.requirement.excluded.is_some())
        .count();
    let counts = format!(
        "{tested} of {} tested and tried, {excluded} excluded",
        rows.len()
    );
    if missing.is_empty() {
        say(&format!("\n{}: {counts}", paint(GOOD, "covered")));
        return Exit::Conforms;
    }
    say(titled("missing").trim_end());
    let rows = missing.iter().map(|row| {
        let lacks = row.lacks().unwrap_or_default();
        [
            row.requirement.id.to_string(),
            style::strength(row.requirement),
            lacks.to_owned(),
        ]
    });
    say(aligned(&rows.collect::<Vec<_>>()).trim_end());
    say(&format!(
        "\n{}: {counts}, {} missing",
        paint(BAD, "not covered"),
        missing.len()
    ));
    Exit::Fails
}

fn entry_below(name: &str, text: &str) -> String {
    format!("  {name}\n{}\n", paint(QUIET, wrap(text, "    ")))
}

/// What a requirement is tested and tried with.
struct Covered<'a> {
    requirement: &'a Requirement,
    scenarios: usize,
    mutants: usize,
}

impl<'a> Covered<'a> {
    fn of(requirement: &'a Requirement, everything: &Everything) -> Self {
        Self {
            requirement,
            scenarios: everything.testing(requirement.id).count(),
            mutants: everything.faults_of(requirement.id).count(),
        }
    }

    /// What it lacks, where it must lack nothing.
    fn lacks(&self) -> Option<&'static str> {
        if self.requirement.strength == Strength::Inferred || self.requirement.excluded.is_some() {
            return None;
        }
        match (self.scenarios, self.mutants) {
            (0, 0) => Some("no scenario, no mutant"),
            (0, _) => Some("no scenario"),
            (_, 0) => Some("no mutant"),
            _ => None,
        }
    }
}

fn covered_table(rows: &[Covered<'_>]) -> String {
    let wide = rows
        .iter()
        .map(|row| row.requirement.id.as_str().len())
        .max()
        .unwrap_or_default();
    let strengths = rows
        .iter()
        .map(|row| style::strength(row.requirement).len())
        .max()
        .unwrap_or_default();
    let head = format!(
        "{:<wide$}  {:<strengths$}  scenarios  mutants",
        "requirement", "strength"
    );
    let mut table = format!("{}\n", paint(STRONG, head));
    let number = |number: usize, width: usize, must: bool| match number {
        0 if must => paint(BAD, format!("{:>width$}", "none")),
        0 => paint(QUIET, format!("{:>width$}", "·")),
        number => format!("{number:>width$}"),
    };
    for row in rows {
        let must = row.lacks().is_some();
        table.push_str(&format!(
            "{:<wide$}  {}  {}  {}\n",
            row.requirement.id.as_str(),
            paint(
                QUIET,
                format!("{:<strengths$}", style::strength(row.requirement))
            ),
            number(row.scenarios, "scenarios".len(), must),
            number(row.mutants, "mutants".len(), must),
        ));
    }
    table
}
