//! The JUnit XML report: one test suite, one test case a scenario.
//!
//! A failure is a `failure`; what could not be judged is an `error`; what was not applicable, or failed as the baseline
//! says, is `skipped`. A warning is a passed case that says so in its output, and a `failure` of a strict run. Until
//! the run has come to its end, the suite holds an `error` that says so: a part of a run must not look like all of it.

use std::io;
use std::path::Path;

use quick_xml::Writer;
use quick_xml::events::{BytesText, Event};

use super::files::ReportFile;
use super::grow::Growing;
use super::record::{End, Record, Results, named};
use crate::verdict::Verdict;

/// Room in the head for its numbers.
const ROOM: usize = 160;

#[derive(Debug)]
pub(super) struct Junit {
    file: Growing,
    totals: Totals,
}

/// What the head counts.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Totals {
    tests: usize,
    failures: usize,
    errors: usize,
    skipped: usize,
    seconds: f64,
}

impl Totals {
    fn add(&mut self, what: &What) {
        self.tests += 1;
        match what {
            What::Passed => {}
            What::Failure => self.failures += 1,
            What::Error => self.errors += 1,
            What::Skipped => self.skipped += 1,
        }
    }
}

/// How a case ended, in the words of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Passed,
    Failure,
    Error,
    Skipped,
}

impl What {
    fn of(record: &Record, strict: bool) -> Self {
        match record.verdict {
            _ if !record.scored => Self::Skipped,
            Verdict::Pass => Self::Passed,
            Verdict::Warn if !strict => Self::Passed,
            Verdict::Fail | Verdict::Warn | Verdict::Stale | Verdict::Unstable => Self::Failure,
            Verdict::Inconclusive => Self::Error,
            Verdict::NotApplicable | Verdict::ExpectedFail => Self::Skipped,
        }
    }

    fn element(self) -> &'static str {
        match self {
            Self::Passed => "system-out",
            Self::Failure => "failure",
            Self::Error => "error",
            Self::Skipped => "skipped",
        }
    }
}

/// A test case.
struct Case<'a> {
    class: String,
    name: &'a str,
    seconds: f64,
    what: What,
    kind: &'a str,
    message: String,
    text: String,
}

impl Junit {
    pub(super) fn create(path: &Path, results: &Results) -> io::Result<Self> {
        let (tail, totals) = tail(&results.end, Totals::default())?;
        Ok(Self {
            file: Growing::create(path, &head(results, totals), &tail)?,
            totals: Totals::default(),
        })
    }
}

impl ReportFile for Junit {
    fn add(&mut self, results: &Results, record: &Record) -> io::Result<()> {
        let what = What::of(record, results.end.strict);
        self.totals.add(&what);
        let seconds = std::time::Duration::from_micros(record.duration_us).as_secs_f64();
        self.totals.seconds += seconds;
        let case = Case {
            class: class(record),
            name: &record.id,
            seconds,
            what,
            kind: record
                .blamed()
                .map_or(record.verdict.as_str(), |broken| &broken.id),
            message: message(record),
            text: text(record),
        };
        let (tail, totals) = tail(&results.end, self.totals)?;
        self.file.add(&xml(&case)?, &tail)?;
        self.file.head(&head(results, totals))
    }

    fn finish(&mut self, results: &Results) -> io::Result<()> {
        let (tail, totals) = tail(&results.end, self.totals)?;
        self.file.finish(&tail)?;
        self.file.head(&head(results, totals))
    }
}

/// The beginning, always of the same length.
fn head(results: &Results, totals: Totals) -> String {
    let Totals {
        tests,
        failures,
        errors,
        skipped,
        seconds,
    } = totals;
    let numbers = |more: &str| {
        let numbers = format!(
            "tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\"{more} time=\"{seconds:.6}\""
        );
        // Blanks between attributes mean nothing.
        format!("{numbers:<ROOM$}")
    };
    let skipped = format!(" skipped=\"{skipped}\"");
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"diverge-conformance\" {}>\n\
         <testsuite name=\"diverge-conformance\" timestamp=\"{}\" {}>\n",
        numbers(""),
        results.started.trim_end_matches('Z'),
        numbers(&skipped),
    )
}

/// What is no scenario's, and the end; the totals with it.
fn tail(end: &End, mut totals: Totals) -> io::Result<(String, Totals)> {
    let mut tail = String::new();
    for case in cases(end) {
        totals.add(&case.what);
        tail.push_str(&xml(&case)?);
    }
    tail.push_str("</testsuite>\n</testsuites>\n");
    Ok((tail, totals))
}

/// Cases about the run as a whole.
fn cases(end: &End) -> Vec<Case<'_>> {
    let case = |name, what, kind, message: &str| Case {
        class: "run".to_owned(),
        name,
        seconds: 0.0,
        what,
        kind,
        message: message.to_owned(),
        text: String::new(),
    };
    let mut cases = Vec::new();
    if !end.complete {
        let why = end.stopped.as_deref().unwrap_or("the run is not over");
        cases.push(case(
            "the run came to its end",
            What::Error,
            "incomplete",
            why,
        ));
    }
    for connection in &end.unclaimed {
        cases.push(case(
            "every connection belongs to a scenario",
            What::Failure,
            "unclaimed",
            connection,
        ));
    }
    for finding in end.baseline.iter().flat_map(|it| &it.findings) {
        // A scenario that passes has told so in its own case.
        cases.push(Case {
            class: "baseline".to_owned(),
            ..case(
                &finding.entry,
                What::Failure,
                &finding.trouble,
                &finding.message,
            )
        });
    }
    cases
}

fn class(record: &Record) -> String {
    let kind = named(&record.iut, record.revision.as_deref()).replace(", ", "-");
    format!("{}.{}", kind.replace(' ', "-"), record.topic)
}

fn message(record: &Record) -> String {
    if !record.scored {
        return format!("not scored yet: {}", record.verdict.as_str());
    }
    match (&record.expectation, record.verdict) {
        (Some(expected), Verdict::ExpectedFail) => format!("expected: {}", expected.reason),
        _ => record.message.clone().unwrap_or_default(),
    }
}

/// What a person needs to know about a result that is no pass.
fn text(record: &Record) -> String {
    let mut lines = Vec::new();
    if record.verdict == Verdict::Warn {
        lines.push(format!(
            "warning: {}",
            record.message.clone().unwrap_or_default()
        ));
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
        let given = entries
            .iter()
            .filter_map(|(name, text)| Some((name, text.as_ref()?)));
        lines.extend(given.map(|(name, text)| format!("{name}: {text}")));
        for broken in &failure.broken {
            lines.push(format!(
                "breaks {} ({}; {}): {}",
                broken.id, broken.strength, broken.source, broken.text
            ));
        }
    }
    if !matches!(record.verdict, Verdict::Pass | Verdict::NotApplicable) {
        lines.push(format!("replay: {}", record.replay));
    }
    lines.join("\n")
}

fn xml(case: &Case<'_>) -> io::Result<String> {
    let seconds = format!("{:.6}", case.seconds);
    let message = plain(&case.message);
    let mut writer = Writer::new(Vec::new());
    let element = writer
        .create_element("testcase")
        .with_attribute(("classname", plain(&case.class).as_str()))
        .with_attribute(("name", plain(case.name).as_str()))
        .with_attribute(("time", seconds.as_str()));
    if case.what == What::Passed && case.text.is_empty() {
        element.write_empty()?;
    } else {
        element.write_inner_content(|writer| {
            let mut inner = writer.create_element(case.what.element());
            if case.what != What::Passed {
                inner = inner.with_attribute(("message", message.as_str()));
            }
            if matches!(case.what, What::Failure | What::Error) {
                inner = inner.with_attribute(("type", case.kind));
            }
            inner
                .write_text_content(BytesText::new(&plain(&case.text)))
                .map(drop)
        })?;
    }
    writer.write_event(Event::Text(BytesText::new("\n")))?;
    String::from_utf8(writer.into_inner()).map_err(io::Error::other)
}

/// `text` with only such characters as XML may hold.
fn plain(text: &str) -> String {
    let is_fit = |c: char| matches!(c, '\t' | '\n' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    text.chars()
        .map(|c| if is_fit(c) { c } else { '\u{fffd}' })
        .collect()
}

#[cfg(test)]
mod tests;
