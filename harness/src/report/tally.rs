//! What a run comes to: the sections that stand at the end of a report.

use std::collections::BTreeMap;
use std::time::Duration;

use diverge_protocol::rules::RequirementId;

use super::failure::is_provisional;
use super::mask::Mask;
use super::style::{self, QUIET, STRONG, WIDTH, paint, wrap};
use crate::verdict::{Outcome, Summary, Verdict};

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
            paint(QUIET, format!("provisional: {verdicts} {verb} on numbers or words that this revision's pages do not state"))
                + "\n"
        })
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
