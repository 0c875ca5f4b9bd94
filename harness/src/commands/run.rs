//! `run`: judges implementations and reports.

use std::path::Path;

use diverge_protocol::scenario::Iut;
use mock_provider::server::Behaviour;

use super::interrupt::Interrupt;
use super::{complain, complain_of};
use crate::cli::{Format, RunArgs};
use crate::config::{Config, ProviderConfig};
use crate::iut::Plug;
use crate::play::Patience;
use crate::reference;
use crate::report::style::say;
use crate::report::{Heading, Jsonl, Pretty, Reporter, Transcripts};
use crate::runner::{self, Options, Progress};
use crate::suite;
use crate::verdict::Exit;

pub(crate) async fn run(args: &RunArgs) -> Exit {
    let iut = args.iut.map_or(Iut::Provider, |iut| iut.iut());
    if iut == Iut::Events {
        return super::events::run(args).await;
    }
    if args.iut.is_some() && args.events_revision.is_some() {
        complain("--events-revision says how `run events` judges, and nothing else has one");
        return Exit::Usage;
    }
    // A selection without a kind is one of providers' scenarios or mutants.
    let bare = args.iut.is_none() && args.scenario.is_empty() && args.mutant.is_none();
    let scenarios = match suite::select(iut, &args.scenario) {
        Ok(scenarios) => scenarios,
        Err(error) => return complain_of(&error),
    };
    let (plug, config) = match plugged(args) {
        Ok(plugged) => plugged,
        Err(why) => {
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
    let heading = Heading {
        iut,
        subject: subject(&plug),
        replay: replay(args, iut),
        scenarios: scenarios.len(),
        secrets: vec![config.credential.clone()],
    };
    let mut reporter: Box<dyn Reporter + Send> = match args.format {
        Format::Pretty => Box::new(Pretty::new(heading)),
        Format::Jsonl => Box::new(Jsonl::new(heading)),
    };
    let options = Options {
        plug,
        config,
        jobs: args.jobs.max(1),
        patience: args.patience(),
        strict: args.strict,
    };
    let mut interrupt = Interrupt::listen();
    let patience = Patience::new(options.patience);
    let mut progress = |progress: Progress| {
        if let (Progress::Done(outcome), Some(transcripts)) = (&progress, &transcripts) {
            transcripts.write(outcome);
        }
        reporter.progress(&progress);
    };
    let running = runner::run(&scenarios, &options, &patience, &mut progress);
    tokio::select! {
        finished = running => match finished {
            Ok(mut finished) => {
                let exit = finished.exit();
                if !bare || exit == Exit::Unreachable {
                    reporter.finish(&finished);
                    return exit;
                }
                match args.format {
                    Format::Jsonl => {
                        let events = super::events::add_reference(&mut finished, reporter.as_mut());
                        reporter.finish(&finished);
                        exit.worst(events)
                    }
                    Format::Pretty => {
                        reporter.finish(&finished);
                        say("");
                        exit.worst(super::events::run(args).await)
                    }
                }
            }
            Err(error) => {
                complain(&error.to_string());
                Exit::Unreachable
            }
        },
        () = interrupt.came() => {
            // Dropping the run ends what it started.
            complain("interrupted");
            Exit::Fails
        }
    }
}

fn plugged(args: &RunArgs) -> Result<(Plug, ProviderConfig), String> {
    let in_tree = args.launch.is_none() && args.url.is_none();
    let config = match &args.config {
        Some(path) => read_config(path)?.provider,
        None if in_tree => reference::config(),
        None => ProviderConfig::default(),
    };
    let plug = match (&args.launch, &args.url, &args.mutant) {
        (Some(command), _, _) => Plug::Launch(command.clone()),
        (_, Some(url), _) => Plug::Url(url.clone()),
        (None, None, Some(name)) => Plug::Reference(behaviour(name)?),
        (None, None, None) => Plug::Reference(Behaviour::Conforming),
    };
    Ok((plug, config))
}

fn behaviour(name: &str) -> Result<Behaviour, String> {
    reference::named(name).ok_or_else(|| {
        format!("no fault, variant or hollow peer is called `{name}`; `diverge-conformance list mutants` names them")
    })
}

fn read_config(path: &Path) -> Result<Config, String> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("could not read {}: {error}", path.display()))?;
    toml::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}

fn subject(plug: &Plug) -> String {
    match plug {
        Plug::Reference(Behaviour::Conforming) => "the in-tree reference".to_owned(),
        Plug::Reference(behaviour) => {
            format!("the in-tree reference, {}", reference::in_words(behaviour))
        }
        Plug::Launch(command) => command.clone(),
        Plug::Url(url) => url.clone(),
    }
}

/// The command line that runs this again, to which a failure adds its scenario.
pub(super) fn replay(args: &RunArgs, iut: Iut) -> String {
    let quote = |text: &str| {
        shlex::try_quote(text).map_or_else(|_| text.to_owned(), |quoted| quoted.into_owned())
    };
    let mut words = vec![
        "diverge-conformance".to_owned(),
        "run".to_owned(),
        iut.as_str().to_owned(),
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
