//! Faults of loops: their chunks, and what tells that they begin and end.

use diverge_protocol::wire::FrameType;
use diverge_protocol::wire::begin::BeginKind;
use serde_json::Value;

use super::{frame, tell};
use crate::answers::is_json;
use crate::fault::{
    Fault, Intercept, Interceptor, Role, Step, after, before, double, fault, lose, on, on_input,
    on_output, replace, rewrite,
};
use crate::policy::{Endpoint, Input, Output, Word};
use crate::view::{Flow, Part, View};

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "active-late",
        "proxy.loop.active-first",
        "tells that a loop began behind its first chunk",
        || {
            let mut held = Vec::new();
            on(Flow::ToHost, move |message, next| match message.part {
                Part::Active => held.push(message.pass()),
                Part::Chunk | Part::Inactive => {
                    let inactive = message.part == Part::Inactive;
                    if inactive {
                        next.append(&mut held);
                    }
                    next.push(message.pass());
                    next.append(&mut held);
                }
                _ => next.push(message.pass()),
            })
        },
    ),
    fault(
        "active-lost",
        "proxy.loop.active-first",
        "does not tell that a loop began",
        || lose(Flow::ToHost, |message| message.part == Part::Active),
    ),
    fault(
        "active-too-soon",
        "proxy.loop.active-not-invented",
        "tells that a loop began when it asks for the run",
        || {
            on_output(|view, output, next| match &output {
                Output::Call(_, call) if call.endpoint == Endpoint::Run => {
                    next.push(output.into());
                    if let Some(begun) = view.begun() {
                        let (kind, scope) = (FrameType::Response, begun.number);
                        next.extend(tell(view, |host| vec![frame(host, kind, scope, 0, "\x03")]));
                    }
                }
                _ if is_active(view, &output) => {}
                _ => next.push(output.into()),
            })
        },
    ),
    fault(
        "active-with-values",
        "proxy.loop.active-bare",
        "puts an object behind the byte of an active",
        || {
            rewrite(
                Flow::ToHost,
                |message| message.part == Part::Active,
                |_| "\x03{}".into(),
            )
        },
    ),
    fault(
        "chunk-lost",
        "proxy.loop.chunk-each",
        "loses the second event of a run",
        || {
            lose(Flow::ToHost, |it| {
                it.is(Part::Chunk, |scope| scope.chunks == 1)
            })
        },
    ),
    fault(
        "chunk-doubled",
        "proxy.loop.chunk-each",
        "sends the second event of a run twice",
        || {
            double(Flow::ToHost, |it| {
                it.is(Part::Chunk, |scope| scope.chunks == 1)
            })
        },
    ),
    fault(
        "chunks-gathered",
        "proxy.loop.chunk-each",
        "sends the first two events of a run as one chunk",
        || {
            let mut first = Vec::new();
            on(Flow::ToHost, move |message, next| match message.part {
                Part::Chunk if message.is(Part::Chunk, |scope| scope.chunks == 0) => {
                    first = message.body().to_vec();
                }
                Part::Chunk if !first.is_empty() => {
                    let both = [first.as_slice(), b",", message.body()].concat();
                    first.clear();
                    next.push(message.with_body(&[b"[", &both[..], b"]"].concat()));
                }
                Part::Inactive if !first.is_empty() => {
                    next.push(message.respond(BeginKind::Chunk, &first));
                    first.clear();
                    next.push(message.pass());
                }
                _ => next.push(message.pass()),
            })
        },
    ),
    fault(
        "chunk-respelled",
        "proxy.loop.chunk-verbatim",
        "writes chunks anew, without the white space in their JSON",
        || {
            rewrite(
                Flow::ToHost,
                |message| message.part == Part::Chunk,
                |message| {
                    let chunk: Option<Value> = serde_json::from_slice(message.body()).ok();
                    match chunk {
                        Some(chunk) => format!("\x02{chunk}").into(),
                        None => message.frame.payload.clone(),
                    }
                },
            )
        },
    ),
    fault(
        "chunk-stamped",
        "proxy.loop.chunk-verbatim",
        "writes the image into the `_meta` of chunks",
        || {
            rewrite(
                Flow::ToHost,
                |message| message.part == Part::Chunk,
                |message| {
                    let chunk: Option<Value> = serde_json::from_slice(message.body()).ok();
                    match chunk {
                        Some(Value::Object(mut chunk)) => {
                            chunk.insert("_meta".into(), serde_json::json!({"image": "?"}));
                            format!("\x02{}", Value::Object(chunk)).into()
                        }
                        _ => message.frame.payload.clone(),
                    }
                },
            )
        },
    ),
    fault(
        "chunks-swapped",
        "proxy.loop.chunk-order",
        "sends the first event of a run behind the second",
        || {
            let mut held = Vec::new();
            on(Flow::ToHost, move |message, next| match message.part {
                Part::Chunk if message.is(Part::Chunk, |scope| scope.chunks == 0) => {
                    held.push(message.pass());
                }
                Part::Inactive => {
                    next.append(&mut held);
                    next.push(message.pass());
                }
                Part::Chunk => {
                    next.push(message.pass());
                    next.append(&mut held);
                }
                _ => next.push(message.pass()),
            })
        },
    ),
    fault(
        "inactive-lost",
        "proxy.loop.inactive-last",
        "does not tell that a loop ended",
        || lose(Flow::ToHost, |message| message.part == Part::Inactive),
    ),
    fault(
        "chunk-after-inactive",
        "proxy.loop.inactive-last",
        "repeats the last chunk of a loop behind its end",
        || {
            let mut last = None;
            on(Flow::ToHost, move |message, next| {
                next.push(message.pass());
                match message.part {
                    Part::Chunk => last = Some(message.pass()),
                    Part::Inactive => next.extend(last.take()),
                    _ => {}
                }
            })
        },
    ),
    fault(
        "inactive-bare",
        "proxy.loop.inactive-values",
        "puts nothing behind the byte of an inactive",
        || inactive("\x04"),
    ),
    fault(
        "inactive-list",
        "proxy.loop.inactive-values",
        "puts a list behind the byte of an inactive",
        || inactive("\x04[]"),
    ),
    fault(
        "inactive-invented",
        "proxy.loop.inactive-empty",
        "makes up a value for a program that declared no secret",
        || inactive("\x04{\"token\":\"invented\"}"),
    ),
    fault(
        "empty-loop-untold",
        "proxy.loop.empty",
        "tells nothing of a run without an event",
        || {
            let mut held = Vec::new();
            on(Flow::ToHost, move |message, next| match message.part {
                Part::Active => held.push(message.pass()),
                Part::Inactive if !held.is_empty() => held.clear(),
                Part::Chunk => {
                    next.append(&mut held);
                    next.push(message.pass());
                }
                _ => next.push(message.pass()),
            })
        },
    ),
    fault(
        "active-twice",
        "proxy.loop.alternate",
        "tells twice that a loop began",
        || double(Flow::ToHost, |message| message.part == Part::Active),
    ),
    fault(
        "inactive-twice",
        "proxy.loop.alternate",
        "tells twice that a loop ended",
        || double(Flow::ToHost, |message| message.part == Part::Inactive),
    ),
    fault(
        "last-chunk-late",
        "proxy.loop.chunk-inside",
        "sends the last chunk of a loop behind its end",
        || {
            let mut held = Vec::new();
            on(Flow::ToHost, move |message, next| match message.part {
                Part::Chunk => {
                    next.append(&mut held);
                    held.push(message.pass());
                }
                Part::Inactive => {
                    next.push(message.pass());
                    next.append(&mut held);
                }
                _ => next.push(message.pass()),
            })
        },
    ),
    fault(
        "second-loop-unmarked",
        "proxy.loop.repeat",
        "tells neither the beginning nor the end of a second loop",
        || {
            lose(Flow::ToHost, |message| {
                message.is(Part::Active, |scope| scope.loops == 1)
                    || message.is(Part::Inactive, |scope| scope.loops == 2)
            })
        },
    ),
    fault(
        "second-loop-unrelayed",
        "proxy.loop.repeat",
        "relays no chunk of a second loop",
        || {
            lose(Flow::ToHost, |it| {
                it.is(Part::Chunk, |scope| scope.loops == 2)
            })
        },
    ),
    fault(
        "data-obeyed",
        "proxy.loop.not-forged",
        "takes an event whose type is inactive for the end of the loop",
        || {
            replace(
                Flow::ToHost,
                |message| {
                    let chunk: Option<Value> = serde_json::from_slice(message.body()).ok();
                    message.part == Part::Chunk
                        && chunk.is_some_and(|chunk| chunk["type"] == "inactive")
                },
                |message| vec![message.respond(BeginKind::Inactive, b"{}")],
            )
        },
    ),
    fault(
        "data-unwrapped",
        "proxy.loop.not-forged",
        "sends data that begins with a control character without the byte of a chunk",
        || {
            on(Flow::ToHost, |message, next| {
                let odd = message.body().first().is_some_and(|byte| *byte < 8);
                next.push(if message.part == Part::Chunk && odd {
                    message.with_payload(message.body().to_vec())
                } else {
                    message.pass()
                });
            })
        },
    ),
    fault(
        "malformed-replaced",
        "proxy.loop.malformed-data",
        "sends null in place of data that is no JSON",
        || {
            rewrite(
                Flow::ToHost,
                |message| message.part == Part::Chunk && !is_json(message.body()),
                |_| "\x02null".into(),
            )
        },
    ),
    fault(
        "malformed-closes",
        "proxy.loop.malformed-data",
        "closes at an event whose data is no JSON",
        || {
            replace(
                Flow::ToHost,
                |message| message.part == Part::Chunk && !is_json(message.body()),
                |message| vec![Output::Close(message.host).into()],
            )
        },
    ),
    fault(
        "malformed-ends-relay",
        "proxy.loop.malformed-data",
        "relays nothing more of a loop after an event whose data is no JSON",
        || {
            let mut spoiled = false;
            on(Flow::ToHost, move |message, next| {
                match message.part {
                    Part::Active => spoiled = false,
                    Part::Chunk => spoiled |= !is_json(message.body()),
                    _ => {}
                }
                if !(spoiled && message.part == Part::Chunk) {
                    next.push(message.pass());
                }
            })
        },
    ),
    fault(
        "broken-stream-error",
        "proxy.loop.broken-stream",
        "tells of a stream that breaks off by an error in place of the inactive",
        || broken(|| vec![Told::Error]),
    ),
    fault(
        "broken-stream-finish",
        "proxy.loop.broken-stream",
        "finishes the scope of a stream that breaks off",
        || broken(|| vec![Told::Inactive, Told::Finish]),
    ),
    fault(
        "broken-stream-untold",
        "proxy.loop.broken-stream",
        "does not tell the end of a loop whose stream breaks off",
        || broken(Vec::new),
    ),
    fault(
        "broken-stream-closes",
        "proxy.loop.broken-stream",
        "closes when a stream breaks off",
        || broken(|| vec![Told::Close]),
    ),
    fault(
        "fatal-as-error",
        "proxy.loop.fatal-notification",
        "tells a fatal notification as an error",
        || {
            rewrite(
                Flow::ToHost,
                |message| message.part == Part::Chunk && is_fatal(message.body()),
                |message| [b"\x01", message.body()].concat().into(),
            )
        },
    ),
    fault(
        "fatal-without-inactive",
        "proxy.loop.fatal-notification",
        "does not tell the end of a loop behind a fatal notification",
        || {
            let mut fatal = false;
            on(Flow::ToHost, move |message, next| {
                if message.part == Part::Chunk {
                    fatal = is_fatal(message.body());
                }
                if message.part == Part::Inactive && std::mem::take(&mut fatal) {
                    return;
                }
                next.push(message.pass());
            })
        },
    ),
    fault(
        "fatal-with-error",
        "proxy.loop.fatal-notification",
        "tells an error behind a fatal notification",
        || {
            after(
                Flow::ToHost,
                |message| message.part == Part::Chunk && is_fatal(message.body()),
                |message| vec![message.respond(BeginKind::Error, b"null")],
            )
        },
    ),
    fault(
        "stream-given-up",
        "proxy.connection.no-timeout",
        "ends a loop after five hundred turns without an event",
        || {
            let mut turns = 0;
            on_input(move |view, input, next| {
                let quiet = !matches!(&input, Input::Agent(_, Word::Streams | Word::Event(_)));
                turns = if quiet { turns + 1 } else { 0 };
                let mut running = view
                    .calls_of(Endpoint::Run)
                    .filter(|(_, call)| call.streams && !call.over);
                if turns == 500
                    && let Some((id, _)) = running.next()
                {
                    let gone = Word::Broke("no event for long".into());
                    next.push(Input::Agent(id, gone).into());
                }
                next.push(input.into());
            })
        },
    ),
    fault(
        "third-active-late",
        "proxy.loop.active-first",
        "tells that a third loop began once it has ended",
        || {
            let mut held = Vec::new();
            on(Flow::ToHost, move |message, next| {
                if message.is(Part::Active, |scope| scope.loops == 2) {
                    return held.push(message.pass());
                }
                if message.part == Part::Inactive {
                    next.append(&mut held);
                }
                next.push(message.pass());
            })
        },
    ),
    fault(
        "heartbeat",
        "proxy.loop.chunk-each",
        "sends a chunk of its own ahead of the first",
        || {
            before(
                Flow::ToHost,
                |message| message.is(Part::Chunk, |scope| scope.chunks == 0),
                |message| vec![message.respond(BeginKind::Chunk, b"{}")],
            )
        },
    ),
];

/// What is told of a stream that breaks off.
#[derive(Clone, Copy)]
enum Told {
    Inactive,
    Error,
    Finish,
    Close,
}

/// Tells this when a stream breaks off, instead of the inactive.
fn broken(told: fn() -> Vec<Told>) -> Interceptor {
    struct Broken {
        told: fn() -> Vec<Told>,
        breaks: bool,
    }
    impl Intercept<Role> for Broken {
        fn input(&mut self, _: &View, input: Input, next: &mut Vec<Step>) {
            self.breaks = matches!(&input, Input::Agent(_, Word::Broke(_)));
            next.push(input.into());
        }

        fn output(&mut self, view: &View, output: Output, next: &mut Vec<Step>) {
            match view.read_output(&output) {
                Some(message) if self.breaks && message.part == Part::Inactive => {
                    next.extend((self.told)().into_iter().map(|told| match told {
                        Told::Inactive => message.pass(),
                        Told::Error => message.respond(BeginKind::Error, b"{\"kind\":\"loop\"}"),
                        Told::Finish => message.finish(),
                        Told::Close => Output::Close(message.host).into(),
                    }));
                }
                _ => next.push(output.into()),
            }
        }
    }
    Box::new(Broken {
        told,
        breaks: false,
    })
}

/// Sends another payload in place of every inactive.
fn inactive(payload: &'static str) -> Interceptor {
    on(Flow::ToHost, move |message, next| {
        next.push(if message.part == Part::Inactive {
            message.with_payload(payload)
        } else {
            message.pass()
        });
    })
}

fn is_active(view: &View, output: &Output) -> bool {
    let message = view.read_output(output);
    message.is_some_and(|message| message.part == Part::Active)
}

/// Whether that chunk is a fatal notification.
pub(super) fn is_fatal(chunk: &[u8]) -> bool {
    let chunk: Value = serde_json::from_slice(chunk).unwrap_or_default();
    chunk["type"] == "notification" && chunk["is_fatal"] == true
}
