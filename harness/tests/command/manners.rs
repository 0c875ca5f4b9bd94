//! The manners of the command line: what is wrong is told where it is, and nothing is lost unseen.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use super::program::{PROGRAM, code, conformance};

const ONE: [&str; 2] = ["--scenario", "provider/streams/word-by-word"];

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(arguments);
    command
}

fn run(more: &[&str]) -> Output {
    conformance(&[&["run", "provider"], &ONE[..], more].concat())
}

fn complaint(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What was shown, and what was complained of.
fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &complaint(output)
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("there is room")
}

fn file(folder: &TempDir, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, text).expect("there is room");
    path
}

fn shown(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

#[test]
fn a_password_in_an_address_turns_up_in_no_output() {
    let folder = folder();
    let report = |name: &str, format: &str| {
        let path = folder.path().join(name);
        (format!("{format}={}", shown(&path)), path)
    };
    let reports = [
        report("a.json", "json"),
        report("a.xml", "junit"),
        report("a.html", "html"),
        report("a.md", "markdown"),
    ];
    for (password, format) in [
        ("hunter-seven", "pretty"),
        ("hunter-seven", "jsonl"),
        ("q7", "pretty"),
    ] {
        let url = format!("ws://me:{password}@127.0.0.1:9/");
        let mut arguments = vec!["--url", &url, "--format", format];
        for (report, _) in &reports {
            arguments.extend(["--report", report]);
        }
        let output = run(&arguments);
        assert_eq!(code(&output), 4);
        let mut all = told(&output);
        assert!(all.contains("127.0.0.1:9/"), "{all}");
        for (_, path) in &reports {
            all += &std::fs::read_to_string(path).expect("the report is there");
        }
        assert!(!all.contains(password), "{all}");
    }
    let output = conformance(&[
        "run",
        "agent-server",
        "--url",
        "http://me:hunter-seven@127.0.0.1:no/",
    ]);
    assert_eq!(code(&output), 2);
    assert!(!told(&output).contains("hunter-seven"), "{}", told(&output));
}

#[test]
fn the_last_line_of_a_run_with_a_baseline_agrees_with_the_exit_code() {
    let folder = folder();
    let unmatched = "[[expected]]\nscenario = \"provider/streams/no-such\"\nreason = \"r\"\n";
    let stale = "[[expected]]\nscenario = \"provider/streams/word-by-word\"\nreason = \"r\"\n";
    let fault = ["--mutant", "chunk-reencoded"];
    let cases: [(&str, &[&str], i32, &str); 5] = [
        ("", &[], 0, "conforms: 1 pass"),
        (
            unmatched,
            &[],
            3,
            "the baseline is out of date: 1 entry needs mending",
        ),
        (
            stale,
            &[],
            3,
            "the baseline is out of date: 1 entry needs mending",
        ),
        (
            unmatched,
            &fault,
            1,
            "does not conform: 1 fail, 0 pass; of the baseline, 1 entry needs mending",
        ),
        (
            stale,
            &fault,
            1,
            "nothing passed: 1 expected to fail, 0 pass",
        ),
    ];
    for (text, more, exit, last) in cases {
        let baseline = file(&folder, "baseline.toml", text);
        let output = run(&[&["--baseline", shown(&baseline)], more].concat());
        let told = told(&output);
        assert_eq!(code(&output), exit, "{told}");
        assert_eq!(told.lines().last(), Some(last), "{told}");
        for word in [
            "conforms: ",
            "does not conform: ",
            "the baseline is out of date",
        ] {
            let heads = told.lines().filter(|line| line.starts_with(word));
            assert!(heads.count() <= 1, "`{word}` once in\n{told}");
        }
        assert!(told.matches("STALE").count() <= 1, "{told}");
    }
}

#[test]
fn an_id_that_is_built_in_is_refused_elsewhere_than_in_its_own_file() {
    let folder = folder();
    let built_in = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../scenarios/provider/streams.yaml"
    );
    let text = std::fs::read(built_in).expect("it is there");
    let copy = file(&folder, "mine.yaml", &text);
    for arguments in [
        &["lint", shown(&copy)][..],
        &["run", "provider", "--scenario", shown(&copy)],
    ] {
        let output = conformance(arguments);
        assert_eq!(code(&output), 2);
        let place = format!(
            "{}:5:5: a scenario called `provider/streams/word-by-word` is built in",
            copy.display()
        );
        assert!(
            complaint(&output).contains(&place),
            "{}",
            complaint(&output)
        );
    }
    assert_eq!(code(&conformance(&["lint", built_in])), 0);
    let codec = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../scenarios/codec/frames.yaml"
    );
    let text = std::fs::read(codec).expect("it is there");
    let copy = file(&folder, "codec.yaml", text);
    let output = conformance(&["lint", shown(&copy)]);
    assert_eq!(code(&output), 2);
    assert!(complaint(&output).contains("is built in, at scenarios/codec/frames.yaml:"));
}

#[test]
fn a_scenario_file_without_scenarios_is_refused() {
    let folder = folder();
    for (name, text, why) in [
        (
            "a.yaml",
            "iut: provider\nscenarios: []\n",
            "a.yaml:2:12: `scenarios`: expected at least one",
        ),
        (
            "b.yaml",
            "iut: codec\nscenarios: []\n",
            "b.yaml:2:12: `scenarios`: expected at least one",
        ),
        ("c.yaml", "iut: provider\n", "lacks `scenarios`"),
        (
            "d.yaml",
            "iut: martian\n",
            "expected one of provider, proxy, agent-server, client, chain, codec",
        ),
    ] {
        let path = file(&folder, name, text);
        let output = conformance(&["lint", shown(&path)]);
        assert_eq!(code(&output), 2);
        assert!(complaint(&output).contains(why), "{}", complaint(&output));
    }
    let fragments = "iut: provider\nfragments:\n  mine:\n    - play: loop\n";
    let path = file(&folder, "e.yaml", fragments);
    assert_eq!(code(&conformance(&["lint", shown(&path)])), 0);
    let output = conformance(&["run", "provider", "--scenario", shown(&path)]);
    assert_eq!(code(&output), 2);
    assert!(
        complaint(&output).contains("holds no scenario"),
        "{}",
        complaint(&output)
    );
}

#[test]
fn a_file_without_end_is_not_read_for_ever() {
    let commands: [&[&str]; 4] = [
        &["lint", "/dev/zero"],
        &["run", "provider", "--config", "/dev/zero"],
        &["run", "provider", "--baseline", "/dev/zero"],
        &["run", "provider", "--revision", "/dev/zero"],
    ];
    for command in commands {
        let output = conformance(command);
        assert_eq!(code(&output), 2, "{command:?}");
        let complaint = complaint(&output);
        assert!(complaint.contains("longer than 8 MiB"), "{complaint}");
    }
}

#[test]
fn jobs_out_of_range_are_a_usage_error_that_names_the_range() {
    for jobs in ["0", "1001", "-1", "many"] {
        for command in ["run", "mutants"] {
            let output = conformance(&[command, "provider", &format!("--jobs={jobs}")]);
            assert_eq!(code(&output), 2, "{jobs}");
        }
    }
    let output = run(&["--jobs", "0"]);
    assert!(
        complaint(&output).contains("1..=1000"),
        "{}",
        complaint(&output)
    );
}

#[test]
fn help_says_that_no_shell_runs_what_is_launched() {
    let output = conformance(&["run", "--help"]);
    let told = told(&output);
    assert!(
        told.contains("no shell runs it") && told.contains("sh -c '"),
        "{told}"
    );
}

#[test]
fn output_that_cannot_be_written_is_told_and_exits_5() {
    let run: Vec<&str> = ["run", "provider"].into_iter().chain(ONE).collect();
    let jsonl = [&run[..], &["--format", "jsonl"]].concat();
    let cases: [&[&str]; 9] = [
        &["--help"],
        &["list", "requirements"],
        &["explain", "run.chunk.verbatim"],
        &["completions", "bash"],
        &["lint", "--schema"],
        &["emit-events"],
        &["decode", "--frame", "run-response"],
        &run,
        &jsonl,
    ];
    let full = || {
        File::options()
            .write(true)
            .open("/dev/full")
            .expect("a full device")
    };
    for arguments in cases {
        let mut command = command(arguments);
        let folder = folder();
        let input = File::open(file(&folder, "input", "08\n")).expect("it is there");
        let output = command
            .stdin(input)
            .stdout(full())
            .output()
            .expect("the binary starts");
        assert_eq!(code(&output), 5, "{arguments:?}: {}", complaint(&output));
        let why = complaint(&output);
        assert!(
            why.contains("could not write to standard output: "),
            "{why}"
        );
        assert!(!why.contains("panicked"), "{why}");
    }
    // Nor does it matter to anybody that complaints cannot be written.
    let status = command(&["lint", "/dev/zero"]).stderr(full()).status();
    assert_eq!(status.expect("the binary starts").code(), Some(2));
}

#[test]
fn a_reader_that_is_gone_is_no_fault_of_ours() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut command = command(&["list"]);
    let output = command.stdout(writer).stderr(Stdio::piped()).output();
    let output = output.expect("the binary starts");
    assert_eq!((code(&output), complaint(&output)), (0, String::new()));
}

#[test]
fn transcripts_that_cannot_be_written_exit_2() {
    let folder = folder();
    // A file is where the folder of the scenario's kind would be.
    file(&folder, "provider", "");
    let output = run(&["--transcripts", shown(folder.path())]);
    assert_eq!(code(&output), 2);
    let why = complaint(&output);
    assert!(why.contains("could not write transcripts: "), "{why}");
}

#[test]
fn a_configuration_at_fault_is_told_by_its_key_and_place_and_what_was_expected() {
    let folder = folder();
    for (text, why) in [
        (
            "provder = 1",
            "1:1: no key is called `provder` here, expected one of `provider`",
        ),
        (
            "provider = 1",
            "1:12: `provider`: expected a table, as `[provider]` begins, found integer `1`",
        ),
        (
            "[provider]\ncredential = 7",
            "2:14: `credential`: expected a string, found integer `7`",
        ),
        (
            "[provider]\nproxy_listen = 'x'",
            "2:16: `proxy_listen`: expected an address such as \"127.0.0.1:14979\", found string \"x\"",
        ),
        (
            "[provider]\nimage = 3",
            "2:9: `image`: expected a table such as { name = \"…\"",
        ),
        (
            "[provider]\nimage = { name = 'x' }",
            "2:9: `image`: the key `digest` is missing",
        ),
        (
            "[provider.volumes]\nheld = { name = 'a', mode = 'odd' }",
            "2:29: `mode`: `odd` means nothing here, expected one of `persistent`",
        ),
        (
            "[chain]\nproxy = []",
            "2:9: `proxy`: expected a string, found an array",
        ),
        ("x = [", "1:6: unclosed array"),
        (
            "[provider]\ncredential = \"a\\u0000b\"",
            " `provider.credential` holds a NUL",
        ),
    ] {
        let path = file(&folder, "conformance.toml", text);
        let output = run(&["--config", shown(&path)]);
        assert_eq!(code(&output), 2);
        let complaint = complaint(&output);
        let expected = format!("{}:{why}", path.display());
        assert!(
            complaint.contains(&expected),
            "`{expected}` in\n{complaint}"
        );
        assert!(!complaint.contains("struct"), "{complaint}");
    }
}

#[test]
fn completions_offer_what_help_shows_and_no_hidden_command() {
    let help = told(&conformance(&["--help"]));
    let commands = help
        .split("Commands:")
        .nth(1)
        .expect("help lists the commands");
    let commands = commands.split("\n\n").next().unwrap_or_default();
    // What goes on in a further line is indented further.
    let names = commands.lines().filter_map(|line| line.strip_prefix("  "));
    let names = names.filter(|line| !line.starts_with(' '));
    let mut shown: Vec<&str> = names.filter_map(|line| line.split(' ').next()).collect();
    shown.sort_unstable();
    assert!(shown.contains(&"run") && shown.contains(&"help"), "{help}");

    let folder = folder();
    let script = conformance(&["completions", "bash"]).stdout;
    let script = file(&folder, "completions.bash", script);
    let asked = "source \"$0\" && COMP_WORDS=(diverge-conformance '') COMP_CWORD=1 \
        && $(complete -p diverge-conformance | sed 's/.*-F \\([^ ]*\\).*/\\1/') diverge-conformance '' diverge-conformance \
        && printf '%s\\n' \"${COMPREPLY[@]}\"";
    let output = Command::new("bash")
        .args(["-c", asked])
        .arg(&script)
        .output();
    let offered = String::from_utf8(output.expect("bash starts").stdout).expect("it is text");
    let mut offered: Vec<&str> = offered.lines().filter(|it| !it.starts_with('-')).collect();
    offered.sort_unstable();
    assert_eq!(offered, shown);

    for shell in ["zsh", "fish", "elvish", "powershell"] {
        let script = told(&conformance(&["completions", shell]));
        assert!(
            script.contains("Runs the scenarios against an implementation"),
            "{shell}"
        );
        for hidden in [
            "emit-events",
            "Serves as an in-tree reference",
            "as a codec under test does",
        ] {
            assert!(!script.contains(hidden), "{shell}: {hidden}");
        }
    }
}
