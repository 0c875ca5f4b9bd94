//! Scopes: one finish, silence after it, reuse, duplicates.

use super::talk::*;
use crate::transcript::{LinkId, Role, RunRef};
use crate::wire::{FrameType, credential_payload};

#[test]
fn a_second_finish() {
    let mut talk = Talk::running();
    talk.stops();
    talk.gets_finish();
    talk.breaks(&["scope.finished-once"]);
}

#[test]
fn a_response_after_the_finish() {
    let mut talk = Talk::running();
    talk.stops();
    talk.gets(8, "");
    talk.breaks(&["scope.silent-after-finish"]);
}

#[test]
fn channel_frames_after_the_finish() {
    let mut talk = Talk::running();
    talk.asks(5, word(READ, r#"{"path":[]}"#));
    talk.stops();
    talk.answered(5, [0]);
    talk.ended(5);
    talk.provider_sent(FrameType::ChannelRequest, (RUN, 0), [0]);
    talk.breaks(&["channel.ended-by-scope-finish"; 3]);
}

#[test]
fn a_number_serves_again() {
    let mut talk = Talk::running();
    talk.stops();
    talk.request(RUN, &request("null"));
    talk.proxy_link(Some(RunRef {
        generation: 1,
        ..run()
    }));
    talk.begin(&begin_request("null"));
    talk.proxy_says(BEGUN, "[]");
    talk.gets(0, r#"{"id":"a3c0e1d7-1f2b-4c44-8f0e-9b7a6c5d4e3f"}"#);
    talk.stops();
    talk.request(RUN, &[]);
    talk.gets_finish();
    talk.breaks_nothing();
}

#[test]
fn a_duplicate_is_served_once_the_scope_is_finished() {
    let mut talk = Talk::running();
    talk.request(RUN, &request("null"));
    talk.stops();
    talk.proxy_link(Some(RunRef {
        generation: 1,
        ..run()
    }));
    talk.begin(&begin_request("null"));
    talk.breaks(&["scope.duplicate-ignored"]);
}

#[test]
fn a_duplicate_gets_an_id() {
    let mut talk = Talk::running();
    talk.request(RUN, &request(ARGUMENTS));
    talk.gets(0, r#"{"id":"a3c0e1d7-1f2b-4c44-8f0e-9b7a6c5d4e3f"}"#);
    talk.breaks(&["scope.duplicate-ignored"]);
}

#[test]
fn a_duplicate_gets_a_finish() {
    let mut talk = Talk::running();
    talk.request(RUN, &[]);
    talk.gets_finish();
    talk.breaks(&["scope.duplicate-ignored"]);
}

#[test]
fn a_duplicate_gets_a_finish_after_the_first() {
    let mut talk = Talk::running();
    talk.request(RUN, &request(ARGUMENTS));
    talk.stops();
    talk.gets_finish();
    talk.breaks(&["scope.duplicate-ignored"]);
}

#[test]
fn a_duplicate_gets_a_proxy_connection() {
    let duplicate = RunRef {
        generation: 1,
        ..run()
    };
    for reference in [Some(duplicate), Some(run()), None] {
        let mut talk = Talk::running();
        talk.request(RUN, &request(ARGUMENTS));
        talk.proxy_link(reference);
        talk.begin(&begin_request(ARGUMENTS));
        let broken = if reference.is_none() {
            "begin.one-connection"
        } else {
            "scope.duplicate-ignored"
        };
        talk.breaks(&[broken]);
    }
}

#[test]
fn a_duplicate_before_the_id_gets_a_proxy_connection() {
    let mut talk = Talk::begins();
    talk.request(RUN, &request(ARGUMENTS));
    talk.proxy_says(BEGUN, "[]");
    let at = talk.events();
    talk.proxy_link(Some(run()));
    talk.begin(&begin_request(ARGUMENTS));
    talk.gets(0, ID);
    let violations = talk.violations();
    assert_eq!(violations.len(), 1, "{violations:#?}");
    assert_eq!(
        violations[0].requirement.as_str(),
        "scope.duplicate-ignored"
    );
    assert_eq!(violations[0].seq, at);
}

#[test]
fn an_ignored_duplicate_changes_nothing() {
    let mut talk = Talk::begins();
    talk.request(RUN, &request("[]"));
    talk.proxy_says(BEGUN, "[]");
    talk.gets(0, ID);
    talk.request(RUN, &[9]);
    talk.proxy_says(PROXY_ACTIVE, "");
    talk.gets(8, "");
    talk.stops();
    talk.breaks_nothing();
}

#[test]
fn a_request_that_met_the_finish_on_its_way_is_a_new_one() {
    let mut talk = Talk::running();
    talk.asks(99, [STOP]);
    talk.request(RUN, &request("null"));
    talk.gets_finish();
    talk.proxy_link(Some(RunRef {
        generation: 1,
        ..run()
    }));
    talk.begin(&begin_request("null"));
    talk.proxy_says(BEGUN, "[]");
    talk.gets(0, r#"{"id":"a3c0e1d7-1f2b-4c44-8f0e-9b7a6c5d4e3f"}"#);
    talk.stops();
    talk.breaks_nothing();
}

#[test]
fn numbers_belong_to_connections() {
    let mut talk = Talk::looping();
    let other = talk.client_link("other");
    talk.frame(
        other,
        Role::Client,
        FrameType::Authorization,
        (0, 0),
        credential_payload(""),
    );
    talk.frame(
        other,
        Role::Client,
        FrameType::Request,
        (RUN, 0),
        request("7"),
    );
    talk.frame(
        other,
        Role::Provider,
        FrameType::Response,
        (RUN, 0),
        [6, b'1'],
    );
    talk.frame(
        other,
        Role::Provider,
        FrameType::ResponseFinish,
        (RUN, 0),
        "",
    );
    assert_eq!(other, LinkId(2));
    assert!(talk.loop_open());
    talk.breaks_nothing();
}

#[test]
fn the_end_of_another_connection_ends_a_run() {
    let mut talk = Talk::silent();
    let other = talk.client_link("other");
    talk.credential();
    talk.request(RUN, &request(ARGUMENTS));
    talk.proxy_link(Some(run()));
    talk.begin(&begin_request(ARGUMENTS));
    talk.proxy_says(BEGUN, "[]");
    talk.gets(0, ID);
    talk.at(other, Role::Client, crate::transcript::What::Closed);
    talk.gets_finish();
    talk.breaks(&["scope.connections-independent"]);
}
