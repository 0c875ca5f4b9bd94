//! The reference of the path revision, as conversations.

use mock_proxy::policy::{Admission, Endpoint, HostId, Input, Word};
use mock_proxy::settings::Settings;

mod conversation;
use conversation::Conversation;

#[test]
fn a_loop_is_its_chunks_and_a_close() {
    Conversation::on_paths()
        .connects("/agent/run")
        .did(&[])
        .sends(0, "{ \"prompt\":\"hi\"}")
        .did(&["call /run { \"prompt\":\"hi\"}"])
        .streams()
        .did(&[])
        .event("{ \"a\":1}")
        .event("odd")
        .did(&["0: 0{ \"a\":1}", "0: 0odd"])
        .ends()
        .did(&["close 0"]);
}

#[test]
fn an_error_stands_first_or_last() {
    Conversation::on_paths()
        .connects("/agent/run")
        .sends(0, "{}")
        .answers(Endpoint::Run, 409, "{\"kind\":\"busy\"}")
        .did(&["call /run {}", "0: 1{\"kind\":\"busy\"}", "close 0"])
        .connects("/agent/run")
        .sends(1, "{}")
        .streams()
        .event("1")
        .says(Endpoint::Run, Word::Broke("reset".into()))
        .did(&[
            "call /run {}",
            "1: 01",
            "1: 1{\"error\":\"reset\",\"kind\":\"loop\"}",
            "close 1",
        ]);
}

#[test]
fn every_other_ask_has_one_answer() {
    let told = |path: &str, endpoint, status, body| {
        let mut talk = Conversation::on_paths();
        let done = talk
            .connects(path)
            .sends(0, "{}")
            .answers(endpoint, status, body)
            .done();
        assert_eq!(done.len(), 3, "{done:?}");
        assert_eq!(done[2], "close 0");
        done[1].clone()
    };
    let fate = |body| told("/agent/enqueue", Endpoint::Enqueue, 200, body);
    assert_eq!(fate("{\"type\":\"delivered\"}"), "0: 0");
    assert_eq!(fate("{\"type\":\"dequeued\"}"), "0: 1");
    assert_eq!(fate("{\"type\":\"missed\"}"), "0: 2");
    assert!(fate("odd").starts_with("0: 3{"));
    assert_eq!(told("/agent/enqueue", Endpoint::Enqueue, 500, "7"), "0: 37");
    let register = |status, body| told("/agent/register", Endpoint::Register, status, body);
    assert_eq!(register(204, ""), "0: 0");
    assert_eq!(register(409, "[]"), "0: 1[]");
}

#[test]
fn what_needs_no_message_is_asked_at_once() {
    Conversation::on_paths()
        .connects("/agent/dequeue")
        .answers(Endpoint::Dequeue, 200, "{\"type\":\"dequeued\"}")
        .did(&["call /dequeue {}", "0: 0", "close 0"])
        .connects("/agent/dequeue")
        .answers(Endpoint::Dequeue, 200, "{\"type\":\"empty\"}")
        .did(&["call /dequeue {}", "1: 1", "close 1"])
        .connects("/agent/schema")
        .answers(Endpoint::Schema, 200, "{ }")
        .did(&["call /schema", "2: 0{ }", "close 2"])
        .connects("/agent/schema")
        .answers(Endpoint::Schema, 404, "null")
        .did(&["call /schema", "3: 1null", "close 3"]);
}

#[test]
fn a_host_that_leaves_ends_its_call() {
    Conversation::on_paths()
        .connects("/agent/run")
        .hear(Input::Closed(HostId(0)))
        .did(&[])
        .connects("/agent/run")
        .sends(1, "{}")
        .streams()
        .hear(Input::Lost(HostId(1)))
        .did(&["call /run {}", "hang up /run"])
        .event("{}")
        .did(&[]);
}

#[test]
fn text_is_passed_over_or_ends_the_exchange() {
    Conversation::on_paths()
        .connects("/agent/run")
        .hear(Input::Text(HostId(0), "{}".into()))
        .sends(0, "{}")
        .sends(0, "{}")
        .did(&["call /run {}"]);
    Conversation::on_paths_with(Settings {
        text_leaves: true,
        second_message_leaves: true,
        ..Settings::default()
    })
    .connects("/agent/run")
    .hear(Input::Text(HostId(0), "{}".into()))
    .sends(0, "{}")
    .did(&["close 0"])
    .connects("/agent/run")
    .sends(1, "{}")
    .sends(1, "{}")
    .did(&["call /run {}", "hang up /run", "close 1"]);
}

#[test]
fn other_paths_are_not_there() {
    let mut talk = Conversation::on_paths();
    for path in ["/", "/agent", "/agent/", "/run", "/agent/run/"] {
        assert_eq!(talk.admission(path), Admission::Refused(404), "{path}");
    }
}
