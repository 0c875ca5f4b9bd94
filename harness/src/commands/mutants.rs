//! `mutants`: the matrix of hollow peers, faults and variants.

use std::collections::BTreeSet;
use std::sync::Arc;

use diverge_protocol::scenario::Iut;
use globset::Glob;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::{complain, complain_of};
use crate::cli::MutantsArgs;
use crate::events::emitter;
use crate::mutants::{self, Duty, Tried};
use crate::suite::{self, SelectError};
use crate::verdict::Exit;

/// How many mutants are tried at once: most of them wait for what never comes.
const AT_ONCE: usize = 12;

pub(crate) async fn mutants(args: &MutantsArgs) -> Exit {
    let iut = args.iut.map_or(Iut::Provider, |iut| iut.iut());
    let scenarios = match suite::built_in(iut) {
        Ok(scenarios) => scenarios,
        Err(mistakes) => return complain_of(&SelectError::Mistakes(mistakes)),
    };
    let only = match args.only.as_deref().map(Glob::new).transpose() {
        Ok(only) => only.map(|glob| glob.compile_matcher()),
        Err(error) => {
            complain(&format!("--only: {error}"));
            return Exit::Usage;
        }
    };
    let fits = |name: &str| only.as_ref().is_none_or(|glob| glob.is_match(name));
    let emitters: Vec<_> = emitter::all()
        .filter(|it| args.iut.is_none_or(|iut| iut.iut() == Iut::Events) && fits(it.name))
        .collect();
    let all: Vec<_> = mutants::all()
        .into_iter()
        .filter(|_| iut == Iut::Provider)
        .filter(|mutant| fits(mutant.name))
        .collect();
    if all.is_empty() && emitters.is_empty() {
        complain("no mutant fits; `diverge-conformance list mutants` names them");
        return Exit::Usage;
    }
    let mut alone: BTreeSet<String> = BTreeSet::new();
    let (mut met, mut missed) = (0, 0);
    let at_once = Arc::new(Semaphore::new(AT_ONCE));
    let mut trying = JoinSet::new();
    for mutant in all {
        let (scenarios, at_once) = (scenarios.clone(), Arc::clone(&at_once));
        let (jobs, full) = (args.jobs, args.full);
        trying.spawn(async move {
            let _turn = at_once.acquire().await;
            mutants::try_out(&mutant, &scenarios, jobs, full).await
        });
    }
    while let Some(tried) = trying.join_next().await {
        let tried = match tried {
            Ok(Ok(tried)) => tried,
            Ok(Err(error)) => {
                complain(&error.to_string());
                return Exit::Harness;
            }
            Err(error) => {
                complain(&format!("a mutant's trial broke off: {error}"));
                return Exit::Harness;
            }
        };
        if tried.met {
            met += 1
        } else {
            missed += 1
        }
        show(&tried);
        let mut families = mutants::families(&tried.caught_by).into_iter();
        if let (Some(family), None) = (families.next(), families.next()) {
            alone.insert(family);
        }
    }
    let mut idle = BTreeSet::new();
    for emitter in emitters {
        *(if super::events::show(emitter) {
            &mut met
        } else {
            &mut missed
        }) += 1;
    }
    if args.full && only.is_none() && iut == Iut::Provider {
        idle = scenarios
            .iter()
            .filter(|scenario| scenario.freedom.is_none() && !alone.contains(&scenario.family))
            .map(|scenario| scenario.family.as_str())
            .collect();
        anstream::println!(
            "\nscenarios that no fault needs and that pin no freedom: {}",
            idle.len()
        );
        for id in &idle {
            anstream::println!("  {id}");
        }
    }
    anstream::println!(
        "\n{met} of {} mutants did as they must, {missed} did not",
        met + missed
    );
    if missed == 0 && idle.is_empty() {
        Exit::Conforms
    } else {
        Exit::Fails
    }
}

fn show(tried: &Tried) {
    let mark = if tried.met { "ok" } else { "MISSED" };
    let what = match tried.mutant.duty {
        Duty::Caught(requirement) => {
            let by = match tried.caught_by.as_slice() {
                [] => "not caught".to_owned(),
                [one] => format!("caught by {one}"),
                [one, rest @ ..] => format!("caught by {one} and {} more", rest.len()),
            };
            format!("fault for {requirement}: {by}")
        }
        Duty::Green => format!("conforming variant, {} scenarios", tried.played),
        Duty::NothingPasses => format!("hollow peer, {} scenarios", tried.played),
    };
    anstream::println!("{mark:<6} {:<44} {what}", tried.mutant.name);
    for wrong in tried.wrong.iter().take(12) {
        anstream::println!("         {wrong}");
    }
    if tried.wrong.len() > 12 {
        anstream::println!("         … {} more", tried.wrong.len() - 12);
    }
}
