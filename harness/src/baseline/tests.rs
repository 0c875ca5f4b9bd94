use std::collections::HashSet;

use diverge_protocol::transcript::Transcript;

use super::*;
use crate::report::testing;
use crate::verdict::Divergence;

const FAILS: &str = "provider/streams/word-by-word";
const OTHER: &str = "provider/streams/one-loop";
const BLAMED: &str = "run.chunk.verbatim";

fn outcome(id: &str, verdict: Verdict) -> Outcome {
    let broken = matches!(verdict, Verdict::Fail | Verdict::Warn);
    let blamed = RequirementId::new(BLAMED).expect("the catalogue has it");
    Outcome {
        id: id.to_owned(),
        title: "An example".to_owned(),
        topic: "streams".to_owned(),
        verdict,
        requirements: vec![blamed],
        duration: std::time::Duration::ZERO,
        message: (verdict != Verdict::Pass).then(|| "expected a; got hunter2".to_owned()),
        divergence: broken.then(|| Divergence {
            step: None,
            allowed: "a".to_owned(),
            received: "hunter2".to_owned(),
            pointer: None,
            requirements: vec![blamed],
            by_rule: false,
            seq: None,
        }),
        readings: Vec::new(),
        evaluated: 1,
        transcript: Transcript::default(),
        script: Vec::new(),
        expectation: None,
    }
}

fn heading() -> Heading {
    Heading {
        iut: Iut::Provider,
        revision: Some(Revision::Scope),
        ..testing::heading()
    }
}

fn baseline(text: &str) -> Baseline {
    let mut baseline = Baseline::of(Path::new("baseline.toml"), text.to_owned())
        .unwrap_or_else(|error| panic!("{error}"));
    baseline.today = jiff::civil::date(2027, 6, 15);
    baseline
}

fn entry(members: &str) -> String {
    format!("[[expected]]\nreason = \"known\"\n{members}\n")
}

fn of_scenario(id: &str) -> String {
    entry(&format!("scenario = \"{id}\""))
}

/// The verdicts of a whole run in which these scenarios got these, and what is found.
fn judged(text: &str, results: &[(&str, Verdict)]) -> (Vec<Verdict>, Vec<(Trouble, String)>) {
    let mut baseline = baseline(text);
    let ids: HashSet<String> = results.iter().map(|(id, _)| (*id).to_owned()).collect();
    let mut verdicts = Vec::new();
    for (id, verdict) in results {
        let mut outcome = outcome(id, *verdict);
        baseline.judge(&mut outcome, &heading());
        verdicts.push(outcome.verdict);
    }
    let selection = Selection {
        iuts: &[Iut::Provider],
        ids: &ids,
        whole: true,
        ended: true,
    };
    let reckoning = baseline.close(selection).expect("nothing is written");
    let found = reckoning.findings.into_iter();
    let found = found.map(|finding| (finding.trouble, finding.message));
    (verdicts, found.collect())
}

fn troubles(text: &str, results: &[(&str, Verdict)]) -> Vec<Trouble> {
    let (_, found) = judged(text, results);
    found.into_iter().map(|(trouble, _)| trouble).collect()
}

#[test]
fn a_failure_is_expected_by_its_scenario_its_requirement_or_both() {
    let requirement = entry(&format!("requirement = \"{BLAMED}\""));
    let both = entry(&format!(
        "scenario = \"{FAILS}\"\nrequirement = \"{BLAMED}\""
    ));
    for text in [of_scenario(FAILS), requirement, both] {
        for verdict in [Verdict::Fail, Verdict::Warn] {
            let judged = judged(&text, &[(FAILS, verdict)]);
            assert_eq!(judged, (vec![Verdict::ExpectedFail], vec![]), "{text}");
        }
    }
}

#[test]
fn a_failure_of_another_requirement_is_not_expected() {
    let text = entry(&format!(
        "scenario = \"{FAILS}\"\nrequirement = \"run.id-once\""
    ));
    let (verdicts, found) = judged(&text, &[(FAILS, Verdict::Fail)]);
    assert_eq!(verdicts, [Verdict::Fail]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].0, Trouble::Unmatched);
    assert!(found[0].1.contains("otherwise"), "{}", found[0].1);
}

#[test]
fn a_message_is_compared_as_it_is_shown() {
    let part = |part: &str| entry(&format!("scenario = \"{FAILS}\"\nmessage = \"{part}\""));
    let verdict = |text: &str| judged(text, &[(FAILS, Verdict::Fail)]).0[0];
    assert_eq!(
        verdict(&part("got ‹secret, 7 bytes›")),
        Verdict::ExpectedFail
    );
    assert_eq!(verdict(&part("got hunter2")), Verdict::Fail);
}

#[test]
fn an_expected_failure_that_passes_is_stale() {
    let (verdicts, found) = judged(&of_scenario(FAILS), &[(FAILS, Verdict::Pass)]);
    assert_eq!(verdicts, [Verdict::Stale]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].0, Trouble::Stale);
}

#[test]
fn a_requirement_that_nothing_breaks_any_more_is_stale_when_everything_was_played() {
    let text = entry(&format!("requirement = \"{BLAMED}\""));
    assert_eq!(troubles(&text, &[(FAILS, Verdict::Pass)]), [Trouble::Stale]);
    let still = [(FAILS, Verdict::Pass), (OTHER, Verdict::Fail)];
    assert_eq!(troubles(&text, &still), []);
    for (whole, ended) in [(false, true), (true, false)] {
        let selection = Selection {
            iuts: &[Iut::Provider],
            ids: &HashSet::new(),
            whole,
            ended,
        };
        let reckoning = baseline(&text)
            .close(selection)
            .expect("nothing is written");
        assert_eq!(reckoning.findings, []);
    }
    let of_others = entry("requirement = \"events.cost.not-negative\"");
    let known = RequirementId::new("events.cost.not-negative").is_some();
    let expected: &[Trouble] = if known { &[] } else { &[Trouble::Unmatched] };
    assert_eq!(troubles(&of_others, &[(FAILS, Verdict::Pass)]), expected);
}

#[test]
fn an_entry_that_fits_nothing_says_why() {
    let results = [(FAILS, Verdict::NotApplicable)];
    let (verdicts, found) = judged(&of_scenario(FAILS), &results);
    assert_eq!(verdicts, [Verdict::NotApplicable]);
    assert!(found[0].1.contains("not applicable"), "{}", found[0].1);
    let misspelt = of_scenario("provider/streams/word-by-wrod");
    let (_, found) = judged(&misspelt, &[(FAILS, Verdict::Pass)]);
    assert_eq!(found[0].0, Trouble::Unmatched);
    assert!(
        found[0].1.contains(&format!("did you mean `{FAILS}`?")),
        "{}",
        found[0].1
    );
    let misspelt = entry("requirement = \"run.chunk.verbatin\"");
    let (_, found) = judged(&misspelt, &[(FAILS, Verdict::Pass)]);
    assert!(
        found[0].1.contains(&format!("did you mean `{BLAMED}`?")),
        "{}",
        found[0].1
    );
}

#[test]
fn an_entry_that_the_run_did_not_select_is_left_alone() {
    assert_eq!(troubles(&of_scenario(FAILS), &[(OTHER, Verdict::Pass)]), []);
}

#[test]
fn an_entry_past_its_date_still_expects_the_failure_and_is_told() {
    let until = |day: &str| entry(&format!("scenario = \"{FAILS}\"\nexpires = {day}"));
    let (verdicts, found) = judged(&until("2027-06-14"), &[(FAILS, Verdict::Fail)]);
    assert_eq!(verdicts, [Verdict::ExpectedFail]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].0, Trouble::Expired);
    assert_eq!(
        troubles(&until("2027-06-15"), &[(FAILS, Verdict::Fail)]),
        []
    );
}

#[test]
fn an_entry_may_be_of_one_revision_only() {
    let of = |revision: &str| {
        entry(&format!(
            "scenario = \"{FAILS}\"\nrevision = \"{revision}\""
        ))
    };
    let results = [(FAILS, Verdict::Fail)];
    assert_eq!(
        judged(&of("scope"), &results),
        (vec![Verdict::ExpectedFail], vec![])
    );
    let (verdicts, found) = judged(&of("path"), &results);
    assert_eq!(
        (verdicts[0], found[0].0),
        (Verdict::Fail, Trouble::Unmatched)
    );
}

#[test]
fn what_varies_is_never_expected() {
    let (verdicts, found) = judged(&of_scenario(FAILS), &[(FAILS, Verdict::Unstable)]);
    assert_eq!(verdicts, [Verdict::Unstable]);
    assert_eq!(found[0].0, Trouble::Unmatched);
}

#[test]
fn blessing_takes_in_what_fails_drops_what_passes_and_keeps_the_rest() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let path = folder.path().join("baseline.toml");
    let kept = format!("# why\n{}", of_scenario(FAILS));
    std::fs::write(&path, format!("{kept}\n{}", of_scenario(OTHER))).expect("it is written");
    let ids: HashSet<String> = [FAILS, OTHER, "provider/a/new", "provider/a/warns"]
        .map(str::to_owned)
        .into();
    let bless = |verdicts: [Verdict; 4], ended| {
        let mut baseline =
            Baseline::load_to_bless(&path, None, false).unwrap_or_else(|error| panic!("{error}"));
        let mut ids: Vec<_> = ids.iter().collect();
        ids.sort_by_key(|id| {
            [FAILS, OTHER, "provider/a/new"]
                .iter()
                .position(|it| it == id)
                .unwrap_or(3)
        });
        let judged = ids.iter().zip(verdicts).map(|(id, verdict)| {
            let mut outcome = outcome(id, verdict);
            baseline.judge(&mut outcome, &heading());
            outcome.verdict
        });
        let judged: Vec<Verdict> = judged.collect();
        let selection = Selection {
            iuts: &[Iut::Provider],
            ids: &self::HashSet::from_iter(ids.into_iter().cloned()),
            whole: true,
            ended,
        };
        (judged, baseline.close(selection).expect("it is written"))
    };
    use Verdict::{ExpectedFail, Fail, Pass, Warn};
    let before = std::fs::read_to_string(&path).expect("it is there");
    let (_, early) = bless([Fail, Pass, Fail, Warn], false);
    assert_eq!(early.blessed, None);
    assert_eq!(std::fs::read_to_string(&path).expect("it is there"), before);

    let (verdicts, reckoning) = bless([Fail, Pass, Fail, Warn], true);
    assert_eq!(verdicts, [ExpectedFail, Pass, ExpectedFail, Warn]);
    let blessed = Blessed {
        added: 1,
        removed: 1,
        kept: 1,
    };
    assert_eq!(reckoning.blessed, Some(blessed));
    assert_eq!((reckoning.findings.len(), reckoning.unsaid), (0, 1));
    let text = std::fs::read_to_string(&path).expect("it is there");
    assert!(text.starts_with(&kept) && !text.contains(OTHER), "{text}");

    let (verdicts, reckoning) = bless([Fail, Pass, Fail, Warn], true);
    assert_eq!(verdicts, [ExpectedFail, Pass, ExpectedFail, Warn]);
    let blessed = Blessed {
        added: 0,
        removed: 0,
        kept: 2,
    };
    assert_eq!(reckoning.blessed, Some(blessed));
    assert_eq!(std::fs::read_to_string(&path).expect("it is there"), text);
}

#[test]
fn a_baseline_that_is_not_there_is_told_how_to_be_had() {
    let error = Baseline::load(Path::new("no/such/baseline.toml")).expect_err("it is not there");
    assert!(error.to_string().contains("--bless"), "{error}");
    let empty = Baseline::load_to_bless(Path::new("no/such/baseline.toml"), Some("r"), false);
    assert!(empty.expect("it begins empty").entries.is_empty());
}
