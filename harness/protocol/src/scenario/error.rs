//! What can be wrong with a scenario file, and where.

use std::sync::Arc;

use super::model::{Located, Source};
use super::node::Place;

/// One mistake.
#[derive(Debug, Clone)]
pub struct Mistake {
    /// Where it stands.
    pub at: Located,
    /// What is wrong.
    pub kind: MistakeKind,
}

/// The kinds of mistakes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MistakeKind {
    /// The text is no YAML.
    #[error("not YAML: {0}")]
    NotYaml(String),
    /// Another kind of node is needed here.
    #[error("{what} is {found}; expected {expected}")]
    WrongNode {
        /// The member or item.
        what: String,
        /// What is allowed.
        expected: &'static str,
        /// What stands there.
        found: &'static str,
    },
    /// A member that is needed is not there.
    #[error("{what} lacks `{member}`")]
    Missing {
        /// What lacks it.
        what: String,
        /// The member.
        member: &'static str,
    },
    /// A member that does not belong there.
    #[error("{what} has no `{member}`{}", hint(.known))]
    UnknownMember {
        /// What has it.
        what: String,
        /// The member.
        member: String,
        /// What there is, for the hint.
        known: Vec<String>,
    },
    /// A member stands there twice.
    #[error("`{0}` stands here twice")]
    Repeated(String),
    /// A step that says nothing the format knows.
    #[error("unknown step; a step has one of these keys: {}", .0.join(", "))]
    UnknownStep(Vec<String>),
    /// A message or expectation of an unknown name.
    #[error("`{verb}` knows no `{name}`{}", hint(.known))]
    UnknownName {
        /// The step's key.
        verb: String,
        /// The name.
        name: String,
        /// What there is, for the hint.
        known: Vec<String>,
    },
    /// No such requirement in the catalogue.
    #[error("no requirement is called `{name}`{}", hint(.known))]
    UnknownRequirement {
        /// The id.
        name: String,
        /// Close ones.
        known: Vec<String>,
    },
    /// No such fragment.
    #[error("no fragment is called `{name}`{}", hint(.known))]
    UnknownFragment {
        /// The name.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// Fragments that play each other.
    #[error("fragment `{0}` plays itself")]
    EndlessFragment(String),
    /// A value of the wrong form.
    #[error("`{member}`: {why}")]
    BadValue {
        /// The member.
        member: String,
        /// What is wrong and what is expected.
        why: String,
    },
    /// The JSON text does not parse.
    #[error(
        "`{member}` is no JSON: {why}; a message that must not parse is written with `mutate` or `hex`"
    )]
    BadJson {
        /// The member.
        member: String,
        /// The parser's words and place.
        why: String,
    },
    /// A name is used before a step makes it.
    #[error("${{{0}}} is used before any step captures it")]
    UsedBeforeCaptured(String),
    /// A case leaves a parameter open or names one that nothing uses.
    #[error("case `{case}`: {why}")]
    BadCase {
        /// The case.
        case: String,
        /// What is wrong.
        why: String,
    },
    /// Nothing is expected, so that nothing could fail.
    #[error("scenario `{0}` expects nothing, so that it could never fail")]
    NoExpectation(String),
    /// Two scenarios of one id.
    #[error("a scenario called `{id}` stands at {other} already")]
    DuplicateId {
        /// The id.
        id: String,
        /// Where the other one stands.
        other: String,
    },
    /// A scenario of one's own with the id of one that is built in.
    #[error("a scenario called `{id}` is built in, at {other}; give this one an id of its own")]
    BuiltInId {
        /// The id.
        id: String,
        /// Where the one that is built in stands.
        other: String,
    },
    /// The scenario needs `exclusive: true`.
    #[error("scenario `{id}` needs `exclusive: true`: {why}")]
    NeedsExclusive {
        /// The scenario.
        id: String,
        /// Why.
        why: &'static str,
    },
    /// A malformed probe whose unmutated form is malformed as well, or whose mutation breaks nothing.
    #[error("this malformed probe proves nothing: {0}")]
    UnsoundProbe(String),
}

/// `; did you mean …?` with the closest of what there is, or the whole list where it is short.
fn hint(known: &[String]) -> String {
    match known {
        [] => String::new(),
        [one] => format!("; did you mean `{one}`?"),
        several => format!("; there is {}", several.join(", ")),
    }
}

impl Mistake {
    pub(super) fn new(source: &Arc<Source>, place: &Place, kind: MistakeKind) -> Self {
        Self {
            at: Located {
                source: Arc::clone(source),
                place: place.clone(),
            },
            kind,
        }
    }
}

/// The names closest to `name`: one where it is clearly meant, otherwise all where they are few.
pub(super) fn close<'a>(name: &str, all: impl Iterator<Item = &'a str>) -> Vec<String> {
    let all: Vec<&str> = all.collect();
    let best = all
        .iter()
        .map(|one| (strsim::jaro_winkler(name, one), *one))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    match best {
        Some((score, one)) if score > 0.85 => vec![one.to_owned()],
        _ if all.len() <= 24 => all.into_iter().map(str::to_owned).collect(),
        Some((_, one)) => vec![one.to_owned()],
        None => Vec::new(),
    }
}
