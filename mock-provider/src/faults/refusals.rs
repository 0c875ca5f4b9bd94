//! Faults of refusing a run: its image, and how a refusal ends.

use diverge_protocol::wire::request::RunRequest;
use serde_json::json;

use crate::fault::{Fault, Interceptor, after, fault, lose, replace, rewrite};
use crate::mend::lenient;
use crate::policy::{Input, Output};
use crate::view::{Flow, Message, Part, RunView};

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "image-name-unchecked",
        "image.refused",
        "takes any name for an image",
        || {
            lenient(|request| {
                let odd = request["image"]["name"].as_str().is_some_and(|name| {
                    let plain = |part: &str| {
                        part.bytes().all(|byte| byte.is_ascii_alphanumeric()) && !part.is_empty()
                    };
                    !name.split('/').all(plain)
                });
                if odd {
                    request["image"]["name"] = json!("conformance/agent");
                }
                odd
            })
        },
    ),
    fault(
        "image-digest-unchecked",
        "image.refused",
        "takes any digest for an image",
        || {
            lenient(|request| {
                let odd = request["image"]["digest"].as_str().is_some_and(|digest| {
                    let parts = digest.split_once(':');
                    parts.is_none_or(|(_, hex)| {
                        hex.is_empty() || !hex.bytes().all(|byte| byte.is_ascii_hexdigit())
                    })
                });
                if odd {
                    request["image"]["digest"] = json!("sha256:00");
                }
                odd
            })
        },
    ),
    fault(
        "refusal-unfinished",
        "refusal.then-finish",
        "does not finish a refused run",
        || lose(Flow::ToClient, |message| message.is(Part::Finish, refused)),
    ),
    fault(
        "early-error-unfinished",
        "refusal.then-finish",
        "does not finish a run after an early error",
        || unfinished(Part::EarlyError, |_| true),
    ),
    fault(
        "volume-refusal-unfinished",
        "refusal.then-finish",
        "does not finish a run refused for its only volume mount",
        || unfinished(Part::Refusal, |run| volume_mounts(run) == 1),
    ),
    fault(
        "id-after-error",
        "refusal.then-finish",
        "sends an id behind an early error",
        || {
            after(
                Flow::ToClient,
                |message| message.part == Part::EarlyError,
                |message| vec![message.respond(b"\0{\"id\":\"5f3c7d0e9b1a4c26a8e0\"}".to_vec())],
            )
        },
    ),
    fault(
        "error-in-text",
        "refusal.error-one-json-value",
        "sends early errors as plain text",
        || {
            rewrite(
                Flow::ToClient,
                |message| message.part == Part::EarlyError,
                |_| "\u{6}the run was refused".into(),
            )
        },
    ),
    fault(
        "error-unescaped",
        "refusal.error-one-json-value",
        "writes names into an error without escaping them",
        || {
            rewrite(
                Flow::ToClient,
                |message| message.is(Part::EarlyError, |run| odd_name(run).is_some()),
                |message| {
                    let name = message.run.and_then(odd_name).unwrap_or_default();
                    format!("\u{6}{{\"message\":\"there is no volume {name}\"}}").into()
                },
            )
        },
    ),
    fault(
        "refusal-ends-connection",
        "scope.parallel-runs",
        "ends the connection of a run that is refused",
        || {
            replace(
                Flow::ToClient,
                |message| message.is(Part::EarlyError, |run| run.run.is_none()),
                |message| {
                    let (client, _) = message.scope();
                    vec![
                        Output::CloseClient(client).into(),
                        Input::ClientClosed(client).into(),
                    ]
                },
            )
        },
    ),
];

fn refused(run: &RunView) -> bool {
    run.run.is_none() && run.responses > 0
}

/// Does not finish a refused run whose last response was such a part, and for which `when` holds.
fn unfinished(part: Part, when: fn(&RunView) -> bool) -> Interceptor {
    let mut last = None;
    lose(Flow::ToClient, move |message: &Message<'_>| {
        let scope = Some(message.scope());
        if message.part == part {
            last = scope;
        }
        let lost = message.part == Part::Finish
            && last == scope
            && message.run.is_some_and(|run| refused(run) && when(run));
        if message.part == Part::Finish && last == scope {
            last = None;
        }
        lost
    })
}

fn volume_mounts(run: &RunView) -> usize {
    let request = run
        .request
        .get(1..)
        .and_then(|json| RunRequest::decode_json(json).ok());
    request.map_or(0, |request| request.volume_mounts.len())
}

/// The first volume name of a request that a JSON string cannot hold as it is.
fn odd_name(run: &RunView) -> Option<String> {
    let request: serde_json::Value = serde_json::from_slice(run.request.get(1..)?).ok()?;
    let name = request["volume_mounts"][0]["volume_name"].as_str()?;
    name.contains(['"', '\\']).then(|| name.to_owned())
}
