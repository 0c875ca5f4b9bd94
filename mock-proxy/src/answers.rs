//! How a proxy reads what an agent server answers, and the errors that it makes itself.

use std::collections::HashMap;

use bytes::Bytes;
use serde_json::json;
use serde_json::value::RawValue;

use crate::policy::Word;
use crate::settings::Settings;

/// The agent server's port by the text of its environment variable: 8080 where that is no decimal port.
#[must_use]
pub fn port(text: &str) -> u16 {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let port = digits.then(|| text.parse().ok()).flatten();
    port.filter(|port| *port != 0).unwrap_or(8080)
}

/// What became of a message that was offered to a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The loop took it.
    Delivered,
    /// It was withdrawn.
    Dequeued,
    /// The loop ended first.
    Missed,
}

/// The fate that the body of a success names.
#[must_use]
pub fn fate(body: &[u8]) -> Option<Fate> {
    match kind(body)?.as_str() {
        "delivered" => Some(Fate::Delivered),
        "dequeued" => Some(Fate::Dequeued),
        "missed" => Some(Fate::Missed),
        _ => None,
    }
}

/// Whether the body of a success says that something was withdrawn.
#[must_use]
pub fn withdrew(body: &[u8]) -> Option<bool> {
    match kind(body)?.as_str() {
        "dequeued" => Some(true),
        "empty" => Some(false),
        _ => None,
    }
}

fn kind(body: &[u8]) -> Option<String> {
    serde_json::from_str(members(body)?.get("type")?.get()).ok()
}

/// The list that a program declared when it registered, byte for byte; an empty one where it declared none.
#[must_use]
pub fn declared(body: &[u8]) -> Option<Bytes> {
    let members = members(body)?;
    let list = ["dependencies", "tools"]
        .iter()
        .filter_map(|name| members.get(*name))
        .find(|list| list.get() != "null");
    let list = list.map_or("[]", |list| list.get());
    list.starts_with('[')
        .then(|| Bytes::copy_from_slice(list.as_bytes()))
}

fn members(body: &[u8]) -> Option<HashMap<String, &RawValue>> {
    serde_json::from_slice(body).ok()
}

/// Whether the bytes are exactly one JSON value.
#[must_use]
pub fn is_json(bytes: &[u8]) -> bool {
    serde_json::from_slice::<&RawValue>(bytes).is_ok()
}

/// Whether an HTTP status is one of success.
#[must_use]
pub fn is_success(status: u16) -> bool {
    (200..300).contains(&status)
}

/// The error that tells why a call was not answered with a success, or not with one that can be read: the agent server's
/// own words where they are JSON.
#[must_use]
pub fn error_of(word: &Word, settings: &Settings) -> Bytes {
    match word {
        Word::Answered { status, body } if !is_success(*status) => {
            if is_json(body) {
                return body.clone();
            }
            let error = String::from_utf8_lossy(body);
            own(
                json!({"kind": "program", "status": status, "error": error}),
                settings,
            )
        }
        Word::Failed(reason) | Word::Broke(reason) => {
            own(json!({"kind": "program", "error": reason}), settings)
        }
        _ => own(
            json!({"kind": "program", "error": "the answer cannot be read"}),
            settings,
        ),
    }
}

/// The error that answers a begin where there is one already.
#[must_use]
pub fn begun_already(settings: &Settings) -> Bytes {
    own(
        json!({"kind": "begun", "error": "the program has its arguments"}),
        settings,
    )
}

/// The error that ends the messages of a loop which broke off, in the path revision.
#[must_use]
pub fn loop_broke(reason: &str, settings: &Settings) -> Bytes {
    own(json!({"kind": "loop", "error": reason}), settings)
}

fn own(error: serde_json::Value, settings: &Settings) -> Bytes {
    match settings.error {
        Some(error) => Bytes::from_static(error.as_bytes()),
        None => error.to_string().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_port_means_8080() {
        assert_eq!((port("1"), port("65535")), (1, 65535));
        for text in ["", "0", "65536", " 80", "+80", "abc"] {
            assert_eq!(port(text), 8080, "{text}");
        }
    }

    #[test]
    fn fates_are_read_strictly() {
        assert_eq!(fate(br#"{"type":"delivered"}"#), Some(Fate::Delivered));
        assert_eq!(
            fate(br#" {"a":[1],"type":"d\u0065queued"} "#),
            Some(Fate::Dequeued)
        );
        assert_eq!(fate(br#"{"type":"missed"}"#), Some(Fate::Missed));
        for body in [
            "",
            "null",
            "[\"delivered\"]",
            "{\"type\":1}",
            "{\"type\":\"empty\"}",
        ] {
            assert_eq!(fate(body.as_bytes()), None, "{body}");
        }
        assert_eq!(withdrew(br#"{"type":"empty"}"#), Some(false));
    }

    #[test]
    fn a_declared_list_keeps_its_bytes() {
        assert_eq!(declared(b"{}").as_deref(), Some(&b"[]"[..]));
        assert_eq!(
            declared(br#"{"dependencies":null}"#).as_deref(),
            Some(&b"[]"[..])
        );
        assert_eq!(
            declared(br#"{"dependencies":[ 1.50,{"a" :1}]}"#).as_deref(),
            Some(&br#"[ 1.50,{"a" :1}]"#[..])
        );
        assert_eq!(
            declared(br#"{"tools":["t"]}"#).as_deref(),
            Some(&br#"["t"]"#[..])
        );
        for body in ["", "[]", "null", "{", r#"{"dependencies":{}}"#] {
            assert_eq!(declared(body.as_bytes()), None, "{body}");
        }
    }

    #[test]
    fn an_error_is_the_agents_words_where_they_are_json() {
        let answered = |status, body: &'static str| {
            let body = body.into();
            error_of(&Word::Answered { status, body }, &Settings::default())
        };
        assert_eq!(answered(400, "{ \"no\": 1.50 }"), "{ \"no\": 1.50 }");
        assert_eq!(
            answered(500, "oh"),
            r#"{"error":"oh","kind":"program","status":500}"#
        );
        assert!(is_json(&answered(500, "")));
        assert!(is_json(&answered(204, "")));
    }
}
