//! The baseline file: its form, and what can be wrong with it.

use std::collections::HashSet;
use std::ops::Range;

use diverge_protocol::rules::Revision;
use diverge_protocol::toml_fault::{TomlFault, place};
use jiff::civil::Date;
use serde::Deserialize;
use toml::Spanned;
use toml::value::Datetime;

/// How a reason begins that nobody has written yet.
pub(super) const UNSAID: &str = "TODO";

/// One expected failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The scenario that fails; without it, any that breaks the requirement.
    pub scenario: Option<String>,
    /// The requirement that is to blame; without it, any.
    pub requirement: Option<String>,
    /// The revision in which it fails; without it, any.
    pub revision: Option<Revision>,
    /// Why it is expected.
    pub reason: String,
    /// Where more is told about it.
    pub link: Option<String>,
    /// The last day on which it is expected.
    pub expires: Option<Date>,
    /// What the failure's message holds.
    pub message: Option<String>,
    /// Its line in the file, counted from 1.
    pub line: usize,
}

impl Entry {
    /// What it is about, in a few words.
    #[must_use]
    pub fn names(&self) -> String {
        let mut names = match (&self.scenario, &self.requirement) {
            (Some(scenario), Some(requirement)) => format!("{scenario} ({requirement})"),
            (Some(name), None) | (None, Some(name)) => name.clone(),
            (None, None) => String::new(),
        };
        if let Some(revision) = self.revision {
            names.push_str(&format!(", {} revision", revision.as_str()));
        }
        names
    }

    /// Whether its reason is still to be written.
    pub(super) fn is_unsaid(&self) -> bool {
        self.reason.starts_with(UNSAID)
    }
}

/// A baseline that cannot be read, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {fault}")]
pub struct FileError {
    /// Counted from 1.
    pub line: usize,
    /// In characters, counted from 1.
    pub column: usize,
    /// What is wrong there.
    pub fault: FileFault,
}

/// What is wrong with a baseline.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileFault {
    /// Not TOML, or not of a baseline's form.
    #[error("{0}")]
    Syntax(String),
    /// An entry that would expect every failure.
    #[error("this entry names neither a `scenario` nor a `requirement`; give at least one")]
    NamesNothing,
    /// A member that must say something.
    #[error("the `{0}` is empty; write what it is, or leave a member out that is not required")]
    Empty(&'static str),
    /// A date with a time, a time alone, or a day that no calendar has.
    #[error("`{0}` is no date; write a day such as 2027-01-31, without quotes")]
    Date(String),
    /// Two entries that name the same.
    #[error("an entry above names `{0}` already, with the same message")]
    Repeated(String),
}

impl FileError {
    fn at(text: &str, span: Option<Range<usize>>, fault: FileFault) -> Self {
        let (line, column) = place(text, span.map_or(0, |span| span.start));
        Self {
            line,
            column,
            fault,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    expected: Vec<Spanned<Row>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table, as `[[expected]]` begins")]
struct Row {
    scenario: Option<Spanned<String>>,
    requirement: Option<Spanned<String>>,
    revision: Option<Revision>,
    reason: Spanned<String>,
    link: Option<Spanned<String>>,
    expires: Option<Spanned<Datetime>>,
    message: Option<Spanned<String>>,
}

/// Reads the entries, in their order.
///
/// # Errors
/// The first thing wrong, with its line and column.
pub(super) fn read(text: &str) -> Result<Vec<Entry>, FileError> {
    let file: File = toml::from_str(text).map_err(|error| {
        let fault = TomlFault::of(text, &error);
        FileError {
            line: fault.line,
            column: fault.column,
            fault: FileFault::Syntax(fault.message),
        }
    })?;
    let mut seen = HashSet::new();
    let mut entries = Vec::new();
    for row in file.expected {
        let span = row.span();
        let entry = entry(text, row)?;
        let named = (
            entry.scenario.clone(),
            entry.requirement.clone(),
            entry.revision,
            entry.message.clone(),
        );
        if !seen.insert(named) {
            let fault = FileFault::Repeated(entry.names());
            return Err(FileError::at(text, Some(span), fault));
        }
        entries.push(entry);
    }
    Ok(entries)
}

fn entry(text: &str, row: Spanned<Row>) -> Result<Entry, FileError> {
    let span = row.span();
    let row = row.into_inner();
    let fault = |span, fault| Err(FileError::at(text, Some(span), fault));
    let members = [
        ("scenario", &row.scenario),
        ("requirement", &row.requirement),
        ("link", &row.link),
        ("message", &row.message),
    ];
    let given = members
        .into_iter()
        .filter_map(|(name, member)| member.as_ref().map(|member| (name, member)))
        .chain([("reason", &row.reason)]);
    for (name, member) in given {
        if member.get_ref().trim().is_empty() {
            return fault(member.span(), FileFault::Empty(name));
        }
    }
    if row.scenario.is_none() && row.requirement.is_none() {
        return fault(span, FileFault::NamesNothing);
    }
    let expires = match row.expires {
        None => None,
        Some(date) => match day(date.get_ref()) {
            Some(day) => Some(day),
            None => {
                let shown = date.get_ref().to_string();
                return fault(date.span(), FileFault::Date(shown));
            }
        },
    };
    Ok(Entry {
        scenario: row.scenario.map(Spanned::into_inner),
        requirement: row.requirement.map(Spanned::into_inner),
        revision: row.revision,
        reason: row.reason.into_inner(),
        link: row.link.map(Spanned::into_inner),
        expires,
        message: row.message.map(Spanned::into_inner),
        line: place(text, span.start).0,
    })
}

fn day(date: &Datetime) -> Option<Date> {
    let (Some(day), None, None) = (date.date, date.time, date.offset) else {
        return None;
    };
    let number = |part: u8| i8::try_from(part).ok();
    let year = i16::try_from(day.year).ok()?;
    Date::new(year, number(day.month)?, number(day.day)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "\
# ours
[[expected]]
scenario = \"provider/a/b\"
requirement = \"run.id-once\"
reason = \"known\"
link = \"https://example.org/1\"
expires = 2027-01-31
message = \"got 2\"

[[expected]]
requirement = \"run.chunk.verbatim\"
reason = \"TODO: say why\"
";

    #[test]
    fn entries_are_read_with_their_lines() {
        let entries = read(GOOD).expect("it is good");
        assert_eq!(entries.len(), 2);
        assert_eq!(entries[0].names(), "provider/a/b (run.id-once)");
        assert_eq!(entries[0].expires, Some(jiff::civil::date(2027, 1, 31)));
        assert_eq!(entries[0].message.as_deref(), Some("got 2"));
        assert_eq!((entries[0].line, entries[1].line), (2, 10));
        assert!(!entries[0].is_unsaid() && entries[1].is_unsaid());
        assert!(read("").expect("it may be empty").is_empty());
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let head = "[[expected]]\nscenario = \"provider/a/b\"\n";
        let fault = |text: &str| read(text).expect_err("it is at fault");
        let at = |text: &str, line, column, fault_: FileFault| {
            let error = fault(text);
            assert_eq!(
                (error.line, error.column, error.fault),
                (line, column, fault_)
            );
        };
        at(
            "[[expected]]\nreason = \"r\"\n",
            1,
            1,
            FileFault::NamesNothing,
        );
        at(
            &format!("{head}reason = \" \"\n"),
            3,
            10,
            FileFault::Empty("reason"),
        );
        at(
            &format!("{head}reason = \"r\"\nexpires = 12:30:00\n"),
            4,
            11,
            FileFault::Date("12:30:00".into()),
        );
        at(
            &format!("{head}reason = \"r\"\n{head}reason = \"s\"\n"),
            4,
            1,
            FileFault::Repeated("provider/a/b".into()),
        );
        for (text, says) in [
            (head.to_owned(), "reason"),
            (format!("{head}reason = 3\n"), "string"),
            (
                format!("{head}reason = \"r\"\nreasons = \"r\"\n"),
                "reasons",
            ),
            (format!("{head}reason = \"r\n"), ""),
        ] {
            let error = fault(&text);
            let FileFault::Syntax(told) = &error.fault else {
                panic!("{error}");
            };
            assert!(told.contains(says), "{told}");
        }
        assert_eq!(fault(&format!("{head}reason = 3\n")).line, 3);
    }
}
