//! The ids of a scenario's runs, held against each other and against what the client chose.

use std::collections::HashSet;

use super::id;
use super::json;
use super::run::Request;
use super::violation::{Cx, Length};

/// Fewer bits than these between ids can be guessed.
const BITS: f64 = 32.0;
/// Fewer ids than these show no pattern.
const SHOWING: usize = 3;
/// Shorter strings may be in an id by chance.
const TELLING: usize = 8;
/// How many ids are kept.
const MOST: usize = 1 << 14;

/// The ids seen.
#[derive(Debug, Default)]
pub(super) struct Ids {
    seen: HashSet<String>,
    last: u64,
}

impl Ids {
    /// A run got its id.
    pub(super) fn add(&mut self, given: String, request: &Request, cx: &mut Cx<'_>) {
        if derived(&given, request) {
            let received = format!(
                "an id of {} that has a part in common with the request",
                Length(given.len())
            );
            cx.flag(id::ID_NOT_DERIVED, "an id of the provider's own", received);
        }
        if self.seen.contains(&given) {
            let received = format!("an id of {} that another run got", Length(given.len()));
            cx.flag(id::ID_UNIQUE, "an id that no other run got", received);
        } else if self.seen.len() < MOST {
            self.seen.insert(given);
        }
        self.last = cx.seq;
    }

    /// The scenario is over.
    pub(super) fn end(&self, cx: &mut Cx<'_>) {
        if self.seen.len() < SHOWING {
            return;
        }
        let bits = bits_between(&self.seen);
        if bits < BITS {
            let received = format!(
                "{} ids that leave {bits:.0} bits open between them",
                self.seen.len()
            );
            cx.flag_at(
                self.last,
                id::ID_UNGUESSABLE,
                format!("ids that differ in {BITS} bits or more"),
                received,
            );
        }
    }
}

fn derived(given: &str, request: &Request) -> bool {
    let digest = request
        .digest
        .split_once(':')
        .map_or(request.digest.as_str(), |(_, hex)| hex);
    let mut chosen = Vec::new();
    if digest.len() >= TELLING {
        chosen.push(digest.to_owned());
    }
    if let Some(arguments) = &request.arguments {
        if arguments.get().len() >= TELLING {
            chosen.push(arguments.get().to_owned());
        }
        json::strings(arguments.get(), TELLING, &mut chosen);
    }
    let part = |whole: &str, part: &str| part.len() >= TELLING && whole.contains(part);
    chosen.iter().any(|it| part(given, it) || part(it, given))
}

/// How much an observer of some ids does not know of another: the bits of the shortest part in which they differ.
fn bits_between(ids: &HashSet<String>) -> f64 {
    let Some(first) = ids.iter().next() else {
        return 0.0;
    };
    let common = |reverse: bool| {
        let lengths = ids.iter().map(|other| {
            let same = |(a, b): &(u8, u8)| a == b;
            if reverse {
                first
                    .bytes()
                    .rev()
                    .zip(other.bytes().rev())
                    .take_while(same)
                    .count()
            } else {
                first.bytes().zip(other.bytes()).take_while(same).count()
            }
        });
        lengths.min().unwrap_or(0)
    };
    let (start, end) = (common(false), common(true));
    let parts = || {
        ids.iter().map(|id| {
            let end = id.len().saturating_sub(end).max(start);
            id.as_bytes().get(start..end).unwrap_or_default()
        })
    };
    let shortest = parts().map(<[u8]>::len).min().unwrap_or(0);
    let has = |class: fn(&u8) -> bool| parts().flatten().any(class);
    let hex = !parts()
        .flatten()
        .any(|b| b.is_ascii_alphabetic() && !b.is_ascii_hexdigit());
    let lower = if has(u8::is_ascii_lowercase) {
        if hex { 6 } else { 26 }
    } else {
        0
    };
    let upper = if has(u8::is_ascii_uppercase) {
        if hex { 6 } else { 26 }
    } else {
        0
    };
    let digits = if has(u8::is_ascii_digit) { 10 } else { 0 };
    // Hyphens and the like between the groups of an id say nothing.
    let telling = parts().map(|part| {
        part.iter()
            .filter(|b| b.is_ascii_alphanumeric() || !b.is_ascii())
            .count()
    });
    let letters: u32 = lower + upper + digits;
    let alphabet = f64::from(letters.max(2));
    let length = telling.min().unwrap_or(0).min(shortest);
    f64::from(u32::try_from(length).unwrap_or(u32::MAX)) * alphabet.log2()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(ids: &[&str]) -> f64 {
        bits_between(&ids.iter().map(|id| (*id).to_owned()).collect())
    }

    #[test]
    fn counters_are_short_and_random_ids_are_not() {
        assert!(bits(&["run-1", "run-2", "run-3"]) < BITS);
        assert!(bits(&["0000000000000001", "0000000000000002", "0000000000000010"]) < BITS);
        assert!(bits(&["1718000000123456", "1718000000223457", "1718000000923458"]) < BITS);
        assert!(bits(&["xa7Q", "bb31", "c9zz"]) < BITS);
        assert!(
            bits(&[
                "6f1b0c52-62c2-4b7e-9a59-0d1f4b8f6a10",
                "a3c0e1d7-1f2b-4c44-8f0e-9b7a6c5d4e3f",
                "0d9e8f7a-6b5c-4d3e-9f1a-2b3c4d5e6f70",
            ]) > 100.0
        );
        assert!(bits(&["q83vEjRWeJCrze8S", "AAECAwQFBgcICQoL", "Zm9vYmFyYmF6cXV4"]) > 64.0);
    }
}
