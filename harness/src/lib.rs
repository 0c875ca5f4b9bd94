//! Finds out whether an implementation of the Diverge Provider Protocol does what the protocol says.
//!
//! - [`suite`]: the scenarios, built in or from files.
//! - [`iut`]: the implementation under test: in this tree, launched, or reached by its address.
//! - [`events`]: a stream of agent events as the implementation, and the emitters that its rules are tried on.
//! - [`play`]: plays one scenario across all roles and judges it.
//! - [`runner`]: plays many, and says what they come to.
//! - [`report`]: results for people and for programs.
//! - [`mutants`]: tries the scenarios on hollow peers, faults and conforming variants of the reference.
//! - [`cli`]: the command line over all of it.

pub mod cli;
mod commands;
pub mod config;
mod decode;
pub mod events;
pub mod iut;
mod lines;
pub mod mutants;
pub mod play;
pub mod reference;
pub mod report;
pub mod runner;
pub mod suite;
pub mod verdict;
