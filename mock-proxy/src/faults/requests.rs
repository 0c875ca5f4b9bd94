//! Faults of requests that cannot be read, and of requests that name the open scope.

use diverge_protocol::wire::Profile;
use diverge_protocol::wire::begin::BeginKind;
use diverge_protocol::wire::request::BeginRequest;

use crate::fault::{Fault, before, extra_call, fault, lose, on, rewrite};
use crate::policy::Endpoint;
use crate::view::{Flow, Message, Part};

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "empty-request-unanswered",
        "proxy.request.empty",
        "does not finish a request without a byte",
        || lose(Flow::ToHost, |message| finishes(message, <[u8]>::is_empty)),
    ),
    fault(
        "empty-request-error",
        "proxy.request.empty",
        "answers a request without a byte with an error",
        || {
            before(
                Flow::ToHost,
                |message| finishes(message, <[u8]>::is_empty),
                |message| vec![message.respond(BeginKind::Error, b"null")],
            )
        },
    ),
    fault(
        "unknown-request-unanswered",
        "proxy.request.unknown-tag",
        "does not finish a request whose first byte names nothing",
        || lose(Flow::ToHost, |message| finishes(message, is_unknown)),
    ),
    fault(
        "unknown-request-error",
        "proxy.request.unknown-tag",
        "answers a request whose first byte names nothing with an error",
        || {
            before(
                Flow::ToHost,
                |message| finishes(message, is_unknown),
                |message| vec![message.respond(BeginKind::Error, b"null")],
            )
        },
    ),
    fault(
        "unreadable-begin-unanswered",
        "proxy.request.not-json",
        "does not finish a begin that is no JSON",
        || {
            lose(Flow::ToHost, |message| {
                finishes(message, is_unreadable_begin)
            })
        },
    ),
    fault(
        "unreadable-begin-error",
        "proxy.request.not-json",
        "answers a begin that cannot be read with an error",
        || {
            before(
                Flow::ToHost,
                |message| finishes(message, is_unreadable_begin),
                |message| vec![message.respond(BeginKind::Error, b"null")],
            )
        },
    ),
    fault(
        "begin-without-arguments-taken",
        "proxy.request.not-json",
        "takes a begin without arguments for one whose arguments are null",
        || {
            rewrite(
                Flow::FromHost,
                |message| opens(message) && message.frame.payload[..] == *b"\0{}",
                |_| "\0{\"arguments\":null}".into(),
            )
        },
    ),
    fault(
        "begin-list-taken",
        "proxy.request.not-json",
        "takes a begin whose body is a list for its members in order",
        || {
            rewrite(
                Flow::FromHost,
                |message| opens(message) && message.body().starts_with(b"["),
                |message| {
                    let list: Vec<serde_json::Value> =
                        serde_json::from_slice(message.body()).unwrap_or_default();
                    let arguments = list.first().cloned().unwrap_or_default();
                    format!("\0{{\"arguments\":{arguments}}}").into()
                },
            )
        },
    ),
    fault(
        "unreadable-begin-registered",
        "proxy.request.not-registered",
        "puts the body of a begin that cannot be read to the agent server",
        || {
            on(Flow::FromHost, |message, next| {
                if opens(message) && is_unreadable_begin(&message.frame.payload) {
                    let body = message.frame.payload.slice(1..);
                    next.push(extra_call(message.view, Endpoint::Register, body));
                }
                next.push(message.pass());
            })
        },
    ),
    fault(
        "unreadable-request-remembered",
        "proxy.request.harmless",
        "reads no begin after a request that cannot be read",
        || {
            let mut spoiled = false;
            on(Flow::FromHost, move |message, next| {
                if !opens(message) {
                    return next.push(message.pass());
                }
                let was_spoiled = spoiled;
                spoiled |= !is_begin(&message.frame.payload);
                next.push(if was_spoiled {
                    message.finish()
                } else {
                    message.pass()
                });
            })
        },
    ),
    fault(
        "duplicate-begin-error",
        "proxy.request.duplicate-ignored",
        "answers a request on the open begin scope with an error",
        || {
            on(Flow::FromHost, |message, next| {
                if duplicates(message) {
                    next.push(message.respond(BeginKind::Error, b"\"taken\""));
                }
                next.push(message.pass());
            })
        },
    ),
    fault(
        "duplicate-begin-finishes",
        "proxy.request.duplicate-ignored",
        "finishes the begin scope when a request names it",
        || {
            on(Flow::FromHost, |message, next| {
                if duplicates(message) {
                    next.push(message.finish());
                }
                next.push(message.pass());
            })
        },
    ),
];

/// Whether it is a request that opens a scope.
pub(super) fn opens(message: &Message<'_>) -> bool {
    let open = message.scope.is_some_and(|scope| !scope.finished);
    message.flow == Flow::FromHost && message.part == Part::Request && !open
}

fn duplicates(message: &Message<'_>) -> bool {
    message.is(Part::Request, |scope| !scope.finished)
}

/// Whether it finishes a scope whose request is so.
fn finishes(message: &Message<'_>, when: fn(&[u8]) -> bool) -> bool {
    message.is(Part::Finish, |scope| when(&scope.request))
}

fn is_unknown(request: &[u8]) -> bool {
    request.first().is_some_and(|tag| *tag != 0)
}

/// Whether that request is a begin that can be read.
pub(super) fn is_begin(request: &[u8]) -> bool {
    BeginRequest::decode(Profile::scope(), request).is_ok()
}

fn is_unreadable_begin(request: &[u8]) -> bool {
    request.first() == Some(&0) && !is_begin(request)
}
