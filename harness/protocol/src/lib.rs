//! The Diverge Provider Protocol without I/O: bytes and events in, values and verdicts out.
//!
//! - [`wire`]: the codecs of every payload.
//! - [`transcript`]: what happened on the links of a scenario.
//! - [`rules`]: the catalogue of requirements, and the checkers that judge a transcript as it grows.
//! - [`scenario`]: the scenario file format, its loader and its linter.
//! - [`toml_fault`]: what is wrong with a TOML file.
//! - `strategies`, with the feature of that name: valid payloads, broken ones and near ones, for property tests.

pub mod rules;
pub mod scenario;
#[cfg(feature = "strategies")]
pub mod strategies;
pub mod toml_fault;
pub mod transcript;
pub mod wire;
