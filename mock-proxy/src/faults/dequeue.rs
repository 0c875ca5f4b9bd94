//! Faults of dequeues.

use diverge_protocol::wire::profile::BeginChannel::{Dequeue, Enqueue};
use serde_json::{Value, json};

use crate::answers::{is_success, withdrew};
use crate::fault::{
    Fault, change_body, change_word, extra_call, fault, lose, on, on_call, rewrite, slip,
};
use crate::policy::{Endpoint, Input, Word};
use crate::settings::Slip;
use crate::view::Flow;

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "nothing-as-withdrawn",
        "proxy.dequeue.nothing-waited",
        "tells that something was withdrawn where nothing waited",
        || {
            rewrite(
                Flow::ToHost,
                |message| message.answers(Dequeue) && message.frame.payload[..] == [1],
                |_| "\0".into(),
            )
        },
    ),
    fault(
        "nothing-as-error",
        "proxy.dequeue.nothing-waited",
        "tells an error where nothing waited",
        || {
            rewrite(
                Flow::ToHost,
                |message| message.answers(Dequeue) && message.frame.payload[..] == [1],
                |_| "\x02{\"kind\":\"empty\"}".into(),
            )
        },
    ),
    fault(
        "nothing-bare",
        "proxy.dequeue.nothing-waited",
        "finishes a dequeue bare where nothing waited",
        || {
            lose(Flow::ToHost, |message| {
                message.answers(Dequeue) && message.frame.payload[..] == [1]
            })
        },
    ),
    fault(
        "idle-dequeue-asks",
        "proxy.dequeue.idle-asks-nobody",
        "puts a dequeue to the agent server while nothing runs",
        || {
            on(Flow::FromHost, |message, next| {
                if message.opens(Dequeue) && !message.view.is_asking(Endpoint::Run) {
                    let body = message.frame.payload.slice(1..);
                    next.push(extra_call(message.view, Endpoint::Dequeue, body));
                }
                next.push(message.pass());
            })
        },
    ),
    fault(
        "dequeue-not-asked",
        "proxy.dequeue.asks",
        "does not put dequeues to the agent server",
        || {
            on_call(Endpoint::Dequeue, |_, id, _, next| {
                next.push(Input::Agent(id, answered("empty")).into());
            })
        },
    ),
    fault(
        "dequeue-without-key",
        "proxy.dequeue.asks",
        "puts a dequeue to the agent server without its key",
        || change_body(Endpoint::Dequeue, |_, _| Some(b"{}".to_vec())),
    ),
    fault(
        "dequeue-key-trimmed",
        "proxy.dequeue.asks",
        "takes the white space around a key away",
        || {
            change_body(Endpoint::Dequeue, |_, body| {
                let body: Value = serde_json::from_slice(body).ok()?;
                let key = body["key"].as_str()?.trim();
                serde_json::to_vec(&json!({"key": key})).ok()
            })
        },
    ),
    fault(
        "withdrawn-as-nothing",
        "proxy.dequeue.withdrawn",
        "tells that nothing waited where the agent server withdrew something",
        || {
            change_word(Endpoint::Dequeue, |heard| {
                let (status, body) = heard.answer()?;
                (is_success(status) && withdrew(body) == Some(true)).then(|| answered("empty"))
            })
        },
    ),
    fault(
        "waiting-kept",
        "proxy.dequeue.waiting",
        "leaves messages where they are that wait in the proxy",
        || slip(Slip::WithdrawsNothing),
    ),
    fault(
        "waiting-first-only",
        "proxy.dequeue.waiting",
        "withdraws only the first message under a key",
        || slip(Slip::WithdrawsOne),
    ),
    fault(
        "waiting-uncounted",
        "proxy.dequeue.waiting",
        "tells that nothing waited where only the proxy withdrew something",
        || slip(Slip::CountsNothing),
    ),
    fault(
        "waiting-unanswered",
        "proxy.dequeue.waiting",
        "does not answer the messages that a dequeue withdraws",
        || {
            let mut lost = std::collections::HashSet::new();
            on(Flow::ToHost, move |message, next| {
                if message.answers(Enqueue) && message.frame.payload[..] == [1] {
                    lost.insert(message.frame.channel);
                } else if !(message.finishes(Enqueue) && lost.remove(&message.frame.channel)) {
                    next.push(message.pass());
                }
            })
        },
    ),
    fault(
        "waiting-as-delivered",
        "proxy.dequeue.waiting",
        "tells that the messages which a dequeue withdraws are delivered",
        || {
            rewrite(
                Flow::ToHost,
                |message| message.answers(Enqueue) && message.frame.payload[..] == [1],
                |_| "\0".into(),
            )
        },
    ),
    fault(
        "all-withdrawn",
        "proxy.dequeue.others-stay",
        "withdraws what waits under any key",
        || slip(Slip::WithdrawsAll),
    ),
    fault(
        "dequeue-error-as-nothing",
        "proxy.dequeue.error",
        "tells that nothing waited where the agent server failed",
        || {
            change_word(Endpoint::Dequeue, |heard| {
                let (status, _) = heard.answer()?;
                (!is_success(status)).then(|| answered("empty"))
            })
        },
    ),
    fault(
        "dequeue-error-bare",
        "proxy.dequeue.error",
        "finishes a dequeue bare where the agent server failed",
        || {
            lose(Flow::ToHost, |message| {
                message.answers(Dequeue) && message.frame.payload.first() == Some(&2)
            })
        },
    ),
    fault(
        "dequeue-error-replaced",
        "proxy.dequeue.error",
        "tells words of its own where the agent server refuses a dequeue",
        || {
            rewrite(
                Flow::ToHost,
                |message| message.answers(Dequeue) && message.frame.payload.first() == Some(&2),
                |_| "\x02{\"kind\":\"refused\"}".into(),
            )
        },
    ),
    fault(
        "unreadable-outcome-as-nothing",
        "proxy.dequeue.error",
        "tells that nothing waited where the outcome cannot be read",
        || {
            change_word(Endpoint::Dequeue, |heard| {
                let (status, body) = heard.answer()?;
                (is_success(status) && withdrew(body).is_none()).then(|| answered("empty"))
            })
        },
    ),
    fault(
        "dequeue-as-text",
        "proxy.call.content-type",
        "says that the body of a dequeue is text",
        || super::as_text(Endpoint::Dequeue),
    ),
    fault(
        "withdrawn-in-flight-forgotten",
        "proxy.dequeue.in-flight",
        "keeps a message for the next loop that was dequeued while it was offered",
        || slip(Slip::ForgetsWithdrawn),
    ),
];

fn answered(kind: &str) -> Word {
    Word::Answered {
        status: 200,
        body: format!("{{\"type\":\"{kind}\"}}").into(),
    }
}
