//! Why a scenario stops before its last step, and how an expectation stands.

use diverge_protocol::rules::{RequirementId, Violation};

use crate::verdict::Divergence;

/// Why a scenario stops before its last step.
#[derive(Debug)]
pub(crate) enum Halt {
    /// Something came, or did not come, that the script or a rule does not allow.
    Diverged(Box<Divergence>),
    /// Something is not there that the scenario needs.
    NotApplicable(String),
    /// What a step is about was over before the harness came to it.
    TooLate(String),
    /// The implementation cannot be reached.
    Unreachable(String),
    /// The scenario asks for something that makes no sense at this point.
    Script(String),
}

/// How an expectation stands against what has come.
pub(crate) enum Peek {
    /// It is met, and what met it is read.
    Met,
    /// Nothing has come that decides.
    Pending,
    /// Something else came.
    Diverged(Halt),
}

impl Peek {
    pub(crate) fn other(
        allowed: &str,
        received: &str,
        seq: Option<u64>,
        checks: Option<RequirementId>,
    ) -> Self {
        Self::Diverged(diverged(allowed, received, seq, checks))
    }
}

/// A divergence that no checker found.
pub(crate) fn diverged(
    allowed: &str,
    received: &str,
    seq: Option<u64>,
    requirement: Option<RequirementId>,
) -> Halt {
    Halt::Diverged(Box::new(Divergence {
        step: None,
        allowed: allowed.to_owned(),
        received: received.to_owned(),
        pointer: None,
        requirements: requirement.into_iter().collect(),
        seq,
        by_rule: false,
    }))
}

/// What several breaches of one message come to; `also` is what the step that met them is there to check.
pub(crate) fn divergence_of(violations: &[Violation], also: Option<RequirementId>) -> Divergence {
    let mut requirements: Vec<RequirementId> = Vec::new();
    for requirement in violations
        .iter()
        .map(|violation| violation.requirement)
        .chain(also)
    {
        if !requirements.contains(&requirement) {
            requirements.push(requirement);
        }
    }
    let join = |text: fn(&Violation) -> &str| {
        let mut texts: Vec<&str> = Vec::new();
        for violation in violations {
            if !texts.contains(&text(violation)) {
                texts.push(text(violation));
            }
        }
        texts.join("; ")
    };
    Divergence {
        step: None,
        allowed: join(|violation| &violation.allowed),
        received: join(|violation| &violation.received),
        pointer: violations
            .iter()
            .find_map(|violation| violation.pointer.clone()),
        requirements,
        seq: violations.first().map(|violation| violation.seq),
        by_rule: true,
    }
}
