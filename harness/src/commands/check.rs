//! `check`: judges a stream of agent events, line by line, or a recorded transcript.

mod transcript;

use std::fs::File;
use std::io::{self, BufReader, Read};

use diverge_protocol::rules::{EventStream, Strength, Violation};

use super::complain;
use crate::cli::CheckArgs;
use crate::lines::next_line;
use crate::recorded;
use crate::report::style::{
    self, BAD, GOOD, ODD, QUIET, STRONG, count, paint, printable, say, wrap,
};
use crate::verdict::Exit;

/// The longest line that is read, in bytes.
const LONGEST: usize = 64 << 20;
/// Of so many lines at most what is wrong with them is told; the rest is counted.
const TOLD: u64 = 50;
/// Columns that the labels take.
const LABEL: usize = 14;

/// `check`.
pub(crate) fn check(args: &CheckArgs) -> Exit {
    let input: Box<dyn Read> = if args.file.as_os_str() == "-" {
        Box::new(io::stdin().lock())
    } else {
        match File::open(&args.file) {
            Ok(file) => Box::new(file),
            Err(error) => return unreadable(args, &error),
        }
    };
    let mut input = BufReader::with_capacity(1 << 16, input);
    let (mut first, mut number) = (Vec::new(), 0);
    // The first line that says anything tells which of the two the input is.
    loop {
        match next_line(&mut input, LONGEST, &mut first) {
            Ok(true) => number += 1,
            Ok(false) => break,
            Err(error) => return unreadable(args, &error),
        }
        if !first.trim_ascii().is_empty() {
            break;
        }
    }
    if recorded::is_line(&first) {
        return transcript::check(&first, number, &mut input, args);
    }
    let mut report = Report::default();
    match judge(first, number, &mut input, args, &mut report) {
        Ok(stream) => report.close(&stream, args),
        Err(error) => unreadable(args, &error),
    }
}

fn unreadable(args: &CheckArgs, error: &dyn std::fmt::Display) -> Exit {
    complain(&format!("could not read {}: {error}", args.file.display()));
    Exit::Usage
}

/// Judges a stream from its first line on that is not blank, which has this number.
fn judge(
    first: Vec<u8>,
    number: u64,
    input: &mut BufReader<impl Read>,
    args: &CheckArgs,
    report: &mut Report,
) -> io::Result<EventStream> {
    let mut stream = EventStream::new(args.events_revision.revision());
    let (mut line, mut wrong) = (first, Vec::new());
    (1..number).for_each(|_| stream.line(b"", &mut wrong));
    let mut more = number > 0;
    while more {
        if line.len() > LONGEST {
            line.clear();
            stream.long_line(LONGEST, &mut wrong);
        } else {
            stream.line(&line, &mut wrong);
        }
        report.tell(&wrong, Some(&line));
        wrong.clear();
        more = next_line(input, LONGEST, &mut line)?;
    }
    stream.end(&mut wrong);
    report.tell(&wrong, None);
    Ok(stream)
}

#[derive(Debug, Default)]
struct Report {
    /// Lines at fault, by whether a stated requirement is broken.
    failed: u64,
    warned: u64,
}

impl Report {
    /// Tells everything that is wrong with one line, or at last with the stream.
    fn tell(&mut self, wrong: &[Violation], line: Option<&[u8]>) {
        let Some(first) = wrong.first() else { return };
        let stated = wrong.iter().any(is_stated);
        *(if stated {
            &mut self.failed
        } else {
            &mut self.warned
        }) += 1;
        if self.failed + self.warned <= TOLD {
            let place = match line {
                Some(_) => format!("line {}", first.seq),
                None => format!("the end, behind line {}", first.seq),
            };
            say(&story(&place, wrong, line));
        }
    }

    fn close(&self, stream: &EventStream, args: &CheckArgs) -> Exit {
        let (failed, warned) = (self.failed, self.warned);
        let untold = (failed + warned).saturating_sub(TOLD);
        if untold > 0 {
            say(&format!(
                "and {} not shown\n",
                count(to_usize(untold), "more line")
            ));
        }
        if let Some((line, odd)) = stream.note() {
            say(&format!("{}  line {line}: {odd}\n", paint(QUIET, "note")));
        }
        let judged = count(to_usize(stream.events()), "event");
        if stream.events() == 0 {
            say(&format!(
                "{}: no event that can be read, so nothing passes; a stream has a JSON object with a `type` in each \
                line, and a recorded transcript begins with its links, each an object with `link` and `kind`",
                paint(BAD, "fail")
            ));
            return Exit::Fails;
        }
        let counts = format!("{judged}, {failed} failed, {warned} warned");
        if failed > 0 || (args.strict && warned > 0) {
            say(&format!("{}: {counts}", paint(BAD, "fail")));
            return Exit::Fails;
        }
        say(&format!("{}: {counts}", paint(GOOD, "conforms")));
        Exit::Conforms
    }
}

fn to_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn is_stated(violation: &Violation) -> bool {
    let requirement = violation.requirement.requirement();
    requirement.is_some_and(|it| it.strength == Strength::Stated)
}

/// What is wrong at one place, told like a failed scenario.
fn story(place: &str, wrong: &[Violation], line: Option<&[u8]>) -> String {
    let (style, word) = match wrong.iter().any(is_stated) {
        true => (BAD, "FAIL"),
        false => (ODD, "warn"),
    };
    let padding = " ".repeat(LABEL - word.len());
    let mut lines = vec![format!(
        "{}{padding}{}",
        paint(style, word),
        paint(STRONG, place)
    )];
    let mut entry = |name: &str, text: &str| {
        let wrapped = wrap(text, &" ".repeat(LABEL));
        let label = paint(QUIET, format!("  {name:<width$}", width = LABEL - 2));
        lines.push(format!("{label}{}", wrapped.trim_start()));
    };
    if let Some(line) = line.filter(|line| !line.is_empty()) {
        let start = &line[..line.len().min(4 * style::WIDTH)];
        let text = printable(&String::from_utf8_lossy(start));
        entry("event", &style::fit(&text, style::WIDTH - LABEL));
    }
    for (at, violation) in wrong.iter().enumerate() {
        entry("allowed", &violation.allowed);
        entry("received", &violation.received);
        if let Some(pointer) = &violation.pointer {
            entry("at", pointer);
        }
        let name = if at == 0 { "breaks" } else { "and" };
        match violation.requirement.requirement() {
            Some(it) => {
                entry(name, &format!("{}  {}", it.id, style::strength(it)));
                entry("", &it.text);
                entry("", &style::source(it));
            }
            None => entry(name, violation.requirement.as_str()),
        }
    }
    lines.push(String::new());
    lines.join("\n")
}
