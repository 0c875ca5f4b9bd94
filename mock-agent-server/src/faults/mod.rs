//! The faults, by topic. Each breaks one requirement and leaves the rest alone, as far as that can be had.
//!
//! A fault is one entry of its topic's table: a name, the requirement that it breaks, what it does, and the interceptor,
//! built from the combinators of [`crate::fault`].

use crate::fault::Fault;

mod chunks;
mod dequeue;
mod edit;
mod enqueue;
mod failure;
mod loops;
mod parts;
mod port;
mod refusals;
mod register;
mod schema;
mod stream;
mod tools;

pub(crate) use edit::{append, edit, edited};

/// All faults.
pub fn all() -> impl Iterator<Item = &'static Fault> {
    [
        port::FAULTS,
        register::FAULTS,
        schema::FAULTS,
        refusals::FAULTS,
        loops::FAULTS,
        stream::FAULTS,
        chunks::FAULTS,
        parts::FAULTS,
        failure::FAULTS,
        enqueue::FAULTS,
        dequeue::FAULTS,
        tools::FAULTS,
    ]
    .into_iter()
    .flatten()
}

/// The fault of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Fault> {
    all().find(|fault| fault.name == name)
}
