use super::*;
use crate::rules::{Catalogue, Iut};

/// Lines, and the line and rule of every break.
type Case<'a> = (&'a [&'a str], &'a [(u64, &'a str)]);

const TEXT: &str = r#"{"type":"assistant_text","delta":"so"}"#;
const USE: &str = r#"{"type":"tool_use","toolUseId":"a","tool":"t","input":null}"#;
const RESULT: &str = r#"{"type":"tool_result","toolUseId":"a","output":1}"#;
const COST: &str = r#"{"type":"cost","costUsd":0.5,"tokens":{}}"#;
const DONE: &str = r#"{"type":"done","response":"so","transcript":[]}"#;
const ERROR: &str = r#"{"type":"error","message":"no"}"#;

fn judged(lines: &[&str]) -> (EventStream, Vec<(u64, &'static str)>) {
    let mut stream = EventStream::new(EventRevision::Document);
    let mut out = Vec::new();
    for line in lines {
        stream.line(line.as_bytes(), &mut out);
    }
    stream.end(&mut out);
    let broken = out
        .iter()
        .map(|it| (it.seq, it.requirement.as_str()))
        .collect();
    (stream, broken)
}

fn broken(lines: &[&str]) -> Vec<(u64, &'static str)> {
    judged(lines).1
}

#[test]
fn each_rule_is_broken_by_itself() {
    let silent = "events.silent-after-end";
    let cases: &[Case] = &[
        (&["nonsense", COST, DONE], &[(1, "events.known-type")]),
        (
            &[r#"{"type":"custom"}"#, ERROR],
            &[(1, "events.known-type")],
        ),
        (&[r#"["error","no"]"#, ERROR], &[(1, "events.known-type")]),
        (
            &[r#"{"type":"assistant_text"}"#, ERROR],
            &[(1, "events.members")],
        ),
        (
            &[r#"{"type":"error","message":1}"#, ERROR],
            &[(1, "events.members")],
        ),
        (&[COST, COST, DONE], &[(2, "events.cost-once")]),
        (&[TEXT, DONE], &[(2, "events.cost-of-success")]),
        (
            &[ERROR, COST],
            &[(2, "events.cost-before-end"), (2, silent)],
        ),
        (
            &[COST, DONE, ERROR],
            &[(3, "events.ends-once"), (3, silent)],
        ),
        (&[COST, DONE, TEXT], &[(3, silent)]),
        (&[RESULT, USE, ERROR], &[(1, "events.result-of-use")]),
        (&[USE, RESULT, RESULT, ERROR], &[(3, "events.result-once")]),
        (&[TEXT, COST], &[(2, "events.ended")]),
    ];
    for (lines, expected) in cases {
        assert_eq!(broken(lines), *expected, "{lines:?}");
    }
    let all = Catalogue::get().requirements();
    for requirement in all.iter().filter(|it| it.iut == [Iut::Events]) {
        let id = requirement.id.as_str();
        let broken = cases
            .iter()
            .any(|(_, broken)| broken.iter().any(|(_, it)| *it == id));
        assert!(
            broken || requirement.excluded.is_some(),
            "{id} is broken by no case"
        );
    }
}

#[test]
fn what_is_left_open_breaks_nothing() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let deep = USE.replace(r#""input":null"#, &format!(r#""input":{deep}"#));
    let dear = COST.replace(r#""costUsd":0.5"#, r#""costUsd":1e999"#);
    let halved = TEXT.replace("so", r"\ud800");
    assert!(deep != USE && dear != COST && halved != TEXT);
    let cases: &[&[&str]] = &[
        &[TEXT, USE, RESULT, TEXT, COST, DONE],
        &[&halved, &deep, RESULT, &dear, DONE],
        &[ERROR],
        &[COST, ERROR],
        &[USE, ERROR],
        &[COST, TEXT, DONE],
        &[USE, RESULT, USE, RESULT, COST, DONE],
        &["", TEXT, " ", COST, DONE, ""],
        &[
            r#"{"delta":"so","more":{},"type":"assistant_text"}"#,
            COST,
            DONE,
        ],
    ];
    for lines in cases {
        assert_eq!(broken(lines), [], "{lines:?}");
    }
}

#[test]
fn a_response_that_the_text_does_not_end_with_is_noted_only() {
    let other = r#"{"type":"done","response":"other","transcript":[]}"#;
    let (stream, broken) = judged(&[TEXT, COST, other]);
    assert_eq!(broken, []);
    assert_eq!(stream.note().map(|(line, _)| line), Some(3));
    assert_eq!(judged(&[COST, other]).0.note(), None);
    assert_eq!(judged(&[TEXT, COST, DONE]).0.note(), None);
}

#[test]
fn only_what_the_stream_has_counts_as_exercised() {
    let (stream, _) = judged(&[TEXT, ERROR]);
    assert!(stream.exercised(ENDS_ONCE) && stream.exercised(MEMBERS));
    assert!(!stream.exercised(RESULT_ONCE) && !stream.exercised(COST_ONCE));
    let (nothing, broken) = judged(&["", ""]);
    assert!(broken.is_empty() && nothing.events() == 0 && !nothing.exercised(KNOWN_TYPE));
}

#[test]
fn of_a_long_text_only_its_end_is_kept() {
    let mut stream = EventStream::new(EventRevision::Document);
    (0..5).for_each(|_| stream.keep(&"é".repeat(TAIL / 2)));
    stream.keep("so");
    assert!(stream.text.len() <= 2 * TAIL && !stream.text_is_whole);
    stream.response("éso");
    assert_eq!(stream.note(), None);
    stream.response("other");
    assert!(stream.note().is_some());
}
