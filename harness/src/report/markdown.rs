//! The Markdown report: a summary for a place where a CI shows Markdown.

use std::collections::BTreeMap;

use super::lanes::Row;
use super::record::{Counts, Record, Results};
use super::style;
use super::summary::{self, COLUMNS, Matrix};
use crate::verdict::Verdict;

/// How many failures are told in full; such places take only so much.
const FULL: usize = 20;
/// How many more are named.
const NAMED: usize = 500;

/// The report of a run.
pub(super) fn of_run(results: &Results) -> String {
    let mut page = Markdown::default();
    page.head(results);
    page.baseline(results);
    page.topics(results);
    let told = [
        ("Failures", summary::wrong(results)),
        ("Warnings", summary::of(results, Verdict::Warn)),
    ];
    for (title, records) in told {
        page.failures(title, &records);
    }
    page.expected(results);
    page.unscored(results);
    page.not_applicable(results);
    page.text
}

/// The report of several runs side by side.
pub(super) fn of_runs(runs: &[(String, Results)]) -> String {
    let mut page = Markdown::default();
    page.line(&format!(
        "# Conformance of {}\n",
        style::count(runs.len(), "run")
    ));
    for (run, results) in runs {
        page.line(&format!(
            "- {}: {}, {}",
            escape(run),
            results.in_words(),
            summary::counted(results.end.summary)
        ));
    }
    let Matrix {
        columns,
        differ,
        same,
    } = Matrix::of(runs);
    page.title(&format!("Where they differ: {}", differ.len()));
    if !differ.is_empty() {
        let heads: String = columns
            .iter()
            .map(|it| format!(" {} |", escape(it)))
            .collect();
        page.line(&format!("| scenario |{heads}"));
        page.line(&format!("|---|{}", "---|".repeat(columns.len())));
    }
    for (id, verdicts) in &differ {
        let cells = verdicts.iter().map(|verdict| match verdict {
            Some(verdict) => format!(" {} |", verdict.as_str()),
            None => " |".to_owned(),
        });
        page.line(&format!("| {} |{}", code(id), cells.collect::<String>()));
    }
    let same = style::count(same.len(), "scenario");
    page.line(&format!("\n{same} came to the same everywhere."));
    page.text
}

#[derive(Default)]
struct Markdown {
    text: String,
}

impl Markdown {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn title(&mut self, title: &str) {
        self.line(&format!("\n## {title}\n"));
    }

    fn head(&mut self, results: &Results) {
        self.line(&format!("# Conformance: {}\n", results.in_words()));
        for part in &results.end.parts {
            let scenarios = style::count(part.scenarios, "scenario");
            self.line(&format!(
                "- {}: {}, {scenarios}",
                escape(&part.name()),
                escape(&part.subject)
            ));
        }
        self.line(&format!("\n**{}**", summary::counted(results.end.summary)));
        if !results.end.complete {
            let why = results
                .end
                .stopped
                .as_deref()
                .unwrap_or("the run is not over");
            let missing = style::count(results.missing(), "result");
            self.line(&format!(
                "\n> **Incomplete**: {}; {missing} missing.",
                escape(why)
            ));
        }
        for connection in &results.end.unclaimed {
            self.line(&format!(
                "\n> A connection that no scenario asked for: {}",
                escape(connection)
            ));
        }
    }

    fn baseline(&mut self, results: &Results) {
        let Some(baseline) = &results.end.baseline else {
            return;
        };
        self.title("Baseline");
        for finding in &baseline.findings {
            self.line(&format!(
                "- **{}** {} ({}:{}): {}",
                finding.trouble,
                code(&finding.entry),
                escape(&baseline.path),
                finding.line,
                escape(&finding.message)
            ));
        }
        self.line(&format!(
            "\nWithout the baseline: {}.",
            summary::counted(baseline.summary_without)
        ));
    }

    fn topics(&mut self, results: &Results) {
        let topics = summary::topics(&results.results);
        if topics.len() < 2 {
            return;
        }
        self.title("By topic");
        let mut all = Counts::default();
        let scored = results.results.iter().filter(|it| it.scored);
        scored.for_each(|it| all.add(it.verdict));
        let columns: Vec<_> = COLUMNS
            .iter()
            .filter(|(verdict, _)| all.get(*verdict) > 0)
            .collect();
        let heads: String = columns
            .iter()
            .map(|(_, name)| format!(" {name} |"))
            .collect();
        self.line(&format!("| topic | scenarios |{heads}"));
        self.line(&format!("|---|---:|{}", "---:|".repeat(columns.len())));
        let mut row = |name: &str, counts: Counts| {
            let cells: String = columns
                .iter()
                .map(|(verdict, _)| match counts.get(*verdict) {
                    0 => " |".to_owned(),
                    number => format!(" {number} |"),
                })
                .collect();
            self.line(&format!("| {name} | {} |{cells}", counts.total()));
        };
        for (topic, counts) in &topics {
            row(&escape(topic), *counts);
        }
        row("**all**", all);
    }

    fn failures(&mut self, title: &str, records: &[&Record]) {
        if records.is_empty() {
            return;
        }
        self.title(title);
        let (firsts, likes) = summary::alike(records);
        for record in firsts.iter().take(FULL) {
            self.failure(record);
        }
        let rest = firsts.iter().skip(FULL).map(|record| (*record, None));
        let rest: Vec<_> = rest
            .chain(likes.iter().map(|(record, first)| (*record, Some(*first))))
            .collect();
        for (record, first) in rest.iter().take(NAMED) {
            let blamed = record.blamed().map_or("", |broken| &broken.id);
            let like = first.map_or_else(String::new, |it| format!(", as {}", code(&it.id)));
            self.line(&format!(
                "- {} {}{like}",
                code(&record.id),
                code_or_not(blamed)
            ));
        }
        if rest.len() > NAMED {
            self.line(&format!("- and {} more", rest.len() - NAMED));
        }
    }

    fn failure(&mut self, record: &Record) {
        self.line(&format!(
            "### {} {}\n",
            record.verdict.as_str(),
            code(&record.id)
        ));
        self.line(&format!("{}\n", escape(&record.title)));
        if record.failure.is_none() || record.verdict == Verdict::Unstable {
            let message = record.message.as_deref().unwrap_or_default();
            self.line(&format!("{}\n", escape(message)));
        }
        if let Some(failure) = &record.failure {
            let entries = [
                ("step", &failure.step),
                ("written", &failure.at),
                ("allowed", &Some(failure.allowed.clone())),
                ("received", &Some(failure.received.clone())),
                ("at", &failure.pointer),
                ("besides", &failure.besides),
            ];
            for (name, text) in entries {
                if let Some(text) = text {
                    self.line(&format!("- {name}: {}", escape(text)));
                }
            }
            for broken in &failure.broken {
                self.line(&format!(
                    "- breaks {} ({}; {}): {}",
                    code(&broken.id),
                    escape(&broken.strength),
                    escape(&broken.source),
                    escape(&broken.text)
                ));
            }
            if let Some(lanes) = &failure.lanes {
                self.line(&format!("\n{}", block(&lanes.rows)));
            }
        }
        self.line(&format!("\n{}\n", fenced(&record.replay)));
    }

    fn expected(&mut self, results: &Results) {
        let expected = summary::of(results, Verdict::ExpectedFail);
        if expected.is_empty() {
            return;
        }
        self.title("Expected to fail");
        for record in expected {
            let Some(why) = &record.expectation else {
                continue;
            };
            let link = why.link.as_ref().map(|link| format!(" ({})", escape(link)));
            self.line(&format!(
                "- {}: {}{}",
                code(&record.id),
                escape(&why.reason),
                link.unwrap_or_default()
            ));
        }
    }

    fn unscored(&mut self, results: &Results) {
        let unscored = summary::unscored(results);
        if unscored.is_empty() {
            return;
        }
        self.title("Not scored in this revision yet");
        for record in unscored {
            self.line(&format!(
                "- {} {}",
                record.verdict.as_str(),
                code(&record.id)
            ));
        }
    }

    fn not_applicable(&mut self, results: &Results) {
        let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
        for record in summary::of(results, Verdict::NotApplicable) {
            let why = record.message.as_deref().unwrap_or_default();
            *reasons.entry(why).or_default() += 1;
        }
        if reasons.is_empty() {
            return;
        }
        self.title("Not applicable");
        for (reason, number) in reasons {
            self.line(&format!("- {number}: {}", escape(reason)));
        }
    }
}

/// The messages as text, the offending one marked.
fn block(rows: &[Row]) -> String {
    let line = |row: &Row| match row {
        Row::Message {
            seq,
            at_us,
            from,
            to,
            label,
            marked,
        } => {
            let mark = if *marked { '▶' } else { ' ' };
            let at = style::duration(std::time::Duration::from_micros(*at_us));
            format!("{mark} {seq:>3} {at:>8}  {from:>8} → {to:<8}  {label}\n")
        }
        Row::Note { note, marked } => {
            let mark = if *marked { '▶' } else { ' ' };
            format!("{mark} {:>12}  {note}\n", "")
        }
    };
    let text: String = rows.iter().map(line).collect();
    fenced(text.trim_end_matches('\n'))
}

/// A block of text as it is.
fn fenced(text: &str) -> String {
    let longest = text
        .split(|c| c != '`')
        .map(str::len)
        .max()
        .unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}text\n{text}\n{fence}")
}

fn code_or_not(text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        code(text)
    }
}

/// `text` as it is, within a line or a table.
fn code(text: &str) -> String {
    if text.contains(['`', '|', '\n']) {
        format!("<code>{}</code>", escape(text))
    } else {
        format!("`{text}`")
    }
}

/// `text` such that no character of it means anything to Markdown, or to HTML.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' => escaped.push(' '),
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '&' | '~' | '#' | '$' | '@' => {
                escaped.push_str(&format!("&#{};", u32::from(c)));
            }
            _ => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn no_character_of_a_text_means_anything() {
        assert_eq!(
            escape("a|b <c> *d*\n`e`"),
            "a&#124;b &#60;c&#62; &#42;d&#42; &#96;e&#96;"
        );
        assert_eq!(code("a/b"), "`a/b`");
        assert_eq!(code("a|b"), "<code>a&#124;b</code>");
        assert!(fenced("a ```` b").starts_with("`````text\n"));
    }

    #[test]
    fn a_failure_is_told_with_its_messages_and_its_command() {
        let text = of_run(&testing::results());
        for part in [
            "# Conformance: does not conform",
            "### fail `provider/streams/one-loop`",
            "- allowed: the chunk that the proxy sent",
            "- breaks `run.chunk.verbatim` (stated",
            "▶   3   300 µs  provider → client    #1 chunk ",
            "--scenario provider/streams/one-loop\n",
        ] {
            assert!(text.contains(part), "`{part}` in\n{text}");
        }
        assert!(!text.contains("hunter2"), "{text}");
    }
}
