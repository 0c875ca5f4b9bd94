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

/// Whether a string spells a decimal.
pub(super) fn is_decimal(text: &[u8]) -> bool {
    is_plain(text) || std::str::from_utf8(text).is_ok_and(|text| of_string(text).is_some())
}

/// Whether the text is digits, at most 28 of them, with at most one point between and a minus in front: what every
/// model sends, and a decimal always.
pub(super) fn is_plain(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let (mut digits, mut points) = (0, 0);
    for byte in text {
        match byte {
            b'0'..=b'9' => digits += 1,
            b'.' => points += 1,
            _ => return false,
        }
    }
    let ends = [text.first(), text.last()];
    digits <= 28 && points <= 1 && ends.iter().all(|end| end.is_some_and(|byte| *byte != b'.'))
}

/// The decimal that a string spells.
pub(super) fn of_string(text: &str) -> Option<Decimal> {
    Decimal::from_str(text)
        .or_else(|_| Decimal::from_scientific(text))
        .ok()
}

/// The decimal that a JSON number is, by its digits rather than through a double. One too small for a decimal in
/// scientific form still rounds to one.
pub(super) fn of_number(text: &str) -> Option<Decimal> {
    of_string(text).or_else(|| Decimal::from_str(&text.parse::<f64>().ok()?.to_string()).ok())
}

fn of_raw<E: Error>(raw: &RawValue) -> Result<Decimal, E> {
    let decimal = match raw.get().starts_with('"') {
        true => of_string(&serde_json::from_str::<String>(raw.get()).map_err(E::custom)?),
        false => of_number(raw.get()),
    };
    decimal.ok_or_else(|| E::custom("no decimal"))
}

fn exact<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Decimal, D::Error> {
    of_raw(<&RawValue>::deserialize(deserializer)?)
}

fn exact_or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Decimal>, D::Error> {
    let raw = <&RawValue>::deserialize(deserializer)?;
    match raw.get() {
        "null" => Ok(None),
        _ => of_raw(raw).map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_taken_unread_is_a_decimal(text in "-?[0-9.]{1,30}") {
            if is_plain(text.as_bytes()) {
                prop_assert!(of_string(&text).is_some(), "{text}");
            }
        }
    }
}
