//! The few colours and forms that all reports share.

use std::time::Duration;

use anstyle::{AnsiColor, Style};
use diverge_protocol::rules::Requirement;

pub(crate) use crate::output::say;
use crate::verdict::Verdict;

/// The widest line of a report.
pub(crate) const WIDTH: usize = 110;

pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
pub(crate) const ODD: Style = AnsiColor::Yellow.on_default().bold();
pub(crate) const STRONG: Style = Style::new().bold();
pub(crate) const QUIET: Style = Style::new().dimmed();

/// The colour of a verdict.
pub(crate) fn of(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Pass => GOOD,
        Verdict::Fail | Verdict::Stale | Verdict::Unstable => BAD,
        Verdict::Warn | Verdict::Inconclusive => ODD,
        Verdict::NotApplicable | Verdict::ExpectedFail => QUIET,
    }
}

/// `text` in a style; where colours cannot be shown, what prints it leaves them out.
pub(crate) fn paint(style: Style, text: impl std::fmt::Display) -> String {
    let text = text.to_string();
    if text.is_empty() {
        text
    } else {
        format!("{style}{text}{style:#}")
    }
}

/// `text` with nothing in it that moves the cursor or turns the direction of writing.
pub(crate) fn printable(text: &str) -> String {
    let turns = |c| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let unsafe_to_show = |c: char| c.is_control() || turns(c);
    if !text.contains(unsafe_to_show) {
        return text.to_owned();
    }
    text.chars()
        .flat_map(|c| -> Box<dyn Iterator<Item = char>> {
            if unsafe_to_show(c) {
                Box::new(c.escape_default())
            } else {
                Box::new(std::iter::once(c))
            }
        })
        .collect()
}

/// The columns that `text` takes on a terminal.
pub(crate) fn width(text: &str) -> usize {
    unicode_width::UnicodeWidthStr::width(text)
}

/// At most `most` columns of `text`, with an ellipsis where something is left out.
pub(crate) fn fit(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let mut fitting = String::new();
    for c in text.chars() {
        if width(&fitting) + unicode_width::UnicodeWidthChar::width(c).unwrap_or(0) + 1 > most {
            break;
        }
        fitting.push(c);
    }
    fitting.push('…');
    fitting
}

/// At most `most` columns of `text`, with an ellipsis in its middle where something is left out.
pub(crate) fn fit_ends(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let (start, end) = (most * 3 / 5, most - most * 3 / 5);
    let mut tail: Vec<char> = Vec::new();
    let mut taken = 0;
    for c in text.chars().rev() {
        taken += unicode_width::UnicodeWidthChar::width(c).unwrap_or(0);
        if taken > end {
            break;
        }
        tail.push(c);
    }
    fit(text, start) + &tail.iter().rev().collect::<String>()
}

/// `text` in lines, `indent` before each.
pub(crate) fn wrap(text: &str, indent: &str) -> String {
    let options = textwrap::Options::new(WIDTH)
        .initial_indent(indent)
        .subsequent_indent(indent)
        .break_words(false)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    textwrap::wrap(text, options).join("\n")
}

/// A duration in the unit that suits it.
pub(crate) fn duration(duration: Duration) -> String {
    let micros = duration.as_micros();
    match micros {
        0..1_000 => format!("{micros} µs"),
        1_000..100_000 => format!("{:.1} ms", duration.as_secs_f64() * 1e3),
        100_000..1_000_000 => format!("{:.0} ms", duration.as_secs_f64() * 1e3),
        _ => format!("{:.2} s", duration.as_secs_f64()),
    }
}

/// `1 scenario`, `2 scenarios`.
pub(crate) fn count(number: usize, of: &str) -> String {
    if number == 1 {
        format!("1 {of}")
    } else {
        format!("{number} {of}s")
    }
}

/// How firmly a requirement stands, and whether its check rests on a number that may move.
pub(crate) fn strength(requirement: &Requirement) -> String {
    let provisional = if requirement.provisional {
        ", provisional"
    } else {
        ""
    };
    format!("{}{provisional}", requirement.strength.as_str())
}

/// Where a requirement is read.
pub(crate) fn source(requirement: &Requirement) -> String {
    format!(
        "{}, {}",
        requirement.source.document, requirement.source.section
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_peer_sends_moves_the_cursor() {
        assert_eq!(
            printable("a\u{1b}[2J\r\nb\u{202e}"),
            r"a\u{1b}[2J\r\nb\u{202e}"
        );
        assert_eq!(printable("plain é 🏃"), "plain é 🏃");
    }

    #[test]
    fn wide_characters_count_twice() {
        assert_eq!(fit("🏃🏃🏃", 5), "🏃🏃…");
        assert_eq!(fit("abcde", 5), "abcde");
        assert_eq!(fit("abcdef", 5), "abcd…");
        assert_eq!(fit_ends("abcdefgh", 5), "ab…gh");
        assert_eq!(fit_ends("🏃🏃🏃🏃", 6), "🏃…🏃");
    }

    #[test]
    fn durations_read_easily() {
        let shown =
            [412, 1_900, 345_678, 12_345_678].map(|micros| duration(Duration::from_micros(micros)));
        assert_eq!(shown, ["412 µs", "1.9 ms", "346 ms", "12.35 s"]);
    }
}
