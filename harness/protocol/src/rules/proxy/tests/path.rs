//! The path revision.

use super::Broken;
use super::talk::*;
use crate::rules::OutstandingKind;
use crate::transcript::{AgentCall, LinkId, Role, What};

const ASK: &str = r#"{"prompt":"hi"}"#;
const FATAL: &str = r#"{"type":"notification","is_fatal":true,"message":1}"#;

/// A run and its call.
fn run(talk: &mut Talk) -> (LinkId, LinkId) {
    let link = talk.dials_with(AgentCall::Run, ASK);
    (link, talk.calls(AgentCall::Run, ASK))
}

/// A run that streams these events.
fn streaming(talk: &mut Talk, events: &[&str]) -> (LinkId, LinkId) {
    let (link, call) = run(talk);
    talk.streams(call);
    for data in events {
        talk.event(call, data);
    }
    (link, call)
}

/// An exchange that the agent server answers so.
fn exchange(talk: &mut Talk, kind: AgentCall, status: u16, body: &str) -> LinkId {
    let (link, ask) = match kind {
        AgentCall::Dequeue => (talk.dials(kind), "{}"),
        AgentCall::Schema => (talk.dials(kind), ""),
        _ => (talk.dials_with(kind, ASK), ASK),
    };
    let call = talk.calls(kind, ask);
    talk.replies(call, status, body);
    link
}

fn wrong(talk: &mut Talk, kind: AgentCall, status: u16, body: &str) {
    let link = exchange(talk, kind, status, body);
    talk.hears(link, 7, "");
    talk.closes(link);
}

pub const BROKEN: &[Broken] = &[
    ("proxy.path-connection.parallel", |talk| {
        let link = talk.link(crate::transcript::LinkKind::Path(AgentCall::Run));
        talk.at(link, Role::Proxy, What::Refused { status: Some(409) });
    }),
    ("proxy.path-connection.binary-only", |talk| {
        let (link, _) = run(talk);
        talk.at(link, Role::Proxy, What::Text("hello".into()));
    }),
    ("proxy.path-connection.clean-close", |talk| {
        let (link, call) = streaming(talk, &[]);
        talk.over(call);
        talk.at(link, Role::Proxy, What::Broken);
    }),
    ("proxy.path-connection.left-unasked", |talk| {
        let link = talk.dials(AgentCall::Run);
        talk.at(link, Role::Provider, What::Closed);
        talk.hears(link, 1, "1");
    }),
    ("proxy.path-connection.left-unasked", |talk| {
        let link = talk.dials(AgentCall::Run);
        talk.at(link, Role::Provider, What::Closed);
        talk.calls(AgentCall::Run, "");
    }),
    ("proxy.path-connection.text-first", |talk| {
        let link = talk.dials(AgentCall::Run);
        talk.at(link, Role::Provider, What::Text(ASK.into()));
        talk.hears(link, 1, "1");
    }),
    ("proxy.path-run.prompt", |talk| {
        talk.dials_with(AgentCall::Run, ASK);
        talk.calls(AgentCall::Run, r#"{"prompt":"ho"}"#);
    }),
    ("proxy.path-run.prompt", |talk| {
        run(talk);
        talk.calls(AgentCall::Run, ASK);
    }),
    ("proxy.path-run.request-verbatim", |talk| {
        talk.dials_with(AgentCall::Run, ASK);
        talk.calls(AgentCall::Run, r#"{ "prompt": "hi" }"#);
    }),
    ("proxy.path-run.chunks", |talk| {
        let (link, _) = streaming(talk, &["1", "2"]);
        talk.hears(link, 0, "1");
        talk.hears(link, 0, "3");
    }),
    ("proxy.path-run.chunks", |talk| {
        let (link, call) = streaming(talk, &["1", "2"]);
        talk.hears(link, 0, "2");
        talk.over(call);
        talk.closes(link);
    }),
    ("proxy.path-run.chunks", |talk| {
        let (link, call) = streaming(talk, &["1"]);
        talk.over(call);
        talk.closes(link);
    }),
    ("proxy.path-run.chunks", |talk| {
        let (link, _) = streaming(talk, &[]);
        talk.hears(link, 7, "");
    }),
    ("proxy.path-run.ends-clean", |talk| {
        let (link, call) = streaming(talk, &["1"]);
        talk.hears(link, 0, "1");
        talk.over(call);
        talk.hears(link, 1, "1");
        talk.closes(link);
    }),
    ("proxy.path-run.ends-clean", |talk| {
        let (link, _) = streaming(talk, &[]);
        talk.closes(link);
    }),
    ("proxy.path-run.no-events", |talk| {
        let (link, call) = streaming(talk, &[]);
        talk.over(call);
        talk.hears(link, 1, "1");
    }),
    ("proxy.path-run.refused", |talk| {
        let (link, call) = run(talk);
        talk.replies(call, 409, REFUSAL);
        talk.hears(link, 1, "1");
    }),
    ("proxy.path-run.refused", |talk| {
        let (link, call) = run(talk);
        talk.replies(call, 409, REFUSAL);
        talk.closes(link);
    }),
    ("proxy.path-run.refused", |talk| {
        let (link, call) = run(talk);
        talk.replies(call, 409, REFUSAL);
        talk.hears(link, 1, REFUSAL);
        talk.hears(link, 1, REFUSAL);
    }),
    ("proxy.path-run.unreachable", |talk| {
        let (link, call) = run(talk);
        talk.breaks_off(call);
        talk.hears(link, 1, "no JSON");
    }),
    ("proxy.path-run.broken", |talk| {
        let (link, call) = streaming(talk, &["1"]);
        talk.hears(link, 0, "1");
        talk.breaks_off(call);
        talk.closes(link);
    }),
    ("proxy.path-run.ends-clean", |talk| {
        let (link, _) = streaming(talk, &["1"]);
        talk.hears(link, 0, "1");
        talk.hears(link, 1, "1");
        talk.closes(link);
    }),
    ("proxy.path-run.prompt", |talk| {
        let link = exchange(talk, AgentCall::Register, 204, "");
        talk.hears(link, 0, "");
        talk.closes(link);
        let link = talk.dials_with(AgentCall::Run, ASK);
        talk.hears(link, 1, "1");
        talk.closes(link);
    }),
    ("proxy.path-run.second-harmless", |talk| {
        let (first, _) = streaming(talk, &[]);
        run(talk);
        talk.closes(first);
    }),
    ("proxy.path-run.second-harmless", |talk| {
        let (_, call) = streaming(talk, &[]);
        run(talk);
        talk.at(call, Role::Proxy, What::Broken);
    }),
    ("proxy.path-run.fatal-notification", |talk| {
        let (link, call) = streaming(talk, &[FATAL]);
        talk.hears(link, 0, FATAL);
        talk.over(call);
        talk.hears(link, 1, "1");
    }),
    ("proxy.path-run.second-refused", |talk| {
        streaming(talk, &[]);
        let (link, call) = run(talk);
        talk.replies(call, 409, r#"{"kind":"busy"}"#);
        talk.closes(link);
    }),
    ("proxy.path-run.unregistered", |talk| {
        let (link, call) = run(talk);
        talk.replies(call, 409, r#"{"kind":"unregistered"}"#);
        talk.hears(link, 0, "1");
    }),
    ("proxy.path-register.registered", |talk| {
        wrong(talk, AgentCall::Register, 204, "")
    }),
    ("proxy.path-register.registered", |talk| {
        talk.dials_with(AgentCall::Register, ASK);
        talk.calls(AgentCall::Register, "{}");
    }),
    ("proxy.path-register.body-unread", |talk| {
        let link = exchange(talk, AgentCall::Register, 200, "fine");
        talk.hears(link, 1, "1");
    }),
    ("proxy.path-register.refused", |talk| {
        wrong(talk, AgentCall::Register, 400, REFUSAL)
    }),
    ("proxy.path-register.again", |talk| {
        let link = exchange(talk, AgentCall::Register, 204, "");
        talk.hears(link, 0, "");
        talk.closes(link);
        wrong(talk, AgentCall::Register, 409, REFUSAL);
    }),
    ("proxy.path-enqueue.fate", |talk| {
        wrong(talk, AgentCall::Enqueue, 200, r#"{"type":"missed"}"#);
    }),
    ("proxy.path-enqueue.fate", |talk| {
        let link = exchange(talk, AgentCall::Enqueue, 200, r#"{"type":"missed"}"#);
        talk.closes(link);
    }),
    ("proxy.path-enqueue.error", |talk| {
        wrong(talk, AgentCall::Enqueue, 500, "")
    }),
    ("proxy.path-enqueue.unreadable-fate", |talk| {
        let link = exchange(talk, AgentCall::Enqueue, 200, r#"{"type":"eaten"}"#);
        talk.hears(link, 2, "");
    }),
    ("proxy.path-enqueue.answered-when-known", |talk| {
        let link = talk.dials_with(AgentCall::Enqueue, ASK);
        talk.calls(AgentCall::Enqueue, ASK);
        talk.hears(link, 0, "");
    }),
    ("proxy.path-dequeue.asks", |talk| {
        talk.calls(AgentCall::Dequeue, "{}");
    }),
    ("proxy.path-dequeue.answered", |talk| {
        wrong(talk, AgentCall::Dequeue, 200, r#"{"type":"empty"}"#);
    }),
    ("proxy.path-dequeue.answered", |talk| {
        let link = exchange(talk, AgentCall::Dequeue, 200, r#"{"type":"empty"}"#);
        talk.hears(link, 1, "");
        talk.hears(link, 1, "");
    }),
    ("proxy.path-schema.answered", |talk| {
        wrong(talk, AgentCall::Schema, 200, "{}")
    }),
];

#[test]
fn exchanges_that_go_well() {
    for (kind, status, body, tag, answer) in [
        (AgentCall::Register, 204, "", 0, ""),
        (AgentCall::Register, 200, "fine", 0, ""),
        (AgentCall::Register, 400, REFUSAL, 1, REFUSAL),
        (AgentCall::Register, 500, "no", 1, "\"no\""),
        (AgentCall::Enqueue, 200, r#"{"type":"delivered"}"#, 0, ""),
        (AgentCall::Enqueue, 200, r#"{"type":"dequeued"}"#, 1, ""),
        (AgentCall::Enqueue, 200, r#"{"type":"missed"}"#, 2, ""),
        (AgentCall::Enqueue, 200, "?", 3, "1"),
        (AgentCall::Enqueue, 400, REFUSAL, 3, REFUSAL),
        (AgentCall::Dequeue, 200, r#"{"type":"dequeued"}"#, 0, ""),
        (AgentCall::Dequeue, 200, r#"{"type":"empty"}"#, 1, ""),
        (AgentCall::Dequeue, 500, "", 2, "1"),
        (AgentCall::Schema, 200, r#"{"a":1}"#, 0, r#"{ "a":1 }"#),
        (AgentCall::Schema, 200, "{", 1, "1"),
        (AgentCall::Schema, 404, "", 1, "1"),
    ] {
        let mut talk = Talk::path();
        let link = exchange(&mut talk, kind, status, body);
        talk.hears(link, tag, answer);
        talk.closes(link);
        talk.breaks_nothing();
    }
}

#[test]
fn answers_may_cross_where_the_asks_are_alike() {
    let mut talk = Talk::path();
    let links = [talk.dials(AgentCall::Schema), talk.dials(AgentCall::Schema)];
    let calls = links.map(|_| talk.calls(AgentCall::Schema, ""));
    talk.replies(calls[0], 200, "1");
    talk.replies(calls[1], 200, "2");
    talk.hears(links[0], 0, "2");
    talk.hears(links[1], 0, "1");
    talk.breaks_nothing();
}

#[test]
fn a_run_is_relayed_and_closed() {
    let mut talk = Talk::path();
    let (link, call) = streaming(&mut talk, &["1", "no JSON", "2"]);
    let kinds: Vec<_> = talk
        .checkers
        .outstanding_on(link)
        .iter()
        .map(|it| it.kind)
        .collect();
    assert_eq!(kinds, [OutstandingKind::Chunk; 2]);
    talk.hears(link, 0, "1");
    talk.hears(link, 0, "2");
    assert_eq!(talk.checkers.outstanding_on(link), []);
    talk.event(call, FATAL);
    talk.over(call);
    talk.hears(link, 0, FATAL);
    talk.closes(link);
    talk.breaks_nothing();
}

#[test]
fn runs_that_do_not_go_well() {
    let mut talk = Talk::path();
    let (first, stream) = streaming(&mut talk, &["1"]);
    let (link, call) = run(&mut talk);
    talk.replies(call, 409, REFUSAL);
    talk.hears(link, 1, REFUSAL);
    talk.closes(link);
    talk.hears(first, 0, "1");
    talk.breaks_off(stream);
    talk.hears(first, 1, r#"{"kind":"loop"}"#);
    talk.closes(first);
    talk.agent_server_leaves();
    let link = talk.dials_with(AgentCall::Run, ASK);
    talk.hears(link, 1, "1");
    talk.closes(link);
    talk.breaks_nothing();
}

#[test]
fn a_host_that_leaves_is_owed_nothing() {
    let mut talk = Talk::path();
    let link = talk.dials(AgentCall::Run);
    talk.at(link, Role::Provider, What::Closed);
    talk.closes(link);
    let (link, call) = streaming(&mut talk, &["1"]);
    talk.at(link, Role::Provider, What::Broken);
    talk.at(call, Role::Proxy, What::Broken);
    talk.at(link, Role::Proxy, What::Broken);
    talk.breaks_nothing();
}

#[test]
fn a_text_message_first_is_passed_over_or_ends_the_exchange() {
    for served in [true, false] {
        let mut talk = Talk::path();
        let link = talk.dials(AgentCall::Enqueue);
        talk.at(link, Role::Provider, What::Text("hello".into()));
        talk.host_says(link, ASK);
        if served {
            let call = talk.calls(AgentCall::Enqueue, ASK);
            talk.replies(call, 200, r#"{"type":"delivered"}"#);
            talk.hears(link, 0, "");
        }
        talk.closes(link);
        talk.breaks_nothing();
    }
}
