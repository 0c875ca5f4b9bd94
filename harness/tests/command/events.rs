//! `run events` from outside: emitters in this tree and programs that are launched.

use serde_json::Value;

use super::program::{PROGRAM, code, conformance, lines};

fn run(arguments: &[&str]) -> (i32, Vec<Value>) {
    let output = conformance(&[&["run", "events", "--format", "jsonl"], arguments].concat());
    (code(&output), lines(&output))
}

#[test]
fn the_reference_conforms_in_this_tree_and_launched() {
    let launched = format!("{PROGRAM} emit-events");
    for arguments in [&[][..], &["--launch", &launched]] {
        let (code, lines) = run(arguments);
        assert_eq!(code, 0, "{lines:?}");
        let (summary, results) = lines.split_last().expect("a summary");
        assert_eq!(summary["event"], "summary");
        assert_eq!(summary["pass"], results.len());
        assert!(
            results.iter().all(|it| it["verdict"] == "pass"),
            "{results:?}"
        );
    }
}

#[test]
fn a_faulty_stream_is_told_which_requirement_it_breaks() {
    let launched = format!("{PROGRAM} emit-events cost-twice");
    for arguments in [["--mutant", "cost-twice"], ["--launch", &launched]] {
        let (code, lines) = run(&arguments);
        assert_eq!(code, 1);
        let failed: Vec<_> = lines.iter().filter(|it| it["verdict"] == "fail").collect();
        assert_eq!(failed.len(), 1, "{lines:?}");
        assert_eq!(failed[0]["id"], "events/cost/cost-once");
        assert_eq!(failed[0]["failed_requirement"], "events.cost-once");
    }
}

#[test]
fn a_program_that_writes_no_stream_passes_nothing() {
    for command in [
        "true",
        "echo nonsense",
        "echo '{\"type\":\"error\",\"message\":\"\"}'",
        "yes ''",
    ] {
        let (code, lines) = run(&["--launch", command, "--patience", "300"]);
        assert_eq!(
            (code, lines.last().map(|it| it["pass"].clone())),
            (1, Some(0.into()))
        );
        if command == "true" {
            assert!(lines.iter().all(|it| it["verdict"] != "pass"), "{lines:?}");
        }
        if command.starts_with("echo") {
            assert!(lines.len() > 5, "{lines:?}");
        }
    }
}

#[test]
fn a_program_that_cannot_be_started_or_only_fails_exits_4() {
    assert_eq!(run(&["--launch", "/nonexistent/agent"]).0, 4);
    assert_eq!(run(&["--launch", "false"]).0, 4);
}

#[test]
fn a_program_that_falls_silent_is_ended_and_told() {
    let (code, lines) = run(&[
        "--launch",
        "sh -c 'echo {}; sleep 600'",
        "--patience",
        "300",
    ]);
    assert_eq!(code, 1);
    let told = |it: &Value| {
        it["message"]
            .as_str()
            .is_some_and(|it| it.contains("no line within"))
    };
    assert!(lines.iter().any(told), "{lines:?}");
}

#[test]
fn what_selects_nothing_exits_2() {
    assert_eq!(run(&["--scenario", "events/no/such"]).0, 2);
    assert_eq!(run(&["--mutant", "no-such"]).0, 2);
    assert_eq!(run(&["--url", "ws://127.0.0.1:9/"]).0, 2);
    let (code, lines) = run(&["--scenario", "events/cost/*"]);
    assert_eq!((code, lines.len()), (0, 4), "{lines:?}");
}

#[test]
fn the_later_revision_is_judged_where_it_is_asked_for() {
    let launched = format!("{PROGRAM} emit-events event-compaction");
    let (code, lines) = run(&["--launch", &launched]);
    assert_eq!(code, 1, "{lines:?}");
    let failed: Vec<_> = lines.iter().filter(|it| it["verdict"] == "fail").collect();
    assert_eq!(failed.len(), 1, "{lines:?}");
    assert_eq!(failed[0]["failed_requirement"], "events.known-type");
    for arguments in [
        &[
            "--launch",
            &launched,
            "--events-revision",
            "compaction",
            "--strict",
        ][..],
        &["--mutant", "event-compaction"],
    ] {
        let (code, lines) = run(arguments);
        assert_eq!(code, 0, "{lines:?}");
    }
    let told = format!("sh -c '{PROGRAM} emit-events event-$CONFORMANCE_REVISION'");
    let (code, lines) = run(&["--launch", &told, "--events-revision", "compaction"]);
    assert_eq!(code, 0, "{lines:?}");
    assert_eq!(run(&["--events-revision", "custom"]).0, 2);
}
