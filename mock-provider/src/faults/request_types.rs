//! Faults of reading members of a run request that are of a wrong type.

use serde_json::{Value, json};

use crate::fault::{Fault, fault};
use crate::mend::{LISTS, lenient, mounts, sizes};

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "size-from-text",
        "request.wrong-type",
        "reads digits in a string as a size",
        || {
            sizes(|size| {
                let number: Option<u64> = size.as_str().and_then(|text| text.parse().ok());
                number.map(Value::from)
            })
        },
    ),
    fault(
        "size-from-boolean",
        "request.wrong-type",
        "reads true and false as 1 and 0",
        || sizes(|size| size.as_bool().map(|it| u64::from(it).into())),
    ),
    fault(
        "size-saturates",
        "request.wrong-type",
        "reads a size beyond 64 bits as the greatest",
        || {
            sizes(|size| {
                size.as_f64()
                    .filter(|it| *it > 1.9e19)
                    .map(|_| u64::MAX.into())
            })
        },
    ),
    fault(
        "name-from-number",
        "request.wrong-type",
        "reads a number as a name",
        || {
            lenient(|request| {
                let name = request["image"]["name"].as_u64();
                name.map(|name| request["image"]["name"] = name.to_string().into())
                    .is_some()
            })
        },
    ),
    fault(
        "image-from-text",
        "request.wrong-type",
        "reads a reference in one string as an image",
        || {
            lenient(|request| {
                let whole = request["image"]
                    .as_str()
                    .and_then(|text| text.split_once('@'));
                let image = whole.map(|(name, digest)| json!({"name": name, "digest": digest}));
                image.map(|image| request["image"] = image).is_some()
            })
        },
    ),
    fault(
        "object-as-list",
        "request.wrong-type",
        "reads an empty object as an empty list",
        || {
            lenient(|request| {
                LISTS.iter().fold(false, |any, list| {
                    let empty = request.get(list) == Some(&json!({}));
                    if empty {
                        request[*list] = json!([]);
                    }
                    empty | any
                })
            })
        },
    ),
    fault(
        "null-mounts-skipped",
        "request.wrong-type",
        "leaves out mounts that are null",
        || {
            lenient(|request| {
                LISTS.iter().fold(false, |any, list| {
                    let Some(mounts) = request.get_mut(list).and_then(Value::as_array_mut) else {
                        return any;
                    };
                    let before = mounts.len();
                    mounts.retain(|mount| !mount.is_null());
                    mounts.len() < before || any
                })
            })
        },
    ),
    fault(
        "path-from-text",
        "request.wrong-type",
        "reads a path in one string",
        || {
            lenient(|request| {
                mounts(request).fold(false, |any, mount| {
                    let path = mount["container_path"].as_str().map(|path| {
                        let components = path.split('/').filter(|component| !component.is_empty());
                        components.map(str::to_owned).collect::<Vec<_>>()
                    });
                    path.map(|path| mount["container_path"] = path.into())
                        .is_some()
                        | any
                })
            })
        },
    ),
    fault(
        "mode-guessed",
        "request.wrong-type",
        "takes a mode that it does not know for persistent",
        || {
            lenient(|request| {
                mounts(request).fold(false, |any, mount| {
                    let known = ["persistent", "ephemeral", "read_only"];
                    let unknown = mount["mode"]
                        .as_str()
                        .is_some_and(|mode| !known.contains(&mode));
                    if unknown {
                        mount["mode"] = "persistent".into();
                    }
                    unknown | any
                })
            })
        },
    ),
];
