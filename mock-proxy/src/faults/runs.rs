//! Faults of runs: what is put into them, and what is told of those that do not start.

use std::collections::HashSet;

use diverge_protocol::wire::begin::BeginKind;
use diverge_protocol::wire::profile::BeginChannel::Enqueue;
use diverge_protocol::wire::{FrameType, Profile};
use serde_json::{Value, json};

use crate::answers::is_success;
use crate::fault::{
    Fault, Intercept, Interceptor, Role, Step, change_body, extra_call, fault, lose, on, on_call,
    on_output, on_word, rewrite,
};
use crate::policy::{Endpoint, Input, Output, Word};
use crate::view::{Flow, Message, Part, View};

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "key-replaced",
        "proxy.run.message",
        "puts a key of its own on the messages of a run",
        || messages(|message| message["key"] = json!("k")),
    ),
    fault(
        "key-in-lower-case",
        "proxy.run.message",
        "puts keys into runs in lower case",
        || {
            messages(|message| {
                let key = message["key"].as_str().unwrap_or_default().to_lowercase();
                message["key"] = key.into();
            })
        },
    ),
    fault(
        "content-cut",
        "proxy.run.message",
        "puts only the first block of each message into a run",
        || {
            messages(|message| {
                if let Some(content) = message["content"].as_array_mut() {
                    content.truncate(1);
                }
            })
        },
    ),
    fault(
        "content-stripped",
        "proxy.run.message",
        "leaves members out of blocks that it does not know",
        || {
            messages(|message| {
                for block in message["content"].as_array_mut().into_iter().flatten() {
                    if let Some(block) = block.as_object_mut() {
                        block.retain(|name, _| name != "_meta" && name != "annotations");
                    }
                }
            })
        },
    ),
    fault(
        "content-joined",
        "proxy.run.message",
        "joins the texts of a message in one block",
        || {
            messages(|message| {
                let texts = message["content"].as_array().into_iter().flatten();
                let texts: Vec<&str> = texts.filter_map(|block| block["text"].as_str()).collect();
                if texts.len() > 1 {
                    message["content"] = json!([{"type": "text", "text": texts.join("\n")}]);
                }
            })
        },
    ),
    fault(
        "message-as-prompt",
        "proxy.run.message",
        "puts the text of a message into a run as a prompt",
        || {
            change_body(Endpoint::Run, |_, body| {
                let body: Value = serde_json::from_slice(body).ok()?;
                let prompt = &body["messages"][0]["content"][0]["text"];
                serde_json::to_vec(&json!({"prompt": prompt})).ok()
            })
        },
    ),
    fault(
        "offered-besides",
        "proxy.run.not-offered-too",
        "offers the messages of a run besides",
        || {
            on_call(Endpoint::Run, |view, id, call, next| {
                let body: Value = serde_json::from_slice(&call.body).unwrap_or_default();
                next.push(Output::Call(id, call).into());
                let offered = body["messages"][0].to_string();
                next.push(extra_call(view, Endpoint::Enqueue, offered));
            })
        },
    ),
    fault(
        "run-refusal-replaced",
        "proxy.run.refused",
        "tells words of its own when a run is refused",
        || rewrite(Flow::ToHost, fails, |_| "\x02{\"kind\":\"refused\"}".into()),
    ),
    fault(
        "run-refusal-text-raw",
        "proxy.run.refused-no-json",
        "tells the text of a run's refusal as it is, though it is no JSON",
        || super::words_raw(fails),
    ),
    fault(
        "run-refusal-text-unanswered",
        "proxy.run.refused-no-json",
        "does not tell of a run's refusal that is no JSON",
        || super::words_unanswered(Endpoint::Run),
    ),
    fault(
        "run-as-text",
        "proxy.call.content-type",
        "says that the body of a run is text",
        || super::as_text(Endpoint::Run),
    ),
    fault(
        "run-refusal-as-delivered",
        "proxy.run.refused",
        "tells that the messages of a run that is refused are delivered",
        || rewrite(Flow::ToHost, fails, |_| "\0".into()),
    ),
    fault(
        "run-refusal-told-to-first",
        "proxy.run.refused",
        "tells only the first message of a run that it is refused",
        || {
            let mut told = 0;
            on_output(move |view, output, next| {
                if matches!(&output, Output::Call(_, call) if call.endpoint == Endpoint::Run) {
                    told = 0;
                }
                if view.read_output(&output).is_some_and(|it| fails(&it)) {
                    told += 1;
                    if told > 1 {
                        return;
                    }
                }
                next.push(output.into());
            })
        },
    ),
    fault(
        "refused-run-marked",
        "proxy.run.refused-no-loop",
        "tells an empty loop when a run is refused",
        || {
            on_word(Endpoint::Run, |heard, next| {
                let refused = heard.answer().is_some();
                if let (true, Some(scope)) = (refused, heard.view.begun()) {
                    next.extend(super::tell(heard.view, |host| {
                        let respond = |kind: BeginKind, body: &[u8]| {
                            let payload = Profile::scope().begin_responses.payload(kind, body);
                            super::frame(host, FrameType::Response, scope.number, 0, payload)
                        };
                        vec![
                            respond(BeginKind::Active, b""),
                            respond(BeginKind::Inactive, b"{}"),
                        ]
                    }));
                }
                next.push(heard.pass());
            })
        },
    ),
    fault(
        "refused-run-chunked",
        "proxy.run.refused-no-loop",
        "tells the words of a refusal as a chunk",
        || {
            on_word(Endpoint::Run, |heard, next| {
                if let (Some((_, body)), Some(scope)) = (heard.answer(), heard.view.begun()) {
                    let payload = [b"\x02", &body[..]].concat();
                    next.extend(super::tell(heard.view, |host| {
                        vec![super::frame(
                            host,
                            FrameType::Response,
                            scope.number,
                            0,
                            payload,
                        )]
                    }));
                }
                next.push(heard.pass());
            })
        },
    ),
    fault(
        "refused-run-retried",
        "proxy.run.not-retried",
        "tries a run again that was refused",
        || {
            on_word(Endpoint::Run, |heard, next| {
                if heard
                    .answer()
                    .is_some_and(|(status, _)| !is_success(status))
                {
                    let body = heard.call.call.body.clone();
                    next.push(extra_call(heard.view, Endpoint::Run, body));
                }
                next.push(heard.pass());
            })
        },
    ),
    fault(
        "refused-messages-remembered",
        "proxy.run.not-retried",
        "puts the messages of a run that was refused into the next one as well",
        || {
            let mut remembered: Vec<Value> = Vec::new();
            change_body(Endpoint::Run, move |view, body| {
                let mut body: Value = serde_json::from_slice(body).ok()?;
                let last = view.calls_of(Endpoint::Run).last();
                if let Some((_, last)) = last
                    && !last.streams
                {
                    let last: Value = serde_json::from_slice(&last.call.body).ok()?;
                    remembered = last["messages"].as_array()?.clone();
                } else {
                    remembered.clear();
                }
                let messages = body["messages"].as_array_mut()?;
                messages.splice(0..0, remembered.clone());
                serde_json::to_vec(&body).ok()
            })
        },
    ),
    fault(
        "cut-run-retried",
        "proxy.run.not-retried",
        "tries a run again that was cut off before it was answered",
        || {
            on_word(Endpoint::Run, |heard, next| {
                if matches!(heard.word, Word::Failed(_)) {
                    let body = heard.call.call.body.clone();
                    next.push(extra_call(heard.view, Endpoint::Run, body));
                }
                next.push(heard.pass());
            })
        },
    ),
    fault(
        "unreachable-run-unanswered",
        "proxy.run.unreachable",
        "does not answer the messages of a run that no agent server answers",
        || {
            on_word(Endpoint::Run, |heard, next| {
                if !matches!(heard.word, Word::Failed(_)) {
                    next.push(heard.pass());
                }
            })
        },
    ),
    fault(
        "unreachable-run-as-dequeued",
        "proxy.run.unreachable",
        "tells that the messages of a run that no agent server answers are dequeued",
        || {
            rewrite(
                Flow::ToHost,
                |message| fails(message) && message.body().starts_with(b"{\"error\""),
                |_| "\x01".into(),
            )
        },
    ),
    fault(
        "unreachable-run-closes",
        "proxy.run.unreachable",
        "closes when no agent server answers a run",
        || {
            on_word(Endpoint::Run, |heard, next| {
                if matches!(heard.word, Word::Failed(_)) {
                    next.extend(super::tell(heard.view, |host| {
                        vec![Output::Close(host).into()]
                    }));
                } else {
                    next.push(heard.pass());
                }
            })
        },
    ),
    fault(
        "stuck-after-unreachable",
        "proxy.run.after-failure",
        "starts no run any more after one that no agent server answered",
        || stuck(|word| matches!(word, Word::Failed(_))),
    ),
    fault(
        "stuck-after-refusal",
        "proxy.run.after-failure",
        "starts no run any more after one that was refused",
        || stuck(|word| matches!(word, Word::Answered { .. })),
    ),
    fault(
        "run-beside-loop",
        "proxy.run.one-at-a-time",
        "starts a run of its own with a message that it offers to a loop",
        || {
            on_call(Endpoint::Enqueue, |view, id, call, next| {
                let message = String::from_utf8_lossy(&call.body).into_owned();
                let body = format!("{{\"messages\":[{message}]}}");
                next.push(Output::Call(id, call).into());
                next.push(extra_call(view, Endpoint::Run, body));
            })
        },
    ),
    fault(
        "run-beside-start",
        "proxy.run.one-at-a-time",
        "starts a second run for a message that comes while one is being started",
        || {
            on(Flow::FromHost, |message, next| {
                if message.opens(Enqueue) && super::is_starting(message.view) {
                    let asked = String::from_utf8_lossy(message.body());
                    let body = format!("{{\"messages\":[{asked}]}}");
                    next.push(extra_call(message.view, Endpoint::Run, body));
                }
                next.push(message.pass());
            })
        },
    ),
    fault(
        "start-unanswered",
        "proxy.enqueue.delivered-at-start",
        "does not answer the messages of a run that starts",
        || {
            let mut lost = HashSet::new();
            on(Flow::ToHost, move |message, next| {
                let outside = message.scope.is_some_and(|scope| !scope.in_loop);
                if message.answers(Enqueue) && outside && message.frame.payload[..] == [0] {
                    lost.insert(message.frame.channel);
                } else if !(message.finishes(Enqueue) && lost.remove(&message.frame.channel)) {
                    next.push(message.pass());
                }
            })
        },
    ),
    fault(
        "start-as-dequeued",
        "proxy.enqueue.delivered-at-start",
        "tells that the messages of a run that starts are dequeued",
        || {
            rewrite(
                Flow::ToHost,
                |message| {
                    let outside = message.scope.is_some_and(|scope| !scope.in_loop);
                    message.answers(Enqueue) && outside && message.frame.payload[..] == [0]
                },
                |_| "\x01".into(),
            )
        },
    ),
    fault(
        "start-answered-at-end",
        "proxy.enqueue.delivered-at-start",
        "answers the messages of a run only when its loop ends",
        || {
            let mut held = Vec::new();
            on(Flow::ToHost, move |message, next| {
                let outside = message.scope.is_some_and(|scope| !scope.in_loop);
                let starting = super::is_streaming(message.view) && outside;
                if (message.answers(Enqueue) || message.finishes(Enqueue)) && starting {
                    return held.push(message.pass());
                }
                next.push(message.pass());
                if message.part == Part::Inactive {
                    next.append(&mut held);
                }
            })
        },
    ),
    fault(
        "start-given-up",
        "proxy.connection.no-timeout",
        "tells an error when a run is not answered after five hundred turns",
        || super::give_up(Endpoint::Run),
    ),
    fault(
        "start-told-to-first",
        "proxy.enqueue.delivered-at-start",
        "answers only the first message of a run that starts",
        || {
            let mut told = None;
            lose(Flow::ToHost, move |message| {
                let outside = message.scope.is_some_and(|scope| !scope.in_loop);
                let settles = message.answers(Enqueue) || message.finishes(Enqueue);
                if !(settles && outside && super::is_streaming(message.view)) {
                    told = None;
                    return false;
                }
                *told.get_or_insert(message.frame.channel) != message.frame.channel
            })
        },
    ),
];

/// Whether it answers an enqueue of a run that does not start.
fn fails(message: &Message<'_>) -> bool {
    let outside = message.scope.is_some_and(|scope| !scope.in_loop);
    message.answers(Enqueue) && outside && message.frame.payload.first() == Some(&2)
}

/// Changes the messages that are put into runs.
fn messages(change: fn(&mut Value)) -> Interceptor {
    change_body(Endpoint::Run, move |_, body| {
        let mut body: Value = serde_json::from_slice(body).ok()?;
        body["messages"].as_array_mut()?.iter_mut().for_each(change);
        serde_json::to_vec(&body).ok()
    })
}

/// Starts no run any more after one that was answered so; the messages wait without end.
fn stuck(after: fn(&Word) -> bool) -> Interceptor {
    struct Stuck {
        after: fn(&Word) -> bool,
        stuck: bool,
    }
    impl Intercept<Role> for Stuck {
        fn input(&mut self, view: &View, input: Input, next: &mut Vec<Step>) {
            if let Input::Agent(id, word) = &input {
                self.stuck |= view.endpoint(*id) == Some(Endpoint::Run) && (self.after)(word);
            }
            next.push(input.into());
        }

        fn output(&mut self, _: &View, output: Output, next: &mut Vec<Step>) {
            let run = matches!(&output, Output::Call(_, call) if call.endpoint == Endpoint::Run);
            if !(run && self.stuck) {
                next.push(output.into());
            }
        }
    }
    Box::new(Stuck {
        after,
        stuck: false,
    })
}
