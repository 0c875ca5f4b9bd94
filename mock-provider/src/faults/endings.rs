//! Faults of how a run ends.

use diverge_protocol::wire::{Frame, FrameType};

use super::scopes::{beside, cut, left_open, open};
use crate::fault::{
    Fault, Intercept, Interceptor, Role, Step, after, fault, lose, on_input, on_output,
};
use crate::policy::{ClientId, Input, Output};
use crate::view::{Flow, Part, RunView, View};

/// So many frames of a client's are an age.
const AGE: usize = 900;

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "container-kept",
        "stop.ends-container",
        "keeps the proxy connection of a run that ended",
        || {
            on_output(|view, output, next| {
                let kept = matches!(output, Output::CloseProxy(run) if view.run(run).is_some_and(|run| run.id.is_some()));
                if !kept {
                    next.push(output.into());
                }
            })
        },
    ),
    fault(
        "late-error-unfinished",
        "run.error.then-finish",
        "does not finish a run after the proxy's error",
        || {
            let mut failed = None;
            lose(Flow::ToClient, move |message| {
                let scope = Some(message.scope());
                if message.part == Part::LateError {
                    failed = scope;
                }
                message.part == Part::Finish && failed == scope
            })
        },
    ),
    fault(
        "gone-client-kept",
        "ending.client-gone",
        "keeps a quiet run whose client is gone",
        || gone_unnoticed(|run| run.loops == 0 && run.client_channels.is_empty() && run.asked == 0),
    ),
    fault(
        "lost-client-kept",
        "ending.client-gone",
        "notices the end of a connection by the close frame alone",
        || {
            on_input(|_, input, next| {
                if !matches!(input, Input::ClientLost(_)) {
                    next.push(input.into());
                }
            })
        },
    ),
    fault(
        "gone-clients-loop-kept",
        "ending.client-gone",
        "lets a loop come to its end when its client is gone",
        || gone_unnoticed(|run| run.in_loop),
    ),
    fault(
        "gone-clients-enqueue-kept",
        "ending.client-gone",
        "keeps a run whose client is gone until its channels are answered",
        || gone_unnoticed(|run| !run.client_channels.is_empty()),
    ),
    fault(
        "gone-clients-ask-kept",
        "ending.client-gone",
        "keeps a run whose client is gone while it waits for the client's answer",
        || gone_unnoticed(|run| !run.asks.is_empty()),
    ),
    fault(
        "gone-clients-second-run-kept",
        "ending.client-gone",
        "ends one run of a client that is gone",
        || Box::new(EndsOne::default()),
    ),
    fault(
        "silent-loop-cut",
        "run.quiet-allowed",
        "ends a run whose loop has had no chunk when another run's loop ends",
        || {
            after(
                Flow::ToClient,
                |message| message.part == Part::Inactive,
                |message| {
                    beside(message, |run| open(run) && run.in_loop && run.chunks == 0)
                        .flat_map(cut)
                        .collect()
                },
            )
        },
    ),
    fault(
        "idle-run-collected",
        "run.quiet-allowed",
        "ends a run between its loops when a run of three loops is finished",
        || {
            after(
                Flow::ToClient,
                |message| message.is(Part::Finish, |run| run.loops == 3),
                |message| {
                    beside(message, |run| open(run) && run.loops > 0 && !run.in_loop)
                        .flat_map(cut)
                        .collect()
                },
            )
        },
    ),
    fault(
        "quiet-run-timed-out",
        "ending.no-timeout",
        "ends a run that has been quiet for an age",
        || {
            after(
                Flow::FromClient,
                |message| aged(message.view, message.scope().0),
                |message| {
                    beside(message, |run| {
                        open(run) && run.loops == 0 && run.client_channels.is_empty()
                    })
                    .flat_map(cut)
                    .collect()
                },
            )
        },
    ),
    fault(
        "enqueue-timed-out",
        "ending.no-timeout",
        "finishes an enqueue that has waited for an age",
        || {
            after(
                Flow::FromClient,
                |message| aged(message.view, message.scope().0),
                |message| beside(message, open).flat_map(give_up).collect(),
            )
        },
    ),
];

fn aged(view: &View, client: ClientId) -> bool {
    view.client(client)
        .is_some_and(|client| client.frames == AGE)
}

/// The finishes of all open channels of the client's.
fn give_up(run: &RunView) -> Vec<Step> {
    let finish = |number: &u32| {
        let frame = Frame::new(
            FrameType::ChannelResponseFinish,
            run.scope,
            *number,
            Vec::new(),
        );
        Output::ToClient(run.client, frame.encode()).into()
    };
    run.client_channels.keys().map(finish).collect()
}

/// Does not notice that a client is gone while its only run is as `when` says.
fn gone_unnoticed(when: fn(&RunView) -> bool) -> Interceptor {
    on_input(move |view, input, next| {
        let kept = match &input {
            Input::ClientClosed(client) => {
                let mut runs = left_open(view, *client);
                runs.next().is_some_and(when) && runs.next().is_none()
            }
            _ => false,
        };
        if !kept {
            next.push(input.into());
        }
    })
}

/// Closes the proxy connection of one run alone when a client of several is gone.
#[derive(Default)]
struct EndsOne {
    /// The client that is gone, and whether one of its runs has been ended.
    gone: Option<(ClientId, bool)>,
}

impl Intercept<Role> for EndsOne {
    fn input(&mut self, view: &View, input: Input, next: &mut Vec<Step>) {
        self.gone = match &input {
            Input::ClientClosed(client) if left_open(view, *client).count() > 1 => {
                Some((*client, false))
            }
            _ => None,
        };
        next.push(input.into());
    }

    fn output(&mut self, _: &View, output: Output, next: &mut Vec<Step>) {
        if let (Output::CloseProxy(run), Some((client, ended))) = (&output, &mut self.gone)
            && run.client == *client
            && std::mem::replace(ended, true)
        {
            return;
        }
        next.push(output.into());
    }
}
