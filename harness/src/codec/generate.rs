//! Payloads that nobody wrote down: those of the scenarios, grown and changed at random, each judged by our own decoder.
//!
//! A case is a payload that is accepted and a neighbour of it one named change apart. Where the neighbour is accepted too,
//! a third one is not. What the pages leave open is no case. Everything follows from the seed.

use std::collections::BTreeMap;
use std::sync::Arc;

use diverge_protocol::rules::RequirementId;
use diverge_protocol::scenario::codec::{Change, CodecScenario, Expected, Payload, Vector};
use diverge_protocol::wire::mutate::{Mutation, Place, places};
use diverge_protocol::wire::surface::Surface;
use diverge_protocol::wire::{Rule, leaves_open};
use fastrand::Rng;

/// How many cases are generated, and from which seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cases {
    /// How many.
    pub number: u64,
    /// The seed.
    pub seed: u64,
}

/// One case.
#[derive(Debug, Clone)]
pub struct Case {
    /// Its number, from 1.
    pub number: u64,
    /// Its payload that is accepted, its neighbour, and a third one where both are accepted.
    pub vectors: Vec<Vector>,
}

/// So often a change is looked for that makes a case; hardly any payload needs a second look.
const LOOKS: usize = 50;
/// What an unknown member, a text or any value may be made of.
const VALUES: &[&str] = &[
    "null",
    "true",
    "0",
    "-1",
    "1.5",
    "1e2",
    "18446744073709551615",
    "\"\"",
    "\"text\"",
    "\"ü💾\"",
    "[]",
    "{}",
    "[null]",
    "[1,\"a\"]",
    "{\"a\":{}}",
];
/// What is no JSON, or none alone.
const NO_VALUES: &[&str] = &[
    "",
    "nul",
    "[",
    "}",
    "'a'",
    "01",
    "+1",
    "\"",
    "undefined",
    "1 1",
];
/// Text that stands around the JSON.
const AROUND: &[&str] = &[
    " ", "\n", "\t", "}", "]", ",", "null", "\u{feff}", "\u{a0}", "x",
];

impl Case {
    /// Its neighbour: the vector that it is there for.
    #[must_use]
    pub fn neighbour(&self) -> &Vector {
        &self.vectors[1]
    }

    /// The id of the result that it counts for: by what is asked about, and what must be said of the neighbour.
    #[must_use]
    pub fn group(&self) -> String {
        let vector = self.neighbour();
        let what = match vector.expected {
            Expected::Accept(_) => "accepted".to_owned(),
            Expected::Reject(rule) => rule.as_str().replace('.', "-"),
        };
        format!("codec/generated/{}/{what}", vector.surface)
    }
}

/// What is generated from a set of scenarios.
#[derive(Debug)]
pub struct Generator {
    cases: Cases,
    bases: Vec<(Surface, &'static str, Payload)>,
    /// How often the scenarios blame each requirement for a rule, on a surface or on any.
    blamed: BTreeMap<(Rule, Option<Surface>), BTreeMap<RequirementId, usize>>,
}

impl Generator {
    /// Starts from the payloads that `scenarios` accept.
    #[must_use]
    pub fn new(scenarios: &[Arc<CodecScenario>], cases: Cases) -> Self {
        let mut bases = Vec::new();
        let mut blamed: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        for scenario in scenarios {
            for vector in &scenario.vectors {
                match (vector.expected, &vector.change) {
                    (Expected::Accept(kind), None) => {
                        bases.push((vector.surface, kind, vector.payload.clone()));
                    }
                    (Expected::Reject(rule), _) => {
                        for surface in [Some(vector.surface), None] {
                            let of_rule = blamed.entry((rule, surface)).or_default();
                            *of_rule.entry(scenario.requirement).or_default() += 1;
                        }
                    }
                    _ => {}
                }
            }
        }
        Self {
            cases,
            bases,
            blamed,
        }
    }

    /// The cases that are asked for.
    pub fn cases(&self) -> impl Iterator<Item = Case> {
        (1..=self.cases.number).filter_map(|number| self.case(number))
    }

    /// The seed.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.cases.seed
    }

    /// What is broken where a vector is misjudged: what most scenarios blame for the same rule.
    #[must_use]
    pub fn requirement(&self, vector: &Vector) -> Option<RequirementId> {
        let Expected::Reject(rule) = vector.expected else {
            return RequirementId::new(WELL_FORMED);
        };
        let most = |surface| {
            let of_rule = self.blamed.get(&(rule, surface))?.iter();
            of_rule.max_by_key(|(_, times)| **times).map(|(id, _)| *id)
        };
        most(Some(vector.surface))
            .or_else(|| most(None))
            .or_else(|| RequirementId::new(WELL_FORMED))
    }

    fn case(&self, number: u64) -> Option<Case> {
        // Each case has a seed of its own, so that it is the same however many there are.
        let mut rng = Rng::with_seed(self.cases.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number);
        let (surface, kind, base) = rng.choice(&self.bases)?;
        let payload = grown(*surface, kind, base.clone(), &mut rng);
        let vector = |bytes: Vec<u8>, expected, change| Vector {
            surface: *surface,
            bytes,
            expected,
            payload: payload.clone(),
            change,
        };
        let mut vectors = vec![vector(payload.bytes(), Expected::Accept(kind), None)];
        for _ in 0..LOOKS {
            let change = any_change(&payload, &mut rng);
            let Some((bytes, expected)) = judged(*surface, &payload, &change) else {
                continue;
            };
            if expected.1 && repeats(&change) || bytes == vectors[0].bytes {
                continue;
            }
            vectors.push(vector(bytes, expected.0, Some(change)));
            break;
        }
        if vectors.len() == 1 {
            return None;
        }
        if matches!(vectors[1].expected, Expected::Accept(_)) {
            let change = Change::Nothing;
            let (bytes, (expected, _)) = judged(*surface, &payload, &change)?;
            vectors.push(vector(bytes, expected, Some(change)));
        }
        Some(Case { number, vectors })
    }
}

/// What is broken by refusing what is well formed.
pub const WELL_FORMED: &str = "codec.payload.well-formed";

/// A change's bytes, what must be said of them, and whether that is to accept them; nothing where it cannot be made, or
/// where both are right.
pub(super) fn judged(
    surface: Surface,
    payload: &Payload,
    change: &Change,
) -> Option<(Vec<u8>, (Expected, bool))> {
    let bytes = change.apply(payload).ok()?;
    let json = bytes
        .get(usize::from(surface.has_first_byte())..)
        .unwrap_or_default();
    match surface.judge(&bytes) {
        Ok(_) if surface != Surface::Frame && leaves_open(json) => None,
        Ok(kind) => Some((bytes, (Expected::Accept(kind), true))),
        Err(fault) if fault.rule.is_open() || leaves_open(json) => None,
        Err(fault) => Some((bytes, (Expected::Reject(fault.rule), false))),
    }
}

/// Whether a change makes a member that stands twice, which is only malformed where it is known.
fn repeats(change: &Change) -> bool {
    matches!(
        change,
        Change::Json(Mutation::Repeat(_) | Mutation::Rename(..))
    )
}

/// The payload with some more that changes nothing about what it is.
fn grown(surface: Surface, kind: &str, mut payload: Payload, rng: &mut Rng) -> Payload {
    for step in 0..rng.usize(0..4) {
        let value = rng.choice(VALUES).copied().unwrap_or("0");
        let all = places_of(&payload);
        let Some(place) = rng.choice(&all) else { break };
        let mutation = match rng.bool() {
            true => Mutation::Set(place.clone(), value.to_owned()),
            false => Mutation::Insert(place.clone(), format!("{{\"x{step}\":{value}}}")),
        };
        let change = Change::Json(mutation);
        match judged(surface, &payload, &change) {
            Some((bytes, (Expected::Accept(found), _))) if found == kind => {
                let skipped = usize::from(payload.first.is_some());
                payload.body = bytes.get(skipped..).unwrap_or_default().to_vec();
            }
            _ => {}
        }
    }
    payload
}

/// Every place in the payload's JSON; none where it has no JSON.
pub(super) fn places_of(payload: &Payload) -> Vec<Place> {
    std::str::from_utf8(&payload.body)
        .map(places)
        .unwrap_or_default()
}

fn any_change(payload: &Payload, rng: &mut Rng) -> Change {
    let places = places_of(payload);
    let Some(place) = rng.choice(&places).cloned() else {
        return any_change_of_bytes(payload, rng);
    };
    let mut one_of = |texts: &[&str]| rng.choice(texts).copied().unwrap_or_default().to_owned();
    let (value, no_value, around) = (one_of(VALUES), one_of(NO_VALUES), one_of(AROUND));
    Change::Json(match rng.u8(0..16) {
        0 | 1 => Mutation::Drop(place),
        2 | 3 => Mutation::Set(place, value),
        4 => Mutation::Set(place, no_value),
        5 => Mutation::Repeat(place),
        6 => Mutation::Rename(place, format!("renamed{}", rng.u8(..))),
        7 => Mutation::NullFor(place),
        8 => Mutation::ArrayFor(place),
        9 => Mutation::ObjectFor(place),
        10 | 11 => Mutation::Retype(place),
        12 => Mutation::Append(around),
        13 => Mutation::Prepend(around),
        14 => Mutation::Truncate(rng.usize(1..=payload.body.len().max(1))),
        _ => return any_change_of_bytes(payload, rng),
    })
}

fn any_change_of_bytes(payload: &Payload, rng: &mut Rng) -> Change {
    let length = payload.bytes().len();
    match rng.u8(0..5) {
        0 => Change::FirstByte(rng.u8(..)),
        1 => Change::Put(rng.usize(0..length.max(1)), vec![rng.u8(..)]),
        2 => Change::AppendBytes(vec![rng.u8(..)]),
        3 => Change::Json(Mutation::Truncate(rng.usize(1..=length.max(1)))),
        _ => Change::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn generated(number: u64, seed: u64) -> Vec<Case> {
        let scenarios = super::super::built_in().expect("the scenarios load");
        Generator::new(&scenarios, Cases { number, seed })
            .cases()
            .collect()
    }

    #[test]
    fn a_case_follows_from_its_seed_and_number() {
        let bytes = |cases: &[Case]| -> Vec<Vec<u8>> {
            cases
                .iter()
                .flat_map(|case| &case.vectors)
                .map(|vector| vector.bytes.clone())
                .collect()
        };
        assert_eq!(bytes(&generated(50, 7)), bytes(&generated(100, 7)[..50]));
        assert_ne!(bytes(&generated(50, 7)), bytes(&generated(50, 8)));
    }

    #[test]
    fn each_case_accepts_and_rejects_and_nothing_is_open() {
        let cases = generated(3000, 1);
        assert!(cases.len() > 2900, "{}", cases.len());
        let groups: BTreeSet<_> = cases.iter().map(Case::group).collect();
        assert!(groups.len() > 60, "{groups:?}");
        for case in &cases {
            for vector in &case.vectors {
                match (vector.expected, vector.surface.judge(&vector.bytes)) {
                    (Expected::Accept(kind), Ok(found)) => assert_eq!(kind, found),
                    (Expected::Reject(rule), Err(fault)) => {
                        assert_eq!(rule, fault.rule);
                        assert!(!rule.is_open(), "{vector}");
                    }
                    (expected, judged) => panic!("{vector} {expected}, found {judged:?}"),
                }
            }
            let rejected = |vector: &Vector| matches!(vector.expected, Expected::Reject(_));
            assert!(case.vectors.iter().any(rejected) && !rejected(&case.vectors[0]));
        }
    }
}
