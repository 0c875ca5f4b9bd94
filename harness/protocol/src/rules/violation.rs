//! What a checker says, and what it needs to say it.

use std::fmt;

use super::catalogue::RequirementId;
use crate::wire::{Malformed, Profile};

/// One requirement broken by one event. Its texts tell kinds, places and lengths, and never quote a payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The requirement.
    pub requirement: RequirementId,
    /// The offending event.
    pub seq: u64,
    /// What was allowed there.
    pub allowed: String,
    /// What came.
    pub received: String,
    /// JSON pointer into what came, where one place in it is at fault.
    pub pointer: Option<String>,
}

/// What the event at hand is judged with.
pub(super) struct Cx<'a> {
    /// The revision's numbers.
    pub profile: &'static Profile,
    /// The event.
    pub seq: u64,
    /// Whether every link of the provider's is seen, so that what the proxy did not send was not sent.
    pub complete: bool,
    /// Where violations go.
    pub out: &'a mut Vec<Violation>,
}

impl Cx<'_> {
    /// The event at hand breaks a requirement.
    pub fn flag(
        &mut self,
        requirement: RequirementId,
        allowed: impl Into<String>,
        received: impl Into<String>,
    ) {
        self.flag_at(self.seq, requirement, allowed, received);
    }

    /// An event breaks a requirement, as only the event at hand shows.
    pub fn flag_at(
        &mut self,
        seq: u64,
        requirement: RequirementId,
        allowed: impl Into<String>,
        received: impl Into<String>,
    ) {
        let violation = Violation {
            requirement,
            seq,
            allowed: allowed.into(),
            received: received.into(),
            pointer: None,
        };
        self.out.push(violation);
    }

    /// The event at hand carries something malformed.
    pub fn flag_malformed(&mut self, requirement: RequirementId, what: &str, fault: &Malformed) {
        self.out.push(Violation {
            requirement,
            seq: self.seq,
            allowed: format!("{what} with {}", fault.expected),
            received: fault.found.clone().into_owned(),
            pointer: (!fault.pointer.is_empty()).then(|| fault.pointer.clone()),
        });
    }
}

/// A length in words.
pub(super) struct Length(pub usize);

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("no bytes"),
            1 => f.write_str("1 byte"),
            bytes => write!(f, "{bytes} bytes"),
        }
    }
}

/// How one run of bytes differs from another, without quoting either.
pub(super) fn difference(received: &[u8], sent: &[u8]) -> String {
    let same = received
        .iter()
        .zip(sent)
        .take_while(|(a, b)| a == b)
        .count();
    format!(
        "{} instead of {}, different from byte {same} on",
        Length(received.len()),
        Length(sent.len())
    )
}
