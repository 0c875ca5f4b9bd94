//! Faults of loops: active, chunks, inactive, and the late error.

use diverge_protocol::wire::run::RunKind;

use crate::fault::{Fault, fault, lose, on, rewrite};
use crate::view::{Flow, Part};

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
        "chunk-reencoded",
        "run.chunk.verbatim",
        "parses and prints a chunk anew",
        || {
            rewrite(
                Flow::ToClient,
                |message| message.part == Part::Chunk,
                |message| match serde_json::from_slice::<serde_json::Value>(message.body()) {
                    Ok(value) => format!("\u{7}{value}").into(),
                    Err(_) => message.frame.payload.clone(),
                },
            )
        },
    ),
    fault(
        "chunks-swapped",
        "run.chunk.in-order",
        "sends a loop's first chunk after the second",
        || {
            let mut held = None;
            on(Flow::ToClient, move |message, next| {
                if message.is(Part::Chunk, |run| run.chunks == 0) {
                    held = Some(message.pass());
                } else {
                    let swap = message.part == Part::Chunk;
                    let (first, second) = if swap {
                        (Some(message.pass()), held.take())
                    } else {
                        (held.take(), None)
                    };
                    next.extend(first);
                    next.extend(second);
                    if !swap {
                        next.push(message.pass());
                    }
                }
            })
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
];
