//! A revision that nobody has heard of: a file is enough to play it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const DRAFT: &str = "name = \"draft\"\nfollows = \"scope\"\n\
    [client-channels]\nstop = 40\nenqueue = 41\n\
    [begin-responses]\nbegun = 14\nerror = 11\nchunk = 12\nactive = 13\ninactive = 10\n";

/// A scenario that the draft brings, and one that it drops.
const SCENARIOS: &str = "iut: provider\nscenarios:
  - id: provider/mine/new
    title: The draft has this
    requirements: [stop.finishes-run]
    since: draft
    steps:
      - play: running
      - play: stopped
  - id: provider/mine/old
    title: The draft does not have this
    requirements: [stop.finishes-run]
    until: scope
    steps:
      - play: running
      - play: stopped
";

fn run(directory: &Path, arguments: &[&str]) -> (Output, String) {
    let output = Command::new(super::program::PROGRAM)
        .args(["run", "provider", "--format", "jsonl"])
        .args(arguments)
        .current_dir(directory)
        .output()
        .expect("the program starts");
    let text = [output.stdout.clone(), output.stderr.clone()].concat();
    (output, String::from_utf8(text).expect("it is text"))
}

fn directory(draft: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("there is room");
    fs::write(directory.path().join("draft.toml"), draft).expect("there is room");
    fs::write(directory.path().join("mine.yaml"), SCENARIOS).expect("there is room");
    directory
}

#[test]
fn a_revision_that_is_a_file_is_played_with_the_numbers_that_it_moves() {
    let directory = directory(DRAFT);
    let selected = ["--scenario", "provider/streams/*", "--transcripts", "told"];
    let arguments = [&["--revision", "draft.toml"], &selected[..]].concat();
    let (output, said) = run(directory.path(), &arguments);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("\"pass\":19,\"fail\":0,\"warn\":0"), "{said}");
    let told = directory
        .path()
        .join("told/provider/streams/empty-loop.jsonl");
    let told = fs::read_to_string(told).expect("it is written");
    // A channel request of channel 1 of scope 1, and a response of the proxy's.
    for (kind, raw) in [
        ("stop", "04000000010000000128"),
        ("begun", "0200000001000000000e5b5d"),
    ] {
        let message = format!("\"kind\":\"{kind}\",\"raw\":\"{raw}");
        assert!(told.contains(&message), "`{message}` in\n{told}");
    }
}

#[test]
fn a_scenario_is_played_in_the_revisions_that_it_names() {
    let directory = directory(DRAFT);
    let arguments = ["--revision", "draft.toml", "--scenario", "mine.yaml"];
    let (output, said) = run(directory.path(), &arguments);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("provider/mine/new"), "{said}");
    assert!(!said.contains("provider/mine/old"), "{said}");
    let (output, said) = run(directory.path(), &["--scenario", "mine.yaml"]);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("the name of a revision"), "{said}");
}

#[test]
fn what_no_revision_can_say_is_told() {
    let cases = [
        ("name = \"draft\"\n", "follows neither"),
        (
            "name = \"draft\"\nfollows = \"scope\"\n[client-channels]\nhum = 3\n",
            "`hum` is no name",
        ),
        (
            "name = \"draft\"\nfollows = \"scope\"\n[client-channels]\nstop = 8\n",
            "stands for another",
        ),
        ("name = \"scope\"\n", "is there already"),
        ("name = 3\n", "expected a string"),
    ];
    for (draft, expected) in cases {
        let directory = directory(draft);
        let (output, said) = run(directory.path(), &["--revision", "draft.toml"]);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(expected), "`{expected}` in\n{said}");
    }
    let (output, said) = run(directory(DRAFT).path(), &["--revision", "scop"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("there are `path` and `scope`"), "{said}");
}
