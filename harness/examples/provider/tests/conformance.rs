//! What the protocol requires of a provider, one test for each scenario: `cargo test --test conformance`.

use std::process::ExitCode;

use diverge_conformance::cargo_test::{Conformance, Started};

fn main() -> ExitCode {
    Conformance::in_process(|place| async move {
        let (address, server) =
            example_provider::serve(place.listen, place.proxy, place.credential).await?;
        Ok(Started::at(address, server))
    })
    .baseline("tests/baseline.toml")
    .run()
}
