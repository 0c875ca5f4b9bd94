//! Payload codecs: what the bytes on each surface of the protocol mean, and why they do not.
//!
//! Every decoder here is strict where the pages are (an object is an object, a string constant a string), keeps
//! what it read as raw bytes beside what it says about them, never panics, and answers a payload that it cannot
//! read with [`Malformed`]: the [`Rule`] broken and the place, without a byte of the payload itself.

pub mod agent_event;
pub mod agent_server;
pub mod begin;
pub mod channel;
pub mod chunk;
pub mod client_line;
pub mod credential;
pub mod frame;
mod logprob;
mod malformed;
pub mod mcp;
pub mod merge;
pub mod mutate;
mod open;
mod parts;
pub mod path_run;
pub mod profile;
mod reader;
pub mod request;
pub mod run;
mod scan;
pub mod shape;
pub mod sse;
pub mod surface;
mod tape;
pub(crate) mod vocabulary;
pub mod words;

pub use credential::{credential_payload, read_credential};
pub use frame::{Frame, FrameType};
use malformed::Unsaid;
pub use malformed::{Malformed, Rule};
pub use open::leaves_open;
pub use profile::Profile;
