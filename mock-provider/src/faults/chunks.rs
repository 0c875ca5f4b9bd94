//! Faults of what becomes of the bytes of chunks and values.

use diverge_protocol::wire::run::RunKind;
use serde_json::Value;

use super::stream::json;
use crate::fault::{Fault, Interceptor, fault, lose, replace, rewrite};
use crate::view::{Flow, Message, Part};

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "chunk-reencoded",
        "run.chunk.verbatim",
        "parses and prints a chunk anew",
        || {
            chunk(
                |_| true,
                |message| json(message).map(|value| value.to_string()),
            )
        },
    ),
    fault(
        "chunk-slash-unescaped",
        "run.chunk.verbatim",
        "spells an escaped slash as it is",
        || {
            chunk(
                |body| body.contains("\\/"),
                |message| Some(text(message).replace("\\/", "/")),
            )
        },
    ),
    fault(
        "chunk-number-rounded",
        "run.chunk.verbatim",
        "reads long numbers as doubles",
        || {
            chunk(has_long_number, |message| {
                json(message).map(|value| value.to_string())
            })
        },
    ),
    fault(
        "chunk-members-dropped",
        "run.chunk.verbatim",
        "drops members that its own types lack",
        || {
            chunk(
                |body| body.contains("\"usage\""),
                |message| {
                    let mut value = json(message)?;
                    let members = value.as_object_mut()?;
                    let before = members.len();
                    members.retain(|name, _| {
                        name == "type" || name == "_meta" || name.ends_with("_tokens")
                    });
                    (members.len() < before).then(|| value.to_string())
                },
            )
        },
    ),
    fault(
        "chunk-not-json-dropped",
        "run.chunk.relayed",
        "drops a chunk that is not JSON",
        || {
            lose(Flow::ToClient, |message| {
                message.part == Part::Chunk && text(message).len() > 1 && json(message).is_none()
            })
        },
    ),
    fault(
        "chunk-utf8-mended",
        "run.chunk.verbatim",
        "puts replacement characters into a chunk",
        || {
            chunk(
                |_| true,
                |message| match std::str::from_utf8(message.body()) {
                    Ok(_) => None,
                    Err(_) => Some(String::from_utf8_lossy(message.body()).into_owned()),
                },
            )
        },
    ),
    fault(
        "chunk-empty-dropped",
        "run.chunk.relayed",
        "drops a chunk without a byte",
        || {
            lose(Flow::ToClient, |message| {
                message.part == Part::Chunk && message.body().is_empty()
            })
        },
    ),
    fault(
        "chunk-no-object-dropped",
        "run.chunk.relayed",
        "drops a chunk that is no object",
        || {
            lose(Flow::ToClient, |message| {
                message.part == Part::Chunk && json(message).is_some_and(|value| !value.is_object())
            })
        },
    ),
    fault(
        "audio-dropped",
        "run.chunk.relayed",
        "drops what users said aloud",
        || {
            lose(Flow::ToClient, |message| {
                message.part == Part::Chunk
                    && json(message).is_some_and(|value| value["type"] == "user_audio_content")
            })
        },
    ),
    fault(
        "large-chunk-split",
        "run.chunk.one-response-each",
        "sends a chunk that fills two of its buffers in two responses",
        || {
            replace(
                Flow::ToClient,
                |message| {
                    message.part == Part::Chunk
                        && (1 << 18..1 << 19).contains(&message.body().len())
                },
                |message| {
                    let (first, second) = message.body().split_at(1 << 18);
                    [first, second].map(|part| message.with_body(part)).into()
                },
            )
        },
    ),
    fault(
        "chunk-repeat-merged",
        "run.chunk.verbatim",
        "keeps one of a chunk's repeated members",
        || {
            chunk(
                |body| body.matches("\"text\":").count() > 1,
                |message| json(message).map(|value| value.to_string()),
            )
        },
    ),
    fault(
        "values-rounded",
        "run.inactive.verbatim",
        "reads long numbers in values as doubles",
        || {
            values(
                |value, body| {
                    value.is_object() && std::str::from_utf8(body).is_ok_and(has_long_number)
                },
                |value| value.to_string(),
            )
        },
    ),
    fault(
        "values-empty-respelled",
        "run.inactive.verbatim",
        "spells empty values in its own way",
        || {
            values(
                |value, body| {
                    value.as_object().is_some_and(serde_json::Map::is_empty) && body != b"{}"
                },
                |_| "{}".into(),
            )
        },
    ),
    fault(
        "large-values-lost",
        "run.inactive.relayed",
        "loses an inactive with large values",
        || {
            lose(Flow::ToClient, |message| {
                message.part == Part::Inactive && message.body().len() > 1 << 16
            })
        },
    ),
    fault(
        "odd-values-lost",
        "run.inactive.relayed",
        "loses an inactive whose values are no object",
        || {
            lose(Flow::ToClient, |message| {
                message.part == Part::Inactive
                    && !json(message).is_some_and(|value| value.is_object())
            })
        },
    ),
];

fn text<'a>(message: &'a Message<'_>) -> &'a str {
    std::str::from_utf8(message.body()).unwrap_or_default()
}

fn has_long_number(body: &str) -> bool {
    body.split(|c: char| !c.is_ascii_digit())
        .any(|digits| digits.len() > 19)
}

/// Gives the chunks for which `when` holds another text, where there is one.
fn chunk(when: fn(&str) -> bool, with: fn(&Message<'_>) -> Option<String>) -> Interceptor {
    rewrite(
        Flow::ToClient,
        move |message| message.part == Part::Chunk && when(text(message)),
        move |message| match with(message) {
            Some(body) => [&[RunKind::Chunk.byte()], body.as_bytes()].concat().into(),
            None => message.frame.payload.clone(),
        },
    )
}

/// Gives the values for which `when` holds another text.
fn values(when: fn(&Value, &[u8]) -> bool, with: fn(&Value) -> String) -> Interceptor {
    rewrite(
        Flow::ToClient,
        move |message| {
            message.part == Part::Inactive
                && json(message).is_some_and(|it| when(&it, message.body()))
        },
        move |message| {
            let body = json(message).as_ref().map(with).unwrap_or_default();
            [&[RunKind::Inactive.byte()], body.as_bytes()]
                .concat()
                .into()
        },
    )
}
