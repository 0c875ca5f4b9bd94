//! Faults between the request and the id.

use std::collections::HashSet;

use bytes::Bytes;
use diverge_protocol::wire::{Frame, FrameType, credential_payload};

use crate::checks;
use crate::fault::{
    Fault, Intercept, Role, Step, before, double, fault, lose, on, on_input, on_output, replace,
    rewrite,
};
use crate::policy::{Input, Output, RunId};
use crate::view::{Flow, Message, Part, RunView, View};

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "begin-twice",
        "begin.once",
        "asks every proxy twice to begin",
        || double(Flow::ToProxy, |message| message.part == Part::Request),
    ),
    fault(
        "begin-repeated",
        "begin.once",
        "asks a slow proxy again to begin when a third run beside it ends",
        || {
            on(Flow::ToClient, |message, next| {
                next.push(message.pass());
                let client = message.view.client(message.scope().0);
                if message.part == Part::Finish && message.run.is_some_and(|run| run.loops == 1) {
                    let before = client
                        .into_iter()
                        .flat_map(|client| client.runs.values())
                        .filter(|run| run.finished)
                        .count();
                    let waiting = client
                        .into_iter()
                        .flat_map(|client| client.runs.values())
                        .filter(|run| before > 1 && waits(run));
                    next.extend(waiting.filter_map(|run| begin(run, message.view)));
                }
            })
        },
    ),
    fault(
        "credential-to-proxy",
        "begin.no-credential",
        "sends every proxy its own credential first",
        || {
            before(
                Flow::ToProxy,
                |message| message.part == Part::Request,
                |message| vec![authorization(message, &message.view.settings.credential)],
            )
        },
    ),
    fault(
        "credential-from-arguments",
        "begin.no-credential",
        "takes a credential in the arguments for the proxy's",
        || {
            before(
                Flow::ToProxy,
                |message| message.is(Part::Request, |run| says(run, "\"credential\"")),
                |message| vec![authorization(message, "from the arguments")],
            )
        },
    ),
    fault(
        "arguments-merged",
        "begin.well-formed",
        "merges members of the arguments into the begin request",
        || {
            rewrite(
                Flow::ToProxy,
                |message| {
                    message.is(Part::Request, |run| {
                        says(run, "\"arguments\"") && says(run, "\"image\"")
                    })
                },
                |message| {
                    let arguments = message
                        .run
                        .and_then(|run| run.arguments.as_deref())
                        .unwrap_or_default();
                    format!("\0{{\"arguments\":{arguments},\"arguments\":{arguments}}}").into()
                },
            )
        },
    ),
    fault(
        "mounts-before-begin",
        "begin.first",
        "makes many mounts before it asks to begin",
        || {
            const MOUNT: &[u8] = b"\x02{\"container_path\":[\"home\"]}";
            before(
                Flow::ToProxy,
                |message| message.is(Part::Request, |run| mounts(run) > 4),
                |message| {
                    let scope = message.view.settings.begin_scope.wrapping_add(1);
                    vec![message.with_frame(Frame::new(FrameType::Request, scope, 0, MOUNT))]
                },
            )
        },
    ),
    fault(
        "text-reconnects",
        "begin.one-connection",
        "connects anew to a proxy that sends a text message",
        || Box::new(Reconnect::default()),
    ),
    fault(
        "begun-by-the-letter",
        "run.started",
        "knows begun in its shortest spelling only",
        || {
            replace(
                Flow::FromProxy,
                |message| {
                    message.is(Part::Begun, |run| run.id.is_none()) && message.body() != b"[]"
                },
                |message| vec![message.respond(checks::error("no list")), message.finish()],
            )
        },
    ),
    fault(
        "id-out-of-turn",
        "run.silent-before-id",
        "sends an id when the client asks for something unreadable",
        || {
            on(Flow::FromClient, |message, next| {
                if message.part == Part::Request && message.body() == b"{" {
                    let client = message.view.client(message.scope().0);
                    let runs = client.into_iter().flat_map(|client| client.runs.values());
                    let waiting = runs.filter(|run| waits(run)).filter_map(|run| run.run);
                    next.extend(
                        waiting.map(|run| response(run, &b"\0{\"id\":\"8c1f0f4be7a24d3f\"}"[..])),
                    );
                }
                next.push(message.pass());
            })
        },
    ),
    fault(
        "unreachable-unexplained",
        "begin.connection-refused",
        "finishes bare where no proxy answers",
        || {
            on_input(|_, input, next| {
                next.push(match input {
                    Input::ProxyRefused(run) => finish(run),
                    other => other.into(),
                });
            })
        },
    ),
    fault(
        "closed-early-unnoticed",
        "begin.connection-refused",
        "waits on for a proxy that went away",
        || {
            on_input(|view, input, next| match input {
                Input::ProxyClosed(run) if view.run(run).is_some_and(waits) => {}
                other => next.push(other.into()),
            })
        },
    ),
    fault(
        "finished-early-unnoticed",
        "begin.connection-refused",
        "waits on for a proxy that finished begin",
        || lose(Flow::FromProxy, |message| message.is(Part::Finish, waits)),
    ),
    fault(
        "begin-error-null",
        "begin.error-reported",
        "takes the error null of a proxy for no error",
        || {
            replace(
                Flow::FromProxy,
                |message| message.part == Part::EarlyError && message.body() == b"null",
                |message| vec![message.with_payload(&b"\0[]"[..])],
            )
        },
    ),
    fault(
        "begin-error-container-kept",
        "begin.error-stops-container",
        "keeps the container whose proxy answered with an error",
        || {
            on_output(|view, output, next| {
                let kept = matches!(output, Output::CloseProxy(run)
                    if view.run(run).is_some_and(|run| run.begun && run.id.is_none() && run.responses > 0));
                if !kept {
                    next.push(output.into());
                }
            })
        },
    ),
    fault(
        "early-schema-asked",
        "run.early-channels-kept",
        "carries a schema request on before the id",
        || {
            on(Flow::FromClient, |message, next| {
                next.push(message.pass());
                if let Some(run) = message.run.filter(|run| waits(run)).and_then(|run| run.run)
                    && message.part == Part::Ask
                    && message.frame.payload[..] == [6]
                {
                    let ask = Frame::new(
                        FrameType::ChannelRequest,
                        message.view.settings.begin_scope,
                        900,
                        &b"\x01"[..],
                    );
                    next.push(Output::ToProxy(run, ask.encode()).into());
                }
            })
        },
    ),
    fault(
        "early-by-number",
        "run.early-channels-in-order",
        "serves early channels by their numbers",
        || {
            let mut held: Vec<(RunId, u32, Input)> = Vec::new();
            on_input(move |view, input, next| {
                let Some(message) = view.read_input(&input) else {
                    return next.push(input.into());
                };
                let run = message.run.and_then(|run| run.run);
                match (message.part, run) {
                    (Part::Ask, Some(run))
                        if message.flow == Flow::FromClient && view.run(run).is_some_and(waits) =>
                    {
                        held.push((run, message.frame.channel, input));
                    }
                    (Part::Begun, Some(run)) => {
                        let (mut early, rest) =
                            held.drain(..).partition::<Vec<_>, _>(|it| it.0 == run);
                        held = rest;
                        early.sort_by_key(|it| it.1);
                        next.extend(early.into_iter().map(|(_, _, input)| input.into()));
                        next.push(input.into());
                    }
                    _ => next.push(input.into()),
                }
            })
        },
    ),
    fault(
        "early-unreadable-refused",
        "run.early-channels-kept",
        "finishes an unreadable channel before the id",
        || {
            replace(
                Flow::FromClient,
                |message| {
                    message.is(Part::Ask, waits)
                        && message.frame.payload.first().is_none_or(|tag| *tag > 10)
                },
                |message| {
                    vec![message.tell_client(
                        FrameType::ChannelResponseFinish,
                        message.frame.channel,
                        Bytes::new(),
                    )]
                },
            )
        },
    ),
    fault(
        "quiet-given-up",
        "run.quiet-allowed",
        "ends a run without loops when another ends after many frames",
        || {
            on(Flow::ToClient, |message, next| {
                next.push(message.pass());
                let client = message
                    .view
                    .client(message.scope().0)
                    .filter(|it| (16..64).contains(&it.frames));
                if message.is(Part::Finish, |run| run.loops == 1) {
                    let runs = client.into_iter().flat_map(|client| client.runs.values());
                    let quiet =
                        runs.filter(|run| run.id.is_some() && run.loops == 0 && !run.finished);
                    next.extend(quiet.filter_map(|run| run.run).map(finish));
                }
            })
        },
    ),
];

/// Whether the proxy of a run has been asked to begin, and nothing has come of it.
fn waits(run: &RunView) -> bool {
    run.begun && run.id.is_none() && !run.finished
}

fn says(run: &RunView, text: &str) -> bool {
    run.arguments
        .as_ref()
        .is_some_and(|arguments| arguments.contains(text))
}

/// How many FUSE mounts a run asks for, as far as ids tell.
fn mounts(run: &RunView) -> usize {
    run.request
        .windows(5)
        .filter(|window| window == b"\"id\":")
        .count()
}

fn authorization(message: &Message<'_>, credential: &str) -> Step {
    message.with_frame(Frame::new(
        FrameType::Authorization,
        0,
        0,
        credential_payload(credential),
    ))
}

fn begin(run: &RunView, view: &View) -> Option<Step> {
    let payload = format!("\0{{\"arguments\":{}}}", run.arguments.as_deref()?);
    let frame = Frame::new(FrameType::Request, view.settings.begin_scope, 0, payload);
    Some(Output::ToProxy(run.run?, frame.encode()).into())
}

/// A response on a run's scope.
pub(super) fn response(run: RunId, payload: impl Into<Bytes>) -> Step {
    Output::ToClient(
        run.client,
        Frame::new(FrameType::Response, run.scope, 0, payload).encode(),
    )
    .into()
}

/// The finish of a run's scope.
pub(super) fn finish(run: RunId) -> Step {
    Output::ToClient(
        run.client,
        Frame::new(FrameType::ResponseFinish, run.scope, 0, Bytes::new()).encode(),
    )
    .into()
}

/// Connects a second time, and does nothing else until that connection is there.
#[derive(Default)]
struct Reconnect {
    reconnected: HashSet<RunId>,
    waiting: Option<RunId>,
    held: Vec<Step>,
}

impl Intercept<Role> for Reconnect {
    fn input(&mut self, _: &View, input: Input, next: &mut Vec<Step>) {
        match (&input, self.waiting) {
            (Input::ProxyText(run, _), None) if self.reconnected.insert(*run) => {
                self.waiting = Some(*run);
                next.push(Output::Dial(*run).into());
            }
            (Input::ProxyOpened(run) | Input::ProxyRefused(run), Some(waiting))
                if *run == waiting =>
            {
                self.waiting = None;
                next.push(input.into());
                next.append(&mut self.held);
            }
            (_, Some(_)) => self.held.push(input.into()),
            (_, None) => next.push(input.into()),
        }
    }
}
