//! The reference's faults, each a plain way to break one requirement.

mod ends;
mod reads;
mod says;

use super::{Deed, Form};
use crate::mutants::Duty;

const fn fault(
    name: &'static str,
    requirement: &'static str,
    about: &'static str,
    deed: Deed,
) -> Form {
    Form {
        name,
        about,
        duty: Duty::Caught(requirement),
        deed,
    }
}

/// All of them.
pub(super) fn all() -> impl Iterator<Item = &'static Form> {
    says::FAULTS.iter().chain(reads::FAULTS).chain(ends::FAULTS)
}
