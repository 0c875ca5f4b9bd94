//! `mutants`: the matrix of hollow forms, faults and variants.

use std::collections::BTreeSet;
use std::sync::Arc;

use globset::Glob;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::{complain, complain_of};
use crate::cli::MutantsArgs;
use crate::kinds::{self, Entry, Kind};
use crate::mutants::{self, Duty, Mutant, Tried};
use crate::output::say;
use crate::suite::SelectError;
use crate::verdict::Exit;

/// How many mutants are tried at once: most of them wait for what never comes.
const AT_ONCE: usize = 12;

pub(crate) async fn mutants(args: &MutantsArgs) -> Exit {
    let only = match args.only.as_deref().map(Glob::new).transpose() {
        Ok(only) => only.map(|glob| glob.compile_matcher()),
        Err(error) => {
            complain(&format!("--only: {error}"));
            return Exit::Usage;
        }
    };
    let fits = |name: &str| only.as_ref().is_none_or(|glob| glob.is_match(name));
    let mut matrix = Matrix::default();
    for kind in kinds::all().iter().copied() {
        if args.iut.is_some_and(|iut| iut.iut() != kind.iut()) {
            continue;
        }
        let entries = match kind.entries() {
            Ok(entries) => Arc::new(entries),
            Err(mistakes) => return complain_of(&SelectError::Mistakes(mistakes)),
        };
        let mutants = kind.mutants().into_iter();
        let mutants: Vec<_> = mutants.filter(|mutant| fits(mutant.name)).collect();
        if let Err(why) = matrix.try_all(kind, mutants, &entries, args).await {
            complain(&why);
            return Exit::Harness;
        }
        if args.full && only.is_none() {
            matrix.idle(&entries);
        }
    }
    matrix.closing()
}

/// What came of the mutants so far.
#[derive(Default)]
struct Matrix {
    met: usize,
    missed: usize,
    /// Scenarios that alone caught some fault.
    alone: BTreeSet<String>,
    idle: usize,
}

impl Matrix {
    async fn try_all(
        &mut self,
        kind: &'static dyn Kind,
        mutants: Vec<Mutant>,
        entries: &Arc<Vec<Entry>>,
        args: &MutantsArgs,
    ) -> Result<(), String> {
        let at_once = Arc::new(Semaphore::new(AT_ONCE));
        let mut trying = JoinSet::new();
        for mutant in mutants {
            let (entries, at_once) = (Arc::clone(entries), Arc::clone(&at_once));
            let (jobs, full) = (args.jobs, args.full);
            trying.spawn(async move {
                let _turn = at_once.acquire().await;
                mutants::try_out(kind, &mutant, &entries, jobs, full).await
            });
        }
        while let Some(tried) = trying.join_next().await {
            match tried {
                Ok(Ok(tried)) => self.add(&tried),
                Ok(Err(error)) => return Err(error.to_string()),
                Err(error) => return Err(format!("a mutant's trial broke off: {error}")),
            }
        }
        Ok(())
    }

    fn add(&mut self, tried: &Tried) {
        *(if tried.met {
            &mut self.met
        } else {
            &mut self.missed
        }) += 1;
        show(tried);
        let mut families = mutants::families(&tried.caught_by).into_iter();
        if let (Some(family), None) = (families.next(), families.next()) {
            self.alone.insert(family);
        }
    }

    /// Tells the scenarios that are there for nothing.
    fn idle(&mut self, entries: &[Entry]) {
        let idle: BTreeSet<&str> = entries
            .iter()
            .filter(|entry| entry.freedom.is_none() && !self.alone.contains(&entry.family))
            .map(|entry| entry.family.as_str())
            .collect();
        say(&format!(
            "\nscenarios that no fault needs and that pin no freedom: {}",
            idle.len()
        ));
        for id in &idle {
            say(&format!("  {id}"));
        }
        self.idle += idle.len();
    }

    fn closing(&self) -> Exit {
        let all = self.met + self.missed;
        if all == 0 {
            complain("no mutant fits; `diverge-conformance list mutants` names them");
            return Exit::Usage;
        }
        say(&format!(
            "\n{} of {all} mutants did as they must, {} did not",
            self.met, self.missed
        ));
        if self.missed == 0 && self.idle == 0 {
            Exit::Conforms
        } else {
            Exit::Fails
        }
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
        Duty::NothingPasses => format!("hollow, {} scenarios", tried.played),
    };
    let iut = tried.mutant.iut.as_str();
    say(&format!(
        "{mark:<6} {iut:<12} {:<44} {what}",
        tried.mutant.name
    ));
    for wrong in tried.wrong.iter().take(12) {
        say(&format!("         {wrong}"));
    }
    if tried.wrong.len() > 12 {
        say(&format!("         … {} more", tried.wrong.len() - 12));
    }
}
