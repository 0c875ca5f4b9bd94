//! The matrix: every hollow form, fault and conforming variant of every reference does as it must.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};

use diverge_conformance::kinds::{self, Entry, Kind};
use diverge_conformance::mutants::{self, Duty, Mutant};
use libtest_mimic::{Arguments, Failed, Trial};
use tokio::runtime::Runtime;

/// How many scenarios of one mutant are played at once.
const JOBS: usize = 16;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // Many mutants wait for what never comes, which costs time and no work: a third keeps two cores busy.
    arguments.test_threads = arguments.test_threads.or(Some(3));
    let mut trials = Vec::new();
    for kind in kinds::all().iter().copied() {
        let entries = Arc::new(kind.entries().expect("the built-in scenarios load"));
        trials.extend(kind.mutants().into_iter().enumerate().map(|(nth, mutant)| {
            let entries = match mutant.duty {
                Duty::Green => Arc::new(one_of_each_family(&entries, nth)),
                Duty::Caught(_) | Duty::NothingPasses => Arc::clone(&entries),
            };
            let name = format!("{}/{}", kind.iut().as_str(), mutant.name);
            let duty = in_words(&mutant);
            Trial::test(name, move || does_as_it_must(kind, &mutant, &entries)).with_kind(duty)
        }));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn in_words(mutant: &Mutant) -> &'static str {
    match mutant.duty {
        Duty::Caught(_) => "caught",
        Duty::Green => "stays green",
        Duty::NothingPasses => "passes nothing",
    }
}

fn does_as_it_must(kind: &dyn Kind, mutant: &Mutant, entries: &[Entry]) -> Result<(), Failed> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    let runtime = RUNTIME.get_or_init(|| Runtime::new().expect("a runtime starts"));
    let tried = runtime.block_on(mutants::try_out(kind, mutant, entries, JOBS, false))?;
    if tried.met {
        Ok(())
    } else {
        Err(tried.wrong.join("\n").into())
    }
}

/// One scenario of each family, which differ in data alone: another one for each mutant, so that all are played by some.
/// The command plays every mutant on every one of them.
fn one_of_each_family(entries: &[Entry], nth: usize) -> Vec<Entry> {
    let mut families: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
    for entry in entries {
        families.entry(&entry.family).or_default().push(entry);
    }
    let chosen = families.values().map(|family| family[nth % family.len()]);
    chosen.cloned().collect()
}
