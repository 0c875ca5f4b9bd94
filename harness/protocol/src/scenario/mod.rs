//! The scenario file format: a conversation across all roles, as a person writes it.
//!
//! [`Suite::load`] reads files and reports every mistake at its line and column; [`json_schema`] describes the format
//! to editors; [`lint`] proves that each malformed probe is one mutation away from a well-formed message.

pub mod acts;
pub mod codec;
pub mod defaults;
mod error;
mod interpolate;
pub mod lint;
mod load;
mod model;
mod node;
mod step;
#[cfg(test)]
mod tests;
mod vocabulary;

pub use error::{Mistake, MistakeKind};
pub use interpolate::replace;
pub use load::Suite;
pub use model::{
    Action, Args, ClientExpectation, ClientMessage, Fixture, Iut, Located, Part, Place,
    ProxyExpectation, ProxyMessage, Scenario, Source, Step,
};
pub use vocabulary::json_schema;
