//! What is wrong with a TOML file, told by its key and place and in the words of TOML.

use std::fmt;

/// The first thing wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TomlFault {
    /// Counted from 1.
    pub line: usize,
    /// In characters, counted from 1.
    pub column: usize,
    /// The key, what is wrong with it and what was expected.
    pub message: String,
}

impl fmt::Display for TomlFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl TomlFault {
    /// What a reader of `text` said of it.
    #[must_use]
    pub fn of(text: &str, error: &toml::de::Error) -> Self {
        let at = error.span().map_or(0, |span| span.start);
        let (line, column) = place(text, at);
        let message = in_words(error.message());
        let message = match key(text, at) {
            Some(key) => format!("`{key}`: {message}"),
            None => message,
        };
        Self {
            line,
            column,
            message,
        }
    }
}

/// The line and column, each counted from 1, at which a byte of `text` stands.
#[must_use]
pub fn place(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or_default();
    let column = before.rsplit('\n').next().unwrap_or_default();
    (before.matches('\n').count() + 1, column.chars().count() + 1)
}

/// The key whose value begins at a byte of `text`.
fn key(text: &str, at: usize) -> Option<&str> {
    let line = text.get(..at)?.rsplit('\n').next()?;
    let before = line.trim_end().strip_suffix('=')?.trim_end();
    let part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let start = before.rfind(|c| !part(c)).map_or(0, |at| at + 1);
    Some(&before[start..]).filter(|key| !key.is_empty())
}

/// What a reader says, without the words of the program's own types.
fn in_words(message: &str) -> String {
    let message = message.trim_end();
    let found_first = ["invalid type: ", "invalid value: "];
    let mismatch = found_first.iter().find_map(|it| message.strip_prefix(it));
    if let Some((found, expected)) = mismatch.and_then(|it| it.split_once(", expected ")) {
        return format!("expected {}, found {}", of_toml(expected), of_toml(found));
    }
    for (theirs, ours, end) in [
        ("unknown field `", "no key is called `", "` here"),
        ("missing field `", "the key `", "` is missing"),
        ("unknown variant `", "`", "` means nothing here"),
    ] {
        let named = message.strip_prefix(theirs);
        if let Some((name, rest)) = named.and_then(|it| it.split_once('`')) {
            return format!("{ours}{name}{end}{rest}");
        }
    }
    message.to_owned()
}

fn of_toml(what: &str) -> &str {
    match what {
        "a sequence" | "sequence" => "an array",
        "a map" | "map" => "a table",
        "a boolean" => "true or false",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        #[allow(dead_code, reason = "it is only read")]
        text: String,
        #[allow(dead_code, reason = "it is only read")]
        list: Option<Vec<u8>>,
        #[allow(dead_code, reason = "it is only read")]
        word: Option<Word>,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Word {
        One,
        Two,
    }

    #[test]
    fn a_fault_is_told_by_its_place_and_key() {
        let cases = [
            (
                "text = 7\n",
                "1:8: `text`: expected a string, found integer `7`",
            ),
            (
                "text = \"é\"\n list = {}",
                "2:9: `list`: expected an array, found a table",
            ),
            (
                "word = 'odd'\ntext = ''",
                "1:8: `word`: `odd` means nothing here, expected `one` or `two`",
            ),
            (
                "txt = 7\n",
                "1:1: no key is called `txt` here, expected one of `text`, `list`, `word`",
            ),
            ("list = []", "1:1: the key `text` is missing"),
        ];
        for (text, expected) in cases {
            let error = toml::from_str::<File>(text).err().expect(text);
            assert_eq!(TomlFault::of(text, &error).to_string(), expected);
        }
    }
}
