//! The agent server role of the conformance harness.
//!
//! - [`Endpoint`] is what a scenario drives: it reports every [`Call`], and does what it is told with it.

mod call;
mod endpoint;

pub use call::{Answer, Asked, Call, CallId, Head, Over};
pub use endpoint::{Arrival, Endpoint};
