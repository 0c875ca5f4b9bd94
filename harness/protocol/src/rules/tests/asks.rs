//! Enqueue, dequeue and schema.

use super::talk::*;
use crate::rules::{Outstanding, OutstandingKind};

const WITHDRAW: &str = r#"{"key":"k"}"#;

/// A run in which the client enqueued a message and the provider carried it on.
fn enqueued() -> Talk {
    let mut talk = Talk::running();
    talk.asks(3, enqueue("k"));
    talk.carries(70, carried(&enqueue("k"), BEGIN_ENQUEUE));
    talk
}

#[test]
fn an_enqueue_is_changed() {
    let mut talk = Talk::running();
    talk.asks(3, enqueue("k"));
    talk.carries(0, carried(&enqueue("l"), BEGIN_ENQUEUE));
    talk.proxy_answers(0, [0]);
    talk.served(3, [0]);
    talk.breaks(&["enqueue.request-relayed"]);
}

#[test]
fn an_enqueue_is_answered_without_the_proxy() {
    let mut talk = Talk::running();
    talk.asks(3, enqueue("k"));
    talk.served(3, [0]);
    talk.breaks(&["enqueue.request-relayed"]);

    let mut talk = Talk::running();
    talk.asks(3, enqueue("k"));
    talk.ended(3);
    talk.breaks(&["enqueue.request-relayed"]);
}

#[test]
fn an_enqueue_is_carried_on_twice_or_without_a_client() {
    let mut talk = enqueued();
    talk.carries(71, carried(&enqueue("k"), BEGIN_ENQUEUE));
    talk.breaks(&["enqueue.request-relayed"]);

    let mut talk = Talk::running();
    talk.carries(71, carried(&enqueue("k"), BEGIN_ENQUEUE));
    talk.breaks(&["enqueue.request-relayed"]);
}

#[test]
fn an_answer_is_lost() {
    let mut talk = enqueued();
    talk.proxy_answers(70, [0]);
    let seq = talk.events() - 2;
    assert_eq!(
        talk.outstanding(),
        [Outstanding {
            kind: OutstandingKind::Answer,
            seq
        }]
    );
    talk.ended(3);
    assert_eq!(talk.outstanding(), []);
    talk.breaks(&["enqueue.answer-relayed"]);
}

#[test]
fn an_answer_comes_twice() {
    let mut talk = enqueued();
    talk.proxy_answers(70, [0]);
    talk.answered(3, [0]);
    talk.answered(3, [0]);
    talk.ended(3);
    talk.breaks(&["enqueue.answer-relayed"]);
}

#[test]
fn an_answer_is_changed() {
    let mut talk = enqueued();
    talk.proxy_answers(70, word(2, "{ }"));
    talk.served(3, word(2, "{}"));
    talk.breaks(&["enqueue.answer-verbatim"]);
}

#[test]
fn an_answer_comes_before_the_proxys() {
    let mut talk = enqueued();
    talk.served(3, word(2, "\"late\""));
    talk.breaks(&["enqueue.late-answer"]);

    let mut talk = enqueued();
    talk.ended(3);
    talk.breaks(&["enqueue.late-answer"]);
}

#[test]
fn an_unserved_enqueue_is_answered() {
    let mut talk = enqueued();
    talk.proxy_ends(70);
    talk.served(3, word(2, "\"unserved\""));
    talk.breaks(&["enqueue.unserved"]);
}

#[test]
fn answers_change_places() {
    let mut talk = enqueued();
    talk.asks(4, enqueue("l"));
    talk.carries(71, carried(&enqueue("l"), BEGIN_ENQUEUE));
    talk.proxy_answers(71, [1]);
    talk.served(3, [1]);
    talk.breaks(&["enqueue.many"]);
}

#[test]
fn a_dequeue_is_changed_and_its_answer_too() {
    let mut talk = Talk::running();
    talk.asks(3, word(DEQUEUE, WITHDRAW));
    talk.carries(0, word(BEGIN_DEQUEUE, r#"{"key": "k"}"#));
    talk.proxy_answers(0, [0]);
    talk.served(3, [1]);
    talk.breaks(&["dequeue.request-relayed", "dequeue.answer-relayed"]);
}

#[test]
fn a_schema_is_kept_back_and_its_answer_changed() {
    let mut talk = Talk::running();
    talk.asks(3, [SCHEMA]);
    talk.ended(3);
    talk.breaks(&["schema.request-relayed"]);

    let mut talk = Talk::running();
    talk.asks(3, [SCHEMA]);
    talk.carries(0, [BEGIN_SCHEMA]);
    talk.proxy_answers(0, word(0, "{ }"));
    talk.served(3, word(0, "{}"));
    talk.breaks(&["schema.answer-relayed"]);
}

#[test]
fn a_second_request_on_an_open_channel_is_carried_on() {
    let mut talk = enqueued();
    talk.asks(3, enqueue("l"));
    talk.carries(71, carried(&enqueue("l"), BEGIN_ENQUEUE));
    talk.proxy_answers(70, [0]);
    talk.served(3, [0]);
    talk.proxy_answers(71, [0]);
    talk.served(3, [0]);
    talk.breaks(&["channel.duplicate-ignored"; 3]);
}

#[test]
fn a_second_request_on_an_open_channel_is_ignored() {
    let mut talk = enqueued();
    talk.asks(3, enqueue("l"));
    talk.proxy_answers(70, [0]);
    talk.served(3, [0]);
    talk.asks(3, enqueue("m"));
    talk.carries(70, carried(&enqueue("m"), BEGIN_ENQUEUE));
    talk.proxy_answers(70, [1]);
    talk.served(3, [1]);
    talk.breaks_nothing();
}

#[test]
fn an_early_enqueue_is_carried_on_before_begun() {
    let mut talk = Talk::begins();
    talk.asks(3, enqueue("k"));
    talk.carries(0, carried(&enqueue("k"), BEGIN_ENQUEUE));
    talk.breaks(&["run.early-channels-kept"]);
}

#[test]
fn early_enqueues_change_places() {
    let mut talk = Talk::begins();
    talk.asks(4, enqueue("k"));
    talk.asks(3, enqueue("l"));
    talk.proxy_says(BEGUN, "[]");
    talk.gets(0, ID);
    talk.carries(0, carried(&enqueue("l"), BEGIN_ENQUEUE));
    talk.carries(1, carried(&enqueue("k"), BEGIN_ENQUEUE));
    talk.breaks(&["run.early-channels-in-order"]);
}

#[test]
fn early_channels_may_be_seen_on_the_proxys_side_before_the_id() {
    let mut talk = Talk::begins();
    talk.asks(3, enqueue("k"));
    talk.asks(4, [SCHEMA]);
    talk.proxy_says(BEGUN, "[]");
    talk.carries(0, carried(&enqueue("k"), BEGIN_ENQUEUE));
    talk.gets(0, ID);
    talk.carries(1, [BEGIN_SCHEMA]);
    talk.proxy_answers(1, word(1, "0"));
    talk.served(4, word(1, "0"));
    talk.proxy_answers(0, [1]);
    talk.served(3, [1]);
    talk.breaks_nothing();
}

#[test]
fn equal_asks_are_told_apart_by_nothing() {
    let mut talk = Talk::running();
    for channel in 0..3 {
        talk.asks(channel, [SCHEMA]);
    }
    for channel in 10..13 {
        talk.carries(channel, [BEGIN_SCHEMA]);
    }
    talk.proxy_answers(12, word(0, "1"));
    talk.proxy_answers(10, word(0, "2"));
    talk.proxy_ends(11);
    talk.ended(2);
    talk.served(0, word(0, "1"));
    assert_eq!(talk.outstanding().len(), 1);
    talk.served(1, word(0, "2"));
    assert_eq!(talk.outstanding(), []);
    talk.breaks_nothing();
}

#[test]
fn equal_asks_still_get_the_proxys_answers_only() {
    let mut talk = Talk::running();
    talk.asks(0, enqueue("k"));
    talk.asks(1, enqueue("k"));
    talk.carries(10, carried(&enqueue("k"), BEGIN_ENQUEUE));
    talk.carries(11, carried(&enqueue("k"), BEGIN_ENQUEUE));
    talk.proxy_answers(11, [0]);
    talk.served(0, [0]);
    talk.served(1, [0]);
    talk.breaks(&["enqueue.late-answer"]);
}

#[test]
fn enqueues_that_may_be_refused_in_several_ways() {
    let no_block = word(ENQUEUE, r#"{"key":"k","content":[]}"#);
    let strange = word(ENQUEUE, r#"{"key":"k","content":[{"type":"x"}]}"#);
    for ask in [no_block, strange] {
        for answer in [None, Some(word(2, "null"))] {
            let mut talk = Talk::running();
            talk.asks(0, &ask);
            if let Some(answer) = answer {
                talk.answered(0, answer);
            }
            talk.ended(0);
            talk.breaks_nothing();
        }
        let mut talk = Talk::running();
        talk.asks(0, &ask);
        talk.carries(5, carried(&ask, BEGIN_ENQUEUE));
        talk.proxy_answers(5, word(2, "7"));
        talk.served(0, word(2, "7"));
        talk.breaks_nothing();
    }
}

#[test]
fn a_run_that_ends_owes_no_answers() {
    let mut talk = enqueued();
    talk.proxy_closes();
    talk.ended(3);
    talk.gets_finish();
    talk.breaks_nothing();
}

#[test]
fn several_answers_of_the_proxys_may_all_come() {
    for all in [true, false] {
        let mut talk = enqueued();
        talk.proxy_sent(crate::wire::FrameType::ChannelResponse, (BEGIN, 70), [0]);
        talk.proxy_answers(70, [1]);
        talk.answered(3, [0]);
        if all {
            talk.answered(3, [1]);
        }
        talk.ended(3);
        talk.breaks_nothing();
    }
}
