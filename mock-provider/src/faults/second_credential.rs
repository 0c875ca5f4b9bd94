//! Faults of a connection's second credential.

use super::auth::{forgets_named_scope, given, good};
use super::transport::running;
use crate::fault::{Fault, Intercept, Interceptor, Role, Step, fault, lose};
use crate::policy::{ClientId, Input, Output};
use crate::view::{ClientView, Flow, Message, Part, RunView, View};

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "other-credential-dropped",
        "auth.second-credential-ends-connection",
        "drops a second credential that differs from the first",
        || {
            lose(Flow::FromClient, |message| {
                idle(message)
                    && !good(message)
                    && message.body().is_ascii()
                    && !message.body().is_empty()
                    && message.frame.payload[0] == 0
            })
        },
    ),
    fault(
        "same-credential-dropped",
        "auth.second-credential-ends-connection",
        "drops a second credential like the first while nothing runs",
        || {
            lose(Flow::FromClient, |message| {
                idle(message) && good(message) && message.frame.scope == 0
            })
        },
    ),
    fault(
        "malformed-second-dropped",
        "auth.second-credential-ends-connection",
        "drops a second authorization that it cannot read",
        || {
            lose(Flow::FromClient, |message| {
                idle(message)
                    && diverge_protocol::wire::read_credential(&message.frame.payload).is_err()
            })
        },
    ),
    fault(
        "empty-second-dropped",
        "auth.second-credential-ends-connection",
        "drops an empty second credential",
        || {
            lose(Flow::FromClient, |message| {
                idle(message) && message.frame.payload[..] == [0]
            })
        },
    ),
    fault(
        "second-credential-awaits-inactive",
        "auth.second-credential-ends-connection",
        "drops a second credential while a loop is open",
        || {
            lose(Flow::FromClient, |message| {
                second(message) && runs(message).any(|run| run.in_loop && !run.finished)
            })
        },
    ),
    fault(
        "run-outlives-connection",
        "auth.second-credential-ends-runs",
        "keeps the container of a run between its loops when a second credential ends the connection",
        || {
            keeping(|client, run| {
                client.runs.len() == 1 && running(run) && !run.in_loop && run.loops > 0
            })
        },
    ),
    fault(
        "loop-outlives-connection",
        "auth.second-credential-ends-runs",
        "keeps the container of a run in a loop when a second credential ends the connection",
        || keeping(|_, run| running(run) && run.in_loop),
    ),
    fault(
        "second-run-outlives-connection",
        "auth.second-credential-ends-runs",
        "stops one container only when a second credential ends the connection",
        || {
            keeping(|client, run| {
                let open = client.runs.values().filter(|run| running(run));
                running(run) && open.map(|run| run.scope).min() < Some(run.scope)
            })
        },
    ),
    fault(
        "bring-up-outlives-connection",
        "auth.second-credential-ends-runs",
        "keeps a container that has not begun when a second credential ends the connection",
        || keeping(|_, run| run.id.is_none()),
    ),
    fault(
        "second-credential-forgets-scope",
        "scope.connections-independent",
        "forgets the run of the scope that a second credential names, whosever it is",
        || forgets_named_scope(second),
    ),
];

/// Whether it is a second credential.
fn second(message: &Message<'_>) -> bool {
    message.part == Part::Credential && given(message.view, message.scope().0)
}

/// Whether it is a second credential on a connection without open runs.
fn idle(message: &Message<'_>) -> bool {
    second(message) && !runs(message).any(|run| run.run.is_some() && !run.finished)
}

fn runs<'a>(message: &Message<'a>) -> impl Iterator<Item = &'a RunView> {
    let client = message.view.client(message.scope().0);
    client.into_iter().flat_map(|client| client.runs.values())
}

/// Keeps the proxy connections of the runs, of which `kept` holds, of a client that gave a second credential.
fn keeping(kept: fn(&ClientView, &RunView) -> bool) -> Interceptor {
    struct Keeping {
        kept: fn(&ClientView, &RunView) -> bool,
        ending: Option<ClientId>,
    }
    impl Intercept<Role> for Keeping {
        fn input(&mut self, view: &View, input: Input, next: &mut Vec<Step>) {
            let read = view.read_input(&input).filter(second);
            self.ending = read.map(|message| message.scope().0);
            next.push(input.into());
        }

        fn output(&mut self, view: &View, output: Output, next: &mut Vec<Step>) {
            let keeps = match output {
                Output::CloseProxy(id) if self.ending == Some(id.client) => {
                    let client = view.client(id.client);
                    let run = view.run(id);
                    client
                        .zip(run)
                        .is_some_and(|(client, run)| (self.kept)(client, run))
                }
                _ => false,
            };
            if !keeps {
                next.push(output.into());
            }
        }
    }
    Box::new(Keeping { kept, ending: None })
}
