//! Faults in how a client's run ends.

use diverge_protocol::wire::client_line::ClientLine as Line;

use super::super::core::{Input, Output};
use super::super::{Form, lines};
use super::fault;

fn exits(out: &mut [Output], status: u8) {
    for output in out {
        if matches!(output, Output::Exit(_)) {
            *output = Output::Exit(status);
        }
    }
}

pub(super) static FAULTS: &[Form] = &[
    fault(
        "finish-untold",
        "client.finish.told",
        "exits without a word when its run is finished",
        |core, input, out| {
            core.on(input, out);
            lines(out, |line| match line {
                Line::Finished => Vec::new(),
                line => vec![line],
            });
        },
    ),
    fault(
        "bare-finish-as-error",
        "client.finish.bare",
        "takes a finish before the id for an error",
        |core, input, out| {
            let nothing = !core.started && !core.refused;
            core.on(input, out);
            lines(out, |line| match line {
                Line::Finished if nothing => vec![Line::Error("null".to_owned()), line],
                line => vec![line],
            });
        },
    ),
    fault(
        "bare-finish-out-of-place",
        "client.finish.bare",
        "finds a finish before the id out of place",
        |core, input, out| {
            let nothing = !core.started && !core.refused;
            core.on(input, out);
            lines(out, |line| match line {
                Line::Finished if nothing => {
                    vec![Line::ProtocolError("a finish before the id".to_owned())]
                }
                line => vec![line],
            });
        },
    ),
    fault(
        "reads-behind-the-finish",
        "client.finish.last",
        "tells a chunk that comes behind the finish",
        |core, input, out| {
            let finished = core.finished;
            core.on(input, out);
            if finished && core.payload(input).is_some() {
                let chunk = Line::Chunk("{}".to_owned());
                out.extend([Output::Line(chunk), Output::Exit(0)]);
            } else if finished && matches!(input, Input::Lost(_)) {
                out.push(Output::Exit(0));
            } else {
                out.retain(|output| !matches!(output, Output::Close | Output::Exit(_)));
            }
        },
    ),
    fault(
        "summary-behind-the-finish",
        "client.finish.last",
        "writes how often it saw no loop end, behind the finish",
        |core, input, out| {
            core.on(input, out);
            lines(out, |line| match line {
                Line::Finished => vec![line, Line::ProtocolError("no error".to_owned())],
                line => vec![line],
            });
        },
    ),
    fault(
        "finish-exits-with-1",
        "client.finish.exit",
        "exits with 1 when its run is finished",
        |core, input, out| {
            core.on(input, out);
            if core.finished {
                exits(out, 1);
            }
        },
    ),
    fault(
        "finish-stays",
        "client.finish.exit",
        "stays when its run is finished",
        |core, input, out| {
            core.on(input, out);
            if core.finished {
                out.retain(|output| !matches!(output, Output::Close | Output::Exit(_)));
            }
        },
    ),
    fault(
        "close-as-finish",
        "client.finish.lost",
        "takes a connection that is closed in order for the finish",
        |core, input, out| {
            core.on(input, out);
            if matches!(input, Input::Lost(true)) && !core.finished {
                lines(out, |_| vec![Line::Finished]);
                exits(out, 0);
            }
        },
    ),
    fault(
        "break-as-finish",
        "client.finish.lost",
        "takes a connection that breaks for the finish",
        |core, input, out| {
            core.on(input, out);
            if matches!(input, Input::Lost(false)) && !core.finished {
                lines(out, |_| vec![Line::Finished]);
                exits(out, 0);
            }
        },
    ),
    fault(
        "loop-end-as-finish",
        "client.finish.lost",
        "takes a connection that ends between two loops for the finish",
        |core, input, out| {
            core.on(input, out);
            if matches!(input, Input::Lost(_)) && core.loops > 0 && !core.active && !core.finished {
                lines(out, |_| vec![Line::Finished]);
                exits(out, 0);
            }
        },
    ),
    fault(
        "error-as-finish",
        "client.finish.lost",
        "takes an error for the end of its run, and writes the finish behind it",
        |core, input, out| {
            core.on(input, out);
            let error = |output: &Output| matches!(output, Output::Line(Line::Error(_)));
            if out.iter().any(error) {
                out.extend([Output::Line(Line::Finished), Output::Close, Output::Exit(0)]);
            }
        },
    ),
    fault(
        "loss-unshown",
        "client.finish.loss-shown",
        "exits with 0 and without a word when its connection is lost",
        |core, input, out| {
            core.on(input, out);
            if matches!(input, Input::Lost(_)) && !core.finished {
                lines(out, |_| Vec::new());
                exits(out, 0);
            }
        },
    ),
    fault(
        "loss-unnoticed",
        "client.finish.loss-ends",
        "waits on when its connection is lost",
        |core, input, out| {
            if !matches!(input, Input::Lost(_)) {
                core.on(input, out);
            }
        },
    ),
];
