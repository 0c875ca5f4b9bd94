//! Reports in files from outside: what other programs and people read.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use super::program::{PROGRAM, code};

const FORMATS: [&str; 4] = ["json", "junit", "html", "markdown"];

/// A directory with a report of each form in it.
struct Reports {
    folder: tempfile::TempDir,
}

impl Reports {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory");
        Self { folder }
    }

    fn path(&self, format: &str) -> PathBuf {
        self.folder.path().join(format)
    }

    fn text(&self, format: &str) -> String {
        std::fs::read_to_string(self.path(format)).expect("it is written")
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.text("json")).expect("it is JSON")
    }

    fn junit(&self) -> junit_parser::TestSuites {
        let text = self.text("junit");
        junit_parser::from_reader(text.as_bytes()).expect("a reader takes it")
    }

    /// A run that writes all of them.
    fn command(&self, more: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(["run", "provider"]).args(more);
        for format in FORMATS {
            let target = format!("{format}={}", self.path(format).display());
            command.args(["--report", &target]);
        }
        command
    }

    fn run(&self, more: &[&str]) -> Output {
        self.command(more).output().expect("the binary starts")
    }
}

const FAULTY: &[&str] = &[
    "--mutant",
    "active-padded",
    "--scenario",
    "provider/streams/word-by-word",
    "--scenario",
    "provider/arguments/*",
];

#[test]
fn each_report_tells_the_failure_its_requirement_and_how_to_play_it_again() {
    let reports = Reports::new();
    assert_eq!(code(&reports.run(FAULTY)), 1);
    for format in FORMATS {
        let text = reports.text(format);
        for part in [
            "run.active.bare",
            "--scenario provider/streams/word-by-word",
        ] {
            assert!(
                text.contains(part),
                "`{part}` in the {format} report:\n{text}"
            );
        }
    }
    let json = reports.json();
    assert_eq!(
        (&json["complete"], &json["exit"]),
        (&true.into(), &1.into())
    );
    assert_eq!(json["summary"]["fail"], 1);
    let suites = reports.junit();
    assert_eq!((suites.failures, suites.errors), (1, 0));
    assert_eq!(
        suites.tests,
        json["results"].as_array().expect("a list").len() as u64
    );
}

#[test]
fn a_planted_credential_is_in_no_report() {
    let planted = "planted-credential-7d20";
    let reports = Reports::new();
    let config = reports.path("config");
    std::fs::write(&config, format!("[provider]\ncredential = \"{planted}\"\n"))
        .expect("it is written");
    let config = config.to_str().expect("a path");
    let output = reports.run(&[
        "--config",
        config,
        "--launch",
        &format!("/nonexistent/provider {planted}"),
    ]);
    assert_eq!(code(&output), 4);
    for format in FORMATS {
        assert!(!reports.text(format).contains(planted), "{format}");
    }
    for mutant in ["active-padded", "hang-up-after-handshake"] {
        let known = reports.run(&[
            "--mutant",
            mutant,
            "--config",
            config,
            "--scenario",
            "provider/*/*",
        ]);
        assert_eq!(code(&known), 1, "{mutant}");
        let hex: String = planted.bytes().map(|byte| format!("{byte:02x}")).collect();
        for format in FORMATS {
            let text = reports.text(format);
            assert!(
                !text.contains(planted) && !text.contains(&hex),
                "{mutant}: {format}"
            );
        }
    }
}

#[test]
fn a_run_that_is_killed_leaves_reports_that_can_be_read_and_say_so() {
    let reports = Reports::new();
    let shown = reports.path("shown");
    let mut run = reports
        .command(&["--format", "jsonl", "--jobs", "2"])
        .stdout(std::fs::File::create(&shown).expect("it is made"))
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary starts");
    let lines = |path: &Path| {
        let text = std::fs::read_to_string(path).expect("it is there");
        text.matches('\n').count()
    };
    while lines(&shown) < 30 {
        assert!(run.try_wait().expect("its state is known").is_none());
        std::thread::yield_now();
    }
    run.kill().expect("it is killed");
    run.wait().expect("it ends");
    let json = reports.json();
    assert_eq!(
        (&json["complete"], &json["exit"]),
        (&false.into(), &Value::Null)
    );
    let results = json["results"].as_array().expect("a list").len();
    assert!(results >= lines(&shown), "what was shown is kept");
    let suites = reports.junit();
    assert!(
        suites.tests as usize > lines(&shown) && suites.errors >= 1,
        "{}",
        suites.errors
    );
    assert!(reports.text("html").contains("the run is not over"));
    assert!(reports.text("markdown").contains("**Incomplete**"));
}

#[test]
fn a_run_that_is_interrupted_says_so_in_its_reports_and_leaves_nothing_beside_them() {
    let reports = Reports::new();
    let shown = reports.path("shown");
    let mut run = reports
        .command(&["--format", "jsonl", "--jobs", "2"])
        .stdout(std::fs::File::create(&shown).expect("it is made"))
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary starts");
    while std::fs::metadata(&shown).expect("it is there").len() == 0 {
        assert!(run.try_wait().expect("its state is known").is_none());
        std::thread::yield_now();
    }
    let interrupted = Command::new("kill")
        .args(["-INT", &run.id().to_string()])
        .status();
    assert!(interrupted.expect("kill runs").success());
    assert_eq!(run.wait().expect("it ends").code(), Some(1));
    let json = reports.json();
    assert_eq!(
        (&json["complete"], &json["stopped"]),
        (&false.into(), &"interrupted".into())
    );
    for format in ["html", "markdown", "junit"] {
        assert!(reports.text(format).contains("interrupted"), "{format}");
    }
    let files = std::fs::read_dir(reports.folder.path()).expect("it is listed");
    assert_eq!(files.count(), FORMATS.len() + 1);
}

#[test]
fn a_report_that_cannot_be_written_or_has_no_such_form_exits_2() {
    let run = |target: &str| {
        Command::new(PROGRAM)
            .args([
                "run",
                "provider",
                "--scenario",
                "provider/streams/word-by-word",
                "--report",
                target,
            ])
            .output()
            .expect("the binary starts")
    };
    for (target, says) in [
        (
            "json=/nonexistent/folder/report",
            "/nonexistent/folder/report",
        ),
        (
            "html=/nonexistent/folder/report",
            "/nonexistent/folder/report",
        ),
        ("pdf=report", "junit, json, html or markdown"),
        ("json", "FORMAT=PATH"),
        ("json=", "FORMAT=PATH"),
    ] {
        let output = run(target);
        assert_eq!(code(&output), 2, "{target}");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(told.contains(says), "{told}");
    }
    assert_eq!(
        code(&run("json=/dev/full")),
        2,
        "nobody would miss it otherwise"
    );
}

#[test]
fn a_recorded_run_gives_the_same_reports_again_and_several_stand_side_by_side() {
    let (good, bad) = (Reports::new(), Reports::new());
    assert_eq!(code(&good.run(&FAULTY[2..])), 0);
    assert_eq!(code(&bad.run(FAULTY)), 1);
    let report = |arguments: &[&str]| {
        Command::new(PROGRAM)
            .arg("report")
            .args(arguments)
            .output()
            .expect("the binary starts")
    };
    let (old, new) = (good.path("json"), bad.path("json"));
    let (old, new) = (old.to_str().expect("a path"), new.to_str().expect("a path"));
    for format in FORMATS {
        let again = bad.path(&format!("{format}-again"));
        let target = format!("{format}={}", again.display());
        let output = report(&[new, "--report", &target]);
        assert_eq!(
            code(&output),
            0,
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let again = std::fs::read_to_string(again).expect("it is written");
        assert_eq!(again.trim_end(), bad.text(format).trim_end(), "{format}");
    }
    let matrix = bad.path("matrix");
    let target = format!("html={}", matrix.display());
    assert_eq!(code(&report(&[old, new, "--report", &target])), 0);
    let page = std::fs::read_to_string(matrix).expect("it is written");
    let (differ, same) = page
        .split_once("Where they are the same")
        .expect("both are there");
    assert!(differ.contains("provider/streams/word-by-word"), "{page}");
    assert!(same.contains("provider/arguments/"), "{page}");
    let target = format!("junit={}", bad.path("both").display());
    assert_eq!(code(&report(&[old, new, "--report", &target])), 2);
    let output = report(&[
        bad.path("html").to_str().expect("a path"),
        "--report",
        &target,
    ]);
    assert_eq!(code(&output), 2);
    assert!(String::from_utf8_lossy(&output.stderr).contains("no results of a run"));
}

#[test]
fn a_diff_of_two_runs_tells_what_got_worse_and_exits_1() {
    let (good, bad) = (Reports::new(), Reports::new());
    assert_eq!(code(&good.run(&FAULTY[2..])), 0);
    assert_eq!(code(&bad.run(FAULTY)), 1);
    let diff = |old: &Reports, new: &Reports, more: &[&str]| {
        Command::new(PROGRAM)
            .arg("diff")
            .args([old.path("json"), new.path("json")])
            .args(more)
            .output()
            .expect("the binary starts")
    };
    let worse = diff(&good, &bad, &[]);
    assert_eq!(code(&worse), 1);
    let told = String::from_utf8_lossy(&worse.stdout).into_owned();
    for part in [
        "WORSE          provider/streams/word-by-word  pass → fail",
        "run.active.bare",
        "worse: 1 regression, ",
    ] {
        assert!(told.contains(part), "`{part}` in\n{told}");
    }
    assert_eq!(code(&diff(&bad, &good, &[])), 0);
    assert_eq!(code(&diff(&bad, &bad, &[])), 0);
    let lines = diff(&good, &bad, &["--format", "jsonl"]);
    let lines: Vec<Value> = String::from_utf8_lossy(&lines.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).expect("every line is JSON"))
        .collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(
        (&lines[0]["how"], &lines[0]["new"]),
        (&"regression".into(), &"fail".into())
    );
    assert_eq!(lines[1]["regression"], 1);
    std::fs::write(good.path("json"), "{}").expect("it is written");
    assert_eq!(code(&diff(&good, &bad, &[])), 2);
}

#[test]
fn a_diff_of_two_revisions_tells_requirements_and_numbers_and_a_draft_is_a_file() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let draft = folder.path().join("draft.toml");
    let text = "name = \"draft\"\nfollows = \"scope\"\n[client-channels]\nsecrets = 12\n";
    std::fs::write(&draft, text).expect("it is written");
    let draft = draft.to_str().expect("a path");
    let diff = |arguments: &[&str]| {
        Command::new(PROGRAM)
            .arg("diff")
            .args(arguments)
            .output()
            .expect("the binary starts")
    };
    let told = diff(&["scope", draft]);
    assert_eq!(code(&told), 0);
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(told.contains("client-channels secrets  10 → 12"), "{told}");
    assert!(
        told.ends_with("0 requirements added, 0 changed, 0 removed, 1 tag moved\n"),
        "{told}"
    );
    let told = diff(&["path", "scope", "--format", "jsonl"]);
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    let id = told
        .lines()
        .any(|line| line.contains("\"added\"") && line.contains("run.id-once"));
    assert!(id, "{told}");
    for (arguments, says) in [
        (["scope", "no-such"], "`path`, `scope`"),
        (
            ["scope", "/nonexistent/draft.toml"],
            "/nonexistent/draft.toml",
        ),
    ] {
        let output = diff(&arguments);
        assert_eq!(code(&output), 2);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(told.contains(says), "{told}");
    }
}

#[test]
fn the_schema_beside_the_crate_is_the_one_of_the_json_report() {
    let output = Command::new(PROGRAM)
        .args(["report", "--schema"])
        .output()
        .expect("the binary starts");
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/results.schema.json");
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        std::fs::read_to_string(file).expect("harness/results.schema.json is there"),
        "write it anew: diverge-conformance report --schema > harness/results.schema.json"
    );
}
