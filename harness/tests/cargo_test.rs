//! The conformance tests that an implementer writes, seen from outside: what each runner shows and returns.
//!
//! This program is both sides. With [`SUBJECT`] in its environment it is an implementer's test target, for the provider
//! that the variable names; without it, it runs that target in each runner and looks at what comes.

use std::env;
use std::path::Path;
use std::process::{Command, ExitCode};

use diverge_conformance::cargo_test::{Conformance, Iut};
use diverge_conformance::iut::Started;
use libtest_mimic::{Arguments, Failed, Trial};
use mock_provider::server::{self, Behaviour, Config};
use mock_provider::settings::Volumes;

/// Which provider the test target judges: `conforming`, `unstartable`, or a fault of the reference; or else a proxy or a
/// client, by its command.
const SUBJECT: &str = "CONFORMANCE_TEST_SUBJECT";
/// The scenarios that it selects.
const SCENARIOS: &str = "CONFORMANCE_TEST_SCENARIOS";
/// Its baseline.
const BASELINE: &str = "CONFORMANCE_TEST_BASELINE";
/// Where it keeps golden transcripts.
const SNAPSHOTS: &str = "CONFORMANCE_TEST_SNAPSHOTS";

const STREAMS: &str = "provider/streams/*";
/// A fault, and a scenario that fails on it; the next one does not.
const FAULT: &str = "chunk-reencoded";
const FAILS: &str = "provider/streams/word-by-word";
const PASSES: &str = "provider/streams/words-in-chunks/active";
const CREDENTIAL: &str = "credential-for-tests";

fn main() -> ExitCode {
    if let Ok(name) = env::var(SUBJECT) {
        return subject(&name);
    }
    let tests: [(&str, fn()); 11] = [
        (
            "a_conforming_server_is_green_in_both_runners",
            conforming_is_green,
        ),
        (
            "a_fault_is_red_in_both_runners_and_told_by_step_and_requirement",
            fault_is_red,
        ),
        (
            "listing_starts_nothing_and_names_each_scenario",
            listing_starts_nothing,
        ),
        ("a_filter_selects_by_name", filter_selects),
        (
            "a_server_that_does_not_start_fails_its_tests_with_its_reason",
            unstartable_is_red,
        ),
        (
            "what_the_configuration_lacks_is_ignored_with_the_reason",
            lacking_is_ignored,
        ),
        (
            "when_nothing_can_be_played_the_run_is_red",
            nothing_played_is_red,
        ),
        (
            "an_expected_failure_is_ignored_with_its_reason",
            expected_failure_is_ignored,
        ),
        (
            "a_baseline_entry_that_passes_or_matches_nothing_is_red",
            stale_entry_is_red,
        ),
        (
            "a_golden_transcript_that_differs_is_red_and_shown_by_its_lines",
            other_transcript_is_red,
        ),
        (
            "launched_proxies_and_clients_have_golden_transcripts_too",
            launched_have_transcripts,
        ),
    ];
    let trials = tests.map(|(name, test)| {
        Trial::test(name, move || {
            test();
            Ok::<(), Failed>(())
        })
    });
    libtest_mimic::run(&Arguments::from_args(), trials.into()).exit_code()
}

/// What an implementer's `main` would be.
fn subject(name: &str) -> ExitCode {
    let mut conformance = match name.split_once(' ') {
        Some(("proxy", command)) => Conformance::launched(Iut::Proxy, command),
        Some(("client", command)) => Conformance::launched(Iut::Client, command),
        _ => provider(name.to_owned()),
    };
    if let Ok(scenarios) = env::var(SCENARIOS) {
        conformance = conformance.scenarios(scenarios);
    }
    if let Ok(baseline) = env::var(BASELINE) {
        conformance = conformance.baseline(baseline);
    }
    if let Ok(snapshots) = env::var(SNAPSHOTS) {
        conformance = conformance.snapshots(snapshots).only_snapshots();
    }
    conformance.run()
}

/// A provider in this process.
fn provider(name: String) -> Conformance {
    Conformance::in_process(move |place| {
        let name = name.clone();
        async move {
            let behaviour = match name.as_str() {
                "conforming" => Behaviour::Conforming,
                "unstartable" => return Err("its disk is full".into()),
                fault => Behaviour::Fault(fault.to_owned()),
            };
            let server = server::serve(Config {
                listen: place.listen,
                proxy: place.proxy,
                credential: place.credential,
                volumes: Volumes::default(),
                behaviour,
            });
            let server = server.await?;
            Ok(Started::at(server.address(), server))
        }
    })
}

/// What a runner showed, and whether it ended green.
struct Shown {
    text: String,
    green: bool,
}

impl Shown {
    fn of(command: &mut Command) -> Self {
        let output = command
            .env_remove("NEXTEST_PROFILE")
            .output()
            .expect("the runner starts");
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8(text).expect("it is text");
        assert!(!text.contains(CREDENTIAL), "a secret is shown in\n{text}");
        Self {
            text,
            green: output.status.success(),
        }
    }

    #[track_caller]
    fn has(&self, part: &str) {
        assert!(self.text.contains(part), "`{part}` in\n{}", self.text);
    }
}

/// The test target as cargo starts it: by itself.
fn target(subject: &str, scenarios: &str) -> Command {
    let program = env::current_exe().expect("this program has a path");
    let mut command = Command::new(program);
    command
        .env(SUBJECT, subject)
        .env(SCENARIOS, scenarios)
        .env_remove("NEXTEST");
    command
}

/// The test target in nextest, which is told where it is, so that nothing is built.
fn nextest(subject: &str, scenarios: &str, directory: &Path) -> Command {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let metadata = Command::new(&cargo)
        .args(["metadata", "--no-deps", "--offline", "--format-version=1"])
        .output()
        .expect("cargo starts");
    let described: serde_json::Value =
        serde_json::from_slice(&metadata.stdout).expect("cargo describes the workspace");
    let packages = described["packages"]
        .as_array()
        .expect("there are packages");
    let package = packages
        .iter()
        .find(|package| package["name"] == env!("CARGO_PKG_NAME"))
        .expect("this package is among them");
    let id = concat!(env!("CARGO_PKG_NAME"), "::cargo_test");
    let binaries = serde_json::json!({
        "rust-build-meta": {
            "target-directory": described["target_directory"],
            "base-output-directories": [],
            "non-test-binaries": {},
            "linked-paths": [],
            "target-platforms": [],
        },
        "rust-binaries": {
            id: {
                "binary-id": id,
                "binary-name": "cargo_test",
                "package-id": package["id"],
                "kind": "test",
                "binary-path": env::current_exe().expect("this program has a path"),
                "build-platform": "target",
            }
        }
    });
    let (of_cargo, of_binaries) = (directory.join("cargo.json"), directory.join("tests.json"));
    std::fs::write(&of_cargo, &metadata.stdout).expect("there is room");
    std::fs::write(&of_binaries, binaries.to_string()).expect("there is room");
    let found = Command::new(&cargo)
        .args(["nextest", "--version"])
        .output()
        .is_ok_and(|output| output.status.success());
    assert!(
        found,
        "cargo-nextest is not installed; `cargo install --locked cargo-nextest` does it"
    );
    let mut command = Command::new(cargo);
    command
        .args(["nextest", "run", "--no-fail-fast", "--cargo-metadata"])
        .arg(of_cargo)
        .arg("--binaries-metadata")
        .arg(of_binaries)
        .env(SUBJECT, subject)
        .env(SCENARIOS, scenarios);
    command
}

fn directory() -> tempfile::TempDir {
    tempfile::tempdir().expect("there is room")
}

fn conforming_is_green() {
    let alone = Shown::of(&mut target("conforming", STREAMS));
    alone.has("test result: ok. 19 passed; 0 failed");
    let each_by_itself = Shown::of(&mut nextest("conforming", STREAMS, directory().path()));
    each_by_itself.has("19 passed");
    assert!(alone.green && each_by_itself.green);
}

fn fault_is_red() {
    let alone = Shown::of(&mut target(FAULT, STREAMS));
    alone.has(&format!("---- {FAILS} ----"));
    alone.has("-- --exact provider/streams/");
    let each_by_itself = Shown::of(&mut nextest(FAULT, STREAMS, directory().path()));
    each_by_itself.has(&format!("-- --exact {FAILS}"));
    for shown in [alone, each_by_itself] {
        assert!(!shown.green, "{}", shown.text);
        for part in [
            "FAIL          provider/streams/word-by-word",
            "step        client expects chunk",
            "allowed     the proxy's chunk byte for byte",
            "breaks      run.chunk.verbatim  stated",
            "── #1 active ──│",
        ] {
            shown.has(part);
        }
    }
}

fn listing_starts_nothing() {
    let listed = Shown::of(target("unstartable", STREAMS).arg("--list"));
    assert!(listed.green, "{}", listed.text);
    assert_eq!(listed.text.matches(": test\n").count(), 19);
    listed.has(&format!("{FAILS}: test\n"));
}

fn filter_selects() {
    let passing = Shown::of(target(FAULT, STREAMS).args(["--exact", PASSES]));
    passing.has("1 passed; 0 failed; 0 ignored; 0 measured; 18 filtered out");
    let failing = Shown::of(target(FAULT, STREAMS).args(["word-by", "--test-threads=1"]));
    failing.has("0 passed; 1 failed; 0 ignored; 0 measured; 18 filtered out");
    assert!(passing.green && !failing.green);
}

fn unstartable_is_red() {
    let shown = Shown::of(&mut target("unstartable", STREAMS));
    shown.has("not played: could not start the implementation in this process: its disk is full");
    shown.has("0 passed; 19 failed");
    assert!(!shown.green);
}

fn lacking_is_ignored() {
    let scenarios = "provider/volumes/{held,unlisted}";
    let alone = Shown::of(&mut target("conforming", scenarios));
    alone.has("ignored (needs [provider.volumes] held in the configuration)");
    let each_by_itself = Shown::of(&mut nextest("conforming", scenarios, directory().path()));
    each_by_itself.has("skipped");
    assert!(alone.green && each_by_itself.green, "{}", alone.text);
}

fn nothing_played_is_red() {
    let shown = Shown::of(&mut target("conforming", "provider/volumes/held"));
    shown.has("error: no scenario passed");
    shown.has("; 1 scenario is not applicable: needs [provider.volumes] held in the configuration");
    assert!(!shown.green);
}

fn expected_failure_is_ignored() {
    let directory = directory();
    let file = directory.path().join("baseline.toml");
    let entry = format!(
        "[[expected]]\nscenario = \"{FAILS}\"\nrequirement = \"run.chunk.verbatim\"\n\
         reason = \"Members are sorted.\"\n"
    );
    std::fs::write(&file, entry).expect("there is room");
    let shown = Shown::of(
        target(FAULT, STREAMS)
            .env(BASELINE, &file)
            .args(["provider/streams/word-by-word"]),
    );
    shown.has("ignored (expected to fail: Members are sorted.)");
    assert!(shown.green, "{}", shown.text);
    let another = Shown::of(target(FAULT, STREAMS).env(BASELINE, &file));
    assert!(!another.green, "what no entry expects stays red");
}

fn stale_entry_is_red() {
    let directory = directory();
    let file = directory.path().join("baseline.toml");
    let with = |scenario: &str| {
        let entry = format!("[[expected]]\nscenario = \"{scenario}\"\nreason = \"Once it did.\"\n");
        std::fs::write(&file, entry).expect("there is room");
        let shown = Shown::of(
            target("conforming", STREAMS)
                .env(BASELINE, &file)
                .args(["--exact", PASSES]),
        );
        assert!(!shown.green, "{}", shown.text);
        shown
    };
    with(PASSES).has("it passes, though the baseline expects it to fail: Once it did.");
    with("provider/streams/emptyloop").has("no scenario is called `provider/streams/emptyloop`");
}

fn other_transcript_is_red() {
    let directory = directory();
    let with = |subject: &str, update: &str| {
        let mut target = target(subject, STREAMS);
        target
            .env(SNAPSHOTS, directory.path())
            .env("INSTA_UPDATE", update);
        Shown::of(&mut target)
    };
    assert!(with("conforming", "always").green);
    let same = with("conforming", "no");
    same.has("test snapshot/provider/streams ... ok");
    assert!(same.green, "{}", same.text);
    let other = with(FAULT, "no");
    other.has(&format!("-{FAILS}  pass"));
    other.has(&format!("+{FAILS}  fail"));
    assert!(!other.green);
}

fn launched_have_transcripts() {
    let program = concat!("'", env!("CARGO_BIN_EXE_diverge-conformance"), "'");
    let cases = [
        (
            "proxy serve proxy",
            "--fault chunk-lost",
            "proxy/loops/one-loop",
        ),
        ("client client", "third-chunk-lost", "client/loops/chunks"),
    ];
    for (role, fault, scenarios) in cases {
        let directory = directory();
        let (kind, role) = role.split_once(' ').expect("two words");
        let with = |fault: &str, update: &str| {
            let mut target = target(&format!("{kind} {program} {role} {fault}"), scenarios);
            target
                .env(SNAPSHOTS, directory.path())
                .env("INSTA_UPDATE", update);
            Shown::of(&mut target)
        };
        assert!(with("", "always").green);
        let same = with("", "no");
        same.has(&format!("test snapshot/{kind}/loops ... ok"));
        assert!(same.green, "{}", same.text);
        let other = with(fault, "no");
        other.has("snapshot assertion for");
        assert!(!other.green);
    }
}
