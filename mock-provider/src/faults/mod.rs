//! The faults, by topic. Each breaks one requirement and leaves the rest alone.
//!
//! A fault is one entry of its topic's table: a name, the requirement that it breaks, what it does, and the interceptor,
//! built from the combinators of [`crate::fault`].

use crate::fault::Fault;

mod auth;
mod bringup;
mod channels;
mod client_channels;
mod dequeue;
mod endings;
mod enqueue;
mod refusals;
mod requests;
mod schema;
mod scopes;
mod stop;
mod stream;
mod transport;

/// All faults.
pub fn all() -> impl Iterator<Item = &'static Fault> {
    [
        transport::FAULTS,
        auth::FAULTS,
        scopes::FAULTS,
        channels::FAULTS,
        requests::FAULTS,
        refusals::FAULTS,
        bringup::FAULTS,
        stream::FAULTS,
        stop::FAULTS,
        enqueue::FAULTS,
        dequeue::FAULTS,
        schema::FAULTS,
        endings::FAULTS,
    ]
    .into_iter()
    .flatten()
}

/// The fault of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Fault> {
    all().find(|fault| fault.name == name)
}
