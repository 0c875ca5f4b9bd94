//! What a proxy may do.

use super::talk::*;
use crate::transcript::{AgentCall, LinkKind, Role, What};
use crate::wire::FrameType;

#[track_caller]
fn free(speak: fn(&mut Talk)) {
    let mut talk = Talk::scope();
    speak(&mut talk);
    talk.breaks_nothing();
}

#[test]
fn two_loops_a_schema_and_an_idle_dequeue() {
    free(|talk| {
        let run = talk.looping();
        talk.event(run, r#"{"type":"active"}"#);
        talk.gets(CHUNK, r#"{"type":"active"}"#);
        talk.rests(run);
        talk.asks(2, [1]);
        let schema = talk.calls(AgentCall::Schema, "");
        talk.replies(schema, 200, r#"{"a":1}"#);
        talk.serves(2, word(0, r#"{ "a" : 1 }"#));
        talk.dequeues(2, "x");
        talk.serves(2, [1]);
        talk.enqueues(3, "b");
        let run = talk.calls(AgentCall::Run, run_of(&["b"]));
        talk.streams(run);
        talk.gets(ACTIVE, "");
        talk.over(run);
        talk.gets(INACTIVE, "");
        talk.serves(3, DELIVERED);
        talk.at(talk.host, Role::Provider, What::Closed);
        talk.closes(talk.host);
    });
}

#[test]
fn a_further_connection_is_turned_away_by_409() {
    free(|talk| {
        talk.begun();
        for over in [false, true] {
            if over {
                talk.at(talk.host, Role::Provider, What::Closed);
            }
            let link = talk.link(LinkKind::Begin);
            talk.at(link, Role::Proxy, What::Refused { status: Some(409) });
        }
    });
}

#[test]
fn an_authorization_ends_the_connection_behind_what_was_under_way() {
    free(|talk| {
        let run = talk.looping();
        talk.event(run, "1");
        talk.host_sends(FrameType::Authorization, (0, 0), [0]);
        talk.gets(CHUNK, "1");
        talk.closes(talk.host);
    });
}

#[test]
fn requests_that_nobody_can_read_get_the_bare_finish() {
    free(|talk| {
        talk.opens();
        for payload in [&b""[..], &[99], b"\0{", b"\0[1]"] {
            talk.requests(9, payload);
            talk.finishes(9);
        }
        let register = talk.registering();
        talk.replies(register, 200, "{}");
        talk.gets(BEGUN, "[]");
        talk.asks(1, "");
        talk.ends(1);
        talk.asks(1, word(3, "{}"));
        talk.ends(1);
    });
}

#[test]
fn a_list_is_told_as_it_was_declared() {
    for (declared, list) in [
        (r#"{"dependencies":[{"a":1},2]}"#, r#"[{ "a":1 }, 2]"#),
        (r#"{"tools":[1]}"#, "[1]"),
        (r#"{"tools":[1]}"#, "[]"),
        (r#"{"dependencies":[]}"#, "[]"),
    ] {
        let mut talk = Talk::scope();
        let register = talk.registering();
        talk.replies(register, 201, declared);
        talk.gets(BEGUN, list);
        talk.breaks_nothing();
    }
}

#[test]
fn a_begin_after_a_refusal_has_two_readings() {
    for (again, renumbered) in [(true, true), (true, false), (false, true), (false, false)] {
        let mut talk = Talk::scope();
        let register = talk.registering();
        talk.replies(register, 400, REFUSAL);
        talk.gets(ERROR, REFUSAL);
        talk.finishes(BEGIN);
        let scope = if renumbered { 9 } else { BEGIN };
        talk.begins(scope, "2");
        if again {
            let register = talk.calls(AgentCall::Register, r#"{"arguments":2}"#);
            talk.replies(register, 200, "{}");
            talk.says(scope, BEGUN, "[]");
        } else {
            talk.says(scope, ERROR, "1");
            talk.finishes(scope);
        }
        talk.breaks_nothing();
    }
}

#[test]
fn a_second_begin_is_refused_and_the_first_goes_on() {
    free(|talk| {
        let run = talk.looping();
        talk.begins(9, "2");
        talk.says(9, ERROR, r#"{"kind":"begun"}"#);
        talk.finishes(9);
        talk.rests(run);
    });
}

#[test]
fn an_agent_server_that_is_not_there_makes_errors_without_a_call() {
    free(|talk| {
        talk.agent_server_leaves();
        talk.opens();
        talk.begins(BEGIN, "1");
        talk.gets(ERROR, "1");
        talk.finishes(BEGIN);
    });
    free(|talk| {
        talk.begun();
        talk.agent_server_leaves();
        talk.enqueues(1, "a");
        talk.asks(2, [1]);
        talk.serves(1, word(2, "1"));
        talk.serves(2, word(1, "1"));
        talk.agent_server_returns();
        talk.enqueues(1, "b");
        let run = talk.calls(AgentCall::Run, run_of(&["b"]));
        talk.streams(run);
    });
}

#[test]
fn an_event_that_is_no_json_may_be_left_out() {
    for relayed in [true, false] {
        let mut talk = Talk::scope();
        let run = talk.looping();
        for data in ["1", "{", "2"] {
            talk.event(run, data);
            if relayed || data != "{" {
                talk.gets(CHUNK, data);
            }
        }
        talk.rests(run);
        talk.breaks_nothing();
    }
}

#[test]
fn a_stream_that_breaks_off_may_lose_what_was_under_way() {
    free(|talk| {
        let run = talk.looping();
        talk.event(run, "1");
        talk.event(run, "2");
        talk.breaks_off(run);
        talk.gets(CHUNK, "1");
        talk.gets(INACTIVE, "{}");
    });
}

#[test]
fn secrets_that_cannot_be_collected_are_told_in_place_of_an_inactive() {
    free(|talk| {
        let run = talk.looping();
        talk.event(run, "1");
        talk.over(run);
        talk.gets(CHUNK, "1");
        talk.gets(ERROR, r#"{"kind":"secret"}"#);
        talk.finishes(BEGIN);
    });
}

#[test]
fn a_run_may_be_answered_whole() {
    free(|talk| {
        let run = talk.asked();
        talk.replies(run, 200, "data: 1\n\n");
        talk.gets(ACTIVE, "");
        talk.serves(1, DELIVERED);
        talk.gets(CHUNK, "1");
        talk.gets(INACTIVE, "{}");
    });
}

#[test]
fn a_run_takes_what_the_proxy_had_when_it_was_made() {
    for taken in [&["a"][..], &["a", "b"]] {
        let mut talk = Talk::scope();
        talk.begun();
        talk.enqueues(1, "a");
        talk.enqueues(2, "b");
        talk.calls(AgentCall::Run, run_of(taken));
        talk.breaks_nothing();
    }
}

#[test]
fn messages_are_offered_one_by_one_and_told_their_fates() {
    free(|talk| {
        let (run, offer) = talk.offering();
        talk.enqueues(3, "c");
        talk.replies(offer, 200, r#"{"type":"delivered"}"#);
        let offer = talk.calls(AgentCall::Enqueue, message("c"));
        talk.serves(2, DELIVERED);
        talk.replies(offer, 400, REFUSAL);
        talk.serves(3, refused());
        talk.enqueues(2, "d");
        let offer = talk.calls(AgentCall::Enqueue, message("d"));
        talk.replies(offer, 200, r#"{"type":"dequeued"}"#);
        talk.serves(2, DEQUEUED);
        talk.rests(run);
    });
}

#[test]
fn messages_that_a_loop_left_go_into_the_next_run() {
    for (status, body) in [(200, r#"{"type":"missed"}"#), (200, "?"), (503, "")] {
        // Whether the end of the loop or the answer comes in first is not known, so the run may be without it once.
        for skipped in [false, true] {
            let mut talk = Talk::scope();
            let (run, offer) = talk.offering();
            talk.enqueues(3, "c");
            talk.replies(offer, status, body);
            talk.over(run);
            talk.gets(INACTIVE, "{}");
            if skipped {
                let run = talk.calls(AgentCall::Run, run_of(&["c"]));
                talk.streams(run);
                talk.gets(ACTIVE, "");
                talk.serves(3, DELIVERED);
                talk.rests(run);
                talk.calls(AgentCall::Run, run_of(&["b"]));
            } else {
                let run = talk.calls(AgentCall::Run, run_of(&["b", "c"]));
                talk.streams(run);
                talk.serves(3, DELIVERED);
                talk.serves(2, DELIVERED);
            }
            talk.breaks_nothing();
        }
    }
}

#[test]
fn an_offer_may_cross_the_end_of_its_loop() {
    free(|talk| {
        let run = talk.looping();
        talk.enqueues(2, "b");
        talk.over(run);
        let offer = talk.calls(AgentCall::Enqueue, message("b"));
        talk.replies(offer, 200, r#"{"type":"missed"}"#);
        talk.gets(INACTIVE, "{}");
        let run = talk.calls(AgentCall::Run, run_of(&["b"]));
        talk.streams(run);
        talk.gets(ACTIVE, "");
        talk.serves(2, DELIVERED);
    });
}

#[test]
fn a_dequeue_withdraws_what_waits_and_what_is_offered() {
    free(|talk| {
        let (run, offer) = talk.offering();
        talk.enqueues(3, "b");
        talk.enqueues(4, "c");
        talk.dequeues(5, "b");
        let call = talk.calls(AgentCall::Dequeue, r#"{"key":"b"}"#);
        talk.serves(3, DEQUEUED);
        talk.replies(call, 200, r#"{"type":"empty"}"#);
        talk.serves(5, [0]);
        talk.replies(offer, 200, r#"{"type":"missed"}"#);
        talk.serves(2, DEQUEUED);
        talk.over(run);
        talk.gets(INACTIVE, "{}");
        talk.calls(AgentCall::Run, run_of(&["c"]));
    });
}

#[test]
fn a_dequeue_while_a_run_is_being_started_has_every_reading() {
    for (asks, withdrawn) in [(false, true), (false, false), (true, true), (true, false)] {
        let mut talk = Talk::scope();
        let run = talk.asked();
        talk.dequeues(5, "a");
        if asks {
            let call = talk.calls(AgentCall::Dequeue, r#"{"key":"a"}"#);
            talk.replies(call, 200, r#"{"type":"empty"}"#);
        }
        talk.serves(5, [u8::from(!withdrawn)]);
        if withdrawn {
            talk.serves(1, DEQUEUED);
        }
        talk.streams(run);
        if !withdrawn {
            talk.serves(1, DELIVERED);
        }
        talk.breaks_nothing();
    }
}

#[test]
fn a_dequeue_that_fails_is_answered_by_an_error() {
    free(|talk| {
        talk.looping();
        for status in [500, 200] {
            talk.dequeues(5, "x");
            let call = talk.calls(AgentCall::Dequeue, r#"{"key":"x"}"#);
            talk.replies(call, status, "?");
            talk.serves(5, word(2, "1"));
        }
    });
}

#[test]
fn duplicates_and_other_parties_numbers_change_nothing() {
    free(|talk| {
        let run = talk.asked();
        talk.enqueues(1, "b");
        talk.requests(BEGIN, [99]);
        talk.host_sends(FrameType::ChannelResponse, (BEGIN, 1), "");
        talk.host_sends(FrameType::ChannelRequest, (99, 1), [1]);
        talk.raw(&[9; 12]);
        talk.streams(run);
        talk.gets(ACTIVE, "");
        talk.serves(1, DELIVERED);
        talk.rests(run);
    });
    // The number may have been free again by the time that the second request was read.
    free(|talk| {
        let run = talk.asked();
        talk.enqueues(1, "b");
        talk.streams(run);
        talk.serves(1, DELIVERED);
        talk.gets(ACTIVE, "");
        let offer = talk.calls(AgentCall::Enqueue, message("b"));
        talk.replies(offer, 200, r#"{"type":"delivered"}"#);
        talk.serves(1, DELIVERED);
    });
}

#[test]
fn what_is_asked_before_begun_is_served_or_not() {
    for served in [true, false] {
        let mut talk = Talk::scope();
        let register = talk.registering();
        talk.enqueues(1, "a");
        talk.replies(register, 200, "{}");
        talk.gets(BEGUN, "[]");
        if served {
            let run = talk.calls(AgentCall::Run, run_of(&["a"]));
            talk.streams(run);
            talk.serves(1, DELIVERED);
            talk.gets(ACTIVE, "");
        } else {
            talk.ends(1);
        }
        talk.breaks_nothing();
    }
}
