//! Faults of reading a run request.

use diverge_protocol::wire::Rule;
use diverge_protocol::wire::request::RunRequest;
use serde_json::{Value, json};

use crate::checks;
use crate::fault::{Fault, before, fault, lose, replace};
use crate::mend::{LISTS, lenient, lenient_bytes, mounts, parsed_unread, refused, unread};
use crate::policy::{Input, Output};
use crate::view::{Flow, Message, Part, RunView};

/// The members of a request in the order in which the pages list them.
const MEMBERS: [&str; 7] = [
    "image",
    "memory",
    "disk",
    LISTS[0],
    LISTS[1],
    LISTS[2],
    "arguments",
];

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "unreadable-explained",
        "request.answered-bare",
        "answers an unreadable request with an error",
        || {
            before(Flow::ToClient, is_bare_finish, |message| {
                vec![message.respond(checks::error("cannot be read"))]
            })
        },
    ),
    // Payloads that hold no request.
    fault(
        "empty-request-ignored",
        "request.empty-payload",
        "does not answer a request without a byte",
        || {
            lose(Flow::FromClient, |message| {
                message.part == Part::Request && message.frame.payload.is_empty()
            })
        },
    ),
    fault(
        "unknown-tag-ignored",
        "request.unknown-tag",
        "does not answer a request of one byte that it does not know",
        || {
            lose(Flow::FromClient, |message| {
                message.part == Part::Request
                    && message.frame.payload.len() == 1
                    && message.frame.payload[0] != 0
            })
        },
    ),
    fault(
        "any-tag-runs",
        "request.unknown-tag",
        "reads the JSON behind any first byte as a run request",
        || {
            replace(
                Flow::FromClient,
                |message| message.part == Part::Request && message.frame.payload.len() > 1,
                |message| vec![message.with_payload([&[0], message.body()].concat())],
            )
        },
    ),
    fault(
        "missing-body-explained",
        "request.not-json",
        "answers a request without a body with an error",
        || {
            replace(
                Flow::FromClient,
                |message| message.part == Part::Request && message.frame.payload[..] == [0],
                |message| vec![message.respond(checks::error("no body")), message.finish()],
            )
        },
    ),
    fault(
        "cut-off-awaited",
        "request.not-json",
        "waits for the rest of JSON that is cut off",
        || {
            lose(Flow::FromClient, |message| {
                let body = message.body();
                message.part == Part::Request
                    && !body.is_empty()
                    && serde_json::from_slice::<Value>(body).is_err_and(|error| error.is_eof())
            })
        },
    ),
    fault(
        "trailing-comma-taken",
        "request.not-json",
        "takes a comma before a closing brace",
        || {
            lenient_bytes(|body| {
                let text = std::str::from_utf8(body).ok()?;
                text.contains(",}").then(|| text.replace(",}", "}").into())
            })
        },
    ),
    fault(
        "bad-utf8-replaced",
        "request.not-json",
        "replaces what is not UTF-8",
        || {
            lenient_bytes(|body| match String::from_utf8_lossy(body) {
                std::borrow::Cow::Owned(text) => Some(text.into()),
                std::borrow::Cow::Borrowed(_) => None,
            })
        },
    ),
    // Objects, arrays and constants.
    fault(
        "bare-value-explained",
        "request.wrong-type",
        "answers JSON that is neither object nor array with an error",
        || refused(|request| !request.is_object() && !request.is_array()),
    ),
    fault(
        "request-from-array",
        "request.object-expected",
        "reads an array as a request",
        || lenient(|request| named(request, &MEMBERS)),
    ),
    fault(
        "image-from-array",
        "request.object-expected",
        "reads an array as an image",
        || {
            lenient(|request| {
                request
                    .get_mut("image")
                    .is_some_and(|image| named(image, &["name", "digest"]))
            })
        },
    ),
    fault(
        "mount-from-array",
        "request.object-expected",
        "reads an array as a mount",
        || {
            lenient(|request| {
                let volume = &[
                    "volume_name",
                    "volume_relative_path",
                    "mode",
                    "container_path",
                ];
                let fuse = &["container_path", "id"];
                mounts(request).fold(false, |any, mount| {
                    named(mount, volume) | named(mount, fuse) | any
                })
            })
        },
    ),
    fault(
        "mode-from-object",
        "request.constant-expected",
        "reads an object as a mode",
        || {
            lenient(|request| {
                mounts(request).fold(false, |any, mount| {
                    let name = mount["mode"]
                        .as_object()
                        .and_then(|mode| mode.keys().next().cloned());
                    name.map(|name| mount["mode"] = name.into()).is_some() | any
                })
            })
        },
    ),
    // Members that are not there.
    fault(
        "memory-defaulted",
        "request.missing-member",
        "takes a request without memory",
        || lenient(|request| defaulted(request, "memory", json!(1 << 28))),
    ),
    fault(
        "mode-defaulted",
        "request.missing-member",
        "takes a volume mount without a mode",
        || {
            lenient(|request| {
                let volumes = request
                    .get_mut(LISTS[0])
                    .and_then(Value::as_array_mut)
                    .into_iter()
                    .flatten();
                volumes.fold(false, |any, mount| {
                    defaulted(mount, "mode", "persistent".into()) | any
                })
            })
        },
    ),
    fault(
        "fuse-id-defaulted",
        "request.missing-member",
        "takes a FUSE mount without an id",
        || {
            lenient(|request| {
                let named = |mount: &Value| mount.get("volume_name").is_some();
                mounts(request)
                    .filter(|mount| !named(mount) && mount.get("container_path").is_some())
                    .fold(false, |any, mount| {
                        defaulted(mount, "id", "made-up".into()) | any
                    })
            })
        },
    ),
    // Too much.
    fault(
        "trailing-bytes-unread",
        "request.trailing-bytes",
        "reads the first JSON value and no further",
        || {
            lenient_bytes(|body| {
                let mut values = serde_json::Deserializer::from_slice(body).into_iter::<Value>();
                values.next()?.ok()?;
                let end = values.byte_offset();
                let more = body[end..].iter().any(|byte| !byte.is_ascii_whitespace());
                more.then(|| body[..end].to_vec())
            })
        },
    ),
    fault(
        "last-member-counts",
        "request.repeated-member",
        "takes the last of repeated members",
        || {
            lenient_bytes(|body| {
                let repeated = RunRequest::decode_json(body)
                    .is_err_and(|malformed| malformed.rule == Rule::MemberRepeated);
                let request: Value = serde_json::from_slice(body).ok()?;
                repeated.then(|| request.to_string().into())
            })
        },
    ),
    // What changes nothing.
    fault(
        "unknown-members-unread",
        "request.unknown-members-ignored",
        "finishes a request bare that has a member it does not know",
        || {
            parsed_unread(|request| {
                let known = |object: &Value, names: &[&str]| {
                    let members = object.as_object();
                    members.is_none_or(|it| it.keys().all(|name| names.contains(&name.as_str())))
                };
                !known(request, &MEMBERS) || !known(&request["image"], &["name", "digest"])
            })
        },
    ),
    fault(
        "unknown-in-mounts-unread",
        "request.unknown-members-ignored",
        "finishes a request bare that has a mount with a member it does not know",
        || {
            parsed_unread(|request| {
                mounts(&mut request.clone()).any(|mount| {
                    let most = if mount.get("volume_name").is_some() {
                        4
                    } else {
                        2
                    };
                    mount
                        .as_object()
                        .is_some_and(|members| members.len() > most)
                })
            })
        },
    ),
    fault(
        "a-list-required",
        "request.absent-lists",
        "finishes a request bare that has no list of mounts",
        || parsed_unread(|request| lists_in(request) == 0),
    ),
    fault(
        "all-lists-empty-refused",
        "request.absent-lists",
        "refuses a request whose lists of mounts are all empty",
        || {
            refused(|request| {
                LISTS
                    .iter()
                    .all(|list| request.get(list) == Some(&json!([])))
            })
        },
    ),
    fault(
        "all-lists-or-none",
        "request.absent-lists",
        "finishes a request bare that has one empty list of mounts and not the others",
        || {
            parsed_unread(|request| {
                lists_in(request) == 1
                    && LISTS
                        .iter()
                        .any(|list| request.get(list) == Some(&json!([])))
            })
        },
    ),
    fault(
        "members-in-order",
        "request.json-spelling",
        "finishes a request bare whose members are not in the order of the pages",
        || {
            unread(|body| {
                let at = |name: &str| {
                    let name = format!("\"{name}\":");
                    body.windows(name.len())
                        .position(|part| part == name.as_bytes())
                };
                let places: Vec<_> = MEMBERS.iter().filter_map(|name| at(name)).collect();
                !places.is_sorted()
            })
        },
    ),
    fault(
        "white-space-unread",
        "request.json-spelling",
        "finishes a request bare that does not begin with a brace and a quote",
        || {
            unread(|body| {
                body.first().is_some_and(u8::is_ascii_whitespace) || body.starts_with(b"{ ")
            })
        },
    ),
    fault(
        "escaped-names-unread",
        "request.json-spelling",
        "compares member names without reading their escapes",
        || unread(|body| body.windows(7).any(|part| part == b"\\u0069m")),
    ),
    // Harm to others.
    fault(
        "unreadable-ends-connection",
        "request.harmless",
        "ends the connection of a request that cannot be read",
        || {
            replace(Flow::ToClient, is_bare_finish, |message| {
                let (client, _) = message.scope();
                vec![
                    Output::CloseClient(client).into(),
                    Input::ClientClosed(client).into(),
                ]
            })
        },
    ),
    fault(
        "unreadable-limited",
        "request.answered-bare",
        "ends a connection at the thirtieth request that cannot be read",
        || {
            let mut seen = std::collections::HashMap::new();
            replace(
                Flow::ToClient,
                move |message| {
                    is_bare_finish(message) && {
                        let count = seen.entry(message.scope().0).or_insert(0);
                        *count += 1;
                        *count == 30
                    }
                },
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

fn is_bare_finish(message: &Message<'_>) -> bool {
    let unreadable = |run: &RunView| run.responses == 0 && run.arguments.is_none();
    message.is(Part::Finish, unreadable)
}

/// Gives the values of an array, if there are as many, these names.
fn named(value: &mut Value, names: &[&str]) -> bool {
    let Some(values) = value
        .as_array()
        .filter(|values| values.len() == names.len())
    else {
        return false;
    };
    let members = names
        .iter()
        .map(|name| (*name).to_owned())
        .zip(values.clone());
    *value = Value::Object(members.collect());
    true
}

fn defaulted(object: &mut Value, name: &str, default: Value) -> bool {
    let Some(members) = object.as_object_mut() else {
        return false;
    };
    let absent = !members.contains_key(name);
    members.entry(name).or_insert(default);
    absent
}

fn lists_in(request: &Value) -> usize {
    LISTS
        .iter()
        .filter(|list| request.get(list).is_some())
        .count()
}
