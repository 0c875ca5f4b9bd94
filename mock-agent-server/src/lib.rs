//! The agent server role of the conformance harness: an endpoint for scenarios, and a conforming reference with named
//! faults, conforming variants of it, and hollow agent servers that implement nothing.
//!
//! - [`Endpoint`] is what a scenario drives: it reports every [`Call`], and does what it is told with it.
//! - [`policy`] is the reference, without I/O; what it says is scripted by the text of the messages, as
//!   [`settings::MESSAGES`] lists. [`settings`] are the freedoms that it was given.
//! - [`fault`] wraps the reference into an interceptor that spoils one thing; [`faults`] is the list of them.
//! - [`variants`] use the same means for what the protocol leaves free.
//! - [`hollow`] are agent servers that implement nothing.
//! - [`server`] runs any of them on an endpoint.

mod call;
mod endpoint;
pub mod fault;
pub mod faults;
pub mod hollow;
pub mod policy;
pub mod server;
pub mod settings;
mod talk;
pub mod variants;
pub mod view;

pub use call::{Answer, Asked, Call, CallId, Head, Over};
pub use endpoint::{Arrival, Endpoint, Reserved};
