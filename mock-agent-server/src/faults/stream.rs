//! Faults of event streams as server-sent events.

use bytes::Bytes;
use diverge_protocol::wire::sse;

use crate::fault::{Fault, Interceptor, Step, after, before, fault, on_piece, replace};
use crate::view::{Passing, Piece, kind_of};

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "error-event-instead",
        "agent.stream.no-error-event",
        "tells a failure by an event named error",
        || replace(is_fatal, |piece| vec![error_event(piece)]),
    ),
    fault(
        "error-event-beside",
        "agent.stream.no-error-event",
        "tells a failure by an event named error too",
        || before(is_fatal, |piece| vec![error_event(piece)]),
    ),
    fault(
        "events-named",
        "agent.stream.unnamed",
        "names every event",
        || {
            replace(
                |piece| matches!(piece.what, Passing::Chunk(_)),
                |piece| vec![piece.raw([b"event: chunk\n", sse_event(piece).as_slice()].concat())],
            )
        },
    ),
    fault(
        "end-event",
        "agent.stream.unnamed",
        "sends an event named end at the end",
        || {
            before(
                |piece| piece.what == Passing::End,
                |piece| {
                    vec![piece.raw("event: end\ndata: {\"type\":\"notification\",\"is_fatal\":false,\"message\":null}\n\n")]
                },
            )
        },
    ),
    fault(
        "last-blank-line-missing",
        "agent.stream.blank-line",
        "leaves the blank line behind the last event out",
        || last(|event| event[..event.len() - 1].to_vec()),
    ),
    fault(
        "last-line-cut",
        "agent.stream.blank-line",
        "leaves the line end and the blank line behind the last event out",
        || last(|event| event[..event.len() - 2].to_vec()),
    ),
    fault(
        "done-marker",
        "agent.chunk.one-object",
        "sends a done marker at the end",
        || {
            before(
                |piece| piece.what == Passing::End,
                |piece| vec![piece.chunk("[DONE]")],
            )
        },
    ),
    fault(
        "empty-event",
        "agent.chunk.one-object",
        "sends an event with empty data at the end",
        || {
            before(
                |piece| piece.what == Passing::End,
                |piece| vec![piece.chunk("")],
            )
        },
    ),
    fault(
        "chunks-in-arrays",
        "agent.chunk.one-object",
        "sends every chunk in an array",
        || {
            on_piece(|piece, next| {
                next.push(match &piece.what {
                    Passing::Chunk(chunk) => piece.chunk([b"[", chunk.as_ref(), b"]"].concat()),
                    _ => piece.pass(),
                });
            })
        },
    ),
    fault(
        "chunks-in-pairs",
        "agent.chunk.one-object",
        "sends two chunks in one event where they come together",
        in_pairs,
    ),
    fault(
        "chunks-wrapped-in-strings",
        "agent.chunk.one-object",
        "sends chunks as JSON strings with JSON in them",
        || {
            replace(
                |piece| piece.is("usage") || piece.is("notification"),
                |piece| {
                    let text = piece.json().to_string();
                    vec![piece.chunk(serde_json::Value::from(text).to_string())]
                },
            )
        },
    ),
    fault(
        "blank-line-single",
        "agent.chunk.one-object",
        "leaves out the blank line behind the first chunk that the assistant says",
        || {
            replace(
                |piece| {
                    piece.kind().starts_with("assistant")
                        && !piece
                            .before
                            .iter()
                            .any(|it| kind_of(it).starts_with("assistant"))
                },
                |piece| {
                    let event = sse_event(piece);
                    vec![piece.raw(event[..event.len() - 1].to_vec())]
                },
            )
        },
    ),
    fault(
        "chunk-cut",
        "agent.chunk.one-object",
        "sends the beginning of a chunk behind usage",
        || {
            after(
                |piece| piece.is("usage"),
                |piece| vec![piece.chunk("{\"type\":")],
            )
        },
    ),
];

pub(super) fn is_fatal(piece: &Piece<'_>) -> bool {
    piece.json()["is_fatal"] == true
}

fn sse_event(piece: &Piece<'_>) -> Vec<u8> {
    match &piece.what {
        Passing::Chunk(chunk) => sse::event(chunk),
        _ => Vec::new(),
    }
}

fn error_event(piece: &Piece<'_>) -> Step {
    piece.raw([b"event: error\n", sse_event(piece).as_slice()].concat())
}

/// Sends the last event of every stream in other bytes.
fn last(bytes: fn(&[u8]) -> Vec<u8>) -> Interceptor {
    let mut held = None;
    on_piece(move |piece, next| {
        match &piece.what {
            Passing::Chunk(chunk) => {
                let event = sse::event(chunk);
                next.extend(held.replace(event).map(|event| piece.raw(event)));
                return;
            }
            Passing::End => next.extend(held.take().map(|event| piece.raw(bytes(&event)))),
            Passing::Head(_) => {}
        }
        next.push(piece.pass());
    })
}

/// Joins deltas of text with what comes behind them.
fn in_pairs() -> Interceptor {
    let mut held: Option<Bytes> = None;
    on_piece(move |piece, next| match (&piece.what, held.take()) {
        (Passing::Chunk(chunk), Some(first)) => {
            next.push(piece.chunk([&first[..], b"\n", chunk].concat()));
        }
        (Passing::Chunk(chunk), None) if piece.is("assistant_text_content") => {
            held = Some(chunk.clone());
        }
        (_, first) => {
            next.extend(first.map(|first| piece.chunk(first)));
            next.push(piece.pass());
        }
    })
}
