//! The provider role of the conformance harness: a conforming reference, its named faults, conforming variants of it,
//! and hollow providers that implement nothing.
//!
//! - [`policy`] is the reference, without I/O. [`settings`] are the freedoms that it was given, [`checks`] what it
//!   refuses a request for.
//! - [`fault`] wraps the reference into an interceptor that spoils one thing; [`faults`] is the list of them.
//! - [`variants`] use the same means for what the protocol leaves free.
//! - [`hollow`] are providers that implement nothing.
//! - [`endpoint`] grants WebSockets and hands them over, for scenarios that say themselves what a provider does.
//! - [`server`] runs any of them on sockets.

mod channels;
pub mod checks;
mod credential;
pub mod endpoint;
pub mod fault;
pub mod faults;
pub mod hollow;
mod mend;
pub mod policy;
mod run;
pub mod server;
pub mod settings;
pub mod variants;
pub mod view;
