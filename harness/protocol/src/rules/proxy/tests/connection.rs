//! The connection, its frames, and requests that are no begin.

use super::Broken;
use super::talk::*;
use crate::transcript::{AgentCall, LinkKind, Role, What};
use crate::wire::FrameType;

fn second(talk: &mut Talk, what: What) {
    let link = talk.link(LinkKind::Begin);
    talk.at(link, Role::Proxy, what);
}

fn unreadable(talk: &mut Talk, payload: &[u8]) {
    talk.begun();
    talk.requests(9, payload);
    talk.says(9, ERROR, "1");
    talk.finishes(9);
}

pub const BROKEN: &[Broken] = &[
    ("proxy.connection.accepted", |talk| {
        talk.at(talk.host, Role::Proxy, What::Refused { status: Some(503) });
    }),
    ("proxy.connection.silent-first", |talk| {
        talk.opens();
        talk.at(talk.host, Role::Provider, What::Text("hello".into()));
        talk.gets(BEGUN, "[]");
    }),
    ("proxy.connection.second-refused", |talk| {
        talk.begun();
        second(talk, What::Opened { subprotocol: None });
    }),
    ("proxy.connection.second-refused", |talk| {
        talk.begun();
        second(talk, What::Refused { status: Some(503) });
    }),
    ("proxy.connection.never-again", |talk| {
        talk.begun();
        talk.at(talk.host, Role::Provider, What::Broken);
        second(talk, What::Opened { subprotocol: None });
    }),
    ("proxy.connection.credential-silent", |talk| {
        talk.begun();
        talk.host_sends(FrameType::Authorization, (0, 0), [0]);
        talk.finishes(BEGIN);
    }),
    ("proxy.connection.credential-silent", |talk| {
        talk.begun();
        talk.host_sends(FrameType::Authorization, (0, 0), [0]);
        talk.requests(8, "");
        talk.finishes(8);
    }),
    ("proxy.connection.credential-silent", |talk| {
        talk.begun();
        talk.host_sends(FrameType::Authorization, (0, 0), [0]);
        talk.asks(1, [77]);
        talk.ends(1);
    }),
    ("proxy.connection.text-ignored", |talk| {
        talk.begun();
        talk.at(talk.host, Role::Provider, What::Text("hello".into()));
        talk.closes(talk.host);
    }),
    ("proxy.connection.idle-kept", |talk| {
        talk.begun();
        talk.closes(talk.host);
    }),
    ("proxy.connection.text-ignored", |talk| {
        talk.opens();
        talk.at(talk.host, Role::Provider, What::Text("hello".into()));
        talk.calls(AgentCall::Register, r#"{"arguments":1}"#);
    }),
    ("proxy.connection.kept", |talk| {
        talk.asked();
        talk.closes(talk.host);
    }),
    ("proxy.connection.no-timeout", |talk| {
        let (_, offer) = talk.offering();
        talk.at(offer, Role::Proxy, What::Broken);
    }),
    ("proxy.frame.binary-only", |talk| {
        talk.begun();
        talk.at(talk.host, Role::Proxy, What::Text("hello".into()));
    }),
    ("proxy.frame.header", |talk| {
        talk.begun();
        talk.at(talk.host, Role::Proxy, What::Binary(vec![2, 0, 0].into()));
    }),
    ("proxy.frame.header", |talk| {
        talk.begun();
        talk.proxy_sends(FrameType::Request, (BEGIN, 0), [0]);
    }),
    ("proxy.frame.header", |talk| {
        talk.registering();
        talk.finishes(BEGIN << 24);
    }),
    ("proxy.frame.finish-empty", |talk| {
        talk.opens();
        talk.requests(8, "");
        talk.proxy_sends(FrameType::ResponseFinish, (8, 0), "x");
    }),
    ("proxy.frame.unknown-type-dropped", |talk| {
        talk.opens();
        talk.raw(&[7; 9]);
        talk.finishes(0x0707_0707);
    }),
    ("proxy.frame.wrong-direction-dropped", |talk| {
        talk.begun();
        talk.host_sends(FrameType::Response, (BEGIN, 0), [0]);
        talk.closes(talk.host);
    }),
    ("proxy.frame.short-dropped", |talk| {
        talk.opens();
        talk.raw(&[1, 0]);
        talk.closes(talk.host);
    }),
    ("proxy.frame.unknown-scope-dropped", |talk| {
        talk.begun();
        talk.host_sends(FrameType::ChannelRequest, (99, 1), [1]);
        talk.proxy_sends(FrameType::ChannelResponseFinish, (99, 1), "");
    }),
    ("proxy.request.empty", |talk| unreadable(talk, b"")),
    ("proxy.request.unknown-tag", |talk| unreadable(talk, &[99])),
    ("proxy.request.not-json", |talk| unreadable(talk, b"\0{\"a")),
    ("proxy.request.not-json", |talk| unreadable(talk, b"\0{}")),
    ("proxy.request.not-registered", |talk| {
        talk.opens();
        talk.requests(9, b"\0{}");
        talk.calls(AgentCall::Register, r#"{"arguments":null}"#);
    }),
    ("proxy.request.duplicate-ignored", |talk| {
        talk.begun();
        talk.requests(BEGIN, [99]);
        talk.finishes(BEGIN);
    }),
    ("proxy.request.duplicate-ignored", |talk| {
        talk.begun();
        talk.begins(BEGIN, "2");
        talk.calls(AgentCall::Register, r#"{"arguments":2}"#);
    }),
    ("proxy.request.duplicate-ignored", |talk| {
        talk.begun();
        talk.begins(BEGIN, "2");
        talk.gets(ERROR, r#"{"kind":"begun"}"#);
        talk.finishes(BEGIN);
    }),
];
