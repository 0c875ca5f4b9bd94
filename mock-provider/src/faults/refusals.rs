//! Faults of refusing a run request that can be read.

use crate::checks::Check;
use crate::fault::{Fault, fault, lose, switch_off};
use crate::view::{Flow, Part};

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "root-mount-taken",
        "mount.root-refused",
        "takes a mount at the root",
        || switch_off(Check::RootMount),
    ),
    fault(
        "same-path-taken",
        "mount.same-path-refused",
        "takes two mounts at one path",
        || switch_off(Check::SamePath),
    ),
    fault(
        "nested-taken",
        "mount.nested-refused",
        "takes a mount inside another",
        || switch_off(Check::NestedMount),
    ),
    fault(
        "refusal-unfinished",
        "refusal.then-finish",
        "does not finish a refused run",
        || {
            lose(Flow::ToClient, |message| {
                message.is(Part::Finish, |run| run.run.is_none() && run.responses > 0)
            })
        },
    ),
];
