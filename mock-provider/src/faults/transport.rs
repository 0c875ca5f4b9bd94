//! Faults of messages and frames.

use crate::fault::{Fault, fault, on_input, replace};
use crate::policy::{Input, Output};
use crate::view::{Flow, Part};

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "text-closes",
        "transport.text-ignored",
        "ends the connection on a text message",
        || {
            on_input(|_, input, next| {
                if let Input::ClientText(client, _) = input {
                    next.push(Output::CloseClient(client).into());
                    next.push(Input::ClientClosed(client).into());
                } else {
                    next.push(input.into());
                }
            })
        },
    ),
    fault(
        "id-as-text",
        "transport.binary-only",
        "says a second time, in a text message, that a run has its id",
        || {
            replace(
                Flow::ToClient,
                |message| message.part == Part::Id,
                |message| {
                    let client = message.run.map(|run| run.client);
                    let text =
                        client.map(|client| Output::TextToClient(client, "started".into()).into());
                    [message.pass()].into_iter().chain(text).collect()
                },
            )
        },
    ),
];
