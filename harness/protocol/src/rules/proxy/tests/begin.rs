//! Begins and their answers.

use super::Broken;
use super::talk::*;
use crate::transcript::AgentCall;
use crate::wire::FrameType;

/// A begin whose register is answered so.
fn registered(talk: &mut Talk, status: u16, body: &str) {
    let register = talk.registering();
    talk.replies(register, status, body);
}

pub const BROKEN: &[Broken] = &[
    ("proxy.begin.registers", |talk| {
        talk.registering();
        talk.calls(AgentCall::Register, r#"{"arguments":[1.50]}"#);
    }),
    ("proxy.begin.registers", |talk| {
        let register = talk.registering();
        talk.asks(1, [1]);
        let schema = talk.calls(AgentCall::Schema, "");
        talk.replies(schema, 200, "{}");
        talk.replies(register, 200, "{}");
        talk.gets(BEGUN, "[]");
        talk.serves(1, word(0, "{}"));
    }),
    ("proxy.begin.registers", |talk| {
        talk.opens();
        talk.begins(BEGIN, "1");
        talk.gets(BEGUN, "[]");
    }),
    ("proxy.begin.arguments", |talk| {
        talk.opens();
        talk.begins(BEGIN, "1.50");
        talk.calls(AgentCall::Register, r#"{"arguments":1.5}"#);
    }),
    ("proxy.begin.begun", |talk| {
        talk.registering();
        talk.gets(BEGUN, "[]");
    }),
    ("proxy.begin.begun", |talk| {
        registered(talk, 200, "{}");
        talk.gets(ERROR, "1");
        talk.finishes(BEGIN);
    }),
    ("proxy.begin.begun", |talk| {
        registered(talk, 200, "{}");
        talk.finishes(BEGIN);
    }),
    ("proxy.begin.begun-once", |talk| {
        talk.begun();
        talk.gets(BEGUN, "[]");
    }),
    ("proxy.begin.begun-once", |talk| {
        talk.begun();
        talk.gets(ERROR, "1");
        talk.finishes(BEGIN);
    }),
    ("proxy.begin.empty-list", |talk| {
        registered(talk, 200, "{}");
        talk.gets(BEGUN, "{}");
    }),
    ("proxy.begin.list", |talk| {
        registered(talk, 200, r#"{"dependencies":[{"n":1},{"n":2}]}"#);
        talk.gets(BEGUN, r#"[{"n":2},{"n":1}]"#);
    }),
    ("proxy.begin.list", |talk| {
        registered(talk, 200, r#"{"dependencies":[1]}"#);
        talk.gets(BEGUN, "[]");
    }),
    ("proxy.begin.refusal", |talk| {
        registered(talk, 400, REFUSAL);
        talk.gets(ERROR, r#"{"kind":"other"}"#);
        talk.finishes(BEGIN);
    }),
    ("proxy.begin.refusal", |talk| {
        registered(talk, 400, REFUSAL);
        talk.gets(BEGUN, "[]");
    }),
    ("proxy.begin.refusal", |talk| {
        registered(talk, 400, REFUSAL);
        talk.finishes(BEGIN);
    }),
    ("proxy.begin.refusal-finishes", |talk| {
        registered(talk, 400, REFUSAL);
        talk.gets(ERROR, REFUSAL);
        talk.gets(ERROR, REFUSAL);
        talk.finishes(BEGIN);
    }),
    ("proxy.begin.refusal-finishes", |talk| {
        registered(talk, 400, REFUSAL);
        talk.gets(ERROR, REFUSAL);
        talk.finishes(BEGIN);
        talk.gets(BEGUN, "[]");
    }),
    ("proxy.begin.refusal-no-json", |talk| {
        registered(talk, 500, "no");
        talk.gets(ERROR, "no");
        talk.finishes(BEGIN);
    }),
    ("proxy.begin.unreadable-answer", |talk| {
        registered(talk, 204, "");
        talk.gets(BEGUN, "[]");
    }),
    ("proxy.begin.unreachable", |talk| {
        let register = talk.registering();
        talk.breaks_off(register);
        talk.gets(BEGUN, "[]");
    }),
    ("proxy.begin.second-refused", |talk| {
        talk.begun();
        talk.begins(9, "1");
        talk.says(9, BEGUN, "[]");
    }),
    ("proxy.begin.second-refused", |talk| {
        talk.begun();
        talk.begins(9, "1");
        talk.finishes(9);
    }),
    ("proxy.begin.second-harmless", |talk| {
        talk.begun();
        talk.begins(9, "1");
        talk.calls(AgentCall::Register, r#"{"arguments":1}"#);
    }),
    ("proxy.begin.second-harmless", |talk| {
        talk.begun();
        talk.begins(9, "1");
        talk.finishes(BEGIN);
    }),
    ("proxy.begin.silent-before-begun", |talk| {
        talk.registering();
        talk.gets(ACTIVE, "");
    }),
    ("proxy.begin.silent-before-begun", |talk| {
        talk.registering();
        talk.proxy_sends(FrameType::ChannelRequest, (BEGIN, 1), [7]);
    }),
    ("proxy.begin.payload-known", |talk| {
        talk.begun();
        talk.gets(9, "");
    }),
    ("proxy.begin.quiet-when-idle", |talk| {
        talk.begun();
        talk.gets(INACTIVE, "{}");
    }),
    ("proxy.begin.quiet-when-idle", |talk| {
        talk.begun();
        talk.proxy_sends(FrameType::ChannelRequest, (BEGIN, 1), [7]);
    }),
    ("proxy.begin.not-finished", |talk| {
        let run = talk.looping();
        talk.rests(run);
        talk.finishes(BEGIN);
    }),
];
