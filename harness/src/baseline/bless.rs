//! Writing the baseline file: what stays keeps its place, its words and the comments around it.

use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, value};

/// Stands above the entries of a file that was not there before.
const HEAD: &str = "\
# Failures that are known and expected. An entry names a scenario, a requirement or both, and says why; it may have a
# link, a part of the message, and the last day on which it is expected: expires = 2027-01-31.

";
const ENTRIES: &str = "expected";

/// An entry to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fresh {
    pub scenario: String,
    pub requirement: Option<String>,
    pub revision: Option<&'static str>,
    pub reason: String,
}

/// `text` without the entries at `gone`, counted from 0, and with `fresh` ones at its end.
///
/// # Errors
/// Where `text` is no TOML, or its entries are no array of tables; then nothing of it could be kept.
pub(super) fn rewrite(text: &str, gone: &[usize], fresh: &[Fresh]) -> Result<String, String> {
    let text = if text.is_empty() { HEAD } else { text };
    let mut document: DocumentMut = text
        .parse()
        .map_err(|error: toml_edit::TomlError| error.message().to_owned())?;
    let mut trailing = document.trailing().as_str().unwrap_or_default().to_owned();
    let entries = document
        .entry(ENTRIES)
        .or_insert(Item::ArrayOfTables(ArrayOfTables::new()));
    // An empty array in a line of its own holds nothing to keep.
    if entries.as_array().is_some_and(|array| array.is_empty()) {
        *entries = Item::ArrayOfTables(ArrayOfTables::new());
    }
    let Some(entries) = entries.as_array_of_tables_mut() else {
        return Err(format!(
            "write each entry below a line of its own, `[[{ENTRIES}]]`"
        ));
    };
    let mut at = 0;
    entries.retain(|_| {
        at += 1;
        !gone.contains(&(at - 1))
    });
    // Comments of a file without entries stand above the first.
    let mut above = if entries.is_empty() && !fresh.is_empty() {
        std::mem::take(&mut trailing)
    } else {
        String::new()
    };
    for fresh in fresh {
        let mut table = Table::new();
        let is_first = entries.is_empty() && above.is_empty();
        let prefix = std::mem::take(&mut above);
        table
            .decor_mut()
            .set_prefix(if prefix.is_empty() && !is_first {
                "\n".to_owned()
            } else {
                prefix
            });
        table.insert("scenario", value(&fresh.scenario));
        if let Some(requirement) = &fresh.requirement {
            table.insert("requirement", value(requirement));
        }
        if let Some(revision) = fresh.revision {
            table.insert("revision", value(revision));
        }
        table.insert("reason", value(&fresh.reason));
        entries.push(table);
    }
    document.set_trailing(trailing);
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fresh(scenario: &str) -> Fresh {
        Fresh {
            scenario: scenario.to_owned(),
            requirement: Some("run.id-once".to_owned()),
            revision: None,
            reason: "TODO: \"why\"".to_owned(),
        }
    }

    #[test]
    fn what_stays_keeps_its_words_and_comments() {
        let kept = "# ours\n\n[[expected]] # first\nreason   = 'known'\nscenario = \"a\"\n";
        let text =
            format!("{kept}\n# of the second\n[[expected]]\nscenario = \"b\"\nreason = \"x\"\n");
        assert_eq!(rewrite(&text, &[1], &[]).as_deref(), Ok(kept));
        let grown = rewrite(kept, &[], &[fresh("c")]).expect("it is good");
        let entry = "\n[[expected]]\nscenario = \"c\"\nrequirement = \"run.id-once\"\nreason = 'TODO: \"why\"'\n";
        assert_eq!(grown, format!("{kept}{entry}"));
    }

    #[test]
    fn a_new_file_says_what_it_is() {
        let text = rewrite("", &[], &[fresh("c"), fresh("d")]).expect("it is good");
        assert!(text.starts_with(HEAD), "{text}");
        let entries = super::super::file::read(&text).expect("it reads back");
        assert_eq!(entries.len(), 2);
        assert_eq!(entries[1].scenario.as_deref(), Some("d"));
    }

    #[test]
    fn an_inline_array_is_not_torn_apart() {
        let text = "expected = [{ scenario = \"a\", reason = \"r\" }]\n";
        assert!(rewrite(text, &[0], &[]).is_err());
    }
}
