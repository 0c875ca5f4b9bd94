//! Generated cases asked of a codec in batches, and what is misjudged told by its smallest form.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use diverge_protocol::rules::RequirementId;
use diverge_protocol::scenario::{Located, Place, Source};
use diverge_protocol::transcript::Transcript;

use super::generate::{Case, Generator};
use super::judge::{LINE, Questions, Wrong, wrong};
use super::pipe::Codec;
use super::shrink::{in_words, shrink};
use crate::iut::PlugError;
use crate::play::Patience;
use crate::verdict::{Outcome, Verdict};

/// So many cases are asked of one process at once.
const BATCH: usize = 1024;

/// What came of the cases of one group.
#[derive(Default)]
struct Group {
    cases: u64,
    wrong: u64,
    /// The first that was misjudged, with its number.
    first: Option<(u64, Wrong)>,
    requirement: Option<RequirementId>,
}

/// The ids of the results that there will be.
#[must_use]
pub fn ids(generator: &Generator) -> BTreeSet<String> {
    generator.cases().map(|case| case.group()).collect()
}

/// Judges a codec by the generated cases whose group is among `ids`: one result for each group.
///
/// # Errors
/// When it cannot be started.
pub async fn run(
    codec: &Codec,
    generator: &Generator,
    ids: &[String],
    patience: &Patience,
) -> Result<Vec<Outcome>, PlugError> {
    let started = Instant::now();
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    let mut cases = generator.cases().filter(|case| ids.contains(&case.group()));
    loop {
        let batch: Vec<Case> = cases.by_ref().take(BATCH).collect();
        if batch.is_empty() {
            break;
        }
        let vectors = batch.iter().flat_map(|case| &case.vectors);
        let questions = Questions::new(vectors, generator.seed());
        let replies = questions.ask(codec, patience).await?;
        for case in &batch {
            let group = groups.entry(case.group()).or_default();
            group.cases += 1;
            group.requirement = group
                .requirement
                .or(generator.requirement(case.neighbour()));
            let wrong = case.vectors.iter().find_map(|vector| {
                wrong(
                    generator.requirement(vector)?,
                    vector,
                    questions.reply(vector, &replies),
                )
            });
            if let Some(wrong) = wrong {
                group.wrong += 1;
                group.first.get_or_insert((case.number, wrong));
            }
        }
    }
    let each = started.elapsed() / u32::try_from(groups.len().max(1)).unwrap_or(u32::MAX);
    let mut outcomes = Vec::new();
    for (id, group) in groups {
        let mut outcome = outcome(&id, &group);
        outcome.duration = each;
        if let Some((number, wrong)) = group.first {
            // What nobody answered is no smaller for being asked again.
            let found = match wrong.requirement.as_str() {
                LINE => wrong,
                _ => shrink(codec, generator, wrong, patience).await?,
            };
            let scenario = in_words(found.vector.surface, &found.vector);
            found.told(&mut outcome, false, |vector| {
                (place(generator, number), vector.to_string())
            });
            if let Some(message) = &mut outcome.message {
                message.push_str(&format!(
                    "; {} of {} such cases are misjudged, of which this is the smallest form of the first; \
                     as a case of a scenario: {scenario}",
                    group.wrong, group.cases
                ));
            }
        }
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

fn outcome(id: &str, group: &Group) -> Outcome {
    let cases = group.cases;
    Outcome {
        id: id.to_owned(),
        title: format!("{cases} generated payloads of this kind, each beside its neighbour"),
        topic: "generated".to_owned(),
        verdict: Verdict::Pass,
        requirements: group.requirement.into_iter().collect(),
        duration: std::time::Duration::ZERO,
        message: None,
        divergence: None,
        readings: Vec::new(),
        evaluated: u32::try_from(cases.saturating_mul(2)).unwrap_or(u32::MAX),
        transcript: Transcript::default(),
        script: Vec::new(),
        expectation: None,
    }
}

/// Where a case comes from, as far as there is a place.
fn place(generator: &Generator, number: u64) -> Located {
    let source = Source {
        path: format!("generated from seed {}, case", generator.seed()),
        text: String::new(),
    };
    let place = Place {
        line: usize::try_from(number).unwrap_or(usize::MAX),
        column: 1,
        bytes: 0..0,
    };
    Located {
        source: Arc::new(source),
        place,
    }
}
