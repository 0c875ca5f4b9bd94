//! Faults of the fates of messages.

use std::collections::HashSet;

use bytes::Bytes;
use diverge_protocol::wire::FrameType;
use diverge_protocol::wire::profile::BeginChannel::Enqueue;
use serde_json::{Value, json};

use crate::answers::{self, Fate, is_success};
use crate::fault::{
    Fault, Intercept, Interceptor, Role, change_body, change_word, double, extra_call, fault, lose,
    on_call, on_output, on_word, rewrite,
};
use crate::policy::{Endpoint, Input, Output, Word};
use crate::view::{Flow, Part, View};

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "enqueue-answered-twice",
        "proxy.enqueue.one-answer",
        "answers every enqueue twice",
        || double(Flow::ToHost, |message| message.answers(Enqueue)),
    ),
    fault(
        "enqueue-unfinished",
        "proxy.enqueue.one-answer",
        "does not finish enqueues",
        || lose(Flow::ToHost, |message| message.finishes(Enqueue)),
    ),
    fault(
        "enqueue-finished-twice",
        "proxy.enqueue.one-answer",
        "finishes every enqueue twice",
        || double(Flow::ToHost, |message| message.finishes(Enqueue)),
    ),
    fault(
        "offered-under-other-key",
        "proxy.enqueue.offered",
        "offers messages under a key of its own",
        || {
            change_body(Endpoint::Enqueue, |_, body| {
                let mut body: Value = serde_json::from_slice(body).ok()?;
                body["key"] = json!("k");
                serde_json::to_vec(&body).ok()
            })
        },
    ),
    fault(
        "offered-in-a-list",
        "proxy.enqueue.offered",
        "offers a message in a list, as a run has it",
        || {
            change_body(Endpoint::Enqueue, |_, body| {
                let body: Value = serde_json::from_slice(body).ok()?;
                serde_json::to_vec(&json!({"messages": [body]})).ok()
            })
        },
    ),
    fault(
        "offered-cut",
        "proxy.enqueue.offered",
        "offers only the first block of a message",
        || {
            change_body(Endpoint::Enqueue, |_, body| {
                let mut body: Value = serde_json::from_slice(body).ok()?;
                body["content"].as_array_mut()?.truncate(1);
                serde_json::to_vec(&body).ok()
            })
        },
    ),
    fault(
        "never-offered",
        "proxy.enqueue.offered",
        "keeps messages that come during a loop for the next one",
        || {
            on_call(Endpoint::Enqueue, |_, id, _, next| {
                next.push(Input::Agent(id, missed()).into());
            })
        },
    ),
    fault(
        "answered-when-offered",
        "proxy.enqueue.answered-when-known",
        "tells that a message is delivered as soon as it is offered",
        || {
            let mut answered = HashSet::new();
            on_output(move |view, output, next| {
                if let Output::Call(_, call) = &output
                    && call.endpoint == Endpoint::Enqueue
                    && let Some(scope) = view.begun()
                {
                    let body: Value = serde_json::from_slice(&call.body).unwrap_or_default();
                    let same = |ask: &Bytes| {
                        ask.get(1..).is_some_and(|ask| {
                            serde_json::from_slice::<Value>(ask).is_ok_and(|ask| ask == body)
                        })
                    };
                    let mut open = scope.open(Enqueue);
                    let channel = open.find(|it| {
                        !answered.contains(it) && scope.channels.get(it).is_some_and(same)
                    });
                    if let Some(channel) = channel {
                        answered.insert(channel);
                        let (answer, finish) =
                            (FrameType::ChannelResponse, FrameType::ChannelResponseFinish);
                        next.extend(super::tell(view, |host| {
                            vec![
                                super::frame(host, answer, scope.number, channel, b"\0".to_vec()),
                                super::frame(host, finish, scope.number, channel, Vec::new()),
                            ]
                        }));
                    }
                }
                if let Some(message) = view.read_output(&output)
                    && answered.contains(&message.frame.channel)
                    && (message.answers(Enqueue) || message.finishes(Enqueue))
                {
                    if message.part == Part::AnswerFinish {
                        answered.remove(&message.frame.channel);
                    }
                    return;
                }
                next.push(output.into());
            })
        },
    ),
    fault(
        "delivered-unanswered",
        "proxy.enqueue.delivered",
        "does not answer a message that a loop took",
        || {
            on_word(Endpoint::Enqueue, |heard, next| {
                if fate(&heard.word) != Some(Fate::Delivered) {
                    next.push(heard.pass());
                }
            })
        },
    ),
    fault(
        "delivered-as-dequeued",
        "proxy.enqueue.delivered",
        "tells that a message which a loop took was dequeued",
        || {
            change_word(Endpoint::Enqueue, |heard| {
                (fate(&heard.word) == Some(Fate::Delivered)).then(|| answered("dequeued"))
            })
        },
    ),
    fault(
        "dequeued-as-delivered",
        "proxy.enqueue.dequeued",
        "tells that a message which the agent server gave back was delivered",
        || {
            change_word(Endpoint::Enqueue, |heard| {
                (fate(&heard.word) == Some(Fate::Dequeued)).then(|| answered("delivered"))
            })
        },
    ),
    fault(
        "dequeued-as-missed",
        "proxy.enqueue.dequeued",
        "keeps a message that was dequeued for the next loop",
        || {
            change_word(Endpoint::Enqueue, |heard| {
                (fate(&heard.word) == Some(Fate::Dequeued)).then(missed)
            })
        },
    ),
    fault(
        "delivery-refusal-replaced",
        "proxy.enqueue.refused",
        "tells words of its own when a message is refused",
        || {
            rewrite(
                Flow::ToHost,
                |message| {
                    let inside = message.scope.is_some_and(|scope| scope.in_loop);
                    message.answers(Enqueue) && inside && message.frame.payload[0] == 2
                },
                |_| "\x02{\"kind\":\"refused\"}".into(),
            )
        },
    ),
    fault(
        "delivery-refusal-as-dequeued",
        "proxy.enqueue.refused",
        "tells that a message which is refused was dequeued",
        || {
            change_word(Endpoint::Enqueue, |heard| {
                is_refused(&heard.word).then(|| answered("dequeued"))
            })
        },
    ),
    fault(
        "delivery-refusal-as-missed",
        "proxy.enqueue.refused",
        "keeps a message that is refused for the next loop",
        || {
            change_word(Endpoint::Enqueue, |heard| {
                is_refused(&heard.word).then(missed)
            })
        },
    ),
    fault(
        "refused-offered-again",
        "proxy.enqueue.refused-for-good",
        "offers a message again that was refused",
        || {
            on_word(Endpoint::Enqueue, |heard, next| {
                if is_refused(&heard.word) {
                    let body = heard.call.call.body.clone();
                    next.push(extra_call(heard.view, Endpoint::Enqueue, body));
                }
                next.push(heard.pass());
            })
        },
    ),
    fault(
        "refused-in-next-run",
        "proxy.enqueue.refused-for-good",
        "puts a message that a loop refused into the next run",
        || {
            let mut refused: Vec<Value> = Vec::new();
            on_input_and_run(move |view, event| match event {
                Event::Input(Input::Agent(id, word)) if is_refused(word) => {
                    let call = view.call(*id)?;
                    let body = serde_json::from_slice(&call.call.body).ok()?;
                    if call.call.endpoint == Endpoint::Enqueue {
                        refused.push(body);
                    }
                    None
                }
                Event::Input(_) => None,
                Event::Run(body) => {
                    let mut body: Value = serde_json::from_slice(body).ok()?;
                    body["messages"].as_array_mut()?.append(&mut refused);
                    serde_json::to_vec(&body).ok()
                }
            })
        },
    ),
    fault(
        "refused-halts",
        "proxy.enqueue.refused-alone",
        "offers nothing more to a loop that refused a message",
        || {
            on_call(Endpoint::Enqueue, |view, id, call, next| {
                let run = view.calls_of(Endpoint::Run).last().map(|(id, _)| id);
                let mut offers = view.calls_of(Endpoint::Enqueue);
                let refused = |status: u16| (400..500).contains(&status);
                if offers.any(|(id, it)| Some(id) > run && it.status.is_some_and(refused)) {
                    next.push(Input::Agent(id, missed()).into());
                } else {
                    next.push(Output::Call(id, call).into());
                }
            })
        },
    ),
    fault(
        "missed-as-error",
        "proxy.enqueue.missed",
        "tells an error when a loop missed a message",
        || {
            change_word(Endpoint::Enqueue, |heard| {
                (fate(&heard.word) == Some(Fate::Missed)).then(|| refusal("{\"kind\":\"missed\"}"))
            })
        },
    ),
    fault(
        "missed-as-dequeued",
        "proxy.enqueue.missed",
        "tells that a message which a loop missed was dequeued",
        || {
            change_word(Endpoint::Enqueue, |heard| {
                (fate(&heard.word) == Some(Fate::Missed)).then(|| answered("dequeued"))
            })
        },
    ),
    fault(
        "missed-lost",
        "proxy.enqueue.missed",
        "forgets a message that a loop missed",
        || {
            on_word(Endpoint::Enqueue, |heard, next| {
                if fate(&heard.word) != Some(Fate::Missed) {
                    next.push(heard.pass());
                }
            })
        },
    ),
    fault(
        "failure-as-error",
        "proxy.enqueue.failed",
        "tells an error when the delivery of a message failed",
        || {
            change_word(Endpoint::Enqueue, |heard| match &heard.word {
                Word::Answered { status, body } if *status >= 500 => Some(Word::Answered {
                    status: 400,
                    body: body.clone(),
                }),
                _ => None,
            })
        },
    ),
    fault(
        "failure-as-delivered",
        "proxy.enqueue.failed",
        "tells that a message whose delivery failed was delivered",
        || {
            change_word(Endpoint::Enqueue, |heard| match &heard.word {
                Word::Answered { status, .. } if *status >= 500 => Some(answered("delivered")),
                _ => None,
            })
        },
    ),
    fault(
        "unreadable-fate-as-delivered",
        "proxy.enqueue.unreadable-fate",
        "takes every success for a delivery",
        || {
            change_word(Endpoint::Enqueue, |heard| {
                let (status, body) = heard.answer()?;
                (is_success(status) && answers::fate(body).is_none()).then(|| answered("delivered"))
            })
        },
    ),
    fault(
        "unreadable-fate-as-error",
        "proxy.enqueue.unreadable-fate",
        "tells an error when the fate of a message cannot be read",
        || {
            change_word(Endpoint::Enqueue, |heard| {
                let (status, body) = heard.answer()?;
                (is_success(status) && answers::fate(body).is_none())
                    .then(|| refusal("{\"kind\":\"agent\"}"))
            })
        },
    ),
    fault(
        "cut-delivery-as-error",
        "proxy.enqueue.unreadable-fate",
        "tells an error when the delivery of a message breaks off",
        || {
            change_word(Endpoint::Enqueue, |heard| {
                matches!(heard.word, Word::Failed(_)).then(|| refusal("{\"kind\":\"agent\"}"))
            })
        },
    ),
    fault(
        "cut-delivery-repeated",
        "proxy.enqueue.unreadable-fate",
        "offers a message again whose delivery broke off",
        || {
            on_word(Endpoint::Enqueue, |heard, next| {
                if matches!(heard.word, Word::Failed(_)) {
                    let body = heard.call.call.body.clone();
                    next.push(extra_call(heard.view, Endpoint::Enqueue, body));
                }
                next.push(heard.pass());
            })
        },
    ),
    fault(
        "offer-as-text",
        "proxy.call.content-type",
        "says that the body of an offer is text",
        || super::as_text(Endpoint::Enqueue),
    ),
];

fn answered(kind: &str) -> Word {
    Word::Answered {
        status: 200,
        body: format!("{{\"type\":\"{kind}\"}}").into(),
    }
}

fn missed() -> Word {
    answered("missed")
}

pub(super) fn refusal(body: &'static str) -> Word {
    Word::Answered {
        status: 400,
        body: body.into(),
    }
}

fn fate(word: &Word) -> Option<Fate> {
    match word {
        Word::Answered { status, body } if is_success(*status) => answers::fate(body),
        _ => None,
    }
}

fn is_refused(word: &Word) -> bool {
    matches!(word, Word::Answered { status, .. } if (400..500).contains(status))
}

/// What is shown to a change of runs.
enum Event<'a> {
    /// Something happens.
    Input(&'a Input),
    /// A run is made with this body; another body may take its place.
    Run(&'a [u8]),
}

/// Is shown every input and the body of every run, and may change the latter.
fn on_input_and_run(
    f: impl FnMut(&View, Event<'_>) -> Option<Vec<u8>> + Send + 'static,
) -> Interceptor {
    struct Both<F>(F);
    impl<F: FnMut(&View, Event<'_>) -> Option<Vec<u8>> + Send> Intercept<Role> for Both<F> {
        fn input(&mut self, view: &View, input: Input, next: &mut Vec<crate::fault::Step>) {
            (self.0)(view, Event::Input(&input));
            next.push(input.into());
        }

        fn output(&mut self, view: &View, output: Output, next: &mut Vec<crate::fault::Step>) {
            next.push(match output {
                Output::Call(id, mut call) if call.endpoint == Endpoint::Run => {
                    if let Some(body) = (self.0)(view, Event::Run(&call.body)) {
                        call.body = body.into();
                    }
                    Output::Call(id, call).into()
                }
                other => other.into(),
            });
        }
    }
    Box::new(Both(f))
}
