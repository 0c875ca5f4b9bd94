//! Faults of how a run ends.

use crate::fault::{Fault, fault, lose, on_output};
use crate::policy::Output;
use crate::view::{Flow, Part};

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "container-kept",
        "stop.ends-container",
        "keeps the proxy connection of a run that ended",
        || {
            on_output(|view, output, next| {
                let kept = matches!(output, Output::CloseProxy(run) if view.run(run).is_some_and(|run| run.id.is_some()));
                if !kept {
                    next.push(output.into());
                }
            })
        },
    ),
    fault(
        "late-error-unfinished",
        "run.error.then-finish",
        "does not finish a run after the proxy's error",
        || {
            let mut failed = None;
            lose(Flow::ToClient, move |message| {
                let scope = Some(message.scope());
                if message.part == Part::LateError {
                    failed = scope;
                }
                message.part == Part::Finish && failed == scope
            })
        },
    ),
];
