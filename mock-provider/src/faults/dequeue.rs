//! Faults of dequeues.

use std::collections::{HashMap, HashSet};

use diverge_protocol::wire::profile::BeginChannel;
use diverge_protocol::wire::profile::ClientChannel::{Dequeue, Enqueue};

use super::client_channels::{
    answer, answer_unserved, answers, carries, compact_answers, finish, holds, numbers, open,
    opens, opens_when, turn_away,
};
use crate::fault::{Fault, fault, lose, on, on_input, rewrite};
use crate::view::{Flow, Message, Part};

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "dequeue-answer-lost",
        "dequeue.answer-relayed",
        "finishes a dequeue without its answer",
        || lose(Flow::ToClient, |message| answers(message, Dequeue)),
    ),
    fault(
        "dequeue-always-withdraws",
        "dequeue.answer-relayed",
        "says that something was withdrawn where nothing waited, in a run that has asked nothing else",
        || {
            rewrite(
                Flow::ToClient,
                |message| {
                    let alone = message.run.is_some_and(|run| run.client_opened == 1);
                    alone && answers(message, Dequeue) && *message.frame.payload == [1]
                },
                |_| vec![0].into(),
            )
        },
    ),
    fault(
        "dequeue-error-compacted",
        "dequeue.answer-relayed",
        "sends the error of a dequeue without the white space in its JSON",
        || compact_answers(Dequeue, 2),
    ),
    fault(
        "dequeue-unserved-answered",
        "dequeue.answer-relayed",
        "says that nothing waited where the proxy did not serve a dequeue",
        || answer_unserved(Dequeue, &[1]),
    ),
    fault(
        "dequeue-respelled",
        "dequeue.request-relayed",
        "carries a dequeue whose key has escapes on without them",
        || {
            rewrite(
                Flow::ToProxy,
                |message| carries(message, BeginChannel::Dequeue) && holds(message.body(), "\\u"),
                |message| match serde_json::from_slice::<serde_json::Value>(message.body()) {
                    Ok(value) => [&message.frame.payload[..1], value.to_string().as_bytes()]
                        .concat()
                        .into(),
                    Err(_) => message.frame.payload.clone(),
                },
            )
        },
    ),
    fault(
        "dequeue-in-loop-refused",
        "dequeue.request-relayed",
        "does not carry a dequeue on in a loop",
        || turn_away(|message| opens_when(message, Dequeue, |run| run.in_loop)),
    ),
    fault(
        "dequeue-answer-remembered",
        "dequeue.request-relayed",
        "answers a dequeue for the second time as it was answered for the first",
        || {
            let mut known = HashMap::new();
            on_input(move |view, input, next| {
                if let Some(message) = view.read_input(&input) {
                    let asked = message
                        .run
                        .and_then(|run| run.proxy_channels.get(&message.frame.channel));
                    if let (Flow::FromProxy, Part::Answer, Some(ask)) =
                        (message.flow, message.part, asked)
                    {
                        let said = message.frame.payload.clone();
                        known.insert((message.scope(), ask.slice(1..)), said);
                    } else if opens(&message, Dequeue) {
                        let ask = (message.scope(), message.frame.payload.slice(1..));
                        if let Some(said) = known.get(&ask) {
                            next.push(answer(&message, said.clone()));
                            return next.push(finish(&message, message.frame.channel));
                        }
                    }
                }
                next.push(input.into());
            })
        },
    ),
    fault(
        "dequeued-unsaid",
        "enqueue.answer-relayed",
        "loses the answer of an enqueue that was dequeued, while the dequeue is not answered",
        || {
            lose(Flow::ToClient, |message| {
                is_dequeued(message)
                    && message
                        .run
                        .is_some_and(|run| open(run, Dequeue) > 0 && open(run, Enqueue) == 1)
            })
        },
    ),
    fault(
        "dequeued-once",
        "enqueue.answer-relayed",
        "loses the answer of every enqueue that was dequeued, but for a run's first",
        || {
            let mut said = HashSet::new();
            lose(Flow::ToClient, move |message| {
                is_dequeued(message) && !said.insert(message.scope())
            })
        },
    ),
    fault(
        "withdrawn-ends-enqueue",
        "enqueue.late-answer",
        "finishes an enqueue itself once a dequeue has withdrawn something",
        || {
            let mut said = HashSet::new();
            on(Flow::ToClient, move |message, next| {
                if is_dequeued(message) {
                    said.insert(message.scope());
                }
                next.push(message.pass());
                let withdrawn = answers(message, Dequeue) && *message.frame.payload == [0];
                if withdrawn && !said.contains(&message.scope()) {
                    let waiting = message.run.map(|run| numbers(run, Enqueue));
                    let waiting = waiting.into_iter().flatten();
                    next.extend(waiting.map(|channel| finish(message, channel)));
                }
            })
        },
    ),
];

/// Whether the client is told that its enqueue was dequeued.
fn is_dequeued(message: &Message<'_>) -> bool {
    answers(message, Enqueue) && *message.frame.payload == [1]
}
