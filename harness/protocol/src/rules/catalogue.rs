//! The catalogue of requirements: what the protocol demands, as data that ships with the crate.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::fmt;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::revisions::Span;

/// The embedded data: a file for each kind of implementation.
const EMBEDDED: &[&str] = &[
    include_str!("provider.toml"),
    include_str!("proxy.toml"),
    include_str!("agent-server.toml"),
    include_str!("client.toml"),
    include_str!("codec.toml"),
    include_str!("events.toml"),
    include_str!("chain.toml"),
];

/// How firmly a requirement stands, which decides whether breaking it fails a run or only warns; the firmest is the
/// greatest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strength {
    /// A conclusion of our own.
    Inferred,
    /// Known code does it, or an older page says it.
    Observed,
    /// The documents say it.
    Stated,
}

impl Strength {
    /// The strength's name in data and reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stated => "stated",
            Self::Observed => "observed",
            Self::Inferred => "inferred",
        }
    }
}

/// A kind of implementation under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Iut {
    /// A provider.
    Provider,
    /// A container proxy.
    Proxy,
    /// An agent server.
    AgentServer,
    /// A client.
    Client,
    /// A bare codec.
    Codec,
    /// A stream of agent events.
    Events,
    /// A chain of a client, a provider, a proxy and an agent server.
    Chain,
}

impl Iut {
    /// Every kind.
    pub const ALL: [Self; 7] = [
        Self::Provider,
        Self::Proxy,
        Self::AgentServer,
        Self::Client,
        Self::Codec,
        Self::Events,
        Self::Chain,
    ];

    /// The kinds whose scenarios are conversations, in files.
    pub const CONVERSING: [Self; 5] = [
        Self::Provider,
        Self::Proxy,
        Self::AgentServer,
        Self::Client,
        Self::Chain,
    ];

    /// The kind's name on the command line, in the catalogue's data and at the head of scenario ids.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Provider => "provider",
            Self::Proxy => "proxy",
            Self::AgentServer => "agent-server",
            Self::Client => "client",
            Self::Codec => "codec",
            Self::Events => "events",
            Self::Chain => "chain",
        }
    }
}

/// A revision of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Revision {
    /// Runs on scopes of the nine-byte frame.
    Scope,
    /// Runs on a WebSocket path of the proxy.
    Path,
}

impl Revision {
    /// The revision's name on the command line and in data.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Scope => "scope",
            Self::Path => "path",
        }
    }
}

/// Where a requirement is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// The document.
    pub document: String,
    /// The section or row in it.
    pub section: String,
}

/// One requirement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Requirement {
    /// Its id.
    pub id: RequirementId,
    /// One testable sentence.
    pub text: String,
    /// How firmly it stands.
    pub strength: Strength,
    /// Whom it binds.
    pub iut: Vec<Iut>,
    /// The revisions that have it.
    pub revisions: Vec<Revision>,
    /// The first and the last revision that has it.
    #[serde(flatten)]
    pub span: Span,
    /// The requirement of earlier revisions in whose place it stands.
    pub replaces: Option<String>,
    /// Where it is read.
    pub source: Source,
    /// The numbered fact rows that it answers for.
    pub rows: Vec<u16>,
    /// Whether its check rests on a provisional tag number.
    pub provisional: bool,
    /// The readings that are all accepted, where there are several.
    pub readings: Vec<String>,
    /// Why it is not tested here, where it is not.
    pub excluded: Option<String>,
    /// Why its strength differs from what its row's status says, where it does.
    pub relabelled: Option<String>,
}

/// The id of a requirement in the catalogue.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequirementId(&'static str);

impl RequirementId {
    /// The id of this name, if the catalogue has it.
    #[must_use]
    pub fn new(name: &str) -> Option<Self> {
        Catalogue::get()
            .find(name)
            .map(|requirement| requirement.id)
    }

    /// An id that the catalogue is known to have; a test compares the two.
    pub(super) const fn known(name: &'static str) -> Self {
        Self(name)
    }

    /// The id's text.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.0
    }

    /// The requirement of this id.
    #[must_use]
    pub fn requirement(self) -> Option<&'static Requirement> {
        Catalogue::get().find(self.0)
    }
}

impl Borrow<str> for RequirementId {
    fn borrow(&self) -> &str {
        self.0
    }
}

impl fmt::Debug for RequirementId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl fmt::Display for RequirementId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Serialize for RequirementId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0)
    }
}

/// What is wrong with catalogue data.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CatalogueError {
    /// The text is not TOML of the catalogue's form.
    #[error("the catalogue cannot be read: {0}")]
    Syntax(String),
    /// An id has other characters than lower-case letters, digits, dots and hyphens, or a part of it is empty.
    #[error("`{0}` is no requirement id")]
    Id(String),
    /// An id stands twice.
    #[error("the requirement `{0}` stands twice")]
    Repeated(String),
    /// A text that must say something is empty, or is not a sentence.
    #[error("the {member} of `{id}` is no sentence")]
    Sentence {
        /// The requirement.
        id: String,
        /// The member at fault.
        member: &'static str,
    },
    /// A requirement binds nobody or belongs to no revision.
    #[error("`{id}` has no {member}")]
    Nobody {
        /// The requirement.
        id: String,
        /// The member at fault.
        member: &'static str,
    },
    /// One reading is no choice.
    #[error("`{0}` has a single reading")]
    SingleReading(String),
    /// A row number is 0.
    #[error("`{0}` names the row 0")]
    Row(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    defaults: Defaults,
    requirement: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Defaults {
    iut: Vec<Iut>,
    revisions: Vec<Revision>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    id: String,
    text: String,
    strength: Strength,
    iut: Option<Vec<Iut>>,
    revisions: Option<Vec<Revision>>,
    since: Option<String>,
    until: Option<String>,
    replaces: Option<String>,
    source: Source,
    #[serde(default)]
    rows: Vec<u16>,
    #[serde(default)]
    provisional: bool,
    #[serde(default)]
    readings: Vec<String>,
    excluded: Option<String>,
    relabelled: Option<String>,
}

/// All requirements, in the order of the data.
#[derive(Debug, Default)]
pub struct Catalogue {
    requirements: Vec<Requirement>,
    by_id: HashMap<&'static str, usize>,
}

impl Catalogue {
    /// The catalogue that ships with the crate, read once. It is empty if the embedded data is at fault, which
    /// [`embedded`](Self::embedded) tells and a test rules out.
    #[must_use]
    pub fn get() -> &'static Self {
        static EMPTY: OnceLock<Catalogue> = OnceLock::new();
        Self::embedded().unwrap_or_else(|_| EMPTY.get_or_init(Self::default))
    }

    /// The catalogue that ships with the crate, or what is wrong with its data.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn embedded() -> Result<&'static Self, &'static CatalogueError> {
        static CATALOGUE: OnceLock<Result<Catalogue, CatalogueError>> = OnceLock::new();
        let read = || {
            let mut catalogue = Self::default();
            for text in EMBEDDED {
                catalogue.add(text)?;
            }
            Ok(catalogue)
        };
        CATALOGUE.get_or_init(read).as_ref()
    }

    /// Reads a catalogue. Its ids live as long as the process.
    ///
    /// # Errors
    /// The first defect of the data.
    pub fn parse(text: &str) -> Result<Self, CatalogueError> {
        let mut catalogue = Self::default();
        catalogue.add(text)?;
        Ok(catalogue)
    }

    fn add(&mut self, text: &str) -> Result<(), CatalogueError> {
        let file: File =
            toml::from_str(text).map_err(|error| CatalogueError::Syntax(error.to_string()))?;
        for entry in file.requirement {
            let requirement = check(entry, &file.defaults)?;
            let id = requirement.id.as_str();
            if self.by_id.insert(id, self.requirements.len()).is_some() {
                return Err(CatalogueError::Repeated(id.to_owned()));
            }
            self.requirements.push(requirement);
        }
        Ok(())
    }

    /// The requirement with this id.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<&Requirement> {
        self.by_id
            .get(id)
            .and_then(|&index| self.requirements.get(index))
    }

    /// All requirements.
    #[must_use]
    pub fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }

    /// The requirements that bind one kind of implementation in one revision.
    pub fn of(&self, iut: Iut, revision: Revision) -> impl Iterator<Item = &Requirement> {
        self.requirements
            .iter()
            .filter(move |it| it.iut.contains(&iut) && it.revisions.contains(&revision))
    }
}

fn check(entry: Entry, defaults: &Defaults) -> Result<Requirement, CatalogueError> {
    let id = entry.id;
    let part_is_good = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    if !id.contains('.') || !id.split('.').all(part_is_good) {
        return Err(CatalogueError::Id(id));
    }
    let sentence = |member: &'static str, text: &str| {
        let good =
            text.len() > 10 && text.ends_with('.') && text.trim() == text && !text.contains('\n');
        if good {
            Ok(())
        } else {
            Err(CatalogueError::Sentence {
                id: id.clone(),
                member,
            })
        }
    };
    sentence("text", &entry.text)?;
    for reading in &entry.readings {
        sentence("readings", reading)?;
    }
    for (member, reason) in [
        ("excluded", &entry.excluded),
        ("relabelled", &entry.relabelled),
    ] {
        if let Some(reason) = reason {
            sentence(member, reason)?;
        }
    }
    if entry.source.document.is_empty() || entry.source.section.is_empty() {
        return Err(CatalogueError::Nobody {
            id,
            member: "source",
        });
    }
    if entry.readings.len() == 1 {
        return Err(CatalogueError::SingleReading(id));
    }
    if entry.rows.contains(&0) {
        return Err(CatalogueError::Row(id));
    }
    let iut = entry.iut.unwrap_or_else(|| defaults.iut.clone());
    let revisions = entry
        .revisions
        .unwrap_or_else(|| defaults.revisions.clone());
    for (member, empty) in [("iut", iut.is_empty()), ("revisions", revisions.is_empty())] {
        if empty {
            return Err(CatalogueError::Nobody { id, member });
        }
    }
    Ok(Requirement {
        id: RequirementId(Box::leak(id.into_boxed_str())),
        text: entry.text,
        strength: entry.strength,
        iut,
        revisions,
        span: Span {
            since: entry.since,
            until: entry.until,
        },
        replaces: entry.replaces,
        source: entry.source,
        rows: entry.rows,
        provisional: entry.provisional,
        readings: entry.readings,
        excluded: entry.excluded,
        relabelled: entry.relabelled,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A list of numbered rows in the facts.
    struct Rows {
        /// Whom its rows bind.
        iut: Iut,
        /// How many there are.
        count: u16,
        /// Whether a row is told why it is not tested, instead of being tested.
        excluded: fn(u16) -> bool,
    }

    const ROWS: &[Rows] = &[
        Rows {
            iut: Iut::Provider,
            count: 138,
            excluded: |row| matches!(row, 20 | 25 | 53 | 60 | 65 | 71..=79 | 105..=115 | 117..=126 | 128..=132 | 136..=138),
        },
        Rows {
            iut: Iut::Proxy,
            count: 87,
            excluded: |row| matches!(row, 63..=68),
        },
        Rows {
            iut: Iut::AgentServer,
            count: 38,
            excluded: |row| matches!(row, 33 | 34),
        },
    ];

    fn of(iut: Iut) -> impl Iterator<Item = &'static Requirement> {
        let all = Catalogue::get().requirements().iter();
        all.filter(move |it| it.iut.contains(&iut))
    }

    #[test]
    fn the_embedded_data_is_good() {
        let catalogue = Catalogue::embedded().expect("the embedded data reads");
        assert!(catalogue.requirements().len() > 150);
    }

    #[test]
    fn every_row_is_covered_and_only_these_are_excluded() {
        for rows in ROWS {
            let iut = rows.iut.as_str();
            for row in 1..=rows.count {
                let mut entries = of(rows.iut).filter(|it| it.rows.contains(&row)).peekable();
                assert!(
                    entries.peek().is_some(),
                    "no entry answers for {iut} row {row}"
                );
                for entry in entries {
                    assert_eq!(
                        entry.excluded.is_some(),
                        (rows.excluded)(row),
                        "{} at {iut} row {row}",
                        entry.id
                    );
                }
            }
            for entry in of(rows.iut) {
                assert!(
                    entry.excluded.is_none() || !entry.rows.is_empty(),
                    "{} excludes no row",
                    entry.id
                );
                assert!(
                    entry.rows.iter().all(|row| *row <= rows.count),
                    "{}",
                    entry.id
                );
            }
        }
    }

    #[test]
    fn ids_are_found_by_name() {
        assert_eq!(
            RequirementId::new("run.id-once").map(RequirementId::as_str),
            Some("run.id-once")
        );
        assert_eq!(RequirementId::new("run.no-such"), None);
    }

    const GOOD: &str = r#"
        [defaults]
        iut = ["provider"]
        revisions = ["scope"]

        [[requirement]]
        id = "a.b"
        text = "A thing is so."
        strength = "stated"
        source = { document = "d", section = "s" }
        "#;

    /// The good data with one member of the requirement's changed, or one more.
    fn entry(change: &str) -> Result<Catalogue, CatalogueError> {
        let (defaults, requirement) = GOOD.split_at(GOOD.find("[[").expect("a requirement"));
        let member = change.split(' ').next().filter(|member| !member.is_empty());
        let others = requirement
            .lines()
            .filter(|line| member.is_none_or(|it| !line.trim().starts_with(it)));
        let text: String = others.flat_map(|line| [line, "\n"]).collect();
        Catalogue::parse(&format!("{defaults}{text}{change}"))
    }

    #[test]
    fn defects_are_told_apart() {
        assert!(entry("").is_ok());
        let id = |changes| entry(changes).err();
        assert_eq!(id("id = \"A.b\""), Some(CatalogueError::Id("A.b".into())));
        assert_eq!(id("id = \"a..b\""), Some(CatalogueError::Id("a..b".into())));
        let sentence = |member| {
            Some(CatalogueError::Sentence {
                id: "a.b".into(),
                member,
            })
        };
        assert_eq!(id("text = \"no full stop at its end\""), sentence("text"));
        assert_eq!(id("excluded = \"\""), sentence("excluded"));
        assert_eq!(
            id("readings = [\"One only is no choice.\"]"),
            Some(CatalogueError::SingleReading("a.b".into()))
        );
        assert_eq!(id("rows = [0]"), Some(CatalogueError::Row("a.b".into())));
        assert_eq!(
            id("iut = []"),
            Some(CatalogueError::Nobody {
                id: "a.b".into(),
                member: "iut"
            })
        );
        let again = "\n[[requirement]]\nid = \"a.b\"\ntext = \"A thing is so.\"\nstrength = \"stated\"\n\
            source = { document = \"d\", section = \"s\" }";
        let twice = Catalogue::parse(&(GOOD.to_owned() + again)).err();
        assert_eq!(twice, Some(CatalogueError::Repeated("a.b".into())));
        assert!(matches!(
            id("strength = \"firm\""),
            Some(CatalogueError::Syntax(_))
        ));
        assert!(matches!(id("unknown = 1"), Some(CatalogueError::Syntax(_))));
    }
}
