//! `${name}` in the texts of a scenario: case values when it is loaded, tokens and captures when it is played.

use super::node::{Data, Node};

/// Names that every scenario can use.
///
/// `token` tells the run of the step, `fill:N` stands for N letters, `json:image` for the JSON of the configured image,
/// `volume.…` and `mode.…` for a fixture's name and mode, and `credential` for the one that is accepted: itself, without
/// its last character, in the other case, in hex. In scenarios for agent servers, `message.…` is a configured text,
/// `json:arguments` and `json:refused_arguments` are the configured ones, and `port` is a free port.
pub(super) fn is_built_in(name: &str) -> bool {
    [
        "token",
        "json:image",
        "json:arguments",
        "json:refused_arguments",
        "port",
        "mode.other",
        "credential",
        "credential.shorter",
        "credential.other-case",
        "credential.hex",
    ]
    .contains(&name)
        || name
            .strip_prefix("fill:")
            .is_some_and(|n| n.parse::<u32>().is_ok())
        || name
            .strip_prefix("message.")
            .is_some_and(|key| super::model::MESSAGES.contains(&key))
        || ["volume.", "mode."].iter().any(|prefix| {
            name.strip_prefix(prefix).is_some_and(|key| {
                super::model::Fixture::ALL
                    .iter()
                    .any(|(_, known)| *known == key)
            })
        })
}

/// The names in `${…}` in `text`, in order.
pub(super) fn names_in(text: &str) -> impl Iterator<Item = &str> {
    text.split("${")
        .skip(1)
        .filter_map(|rest| rest.split_once('}'))
        .map(|(name, _)| name)
}

/// `text` with every name that `value` knows replaced by its value.
#[must_use]
pub fn replace(text: &str, mut value: impl FnMut(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        let replaced = after
            .split_once('}')
            .and_then(|(name, tail)| value(name).map(|value| (value, tail)));
        match replaced {
            Some((value, tail)) => {
                out.push_str(&value);
                rest = tail;
            }
            None => {
                out.push_str("${");
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

/// A copy of `node` with the values of a case filled in; the first value that nothing uses is the error.
pub(super) fn fill(node: &Node, values: &[(String, String)]) -> Result<Node, String> {
    let mut used = vec![false; values.len()];
    let filled = fill_in(node, values, &mut used);
    match used.iter().position(|used| !used) {
        Some(at) => Err(values[at].0.clone()),
        None => Ok(filled),
    }
}

fn fill_in(node: &Node, values: &[(String, String)], used: &mut [bool]) -> Node {
    let data = match &node.data {
        Data::Scalar { text, plain } => {
            let text = replace(text, |name| {
                let at = values.iter().position(|(key, _)| key == name)?;
                used[at] = true;
                Some(values[at].1.clone())
            });
            Data::Scalar {
                text,
                plain: *plain,
            }
        }
        Data::Sequence(items) => Data::Sequence(
            items
                .iter()
                .map(|item| fill_in(item, values, used))
                .collect(),
        ),
        Data::Mapping(entries) => Data::Mapping(
            entries
                .iter()
                .map(|(key, value)| (fill_in(key, values, used), fill_in(value, values, used)))
                .collect(),
        ),
    };
    Node {
        place: node.place.clone(),
        data,
    }
}
