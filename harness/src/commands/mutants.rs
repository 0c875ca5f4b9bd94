//! `mutants`: the matrix of hollow peers, faults and variants.

use std::collections::BTreeMap;

use diverge_protocol::scenario::Iut;
use globset::Glob;

use super::{complain, complain_of};
use crate::cli::MutantsArgs;
use crate::mutants::{self, Duty, Tried};
use crate::suite::{self, SelectError};
use crate::verdict::Exit;

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
    let all: Vec<_> = mutants::all()
        .into_iter()
        .filter(|mutant| only.as_ref().is_none_or(|glob| glob.is_match(mutant.name)))
        .collect();
    if all.is_empty() {
        complain("no mutant fits; `diverge-conformance list mutants` names them");
        return Exit::Usage;
    }
    let mut alone: BTreeMap<String, Vec<&'static str>> = BTreeMap::new();
    let (mut met, mut missed) = (0, 0);
    for mutant in &all {
        let tried = match mutants::try_out(mutant, &scenarios, args.jobs, args.full).await {
            Ok(tried) => tried,
            Err(error) => {
                complain(&error.to_string());
                return Exit::Harness;
            }
        };
        if tried.met {
            met += 1
        } else {
            missed += 1
        }
        show(&tried);
        let mut families: Vec<String> = tried.caught_by.iter().map(|id| family(id)).collect();
        families.dedup();
        if let ([family], Duty::Caught(_)) = (families.as_slice(), mutant.duty) {
            alone.entry(family.clone()).or_default().push(mutant.name);
        }
    }
    if args.full && only.is_none() {
        let idle: Vec<_> = scenarios
            .iter()
            .filter(|scenario| scenario.freedom.is_none() && !alone.contains_key(&scenario.family))
            .map(|scenario| scenario.family.as_str())
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .collect();
        anstream::println!(
            "\nscenarios that no fault needs and that pin no freedom: {}",
            idle.len()
        );
        for id in idle {
            anstream::println!("  {id}");
        }
    }
    anstream::println!(
        "\n{met} of {} mutants did as they must, {missed} did not",
        met + missed
    );
    if missed == 0 {
        Exit::Conforms
    } else {
        Exit::Fails
    }
}

/// The scenario's id without its case.
fn family(id: &str) -> String {
    id.split('/').take(3).collect::<Vec<_>>().join("/")
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
