//! Faults in what a client says on its connection, and in the form of its lines.

use diverge_protocol::wire::client_line::ClientLine as Line;
use diverge_protocol::wire::frame::{Frame, FrameType};
use diverge_protocol::wire::profile::ClientChannel;
use serde_json::{Value, json};

use super::super::core::{Core, Input, Output, send, trouble};
use super::super::{Form, lines};
use super::fault;

/// Does something with what it says when its connection is up.
fn opening(
    core: &mut Core,
    input: &Input,
    out: &mut Vec<Output>,
    spoil: impl FnOnce(&Core, &mut Vec<Output>),
) {
    core.on(input, out);
    if matches!(input, Input::Opened) {
        spoil(core, out);
    }
}

/// Asks for something else than it was given.
fn asking(core: &mut Core, input: &Input, out: &mut Vec<Output>, spoil: impl FnOnce(&mut Value)) {
    if matches!(input, Input::Started)
        && let Ok(mut request) = serde_json::from_str(&core.given.request)
    {
        spoil(&mut request);
        core.given.request = request.to_string();
    }
    core.on(input, out);
}

/// Says something more when the id has come.
fn behind_the_id(
    core: &mut Core,
    input: &Input,
    out: &mut Vec<Output>,
    more: impl FnOnce(&mut Core, &mut Vec<Output>),
) {
    let before = core.started;
    core.on(input, out);
    if core.started && !before {
        more(core, out);
    }
}

/// The channel that the provider opens by this message.
fn asked(core: &Core, input: &Input) -> Option<Frame> {
    let Input::Binary(message) = input else {
        return None;
    };
    let frame = Frame::decode(message.clone()).ok()?;
    let asks = frame.kind == FrameType::ChannelRequest && frame.scope == core.scope;
    asks.then_some(frame)
}

pub(super) static FAULTS: &[Form] = &[
    fault(
        "credential-last",
        "client.connection.credential-first",
        "sends its request before its credential",
        |core, input, out| opening(core, input, out, |_, out| out.reverse()),
    ),
    fault(
        "credential-omitted-where-empty",
        "client.connection.credential-first",
        "sends no credential where it was given an empty one",
        |core, input, out| {
            opening(core, input, out, |core, out| {
                if core.given.credential.is_empty() {
                    out.remove(0);
                }
            });
        },
    ),
    fault(
        "credential-without-mode",
        "client.connection.credential-given",
        "sends the credential without the mode byte in front",
        |core, input, out| {
            opening(core, input, out, |core, out| {
                let credential = core.given.credential.as_bytes();
                out[0] = send(FrameType::Authorization, 0, 0, credential);
            });
        },
    ),
    fault(
        "credential-trimmed",
        "client.connection.credential-given",
        "trims blanks off its credential",
        |core, input, out| {
            core.given.credential = core.given.credential.trim().to_owned();
            core.on(input, out);
        },
    ),
    fault(
        "credential-quoted",
        "client.connection.credential-given",
        "sends its credential as a JSON string",
        |core, input, out| {
            if matches!(input, Input::Started) {
                core.given.credential = Value::from(core.given.credential.as_str()).to_string();
            }
            core.on(input, out);
        },
    ),
    fault(
        "credential-twice",
        "client.connection.credential-once",
        "sends its credential again behind the id",
        |core, input, out| behind_the_id(core, input, out, |core, out| out.push(core.credential())),
    ),
    fault(
        "greets-in-text",
        "client.connection.binary",
        "sends a text message behind its request",
        |core, input, out| {
            opening(core, input, out, |_, out| {
                out.push(Output::Text("hello".to_owned()));
            });
        },
    ),
    fault(
        "keepalive-short",
        "client.connection.frames",
        "sends a message of no byte behind the id, to keep its connection alive",
        |core, input, out| {
            behind_the_id(core, input, out, |_, out| {
                out.push(Output::Send(bytes::Bytes::new()));
            });
        },
    ),
    fault(
        "acknowledges",
        "client.connection.frames",
        "answers the id with a response of its own",
        |core, input, out| {
            behind_the_id(core, input, out, |core, out| {
                out.push(send(FrameType::Response, core.scope, 0, b"\0"));
            });
        },
    ),
    fault(
        "finish-with-reason",
        "client.connection.frames",
        "says behind the finish of a channel why it declines it",
        |core, input, out| {
            core.on(input, out);
            if let Some(frame) = asked(core, input) {
                let finish = FrameType::ChannelResponseFinish;
                *out = vec![send(finish, frame.scope, frame.channel, b"declined")];
            }
        },
    ),
    fault(
        "request-without-tag",
        "client.run.readable",
        "sends the JSON of its request without the byte in front",
        |core, input, out| {
            opening(core, input, out, |core, out| {
                let request = core.given.request.as_bytes();
                out[1] = send(FrameType::Request, core.scope, 0, request);
            });
        },
    ),
    fault(
        "request-without-disk",
        "client.run.readable",
        "leaves a limit out of its request",
        |core, input, out| {
            asking(core, input, out, |request| {
                if let Value::Object(members) = request {
                    members.remove("disk");
                }
            });
        },
    ),
    fault(
        "request-numbers-rounded",
        "client.run.as-given",
        "reads the numbers of its request as doubles",
        |core, input, out| {
            asking(core, input, out, |request| {
                let rounded = request["memory"].as_u64().map(|memory| memory & !0x7ff);
                request["memory"] = json!(rounded);
            });
        },
    ),
    fault(
        "request-mounts-dropped",
        "client.run.as-given",
        "asks without the mounts that it was given",
        |core, input, out| {
            asking(core, input, out, |request| {
                if let Value::Object(members) = request {
                    members.remove("volume_mounts");
                }
            });
        },
    ),
    fault(
        "request-arguments-as-text",
        "client.run.as-given",
        "writes the arguments as a text that holds their JSON",
        |core, input, out| {
            asking(core, input, out, |request| {
                request["arguments"] = Value::from(request["arguments"].to_string());
            });
        },
    ),
    fault(
        "asks-twice",
        "client.run.once",
        "asks on a second scope as well",
        |core, input, out| {
            opening(core, input, out, |core, out| {
                let request = core.request(&core.given.request);
                if let Output::Send(message) = request {
                    let mut again = message.to_vec();
                    again[4] = again[4].wrapping_add(1);
                    out.push(Output::Send(again.into()));
                }
            });
        },
    ),
    fault(
        "asks-again-behind-the-id",
        "client.run.once",
        "asks again on its scope when the id has come",
        |core, input, out| {
            behind_the_id(core, input, out, |core, out| {
                out.push(core.request(&core.given.request));
            });
        },
    ),
    fault(
        "channel-of-no-kind",
        "client.channel.readable",
        "opens a channel for something that there is not",
        |core, input, out| {
            behind_the_id(core, input, out, |core, out| {
                out.push(send(FrameType::ChannelRequest, core.scope, 1, b"\xfa"));
            });
        },
    ),
    fault(
        "enqueue-without-key",
        "client.channel.readable",
        "enqueues a message without its key",
        |core, input, out| {
            behind_the_id(core, input, out, |core, out| {
                out.push(core.ask(ClientChannel::Enqueue, br#"{"content":[]}"#));
            });
        },
    ),
    fault(
        "channel-on-another-scope",
        "client.channel.open-scope",
        "opens a channel on a scope that it did not open",
        |core, input, out| {
            behind_the_id(core, input, out, |_, out| {
                out.push(send(FrameType::ChannelRequest, 77, 1, b"\x06"));
            });
        },
    ),
    fault(
        "channels-of-one-number",
        "client.channel.free-number",
        "opens two channels under one number",
        |core, input, out| {
            behind_the_id(core, input, out, |core, out| {
                for _ in 0..2 {
                    out.push(send(FrameType::ChannelRequest, core.scope, 1, b"\x06"));
                }
            });
        },
    ),
    fault(
        "finishes-its-own-channel",
        "client.channel.answers",
        "finishes a channel that it opened itself",
        |core, input, out| {
            behind_the_id(core, input, out, |core, out| {
                let finish = FrameType::ChannelResponseFinish;
                out.push(core.ask(ClientChannel::Schema, b""));
                out.push(send(finish, core.scope, 1, b""));
            });
        },
    ),
    fault(
        "answers-behind-the-finish",
        "client.channel.answers",
        "answers a channel that it has finished",
        |core, input, out| {
            core.on(input, out);
            if let Some(frame) = asked(core, input) {
                let kind = FrameType::ChannelResponse;
                out.push(send(kind, frame.scope, frame.channel, b"\x01"));
            }
        },
    ),
    fault(
        "channel-ends-the-run",
        "client.channel.undisturbed",
        "gives up where the provider opens a channel",
        |core, input, out| {
            core.on(input, out);
            if asked(core, input).is_some() {
                out.extend([trouble("a channel, and none is served"), Output::Exit(1)]);
            }
        },
    ),
    fault(
        "channel-read-as-response",
        "client.channel.undisturbed",
        "reads what asks for a channel as a response",
        |core, input, out| {
            core.on(input, out);
            if let Some(frame) = asked(core, input) {
                core.response(&frame.payload, out);
            }
        },
    ),
    fault(
        "lines-as-text",
        "client.line.object",
        "writes words instead of JSON",
        |core, input, out| {
            core.on(input, out);
            for output in out {
                if let Output::Line(line) = output {
                    *output = Output::Raw(line.event().to_owned());
                }
            }
        },
    ),
    fault(
        "log-among-the-lines",
        "client.line.object",
        "writes its log between the lines",
        |core, input, out| {
            core.on(input, out);
            if matches!(input, Input::Opened) {
                out.push(Output::Raw("INFO connected".to_owned()));
            }
        },
    ),
    fault(
        "lines-as-strings",
        "client.line.object",
        "writes an event that has no member as a JSON string",
        |core, input, out| {
            core.on(input, out);
            for output in out {
                if let Output::Line(line @ (Line::Active | Line::Finished)) = output {
                    *output = Output::Raw(Value::from(line.event()).to_string());
                }
            }
        },
    ),
    fault(
        "raw-as-json",
        "client.line.members",
        "writes the JSON of a chunk in the place of its text",
        |core, input, out| {
            core.on(input, out);
            for output in out {
                if let Output::Line(Line::Chunk(raw)) = output {
                    *output = Output::Raw(format!(r#"{{"event":"chunk","raw":{raw}}}"#));
                }
            }
        },
    ),
    fault(
        "id-as-raw",
        "client.line.members",
        "writes the id under another member's name",
        |core, input, out| {
            core.on(input, out);
            for output in out {
                if let Output::Line(Line::Id(id)) = output {
                    *output = Output::Raw(json!({"event": "id", "raw": id}).to_string());
                }
            }
        },
    ),
    fault(
        "trouble-without-message",
        "client.line.members",
        "does not say what is malformed",
        |core, input, out| {
            core.on(input, out);
            for output in out {
                if let Output::Line(line) = output
                    && line.is_trouble()
                {
                    *output = Output::Raw(json!({"event": line.event()}).to_string());
                }
            }
        },
    ),
    fault(
        "trouble-untold",
        "client.trouble.told",
        "drops what is malformed or out of place, and says nothing",
        |core, input, out| {
            core.on(input, out);
            if !matches!(input, Input::Lost(_)) {
                lines(out, |line| match line {
                    line if line.is_trouble() => Vec::new(),
                    line => vec![line],
                });
            }
        },
    ),
];
