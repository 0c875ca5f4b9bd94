//! The matrix: every hollow peer, fault and conforming variant of the reference does as it must.

use std::process::ExitCode;
use std::sync::{Arc, OnceLock};

use diverge_conformance::mutants::{self, Duty, Mutant};
use diverge_conformance::suite;
use diverge_protocol::scenario::{Iut, Scenario};
use libtest_mimic::{Arguments, Failed, Trial};
use tokio::runtime::Runtime;

/// How many scenarios of one mutant are played at once.
const JOBS: usize = 16;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // Most mutants wait for what never comes, which costs time and no work; two at a time is what two cores take.
    arguments.test_threads = arguments.test_threads.or(Some(2));
    let trials = mutants::all()
        .into_iter()
        .map(|mutant| {
            let kind = kind(&mutant);
            Trial::test(mutant.name, move || does_as_it_must(&mutant)).with_kind(kind)
        })
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn kind(mutant: &Mutant) -> &'static str {
    match mutant.duty {
        Duty::Caught(_) => "caught",
        Duty::Green => "stays green",
        Duty::NothingPasses => "passes nothing",
    }
}

fn scenarios() -> &'static [Arc<Scenario>] {
    static SCENARIOS: OnceLock<Vec<Arc<Scenario>>> = OnceLock::new();
    SCENARIOS.get_or_init(|| suite::built_in(Iut::Provider).expect("the built-in scenarios load"))
}

fn does_as_it_must(mutant: &Mutant) -> Result<(), Failed> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    let runtime = RUNTIME.get_or_init(|| Runtime::new().expect("a runtime starts"));
    let tried = runtime.block_on(mutants::try_out(mutant, scenarios(), JOBS, false))?;
    if tried.met {
        Ok(())
    } else {
        Err(tried.wrong.join("\n").into())
    }
}
