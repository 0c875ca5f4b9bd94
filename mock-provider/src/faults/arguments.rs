//! Faults of handing the arguments on to the proxy.

use std::collections::BTreeMap;

use diverge_protocol::wire::Profile;
use diverge_protocol::wire::profile::RequestKind;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::fault::{Fault, Interceptor, fault, on};
use crate::mend::{parsed_unread, refused};
use crate::view::{Flow, Message, Part};

const VALUE: &str = "begin.arguments-value";
const BYTES: &str = "begin.arguments-bytes";

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "null-arguments-unread",
        VALUE,
        "finishes a request bare whose arguments are null",
        || parsed_unread(|request| request.get("arguments") == Some(&Value::Null)),
    ),
    fault(
        "bare-arguments-wrapped",
        VALUE,
        "wraps arguments that are no object into one",
        || {
            handed_on(|arguments| {
                let bare =
                    !arguments.starts_with('{') && arguments != "null" && !arguments.contains("[[");
                bare.then(|| format!("{{\"value\":{arguments}}}"))
            })
        },
    ),
    fault(
        "empty-arguments-null",
        VALUE,
        "hands empty arguments on as null",
        || handed_on(|arguments| (arguments == "{}").then(|| "null".to_owned())),
    ),
    fault(
        "null-members-dropped",
        VALUE,
        "leaves out the first member of the arguments where it is null",
        || {
            handed_on(|arguments| {
                let (name, rest) = arguments.split_once(":null,")?;
                let first = name.starts_with("{\"") && !name.contains(',');
                first.then(|| format!("{{{rest}"))
            })
        },
    ),
    fault(
        "deep-arguments-cut",
        VALUE,
        "hands null on for arguments nested beyond sixty-four levels",
        || {
            handed_on(|arguments| {
                let deep = arguments.bytes().take_while(|byte| *byte == b'[').count() > 64;
                deep.then(|| "null".to_owned())
            })
        },
    ),
    fault(
        "large-requests-refused",
        VALUE,
        "refuses a request whose arguments take more than 64 kB",
        || refused(|request| request["arguments"].to_string().len() > 1 << 16),
    ),
    fault(
        "look-alike-names-merged",
        VALUE,
        "merges members of the arguments whose names look alike",
        || {
            handed_on(|arguments| {
                let members: BTreeMap<String, &RawValue> = serde_json::from_str(arguments).ok()?;
                let merged: BTreeMap<String, &RawValue> = members
                    .iter()
                    .map(|(name, value)| (name.trim().to_lowercase(), *value))
                    .collect();
                (merged.len() < members.len())
                    .then(|| serde_json::to_string(&merged).ok())
                    .flatten()
            })
        },
    ),
    fault(
        "arguments-sorted",
        BYTES,
        "sorts the members of the arguments",
        || {
            handed_on(|arguments| {
                if arguments.contains(char::is_whitespace) {
                    return None;
                }
                let members: BTreeMap<String, &RawValue> = serde_json::from_str(arguments).ok()?;
                serde_json::to_string(&members).ok()
            })
        },
    ),
    fault(
        "arguments-minified",
        BYTES,
        "takes white space out of the arguments",
        || {
            pieces(|kind, text| match kind {
                Kind::Space => String::new(),
                _ => text.to_owned(),
            })
        },
    ),
    fault(
        "numbers-rounded",
        VALUE,
        "reads the numbers in the arguments as doubles",
        || {
            pieces(|kind, text| match kind {
                Kind::Number => text
                    .parse::<f64>()
                    .map_or_else(|_| text.to_owned(), |it| it.to_string()),
                _ => text.to_owned(),
            })
        },
    ),
    fault(
        "escapes-resolved",
        BYTES,
        "resolves escapes in the arguments",
        || {
            pieces(|kind, text| match kind {
                Kind::Text => {
                    let read = serde_json::from_str::<String>(text);
                    read.map_or_else(|_| text.to_owned(), |text| Value::from(text).to_string())
                }
                _ => text.to_owned(),
            })
        },
    ),
    fault(
        "arguments-in-ascii",
        BYTES,
        "escapes what is not ASCII in the arguments",
        || {
            pieces(|_, text| {
                let mut out = String::new();
                for character in text.chars() {
                    let mut units = [0; 2];
                    match character.is_ascii() {
                        true => out.push(character),
                        false => {
                            for unit in character.encode_utf16(&mut units) {
                                out.push_str(&format!("\\u{unit:04x}"));
                            }
                        }
                    }
                }
                out
            })
        },
    ),
    fault(
        "texts-end-at-nul",
        VALUE,
        "ends a string in the arguments at a NUL",
        || {
            pieces(|kind, text| match kind {
                Kind::Text => match text.split_once("\\u0000") {
                    Some((before, _)) => format!("{before}\""),
                    None => text.to_owned(),
                },
                _ => text.to_owned(),
            })
        },
    ),
    fault(
        "braces-counted",
        VALUE,
        "finds the end of the arguments by counting braces, in strings too",
        || {
            handed_on(|arguments| {
                if !arguments.starts_with(['{', '[']) {
                    return None;
                }
                let mut depth = 0_i32;
                for (at, byte) in arguments.bytes().enumerate() {
                    depth += match byte {
                        b'{' | b'[' => 1,
                        b'}' | b']' => -1,
                        _ => 0,
                    };
                    if depth == 0 {
                        return (at + 1 < arguments.len()).then(|| arguments[..=at].to_owned());
                    }
                }
                Some(format!("{arguments}}}"))
            })
        },
    ),
    fault(
        "last-arguments-found",
        VALUE,
        "in a request that begins with its arguments, takes the last member called so for them",
        || {
            on(Flow::ToProxy, |message, next| {
                let arguments = message.run.and_then(|run| {
                    let first = run.request.get(1..)?.starts_with(b"{\"arguments\"");
                    last_called_so(run.arguments.as_deref().filter(|_| first)?)
                });
                let found = arguments.filter(|_| message.part == Part::Request);
                next.push(found.map_or_else(|| message.pass(), |found| begin(message, &found)));
            })
        },
    ),
    fault(
        "spaced-arguments-unseen",
        VALUE,
        "hands null on where white space stands between the name and the arguments",
        || {
            on(Flow::ToProxy, |message, next| {
                let spaced = message.is(Part::Request, |run| {
                    let text = String::from_utf8_lossy(&run.request);
                    let behind = text.split("\"arguments\"").nth(1).unwrap_or_default();
                    behind.starts_with(char::is_whitespace)
                });
                next.push(if spaced {
                    begin(message, "null")
                } else {
                    message.pass()
                });
            })
        },
    ),
];

/// What stands behind the last `arguments` in the arguments.
fn last_called_so(arguments: &str) -> Option<String> {
    let (_, behind) = arguments.rsplit_once("arguments")?;
    let value = behind.trim_start_matches(['\\', '"', ':']);
    let mut values = serde_json::Deserializer::from_str(value).into_iter::<&RawValue>();
    Some(values.next()?.ok()?.get().to_owned())
}

/// A begin request with these arguments.
fn begin(message: &Message<'_>, arguments: &str) -> crate::fault::Step {
    let body = format!("{{\"arguments\":{arguments}}}");
    message.with_payload(
        Profile::scope()
            .begin_request
            .payload(RequestKind::Request, body.as_bytes()),
    )
}

/// Hands other arguments on where `change` makes others of them.
fn handed_on(change: fn(&str) -> Option<String>) -> Interceptor {
    on(Flow::ToProxy, move |message, next| {
        let arguments = message.run.and_then(|run| run.arguments.as_deref());
        let changed = arguments
            .filter(|_| message.part == Part::Request)
            .and_then(change);
        next.push(changed.map_or_else(|| message.pass(), |changed| begin(message, &changed)));
    })
}

/// What a piece of JSON text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// White space between others.
    Space,
    /// A string with its quotes.
    Text,
    Number,
    Other,
}

/// Hands the arguments on with another text for each piece of theirs.
fn pieces(change: fn(Kind, &str) -> String) -> Interceptor {
    on(Flow::ToProxy, move |message, next| {
        let arguments = message.run.and_then(|run| run.arguments.as_deref());
        next.push(match arguments.filter(|_| message.part == Part::Request) {
            Some(arguments) => {
                let changed: String = split(arguments)
                    .into_iter()
                    .map(|(kind, text)| change(kind, text))
                    .collect();
                begin(message, &changed)
            }
            None => message.pass(),
        });
    })
}

/// The pieces of a JSON text.
fn split(json: &str) -> Vec<(Kind, &str)> {
    let mut pieces = Vec::new();
    let mut rest = json;
    while let Some(first) = rest.chars().next() {
        let length = |inside: fn(char) -> bool| rest.find(|c| !inside(c)).unwrap_or(rest.len());
        let (kind, tail) = match first {
            '"' => {
                let mut escaped = false;
                let end = rest[1..].find(|c| {
                    let ends = c == '"' && !escaped;
                    escaped = c == '\\' && !escaped;
                    ends
                });
                (Kind::Text, end.map_or(rest.len(), |end| end + 2))
            }
            c if c.is_whitespace() => (Kind::Space, length(char::is_whitespace)),
            c if c == '-' || c.is_ascii_digit() => (
                Kind::Number,
                length(|c| c.is_ascii_digit() || "+-.eE".contains(c)),
            ),
            c => (Kind::Other, c.len_utf8()),
        };
        let (piece, behind) = rest.split_at(tail);
        pieces.push((kind, piece));
        rest = behind;
    }
    pieces
}
