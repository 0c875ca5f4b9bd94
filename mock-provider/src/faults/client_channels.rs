//! Faults of what the client asks on channels.

use crate::fault::{Fault, fault, lose};
use crate::view::{Flow, Part};

pub(super) const FAULTS: &[Fault] = &[fault(
    "enqueue-answer-lost",
    "enqueue.answer-relayed",
    "finishes an enqueue without its answer",
    || {
        lose(Flow::ToClient, |message| {
            message.is(Part::Answer, |run| {
                run.client_channels
                    .get(&message.frame.channel)
                    .is_some_and(|ask| ask.first() == Some(&8))
            })
        })
    },
)];
