//! Codecs under test: one result for each scenario, and for each group of what is generated.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use diverge_protocol::rules::RequirementId;
use diverge_protocol::rules::Revision;
use diverge_protocol::scenario::codec::CodecScenario;
use diverge_protocol::scenario::{Iut, Mistake};

use globset::Glob;

use super::{Entry, Kind, Playing, Selection, Setting, Trial};
use crate::codec::forms::{self, REFERENCE};
use crate::codec::generate::Generator;
use crate::codec::pipe::Codec;
use crate::codec::{self, generated, judge};
use crate::iut::{Plug, PlugError};
use crate::mutants::Mutant;
use crate::process::CommandLine;
use crate::runner::{Finished, Progress};
use crate::suite::SelectError;

/// Codecs.
#[derive(Debug)]
pub struct Codecs;

impl Kind for Codecs {
    fn iut(&self) -> Iut {
        Iut::Codec
    }

    fn entries(&self) -> Result<Vec<Entry>, Vec<Mistake>> {
        let general: Vec<_> = [judge::KIND, judge::LINE]
            .into_iter()
            .filter_map(RequirementId::new)
            .collect();
        let entry = |scenario: &Arc<CodecScenario>| Entry {
            id: scenario.id.clone(),
            family: scenario.family.clone(),
            title: scenario.title.clone(),
            requirements: vec![scenario.requirement],
            passing_by: general
                .iter()
                .copied()
                .filter(|id| *id != scenario.requirement)
                .collect(),
            freedom: scenario.pins_a_freedom().then(|| scenario.title.clone()),
        };
        Ok(codec::built_in()?.iter().map(entry).collect())
    }

    fn mutants(&self) -> Vec<Mutant> {
        let mutant = |form: &forms::Form| Mutant {
            iut: Iut::Codec,
            name: form.name,
            about: form.about,
            duty: form.duty,
        };
        forms::all().map(mutant).collect()
    }

    fn tell(&self, id: &str) -> Option<String> {
        let scenarios = codec::built_in().ok()?;
        let scenario = scenarios.iter().find(|it| it.id == id || it.family == id)?;
        Some(judge::tell(scenario))
    }

    fn trials(
        &self,
        selection: &Selection,
        revision: Option<Revision>,
        setting: &Setting,
    ) -> Result<Vec<Box<dyn Trial>>, SelectError> {
        let generated = generated(selection, setting)?;
        let selection = match (&generated, selection) {
            (Some(generated), Selection::Patterns(patterns)) if !patterns.is_empty() => {
                let mut patterns = patterns.clone();
                patterns.retain(|pattern| !generated.takes(pattern));
                match patterns.is_empty() {
                    true => Selection::Ids(BTreeSet::new()),
                    false => Selection::Patterns(patterns),
                }
            }
            _ => selection.clone(),
        };
        let mut scenarios = codec::select(&selection)?;
        if let Some(revision) = revision {
            scenarios.retain(|it| it.revisions().contains(&revision));
        }
        let mut trials: Vec<Box<dyn Trial>> = vec![Box::new(Judged {
            scenarios,
            setting: setting.clone(),
        })];
        if let Some(generated) = generated {
            trials.push(Box::new(generated));
        }
        Ok(trials)
    }
}

/// A codec and the scenarios that it is judged by.
struct Judged {
    scenarios: Vec<Arc<CodecScenario>>,
    setting: Setting,
}

impl Trial for Judged {
    fn iut(&self) -> Iut {
        Iut::Codec
    }

    fn revision(&self) -> Option<Revision> {
        None
    }

    fn ids(&self) -> Vec<String> {
        self.scenarios.iter().map(|it| it.id.clone()).collect()
    }

    fn keep(&mut self, ids: &[String]) {
        let places: HashMap<&str, usize> = ids
            .iter()
            .enumerate()
            .map(|(at, id)| (id.as_str(), at))
            .collect();
        self.scenarios
            .retain(|it| places.contains_key(it.id.as_str()));
        self.scenarios
            .sort_by_key(|it| places.get(it.id.as_str()).copied());
    }

    fn play<'a>(&'a self, progress: &'a mut (dyn FnMut(Progress) + Send)) -> Playing<'a> {
        Box::pin(async move {
            let codec = codec_of(&self.setting.plug)?;
            let mut finished = Finished {
                strict: self.setting.strict,
                ..Finished::default()
            };
            let patience = &self.setting.patience;
            for outcome in judge::run(&codec, &self.scenarios, 0, patience).await? {
                finished.summary.add(outcome.verdict);
                progress(Progress::Done(Box::new(outcome)));
            }
            Ok(finished)
        })
    }
}

/// A codec and what is generated for it.
struct Generated {
    generator: Generator,
    ids: Vec<String>,
    setting: Setting,
    /// The patterns that select some of it.
    patterns: Vec<String>,
}

impl Generated {
    /// Whether a pattern selects something of this, and so need select nothing else.
    fn takes(&self, pattern: &str) -> bool {
        self.patterns.iter().any(|it| it == pattern)
    }
}

/// What is generated, as far as it is selected.
fn generated(selection: &Selection, setting: &Setting) -> Result<Option<Generated>, SelectError> {
    let Some(cases) = setting.generated else {
        return Ok(None);
    };
    let scenarios = codec::built_in().map_err(SelectError::Mistakes)?;
    let generator = Generator::new(&scenarios, cases);
    let all = generated::ids(&generator);
    let mut chosen = Generated {
        generator,
        ids: all.iter().cloned().collect(),
        setting: setting.clone(),
        patterns: Vec::new(),
    };
    if let Selection::Patterns(patterns) = selection
        && !patterns.is_empty()
    {
        let mut ids = BTreeSet::new();
        for pattern in patterns {
            let Ok(glob) = Glob::new(pattern) else {
                continue;
            };
            let glob = glob.compile_matcher();
            let fits: Vec<_> = all.iter().filter(|id| glob.is_match(id)).cloned().collect();
            if !fits.is_empty() {
                chosen.patterns.push(pattern.clone());
            }
            ids.extend(fits);
        }
        chosen.ids = ids.into_iter().collect();
    }
    Ok((!chosen.ids.is_empty()).then_some(chosen))
}

impl Trial for Generated {
    fn iut(&self) -> Iut {
        Iut::Codec
    }

    fn revision(&self) -> Option<Revision> {
        None
    }

    fn ids(&self) -> Vec<String> {
        self.ids.clone()
    }

    fn keep(&mut self, ids: &[String]) {
        self.ids.retain(|id| ids.contains(id));
    }

    fn play<'a>(&'a self, progress: &'a mut (dyn FnMut(Progress) + Send)) -> Playing<'a> {
        Box::pin(async move {
            let codec = codec_of(&self.setting.plug)?;
            let mut finished = Finished {
                strict: self.setting.strict,
                ..Finished::default()
            };
            let patience = self.setting.patience.for_another();
            for outcome in generated::run(&codec, &self.generator, &self.ids, &patience).await? {
                finished.summary.add(outcome.verdict);
                progress(Progress::Done(Box::new(outcome)));
            }
            Ok(finished)
        })
    }
}

fn codec_of(plug: &Plug) -> Result<Codec, PlugError> {
    match plug {
        Plug::Launch(command) => Ok(Codec::Program(CommandLine::parse(command)?)),
        Plug::Reference(mutant) => {
            let named = mutant.as_ref().and_then(|it| forms::find(it.name));
            Ok(Codec::InTree(named.unwrap_or(&REFERENCE)))
        }
        Plug::Url(_) => Err(PlugError::NoAddress(Iut::Codec)),
        Plug::InProcess(_) => Err(PlugError::NotInProcess(Iut::Codec)),
    }
}
