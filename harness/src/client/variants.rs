//! Conforming variants: what a client is free to do, and must not be blamed for.

use diverge_protocol::wire::client_line::ClientLine as Line;
use diverge_protocol::wire::frame::FrameType;
use diverge_protocol::wire::profile::ClientChannel;
use diverge_protocol::wire::run::RunKind;
use serde_json::Value;

use super::core::{Input, Output, send, trouble};
use super::{Deed, Form, lines};
use crate::mutants::Duty;

const fn variant(name: &'static str, about: &'static str, deed: Deed) -> Form {
    Form {
        name,
        about,
        duty: Duty::Green,
        deed,
    }
}

pub(super) static VARIANTS: &[Form] = &[
    variant(
        "stops-at-trouble",
        "ends its run at the first message that is malformed or out of place",
        |core, input, out| {
            core.on(input, out);
            let trouble =
                |output: &Output| matches!(output, Output::Line(line) if line.is_trouble());
            if out.iter().any(trouble) {
                out.extend([Output::Close, Output::Exit(1)]);
            }
        },
    ),
    variant(
        "lines-spelled-otherwise",
        "writes lines with spaces, escapes, members in another order and members more",
        |core, input, out| {
            core.on(input, out);
            for output in out {
                if let Output::Line(line) = output {
                    *output = Output::Raw(spelled_otherwise(line));
                }
            }
        },
    ),
    variant(
        "lines-of-its-own",
        "writes events of its own and blank lines in between",
        |core, input, out| {
            core.on(input, out);
            lines(out, |line| {
                let note = Line::Other("note".to_owned());
                vec![note, line]
            });
            if !out.is_empty() && !core.finished {
                out.insert(0, Output::Raw(" ".to_owned()));
            }
        },
    ),
    variant(
        "lines-at-the-end",
        "keeps its lines, as a stream does that is not flushed, and writes all when it exits",
        |core, input, out| {
            core.on(input, out);
            let (kept, done) = std::mem::take(out)
                .into_iter()
                .partition(|output| matches!(output, Output::Line(_)));
            let kept: Vec<Output> = kept;
            core.kept.extend(kept);
            for output in done {
                if matches!(output, Output::Exit(_)) {
                    out.append(&mut core.kept);
                }
                out.push(output);
            }
        },
    ),
    variant(
        "unknown-chunks-kept",
        "tells a chunk of a type that it does not know as a chunk",
        |core, input, out| {
            core.on(input, out);
            if let Some(raw) = core
                .body(input, RunKind::Chunk)
                .filter(|raw| has_a_type(raw))
            {
                lines(out, |line| match line {
                    Line::Malformed(_) => vec![Line::Chunk(raw.clone())],
                    line => vec![line],
                });
            }
        },
    ),
    variant(
        "all-trouble-is-malformed",
        "has one word for what is malformed and what is out of place",
        |core, input, out| {
            core.on(input, out);
            lines(out, |line| match line {
                Line::ProtocolError(why) => vec![Line::Malformed(why)],
                line => vec![line],
            });
        },
    ),
    variant(
        "all-trouble-is-out-of-place",
        "has one word for what is malformed and what is out of place, the other",
        |core, input, out| {
            core.on(input, out);
            lines(out, |line| match line {
                Line::Malformed(why) => vec![Line::ProtocolError(why)],
                line => vec![line],
            });
        },
    ),
    variant(
        "asks-for-the-schema",
        "opens two channels behind the id, and waits for nothing on them",
        |core, input, out| {
            let before = core.started;
            core.on(input, out);
            if core.started && !before {
                out.push(core.ask(ClientChannel::Schema, b""));
                out.push(core.ask(ClientChannel::Filetree, b""));
            }
        },
    ),
    variant(
        "channels-left-open",
        "does nothing about channels that the provider opens",
        |core, input, out| {
            core.on(input, out);
            if core.started {
                out.retain(|output| !matches!(output, Output::Send(_)));
            }
        },
    ),
    variant(
        "channels-answered",
        "answers a channel that the provider opens before it finishes it",
        |core, input, out| {
            core.on(input, out);
            let finish = out.iter().position(
                |it| matches!(it, Output::Send(message) if core.started && message.len() == 9),
            );
            if let Some((at, Output::Send(message))) = finish.map(|at| (at, &out[at])) {
                let channel = [message[5], message[6], message[7], message[8]];
                let channel = u32::from_be_bytes(channel);
                let answer = send(FrameType::ChannelResponse, core.scope, channel, b"\x01");
                out.insert(at, answer);
            }
        },
    ),
    variant(
        "highest-scope",
        "asks on the scope of the highest number",
        |core, input, out| {
            core.scope = u32::MAX;
            core.on(input, out);
        },
    ),
    variant(
        "request-spelled-otherwise",
        "writes its request anew, with its members in another order",
        |core, input, out| {
            if let (Input::Started, Ok(Value::Object(members))) =
                (input, serde_json::from_str(&core.given.request))
            {
                let turned = members.into_iter().rev();
                let members: Vec<String> = turned
                    .map(|(name, value)| format!("{}: {value}", Value::from(name)))
                    .collect();
                core.given.request = format!(" {{ {} }} ", members.join(" , "));
            }
            core.on(input, out);
        },
    ),
    variant(
        "strays-told",
        "tells of what is no message of its run, and reads on",
        |core, input, out| {
            core.on(input, out);
            let ours = |message: &[u8]| {
                matches!(message.first(), Some(2..=6))
                    && message.get(1..5) == Some(&core.scope.to_be_bytes())
            };
            let stray = match input {
                Input::Binary(message) => !ours(message),
                Input::Text(_) => true,
                _ => false,
            };
            if stray {
                out.push(trouble("a message of nobody's"));
            }
        },
    ),
    variant(
        "loss-by-status",
        "says by its exit status alone that its connection was lost",
        |core, input, out| match input {
            Input::Lost(_) if !core.finished => out.push(Output::Exit(3)),
            _ => core.on(input, out),
        },
    ),
    variant(
        "loss-by-line",
        "says by a line alone that its connection was lost",
        |core, input, out| {
            core.on(input, out);
            for output in out {
                if matches!(output, Output::Exit(_)) {
                    *output = Output::Exit(0);
                }
            }
        },
    ),
    variant(
        "refusals-in-short",
        "calls the kinds of refusals by shorter words",
        |core, input, out| {
            core.on(input, out);
            lines(out, |line| match line {
                Line::Refused { kind, name, mode } => vec![Line::Refused {
                    kind: kind.replace("volume-", "").replace('-', "_"),
                    name,
                    mode,
                }],
                line => vec![line],
            });
        },
    ),
];

/// The same line in other characters.
fn spelled_otherwise(line: &Line) -> String {
    let Ok(Value::Object(members)) = serde_json::from_str(&line.encode()) else {
        return line.encode();
    };
    let escaped = |value: &Value| value.to_string().replace('e', "\\u0065");
    let mut spelled: Vec<String> = members
        .iter()
        .rev()
        .map(|(name, value)| format!("\t\"{name}\" : {}", escaped(value)))
        .collect();
    spelled.insert(0, " \"more\" : [ null ]".to_owned());
    format!(" {{{} }} ", spelled.join(" ,"))
}

/// Whether it is an object with a type that is a string.
fn has_a_type(raw: &str) -> bool {
    let value: Value = serde_json::from_str(raw).unwrap_or_default();
    value.get("type").is_some_and(Value::is_string)
}
