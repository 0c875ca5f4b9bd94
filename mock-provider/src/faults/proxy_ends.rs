//! Faults of how a run takes its proxy's error, its proxy's end, and what fails on a channel.

use std::collections::{HashMap, HashSet};

use bytes::Bytes;

use super::bringup::{finish, response};
use crate::checks;
use crate::fault::{
    Fault, Intercept, Interceptor, Role, Step, after, before, double, fault, lose, on, on_input,
    rewrite,
};
use crate::policy::{Input, Output};
use crate::view::{Flow, Message, Part, RunView, View};

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "error-swallowed",
        "run.error.relayed",
        "keeps an error behind a single loop to itself",
        || {
            lose(Flow::ToClient, |message| {
                message.is(Part::LateError, |run| quiet(run) && run.loops == 1)
            })
        },
    ),
    fault(
        "first-error-swallowed",
        "run.error.relayed",
        "keeps an error before all loops, once it was asked something to itself",
        || lose(Flow::ToClient, |message| message.is(Part::LateError, idle)),
    ),
    fault(
        "inactive-after-error",
        "run.error.no-inactive",
        "ends the loop after the proxy's error",
        || {
            after(
                Flow::ToClient,
                |message| message.is(Part::LateError, |run| run.in_loop && run.chunks > 0),
                |message| vec![message.respond(INACTIVE)],
            )
        },
    ),
    fault(
        "inactive-before-error",
        "run.inactive.not-invented",
        "ends an empty loop before the proxy's error",
        || {
            before(
                Flow::ToClient,
                |message| message.is(Part::LateError, |run| run.in_loop && run.chunks == 0),
                |message| vec![message.respond(INACTIVE)],
            )
        },
    ),
    fault(
        "error-trimmed",
        "run.error.verbatim",
        "trims the proxy's error",
        || {
            rewrite(
                Flow::ToClient,
                |message| message.part == Part::LateError,
                |message| [&[6], message.body().trim_ascii()].concat().into(),
            )
        },
    ),
    fault(
        "error-per-channel",
        "run.error.once",
        "repeats the error where a channel is open",
        || {
            double(Flow::ToClient, |message| {
                message.is(Part::LateError, |run| !run.client_channels.is_empty())
            })
        },
    ),
    fault(
        "large-error-cut",
        "run.error.verbatim",
        "puts an error of its own for a large one",
        || {
            rewrite(
                Flow::ToClient,
                |message| message.part == Part::LateError && message.body().len() > 1 << 16,
                |_| checks::error("too large").into(),
            )
        },
    ),
    fault(
        "third-failure-ends",
        "run.error.only-from-proxy",
        "ends a run when three asks have failed",
        || {
            let mut failures: HashMap<_, u32> = HashMap::new();
            on(Flow::FromProxy, move |message, next| {
                next.push(message.pass());
                if let Some(run) = message.run.and_then(|run| run.run)
                    && message.part == Part::Answer
                    && message.body().starts_with(b"{\"kind\":")
                {
                    let count = failures.entry(run).or_default();
                    *count += 1;
                    if *count == 3 {
                        next.push(message.respond(checks::error("too many failures")));
                    }
                }
            })
        },
    ),
    fault(
        "unreadable-in-loop-ends",
        "run.error.only-from-proxy",
        "fails a run for an unreadable channel",
        || {
            after(
                Flow::FromClient,
                |message| {
                    message.is(Part::Ask, |run| run.in_loop)
                        && message.frame.payload.first() == Some(&200)
                },
                |message| vec![message.respond(checks::error("unreadable"))],
            )
        },
    ),
    fault(
        "unserved-in-loop-ends",
        "run.survives-channel-failures",
        "ends a run whose proxy does not serve an ask",
        || {
            let mut answered = HashSet::new();
            on(Flow::FromProxy, move |message, next| {
                next.push(message.pass());
                let Some(run) = message
                    .run
                    .filter(|run| run.in_loop)
                    .and_then(|run| run.run)
                else {
                    return;
                };
                let channel = (run, message.frame.channel);
                match message.part {
                    Part::Answer => {
                        answered.insert(channel);
                    }
                    Part::AnswerFinish if !answered.remove(&channel) => next.push(finish(run)),
                    _ => {}
                }
            })
        },
    ),
    fault(
        "unknown-ask-ends",
        "run.error.only-from-proxy",
        "fails a run whose proxy asks what it does not know",
        || {
            after(
                Flow::FromProxy,
                |message| message.part == Part::Ask && message.frame.payload.first() == Some(&200),
                |message| vec![message.respond(checks::error("unknown ask"))],
            )
        },
    ),
    fault(
        "close-unnoticed",
        "run.finish-on-proxy-close",
        "waits on when the proxy went away between loops",
        || closed(|run| quiet(run) && run.loops > 0, |_| None, false),
    ),
    fault(
        "close-behind-channels",
        "run.finish-on-proxy-close",
        "waits for answers of a proxy that went away",
        || closed(|run| !run.client_channels.is_empty(), |_| None, false),
    ),
    fault(
        "close-ends-loop",
        "run.inactive.not-invented",
        "ends the loop when the proxy goes away",
        || {
            closed(
                |run| run.in_loop && run.chunks < 19,
                |_| Some(Bytes::from_static(INACTIVE)),
                true,
            )
        },
    ),
    fault(
        "close-first-fails",
        "run.error.only-from-proxy",
        "fails a run whose proxy goes away before all loops",
        || {
            closed(
                |run| quiet(run) && run.loops == 0,
                |_| Some(checks::error("the proxy went away").into()),
                true,
            )
        },
    ),
    fault(
        "last-words-lost",
        "run.chunk.relayed",
        "loses what is under way when the proxy goes away",
        || Box::new(Backlog::default()),
    ),
    fault(
        "end-unnoticed",
        "run.finish-on-proxy-finish",
        "waits on when begin is finished between loops",
        || {
            lose(Flow::FromProxy, |message| {
                message.is(Part::Finish, |run| quiet(run) && run.loops > 0)
            })
        },
    ),
    fault(
        "end-behind-channels",
        "run.finish-on-proxy-finish",
        "waits for answers when begin is finished",
        || {
            lose(Flow::FromProxy, |message| {
                message.is(Part::Finish, |run| {
                    run.id.is_some() && !run.client_channels.is_empty()
                })
            })
        },
    ),
    fault(
        "end-ends-loop",
        "run.inactive.not-invented",
        "ends the loop when begin is finished",
        || {
            before(
                Flow::FromProxy,
                |message| message.is(Part::Finish, |run| run.in_loop),
                |message| vec![message.respond(INACTIVE)],
            )
        },
    ),
    fault(
        "end-first-fails",
        "run.error.only-from-proxy",
        "fails a run whose begin is finished before all loops, once it was asked something",
        || {
            before(
                Flow::FromProxy,
                |message| message.is(Part::Finish, idle),
                |message| vec![message.respond(checks::error("begin is over"))],
            )
        },
    ),
];

const INACTIVE: &[u8] = b"\x09{}";

/// Whether nothing goes on in a run that has its id.
fn quiet(run: &RunView) -> bool {
    run.id.is_some() && !run.in_loop && !run.finished && run.client_channels.is_empty()
}

/// Whether such a run has answered the client, and had no loop.
fn idle(run: &RunView) -> bool {
    quiet(run) && run.loops == 0 && run.client_opened > 0
}

/// What to do when the proxy of a run for which `when` holds goes away: say something, and notice it or not.
fn closed(
    when: fn(&RunView) -> bool,
    says: fn(&RunView) -> Option<Bytes>,
    notices: bool,
) -> Interceptor {
    on_input(move |view, input, next| {
        let run = match input {
            Input::ProxyClosed(run) => view
                .run(run)
                .filter(|it| it.id.is_some() && when(it))
                .map(|it| (run, it)),
            _ => None,
        };
        if let Some((run, it)) = run {
            next.extend(says(it).map(|payload| response(run, payload)));
            if !notices {
                return;
            }
        }
        next.push(input.into());
    })
}

/// Holds the chunks of a long loop until something else happens, and forgets them when the proxy goes away.
#[derive(Default)]
struct Backlog {
    held: Vec<Step>,
}

impl Intercept<Role> for Backlog {
    fn input(&mut self, _: &View, input: Input, next: &mut Vec<Step>) {
        if matches!(input, Input::ProxyClosed(_)) {
            self.held.clear();
        }
        next.append(&mut self.held);
        next.push(input.into());
    }

    fn output(&mut self, view: &View, output: Output, next: &mut Vec<Step>) {
        let late = |message: &Message<'_>| message.is(Part::Chunk, |run| run.chunks >= 19);
        if view.read_output(&output).as_ref().is_some_and(late) {
            self.held.push(output.into());
        } else {
            next.push(output.into());
        }
    }
}
