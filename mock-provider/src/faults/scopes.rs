//! Faults of scopes.

use crate::fault::{Fault, double, fault, replace};
use crate::view::{Flow, Part};

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "finish-twice",
        "scope.finished-once",
        "finishes a scope twice",
        || double(Flow::ToClient, |message| message.part == Part::Finish),
    ),
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
];
