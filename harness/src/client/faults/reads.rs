//! Faults in what a client makes of the responses that it reads.

use diverge_protocol::wire::client_line::ClientLine as Line;
use diverge_protocol::wire::frame::{Frame, FrameType};
use diverge_protocol::wire::run::RunKind;
use serde_json::Value;

use super::super::core::{Core, Input, Output};
use super::super::{Form, lines};
use super::fault;

/// Writes something else in the place of some lines.
fn telling(
    core: &mut Core,
    input: &Input,
    out: &mut Vec<Output>,
    change: impl FnMut(Line) -> Vec<Line>,
) {
    core.on(input, out);
    lines(out, change);
}

/// Takes a response of this kind for what `take` makes of it, where the reference finds trouble in it.
fn taking(
    core: &mut Core,
    input: &Input,
    out: &mut Vec<Output>,
    kind: RunKind,
    take: impl Fn(&str) -> Option<Line>,
) {
    core.on(input, out);
    if let Some(line) = core.body(input, kind).as_deref().and_then(take) {
        lines(out, |told| match told {
            told if told.is_trouble() => vec![line.clone()],
            told => vec![told],
        });
    }
}

/// The JSON text that a library writes of a value that it has read.
fn respelled(raw: &str) -> String {
    serde_json::from_str::<Value>(raw).map_or_else(|_| raw.to_owned(), |value| value.to_string())
}

fn json(raw: &str) -> Value {
    serde_json::from_str(raw).unwrap_or_default()
}

fn first_text(raw: &str) -> Option<String> {
    json(raw).get(0)?.as_str().map(str::to_owned)
}

fn held(name: String) -> Line {
    Line::Refused {
        kind: "volume-held".to_owned(),
        name,
        mode: None,
    }
}

/// The message behind the header with this first byte, whatever scope it is on.
fn with_type(input: &Input, wanted: impl Fn(u8) -> bool) -> Option<&[u8]> {
    match input {
        Input::Binary(message) if message.first().is_some_and(|first| wanted(*first)) => {
            message.get(9..)
        }
        _ => None,
    }
}

pub(super) static FAULTS: &[Form] = &[
    fault(
        "id-untold",
        "client.id.told",
        "keeps the id for itself",
        |core, input, out| {
            telling(core, input, out, |line| match line {
                Line::Id(_) => Vec::new(),
                line => vec![line],
            });
        },
    ),
    fault(
        "id-in-lower-case",
        "client.id.told",
        "writes the id in lower case",
        |core, input, out| {
            telling(core, input, out, |line| match line {
                Line::Id(id) => vec![Line::Id(id.to_lowercase())],
                line => vec![line],
            });
        },
    ),
    fault(
        "id-from-array",
        "client.id.object",
        "takes an array for the object with the id",
        |core, input, out| {
            taking(core, input, out, RunKind::Id, |raw| {
                first_text(raw).map(Line::Id)
            });
        },
    ),
    fault(
        "loop-before-id",
        "client.id.first",
        "takes a loop that begins before the id",
        |core, input, out| {
            taking(core, input, out, RunKind::Active, |_| Some(Line::Active));
        },
    ),
    fault(
        "id-again",
        "client.id.once",
        "takes a second id in the place of the first",
        |core, input, out| {
            taking(core, input, out, RunKind::Id, |raw| {
                json(raw)["id"].as_str().map(|id| Line::Id(id.to_owned()))
            });
        },
    ),
    fault(
        "refusals-as-errors",
        "client.refusal.told",
        "has no word for refusals but error",
        |core, input, out| {
            telling(core, input, out, |line| match line {
                Line::Refused { name, .. } => vec![Line::Error(format!("\"{name}\""))],
                line => vec![line],
            });
        },
    ),
    fault(
        "refusals-of-one-kind",
        "client.refusal.told",
        "calls every refusal by the first one's name",
        |core, input, out| {
            telling(core, input, out, |line| match line {
                Line::Refused { name, mode, .. } => vec![Line::Refused {
                    kind: "volume-held".to_owned(),
                    name,
                    mode,
                }],
                line => vec![line],
            });
        },
    ),
    fault(
        "refusals-without-name",
        "client.refusal.told",
        "does not say which volume refused the run",
        |core, input, out| {
            telling(core, input, out, |line| match line {
                Line::Refused { kind, mode, .. } => vec![Line::Refused {
                    kind,
                    name: String::new(),
                    mode,
                }],
                line => vec![line],
            });
        },
    ),
    fault(
        "mode-untold",
        "client.refusal.mode",
        "leaves the mode out that a volume is in",
        |core, input, out| {
            telling(core, input, out, |line| match line {
                Line::Refused { kind, name, .. } => vec![Line::Refused {
                    kind,
                    name,
                    mode: None,
                }],
                line => vec![line],
            });
        },
    ),
    fault(
        "refusal-from-array",
        "client.refusal.object",
        "takes an array for a refusal's object",
        |core, input, out| {
            taking(core, input, out, RunKind::VolumeHeld, |raw| {
                first_text(raw).map(held)
            });
        },
    ),
    fault(
        "refusal-with-more",
        "client.refusal.members",
        "passes over members that a refusal does not have",
        |core, input, out| {
            taking(core, input, out, RunKind::VolumeHeld, |raw| {
                json(raw)["name"].as_str().map(|name| held(name.to_owned()))
            });
        },
    ),
    fault(
        "refusal-without-mode",
        "client.refusal.members",
        "takes a refusal for a mode without the mode",
        |core, input, out| {
            taking(core, input, out, RunKind::VolumeMode, |raw| {
                Some(Line::Refused {
                    kind: "volume-mode".to_owned(),
                    name: json(raw)["name"].as_str()?.to_owned(),
                    mode: None,
                })
            });
        },
    ),
    fault(
        "early-error-untold",
        "client.error.early",
        "says nothing of an error in the place of the id",
        |core, input, out| {
            let started = core.started;
            telling(core, input, out, |line| match line {
                Line::Error(_) if !started => Vec::new(),
                line => vec![line],
            });
        },
    ),
    fault(
        "early-error-as-refusal",
        "client.error.early",
        "takes an error in the place of the id for a refusal",
        |core, input, out| {
            let started = core.started;
            telling(core, input, out, |line| match line {
                Line::Error(_) if !started => vec![held("unknown".to_owned())],
                line => vec![line],
            });
        },
    ),
    fault(
        "late-error-as-chunk",
        "client.error.late",
        "takes an error within a loop for output",
        |core, input, out| {
            let active = core.active;
            telling(core, input, out, |line| match line {
                Line::Error(raw) if active => vec![Line::Chunk(raw)],
                line => vec![line],
            });
        },
    ),
    fault(
        "late-error-closes-the-loop",
        "client.error.late",
        "writes the end of a loop in front of the error that ends it",
        |core, input, out| {
            let active = core.active;
            telling(core, input, out, |line| match line {
                Line::Error(_) if active => vec![Line::Inactive("{}".to_owned()), line],
                line => vec![line],
            });
        },
    ),
    fault(
        "late-error-out-of-place",
        "client.error.late",
        "finds an error between two loops out of place",
        |core, input, out| {
            let quiet = core.started && !core.active;
            telling(core, input, out, |line| match line {
                Line::Error(_) if quiet => {
                    vec![Line::ProtocolError("an error behind the id".to_owned())]
                }
                line => vec![line],
            });
        },
    ),
    fault(
        "error-written-anew",
        "client.error.verbatim",
        "writes an error anew from what it read",
        |core, input, out| {
            telling(core, input, out, |line| match line {
                Line::Error(raw) => vec![Line::Error(respelled(&raw))],
                line => vec![line],
            });
        },
    ),
    fault(
        "error-first-value",
        "client.error.one-value",
        "reads an error's first value and nothing behind it",
        |core, input, out| {
            taking(core, input, out, RunKind::Error, |raw| {
                let mut values = serde_json::Deserializer::from_str(raw).into_iter::<Value>();
                Some(Line::Error(values.next()?.ok()?.to_string()))
            });
        },
    ),
    fault(
        "error-of-no-value",
        "client.error.one-value",
        "takes an error without a value for one that is null",
        |core, input, out| {
            taking(core, input, out, RunKind::Error, |raw| {
                raw.is_empty().then(|| Line::Error("null".to_owned()))
            });
        },
    ),
    fault(
        "active-untold",
        "client.active.told",
        "does not say that a loop began",
        |core, input, out| {
            telling(core, input, out, |line| match line {
                Line::Active => Vec::new(),
                line => vec![line],
            });
        },
    ),
    fault(
        "active-read-on",
        "client.active.byte-alone",
        "finds an active malformed that has bytes behind it",
        |core, input, out| {
            let longer = core
                .body(input, RunKind::Active)
                .is_some_and(|it| !it.is_empty());
            telling(core, input, out, |line| match line {
                Line::Active if longer => vec![Line::Malformed("bytes behind it".to_owned())],
                line => vec![line],
            });
        },
    ),
    fault(
        "third-chunk-lost",
        "client.chunk.told",
        "loses the third chunk",
        |core, input, out| {
            core.on(input, out);
            let third = core.chunks == 3;
            lines(out, |line| match line {
                Line::Chunk(_) if third => Vec::new(),
                line => vec![line],
            });
        },
    ),
    fault(
        "chunks-turned-round",
        "client.chunk.told",
        "writes a chunk behind the next one",
        |core, input, out| {
            core.on(input, out);
            let second = core.chunks % 2 == 0;
            let mut kept = std::mem::take(&mut core.kept);
            for output in std::mem::take(out) {
                match output {
                    Output::Line(Line::Chunk(_)) if !second => core.kept.push(output),
                    Output::Line(_) => {
                        out.push(output);
                        out.append(&mut kept);
                    }
                    output => out.push(output),
                }
            }
            core.kept.append(&mut kept);
        },
    ),
    fault(
        "same-chunk-once",
        "client.chunk.told",
        "takes a chunk that is equal to the last one for the same",
        |core, input, out| {
            core.on(input, out);
            let mut last = core.kept.pop();
            lines(out, |line| match (&line, &last) {
                (Line::Chunk(raw), Some(Output::Raw(before))) if raw == before => Vec::new(),
                (Line::Chunk(raw), _) => {
                    last = Some(Output::Raw(raw.clone()));
                    vec![line]
                }
                _ => vec![line],
            });
            core.kept.extend(last);
        },
    ),
    fault(
        "chunks-written-anew",
        "client.chunk.verbatim",
        "writes chunks anew from what it read",
        |core, input, out| {
            telling(core, input, out, |line| match line {
                Line::Chunk(raw) => vec![Line::Chunk(respelled(&raw))],
                line => vec![line],
            });
        },
    ),
    fault(
        "chunk-from-array",
        "client.chunk.object",
        "takes an array for a chunk's object",
        |core, input, out| {
            taking(core, input, out, RunKind::Chunk, |raw| {
                json(raw).is_array().then(|| Line::Chunk(raw.to_owned()))
            });
        },
    ),
    fault(
        "chunk-of-no-json",
        "client.chunk.object",
        "passes a chunk on without reading it",
        |core, input, out| {
            taking(core, input, out, RunKind::Chunk, |raw| {
                json(raw).is_null().then(|| Line::Chunk(raw.to_owned()))
            });
        },
    ),
    fault(
        "unknown-chunk-dropped",
        "client.chunk.unknown-type",
        "passes over a chunk of a type that it does not know",
        |core, input, out| {
            core.on(input, out);
            let typed = core
                .body(input, RunKind::Chunk)
                .is_some_and(|raw| json(&raw)["type"].is_string());
            if typed {
                lines(out, |line| match line {
                    line if line.is_trouble() => Vec::new(),
                    line => vec![line],
                });
            }
        },
    ),
    fault(
        "chunk-taken-at-its-word",
        "client.chunk.no-word",
        "takes a chunk whose type says that the loop ended for its end",
        |core, input, out| {
            let body = core.body(input, RunKind::Chunk);
            let says = body
                .map(|raw| json(&raw)["type"].clone())
                .unwrap_or_default();
            core.on(input, out);
            lines(out, |line| match says.as_str() {
                Some("inactive") => vec![Line::Inactive("{}".to_owned())],
                Some("error") => vec![Line::Error("null".to_owned())],
                _ => vec![line],
            });
        },
    ),
    fault(
        "fatal-notification-ends-the-loop",
        "client.chunk.no-word",
        "takes a notification of failure for an error",
        |core, input, out| {
            telling(core, input, out, |line| match line {
                Line::Chunk(raw) if json(&raw)["is_fatal"] == true => {
                    vec![Line::Error(json(&raw)["message"].to_string())]
                }
                line => vec![line],
            });
        },
    ),
    fault(
        "empty-inactive-untold",
        "client.inactive.told",
        "says nothing of a loop's end without values",
        |core, input, out| {
            telling(core, input, out, |line| match line {
                Line::Inactive(raw) if raw == "{}" => Vec::new(),
                line => vec![line],
            });
        },
    ),
    fault(
        "values-written-anew",
        "client.inactive.verbatim",
        "writes values anew from what it read, and loses digits",
        |core, input, out| {
            telling(core, input, out, |line| match line {
                Line::Inactive(raw) => vec![Line::Inactive(respelled(&raw))],
                line => vec![line],
            });
        },
    ),
    fault(
        "values-from-array",
        "client.inactive.object",
        "takes an array for the object of values",
        |core, input, out| {
            taking(core, input, out, RunKind::Inactive, |raw| {
                json(raw).is_array().then(|| Line::Inactive(raw.to_owned()))
            });
        },
    ),
    fault(
        "values-of-any-kind",
        "client.inactive.object",
        "takes any JSON for the object of values",
        |core, input, out| {
            taking(core, input, out, RunKind::Inactive, |raw| {
                let value: Value = serde_json::from_str(raw).ok()?;
                (!value.is_object()).then(|| Line::Inactive(raw.to_owned()))
            });
        },
    ),
    fault(
        "values-quoted",
        "client.inactive.unquoted",
        "quotes malformed values where it says that they are malformed",
        |core, input, out| {
            let body = core.body(input, RunKind::Inactive);
            telling(core, input, out, |line| match (&line, &body) {
                (Line::Malformed(_), Some(raw)) => {
                    vec![Line::Malformed(format!(
                        "invalid type: {raw}, expected a map"
                    ))]
                }
                _ => vec![line],
            });
        },
    ),
    fault(
        "second-active-taken",
        "client.loop.second-active",
        "takes a second active for the beginning of another loop",
        |core, input, out| {
            let active = core.active;
            taking(core, input, out, RunKind::Active, |_| {
                active.then_some(Line::Active)
            });
        },
    ),
    fault(
        "second-active-as-chunk",
        "client.loop.second-active",
        "takes a second active for output",
        |core, input, out| {
            let active = core.active;
            taking(core, input, out, RunKind::Active, |_| {
                active.then(|| Line::Chunk(String::new()))
            });
        },
    ),
    fault(
        "chunk-before-active-taken",
        "client.loop.chunk-outside",
        "takes a chunk before the first loop for output",
        |core, input, out| {
            let before = core.started && !core.active && core.loops == 0;
            taking(core, input, out, RunKind::Chunk, |raw| {
                before.then(|| Line::Chunk(raw.to_owned()))
            });
        },
    ),
    fault(
        "chunk-behind-inactive-taken",
        "client.loop.chunk-outside",
        "takes a chunk behind a loop for output",
        |core, input, out| {
            let behind = !core.active && core.loops > 0;
            taking(core, input, out, RunKind::Chunk, |raw| {
                behind.then(|| Line::Chunk(raw.to_owned()))
            });
        },
    ),
    fault(
        "stray-inactive-taken",
        "client.loop.inactive-outside",
        "takes an inactive for the end of a loop that never began",
        |core, input, out| {
            taking(core, input, out, RunKind::Inactive, |raw| {
                Some(Line::Inactive(raw.to_owned()))
            });
        },
    ),
    fault(
        "second-loop-out-of-place",
        "client.loop.repeats",
        "knows one loop, and finds another out of place",
        |core, input, out| {
            let again = core.loops > 0;
            telling(core, input, out, |line| match line {
                Line::Active if again => vec![Line::ProtocolError("a second loop".to_owned())],
                line => vec![line],
            });
        },
    ),
    fault(
        "empty-response-as-active",
        "client.payload.empty",
        "takes a response without a byte for a word",
        |core, input, out| {
            core.on(input, out);
            if core
                .payload(input)
                .is_some_and(|payload| payload.is_empty())
            {
                lines(out, |_| vec![Line::Active]);
            }
        },
    ),
    fault(
        "unknown-first-byte-as-chunk",
        "client.payload.first-byte",
        "takes a response of a kind that it does not know for output",
        |core, input, out| {
            core.on(input, out);
            if let Some(payload) = core.payload(input).filter(|it| it.first() > Some(&9)) {
                let raw = String::from_utf8_lossy(&payload[1..]).into_owned();
                lines(out, |_| vec![Line::Chunk(raw.clone())]);
            }
        },
    ),
    fault(
        "first-byte-in-ascii",
        "client.payload.first-byte",
        "takes the digit 7 for the byte 7",
        |core, input, out| {
            core.on(input, out);
            if let Some(payload) = core.payload(input).filter(|it| it.first() == Some(&b'7')) {
                let raw = String::from_utf8_lossy(&payload[1..]).into_owned();
                lines(out, |_| vec![Line::Chunk(raw.clone())]);
            }
        },
    ),
    fault(
        "every-scope-read",
        "client.payload.other-scope",
        "does not look at the scope of a response",
        |core, input, out| {
            core.on(input, out);
            let other =
                |frame: &Frame| frame.kind == FrameType::Response && frame.scope != core.scope;
            if let Input::Binary(message) = input
                && let Some(frame) = Frame::decode(message.clone()).ok().filter(other)
            {
                core.response(&frame.payload, out);
            }
        },
    ),
    fault(
        "every-finish-taken",
        "client.payload.other-scope",
        "does not look at the scope of a finish",
        |core, input, out| {
            core.on(input, out);
            if with_type(input, |first| first == 3).is_some() && !core.finished {
                out.extend([Output::Line(Line::Finished), Output::Close, Output::Exit(0)]);
            }
        },
    ),
    fault(
        "text-as-chunk",
        "client.payload.text",
        "takes a text message for output",
        |core, input, out| {
            core.on(input, out);
            if let Input::Text(text) = input {
                out.push(Output::Line(Line::Chunk(text.clone())));
            }
        },
    ),
    fault(
        "unknown-frame-as-response",
        "client.payload.unknown-frame",
        "reads a frame of a type that there is not as a response",
        |core, input, out| {
            core.on(input, out);
            if let Some(payload) = with_type(input, |first| first > 6) {
                core.response(payload, out);
            }
        },
    ),
    fault(
        "short-message-as-finish",
        "client.payload.unknown-frame",
        "takes the first byte of a message that is no frame for its type",
        |core, input, out| {
            core.on(input, out);
            if matches!(input, Input::Binary(message) if message.len() < 9 && message.first() == Some(&3))
            {
                out.extend([Output::Line(Line::Finished), Output::Close, Output::Exit(0)]);
            }
        },
    ),
];
