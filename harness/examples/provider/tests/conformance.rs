//! What the protocol requires of a provider, one test for each scenario: `cargo test --test conformance`.

use std::process::ExitCode;

use diverge_conformance::cargo_test::{Conformance, Started};
use example_provider::{Settings, serve};

fn main() -> ExitCode {
    Conformance::in_process(|place| async move {
        let (listen, proxy, credential) = (place.listen, place.proxy, place.credential);
        let (address, server) = serve(Settings {
            listen,
            proxy,
            credential,
        })
        .await?;
        Ok(Started::at(address, server))
    })
    .baseline("tests/baseline.toml")
    .run()
}
