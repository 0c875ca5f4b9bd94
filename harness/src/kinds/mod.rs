//! The kinds of implementations that can be judged: for each, what it is judged by, what its in-tree reference can be
//! made to do wrong, and how a run of it goes.
//!
//! Everything that works on all kinds (`run`, `list`, `coverage`, `mutants`) goes through [`Kind`]; a new kind is a
//! module here and a line in [`all`].

pub mod agent_server;
pub mod chain;
pub mod client;
pub mod codec;
mod each;
pub mod events;
mod launched;
pub mod provider;
pub mod proxy;
pub(crate) mod reach;
mod reference;

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use diverge_protocol::rules::{RequirementId, Revision};
use diverge_protocol::scenario::{Iut, Mistake, Scenario};
use diverge_protocol::wire::agent_event::EventRevision;

use crate::codec::generate::Cases;
use crate::config::Config;
use crate::iut::{Plug, PlugError};
use crate::mutants::Mutant;
use crate::play::Patience;
use crate::report;
use crate::runner::{Finished, Progress};
use crate::suite::{self, SelectError};

/// A kind of implementation under test.
pub trait Kind: Sync {
    /// Which.
    fn iut(&self) -> Iut;

    /// The built-in scenarios, as lists and tables need them.
    ///
    /// # Errors
    /// Mistakes in the built-in files, which the tests rule out.
    fn entries(&self) -> Result<Vec<Entry>, Vec<Mistake>> {
        let scenarios = suite::built_in(self.iut())?;
        Ok(scenarios.iter().map(|it| Entry::of(it)).collect())
    }

    /// The faults, conforming variants and hollow forms of the in-tree reference.
    fn mutants(&self) -> Vec<Mutant>;

    /// A built-in scenario's steps and conversation, told to a person, where it has any.
    fn tell(&self, id: &str) -> Option<String> {
        let scenarios = suite::built_in(self.iut()).ok()?;
        let scenario = scenarios.iter().find(|scenario| scenario.id == id)?;
        Some(report::tell(scenario))
    }

    /// The configuration that describes the in-tree reference.
    fn in_tree(&self) -> Config {
        Config::default()
    }

    /// How long the in-tree reference may say nothing in a scenario and be right.
    fn pauses(&self) -> Duration {
        Duration::ZERO
    }

    /// The parts of a run: one for each revision that is asked for and that has scenarios in the selection.
    ///
    /// # Errors
    /// A selection that cannot be understood, or that selects nothing of this kind.
    fn trials(
        &self,
        selection: &Selection,
        revision: Option<Revision>,
        setting: &Setting,
    ) -> Result<Vec<Box<dyn Trial>>, SelectError>;
}

/// One implementation, judged by the scenarios of its kind and of one revision.
pub trait Trial: Send + Sync {
    /// The kind.
    fn iut(&self) -> Iut;

    /// The revision, where the kind has revisions.
    fn revision(&self) -> Option<Revision>;

    /// The ids of the results that there will be, in the order in which their scenarios are played.
    fn ids(&self) -> Vec<String>;

    /// How many results there will be.
    fn scenarios(&self) -> usize {
        self.ids().len()
    }

    /// Why the scenario with this id is not applicable, where the configuration alone tells.
    fn lacking(&self, _id: &str) -> Option<String> {
        None
    }

    /// Plays only these of its scenarios, in this order where it has one.
    fn keep(&mut self, ids: &[String]);

    /// Plays the scenarios, and tells each result as it comes. Dropping the future ends what was started.
    fn play<'a>(&'a self, progress: &'a mut (dyn FnMut(Progress) + Send)) -> Playing<'a>;
}

/// A trial that goes on. It fails where the implementation cannot be had at all.
pub type Playing<'a> = Pin<Box<dyn Future<Output = Result<Finished, PlugError>> + Send + 'a>>;

/// What a trial is made with.
#[derive(Debug, Clone)]
pub struct Setting {
    /// The implementation.
    pub plug: Plug,
    /// What it was configured with.
    pub config: Config,
    /// How many scenarios are played at once, at least 1.
    pub jobs: usize,
    /// How long to wait for a message that is due.
    pub patience: Patience,
    /// Whether warnings fail the run.
    pub strict: bool,
    /// What is generated beside the scenarios, for codecs.
    pub generated: Option<Cases>,
    /// The revision of the AgentEvent surface; without it, the document's, or a mutant's own.
    pub events_revision: Option<EventRevision>,
}

impl Setting {
    /// What is to be shown nowhere.
    #[must_use]
    pub fn secrets(&self) -> Vec<String> {
        let mut secrets = self.plug.secrets();
        secrets.push(self.config.provider.credential.clone());
        secrets
    }
}

/// Which scenarios are played.
#[derive(Debug, Clone)]
pub enum Selection {
    /// Id globs and paths of scenario files; none means everything that is built in.
    Patterns(Vec<String>),
    /// Built-in scenarios by their ids; others are no mistake.
    Ids(BTreeSet<String>),
}

/// A scenario, as lists and tables need it.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Its id.
    pub id: String,
    /// The id without the case: scenarios that differ in data alone share it.
    pub family: String,
    /// One line for people.
    pub title: String,
    /// What it tests; the first is blamed where nothing finer is known.
    pub requirements: Vec<RequirementId>,
    /// What single steps of it check besides.
    pub passing_by: Vec<RequirementId>,
    /// The freedom that it pins, where it exists to keep a conforming variant green.
    pub freedom: Option<String>,
}

impl Entry {
    /// The entry of a scenario that is written in a file.
    #[must_use]
    pub fn of(scenario: &Scenario) -> Self {
        let mut passing_by = Vec::new();
        scenario.each_step(&mut |step| {
            passing_by.extend(step.checks.filter(|id| !scenario.requirements.contains(id)));
        });
        passing_by.sort_unstable();
        passing_by.dedup();
        Self {
            id: scenario.id.clone(),
            family: scenario.family.clone(),
            title: scenario.title.clone(),
            requirements: scenario.requirements.clone(),
            passing_by,
            freedom: scenario.freedom.clone(),
        }
    }

    /// Whether it tests the requirement, as a whole or in a step.
    #[must_use]
    pub fn tests(&self, requirement: &str) -> bool {
        let mut all = self.requirements.iter().chain(&self.passing_by);
        all.any(|id| id.as_str() == requirement)
    }
}

/// Every kind that is built.
#[must_use]
pub fn all() -> &'static [&'static dyn Kind] {
    &[
        &provider::Provider,
        &proxy::Proxy,
        &client::Client,
        &agent_server::AgentServer,
        &chain::Chain,
        &codec::Codecs,
        &events::Events,
    ]
}

/// The id of every result that a built-in scenario can have.
#[must_use]
pub fn every_id() -> Vec<String> {
    let entries = all()
        .iter()
        .flat_map(|kind| kind.entries().unwrap_or_default());
    entries.map(|entry| entry.id).collect()
}

/// The kind of that name, where it is built.
#[must_use]
pub fn of(iut: Iut) -> Option<&'static dyn Kind> {
    all().iter().copied().find(|kind| kind.iut() == iut)
}
