//! Clients that are started as programs of their own, judged from outside.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::program::{PROGRAM, conformance, lines};

fn run(arguments: &[&str]) -> Output {
    conformance(&[&["run", "client"], arguments].concat())
}

/// Judges the in-tree client, or a form of it, launched as a program.
fn launched(form: &str, more: &[&str]) -> (Option<i32>, Vec<Value>) {
    let command = format!("{PROGRAM} client {form}");
    let output = run(&[&["--launch", &command, "--format", "jsonl"], more].concat());
    (output.status.code(), lines(&output))
}

#[test]
fn a_launched_client_that_conforms_is_warned_of_nothing() {
    let (code, lines) = launched("", &["--strict"]);
    let summary = lines.last().expect("there is a summary");
    assert_eq!(summary["pass"], lines.len() - 1, "{summary}");
    assert_eq!(code, Some(0));
}

#[test]
fn a_client_is_advised_and_fails_only_where_that_is_asked_for() {
    let scenarios = [
        "--scenario",
        "client/loops/second-active",
        "--scenario",
        "client/runs/one-loop",
    ];
    for (strict, wanted) in [(&[][..], Some(0)), (&["--strict"][..], Some(1))] {
        let (code, lines) = launched("second-active-taken", &[&scenarios[..], strict].concat());
        let warned: Vec<&Value> = lines.iter().filter(|it| it["verdict"] == "warn").collect();
        assert_eq!(warned.len(), 1, "{lines:?}");
        assert_eq!(warned[0]["failed_requirement"], "client.loop.second-active");
        assert_eq!(code, wanted);
    }
}

#[test]
fn a_program_that_is_no_client_passes_nothing() {
    let output = run(&["--launch", "true", "--scenario", "client/ends/*"]);
    assert_eq!(output.status.code(), Some(1));
    let output = run(&["--launch", "/there/is/no/such/client"]);
    assert_eq!(output.status.code(), Some(4));
}

#[test]
fn values_at_a_loops_end_and_a_credential_turn_up_in_no_output() {
    const PLANTED: [&str; 2] = ["planted-value-7f3a", "planted-credential-51c7"];
    let mut file = tempfile::Builder::new()
        .suffix(".yaml")
        .tempfile()
        .expect("a temporary file");
    let text = r#"
iut: client
scenarios:
  - id: client/test/planted
    title: Values
    requirements: [client.inactive.object]
    steps:
      - client starts: client
        text: planted-credential-51c7
      - provider expects: connection
      - provider expects: credential
      - provider expects: run
      - play: told
fragments:
  told:
    - provider sends: id
    - provider sends: active
    - provider sends: inactive
      json: '{"KEY" : "planted-value-7f3a"}'
    - provider sends: active
    - provider sends: inactive
      mutate: set ["planted-value-7f3a"]
    - provider sends: finish
    - client tells: id
    - client tells: active
    - client tells: inactive
    - client tells: active
    - client tells: error
"#;
    file.write_all(text.as_bytes()).expect("it takes text");
    let file = file.path().to_str().expect("a path");
    let directory = tempfile::tempdir().expect("a temporary directory");
    let transcripts = directory.path().to_str().expect("a path");
    for mutant in ["values-quoted", "values-written-anew", "values-from-array"] {
        for format in ["pretty", "jsonl"] {
            let output = run(&[
                "--mutant",
                mutant,
                "--scenario",
                file,
                "--format",
                format,
                "--transcripts",
                transcripts,
            ]);
            assert_eq!(output.status.code(), Some(1));
            let written = walkdir::WalkDir::new(transcripts)
                .into_iter()
                .filter_map(|entry| std::fs::read(entry.ok()?.path()).ok());
            let written: Vec<Vec<u8>> = written.collect();
            assert_eq!(written.len(), 1);
            for text in [output.stdout, output.stderr].iter().chain(&written) {
                let text = String::from_utf8_lossy(text);
                for planted in PLANTED {
                    let hex: String = planted.bytes().map(|byte| format!("{byte:02x}")).collect();
                    assert!(!text.contains(planted) && !text.contains(&hex), "{text}");
                }
            }
        }
    }
}

#[test]
fn an_interrupted_run_leaves_no_client_behind() {
    let marker = format!("interrupted-client-{}", std::process::id());
    let command = format!("sh -c 'sleep 600 & wait' {marker}");
    let mut run = Command::new(PROGRAM)
        .args(["run", "client", "--launch", &command])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary starts");
    while !running(&marker) {
        assert!(run.try_wait().expect("its state is known").is_none());
        std::thread::yield_now();
    }
    let interrupted = Command::new("kill")
        .args(["-INT", &run.id().to_string()])
        .status();
    assert!(interrupted.expect("kill runs").success());
    assert_eq!(run.wait().expect("it ends").code(), Some(1));
    let killed = Instant::now();
    while running(&marker) {
        let waited = killed.elapsed();
        assert!(waited < Duration::from_secs(10), "a process is left");
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
