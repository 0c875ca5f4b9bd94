//! What `init` writes, and where it does not.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use diverge_conformance::config::Config;

fn init(directory: &Path, arguments: &[&str]) -> (Output, String) {
    let output = Command::new(super::program::PROGRAM)
        .args(["init", "--directory"])
        .arg(directory)
        .args(arguments)
        .output()
        .expect("the program starts");
    let text = [output.stdout.clone(), output.stderr.clone()].concat();
    (output, String::from_utf8(text).expect("it is text"))
}

fn directory() -> tempfile::TempDir {
    tempfile::tempdir().expect("there is room")
}

#[test]
fn an_empty_directory_becomes_a_crate_of_tests_that_starts_the_given_command() {
    let directory = directory();
    let at = directory.path();
    let (output, said) = init(at, &["provider", "--launch", "python3 \"my provider.py\""]);
    assert!(output.status.success(), "{said}");
    let read = |path: &str| fs::read_to_string(at.join(path)).expect(path);
    for path in [
        "Cargo.toml",
        "conformance.toml",
        "tests/conformance.rs",
        ".github/workflows/conformance.yml",
    ] {
        assert!(said.contains(path), "{said}");
        // What stands behind a dollar is the CI's own.
        let text = read(path).replace("${{", "");
        assert!(!text.contains("{{"), "{text}");
    }
    let command = r#""python3 \"my provider.py\"""#;
    assert!(read("tests/conformance.rs").contains(&format!("launched(Iut::Provider, {command})")));
    assert!(read(".github/workflows/conformance.yml").contains(&format!("launch: {command}")));
    let manifest: toml::Table = read("Cargo.toml").parse().expect("it is TOML");
    assert_eq!(manifest["test"][0]["harness"].as_bool(), Some(false));
    assert!(said.contains("cargo test --test conformance"), "{said}");
    let advised = "run provider --config conformance.toml --launch ";
    assert!(said.contains(advised), "{said}");
}

#[test]
fn the_configuration_loads_as_it_is_and_with_every_key_that_it_explains() {
    let directory = directory();
    init(directory.path(), &["provider"]);
    let path = directory.path().join("conformance.toml");
    let untouched = Config::load(&path).expect("it loads");
    assert!(untouched.provider.volumes.held.is_none());
    let text = fs::read_to_string(&path).expect("it is there");
    let keys = text.lines().map(|line| match line.strip_prefix("# ") {
        Some(key) if key.contains(" = ") => key,
        _ => line,
    });
    fs::write(&path, keys.collect::<Vec<_>>().join("\n")).expect("there is room");
    let all = Config::load(&path).expect("every key is one");
    assert_eq!(all.provider.credential, untouched.provider.credential);
    assert_eq!(all.provider.proxy_listen, untouched.provider.proxy_listen);
    assert_eq!(all.provider.image.digest, untouched.provider.image.digest);
    let volumes = all.provider.volumes;
    assert!(volumes.held.is_some() && volumes.mounted.is_some() && volumes.fuse_served.is_some());
    assert!(volumes.mount_unsupported.is_some() && volumes.mode.is_some());
}

#[test]
fn an_agent_servers_configuration_loads_with_every_key_that_it_explains() {
    let directory = directory();
    let (_, said) = init(directory.path(), &["agent-server"]);
    assert!(said.contains("Say in conformance.toml first"), "{said}");
    let path = directory.path().join("conformance.toml");
    let text = fs::read_to_string(&path).expect("it is there");
    let keys = text.lines().map(|line| match line.strip_prefix("# ") {
        Some(key) if key.contains(" = ") => key,
        _ => line,
    });
    fs::write(&path, keys.collect::<Vec<_>>().join("\n")).expect("there is room");
    let told = Config::load(&path).expect("every key is one").agent_server;
    assert!(told.arguments.is_some() && told.refused_arguments.is_some());
    for text in ["ordinary", "tool", "long", "holding", "failing"] {
        assert!(told.messages.get(text).is_some(), "{text}");
    }
}

#[test]
fn a_clients_configuration_loads_with_the_key_that_it_explains() {
    let directory = directory();
    init(directory.path(), &["client"]);
    let path = directory.path().join("conformance.toml");
    let untouched = Config::load(&path).expect("it loads");
    assert!(!untouched.client.enqueues);
    let text = fs::read_to_string(&path).expect("it is there");
    fs::write(&path, text.replace("# enqueues", "enqueues")).expect("there is room");
    let told = Config::load(&path).expect("the key is one");
    assert!(told.client.enqueues);
}

#[test]
fn no_tests_are_written_for_a_chain() {
    let directory = directory();
    let (output, said) = init(directory.path(), &["chain"]);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(!directory.path().join("conformance.toml").exists());
}

#[test]
fn what_is_there_is_not_written_over_unless_that_is_asked_for() {
    let directory = directory();
    let path = directory.path().join("conformance.toml");
    fs::write(&path, "mine").expect("there is room");
    let (output, said) = init(directory.path(), &["provider"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("conformance.toml is there already"), "{said}");
    assert!(said.contains("--force"), "{said}");
    assert!(
        !directory.path().join("tests").exists(),
        "nothing is written"
    );
    assert_eq!(fs::read_to_string(&path).expect("it is there"), "mine");
    let (output, said) = init(directory.path(), &["provider", "--force"]);
    assert!(output.status.success(), "{said}");
    assert_ne!(fs::read_to_string(&path).expect("it is there"), "mine");
}

#[test]
fn a_crate_that_is_there_keeps_its_manifest_and_is_told_what_to_add() {
    let directory = directory();
    let manifest = directory.path().join("Cargo.toml");
    fs::write(&manifest, "[package]\nname = \"mine\"\n").expect("there is room");
    let (output, said) = init(directory.path(), &["events", "--force"]);
    assert!(output.status.success(), "{said}");
    let kept = fs::read_to_string(&manifest).expect("it is there");
    assert_eq!(kept, "[package]\nname = \"mine\"\n");
    assert!(said.contains("cargo add --dev --path "), "{said}");
    assert!(said.contains("harness = false"), "{said}");
    let tests = fs::read_to_string(directory.path().join("tests/conformance.rs"));
    assert!(
        tests
            .expect("it is there")
            .contains("launched(Iut::Events, ")
    );
}
