//! Secrets that an input of any length has shown so far, in bounded memory.

use std::collections::VecDeque;

use super::{Mask, hides_something, stand_in, unescape, values};

/// So many secrets are known at once, and so many bytes of them; beyond either, the oldest are forgotten.
const MOST: usize = 1024;
const MOST_BYTES: usize = 64 << 20;

/// What stood in secret places, to be masked by value from there on.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    mask: Mask,
    /// The mask's secrets by age.
    order: VecDeque<Vec<u8>>,
    bytes: usize,
}

impl Seen {
    /// Takes in the texts and numbers that stand in a secret place, whether or not it is well formed.
    pub(crate) fn see(&mut self, place: &[u8]) {
        let mut found = Vec::new();
        values(place, &mut found);
        for secret in found {
            let fits = hides_something(&secret) && secret.len() <= MOST_BYTES;
            if fits && self.mask.add(&secret) {
                self.bytes += secret.len();
                self.order.push_back(secret);
            }
        }
        while self.order.len() > MOST || self.bytes > MOST_BYTES {
            let Some(oldest) = self.order.pop_front() else {
                break;
            };
            self.bytes -= oldest.len();
            self.mask.forget(&oldest);
        }
    }

    /// A text with every secret replaced by its length.
    pub(crate) fn text(&self, text: &str) -> String {
        self.mask.text(text)
    }

    /// JSON text with every secret in its strings and names replaced by its length, and every number that holds one by
    /// a string that says so; JSON again.
    pub(crate) fn json(&self, text: &str) -> String {
        if self.order.is_empty() {
            return text.to_owned();
        }
        let mut shown = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(next) = rest.chars().next() {
            let token = match next {
                '"' => {
                    let inner = string_end(rest);
                    shown.push('"');
                    self.inside(&rest[1..inner], &mut shown);
                    shown.push('"');
                    (inner + 1).min(rest.len())
                }
                '-' | '0'..='9' => {
                    let ends = |c: char| !matches!(c, '-' | '+' | '.' | 'e' | 'E' | '0'..='9');
                    let end = rest.find(ends).unwrap_or(rest.len());
                    let number = &rest[..end];
                    if self.mask.places(number.as_bytes()).is_empty() {
                        shown.push_str(number);
                    } else {
                        shown.push('"');
                        shown.push_str(&stand_in(end));
                        shown.push('"');
                    }
                    end
                }
                other => {
                    shown.push(other);
                    other.len_utf8()
                }
            };
            rest = &rest[token..];
        }
        shown
    }

    /// What stands between the quotes of a JSON string: an escape is replaced whole or not at all.
    fn inside(&self, text: &str, shown: &mut String) {
        let mut rest = text;
        while let Some(next) = rest.chars().next() {
            if let Some((length, secret)) = self.mask.starts(rest.as_bytes()) {
                shown.push_str(&stand_in(secret.len()));
                rest = &rest[length..];
                continue;
            }
            let length = match next {
                '\\' => unescape(rest.as_bytes()).map_or(1, |(_, length)| length),
                _ => next.len_utf8(),
            };
            shown.push_str(&rest[..length]);
            rest = &rest[length..];
        }
    }
}

/// Where the string ends that `text` begins with: the place of its closing quote, or the end.
fn string_end(text: &str) -> usize {
    let mut escaped = false;
    let closes = text.bytes().enumerate().skip(1).find(|(_, byte)| {
        let closes = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        closes
    });
    closes.map_or(text.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(place: &str) -> Seen {
        let mut seen = Seen::default();
        seen.see(place.as_bytes());
        seen
    }

    #[test]
    fn a_secret_is_masked_in_strings_names_and_numbers_and_json_stays_json() {
        let seen = seen(r#"{"a":"hunter2","b":123456,"c":"q\"uote","d":"nested"}"#);
        for (text, expected) in [
            (r#"["my hunter2!"]"#, r#"["my ‹secret, 7 bytes›!"]"#),
            (r#"{"hunter2":1}"#, r#"{"‹secret, 7 bytes›":1}"#),
            (r#"["\u0068unter2"]"#, r#"["‹secret, 7 bytes›"]"#),
            (r#"[-123456.5, 12345]"#, r#"["‹secret, 9 bytes›", 12345]"#),
            (
                r#"["q\"uote","q","uote"]"#,
                r#"["‹secret, 6 bytes›","q","uote"]"#,
            ),
            (
                r#"["\nested","\\nested"]"#,
                r#"["\nested","\\‹secret, 6 bytes›"]"#,
            ),
            (r#"["\ud800hunter2"]"#, r#"["\ud800‹secret, 7 bytes›"]"#),
        ] {
            assert_eq!(seen.json(text), expected);
        }
    }

    #[test]
    fn a_secret_of_several_tokens_breaks_no_json() {
        let seen = seen(r#"["a\":\"b"]"#);
        let text = r#"{"a":"b","c":"a\":\"b"}"#;
        assert_eq!(seen.json(text), r#"{"a":"b","c":"‹secret, 5 bytes›"}"#);
    }

    #[test]
    fn the_oldest_secrets_are_forgotten_when_there_are_too_many() {
        let mut seen = Seen::default();
        for number in 0..=MOST {
            seen.see(format!(r#"["secret-{number:05}"]"#).as_bytes());
        }
        assert_eq!(seen.order.len(), MOST);
        assert_eq!(seen.text("secret-00000"), "secret-00000");
        assert_eq!(seen.text("secret-00001"), "‹secret, 12 bytes›");
        let long = "x".repeat(MOST_BYTES / 2 + 1);
        seen.see(format!(r#"["{long}"]"#).as_bytes());
        seen.see(format!(r#"["y{long}"]"#).as_bytes());
        assert!(seen.bytes <= MOST_BYTES && seen.order.len() == 1);
    }
}
