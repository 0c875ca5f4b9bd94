//! The proxy role of the conformance harness: an endpoint that scenarios drive, and a conforming reference with its named
//! faults, conforming variants, and hollow proxies that implement nothing.
//!
//! A [`Hub`] serves the proxies of many containers on one address, towards a provider that is judged. A connection belongs
//! to the scenario whose token its messages carry: every scenario claims its tokens, and what no one claims is kept for
//! the run's verdict.
//!
//! The reference is what the harness is tried on where a proxy is judged:
//! - [`scope`] and [`path`] are the reference of each revision, without I/O; [`policy`] has the words that they hear and
//!   say. [`settings`] are the freedoms that they were given.
//! - [`fault`] wraps the reference into an interceptor that spoils one thing; [`faults`] is the list of them.
//! - [`variants`] use the same means for what the protocol leaves free.
//! - [`hollow`] are proxies that implement nothing.
//! - [`server`] runs any of them on sockets.

pub mod answers;
pub mod echo;
pub mod fault;
pub mod faults;
pub mod hollow;
mod hub;
pub mod path;
pub mod policy;
mod queue;
pub mod scope;
pub mod server;
pub mod settings;
pub mod variants;
pub mod view;

pub use hub::{Arrival, Claim, Hub, Late, ProxyConnection, Unclaimed};
