//! Faults of refusals, and of what cannot be read.

use bytes::Bytes;
use diverge_protocol::wire::agent_server::Endpoint;
use serde_json::{Map, Value, json};

use crate::call::{Answer, Asked};
use crate::fault::{
    Fault, Interceptor, answer_instead, fault, on_call, on_input, replace_reply, tune,
};
use crate::policy::{Input, Output};
use crate::view::Reply;

use super::edited;

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "refusals-in-words",
        "agent.refusal.json",
        "refuses in words that are no JSON",
        || reworded(|_| true, |_| "no".into()),
    ),
    fault(
        "refusals-empty",
        "agent.refusal.json",
        "refuses without a body",
        || reworded(|_| true, |_| Bytes::new()),
    ),
    fault(
        "unregistered-in-words",
        "agent.refusal.json",
        "refuses a loop before a registration in words that are no JSON",
        || reworded(|kind| kind == "unregistered", |_| "register first".into()),
    ),
    fault(
        "content-in-words",
        "agent.refusal.json",
        "refuses content in words that are no JSON",
        || reworded(|kind| kind == "content", |_| "no content".into()),
    ),
    fault(
        "refusals-without-kind",
        "agent.refusal.kind",
        "refuses without a kind",
        || {
            reworded(
                |kind| !matches!(kind, "registered" | "unregistered"),
                |body| without(body, "kind"),
            )
        },
    ),
    fault(
        "busy-a-string",
        "agent.refusal.kind",
        "refuses a loop while one runs with a JSON string",
        || reworded(|kind| kind == "busy", |_| "\"busy\"".into()),
    ),
    fault(
        "content-kind-number",
        "agent.refusal.kind",
        "refuses content with a number for its kind",
        || {
            reworded(
                |kind| kind == "content",
                |body| {
                    edited(body, |it| {
                        it.insert("kind".into(), 4.into());
                    })
                    .into()
                },
            )
        },
    ),
    fault(
        "register-arguments-optional",
        "agent.request.unreadable-refused",
        "takes a registration without arguments",
        || {
            lenient(Endpoint::Register, |body| {
                for name in ["arguments", "agent"] {
                    body.entry(name).or_insert_with(|| json!({}));
                }
            })
        },
    ),
    fault(
        "run-key-optional",
        "agent.request.unreadable-refused",
        "takes a loop's message without a key",
        || {
            lenient(Endpoint::Run, |body| {
                let messages = body.get_mut("messages").and_then(Value::as_array_mut);
                for message in messages.into_iter().flatten() {
                    if let Value::Object(message) = message {
                        message.entry("key").or_insert_with(|| "".into());
                    }
                }
                body.entry("prompt").or_insert_with(|| "".into());
            })
        },
    ),
    fault(
        "enqueue-key-optional",
        "agent.request.unreadable-refused",
        "takes a joining message without a key",
        || {
            lenient(Endpoint::Enqueue, |body| {
                body.entry("key").or_insert_with(|| "".into());
                body.entry("prompt").or_insert_with(|| "".into());
            })
        },
    ),
    fault(
        "dequeue-key-optional",
        "agent.request.unreadable-refused",
        "takes a dequeue without a key",
        || {
            lenient(Endpoint::Dequeue, |body| {
                body.entry("key").or_insert_with(|| "".into());
            })
        },
    ),
    fault(
        "enqueue-nonsense-missed",
        "agent.request.unreadable-refused",
        "answers a joining message that is no JSON with missed",
        || {
            answer_instead(Endpoint::Enqueue, |_, asked| {
                let nonsense = serde_json::from_slice::<Value>(&asked.body).is_err();
                nonsense.then(|| Answer::json(200, "{\"type\":\"missed\"}"))
            })
        },
    ),
    fault(
        "unreadable-500",
        "agent.request.unreadable-status",
        "answers what it cannot read with 500",
        || tune(|settings| settings.unreadable_status = 500),
    ),
    fault(
        "nonsense-cut-off",
        "agent.request.unreadable-status",
        "cuts off whoever sends what is no JSON",
        || {
            on_input(|_, input, next| match input {
                Input::Called(call, ref asked) if is_nonsense(asked) => {
                    next.push(Output::Cut(call).into());
                }
                other => next.push(other.into()),
            })
        },
    ),
    fault(
        "unreadable-final",
        "agent.request.harmless",
        "serves nobody any more after what it could not read",
        || {
            let mut broken = false;
            on_input(move |_, input, next| {
                match &input {
                    Input::Called(call, _) if broken => {
                        return next.push(Output::Cut(*call).into());
                    }
                    Input::Called(_, asked) => broken = is_nonsense(asked),
                    _ => {}
                }
                next.push(input.into());
            })
        },
    ),
    fault(
        "missing-member-final",
        "agent.request.harmless",
        "runs no loop any more after a request that lacked something",
        || {
            let mut broken = false;
            on_call(Endpoint::Run, move |_, call, asked, next| {
                if broken {
                    return next.push(Output::Cut(call).into());
                }
                let lacks = |name| asked.json().get(name).is_none();
                broken = lacks("messages") && lacks("prompt");
                next.push(Input::Called(call, asked).into());
            })
        },
    ),
];

fn is_nonsense(asked: &Asked) -> bool {
    asked.method == "POST" && serde_json::from_slice::<Value>(&asked.body).is_err()
}

fn without(body: &[u8], name: &str) -> Bytes {
    edited(body, |it| {
        it.remove(name);
    })
    .into()
}

/// Gives the refusals of some kinds another body.
fn reworded(kinds: fn(&str) -> bool, body: fn(&[u8]) -> Bytes) -> Interceptor {
    replace_reply(
        move |reply: &Reply<'_>| reply.kind().is_some_and(|kind| kinds(&kind)),
        move |reply| vec![reply.with_body(body(&reply.answer.body))],
    )
}

/// Fills in what a request lacks.
fn lenient(endpoint: Endpoint, fill: fn(&mut Map<String, Value>)) -> Interceptor {
    on_call(endpoint, move |_, call, mut asked, next| {
        asked.body = edited(&asked.body, fill).into();
        next.push(Input::Called(call, asked).into());
    })
}
