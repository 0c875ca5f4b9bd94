//! Finds out whether an implementation of the Diverge Provider Protocol does what the protocol says.
//!
//! - [`suite`]: the scenarios, built in or from files.
//! - [`kinds`]: the kinds of implementations, each with its scenarios, its reference and how a run of it goes.
//! - [`iut`]: the implementation under test: in this tree, launched, or reached by its address.
//! - [`process`]: the programs that are started.
//! - [`client`]: the in-tree client and its forms.
//! - [`codec`]: a codec as the implementation, and the forms of ours that its vectors are tried on.
//! - [`events`]: a stream of agent events as the implementation, and the emitters that its rules are tried on.
//! - [`play`]: plays one scenario across all roles and judges it.
//! - [`runner`]: what a run tells, and what it comes to.
//! - [`order`]: which part of a selection is played, in which order and how often.
//! - [`baseline`]: failures that are known and expected.
//! - [`report`]: results for people and for programs.
//! - [`diff`]: what moved between two runs.
//! - [`mutants`]: tries the scenarios on hollow peers, faults and conforming variants of the reference.
//! - [`cargo_test`]: the scenarios as tests of `cargo test` and `cargo nextest`.
//! - [`cli`]: the command line over all of it.

pub mod baseline;
pub mod cargo_test;
pub mod cli;
pub mod client;
pub mod codec;
mod commands;
pub mod config;
mod decode;
pub mod diff;
pub mod events;
mod files;
pub mod iut;
pub mod kinds;
mod lines;
pub mod mutants;
pub mod order;
mod output;
pub mod play;
mod port;
pub mod process;
mod recorded;
pub mod report;
pub mod runner;
pub mod suite;
pub mod verdict;
