//! The reference of the scope revision, as conversations.

use diverge_protocol::wire::FrameType;
use mock_proxy::policy::{Admission, Endpoint, HostId, Input, Word};
use mock_proxy::settings::Settings;

mod conversation;
use conversation::{Conversation, message};

const DELIVERED: &str = r#"{"type":"delivered"}"#;
const DEQUEUED: &str = r#"{"type":"dequeued"}"#;
const MISSED: &str = r#"{"type":"missed"}"#;
const EMPTY: &str = r#"{"type":"empty"}"#;

fn run(keys: &[&str]) -> String {
    let messages: Vec<String> = keys.iter().map(|key| message(key)).collect();
    format!("call /run {{\"messages\":[{}]}}", messages.join(","))
}

fn offer(key: &str) -> String {
    format!("call /enqueue {}", message(key))
}

#[test]
fn a_loop_from_begin_to_inactive() {
    Conversation::new()
        .begins()
        .did(&["call /register {\"arguments\":{ \"m\":1.50 }}"])
        .answers(Endpoint::Register, 200, "{}")
        .did(&["begun []"])
        .enqueues(5, "a")
        .did(&[&run(&["a"])])
        .streams()
        .did(&["answer 5: 0", "finish 5", "active"])
        .event("{ \"type\": \"odd\" , \"n\":1e400}")
        .did(&["chunk { \"type\": \"odd\" , \"n\":1e400}"])
        .event("no JSON")
        .did(&["chunk no JSON"])
        .ends()
        .did(&["inactive {}"])
        .enqueues(5, "b")
        .did(&[&run(&["b"])])
        .streams()
        .ends()
        .did(&["answer 5: 0", "finish 5", "active", "inactive {}"]);
}

#[test]
fn one_connection_in_its_life() {
    let mut talk = Conversation::new();
    assert_eq!(talk.admission("/"), Admission::Refused(409));
    talk.hear(Input::Closed(HostId(0))).did(&["refuse 409"]);
    assert_eq!(talk.admission("/"), Admission::Refused(409));
    assert_eq!(talk.admission("/elsewhere"), Admission::Refused(404));
}

#[test]
fn a_credential_closes_and_silences() {
    Conversation::new()
        .begun()
        .host(FrameType::Authorization, 0, 0, "\0tok")
        .did(&["close 0"])
        .enqueues(1, "a")
        .did(&[]);
}

#[test]
fn what_has_no_place_is_dropped() {
    Conversation::new()
        .begun()
        .hear(Input::Text(HostId(0), "hello".into()))
        .sends(0, &b"\x01\0\0\0"[..])
        .sends(0, &b"\x07\0\0\0\x09\0\0\0\0"[..])
        .host(FrameType::Response, 1, 0, "\x03")
        .host(FrameType::ResponseFinish, 1, 0, "")
        .host(FrameType::ChannelResponse, 1, 0, "\0")
        .host(FrameType::ChannelResponseFinish, 1, 0, "")
        .host(FrameType::ChannelRequest, 2, 0, "\x01")
        .begins()
        .did(&[]);
}

#[test]
fn a_refused_begin_tells_the_agents_words_and_may_be_tried_again() {
    Conversation::new()
        .begins()
        .asks(1, "\x01")
        .answers(Endpoint::Register, 400, "{ \"kind\": \"agent\" }")
        .did(&[
            "call /register {\"arguments\":{ \"m\":1.50 }}",
            "error { \"kind\": \"agent\" }",
            "finish",
        ]);
    for (status, body) in [(500, "oh"), (204, ""), (200, "[]"), (200, "{\"tools\":1}")] {
        Conversation::new()
            .begins()
            .answers(Endpoint::Register, status, body)
            .did_like(&["call /register", "error {\"error\":", "finish"]);
    }
    Conversation::new()
        .begins()
        .says(Endpoint::Register, Word::Failed("nobody there".into()))
        .host(FrameType::Request, 2, 0, "\0{\"arguments\":1}")
        .answers(Endpoint::Register, 200, "{\"dependencies\":[1, 2]}")
        .did(&[
            "call /register {\"arguments\":{ \"m\":1.50 }}",
            "error {\"error\":\"nobody there\",\"kind\":\"program\"}",
            "finish",
            "call /register {\"arguments\":1}",
            "scope 2: begun [1, 2]",
        ]);
}

#[test]
fn a_second_begin_is_refused_and_disturbs_nothing() {
    Conversation::new()
        .begun()
        .host(FrameType::Request, 2, 0, "\0{\"arguments\":1}")
        .did_like(&["scope 2: error {", "scope 2: finish"])
        .enqueues(1, "a")
        .did(&[&run(&["a"])]);
}

#[test]
fn requests_that_cannot_be_read_are_finished_bare() {
    for payload in ["", "\x63{}", "\x01{}", "\0", "\0{", "\0[1]", "\0{}"] {
        Conversation::new()
            .host(FrameType::Request, 9, 0, payload)
            .did(&["scope 9: finish"]);
    }
}

#[test]
fn channels_wait_for_begun() {
    Conversation::new()
        .begins()
        .enqueues(1, "a")
        .enqueues(2, "b")
        .answers(Endpoint::Register, 200, "{}")
        .did(&[
            "call /register {\"arguments\":{ \"m\":1.50 }}",
            "begun []",
            &run(&["a"]),
        ]);
}

#[test]
fn what_is_asked_unreadably_is_finished_bare() {
    for payload in [
        "",
        "\x07",
        "\0\0\0\0\x01",
        "\x02\0\0\0\x01",
        "\x05{}",
        "\x03",
        "\x03[]",
        "\x03{\"key\":\"k\"}",
        "\x03{\"content\":[]}",
        "\x04{}",
    ] {
        Conversation::new()
            .begun()
            .asks(3, payload)
            .did(&["finish 3"]);
    }
}

#[test]
fn a_channel_that_is_open_is_not_opened_again() {
    Conversation::new()
        .begun()
        .enqueues(1, "a")
        .enqueues(1, "b")
        .did(&[&run(&["a"])])
        .streams()
        .did(&["answer 1: 0", "finish 1", "active"])
        .enqueues(1, "c")
        .did(&[&offer("c")]);
}

#[test]
fn a_run_that_does_not_start_is_told_to_its_messages_and_not_tried_again() {
    Conversation::new()
        .begun()
        .enqueues(1, "a")
        .answers(Endpoint::Run, 409, "{\"kind\":\"busy\"}")
        .did(&[&run(&["a"]), "answer 1: 2{\"kind\":\"busy\"}", "finish 1"])
        .enqueues(1, "b")
        .enqueues(2, "c")
        .says(Endpoint::Run, Word::Failed("gone".into()))
        .did(&[
            &run(&["b"]),
            "answer 1: 2{\"error\":\"gone\",\"kind\":\"program\"}",
            "finish 1",
            &run(&["c"]),
        ]);
}

#[test]
fn what_comes_while_a_run_starts_is_offered_one_by_one() {
    Conversation::new()
        .begun()
        .enqueues(1, "a")
        .enqueues(2, "b")
        .enqueues(3, "c")
        .did(&[&run(&["a"])])
        .streams()
        .did(&["answer 1: 0", "finish 1", "active", &offer("b")])
        .answers(Endpoint::Enqueue, 200, DELIVERED)
        .did(&["answer 2: 0", "finish 2", &offer("c")])
        .answers(Endpoint::Enqueue, 200, DEQUEUED)
        .did(&["answer 3: 1", "finish 3"])
        .enqueues(4, "d")
        .answers(Endpoint::Enqueue, 422, "\"no\"")
        .did(&[&offer("d"), "answer 4: 2\"no\"", "finish 4"]);
}

#[test]
fn what_a_loop_missed_waits_for_the_next_ahead_of_the_others() {
    for (status, body) in [(200, MISSED), (500, "{}"), (200, "odd"), (302, "")] {
        Conversation::new()
            .begun()
            .enqueues(1, "a")
            .streams()
            .enqueues(2, "b")
            .enqueues(3, "c")
            .answers(Endpoint::Enqueue, status, body)
            .enqueues(4, "d")
            .ends()
            .did(&[
                &run(&["a"]),
                "answer 1: 0",
                "finish 1",
                "active",
                &offer("b"),
                "inactive {}",
                &run(&["b", "c", "d"]),
            ]);
    }
}

#[test]
fn a_stream_that_breaks_ends_the_loop_like_one_that_ends() {
    Conversation::new()
        .begun()
        .enqueues(1, "a")
        .streams()
        .event("{}")
        .says(Endpoint::Run, Word::Broke("reset".into()))
        .did(&[
            &run(&["a"]),
            "answer 1: 0",
            "finish 1",
            "active",
            "chunk {}",
            "inactive {}",
        ]);
}

#[test]
fn a_dequeue_withdraws_what_waits_and_asks_while_a_loop_runs() {
    Conversation::new()
        .begun()
        .dequeues(1, "a")
        .did(&["answer 1: 1", "finish 1"])
        .enqueues(1, "a")
        .enqueues(2, "b")
        .dequeues(3, "b")
        .did(&[
            &run(&["a"]),
            "answer 2: 1",
            "finish 2",
            "answer 3: 0",
            "finish 3",
        ]);
    let mut talk = Conversation::new();
    talk.begun()
        .enqueues(1, "a")
        .streams()
        .enqueues(2, "b")
        .enqueues(4, "c")
        .enqueues(5, "d")
        .enqueues(6, "c")
        .done();
    talk.dequeues(7, "c")
        .did(&[
            "answer 4: 1",
            "finish 4",
            "answer 6: 1",
            "finish 6",
            "call /dequeue {\"key\":\"c\"}",
        ])
        .answers(Endpoint::Dequeue, 200, EMPTY)
        .did(&["answer 7: 0", "finish 7"])
        .dequeues(7, "x")
        .answers(Endpoint::Dequeue, 200, EMPTY)
        .did(&["call /dequeue {\"key\":\"x\"}", "answer 7: 1", "finish 7"])
        .dequeues(7, "x")
        .answers(Endpoint::Dequeue, 500, "[1]")
        .did(&[
            "call /dequeue {\"key\":\"x\"}",
            "answer 7: 2[1]",
            "finish 7",
        ])
        .dequeues(7, "b")
        .answers(Endpoint::Dequeue, 200, DEQUEUED)
        .did(&["call /dequeue {\"key\":\"b\"}", "answer 7: 0", "finish 7"])
        .answers(Endpoint::Enqueue, 200, MISSED)
        .did(&["answer 2: 1", "finish 2"])
        .ends()
        .did(&["inactive {}", &run(&["d"])]);
}

#[test]
fn a_schema_is_told_at_any_time() {
    Conversation::new()
        .begun()
        .asks(1, "\x01")
        .answers(Endpoint::Schema, 200, "{ \"type\":\"object\" }")
        .did(&[
            "call /schema",
            "answer 1: 0{ \"type\":\"object\" }",
            "finish 1",
        ])
        .asks(1, "\x01junk")
        .answers(Endpoint::Schema, 404, "null")
        .did(&["call /schema", "answer 1: 1null", "finish 1"])
        .asks(1, "\x01")
        .answers(Endpoint::Schema, 200, "no JSON")
        .did_like(&["call /schema", "answer 1: 1{", "finish 1"]);
}

#[test]
fn a_delivery_that_outlives_its_loop_is_waited_for_or_not() {
    let begin = |settings| {
        let mut talk = Conversation::with_settings(settings);
        talk.begun()
            .enqueues(1, "a")
            .streams()
            .enqueues(2, "b")
            .enqueues(3, "c")
            .ends()
            .done();
        talk
    };
    begin(Settings::default())
        .answers(Endpoint::Enqueue, 200, MISSED)
        .did(&[])
        .streams()
        .did(&["answer 3: 0", "finish 3", "active", &offer("b")]);
    begin(Settings {
        awaits_delivery: true,
        ..Settings::default()
    })
    .answers(Endpoint::Enqueue, 200, MISSED)
    .did(&[&run(&["b", "c"])]);
}
