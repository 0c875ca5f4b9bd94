//! The faults, by topic. Each breaks one requirement and leaves the rest alone.
//!
//! A fault is one entry of its topic's table: a name, the requirement that it breaks, what it does, and the interceptor,
//! built from the combinators of [`crate::fault`].

use crate::fault::Fault;

mod arguments;
mod auth;
mod bringup;
mod channels;
mod chunks;
mod client_channels;
mod dequeue;
mod disorder;
mod endings;
mod enqueue;
mod frames;
mod ids;
mod mounts;
mod proxy_ends;
mod refusals;
mod request_types;
mod requests;
mod schema;
mod scopes;
mod second_credential;
mod stop;
mod stream;
mod transport;
pub(crate) mod volumes;

/// All faults.
pub fn all() -> impl Iterator<Item = &'static Fault> {
    [
        transport::FAULTS,
        frames::FAULTS,
        auth::FAULTS,
        second_credential::FAULTS,
        scopes::FAULTS,
        channels::FAULTS,
        requests::FAULTS,
        request_types::FAULTS,
        arguments::FAULTS,
        mounts::FAULTS,
        volumes::FAULTS,
        refusals::FAULTS,
        bringup::FAULTS,
        ids::FAULTS,
        stream::FAULTS,
        chunks::FAULTS,
        disorder::FAULTS,
        proxy_ends::FAULTS,
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
