//! What a provider may do as it likes.

use super::talk::*;
use crate::transcript::{Role, What};
use crate::wire::FrameType;

#[test]
fn one_run_with_every_freedom() {
    let mut talk = Talk::new();
    talk.request(RUN, &request(ARGUMENTS));
    talk.provider_sent(FrameType::ChannelRequest, (RUN, 7), word(2, "{}"));
    talk.client_sent(FrameType::ChannelResponse, (RUN, 7), [1]);
    talk.client_sent(FrameType::ChannelResponseFinish, (RUN, 7), "");
    talk.asks(1, enqueue("early"));
    talk.proxy_link(None);
    talk.begin(&word(0, format!(" {{\"arguments\":{ARGUMENTS}}}")));
    talk.proxy_says(BEGUN, "[]");
    talk.proxy_says(PROXY_CHUNK, "\"outside, dropped\"");
    talk.proxy_says(PROXY_CHUNK, "\"outside, relayed\"");
    talk.gets(
        0,
        r#"{"id":"6f1b0c52-62c2-4b7e-9a59-0d1f4b8f6a10","more":[1]}"#,
    );
    talk.gets(7, "\"outside, relayed\"");
    talk.carries(5, carried(&enqueue("early"), BEGIN_ENQUEUE));
    for round in 0..3 {
        assert!(!talk.loop_open());
        talk.proxy_says(PROXY_ACTIVE, "");
        let chunks = ["{}", "{}", "{ \"type\" : \"active\" }", "no JSON", ""];
        for chunk in chunks {
            talk.proxy_says(PROXY_CHUNK, chunk);
        }
        talk.proxy_says(PROXY_INACTIVE, format!("{{\"round\" :{round}}}"));
        talk.gets(8, "");
        assert!(talk.loop_open());
        for chunk in chunks {
            talk.gets(7, chunk);
        }
        talk.gets(9, format!("{{\"round\" :{round}}}"));
    }
    talk.proxy_answers(5, [0]);
    talk.served(1, [0]);
    talk.provider_sent(FrameType::ChannelRequest, (RUN, 7), [8]);
    talk.proxy_sent(FrameType::ChannelRequest, (BEGIN, 1), [2]);
    talk.provider_sent(FrameType::ChannelRequest, (RUN, 1), word(7, "k"));
    talk.proxy_says(PROXY_ACTIVE, "");
    talk.proxy_says(PROXY_CHUNK, "{}");
    talk.gets(8, "");
    talk.asks(0, [STOP, 1, 2, 3]);
    talk.gets(7, "{}");
    talk.ended(0);
    talk.gets_finish();
    talk.breaks_nothing();
}

#[test]
fn a_stop_before_the_id() {
    let mut talk = Talk::begins();
    talk.asks(0, [STOP]);
    talk.gets_finish();
    talk.breaks_nothing();

    let mut talk = Talk::begins();
    talk.asks(0, [STOP]);
    talk.proxy_says(BEGUN, "[]");
    talk.gets(0, ID);
    talk.ended(0);
    talk.gets_finish();
    talk.breaks_nothing();

    let mut talk = Talk::begins();
    talk.asks(0, [STOP]);
    talk.ended(0);
    talk.gets_finish();
    talk.breaks_nothing();
}

#[test]
fn a_proxy_that_fails_before_the_id() {
    for answer in [None, Some("1")] {
        let mut talk = Talk::begins();
        talk.proxy_says(PROXY_ERROR, "{}");
        if let Some(error) = answer {
            talk.gets(6, error);
        }
        talk.gets_finish();
        talk.breaks_nothing();
    }
    let mut talk = Talk::begins();
    talk.proxy_says(BEGUN, "[]");
    talk.proxy_says(PROXY_ERROR, "{}");
    talk.gets(0, ID);
    talk.gets(6, "{}");
    talk.gets_finish();
    talk.breaks_nothing();
}

/// What a proxy may do out of order, and what a client may get for it.
#[test]
fn a_proxy_out_of_order() {
    let relayed = [(PROXY_CHUNK, "1"), (PROXY_INACTIVE, "{}")];
    let disorders: &[&[(u8, &str)]] = &[
        &[(PROXY_ACTIVE, ""), (PROXY_ACTIVE, "")],
        &[(PROXY_INACTIVE, "{}"), (PROXY_ACTIVE, "")],
        &[(BEGUN, "[]"), (PROXY_ACTIVE, "")],
        &[(77, ""), (PROXY_ACTIVE, "")],
    ];
    for disorder in disorders {
        for go_on in [true, false] {
            let mut talk = Talk::running();
            for (tag, body) in *disorder {
                talk.proxy_says(*tag, body);
            }
            for (tag, body) in relayed {
                talk.proxy_says(tag, body);
            }
            assert_eq!(talk.outstanding(), []);
            if go_on {
                talk.gets(8, "");
                talk.gets(7, "1");
                talk.gets(9, "{}");
                talk.stops();
            } else {
                talk.gets_finish();
            }
            talk.breaks_nothing();
        }
    }
}

#[test]
fn words_before_begun_and_after_the_error() {
    let mut talk = Talk::begins();
    talk.proxy_says(PROXY_ACTIVE, "");
    talk.proxy_says(BEGUN, "[]");
    talk.gets(0, ID);
    talk.proxy_says(PROXY_INACTIVE, "{}");
    talk.gets_finish();
    talk.breaks_nothing();

    let mut talk = Talk::looping();
    talk.proxy_says(PROXY_ERROR, "1");
    talk.proxy_says(PROXY_CHUNK, "2");
    talk.gets(6, "1");
    talk.gets_finish();
    talk.breaks_nothing();
}

#[test]
fn endings_inside_a_loop() {
    let mut talk = Talk::looping();
    talk.proxy_closes();
    talk.gets_finish();
    talk.breaks_nothing();

    let mut talk = Talk::looping();
    talk.proxy_says(PROXY_CHUNK, "2");
    talk.at(CLIENT, Role::Client, What::Closed);
    assert_eq!(talk.outstanding(), []);
    talk.gets_finish();
    talk.breaks_nothing();
}

#[test]
fn a_tap_knows_nothing_of_the_proxy() {
    let mut talk = Talk::tapped();
    talk.request(RUN, &request(ARGUMENTS));
    talk.gets(0, ID);
    talk.gets(7, "\"outside\"");
    talk.gets(8, "");
    talk.gets(7, "1");
    talk.gets(9, "{}");
    talk.asks(0, enqueue("k"));
    talk.served(0, [0]);
    talk.gets(6, "\"the proxy's\"");
    talk.gets_finish();
    talk.breaks_nothing();

    let mut talk = Talk::tapped();
    talk.request(RUN, &request(ARGUMENTS));
    talk.gets(0, ID);
    talk.gets(9, "{}");
    talk.breaks(&["run.inactive.only-in-open-loop"]);
}

#[test]
fn an_end_for_a_chunk_outside_a_loop() {
    let mut talk = Talk::running();
    talk.proxy_says(PROXY_CHUNK, "{}");
    talk.proxy_says(PROXY_ACTIVE, "");
    talk.gets_finish();
    talk.breaks_nothing();

    let mut talk = Talk::running();
    talk.proxy_says(PROXY_CHUNK, "{}");
    talk.proxy_says(PROXY_ACTIVE, "");
    talk.proxy_says(PROXY_INACTIVE, "{}");
    talk.gets(9, "{}");
    talk.breaks(&["run.active.relayed", "run.inactive.only-in-open-loop"]);
}

#[test]
fn an_active_with_bytes_that_is_taken_for_none() {
    let mut talk = Talk::running();
    talk.proxy_says(PROXY_ACTIVE, "more");
    talk.proxy_says(PROXY_CHUNK, "{}");
    talk.gets(7, "{}");
    talk.breaks_nothing();
}

/// The pages say that bytes behind a stop are ignored; of a schema request they say nothing.
#[test]
fn a_schema_request_with_bytes_behind_it() {
    let asked = word(SCHEMA, "{}");
    for carried_on in [vec![BEGIN_SCHEMA], carried(&asked, BEGIN_SCHEMA)] {
        let mut talk = Talk::running();
        talk.asks(3, asked.clone());
        talk.carries(0, carried_on);
        talk.proxy_answers(0, word(0, "true"));
        talk.served(3, word(0, "true"));
        talk.stops();
        talk.breaks_nothing();
    }
    let mut talk = Talk::running();
    talk.asks(3, asked);
    talk.ended(3);
    talk.stops();
    talk.breaks_nothing();
}
