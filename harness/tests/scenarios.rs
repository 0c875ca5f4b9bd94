//! Every scenario against its in-tree reference, as a test of its own name.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::OnceLock;
use std::time::Duration;

use diverge_conformance::iut::Plug;
use diverge_conformance::kinds::{self, Kind, Selection, Setting};
use diverge_conformance::play::Patience;
use diverge_conformance::runner::Progress;
use diverge_conformance::verdict::{Outcome, Verdict};
use libtest_mimic::{Arguments, Failed, Trial};
use tokio::runtime::Runtime;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for kind in kinds::all().iter().copied() {
        let entries = kind.entries().expect("the built-in scenarios load");
        trials.extend(entries.into_iter().map(|entry| {
            let id = entry.id.clone();
            Trial::test(entry.id, move || passes(kind, &id))
        }));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| Runtime::new().expect("a runtime starts"))
}

fn passes(kind: &dyn Kind, id: &str) -> Result<(), Failed> {
    let mut outcomes: Vec<Outcome> = Vec::new();
    let finished = runtime().block_on(async {
        let setting = Setting {
            plug: Plug::Reference(None),
            config: kind.in_tree(),
            jobs: 1,
            patience: Patience::new(Duration::from_secs(5)),
            strict: true,
            generated: None,
            events_revision: None,
        };
        let selection = Selection::Ids(BTreeSet::from([id.to_owned()]));
        let mut keep = |progress: Progress| {
            if let Progress::Done(done) = progress {
                outcomes.push(*done);
            }
        };
        let trials = kind.trials(&selection, None, &setting)?;
        let mut finished = None;
        for trial in trials.iter().filter(|trial| trial.scenarios() > 0) {
            finished = Some(trial.play(&mut keep).await?);
        }
        Ok::<_, Failed>(finished)
    })?;
    let finished = finished.ok_or("there is no such scenario")?;
    let [outcome] = outcomes.as_slice() else {
        return Err(format!("{} results: {:?}", outcomes.len(), finished.stopped).into());
    };
    if outcome.verdict != Verdict::Pass {
        return Err(format!(
            "{}: {}",
            outcome.verdict.as_str(),
            outcome.message.as_deref().unwrap_or_default()
        )
        .into());
    }
    if !finished.unclaimed.is_empty() {
        return Err(format!("connections of nobody: {:?}", finished.unclaimed).into());
    }
    Ok(())
}
