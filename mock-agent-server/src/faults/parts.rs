//! Faults of the parts of the messages that a loop starts on, in the scope revision.

use bytes::Bytes;
use serde_json::{Map, Value};

use crate::fault::{Fault, Interceptor, Step, after, fault, lose, on_piece};
use crate::view::{Passing, Piece, kind_of};

use super::edit;

const USAGE: &str = r#"{"type":"usage","completion_tokens":0,"prompt_tokens":7,"total_tokens":7}"#;
const REASONING: &str = r#"{"type":"assistant_reasoning","text":"Let me see."}"#;
const WARNING: &str = r#"{"type":"notification","is_fatal":false,"message":"a new loop"}"#;

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "usage-first",
        "agent.parts.first",
        "tells usage before the messages' parts",
        || after(is_head, |piece| vec![piece.chunk(USAGE)]),
    ),
    fault(
        "notification-first",
        "agent.parts.first",
        "sends a notification before the messages' parts",
        || after(is_head, |piece| vec![piece.chunk(WARNING)]),
    ),
    fault(
        "notification-between-messages",
        "agent.parts.first",
        "sends a notification before the parts of the second message",
        || second_message(WARNING),
    ),
    fault(
        "reasoning-first",
        "agent.parts.before-output",
        "reasons before the messages' parts",
        || after(is_head, |piece| vec![piece.chunk(REASONING)]),
    ),
    fault(
        "reasoning-between-messages",
        "agent.parts.before-output",
        "reasons before the parts of the second message",
        || second_message(REASONING),
    ),
    fault(
        "parts-missing",
        "agent.parts.complete",
        "sends no part of the messages that a loop starts on",
        || lose(|piece| piece.is_first_part()),
    ),
    fault(
        "last-part-missing",
        "agent.parts.complete",
        "sends no part for the last of several blocks",
        || {
            lose(|piece| {
                piece.is_first_part() && place(piece) > 1 && place(piece) == piece.started_on()
            })
        },
    ),
    fault(
        "first-message-only",
        "agent.parts.complete",
        "sends the parts of the first message only",
        || lose(|piece| piece.is_first_part() && message(piece) > 0),
    ),
    fault(
        "part-twice",
        "agent.parts.complete",
        "sends the last part twice",
        || {
            after(
                |piece| piece.is_first_part() && place(piece) == piece.started_on(),
                |piece| vec![piece.pass()],
            )
        },
    ),
    fault(
        "parts-by-kind",
        "agent.parts.order",
        "sends the parts that are text behind the others",
        || reordered(|parts| parts.sort_by_key(|part| kind_of(part) == "user_text_content")),
    ),
    fault(
        "messages-backwards",
        "agent.parts.order",
        "sends the parts of the last message first",
        || reordered(|parts| parts.reverse()),
    ),
    fault(
        "parts-by-key",
        "agent.parts.order",
        "sends the messages' parts in the order of their keys",
        || reordered(|parts| parts.sort_by_key(|part| key_of(part))),
    ),
    fault(
        "key-of-first-message",
        "agent.parts.key",
        "gives all parts the key of the first message",
        || {
            let mut first = None;
            on_piece(move |piece, next| {
                if !piece.is_first_part() {
                    return next.push(piece.pass());
                }
                let mut chunk = piece.json();
                if place(piece) == 1 {
                    first = Some(chunk["key"].clone());
                }
                chunk["key"] = first.clone().unwrap_or_default();
                next.push(piece.chunk(chunk.to_string()));
            })
        },
    ),
    fault(
        "key-of-its-own",
        "agent.parts.key",
        "gives parts a key of its own",
        || parts(|part| drop(part.insert("key".into(), "message-1".into()))),
    ),
    fault(
        "key-in-lower-case",
        "agent.parts.key",
        "gives parts their key in lower case",
        || {
            parts(|part| {
                let key = part["key"].as_str().unwrap_or_default().to_lowercase();
                part.insert("key".into(), key.into());
            })
        },
    ),
    fault(
        "key-trimmed",
        "agent.parts.key",
        "gives parts their key without the spaces around it",
        || {
            parts(|part| {
                let key = part["key"].as_str().unwrap_or_default().trim().to_owned();
                part.insert("key".into(), key.into());
            })
        },
    ),
    fault(
        "image-as-audio",
        "agent.parts.kind",
        "takes an image for audio",
        || {
            parts(|part| {
                if part["type"] == "user_image_content" {
                    part.insert("type".into(), "user_audio_content".into());
                }
            })
        },
    ),
    fault(
        "audio-as-image",
        "agent.parts.kind",
        "takes audio for an image",
        || {
            parts(|part| {
                if part["type"] == "user_audio_content" {
                    part.insert("type".into(), "user_image_content".into());
                }
            })
        },
    ),
    fault(
        "link-as-text",
        "agent.parts.kind",
        "sends a resource link as text",
        || {
            parts(|part| {
                if part["type"] == "user_resource_link" {
                    let uri = part["uri"].clone();
                    part.retain(|name, _| name == "key");
                    part.insert("type".into(), "user_text_content".into());
                    part.insert("text".into(), uri);
                }
            })
        },
    ),
    fault(
        "text-trimmed",
        "agent.parts.content",
        "sends text without the spaces around it",
        || retold(|text| text.trim().to_owned()),
    ),
    fault(
        "text-in-ascii",
        "agent.parts.content",
        "sends letters beyond ASCII as question marks",
        || retold(|text| text.replace(|it: char| !it.is_ascii(), "?")),
    ),
    fault(
        "text-cut",
        "agent.parts.content",
        "sends no more than 4,096 letters of a text",
        || retold(|text| text.chars().take(4096).collect()),
    ),
    fault(
        "text-with-plain-lines",
        "agent.parts.content",
        "ends every line of a text with a line feed",
        || retold(|text| text.replace("\r\n", "\n")),
    ),
    fault(
        "text-without-markup",
        "agent.parts.content",
        "writes the markup in a text as entities",
        || retold(|text| text.replace('<', "&lt;")),
    ),
    fault(
        "text-composed",
        "agent.parts.content",
        "composes the letters of a text",
        || retold(|text| text.replace("e\u{301}", "\u{e9}")),
    ),
    fault(
        "part-for-no-text-missing",
        "agent.parts.complete",
        "sends no part for a text that is empty",
        || lose(|piece| piece.is_first_part() && piece.json()["text"] == ""),
    ),
    fault(
        "part-meta-dropped",
        "agent.parts.content",
        "leaves a part's metadata out",
        || parts(|part| drop(part.remove("_meta"))),
    ),
    fault(
        "part-annotations-dropped",
        "agent.parts.content",
        "leaves a part's annotations out",
        || parts(|part| drop(part.remove("annotations"))),
    ),
    fault(
        "part-data-replaced",
        "agent.parts.content",
        "sends a placeholder for data",
        || {
            parts(|part| {
                if part.contains_key("data") {
                    part.insert("data".into(), "".into());
                }
            })
        },
    ),
    fault(
        "resource-text-dropped",
        "agent.parts.content",
        "sends an embedded resource without its text",
        || {
            parts(|part| {
                if let Some(resource) = part.get_mut("resource").and_then(Value::as_object_mut) {
                    resource.insert("text".into(), "".into());
                }
            })
        },
    ),
    fault(
        "link-title-dropped",
        "agent.parts.content",
        "leaves a resource link's title out",
        || parts(|part| drop(part.remove("title"))),
    ),
];

fn is_head(piece: &Piece<'_>) -> bool {
    matches!(piece.what, Passing::Head(_))
}

/// Which part it is of those of the messages that the loop starts on, counted from 1.
fn place(piece: &Piece<'_>) -> usize {
    piece.parts_before() + 1
}

/// Whether a part is the first of the second message; messages are told apart by their places.
fn message(piece: &Piece<'_>) -> usize {
    let asked = piece.asked.json();
    let mut left = piece.parts_before();
    for (index, message) in asked["messages"]
        .as_array()
        .into_iter()
        .flatten()
        .enumerate()
    {
        let blocks = message["content"].as_array().map_or(0, Vec::len);
        if left < blocks {
            return index;
        }
        left -= blocks;
    }
    0
}

/// Sends a chunk in front of the second message's parts.
fn second_message(chunk: &'static str) -> Interceptor {
    on_piece(move |piece, next| {
        let asked = piece.asked.json();
        let first = asked["messages"][0]["content"]
            .as_array()
            .map_or(0, Vec::len);
        if piece.is_first_part() && piece.parts_before() == first {
            next.push(piece.chunk(chunk));
        }
        next.push(piece.pass());
    })
}

/// Changes the parts of the messages that a loop starts on.
fn parts(change: fn(&mut Map<String, Value>)) -> Interceptor {
    edit(|piece| piece.is_first_part(), change)
}

/// Changes the text of the parts of the messages that a loop starts on.
fn retold(change: fn(&str) -> String) -> Interceptor {
    on_piece(move |piece, next| {
        let mut chunk = piece.json();
        let step: Step = match chunk["text"].as_str().map(change) {
            Some(text) if piece.is_first_part() => {
                chunk["text"] = text.into();
                piece.chunk(chunk.to_string())
            }
            _ => piece.pass(),
        };
        next.push(step);
    })
}

fn key_of(part: &[u8]) -> String {
    let part: Value = serde_json::from_slice(part).unwrap_or_default();
    part["key"].as_str().unwrap_or_default().to_owned()
}

/// Sends the parts of the messages that a loop starts on in another order.
fn reordered(order: fn(&mut Vec<Bytes>)) -> Interceptor {
    let mut held = Vec::new();
    on_piece(move |piece, next| {
        if let (Passing::Chunk(chunk), true) = (&piece.what, piece.is_first_part()) {
            held.push(chunk.clone());
            if place(piece) == piece.started_on() {
                let mut parts = std::mem::take(&mut held);
                order(&mut parts);
                next.extend(parts.into_iter().map(|part| piece.chunk(part)));
            }
            return;
        }
        next.push(piece.pass());
    })
}
