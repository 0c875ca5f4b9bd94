//! Faults of the schema.

use diverge_protocol::wire::agent_server::Endpoint;

use crate::fault::{Fault, answer_instead, fault, tune};
use crate::policy::refusal;

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "schema-words",
        "agent.schema.json",
        "answers with a schema in words",
        || tune(|settings| settings.schema = "an object with a model"),
    ),
    fault(
        "schema-array",
        "agent.schema.json",
        "answers with an array of member names",
        || tune(|settings| settings.schema = "[\"model\"]"),
    ),
    fault(
        "schema-invalid",
        "agent.schema.json",
        "answers with an object that is no schema",
        || tune(|settings| settings.schema = "{\"type\":\"map\",\"properties\":[]}"),
    ),
    fault(
        "schema-empty",
        "agent.schema.json",
        "answers with 200 and no schema",
        || tune(|settings| settings.schema = ""),
    ),
    fault(
        "schema-registered-only",
        "agent.schema.any-time",
        "has a schema only once it was registered",
        || {
            answer_instead(Endpoint::Schema, |view, _| {
                (!view.registered).then(|| refusal(409, "unregistered", "nothing was registered"))
            })
        },
    ),
    fault(
        "schema-unregistered-only",
        "agent.schema.any-time",
        "has no schema any more once it was registered",
        || {
            answer_instead(Endpoint::Schema, |view, _| {
                view.registered
                    .then(|| refusal(404, "schema", "there is no schema any more"))
            })
        },
    ),
    fault(
        "schema-idle-only",
        "agent.schema.in-a-loop",
        "has no schema in a loop",
        || {
            answer_instead(Endpoint::Schema, |view, _| {
                view.running
                    .as_ref()
                    .map(|_| refusal(503, "busy", "a loop is running"))
            })
        },
    ),
    fault(
        "schema-of-other-arguments",
        "agent.schema.covers-arguments",
        "answers with a schema by which the arguments it takes are not valid",
        || {
            tune(|settings| {
                settings.schema = "{\"type\":\"object\",\"required\":[\"neither this nor that\"]}";
            })
        },
    ),
];
