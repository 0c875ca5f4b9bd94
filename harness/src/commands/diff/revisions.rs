//! What moved between two revisions, told.

use std::path::Path;

use diverge_protocol::rules::revisions::Revisions;
use diverge_protocol::rules::{Catalogue, Requirement};
use serde::Serialize;

use super::super::complain;
use crate::cli::{DiffArgs, Format};
use crate::diff::{self, Changes, Tag};
use crate::files;
use crate::report::style::{self, BAD, GOOD, ODD, QUIET, STRONG, paint, say, wrap};
use crate::verdict::Exit;

/// Columns before an id.
const WORD: usize = 10;

pub(super) fn diff(args: &DiffArgs) -> Exit {
    match compared(args) {
        Ok(()) => Exit::Conforms,
        Err(why) => {
            complain(&why);
            Exit::Usage
        }
    }
}

fn compared(args: &DiffArgs) -> Result<(), String> {
    let mut revisions = Revisions::built_in().map_err(|error| error.to_string())?;
    let old = named(&args.old, &mut revisions)?;
    let new = named(&args.new, &mut revisions)?;
    let changes = diff::revisions(Catalogue::get(), &revisions, &old, &new)
        .map_err(|error| error.to_string())?;
    match args.format {
        Format::Pretty => pretty(&changes),
        Format::Jsonl => jsonl(&changes),
    }
    Ok(())
}

/// The name of a revision; one that is a file is read first.
fn named(name: &str, revisions: &mut Revisions) -> Result<String, String> {
    let path = Path::new(name);
    let is_file = path
        .extension()
        .is_some_and(|extension| extension == "toml");
    if !is_file {
        return Ok(name.to_owned());
    }
    let text = files::read(path)
        .map_err(|error| format!("could not read the revision {name}: {error}"))?;
    revisions
        .add(&text)
        .map_err(|error| format!("{name}: {error}"))
}

fn pretty(changes: &Changes<'_>) {
    let head = |word: &str, colour, requirement: &Requirement| {
        let padding = " ".repeat(WORD.saturating_sub(word.len()));
        let strength = style::strength(requirement);
        let id = paint(STRONG, requirement.id);
        format!(
            "{}{padding}{id}  {}",
            paint(colour, word),
            paint(QUIET, strength)
        )
    };
    let indent = " ".repeat(WORD);
    let sentence = |requirement: &Requirement| wrap(&requirement.text, &indent);
    for (old, new) in &changes.changed {
        say(&head("changed", ODD, new));
        say(&sentence(new));
        let before = format!("before, as {}: {}", old.id, old.text);
        say(&paint(QUIET, wrap(&before, &indent)));
    }
    for (word, colour, requirements) in [
        ("added", GOOD, &changes.added),
        ("removed", BAD, &changes.removed),
    ] {
        for requirement in requirements {
            say(&head(word, colour, requirement));
            say(&sentence(requirement));
        }
    }
    for Tag {
        table,
        word,
        old,
        new,
    } in &changes.tags
    {
        let number = |number: &Option<u8>| {
            number.map_or_else(|| "none".to_owned(), |number| number.to_string())
        };
        say(&format!(
            "{}       {}  {} → {}",
            paint(ODD, "tag"),
            paint(STRONG, format!("{table} {word}")),
            number(old),
            number(new)
        ));
    }
    if !changes.is_empty() {
        say("");
    }
    say(&format!(
        "{} added, {} changed, {} removed, {} moved",
        style::count(changes.added.len(), "requirement"),
        changes.changed.len(),
        changes.removed.len(),
        style::count(changes.tags.len(), "tag")
    ));
}

#[derive(Serialize)]
struct RequirementLine<'a> {
    event: &'static str,
    how: &'static str,
    id: &'a str,
    text: &'a str,
    strength: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    replaces: Option<&'a str>,
}

#[derive(Serialize)]
struct TagLine<'a> {
    event: &'static str,
    #[serde(flatten)]
    tag: &'a Tag,
}

#[derive(Serialize)]
struct SummaryLine {
    event: &'static str,
    added: usize,
    changed: usize,
    removed: usize,
    tags: usize,
}

fn jsonl(changes: &Changes<'_>) {
    let line = |how, requirement: &Requirement, replaces| {
        print(&RequirementLine {
            event: "requirement",
            how,
            id: requirement.id.as_str(),
            text: &requirement.text,
            strength: requirement.strength.as_str(),
            replaces,
        });
    };
    for (old, new) in &changes.changed {
        line("changed", new, Some(old.id.as_str()));
    }
    changes.added.iter().for_each(|it| line("added", it, None));
    changes
        .removed
        .iter()
        .for_each(|it| line("removed", it, None));
    for tag in &changes.tags {
        print(&TagLine { event: "tag", tag });
    }
    print(&SummaryLine {
        event: "summary",
        added: changes.added.len(),
        changed: changes.changed.len(),
        removed: changes.removed.len(),
        tags: changes.tags.len(),
    });
}

fn print(line: &impl Serialize) {
    say(&serde_json::to_string(line).unwrap_or_default());
}
