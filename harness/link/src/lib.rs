//! WebSocket endpoints of the conformance harness: connections that carry whole messages, and nothing that judges them.
//!
//! Everything here is mechanism. A [`Connection`] sends what it is given, byte for byte, and hands over what came; pings
//! are answered below it. Either half can be used from its own task.

mod connection;
mod listener;

pub use connection::{ConnectError, Connection, Limits, Message, Receiver, Sender, connect};
pub use listener::{Handshake, Listener};
