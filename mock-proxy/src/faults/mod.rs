//! The faults, by topic. Each breaks one requirement and leaves the rest alone.
//!
//! A fault is one entry of its topic's table: a name, the requirement that it breaks, what it does, and the interceptor,
//! built from the combinators of [`crate::fault`].

use crate::fault::Fault;

mod connection;

/// All faults, of both revisions.
pub fn all() -> impl Iterator<Item = &'static Fault> {
    [connection::FAULTS].into_iter().flatten()
}

/// The fault of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Fault> {
    all().find(|fault| fault.name == name)
}
