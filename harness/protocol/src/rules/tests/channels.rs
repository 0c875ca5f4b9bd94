//! Channels of a run scope.

use super::talk::*;
use crate::wire::FrameType;

fn read() -> Vec<u8> {
    word(READ, r#"{"path":["a"]}"#)
}

#[test]
fn an_answer_nobody_asked_for() {
    let mut talk = Talk::running();
    talk.answered(4, [0]);
    talk.ended(4);
    talk.breaks(&["channel.answer-without-request"; 2]);
}

#[test]
fn something_after_a_channels_finish() {
    let mut talk = Talk::running();
    talk.asks(4, read());
    talk.served(4, [0]);
    talk.answered(4, [0]);
    talk.ended(4);
    talk.breaks(&["channel.finished-once"; 2]);
}

#[test]
fn an_unreadable_channel_request_is_answered() {
    for payload in [
        &[][..],
        &[200],
        &[READ, b'{'],
        &[5, 0, 0, 1],
        &[DEQUEUE, b'[', b']'],
    ] {
        let mut talk = Talk::running();
        talk.asks(4, payload);
        talk.answered(4, [1, b'0']);
        talk.ended(4);
        talk.breaks(&["channel.unreadable-finished-bare"]);
    }
}

#[test]
fn a_live_number_is_used_again() {
    let mut talk = Talk::running();
    talk.provider_sent(FrameType::ChannelRequest, (RUN, 0), [12]);
    talk.asks(0, read());
    talk.provider_sent(FrameType::ChannelRequest, (RUN, 0), [12]);
    talk.breaks(&["channel.live-number-not-reused"]);
}

#[test]
fn a_finished_number_is_used_again() {
    let mut talk = Talk::running();
    for _ in 0..2 {
        talk.provider_sent(FrameType::ChannelRequest, (RUN, 0), [12]);
        talk.client_sent(FrameType::ChannelResponse, (RUN, 0), [0]);
        talk.client_sent(FrameType::ChannelResponseFinish, (RUN, 0), "");
        talk.asks(0, read());
        talk.served(0, [0]);
    }
    talk.breaks_nothing();
}

#[test]
fn a_stop_is_answered() {
    let mut talk = Talk::running();
    talk.asks(4, [STOP]);
    talk.answered(4, [0]);
    talk.gets_finish();
    talk.breaks(&["stop.no-answer"]);
}

#[test]
fn an_early_channel_is_answered() {
    let mut talk = Talk::begins();
    talk.asks(4, read());
    talk.answered(4, [0]);
    talk.breaks(&["run.early-channels-kept"]);
}

#[test]
fn an_early_channel_is_finished() {
    let mut talk = Talk::begins();
    talk.asks(4, [200]);
    let at = talk.events();
    talk.ended(4);
    talk.proxy_says(BEGUN, "[]");
    talk.gets(0, ID);
    let violations = talk.violations();
    assert_eq!(violations.len(), 1, "{violations:#?}");
    assert_eq!(
        violations[0].requirement.as_str(),
        "run.early-channels-kept"
    );
    assert_eq!(violations[0].seq, at);
}

#[test]
fn an_early_channel_may_end_with_a_run_that_fails() {
    let mut talk = Talk::begins();
    talk.asks(4, read());
    talk.proxy_says(PROXY_ERROR, "{}");
    talk.ended(4);
    talk.gets(6, "1");
    talk.gets_finish();
    talk.breaks_nothing();
}

#[test]
fn a_request_that_met_the_channels_finish_on_its_way_is_a_new_one() {
    let mut talk = Talk::running();
    talk.asks(4, read());
    talk.asks(4, read());
    talk.served(4, [0]);
    talk.served(4, [0]);
    talk.breaks_nothing();
}
