//! Faults of loops: which words come, when, and in which order.

use std::collections::{HashMap, HashSet};

use bytes::Bytes;
use diverge_protocol::wire::run::RunKind;
use serde_json::Value;

use crate::fault::{Fault, Interceptor, Step, after, fault, lose, on, rewrite};
use crate::view::{Flow, Message, Part, RunView};

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "chunk-lost",
        "run.chunk.relayed",
        "loses the second chunk of a loop",
        || {
            lose(Flow::ToClient, |message| {
                message.is(Part::Chunk, |run| run.chunks == 1)
            })
        },
    ),
    fault(
        "chunks-swapped",
        "run.chunk.in-order",
        "sends a loop's first chunk after the second",
        || overtaken(|message| message.is(Part::Chunk, |run| run.chunks == 0)),
    ),
    fault(
        "chunk-behind-loop",
        "run.chunk.not-outside-loop",
        "sends a chunk of its own behind every loop",
        || {
            after(
                Flow::ToClient,
                |message| message.part == Part::Inactive,
                |message| {
                    vec![
                        message.respond(
                            b"\x07{\"type\":\"notification\",\"is_fatal\":false,\"message\":null}"
                                .to_vec(),
                        ),
                    ]
                },
            )
        },
    ),
    fault(
        "active-padded",
        "run.active.bare",
        "sends a byte behind active",
        || {
            rewrite(
                Flow::ToClient,
                |message| message.part == Part::Active,
                |_| vec![RunKind::Active.byte(), 0].into(),
            )
        },
    ),
    fault(
        "inactive-emptied",
        "run.inactive.verbatim",
        "sends no values with inactive",
        || {
            rewrite(
                Flow::ToClient,
                |message| message.part == Part::Inactive,
                |_| b"\x09{}".to_vec().into(),
            )
        },
    ),
    fault(
        "chunk-held",
        "run.chunk.relayed",
        "holds the third chunk of the first loop until the next word",
        || held(|message| message.is(Part::Chunk, |run| run.loops == 1 && run.chunks == 2)),
    ),
    fault(
        "later-chunk-held",
        "run.chunk.relayed",
        "holds each chunk of the second loop until the next word",
        || held(|message| message.is(Part::Chunk, |run| run.loops == 2)),
    ),
    fault(
        "later-active-held",
        "run.active.relayed",
        "holds the active of the third loop until the next word",
        || held(|message| message.is(Part::Active, |run| run.loops == 2)),
    ),
    fault(
        "empty-loop-unended",
        "run.inactive.relayed",
        "loses the values of a loop that had no chunk, and its end",
        || {
            lose(Flow::ToClient, |message| {
                message.is(Part::Inactive, |run| run.chunks == 0) && message.body().len() > 2
            })
        },
    ),
    fault(
        "empty-loops-merged",
        "run.loops-repeat",
        "leaves an empty loop out that follows an empty one",
        merged,
    ),
    fault(
        "loops-limited",
        "run.loops-repeat",
        "relays no more than five loops",
        || {
            lose(Flow::ToClient, |message| match message.part {
                Part::Active => message.run.is_some_and(|run| run.loops >= 5),
                Part::Chunk | Part::Inactive => message.run.is_some_and(|run| run.loops > 5),
                _ => false,
            })
        },
    ),
    fault(
        "chunks-limited",
        "run.chunk.relayed",
        "loses the chunk for which its queue has no place",
        || {
            lose(Flow::ToClient, |message| {
                message.is(Part::Chunk, |run| run.chunks == 128)
            })
        },
    ),
    fault(
        "large-chunk-overtaken",
        "run.chunk.in-order",
        "lets the next chunk overtake a large one",
        || overtaken(|message| message.part == Part::Chunk && message.body().len() > 1 << 14),
    ),
    fault(
        "same-chunk-dropped",
        "run.chunk.relayed",
        "drops a usage that is like the one before it",
        || {
            let mut last = HashMap::new();
            lose(Flow::ToClient, move |message| {
                let body = message.frame.payload.clone();
                last.insert(message.scope(), body.clone()) == Some(body)
                    && message.part == Part::Chunk
                    && json(message).is_some_and(|chunk| chunk["type"] == "usage")
            })
        },
    ),
    fault(
        "key-landed-once",
        "run.chunk.relayed",
        "drops user parts whose key an earlier loop had",
        || {
            let mut landed: HashMap<_, usize> = HashMap::new();
            lose(Flow::ToClient, move |message| {
                let key = json(message).and_then(|chunk| chunk["key"].as_str().map(str::to_owned));
                let Some((key, run)) = key.zip(message.run) else {
                    return false;
                };
                let nth = run.loops;
                message.part == Part::Chunk && *landed.entry((run.run, key)).or_insert(nth) != nth
            })
        },
    ),
    fault(
        "fatal-ends-loop",
        "run.inactive.not-invented",
        "ends a loop at a fatal notification",
        || {
            on(Flow::ToClient, |message, next| {
                next.push(message.pass());
                if message.part == Part::Chunk
                    && json(message).is_some_and(|chunk| chunk["is_fatal"] == true)
                {
                    next.push(message.respond(&b"\x09{}"[..]));
                }
            })
        },
    ),
    fault(
        "words-in-types",
        "run.words-not-forged",
        "takes the type of a chunk for a word of the proxy's",
        || {
            rewrite(
                Flow::ToClient,
                |message| message.part == Part::Chunk && word_in_type(message).is_some(),
                |message| {
                    let kind = word_in_type(message).unwrap_or(RunKind::Chunk);
                    let body: &[u8] = if kind == RunKind::Active {
                        b""
                    } else {
                        message.body()
                    };
                    [&[kind.byte()], body].concat().into()
                },
            )
        },
    ),
    fault(
        "typeless-chunk-as-values",
        "run.words-not-forged",
        "takes a chunk without a type for values",
        || {
            rewrite(
                Flow::ToClient,
                |message| {
                    message.part == Part::Chunk
                        && json(message)
                            .is_some_and(|chunk| chunk.is_object() && chunk.get("type").is_none())
                },
                |message| [&[9], message.body()].concat().into(),
            )
        },
    ),
    fault(
        "tagged-chunk-passed",
        "run.words-not-forged",
        "lets a chunk bring its own first byte",
        || {
            rewrite(
                Flow::ToClient,
                |message| {
                    message.part == Part::Chunk && matches!(message.body().first(), Some(8 | 9))
                },
                |message| Bytes::copy_from_slice(message.body()),
            )
        },
    ),
];

pub(super) fn json(message: &Message<'_>) -> Option<Value> {
    serde_json::from_slice(message.body()).ok()
}

fn word_in_type(message: &Message<'_>) -> Option<RunKind> {
    match json(message)?["type"].as_str()? {
        "active" => Some(RunKind::Active),
        "inactive" => Some(RunKind::Inactive),
        "error" => Some(RunKind::Error),
        "id" => Some(RunKind::Id),
        _ => None,
    }
}

/// Holds the messages for which `when` holds until the next one on their scope.
fn held(when: fn(&Message<'_>) -> bool) -> Interceptor {
    let mut held: HashMap<_, Step> = HashMap::new();
    on(Flow::ToClient, move |message, next| {
        next.extend(held.remove(&message.scope()));
        if when(message) {
            held.insert(message.scope(), message.pass());
        } else {
            next.push(message.pass());
        }
    })
}

/// Lets the chunk that follows overtake a message for which `when` holds.
fn overtaken(when: fn(&Message<'_>) -> bool) -> Interceptor {
    let mut held: HashMap<_, Step> = HashMap::new();
    on(Flow::ToClient, move |message, next| {
        let earlier = held.remove(&message.scope());
        let overtakes = earlier.is_some() && message.part == Part::Chunk;
        if !overtakes {
            next.extend(earlier);
            if when(message) {
                held.insert(message.scope(), message.pass());
                return;
            }
            return next.push(message.pass());
        }
        next.push(message.pass());
        next.extend(earlier);
    })
}

/// Holds the active behind an empty loop until a chunk shows that its own loop is none.
fn merged() -> Interceptor {
    let mut empty = HashSet::new();
    let mut active: HashMap<_, Step> = HashMap::new();
    on(Flow::ToClient, move |message, next| {
        let scope = message.scope();
        let held = active.remove(&scope);
        match message.part {
            Part::Active if empty.contains(&scope) => {
                active.insert(scope, message.pass());
                return;
            }
            Part::Inactive if held.is_some() => return,
            Part::Inactive if message.run.is_some_and(|run: &RunView| run.chunks == 0) => {
                empty.insert(scope);
            }
            Part::Chunk | Part::Finish => {
                empty.remove(&scope);
            }
            _ => {}
        }
        next.extend(held);
        next.push(message.pass());
    })
}
