//! What a run comes to: the sections that stand at the end of a report.

use std::collections::BTreeMap;
use std::time::Duration;

use diverge_protocol::rules::RequirementId;

use super::failure::is_provisional;
use super::mask::Mask;
use super::style::{self, BAD, GOOD, ODD, QUIET, STRONG, WIDTH, paint, wrap};
use crate::baseline::Reckoning;
use crate::runner::Finished;
use crate::verdict::{Exit, Outcome, Summary, Verdict};

/// Below this many scenarios nobody asks which were the slowest.
const FEW: usize = 10;
const SLOWEST: usize = 10;
/// The columns of the table of topics.
const COLUMNS: [(Verdict, &str); 8] = [
    (Verdict::Pass, "pass"),
    (Verdict::Fail, "fail"),
    (Verdict::Unstable, "unstable"),
    (Verdict::Warn, "warn"),
    (Verdict::NotApplicable, "n/a"),
    (Verdict::Inconclusive, "inconclusive"),
    (Verdict::ExpectedFail, "expected"),
    (Verdict::Stale, "stale"),
];
/// Verdicts that only a baseline or repetitions give have a column only where there are some.
const RARE: [Verdict; 3] = [Verdict::Unstable, Verdict::ExpectedFail, Verdict::Stale];
/// How many ids of one group are named.
const NAMED: usize = 12;
/// Stands for a space at which no line may end.
const NO_BREAK: &str = "\u{a0}";
/// What is left of a text at least, however wide the column before it.
const MINIMUM: usize = 30;

/// What is kept of each result.
#[derive(Debug, Default)]
pub(super) struct Tally {
    results: Vec<Kept>,
}

#[derive(Debug)]
struct Kept {
    id: String,
    topic: String,
    verdict: Verdict,
    duration: Duration,
    message: String,
    /// Why it is expected to fail.
    reason: String,
    readings: Vec<String>,
    /// Whether the catalogue has several readings of what it tests.
    open: bool,
    blamed: Option<RequirementId>,
    provisional: bool,
}

impl Tally {
    /// Takes a result in.
    pub(super) fn add(&mut self, outcome: &Outcome, mask: &Mask) {
        let message = outcome.message.as_deref().unwrap_or_default();
        self.results.push(Kept {
            id: outcome.id.clone(),
            topic: outcome.topic.clone(),
            verdict: outcome.verdict,
            duration: outcome.duration,
            message: style::printable(&mask.text(message)),
            reason: outcome.expectation.as_ref().map_or_else(String::new, |it| {
                let link = it.link.as_ref().map(|link| format!(" ({link})"));
                style::printable(&mask.text(&(it.reason.clone() + &link.unwrap_or_default())))
            }),
            readings: outcome
                .readings
                .iter()
                .map(|reading| style::printable(&mask.text(reading)))
                .collect(),
            open: outcome
                .requirements
                .iter()
                .filter_map(|id| id.requirement())
                .any(|requirement| !requirement.readings.is_empty()),
            blamed: outcome
                .divergence
                .as_ref()
                .and_then(|divergence| divergence.requirements.first().copied()),
            provisional: is_provisional(outcome),
        });
    }

    fn of(&self, verdict: Verdict) -> impl Iterator<Item = &Kept> {
        self.results
            .iter()
            .filter(move |result| result.verdict == verdict)
    }

    /// Which scenarios failed as the baseline says, by reason.
    pub(super) fn expected(&self) -> Option<String> {
        let reasons = grouped(
            self.of(Verdict::ExpectedFail)
                .map(|result| (result.reason.clone(), &*result.id)),
        );
        section(
            "expected to fail",
            reasons.iter().map(|(reason, ids)| group(reason, ids)),
        )
    }

    /// Which scenarios were not applicable, by reason.
    pub(super) fn not_applicable(&self) -> Option<String> {
        let reasons = grouped(
            self.of(Verdict::NotApplicable)
                .map(|result| (result.message.clone(), &*result.id)),
        );
        section(
            "not applicable",
            reasons.iter().map(|(reason, ids)| group(reason, ids)),
        )
    }

    /// Which readings of ambiguous requirements were seen, a line for each family of scenarios that saw the same.
    /// Where a script merely allows several things, how often it did is enough.
    pub(super) fn readings(&self) -> Option<String> {
        let mut seen: BTreeMap<(String, String), usize> = BTreeMap::new();
        let chose = self
            .results
            .iter()
            .filter(|result| !result.readings.is_empty());
        let (open, others): (Vec<_>, Vec<_>) = chose.partition(|result| result.open);
        for result in open {
            let mut readings = result.readings.clone();
            readings.dedup();
            *seen
                .entry((family(&result.id), readings.join("; ")))
                .or_default() += 1;
        }
        let wide = seen
            .keys()
            .map(|(family, _)| family.len())
            .max()
            .unwrap_or_default();
        let lines = seen.iter().map(|((family, reading), times)| {
            let times = if *times > 1 {
                format!("  {times}×")
            } else {
                String::new()
            };
            let room = WIDTH.saturating_sub(wide + times.len() + 4);
            let reading = style::fit(reading, room.max(MINIMUM));
            format!("  {family:<wide$}  {}\n", paint(QUIET, reading + &times))
        });
        let others = (!others.is_empty()).then(|| {
            let others = style::count(others.len(), "scenario");
            let took = format!("  {others} took one of several ways that are allowed");
            format!("{}\n", paint(QUIET, took))
        });
        section(
            "seen where the protocol leaves a choice",
            lines.chain(others),
        )
    }

    /// The requirements that were broken, the most often broken first.
    pub(super) fn broken(&self) -> Option<String> {
        let mut broken: BTreeMap<RequirementId, usize> = BTreeMap::new();
        let wrong = self.of(Verdict::Fail).chain(self.of(Verdict::Warn));
        wrong
            .filter_map(|result| result.blamed)
            .for_each(|id| *broken.entry(id).or_default() += 1);
        if broken.values().sum::<usize>() < 2 {
            return None;
        }
        let mut broken: Vec<_> = broken.into_iter().collect();
        broken.sort_by_key(|(id, times)| (std::cmp::Reverse(*times), *id));
        let wide = broken
            .iter()
            .map(|(id, _)| id.as_str().len())
            .max()
            .unwrap_or_default();
        let lines = broken.iter().map(|(id, times)| {
            let strength = id.requirement().map(style::strength).unwrap_or_default();
            format!(
                "  {:<wide$}  {times:>4}×  {}\n",
                id.as_str(),
                paint(QUIET, strength)
            )
        });
        section("requirements broken", lines)
    }

    /// The slowest scenarios of a run that had many.
    pub(super) fn slowest(&self) -> Option<String> {
        if self.results.len() <= FEW {
            return None;
        }
        let mut slowest: Vec<&Kept> = self.results.iter().collect();
        slowest.sort_by_key(|result| std::cmp::Reverse(result.duration));
        let lines = slowest
            .into_iter()
            .take(SLOWEST)
            .map(|result| format!("  {:>8}  {}\n", style::duration(result.duration), result.id));
        section("slowest", lines)
    }

    /// How each topic fared; a single scenario needs no table.
    pub(super) fn topics(&self) -> Option<String> {
        if self.results.len() < 2 {
            return None;
        }
        let mut topics: BTreeMap<&str, Summary> = BTreeMap::new();
        let mut all = Summary::default();
        for result in &self.results {
            topics.entry(&result.topic).or_default().add(result.verdict);
            all.add(result.verdict);
        }
        let wide = topics
            .keys()
            .map(|topic| topic.len())
            .max()
            .unwrap_or_default()
            .max("topic".len());
        let columns: Vec<(Verdict, &str)> = COLUMNS
            .into_iter()
            .filter(|(verdict, _)| !RARE.contains(verdict) || all.count(*verdict) > 0)
            .collect();
        let mut table = format!("{:<wide$}  scenarios", "topic");
        columns
            .iter()
            .for_each(|(_, head)| table.push_str(&format!("  {head}")));
        table = format!("{}\n", paint(STRONG, table));
        let mut row = |name: &str, summary: &Summary| {
            table.push_str(&format!("{name:<wide$}  {:>9}", summary.total()));
            for (verdict, head) in &columns {
                let number = summary.count(*verdict);
                let width = head.len() + 2;
                table.push_str(&if number == 0 {
                    paint(QUIET, format!("{:>width$}", "·"))
                } else if *verdict == Verdict::Pass {
                    format!("{number:>width$}")
                } else {
                    paint(style::of(*verdict), format!("{number:>width$}"))
                });
            }
            table.push('\n');
        };
        for (topic, summary) in &topics {
            row(topic, summary);
        }
        if topics.len() > 1 {
            row("all", &all);
        }
        Some(table)
    }

    /// How many verdicts rest on numbers that the revision may have moved.
    pub(super) fn provisional(&self) -> Option<String> {
        let judged =
            |result: &&Kept| result.verdict != Verdict::NotApplicable && result.provisional;
        let number = self.results.iter().filter(judged).count();
        (number > 0).then(|| {
            let verb = if number == 1 { "rests" } else { "rest" };
            let verdicts = style::count(number, "verdict");
            paint(QUIET, format!("provisional: {verdicts} {verb} on tag numbers that this revision's pages do not state"))
                + "\n"
        })
    }
}

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

/// A scenario's id without its case.
fn family(id: &str) -> String {
    id.split('/').take(3).collect::<Vec<_>>().join("/")
}

/// The ids by what they share, in the order in which each was first seen.
fn grouped<'a>(entries: impl Iterator<Item = (String, &'a str)>) -> Vec<(String, Vec<&'a str>)> {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for (shared, id) in entries {
        match groups.iter_mut().find(|(other, _)| *other == shared) {
            Some((_, ids)) => ids.push(id),
            None => groups.push((shared, vec![id])),
        }
    }
    groups.iter_mut().for_each(|(_, ids)| ids.sort_unstable());
    groups
}

/// What ids share, and below it their families.
fn group(shared: &str, ids: &[&str]) -> String {
    let families: Vec<String> = ids
        .chunk_by(|one, other| family(one) == family(other))
        .map(|cases| match cases {
            [id] => (*id).to_owned(),
            cases => format!("{} ({})", family(cases[0]), cases.len()),
        })
        .collect();
    let mut names = families
        .iter()
        .take(NAMED)
        .map(|name| name.replace(' ', NO_BREAK))
        .collect::<Vec<_>>()
        .join("  ");
    if families.len() > NAMED {
        names.push_str(&format!("  and {} more", families.len() - NAMED));
    }
    let names = wrap(&names, "    ").replace(NO_BREAK, " ");
    format!("{}\n{}\n", wrap(shared, "  "), paint(QUIET, names))
}

/// A headed section, unless there is nothing to say in it.
pub(super) fn section(head: &str, lines: impl Iterator<Item = String>) -> Option<String> {
    let body: String = lines.collect();
    (!body.is_empty()).then(|| format!("{}\n{body}", paint(STRONG, head)))
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    fn tally(outcomes: &[Outcome]) -> Tally {
        let mut tally = Tally::default();
        outcomes
            .iter()
            .for_each(|outcome| tally.add(outcome, &Mask::default()));
        tally
    }

    fn named(id: &str, mut outcome: Outcome) -> Outcome {
        outcome.id = id.to_owned();
        outcome.topic = id.split('/').nth(1).unwrap_or_default().to_owned();
        outcome
    }

    fn unplayed(id: &str, why: &str) -> Outcome {
        named(
            id,
            Outcome {
                message: Some(why.to_owned()),
                ..testing::outcome(Verdict::NotApplicable)
            },
        )
    }

    fn plain(section: Option<String>) -> String {
        anstream::adapter::strip_str(&section.unwrap_or_default()).to_string()
    }

    fn closing_of(verdicts: &[(Verdict, usize)], change: impl FnOnce(&mut Finished)) -> String {
        let mut finished = Finished::default();
        for (verdict, times) in verdicts {
            (0..*times).for_each(|_| finished.summary.add(*verdict));
        }
        change(&mut finished);
        plain(Some(closing(&finished, Duration::from_millis(410))))
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

    #[test]
    fn topics_stand_in_a_table_with_a_sum() {
        let tally = tally(&[
            named("provider/auth/a", testing::outcome(Verdict::Pass)),
            named("provider/streams/b", testing::outcome(Verdict::Pass)),
            named("provider/streams/c", testing::failed()),
        ]);
        let table = plain(tally.topics());
        let rows: Vec<Vec<&str>> = table
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(rows[1], ["auth", "1", "1", "·", "·", "·", "·"]);
        assert_eq!(rows[2], ["streams", "2", "1", "1", "·", "·", "·"]);
        assert_eq!(rows[3], ["all", "3", "2", "1", "·", "·", "·"]);
        assert!(
            table
                .lines()
                .all(|line| line.chars().count()
                    == table.lines().next().map_or(0, |head| head.len()))
        );
    }

    #[test]
    fn what_was_not_applicable_is_grouped_by_its_reason() {
        let why = "needs [provider.volumes] held in the configuration";
        let tally = tally(&[
            unplayed("p/t/b/1", why),
            unplayed("p/c/3", "has no vault"),
            unplayed("p/t/a", why),
            unplayed("p/t/b/2", why),
        ]);
        let expected =
            format!("not applicable\n  {why}\n    p/t/a  p/t/b (2)\n  has no vault\n    p/c/3\n");
        assert_eq!(plain(tally.not_applicable()), expected);
    }

    #[test]
    fn readings_are_shown_with_the_scenarios_that_saw_them() {
        let readings = vec!["client expects bare finish".to_owned(); 2];
        let open = vec![testing::id("stop.no-answer")];
        let chose = Outcome {
            readings,
            ..testing::outcome(Verdict::Pass)
        };
        let ambiguous = Outcome {
            requirements: open,
            ..chose.clone()
        };
        let seen = tally(&[
            named("p/stop/two-ways/one", ambiguous.clone()),
            named("p/stop/two-ways/two", ambiguous.clone()),
            named("p/stop/early", ambiguous),
            named("p/mounts/either", chose),
        ]);
        let seen = plain(seen.readings());
        let lines: Vec<&str> = seen.lines().skip(1).collect();
        let expected = [
            "  p/stop/early     client expects bare finish",
            "  p/stop/two-ways  client expects bare finish  2×",
            "  1 scenario took one of several ways that are allowed",
        ];
        assert_eq!(lines, expected);
        assert_eq!(tally(&[testing::outcome(Verdict::Pass)]).readings(), None);
    }

    #[test]
    fn what_is_broken_most_often_comes_first() {
        let mut other = testing::failed();
        other.divergence.as_mut().expect("it has one").requirements =
            vec![testing::id("run.id-once")];
        let broken = plain(tally(&[other, testing::failed(), testing::failed()]).broken());
        let rows: Vec<Vec<&str>> = broken
            .lines()
            .skip(1)
            .map(|line| line.split_whitespace().take(2).collect())
            .collect();
        assert_eq!(rows, [["run.chunk.verbatim", "2×"], ["run.id-once", "1×"]]);
        assert_eq!(
            tally(&[testing::failed()]).broken(),
            None,
            "a single failure has just been read"
        );
    }

    #[test]
    fn only_a_long_run_tells_which_were_the_slowest() {
        let outcomes: Vec<Outcome> = (0..12)
            .map(|at| Outcome {
                duration: Duration::from_millis(at),
                ..named(&format!("p/t/{at}"), testing::outcome(Verdict::Pass))
            })
            .collect();
        let slowest = plain(tally(&outcomes).slowest());
        assert_eq!(slowest.lines().count(), 11);
        assert!(
            slowest
                .lines()
                .nth(1)
                .is_some_and(|line| line.ends_with("11.0 ms  p/t/11")),
            "{slowest}"
        );
        assert_eq!(tally(&outcomes[..3]).slowest(), None);
    }
}
