//! What the protocol requires of this provider, one test for each scenario.
//!
//! `cargo test --test conformance`, or `cargo nextest run --test conformance`; an argument selects by name.

use std::process::ExitCode;

use diverge_conformance::cargo_test::{Conformance, Iut};

fn main() -> ExitCode {
    // A server in Rust can be started in this process instead:
    //
    //     Conformance::in_process(|place| async move {
    //         let server = my_provider::serve(place.listen, place.proxy, &place.credential).await?;
    //         Ok(Started::at(server.address(), server))
    //     })
    Conformance::launched(Iut::Provider, {{command}})
        .config("conformance.toml")
        // Failures that are known, each with its reason:
        // .baseline("conformance-baseline.toml")
        .run()
}
