//! What the in-tree references of the roles have in common: the mutants that they can be.

use diverge_intercept::{Behaviour, Fault, Role, Variant};
use diverge_protocol::scenario::Iut;

use crate::mutants::{Duty, Mutant};

/// The mutants that there are of a reference; a hollow peer is its name and what it does.
pub(super) fn mutants<R: Role>(
    iut: Iut,
    hollow: impl Iterator<Item = (&'static str, &'static str)>,
    faults: impl Iterator<Item = &'static Fault<R>>,
    variants: impl Iterator<Item = &'static Variant<R>>,
) -> Vec<Mutant> {
    let mutant = |name, about, duty| Mutant {
        iut,
        name,
        about,
        duty,
    };
    let hollow = hollow.map(|(name, about)| mutant(name, about, Duty::NothingPasses));
    let faults = faults.map(|it| mutant(it.name, it.about, Duty::Caught(it.requirement)));
    let variants = variants.map(|it| mutant(it.name, it.about, Duty::Green));
    hollow.chain(faults).chain(variants).collect()
}

/// How a reference behaves as this mutant.
pub(super) fn behaviour(mutant: Option<&Mutant>) -> Behaviour {
    match mutant.map(|mutant| (mutant.duty, mutant.name.to_owned())) {
        None => Behaviour::Conforming,
        Some((Duty::Caught(_), name)) => Behaviour::Fault(name),
        Some((Duty::Green, name)) => Behaviour::Variant(name),
        Some((Duty::NothingPasses, name)) => Behaviour::Hollow(name),
    }
}
