//! Faults of loops that fail.

use diverge_protocol::wire::agent_server::Endpoint;

use crate::fault::{Fault, Intercept, Role, Step, after, fault, lose};
use crate::policy::{Input, Output, refusal};
use crate::view::{View, kind_of};

use super::edit;
use super::stream::is_fatal;

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "failure-silent",
        "agent.failure.notified",
        "ends a loop that failed without a word",
        || lose(is_fatal),
    ),
    fault(
        "failure-not-fatal",
        "agent.failure.notified",
        "says that the failure that ends a loop is not fatal",
        || {
            edit(is_fatal, |chunk| {
                drop(chunk.insert("is_fatal".into(), false.into()))
            })
        },
    ),
    fault(
        "failure-as-text",
        "agent.failure.notified",
        "tells a failure as text of the assistant's",
        || {
            edit(is_fatal, |chunk| {
                chunk.retain(|_, _| false);
                chunk.insert("type".into(), "assistant_text_content".into());
                chunk.insert("text".into(), "I failed.".into());
            })
        },
    ),
    fault(
        "usage-after-failure",
        "agent.failure.last-word",
        "tells usage behind the notification of a failure",
        || {
            after(is_fatal, |piece| {
                vec![piece.chunk(
                    r#"{"type":"usage","completion_tokens":1,"prompt_tokens":1,"total_tokens":2}"#,
                )]
            })
        },
    ),
    fault(
        "failure-told-twice",
        "agent.failure.last-word",
        "tells a failure twice",
        || after(is_fatal, |piece| vec![piece.pass()]),
    ),
    fault(
        "failure-final",
        "agent.failure.survived",
        "runs no loop after one that failed",
        || Box::<Final>::default(),
    ),
];

/// Refuses loops once one has failed.
#[derive(Default)]
struct Final {
    failed: bool,
}

impl Intercept<Role> for Final {
    fn input(&mut self, _: &View, input: Input, next: &mut Vec<Step>) {
        match input {
            Input::Called(call, asked)
                if self.failed && asked.endpoint() == Some(Endpoint::Run) =>
            {
                let refused = refusal(500, "internal", "a loop failed");
                next.push(Output::Answer(call, refused).into());
            }
            other => next.push(other.into()),
        }
    }

    fn output(&mut self, _: &View, output: Output, next: &mut Vec<Step>) {
        if let Output::Event(_, chunk) = &output {
            self.failed |= kind_of(chunk) == "notification";
        }
        next.push(output.into());
    }
}
