//! Faults of schema requests, and of channels whatever they ask.

use std::collections::HashSet;

use bytes::Bytes;
use diverge_protocol::wire::channel::ChannelAsk;
use diverge_protocol::wire::profile::BeginChannel::{self, Dequeue, Enqueue, Schema};
use diverge_protocol::wire::{FrameType, Profile};

use crate::answers::{is_json, is_success};
use crate::fault::{
    Fault, Interceptor, after, before, change_word, extra_call, fault, lose, on, on_call,
    on_frames, on_word, rewrite,
};
use crate::policy::{Endpoint, Input, Output, Word};
use crate::view::{Flow, Message, Part, ScopeView, asked};

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "finishes-another-channel",
        "proxy.channel.open-only",
        "finishes a channel that nobody opened behind each that it finishes",
        || {
            after(
                Flow::ToHost,
                |message| message.part == Part::AnswerFinish,
                |message| {
                    let (kind, other) = (FrameType::ChannelResponseFinish, u32::MAX);
                    vec![message.tell(kind, message.frame.channel ^ other, "")]
                },
            )
        },
    ),
    fault(
        "schema-emptied",
        "proxy.schema.relayed",
        "tells an empty schema",
        || {
            rewrite(
                Flow::ToHost,
                |message| message.answers(Schema) && message.frame.payload[0] == 0,
                |_| "\0{}".into(),
            )
        },
    ),
    fault(
        "schema-remembered",
        "proxy.schema.relayed",
        "tells the schema of the first time whenever it is asked again",
        || {
            let mut first: Option<Bytes> = None;
            rewrite(
                Flow::ToHost,
                |message| message.answers(Schema) && message.frame.payload[0] == 0,
                move |message| {
                    let schema = first.get_or_insert_with(|| message.frame.payload.clone());
                    schema.clone()
                },
            )
        },
    ),
    fault(
        "schema-unasked",
        "proxy.schema.relayed",
        "makes a schema up, and does not ask for it",
        || {
            on_call(Endpoint::Schema, |_, id, _, next| {
                let made = Word::Answered {
                    status: 200,
                    body: "{\"type\":\"object\"}".into(),
                };
                next.push(Input::Agent(id, made).into());
            })
        },
    ),
    fault(
        "schema-error-bare",
        "proxy.schema.error",
        "finishes a schema request bare where the agent server refuses it",
        || {
            lose(Flow::ToHost, |message| {
                message.answers(Schema) && message.frame.payload[0] == 1
            })
        },
    ),
    fault(
        "schema-error-as-schema",
        "proxy.schema.error",
        "tells the words of a refusal as the schema",
        || {
            change_word(Endpoint::Schema, |heard| {
                let (status, body) = heard.answer()?;
                (!is_success(status)).then(|| Word::Answered {
                    status: 200,
                    body: body.clone(),
                })
            })
        },
    ),
    fault(
        "schema-unreachable-unanswered",
        "proxy.schema.error",
        "does not answer a schema request that no agent server answers",
        || {
            on_word(Endpoint::Schema, |heard, next| {
                if !matches!(heard.word, Word::Failed(_)) {
                    next.push(heard.pass());
                }
            })
        },
    ),
    fault(
        "schema-text-as-empty",
        "proxy.schema.no-json",
        "tells an empty schema in place of one that is no JSON",
        || {
            change_word(Endpoint::Schema, |heard| {
                let (status, body) = heard.answer()?;
                (is_success(status) && !is_json(body)).then(|| Word::Answered {
                    status,
                    body: "{}".into(),
                })
            })
        },
    ),
    fault(
        "schema-not-in-loops",
        "proxy.schema.any-time",
        "finishes schema requests bare that come during a loop",
        || {
            on(Flow::FromHost, |message, next| {
                let in_loop = message.scope.is_some_and(|scope| scope.in_loop);
                next.push(if message.opens(Schema) && in_loop {
                    message.finish_channel()
                } else {
                    message.pass()
                });
            })
        },
    ),
    fault(
        "schema-only-in-loops",
        "proxy.schema.any-time",
        "finishes schema requests bare that come while nothing runs",
        || {
            on(Flow::FromHost, |message, next| {
                let idle = message.scope.is_some_and(|scope| !scope.in_loop);
                next.push(if message.opens(Schema) && idle {
                    message.finish_channel()
                } else {
                    message.pass()
                });
            })
        },
    ),
    fault(
        "schema-given-up",
        "proxy.connection.no-timeout",
        "tells an error when a schema is not known after five hundred turns",
        || super::give_up(Endpoint::Schema),
    ),
    fault(
        "schema-after-loop",
        "proxy.schema.any-time",
        "answers a schema request that comes during a loop once that has ended",
        || {
            let mut held = Vec::new();
            on(Flow::ToHost, move |message, next| {
                let in_loop = message.scope.is_some_and(|scope| scope.in_loop);
                if in_loop && (message.answers(Schema) || message.finishes(Schema)) {
                    return held.push(message.pass());
                }
                next.push(message.pass());
                if message.part == Part::Inactive {
                    next.append(&mut held);
                }
            })
        },
    ),
    fault(
        "unreadable-enqueue-error",
        "proxy.channel.unreadable-enqueue",
        "answers an enqueue that cannot be read with an error",
        || error_for(is_unreadable_enqueue),
    ),
    fault(
        "unreadable-enqueue-unanswered",
        "proxy.channel.unreadable-enqueue",
        "does not finish an enqueue that cannot be read",
        || lose(Flow::ToHost, |it| finishes(it, is_unreadable_enqueue)),
    ),
    fault(
        "enqueue-without-key-taken",
        "proxy.channel.unreadable-enqueue",
        "takes an enqueue without a key under an empty one",
        || {
            rewrite(
                Flow::FromHost,
                |message| {
                    message.opens(Enqueue) && !message.body().windows(5).any(|it| it == b"\"key\"")
                },
                |message| {
                    let body = String::from_utf8_lossy(message.body());
                    match body.strip_prefix('{') {
                        Some(rest) => format!("\x03{{\"key\":\"\",{rest}").into(),
                        None => message.frame.payload.clone(),
                    }
                },
            )
        },
    ),
    fault(
        "unreadable-enqueue-run",
        "proxy.channel.unreadable-no-call",
        "puts an enqueue that cannot be read to the agent server",
        || put_to_agent(is_unreadable_enqueue, Endpoint::Run),
    ),
    fault(
        "unreadable-dequeue-error",
        "proxy.channel.unreadable-dequeue",
        "answers a dequeue that cannot be read with an error",
        || error_for(is_unreadable_dequeue),
    ),
    fault(
        "unreadable-dequeue-asked",
        "proxy.channel.unreadable-dequeue",
        "puts a dequeue that cannot be read to the agent server",
        || put_to_agent(is_unreadable_dequeue, Endpoint::Dequeue),
    ),
    fault(
        "dequeue-list-taken",
        "proxy.channel.unreadable-dequeue",
        "reads the key of a dequeue out of a list too",
        || {
            rewrite(
                Flow::FromHost,
                |message| message.opens(Dequeue) && message.body().starts_with(b"["),
                |message| match serde_json::from_slice::<[String; 1]>(message.body()) {
                    Ok([key]) => format!("\x04{}", serde_json::json!({ "key": key })).into(),
                    Err(_) => message.frame.payload.clone(),
                },
            )
        },
    ),
    fault(
        "unknown-ask-unanswered",
        "proxy.channel.unknown-ask",
        "does not finish a channel whose first byte names nothing",
        || {
            lose(Flow::ToHost, |it| {
                finishes(it, |ask| !ask.is_empty() && asked(ask).is_none())
            })
        },
    ),
    fault(
        "empty-ask-unanswered",
        "proxy.channel.unknown-ask",
        "does not finish a channel that asks without a byte",
        || lose(Flow::ToHost, |it| finishes(it, <[u8]>::is_empty)),
    ),
    fault(
        "unknown-ask-ends-scope",
        "proxy.channel.unknown-ask",
        "finishes the scope with a channel that asks nothing it knows",
        || {
            after(
                Flow::ToHost,
                |message| finishes(message, |ask| asked(ask).is_none()),
                |message| vec![message.finish()],
            )
        },
    ),
    fault(
        "unknown-ask-error",
        "proxy.channel.unknown-ask",
        "answers a channel that asks nothing it knows with an error",
        || {
            before(
                Flow::ToHost,
                |message| finishes(message, |ask| asked(ask).is_none()),
                |message| {
                    vec![message.tell(
                        FrameType::ChannelResponse,
                        message.frame.channel,
                        "\x02null",
                    )]
                },
            )
        },
    ),
    fault(
        "duplicate-channel-finished",
        "proxy.channel.duplicate-ignored",
        "finishes a channel when another is opened under its number",
        || {
            on(Flow::FromHost, |message, next| {
                if duplicates(message) {
                    next.push(message.finish_channel());
                }
                next.push(message.pass());
            })
        },
    ),
    fault(
        "duplicate-channel-served",
        "proxy.channel.duplicate-ignored",
        "puts an enqueue under the number of an open channel to the agent server",
        || {
            on(Flow::FromHost, |message, next| {
                if duplicates(message) && message.channel() == Some(Enqueue) {
                    let body = message.frame.payload.slice(1..);
                    next.push(extra_call(message.view, Endpoint::Enqueue, body));
                }
                next.push(message.pass());
            })
        },
    ),
    fault(
        "duplicate-channel-closes",
        "proxy.channel.duplicate-ignored",
        "closes when a channel is opened under the number of an open one",
        || {
            on(Flow::FromHost, |message, next| {
                next.push(if duplicates(message) {
                    Output::Close(message.host).into()
                } else {
                    message.pass()
                });
            })
        },
    ),
    fault(
        "finished-number-ignored",
        "proxy.channel.number-reusable",
        "passes over an enqueue under a number that served before",
        || {
            lose(Flow::FromHost, |message| {
                let number = message.frame.channel;
                let used = |scope: &ScopeView| scope.answered.contains_key(&number);
                message.opens(Enqueue) && message.scope.is_some_and(used)
            })
        },
    ),
    fault(
        "hosts-finish-obeyed",
        "proxy.channel.separate-numbers",
        "finishes a channel of the host's when the host finishes one of that number",
        || touched(Part::AnswerFinish),
    ),
    fault(
        "hosts-answer-obeyed",
        "proxy.channel.separate-numbers",
        "finishes a channel of the host's when the host answers one of that number",
        || touched(Part::Answer),
    ),
];

/// Finishes an open channel of the host's, and says nothing more on it, when such a part comes under its number.
fn touched(part: Part) -> Interceptor {
    let mut gone = HashSet::new();
    on_frames(move |message, next| {
        let channel = message.frame.channel;
        let open = |message: &Message<'_>| {
            message
                .scope
                .is_some_and(|it| it.channels.contains_key(&channel))
        };
        match message.flow {
            Flow::FromHost if message.part == part && open(message) => {
                gone.insert(channel);
                next.push(message.finish_channel());
            }
            Flow::FromHost => next.push(message.pass()),
            Flow::ToHost => match message.part {
                Part::Answer if gone.contains(&channel) => {}
                Part::AnswerFinish if gone.remove(&channel) => {}
                _ => next.push(message.pass()),
            },
        }
    })
}

/// Whether it finishes a channel that asks so.
fn finishes(message: &Message<'_>, when: fn(&[u8]) -> bool) -> bool {
    let open = || message.scope?.channels.get(&message.frame.channel);
    message.flow == Flow::ToHost
        && message.part == Part::AnswerFinish
        && open().is_some_and(|ask| when(ask))
}

/// Answers a channel whose ask is such with an error, before it is finished.
fn error_for(such: fn(&[u8]) -> bool) -> Interceptor {
    before(
        Flow::ToHost,
        move |message| finishes(message, such),
        |message| {
            let channel = message.frame.channel;
            vec![message.tell(FrameType::ChannelResponse, channel, "\x02null")]
        },
    )
}

/// Puts an ask that is such to the agent server.
fn put_to_agent(such: fn(&[u8]) -> bool, endpoint: Endpoint) -> Interceptor {
    on(Flow::FromHost, move |message, next| {
        if message.frame.kind == FrameType::ChannelRequest && such(&message.frame.payload) {
            let body = message.frame.payload.slice(1..);
            next.push(extra_call(message.view, endpoint, body));
        }
        next.push(message.pass());
    })
}

fn is_unreadable_enqueue(ask: &[u8]) -> bool {
    is_unreadable(BeginChannel::Enqueue, ask)
}

fn is_unreadable_dequeue(ask: &[u8]) -> bool {
    is_unreadable(BeginChannel::Dequeue, ask)
}

fn is_unreadable(asked: BeginChannel, ask: &[u8]) -> bool {
    let split = Profile::scope().begin_channels.split(ask);
    split.is_ok_and(|(kind, body)| kind == asked && ChannelAsk::decode(kind, body).is_err())
}

fn duplicates(message: &Message<'_>) -> bool {
    message.is(Part::Ask, |scope| {
        !scope.finished && scope.channels.contains_key(&message.frame.channel)
    })
}
