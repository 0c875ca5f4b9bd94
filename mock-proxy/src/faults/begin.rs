//! Faults of begin, and of the begin scope while no loop runs.

use bytes::Bytes;
use diverge_protocol::wire::begin::BeginKind;
use diverge_protocol::wire::{Frame, FrameType};
use serde_json::Value;

use super::requests::{is_begin, opens};
use crate::answers::{declared, is_success};
use crate::fault::{
    Fault, after, before, change_body, change_word, double, extra_call, fault, lose, on, on_call,
    on_word, rewrite,
};
use crate::policy::{Endpoint, Output, Word};
use crate::view::{Flow, Message, Part};

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "chunks-of-unknown-kind",
        "proxy.begin.payload-known",
        "puts a byte of no meaning in front of chunks",
        || {
            rewrite(
                Flow::ToHost,
                |message| message.part == Part::Chunk,
                |message| [b"\x09", message.body()].concat().into(),
            )
        },
    ),
    fault(
        "registers-twice",
        "proxy.begin.registers",
        "asks the program twice to take its arguments",
        || {
            on_call(Endpoint::Register, |view, id, call, next| {
                let again = extra_call(view, Endpoint::Register, call.body.clone());
                next.extend([Output::Call(id, call).into(), again]);
            })
        },
    ),
    fault(
        "schema-before-register",
        "proxy.begin.registers",
        "asks for the schema before it asks the program to take its arguments",
        || {
            on_call(Endpoint::Register, |view, id, call, next| {
                next.push(extra_call(view, Endpoint::Schema, ""));
                next.push(Output::Call(id, call).into());
            })
        },
    ),
    fault(
        "arguments-as-text",
        "proxy.begin.arguments",
        "passes the arguments on as the text of their JSON",
        || {
            change_body(Endpoint::Register, |_, body| {
                let body: Value = serde_json::from_slice(body).ok()?;
                let text = body["arguments"].to_string();
                serde_json::to_vec(&serde_json::json!({"arguments": text})).ok()
            })
        },
    ),
    fault(
        "arguments-unwrapped",
        "proxy.begin.arguments",
        "passes the arguments on without the object around them",
        || {
            change_body(Endpoint::Register, |_, body| {
                let arguments = body.strip_prefix(b"{\"arguments\":")?.strip_suffix(b"}")?;
                Some(arguments.to_vec())
            })
        },
    ),
    fault(
        "null-arguments-left-out",
        "proxy.begin.arguments",
        "leaves arguments out that are null",
        || {
            change_body(Endpoint::Register, |_, body| {
                (body == b"{\"arguments\":null}").then(|| b"{}".to_vec())
            })
        },
    ),
    fault(
        "register-as-text",
        "proxy.begin.content-type",
        "says that the body of a register is text",
        || super::as_text(Endpoint::Register),
    ),
    fault(
        "begun-lost",
        "proxy.begin.begun",
        "does not tell that the program has begun",
        || lose(Flow::ToHost, |message| message.part == Part::Begun),
    ),
    fault(
        "created-no-success",
        "proxy.begin.begun",
        "takes the status 201 of a register for a refusal",
        || {
            change_word(Endpoint::Register, |heard| match heard.answer()? {
                (201, body) => Some(Word::Answered {
                    status: 500,
                    body: body.clone(),
                }),
                _ => None,
            })
        },
    ),
    fault(
        "begun-twice",
        "proxy.begin.begun-once",
        "tells twice that the program has begun",
        || double(Flow::ToHost, |message| message.part == Part::Begun),
    ),
    fault(
        "empty-list-left-out",
        "proxy.begin.empty-list",
        "puts nothing behind the byte of begun where the program declared nothing",
        || begun(|list| (list == b"[]").then(Vec::new)),
    ),
    fault(
        "empty-list-null",
        "proxy.begin.empty-list",
        "puts null behind the byte of begun where the program declared nothing",
        || begun(|list| (list == b"[]").then(|| b"null".to_vec())),
    ),
    fault(
        "list-reversed",
        "proxy.begin.list",
        "turns the list that the program declared round",
        || {
            begun(|list| {
                let mut list: Vec<Value> = serde_json::from_slice(list).ok()?;
                list.reverse();
                serde_json::to_vec(&list).ok()
            })
        },
    ),
    fault(
        "list-emptied",
        "proxy.begin.list",
        "tells an empty list, whatever the program declared",
        || begun(|_| Some(b"[]".to_vec())),
    ),
    fault(
        "list-wrapped",
        "proxy.begin.list",
        "tells the whole answer of the register instead of the list in it",
        || {
            begun(|list| {
                let list = std::str::from_utf8(list).ok()?;
                (list != "[]").then(|| format!("{{\"dependencies\":{list}}}").into())
            })
        },
    ),
    fault(
        "refusal-replaced",
        "proxy.begin.refusal",
        "tells words of its own when a register is refused",
        || {
            rewrite(Flow::ToHost, early_error, |_| {
                "\x01{\"kind\":\"refused\"}".into()
            })
        },
    ),
    fault(
        "refusal-wrapped",
        "proxy.begin.refusal",
        "puts an object around the words of a refusal",
        || {
            rewrite(Flow::ToHost, early_error, |message| {
                let error = String::from_utf8_lossy(message.body());
                format!("\x01{{\"kind\":\"program\",\"error\":{error}}}").into()
            })
        },
    ),
    fault(
        "refusal-unfinished",
        "proxy.begin.refusal-finishes",
        "does not finish the scope of a begin that failed",
        || {
            lose(Flow::ToHost, |message| {
                message.is(Part::Finish, |scope| {
                    is_begin(&scope.request) && !scope.begun
                }) && message.view.begun().is_none()
            })
        },
    ),
    fault(
        "refusal-told-twice",
        "proxy.begin.refusal-finishes",
        "tells twice that a begin failed",
        || double(Flow::ToHost, early_error),
    ),
    fault(
        "refusal-text-raw",
        "proxy.begin.refusal-no-json",
        "tells the text of a refusal as it is, though it is no JSON",
        || super::words_raw(early_error),
    ),
    fault(
        "refusal-text-unanswered",
        "proxy.begin.refusal-no-json",
        "does not tell of a refusal that is no JSON",
        || super::words_unanswered(Endpoint::Register),
    ),
    fault(
        "register-body-unread",
        "proxy.begin.unreadable-answer",
        "takes every success of a register, whatever its body is",
        || {
            change_word(Endpoint::Register, |heard| {
                let (status, body) = heard.answer()?;
                (is_success(status) && declared(body).is_none()).then(|| Word::Answered {
                    status,
                    body: "{}".into(),
                })
            })
        },
    ),
    fault(
        "no-content-as-begun",
        "proxy.begin.unreadable-answer",
        "takes a register that succeeds without content for one that declares nothing",
        || {
            change_word(Endpoint::Register, |heard| match heard.answer()? {
                (204, _) => Some(Word::Answered {
                    status: 200,
                    body: "{}".into(),
                }),
                _ => None,
            })
        },
    ),
    fault(
        "unreachable-unanswered",
        "proxy.begin.unreachable",
        "does not answer a begin where no agent server answers",
        || {
            on_word(Endpoint::Register, |heard, next| {
                if !matches!(heard.word, Word::Failed(_)) {
                    next.push(heard.pass());
                }
            })
        },
    ),
    fault(
        "unreachable-closes",
        "proxy.begin.unreachable",
        "closes where no agent server answers",
        || {
            on_word(Endpoint::Register, |heard, next| match heard.call.host {
                Some(host) if matches!(heard.word, Word::Failed(_)) => {
                    next.push(Output::Close(host).into());
                }
                _ => next.push(heard.pass()),
            })
        },
    ),
    fault(
        "after-refusal-unanswered",
        "proxy.begin.after-refusal",
        "does not answer a begin after one that failed",
        || lose(Flow::FromHost, begins_after_one_that_failed),
    ),
    fault(
        "second-begin-bare",
        "proxy.begin.second-refused",
        "answers a second begin with the bare finish",
        || {
            lose(Flow::ToHost, |message| {
                message.part == Part::Error && message.view.begun().is_some()
            })
        },
    ),
    fault(
        "second-begin-unfinished",
        "proxy.begin.second-refused",
        "does not finish the scope of a second begin",
        || {
            lose(Flow::ToHost, |message| {
                message.is(Part::Finish, |scope| is_begin(&scope.request))
                    && message.view.begun().is_some()
            })
        },
    ),
    fault(
        "second-begin-taken",
        "proxy.begin.second-refused",
        "answers a second begin with begun",
        || {
            on(Flow::FromHost, |message, next| {
                next.push(if second_begin(message) {
                    message.respond(BeginKind::Begun, b"[]")
                } else {
                    message.pass()
                });
            })
        },
    ),
    fault(
        "second-begin-registers",
        "proxy.begin.second-harmless",
        "puts a second begin to the agent server",
        || {
            on(Flow::FromHost, |message, next| {
                if second_begin(message) {
                    let body = message.frame.payload.slice(1..);
                    next.push(extra_call(message.view, Endpoint::Register, body));
                }
                next.push(message.pass());
            })
        },
    ),
    fault(
        "second-begin-ends-first",
        "proxy.begin.second-harmless",
        "finishes the first begin scope when a second begin comes",
        || {
            on(Flow::FromHost, |message, next| {
                next.push(message.pass());
                if let Some(scope) = message.view.begun()
                    && second_begin(message)
                {
                    let frame =
                        Frame::new(FrameType::ResponseFinish, scope.number, 0, Bytes::new());
                    next.push(Output::Send(message.host, frame.encode()).into());
                }
            })
        },
    ),
    fault(
        "loop-before-begun",
        "proxy.begin.silent-before-begun",
        "tells an empty loop before it tells that the program has begun",
        || {
            before(
                Flow::ToHost,
                |message| message.part == Part::Begun,
                empty_loop,
            )
        },
    ),
    fault(
        "loop-after-begun",
        "proxy.begin.quiet-when-idle",
        "tells an empty loop as soon as the program has begun",
        || {
            after(
                Flow::ToHost,
                |message| message.part == Part::Begun,
                empty_loop,
            )
        },
    ),
    fault(
        "asks-for-nobody",
        "proxy.begin.quiet-when-idle",
        "opens a channel for notifications though the program asked nothing",
        || {
            after(
                Flow::ToHost,
                |message| message.part == Part::Begun,
                |message| vec![message.tell(FrameType::ChannelRequest, 0, &b"\x0b"[..])],
            )
        },
    ),
    fault(
        "finish-after-loop",
        "proxy.begin.not-finished",
        "finishes the begin scope behind the first loop",
        || {
            after(
                Flow::ToHost,
                |message| message.is(Part::Inactive, |scope| scope.loops == 1),
                |message| vec![message.finish()],
            )
        },
    ),
    fault(
        "finish-after-begun",
        "proxy.begin.not-finished",
        "finishes the begin scope behind begun",
        || {
            after(
                Flow::ToHost,
                |message| message.part == Part::Begun,
                |message| vec![message.finish()],
            )
        },
    ),
];

/// Whether it is a begin where there was one before, and that one has failed.
pub(crate) fn begins_after_one_that_failed(message: &Message<'_>) -> bool {
    let failed = message.view.begins > 0
        && message.view.begun().is_none()
        && !message.view.is_asking(Endpoint::Register);
    opens(message) && is_begin(&message.frame.payload) && failed
}

fn empty_loop(message: &Message<'_>) -> Vec<crate::fault::Step> {
    vec![
        message.respond(BeginKind::Active, b""),
        message.respond(BeginKind::Inactive, b"{}"),
    ]
}

/// An error in place of begun.
fn early_error(message: &Message<'_>) -> bool {
    message.is(Part::Error, |scope| !scope.begun) && message.view.begun().is_none()
}

fn second_begin(message: &Message<'_>) -> bool {
    opens(message) && is_begin(&message.frame.payload) && message.view.begun().is_some()
}

/// Puts another list behind the byte of begun where `change` gives one.
fn begun(change: fn(&[u8]) -> Option<Vec<u8>>) -> crate::fault::Interceptor {
    on(Flow::ToHost, move |message, next| {
        let list = (message.part == Part::Begun).then(|| change(message.body()));
        next.push(match list.flatten() {
            Some(list) => message.with_body(&list),
            None => message.pass(),
        });
    })
}
