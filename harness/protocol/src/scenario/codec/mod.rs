//! Scenarios of a codec under test: a payload, its neighbours one named change apart, and what a codec must say of each.
//!
//! A scenario holds a payload that is accepted with its kind and a neighbour of it that is rejected; where it pins a
//! freedom, also one that is accepted just so.

mod change;
mod load;
pub(super) mod schema;

use std::fmt;

pub use change::{Change, ChangeError, Payload, hex};
pub use load::{CodecSuite, iut_of};

use super::error::{Mistake, MistakeKind};
use super::model::Located;
use crate::rules::{RequirementId, Revision};
use crate::wire::Rule;
use crate::wire::surface::Surface;

/// One scenario, its case filled in.
#[derive(Debug, Clone)]
pub struct CodecScenario {
    /// `codec/topic/name`, and `/case` where it has cases.
    pub id: String,
    /// The id without the case.
    pub family: String,
    /// One line for people.
    pub title: String,
    /// What it tests.
    pub requirement: RequirementId,
    /// The payload that is accepted, the neighbour that is accepted too where there is one, and the one that is not.
    pub vectors: Vec<Vector>,
    /// Where it is written.
    pub at: Located,
}

/// One payload that a codec is asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vector {
    /// What it is a payload of.
    pub surface: Surface,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// What a codec must say of it.
    pub expected: Expected,
    /// The payload as it is written.
    pub payload: Payload,
    /// The change of it that makes these bytes.
    pub change: Option<Change>,
}

/// What a codec must say of a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Expected {
    /// That it is well formed, and of this kind.
    Accept(&'static str),
    /// That it is malformed; the rule that it breaks is not asked for.
    Reject(Rule),
}

impl CodecScenario {
    /// The second part of the id.
    #[must_use]
    pub fn topic(&self) -> &str {
        self.id.split('/').nth(1).unwrap_or_default()
    }

    /// Whether it pins a freedom: whether more than one of its payloads is accepted.
    #[must_use]
    pub fn pins_a_freedom(&self) -> bool {
        let accepted = |vector: &&Vector| matches!(vector.expected, Expected::Accept(_));
        self.vectors.iter().filter(accepted).count() > 1
    }

    /// The revisions that have its payloads.
    #[must_use]
    pub fn revisions(&self) -> &'static [Revision] {
        self.vectors
            .first()
            .map_or(&[], |vector| vector.surface.revisions())
    }

    /// The vectors of which our own decoder says something else than the scenario, which then proves nothing.
    #[must_use]
    pub fn unsound(&self) -> Vec<Mistake> {
        let wrong = self.vectors.iter().filter_map(|vector| vector.unsound());
        let mistake = |why| Mistake {
            at: self.at.clone(),
            kind: MistakeKind::UnsoundProbe(why),
        };
        wrong.map(mistake).collect()
    }
}

impl Vector {
    /// The line that asks a codec about it.
    #[must_use]
    pub fn line(&self) -> String {
        format!("{} {}", self.surface, hex(&self.bytes))
    }

    fn unsound(&self) -> Option<String> {
        let judged = self.surface.judge(&self.bytes);
        let of = match &self.change {
            Some(change) => format!("with `{change}`"),
            None => "the payload itself".to_owned(),
        };
        match (self.expected, judged) {
            (Expected::Accept(kind), Ok(found)) if kind == found => None,
            (Expected::Reject(rule), Err(fault)) if fault.rule == rule => None,
            (expected, Ok(kind)) => {
                Some(format!("{of}, which {expected}, is a well-formed {kind}"))
            }
            (expected, Err(fault)) => Some(format!("{of}, which {expected}, breaks {fault}")),
        }
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expected::Accept(kind) => write!(f, "must be accepted as {kind}"),
            Expected::Reject(rule) => write!(f, "must be rejected by {rule}"),
        }
    }
}

impl fmt::Display for Vector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.surface, self.payload)?;
        self.change
            .iter()
            .try_for_each(|change| write!(f, ", with `{change}`"))
    }
}
