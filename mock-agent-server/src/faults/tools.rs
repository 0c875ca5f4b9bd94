//! Faults of what chunks say together.

use serde_json::json;

use crate::fault::{Fault, Interceptor, after, before, fault, lose, on_piece, replace};
use crate::view::{Piece, kind_of};

use super::edit;

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "response-to-other-call",
        "agent.tool.response-known",
        "answers a call by a response to another",
        || {
            edit(
                |piece| piece.is("tool_response"),
                |chunk| drop(chunk.insert("id".into(), "call-0".into())),
            )
        },
    ),
    fault(
        "response-before-call",
        "agent.tool.response-known",
        "answers a call before it makes it",
        || {
            before(
                |piece| piece.is("assistant_tool_call") && calls_before(piece) == 0,
                |piece| {
                    let id = piece.json()["id"].clone();
                    vec![piece.chunk(
                        json!({"type": "tool_response", "id": id, "content": []}).to_string(),
                    )]
                },
            )
        },
    ),
    fault(
        "response-in-capitals",
        "agent.tool.response-known",
        "names the call in capitals that a response answers",
        || {
            edit(
                |piece| piece.is("tool_response"),
                |chunk| {
                    let id = chunk["id"].as_str().unwrap_or_default().to_uppercase();
                    chunk.insert("id".into(), id.into());
                },
            )
        },
    ),
    fault(
        "arguments-cut",
        "agent.tool.arguments-json",
        "does not send the last fragment of a call's arguments",
        || lose(|piece| piece.is("assistant_tool_call") && calls_before(piece) > 0),
    ),
    fault(
        "arguments-so-far",
        "agent.tool.arguments-json",
        "sends a call's arguments so far with every fragment",
        arguments_so_far,
    ),
    fault(
        "arguments-in-quotes",
        "agent.tool.arguments-json",
        "sends a call's arguments in Python's way",
        || {
            edit(
                |piece| piece.is("assistant_tool_call"),
                |chunk| {
                    let arguments = chunk["arguments"]
                        .as_str()
                        .unwrap_or_default()
                        .replace('"', "'");
                    chunk.insert("arguments".into(), arguments.into());
                },
            )
        },
    ),
    fault(
        "parent-unknown",
        "agent.tool.parent-known",
        "says that a sub-agent speaks that no call made",
        || {
            edit(
                |piece| piece.json().get("parent_tool_call_id").is_some(),
                |chunk| drop(chunk.insert("parent_tool_call_id".into(), "agent-7".into())),
            )
        },
    ),
    fault(
        "parent-empty",
        "agent.tool.parent-known",
        "gives the main thread's text an empty parent",
        || {
            edit(
                |piece| piece.is("assistant_text_content"),
                |chunk| {
                    chunk
                        .entry("parent_tool_call_id")
                        .or_insert_with(|| "".into());
                },
            )
        },
    ),
    fault(
        "parent-before-call",
        "agent.tool.parent-known",
        "lets a sub-agent speak before the call that made it",
        || {
            before(
                |piece| piece.is("assistant_tool_call") && calls_before(piece) == 0,
                |piece| {
                    let chunk = json!({"type": "assistant_reasoning", "text": "Off I go.", "parent_tool_call_id": piece.json()["id"]});
                    vec![piece.chunk(chunk.to_string())]
                },
            )
        },
    ),
    fault(
        "usage-total-of-completion",
        "agent.usage.sum",
        "tells a total that leaves the prompt out",
        || {
            edit(
                |piece| piece.is("usage"),
                |chunk| {
                    drop(chunk.insert("total_tokens".into(), chunk["completion_tokens"].clone()))
                },
            )
        },
    ),
    fault(
        "usage-total-running",
        "agent.usage.sum",
        "tells the total of the conversation so far",
        || {
            let mut total = 0;
            on_piece(move |piece, next| {
                if !piece.is("usage") {
                    return next.push(piece.pass());
                }
                let mut chunk = piece.json();
                total += chunk["total_tokens"].as_u64().unwrap_or_default();
                chunk["total_tokens"] = total.into();
                next.push(piece.chunk(chunk.to_string()));
            })
        },
    ),
    fault(
        "usage-reasoning-counted-apart",
        "agent.usage.sum",
        "tells a total with tokens that it does not tell",
        || {
            after(
                |piece| piece.is("usage"),
                |piece| {
                    vec![piece.chunk(r#"{"type":"usage","completion_tokens":1,"prompt_tokens":0,"total_tokens":3}"#)]
                },
            )
        },
    ),
];

/// How many fragments of calls came before it.
fn calls_before(piece: &Piece<'_>) -> usize {
    let call = |it: &&bytes::Bytes| kind_of(it) == "assistant_tool_call";
    piece.before.iter().filter(call).count()
}

fn arguments_so_far() -> Interceptor {
    let mut so_far = String::new();
    replace(
        |piece| piece.is("assistant_tool_call"),
        move |piece| {
            if calls_before(piece) == 0 {
                so_far.clear();
            }
            let mut chunk = piece.json();
            so_far.push_str(chunk["arguments"].as_str().unwrap_or_default());
            chunk["arguments"] = so_far.clone().into();
            vec![piece.chunk(chunk.to_string())]
        },
    )
}
