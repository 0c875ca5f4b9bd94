//! Whether two JSON texts say the same.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Deserialize;
use serde_json::value::RawValue;

/// How deep values are compared; below that, only by their bytes.
const DEPTH: usize = 100;

#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// Whether two texts are the same JSON value: objects without regard to order, numbers digit by digit.
pub(super) fn same_value(a: &str, b: &str) -> bool {
    same(a.trim_ascii(), b.trim_ascii(), DEPTH)
}

fn same(a: &str, b: &str, depth: usize) -> bool {
    if a == b || depth == 0 {
        return a == b;
    }
    match (a.bytes().next(), b.bytes().next()) {
        (Some(b'{'), Some(b'{')) => members(a).zip(members(b)).is_some_and(|(a, b)| {
            a.len() == b.len()
                && a.iter().all(|(name, a)| {
                    b.get(name)
                        .is_some_and(|b| same(a.get(), b.get(), depth - 1))
                })
        }),
        (Some(b'['), Some(b'[')) => elements(a).zip(elements(b)).is_some_and(|(a, b)| {
            a.len() == b.len()
                && a.iter()
                    .zip(&b)
                    .all(|(a, b)| same(a.get(), b.get(), depth - 1))
        }),
        (Some(b'"'), Some(b'"')) => string(a).zip(string(b)).is_some_and(|(a, b)| a == b),
        _ => false,
    }
}

fn members(text: &str) -> Option<HashMap<String, &RawValue>> {
    serde_json::from_str(text).ok()
}

fn elements(text: &str) -> Option<Vec<&RawValue>> {
    serde_json::from_str(text).ok()
}

fn string(text: &str) -> Option<Cow<'_, str>> {
    serde_json::from_str::<Name<'_>>(text)
        .ok()
        .map(|name| name.0)
}

/// The value of the member `type` of an object, if it is a string.
pub(super) fn type_of(body: &[u8]) -> Option<String> {
    member(body, "type")
}

/// The value of a member of an object, if it is a string.
pub(super) fn member(body: &[u8], name: &str) -> Option<String> {
    let object = members(std::str::from_utf8(body).ok()?)?;
    string(object.get(name)?.get()).map(Cow::into_owned)
}

/// Whether a text is one JSON value.
pub(super) fn is_json(body: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(body).is_ok()
}

/// Adds every string in a JSON text that is at least `least` bytes long.
pub(super) fn strings(text: &str, least: usize, into: &mut Vec<String>) {
    collect(text.trim_ascii(), least, DEPTH, into);
}

fn collect(text: &str, least: usize, depth: usize, into: &mut Vec<String>) {
    if depth == 0 || text.len() < least {
        return;
    }
    match text.bytes().next() {
        Some(b'{') => {
            for value in members(text).into_iter().flatten() {
                collect(value.1.get(), least, depth - 1, into);
            }
        }
        Some(b'[') => {
            for value in elements(text).into_iter().flatten() {
                collect(value.get(), least, depth - 1, into);
            }
        }
        Some(b'"') => into.extend(
            string(text)
                .filter(|s| s.len() >= least)
                .map(Cow::into_owned),
        ),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_spelling_do_not_count_and_digits_do() {
        assert!(same_value(
            r#"{"a":[1, "A"],"b":null}"#,
            "{ \"b\" : null, \"a\" : [1,\"\\u0041\"] }"
        ));
        assert!(!same_value("1.0", "1"));
        assert!(!same_value("[1,2]", "[2,1]"));
        assert!(!same_value(r#"{"a":1}"#, r#"{"a":1,"b":2}"#));
        assert!(!same_value(
            "12345678901234567890123",
            "12345678901234567890124"
        ));
    }

    #[test]
    fn strings_are_found_at_any_depth() {
        let mut found = Vec::new();
        strings(r#"{"a":["long enough",{"b":"short"}]}"#, 8, &mut found);
        assert_eq!(found, ["long enough"]);
    }
}
