//! What moved between two revisions: requirements, and the first bytes of messages.

use std::collections::HashMap;

use diverge_protocol::rules::revisions::{RevisionError, Revisions};
use diverge_protocol::rules::{Catalogue, Requirement};
use serde::Serialize;

/// What moved.
#[derive(Debug, Default)]
pub struct Changes<'c> {
    /// Requirements that only the newer one has.
    pub added: Vec<&'c Requirement>,
    /// Requirements that only the older one has.
    pub removed: Vec<&'c Requirement>,
    /// Requirements of the older one, each with that of the newer one that stands in its place.
    pub changed: Vec<(&'c Requirement, &'c Requirement)>,
    /// Numbers that are others now, new, or gone.
    pub tags: Vec<Tag>,
}

/// A number that moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tag {
    /// The table of the profile.
    pub table: String,
    /// What it says.
    pub word: String,
    /// The number in the older revision.
    pub old: Option<u8>,
    /// The number in the newer revision.
    pub new: Option<u8>,
}

impl Changes<'_> {
    /// Whether nothing moved.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.added.is_empty()
            && self.removed.is_empty()
            && self.changed.is_empty()
            && self.tags.is_empty()
    }
}

/// What moved from the revision `old` to the revision `new`.
///
/// # Errors
/// When there is no such revision.
pub fn revisions<'c>(
    catalogue: &'c Catalogue,
    revisions: &Revisions,
    old: &str,
    new: &str,
) -> Result<Changes<'c>, RevisionError> {
    revisions.find(old)?;
    revisions.find(new)?;
    let mut changes = Changes {
        tags: tags(revisions, old, new),
        ..Changes::default()
    };
    let mut removed: HashMap<&str, &Requirement> = HashMap::new();
    for requirement in catalogue.requirements() {
        match (
            revisions.has(old, requirement),
            revisions.has(new, requirement),
        ) {
            (true, false) => {
                removed.insert(requirement.id.as_str(), requirement);
            }
            (false, true) => changes.added.push(requirement),
            (true, true) | (false, false) => {}
        }
    }
    changes.added.retain(|requirement| {
        let before = requirement.replaces.as_deref();
        match before.and_then(|before| removed.remove(before)) {
            Some(before) => {
                changes.changed.push((before, requirement));
                false
            }
            None => true,
        }
    });
    changes.removed = removed.into_values().collect();
    changes.removed.sort_by_key(|requirement| requirement.id);
    Ok(changes)
}

fn tags(revisions: &Revisions, old: &str, new: &str) -> Vec<Tag> {
    let (before, after) = (revisions.numbers(old), revisions.numbers(new));
    let all = before.iter().chain(&after);
    let mut words: Vec<(&String, &String)> = all
        .flat_map(|(table, words)| words.keys().map(move |word| (table, word)))
        .collect();
    words.sort_unstable();
    words.dedup();
    let moved = words.into_iter().filter_map(|(table, word)| {
        let of = |numbers: &diverge_protocol::rules::revisions::Numbers| {
            numbers
                .get(table)
                .and_then(|words| words.get(word))
                .copied()
        };
        let (old, new) = (of(&before), of(&after));
        (old != new).then(|| Tag {
            table: table.clone(),
            word: word.clone(),
            old,
            new,
        })
    });
    moved.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CATALOGUE: &str = r#"
        [defaults]
        iut = ["provider"]
        revisions = ["scope"]

        [[requirement]]
        id = "made-up.stays"
        text = "A thing is so in every revision."
        strength = "stated"
        source = { document = "d", section = "s" }

        [[requirement]]
        id = "made-up.goes"
        text = "A thing is so for the last time."
        strength = "stated"
        source = { document = "d", section = "s" }
        until = "scope"

        [[requirement]]
        id = "made-up.was"
        text = "A thing is so in one way."
        strength = "stated"
        source = { document = "d", section = "s" }
        until = "scope"

        [[requirement]]
        id = "made-up.is"
        text = "A thing is so in another way."
        strength = "stated"
        source = { document = "d", section = "s" }
        since = "next"
        replaces = "made-up.was"

        [[requirement]]
        id = "made-up.comes"
        text = "Another thing is so from now on."
        strength = "observed"
        source = { document = "d", section = "s" }
        since = "next"
        "#;

    #[test]
    fn a_revision_that_nobody_has_heard_of_is_data_alone() {
        let catalogue = Catalogue::parse(CATALOGUE).unwrap_or_else(|error| panic!("{error}"));
        let mut all = Revisions::built_in().expect("the files are good");
        let next = "name = \"next\"\nfollows = \"scope\"\n[client-channels]\nsecrets = 12\n";
        let next = all.add(next).expect("it is good");
        let changes = revisions(&catalogue, &all, "scope", &next).expect("both are there");
        let ids = |requirements: &[&Requirement]| -> Vec<&str> {
            requirements.iter().map(|it| it.id.as_str()).collect()
        };
        assert_eq!(ids(&changes.added), ["made-up.comes"]);
        assert_eq!(ids(&changes.removed), ["made-up.goes"]);
        let changed: Vec<_> = changes
            .changed
            .iter()
            .map(|(old, new)| (old.id.as_str(), new.id.as_str()))
            .collect();
        assert_eq!(changed, [("made-up.was", "made-up.is")]);
        let moved = Tag {
            table: "client-channels".to_owned(),
            word: "secrets".to_owned(),
            old: Some(10),
            new: Some(12),
        };
        assert_eq!(changes.tags, [moved]);
        let none = revisions(&catalogue, &all, "scope", "scope").expect("it is there");
        assert!(none.is_empty());
        assert!(revisions(&catalogue, &all, "scope", "no-such").is_err());
    }
}
