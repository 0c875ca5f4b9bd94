//! Faults of ids.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use bytes::Bytes;
use serde_json::Value;

use crate::fault::{Fault, after, before, double, fault, rewrite};
use crate::view::{Flow, Message, Part, RunView};

pub(super) const FAULTS: &[Fault] = &[
    fault("id-twice", "run.id-once", "sends the id twice", || {
        double(Flow::ToClient, |message| message.part == Part::Id)
    }),
    fault(
        "active-before-id",
        "run.active.not-before-id",
        "says active before the id",
        || {
            before(
                Flow::ToClient,
                |message| message.part == Part::Id,
                |message| vec![message.respond(vec![8])],
            )
        },
    ),
    fault(
        "id-a-number",
        "run.id-well-formed",
        "numbers a run as its arguments do",
        || {
            rewrite(
                Flow::ToClient,
                |message| message.is(Part::Id, |run| own_id(run).is_some_and(|id| id.is_u64())),
                |message| id(&message.run.and_then(own_id).unwrap_or_default()),
            )
        },
    ),
    fault(
        "id-of-the-client",
        "run.id-not-derived",
        "calls a run as its arguments do",
        || {
            rewrite(
                Flow::ToClient,
                |message| message.is(Part::Id, |run| own_id(run).is_some_and(|id| id.is_string())),
                |message| id(&message.run.and_then(own_id).unwrap_or_default()),
            )
        },
    ),
    fault(
        "id-hashed",
        "run.id-unique",
        "makes the id of the request and its scope number",
        || {
            rewrite(
                Flow::ToClient,
                |message| message.part == Part::Id,
                |message| {
                    let (scope, hash) = (message.frame.scope, hash(message, true));
                    id(&format!("{hash:016x}{:016x}", hash.rotate_left(scope)).into())
                },
            )
        },
    ),
    fault(
        "id-counted",
        "run.id-unguessable",
        "numbers the runs of one request",
        || {
            let mut counts: HashMap<u64, u32> = HashMap::new();
            rewrite(
                Flow::ToClient,
                |message| message.part == Part::Id,
                move |message| {
                    let hash = hash(message, false);
                    let count = counts.entry(hash).or_default();
                    *count += 1;
                    id(&format!("{hash:016x}-{count}").into())
                },
            )
        },
    ),
    fault(
        "id-of-the-values",
        "run.id-once",
        "sends a new id when a rotating secret is called id",
        || {
            after(
                Flow::FromProxy,
                |message| {
                    message.is(Part::Inactive, |run| run.in_loop)
                        && text(message).contains("\"id\":")
                },
                |message| vec![message.respond(&b"\0{\"id\":\"58a6b1d09c4e7723\"}"[..])],
            )
        },
    ),
    fault(
        "id-for-each-begun",
        "run.id-once",
        "sends an id for every begun",
        || {
            after(
                Flow::FromProxy,
                |message| message.is(Part::Begun, |run| run.id.is_some()),
                |message| vec![message.respond(&b"\0{\"id\":\"0d2fb7704ac98e15\"}"[..])],
            )
        },
    ),
];

fn id(id: &Value) -> Bytes {
    format!("\0{}", serde_json::json!({ "id": id })).into()
}

fn text<'a>(message: &'a Message<'_>) -> &'a str {
    std::str::from_utf8(message.body()).unwrap_or_default()
}

/// What the arguments call id.
fn own_id(run: &RunView) -> Option<Value> {
    serde_json::from_str::<Value>(run.arguments.as_deref()?)
        .ok()?
        .get("id")
        .cloned()
}

fn hash(message: &Message<'_>, with_scope: bool) -> u64 {
    let mut hasher = DefaultHasher::new();
    message.run.map(|run| &run.request).hash(&mut hasher);
    with_scope.then_some(message.frame.scope).hash(&mut hasher);
    hasher.finish()
}
