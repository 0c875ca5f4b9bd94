//! `list`, `explain` and `coverage`: what there is, what it is about, and what is still missing.

mod coverage;
mod explain;

use std::sync::Arc;

use diverge_protocol::rules::{Catalogue, Requirement, RequirementId};
use diverge_protocol::scenario::{Iut, Scenario};
use mock_provider::fault::Fault;
use mock_provider::{faults, hollow, variants};

use super::complain_of;
use crate::cli::ListWhat;
use crate::events::emitter::{self, Duty, Emitter};
use crate::report::style::{self, STRONG, paint, say};
use crate::suite::{self, SelectError};
use crate::verdict::Exit;

pub(crate) use coverage::coverage;
pub(crate) use explain::explain;

/// The kinds of implementations whose scenarios are built in.
const IUTS: [Iut; 1] = [Iut::Provider];

/// The kinds of implementations that are judged.
const JUDGED: [Iut; 2] = [Iut::Provider, Iut::Events];

/// Everything that is built in.
struct Everything {
    scenarios: Vec<Arc<Scenario>>,
    requirements: Vec<&'static Requirement>,
}

impl Everything {
    fn new() -> Result<Self, Exit> {
        let mut scenarios = Vec::new();
        for iut in IUTS {
            scenarios.extend(
                suite::built_in(iut)
                    .map_err(|mistakes| complain_of(&SelectError::Mistakes(mistakes)))?,
            );
        }
        Ok(Self {
            scenarios,
            requirements: Catalogue::get()
                .requirements()
                .iter()
                .filter(|it| it.iut.iter().any(|iut| JUDGED.contains(iut)))
                .collect(),
        })
    }

    /// The scenarios that are there for a requirement.
    fn testing(&self, id: RequirementId) -> impl Iterator<Item = &Scenario> {
        self.scenarios
            .iter()
            .map(Arc::as_ref)
            .filter(move |scenario| scenario.requirements.contains(&id))
    }

    /// The scenarios that come across a requirement on their way.
    fn passing_by(&self, id: RequirementId) -> impl Iterator<Item = &Scenario> {
        self.scenarios
            .iter()
            .map(Arc::as_ref)
            .filter(move |scenario| !scenario.requirements.contains(&id) && checks(scenario, id))
    }
}

fn checks(scenario: &Scenario, id: RequirementId) -> bool {
    let mut checks = false;
    scenario.each_step(&mut |step| checks |= step.checks == Some(id));
    checks
}

fn faults_of(id: RequirementId) -> impl Iterator<Item = &'static Fault> {
    faults::all().filter(move |fault| fault.requirement == id.as_str())
}

/// The results that a stream of events has for a requirement.
fn results(id: RequirementId) -> impl Iterator<Item = String> {
    let all = crate::events::requirements().filter(move |it| it.id == id);
    all.map(crate::events::scenario_id)
}

fn emitters_of(id: RequirementId) -> impl Iterator<Item = &'static Emitter> {
    emitter::all().filter(move |it| it.duty == Duty::Caught(id.as_str()))
}

/// `list`.
pub(crate) fn list(what: ListWhat) -> Exit {
    let everything = match Everything::new() {
        Ok(everything) => everything,
        Err(exit) => return exit,
    };
    let text = match what {
        ListWhat::Scenarios => list_scenarios(&everything.scenarios),
        ListWhat::Requirements => list_requirements(&everything.requirements),
        ListWhat::Mutants => list_mutants(),
    };
    say(text.trim_end());
    Exit::Conforms
}

fn list_scenarios(scenarios: &[Arc<Scenario>]) -> String {
    let rows = scenarios.iter().map(|scenario| {
        let topic = format!("{}/{}", scenario.iut.as_str(), scenario.topic());
        (topic, vec![scenario.id.clone(), scenario.title.clone()])
    });
    let events = crate::events::requirements().map(|it| {
        let id = crate::events::scenario_id(it);
        let topic = id
            .rsplit_once('/')
            .map_or("", |(topic, _)| topic)
            .to_owned();
        (topic, vec![id, it.text.clone()])
    });
    let mut events: Vec<_> = events.collect();
    events.sort_by(|(one, _), (other, _)| one.cmp(other));
    grouped(rows.chain(events).collect())
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

fn list_mutants() -> String {
    let row = |head: &str, cells: &[&str]| {
        (
            head.to_owned(),
            cells.iter().map(|cell| (*cell).to_owned()).collect(),
        )
    };
    let faults = faults::all().map(|it| {
        row(
            "faults, each to be caught",
            &[it.name, it.requirement, it.about],
        )
    });
    let variants =
        variants::all().map(|it| row("variants, none to be flagged", &[it.name, it.about]));
    let hollow = hollow::all().map(|it| {
        row(
            "hollow peers, which must pass nothing",
            &[it.name, it.about],
        )
    });
    let emitters = |head: &'static str, fits: fn(&Duty) -> bool| {
        emitter::all()
            .filter(move |it| fits(&it.duty))
            .map(move |it| {
                let id = match it.duty {
                    Duty::Caught(id) => Some(id),
                    _ => None,
                };
                let cells: Vec<&str> = [Some(it.name), id, Some(it.about)]
                    .into_iter()
                    .flatten()
                    .collect();
                row(head, &cells)
            })
    };
    let events = emitters("faults of the event stream, each to be caught", |duty| {
        matches!(duty, Duty::Caught(_))
    })
    .chain(emitters(
        "conforming event streams, none to be flagged",
        |duty| *duty == Duty::Green,
    ))
    .chain(emitters(
        "hollow event streams, which must pass nothing",
        |duty| *duty == Duty::NothingPasses,
    ));
    grouped(faults.chain(variants).chain(hollow).chain(events).collect())
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
