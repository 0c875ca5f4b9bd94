//! Scenarios and what a codec said of their vectors, as results.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use diverge_protocol::rules::{RequirementId, Strength};
use diverge_protocol::scenario::codec::{CodecScenario, Expected, Vector};
use diverge_protocol::transcript::Transcript;

use super::answer::Answer;
use super::pipe::Codec;
use super::session::{self, Reply, cut};
use crate::iut::PlugError;
use crate::play::Patience;
use crate::verdict::{Divergence, Outcome, Verdict};

/// What a codec breaks that answers with another kind.
pub const KIND: &str = "codec.answers.kind";
/// What a codec breaks that does not answer.
pub const LINE: &str = "codec.answers.line";

/// So many failures are told with their vectors; more are grouped by what is alike in them.
const TOLD: usize = 40;

/// Whether an answer is right.
#[must_use]
pub fn is_right(expected: Expected, answer: &Answer) -> bool {
    match (expected, answer) {
        (Expected::Accept(kind), Answer::Accept(said)) => kind == said,
        (Expected::Reject(_), Answer::Reject) => true,
        _ => false,
    }
}

/// Lines in an order that tells nothing, each once.
#[derive(Debug, Default)]
pub struct Questions {
    /// The lines.
    pub lines: Vec<String>,
    /// What is right of each.
    pub expected: Vec<Expected>,
    places: HashMap<String, usize>,
}

impl Questions {
    /// The vectors' lines, in an order that the seed decides.
    pub fn new<'a>(vectors: impl Iterator<Item = &'a Vector>, seed: u64) -> Self {
        let mut vectors: Vec<_> = vectors
            .map(|vector| (vector.line(), vector.expected))
            .collect();
        fastrand::Rng::with_seed(seed).shuffle(&mut vectors);
        let mut questions = Self::default();
        for (line, expected) in vectors {
            if questions.places.contains_key(&line) {
                continue;
            }
            questions.places.insert(line.clone(), questions.lines.len());
            questions.lines.push(line);
            questions.expected.push(expected);
        }
        questions
    }

    /// Asks a codec about all of them.
    ///
    /// # Errors
    /// When it cannot be started.
    pub async fn ask(&self, codec: &Codec, patience: &Patience) -> Result<Vec<Reply>, PlugError> {
        let fits = |at: usize, answer: &Answer| is_right(self.expected[at], answer);
        session::ask(codec, &self.lines, &fits, patience).await
    }

    /// What was replied to a vector.
    pub(super) fn reply<'a>(&self, vector: &Vector, replies: &'a [Reply]) -> Option<&'a Reply> {
        self.places
            .get(&vector.line())
            .and_then(|at| replies.get(*at))
    }
}

/// Judges a codec by `scenarios`, in the order in which they stand.
///
/// # Errors
/// When it cannot be started.
pub async fn run(
    codec: &Codec,
    scenarios: &[Arc<CodecScenario>],
    seed: u64,
    patience: &Patience,
) -> Result<Vec<Outcome>, PlugError> {
    let started = Instant::now();
    let questions = Questions::new(scenarios.iter().flat_map(|it| &it.vectors), seed);
    let replies = questions.ask(codec, patience).await?;
    let each = started.elapsed() / u32::try_from(scenarios.len().max(1)).unwrap_or(u32::MAX);
    let wrong = |scenario: &CodecScenario| {
        let mut vectors = scenario.vectors.iter();
        vectors.find_map(|vector| {
            let reply = questions.reply(vector, &replies);
            wrong(scenario.requirement, vector, reply)
        })
    };
    let judged: Vec<_> = scenarios
        .iter()
        .map(|scenario| (scenario, wrong(scenario)))
        .collect();
    let many = judged.iter().filter(|(_, wrong)| wrong.is_some()).count() > TOLD;
    let outcomes = judged
        .into_iter()
        .map(|(scenario, wrong)| outcome(scenario, wrong, each, many));
    Ok(outcomes.collect())
}

/// What is wrong with a reply.
#[derive(Debug, Clone)]
pub struct Wrong {
    /// The vector that was asked about.
    pub vector: Vector,
    /// What was allowed.
    pub allowed: String,
    /// What came.
    pub received: String,
    /// Where the fault of the vector is, as a JSON pointer.
    pub pointer: Option<String>,
    /// What is broken by it.
    pub requirement: RequirementId,
}

/// Judges one reply; `requirement` is what the vector is there for.
#[must_use]
pub fn wrong(requirement: RequirementId, vector: &Vector, reply: Option<&Reply>) -> Option<Wrong> {
    let general = |id: &str| RequirementId::new(id).unwrap_or(requirement);
    let (received, requirement) = match reply {
        Some(Reply::Said(answer)) if is_right(vector.expected, answer) => return None,
        Some(Reply::Said(answer)) => {
            let requirement = match (vector.expected, answer) {
                (_, Answer::Other(_)) => general(LINE),
                (Expected::Accept(_), Answer::Accept(_)) => general(KIND),
                _ => requirement,
            };
            (answer.to_string(), requirement)
        }
        Some(Reply::Nothing(why)) => (format!("nothing: {why}"), general(LINE)),
        None => ("nothing: it was not asked".to_owned(), general(LINE)),
    };
    let fault = vector.surface.judge(&vector.bytes).err();
    let allowed = match (vector.expected, &fault) {
        (Expected::Accept(kind), _) => format!("`accept {kind}`"),
        (Expected::Reject(_), Some(fault)) => format!("`reject`, for {fault}"),
        (Expected::Reject(rule), None) => format!("`reject`, for {rule}"),
    };
    Some(Wrong {
        vector: vector.clone(),
        allowed,
        received,
        pointer: fault
            .map(|fault| fault.pointer)
            .filter(|pointer| !pointer.is_empty()),
        requirement,
    })
}

/// A scenario's payloads and what must be said of each, for a person.
#[must_use]
pub fn tell(scenario: &CodecScenario) -> String {
    let mut text = format!("\nwritten\n  {}\n\nasked\n", scenario.at.display());
    for vector in &scenario.vectors {
        text.push_str(&format!(
            "  {vector}\n    {}\n    {}\n",
            vector.expected,
            vector.line()
        ));
    }
    text
}

fn outcome(
    scenario: &CodecScenario,
    wrong: Option<Wrong>,
    duration: Duration,
    many: bool,
) -> Outcome {
    let mut outcome = Outcome {
        id: scenario.id.clone(),
        title: scenario.title.clone(),
        topic: scenario.topic().to_owned(),
        verdict: Verdict::Pass,
        requirements: vec![scenario.requirement],
        duration,
        message: None,
        divergence: None,
        readings: Vec::new(),
        evaluated: u32::try_from(scenario.vectors.len()).unwrap_or(u32::MAX),
        transcript: Transcript::default(),
        script: Vec::new(),
        expectation: None,
    };
    if let Some(wrong) = wrong {
        wrong.told(&mut outcome, many, |vector| {
            (scenario.at.clone(), vector.to_string())
        });
    }
    outcome
}

impl Wrong {
    /// Makes a result of it. Where `many` are wrong, the received part leaves out the vector, so that what is alike is
    /// told once.
    pub(super) fn told(
        self,
        outcome: &mut Outcome,
        many: bool,
        step: impl FnOnce(&Vector) -> (diverge_protocol::scenario::Located, String),
    ) {
        let line = cut(self.vector.line().trim_end());
        let received = match many {
            true => self.received,
            false => format!("{} to the line `{line}`", self.received),
        };
        let strength = self.requirement.requirement().map(|it| it.strength);
        outcome.verdict = match strength {
            Some(Strength::Observed | Strength::Inferred) => Verdict::Warn,
            Some(Strength::Stated) | None => Verdict::Fail,
        };
        let besides = if many {
            format!("; the line is `{line}`")
        } else {
            String::new()
        };
        outcome.message = Some(format!(
            "expected {}; got {received}{besides}",
            self.allowed
        ));
        outcome.divergence = Some(Divergence {
            step: Some(step(&self.vector)),
            allowed: self.allowed,
            received,
            pointer: self.pointer,
            requirements: vec![self.requirement],
            by_rule: true,
            seq: None,
        });
    }
}
