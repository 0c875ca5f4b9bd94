//! `run`: judges implementations and reports.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use diverge_protocol::rules::Revision;
use diverge_protocol::rules::revisions::Revisions;
use diverge_protocol::scenario::Iut;

use super::interrupt::Interrupt;
use super::{complain, complain_of};
use crate::baseline::{self, Baseline, BaselineError, Reckoning};
use crate::cli::{DEFAULT_PATIENCE, EventsRevisionArg, Format, PlayedRevision, RunArgs};
use crate::codec::generate::Cases;
use crate::config::Config;
use crate::iut::{Plug, PlugError};
use crate::kinds::{self, Kind, Selection, Setting, Trial};
use crate::order::{Order, Repeated};
use crate::play::Patience;
use crate::report::{Files, Heading, Jsonl, Pretty, Reporter, Transcripts};
use crate::runner::{Finished, Progress};
use crate::suite::{Scored, SelectError};
use crate::verdict::{Exit, Summary};

pub(crate) async fn run(args: &RunArgs) -> Exit {
    let others = args.iut.is_some_and(|iut| iut.iut() != Iut::Events);
    if others && args.events_revision.is_some() {
        complain("--events-revision says how `run events` judges, and nothing else has one");
        return Exit::Usage;
    }
    if args.cases.is_some() && args.iut.is_none_or(|iut| iut.iut() != Iut::Codec) {
        complain("--cases says how much is generated for `run codec`, and nothing else has any");
        return Exit::Usage;
    }
    let in_chain = [&args.provider, &args.proxy, &args.agent_server];
    let of_chain = args.iut.is_some_and(|iut| iut.iut() == Iut::Chain);
    if in_chain.into_iter().any(Option::is_some) && !of_chain {
        complain(
            "--provider, --proxy and --agent-server launch the parties of `run chain`; elsewhere --launch does",
        );
        return Exit::Usage;
    }
    if of_chain && (args.launch.is_some() || args.url.is_some()) {
        complain(&PlugError::NotAlone.to_string());
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
    let mut baseline = match baseline(args) {
        Ok(baseline) => baseline,
        Err(error) => {
            complain(&error.to_string());
            return Exit::Usage;
        }
    };
    let files = match Files::create(&args.report, args.strict) {
        Ok(files) => files,
        Err(error) => {
            complain(&error.to_string());
            return Exit::Usage;
        }
    };
    let mut reporter = Both {
        terminal: match args.format {
            Format::Pretty => Box::new(Pretty::default()),
            Format::Jsonl => Box::new(Jsonl::default()),
        },
        files,
    };
    let mut interrupt = Interrupt::listen();
    let playing = play(
        &parts,
        &mut reporter,
        transcripts.as_ref(),
        baseline.as_mut(),
    );
    let played = tokio::select! {
        played = playing => Some(played),
        () = interrupt.came() => None,
    };
    let (exit, why) = match played {
        Some(Ok((exit, mut whole))) => match reckon(args, &parts, &whole, baseline) {
            Ok(reckoning) => {
                whole.baseline = reckoning;
                reporter.finish(&whole);
                return reporter.written(exit.worst(whole.baseline_exit()));
            }
            Err(error) => (Exit::Usage, error.to_string()),
        },
        Some(Err(error)) => match error {
            PlugError::NoAddress(_) | PlugError::OneScenario(_) => (Exit::Usage, error.to_string()),
            _ => (Exit::Unreachable, error.to_string()),
        },
        // Dropping the run has ended what it started.
        None => (Exit::Fails, "interrupted".to_owned()),
    };
    complain(&why);
    reporter.abandon(exit, &why);
    reporter.written(exit)
}

/// What is shown while the run goes on, and what is written.
struct Both {
    terminal: Box<dyn Reporter + Send>,
    files: Files,
}

impl Both {
    /// The exit code, which a report that could not be written decides too: it must not be missed unseen.
    fn written(&self, exit: Exit) -> Exit {
        let failed = self.files.failed();
        failed.iter().for_each(|error| complain(&error.to_string()));
        if failed.is_empty() {
            exit
        } else {
            exit.worst(Exit::Usage)
        }
    }
}

impl Reporter for Both {
    fn begin(&mut self, heading: &Heading) {
        // What has been shown is in the files already.
        self.files.begin(heading);
        self.terminal.begin(heading);
    }

    fn progress(&mut self, progress: &Progress) {
        self.files.progress(progress);
        self.terminal.progress(progress);
    }

    fn end(&mut self, finished: &Finished) {
        self.files.end(finished);
        self.terminal.end(finished);
    }

    fn finish(&mut self, whole: &Finished) {
        self.files.finish(whole);
        self.terminal.finish(whole);
    }

    fn abandon(&mut self, exit: Exit, why: &str) {
        self.files.abandon(exit, why);
        self.terminal.abandon(exit, why);
    }
}

/// The baseline that is asked for.
fn baseline(args: &RunArgs) -> Result<Option<Baseline>, BaselineError> {
    let Some(path) = &args.baseline else {
        return Ok(None);
    };
    let loaded = if args.bless {
        Baseline::load_to_bless(path, args.reason.as_deref(), args.strict)
    } else {
        Baseline::load(path)
    };
    loaded.map(Some)
}

/// What the baseline came to; where it is to be blessed, it is written.
fn reckon(
    args: &RunArgs,
    parts: &[Part],
    whole: &Finished,
    baseline: Option<Baseline>,
) -> Result<Option<Reckoning>, BaselineError> {
    let iuts: Vec<Iut> = parts.iter().map(|part| part.heading.iut).collect();
    let ids = parts.iter().flat_map(|part| part.trial.ids()).collect();
    let selection = baseline::Selection {
        iuts: &iuts,
        ids: &ids,
        whole: args.scenario.is_empty() && args.shard.is_none() && args.revision.is_none(),
        ended: whole.stopped.is_none(),
    };
    baseline.map(|it| it.close(selection)).transpose()
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
    mut baseline: Option<&mut Baseline>,
) -> Result<(Exit, Finished), PlugError> {
    let mut exit = Exit::Conforms;
    let mut whole = Finished::default();
    for part in parts {
        reporter.begin(&part.heading);
        let (mut counts, mut without) = (Summary::default(), None::<Summary>);
        let mut unscored = Summary::default();
        let mut progress = |mut progress: Progress| {
            if let Progress::Done(outcome) = &mut progress {
                if let Some(transcripts) = transcripts {
                    transcripts.write(outcome);
                }
                if !part.heading.scores(&outcome.id) {
                    unscored.add(outcome.verdict);
                    return reporter.progress(&progress);
                }
                if let Some(baseline) = &mut baseline {
                    without.get_or_insert_default().add(outcome.verdict);
                    baseline.judge(outcome, &part.heading);
                }
                counts.add(outcome.verdict);
            }
            reporter.progress(&progress);
        };
        let mut finished = part.trial.play(&mut progress).await?;
        (finished.summary, finished.without) = (counts, without);
        finished.unscored = unscored;
        reporter.end(&finished);
        exit = exit.worst(finished.exit());
        whole.strict = finished.strict;
        whole.add(finished);
    }
    Ok((exit, whole))
}

/// The form of the revision that is played; from here on this process speaks what a file says of it.
fn revision(args: &RunArgs) -> Result<Option<Revision>, String> {
    let path = match &args.revision {
        None => return Ok(None),
        Some(PlayedRevision::Named(revision)) => return Ok(Some(revision.revision())),
        Some(PlayedRevision::File(path)) => path,
    };
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| {
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
enum NotRun {
    Selection(SelectError),
    Usage(String),
}

fn parts(args: &RunArgs) -> Result<Vec<Part>, NotRun> {
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
                secrets: vec![setting.config.provider.credential.clone()],
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
        jobs: args.jobs.max(1),
        patience: Patience::new(args.patience()),
        strict: args.strict,
        generated: args.cases.map(|number| Cases {
            number,
            seed: args.seed,
        }),
        events_revision: args.events_revision.map(EventsRevisionArg::revision),
    })
}

/// The command line that plays one scenario again; the scenario's id is put behind it.
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
    flag("--provider", args.provider.clone());
    flag("--proxy", args.proxy.clone());
    flag("--agent-server", args.agent_server.clone());
    flag("--mutant", args.mutant.clone());
    match &args.revision {
        Some(PlayedRevision::File(path)) => flag("--revision", Some(path.display().to_string())),
        _ if trial.revision() == Some(Revision::Path) => {
            flag("--revision", Some("path".to_owned()));
        }
        _ => {}
    }
    let patience = (args.patience != DEFAULT_PATIENCE).then(|| args.patience.to_string());
    flag("--patience", patience);
    flag("--cases", args.cases.map(|cases| cases.to_string()));
    flag("--seed", args.cases.map(|_| args.seed.to_string()));
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
    if args.strict {
        words.push("--strict".to_owned());
    }
    words.push("--scenario ".to_owned());
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Playing;
    use crate::report::testing;
    use crate::verdict::Verdict;

    /// One scenario that passes and one that fails.
    struct PassAndFail;

    impl Trial for PassAndFail {
        fn iut(&self) -> Iut {
            Iut::Provider
        }

        fn revision(&self) -> Option<Revision> {
            None
        }

        fn ids(&self) -> Vec<String> {
            vec![
                "provider/a/passes".to_owned(),
                "provider/a/fails".to_owned(),
            ]
        }

        fn keep(&mut self, _ids: &[String]) {}

        fn play<'a>(&'a self, progress: &'a mut (dyn FnMut(Progress) + Send)) -> Playing<'a> {
            Box::pin(async move {
                for (id, mut outcome) in [
                    ("provider/a/passes", testing::outcome(Verdict::Pass)),
                    ("provider/a/fails", testing::failed()),
                ] {
                    outcome.id = id.to_owned();
                    progress(Progress::Done(Box::new(outcome)));
                }
                Ok(Finished::default())
            })
        }
    }

    async fn played(unscored: &[&str]) -> (Exit, Finished) {
        let unscored = unscored.iter().map(|id| (*id).to_owned()).collect();
        let part = Part {
            heading: Heading {
                unscored: Arc::new(unscored),
                ..testing::heading()
            },
            trial: Box::new(PassAndFail),
        };
        let mut files = Files::create(&[], false).unwrap_or_else(|error| panic!("{error}"));
        play(&[part], &mut files, None, None)
            .await
            .unwrap_or_else(|error| panic!("{error}"))
    }

    #[tokio::test]
    async fn what_is_not_scored_yet_decides_nothing() {
        let (exit, whole) = played(&[]).await;
        assert_eq!((exit, whole.summary.count(Verdict::Fail)), (Exit::Fails, 1));
        let (exit, whole) = played(&["provider/a/fails"]).await;
        assert_eq!(
            (exit, whole.summary.count(Verdict::Fail)),
            (Exit::Conforms, 0)
        );
        assert_eq!(whole.unscored.count(Verdict::Fail), 1);
        // Nor does what passes count as a pass.
        let both = ["provider/a/fails", "provider/a/passes"];
        assert_eq!(played(&both).await.0, Exit::Fails);
    }
}
