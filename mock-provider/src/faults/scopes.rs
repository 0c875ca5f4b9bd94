//! Faults of scopes: their finish, their numbers, and several of them at once.

use std::collections::{HashMap, HashSet};

use bytes::Bytes;
use diverge_protocol::wire::request::RunRequest;
use diverge_protocol::wire::run::RunKind;
use diverge_protocol::wire::{Frame, FrameType, Profile};

use crate::checks;
use crate::fault::{
    Fault, Intercept, Interceptor, Role, Step, after, before, double, fault, lose, on_input,
    replace, rewrite,
};
use crate::policy::{ClientId, Input, Output};
use crate::view::{Flow, Message, Part, RunView, View};

/// The first byte of a stop.
const STOP: u8 = 0;
/// Scope numbers that no client counts up to. Faults between connections look at these alone, so that they do not
/// reach every conversation that happens at the same time.
const HIGH: u32 = 0x5c_0000;

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "finish-twice",
        "scope.finished-once",
        "finishes a scope twice",
        || double(Flow::ToClient, |message| message.part == Part::Finish),
    ),
    fault(
        "each-stop-finishes",
        "scope.finished-once",
        "finishes a scope again for each further stop",
        || {
            before(
                Flow::FromClient,
                |message| {
                    asks(message, STOP)
                        && message
                            .run
                            .is_some_and(|run| run.finished && run.id.is_some())
                },
                |message| vec![message.finish()],
            )
        },
    ),
    fault(
        "chunk-on-ended-scope",
        "scope.silent-after-finish",
        "sends a chunk also on the scope of a run that was stopped in its loop",
        || {
            after(
                Flow::ToClient,
                |message| message.part == Part::Chunk,
                |message| {
                    beside(message, |run| run.finished && run.in_loop)
                        .map(|run| tell(run, message.frame.payload.clone()))
                        .collect()
                },
            )
        },
    ),
    // Requests on a scope that is open
    fault(
        "duplicate-finished",
        "scope.duplicate-ignored",
        "finishes a request on a scope that is open",
        || {
            replace(
                Flow::FromClient,
                |message| message.is(Part::Request, |run| !run.finished),
                |message| vec![message.finish()],
            )
        },
    ),
    fault(
        "duplicate-gets-an-id",
        "scope.duplicate-ignored",
        "answers a request on the scope of a quiet run with an id",
        || {
            before(
                Flow::FromClient,
                |message| {
                    let quiet = |run: &RunView| {
                        run.loops == 0 && run.id.is_some() && run.client_channels.is_empty()
                    };
                    repeats(message, quiet) && Asked::of(message) == Asked::Fine
                },
                |message| vec![message.respond(&b"\0{\"id\":\"once-more\"}"[..])],
            )
        },
    ),
    fault(
        "duplicate-ends-bring-up",
        "scope.duplicate-ignored",
        "finishes a run whose scope is requested again before the id",
        || {
            before(
                Flow::FromClient,
                |message| repeats(message, |run| run.id.is_none()),
                |message| vec![message.finish()],
            )
        },
    ),
    fault(
        "duplicate-ends-loop",
        "scope.duplicate-ignored",
        "ends the loop of a run whose scope is requested again",
        || {
            before(
                Flow::FromClient,
                |message| repeats(message, |run| run.in_loop),
                |message| vec![message.respond(&b"\x09{}"[..])],
            )
        },
    ),
    fault(
        "duplicate-unreadable-finished",
        "scope.duplicate-ignored",
        "finishes the scope for a request that it cannot read, open or not",
        || {
            before(
                Flow::FromClient,
                |message| repeats(message, |_| true) && Asked::of(message) == Asked::Unreadable,
                |message| vec![message.finish()],
            )
        },
    ),
    fault(
        "duplicate-refused",
        "scope.duplicate-ignored",
        "refuses a request before it looks whether the scope is open",
        || {
            before(
                Flow::FromClient,
                |message| repeats(message, |_| true) && Asked::of(message) == Asked::Refusable,
                |message| vec![message.respond(checks::error("no such mount"))],
            )
        },
    ),
    fault(
        "duplicate-drops-channels",
        "scope.duplicate-ignored",
        "forgets the channels of a scope that is requested again",
        || {
            lose(Flow::ToClient, |message| {
                message.is(Part::Answer, |run| run.duplicates > 0)
            })
        },
    ),
    fault(
        "duplicate-queued",
        "scope.duplicate-ignored",
        "serves a request on an open scope once the scope is finished",
        || Box::new(Queue::default()),
    ),
    // A number after its finish
    fault(
        "number-spent-by-bare-finish",
        "scope.number-reusable",
        "ignores a request on the number of one that it could not read",
        || {
            lose(Flow::FromClient, |message| {
                reuses(message, |run| run.responses == 0 && run.arguments.is_none())
            })
        },
    ),
    fault(
        "number-spent-by-stop",
        "scope.number-reusable",
        "ignores a request on the number of a run that was stopped after a loop",
        || {
            lose(Flow::FromClient, |message| {
                reuses(message, |run| stopped(run) && run.loops > 0 && !run.in_loop)
            })
        },
    ),
    fault(
        "number-spent-by-refusal",
        "scope.number-reusable",
        "ignores a request on the number of a run that was refused",
        || {
            lose(Flow::FromClient, |message| {
                reuses(message, |run| run.responses > 0 && run.id.is_none())
            })
        },
    ),
    fault(
        "number-spent-by-the-proxys-end",
        "scope.number-reusable",
        "ignores a request on the number of a run that its proxy ended",
        || {
            lose(Flow::FromClient, |message| {
                reuses(message, |run| run.id.is_some() && !stopped(run))
            })
        },
    ),
    fault(
        "old-id-again",
        "scope.number-reusable",
        "gives the third run on a number the id of the first",
        || {
            let mut given: HashMap<(ClientId, u32), Vec<Bytes>> = HashMap::new();
            rewrite(
                Flow::ToClient,
                |message| message.part == Part::Id,
                move |message| {
                    let ids = given.entry(message.scope()).or_default();
                    ids.push(message.frame.payload.clone());
                    let at = if ids.len() == 3 { 0 } else { ids.len() - 1 };
                    ids[at].clone()
                },
            )
        },
    ),
    fault(
        "loop-outlives-run",
        "scope.number-reusable",
        "takes a loop in which a run was stopped for one of the next run on the number",
        || {
            lose(Flow::ToClient, |message| {
                message.is(Part::Active, |run| {
                    run.previous.as_ref().is_some_and(|old| old.in_loop)
                })
            })
        },
    ),
    fault(
        "channels-outlive-run",
        "scope.number-reusable",
        "keeps the channels of a run for the next run on the number",
        || {
            lose(Flow::FromClient, |message| {
                !asks(message, STOP)
                    && message.is(Part::Ask, |run| {
                        let old = run.previous.as_ref();
                        old.is_some_and(|old| {
                            old.client_channels.contains_key(&message.frame.channel)
                        })
                    })
            })
        },
    ),
    // Numbers
    fault(
        "scope-zero-unserved",
        "scope.any-number",
        "keeps scope 0 for itself",
        || unserved(|scope| scope == 0),
    ),
    fault(
        "scope-signed",
        "scope.any-number",
        "reads scope numbers with a sign",
        || unserved(|scope| scope > 0x7fff_ffff && scope < u32::MAX),
    ),
    fault(
        "scope-limit-unserved",
        "scope.any-number",
        "has no room for the highest number with a sign",
        || unserved(|scope| scope == 0x7fff_ffff),
    ),
    fault(
        "scope-max-unserved",
        "scope.any-number",
        "keeps the highest scope number for itself",
        || unserved(|scope| scope == u32::MAX),
    ),
    fault(
        "scope-one-byte",
        "scope.any-number",
        "tells scopes apart by their last byte",
        || {
            lose(Flow::FromClient, |message| {
                let alike =
                    |run: &RunView| !run.finished && run.scope & 0xff == message.frame.scope & 0xff;
                message.part == Part::Request && beside(message, alike).next().is_some()
            })
        },
    ),
    // Several at once
    fault(
        "chunk-to-the-other-run",
        "scope.parallel-runs",
        "sends a chunk on the scope of another run that is in a loop",
        || {
            replace(
                Flow::ToClient,
                |message| message.part == Part::Chunk && beside(message, looping).next().is_some(),
                |message| {
                    beside(message, looping)
                        .take(1)
                        .map(|run| tell(run, message.frame.payload.clone()))
                        .collect()
                },
            )
        },
    ),
    fault(
        "stop-ends-all",
        "scope.parallel-runs",
        "ends all quiet runs of a connection with the stop of one",
        || {
            after(
                Flow::FromClient,
                |message| asks(message, STOP) && message.run.is_some_and(|run| run.loops == 0),
                |message| {
                    beside(message, |run| open(run) && run.loops == 0)
                        .flat_map(cut)
                        .collect()
                },
            )
        },
    ),
    fault(
        "proxys-end-ends-all",
        "scope.parallel-runs",
        "ends all runs of a connection when one proxy ends its run",
        || {
            after(
                Flow::FromProxy,
                |message| matches!(message.part, Part::Finish | Part::LateError),
                |message| beside(message, open).flat_map(cut).collect(),
            )
        },
    ),
    fault(
        "one-bring-up-at-a-time",
        "scope.parallel-runs",
        "does not take on a run while another one of the connection has no id",
        || {
            lose(Flow::FromClient, |message| {
                let starting =
                    |run: &RunView| run.run.is_some() && run.id.is_none() && !run.finished;
                message.part == Part::Request && beside(message, starting).next().is_some()
            })
        },
    ),
    fault(
        "fourth-run-unserved",
        "scope.parallel-runs",
        "does not take on a run beside three others",
        || {
            lose(Flow::FromClient, |message| {
                message.part == Part::Request && beside(message, open).count() >= 3
            })
        },
    ),
    // Several connections
    fault(
        "number-open-elsewhere",
        "scope.numbers-per-connection",
        "ignores a request on a number under which another connection's run is starting",
        || {
            lose(Flow::FromClient, |message| {
                let starting = |run: &RunView| run.id.is_none() && !run.finished;
                message.part == Part::Request && namesakes(message, starting).next().is_some()
            })
        },
    ),
    fault(
        "chunk-to-the-other-connection",
        "scope.numbers-per-connection",
        "sends a chunk to another connection whose scope has the same number",
        || {
            replace(
                Flow::ToClient,
                |message| {
                    message.part == Part::Chunk && namesakes(message, looping).next().is_some()
                },
                |message| {
                    namesakes(message, looping)
                        .take(1)
                        .map(|run| tell(run, message.frame.payload.clone()))
                        .collect()
                },
            )
        },
    ),
    fault(
        "stop-by-number",
        "scope.numbers-per-connection",
        "ends the runs of all connections under the number of a stop",
        || {
            after(
                Flow::FromClient,
                |message| asks(message, STOP),
                |message| namesakes(message, open).flat_map(cut).collect(),
            )
        },
    ),
    fault(
        "number-lost-with-its-connection",
        "scope.numbers-per-connection",
        "ignores requests on a number that was open when its connection ended",
        || {
            let mut lost = HashSet::new();
            on_input(move |view, input, next| {
                if let Input::ClientClosed(client) | Input::ClientLost(client) = &input {
                    lost.extend(
                        left_open(view, *client)
                            .map(|run| run.scope)
                            .filter(|scope| *scope > HIGH),
                    );
                }
                let dead = view.read_input(&input).is_some_and(|message| {
                    message.part == Part::Request && lost.contains(&message.frame.scope)
                });
                if !dead {
                    next.push(input.into());
                }
            })
        },
    ),
    fault(
        "gone-client-takes-number",
        "scope.connections-independent",
        "ends the runs of all connections under the number of a run whose client is gone",
        || {
            on_client_gone(|view, gone, next| {
                for run in left_open(view, gone) {
                    let same = |other: &&RunView| other.scope == run.scope && other.client != gone;
                    next.extend(
                        view.runs()
                            .filter(same)
                            .filter(|it| it.scope > HIGH && open(it))
                            .flat_map(cut),
                    );
                }
            })
        },
    ),
    fault(
        "gone-client-takes-loops",
        "scope.connections-independent",
        "ends the loops of other connections with one whose client is gone",
        || {
            on_client_gone(|view, gone, next| {
                if left_open(view, gone).any(|run| run.in_loop && run.scope > HIGH) {
                    let others = view
                        .runs()
                        .filter(|it| it.client != gone && it.scope > HIGH);
                    next.extend(others.filter(|it| looping(it)).flat_map(cut));
                }
            })
        },
    ),
];

/// What a run request on an open scope asks.
#[derive(PartialEq)]
enum Asked {
    Fine,
    Refusable,
    Unreadable,
}

impl Asked {
    fn of(message: &Message<'_>) -> Self {
        match RunRequest::decode(Profile::scope(), &message.frame.payload) {
            Err(_) => Self::Unreadable,
            Ok(request) if checks::refusal(&request, &message.view.settings).is_some() => {
                Self::Refusable
            }
            Ok(_) => Self::Fine,
        }
    }
}

/// Keeps requests on scopes that are open, after a first loop, until those are finished.
#[derive(Default)]
struct Queue(HashMap<(ClientId, u32), Input>);

impl Intercept<Role> for Queue {
    fn input(&mut self, view: &View, input: Input, next: &mut Vec<Step>) {
        let waits = view.read_input(&input).and_then(|message| {
            repeats(&message, |run| run.loops > 0 && !run.in_loop).then(|| message.scope())
        });
        match waits {
            Some(scope) => drop(self.0.insert(scope, input)),
            None => next.push(input.into()),
        }
    }

    fn output(&mut self, view: &View, output: Output, next: &mut Vec<Step>) {
        let finished = view
            .read_output(&output)
            .filter(|message| message.flow == Flow::ToClient && message.part == Part::Finish)
            .map(|message| message.scope());
        next.push(output.into());
        if let Some(request) = finished.and_then(|scope| self.0.remove(&scope)) {
            next.push(request.into());
        }
    }
}

/// Does not hear requests on these scopes.
fn unserved(scopes: fn(u32) -> bool) -> Interceptor {
    lose(Flow::FromClient, move |message| {
        message.part == Part::Request && scopes(message.frame.scope)
    })
}

/// Does something besides when a client is gone.
fn on_client_gone(
    mut f: impl FnMut(&View, ClientId, &mut Vec<Step>) + Send + 'static,
) -> Interceptor {
    on_input(move |view, input, next| {
        if let Input::ClientClosed(client) | Input::ClientLost(client) = &input {
            f(view, *client, next);
        }
        next.push(input.into());
    })
}

/// Whether it opens a channel of the client's with that first byte.
pub(super) fn asks(message: &Message<'_>, tag: u8) -> bool {
    message.flow == Flow::FromClient
        && message.part == Part::Ask
        && message.frame.payload.first() == Some(&tag)
}

/// Whether it requests something on a scope that is open.
fn repeats(message: &Message<'_>, when: impl FnOnce(&RunView) -> bool) -> bool {
    message.flow == Flow::FromClient && message.is(Part::Request, |run| !run.finished && when(run))
}

/// Whether it requests something on a scope that is finished.
fn reuses(message: &Message<'_>, when: impl FnOnce(&RunView) -> bool) -> bool {
    message.flow == Flow::FromClient && message.is(Part::Request, |run| run.finished && when(run))
}

fn stopped(run: &RunView) -> bool {
    run.client_channels
        .values()
        .any(|ask| ask.first() == Some(&STOP))
}

/// Whether the run has its id and no finish.
pub(super) fn open(run: &RunView) -> bool {
    run.id.is_some() && !run.finished
}

fn looping(run: &RunView) -> bool {
    open(run) && run.in_loop
}

/// The other runs of the same connection.
pub(super) fn beside<'a>(
    message: &'a Message<'_>,
    when: impl Fn(&RunView) -> bool + 'a,
) -> impl Iterator<Item = &'a RunView> {
    let (client, scope) = message.scope();
    message
        .view
        .runs()
        .filter(move |run| run.client == client && run.scope != scope && when(run))
}

/// The runs of other connections under the same high number.
fn namesakes<'a>(
    message: &'a Message<'_>,
    when: impl Fn(&RunView) -> bool + 'a,
) -> impl Iterator<Item = &'a RunView> {
    let (client, scope) = message.scope();
    message
        .view
        .runs()
        .filter(move |run| scope > HIGH && run.client != client && run.scope == scope && when(run))
}

/// The runs that a client leaves without a finish.
pub(super) fn left_open(view: &View, client: ClientId) -> impl Iterator<Item = &RunView> {
    view.runs()
        .filter(move |run| run.client == client && open(run))
}

/// The run ends as if its proxy were gone.
pub(super) fn cut(run: &RunView) -> Option<Step> {
    run.run.map(|run| Input::ProxyClosed(run).into())
}

/// A response on that run's scope.
fn tell(run: &RunView, payload: Bytes) -> Step {
    debug_assert_eq!(RunKind::of(&payload).ok(), Some(RunKind::Chunk));
    Output::ToClient(
        run.client,
        Frame::new(FrameType::Response, run.scope, 0, payload).encode(),
    )
    .into()
}
