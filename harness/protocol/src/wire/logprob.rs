//! Per-token log probabilities, with every digit that was sent.

use std::str::FromStr;

use rust_decimal::Decimal;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::shape::{Object, Shape, optional, required};

/// One token, and what the model thought of it. Decimals are written as strings, which no reader rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Logprob {
    /// The token as text.
    pub token: String,
    /// The token's bytes, where text cannot hold them.
    #[serde(default)]
    pub bytes: Option<Vec<u8>>,
    /// Its log probability.
    #[serde(deserialize_with = "exact")]
    pub logprob: Decimal,
    /// What else the model considered here.
    pub top_logprobs: Vec<TopLogprob>,
}

/// A token that the model considered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TopLogprob {
    /// The token as text.
    pub token: String,
    /// The token's bytes, where text cannot hold them.
    #[serde(default)]
    pub bytes: Option<Vec<u8>>,
    /// Its log probability, where it is known.
    #[serde(default, deserialize_with = "exact_or_none")]
    pub logprob: Option<Decimal>,
}

pub(super) static LOGPROB: Shape = Shape::Object(&Object::open(&[
    required("token", Shape::Str),
    optional("bytes", Shape::Array(&Shape::U8)),
    required("logprob", Shape::Decimal),
    required("top_logprobs", Shape::Array(&TOP_LOGPROB)),
]));

static TOP_LOGPROB: Shape = Shape::Object(&Object::open(&[
    required("token", Shape::Str),
    optional("bytes", Shape::Array(&Shape::U8)),
    optional("logprob", Shape::Decimal),
]));

/// Whether [`decimal`] reads the raw value.
pub(super) fn is_decimal(raw: &str) -> bool {
    let bare = raw
        .strip_prefix('"')
        .map_or(Some(raw), |rest| rest.strip_suffix('"'));
    bare.is_some_and(is_plain) || decimal(raw).is_some()
}

/// Whether the text is digits, at most 28 of them, with at most one point between and a minus in front: what every
/// model sends, and no decimal can fail on.
fn is_plain(text: &str) -> bool {
    let text = text.strip_prefix('-').unwrap_or(text).as_bytes();
    let digits = text.iter().filter(|byte| byte.is_ascii_digit()).count();
    let points = text.iter().filter(|byte| **byte == b'.').count();
    let ends = [text.first(), text.last()];
    digits <= 28
        && points <= 1
        && digits + points == text.len()
        && ends.iter().all(|end| end.is_some_and(u8::is_ascii_digit))
}

/// The decimal that a raw number or string is, a number by its digits rather than through a double.
pub(super) fn decimal(raw: &str) -> Option<Decimal> {
    let parse = |text: &str| {
        Decimal::from_str(text)
            .or_else(|_| Decimal::from_scientific(text))
            .ok()
    };
    match raw.as_bytes().first()? {
        b'"' if raw.contains('\\') => parse(&serde_json::from_str::<String>(raw).ok()?),
        b'"' => parse(raw.strip_prefix('"')?.strip_suffix('"')?),
        // A number too small for a decimal in scientific form still rounds to one.
        b'-' | b'0'..=b'9' => {
            parse(raw).or_else(|| Decimal::from_str(&raw.parse::<f64>().ok()?.to_string()).ok())
        }
        _ => None,
    }
}

fn exact<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Decimal, D::Error> {
    let raw = <&RawValue>::deserialize(deserializer)?;
    decimal(raw.get()).ok_or_else(|| D::Error::custom("no decimal"))
}

fn exact_or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Decimal>, D::Error> {
    match <&RawValue>::deserialize(deserializer)?.get() {
        "null" => Ok(None),
        raw => match decimal(raw) {
            Some(decimal) => Ok(Some(decimal)),
            None => Err(D::Error::custom("no decimal")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_taken_unread_is_a_decimal(text in "-?[0-9.]{1,30}") {
            if is_plain(&text) {
                prop_assert!(Decimal::from_str(&text).is_ok(), "{text}");
            }
        }
    }
}
