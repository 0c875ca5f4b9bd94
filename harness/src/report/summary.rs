//! What several reports in files say alike: counts, groups and likenesses.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::record::{Counts, Record, Results, named};
use crate::verdict::Verdict;

/// The verdicts in the order of tables, by short names.
pub(super) const COLUMNS: [(Verdict, &str); 8] = [
    (Verdict::Pass, "pass"),
    (Verdict::Fail, "fail"),
    (Verdict::Unstable, "unstable"),
    (Verdict::Warn, "warn"),
    (Verdict::Inconclusive, "inconclusive"),
    (Verdict::Stale, "stale"),
    (Verdict::ExpectedFail, "expected to fail"),
    (Verdict::NotApplicable, "not applicable"),
];

/// How many got each verdict, in words.
pub(super) fn counted(counts: Counts) -> String {
    let told = COLUMNS
        .iter()
        .filter(|(verdict, _)| *verdict == Verdict::Pass || counts.get(*verdict) > 0)
        .map(|(verdict, name)| format!("{} {name}", counts.get(*verdict)));
    told.collect::<Vec<_>>().join(", ")
}

/// The counts by topic.
pub(super) fn topics(records: &[Arc<Record>]) -> BTreeMap<&str, Counts> {
    let mut topics: BTreeMap<&str, Counts> = BTreeMap::new();
    for record in records.iter().filter(|it| it.scored) {
        topics.entry(&record.topic).or_default().add(record.verdict);
    }
    topics
}

/// The results of one verdict.
pub(super) fn of(results: &Results, verdict: Verdict) -> Vec<&Record> {
    let records = results.results.iter().map(Arc::as_ref);
    records
        .filter(|it| it.scored && it.verdict == verdict)
        .collect()
}

/// The results that decide nothing.
pub(super) fn unscored(results: &Results) -> Vec<&Record> {
    let records = results.results.iter().map(Arc::as_ref);
    records.filter(|it| !it.scored).collect()
}

/// The results that fail a run.
pub(super) fn wrong(results: &Results) -> Vec<&Record> {
    let is_wrong = |verdict| {
        matches!(
            verdict,
            Verdict::Fail | Verdict::Unstable | Verdict::Inconclusive | Verdict::Stale
        )
    };
    let records = results.results.iter().map(Arc::as_ref);
    records
        .filter(|it| it.scored && is_wrong(it.verdict))
        .collect()
}

/// The results that are unlike all before them, and the others, each with the one that it is like: of one
/// requirement, by the same step or with the same allowed and received.
pub(super) fn alike<'r>(
    records: &[&'r Record],
) -> (Vec<&'r Record>, Vec<(&'r Record, &'r Record)>) {
    let mut told: HashMap<(&str, String), &Record> = HashMap::new();
    let (mut firsts, mut likes) = (Vec::new(), Vec::new());
    for record in records.iter().copied() {
        let likenesses = likenesses(record);
        let like = likenesses.iter().find_map(|it| told.get(it)).copied();
        for likeness in likenesses {
            told.entry(likeness).or_insert(like.unwrap_or(record));
        }
        match like {
            Some(first) => likes.push((record, first)),
            None => firsts.push(record),
        }
    }
    (firsts, likes)
}

fn likenesses(record: &Record) -> Vec<(&str, String)> {
    let (Some(failure), Some(blamed)) = (&record.failure, record.blamed()) else {
        return Vec::new();
    };
    let happening = format!("{}\n{}", failure.allowed, failure.received);
    let by = failure.at.clone().into_iter().chain([happening]);
    by.map(|by| (blamed.id.as_str(), by)).collect()
}

/// Runs side by side: the verdict of every scenario in each.
pub(super) struct Matrix<'r> {
    /// What tells the columns apart.
    pub columns: Vec<String>,
    /// The scenarios on which they differ.
    pub differ: Vec<(&'r str, Vec<Option<Verdict>>)>,
    /// The others.
    pub same: Vec<(&'r str, Vec<Option<Verdict>>)>,
}

impl<'r> Matrix<'r> {
    pub(super) fn of(runs: &'r [(String, Results)]) -> Self {
        let mut columns: Vec<String> = Vec::new();
        let mut rows: BTreeMap<&str, Vec<Option<Verdict>>> = BTreeMap::new();
        for (run, results) in runs {
            for record in &results.results {
                // Kinds do not share ids, so that only a revision makes a column of its own.
                let name = match &record.revision {
                    Some(revision) if record.iut != "provider" => {
                        format!("{run}, {}", named(&record.iut, Some(revision)))
                    }
                    _ => run.clone(),
                };
                let at = columns
                    .iter()
                    .position(|it| *it == name)
                    .unwrap_or_else(|| {
                        columns.push(name);
                        columns.len() - 1
                    });
                let row = rows.entry(&record.id).or_default();
                row.resize(row.len().max(at + 1), None);
                row[at] = Some(record.verdict);
            }
        }
        let rows = rows.into_iter().map(|(id, mut verdicts)| {
            verdicts.resize(columns.len(), None);
            (id, verdicts)
        });
        let (same, differ) =
            rows.partition(|(_, verdicts)| verdicts.iter().all(|it| *it == verdicts[0]));
        Self {
            columns,
            differ,
            same,
        }
    }
}
