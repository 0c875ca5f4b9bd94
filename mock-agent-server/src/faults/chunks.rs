//! Faults of chunks, each by itself.

use serde_json::json;

use crate::fault::{Fault, before, fault, replace};
use crate::view::{Passing, Piece};

use super::edit;

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "ping-chunk",
        "agent.chunk.kind",
        "sends a ping at a loop's end",
        || before(is_end, |piece| vec![piece.chunk("{\"type\":\"ping\"}")]),
    ),
    fault(
        "loop-end-chunk",
        "agent.chunk.kind",
        "tells a loop's end by a chunk",
        || before(is_end, |piece| vec![piece.chunk("{\"type\":\"inactive\"}")]),
    ),
    fault(
        "untyped-chunk",
        "agent.chunk.kind",
        "sends usage without a type",
        || {
            edit(
                |piece| piece.is("usage"),
                |chunk| drop(chunk.remove("type")),
            )
        },
    ),
    fault(
        "other-revisions-chunk",
        "agent.chunk.kind",
        "sends a message that landed as the other revision does",
        || {
            replace(
                |piece| piece.is_user_part(),
                |piece| {
                    let text = piece.json();
                    let text = text["text"].as_str().or(text["prompt"].as_str());
                    let text = text.unwrap_or_default();
                    let chunk = if piece.view.is_path() {
                        json!({"type": "user_text_content", "key": "", "text": text})
                    } else {
                        json!({"type": "user", "prompt": text})
                    };
                    vec![piece.chunk(chunk.to_string())]
                },
            )
        },
    ),
    fault(
        "tool-result-chunk",
        "agent.chunk.kind",
        "calls a tool's response a result",
        || {
            edit(
                |piece| piece.is("tool_response"),
                |chunk| drop(chunk.insert("type".into(), "tool_result".into())),
            )
        },
    ),
    fault(
        "type-in-capitals",
        "agent.chunk.kind",
        "says the type of reasoning in capitals",
        || {
            edit(
                |piece| piece.is("assistant_reasoning"),
                |chunk| drop(chunk.insert("type".into(), "ASSISTANT_REASONING".into())),
            )
        },
    ),
    fault(
        "text-in-content",
        "agent.chunk.members",
        "says text under content",
        || {
            edit(
                |piece| piece.is("assistant_text_content"),
                |chunk| {
                    let text = chunk.remove("text").unwrap_or_default();
                    chunk.insert("content".into(), text);
                },
            )
        },
    ),
    fault(
        "usage-without-total",
        "agent.chunk.members",
        "tells usage without its total",
        || {
            edit(
                |piece| piece.is("usage"),
                |chunk| drop(chunk.remove("total_tokens")),
            )
        },
    ),
    fault(
        "usage-negative",
        "agent.chunk.members",
        "tells usage as less than nothing",
        || {
            edit(
                |piece| piece.is("usage"),
                |chunk| {
                    chunk.insert("completion_tokens".into(), json!(-4));
                    chunk.insert("total_tokens".into(), json!(3));
                },
            )
        },
    ),
    fault(
        "usage-fractional",
        "agent.chunk.members",
        "tells usage as numbers with a fraction",
        || {
            edit(
                |piece| piece.is("usage"),
                |chunk| drop(chunk.insert("total_tokens".into(), json!(11.0))),
            )
        },
    ),
    fault(
        "fatal-a-string",
        "agent.chunk.members",
        "says whether a notification is fatal by a string",
        || {
            edit(
                |piece| piece.is("notification"),
                |chunk| drop(chunk.insert("is_fatal".into(), "true".into())),
            )
        },
    ),
    fault(
        "arguments-an-object",
        "agent.chunk.members",
        "sends the arguments of a call as an object",
        || {
            edit(
                |piece| piece.is("assistant_tool_call"),
                |chunk| drop(chunk.insert("arguments".into(), json!({"at": "clouds"}))),
            )
        },
    ),
    fault(
        "call-unnamed",
        "agent.chunk.members",
        "does not name the tool in the later fragments of a call",
        || {
            edit(
                |piece| piece.is("assistant_tool_call") && !piece.before.is_empty(),
                |chunk| drop(chunk.remove("name")),
            )
        },
    ),
    fault(
        "response-without-content",
        "agent.chunk.members",
        "answers a tool's call without a result",
        || {
            edit(
                |piece| piece.is("tool_response"),
                |chunk| drop(chunk.remove("content")),
            )
        },
    ),
    fault(
        "logprobs-without-alternatives",
        "agent.chunk.members",
        "tells log probabilities without a list of alternatives",
        || {
            edit(
                |piece| piece.json().get("logprobs").is_some(),
                |chunk| {
                    if let Some(logprobs) = chunk["logprobs"].as_array_mut() {
                        for logprob in logprobs.iter_mut().filter_map(|it| it.as_object_mut()) {
                            logprob.remove("top_logprobs");
                        }
                    }
                },
            )
        },
    ),
];

fn is_end(piece: &Piece<'_>) -> bool {
    piece.what == Passing::End
}
