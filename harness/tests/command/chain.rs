//! Chains from the command line: every party a process of its own, every link judged.

use std::process::{Command, Output};

use serde_json::Value;

use super::program::{PROGRAM, conformance, lines};

fn run(arguments: &[&str]) -> Output {
    conformance(&[&["run", "chain", "--format", "jsonl"], arguments].concat())
}

/// The results of a run's scenarios.
fn results(output: &Output) -> Vec<Value> {
    let mut lines = lines(output);
    lines.retain(|line| line["event"] == "scenario");
    lines
}

#[test]
fn a_chain_of_references_conforms_and_all_its_links_are_written_down() {
    let directory = tempfile::tempdir().expect("there is room");
    let at = directory.path().to_str().expect("it is text");
    let output = run(&["--scenario", "chain/asks/enqueue", "--transcripts", at]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let path = directory.path().join("chain/asks/enqueue.jsonl");
    let transcript = std::fs::read_to_string(path).expect("it is there");
    let lines = transcript.lines();
    let lines: Vec<Value> = lines
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let links = |kind: &str| {
        lines
            .iter()
            .filter(|line| line["seq"].is_null() && line["kind"] == kind)
            .count()
    };
    assert_eq!((links("client"), links("begin")), (1, 1));
    // A registration, a loop, and a message that joins it.
    assert_eq!(links("call"), 3);
    for sender in ["client", "provider", "proxy", "agent-server"] {
        assert!(
            lines.iter().any(|line| line["sender"] == sender),
            "{sender}"
        );
    }
}

#[test]
fn whoever_is_at_fault_is_told_by_a_requirement_of_its_own() {
    for (party, fault, requirement) in [
        ("provider", "chunk-lost", "run.chunk.relayed"),
        ("proxy", "chunk-lost", "proxy.loop.chunk-each"),
        ("agent-server", "parts-missing", "agent.parts.complete"),
    ] {
        let directory = tempfile::tempdir().expect("there is room");
        let config = directory.path().join("conformance.toml");
        std::fs::write(
            &config,
            "[agent-server]\narguments = {}\nmessages = { ordinary = \"Say something.\" }\n",
        )
        .expect("there is room");
        let command = format!("'{PROGRAM}' serve {party} --fault {fault}");
        let output = run(&[
            "--scenario",
            "chain/loops/one",
            &format!("--{party}"),
            &command,
            "--config",
            config.to_str().expect("it is text"),
        ]);
        let results = results(&output);
        assert_eq!(output.status.code(), Some(1), "{party}: {output:?}");
        assert_eq!(results[0]["failed_requirement"], requirement, "{results:?}");
    }
}

#[test]
fn a_client_of_its_own_process_is_read_and_its_link_is_written_down() {
    let directory = tempfile::tempdir().expect("there is room");
    let at = directory.path().to_str().expect("it is text");
    let output = run(&[
        "--scenario",
        "chain/client/*",
        "--strict",
        "--transcripts",
        at,
    ]);
    let results = results(&output);
    assert_eq!(output.status.code(), Some(0), "{results:?}");
    assert_eq!(results.len(), 4);
    let path = directory.path().join("chain/client/several-loops.jsonl");
    let transcript = std::fs::read_to_string(path).expect("it is there");
    let lines: Vec<Value> = transcript
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let links: Vec<&Value> = lines.iter().filter(|line| line["seq"].is_null()).collect();
    let of = |kind: &str| links.iter().filter(|link| link["kind"] == kind).count();
    // A registration, and three loops.
    assert_eq!(
        (of("client"), of("output"), of("begin"), of("call")),
        (1, 1, 1, 4)
    );
}

#[test]
fn a_transcript_is_judged_again_where_a_client_of_its_own_process_met_a_real_provider() {
    let directory = tempfile::tempdir().expect("there is room");
    let at = directory.path().to_str().expect("it is text");
    for (kind, scenario, status, told) in [
        ("chain", "chain/client/one-loop", 0, "conforms: "),
        ("client", "client/loops/chunks", 1, "judged while they run"),
    ] {
        let played = Command::new(PROGRAM)
            .args(["run", kind, "--scenario", scenario, "--transcripts", at])
            .output()
            .expect("it starts");
        assert_eq!(played.status.code(), Some(0), "{played:?}");
        let checked = Command::new(PROGRAM)
            .arg("check")
            .arg(directory.path().join(format!("{scenario}.jsonl")))
            .output()
            .expect("it starts");
        assert_eq!(checked.status.code(), Some(status), "{checked:?}");
        let said = String::from_utf8_lossy(&checked.stdout).into_owned();
        assert!(said.contains(told), "{said}");
    }
}

#[test]
fn a_client_at_fault_is_told_by_what_it_says_or_writes_and_advised() {
    for (fault, scenario, requirement) in [
        (
            "credential-without-mode",
            "one-loop",
            "client.connection.credential-given",
        ),
        (
            "request-arguments-as-text",
            "one-loop",
            "client.run.as-given",
        ),
        ("chunks-turned-round", "one-loop", "client.chunk.told"),
        ("early-error-untold", "refused", "client.error.early"),
    ] {
        let config = tempfile::NamedTempFile::new().expect("there is room");
        std::fs::write(&config, "client = { enqueues = true }\n").expect("there is room");
        let command = format!("'{PROGRAM}' client {fault}");
        let scenario = format!("chain/client/{scenario}");
        let path = config.path().to_str().expect("it is text");
        let arguments = [
            "--scenario",
            &scenario,
            "--client",
            &command,
            "--config",
            path,
        ];
        let told = results(&run(&arguments));
        assert_eq!(told[0]["verdict"], "warn", "{fault}: {told:?}");
        assert_eq!(told[0]["failed_requirement"], requirement, "{told:?}");
        let strict = run(&[&arguments[..], &["--strict"]].concat());
        assert_eq!(strict.status.code(), Some(1), "{fault}");
    }
}

#[test]
fn a_client_that_does_not_ask_as_it_was_told_is_no_fault_of_the_servers() {
    let config = tempfile::NamedTempFile::new().expect("there is room");
    std::fs::write(&config, "client = { enqueues = true }\n").expect("there is room");
    let command = format!("env -u CONFORMANCE_ENQUEUE '{PROGRAM}' client");
    let path = config.path().to_str().expect("it is text");
    let arguments = ["--client", &command, "--config", path, "--patience", "800"];
    let scenario = ["--scenario", "chain/client/one-loop"];
    let told = results(&run(&[&arguments[..], &scenario].concat()));
    assert_eq!(told[0]["verdict"], "warn", "{told:?}");
    assert_eq!(
        told[0]["failed_requirement"], "chain.client.asks",
        "{told:?}"
    );
}

#[test]
fn a_server_at_fault_is_told_where_the_client_is_a_process_too() {
    for (party, fault, requirement) in [
        ("provider", "chunk-lost", "run.chunk.relayed"),
        ("proxy", "chunk-lost", "proxy.loop.chunk-each"),
        ("agent-server", "parts-missing", "agent.parts.complete"),
    ] {
        let config = tempfile::NamedTempFile::new().expect("there is room");
        std::fs::write(
            &config,
            "[agent-server]\narguments = {}\nmessages = { ordinary = \"Say something.\" }\n",
        )
        .expect("there is room");
        let command = format!("'{PROGRAM}' serve {party} --fault {fault}");
        let path = config.path().to_str().expect("it is text");
        let party = format!("--{party}");
        let one = ["--scenario", "chain/client/one-loop", "--config", path];
        let output = run(&[&one[..], &[&party, &command]].concat());
        let results = results(&output);
        assert_eq!(output.status.code(), Some(1), "{party}: {output:?}");
        assert_eq!(results[0]["failed_requirement"], requirement, "{results:?}");
    }
}

#[test]
fn a_launched_client_that_is_not_known_to_enqueue_is_only_asked_for_what_needs_it_not() {
    let command = format!("'{PROGRAM}' client");
    let output = run(&["--client", &command, "--scenario", "chain/client/*"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    for result in results(&output) {
        let id = result["id"].as_str().unwrap_or_default();
        let message = result["message"].as_str().unwrap_or_default();
        if id == "chain/client/refused" {
            assert_eq!(result["verdict"], "pass", "{result}");
        } else {
            assert_eq!(result["verdict"], "not_applicable", "{result}");
            assert!(message.contains("[client] enqueues"), "{message}");
        }
    }
}

#[test]
fn what_a_launched_agent_server_does_is_asked_of_the_configuration() {
    let command = format!("'{PROGRAM}' serve agent-server");
    let output = run(&["--agent-server", &command, "--scenario", "chain/loops/*"]);
    let results = results(&output);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_eq!(results.len(), 4);
    for result in results {
        assert_eq!(result["verdict"], "not_applicable");
        let message = result["message"].as_str().unwrap_or_default();
        assert!(message.contains("[agent-server]"), "{message}");
    }
}

#[test]
fn a_party_that_does_not_start_is_not_reached() {
    for party in ["provider", "proxy", "agent-server"] {
        let config = tempfile::NamedTempFile::new().expect("there is room");
        std::fs::write(
            &config,
            "agent-server = { arguments = {}, refused_arguments = 1 }\n",
        )
        .expect("there is room");
        let path = config.path().to_str().expect("it is text");
        let output = run(&[
            "--scenario",
            "chain/endings/refused",
            &format!("--{party}"),
            "false",
            "--config",
            path,
        ]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(4), "{party}: {output:?} {said}");
    }
}

#[test]
fn a_party_is_launched_in_a_chain_alone_and_a_chain_party_by_party() {
    for arguments in [
        ["run", "provider", "--proxy", "true"],
        ["run", "provider", "--client", "true"],
        ["run", "chain", "--launch", "true"],
    ] {
        let output = Command::new(PROGRAM)
            .args(arguments)
            .output()
            .expect("it starts");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}
