//! `run events`, and the hidden command that writes the stream of an in-tree emitter.

use std::time::Instant;

use diverge_protocol::scenario::Iut;
use diverge_protocol::wire::agent_event::EventRevision;
use globset::{Glob, GlobSet, GlobSetBuilder};

use super::complain;
use super::interrupt::Interrupt;
use super::run::replay;
use crate::cli::{EventsRevisionArg, Format, RunArgs};
use crate::events::emitter::{self, Duty, Emitter, REFERENCE};
use crate::events::{judge_command, requirements, scenario_id};
use crate::play::Patience;
use crate::report::style::say;
use crate::report::{Heading, Jsonl, Pretty, Reporter};
use crate::runner::{Finished, Progress};
use crate::verdict::{Exit, Outcome};

/// `run events`.
pub(super) async fn run(args: &RunArgs) -> Exit {
    let selected = match selected(args) {
        Ok(selected) => selected,
        Err(why) => {
            complain(&why);
            return Exit::Usage;
        }
    };
    let started = Instant::now();
    let asked = args.events_revision.map(EventsRevisionArg::revision);
    let revision = asked.unwrap_or(EventRevision::Document);
    let (subject, judge) = match (&args.launch, &args.mutant) {
        (Some(command), _) => {
            let patience = Patience::new(args.patience());
            let mut interrupt = Interrupt::listen();
            tokio::select! {
                judged = judge_command(command, revision, &patience) => match judged {
                    Ok(judge) => (command.clone(), judge),
                    Err(error) => {
                        complain(&error.to_string());
                        return Exit::Unreachable;
                    }
                },
                () = interrupt.came() => {
                    complain("interrupted");
                    return Exit::Fails;
                }
            }
        }
        (None, Some(name)) => match emitter::find(name) {
            Some(emitter) => {
                let judge = emitter.judge(asked.unwrap_or(emitter.revision));
                (format!("the in-tree emitter {name}"), judge)
            }
            None => {
                complain(&unknown(name));
                return Exit::Usage;
            }
        },
        (None, None) => (
            "the in-tree reference".to_owned(),
            REFERENCE.judge(revision),
        ),
    };
    let mut outcomes = judge.outcomes(started.elapsed());
    if let Some(selected) = selected {
        outcomes.retain(|outcome| selected.is_match(&outcome.id));
    }
    let heading = Heading {
        iut: Iut::Events,
        subject,
        replay: replay(args, Iut::Events),
        scenarios: outcomes.len(),
        secrets: Vec::new(),
    };
    let mut reporter: Box<dyn Reporter + Send> = match args.format {
        Format::Pretty => Box::new(Pretty::new(heading)),
        Format::Jsonl => Box::new(Jsonl::new(heading)),
    };
    let mut finished = Finished {
        strict: args.strict,
        ..Finished::default()
    };
    add(outcomes, &mut finished, reporter.as_mut());
    reporter.finish(&finished);
    finished.exit()
}

/// Adds the results of the in-tree reference to a run of something else.
pub(super) fn add_reference(finished: &mut Finished, reporter: &mut (dyn Reporter + Send)) -> Exit {
    let mut alone = Finished {
        strict: finished.strict,
        ..Finished::default()
    };
    for outcome in REFERENCE.outcomes() {
        alone.summary.add(outcome.verdict);
    }
    add(REFERENCE.outcomes(), finished, reporter);
    alone.exit()
}

fn add(outcomes: Vec<Outcome>, finished: &mut Finished, reporter: &mut (dyn Reporter + Send)) {
    for outcome in outcomes {
        finished.summary.add(outcome.verdict);
        reporter.progress(&Progress::Done(Box::new(outcome)));
    }
}

fn unknown(name: &str) -> String {
    format!(
        "no emitter is called `{name}`; `diverge-conformance list mutants` names the faults, variants and hollow ones"
    )
}

/// The results that are asked for; without patterns, all.
fn selected(args: &RunArgs) -> Result<Option<GlobSet>, String> {
    if args.url.is_some() {
        return Err("a stream of events has no address; --launch starts what writes it".to_owned());
    }
    let mut globs = GlobSetBuilder::new();
    for pattern in &args.scenario {
        let glob = Glob::new(pattern).map_err(|error| error.to_string())?;
        let matcher = glob.compile_matcher();
        if !requirements().any(|it| matcher.is_match(scenario_id(it))) {
            return Err(format!(
                "`{pattern}` matches no scenario; `diverge-conformance list scenarios` shows the ids"
            ));
        }
        globs.add(glob);
    }
    match args.scenario.is_empty() {
        true => Ok(None),
        false => globs.build().map(Some).map_err(|error| error.to_string()),
    }
}

/// Writes the stream of the reference, or of an emitter by name.
pub(crate) fn emit(name: Option<&str>) -> Exit {
    let emitter = match name {
        Some(name) => emitter::find(name),
        None => Some(&REFERENCE),
    };
    let Some(emitter) = emitter else {
        complain(&unknown(name.unwrap_or_default()));
        return Exit::Usage;
    };
    emitter.lines.iter().for_each(|line| say(line));
    Exit::Conforms
}

/// What came of an emitter, for the matrix; says whether it did its duty.
pub(super) fn show(emitter: &Emitter) -> bool {
    let wrong = emitter.wrong();
    let mark = if wrong.is_empty() { "ok" } else { "MISSED" };
    let what = match emitter.duty {
        Duty::Caught(requirement) => format!("fault of the event stream for {requirement}"),
        Duty::Green => "conforming event stream".to_owned(),
        Duty::NothingPasses => "hollow event stream".to_owned(),
    };
    anstream::println!("{mark:<6} {:<44} {what}", emitter.name);
    wrong
        .iter()
        .for_each(|it| anstream::println!("         {it}"));
    wrong.is_empty()
}
