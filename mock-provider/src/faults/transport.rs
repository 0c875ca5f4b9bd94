//! Faults of handshakes and messages.

use bytes::Bytes;
use diverge_protocol::wire::FrameType;
use diverge_protocol::wire::frame::HEADER;

use crate::fault::{Fault, Interceptor, Step, fault, greet, on_input, replace, rewrite};
use crate::policy::{ClientId, Greeting, Input, Output};
use crate::view::{ClientView, Flow, Part, RunView, View};

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "subprotocol-named",
        "transport.handshake-plain",
        "names a subprotocol in every handshake",
        || greet(|_| Greeting::Subprotocol),
    ),
    fault(
        "connections-limited",
        "transport.handshake-plain",
        "turns clients away while two dozen are served and idle",
        || {
            greet(|view| {
                let idle = |client: &&ClientView| {
                    let mut runs = client.runs.values();
                    runs.len() == 1 && runs.all(|run| run.finished && run.run.is_none())
                };
                match view.clients().filter(idle).count() {
                    0..24 => Greeting::Plain,
                    _ => Greeting::Refused,
                }
            })
        },
    ),
    fault(
        "id-as-text",
        "transport.binary-only",
        "says a second time, in a text message, that a run has its id",
        || {
            replace(
                Flow::ToClient,
                |message| message.part == Part::Id,
                |message| {
                    let client = message.run.map(|run| run.client);
                    let text =
                        client.map(|client| Output::TextToClient(client, "started".into()).into());
                    [message.pass()].into_iter().chain(text).collect()
                },
            )
        },
    ),
    fault(
        "text-ping-answered",
        "transport.binary-only",
        "answers a ping in text with a pong in text",
        || {
            on_text(|_, client, text| {
                (text == "ping" || text.contains("\"ping\""))
                    .then(|| vec![Output::TextToClient(client, "pong".into()).into()])
            })
        },
    ),
    fault(
        "text-closes",
        "transport.text-ignored",
        "ends the connection on a text message",
        || on_text(|_, client, _| Some(hang_up(client))),
    ),
    fault(
        "idle-text-closes",
        "transport.text-ignored",
        "ends a connection that gets a text message before its first request",
        || {
            on_text(|view, client, text| {
                let idle = view.client(client).is_some_and(|it| it.runs.is_empty());
                // A ping in text is what even such a provider knows.
                (idle && !text.contains("ping")).then(|| hang_up(client))
            })
        },
    ),
    fault(
        "text-ends-loop",
        "transport.text-ignored",
        "ends a run that gets a text message while a loop is open",
        || {
            on_text(|view, client, _| {
                let runs = view.client(client)?.runs.values();
                let mut looping = runs.filter(|run| run.in_loop && !run.finished);
                let run = looping.next()?.run?;
                Some(vec![Input::ProxyClosed(run).into()])
            })
        },
    ),
    fault(
        "text-read-as-binary",
        "transport.text-ignored",
        "reads the bytes of a text message as a frame",
        || {
            on_text(|_, client, text| {
                Some(vec![
                    Input::ClientBinary(client, Bytes::from(text.to_owned())).into(),
                ])
            })
        },
    ),
    fault(
        "short-message-closes",
        "transport.short-message-dropped",
        "ends a connection without runs that gets a message of one to eight bytes",
        || {
            on_short(|view, client, message| {
                let idle = view.client(client).is_some_and(|it| it.runs.is_empty());
                (idle && !message.is_empty()).then(|| hang_up(client))
            })
        },
    ),
    fault(
        "empty-message-closes",
        "transport.short-message-dropped",
        "takes an empty message for the end of the connection",
        || on_short(|_, client, message| message.is_empty().then(|| hang_up(client))),
    ),
    fault(
        "short-message-completed",
        "transport.short-message-dropped",
        "reads a short message on a connection with a run as if zeros followed it",
        || {
            on_short(|view, client, message| {
                let busy = view.client(client)?.runs.values().any(running);
                (busy && !message.is_empty()).then(|| {
                    let mut whole = message.to_vec();
                    whole.resize(HEADER, 0);
                    vec![Input::ClientBinary(client, whole.into()).into()]
                })
            })
        },
    ),
    fault(
        "large-chunk-cut",
        "run.chunk.verbatim",
        "sends no more than a quarter of a mebibyte of a chunk",
        || {
            const MOST: usize = 1 << 18;
            rewrite(
                Flow::ToClient,
                |message| {
                    message.frame.kind == FrameType::Response
                        && message.part == Part::Chunk
                        && message.frame.payload.len() > MOST
                },
                |message| message.frame.payload.slice(..MOST),
            )
        },
    ),
];

/// Ends a client's connection, and everything on it.
pub(super) fn hang_up(client: ClientId) -> Vec<Step> {
    vec![
        Input::ClientClosed(client).into(),
        Output::CloseClient(client).into(),
    ]
}

/// Whether the run has its id and has not ended.
pub(super) fn running(run: &RunView) -> bool {
    run.id.is_some() && !run.finished
}

/// Puts these steps, where there are some, in place of a client's text message.
fn on_text(
    mut with: impl FnMut(&View, ClientId, &str) -> Option<Vec<Step>> + Send + 'static,
) -> Interceptor {
    on_input(move |view, input, next| match &input {
        Input::ClientText(client, text) => match with(view, *client, text) {
            Some(steps) => next.extend(steps),
            None => next.push(input.into()),
        },
        _ => next.push(input.into()),
    })
}

/// Puts these steps, where there are some, in place of a client's binary message that is too short for a header.
fn on_short(
    mut with: impl FnMut(&View, ClientId, &Bytes) -> Option<Vec<Step>> + Send + 'static,
) -> Interceptor {
    on_input(move |view, input, next| match &input {
        Input::ClientBinary(client, bytes) if bytes.len() < HEADER => {
            match with(view, *client, bytes) {
                Some(steps) => next.extend(steps),
                None => next.push(input.into()),
            }
        }
        _ => next.push(input.into()),
    })
}
