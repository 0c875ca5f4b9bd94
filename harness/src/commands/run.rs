//! `run`: judges implementations and reports.

mod parts;
mod replay;

use diverge_protocol::scenario::Iut;

use self::parts::{NotRun, Part, parts};
use super::interrupt::Interrupt;
use super::{complain, complain_of};
use crate::baseline::{self, Baseline, BaselineError, Reckoning};
use crate::cli::{Format, RunArgs};
use crate::iut::PlugError;
use crate::report::{Files, Heading, Jsonl, Mask, Pretty, Reporter, Transcripts};
use crate::runner::{Finished, Progress};
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
    let in_chain = [
        &args.provider,
        &args.proxy,
        &args.agent_server,
        &args.client,
    ];
    let of_chain = args.iut.is_some_and(|iut| iut.iut() == Iut::Chain);
    if in_chain.into_iter().any(Option::is_some) && !of_chain {
        complain(
            "--provider, --proxy, --agent-server and --client launch the parties of `run chain`; elsewhere --launch does",
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
    let unwritten = transcripts.is_some_and(|it| !it.all_written());
    let (exit, why) = match played {
        Some(Ok((exit, mut whole))) => match reckon(args, &parts, &whole, baseline) {
            Ok(reckoning) => {
                whole.baseline = reckoning;
                reporter.finish(&whole);
                let exit = exit.worst(whole.baseline_exit());
                return reporter.written(if unwritten {
                    exit.worst(Exit::Usage)
                } else {
                    exit
                });
            }
            Err(error) => (Exit::Usage, error.to_string()),
        },
        Some(Err(error)) => match error {
            PlugError::NoAddress(_)
            | PlugError::OneScenario(_)
            | PlugError::CommandLine(_)
            | PlugError::NoWebSocket(_)
            | PlugError::Tls(_)
            | PlugError::Address(_) => (Exit::Usage, error.to_string()),
            _ => (Exit::Unreachable, error.to_string()),
        },
        // Dropping the run has ended what it started.
        None => (Exit::Fails, "interrupted".to_owned()),
    };
    let secrets = parts.first().map_or(&[][..], |part| &part.heading.secrets);
    let why = Mask::of(&Default::default(), secrets).text(&why);
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use diverge_protocol::rules::Revision;

    use super::*;
    use crate::kinds::Playing;
    use crate::kinds::Trial;
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
