//! Faults between the request and the id.

use crate::fault::{Fault, before, double, fault};
use crate::view::{Flow, Part};

pub(super) const FAULTS: &[Fault] = &[
    fault("id-twice", "run.id-once", "sends the id twice", || {
        double(Flow::ToClient, |message| message.part == Part::Id)
    }),
    fault(
        "active-before-id",
        "run.active.not-before-id",
        "says active before the id",
        || {
            before(
                Flow::ToClient,
                |message| message.part == Part::Id,
                |message| vec![message.respond(vec![8])],
            )
        },
    ),
];
