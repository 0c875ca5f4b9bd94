//! What a command line asks to be run: the parts of a run, each with the head of its report.

use std::collections::HashSet;
use std::sync::Arc;

use diverge_protocol::rules::Revision;
use diverge_protocol::rules::revisions::Revisions;
use diverge_protocol::scenario::Iut;

use super::replay::replay;
use crate::cli::{EventsRevisionArg, PlayedRevision, RunArgs};
use crate::codec::generate::Cases;
use crate::config::Config;
use crate::files;
use crate::iut::{Plug, PlugError};
use crate::kinds::{self, Kind, Selection, Setting, Trial};
use crate::order::{Order, Repeated};
use crate::play::Patience;
use crate::report::Heading;
use crate::suite::{Scored, SelectError};

/// A part of the run, with what its report says at the head.
pub(super) struct Part {
    pub(super) heading: Heading,
    pub(super) trial: Box<dyn Trial>,
}

/// The form of the revision that is played; from here on this process speaks what a file says of it.
fn revision(args: &RunArgs) -> Result<Option<Revision>, String> {
    let path = match &args.revision {
        None => return Ok(None),
        Some(PlayedRevision::Named(revision)) => return Ok(Some(revision.revision())),
        Some(PlayedRevision::File(path)) => path,
    };
    let shown = path.display();
    let text = files::read(path).map_err(|error| {
        format!("no revision is called `{shown}`: there are `path` and `scope`, and no file could be read: {error}")
    })?;
    let spoken = Revisions::speak(&text).map_err(|error| format!("{shown}: {error}"))?;
    Ok(Some(spoken))
}

/// The implementation in words, and what it is asked to speak where that is not built in.
fn subject(setting: &Setting, trial: &dyn Trial) -> String {
    let chain = setting.config.chain.in_words();
    let chain = chain.filter(|_| trial.iut() == Iut::Chain);
    let words = chain.unwrap_or_else(|| setting.plug.in_words());
    match trial.revision().map(|form| (form, Revisions::spoken(form))) {
        Some((form, spoken)) if spoken != form.as_str() => {
            format!("{words}, in the revision {spoken}")
        }
        _ => words,
    }
}

/// Why there is nothing to run.
pub(super) enum NotRun {
    Selection(SelectError),
    Usage(String),
}

pub(super) fn parts(args: &RunArgs) -> Result<Vec<Part>, NotRun> {
    let selection = Selection::Patterns(args.scenario.clone());
    let revision = revision(args).map_err(NotRun::Usage)?;
    let mut parts = Vec::new();
    let mut nothing = None;
    for kind in wanted(args)? {
        let setting = setting(args, kind).map_err(NotRun::Usage)?;
        let trials = match kind.trials(&selection, revision, &setting) {
            Ok(trials) => trials,
            // Without a kind, a pattern may mean the scenarios of just one.
            Err(error @ (SelectError::Nothing(_) | SelectError::OtherKind { .. }))
                if args.iut.is_none() =>
            {
                nothing = Some(error);
                continue;
            }
            Err(error) => return Err(NotRun::Selection(error)),
        };
        let trials = trials.into_iter().filter_map(|trial| arranged(args, trial));
        parts.extend(trials.map(|trial| Part {
            heading: Heading {
                iut: trial.iut(),
                revision: trial.revision(),
                subject: subject(&setting, trial.as_ref()),
                replay: replay(args, trial.as_ref()),
                scenarios: trial.scenarios(),
                unscored: unscored(trial.as_ref(), kind),
                secrets: setting.secrets(),
            },
            trial,
        }));
    }
    match (parts.is_empty(), nothing) {
        (false, _) => Ok(parts),
        (true, Some(nothing)) => Err(NotRun::Selection(nothing)),
        (true, None) if args.shard.is_some() => Err(NotRun::Usage(
            "that shard is empty: there are fewer scenarios than shards".to_owned(),
        )),
        (true, None) => Err(NotRun::Usage(
            "no scenario of that revision is built in".to_owned(),
        )),
    }
}

/// The built-in scenarios of a trial that its revision does not score yet.
fn unscored(trial: &dyn Trial, kind: &dyn Kind) -> Arc<HashSet<String>> {
    let Some(revision) = trial.revision() else {
        return Arc::default();
    };
    let built_in = kind.entries().unwrap_or_default().into_iter();
    Arc::new(Scored::of(revision).unscored(built_in.map(|entry| entry.id)))
}

/// The trial with what is left of it, in the order and as often as asked for; `None` where nothing is left.
fn arranged(args: &RunArgs, mut trial: Box<dyn Trial>) -> Option<Box<dyn Trial>> {
    let order = Order {
        shard: args.shard,
        shuffle: args.shuffle,
    };
    trial.keep(&order.arrange(trial.ids()));
    if trial.scenarios() == 0 {
        return None;
    }
    Some(match args.repeat {
        0 | 1 => trial,
        times => Box::new(Repeated::new(trial, times)),
    })
}

/// The kinds that are judged: the one that is named, or the one that has the mutant, or all of them.
fn wanted(args: &RunArgs) -> Result<Vec<&'static dyn Kind>, NotRun> {
    let kinds = kinds::all().iter().copied().filter(|kind| {
        let named = args.iut.is_none_or(|iut| iut.iut() == kind.iut());
        let has_it = |name: &String| kind.mutants().iter().any(|mutant| mutant.name == name);
        named && args.mutant.as_ref().is_none_or(has_it)
    });
    let kinds: Vec<_> = kinds.collect();
    match &args.mutant {
        Some(name) if kinds.is_empty() => Err(NotRun::Usage(format!(
            "no fault, variant or hollow form is called `{name}`; `diverge-conformance list mutants` names them"
        ))),
        _ => Ok(kinds),
    }
}

fn setting(args: &RunArgs, kind: &dyn Kind) -> Result<Setting, String> {
    let only_launched = matches!(kind.iut(), Iut::Client | Iut::Codec | Iut::Events);
    if args.url.is_some() && only_launched {
        return Err(PlugError::NoAddress(kind.iut()).to_string());
    }
    let launched = [&args.launch, &args.url, &args.agent_server];
    let in_tree = launched.into_iter().all(Option::is_none);
    let config = match &args.config {
        Some(path) => Config::load(path).map_err(|error| error.to_string())?,
        None if in_tree => kind.in_tree(),
        None => Config::default(),
    };
    let mut config = config;
    let chain = &mut config.chain;
    for (told, asked) in [
        (&mut chain.provider, &args.provider),
        (&mut chain.proxy, &args.proxy),
        (&mut chain.agent_server, &args.agent_server),
        (&mut chain.client, &args.client),
    ] {
        if asked.is_some() {
            told.clone_from(asked);
        }
    }
    let plug = match (&args.launch, &args.url, &args.mutant) {
        (Some(command), _, _) => Plug::Launch(command.clone()),
        (_, Some(url), _) => Plug::Url(url.clone()),
        (None, None, Some(name)) => {
            let mut mutants = kind.mutants().into_iter();
            Plug::Reference(mutants.find(|mutant| mutant.name == name))
        }
        (None, None, None) => Plug::Reference(None),
    };
    Ok(Setting {
        plug,
        config,
        jobs: args.jobs,
        patience: Patience::new(args.patience()),
        strict: args.strict,
        generated: args.cases.map(|number| Cases {
            number,
            seed: args.seed,
        }),
        events_revision: args.events_revision.map(EventsRevisionArg::revision),
    })
}
