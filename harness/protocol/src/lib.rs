//! The Diverge Provider Protocol without I/O: bytes and events in, values and verdicts out.
//!
//! - [`wire`]: the codecs of every payload.
//! - [`transcript`]: what happened on the links of a scenario.
//! - [`rules`]: the catalogue of requirements, and the checkers that judge a transcript as it grows.
//! - [`scenario`]: the scenario file format, its loader and its linter.
//! - [`toml_fault`]: what is wrong with a TOML file.

pub mod rules;
pub mod scenario;
pub mod toml_fault;
pub mod transcript;
pub mod wire;
