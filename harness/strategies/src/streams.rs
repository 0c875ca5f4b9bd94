//! Streams of events and of chunks.

use proptest::prelude::*;

use super::{agent_event, text};
use diverge_protocol::wire::agent_event::EventRevision;
use diverge_protocol::wire::chunk::CHUNK;

/// Streams of AgentEvents that are well formed and in order: text, tool uses with at most one result each, a cost and
/// the end. Each event is one line.
pub fn event_stream() -> BoxedStrategy<Vec<String>> {
    let step = prop_oneof![
        text::string()
            .prop_map(|delta| vec![format!(r#"{{"type":"assistant_text","delta":{delta}}}"#)]),
        ("[a-z]{1,6}", text::json(), prop::option::of(text::json())).prop_map(
            |(id, input, output)| {
                let used = format!(
                    r#"{{"type":"tool_use","toolUseId":"{id}","tool":"t","input":{input}}}"#
                );
                let result = |output| {
                    format!(r#"{{"type":"tool_result","toolUseId":"{id}","output":{output}}}"#)
                };
                [used].into_iter().chain(output.map(result)).collect()
            }
        ),
    ];
    let end = prop_oneof![
        text::string()
            .prop_map(|text| format!(r#"{{"type":"done","response":{text},"transcript":[]}}"#)),
        text::string().prop_map(|text| format!(r#"{{"type":"error","message":{text}}}"#)),
    ];
    (prop::collection::vec(step, 0..6), end)
        .prop_map(|(steps, end)| {
            let cost = r#"{"type":"cost","costUsd":0.5,"tokens":{}}"#.to_owned();
            let lines = steps.into_iter().flatten().chain([cost, end]);
            lines.map(on_one_line).collect()
        })
        .boxed()
}

/// Lines of AgentEvents in any order, malformed ones and blank ones among them.
pub fn some_events(revision: EventRevision) -> BoxedStrategy<Vec<Vec<u8>>> {
    let event = agent_event(revision).prop_map(|event| event.bytes());
    let known = event_stream().prop_flat_map(prop::sample::select);
    let line = prop_oneof![
        2 => event,
        4 => known.prop_map(String::into_bytes),
        1 => prop::sample::select(&["", " ", "{}", "[1]", "{\"type\":\"custom\"}"][..])
            .prop_map(|line| line.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..12),
    ];
    prop::collection::vec(line, 0..12)
        .prop_map(|lines| {
            let breaks = |byte: u8| if byte == b'\n' { b' ' } else { byte };
            lines
                .into_iter()
                .map(|line| line.into_iter().map(breaks).collect())
                .collect()
        })
        .boxed()
}

/// Streams of chunks that are well formed, deltas of a few threads and calls among them.
pub fn chunk_stream() -> BoxedStrategy<Vec<String>> {
    let delta = (
        prop::sample::select(
            &[
                "assistant_reasoning",
                "assistant_text_content",
                "assistant_refusal",
            ][..],
        ),
        prop::option::of("[pq]"),
        text::string(),
    )
        .prop_map(|(kind, parent, text)| {
            let parent = parent.map(|id| format!(r#""parent_tool_call_id":"{id}","#));
            format!(
                r#"{{"type":"{kind}",{}"text":{text}}}"#,
                parent.unwrap_or_default()
            )
        });
    let call = ("[ab]", prop::option::of(text::string())).prop_map(|(id, arguments)| {
        let arguments = arguments.map(|text| format!(r#","arguments":{text}"#));
        format!(
            r#"{{"type":"assistant_tool_call","id":"{id}","name":"n"{}}}"#,
            arguments.unwrap_or_default()
        )
    });
    prop::collection::vec(
        prop_oneof![3 => delta, 2 => call, 1 => text::of(&CHUNK)],
        0..10,
    )
    .boxed()
}

/// White space between tokens that would end a line becomes a space; in strings it is escaped.
fn on_one_line(text: String) -> String {
    text.replace(['\n', '\r'], " ")
}
