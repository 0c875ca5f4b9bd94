//! The last lines of a report: what a run comes to, by itself and by its baseline.

use std::time::Duration;

use super::style::{self, BAD, GOOD, ODD, QUIET, STRONG, paint, wrap};
use super::tally::section;
use crate::baseline::Reckoning;
use crate::runner::Finished;
use crate::verdict::{Exit, Verdict};

/// What a baseline came to: the entries that turn the run red, and what was done about it.
pub(super) fn reckoning(reckoning: &Reckoning) -> String {
    let path = style::printable(&reckoning.path);
    let findings = reckoning.findings.iter().map(|finding| {
        let word = finding.trouble.as_str().to_uppercase();
        let names = style::printable(&finding.entry);
        let message = wrap(&style::printable(&finding.message), "              ");
        let place = paint(QUIET, format!("{path}:{}", finding.line));
        format!(
            "{}{}{}  {place}\n{message}\n",
            paint(BAD, &word),
            " ".repeat(14_usize.saturating_sub(word.len())),
            paint(STRONG, names)
        )
    });
    let mut text = section("the baseline", findings).unwrap_or_default();
    if let Some(blessed) = &reckoning.blessed {
        text.push_str(&format!(
            "blessed {path}: {} added, {} removed, {} kept\n",
            blessed.added, blessed.removed, blessed.kept
        ));
    }
    if reckoning.unsaid > 0 {
        let verb = if reckoning.unsaid == 1 {
            "lacks"
        } else {
            "lack"
        };
        let entries = entries(reckoning.unsaid);
        let line = format!("{entries} of {path} {verb} a reason: say why each is expected");
        text.push_str(&paint(ODD, line));
    }
    text
}

fn entries(number: usize) -> String {
    style::count(number, "entry").replace("entrys", "entries")
}

/// The last line of a run with a baseline: what it comes to, which agrees with the exit code.
pub(super) fn closing_of_all(whole: &Finished) -> String {
    let exit = whole.exit();
    let (style, word) = word(whole, exit);
    let findings = whole.baseline.as_ref().map_or(0, |it| it.findings.len());
    let verb = if findings == 1 { "needs" } else { "need" };
    let mending = format!("{} {verb} mending", entries(findings));
    let counts = counted(whole).join(", ");
    let why = match findings {
        0 => counts,
        _ if exit == Exit::Stale => mending,
        _ => format!("{counts}; of the baseline, {mending}"),
    };
    format!("{}: {why}", paint(style, word))
}

/// The last line of a part: what it comes to. Where there is a baseline, which is reckoned up when all parts are over, it
/// counts, and one more line says what it would come to without.
pub(super) fn closing(finished: &Finished, elapsed: Duration) -> String {
    let line = closing_line(finished, elapsed);
    let without = finished.without.as_ref().zip(finished.exit_without());
    match without.filter(|(counts, _)| **counts != finished.summary) {
        None => line,
        Some((counts, exit)) => {
            let without = Finished {
                summary: *counts,
                strict: finished.strict,
                stopped: finished.stopped.clone(),
                unclaimed: finished.unclaimed.clone(),
                ..Finished::default()
            };
            let counts = counted(&without).join(", ");
            let (_, word) = word(&without, exit);
            format!(
                "{line}\n{}",
                paint(QUIET, format!("without the baseline: {word}, {counts}"))
            )
        }
    }
}

fn closing_line(finished: &Finished, elapsed: Duration) -> String {
    let counts = counted(finished);
    let head = if finished.without.is_some() {
        String::new()
    } else {
        let (style, word) = word(finished, finished.exit());
        format!("{}: ", paint(style, word))
    };
    let total = u32::try_from(finished.summary.total()).unwrap_or(u32::MAX);
    let each = elapsed.checked_div(total).filter(|_| total > 1);
    let each = each
        .map(|each| format!(" ({:.1} ms a scenario)", each.as_secs_f64() * 1e3))
        .unwrap_or_default();
    let elapsed = elapsed.as_secs_f64();
    format!("{head}{} in {elapsed:.2} s{each}", counts.join(", "))
}

/// How many got each verdict, in words.
fn counted(finished: &Finished) -> Vec<String> {
    let count = |verdict| finished.summary.count(verdict);
    let names = [
        (Verdict::Fail, "fail"),
        (Verdict::Unstable, "unstable"),
        (Verdict::Inconclusive, "inconclusive"),
        (Verdict::Stale, "stale"),
        (Verdict::Warn, "warn"),
        (Verdict::ExpectedFail, "expected to fail"),
        (Verdict::Pass, "pass"),
        (Verdict::NotApplicable, "not applicable"),
    ];
    let mut counts: Vec<String> = names
        .iter()
        .filter(|(verdict, _)| count(*verdict) > 0 || *verdict == Verdict::Pass)
        .map(|(verdict, name)| format!("{} {name}", count(*verdict)))
        .collect();
    if !finished.unclaimed.is_empty() {
        counts.push(style::count(
            finished.unclaimed.len(),
            "unclaimed connection",
        ));
    }
    counts
}

/// What it comes to, in a word or two.
fn word(finished: &Finished, exit: Exit) -> (anstyle::Style, &'static str) {
    let count = |verdict| finished.summary.count(verdict);
    let broken = count(Verdict::Fail) > 0
        || count(Verdict::Unstable) > 0
        || !finished.unclaimed.is_empty()
        || (finished.strict && count(Verdict::Warn) > 0);
    match exit {
        Exit::Conforms => (GOOD, "conforms"),
        Exit::Fails if broken => (BAD, "does not conform"),
        Exit::Fails if count(Verdict::Inconclusive) > 0 => (ODD, "undecided"),
        Exit::Fails => (BAD, "nothing passed"),
        Exit::Stale => (BAD, "the baseline is out of date"),
        Exit::Unreachable => (BAD, "not reached"),
        Exit::Usage | Exit::Harness => (BAD, "not judged"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closing_of(verdicts: &[(Verdict, usize)], change: impl FnOnce(&mut Finished)) -> String {
        let mut finished = Finished::default();
        for (verdict, times) in verdicts {
            (0..*times).for_each(|_| finished.summary.add(*verdict));
        }
        change(&mut finished);
        anstream::adapter::strip_str(&closing(&finished, Duration::from_millis(410))).to_string()
    }

    #[test]
    fn the_last_line_says_whether_it_conforms() {
        let passed = [(Verdict::Pass, 214), (Verdict::NotApplicable, 3)];
        let cases: [(&[(Verdict, usize)], &str); 5] = [
            (
                &passed,
                "conforms: 214 pass, 3 not applicable in 0.41 s (1.9 ms a scenario)",
            ),
            (&[(Verdict::Pass, 1)], "conforms: 1 pass in 0.41 s"),
            (
                &[(Verdict::Fail, 1), (Verdict::Pass, 1)],
                "does not conform: 1 fail, 1 pass in 0.41 s (205.0 ms a scenario)",
            ),
            (
                &[(Verdict::Inconclusive, 1)],
                "undecided: 1 inconclusive, 0 pass in 0.41 s",
            ),
            (
                &[(Verdict::NotApplicable, 1)],
                "nothing passed: 0 pass, 1 not applicable in 0.41 s",
            ),
        ];
        for (verdicts, line) in cases {
            assert_eq!(closing_of(verdicts, |_| {}), line);
        }
        let unclaimed =
            |finished: &mut Finished| finished.unclaimed.push("a connection".to_owned());
        let line = closing_of(&[(Verdict::Pass, 1)], unclaimed);
        assert_eq!(
            line,
            "does not conform: 1 pass, 1 unclaimed connection in 0.41 s"
        );
        let stopped = |finished: &mut Finished| {
            finished.stopped = Some((Exit::Unreachable, "gone".to_owned()))
        };
        assert_eq!(closing_of(&[], stopped), "not reached: 0 pass in 0.41 s");
    }

    #[test]
    fn warnings_fail_a_strict_run_only() {
        let verdicts = [(Verdict::Warn, 1), (Verdict::Pass, 1)];
        assert!(closing_of(&verdicts, |_| {}).starts_with("conforms: 1 warn, 1 pass"));
        assert!(
            closing_of(&verdicts, |finished| finished.strict = true)
                .starts_with("does not conform: 1 warn")
        );
    }
}
