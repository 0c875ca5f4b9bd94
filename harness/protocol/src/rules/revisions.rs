//! Revisions of the protocol as data: which came after which, and the numbers that each moved.
//!
//! A revision is a file. It names itself and the revision that it follows, and holds the first bytes that it assigns;
//! what it leaves out is as in the one that it follows. A requirement says from which revision on it holds, and until
//! which; so that a new revision is a file, and what changes with it is a line beside each requirement.

use std::fmt;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::{Requirement, Revision};
use crate::wire::profile;

/// The files that are built in, the oldest first.
const BUILT_IN: [&str; 2] = [
    include_str!("../../../../scenarios/revisions/path.toml"),
    profile::SCOPE,
];

/// First bytes by what they say, by table.
pub type Numbers = IndexMap<String, IndexMap<String, u8>>;

/// The revisions from which on something holds, and until which.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Span {
    /// The first revision that has it; without it, from the beginning.
    pub since: Option<String>,
    /// The last revision that has it; without it, every later one.
    pub until: Option<String>,
}

/// A revision, as its file has it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RevisionFile {
    /// Its name.
    pub name: String,
    /// The revision that it comes after.
    pub follows: Option<String>,
    /// Tables whose numbers rest on something other than its own pages.
    #[serde(default)]
    pub provisional: Vec<String>,
    /// The numbers that it assigns.
    #[serde(flatten)]
    pub numbers: Numbers,
}

/// Why a revision cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RevisionError {
    /// The file is no TOML, or not of a revision's form.
    #[error("{0}")]
    Syntax(String),
    /// Two revisions have this name.
    #[error("the revision `{0}` is there already")]
    Repeated(String),
    /// There is no such revision.
    #[error("no revision is called `{name}`; there are {known}")]
    Unknown {
        /// The name.
        name: String,
        /// Those that there are.
        known: String,
    },
}

/// Every revision that is known.
#[derive(Debug, Clone, Default)]
pub struct Revisions {
    /// Each after the one that it follows.
    all: Vec<RevisionFile>,
}

impl Revisions {
    /// Those that are built in.
    ///
    /// # Errors
    /// When their files are at fault, which a test rules out.
    pub fn built_in() -> Result<Self, RevisionError> {
        let mut revisions = Self::default();
        for text in BUILT_IN {
            revisions.add(text)?;
        }
        Ok(revisions)
    }

    /// Reads one more, and gives its name.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn add(&mut self, text: &str) -> Result<String, RevisionError> {
        let file: RevisionFile = toml::from_str(text)
            .map_err(|error| RevisionError::Syntax(error.to_string().trim_end().to_owned()))?;
        if let Some(follows) = &file.follows {
            self.find(follows)?;
        }
        if self.find(&file.name).is_ok() {
            return Err(RevisionError::Repeated(file.name));
        }
        let name = file.name.clone();
        self.all.push(file);
        Ok(name)
    }

    /// The revision of that name.
    ///
    /// # Errors
    /// When there is none.
    pub fn find(&self, name: &str) -> Result<&RevisionFile, RevisionError> {
        self.all
            .iter()
            .find(|revision| revision.name == name)
            .ok_or_else(|| RevisionError::Unknown {
                name: name.to_owned(),
                known: self.to_string(),
            })
    }

    /// The revision and those that it comes after, itself first.
    fn line(&self, name: &str) -> Vec<&RevisionFile> {
        let next = |revision: &&RevisionFile| self.find(revision.follows.as_deref()?).ok();
        std::iter::successors(self.find(name).ok(), next).collect()
    }

    /// The form of the wire that a revision has: its own, or that of the one that it follows.
    #[must_use]
    pub fn wire(&self, name: &str) -> Option<Revision> {
        let forms = [Revision::Scope, Revision::Path];
        let line = self.line(name);
        line.iter()
            .find_map(|it| forms.into_iter().find(|form| form.as_str() == it.name))
    }

    /// The numbers of a revision: its own, and before them those of the revisions of its form that it follows.
    #[must_use]
    pub fn numbers(&self, name: &str) -> Numbers {
        let wire = self.wire(name);
        let mut numbers = Numbers::new();
        for revision in self.line(name).iter().rev() {
            if self.wire(&revision.name) != wire {
                continue;
            }
            for (table, words) in &revision.numbers {
                let known = numbers.entry(table.clone()).or_default();
                known.extend(words.iter().map(|(word, number)| (word.clone(), *number)));
            }
        }
        numbers
    }

    /// Whether what has this span holds in a revision.
    #[must_use]
    pub fn holds(&self, span: &Span, name: &str) -> bool {
        let line: Vec<&str> = self.line(name).iter().map(|it| it.name.as_str()).collect();
        let begun = span
            .since
            .as_deref()
            .is_none_or(|since| line.contains(&since));
        let ended = span
            .until
            .as_deref()
            .is_some_and(|until| until != name && line.contains(&until));
        begun && !ended
    }

    /// Whether a revision has a requirement.
    #[must_use]
    pub fn has(&self, name: &str, requirement: &Requirement) -> bool {
        let of_its_form = self
            .wire(name)
            .is_some_and(|wire| requirement.revisions.contains(&wire));
        of_its_form && self.holds(&requirement.span, name)
    }
}

impl fmt::Display for Revisions {
    /// The names.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.all.iter().map(|it| format!("`{}`", it.name)).collect();
        f.write_str(&names.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Catalogue;
    use super::*;

    /// A revision that nobody has heard of.
    const NEXT: &str =
        "name = \"next\"\nfollows = \"scope\"\n[client-channels]\nsecrets = 12\nwhisper = 13\n";

    fn revisions() -> Revisions {
        let mut revisions = Revisions::built_in().expect("the files are good");
        assert_eq!(revisions.add(NEXT), Ok("next".to_owned()));
        revisions
    }

    #[test]
    fn a_revision_has_the_numbers_of_the_one_before_less_those_that_it_moves() {
        let numbers = revisions().numbers("next");
        assert_eq!(numbers["client-channels"]["secrets"], 12);
        assert_eq!(numbers["client-channels"]["whisper"], 13);
        assert_eq!(numbers["client-channels"]["stop"], 0);
        assert_eq!(numbers["schema-answers"]["error"], 1);
        assert_eq!(
            revisions().numbers("scope")["client-channels"]["secrets"],
            10
        );
        assert!(!numbers.contains_key("path-run-responses"));
        assert_eq!(revisions().wire("next"), Some(Revision::Scope));
    }

    #[test]
    fn what_holds_is_said_by_the_first_and_the_last_revision() {
        let revisions = revisions();
        let holds = |since: Option<&str>, until: Option<&str>| {
            let span = Span {
                since: since.map(str::to_owned),
                until: until.map(str::to_owned),
            };
            ["path", "scope", "next"].map(|name| revisions.holds(&span, name))
        };
        assert_eq!(holds(None, None), [true, true, true]);
        assert_eq!(holds(Some("scope"), None), [false, true, true]);
        assert_eq!(holds(Some("next"), None), [false, false, true]);
        assert_eq!(holds(None, Some("scope")), [true, true, false]);
        assert_eq!(holds(None, Some("path")), [true, false, false]);
        assert_eq!(holds(Some("scope"), Some("scope")), [false, true, false]);
    }

    #[test]
    fn the_catalogue_names_only_revisions_that_there_are() {
        let revisions = Revisions::built_in().expect("the files are good");
        let requirements = Catalogue::get().requirements();
        for requirement in requirements {
            let span = &requirement.span;
            for name in span.since.iter().chain(&span.until) {
                assert!(revisions.find(name).is_ok(), "{}: {name}", requirement.id);
            }
            if let Some(before) = &requirement.replaces {
                assert!(
                    Catalogue::get().find(before).is_some(),
                    "{}",
                    requirement.id
                );
            }
        }
        assert!(requirements.iter().any(|it| revisions.has("scope", it)));
    }

    #[test]
    fn a_file_at_fault_is_told() {
        let mut revisions = revisions();
        let mut error = |text: &str| revisions.add(text).expect_err(text);
        assert_eq!(error(NEXT), RevisionError::Repeated("next".into()));
        let unknown = error("name = \"x\"\nfollows = \"y\"\n").to_string();
        assert!(
            unknown.contains("`y`") && unknown.contains("`scope`"),
            "{unknown}"
        );
        let syntax = error("name = \"x\"\n[client-channels]\nstop = 300\n");
        assert!(matches!(syntax, RevisionError::Syntax(_)), "{syntax}");
    }

    #[test]
    fn the_path_revision_has_the_numbers_that_its_payloads_are_read_by() {
        use crate::wire::path_run::PathRunKind;
        let numbers = revisions().numbers("path");
        let table = &numbers["path-run-responses"];
        for kind in [PathRunKind::Chunk, PathRunKind::Error] {
            assert_eq!(
                table.get(kind.name()),
                Some(&kind.byte()),
                "{}",
                kind.name()
            );
        }
        assert_eq!(table.len(), 2);
    }
}
