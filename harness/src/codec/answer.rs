//! What a codec is asked and what it answers, as lines.

use std::fmt;

/// What is told of a line that is no answer, in characters.
const SHOWN: usize = 60;

/// One answer of a codec.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Answer {
    /// `accept KIND`: the payload is well formed.
    Accept(String),
    /// `reject`: it is malformed.
    Reject,
    /// A line that is neither, as it is shown.
    Other(String),
}

impl Answer {
    /// Reads a line, without its end; white space behind it does not count.
    #[must_use]
    pub fn read(line: &[u8]) -> Answer {
        let line = line.trim_ascii_end();
        if line == b"reject" {
            return Answer::Reject;
        }
        let kind = line
            .strip_prefix(b"accept ")
            .and_then(|kind| std::str::from_utf8(kind).ok());
        match kind {
            Some(kind) if !kind.is_empty() && !kind.contains(char::is_whitespace) => {
                Answer::Accept(kind.to_owned())
            }
            _ => {
                let text = String::from_utf8_lossy(line);
                let shown: String = text.chars().take(SHOWN).collect();
                let more = if shown.len() < text.len() { "…" } else { "" };
                Answer::Other(format!("{shown}{more}"))
            }
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Accept(kind) => write!(f, "`accept {kind}`"),
            Answer::Reject => f.write_str("`reject`"),
            Answer::Other(line) if line.is_empty() => {
                f.write_str("an empty line, which is no answer")
            }
            Answer::Other(line) => write!(f, "`{line}`, which is no answer"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_an_answer_or_told_as_none() {
        assert_eq!(
            Answer::read(b"accept usage"),
            Answer::Accept("usage".to_owned())
        );
        assert_eq!(
            Answer::read(b"accept usage \r"),
            Answer::Accept("usage".to_owned())
        );
        assert_eq!(Answer::read(b"reject\t"), Answer::Reject);
        for line in [
            "accept",
            "accept ",
            "accept  usage",
            "accept a b",
            "ACCEPT usage",
            "Reject",
            " reject",
            "ok",
            "",
        ] {
            assert!(
                matches!(Answer::read(line.as_bytes()), Answer::Other(_)),
                "{line}"
            );
        }
        let Answer::Other(shown) = Answer::read(&[b'x'; 1000]) else {
            panic!("it is no answer")
        };
        assert_eq!(shown.chars().count(), SHOWN + 1);
    }
}
