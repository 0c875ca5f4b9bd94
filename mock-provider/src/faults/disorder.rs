//! Faults of what becomes of words that a proxy sends out of order.

use std::collections::HashMap;

use bytes::Bytes;

use super::bringup::response;
use crate::fault::{Fault, Intercept, Role, Step, after, fault, on};
use crate::policy::{Input, Output};
use crate::view::{Flow, Message, Part, RunView, View};

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "early-chunk-relayed",
        "run.first-response",
        "relays a chunk before the id",
        || {
            after(
                Flow::FromProxy,
                |message| message.is(Part::Chunk, waits),
                |message| vec![relayed(message, 7)],
            )
        },
    ),
    fault(
        "early-active-relayed",
        "run.active.not-before-id",
        "relays an active before the id",
        || {
            after(
                Flow::FromProxy,
                |message| message.is(Part::Active, waits),
                |message| vec![message.respond(vec![8])],
            )
        },
    ),
    fault(
        "early-inactive-relayed",
        "run.first-response",
        "relays an inactive before the id",
        || {
            after(
                Flow::FromProxy,
                |message| message.is(Part::Inactive, waits),
                |message| vec![relayed(message, 9)],
            )
        },
    ),
    fault(
        "second-active-relayed",
        "run.active.not-in-open-loop",
        "relays an active within a loop",
        || {
            after(
                Flow::FromProxy,
                |message| own(message) && message.is(Part::Active, |run| run.in_loop),
                |message| vec![message.respond(vec![8])],
            )
        },
    ),
    fault(
        "first-inactive-relayed",
        "run.inactive.only-in-open-loop",
        "relays an inactive before all loops",
        || {
            after(
                Flow::FromProxy,
                |message| message.is(Part::Inactive, |run| between(run) && run.loops == 0),
                |message| vec![relayed(message, 9)],
            )
        },
    ),
    fault(
        "second-inactive-relayed",
        "run.inactive.only-in-open-loop",
        "relays an inactive behind a loop",
        || {
            after(
                Flow::FromProxy,
                |message| message.is(Part::Inactive, |run| between(run) && run.loops > 0),
                |message| vec![relayed(message, 9)],
            )
        },
    ),
    fault(
        "stray-chunk-wrapped",
        "run.active.not-invented",
        "makes a loop for a chunk before all loops",
        || {
            after(
                Flow::FromProxy,
                |message| {
                    own(message) && message.is(Part::Chunk, |run| between(run) && run.loops == 0)
                },
                |message| {
                    vec![
                        message.respond(vec![8]),
                        relayed(message, 7),
                        message.respond(&b"\x09{}"[..]),
                    ]
                },
            )
        },
    ),
    fault(
        "stray-chunk-kept",
        "run.chunk.not-invented",
        "puts a chunk between two loops into the second",
        || {
            let mut kept = HashMap::new();
            on(Flow::FromProxy, move |message, next| {
                let run = message.run.and_then(|run| run.run);
                next.push(message.pass());
                if own(message) && message.is(Part::Chunk, |run| between(run) && run.loops > 0) {
                    kept.insert(run, Bytes::copy_from_slice(message.body()));
                } else if message.part == Part::Active {
                    let chunk = kept.remove(&run);
                    next.extend(chunk.map(|chunk| message.respond([&[7], &chunk[..]].concat())));
                }
            })
        },
    ),
    fault(
        "active-bytes-relayed",
        "run.active.bare",
        "relays an active with what stands behind it",
        || Box::new(Padded::default()),
    ),
    fault(
        "word-after-error-relayed",
        "scope.silent-after-finish",
        "relays what follows an error",
        || {
            after(
                Flow::FromProxy,
                |message| message.is(Part::Chunk, |run| run.id.is_some() && run.finished),
                |message| vec![relayed(message, 7)],
            )
        },
    ),
    fault(
        "unknown-word-relayed",
        "run.payload-known",
        "relays a word of which it knows nothing",
        || {
            after(
                Flow::FromProxy,
                |message| {
                    message.is(Part::OtherResponse, |run| run.id.is_some())
                        && !message.frame.payload.is_empty()
                },
                |message| vec![message.respond(message.frame.payload.clone())],
            )
        },
    ),
    fault(
        "empty-word-relayed",
        "run.payload-known",
        "relays a response with no byte",
        || {
            after(
                Flow::FromProxy,
                |message| {
                    message.is(Part::OtherResponse, |run| run.id.is_some())
                        && message.frame.payload.is_empty()
                },
                |message| vec![message.respond(Bytes::new())],
            )
        },
    ),
    fault(
        "other-scope-relayed",
        "run.chunk.not-invented",
        "relays a chunk from a scope that it did not open",
        || {
            after(
                Flow::FromProxy,
                |message| !own(message) && message.is(Part::Chunk, |run| run.in_loop),
                |message| vec![relayed(message, 7)],
            )
        },
    ),
];

fn own(message: &Message<'_>) -> bool {
    message.frame.scope == message.view.settings.begin_scope
}

fn waits(run: &RunView) -> bool {
    run.id.is_none() && !run.finished
}

fn between(run: &RunView) -> bool {
    run.id.is_some() && !run.in_loop && !run.finished
}

/// A word with another first byte, to the client.
fn relayed(message: &Message<'_>, byte: u8) -> Step {
    message.respond([&[byte], message.body()].concat())
}

/// Remembers what a proxy put behind its active.
#[derive(Default)]
struct Padded {
    behind: Vec<u8>,
}

impl Intercept<Role> for Padded {
    fn input(&mut self, view: &View, input: Input, next: &mut Vec<Step>) {
        let message = view.read_input(&input);
        let active = message
            .filter(|message| message.flow == Flow::FromProxy && message.part == Part::Active);
        self.behind = active
            .map(|message| message.body().to_vec())
            .unwrap_or_default();
        next.push(input.into());
    }

    fn output(&mut self, view: &View, output: Output, next: &mut Vec<Step>) {
        let message = view
            .read_output(&output)
            .filter(|message| message.part == Part::Active);
        match message
            .and_then(|message| message.run)
            .and_then(|run| run.run)
        {
            Some(run) => next.push(response(run, [&[8], &self.behind[..]].concat())),
            None => next.push(output.into()),
        }
    }
}
