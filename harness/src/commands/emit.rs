//! The hidden commands that play an in-tree reference as a program of its own.

use super::complain;
use crate::codec::forms;
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
        complain(&unknown("emitter", name));
        return Exit::Usage;
    };
    emitter.lines.iter().for_each(|line| say(line));
    Exit::Conforms
}

/// `codec`: answers lines as the reference does, or as a form by name.
pub(crate) async fn codec(name: Option<&str>) -> Exit {
    let form = match name {
        Some(name) => forms::find(name),
        None => Some(&forms::REFERENCE),
    };
    let Some(form) = form else {
        complain(&unknown("codec", name));
        return Exit::Usage;
    };
    match forms::speak(form, tokio::io::stdin(), tokio::io::stdout()).await {
        Ok(()) => Exit::Conforms,
        Err(error) => {
            complain(&error.to_string());
            Exit::Fails
        }
    }
}

fn unknown(what: &str, name: Option<&str>) -> String {
    format!(
        "no {what} is called `{}`; `diverge-conformance list mutants` names the faults, variants and hollow ones",
        name.unwrap_or_default()
    )
}
