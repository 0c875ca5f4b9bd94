//! Loops on their way to the host.

use super::Broken;
use super::talk::*;
use crate::rules::OutstandingKind;
use crate::transcript::AgentCall;

const FATAL: &str = r#"{"type":"notification","is_fatal":true,"message":1}"#;

/// A loop with these events.
fn events(talk: &mut Talk, events: &[&str]) -> crate::transcript::LinkId {
    let run = talk.looping();
    for data in events {
        talk.event(run, data);
    }
    run
}

pub const BROKEN: &[Broken] = &[
    ("proxy.loop.active-first", |talk| {
        let run = talk.asked();
        talk.streams(run);
        talk.event(run, "1");
        talk.gets(CHUNK, "1");
        talk.gets(ACTIVE, "");
    }),
    ("proxy.loop.active-first", |talk| {
        let run = talk.asked();
        talk.streams(run);
        talk.rests(run);
    }),
    ("proxy.loop.active-not-invented", |talk| {
        let run = talk.asked();
        talk.gets(ACTIVE, "");
        talk.streams(run);
        talk.event(run, "1");
        talk.gets(CHUNK, "1");
        talk.rests(run);
    }),
    ("proxy.loop.active-bare", |talk| {
        let run = talk.asked();
        talk.streams(run);
        talk.gets(ACTIVE, "{}");
    }),
    ("proxy.loop.chunk-each", |talk| {
        let run = events(talk, &["1", "2"]);
        talk.gets(CHUNK, "1");
        talk.rests(run);
    }),
    ("proxy.loop.chunk-each", |talk| {
        let run = events(talk, &["1", "2"]);
        talk.gets(CHUNK, "2");
        talk.rests(run);
    }),
    ("proxy.loop.chunk-each", |talk| {
        let run = events(talk, &["1", "2"]);
        talk.gets(CHUNK, "1");
        talk.gets(CHUNK, "1");
        talk.gets(CHUNK, "2");
        talk.rests(run);
    }),
    ("proxy.loop.chunk-each", |talk| {
        let run = events(talk, &["1", "2"]);
        for chunk in ["1", "9", "2"] {
            talk.gets(CHUNK, chunk);
        }
        talk.rests(run);
    }),
    ("proxy.loop.chunk-each", |talk| {
        events(talk, &[]);
        talk.gets(CHUNK, "1");
    }),
    ("proxy.loop.chunk-verbatim", |talk| {
        let run = events(talk, &[r#"{"a": 1}"#]);
        talk.gets(CHUNK, r#"{"a":1}"#);
        talk.rests(run);
    }),
    ("proxy.loop.chunk-verbatim", |talk| {
        let run = events(talk, &["[1,2]", "3"]);
        talk.gets(CHUNK, "[1,2");
        talk.gets(CHUNK, "3");
        talk.rests(run);
    }),
    ("proxy.loop.chunk-order", |talk| {
        let run = events(talk, &["1", "2"]);
        talk.gets(CHUNK, "2");
        talk.gets(CHUNK, "1");
        talk.rests(run);
    }),
    ("proxy.loop.chunk-inside", |talk| {
        let run = events(talk, &["1"]);
        talk.gets(CHUNK, "1");
        talk.rests(run);
        talk.gets(CHUNK, "1");
    }),
    ("proxy.loop.inactive-last", |talk| {
        events(talk, &["1"]);
        talk.gets(CHUNK, "1");
        talk.gets(INACTIVE, "{}");
    }),
    ("proxy.loop.inactive-values", |talk| {
        let run = talk.looping();
        talk.over(run);
        talk.gets(INACTIVE, "[]");
    }),
    ("proxy.loop.inactive-empty", |talk| {
        let run = talk.looping();
        talk.over(run);
        talk.gets(INACTIVE, r#"{"a":1}"#);
    }),
    ("proxy.loop.alternate", |talk| {
        talk.looping();
        talk.gets(ACTIVE, "");
    }),
    ("proxy.loop.alternate", |talk| {
        let run = talk.looping();
        talk.rests(run);
        talk.gets(INACTIVE, "{}");
    }),
    ("proxy.loop.alternate", |talk| {
        let run = talk.looping();
        talk.over(run);
        talk.enqueues(2, "b");
        let run = talk.calls(AgentCall::Run, run_of(&["b"]));
        talk.streams(run);
        talk.gets(ACTIVE, "");
        talk.rests(run);
    }),
    ("proxy.loop.not-forged", |talk| {
        let run = events(talk, &[r#"{"type":"active"}"#]);
        talk.gets(ACTIVE, "");
        talk.rests(run);
    }),
    ("proxy.loop.not-forged", |talk| {
        let run = events(talk, &[r#"{"type":"inactive"}"#, "2"]);
        talk.gets(INACTIVE, "");
        talk.gets(CHUNK, "2");
        talk.rests(run);
    }),
    ("proxy.loop.not-forged", |talk| {
        events(talk, &[r#"{"type":"error"}"#]);
        talk.gets(ERROR, r#"{"type":"error"}"#);
    }),
    ("proxy.loop.not-forged", |talk| {
        events(talk, &["4"]);
        talk.gets(b'4', "");
    }),
    ("proxy.loop.broken-stream", |talk| {
        let run = talk.looping();
        talk.breaks_off(run);
        talk.gets(ERROR, r#"{"kind":"loop"}"#);
        talk.finishes(BEGIN);
    }),
    ("proxy.loop.not-forged", |talk| {
        events(talk, &["\u{3}"]);
        talk.gets(ACTIVE, "");
    }),
    ("proxy.loop.malformed-data", |talk| {
        events(talk, &["{"]);
        talk.closes(talk.host);
    }),
    ("proxy.loop.broken-stream", |talk| {
        let run = talk.looping();
        talk.breaks_off(run);
        talk.closes(talk.host);
    }),
    ("proxy.loop.fatal-notification", |talk| {
        let run = events(talk, &[FATAL]);
        talk.gets(CHUNK, FATAL);
        talk.over(run);
        talk.gets(ERROR, "1");
        talk.finishes(BEGIN);
    }),
];

#[test]
fn what_must_still_come_is_told() {
    let mut talk = Talk::scope();
    let run = talk.asked();
    assert_eq!(talk.outstanding(), []);
    talk.streams(run);
    talk.event(run, "1");
    talk.event(run, "no JSON");
    talk.over(run);
    let kinds = |talk: &Talk| {
        talk.outstanding()
            .into_iter()
            .map(|it| it.kind)
            .collect::<Vec<_>>()
    };
    let all = [
        OutstandingKind::Active,
        OutstandingKind::Chunk,
        OutstandingKind::Inactive,
    ];
    assert_eq!(kinds(&talk), all);
    talk.gets(ACTIVE, "");
    assert_eq!(kinds(&talk), all[1..]);
    talk.gets(CHUNK, "1");
    assert_eq!(kinds(&talk), all[2..]);
    talk.gets(INACTIVE, "{}");
    assert_eq!(kinds(&talk), []);
    talk.serves(1, DELIVERED);
    talk.breaks_nothing();
}
