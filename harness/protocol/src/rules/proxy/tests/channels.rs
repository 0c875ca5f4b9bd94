//! Dequeues, schema requests, and channels at large.

use super::Broken;
use super::talk::*;
use crate::transcript::{AgentCall, LinkId};
use crate::wire::FrameType;

const X: &str = r#"{"key":"x"}"#;

/// A dequeue of `x` during a loop, on the channel 5, that the agent server answers so.
fn dequeued(talk: &mut Talk, status: u16, body: &str) {
    talk.looping();
    talk.dequeues(5, "x");
    let call = talk.calls(AgentCall::Dequeue, X);
    talk.replies(call, status, body);
}

/// A loop to which `b` is offered while `x` waits, and a dequeue of `x`.
fn waiting(talk: &mut Talk) -> (LinkId, LinkId) {
    let (run, offer) = talk.offering();
    talk.enqueues(3, "x");
    talk.dequeues(5, "x");
    let call = talk.calls(AgentCall::Dequeue, X);
    talk.replies(call, 200, r#"{"type":"empty"}"#);
    (run, offer)
}

/// A schema request on the channel 5 that the agent server answers so.
fn schema(talk: &mut Talk, status: u16, body: &str) {
    talk.begun();
    talk.asks(5, [1]);
    let call = talk.calls(AgentCall::Schema, "");
    talk.replies(call, status, body);
}

pub const BROKEN: &[Broken] = &[
    ("proxy.dequeue.nothing-waited", |talk| {
        talk.begun();
        talk.dequeues(5, "x");
        talk.serves(5, [0]);
    }),
    ("proxy.dequeue.nothing-waited", |talk| {
        dequeued(talk, 200, r#"{"type":"empty"}"#);
        talk.serves(5, [0]);
    }),
    ("proxy.dequeue.idle-asks-nobody", |talk| {
        talk.begun();
        talk.dequeues(5, "x");
        talk.calls(AgentCall::Dequeue, X);
    }),
    ("proxy.dequeue.asks", |talk| {
        talk.looping();
        talk.dequeues(5, "x");
        talk.calls(AgentCall::Dequeue, r#"{"key":"y"}"#);
    }),
    ("proxy.dequeue.asks", |talk| {
        talk.looping();
        talk.dequeues(5, "x");
        talk.serves(5, [1]);
    }),
    ("proxy.dequeue.withdrawn", |talk| {
        dequeued(talk, 200, r#"{"type":"dequeued"}"#);
        talk.serves(5, [1]);
    }),
    ("proxy.dequeue.waiting", |talk| {
        waiting(talk);
        talk.serves(5, [1]);
    }),
    ("proxy.dequeue.waiting", |talk| {
        let (run, offer) = waiting(talk);
        talk.serves(3, DEQUEUED);
        talk.serves(5, [0]);
        talk.replies(offer, 200, r#"{"type":"delivered"}"#);
        talk.over(run);
        talk.calls(AgentCall::Run, run_of(&["x"]));
    }),
    ("proxy.dequeue.waiting", |talk| {
        let (run, _) = waiting(talk);
        talk.serves(5, [0]);
        talk.over(run);
        talk.calls(AgentCall::Run, run_of(&["x"]));
    }),
    ("proxy.dequeue.others-stay", |talk| {
        waiting(talk);
        talk.enqueues(4, "y");
        talk.serves(4, DEQUEUED);
    }),
    ("proxy.dequeue.error", |talk| {
        dequeued(talk, 500, REFUSAL);
        talk.serves(5, [1]);
    }),
    ("proxy.dequeue.error", |talk| {
        dequeued(talk, 500, REFUSAL);
        talk.ends(5);
    }),
    ("proxy.dequeue.error", |talk| {
        dequeued(talk, 500, REFUSAL);
        talk.serves(5, word(2, "1"));
    }),
    ("proxy.dequeue.in-flight", |talk| {
        let (run, offer) = talk.offering();
        talk.dequeues(5, "b");
        let call = talk.calls(AgentCall::Dequeue, r#"{"key":"b"}"#);
        talk.replies(call, 200, r#"{"type":"empty"}"#);
        talk.serves(5, [1]);
        talk.replies(offer, 200, r#"{"type":"missed"}"#);
        talk.over(run);
        talk.calls(AgentCall::Run, run_of(&["b"]));
    }),
    ("proxy.schema.relayed", |talk| {
        schema(talk, 200, r#"{"a":1}"#);
        talk.serves(5, word(0, "{}"));
    }),
    ("proxy.schema.relayed", |talk| {
        talk.begun();
        talk.asks(5, [1]);
        talk.serves(5, word(0, "{}"));
    }),
    ("proxy.schema.relayed", |talk| {
        talk.begun();
        talk.calls(AgentCall::Schema, "");
    }),
    ("proxy.schema.error", |talk| {
        schema(talk, 404, REFUSAL);
        talk.serves(5, word(0, REFUSAL));
    }),
    ("proxy.schema.error", |talk| {
        schema(talk, 404, REFUSAL);
        talk.ends(5);
    }),
    ("proxy.schema.no-json", |talk| {
        schema(talk, 200, "{");
        talk.serves(5, word(0, "{"));
    }),
    ("proxy.channel.unreadable-enqueue", |talk| {
        talk.begun();
        talk.asks(1, word(3, r#"{"key":"a"}"#));
        talk.serves(1, word(2, "1"));
    }),
    ("proxy.channel.unreadable-dequeue", |talk| {
        talk.begun();
        talk.asks(1, word(4, r#"["a"]"#));
        talk.serves(1, [1]);
    }),
    ("proxy.channel.unreadable-dequeue", |talk| {
        talk.looping();
        talk.asks(5, word(4, "{}"));
        talk.calls(AgentCall::Dequeue, "{}");
    }),
    ("proxy.channel.unreadable-no-call", |talk| {
        talk.begun();
        talk.asks(1, word(3, r#"{"key":"a","content":1}"#));
        talk.calls(AgentCall::Run, run_of(&["a"]));
    }),
    ("proxy.channel.unknown-ask", |talk| {
        talk.begun();
        talk.asks(1, [77]);
        talk.serves(1, [0]);
    }),
    ("proxy.schema.relayed", |talk| {
        schema(talk, 200, "{}");
        talk.ends(5);
    }),
    ("proxy.dequeue.nothing-waited", |talk| {
        talk.begun();
        talk.dequeues(5, "x");
        talk.answers(5, [1]);
        talk.answers(5, [1]);
    }),
    ("proxy.channel.open-only", |talk| {
        talk.begun();
        talk.ends(5);
    }),
    ("proxy.channel.duplicate-ignored", |talk| {
        talk.asked();
        talk.asks(1, [77]);
        talk.ends(1);
    }),
    ("proxy.channel.duplicate-ignored", |talk| {
        talk.asked();
        talk.enqueues(1, "b");
        talk.calls(AgentCall::Enqueue, message("b"));
    }),
    ("proxy.channel.duplicate-ignored", |talk| {
        let run = talk.asked();
        talk.enqueues(1, "b");
        talk.dequeues(5, "x");
        talk.serves(5, [1]);
        talk.streams(run);
        talk.serves(1, DELIVERED);
        talk.ends(1);
    }),
    ("proxy.channel.separate-numbers", |talk| {
        talk.asked();
        talk.host_sends(FrameType::ChannelResponseFinish, (BEGIN, 1), "");
        talk.ends(1);
    }),
];
