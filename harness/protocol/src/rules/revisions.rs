//! Revisions of the protocol as data: which came after which, and the numbers that each moved.
//!
//! A revision is a file. It names itself and the revision that it follows, and holds the first bytes that it assigns;
//! what it leaves out is as in the one that it follows. A requirement says from which revision on it holds, and until
//! which; so that a new revision is a file, and what changes with it is a line beside each requirement.

use std::fmt;
use std::sync::OnceLock;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::{Requirement, Revision};
use crate::toml_fault::TomlFault;
use crate::wire::profile::{self, Profile};

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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RevisionFile {
    /// Its name.
    pub name: String,
    /// The revision that it comes after.
    #[serde(skip_serializing_if = "Option::is_none")]
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
    Syntax(TomlFault),
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
    /// It comes after no revision whose form is built in.
    #[error(
        "the revision `{0}` follows neither `scope` nor `path`, so nothing says how it is spoken"
    )]
    Formless(String),
    /// Its numbers cannot be spoken.
    #[error("the revision `{name}` cannot be spoken: {why}")]
    Unspeakable {
        /// The revision.
        name: String,
        /// What is wrong with its numbers.
        why: String,
    },
    /// A process speaks one revision of a form.
    #[error("this process speaks another revision already")]
    Late,
}

/// The revisions that this process knows, and the one that it was told to speak.
static KNOWN: OnceLock<(Revisions, Option<(Revision, String)>)> = OnceLock::new();

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

    /// Those that this process knows: what is built in, and what it was told to speak.
    pub fn known() -> &'static Self {
        let built_in = || (Self::built_in().unwrap_or_default(), None);
        &KNOWN.get_or_init(built_in).0
    }

    /// Has this process speak the revision in `text` instead of the built-in one of its form: with its numbers, and
    /// with the requirements and scenarios that it has. To be called before anything is encoded, read or loaded.
    ///
    /// # Errors
    /// What is wrong with the file; or where the process has spoken already.
    pub fn speak(text: &str) -> Result<Revision, RevisionError> {
        let mut revisions = Self::built_in()?;
        let name = revisions.add(text)?;
        let form = revisions.wire(&name);
        let form = form.ok_or_else(|| RevisionError::Formless(name.clone()))?;
        let profile = match form {
            Revision::Scope => Some(revisions.profile(&name)?),
            Revision::Path => None,
        };
        if KNOWN.set((revisions, Some((form, name)))).is_err()
            || profile.is_some_and(|profile| !Profile::speak(profile))
        {
            return Err(RevisionError::Late);
        }
        Ok(form)
    }

    /// The name of the revision of that form that this process speaks.
    #[must_use]
    pub fn spoken(form: Revision) -> &'static str {
        match KNOWN.get() {
            Some((_, Some((spoken, name)))) if *spoken == form => name,
            _ => form.as_str(),
        }
    }

    /// The profile of a revision of the scope revision's form.
    fn profile(&self, name: &str) -> Result<Profile, RevisionError> {
        let mut provisional: Vec<String> = Vec::new();
        for file in self.line(name).into_iter().rev() {
            // What a later revision assigns rests on its own pages, unless it says that it does not.
            provisional.retain(|table| !file.numbers.contains_key(table));
            provisional.extend(file.provisional.iter().cloned());
        }
        let file = RevisionFile {
            name: name.to_owned(),
            follows: self.find(name)?.follows.clone(),
            provisional,
            numbers: self.numbers(name),
        };
        let unspeakable = |why: String| RevisionError::Unspeakable {
            name: name.to_owned(),
            why,
        };
        let text = toml::to_string(&file).map_err(|error| unspeakable(error.to_string()))?;
        Profile::parse(&text).map_err(|error| unspeakable(error.fault.to_string()))
    }

    /// Reads one more, and gives its name.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn add(&mut self, text: &str) -> Result<String, RevisionError> {
        let file: RevisionFile = toml::from_str(text)
            .map_err(|error| RevisionError::Syntax(TomlFault::of(text, &error)))?;
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
    use crate::wire::profile::ClientChannel;

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
    fn the_profile_of_a_later_revision_has_what_it_moves_and_keeps_the_rest() {
        let moves = "name = \"draft\"\nfollows = \"scope\"\n[client-channels]\nstop = 40\n";
        let mut all = Revisions::built_in().expect("the files are good");
        all.add(moves).expect("it is a revision");
        let profile = all.profile("draft").expect("it can be spoken");
        assert_eq!(profile.client_channels.byte(ClientChannel::Stop), 40);
        let kept = Profile::scope()
            .client_channels
            .byte(ClientChannel::Enqueue);
        assert_eq!(profile.client_channels.byte(ClientChannel::Enqueue), kept);
        assert!(!profile.client_channels.provisional && profile.begin_channels.provisional);
        let why = revisions().profile("next").map(|it| it.name);
        assert_eq!(
            why.map_err(|error| error.to_string()),
            Err("the revision `next` cannot be spoken: `whisper` is no name of this table".into())
        );
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
