//! The command line from outside: what other programs rely on.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use super::program::{PROGRAM, code, conformance, lines};

fn scenario_file(text: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::Builder::new()
        .suffix(".yaml")
        .tempfile()
        .expect("a temporary file");
    file.write_all(text.as_bytes()).expect("it takes text");
    file
}

const ONE: &[&str] = &[
    "--scenario",
    "provider/streams/word-by-word",
    "--format",
    "jsonl",
];

fn run(more: &[&str]) -> Output {
    conformance(&[&["run", "provider"], more].concat())
}

#[test]
fn a_conforming_provider_exits_0_and_says_so_in_the_summary() {
    let output = run(ONE);
    assert_eq!(code(&output), 0);
    let lines = lines(&output);
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["event"], "scenario");
    assert_eq!(lines[0]["id"], "provider/streams/word-by-word");
    assert_eq!(lines[0]["verdict"], "pass");
    assert_eq!(lines[0]["message"], Value::Null);
    assert!(lines[0]["duration_us"].is_u64());
    assert_eq!(lines[1]["event"], "summary");
    assert_eq!(lines[1]["pass"], 1);
    for count in [
        "fail",
        "warn",
        "not_applicable",
        "inconclusive",
        "expected_fail",
        "stale",
        "unstable",
    ] {
        assert_eq!(lines[1][count], 0, "{count}");
    }
}

#[test]
fn a_faulty_provider_exits_1_and_is_told_which_requirement_it_breaks() {
    let output = run(&[ONE, &["--mutant", "active-padded"]].concat());
    assert_eq!(code(&output), 1);
    let line = &lines(&output)[0];
    assert_eq!(line["verdict"], "fail");
    assert_eq!(line["failed_requirement"], "run.active.bare");
    assert_eq!(line["strength"], "stated");
}

#[test]
fn a_peer_that_only_completes_the_handshake_passes_nothing() {
    let output = run(&["--format", "jsonl", "--mutant", "hang-up-after-handshake"]);
    assert_eq!(code(&output), 1);
    assert_eq!(lines(&output).last().expect("a summary")["pass"], 0);
}

#[test]
fn no_server_at_all_exits_4() {
    let output = run(&[
        "--url",
        "ws://127.0.0.1:9/",
        "--config",
        "/dev/null",
        "--format",
        "jsonl",
    ]);
    assert_eq!(
        code(&output),
        4,
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn a_command_that_cannot_be_started_exits_4() {
    assert_eq!(code(&run(&["--launch", "/nonexistent/provider"])), 4);
    assert_eq!(code(&run(&["--launch", "false"])), 4);
}

#[test]
fn a_pattern_that_matches_nothing_exits_2() {
    let output = run(&["--scenario", "provider/no/such"]);
    assert_eq!(code(&output), 2);
    assert!(String::from_utf8_lossy(&output.stderr).contains("matches no scenario"));
}

#[test]
fn an_unknown_flag_exits_2() {
    assert_eq!(code(&run(&["--no-such-flag"])), 2);
}

#[test]
fn a_broken_scenario_file_exits_2_with_line_and_column() {
    let file = scenario_file(
        "iut: provider\nscenarios:\n  - id: provider/mine/one\n    title: t\n    requirements: [run.started]\n    steps:\n      - client sends: nonsense\n",
    );
    let path = file.path().to_str().expect("a path");
    let output = run(&["--scenario", path]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(code(&output), 2);
    assert!(text.contains(&format!("{path}:7:")), "{text}");
    assert!(text.contains("nonsense"), "{text}");
}

#[test]
fn a_scenario_file_of_ones_own_is_played() {
    let file = scenario_file(
        "iut: provider\nscenarios:\n  - id: provider/mine/one\n    title: t\n    requirements: [run.started]\n    steps:\n      - play: running\n      - play: stopped\n",
    );
    let output = run(&[
        "--scenario",
        file.path().to_str().expect("a path"),
        "--format",
        "jsonl",
    ]);
    assert_eq!(code(&output), 0);
    assert_eq!(lines(&output)[0]["id"], "provider/mine/one");
}

#[test]
fn the_built_in_scenarios_are_well_written() {
    let output = conformance(&["lint"]);
    assert_eq!(
        code(&output),
        0,
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn the_schema_beside_the_scenarios_is_the_one_that_the_loader_keeps() {
    let output = conformance(&["lint", "--schema"]);
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenarios/schema.json");
    let written = std::fs::read_to_string(file).expect("scenarios/schema.json is there");
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        written,
        "write it anew: diverge-conformance lint --schema > scenarios/schema.json"
    );
}

#[test]
fn every_scenario_file_is_of_the_schema_and_none_with_a_misspelt_member_is() {
    let scenarios = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenarios");
    let read = |path: &Path| std::fs::read_to_string(path).expect("a file beside the scenarios");
    let schema = read(&Path::new(scenarios).join("schema.json"));
    let schema = serde_json::from_str(&schema).expect("the schema is JSON");
    let schema = jsonschema::validator_for(&schema).expect("the schema is one");
    let yaml = |text: &str| serde_saphyr::from_str::<serde_json::Value>(text).expect("YAML");
    let files = walkdir::WalkDir::new(scenarios)
        .into_iter()
        .map(|entry| entry.expect("a file"));
    let mut seen = 0;
    for file in files.filter(|file| file.path().extension().is_some_and(|is| is == "yaml")) {
        let text = read(file.path());
        let wrong = schema
            .iter_errors(&yaml(&text))
            .map(|error| error.to_string())
            .next();
        assert_eq!(wrong, None, "{}", file.path().display());
        if text.contains("title:") {
            let misspelt = yaml(&text.replacen("title:", "titel:", 1));
            assert!(!schema.is_valid(&misspelt), "{}", file.path().display());
        }
        seen += 1;
    }
    assert!(seen > 20, "{seen} files");
}

#[test]
fn every_requirement_is_covered() {
    let output = conformance(&["coverage"]);
    assert_eq!(
        code(&output),
        0,
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
}

#[test]
fn a_credential_turns_up_in_no_output() {
    let planted = "planted-credential-51c7";
    let mut config = tempfile::NamedTempFile::new().expect("a temporary file");
    write!(config, "[provider]\ncredential = \"{planted}\"\n").expect("it takes text");
    let transcripts = tempfile::tempdir().expect("a temporary directory");
    let config = config.path().to_str().expect("a path");
    let directory = transcripts.path().to_str().expect("a path");
    for format in ["pretty", "jsonl"] {
        let output = run(&[
            "--config",
            config,
            "--format",
            format,
            "--mutant",
            "active-padded",
            "--scenario",
            "provider/streams/*",
            "--transcripts",
            directory,
        ]);
        assert_eq!(code(&output), 1);
        for text in [&output.stdout, &output.stderr] {
            assert!(!String::from_utf8_lossy(text).contains(planted));
        }
    }
    let mut files = 0;
    for entry in walkdir::WalkDir::new(transcripts.path()) {
        let entry = entry.expect("readable");
        if entry.file_type().is_file() {
            files += 1;
            let text = std::fs::read_to_string(entry.path()).expect("text");
            let hex: String = planted.bytes().map(|byte| format!("{byte:02x}")).collect();
            assert!(
                !text.contains(planted) && !text.contains(&hex),
                "{}",
                entry.path().display()
            );
        }
    }
    assert!(files > 0);
}

#[test]
fn a_launched_provider_is_judged_and_leaves_nothing_behind() {
    let provider = PROGRAM.replace("diverge-conformance", "mock-provider");
    if !std::path::Path::new(&provider).exists() {
        let built = Command::new(env!("CARGO"))
            .args(["build", "-p", "mock-provider", "--bin", "mock-provider"])
            .status()
            .expect("cargo starts");
        assert!(built.success());
    }
    let marker = format!("launched-by-{}", std::process::id());
    let command = format!("sh -c '{provider} & wait' {marker}");
    let output = run(&[&["--launch", &command], ONE].concat());
    assert_eq!(
        code(&output),
        0,
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    gone(&marker);
}

/// Waits until no process of that name runs: what is killed is gone soon, not at once.
fn gone(marker: &str) {
    let killed = std::time::Instant::now();
    while running(marker) {
        assert!(
            killed.elapsed() < std::time::Duration::from_secs(10),
            "a process is left"
        );
        std::thread::yield_now();
    }
}

/// Whether a process runs whose command line holds `marker`, apart from the harness that was told it.
fn running(marker: &str) -> bool {
    std::fs::read_dir("/proc")
        .expect("the processes are listed")
        .filter_map(|entry| std::fs::read(entry.ok()?.path().join("cmdline")).ok())
        .map(|command| String::from_utf8_lossy(&command).into_owned())
        .any(|command| command.contains(marker) && !command.contains("diverge-conformance"))
}

#[test]
fn an_interrupted_run_leaves_no_process_behind() {
    for signal in ["-INT", "-TERM", "-HUP"] {
        is_gone_after(signal);
    }
}

fn is_gone_after(signal: &str) {
    let marker = format!("interrupted{signal}-{}", std::process::id());
    // A provider that never listens keeps the run waiting for it.
    let command = format!("sh -c 'sleep 600 & wait' {marker}");
    let mut run = Command::new(PROGRAM)
        .args(["run", "provider", "--launch", &command])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("the binary starts");
    while !running(&marker) {
        assert!(run.try_wait().expect("its state is known").is_none());
        std::thread::yield_now();
    }
    let interrupted = Command::new("kill")
        .args([signal, &run.id().to_string()])
        .status();
    assert!(interrupted.expect("kill runs").success());
    assert_eq!(run.wait().expect("it ends").code(), Some(1));
    gone(&marker);
}
