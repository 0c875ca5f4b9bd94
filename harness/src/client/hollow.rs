//! Hollow clients: they read nothing of what comes, and must pass nothing.

use diverge_protocol::wire::client_line::ClientLine as Line;

use super::core::{Input, Output};
use super::{Deed, Form};
use crate::mutants::Duty;

const fn hollow(name: &'static str, about: &'static str, deed: Deed) -> Form {
    Form {
        name,
        about,
        duty: Duty::NothingPasses,
        deed,
    }
}

pub(super) static HOLLOW: &[Form] = &[
    hollow("client-silent", "does nothing, and stays", |_, _, _| {}),
    hollow("client-exits", "exits at once, with 0", |_, _, out| {
        out.push(Output::Exit(0));
    }),
    hollow("client-crashes", "exits at once, with 3", |_, _, out| {
        out.push(Output::Exit(3));
    }),
    hollow(
        "client-connects",
        "connects, and says nothing",
        |_, input, out| {
            if matches!(input, Input::Started) {
                out.push(Output::Connect);
            }
        },
    ),
    hollow(
        "client-mute",
        "asks as it was given, writes nothing and exits with 0 when the run is over",
        |core, input, out| {
            core.on(input, out);
            out.retain(|output| !matches!(output, Output::Line(_)));
            for output in out {
                if matches!(output, Output::Exit(_)) {
                    *output = Output::Exit(0);
                }
            }
        },
    ),
    hollow(
        "client-finished",
        "asks as it was given, and whatever comes it writes that the run finished",
        |core, input, out| match input {
            Input::Started | Input::Opened => core.on(input, out),
            _ => out.extend([Output::Line(Line::Finished), Output::Exit(0)]),
        },
    ),
    hollow(
        "client-fixed-lines",
        "asks as it was given, and writes the same lines of a good run each time",
        |core, input, out| match input {
            Input::Started => core.on(input, out),
            Input::Opened => {
                core.on(input, out);
                out.extend(usual().into_iter().map(Output::Line));
                out.push(Output::Exit(0));
            }
            _ => {}
        },
    ),
    hollow(
        "client-every-kind",
        "asks as it was given, and writes every kind of line for each message",
        |core, input, out| match input {
            Input::Started | Input::Opened => core.on(input, out),
            _ => {
                let refused = Line::Refused {
                    kind: "volume-held".to_owned(),
                    name: "v".to_owned(),
                    mode: None,
                };
                let trouble = Line::Malformed("it was malformed".to_owned());
                let every = usual().into_iter().chain([
                    refused,
                    Line::Error("null".to_owned()),
                    trouble,
                    Line::ProtocolError("it was out of place".to_owned()),
                ]);
                out.extend(every.map(Output::Line));
                out.push(Output::Exit(0));
            }
        },
    ),
    hollow(
        "client-trouble",
        "asks as it was given, and finds everything malformed",
        |core, input, out| match input {
            Input::Started | Input::Opened => core.on(input, out),
            _ => {
                let trouble = Line::Malformed("it was malformed".to_owned());
                out.extend([Output::Line(trouble), Output::Exit(1)]);
            }
        },
    ),
    hollow(
        "client-garbage",
        "sends and writes what has no meaning",
        |core, input, out| {
            if matches!(input, Input::Started) {
                core.on(input, out);
            }
            out.push(Output::Send(vec![0xff; 20].into()));
            out.push(Output::Raw("}{".to_owned()));
        },
    ),
    hollow(
        "client-echo",
        "sends back what it gets, and writes it in hex",
        |core, input, out| match input {
            Input::Started | Input::Opened => core.on(input, out),
            Input::Binary(message) => {
                out.push(Output::Send(message.clone()));
                out.push(Output::Raw(format!("{message:x}")));
            }
            Input::Text(text) => out.push(Output::Raw(text.clone())),
            Input::Lost(_) => out.push(Output::Exit(0)),
        },
    ),
];

/// The lines of a run with one loop.
fn usual() -> [Line; 5] {
    let chunk = r#"{"type":"assistant_text_content","text":"hello"}"#;
    [
        Line::Id("run-1".to_owned()),
        Line::Active,
        Line::Chunk(chunk.to_owned()),
        Line::Inactive("{}".to_owned()),
        Line::Finished,
    ]
}
