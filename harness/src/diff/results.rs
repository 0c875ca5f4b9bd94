//! What moved between two runs: which verdicts, and whether any of them for the worse.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use crate::report::record::{Record, Results};
use crate::verdict::Verdict;

/// How a scenario's result moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Move {
    /// For the worse, or what passed is not there any more.
    Regression,
    /// It is new, and fails.
    NewFailure,
    /// It fails as before, but another requirement is to blame.
    OtherRequirement,
    /// To a verdict that is neither better nor worse.
    Sideways,
    /// For the better.
    Improvement,
    /// It is new.
    Added,
    /// It is not there any more, and did not pass.
    Removed,
}

impl Move {
    /// Every move, what matters most first.
    pub const ALL: [Self; 7] = [
        Self::Regression,
        Self::NewFailure,
        Self::OtherRequirement,
        Self::Sideways,
        Self::Improvement,
        Self::Added,
        Self::Removed,
    ];

    /// Its name in results.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Regression => "regression",
            Self::NewFailure => "new_failure",
            Self::OtherRequirement => "other_requirement",
            Self::Sideways => "sideways",
            Self::Improvement => "improvement",
            Self::Added => "added",
            Self::Removed => "removed",
        }
    }
}

/// A scenario whose result moved.
#[derive(Debug, Clone)]
pub struct Moved {
    /// How.
    pub how: Move,
    /// The result in the older run.
    pub old: Option<Arc<Record>>,
    /// The result in the newer run.
    pub new: Option<Arc<Record>>,
}

impl Moved {
    /// The newer result, or else the older.
    #[must_use]
    pub fn record(&self) -> Option<&Record> {
        self.new.as_deref().or(self.old.as_deref())
    }
}

/// What moved from `old` to `new`, what matters most first. A run that did not come to its end has no verdict on what
/// is missing in it, so that what passed before and is missing in `new` is a regression.
#[must_use]
pub fn results(old: &Results, new: &Results) -> Vec<Moved> {
    let (before, after) = (by_scenario(old), by_scenario(new));
    let mut scenarios: Vec<_> = before.keys().chain(after.keys()).collect();
    scenarios.sort_unstable();
    scenarios.dedup();
    let mut moved: Vec<Moved> = scenarios
        .into_iter()
        .filter_map(|scenario| {
            let (old, new) = (before.get(scenario), after.get(scenario));
            Some(Moved {
                how: how(old.map(|it| &***it), new.map(|it| &***it))?,
                old: old.map(|it| Arc::clone(it)),
                new: new.map(|it| Arc::clone(it)),
            })
        })
        .collect();
    moved.sort_by_key(|it| it.how);
    moved
}

/// The results by scenario and revision.
fn by_scenario(results: &Results) -> BTreeMap<(&str, Option<&str>), &Arc<Record>> {
    let records = results.results.iter();
    records
        .map(|it| ((it.id.as_str(), it.revision.as_deref()), it))
        .collect()
}

fn how(old: Option<&Record>, new: Option<&Record>) -> Option<Move> {
    let passes = |verdict| badness(verdict) == 0;
    let (old, new) = match (old, new) {
        (None, None) => return None,
        (None, Some(new)) if fails(new.verdict) && new.scored => return Some(Move::NewFailure),
        (None, Some(_)) => return Some(Move::Added),
        (Some(old), None) if passes(old.verdict) => return Some(Move::Regression),
        (Some(_), None) => return Some(Move::Removed),
        // What is not scored decides nothing.
        (Some(_), Some(new)) if !new.scored => return None,
        (Some(old), Some(new)) => (old, new),
    };
    let (before, after) = (badness(old.verdict), badness(new.verdict));
    let blamed = |record: &Record| record.blamed().map(|broken| broken.id.clone());
    if after > before {
        Some(Move::Regression)
    } else if after < before {
        Some(Move::Improvement)
    } else if old.verdict != new.verdict {
        Some(Move::Sideways)
    } else if blamed(old) != blamed(new) {
        Some(Move::OtherRequirement)
    } else {
        None
    }
}

fn fails(verdict: Verdict) -> bool {
    badness(verdict) >= badness(Verdict::Unstable)
}

/// How bad a verdict is; what was played and passed is best, and what is not played any more is worse.
fn badness(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Pass | Verdict::Stale => 0,
        Verdict::NotApplicable => 1,
        Verdict::Warn => 2,
        Verdict::ExpectedFail => 3,
        Verdict::Unstable | Verdict::Inconclusive => 4,
        Verdict::Fail => 5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing;

    fn run(verdicts: &[(&str, Verdict)]) -> Results {
        let mut results = testing::results();
        let failed = results.results.remove(1);
        results.results = verdicts
            .iter()
            .map(|(id, verdict)| {
                let mut record = (*failed).clone();
                record.id = (*id).to_owned();
                record.verdict = *verdict;
                if *verdict == Verdict::Pass {
                    record.failure = None;
                }
                Arc::new(record)
            })
            .collect();
        results
    }

    fn moves(old: &[(&str, Verdict)], new: &[(&str, Verdict)]) -> Vec<(Move, String)> {
        let moved = results(&run(old), &run(new)).into_iter();
        let told = moved.filter_map(|it| Some((it.how, it.record()?.id.clone())));
        told.collect()
    }

    #[test]
    fn what_gets_worse_is_a_regression_and_stands_first() {
        use Verdict::{ExpectedFail, Fail, NotApplicable, Pass, Unstable, Warn};
        let better = [
            ("a", Fail),
            ("b", Warn),
            ("c", NotApplicable),
            ("d", ExpectedFail),
        ];
        let passing = [("a", Pass), ("b", Pass), ("c", Pass), ("d", Pass)];
        for (_, how) in moves(&better, &passing).iter().map(|(how, id)| (id, how)) {
            assert_eq!(*how, Move::Improvement);
        }
        assert!(
            moves(&passing, &better)
                .iter()
                .all(|(how, _)| *how == Move::Regression)
        );
        assert_eq!(moves(&better, &better), []);
        let mixed = moves(&[("a", Fail), ("b", Pass)], &[("a", Pass), ("b", Unstable)]);
        assert_eq!(mixed[0], (Move::Regression, "b".to_owned()));
        assert_eq!(mixed[1], (Move::Improvement, "a".to_owned()));
    }

    #[test]
    fn what_passed_must_not_go_missing() {
        let old = [("a", Verdict::Pass), ("b", Verdict::Fail)];
        let expected = [
            (Move::Regression, "a".to_owned()),
            (Move::Removed, "b".to_owned()),
        ];
        assert_eq!(moves(&old, &[]), expected);
        let expected = [
            (Move::NewFailure, "b".to_owned()),
            (Move::Added, "a".to_owned()),
        ];
        assert_eq!(moves(&[], &old), expected);
    }

    #[test]
    fn another_requirement_to_blame_is_told() {
        let old = run(&[("a", Verdict::Fail)]);
        let mut new = old.clone();
        let mut record = (*new.results[0]).clone();
        record
            .failure
            .as_mut()
            .expect("it has one")
            .broken
            .remove(0);
        new.results[0] = Arc::new(record);
        let moved = results(&old, &new);
        assert_eq!(moved.len(), 1);
        assert_eq!(moved[0].how, Move::OtherRequirement);
    }

    #[test]
    fn revisions_of_one_scenario_are_told_apart() {
        let old = run(&[("a", Verdict::Pass)]);
        let mut new = old.clone();
        let mut other = (*new.results[0]).clone();
        other.revision = Some("path".to_owned());
        new.results.push(Arc::new(other));
        let moved = results(&old, &new);
        assert_eq!(moved.len(), 1);
        assert_eq!(moved[0].how, Move::Added);
    }
}
