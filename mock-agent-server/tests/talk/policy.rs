//! The reference, as conversations.

use diverge_protocol::rules::Revision::{self, Path, Scope};
use diverge_protocol::wire::agent_server::Endpoint::{Dequeue, Enqueue, Register, Run, Schema};
use mock_agent_server::settings::MESSAGES;

use crate::conversation::Conversation;

const BOTH: [Revision; 2] = [Scope, Path];

#[test]
fn a_loop_starts_with_the_parts_of_its_messages_and_ends() {
    Conversation::new(Scope)
        .registered()
        .run(MESSAGES.ordinary)
        .did(&[
            "2: stream 200",
            "2: user_text_content k",
            "2: thinks",
            "2: says",
            "2: says",
            "2: usage",
            "2: end",
        ])
        .ask(
            Run,
            r#"{"messages":[{"key":"b","content":[{"type":"text","text":"x"},{"type":"image","data":"","mimeType":"i/p"}]},
                {"key":"a","content":[{"type":"resource_link","uri":"u:","name":"n"}]}]}"#,
        )
        .did(&[
            "3: stream 200",
            "3: user_text_content b",
            "3: user_image_content b",
            "3: user_resource_link a",
            "3: thinks",
            "3: says",
            "3: says",
            "3: usage",
            "3: end",
        ]);
}

#[test]
fn a_prompt_that_a_loop_starts_on_is_not_echoed_and_one_that_joins_is_told() {
    Conversation::new(Path)
        .registered()
        .run(MESSAGES.long)
        .did(&["2: stream 200", "2: says"])
        .enqueue("", "more")
        .did(&[
            "2: user",
            "3: 200 delivered",
            "2: thinks",
            "2: says",
            "2: says",
            "2: usage",
            "2: end",
        ]);
}

#[test]
fn nothing_runs_before_a_registration_and_only_one_is_taken() {
    for (revision, name, good) in [(Scope, "arguments", "200 {}"), (Path, "agent", "204")] {
        Conversation::new(revision)
            .run("x")
            .did(&["1: 409 unregistered"])
            .ask(Register, "{}")
            .ask(Register, "{")
            .did(&["2: 400 unreadable", "3: 400 unreadable"])
            .ask(Register, &format!("{{\"{name}\":[]}}"))
            .ask(Register, &format!("{{\"{name}\":{{\"refused\":true}}}}"))
            .did(&["4: 400 agent", "5: 400 agent"])
            .run("x")
            .did(&["6: 409 unregistered"])
            .ask(Register, &format!("{{\"{name}\":{{\"n\":1e400}}}}"))
            .did(&[&format!("7: {good}")])
            .ask(Register, &format!("{{\"{name}\":[]}}"))
            .did(&["8: 409 registered"]);
    }
}

#[test]
fn the_schema_is_always_there() {
    for revision in BOTH {
        let mut talk = Conversation::new(revision);
        let schema = talk.ask(Schema, "").done();
        assert!(schema[0].starts_with("1: 200 object"), "{schema:?}");
        let again = talk.registered().run(MESSAGES.long).done().len();
        assert!(again > 0);
        assert_eq!(talk.ask(Schema, "").done()[0][1..], schema[0][1..]);
    }
}

#[test]
fn other_paths_and_methods_are_refused() {
    Conversation::new(Scope)
        .call("GET", "/", "")
        .call("GET", "/run", "")
        .call("POST", "/schema", "")
        .call("GET", "/schemas", "")
        .did(&[
            "1: 404 path",
            "2: 405 method",
            "3: 405 method",
            "4: 404 path",
        ]);
}

#[test]
fn one_loop_runs_at_a_time() {
    for revision in BOTH {
        let mut talk = Conversation::new(revision);
        talk.registered().run(MESSAGES.long).done();
        talk.run("x").did(&["3: 409 busy"]);
        talk.enqueue("j", "x");
        assert_eq!(talk.done().last().map(String::as_str), Some("2: end"));
        talk.run("x");
        assert_eq!(talk.done()[0], "5: stream 200");
    }
}

#[test]
fn messages_without_content_or_with_unknown_content_are_refused() {
    let unknown = r#"{"key":"u","content":[{"type":"text","text":"x"},{"type":"smell"}]}"#;
    let empty = r#"{"key":"e","content":[]}"#;
    let mut talk = Conversation::new(Scope);
    talk.registered()
        .ask(Run, r#"{"messages":[]}"#)
        .ask(Run, &format!("{{\"messages\":[{empty}]}}"))
        .ask(Run, &format!("{{\"messages\":[{unknown}]}}"))
        .did(&["2: 400 content", "3: 400 content", "4: 400 unreadable"])
        .ask(Enqueue, empty)
        .ask(Enqueue, unknown)
        .did(&["5: 400 content", "6: 400 unreadable"]);
}

#[test]
fn a_message_misses_where_no_loop_runs() {
    for revision in BOTH {
        let mut talk = Conversation::new(revision);
        talk.enqueue("k", "x").did(&["1: 200 missed"]);
        talk.registered().run(MESSAGES.ordinary).done();
        talk.enqueue("k", "x").dequeue("k");
        talk.did(&["4: 200 missed", "5: 200 empty"]);
    }
}

#[test]
fn who_waits_is_withdrawn_by_key_or_misses_the_end() {
    Conversation::new(Scope)
        .registered()
        .run(MESSAGES.holding)
        .did(&["2: stream 200", "2: user_text_content k", "2: says"])
        .enqueue("a", "x")
        .enqueue("b", "x")
        .enqueue("a", "y")
        .did(&[])
        .dequeue("none")
        .did(&["6: 200 empty"])
        .dequeue("a")
        .did(&["3: 200 dequeued", "5: 200 dequeued", "7: 200 dequeued"])
        .dequeue("a")
        .did(&["8: 200 empty"])
        .rings()
        .did(&[
            "2: thinks",
            "2: says",
            "2: says",
            "2: usage",
            "4: 200 missed",
            "2: end",
        ]);
    Conversation::new(Path)
        .registered()
        .run(MESSAGES.holding)
        .enqueue("", "x")
        .enqueue("", "y")
        .did(&["2: stream 200", "2: says"])
        .dequeue("")
        .did(&["3: 200 dequeued", "4: 200 dequeued", "5: 200 dequeued"]);
}

#[test]
fn a_loop_that_fails_says_so_last_and_another_runs() {
    for revision in BOTH {
        let mut talk = Conversation::new(revision);
        let did = talk.registered().run(MESSAGES.failing).done();
        assert_eq!(did[did.len() - 2..], ["2: fatal", "2: end"]);
        assert_eq!(talk.run("x").done()[0], "3: stream 200");
    }
}

#[test]
fn what_joins_is_done_as_it_says() {
    let mut talk = Conversation::new(Scope);
    talk.registered().run(MESSAGES.long).done();
    talk.enqueue("h", MESSAGES.holding).did(&[
        "2: user_text_content h",
        "3: 200 delivered",
        "2: says",
    ]);
    talk.enqueue("j", "x").did(&[]);
    talk.rings();
    assert!(talk.done().contains(&"4: 200 missed".to_owned()));

    talk.run(MESSAGES.long).done();
    talk.enqueue("f", MESSAGES.failing);
    assert_eq!(talk.done().last().map(String::as_str), Some("5: end"));
}

#[test]
fn a_tool_is_called_in_fragments_and_responds() {
    Conversation::new(Path)
        .registered()
        .run(MESSAGES.tool)
        .did(&[
            "2: stream 200",
            "2: calls",
            "2: calls",
            "2: says",
            "2: response",
            "2: thinks",
            "2: says",
            "2: says",
            "2: usage",
            "2: end",
        ]);
}

#[test]
fn callers_that_leave_are_forgotten() {
    let mut talk = Conversation::new(Scope);
    talk.registered().run(MESSAGES.holding).done();
    talk.enqueue("a", "x").enqueue("b", "x").drops(3).did(&[]);
    talk.dequeue("a").did(&["5: 200 empty"]);
    talk.drops(2).did(&["4: 200 missed"]);
    talk.rings().did(&[]);
    talk.run("x");
    assert_eq!(talk.done()[0], "6: stream 200");
}

#[test]
fn a_dequeue_needs_a_key_where_there_are_keys() {
    Conversation::new(Scope)
        .ask(Dequeue, "{}")
        .did(&["1: 400 unreadable"]);
    Conversation::new(Path)
        .ask(Dequeue, "{}")
        .did(&["1: 200 empty"]);
}
