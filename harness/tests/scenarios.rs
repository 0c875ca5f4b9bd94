//! Every scenario against the in-tree reference, as a test of its own name.

use std::process::ExitCode;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use diverge_conformance::iut::Plug;
use diverge_conformance::play::Patience;
use diverge_conformance::runner::{self, Options, Progress};
use diverge_conformance::verdict::{Outcome, Verdict};
use diverge_conformance::{reference, suite};
use diverge_protocol::scenario::{Iut, Scenario};
use libtest_mimic::{Arguments, Failed, Trial};
use mock_provider::server::Behaviour;
use tokio::runtime::Runtime;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let scenarios = suite::built_in(Iut::Provider).expect("the built-in scenarios load");
    let trials = scenarios
        .into_iter()
        .map(|scenario| Trial::test(scenario.id.clone(), move || passes(&scenario)))
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| Runtime::new().expect("a runtime starts"))
}

fn passes(scenario: &Arc<Scenario>) -> Result<(), Failed> {
    let patience = Duration::from_secs(5);
    let options = Options {
        plug: Plug::Reference(Behaviour::Conforming),
        config: reference::config(),
        jobs: 1,
        patience,
        strict: true,
    };
    let mut outcome: Option<Outcome> = None;
    let finished = runtime().block_on(async {
        let mut keep = |progress: Progress| {
            if let Progress::Done(done) = progress {
                outcome = Some(*done);
            }
        };
        runner::run(
            std::slice::from_ref(scenario),
            &options,
            &Patience::new(patience),
            &mut keep,
        )
        .await
    })?;
    let outcome = outcome.ok_or_else(|| format!("no result: {:?}", finished.stopped))?;
    if outcome.verdict != Verdict::Pass {
        return Err(format!(
            "{}: {}",
            outcome.verdict.as_str(),
            outcome.message.unwrap_or_default()
        )
        .into());
    }
    if !finished.unclaimed.is_empty() {
        return Err(format!("connections of nobody: {:?}", finished.unclaimed).into());
    }
    Ok(())
}
