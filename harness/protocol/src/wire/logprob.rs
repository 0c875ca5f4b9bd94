//! Per-token log probabilities, with every digit that was sent.

use std::str::FromStr;

use compact_str::CompactString;
use rust_decimal::Decimal;
use serde::Serialize;
use smallvec::SmallVec;

use super::shape::{Object, Shape, optional, required};
use super::tape::{Fill, Play};

/// A token's bytes. Like its text, they mostly need no memory of their own.
pub type TokenBytes = SmallVec<[u8; 16]>;

/// A token with its probability, and with those of its rivals. Decimals are written as strings, which no reader rounds.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Logprob {
    /// Its text.
    pub token: CompactString,
    /// Its bytes; text alone may not do for part of a character.
    pub bytes: Option<TokenBytes>,
    /// Its log probability.
    pub logprob: Decimal,
    /// Its rivals in this place.
    pub top_logprobs: Vec<TopLogprob>,
}

/// A rival of a token.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct TopLogprob {
    /// Its text.
    pub token: CompactString,
    /// Its bytes; text alone may not do for part of a character.
    pub bytes: Option<TokenBytes>,
    /// Its log probability, where it is known.
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
pub(super) fn is_decimal(text: &str) -> bool {
    is_plain(text) || of_string(text).is_some()
}

/// Whether the text is digits, at most 28 of them, with at most one point between and a minus in front: what every
/// model sends, and a decimal always.
pub(super) fn is_plain(text: &str) -> bool {
    let text = text.strip_prefix('-').unwrap_or(text).as_bytes();
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

/// The decimal that digits spell, with at most one point between and a minus in front, if they fit 64 bits and are
/// not all zero.
pub(super) fn of_plain(text: &str) -> Option<Decimal> {
    let (digits, negative) = match text.strip_prefix('-') {
        Some(digits) => (digits.as_bytes(), true),
        None => (text.as_bytes(), false),
    };
    if digits.len() > 19 {
        return None;
    }
    let (mut number, mut point) = (0i64, None);
    for (at, byte) in digits.iter().enumerate() {
        match byte {
            b'0'..=b'9' => {
                number = number
                    .checked_mul(10)?
                    .checked_add(i64::from(byte - b'0'))?;
            }
            b'.' if point.is_none() => point = Some(at),
            _ => return None,
        }
    }
    let scale = point.map_or(0, |point| digits.len() - point - 1);
    let signed = if negative { -number } else { number };
    (number != 0).then(|| Decimal::new(signed, scale as u32))
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

impl Fill for Logprob {
    fn fill(&mut self, name: &str, play: &mut Play<'_, '_>) -> Option<()> {
        match name {
            "token" => play.put(&mut self.token),
            "bytes" => play.put(&mut self.bytes),
            "logprob" => play.put(&mut self.logprob),
            _ => play.put(&mut self.top_logprobs),
        }
    }
}

impl Fill for TopLogprob {
    fn fill(&mut self, name: &str, play: &mut Play<'_, '_>) -> Option<()> {
        match name {
            "token" => play.put(&mut self.token),
            "bytes" => play.put(&mut self.bytes),
            _ => play.put(&mut self.logprob),
        }
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
                prop_assert!(of_string(&text).is_some(), "{text}");
                if let Some(decimal) = of_plain(&text) {
                    prop_assert_eq!(decimal.to_string(), of_string(&text).expect(&text).to_string());
                }
            }
        }
    }
}
