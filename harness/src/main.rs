//! The command line of the conformance harness.

use std::process::ExitCode;

fn main() -> ExitCode {
    diverge_conformance::cli::main()
}
