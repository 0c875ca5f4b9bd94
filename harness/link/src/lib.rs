//! WebSocket and HTTP endpoints of the conformance harness: connections that carry whole messages, calls and the streams
//! of events that answer them, and nothing that judges any of it.
//!
//! Everything here is mechanism. A [`Connection`] sends what it is given, byte for byte, and hands over what came; pings
//! are answered below it. Either half can be used from its own task, as those of [`Lines`] are. [`http`] calls a server on
//! a connection of the call's own.

mod connection;
pub mod http;
mod line;
mod listener;

pub use connection::{ConnectError, Connection, Limits, Message, Receiver, Sender, connect};
pub use line::{Heard, Lines};
pub use listener::{Handshake, Listener};
