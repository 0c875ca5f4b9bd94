//! What the protocol requires of this {{kind}}, one test for each scenario.
//!
//! `cargo test --test conformance`, or `cargo nextest run --test conformance`; an argument selects by name.

use std::process::ExitCode;

use diverge_conformance::cargo_test::{Conformance, Iut};

fn main() -> ExitCode {
    Conformance::launched(Iut::{{variant}}, {{command}})
        .config("conformance.toml")
        // Failures that are known, each with its reason:
        // .baseline("conformance-baseline.toml")
        .run()
}
