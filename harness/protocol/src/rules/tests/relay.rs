//! From the proxy's words to the client's.

use super::talk::*;
use crate::rules::{Outstanding, OutstandingKind};

/// A loop in which the proxy said these chunks.
fn chunks(sent: &[&str]) -> Talk {
    let mut talk = Talk::looping();
    for chunk in sent {
        talk.proxy_says(PROXY_CHUNK, chunk);
    }
    talk
}

const A: &str = r#"{"type":"usage","prompt_tokens":1,"completion_tokens":2,"total_tokens":3}"#;
const B: &str = r#"{"type":"assistant_text_content","text":"beta"}"#;
const C: &str = r#"{"type":"x-unknown","deep":[1.0000000000000000000001]}"#;

#[test]
fn what_is_under_way_is_outstanding() {
    let mut talk = chunks(&[A, B]);
    let first = talk.events() - 2;
    let chunk = |seq| Outstanding {
        kind: OutstandingKind::Chunk,
        seq,
    };
    assert_eq!(talk.outstanding(), [chunk(first), chunk(first + 1)]);
    talk.gets(7, B);
    assert_eq!(
        talk.outstanding(),
        [chunk(first)],
        "an overtaken chunk is still due"
    );
    talk.gets(7, A);
    assert_eq!(talk.outstanding(), []);
    talk.breaks(&["run.chunk.in-order"]);
}

#[test]
fn an_active_is_lost() {
    let mut talk = Talk::running();
    talk.proxy_says(PROXY_ACTIVE, "");
    talk.proxy_says(PROXY_INACTIVE, "{}");
    talk.gets(9, "{}");
    talk.breaks(&["run.active.relayed", "run.inactive.only-in-open-loop"]);

    let mut talk = Talk::running();
    talk.proxy_says(PROXY_ACTIVE, "");
    talk.proxy_finishes();
    talk.gets_finish();
    talk.breaks(&["run.active.relayed"]);
}

#[test]
fn an_active_is_invented() {
    let mut talk = Talk::running();
    talk.gets(8, "");
    talk.breaks(&["run.active.not-invented"]);
}

#[test]
fn a_chunk_is_lost() {
    let mut talk = chunks(&[A, B, C]);
    talk.gets(7, A);
    talk.gets(7, C);
    talk.proxy_says(PROXY_INACTIVE, "{}");
    talk.gets(9, "{}");
    talk.breaks(&["run.chunk.relayed"]);

    let mut talk = chunks(&[A]);
    talk.proxy_says(PROXY_INACTIVE, "{}");
    talk.gets(9, "{}");
    talk.breaks(&["run.chunk.relayed"]);

    let mut talk = chunks(&[A]);
    talk.proxy_closes();
    talk.gets_finish();
    talk.breaks(&["run.chunk.relayed"]);

    let mut talk = chunks(&[A, B]);
    talk.gets(7, B);
    talk.breaks(&["run.chunk.relayed"]);
}

#[test]
fn a_chunk_is_changed() {
    for changed in [
        r#"{"type":"usage","prompt_tokens":1,"completion_tokens":2,"total_tokens":4}"#,
        r#"{"total_tokens":3,"prompt_tokens":1,"completion_tokens":2,"type":"usage"}"#,
        r#"{"type":"usage"}"#,
        r#"{"type":"usage","prompt_tokens":1,"completion_tokens":2,"total_tokens":3} "#,
    ] {
        let mut talk = chunks(&[A, B]);
        talk.gets(7, changed);
        talk.gets(7, B);
        talk.breaks(&["run.chunk.verbatim"]);
    }
    let mut talk = chunks(&["{} "]);
    talk.gets(7, "{}");
    talk.breaks(&["run.chunk.verbatim"]);
}

#[test]
fn chunks_change_places() {
    let mut talk = chunks(&[A, B, C]);
    talk.gets(7, B);
    talk.gets(7, A);
    talk.gets(7, C);
    talk.breaks(&["run.chunk.in-order"]);
}

#[test]
fn a_chunk_comes_twice() {
    let mut talk = chunks(&[A, B]);
    talk.gets(7, A);
    talk.gets(7, A);
    talk.gets(7, B);
    talk.breaks(&["run.chunk.one-response-each"]);
}

#[test]
fn a_chunk_is_cut() {
    let mut talk = chunks(&[A, B]);
    talk.gets(7, &A[..20]);
    talk.gets(7, &A[20..]);
    talk.gets(7, B);
    talk.breaks(&["run.chunk.one-response-each"]);
}

#[test]
fn chunks_are_joined() {
    let mut talk = chunks(&[A, B, C]);
    talk.gets(7, format!("{A}\n{B}"));
    talk.gets(7, C);
    talk.breaks(&["run.chunk.one-response-each"]);
}

#[test]
fn a_chunk_is_invented() {
    let mut talk = chunks(&[A]);
    talk.gets(
        7,
        r#"{"type":"notification","is_fatal":false,"message":"hello"}"#,
    );
    talk.gets(7, A);
    talk.breaks(&["run.chunk.not-invented"]);

    let mut talk = Talk::looping();
    talk.gets(7, A);
    talk.breaks(&["run.chunk.not-invented"]);
}

#[test]
fn an_inactive_is_lost() {
    let mut talk = Talk::looping();
    talk.proxy_says(PROXY_INACTIVE, "{}");
    talk.proxy_finishes();
    talk.gets_finish();
    talk.breaks(&["run.inactive.relayed"]);
}

#[test]
fn an_inactive_is_changed() {
    let mut talk = Talk::looping();
    talk.proxy_says(PROXY_INACTIVE, r#"{ "token" : "hunter2" }"#);
    talk.gets(9, r#"{"token":"hunter2"}"#);
    let violations = talk.violations();
    assert_eq!(violations.len(), 1);
    assert_eq!(violations[0].requirement.as_str(), "run.inactive.verbatim");
    assert!(!format!("{violations:?}").contains("hunter2"));
}

#[test]
fn an_inactive_is_invented() {
    let mut talk = Talk::looping();
    talk.gets(9, "{}");
    talk.breaks(&["run.inactive.not-invented"]);
}

#[test]
fn a_program_speaks_the_proxys_words() {
    let mut talk = chunks(&[r#"{"type":"inactive"}"#]);
    talk.gets(9, "{}");
    talk.breaks(&["run.words-not-forged"]);

    let mut talk = chunks(&[r#"{"type":"active"}"#]);
    talk.gets(8, "");
    talk.breaks(&["run.words-not-forged", "run.active.not-in-open-loop"]);

    let mut talk = chunks(&[r#"{"secret":1}"#]);
    talk.gets(9, r#"{"secret":1}"#);
    talk.breaks(&["run.words-not-forged"]);
}

#[test]
fn an_error_is_lost() {
    let mut talk = Talk::looping();
    talk.proxy_says(PROXY_ERROR, "{}");
    talk.proxy_finishes();
    talk.gets_finish();
    talk.breaks(&["run.error.relayed"]);
}

#[test]
fn an_error_is_changed() {
    let mut talk = Talk::looping();
    talk.proxy_says(PROXY_ERROR, r#"{"secret": "token"}"#);
    talk.proxy_finishes();
    talk.gets(6, r#"{"secret":"token"}"#);
    talk.gets_finish();
    talk.breaks(&["run.error.verbatim"]);
}

#[test]
fn an_error_is_invented() {
    let mut talk = Talk::running();
    talk.proxy_closes();
    talk.gets(6, "\"gone\"");
    talk.gets_finish();
    talk.breaks(&["run.error.only-from-proxy"]);
}

#[test]
fn a_cut_connection_owes_nothing() {
    let mut talk = chunks(&[A]);
    talk.lossy();
    talk.proxy_closes();
    assert_eq!(talk.outstanding(), []);
    talk.gets_finish();
    talk.breaks_nothing();
}

#[test]
fn a_flood_is_followed_as_far_as_it_goes() {
    let mut talk = Talk::looping();
    for chunk in 0..70_000 {
        talk.proxy_says(PROXY_CHUNK, format!("{{\"n\":{chunk}}}"));
    }
    for chunk in 0..70_000 {
        talk.gets(7, format!("{{\"n\":{chunk}}}"));
    }
    talk.breaks_nothing();
}
