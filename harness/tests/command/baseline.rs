//! Baselines, shards, repetitions and seeds from outside.

use std::path::Path;
use std::process::Output;

use super::program::{code, conformance, lines};

const FAILS: &str = "provider/streams/word-by-word";
const BLAMED: &str = "run.active.bare";

fn run(more: &[&str]) -> Output {
    run_as("jsonl", more)
}

fn run_as(format: &str, more: &[&str]) -> Output {
    conformance(&[&["run", "provider", "--format", format], more].concat())
}

/// Plays the streams, and something without a run, on a provider that breaks `run.active.bare` or on one that conforms.
fn played(baseline: &Path, faulty: bool, more: &[&str]) -> Output {
    played_as("jsonl", baseline, faulty, more)
}

fn played_as(format: &str, baseline: &Path, faulty: bool, more: &[&str]) -> Output {
    let baseline = baseline.to_str().expect("a path");
    let mut arguments = vec!["--baseline", baseline];
    for scenarios in ["provider/streams/*", "provider/transport/*"] {
        arguments.extend(["--scenario", scenarios]);
    }
    if faulty {
        arguments.extend(["--mutant", "active-padded"]);
    }
    arguments.extend(more);
    run_as(format, &arguments)
}

struct Baseline {
    folder: tempfile::TempDir,
}

impl Baseline {
    fn of(text: &str) -> Self {
        let baseline = Self::absent();
        std::fs::write(baseline.path(), text).expect("it is written");
        baseline
    }

    fn absent() -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory");
        Self { folder }
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("baseline.toml")
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.path()).expect("it is there")
    }
}

fn expected(members: &str) -> String {
    format!("[[expected]]\nreason = \"known\"\n{members}\n")
}

#[test]
fn expected_failures_do_not_fail_the_run_and_the_summary_says_what_it_would_be_without() {
    let baseline = Baseline::of(&expected(&format!("requirement = \"{BLAMED}\"")));
    let output = played(&baseline.path(), true, &[]);
    assert_eq!(
        code(&output),
        0,
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let lines = lines(&output);
    let summary = lines.last().expect("a summary");
    let failed = summary["expected_fail"].as_u64().expect("a number");
    assert!(failed > 0 && summary["fail"] == 0, "{summary}");
    assert_eq!(summary["without_baseline"]["fail"], failed);
    assert_eq!(summary["without_baseline"]["exit"], 1);
    let line = lines
        .iter()
        .find(|line| line["id"] == FAILS)
        .expect("it is played");
    assert_eq!(line["verdict"], "expected_fail");
    assert_eq!(line["failed_requirement"], BLAMED);
}

#[test]
fn an_expected_failure_that_passes_exits_3() {
    let baseline = Baseline::of(&expected(&format!("scenario = \"{FAILS}\"")));
    let output = played(&baseline.path(), false, &[]);
    assert_eq!(code(&output), 3);
    let lines = lines(&output);
    assert_eq!(lines.last().expect("a summary")["stale"], 1);
    let told = lines
        .iter()
        .find(|line| line["event"] == "baseline")
        .expect("it is told");
    assert_eq!(
        (&told["trouble"], &told["line"]),
        (&"stale".into(), &1.into())
    );
}

#[test]
fn an_entry_that_matches_nothing_and_one_past_its_date_exit_3_each_with_its_own_words() {
    let misspelt = expected("scenario = \"provider/streams/word-by-wrod\"");
    let past = expected(&format!("requirement = \"{BLAMED}\"\nexpires = 2020-01-31"));
    for (text, faulty, trouble, words) in [
        (misspelt, false, "unmatched", "did you mean"),
        (past, true, "expired", "2020-01-31"),
    ] {
        let output = played(&Baseline::of(&text).path(), faulty, &[]);
        assert_eq!(code(&output), 3, "{trouble}");
        let lines = lines(&output);
        let told = lines
            .iter()
            .find(|line| line["event"] == "baseline")
            .expect("it is told");
        assert_eq!(told["trouble"], trouble);
        assert!(
            told["message"]
                .as_str()
                .is_some_and(|it| it.contains(words)),
            "{told}"
        );
    }
}

#[test]
fn a_new_failure_beside_a_stale_entry_exits_1() {
    let text = expected("scenario = \"provider/streams/no-such\"");
    assert_eq!(code(&played(&Baseline::of(&text).path(), true, &[])), 1);
}

#[test]
fn a_baseline_at_fault_exits_2_with_line_and_column() {
    let baseline =
        Baseline::of("# ours\n[[expected]]\nscenario = \"provider/streams/a\"\nreason = \"\"\n");
    let output = played(&baseline.path(), false, &[]);
    assert_eq!(code(&output), 2);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let place = format!("{}:4:10: ", baseline.path().display());
    assert!(told.contains(&place) && told.contains("`reason`"), "{told}");
    let output = played(&Baseline::absent().path(), false, &[]);
    assert_eq!(code(&output), 2);
    assert!(String::from_utf8_lossy(&output.stderr).contains("--bless"));
}

#[test]
fn what_is_blessed_is_expected_from_then_on_and_taken_out_when_it_passes() {
    let baseline = Baseline::absent();
    let blessed = played(
        &baseline.path(),
        true,
        &["--bless", "--reason", "padding: #12"],
    );
    assert_eq!(
        code(&blessed),
        0,
        "{}",
        String::from_utf8_lossy(&blessed.stderr)
    );
    assert!(
        baseline.text().contains("reason = \"padding: #12\""),
        "{}",
        baseline.text()
    );
    assert_eq!(code(&played(&baseline.path(), true, &[])), 0);
    assert_eq!(code(&played(&baseline.path(), false, &[])), 3);
    assert_eq!(code(&played(&baseline.path(), false, &["--bless"])), 0);
    assert!(
        !baseline.text().contains("[[expected]]"),
        "{}",
        baseline.text()
    );
}

#[test]
fn people_are_told_what_is_expected_and_what_is_wrong_with_the_baseline() {
    let baseline = Baseline::of(&format!(
        "{}\n{}",
        expected(&format!("requirement = \"{BLAMED}\"")),
        expected("scenario = \"provider/streams/no-such\"")
    ));
    let output = played_as("pretty", &baseline.path(), true, &[]);
    assert_eq!(code(&output), 3);
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    for words in [
        "expected to fail\n  known\n",
        "without the baseline: does not conform, ",
        "UNMATCHED     provider/streams/no-such",
        "the baseline is out of date: 1 entry needs mending",
    ] {
        assert!(told.contains(words), "`{words}` in\n{told}");
    }
}

#[test]
fn shards_share_out_the_scenarios_and_an_empty_one_is_refused() {
    let ids = |more: &[&str]| {
        let output = run(&[&["--scenario", "provider/streams/*"], more].concat());
        assert_eq!(code(&output), 0);
        let mut lines = lines(&output);
        lines.pop();
        let mut ids: Vec<String> = lines
            .iter()
            .map(|line| line["id"].as_str().expect("an id").to_owned())
            .collect();
        ids.sort();
        ids
    };
    let mut shared = [
        ids(&["--shard", "1/2"]),
        ids(&["--shard", "2/2", "--shuffle", "7"]),
    ]
    .concat();
    shared.sort();
    assert_eq!(shared, ids(&[]));
    let output = run(&["--scenario", FAILS, "--shard", "2/2"]);
    assert_eq!(code(&output), 2);
    assert!(String::from_utf8_lossy(&output.stderr).contains("shard is empty"));
    assert_eq!(code(&run(&["--shard", "3/2"])), 2);
}

#[test]
fn what_is_repeated_is_told_once() {
    let output = run(&["--scenario", FAILS, "--repeat", "3"]);
    assert_eq!(code(&output), 0);
    assert_eq!(lines(&output).len(), 2);
    assert_eq!(code(&run(&["--repeat", "0"])), 2);
}
