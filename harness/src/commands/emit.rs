//! The hidden commands that play an in-tree reference as a program of its own.

use super::complain;
use crate::events::emitter::{self, REFERENCE};
use crate::report::style::say;
use crate::verdict::Exit;

/// `emit-events`: writes the stream of the reference, or of an emitter by name.
pub(crate) fn emit(name: Option<&str>) -> Exit {
    let emitter = match name {
        Some(name) => emitter::find(name),
        None => Some(&REFERENCE),
    };
    let Some(emitter) = emitter else {
        complain(&format!(
            "no emitter is called `{}`; `diverge-conformance list mutants` names the faults, variants and hollow ones",
            name.unwrap_or_default()
        ));
        return Exit::Usage;
    };
    emitter.lines.iter().for_each(|line| say(line));
    Exit::Conforms
}
