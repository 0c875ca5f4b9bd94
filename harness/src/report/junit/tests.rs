use std::sync::Arc;

use junit_parser::{TestStatus, TestSuites};

use super::*;
use crate::report::record::{BaselineRecord, Expected, FindingRecord};
use crate::report::testing;

/// What a reader of the format makes of the report of `results`.
fn read_back(results: &Results) -> TestSuites {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let path = folder.path().join("junit.xml");
    let mut so_far = results.clone();
    so_far.end.complete = false;
    let mut junit = Junit::create(&path, &so_far).expect("it is made");
    for record in &results.results {
        junit.add(&so_far, record).expect("it is written");
        parsed(&path);
    }
    junit.finish(results).expect("it is written");
    parsed(&path)
}

fn parsed(path: &Path) -> TestSuites {
    let file = std::fs::File::open(path).expect("it is there");
    junit_parser::from_reader(std::io::BufReader::new(file)).expect("a reader takes it")
}

fn with(verdict: Verdict, id: &str) -> Record {
    let results = testing::results();
    let mut record = (*results.results[1]).clone();
    record.id = id.to_owned();
    record.verdict = verdict;
    record
}

#[test]
fn a_reader_tells_failures_errors_and_what_was_skipped_apart() {
    let mut results = testing::results();
    results.end.strict = true;
    let mut expected = with(Verdict::ExpectedFail, "expected");
    expected.expectation = Some(Expected {
        reason: "known <&\"'> \u{1}".to_owned(),
        link: None,
        verdict: Verdict::Fail,
    });
    results.results = [
        with(Verdict::Pass, "pass"),
        with(Verdict::Fail, "fail"),
        with(Verdict::Warn, "warn"),
        with(Verdict::Unstable, "unstable"),
        with(Verdict::Stale, "stale"),
        with(Verdict::Inconclusive, "inconclusive"),
        with(Verdict::NotApplicable, "not applicable"),
        expected,
    ]
    .into_iter()
    .map(Arc::new)
    .collect();
    let suites = read_back(&results);
    assert_eq!((suites.tests, suites.failures, suites.errors), (8, 4, 1));
    let suite = &suites.suites[0];
    assert_eq!(
        (suite.tests, suite.failures, suite.errors, suite.skipped),
        (8, 4, 1, 2)
    );
    for case in &suite.cases {
        let matches = match case.original_name.as_str() {
            "pass" => matches!(case.status, TestStatus::Success),
            "fail" | "warn" | "unstable" | "stale" => {
                matches!(&case.status, TestStatus::Failure(it) if it.failure_type == "run.chunk.verbatim")
            }
            "inconclusive" => matches!(case.status, TestStatus::Error(_)),
            _ => matches!(case.status, TestStatus::Skipped(_)),
        };
        assert!(matches, "{case:?}");
    }
    let reason = suite.cases.iter().find_map(|case| match &case.status {
        TestStatus::Skipped(it) if case.original_name == "expected" => Some(it.message.clone()),
        _ => None,
    });
    assert_eq!(reason.as_deref(), Some("expected: known <&\"'> \u{fffd}"));
}

#[test]
fn a_warning_passes_a_run_that_is_not_strict_and_still_is_told() {
    let mut results = testing::results();
    results.results = vec![Arc::new(with(Verdict::Warn, "warn"))];
    let suites = read_back(&results);
    let case = &suites.suites[0].cases[0];
    assert!(matches!(case.status, TestStatus::Success), "{case:?}");
    let said = case.system_out.as_deref().unwrap_or_default();
    assert!(
        said.contains("warning: expected ") && said.contains("run.chunk.verbatim"),
        "{said}"
    );
}

#[test]
fn what_is_not_scored_yet_is_skipped() {
    let mut results = testing::results();
    let mut record = with(Verdict::Fail, "new");
    record.scored = false;
    results.results = vec![Arc::new(record)];
    let suites = read_back(&results);
    let case = &suites.suites[0].cases[0];
    assert!(
        matches!(&case.status, TestStatus::Skipped(it) if it.message == "not scored yet: fail"),
        "{case:?}"
    );
}

#[test]
fn a_failure_is_told_without_a_secret() {
    let suites = read_back(&testing::results());
    let case = &suites.suites[0].cases[1];
    let TestStatus::Failure(failure) = &case.status else {
        panic!("{case:?}");
    };
    for part in [
        "allowed: the chunk",
        "breaks run.chunk.verbatim (stated",
        "replay: ",
    ] {
        assert!(failure.text.contains(part), "`{part}` in {}", failure.text);
    }
    assert!(!format!("{suites:?}").contains("hunter2"));
}

#[test]
fn a_run_that_did_not_end_an_entry_and_a_stray_connection_are_no_green_result() {
    let mut results = testing::results();
    results.results.truncate(1);
    results.end.complete = false;
    results.end.unclaimed = vec!["a begin request".to_owned()];
    results.end.baseline = Some(BaselineRecord {
        findings: vec![FindingRecord {
            trouble: "expired".to_owned(),
            entry: "p/t/a".to_owned(),
            line: 3,
            message: "it was expected until 2020-01-31".to_owned(),
        }],
        ..BaselineRecord::default()
    });
    let suites = read_back(&results);
    assert_eq!((suites.tests, suites.failures, suites.errors), (4, 2, 1));
}
