//! `run`: judges implementations and reports.

use std::path::Path;

use diverge_protocol::rules::Revision;
use diverge_protocol::scenario::Iut;

use super::interrupt::Interrupt;
use super::{complain, complain_of};
use crate::cli::{EventsRevisionArg, Format, RevisionArg, RunArgs};
use crate::config::Config;
use crate::iut::{Plug, PlugError};
use crate::kinds::{self, Kind, Selection, Setting, Trial};
use crate::play::Patience;
use crate::report::{Heading, Jsonl, Pretty, Reporter, Transcripts};
use crate::runner::{Finished, Progress};
use crate::suite::SelectError;
use crate::verdict::Exit;

pub(crate) async fn run(args: &RunArgs) -> Exit {
    let others = args.iut.is_some_and(|iut| iut.iut() != Iut::Events);
    if others && args.events_revision.is_some() {
        complain("--events-revision says how `run events` judges, and nothing else has one");
        return Exit::Usage;
    }
    let parts = match parts(args) {
        Ok(parts) => parts,
        Err(NotRun::Selection(error)) => return complain_of(&error),
        Err(NotRun::Usage(why)) => {
            complain(&why);
            return Exit::Usage;
        }
    };
    let transcripts = match args
        .transcripts
        .as_deref()
        .map(Transcripts::into_directory)
        .transpose()
    {
        Ok(transcripts) => transcripts,
        Err(error) => {
            complain(&format!("could not write transcripts: {error}"));
            return Exit::Usage;
        }
    };
    let mut reporter: Box<dyn Reporter + Send> = match args.format {
        Format::Pretty => Box::new(Pretty::default()),
        Format::Jsonl => Box::new(Jsonl::default()),
    };
    let mut interrupt = Interrupt::listen();
    let playing = play(&parts, reporter.as_mut(), transcripts.as_ref());
    let played = tokio::select! {
        played = playing => played,
        () = interrupt.came() => {
            // Dropping the run has ended what it started.
            complain("interrupted");
            return Exit::Fails;
        }
    };
    match played {
        Ok((exit, whole)) => {
            reporter.finish(&whole);
            exit
        }
        Err(error) => {
            complain(&error.to_string());
            match error {
                PlugError::NoAddress(_) => Exit::Usage,
                _ => Exit::Unreachable,
            }
        }
    }
}

/// A part of the run, with what its report says at the head.
struct Part {
    heading: Heading,
    trial: Box<dyn Trial>,
}

/// Plays one part after the other; the exit code is the worst of theirs.
async fn play(
    parts: &[Part],
    reporter: &mut (dyn Reporter + Send),
    transcripts: Option<&Transcripts>,
) -> Result<(Exit, Finished), PlugError> {
    let mut exit = Exit::Conforms;
    let mut whole = Finished::default();
    for part in parts {
        reporter.begin(&part.heading);
        let mut progress = |progress: Progress| {
            if let (Progress::Done(outcome), Some(transcripts)) = (&progress, transcripts) {
                transcripts.write(outcome);
            }
            reporter.progress(&progress);
        };
        let finished = part.trial.play(&mut progress).await?;
        reporter.end(&finished);
        exit = exit.worst(finished.exit());
        whole.strict = finished.strict;
        whole.add(finished);
    }
    Ok((exit, whole))
}

/// Why there is nothing to run.
enum NotRun {
    Selection(SelectError),
    Usage(String),
}

fn parts(args: &RunArgs) -> Result<Vec<Part>, NotRun> {
    let selection = Selection::Patterns(args.scenario.clone());
    let revision = args.revision.map(RevisionArg::revision);
    let mut parts = Vec::new();
    let mut nothing = None;
    for kind in wanted(args)? {
        let setting = setting(args, kind).map_err(NotRun::Usage)?;
        let trials = match kind.trials(&selection, revision, &setting) {
            Ok(trials) => trials,
            // Without a kind, a pattern may mean the scenarios of just one.
            Err(error @ SelectError::Nothing(_)) if args.iut.is_none() => {
                nothing = Some(error);
                continue;
            }
            Err(error) => return Err(NotRun::Selection(error)),
        };
        parts.extend(trials.into_iter().map(|trial| Part {
            heading: Heading {
                iut: trial.iut(),
                revision: trial.revision(),
                subject: setting.plug.in_words(),
                replay: replay(args, trial.as_ref()),
                scenarios: trial.scenarios(),
                secrets: vec![setting.config.provider.credential.clone()],
            },
            trial,
        }));
    }
    match (parts.is_empty(), nothing) {
        (false, _) => Ok(parts),
        (true, Some(nothing)) => Err(NotRun::Selection(nothing)),
        (true, None) => Err(NotRun::Usage(
            "no scenario of that revision is built in".to_owned(),
        )),
    }
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
    let in_tree = args.launch.is_none() && args.url.is_none();
    let config = match &args.config {
        Some(path) => read_config(path)?,
        None if in_tree => kind.in_tree(),
        None => Config::default(),
    };
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
        jobs: args.jobs.max(1),
        patience: Patience::new(args.patience()),
        strict: args.strict,
        events_revision: args.events_revision.map(EventsRevisionArg::revision),
    })
}

fn read_config(path: &Path) -> Result<Config, String> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("could not read {}: {error}", path.display()))?;
    toml::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}

/// The command line that runs this again, to which a failure adds its scenario.
fn replay(args: &RunArgs, trial: &dyn Trial) -> String {
    let quote = |text: &str| {
        shlex::try_quote(text).map_or_else(|_| text.to_owned(), |quoted| quoted.into_owned())
    };
    let mut words = vec![
        "diverge-conformance".to_owned(),
        "run".to_owned(),
        trial.iut().as_str().to_owned(),
    ];
    let mut flag = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            words.push(name.to_owned());
            words.push(quote(&value));
        }
    };
    flag("--launch", args.launch.clone());
    flag("--url", args.url.clone());
    flag("--mutant", args.mutant.clone());
    if trial.revision() == Some(Revision::Path) {
        flag("--revision", Some("path".to_owned()));
    }
    let events = args.events_revision.map(|it| it.revision().name());
    flag("--events-revision", events.map(str::to_owned));
    flag(
        "--config",
        args.config.as_ref().map(|path| path.display().to_string()),
    );
    for pattern in args
        .scenario
        .iter()
        .filter(|pattern| Path::new(pattern).exists())
    {
        flag("--scenario", Some(pattern.clone()));
    }
    words.join(" ")
}
