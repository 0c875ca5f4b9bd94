//! The smallest payload that a codec still misjudges in the same way.

use diverge_protocol::scenario::codec::{Change, Expected, Payload, Vector};
use diverge_protocol::wire::mutate::Mutation;
use diverge_protocol::wire::surface::Surface;

use super::generate::{Generator, judged, places_of};
use super::judge::{Questions, Wrong, wrong};
use super::pipe::Codec;
use crate::iut::PlugError;
use crate::play::Patience;

/// So many rounds are enough; each makes the payload smaller.
const ROUNDS: usize = 200;

/// Makes the payload of what is wrong smaller as long as it stays wrong, by asking about many smaller ones at once.
pub(super) async fn shrink(
    codec: &Codec,
    generator: &Generator,
    mut found: Wrong,
    patience: &Patience,
) -> Result<Wrong, PlugError> {
    for _ in 0..ROUNDS {
        let smaller = smaller(&found.vector);
        if smaller.is_empty() {
            break;
        }
        let questions = Questions::new(smaller.iter(), 0);
        let replies = questions.ask(codec, patience).await?;
        let mut still = smaller.iter().filter_map(|vector| {
            let requirement = generator.requirement(vector)?;
            let wrong = wrong(requirement, vector, questions.reply(vector, &replies))?;
            (wrong.requirement == found.requirement).then_some(wrong)
        });
        match still.next() {
            Some(wrong) => found = wrong,
            None => break,
        }
    }
    Ok(found)
}

/// Vectors like this one with a smaller payload, the smallest first.
fn smaller(vector: &Vector) -> Vec<Vector> {
    let length = vector.payload.body.len();
    let mut all: Vec<Vector> = simpler(&vector.payload)
        .into_iter()
        .filter(|payload| payload.body.len() < length)
        .filter_map(|payload| alike(vector, payload))
        .collect();
    all.sort_by_key(|vector| vector.payload.body.len());
    all
}

/// The vector with another payload, where it is one of the same kind and its change comes to the same.
fn alike(vector: &Vector, payload: Payload) -> Option<Vector> {
    let surface = vector.surface;
    let same = |found: &Expected| match (found, vector.expected) {
        (Expected::Accept(_), Expected::Accept(_)) => true,
        (found, expected) => *found == expected,
    };
    let unchanged = Change::AppendBytes(Vec::new());
    let (_, (_, true)) = judged(surface, &payload, &unchanged)? else {
        return None;
    };
    let (bytes, (expected, _)) = judged(
        surface,
        &payload,
        vector.change.as_ref().unwrap_or(&unchanged),
    )?;
    same(&expected).then(|| Vector {
        surface,
        bytes,
        expected,
        payload,
        change: vector.change.clone(),
    })
}

/// The payload with a part left out or made plain.
fn simpler(payload: &Payload) -> Vec<Payload> {
    let with = |body: Vec<u8>| Payload {
        first: payload.first,
        body,
    };
    let skipped = usize::from(payload.first.is_some());
    let changed = |mutation: Mutation| {
        let bytes = Change::Json(mutation).apply(payload).ok()?;
        Some(with(bytes.get(skipped..)?.to_vec()))
    };
    let places = places_of(payload);
    if places.is_empty() {
        // A frame: its header stays.
        let body = &payload.body;
        let shorter = [9, body.len() / 2, body.len().saturating_sub(1)];
        return shorter
            .into_iter()
            .filter_map(|length| Some(with(body.get(..length)?.to_vec())))
            .collect();
    }
    let plain = ["0", "\"\"", "[]", "{}"];
    let mut all = Vec::new();
    for place in places {
        all.extend(changed(Mutation::Drop(place.clone())));
        all.extend(
            plain
                .iter()
                .filter_map(|text| changed(Mutation::Set(place.clone(), (*text).to_owned()))),
        );
    }
    all
}

/// A vector as a case of a scenario file.
pub(super) fn in_words(surface: Surface, vector: &Vector) -> String {
    let quoted = |text: String| format!("'{}'", text.replace('\'', "''"));
    let kind = surface
        .judge(&vector.payload.bytes())
        .map_or_else(|_| String::new(), |kind| format!("kind: {kind}, "));
    let change = match (&vector.change, vector.expected) {
        (Some(change), Expected::Reject(rule)) => {
            format!(", broken: {}, rule: {rule}", quoted(change.to_string()))
        }
        (Some(change), Expected::Accept(_)) => format!(", free: {}", quoted(change.to_string())),
        (None, _) => String::new(),
    };
    format!(
        "{{frame: {surface}, {kind}payload: {}{change}}}",
        quoted(vector.payload.to_string())
    )
}
