//! The proxy role of the conformance harness.
//!
//! A [`Hub`] serves the proxies of many containers on one address. A connection belongs to the scenario whose token its
//! messages carry: every scenario claims its tokens, and what no one claims is kept for the run's verdict.

pub mod echo;
mod hub;

pub use hub::{Arrival, Claim, Hub, Late, ProxyConnection, Unclaimed};
