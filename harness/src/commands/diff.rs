//! `diff`: what moved between two runs, or between two revisions.

mod revisions;

use std::path::Path;

use serde::Serialize;

use super::complain;
use super::report::read;
use crate::cli::{DiffArgs, Format};
use crate::diff::{self, Move, Moved};
use crate::report::record::{Record, Results};
use crate::report::style::{self, BAD, GOOD, ODD, QUIET, STRONG, paint, say, wrap};
use crate::verdict::{Exit, Verdict};

/// Columns before an id.
const WORD: usize = 15;

pub(crate) fn diff(args: &DiffArgs) -> Exit {
    // A revision is a name or a TOML file; any other file holds results.
    let is_of_a_run = |name: &str| {
        let path = Path::new(name);
        let extension = path.extension().and_then(|extension| extension.to_str());
        extension == Some("json") || (extension != Some("toml") && path.is_file())
    };
    if !is_of_a_run(&args.old) && !is_of_a_run(&args.new) {
        return revisions::diff(args);
    }
    let read = |path: &String| read(Path::new(path));
    let (old, new) = match (read(&args.old), read(&args.new)) {
        (Ok(old), Ok(new)) => (old, new),
        (Err(why), _) | (_, Err(why)) => {
            complain(&why);
            return Exit::Usage;
        }
    };
    let moved = diff::results(&old, &new);
    match args.format {
        Format::Pretty => pretty(args, &old, &new, &moved),
        Format::Jsonl => jsonl(&moved),
    }
    let regressed = moved.iter().any(|it| it.how == Move::Regression);
    // What did not come to its end may have got worse in what is missing.
    if regressed || !new.end.complete {
        Exit::Fails
    } else {
        Exit::Conforms
    }
}

fn pretty(args: &DiffArgs, old: &Results, new: &Results, moved: &[Moved]) {
    for (name, results) in [(&args.old, old), (&args.new, new)] {
        if !results.end.complete {
            let line = format!("{name} is of a run that did not come to its end");
            say(&paint(ODD, line));
        }
    }
    for moved in moved {
        say(&told(moved));
    }
    if !moved.is_empty() {
        say("");
    }
    say(&closing(moved, new));
}

fn told(moved: &Moved) -> String {
    let (word, colour) = word(moved.how);
    let verdict = |record: Option<&Record>| record.map_or("not there", |it| it.verdict.as_str());
    let id = moved.record().map_or("", |it| &it.id);
    let padding = " ".repeat(WORD.saturating_sub(word.len()));
    let mut text = format!(
        "{}{padding}{}  {}",
        paint(colour, word),
        paint(STRONG, id),
        paint(
            QUIET,
            format!(
                "{} → {}",
                verdict(moved.old.as_deref()),
                verdict(moved.new.as_deref())
            )
        )
    );
    let is_told = matches!(
        moved.how,
        Move::Regression | Move::NewFailure | Move::OtherRequirement
    );
    if let Some(new) = moved.new.as_deref().filter(|_| is_told) {
        let indent = " ".repeat(WORD);
        if let Some(broken) = new.blamed() {
            text.push_str(&format!(
                "\n{indent}{}  {}",
                broken.id,
                paint(QUIET, &broken.strength)
            ));
        }
        if let Some(message) = &new.message {
            text.push_str(&format!("\n{}", wrap(message, &indent)));
        }
        if new.verdict != Verdict::NotApplicable {
            text.push_str(&format!("\n{indent}{}", paint(QUIET, &new.replay)));
        }
    }
    text
}

fn word(how: Move) -> (&'static str, anstyle::Style) {
    match how {
        Move::Regression => ("WORSE", BAD),
        Move::NewFailure => ("new, fails", ODD),
        Move::OtherRequirement => ("fails otherwise", ODD),
        Move::Sideways => ("moved", QUIET),
        Move::Improvement => ("better", GOOD),
        Move::Added => ("new", QUIET),
        Move::Removed => ("gone", QUIET),
    }
}

fn closing(moved: &[Moved], new: &Results) -> String {
    let count = |how: Move| moved.iter().filter(|it| it.how == how).count();
    let counts: Vec<String> = Move::ALL
        .into_iter()
        .filter(|how| count(*how) > 0)
        .map(|how| match how {
            Move::Regression | Move::NewFailure | Move::Improvement => {
                style::count(count(how), &how.as_str().replace('_', " "))
            }
            _ => format!("{} {}", count(how), how.as_str().replace('_', " ")),
        })
        .collect();
    let (colour, head) = if count(Move::Regression) > 0 {
        (BAD, "worse")
    } else if !new.end.complete {
        (ODD, "incomplete")
    } else if moved.is_empty() {
        (GOOD, "the same")
    } else {
        (GOOD, "not worse")
    };
    let all = style::count(new.results.len(), "result");
    let counts = [counts, vec![format!("{all} in all")]].concat();
    format!("{}: {}", paint(colour, head), counts.join(", "))
}

#[derive(Serialize)]
struct MovedLine<'a> {
    event: &'static str,
    how: Move,
    id: &'a str,
    revision: Option<&'a str>,
    old: Option<Verdict>,
    new: Option<Verdict>,
    failed_requirement: Option<&'a str>,
    message: Option<&'a str>,
}

fn jsonl(moved: &[Moved]) {
    for moved in moved {
        let record = moved.record();
        let new = moved.new.as_deref();
        let line = MovedLine {
            event: "moved",
            how: moved.how,
            id: record.map_or("", |it| &it.id),
            revision: record.and_then(|it| it.revision.as_deref()),
            old: moved.old.as_ref().map(|it| it.verdict),
            new: moved.new.as_ref().map(|it| it.verdict),
            failed_requirement: new.and_then(|it| it.blamed()).map(|it| it.id.as_str()),
            message: new.and_then(|it| it.message.as_deref()),
        };
        say(&serde_json::to_string(&line).unwrap_or_default());
    }
    let count = |how: Move| moved.iter().filter(|it| it.how == how).count();
    let mut summary = serde_json::Map::new();
    summary.insert("event".to_owned(), "summary".into());
    for how in Move::ALL {
        summary.insert(how.as_str().to_owned(), count(how).into());
    }
    say(&serde_json::Value::Object(summary).to_string());
}
