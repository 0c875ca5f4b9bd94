//! Faults of loops as calls: when one is begun, refused and ended.

use bytes::Bytes;
use diverge_protocol::wire::agent_server::Endpoint;
use serde_json::Value;

use crate::call::{CallId, Head};
use crate::fault::{
    Fault, Intercept, Interceptor, Role, Step, answer_instead, fault, on_call, on_input, on_piece,
    replace, replace_reply, switch_off, tune,
};
use crate::policy::{Input, Output, refusal};
use crate::settings::Check;
use crate::view::{Passing, Reply, View};

use super::edited;

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "unregistered-taken",
        "agent.run.unregistered-refused",
        "runs a loop before a registration",
        || switch_off(Check::Registered),
    ),
    fault(
        "unregistered-other-kind",
        "agent.run.unregistered-kind",
        "refuses a loop before a registration as not ready",
        || rekind("unregistered", "not_ready"),
    ),
    fault(
        "run-failing",
        "agent.run.starts",
        "fails at every loop",
        || {
            answer_instead(Endpoint::Run, |_, _| {
                Some(refusal(500, "internal", "no model"))
            })
        },
    ),
    fault(
        "run-many-refused",
        "agent.run.starts",
        "runs no loop on more than one message",
        || {
            answer_instead(Endpoint::Run, |_, asked| {
                let many = asked.json()["messages"]
                    .as_array()
                    .is_some_and(|it| it.len() > 1);
                many.then(|| refusal(400, "content", "one message at a time"))
            })
        },
    ),
    fault(
        "run-redirected",
        "agent.run.starts",
        "answers a loop with 303",
        || {
            replace(
                |piece| matches!(piece.what, Passing::Head(_)),
                |piece| {
                    vec![
                        Output::Stream(
                            piece.call,
                            Head {
                                status: 303,
                                ..Head::default()
                            },
                        )
                        .into(),
                    ]
                },
            )
        },
    ),
    fault(
        "run-typed-json",
        "agent.run.content-type",
        "says that a loop's events are JSON",
        || tune(|settings| settings.content_type = "application/json"),
    ),
    fault(
        "run-typed-lines",
        "agent.run.content-type",
        "says that a loop's events are lines of JSON",
        || tune(|settings| settings.content_type = "application/x-ndjson"),
    ),
    fault(
        "run-typed-plain",
        "agent.run.content-type",
        "says that a loop's events are plain text",
        || tune(|settings| settings.content_type = "text/plain; for=event-stream"),
    ),
    fault(
        "run-untyped",
        "agent.run.content-type",
        "does not say what a loop's events are",
        || {
            replace(
                |piece| matches!(piece.what, Passing::Head(_)),
                |piece| {
                    let head = Head {
                        content_type: None,
                        ..Head::default()
                    };
                    vec![Output::Stream(piece.call, head).into()]
                },
            )
        },
    ),
    fault(
        "stream-left-open",
        "agent.run.ends",
        "does not end a loop's stream",
        || replace(|piece| piece.what == Passing::End, |_| Vec::new()),
    ),
    fault(
        "second-stream-left-open",
        "agent.run.ends",
        "does not end the stream of the second loop",
        || {
            replace(
                |piece| piece.what == Passing::End && piece.nth == 2,
                |_| Vec::new(),
            )
        },
    ),
    fault(
        "stream-cut",
        "agent.run.ends-cleanly",
        "cuts a loop's stream off where it ends",
        || {
            replace(
                |piece| piece.what == Passing::End,
                |piece| vec![Output::Cut(piece.call).into()],
            )
        },
    ),
    fault(
        "failed-stream-cut",
        "agent.run.ends-cleanly",
        "cuts the stream of a loop that failed off",
        || {
            replace(
                |piece| piece.what == Passing::End && has_failed(piece.before),
                |piece| vec![Output::Cut(piece.call).into()],
            )
        },
    ),
    fault(
        "busy-empty-stream",
        "agent.run.busy-refused",
        "answers a loop asked for while one runs with a stream that ends at once",
        || {
            replace_reply(is_busy, |reply| {
                vec![
                    Output::Stream(reply.call, Head::default()).into(),
                    Output::End(reply.call).into(),
                ]
            })
        },
    ),
    fault(
        "busy-waits",
        "agent.run.busy-refused",
        "lets a loop asked for while one runs wait until that has ended",
        waits_for_its_turn,
    ),
    fault(
        "busy-accepted",
        "agent.run.busy-refused",
        "answers a loop asked for while one runs with 202",
        || replace_reply(is_busy, |reply| vec![reply.with_status(202)]),
    ),
    fault(
        "busy-other-kind",
        "agent.run.busy-kind",
        "refuses a loop asked for while one runs as a conflict",
        || rekind("busy", "conflict"),
    ),
    fault(
        "busy-ends-first",
        "agent.run.busy-harmless",
        "ends a loop where another is asked for",
        || interrupted(Output::End),
    ),
    fault(
        "busy-cuts-first",
        "agent.run.busy-harmless",
        "cuts a loop off where another is asked for",
        || interrupted(Output::Cut),
    ),
    fault(
        "busy-sticks",
        "agent.run.busy-harmless",
        "refuses every loop once it has refused one as busy",
        || Box::<Sticks>::default(),
    ),
    fault(
        "second-run-refused",
        "agent.run.again",
        "runs one loop and no other",
        || {
            answer_instead(Endpoint::Run, |view, _| {
                let again = view.loops > 0 && view.running.is_none();
                again.then(|| refusal(409, "busy", "a loop was run"))
            })
        },
    ),
    fault(
        "third-run-refused",
        "agent.run.again",
        "runs two loops and no other",
        || {
            answer_instead(Endpoint::Run, |view, _| {
                let again = view.loops > 1 && view.running.is_none();
                again.then(|| refusal(409, "busy", "a loop was run"))
            })
        },
    ),
    fault(
        "history-repeated",
        "agent.run.again",
        "repeats the parts of the messages before in every later loop",
        history_repeated,
    ),
    fault(
        "drop-unnoticed",
        "agent.run.after-drop",
        "stays busy when a loop's caller is gone",
        || {
            on_input(|view, input, next| match input {
                Input::Dropped(call) if view.runs(call) => {}
                other => next.push(other.into()),
            })
        },
    ),
    fault(
        "no-messages-taken",
        "agent.run.no-messages-refused",
        "runs a loop on no message",
        || switch_off(Check::AnyMessage),
    ),
    fault(
        "run-empty-content-taken",
        "agent.run.empty-content-refused",
        "runs a loop on a message without content",
        || switch_off(Check::RunContent),
    ),
    fault(
        "run-empty-content-dropped",
        "agent.run.empty-content-refused",
        "passes over messages without content where there are others",
        || {
            lenient_run(|messages| {
                let full = |it: &Value| it["content"] != Value::Array(Vec::new());
                if messages.iter().any(full) {
                    messages.retain(full);
                }
            })
        },
    ),
    fault(
        "run-empty-content-500",
        "agent.run.empty-content-refused",
        "answers a loop on a message without content with 500",
        || {
            replace_reply(
                |reply| {
                    reply.endpoint == Endpoint::Run && reply.kind().as_deref() == Some("content")
                },
                |reply| vec![reply.with_status(500)],
            )
        },
    ),
    fault(
        "run-unknown-block-dropped",
        "agent.run.unknown-block-refused",
        "passes over blocks of a kind that it does not know",
        || {
            lenient_run(|messages| {
                for message in messages {
                    if let Some(content) = message["content"].as_array_mut() {
                        content.retain(is_known);
                    }
                }
            })
        },
    ),
    fault(
        "run-unknown-message-dropped",
        "agent.run.unknown-block-refused",
        "passes over messages with a block of a kind that it does not know where there are others",
        || {
            lenient_run(|messages| {
                let known = |message: &Value| {
                    message["content"]
                        .as_array()
                        .is_none_or(|it| it.iter().all(is_known))
                };
                if messages.iter().any(known) {
                    messages.retain(known);
                }
            })
        },
    ),
    fault(
        "run-unknown-block-500",
        "agent.run.unknown-block-refused",
        "answers a loop with a block of a kind that it does not know with 500",
        || {
            answer_instead(Endpoint::Run, |_, asked| {
                let messages = asked.json();
                let messages = messages["messages"].as_array().cloned().unwrap_or_default();
                let blocks = messages.iter().filter_map(|it| it["content"].as_array());
                let unknown = blocks.flatten().any(|block| !is_known(block));
                unknown.then(|| refusal(500, "content", "no such block"))
            })
        },
    ),
];

/// Whether MCP has a block of that kind.
pub(super) fn is_known(block: &Value) -> bool {
    matches!(
        block["type"].as_str(),
        Some("text" | "image" | "audio" | "resource" | "resource_link")
    )
}

fn is_busy(reply: &Reply<'_>) -> bool {
    reply.endpoint == Endpoint::Run && reply.kind().as_deref() == Some("busy")
}

fn has_failed(chunks: &[Bytes]) -> bool {
    let last: Value = chunks
        .last()
        .and_then(|it| serde_json::from_slice(it).ok())
        .unwrap_or_default();
    last["is_fatal"] == true
}

fn rekind(from: &'static str, to: &'static str) -> Interceptor {
    replace_reply(
        move |reply| reply.kind().as_deref() == Some(from),
        move |reply| {
            let body = edited(&reply.answer.body, |it| {
                it.insert("kind".into(), to.into());
            });
            vec![reply.with_body(body)]
        },
    )
}

/// Changes the messages that a loop is asked for on.
fn lenient_run(change: fn(&mut Vec<Value>)) -> Interceptor {
    on_call(Endpoint::Run, move |_, call, mut asked, next| {
        asked.body = edited(&asked.body, |body| {
            if let Some(messages) = body.get_mut("messages").and_then(Value::as_array_mut) {
                change(messages);
            }
        })
        .into();
        next.push(Input::Called(call, asked).into());
    })
}

/// Refuses every loop once one was refused as busy.
#[derive(Default)]
struct Sticks(bool);

impl Intercept<Role> for Sticks {
    fn input(&mut self, _: &View, input: Input, next: &mut Vec<Step>) {
        match input {
            Input::Called(call, asked) if self.0 && asked.endpoint() == Some(Endpoint::Run) => {
                let refused = refusal(409, "busy", "a loop is running");
                next.push(Output::Answer(call, refused).into());
            }
            other => next.push(other.into()),
        }
    }

    fn output(&mut self, view: &View, output: Output, next: &mut Vec<Step>) {
        if let Output::Answer(call, answer) = &output {
            let run = view.endpoint(*call) == Some(Endpoint::Run);
            self.0 |= run && answer.status == 409 && view.running.is_some();
        }
        next.push(output.into());
    }
}

/// Ends the loop that runs, in some way, where another is asked for.
fn interrupted(end: fn(CallId) -> Output) -> Interceptor {
    on_call(Endpoint::Run, move |view, call, asked, next| {
        let refused = refusal(409, "busy", "a loop is running");
        match &view.running {
            Some(running) => next.extend([
                Output::Answer(call, refused).into(),
                end(running.call).into(),
                Step::Hear(Input::Dropped(running.call)),
            ]),
            None => next.push(Input::Called(call, asked).into()),
        }
    })
}

/// Holds calls for a loop back while one runs.
fn waits_for_its_turn() -> Interceptor {
    struct Waits(Vec<Input>);
    impl Intercept<Role> for Waits {
        fn input(&mut self, view: &View, input: Input, next: &mut Vec<Step>) {
            match &input {
                Input::Called(_, asked)
                    if asked.endpoint() == Some(Endpoint::Run) && view.running.is_some() =>
                {
                    self.0.push(input);
                }
                Input::Woken if view.running.is_none() && !self.0.is_empty() => {
                    next.push(self.0.remove(0).into());
                }
                _ => next.push(input.into()),
            }
        }

        fn output(&mut self, _: &View, output: Output, next: &mut Vec<Step>) {
            let ended = matches!(output, Output::End(_));
            next.push(output.into());
            if ended {
                next.push(Output::Wake.into());
            }
        }
    }
    Box::new(Waits(Vec::new()))
}

fn history_repeated() -> Interceptor {
    let mut history: Vec<Bytes> = Vec::new();
    on_piece(move |piece, next| {
        next.push(piece.pass());
        match &piece.what {
            Passing::Head(_) => next.extend(history.iter().map(|chunk| piece.chunk(chunk.clone()))),
            Passing::Chunk(chunk) if piece.is_user_part() => history.push(chunk.clone()),
            _ => {}
        }
    })
}
