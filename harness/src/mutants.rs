//! The scenarios tried on the references' hollow peers, faults and conforming variants.
//!
//! A fault must be caught by the check that names its requirement, a hollow peer must pass nothing, and a conforming
//! variant must not be flagged.

use std::collections::BTreeSet;
use std::time::Duration;

use diverge_protocol::scenario::Iut;

use crate::iut::{Plug, PlugError};
use crate::kinds::{Entry, Kind, Selection, Setting};
use crate::play::Patience;
use crate::runner::{Finished, Progress};
use crate::verdict::{Outcome, Verdict};

/// A behaviour of a reference, and what must come of it.
#[derive(Debug, Clone)]
pub struct Mutant {
    /// The kind of implementation that it is a form of.
    pub iut: Iut,
    /// Its name, which no other mutant of its kind has.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub about: &'static str,
    /// What must come of it.
    pub duty: Duty,
}

/// What must come of a mutant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duty {
    /// Caught by the check that names this requirement.
    Caught(&'static str),
    /// Not flagged.
    Green,
    /// No scenario passes.
    NothingPasses,
}

/// What came of a mutant.
#[derive(Debug)]
pub struct Tried {
    /// The mutant.
    pub mutant: Mutant,
    /// Whether its duty was met.
    pub met: bool,
    /// For a fault: the scenarios that caught it by its requirement.
    pub caught_by: Vec<String>,
    /// What is wrong, for people.
    pub wrong: Vec<String>,
    /// How many scenarios were played.
    pub played: usize,
}

impl Mutant {
    /// What is different about the reference, in words.
    #[must_use]
    pub fn in_words(&self) -> String {
        match self.duty {
            Duty::Caught(_) => format!("with the fault {}", self.name),
            Duty::Green => format!("as the conforming variant {}", self.name),
            Duty::NothingPasses => format!("replaced by the hollow {}", self.name),
        }
    }
}

/// The requirement that a connection breaks which comes for a refused run.
const NOTHING_DEPLOYED: &str = "refusal.nothing-deployed";

/// How long mutants are waited for: they are in this process, and most of them say nothing where they should.
const PATIENCE: Duration = Duration::from_millis(300);
/// How long what must not be flagged is waited for, and a fault that nothing has caught twice.
const LONG_PATIENCE: Duration = Duration::from_secs(5);

/// Plays a mutant. A fault is played by the scenarios that test its requirement; where `full`, and just one of them
/// caught it, by all others too, so as to know whether that one is the only one.
///
/// # Errors
/// When the mutant cannot be started.
pub async fn try_out(
    kind: &dyn Kind,
    mutant: &Mutant,
    entries: &[Entry],
    jobs: usize,
    full: bool,
) -> Result<Tried, PlugError> {
    let patience = match mutant.duty {
        Duty::Green => LONG_PATIENCE,
        Duty::Caught(_) => PATIENCE + kind.pauses(),
        Duty::NothingPasses => PATIENCE,
    };
    let mut setting = Setting {
        plug: Plug::Reference(Some(mutant.clone())),
        config: kind.in_tree(),
        jobs,
        patience: Patience::new(patience),
        strict: false,
        generated: None,
        events_revision: None,
    };
    let (chosen, others): (Vec<_>, Vec<_>) = entries.iter().partition(|entry| match mutant.duty {
        Duty::Caught(requirement) => entry.tests(requirement),
        Duty::Green | Duty::NothingPasses => true,
    });
    let mut outcomes: Vec<Outcome> = Vec::new();
    let mut finished = play(kind, &chosen, &setting, &mut outcomes).await?;
    let survives = |outcomes: &[Outcome]| caught(mutant, outcomes).is_empty();
    // A busy machine can need the longer wait; some faults show only as long as a loop goes on, which is no longer.
    for again in [patience, LONG_PATIENCE] {
        if matches!(mutant.duty, Duty::Caught(_)) && survives(&outcomes) {
            outcomes.clear();
            setting.patience = Patience::new(again);
            finished.add(play(kind, &chosen, &setting, &mut outcomes).await?);
        }
    }
    if full && families(&caught(mutant, &outcomes)).len() == 1 {
        finished.add(play(kind, &others, &setting, &mut outcomes).await?);
    }
    let mut tried = Tried {
        mutant: mutant.clone(),
        met: true,
        caught_by: Vec::new(),
        wrong: Vec::new(),
        played: outcomes.len(),
    };
    outcomes.sort_by(|a, b| a.id.cmp(&b.id));
    match mutant.duty {
        Duty::Caught(requirement) => {
            tried.caught_by = caught(mutant, &outcomes);
            // A proxy's connection for a refused run may come when its scenario is over: then the run tells.
            if requirement == NOTHING_DEPLOYED && !finished.unclaimed.is_empty() {
                tried
                    .caught_by
                    .push("the run, by a connection that no scenario claims".to_owned());
            }
            if tried.caught_by.is_empty() {
                tried.wrong.push(match chosen.len() {
                    0 => format!("no scenario tests {requirement}"),
                    count => format!("survives the {count} scenarios that test {requirement}"),
                });
                tried.wrong.extend(
                    outcomes
                        .iter()
                        .filter(|outcome| outcome.verdict != Verdict::Pass)
                        .map(flagged),
                );
            }
        }
        Duty::Green => {
            let bad = outcomes.iter().filter(|outcome| {
                !matches!(outcome.verdict, Verdict::Pass | Verdict::NotApplicable)
            });
            tried.wrong.extend(bad.map(flagged));
            if !outcomes
                .iter()
                .any(|outcome| outcome.verdict == Verdict::Pass)
            {
                tried.wrong.push("nothing passes".to_owned());
            }
            tried.wrong.extend(finished.unclaimed.iter().cloned());
        }
        Duty::NothingPasses => {
            let passing = outcomes
                .iter()
                .filter(|outcome| outcome.verdict == Verdict::Pass);
            tried
                .wrong
                .extend(passing.map(|outcome| format!("{} passes", outcome.id)));
        }
    }
    if let Some((_, why)) = &finished.stopped
        && mutant.duty != Duty::NothingPasses
    {
        tried.wrong.push(format!("the run stopped: {why}"));
    }
    tried.met = tried.wrong.is_empty() && (tried.played > 0 || mutant.duty == Duty::NothingPasses);
    Ok(tried)
}

/// Plays the chosen scenarios in every revision that has some of them.
async fn play(
    kind: &dyn Kind,
    chosen: &[&Entry],
    setting: &Setting,
    outcomes: &mut Vec<Outcome>,
) -> Result<Finished, PlugError> {
    let ids = chosen.iter().map(|entry| entry.id.clone()).collect();
    let mut finished = Finished::default();
    let trials = kind
        .trials(&Selection::Ids(ids), None, setting)
        .unwrap_or_default();
    for trial in trials.iter().filter(|trial| trial.scenarios() > 0) {
        let mut progress = |progress: Progress| {
            if let Progress::Done(outcome) = progress {
                outcomes.push(*outcome);
            }
        };
        finished.add(trial.play(&mut progress).await?);
    }
    Ok(finished)
}

/// The scenarios that caught a fault by the check that names its requirement.
fn caught(mutant: &Mutant, outcomes: &[Outcome]) -> Vec<String> {
    let Duty::Caught(requirement) = mutant.duty else {
        return Vec::new();
    };
    let by_requirement = |outcome: &&Outcome| {
        matches!(outcome.verdict, Verdict::Fail | Verdict::Warn)
            && outcome.divergence.as_ref().is_some_and(|divergence| {
                divergence
                    .requirements
                    .iter()
                    .any(|id| id.as_str() == requirement)
            })
    };
    outcomes
        .iter()
        .filter(by_requirement)
        .map(|outcome| outcome.id.clone())
        .collect()
}

/// Scenario ids without their cases, each once.
#[must_use]
pub fn families(ids: &[String]) -> BTreeSet<String> {
    ids.iter()
        .map(|id| id.split('/').take(3).collect::<Vec<_>>().join("/"))
        .collect()
}

fn flagged(outcome: &Outcome) -> String {
    let requirements = outcome.divergence.as_ref().map(|divergence| {
        divergence
            .requirements
            .iter()
            .map(|id| id.as_str())
            .collect::<Vec<_>>()
            .join(", ")
    });
    format!(
        "{}: {} {}: {}",
        outcome.id,
        outcome.verdict.as_str(),
        requirements.unwrap_or_default(),
        outcome.message.as_deref().unwrap_or_default()
    )
}
