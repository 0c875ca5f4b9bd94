//! Faults of the queue that messages wait in.

use std::collections::HashSet;

use diverge_protocol::wire::agent_server::Fate;
use diverge_protocol::wire::profile::BeginChannel::Enqueue;
use serde_json::{Value, json};

use crate::fault::{Fault, change_body, extra_call, fault, on, on_word, slip};
use crate::policy::Endpoint;
use crate::settings::Slip;
use crate::view::Flow;

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "delivered-offered-again",
        "proxy.queue.once",
        "offers a message again that was delivered",
        || {
            on_word(Endpoint::Enqueue, |heard, next| {
                let body = heard.call.call.body.clone();
                let delivered = heard
                    .answer()
                    .is_some_and(|(_, body)| Fate::decode(body) == Ok(Fate::Delivered));
                if delivered {
                    next.push(extra_call(heard.view, Endpoint::Enqueue, body));
                }
                next.push(heard.pass());
            })
        },
    ),
    fault(
        "offered-while-starting",
        "proxy.queue.waits-for-start",
        "offers a message while the run is still being started",
        || {
            on(Flow::FromHost, |message, next| {
                if message.opens(Enqueue) && super::is_starting(message.view) {
                    let body = message.frame.payload.slice(1..);
                    next.push(extra_call(message.view, Endpoint::Enqueue, body));
                }
                next.push(message.pass());
            })
        },
    ),
    fault(
        "turned-away-while-starting",
        "proxy.queue.waits-for-start",
        "finishes an enqueue that comes while a run is being started",
        || {
            on(Flow::FromHost, |message, next| {
                next.push(
                    if message.opens(Enqueue) && super::is_starting(message.view) {
                        message.finish_channel()
                    } else {
                        message.pass()
                    },
                );
            })
        },
    ),
    fault(
        "two-deliveries",
        "proxy.queue.one-delivery",
        "offers a message while another is offered",
        || {
            on(Flow::FromHost, |message, next| {
                if message.opens(Enqueue) && message.view.is_asking(Endpoint::Enqueue) {
                    let body = message.frame.payload.slice(1..);
                    next.push(extra_call(message.view, Endpoint::Enqueue, body));
                }
                next.push(message.pass());
            })
        },
    ),
    fault(
        "newest-offered-first",
        "proxy.queue.order",
        "offers the newest message first",
        || slip(Slip::NewestFirst),
    ),
    fault(
        "offers-after-missed",
        "proxy.queue.halted",
        "goes on offering to a loop that missed a message",
        || slip(Slip::KeepsOffering),
    ),
    fault(
        "missed-put-last",
        "proxy.queue.missed-first",
        "puts a message that a loop missed behind those that wait",
        || slip(Slip::MissedLast),
    ),
    fault(
        "run-for-each",
        "proxy.queue.one-run",
        "puts one message into a run, and lets the others wait",
        || slip(Slip::OneEach),
    ),
    fault(
        "run-reversed",
        "proxy.queue.one-run",
        "puts the messages into a run in the opposite order",
        || {
            change_body(Endpoint::Run, |_, body| {
                let mut body: Value = serde_json::from_slice(body).ok()?;
                body["messages"].as_array_mut()?.reverse();
                serde_json::to_vec(&body).ok()
            })
        },
    ),
    fault(
        "run-joined",
        "proxy.queue.one-run",
        "joins the messages that wait in one",
        || {
            change_body(Endpoint::Run, |_, body| {
                let body: Value = serde_json::from_slice(body).ok()?;
                let messages = body["messages"].as_array()?;
                let content = messages.iter().filter_map(|it| it["content"].as_array());
                let content: Vec<&Value> = content.flatten().collect();
                let joined = json!({"key": messages.first()?["key"], "content": content});
                serde_json::to_vec(&json!({"messages": [joined]})).ok()
            })
        },
    ),
    fault(
        "run-without-repeated-keys",
        "proxy.queue.one-run",
        "puts one message of each key into a run",
        || {
            change_body(Endpoint::Run, |_, body| {
                let mut body: Value = serde_json::from_slice(body).ok()?;
                let mut keys = HashSet::new();
                let messages = body["messages"].as_array_mut()?;
                messages.retain(|message| keys.insert(message["key"].to_string()));
                serde_json::to_vec(&body).ok()
            })
        },
    ),
    fault(
        "delivery-given-up",
        "proxy.connection.no-timeout",
        "tells an error when the fate of a message is not known after five hundred turns",
        || super::give_up(Endpoint::Enqueue),
    ),
];
