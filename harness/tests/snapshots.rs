//! The golden transcripts of the in-tree references. A snapshot is a second oracle: verdicts are tested elsewhere.
//!
//! `INSTA_UPDATE=always` accepts what is new; `cargo insta review --workspace-root .` asks for each.

use std::process::ExitCode;

use diverge_conformance::cargo_test::{Conformance, Iut};
use diverge_conformance::kinds;

fn main() -> ExitCode {
    let kinds = kinds::all().iter().map(|kind| kind.iut());
    // Codecs and streams of events have no conversation.
    let conversing = kinds.filter(|iut| !matches!(iut, Iut::Codec | Iut::Events));
    let ends = conversing.map(|iut| {
        Conformance::reference(iut)
            .strict()
            .snapshots("../snapshots")
            .only_snapshots()
            .run()
    });
    let red = ends.fold(None, |red, end| {
        red.or((end != ExitCode::SUCCESS).then_some(end))
    });
    red.unwrap_or(ExitCode::SUCCESS)
}
