//! Faults of messages that join.

use bytes::Bytes;
use diverge_protocol::wire::agent_server::{Endpoint, Fate};
use serde_json::{Value, json};

use crate::call::{Answer, Asked};
use crate::fault::{
    Fault, Intercept, Interceptor, Role, Step, after, answer_instead, before, fault, lose, on_call,
    on_piece, replace_reply, switch_off,
};
use crate::policy::{Input, Output, refusal};
use crate::settings::{Check, MESSAGES};
use crate::view::{Passing, Reply, View, kind_of};

use super::dequeue::Taken;
use super::loops::is_known;
use super::{edit, edited};

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "idle-enqueue-delivered",
        "agent.enqueue.missed-when-idle",
        "says that a message was delivered while no loop runs",
        || idle(|_| Some(fate(Fate::Delivered))),
    ),
    fault(
        "idle-enqueue-refused",
        "agent.enqueue.missed-when-idle",
        "refuses a message while no loop runs",
        || idle(|_| Some(refusal(409, "idle", "no loop is running"))),
    ),
    fault(
        "idle-enqueue-held",
        "agent.enqueue.missed-when-idle",
        "does not answer a message while no loop runs",
        || idle(|_| None),
    ),
    fault(
        "fate-a-string",
        "agent.enqueue.fate-form",
        "tells a fate as a JSON string",
        || fated(|fate| Answer::json(200, format!("\"{fate}\""))),
    ),
    fault(
        "fate-under-status",
        "agent.enqueue.fate-form",
        "tells a fate under status",
        || fated(|fate| Answer::json(200, format!("{{\"status\":\"{fate}\"}}"))),
    ),
    fault(
        "fate-in-capitals",
        "agent.enqueue.fate-form",
        "tells a fate with a capital letter",
        || {
            fated(|fate| {
                let (first, rest) = fate.name().split_at(1);
                let name = first.to_uppercase() + rest;
                Answer::json(200, format!("{{\"type\":\"{name}\"}}"))
            })
        },
    ),
    fault(
        "delivered-without-content",
        "agent.enqueue.fate-form",
        "answers a message that is delivered with 204",
        || {
            fated(|it| match it {
                Fate::Delivered => Answer::empty(204),
                other => fate(other),
            })
        },
    ),
    fault(
        "missed-a-failure",
        "agent.enqueue.fate-form",
        "answers a message that is missed with 503",
        || {
            fated(|it| match it {
                Fate::Missed => refusal(503, "missed", "the loop is over"),
                other => fate(other),
            })
        },
    ),
    fault(
        "waiting-told-missed",
        "agent.enqueue.held",
        "says that a message was missed while it could still wait",
        || while_held(|| fate(Fate::Missed)),
    ),
    fault(
        "waiting-told-delivered",
        "agent.enqueue.held",
        "says that a message was delivered when it begins to wait",
        || while_held(|| fate(Fate::Delivered)),
    ),
    fault(
        "waiting-told-queued",
        "agent.enqueue.held",
        "says that a message is queued when it begins to wait",
        || while_held(|| Answer::json(202, "{\"type\":\"queued\"}")),
    ),
    fault(
        "joined-parts-missing",
        "agent.enqueue.delivered-parts",
        "sends no part of a message that joined",
        || lose(|piece| piece.is_joined_part() && !piece.view.is_path()),
    ),
    fault(
        "joined-parts-twice",
        "agent.enqueue.delivered-parts",
        "sends the parts of a message that joined twice",
        || {
            after(
                |piece| piece.is_joined_part() && !piece.view.is_path(),
                |piece| vec![piece.pass()],
            )
        },
    ),
    fault(
        "taken-told-missed",
        "agent.enqueue.delivered-parts",
        "says that a message was missed whose parts it sent",
        || {
            fated(|it| match it {
                Fate::Delivered => fate(Fate::Missed),
                other => fate(other),
            })
        },
    ),
    fault(
        "taken-told-dequeued",
        "agent.enqueue.delivered-parts",
        "says that a message was dequeued whose parts it sent",
        || {
            fated(|it| match it {
                Fate::Delivered => fate(Fate::Dequeued),
                other => fate(other),
            })
        },
    ),
    fault(
        "joined-parts-apart",
        "agent.enqueue.parts-together",
        "says something between the parts of a message that joined",
        || {
            before(
                |piece| {
                    let behind = piece.before.last().is_some_and(|it| is_user(it));
                    piece.is_joined_part() && behind && piece.parts_before() > piece.started_on()
                },
                |piece| vec![piece.chunk("{\"type\":\"assistant_text_content\",\"text\":\"And\"}")],
            )
        },
    ),
    fault(
        "joined-key-lost",
        "agent.enqueue.parts-together",
        "gives the parts of a message that joined an empty key",
        || {
            edit(
                |piece| piece.is_joined_part() && !piece.view.is_path(),
                |part| drop(part.insert("key".into(), "".into())),
            )
        },
    ),
    fault(
        "joined-meta-dropped",
        "agent.enqueue.parts-together",
        "leaves the metadata of a message that joined out",
        || {
            edit(
                |piece| piece.is_joined_part(),
                |part| drop(part.remove("_meta")),
            )
        },
    ),
    fault(
        "joined-data-replaced",
        "agent.enqueue.parts-together",
        "sends a placeholder for the data of a message that joined",
        || {
            edit(
                |piece| piece.is_joined_part() && piece.json().get("data").is_some(),
                |part| drop(part.insert("data".into(), "".into())),
            )
        },
    ),
    fault(
        "joined-links-left-out",
        "agent.enqueue.parts-together",
        "sends no part for the links in a message that joined",
        || lose(|piece| piece.is_joined_part() && piece.is("user_resource_link")),
    ),
    fault(
        "joined-last-block-only",
        "agent.enqueue.parts-together",
        "sends no part of a message that joined but the last",
        || {
            let mut held: Option<Bytes> = None;
            on_piece(move |piece, next| {
                match &piece.what {
                    Passing::Chunk(part) if piece.is_joined_part() => {
                        held = Some(part.clone());
                        return;
                    }
                    _ => next.extend(held.take().map(|part| piece.chunk(part))),
                }
                next.push(piece.pass());
            })
        },
    ),
    fault(
        "system-part",
        "agent.enqueue.parts-of-messages",
        "sends a part of a message that nobody sent",
        || {
            before(
                |piece| piece.is("usage"),
                |piece| {
                    let part = if piece.view.is_path() {
                        json!({"type": "user", "prompt": "Be brief."})
                    } else {
                        json!({"type": "user_text_content", "key": "system", "text": "Be brief."})
                    };
                    vec![piece.chunk(part.to_string())]
                },
            )
        },
    ),
    fault(
        "tool-result-as-user-part",
        "agent.enqueue.parts-of-messages",
        "sends a tool's result as a part of a message too",
        || {
            after(
                |piece| piece.is("tool_response"),
                |piece| {
                    let part = if piece.view.is_path() {
                        json!({"type": "user", "prompt": "Grey."})
                    } else {
                        json!({"type": "user_text_content", "key": "", "text": "Grey."})
                    };
                    vec![piece.chunk(part.to_string())]
                },
            )
        },
    ),
    fault(
        "missed-taken-later",
        "agent.enqueue.delivered-parts",
        "sends the parts of a message that was missed in the next loop",
        || Taken::new(Fate::Missed, true),
    ),
    fault(
        "waiting-left-hanging",
        "agent.enqueue.missed-at-end",
        "does not answer what still waits when a loop ends",
        || replace_reply(is_late, |_| Vec::new()),
    ),
    fault(
        "waiting-delivered-at-end",
        "agent.enqueue.missed-at-end",
        "says that what still waits when a loop ends was delivered",
        || replace_reply(is_late, |reply| vec![reply.with(fate(Fate::Delivered))]),
    ),
    fault(
        "waiting-dequeued-at-end",
        "agent.enqueue.missed-at-end",
        "says that what still waits when a loop ends was dequeued",
        || replace_reply(is_late, |reply| vec![reply.with(fate(Fate::Dequeued))]),
    ),
    fault(
        "waiting-cut-at-end",
        "agent.enqueue.missed-at-end",
        "cuts off what still waits when a loop ends",
        || replace_reply(is_late, |reply| vec![Output::Cut(reply.call).into()]),
    ),
    fault(
        "last-waiting-left-hanging",
        "agent.enqueue.missed-at-end",
        "answers all but the last of what still waits when a loop ends",
        || {
            replace_reply(
                |reply| {
                    is_late(reply) && reply.view.waiting.len() == 1 && !reply.view.fates.is_empty()
                },
                |_| Vec::new(),
            )
        },
    ),
    fault(
        "waiting-left-hanging-at-drop",
        "agent.enqueue.missed-at-drop",
        "does not answer what waits when a loop's caller is gone",
        || Box::<Dropped>::default(),
    ),
    fault(
        "waiting-delivered-at-drop",
        "agent.enqueue.missed-at-drop",
        "says that what waits when a loop's caller is gone was delivered",
        || {
            Box::new(Dropped {
                told: Some(Fate::Delivered),
                now: false,
            })
        },
    ),
    fault(
        "enqueue-empty-content-taken",
        "agent.enqueue.empty-refused",
        "takes a message without content",
        || switch_off(Check::EnqueueContent),
    ),
    fault(
        "enqueue-empty-content-500",
        "agent.enqueue.empty-refused",
        "answers a message without content with 500",
        || {
            replace_reply(
                |reply| {
                    reply.endpoint == Endpoint::Enqueue
                        && reply.kind().as_deref() == Some("content")
                },
                |reply| vec![reply.with_status(500)],
            )
        },
    ),
    fault(
        "enqueue-unknown-block-dropped",
        "agent.enqueue.unknown-block-refused",
        "passes over blocks of a kind that it does not know where a message has others",
        || {
            on_call(Endpoint::Enqueue, |_, call, mut asked, next| {
                asked.body = edited(&asked.body, |body| {
                    let content = body.get_mut("content").and_then(Value::as_array_mut);
                    if let Some(content) = content
                        && content.iter().any(is_known)
                    {
                        content.retain(is_known);
                    }
                })
                .into();
                next.push(Input::Called(call, asked).into());
            })
        },
    ),
    fault(
        "enqueue-unknown-block-500",
        "agent.enqueue.unknown-block-refused",
        "answers a message with a block of a kind that it does not know with 500",
        || {
            answer_instead(Endpoint::Enqueue, |_, asked| {
                let body = asked.json();
                let unknown = body["content"]
                    .as_array()?
                    .iter()
                    .any(|block| !is_known(block));
                unknown.then(|| refusal(500, "content", "no such block"))
            })
        },
    ),
    fault(
        "path-joined-prompt-missing",
        "agent.path.delivered-prompt",
        "does not send the prompt of a message that joined",
        || lose(|piece| piece.is("user")),
    ),
    fault(
        "path-joined-prompt-twice",
        "agent.path.delivered-prompt",
        "sends the prompt of a message that joined twice",
        || after(|piece| piece.is("user"), |piece| vec![piece.pass()]),
    ),
    fault(
        "path-joined-told-missed",
        "agent.path.delivered-prompt",
        "says that a message was missed whose prompt it sent",
        || {
            fated(|it| match it {
                Fate::Delivered => fate(Fate::Missed),
                other => fate(other),
            })
        },
    ),
    fault(
        "path-prompt-echoed",
        "agent.path.no-echo",
        "sends the prompt that a loop starts on",
        || {
            after(
                |piece| matches!(piece.what, Passing::Head(_)),
                |piece| {
                    let prompt = piece.asked.json()["prompt"].clone();
                    vec![piece.chunk(json!({"type": "user", "prompt": prompt}).to_string())]
                },
            )
        },
    ),
];

fn fate(fate: Fate) -> Answer {
    Answer::json(200, fate.encode())
}

fn is_user(chunk: &[u8]) -> bool {
    kind_of(chunk).starts_with("user")
}

/// Tells fates in another way.
fn fated(tell: fn(Fate) -> Answer) -> Interceptor {
    replace_reply(
        |reply| reply.fate().is_some(),
        move |reply| {
            reply
                .fate()
                .map(|it| reply.with(tell(it)))
                .into_iter()
                .collect()
        },
    )
}

/// Answers messages while no loop runs in another way, or not at all.
fn idle(answer: fn(&Asked) -> Option<Answer>) -> Interceptor {
    replace_reply(
        |reply| reply.fate() == Some(Fate::Missed) && reply.view.running.is_none(),
        move |reply| {
            answer(reply.asked)
                .map(|it| reply.with(it))
                .into_iter()
                .collect()
        },
    )
}

/// Whether a loop keeps everybody waiting.
fn holds(view: &View) -> bool {
    let running = view.running.as_ref();
    running.is_some_and(|it| String::from_utf8_lossy(&it.asked.body).contains(MESSAGES.holding))
}

/// Answers messages that would wait at once.
fn while_held(answer: fn() -> Answer) -> Interceptor {
    answer_instead(Endpoint::Enqueue, move |view, _| holds(view).then(answer))
}

/// Answers what waits when a loop's caller is gone with another fate, or not at all.
#[derive(Default)]
struct Dropped {
    told: Option<Fate>,
    /// The loop's caller has just gone.
    now: bool,
}

impl Intercept<Role> for Dropped {
    fn input(&mut self, view: &View, input: Input, next: &mut Vec<Step>) {
        self.now = matches!(&input, Input::Dropped(call) if view.runs(*call));
        next.push(input.into());
    }

    fn output(&mut self, _: &View, output: Output, next: &mut Vec<Step>) {
        match output {
            Output::Answer(call, _) if self.now => {
                let told = self.told.map(|it| Output::Answer(call, fate(it)).into());
                next.extend(told);
            }
            other => next.push(other.into()),
        }
    }
}

/// Whether it tells a message that its loop ended first.
fn is_late(reply: &Reply<'_>) -> bool {
    reply.fate() == Some(Fate::Missed) && reply.view.running.is_some()
}
