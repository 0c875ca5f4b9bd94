//! Messages: runs, offers and their fates.

use super::Broken;
use super::talk::*;
use crate::transcript::{AgentCall, LinkId};

/// A second loop on a message `z`, ahead of which a first has ended, and the newest offer was missed.
fn missed(talk: &mut Talk) -> LinkId {
    let (run, offer) = talk.offering();
    talk.replies(offer, 200, r#"{"type":"missed"}"#);
    run
}

/// An offer that is answered so.
fn offered(talk: &mut Talk, status: u16, body: &str) {
    let (_, offer) = talk.offering();
    talk.replies(offer, status, body);
}

pub const BROKEN: &[Broken] = &[
    ("proxy.run.message", |talk| {
        talk.begun();
        talk.enqueues(1, "a");
        talk.calls(AgentCall::Run, run_of(&["b"]));
    }),
    ("proxy.run.message", |talk| {
        talk.begun();
        talk.enqueues(1, "a");
        talk.calls(AgentCall::Run, run_of(&[]));
    }),
    ("proxy.run.message", |talk| {
        talk.begun();
        talk.enqueues(1, "a");
        talk.calls(AgentCall::Run, message("a"));
    }),
    ("proxy.run.message", |talk| {
        talk.begun();
        talk.enqueues(1, "a");
        let changed = run_of(&["a"]).replace("a!", "?");
        talk.calls(AgentCall::Run, changed);
    }),
    ("proxy.run.message", |talk| {
        talk.begun();
        talk.enqueues(1, "a");
        talk.calls(AgentCall::Enqueue, message("a"));
    }),
    ("proxy.run.message", |talk| {
        let run = talk.looping();
        talk.rests(run);
        talk.enqueues(2, "b");
        talk.calls(AgentCall::Enqueue, message("b"));
    }),
    ("proxy.run.not-offered-too", |talk| {
        talk.looping();
        talk.calls(AgentCall::Enqueue, message("a"));
    }),
    ("proxy.run.refused", |talk| {
        let run = talk.asked();
        talk.replies(run, 409, REFUSAL);
        talk.serves(1, word(2, "1"));
    }),
    ("proxy.run.refused", |talk| {
        let run = talk.asked();
        talk.replies(run, 409, REFUSAL);
        talk.serves(1, DELIVERED);
    }),
    ("proxy.enqueue.unreadable-fate", |talk| {
        let (_, offer) = talk.offering();
        talk.breaks_off(offer);
        talk.serves(2, word(2, "1"));
    }),
    ("proxy.run.refused-no-json", |talk| {
        let run = talk.asked();
        talk.replies(run, 502, "bad gateway");
        talk.serves(1, word(2, "bad gateway"));
    }),
    ("proxy.run.refused-no-loop", |talk| {
        let run = talk.asked();
        talk.replies(run, 409, REFUSAL);
        talk.gets(ACTIVE, "");
    }),
    ("proxy.run.not-retried", |talk| {
        let run = talk.asked();
        talk.replies(run, 500, "");
        talk.calls(AgentCall::Run, run_of(&["a"]));
    }),
    ("proxy.run.unreachable", |talk| {
        let run = talk.asked();
        talk.breaks_off(run);
        talk.serves(1, word(2, "no JSON"));
    }),
    ("proxy.run.one-at-a-time", |talk| {
        talk.asked();
        talk.enqueues(2, "b");
        talk.calls(AgentCall::Run, run_of(&["b"]));
    }),
    ("proxy.enqueue.delivered-at-start", |talk| {
        let run = talk.asked();
        talk.streams(run);
        talk.serves(1, word(2, "1"));
    }),
    ("proxy.enqueue.one-answer", |talk| {
        talk.looping();
        talk.ends(1);
    }),
    ("proxy.enqueue.one-answer", |talk| {
        talk.looping();
        talk.answers(1, DELIVERED);
    }),
    ("proxy.enqueue.one-answer", |talk| {
        let run = talk.asked();
        talk.streams(run);
        talk.ends(1);
    }),
    ("proxy.enqueue.offered", |talk| {
        talk.looping();
        talk.enqueues(2, "b");
        let changed = message("b").replace("b!", "?");
        talk.calls(AgentCall::Enqueue, changed);
    }),
    ("proxy.enqueue.answered-when-known", |talk| {
        talk.asked();
        talk.answers(1, DELIVERED);
    }),
    ("proxy.enqueue.answered-when-known", |talk| {
        talk.offering();
        talk.answers(2, DELIVERED);
    }),
    ("proxy.enqueue.delivered", |talk| {
        offered(talk, 200, r#"{"type":"delivered"}"#);
        talk.answers(2, DEQUEUED);
    }),
    ("proxy.enqueue.dequeued", |talk| {
        offered(talk, 200, r#"{"type":"dequeued"}"#);
        talk.answers(2, DELIVERED);
    }),
    ("proxy.enqueue.refused", |talk| {
        offered(talk, 400, REFUSAL);
        talk.answers(2, word(2, "1"));
    }),
    ("proxy.enqueue.refused-for-good", |talk| {
        let (run, offer) = talk.offering();
        talk.replies(offer, 400, REFUSAL);
        talk.over(run);
        talk.calls(AgentCall::Run, run_of(&["b"]));
    }),
    ("proxy.enqueue.missed", |talk| {
        missed(talk);
        talk.answers(2, refused());
    }),
    ("proxy.enqueue.failed", |talk| {
        offered(talk, 500, REFUSAL);
        talk.answers(2, refused());
    }),
    ("proxy.enqueue.unreadable-fate", |talk| {
        offered(talk, 200, "fine");
        talk.answers(2, refused());
    }),
    ("proxy.queue.waits-for-start", |talk| {
        talk.asked();
        talk.enqueues(2, "b");
        talk.calls(AgentCall::Enqueue, message("b"));
    }),
    ("proxy.queue.one-delivery", |talk| {
        talk.offering();
        talk.enqueues(3, "c");
        talk.calls(AgentCall::Enqueue, message("c"));
    }),
    ("proxy.queue.order", |talk| {
        talk.looping();
        talk.enqueues(2, "b");
        talk.enqueues(3, "c");
        talk.calls(AgentCall::Enqueue, message("c"));
    }),
    ("proxy.queue.order", |talk| {
        let run = talk.looping();
        talk.enqueues(2, "b");
        talk.enqueues(3, "c");
        talk.over(run);
        talk.calls(AgentCall::Run, run_of(&["c", "b"]));
    }),
    ("proxy.queue.order", |talk| {
        talk.begun();
        talk.enqueues(1, "a");
        talk.enqueues(2, "b");
        talk.calls(AgentCall::Run, run_of(&["b"]));
    }),
    ("proxy.queue.halted", |talk| {
        missed(talk);
        talk.enqueues(3, "c");
        talk.calls(AgentCall::Enqueue, message("c"));
    }),
    ("proxy.queue.missed-first", |talk| {
        let run = missed(talk);
        talk.enqueues(3, "c");
        talk.over(run);
        talk.calls(AgentCall::Run, run_of(&["c", "b"]));
    }),
    ("proxy.queue.missed-first", |talk| {
        // That a run leaves the missed one out may be said once, not twice.
        let run = missed(talk);
        talk.enqueues(3, "c");
        talk.over(run);
        let run = talk.calls(AgentCall::Run, run_of(&["c"]));
        talk.streams(run);
        talk.enqueues(4, "d");
        talk.over(run);
        talk.calls(AgentCall::Run, run_of(&["d"]));
    }),
    ("proxy.queue.one-run", |talk| {
        let (run, offer) = talk.offering();
        talk.enqueues(3, "c");
        talk.enqueues(4, "d");
        talk.dequeues(5, "x");
        let dequeue = talk.calls(AgentCall::Dequeue, r#"{"key":"x"}"#);
        talk.replies(dequeue, 200, r#"{"type":"empty"}"#);
        talk.serves(5, [1]);
        talk.replies(offer, 200, r#"{"type":"delivered"}"#);
        talk.over(run);
        talk.calls(AgentCall::Run, run_of(&["c"]));
    }),
    ("proxy.queue.once", |talk| {
        let (run, offer) = talk.offering();
        talk.replies(offer, 200, r#"{"type":"delivered"}"#);
        talk.over(run);
        talk.calls(AgentCall::Run, run_of(&["b"]));
    }),
];
