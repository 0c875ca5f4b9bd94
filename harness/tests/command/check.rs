//! `check` from outside: streams of agent events from files and from standard input.

use std::io::Write as _;
use std::process::{Command, Stdio};

use super::program::{PROGRAM, fed};

fn check(arguments: &[&str], input: &str) -> (Option<i32>, String) {
    let output = fed(&[&["check"], arguments].concat(), input.as_bytes());
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.code(),
        String::from_utf8(text).expect("UTF-8"),
    )
}

const TEXT: &str = r#"{"type":"assistant_text","delta":"so"}"#;
const COST: &str = r#"{"type":"cost","costUsd":0.5,"tokens":{"input":1}}"#;
const DONE: &str = r#"{"type":"done","response":"so","transcript":[]}"#;

#[test]
fn a_good_stream_conforms_from_a_file_and_from_standard_input() {
    let stream = format!("{TEXT}\n{COST}\n{DONE}\n");
    assert_eq!(check(&["-"], &stream).0, Some(0));
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(stream.as_bytes()).expect("it takes text");
    let path = file.path().to_str().expect("a path");
    let (code, text) = check(&[path, "--strict"], "");
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("conforms: 3 events"), "{text}");
}

#[test]
fn a_broken_stream_is_told_its_line_rule_and_what_was_allowed() {
    let (code, text) = check(&["-"], &format!("{COST}\n{COST}\n{DONE}\n"));
    assert_eq!(code, Some(1));
    for part in [
        "FAIL          line 2",
        "  allowed     one cost",
        "  breaks      events.cost-once  stated",
        "A run tells its cost at most once.",
        "agent event page",
    ] {
        assert!(text.contains(part), "`{part}` in\n{text}");
    }
}

#[test]
fn a_compaction_is_an_event_of_the_later_revision_only() {
    const COMPACTED: &str = r#"{"type":"compaction_boundary","trigger":"auto","preTokens":2,"postTokens":1,"cumulativeDroppedTokens":1,"durationMs":1}"#;
    let stream = format!("{TEXT}\n{COMPACTED}\n{COST}\n{DONE}\n");
    let (code, text) = check(&["-"], &stream);
    assert_eq!(code, Some(1));
    assert!(text.contains("breaks      events.known-type"), "{text}");
    let later = ["-", "--events-revision", "compaction"];
    let (code, text) = check(&later, &stream);
    assert_eq!(code, Some(0), "{text}");
    let (code, text) = check(&later, &stream.replace("\"auto\"", "\"timer\""));
    assert_eq!(code, Some(1));
    assert!(text.contains("at          /trigger"), "{text}");
}

#[test]
fn a_warning_fails_only_where_warnings_do() {
    let stream = format!("{TEXT}\n{COST}\n");
    let (code, text) = check(&["-"], &stream);
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("warn          the end, behind line 2"),
        "{text}"
    );
    assert_eq!(check(&["-", "--strict"], &stream).0, Some(1));
}

#[test]
fn what_is_no_stream_passes_nothing() {
    for nothing in ["", "\n\n", "nonsense\n", "\u{1b}[2J\n"] {
        let (code, text) = check(&["-"], nothing);
        assert_eq!(code, Some(1), "{text}");
        assert!(!text.contains('\u{1b}'), "{text}");
    }
    let (code, text) = check(&["-"], &"nonsense\n".repeat(1000));
    assert_eq!(code, Some(1));
    assert!(text.contains("and 950 more lines not shown"), "{text}");
}

#[test]
fn a_file_that_there_is_not_exits_2() {
    assert_eq!(check(&["/nonexistent/stream.jsonl"], "").0, Some(2));
    assert_eq!(check(&["/"], "").0, Some(2));
}

/// The transcripts that a run of the in-tree reference, or of one of its mutants, leaves.
fn recorded(mutant: Option<&str>, scenario: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("there is room");
    let (iut, _) = scenario.split_once('/').expect("an id");
    let mut run = Command::new(PROGRAM);
    run.args(["run", iut, "--scenario", scenario, "--transcripts"])
        .arg(directory.path())
        .stdout(Stdio::null());
    if let Some(mutant) = mutant {
        run.args(["--mutant", mutant]);
    }
    let ended = run.status().expect("the binary starts");
    assert_eq!(ended.success(), mutant.is_none());
    directory
}

fn transcripts(directory: &tempfile::TempDir) -> Vec<String> {
    let files = walkdir::WalkDir::new(directory.path()).sort_by_file_name();
    let paths = files
        .into_iter()
        .map(|entry| entry.expect("it can be read"));
    paths
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| entry.path().to_str().expect("a path").to_owned())
        .collect()
}

#[test]
fn the_transcripts_of_a_conforming_run_conform() {
    let directory = recorded(None, "provider/streams/*");
    let transcripts = transcripts(&directory);
    assert!(transcripts.len() > 5, "{transcripts:?}");
    for path in transcripts {
        let (code, text) = check(&[&path, "--strict"], "");
        assert_eq!(code, Some(0), "{path}: {text}");
        assert!(text.contains("conforms: "), "{text}");
    }
}

#[test]
fn the_transcripts_of_a_conforming_proxy_conform_in_both_revisions() {
    for topic in ["proxy/begin/*", "proxy/path-run/*", "proxy/path-register/*"] {
        let directory = recorded(None, topic);
        let transcripts = transcripts(&directory);
        assert!(transcripts.len() > 2, "{transcripts:?}");
        for path in transcripts {
            let (code, text) = check(&[&path, "--strict"], "");
            assert_eq!(code, Some(0), "{path}: {text}");
        }
    }
}

#[test]
fn the_transcript_of_a_faulty_proxy_tells_the_rule() {
    let directory = recorded(Some("chunk-doubled"), "proxy/begin/second-during-loop");
    let [path] = &transcripts(&directory)[..] else {
        panic!("one scenario leaves one transcript")
    };
    let (code, text) = check(&[path], "");
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("proxy.loop.chunk-each  stated"), "{text}");
}

#[test]
fn a_transcript_tells_whether_an_agent_server_was_there() {
    let directory = recorded(None, "proxy/begin/unreachable");
    let [path] = &transcripts(&directory)[..] else {
        panic!("one scenario leaves one transcript")
    };
    assert_eq!(check(&[path], "").0, Some(0));
    // Had it been there, the proxy would have had to call it.
    let text = std::fs::read_to_string(path).expect("it can be read");
    let gone = r#""sender":"agent-server","what":"closed""#;
    assert!(text.contains(gone), "{text}");
    let (code, told) = check(
        &["-"],
        &text.replace(gone, &gone.replace("closed", "opened")),
    );
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("proxy.begin."), "{told}");
}

#[test]
fn the_transcript_of_a_faulty_run_tells_the_message_the_rule_and_the_conversation() {
    let directory = recorded(Some("chunk-behind-loop"), "provider/streams/empty-loop");
    let [path] = &transcripts(&directory)[..] else {
        panic!("one scenario leaves one transcript")
    };
    let (code, text) = check(&[path], "");
    assert_eq!(code, Some(1), "{text}");
    for part in [
        "FAIL          message ",
        "  allowed     no chunk while no loop is open",
        "run.chunk.not-outside-loop  stated",
        "▶ ",
        "‹secret, 13 bytes›",
        "fail: ",
    ] {
        assert!(text.contains(part), "`{part}` in\n{text}");
    }
    let recorded = std::fs::read_to_string(path).expect("it can be read");
    assert_eq!(check(&["-"], &recorded), (code, text));
}

#[test]
fn values_that_a_relay_changed_are_told_though_they_are_masked() {
    let directory = recorded(None, "provider/streams/empty-loop");
    let [path] = &transcripts(&directory)[..] else {
        panic!("one scenario leaves one transcript")
    };
    let text = std::fs::read_to_string(path).expect("it can be read");
    // The client's inactive is given another digest than the proxy's.
    let client =
        |line: &&str| line.contains(r#""link":0"#) && line.contains(r#""kind":"inactive""#);
    let line = text.lines().find(client).expect("a loop ends");
    let (before, digest) = line.split_once(r#""digest":""#).expect("values are masked");
    let other = format!("{before}\"digest\":\"0000{}", &digest[4..]);
    let (code, told) = check(&["-"], &text.replace(line, &other));
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("run.inactive."), "{told}");
    assert_eq!(check(&["-"], &text).0, Some(0));
}

#[test]
fn a_transcript_that_shows_nothing_or_cannot_be_read_passes_nothing() {
    let link = r#"{"link":0,"kind":"client","name":"client"}"#;
    let (code, text) = check(&["-"], link);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("nothing passes"), "{text}");
    let (code, text) = check(&["-"], &format!("\n{link}\n{TEXT}\n"));
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("line 3: "), "{text}");
    let (_, text) = check(&["-"], "nonsense\n");
    assert!(
        text.contains("a recorded transcript begins with its links"),
        "{text}"
    );
}
