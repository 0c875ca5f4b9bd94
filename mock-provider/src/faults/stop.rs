//! Faults of a stop.

use bytes::Bytes;
use diverge_protocol::wire::profile::ClientChannel::{self, Dequeue, Schema, Stop};
use diverge_protocol::wire::{Frame, FrameType};

use super::client_channels::{Unfed, answer, finish, open, opens, opens_when, turn_away};
use crate::fault::{Fault, Interceptor, before, fault, lose, on_input, replace};
use crate::policy::Output;
use crate::view::{Flow, RunView};

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "stop-ignored",
        "stop.finishes-run",
        "does nothing on a stop",
        || unheard(|_| true),
    ),
    fault(
        "stop-number-signed",
        "stop.finishes-run",
        "loses a stop whose channel number is the smallest of 32 bits with a sign",
        || {
            lose(Flow::FromClient, |message| {
                opens(message, Stop) && message.frame.channel == 0x8000_0000
            })
        },
    ),
    fault(
        "stop-unheard-in-third-loop",
        "stop.finishes-run",
        "does nothing on a stop in a loop that is not one of the first two",
        || unheard(|run| run.in_loop && run.loops > 2),
    ),
    fault(
        "stop-awaits-feed",
        "stop.finishes-run",
        "does nothing on a stop while a dequeue waits and the values that a loop handed back have not been fed again",
        || {
            let mut unfed = Unfed::default();
            on_input(move |view, input, next| {
                if let Some(message) = view.read_input(&input) {
                    unfed.note(&message);
                    if opens_when(&message, Stop, |run| open(run, Dequeue) > 0)
                        && unfed.is(&message)
                    {
                        return;
                    }
                }
                next.push(input.into());
            })
        },
    ),
    fault(
        "stop-with-bytes-unreadable",
        "stop.extra-bytes-ignored",
        "finishes the channel of a stop that has bytes behind its first, and goes on",
        || turn_away(|message| opens(message, Stop) && message.frame.payload.len() > 1),
    ),
    fault(
        "stop-answered",
        "stop.no-answer",
        "answers a stop on its channel",
        || {
            before(
                Flow::FromClient,
                |message| opens_when(message, Stop, |run| run.id.is_some()),
                |message| vec![answer(message, vec![0])],
            )
        },
    ),
    fault(
        "stop-awaits-schema",
        "stop.with-pending-channels",
        "does nothing on a stop while a schema is owed",
        || unheard(|run| open(run, Schema) > 0),
    ),
    fault(
        "stop-lost-in-crowd",
        "stop.with-pending-channels",
        "does nothing on a stop while ten channels are open",
        || unheard(|run| run.client_channels.len() >= 10),
    ),
    fault(
        "stop-awaits-client",
        "stop.with-pending-channels",
        "does nothing on a stop while the client owes an answer",
        || unheard(|run| !run.asks.is_empty()),
    ),
    fault(
        "stop-before-id-lost",
        "stop.during-bring-up",
        "forgets a stop that comes before the id",
        || unheard(|run| run.id.is_none()),
    ),
    fault(
        "dequeue-after-finish-answered",
        "channel.ended-by-scope-finish",
        "answers a dequeue on a run that is over",
        || {
            replace(
                Flow::FromClient,
                |message| opens(message, Dequeue) && message.run.is_some_and(|run| run.finished),
                |message| {
                    vec![
                        answer(message, vec![1]),
                        finish(message, message.frame.channel),
                    ]
                },
            )
        },
    ),
    fault(
        "stop-finishes-namesake",
        "enqueue.late-answer",
        "finishes the channels of other runs that have the number of the stop's",
        || {
            before(
                Flow::FromClient,
                |message| opens(message, Stop),
                |message| {
                    let (client, scope) = message.scope();
                    let runs = message.view.client(client).map(|client| &client.runs);
                    let others = runs.into_iter().flatten().filter(|(other, run)| {
                        **other != scope && run.client_channels.contains_key(&message.frame.channel)
                    });
                    others
                        .map(|(other, _)| {
                            let kind = FrameType::ChannelResponseFinish;
                            let frame =
                                Frame::new(kind, *other, message.frame.channel, Bytes::new());
                            Output::ToClient(client, frame.encode()).into()
                        })
                        .collect()
                },
            )
        },
    ),
];

/// Loses the stops of runs for which `when` holds.
fn unheard(when: fn(&RunView) -> bool) -> Interceptor {
    lose(Flow::FromClient, move |message| {
        opens_when(message, ClientChannel::Stop, when)
    })
}
