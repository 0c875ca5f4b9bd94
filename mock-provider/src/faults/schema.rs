//! Faults of schema requests.

use std::collections::HashMap;

use diverge_protocol::wire::profile::ClientChannel::Schema;

use super::client_channels::{
    answer, answer_unserved, answers, compact_answers, finish, open, opens, opens_when, turn_away,
};
use crate::fault::{Fault, fault, lose, on_input, rewrite};
use crate::view::{Flow, Part};

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "schema-lost",
        "schema.answer-relayed",
        "finishes a schema request without its answer",
        || lose(Flow::ToClient, |message| answers(message, Schema)),
    ),
    fault(
        "schema-compacted",
        "schema.answer-relayed",
        "sends a schema without the white space in its JSON",
        || compact_answers(Schema, 0),
    ),
    fault(
        "schema-cut",
        "schema.answer-relayed",
        "sends no more of a schema than 65,536 bytes",
        || {
            rewrite(
                Flow::ToClient,
                |message| answers(message, Schema) && message.frame.payload.len() > 65_536,
                |message| message.frame.payload.slice(..65_536),
            )
        },
    ),
    fault(
        "schema-error-compacted",
        "schema.answer-relayed",
        "sends the error of a schema request without the white space in its JSON",
        || compact_answers(Schema, 1),
    ),
    fault(
        "schema-unserved-answered",
        "schema.answer-relayed",
        "sends a schema that allows everything where the proxy did not serve a request for one",
        || answer_unserved(Schema, b"\0true"),
    ),
    fault(
        "schema-in-loop-refused",
        "schema.request-relayed",
        "does not carry a schema request on in a loop",
        || turn_away(|message| opens_when(message, Schema, |run| run.in_loop)),
    ),
    fault(
        "schema-joined",
        "schema.request-relayed",
        "does not carry a schema request on while another one waits",
        || turn_away(|message| opens_when(message, Schema, |run| open(run, Schema) > 0)),
    ),
    fault(
        "schema-remembered",
        "schema.request-relayed",
        "answers a run's later schema requests as its first was answered",
        || {
            let mut known = HashMap::new();
            on_input(move |view, input, next| {
                if let Some(message) = view.read_input(&input) {
                    let carried = message
                        .run
                        .and_then(|run| run.proxy_channels.get(&message.frame.channel));
                    if let (Flow::FromProxy, Part::Answer, Some(ask)) =
                        (message.flow, message.part, carried)
                    {
                        // The schema request is the one ask that is carried on without a body.
                        if ask.len() == 1 {
                            known.insert(message.scope(), message.frame.payload.clone());
                        }
                    } else if opens(&message, Schema)
                        && let Some(said) = known.get(&message.scope())
                    {
                        next.push(answer(&message, said.clone()));
                        return next.push(finish(&message, message.frame.channel));
                    }
                }
                next.push(input.into());
            })
        },
    ),
];
