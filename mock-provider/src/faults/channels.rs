//! Faults of channels, whoever opens them.

use std::collections::HashSet;

use bytes::Bytes;
use diverge_protocol::wire::channel::ChannelAsk;
use diverge_protocol::wire::profile::{BeginChannel, ClientChannel};
use diverge_protocol::wire::{Frame, FrameType, Profile};

use super::scopes::{asks, cut, open};
use crate::fault::{Fault, Interceptor, Step, after, before, double, fault, lose, on, replace};
use crate::policy::Output;
use crate::view::{Flow, Message, Part, RunView};

const STOP: u8 = 0;
const POSTGRES: u8 = 5;
const DAEMON: u8 = 7;
const ENQUEUE: u8 = 8;
const DEQUEUE: u8 = 9;

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "channel-finish-twice",
        "channel.finished-once",
        "finishes a client's channel twice",
        || double(Flow::ToClient, |message| message.part == Part::AnswerFinish),
    ),
    // Numbers
    fault(
        "channel-zero-unserved",
        "channel.any-number",
        "keeps channel 0 for itself",
        || unserved(|channel| channel == 0),
    ),
    fault(
        "channel-signed",
        "channel.any-number",
        "reads channel numbers with a sign",
        || unserved(|channel| channel > 0x7fff_ffff && channel < u32::MAX),
    ),
    fault(
        "channel-limit-unserved",
        "channel.any-number",
        "has no room for the highest number with a sign",
        || unserved(|channel| channel == 0x7fff_ffff),
    ),
    fault(
        "channel-max-unserved",
        "channel.any-number",
        "keeps the highest channel number for itself",
        || unserved(|channel| channel == u32::MAX),
    ),
    fault(
        "channel-one-byte",
        "channel.any-number",
        "tells channels apart by their last byte",
        || {
            lose(Flow::FromClient, |message| {
                let number = message.frame.channel;
                message.is(Part::Ask, |run| {
                    run.client_channels
                        .keys()
                        .any(|it| *it != number && it & 0xff == number & 0xff)
                })
            })
        },
    ),
    fault(
        "servers-number-taken",
        "channel.separate-number-spaces",
        "ignores a client's channel under the number of one of its own",
        || {
            lose(Flow::FromClient, |message| {
                message.is(Part::Ask, |run| {
                    run.asks.contains_key(&message.frame.channel)
                })
            })
        },
    ),
    fault(
        "answer-to-the-clients-channel",
        "channel.separate-number-spaces",
        "takes an answer for one on the client's own channel of that number",
        || {
            lose(Flow::FromClient, |message| {
                message.is(Part::Answer, |run| {
                    run.client_channels.contains_key(&message.frame.channel)
                })
            })
        },
    ),
    fault(
        "four-ask-numbers",
        "channel.live-number-not-reused",
        "has four numbers for its channels and goes round them",
        || {
            on(Flow::ToClient, |message, next| {
                let (kind, channel) = (message.frame.kind, message.frame.channel % 4);
                next.push(if kind == FrameType::ChannelRequest {
                    message.with_frame(Frame {
                        channel,
                        ..message.frame.clone()
                    })
                } else {
                    message.pass()
                });
            })
        },
    ),
    fault(
        "ask-number-by-count",
        "channel.live-number-not-reused",
        "numbers a channel by how many it has open",
        || {
            on(Flow::ToClient, |message, next| {
                let count = message
                    .run
                    .filter(|run| run.asked > run.asks.len())
                    .map(|run| run.asks.len());
                match count.and_then(|count| u32::try_from(count).ok()) {
                    Some(channel) if message.frame.kind == FrameType::ChannelRequest => {
                        next.push(message.with_frame(Frame {
                            channel,
                            ..message.frame.clone()
                        }));
                    }
                    _ => next.push(message.pass()),
                }
            })
        },
    ),
    fault(
        "number-spent-by-enqueue",
        "channel.number-reusable",
        "ignores a second enqueue under one number",
        || {
            lose(Flow::FromClient, |message| {
                asks(message, ENQUEUE) && asked_before(message, ENQUEUE)
            })
        },
    ),
    fault(
        "number-spent-by-unreadable",
        "channel.number-reusable",
        "ignores a channel under the number of one that it could not read",
        || {
            lose(Flow::FromClient, |message| {
                message.is(Part::Ask, |run| {
                    run.client_finished
                        .get(&message.frame.channel)
                        .is_some_and(Bytes::is_empty)
                })
            })
        },
    ),
    fault(
        "number-keeps-its-kind",
        "channel.number-reusable",
        "ignores a dequeue under the number of an earlier enqueue",
        || {
            lose(Flow::FromClient, |message| {
                asks(message, DEQUEUE) && asked_before(message, ENQUEUE)
            })
        },
    ),
    // Requests on a channel that is open
    fault(
        "duplicate-enqueue-carried",
        "channel.duplicate-ignored",
        "carries on a second enqueue under one number",
        || {
            before(
                Flow::FromClient,
                |message| asks(message, ENQUEUE) && repeats(message, |run| run.id.is_some()),
                |message| carry(message, BeginChannel::Enqueue),
            )
        },
    ),
    fault(
        "duplicate-of-another-kind-carried",
        "channel.duplicate-ignored",
        "carries on a dequeue under the number of a pending enqueue",
        || {
            before(
                Flow::FromClient,
                |message| asks(message, DEQUEUE) && repeats(message, |_| true),
                |message| carry(message, BeginChannel::Dequeue),
            )
        },
    ),
    fault(
        "duplicate-unreadable-channel-finished",
        "channel.duplicate-ignored",
        "finishes a channel for a request that it cannot read, open or not",
        || {
            before(
                Flow::FromClient,
                |message| message.frame.payload.is_empty() && repeats(message, |_| true),
                |message| vec![finish(message)],
            )
        },
    ),
    fault(
        "duplicate-stop-acted-on",
        "channel.duplicate-ignored",
        "acts on a stop under the number of a pending channel",
        || {
            replace(
                Flow::FromClient,
                |message| asks(message, STOP) && repeats(message, |_| true),
                |message| vec![renumbered(message)],
            )
        },
    ),
    fault(
        "early-duplicate-kept",
        "channel.duplicate-ignored",
        "keeps two channels under one number until the id",
        || {
            replace(
                Flow::FromClient,
                |message| asks(message, ENQUEUE) && repeats(message, |run| run.id.is_none()),
                |message| vec![renumbered(message)],
            )
        },
    ),
    // The end of a channel
    fault(
        "dead-scopes-channel-finished",
        "channel.ended-by-scope-finish",
        "finishes the channels that a client opens on a finished scope",
        || {
            before(
                Flow::FromClient,
                |message| {
                    asks(message, ENQUEUE)
                        && message
                            .run
                            .is_some_and(|run| run.finished && run.id.is_some())
                },
                |message| vec![finish(message)],
            )
        },
    ),
    fault(
        "lower-channels-finished",
        "channel.answer-without-request",
        "finishes with the run all channels up to a dequeue that is open",
        || {
            before(
                Flow::ToClient,
                |message| message.part == Part::Finish,
                |message| {
                    let Some(run) = message.run else {
                        return Vec::new();
                    };
                    let waiting = run
                        .client_channels
                        .iter()
                        .filter(|(_, ask)| ask.first() == Some(&DEQUEUE));
                    let last = waiting.map(|(number, _)| *number).max().unwrap_or_default();
                    let unopened =
                        (1..last).filter(|number| !run.client_channels.contains_key(number));
                    unopened
                        .map(|number| {
                            message.tell_client(
                                FrameType::ChannelResponseFinish,
                                number,
                                Bytes::new(),
                            )
                        })
                        .collect()
                },
            )
        },
    ),
    fault(
        "answer-after-finish",
        "channel.finished-once",
        "carries on what a proxy says on a channel that it has finished",
        || after_its_finish(Part::Answer, FrameType::ChannelResponse),
    ),
    fault(
        "second-finish-carried",
        "channel.finished-once",
        "carries on the second finish of a proxy's",
        || after_its_finish(Part::AnswerFinish, FrameType::ChannelResponseFinish),
    ),
    // Requests that nobody can read
    fault(
        "empty-ask-dropped",
        "channel.unreadable-finished-bare",
        "does not finish a channel whose request has no byte",
        || {
            lose(Flow::FromClient, |message| {
                message.part == Part::Ask && message.frame.payload.is_empty()
            })
        },
    ),
    fault(
        "unknown-ask-answered",
        "channel.unreadable-finished-bare",
        "answers a channel request whose first byte it does not know",
        || {
            before(
                Flow::ToClient,
                |message| finishes(message, |ask| ask.first().is_some_and(|tag| *tag >= 0x80)),
                |message| vec![answer(message, &b"\x01null"[..])],
            )
        },
    ),
    fault(
        "broken-json-carried",
        "channel.unreadable-finished-bare",
        "carries on an enqueue that is no JSON",
        || {
            replace(
                Flow::FromClient,
                |message| asks(message, ENQUEUE) && json(message).is_none(),
                |message| carry(message, BeginChannel::Enqueue),
            )
        },
    ),
    fault(
        "array-ask-answered",
        "channel.unreadable-finished-bare",
        "answers an enqueue that is an array with an error",
        || {
            before(
                Flow::ToClient,
                |message| finishes(message, |ask| ask.starts_with(b"\x08[")),
                |message| vec![answer(message, &b"\x02\"an object is expected\""[..])],
            )
        },
    ),
    fault(
        "member-made-up",
        "channel.unreadable-finished-bare",
        "carries on an enqueue that lacks a member",
        || {
            replace(
                Flow::FromClient,
                |message| {
                    let lacks = |it: serde_json::Value| {
                        it.is_object() && (it["key"].is_null() || it["content"].is_null())
                    };
                    asks(message, ENQUEUE) && json(message).is_some_and(lacks)
                },
                |message| carry(message, BeginChannel::Enqueue),
            )
        },
    ),
    fault(
        "wrong-type-dropped",
        "channel.unreadable-finished-bare",
        "does not finish an enqueue with a member of another kind",
        || {
            lose(Flow::FromClient, |message| {
                let wrong = |it: serde_json::Value| {
                    let (key, content) = (&it["key"], &it["content"]);
                    !key.is_null()
                        && !content.is_null()
                        && (!key.is_string() || !content.is_array())
                };
                asks(message, ENQUEUE) && json(message).is_some_and(wrong)
            })
        },
    ),
    fault(
        "broken-dequeue-dropped",
        "channel.unreadable-finished-bare",
        "does not finish a dequeue that it cannot read",
        || {
            lose(Flow::FromClient, |message| {
                asks(message, DEQUEUE)
                    && ChannelAsk::decode(ClientChannel::Dequeue, message.body()).is_err()
            })
        },
    ),
    fault(
        "connection-id-padded",
        "channel.unreadable-finished-bare",
        "waits for a connection whose id has not four bytes",
        || {
            lose(Flow::FromClient, |message| {
                (asks(message, POSTGRES) || asks(message, DAEMON)) && message.body().len() != 4
            })
        },
    ),
    // A failure on a channel is none of the run's
    fault(
        "unreadable-ends-loop",
        "run.survives-channel-failures",
        "ends a run in whose loop a channel request cannot be read",
        || {
            after(
                Flow::FromClient,
                |message| {
                    message.frame.payload.is_empty() && message.is(Part::Ask, |run| run.in_loop)
                },
                |message| message.run.and_then(cut).into_iter().collect(),
            )
        },
    ),
    fault(
        "enqueue-error-is-the-runs",
        "run.survives-channel-failures",
        "says the error of an enqueue on the run's scope",
        || {
            after(
                Flow::ToClient,
                |message| {
                    message.frame.payload.first() == Some(&2)
                        && message.is(Part::Answer, |run| {
                            let ask = run.client_channels.get(&message.frame.channel);
                            ask.is_some_and(|ask| ask.first() == Some(&ENQUEUE))
                        })
                },
                |message| vec![message.respond([&[6], message.body()].concat())],
            )
        },
    ),
    fault(
        "unserved-ends-run",
        "run.survives-channel-failures",
        "ends a run whose proxy does not serve a channel",
        || declined(Flow::FromProxy),
    ),
    fault(
        "declined-ask-ends-run",
        "run.survives-channel-failures",
        "ends a run whose client does not serve an ask",
        || declined(Flow::FromClient),
    ),
];

/// Does not hear enqueues under these numbers.
fn unserved(channels: fn(u32) -> bool) -> Interceptor {
    lose(Flow::FromClient, move |message| {
        asks(message, ENQUEUE) && channels(message.frame.channel)
    })
}

/// Whether the client's channel of that number has been finished, and asked that.
fn asked_before(message: &Message<'_>, tag: u8) -> bool {
    message.run.is_some_and(|run| {
        let ask = run.client_finished.get(&message.frame.channel);
        ask.is_some_and(|ask| ask.first() == Some(&tag))
    })
}

/// Whether it opens a channel that the client has open.
fn repeats(message: &Message<'_>, when: impl FnOnce(&RunView) -> bool) -> bool {
    message.flow == Flow::FromClient
        && message.is(Part::Ask, |run| {
            !run.finished && run.client_channels.contains_key(&message.frame.channel) && when(run)
        })
}

/// The same request under a number that nobody uses.
fn renumbered(message: &Message<'_>) -> Step {
    let channel = message.frame.channel ^ 0x4000_0000;
    message.with_frame(Frame {
        channel,
        ..message.frame.clone()
    })
}

/// The request's body, carried on to the proxy without a look.
fn carry(message: &Message<'_>, ask: BeginChannel) -> Vec<Step> {
    /// A number that the reference does not come to.
    const UNUSED: u32 = 0x6000_0000;
    let payload = Profile::scope().begin_channels.payload(ask, message.body());
    let frame = Frame::new(
        FrameType::ChannelRequest,
        message.view.settings.begin_scope,
        UNUSED,
        payload,
    );
    let run = message.run.and_then(|run| run.run);
    run.map(|run| Output::ToProxy(run, frame.encode()).into())
        .into_iter()
        .collect()
}

fn finish(message: &Message<'_>) -> Step {
    message.tell_client(
        FrameType::ChannelResponseFinish,
        message.frame.channel,
        Bytes::new(),
    )
}

fn answer(message: &Message<'_>, payload: &'static [u8]) -> Step {
    message.tell_client(FrameType::ChannelResponse, message.frame.channel, payload)
}

/// Whether it finishes a channel of the client's that asked such a thing.
fn finishes(message: &Message<'_>, asked: impl FnOnce(&Bytes) -> bool) -> bool {
    message.is(Part::AnswerFinish, |run| {
        run.client_channels
            .get(&message.frame.channel)
            .is_some_and(asked)
    })
}

fn json(message: &Message<'_>) -> Option<serde_json::Value> {
    serde_json::from_slice(message.body()).ok()
}

/// Carries on what a proxy sends on a channel behind its finish, to the client's channel that was finished last.
fn after_its_finish(part: Part, kind: FrameType) -> Interceptor {
    let mut finished = HashSet::new();
    on(Flow::FromProxy, move |message, next| {
        next.push(message.pass());
        let key = (message.scope(), message.frame.channel);
        let Some(run) = message.run else { return };
        if message.part == part && finished.contains(&key) {
            let number = run
                .client_finished
                .keys()
                .max()
                .copied()
                .unwrap_or_default();
            next.push(message.tell_client(kind, number, message.frame.payload.clone()));
        }
        if message.part == Part::AnswerFinish {
            finished.insert(key);
        }
    })
}

/// Ends a run when a channel is finished from that side without an answer.
fn declined(flow: Flow) -> Interceptor {
    let mut answered = HashSet::new();
    on(flow, move |message, next| {
        let key = (message.scope(), message.frame.channel);
        next.push(message.pass());
        match message.part {
            Part::Answer => drop(answered.insert(key)),
            Part::AnswerFinish if !answered.remove(&key) => {
                next.extend(message.run.filter(|run| open(run)).and_then(cut));
            }
            _ => {}
        }
    })
}
