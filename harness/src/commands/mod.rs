//! What each command of the command line does.

mod catalogue;
mod check;
mod decode;
mod diff;
mod emit;
mod init;
mod interrupt;
mod lint;
mod mutants;
mod report;
mod run;
mod serve;

pub(crate) use catalogue::{coverage, explain, list};
pub(crate) use check::check;
pub(crate) use decode::decode;
pub(crate) use diff::diff;
pub(crate) use emit::{client, codec, emit};
pub(crate) use init::init;
pub(crate) use lint::{freeze, lint};
pub(crate) use mutants::mutants;
pub(crate) use report::report;
pub(crate) use run::run;
pub(crate) use serve::{Role, serve};

use crate::output;
use crate::suite::SelectError;
use crate::verdict::Exit;

/// Says on standard error why a command cannot do what was asked.
pub(crate) fn complain(why: &str) {
    output::tell(&format!("error: {why}"));
}

/// Says what is wrong with a selection of scenarios.
pub(crate) fn complain_of(error: &SelectError) -> Exit {
    match error {
        SelectError::Mistakes(mistakes) => {
            lint::show(mistakes);
            complain(&error.to_string());
        }
        other => complain(&other.to_string()),
    }
    Exit::Usage
}
