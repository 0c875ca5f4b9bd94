//! The scenarios tried on the references' hollow peers, faults and conforming variants.
//!
//! A fault must be caught by the check that names its requirement, a hollow peer must pass nothing, and a conforming
//! variant must not be flagged.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use diverge_protocol::scenario::Scenario;
use mock_provider::server::Behaviour;
use mock_provider::{faults, hollow, variants};

use crate::iut::{Plug, PlugError};
use crate::play::Patience;
use crate::reference;
use crate::runner::{self, Options, Progress};
use crate::verdict::{Outcome, Verdict};

/// A behaviour of a reference, and what must come of it.
#[derive(Debug, Clone)]
pub struct Mutant {
    /// Its name.
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

/// Every mutant of the reference provider: hollow peers, faults, variants.
#[must_use]
pub fn all() -> Vec<Mutant> {
    let hollow = hollow::all().map(|hollow| Mutant {
        name: hollow.name,
        about: hollow.about,
        duty: Duty::NothingPasses,
    });
    let faults = faults::all().map(|fault| Mutant {
        name: fault.name,
        about: fault.about,
        duty: Duty::Caught(fault.requirement),
    });
    let variants = variants::all().map(|variant| Mutant {
        name: variant.name,
        about: variant.about,
        duty: Duty::Green,
    });
    hollow.chain(faults).chain(variants).collect()
}

impl Mutant {
    /// How the reference plays it.
    #[must_use]
    pub fn behaviour(&self) -> Behaviour {
        match self.duty {
            Duty::Caught(_) => Behaviour::Fault(self.name.to_owned()),
            Duty::Green => Behaviour::Variant(self.name.to_owned()),
            Duty::NothingPasses => Behaviour::Hollow(self.name.to_owned()),
        }
    }

    /// Whether a scenario tests what this mutant is about: for a fault, its requirement.
    fn is_tested_by(&self, scenario: &Scenario) -> bool {
        let Duty::Caught(requirement) = self.duty else {
            return true;
        };
        let mut tests = scenario
            .requirements
            .iter()
            .any(|id| id.as_str() == requirement);
        scenario.each_step(&mut |step| {
            tests |= step.checks.is_some_and(|id| id.as_str() == requirement);
        });
        tests
    }
}

/// The requirement that a connection breaks which comes for a refused run.
const NOTHING_DEPLOYED: &str = "refusal.nothing-deployed";

/// How long mutants are waited for: they are in this process, and most of them say nothing where they should.
const PATIENCE: Duration = Duration::from_millis(300);

/// Plays a mutant. A fault is played by the scenarios that test its requirement; where `full`, and just one of them
/// caught it, by all others too, so as to know whether that one is the only one.
///
/// # Errors
/// When the mutant cannot be started.
pub async fn try_out(
    mutant: &Mutant,
    scenarios: &[Arc<Scenario>],
    jobs: usize,
    full: bool,
) -> Result<Tried, PlugError> {
    let patience = match mutant.duty {
        Duty::Green => Duration::from_secs(5),
        Duty::Caught(_) | Duty::NothingPasses => PATIENCE,
    };
    let options = Options {
        plug: Plug::Reference(mutant.behaviour()),
        config: reference::config(),
        jobs,
        patience,
        strict: false,
    };
    let mut outcomes: Vec<Outcome> = Vec::new();
    let mut progress = |progress: Progress| {
        if let Progress::Done(outcome) = progress {
            outcomes.push(*outcome);
        }
    };
    let (chosen, others): (Vec<_>, Vec<_>) = scenarios
        .iter()
        .cloned()
        .partition(|scenario| mutant.is_tested_by(scenario));
    let patience = Patience::new(patience);
    let mut finished = runner::run(&chosen, &options, &patience, &mut progress).await?;
    if full && families(&caught(mutant, &outcomes)).len() == 1 {
        let mut progress = |progress: Progress| {
            if let Progress::Done(outcome) = progress {
                outcomes.push(*outcome);
            }
        };
        let rest = runner::run(&others, &options, &patience, &mut progress).await?;
        finished.stopped = finished.stopped.or(rest.stopped);
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
