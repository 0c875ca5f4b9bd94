//! `list`, `explain` and `coverage`: what there is, what it is about, and what is still missing.

mod coverage;
mod explain;

use diverge_protocol::rules::{Catalogue, Requirement, RequirementId};

use super::complain_of;
use crate::cli::ListWhat;
use crate::kinds::{self, Entry, Kind};
use crate::mutants::{Duty, Mutant};
use crate::report::style::{self, STRONG, paint, say};
use crate::suite::SelectError;
use crate::verdict::Exit;

pub(crate) use coverage::coverage;
pub(crate) use explain::explain;

/// Everything that is built in.
struct Everything {
    entries: Vec<(&'static dyn Kind, Entry)>,
    mutants: Vec<Mutant>,
    requirements: Vec<&'static Requirement>,
}

impl Everything {
    fn new() -> Result<Self, Exit> {
        let mut entries = Vec::new();
        for kind in kinds::all().iter().copied() {
            let of_kind = kind
                .entries()
                .map_err(|mistakes| complain_of(&SelectError::Mistakes(mistakes)))?;
            entries.extend(of_kind.into_iter().map(|entry| (kind, entry)));
        }
        Ok(Self {
            entries,
            mutants: kinds::all()
                .iter()
                .flat_map(|kind| kind.mutants())
                .collect(),
            // What binds a kind that is not judged yet is no gap in what is.
            requirements: Catalogue::get()
                .requirements()
                .iter()
                .filter(|it| it.iut.iter().any(|iut| kinds::of(*iut).is_some()))
                .collect(),
        })
    }

    fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().map(|(_, entry)| entry)
    }

    /// The scenarios that are there for a requirement.
    fn testing(&self, id: RequirementId) -> impl Iterator<Item = &Entry> {
        self.entries()
            .filter(move |entry| entry.requirements.contains(&id))
    }

    /// The scenarios that come across a requirement on their way.
    fn passing_by(&self, id: RequirementId) -> impl Iterator<Item = &Entry> {
        self.entries()
            .filter(move |entry| entry.passing_by.contains(&id))
    }

    /// The faults that break a requirement.
    fn faults_of(&self, id: RequirementId) -> impl Iterator<Item = &Mutant> {
        let mutants = self.mutants.iter();
        mutants.filter(move |mutant| mutant.duty == Duty::Caught(id.as_str()))
    }
}

/// `list`.
pub(crate) fn list(what: ListWhat) -> Exit {
    let everything = match Everything::new() {
        Ok(everything) => everything,
        Err(exit) => return exit,
    };
    let text = match what {
        ListWhat::Scenarios => list_scenarios(&everything),
        ListWhat::Requirements => list_requirements(&everything.requirements),
        ListWhat::Mutants => list_mutants(&everything.mutants),
    };
    say(text.trim_end());
    Exit::Conforms
}

fn list_scenarios(everything: &Everything) -> String {
    let rows = everything.entries().map(|entry| {
        let topic = entry.id.split('/').take(2).collect::<Vec<_>>().join("/");
        (topic, vec![entry.id.clone(), entry.title.clone()])
    });
    grouped(rows.collect())
}

fn list_requirements(requirements: &[&Requirement]) -> String {
    let rows = requirements.iter().map(|requirement| {
        let id = requirement.id.as_str();
        let topic = id.split('.').next().unwrap_or_default().to_owned();
        (
            topic,
            vec![
                id.to_owned(),
                style::strength(requirement),
                requirement.text.clone(),
            ],
        )
    });
    grouped(rows.collect())
}

fn list_mutants(mutants: &[Mutant]) -> String {
    let row = |mutant: &Mutant| {
        let (what, requirement) = match mutant.duty {
            Duty::Caught(requirement) => ("faults, each to be caught", Some(requirement)),
            Duty::Green => ("conforming variants, none to be flagged", None),
            Duty::NothingPasses => ("hollow forms, which must pass nothing", None),
        };
        let cells = [Some(mutant.name), requirement, Some(mutant.about)];
        let cells = cells.into_iter().flatten().map(str::to_owned).collect();
        (format!("{}: {what}", mutant.iut.as_str()), cells)
    };
    let mut rows: Vec<_> = mutants.iter().map(row).collect();
    // Mutants of one kind and duty need not stand together.
    rows.sort_by(|(one, _): &(String, Vec<String>), (other, _)| one.cmp(other));
    grouped(rows)
}

/// Rows under their headings, each heading's columns aligned.
fn grouped(rows: Vec<(String, Vec<String>)>) -> String {
    let mut text = String::new();
    for group in rows.chunk_by(|(one, _), (other, _)| one == other) {
        let cells: Vec<&[String]> = group.iter().map(|(_, cells)| cells.as_slice()).collect();
        text.push_str(&format!(
            "{}\n{}\n",
            paint(STRONG, &group[0].0),
            aligned(&cells)
        ));
    }
    text
}

/// Rows of cells, their columns aligned.
fn aligned(rows: &[impl AsRef<[String]>]) -> String {
    let mut wide: Vec<usize> = Vec::new();
    for row in rows {
        let row = row.as_ref();
        wide.resize(wide.len().max(row.len()), 0);
        row.iter()
            .zip(&mut wide)
            .for_each(|(cell, wide)| *wide = style::width(cell).max(*wide));
    }
    let line = |row: &[String]| {
        let cells = row
            .iter()
            .zip(&wide)
            .map(|(cell, wide)| format!("  {cell}{}", " ".repeat(wide - style::width(cell))));
        format!("{}\n", cells.collect::<String>().trim_end())
    };
    rows.iter().map(|row| line(row.as_ref())).collect()
}

fn titled(title: &str) -> String {
    format!("\n{}\n", paint(STRONG, title))
}
