//! Faults of the connection and its frames.

use bytes::Bytes;
use diverge_protocol::wire::{Frame, FrameType};

use crate::fault::{
    Fault, admit, after, before, fault, on, on_input, on_output, on_word, replace, rewrite,
};
use crate::policy::{Admission, Endpoint, Input, Output};
use crate::view::{Flow, Part};

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "run-refusal-closes",
        "proxy.connection.kept",
        "closes the connection when a run is refused",
        || {
            on_word(Endpoint::Run, |heard, next| {
                if heard.answer().is_some() {
                    next.extend(super::tell(heard.view, |host| {
                        vec![Output::Close(host).into()]
                    }));
                }
                next.push(heard.pass());
            })
        },
    ),
    fault(
        "root-refused",
        "proxy.connection.accepted",
        "answers a request for a WebSocket on `/` with HTTP status 404",
        || admit(|_, _, _| Admission::Refused(404)),
    ),
    fault(
        "greets",
        "proxy.connection.silent-first",
        "sends a frame as soon as the connection is open",
        || {
            on_input(|_, input, next| {
                if let Input::Opened(host, _) = &input {
                    let hello = Frame::new(FrameType::ResponseFinish, 0, 0, Bytes::new());
                    next.push(Output::Send(*host, hello.encode()).into());
                }
                next.push(input.into());
            })
        },
    ),
    fault(
        "second-connection-taken",
        "proxy.connection.second-refused",
        "takes a second connection while the first is open",
        || {
            admit(|view, _, by_reference| {
                if view.hosts.values().any(|host| !host.ended) {
                    Admission::Granted
                } else {
                    by_reference
                }
            })
        },
    ),
    fault(
        "second-connection-unavailable",
        "proxy.connection.second-refused",
        "answers a request for a second connection with HTTP status 503",
        || {
            admit(|view, _, by_reference| {
                if view.hosts.values().any(|host| !host.ended) {
                    Admission::Refused(503)
                } else {
                    by_reference
                }
            })
        },
    ),
    fault(
        "connection-after-connection",
        "proxy.connection.never-again",
        "takes a connection once the first is gone",
        || {
            admit(|view, _, by_reference| {
                if view.hosts.values().all(|host| host.ended) {
                    Admission::Granted
                } else {
                    by_reference
                }
            })
        },
    ),
    fault(
        "credential-passed-over",
        "proxy.connection.credential-closes",
        "does not close when it gets a credential",
        || replace(Flow::FromHost, |it| it.part == Part::Credential, |_| vec![]),
    ),
    fault(
        "credential-answered",
        "proxy.connection.credential-silent",
        "finishes the credential's scope before it closes",
        || {
            before(
                Flow::FromHost,
                |it| it.part == Part::Credential,
                |message| vec![message.finish()],
            )
        },
    ),
    fault(
        "text-closes",
        "proxy.connection.text-ignored",
        "closes when it gets a text message",
        || {
            on_input(|_, input, next| {
                next.push(match input {
                    Input::Text(host, _) => Output::Close(host).into(),
                    other => other.into(),
                });
            })
        },
    ),
    fault(
        "text-read",
        "proxy.connection.text-ignored",
        "reads a text message like a binary one",
        || {
            on_input(|_, input, next| {
                next.push(match input {
                    Input::Text(host, text) => Input::Binary(host, text.into()).into(),
                    other => other.into(),
                });
            })
        },
    ),
    fault(
        "unknown-type-closes",
        "proxy.frame.unknown-type-dropped",
        "closes when it gets a frame of a type above 6",
        || on_bytes(|bytes| bytes.len() >= 9 && bytes[0] > 6, Reply::Close),
    ),
    fault(
        "unknown-type-answered",
        "proxy.frame.unknown-type-dropped",
        "answers a frame of a type above 6 with a finish",
        || on_bytes(|bytes| bytes.len() >= 9 && bytes[0] > 6, Reply::Finish),
    ),
    fault(
        "response-closes",
        "proxy.frame.wrong-direction-dropped",
        "closes when the host sends a response or a finish",
        || {
            on_bytes(
                |bytes| bytes.len() >= 9 && matches!(bytes[0], 2 | 3),
                Reply::Close,
            )
        },
    ),
    fault(
        "response-answered",
        "proxy.frame.wrong-direction-dropped",
        "answers a response of the host's with a finish",
        || on_bytes(|bytes| bytes.len() >= 9 && bytes[0] == 2, Reply::Finish),
    ),
    fault(
        "short-frame-closes",
        "proxy.frame.short-dropped",
        "closes when it gets fewer than nine bytes",
        || on_bytes(|bytes| bytes.len() < 9, Reply::Close),
    ),
    fault(
        "stray-channel-finished",
        "proxy.frame.unknown-scope-dropped",
        "finishes a channel that is opened on a scope that is not open",
        || {
            on(Flow::FromHost, |message, next| {
                let open = message.scope.is_some_and(|scope| !scope.finished);
                next.push(message.pass());
                if message.part == Part::Ask && !open {
                    next.push(message.finish_channel());
                }
            })
        },
    ),
    fault(
        "stray-channel-closes",
        "proxy.frame.unknown-scope-dropped",
        "closes when a channel is opened on a scope that is not open",
        || {
            on(Flow::FromHost, |message, next| {
                let open = message.scope.is_some_and(|scope| !scope.finished);
                next.push(if message.part == Part::Ask && !open {
                    Output::Close(message.host).into()
                } else {
                    message.pass()
                });
            })
        },
    ),
    fault(
        "idle-closes",
        "proxy.connection.idle-kept",
        "closes once it is idle after its first loop",
        || {
            after(
                Flow::ToHost,
                |message| message.is(Part::Inactive, |scope| scope.loops == 1),
                |message| vec![Output::Close(message.host).into()],
            )
        },
    ),
    fault(
        "chunks-as-text",
        "proxy.frame.binary-only",
        "sends chunks as text messages",
        || {
            on_output(|view, output, next| {
                if let Some(message) = view.read_output(&output)
                    && message.part == Part::Chunk
                    && let Ok(text) = String::from_utf8(message.frame.clone().encode().into())
                {
                    return next.push(Output::SendText(message.host, text).into());
                }
                next.push(output.into());
            })
        },
    ),
    fault(
        "scope-little-endian",
        "proxy.frame.header",
        "writes the scope number in little-endian order",
        || {
            on(Flow::ToHost, |message, next| {
                next.push(message.with_frame(Frame {
                    scope: message.frame.scope.swap_bytes(),
                    ..message.frame.clone()
                }));
            })
        },
    ),
    fault(
        "inactive-of-unknown-type",
        "proxy.frame.header",
        "sends inactives in frames of type 7",
        || {
            on(Flow::ToHost, |message, next| {
                let mut bytes = message.frame.encode().to_vec();
                if message.part == Part::Inactive {
                    bytes[0] = 7;
                }
                next.push(message.with_bytes(bytes.into()));
            })
        },
    ),
    fault(
        "header-cut",
        "proxy.frame.header",
        "leaves the channel number out of finishes of scopes",
        || {
            on(Flow::ToHost, |message, next| {
                let bytes = message.frame.encode();
                next.push(message.with_bytes(if message.part == Part::Finish {
                    bytes.slice(..5)
                } else {
                    bytes
                }));
            })
        },
    ),
    fault(
        "finish-with-a-payload",
        "proxy.frame.finish-empty",
        "puts a byte behind the finish of a channel",
        || {
            rewrite(
                Flow::ToHost,
                |message| message.part == Part::AnswerFinish,
                |_| Bytes::from_static(&[0]),
            )
        },
    ),
];

#[derive(Clone, Copy)]
enum Reply {
    Close,
    Finish,
}

/// Closes, or finishes the scope that is named, when bytes come for which `when` holds.
fn on_bytes(when: fn(&[u8]) -> bool, reply: Reply) -> crate::fault::Interceptor {
    on_input(move |_, input, next| match &input {
        Input::Binary(host, bytes) if when(bytes) => next.push(
            match reply {
                Reply::Close => Output::Close(*host),
                Reply::Finish => {
                    let mut finish = bytes[..9].to_vec();
                    finish[0] = FrameType::ResponseFinish.byte();
                    Output::Send(*host, finish.into())
                }
            }
            .into(),
        ),
        _ => next.push(input.into()),
    })
}
