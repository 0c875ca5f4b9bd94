//! Faults of reading a run request.

use crate::checks;
use crate::fault::{Fault, before, fault};
use crate::view::{Flow, Part};

pub(super) const FAULTS: &[Fault] = &[fault(
    "unreadable-explained",
    "request.answered-bare",
    "answers an unreadable request with an error",
    || {
        before(
            Flow::ToClient,
            |message| {
                message.is(Part::Finish, |run| {
                    run.responses == 0 && run.arguments.is_none()
                })
            },
            |message| vec![message.respond(checks::error("cannot be read"))],
        )
    },
)];
