//! Faults of the path revision: its connections and its runs.

use bytes::Bytes;
use serde_json::{Value, json};

use super::loops::is_fatal;
use crate::fault::{
    Fault, Heard, Intercept, Interceptor, Role, Step, admit, change_body, change_word, extra_call,
    on_call, on_input, on_output, on_said, on_word, path_fault,
};
use crate::policy::{Admission, Endpoint, HostId, Input, Output, Word};
use crate::view::{HostView, View};

pub(super) const FAULTS: &[Fault] = &[
    path_fault(
        "path-one-at-a-time",
        "proxy.path-connection.parallel",
        "takes one connection at a time",
        || {
            admit(|view, _, by_reference| {
                if view.hosts.values().any(|host| !host.ended) {
                    Admission::Refused(409)
                } else {
                    by_reference
                }
            })
        },
    ),
    path_fault(
        "path-enqueue-once",
        "proxy.path-connection.parallel",
        "takes one connection at a time on the path of enqueues",
        || one_at_a_time(Endpoint::Enqueue),
    ),
    path_fault(
        "path-schema-once",
        "proxy.path-connection.parallel",
        "takes one connection at a time on the path of schema requests",
        || one_at_a_time(Endpoint::Schema),
    ),
    path_fault(
        "path-dequeue-once",
        "proxy.path-connection.parallel",
        "takes one connection at a time on the path of dequeues",
        || one_at_a_time(Endpoint::Dequeue),
    ),
    path_fault(
        "path-chunks-as-text",
        "proxy.path-connection.binary-only",
        "sends chunks as text messages",
        || {
            on_said(Endpoint::Run, |_, host, bytes, next| {
                next.push(match String::from_utf8(bytes.to_vec()) {
                    Ok(text) if bytes.first() == Some(&0) => Output::SendText(host, text).into(),
                    _ => Output::Send(host, bytes).into(),
                });
            })
        },
    ),
    path_fault(
        "path-drops",
        "proxy.path-connection.clean-close",
        "ends connections without a close frame",
        || {
            on_output(|_, output, next| {
                next.push(match output {
                    Output::Close(host) => Output::Drop(host).into(),
                    other => other.into(),
                });
            })
        },
    ),
    path_fault(
        "path-left-open",
        "proxy.path-connection.clean-close",
        "does not end connections whose answer is complete",
        || {
            on_output(|_, output, next| {
                if !matches!(output, Output::Close(_)) {
                    next.push(output.into());
                }
            })
        },
    ),
    path_fault(
        "path-asks-on-leaving",
        "proxy.path-connection.left-unasked",
        "makes an empty call for a host that leaves without an ask",
        || {
            on_input(|view, input, next| {
                if let Input::Closed(host) | Input::Lost(host) = &input
                    && let Some(endpoint) = view.asks(*host)
                    && view.hosts.get(host).is_some_and(|it| it.heard == 0)
                {
                    next.push(extra_call(view, endpoint, "{}"));
                }
                next.push(input.into());
            })
        },
    ),
    path_fault(
        "path-text-taken",
        "proxy.path-connection.text-first",
        "takes a text message for the ask",
        || {
            on_input(|_, input, next| {
                next.push(match input {
                    Input::Text(host, text) => Input::Binary(host, text.into()).into(),
                    other => other.into(),
                });
            })
        },
    ),
    path_fault(
        "path-text-answered",
        "proxy.path-connection.text-first",
        "answers a text message ahead of the ask with an error",
        || {
            on_input(|_, input, next| {
                if let Input::Text(host, _) = &input {
                    let error = Bytes::from_static(b"\x01{\"kind\":\"text\"}");
                    next.push(Output::Send(*host, error).into());
                    next.push(Output::Close(*host).into());
                }
                next.push(input.into());
            })
        },
    ),
    path_fault(
        "path-prompt-as-message",
        "proxy.path-run.prompt",
        "puts the prompt into a run as a message",
        || {
            change_body(Endpoint::Run, |_, body| {
                let body: Value = serde_json::from_slice(body).ok()?;
                let content = json!([{"type": "text", "text": body["prompt"]}]);
                serde_json::to_vec(&json!({"messages": [{"key": "", "content": content}]})).ok()
            })
        },
    ),
    path_fault(
        "path-runs-twice",
        "proxy.path-run.prompt",
        "makes two runs of a prompt",
        || {
            on_call(Endpoint::Run, |view, id, call, next| {
                let again = extra_call(view, Endpoint::Run, call.body.clone());
                next.extend([Output::Call(id, call).into(), again]);
            })
        },
    ),
    path_fault(
        "path-request-respelled",
        "proxy.path-run.request-verbatim",
        "writes the body of a run anew",
        || {
            change_body(Endpoint::Run, |_, body| {
                let body: Value = serde_json::from_slice(body).ok()?;
                serde_json::to_vec(&body).ok()
            })
        },
    ),
    path_fault(
        "path-chunk-lost",
        "proxy.path-run.chunks",
        "loses the second event of a run",
        || {
            chunks(|nth, host, bytes, next, _| {
                if nth != 1 {
                    next.push(Output::Send(host, bytes).into());
                }
            })
        },
    ),
    path_fault(
        "path-chunk-respelled",
        "proxy.path-run.chunks",
        "writes chunks anew, without the white space in their JSON",
        || {
            chunks(|_, host, bytes, next, _| {
                let chunk = serde_json::from_slice::<Value>(&bytes[1..]).ok();
                let bytes = chunk.map_or(bytes, |chunk| format!("\0{chunk}").into());
                next.push(Output::Send(host, bytes).into());
            })
        },
    ),
    path_fault(
        "path-chunks-swapped",
        "proxy.path-run.chunks",
        "sends the second event of a run ahead of the first where there is a third",
        || {
            chunks(|nth, host, bytes, next, held| {
                if nth == 1 {
                    return held.push(Output::Send(host, bytes).into());
                }
                next.push(Output::Send(host, bytes).into());
                next.append(held);
            })
        },
    ),
    path_fault(
        "path-end-marked",
        "proxy.path-run.ends-clean",
        "sends an empty object as the last chunk of a run",
        || at_end(|_| true, "\0{}"),
    ),
    path_fault(
        "path-end-as-error",
        "proxy.path-run.ends-clean",
        "sends an error behind the last chunk of a run",
        || at_end(|heard| heard.call.events > 0, "\x01null"),
    ),
    path_fault(
        "path-empty-as-error",
        "proxy.path-run.no-events",
        "tells an error where a run has no event",
        || at_end(|heard| heard.call.events == 0, "\x01{\"kind\":\"empty\"}"),
    ),
    path_fault(
        "path-refusal-replaced",
        "proxy.path-run.refused",
        "tells words of its own when a run is refused",
        || {
            change_word(Endpoint::Run, |heard| {
                let (status, _) = heard.answer()?;
                Some(Word::Answered {
                    status,
                    body: "{\"kind\":\"refused\"}".into(),
                })
            })
        },
    ),
    path_fault(
        "path-refusal-as-chunk",
        "proxy.path-run.refused",
        "tells the words of a refusal as a chunk",
        || {
            on_said(Endpoint::Run, |view, host, bytes, next| {
                let first = view.hosts.get(&host).is_some_and(|it| it.sent == 0);
                let bytes = match bytes.split_first() {
                    Some((1, words)) if first => [b"\0", words].concat().into(),
                    _ => bytes,
                };
                next.push(Output::Send(host, bytes).into());
            })
        },
    ),
    path_fault(
        "path-unreachable-silent",
        "proxy.path-run.unreachable",
        "closes without a message where no agent server answers",
        || {
            on_word(Endpoint::Run, |heard, next| match heard.call.host {
                Some(host) if matches!(heard.word, Word::Failed(_)) => {
                    next.push(Output::Close(host).into());
                }
                _ => next.push(heard.pass()),
            })
        },
    ),
    path_fault(
        "path-unreachable-waits",
        "proxy.path-run.unreachable",
        "waits without end for an agent server that is not there",
        || {
            on_word(Endpoint::Run, |heard, next| {
                if !matches!(heard.word, Word::Failed(_)) {
                    next.push(heard.pass());
                }
            })
        },
    ),
    path_fault(
        "path-broken-as-end",
        "proxy.path-run.broken",
        "closes without an error when a stream breaks off",
        || {
            change_word(Endpoint::Run, |heard| {
                matches!(heard.word, Word::Broke(_)).then_some(Word::Ended)
            })
        },
    ),
    path_fault(
        "path-broken-drops",
        "proxy.path-run.broken",
        "drops the connection when a stream breaks off",
        || {
            on_word(Endpoint::Run, |heard, next| match heard.call.host {
                Some(host) if matches!(heard.word, Word::Broke(_)) => {
                    next.push(Output::Drop(host).into());
                }
                _ => next.push(heard.pass()),
            })
        },
    ),
    path_fault(
        "path-fatal-with-error",
        "proxy.path-run.fatal-notification",
        "sends an error behind a fatal notification",
        || {
            on_said(Endpoint::Run, |_, host, bytes, next| {
                let fatal = bytes.first() == Some(&0) && is_fatal(&bytes[1..]);
                next.push(Output::Send(host, bytes).into());
                if fatal {
                    next.push(Output::Send(host, Bytes::from_static(b"\x01null")).into());
                }
            })
        },
    ),
    path_fault(
        "path-fatal-as-error",
        "proxy.path-run.fatal-notification",
        "sends a fatal notification as an error",
        || {
            on_said(Endpoint::Run, |_, host, bytes, next| {
                let fatal = bytes.first() == Some(&0) && is_fatal(&bytes[1..]);
                let bytes = if fatal {
                    [b"\x01", &bytes[1..]].concat().into()
                } else {
                    bytes
                };
                next.push(Output::Send(host, bytes).into());
            })
        },
    ),
    path_fault(
        "path-second-run-at-the-door",
        "proxy.path-run.second-refused",
        "answers a request for a second run with HTTP status 409",
        || one_at_a_time(Endpoint::Run),
    ),
    path_fault(
        "path-second-run-queued",
        "proxy.path-run.second-refused",
        "keeps a second run until the first is over",
        || {
            on_call(Endpoint::Run, |view, id, call, next| {
                if !view.is_asking(Endpoint::Run) {
                    next.push(Output::Call(id, call).into());
                }
            })
        },
    ),
    path_fault(
        "path-second-run-ends-first",
        "proxy.path-run.second-harmless",
        "gives the first run up when a second is asked for",
        || {
            on_call(Endpoint::Run, |view, id, call, next| {
                let mut others = view.calls_of(Endpoint::Run).filter(|(_, it)| !it.over);
                if let Some((other, run)) = others.next() {
                    next.push(Output::HangUp(other).into());
                    next.extend(run.host.map(|host| Output::Close(host).into()));
                }
                next.push(Output::Call(id, call).into());
            })
        },
    ),
    path_fault(
        "path-second-run-crossed",
        "proxy.path-run.second-harmless",
        "tells the first run that the second is refused",
        || {
            on_said(Endpoint::Run, |view, host, bytes, next| {
                let mut streams = view.calls_of(Endpoint::Run).filter(|(_, it)| it.streams);
                let first = streams.next().and_then(|(_, it)| it.host);
                if bytes.first() == Some(&1)
                    && let Some(first) = first.filter(|first| *first != host)
                {
                    next.push(Output::Send(first, bytes.clone()).into());
                }
                next.push(Output::Send(host, bytes).into());
            })
        },
    ),
    path_fault(
        "path-unregistered-waits",
        "proxy.path-run.unregistered",
        "does not answer a run that is refused because nothing is registered",
        || {
            on_word(Endpoint::Run, |heard, next| {
                if !is_of_kind(heard, "unregistered") {
                    next.push(heard.pass());
                }
            })
        },
    ),
    path_fault(
        "path-call-outlives-host",
        "proxy.path-run.host-leaves",
        "goes on with the call of a host that left",
        || {
            on_output(|_, output, next| {
                if !matches!(output, Output::HangUp(_)) {
                    next.push(output.into());
                }
            })
        },
    ),
];

/// Answers a request for a connection on that endpoint's path with HTTP status 409 while one is open.
fn one_at_a_time(endpoint: Endpoint) -> Interceptor {
    struct One(Endpoint);
    impl Intercept<Role> for One {
        fn admit(&mut self, view: &View, path: &str, by_reference: Admission) -> Admission {
            let same =
                |(host, it): (&HostId, &HostView)| !it.ended && view.asks(*host) == Some(self.0);
            if crate::path::endpoint(path) == Some(self.0) && view.hosts.iter().any(same) {
                Admission::Refused(409)
            } else {
                by_reference
            }
        }
    }
    Box::new(One(endpoint))
}

/// Is shown every chunk: how many came before it on its connection, and what is held back until the run ends.
fn chunks(f: fn(usize, HostId, Bytes, &mut Vec<Step>, &mut Vec<Step>)) -> Interceptor {
    let mut held = Vec::new();
    on_output(move |view, output, next| match output {
        Output::Send(host, bytes)
            if view.asks(host) == Some(Endpoint::Run) && bytes.first() == Some(&0) =>
        {
            let nth = view.hosts.get(&host).map_or(0, |host| host.sent);
            f(nth, host, bytes, next, &mut held);
        }
        other => {
            next.append(&mut held);
            next.push(other.into());
        }
    })
}

/// Sends this when the events of a run end, where `when` holds.
fn at_end(when: fn(&Heard<'_>) -> bool, message: &'static str) -> Interceptor {
    on_word(Endpoint::Run, move |heard, next| {
        if heard.word == Word::Ended && when(heard) {
            let said = |host| Output::Send(host, message.into()).into();
            next.extend(heard.call.host.map(said));
        }
        next.push(heard.pass());
    })
}

/// Whether it is an answer whose body names that kind.
pub(super) fn is_of_kind(heard: &Heard<'_>, kind: &str) -> bool {
    heard.answer().is_some_and(|(_, body)| {
        serde_json::from_slice::<Value>(body).is_ok_and(|body| body["kind"] == kind)
    })
}
