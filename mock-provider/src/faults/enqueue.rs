//! Faults of enqueues, on the way to the proxy and on the way back.

use std::collections::HashSet;

use diverge_protocol::wire::Frame;
use diverge_protocol::wire::profile::BeginChannel;
use diverge_protocol::wire::profile::ClientChannel::{self, Dequeue, Enqueue, Schema};

use super::client_channels::{
    Unfed, answer_unserved, answers, carries, compact, compact_answers, finish, finishes, holds,
    numbers, open, opens, opens_when, turn_away,
};
use crate::fault::{
    Fault, Interceptor, after, double, fault, lose, on, on_input, on_output, rewrite,
};
use crate::view::{Flow, Message, Part, RunView};

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "enqueue-answer-lost",
        "enqueue.answer-relayed",
        "finishes an enqueue without its answer",
        || lose(Flow::ToClient, |message| answers(message, Enqueue)),
    ),
    fault(
        "enqueue-answered-twice",
        "enqueue.answer-relayed",
        "sends the answer to an enqueue twice",
        || double(Flow::ToClient, |message| answers(message, Enqueue)),
    ),
    fault(
        "enqueue-compacted",
        "enqueue.request-relayed",
        "carries an enqueue on without the white space in its JSON",
        || carry(|_| true, compact),
    ),
    fault(
        "enqueue-cut",
        "enqueue.request-relayed",
        "carries on no more of an enqueue than 65,536 bytes",
        || carry(|body| body.len() > 65_536, |body| body[..65_536].to_vec()),
    ),
    fault(
        "enqueue-audio-refused",
        "enqueue.request-relayed",
        "does not carry on an enqueue with audio in it",
        || turn_away(|message| opens(message, Enqueue) && holds(message.body(), "\"audio\"")),
    ),
    fault(
        "enqueue-empty-key-refused",
        "enqueue.request-relayed",
        "does not carry on an enqueue whose key is empty",
        || {
            turn_away(|message| {
                opens(message, Enqueue) && key(message.body()).as_deref() == Some("")
            })
        },
    ),
    fault(
        "enqueue-key-taken",
        "enqueue.request-relayed",
        "does not carry on an enqueue that has its key in common with two other waiting ones",
        || {
            turn_away(|message| {
                opens_when(message, Enqueue, |run| {
                    let other =
                        |ask: &&[u8]| *ask != message.body() && key(ask) == key(message.body());
                    bodies(run).filter(other).count() >= 2
                })
            })
        },
    ),
    fault(
        "enqueue-third-alike-refused",
        "enqueue.request-relayed",
        "does not carry on an enqueue that two waiting ones are alike to",
        || {
            turn_away(|message| {
                opens_when(message, Enqueue, |run| {
                    bodies(run).filter(|ask| *ask == message.body()).count() >= 2
                })
            })
        },
    ),
    fault(
        "enqueue-seventeenth-refused",
        "enqueue.request-relayed",
        "carries on no more than sixteen enqueues at a time",
        || turn_away(|message| opens_when(message, Enqueue, |run| open(run, Enqueue) >= 16)),
    ),
    fault(
        "enqueue-in-loop-refused",
        "enqueue.request-relayed",
        "does not carry on an enqueue in a loop that has sent two chunks",
        || turn_away(|message| opens_when(message, Enqueue, |run| run.in_loop && run.chunks >= 2)),
    ),
    fault(
        "enqueue-unserved-remembered",
        "enqueue.request-relayed",
        "carries no enqueue on after one that the proxy did not serve",
        || {
            let (mut answered, mut spurned) = (HashSet::new(), HashSet::new());
            on_input(move |view, input, next| {
                if let Some(message) = view.read_input(&input) {
                    let channel = (message.scope(), message.frame.channel);
                    match (message.flow, message.part) {
                        (Flow::FromProxy, Part::Answer) => {
                            answered.insert(channel);
                        }
                        (Flow::FromProxy, Part::AnswerFinish) if !answered.remove(&channel) => {
                            spurned.insert(message.scope());
                        }
                        _ if opens(&message, Enqueue) && spurned.contains(&message.scope()) => {
                            return next.push(finish(&message, message.frame.channel));
                        }
                        _ => {}
                    }
                }
                next.push(input.into());
            })
        },
    ),
    fault(
        "enqueue-unfed-refused",
        "enqueue.without-feed",
        "does not carry on an enqueue while the values that a loop handed back have not been fed again",
        || {
            let mut unfed = Unfed::default();
            on_input(move |view, input, next| {
                if let Some(message) = view.read_input(&input) {
                    unfed.note(&message);
                    if opens(&message, Enqueue) && unfed.is(&message) {
                        return next.push(finish(&message, message.frame.channel));
                    }
                }
                next.push(input.into());
            })
        },
    ),
    fault(
        "enqueue-unserved-answered",
        "enqueue.unserved",
        "answers an enqueue that the proxy did not serve with an error",
        || answer_unserved(Enqueue, b"\x02null"),
    ),
    fault(
        "enqueue-error-compacted",
        "enqueue.answer-verbatim",
        "sends the error of an enqueue without the white space in its JSON",
        || compact_answers(Enqueue, 2),
    ),
    fault(
        "enqueue-dequeued-doubted",
        "enqueue.answer-relayed",
        "loses the answer that an enqueue was dequeued where the client dequeued nothing",
        || {
            let mut dequeued = HashSet::new();
            on_output(move |view, output, next| {
                if let Some(message) = view.read_output(&output) {
                    if carries(&message, BeginChannel::Dequeue) {
                        dequeued.insert(message.scope());
                    } else if answers(&message, Enqueue)
                        && *message.frame.payload == [1]
                        && !dequeued.contains(&message.scope())
                    {
                        return;
                    }
                }
                next.push(output.into());
            })
        },
    ),
    fault(
        "enqueue-given-up",
        "enqueue.late-answer",
        "finishes the enqueues that still wait when a third loop ends",
        || {
            after(
                Flow::ToClient,
                |message| message.is(Part::Inactive, |run| run.loops >= 3),
                |message| {
                    let waiting = message.run.map(|run| numbers(run, Enqueue));
                    let waiting = waiting.into_iter().flatten();
                    waiting.map(|channel| finish(message, channel)).collect()
                },
            )
        },
    ),
    fault(
        "enqueue-ends-with-loop",
        "enqueue.late-answer",
        "finishes an enqueue that came in a loop when that loop ends",
        || {
            let mut in_loop: Vec<(_, Vec<u8>)> = Vec::new();
            on_output(move |view, output, next| {
                let Some(message) = view.read_output(&output) else {
                    return next.push(output.into());
                };
                if carries(&message, BeginChannel::Enqueue)
                    && message.run.is_some_and(|run| run.in_loop)
                {
                    in_loop.push((message.scope(), message.body().to_vec()));
                }
                next.push(message.pass());
                if message.part != Part::Inactive {
                    return;
                }
                for (number, ask) in message.run.into_iter().flat_map(|run| &run.client_channels) {
                    let came = |it: &(_, Vec<u8>)| it.0 == message.scope() && *it.1 == ask[1..];
                    if in_loop.iter().any(came) {
                        next.push(finish(&message, *number));
                    }
                }
            })
        },
    ),
    fault(
        "enqueue-answers-in-turn",
        "enqueue.many",
        "gives what the proxy answers to the oldest of at least three enqueues",
        || to_the_oldest(|run| open(run, Enqueue) >= 3),
    ),
    fault(
        "enqueue-younger-unanswered",
        "enqueue.many",
        "loses the answer to the younger of two enqueues while the older waits",
        || {
            lose(Flow::ToClient, |message| {
                let younger = || {
                    let numbers = message.run.map(|run| numbers(run, Enqueue));
                    numbers.is_some_and(|it| it.len() == 2 && it[1] == message.frame.channel)
                };
                (answers(message, Enqueue) || finishes(message, Enqueue)) && younger()
            })
        },
    ),
    fault(
        "enqueue-answer-astray",
        "enqueue.late-answer",
        "gives what the proxy answers to the oldest channel where asks of all three kinds are open",
        || {
            to_the_oldest(|run| {
                [Enqueue, Dequeue, Schema]
                    .iter()
                    .all(|kind| open(run, *kind) > 0)
            })
        },
    ),
    fault(
        "enqueue-number-cut",
        "channel.answer-without-request",
        "keeps the lower 24 bits of the channel number of an enqueue, where only the one above is set",
        || {
            on(Flow::ToClient, |message, next| {
                let low = message.frame.channel & 0x00ff_ffff;
                let cut = message.frame.channel == 0x0100_0000;
                if cut && (answers(message, Enqueue) || finishes(message, Enqueue)) {
                    next.push(on_channel(message, low));
                } else {
                    next.push(message.pass());
                }
            })
        },
    ),
];

/// Carries the bodies of enqueues for which `when` holds on in another form.
fn carry(when: fn(&[u8]) -> bool, form: fn(&[u8]) -> Vec<u8>) -> Interceptor {
    rewrite(
        Flow::ToProxy,
        move |message| carries(message, BeginChannel::Enqueue) && when(message.body()),
        move |message| {
            [&message.frame.payload[..1], &form(message.body())]
                .concat()
                .into()
        },
    )
}

/// Gives answers to the channel of the lowest number where `when` holds.
fn to_the_oldest(when: fn(&RunView) -> bool) -> Interceptor {
    on(Flow::ToClient, move |message, next| {
        let oldest = message
            .run
            .filter(|run| when(run))
            .and_then(|run| run.client_channels.keys().min());
        next.push(match oldest {
            Some(oldest) if message.part == Part::Answer => on_channel(message, *oldest),
            _ => message.pass(),
        });
    })
}

fn on_channel(message: &Message<'_>, channel: u32) -> crate::fault::Step {
    message.with_frame(Frame {
        channel,
        ..message.frame.clone()
    })
}

/// The bodies of the enqueues that wait.
fn bodies(run: &RunView) -> impl Iterator<Item = &[u8]> {
    let asks = run.client_channels.values();
    asks.filter(|ask| super::client_channels::asked(ask) == Some(ClientChannel::Enqueue))
        .filter_map(|ask| ask.get(1..))
}

/// The key that an enqueue names.
fn key(body: &[u8]) -> Option<String> {
    let body: serde_json::Value = serde_json::from_slice(body).ok()?;
    body["key"].as_str().map(str::to_owned)
}
