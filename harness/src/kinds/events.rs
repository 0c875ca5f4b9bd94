//! Streams of agent events under test: one result for each requirement.

use std::collections::BTreeSet;
use std::time::Instant;

use diverge_protocol::rules::Revision;
use diverge_protocol::scenario::{Iut, Mistake};
use diverge_protocol::wire::agent_event::EventRevision;
use globset::Glob;

use super::{Entry, Kind, Playing, Selection, Setting, Trial};
use crate::events::emitter::{self, REFERENCE};
use crate::events::{judge_command, requirements, scenario_id};
use crate::iut::{Plug, PlugError};
use crate::mutants::Mutant;
use crate::runner::{Finished, Progress};
use crate::suite::SelectError;

/// Streams of agent events.
#[derive(Debug)]
pub struct Events;

impl Kind for Events {
    fn iut(&self) -> Iut {
        Iut::Events
    }

    fn entries(&self) -> Result<Vec<Entry>, Vec<Mistake>> {
        let entry = |requirement: &diverge_protocol::rules::Requirement| Entry {
            id: scenario_id(requirement),
            family: scenario_id(requirement),
            title: requirement.text.clone(),
            requirements: vec![requirement.id],
            passing_by: Vec::new(),
            freedom: None,
        };
        let mut entries: Vec<Entry> = requirements().map(entry).collect();
        entries.sort_by(|one, other| one.id.cmp(&other.id));
        Ok(entries)
    }

    fn mutants(&self) -> Vec<Mutant> {
        let mutant = |it: &emitter::Emitter| Mutant {
            iut: Iut::Events,
            name: it.name,
            about: it.about,
            duty: it.duty,
        };
        emitter::all().map(mutant).collect()
    }

    fn trials(
        &self,
        selection: &Selection,
        _revision: Option<Revision>,
        setting: &Setting,
    ) -> Result<Vec<Box<dyn Trial>>, SelectError> {
        Ok(vec![Box::new(Judged {
            ids: selected(selection)?,
            setting: setting.clone(),
        })])
    }
}

/// A stream and the results that are asked for.
struct Judged {
    ids: BTreeSet<String>,
    setting: Setting,
}

impl Trial for Judged {
    fn iut(&self) -> Iut {
        Iut::Events
    }

    fn revision(&self) -> Option<Revision> {
        None
    }

    fn ids(&self) -> Vec<String> {
        self.ids.iter().cloned().collect()
    }

    fn keep(&mut self, ids: &[String]) {
        self.ids.retain(|id| ids.contains(id));
    }

    fn play<'a>(&'a self, progress: &'a mut (dyn FnMut(Progress) + Send)) -> Playing<'a> {
        Box::pin(async move {
            let started = Instant::now();
            let asked = self.setting.events_revision;
            let judge = match &self.setting.plug {
                Plug::Launch(command) => {
                    let revision = asked.unwrap_or(EventRevision::Document);
                    judge_command(command, revision, &self.setting.patience).await?
                }
                Plug::Reference(mutant) => {
                    let named = mutant.as_ref().and_then(|it| emitter::find(it.name));
                    let emitter = named.unwrap_or(&REFERENCE);
                    emitter.judge(asked.unwrap_or(emitter.revision))
                }
                Plug::Url(_) => return Err(PlugError::NoAddress(Iut::Events)),
                Plug::InProcess(_) => return Err(PlugError::NotInProcess(Iut::Events)),
            };
            let mut finished = Finished {
                strict: self.setting.strict,
                ..Finished::default()
            };
            let outcomes = judge.outcomes(started.elapsed());
            for outcome in outcomes.into_iter().filter(|it| self.ids.contains(&it.id)) {
                finished.summary.add(outcome.verdict);
                progress(Progress::Done(Box::new(outcome)));
            }
            Ok(finished)
        })
    }
}

/// The ids of the results that are asked for.
fn selected(selection: &Selection) -> Result<BTreeSet<String>, SelectError> {
    let all: BTreeSet<String> = requirements().map(scenario_id).collect();
    let patterns = match selection {
        Selection::Ids(ids) => return Ok(all.intersection(ids).cloned().collect()),
        Selection::Patterns(patterns) if patterns.is_empty() => return Ok(all),
        Selection::Patterns(patterns) => patterns,
    };
    let mut selected = BTreeSet::new();
    for pattern in patterns {
        let glob = Glob::new(pattern).map_err(|error| SelectError::Glob {
            pattern: pattern.clone(),
            error,
        })?;
        let glob = glob.compile_matcher();
        let before = selected.len();
        selected.extend(all.iter().filter(|id| glob.is_match(id)).cloned());
        if selected.len() == before && !all.iter().any(|id| glob.is_match(id)) {
            return Err(SelectError::Nothing(pattern.clone()));
        }
    }
    Ok(selected)
}
