//! Faults of the path revision: what is not a run, and has one answer.

use bytes::Bytes;

use super::paths::is_of_kind;
use crate::answers::{Fate, fate, is_json, is_success};
use crate::fault::{Fault, Heard, Interceptor, change_word, on_call, on_said, on_word, path_fault};
use crate::policy::{Endpoint, Input, Output, Word};

pub(super) const FAULTS: &[Fault] = &[
    path_fault(
        "path-register-needs-body",
        "proxy.path-register.registered",
        "takes a register that succeeds without a body for a failure",
        || {
            change_word(Endpoint::Register, |heard| {
                let (status, body) = heard.answer()?;
                (is_success(status) && body.is_empty()).then(|| Word::Failed("no body".into()))
            })
        },
    ),
    path_fault(
        "path-register-needs-no-body",
        "proxy.path-register.body-unread",
        "takes a register that succeeds with a body for a failure",
        || {
            change_word(Endpoint::Register, |heard| {
                let (status, body) = heard.answer()?;
                (is_success(status) && !body.is_empty()).then(|| Word::Failed("a body".into()))
            })
        },
    ),
    path_fault(
        "path-register-body-read",
        "proxy.path-register.body-unread",
        "takes a register that succeeds with a body that is no JSON for a failure",
        || {
            change_word(Endpoint::Register, |heard| {
                let (status, body) = heard.answer()?;
                let odd = !body.is_empty() && !is_json(body);
                (is_success(status) && odd).then(|| Word::Failed("no JSON".into()))
            })
        },
    ),
    path_fault(
        "path-unreadable-fate-as-missed",
        "proxy.path-enqueue.unreadable-fate",
        "tells that a message was missed whose fate cannot be read",
        || {
            change_word(Endpoint::Enqueue, |heard| {
                let (status, body) = heard.answer()?;
                (is_success(status) && fate(body).is_none()).then(|| Word::Answered {
                    status: 200,
                    body: "{\"type\":\"missed\"}".into(),
                })
            })
        },
    ),
    path_fault(
        "path-register-unanswered",
        "proxy.path-register.registered",
        "closes without a message when a register succeeds",
        || {
            on_said(Endpoint::Register, |_, host, bytes, next| {
                if bytes.first() != Some(&0) {
                    next.push(Output::Send(host, bytes).into());
                }
            })
        },
    ),
    path_fault(
        "path-register-refusal-as-success",
        "proxy.path-register.refused",
        "takes a register that is refused with status 400 for a success",
        || register_taken(|heard| heard.answer().is_some_and(|(status, _)| status == 400)),
    ),
    path_fault(
        "path-register-refusal-replaced",
        "proxy.path-register.refused",
        "tells words of its own when a register is refused",
        || {
            on_said(Endpoint::Register, |_, host, bytes, next| {
                let bytes = match bytes.first() {
                    Some(1) => Bytes::from_static(b"\x01{\"kind\":\"refused\"}"),
                    _ => bytes,
                };
                next.push(Output::Send(host, bytes).into());
            })
        },
    ),
    path_fault(
        "path-register-refusal-raw",
        "proxy.path-register.refused",
        "tells the text of a register's refusal as it is, though it is no JSON",
        || raw(Endpoint::Register),
    ),
    path_fault(
        "path-register-again-taken",
        "proxy.path-register.again",
        "takes a second register for a success",
        || register_taken(|heard| is_of_kind(heard, "registered")),
    ),
    path_fault(
        "path-missed-as-error",
        "proxy.path-enqueue.fate",
        "tells an error when a message was missed",
        || fates(|fate| (fate == Fate::Missed).then_some(b"\x03{\"kind\":\"missed\"}")),
    ),
    path_fault(
        "path-dequeued-as-missed",
        "proxy.path-enqueue.fate",
        "tells that a message which was dequeued was missed",
        || fates(|fate| (fate == Fate::Dequeued).then_some(b"\x02")),
    ),
    path_fault(
        "path-delivered-as-missed",
        "proxy.path-enqueue.fate",
        "tells that a message which was delivered was missed",
        || fates(|fate| (fate == Fate::Delivered).then_some(b"\x02")),
    ),
    path_fault(
        "path-enqueue-error-byte",
        "proxy.path-enqueue.error",
        "tells the error of an enqueue behind the byte 2",
        || {
            on_said(Endpoint::Enqueue, |_, host, bytes, next| {
                let bytes = match bytes.split_first() {
                    Some((3, error)) => [b"\x02", error].concat().into(),
                    _ => bytes,
                };
                next.push(Output::Send(host, bytes).into());
            })
        },
    ),
    path_fault(
        "path-enqueue-refusal-raw",
        "proxy.path-enqueue.error",
        "tells the text of an enqueue's refusal as it is, though it is no JSON",
        || raw(Endpoint::Enqueue),
    ),
    path_fault(
        "path-enqueue-failure-as-missed",
        "proxy.path-enqueue.error",
        "tells that a message was missed where the agent server failed",
        || {
            on_said(Endpoint::Enqueue, |_, host, bytes, next| {
                let bytes = match bytes.first() {
                    Some(3) => Bytes::from_static(b"\x02"),
                    _ => bytes,
                };
                next.push(Output::Send(host, bytes).into());
            })
        },
    ),
    path_fault(
        "path-enqueue-answered-at-once",
        "proxy.path-enqueue.answered-when-known",
        "tells that a message is delivered before the agent server does",
        || {
            on_call(Endpoint::Enqueue, |_, id, call, next| {
                next.push(Output::Call(id, call).into());
                let body = "{\"type\":\"delivered\"}".into();
                next.push(Input::Agent(id, Word::Answered { status: 200, body }).into());
            })
        },
    ),
    path_fault(
        "path-dequeue-waits",
        "proxy.path-dequeue.asks",
        "waits for a message before it dequeues",
        || on_call(Endpoint::Dequeue, |_, _, _, _| {}),
    ),
    path_fault(
        "path-dequeue-swapped",
        "proxy.path-dequeue.answered",
        "tells that something was withdrawn where nothing waited, and the other way round",
        || {
            on_said(Endpoint::Dequeue, |_, host, bytes, next| {
                let bytes = match bytes[..] {
                    [0] => Bytes::from_static(&[1]),
                    [1] => Bytes::from_static(&[0]),
                    _ => bytes,
                };
                next.push(Output::Send(host, bytes).into());
            })
        },
    ),
    path_fault(
        "path-dequeue-error-as-nothing",
        "proxy.path-dequeue.answered",
        "tells that nothing waited where the agent server failed",
        || {
            on_said(Endpoint::Dequeue, |_, host, bytes, next| {
                let bytes = match bytes.first() {
                    Some(2) => Bytes::from_static(&[1]),
                    _ => bytes,
                };
                next.push(Output::Send(host, bytes).into());
            })
        },
    ),
    path_fault(
        "path-dequeue-waits-for-agent",
        "proxy.path-dequeue.answered",
        "does not answer a dequeue that no agent server answers",
        || waits(Endpoint::Dequeue),
    ),
    path_fault(
        "path-schema-waits-for-agent",
        "proxy.path-schema.answered",
        "does not answer a schema request that no agent server answers",
        || waits(Endpoint::Schema),
    ),
    path_fault(
        "path-run-as-text",
        "proxy.call.content-type",
        "says that the body of a run is text",
        || super::as_text(Endpoint::Run),
    ),
    path_fault(
        "path-enqueue-as-text",
        "proxy.call.content-type",
        "says that the body of an enqueue is text",
        || super::as_text(Endpoint::Enqueue),
    ),
    path_fault(
        "path-schema-emptied",
        "proxy.path-schema.answered",
        "tells an empty schema",
        || {
            on_said(Endpoint::Schema, |_, host, bytes, next| {
                let bytes = match bytes.first() {
                    Some(0) => Bytes::from_static(b"\0{}"),
                    _ => bytes,
                };
                next.push(Output::Send(host, bytes).into());
            })
        },
    ),
    path_fault(
        "path-schema-error-silent",
        "proxy.path-schema.answered",
        "closes without a message where the agent server has no schema",
        || {
            on_said(Endpoint::Schema, |_, host, bytes, next| {
                if bytes.first() == Some(&0) {
                    next.push(Output::Send(host, bytes).into());
                }
            })
        },
    ),
];

/// Takes answers of a register for a success.
fn register_taken(when: fn(&Heard<'_>) -> bool) -> Interceptor {
    change_word(Endpoint::Register, move |heard| {
        when(heard).then(|| Word::Answered {
            status: 204,
            body: Bytes::new(),
        })
    })
}

/// Tells the text of a refusal as it is, where it is no JSON.
fn raw(endpoint: Endpoint) -> Interceptor {
    on_said(endpoint, |_, host, bytes, next| {
        let text = bytes.get(1..).and_then(super::refusal_in_words);
        let bytes = match (bytes.first(), text) {
            (Some(tag), Some(text)) => [&[*tag], text.as_bytes()].concat().into(),
            _ => bytes,
        };
        next.push(Output::Send(host, bytes).into());
    })
}

/// Waits without end for an agent server that is not there.
fn waits(endpoint: Endpoint) -> Interceptor {
    on_word(endpoint, |heard, next| {
        if !matches!(heard.word, Word::Failed(_)) {
            next.push(heard.pass());
        }
    })
}

/// Tells a fate by another message.
fn fates(told: fn(Fate) -> Option<&'static [u8]>) -> Interceptor {
    on_said(Endpoint::Enqueue, move |_, host, bytes, next| {
        let fate = match bytes[..] {
            [0] => Some(Fate::Delivered),
            [1] => Some(Fate::Dequeued),
            [2] => Some(Fate::Missed),
            _ => None,
        };
        let bytes = fate.and_then(told).map_or(bytes, Bytes::from_static);
        next.push(Output::Send(host, bytes).into());
    })
}
