//! The built-in codec scenarios: what is written in them is what our own decoder says, and mistakes are told at their
//! place.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use diverge_protocol::rules::{Catalogue, Iut};
use diverge_protocol::scenario::codec::{CodecScenario, CodecSuite, Expected};
use diverge_protocol::scenario::{Mistake, Source};
use diverge_protocol::wire::surface::Surface;

fn built_in() -> Vec<CodecScenario> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/codec");
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .expect("the folder is there")
        .map(|entry| entry.expect("it is readable").path())
        .collect();
    paths.sort();
    let sources: Vec<_> = paths
        .iter()
        .map(|path| {
            Arc::new(Source {
                path: path.display().to_string(),
                text: std::fs::read_to_string(path).expect("it is text"),
            })
        })
        .collect();
    match CodecSuite::load(&sources) {
        Ok(suite) => suite.scenarios,
        Err(mistakes) => panic!("{}", told(&mistakes)),
    }
}

fn told(mistakes: &[Mistake]) -> String {
    let told = mistakes
        .iter()
        .map(|mistake| format!("{}: {}\n", mistake.at.display(), mistake.kind));
    told.collect()
}

#[test]
fn every_vector_is_what_its_scenario_says() {
    let unsound: Vec<_> = built_in().iter().flat_map(CodecScenario::unsound).collect();
    assert!(unsound.is_empty(), "{}", told(&unsound));
}

#[test]
fn there_are_more_than_six_hundred_vectors_over_all_surfaces() {
    let scenarios = built_in();
    let vectors: BTreeSet<_> = scenarios
        .iter()
        .flat_map(|scenario| &scenario.vectors)
        .map(|vector| vector.line())
        .collect();
    assert!(vectors.len() > 600, "{}", vectors.len());
    for surface in Surface::ALL {
        for kind in surface.kinds() {
            let accepted = scenarios.iter().flat_map(|it| &it.vectors).any(|vector| {
                vector.surface == *surface && vector.expected == Expected::Accept(kind)
            });
            assert!(accepted, "no {surface} is a {kind}");
        }
    }
}

#[test]
fn every_scenario_accepts_something_and_rejects_something() {
    for scenario in built_in() {
        let expected =
            |it: fn(&Expected) -> bool| scenario.vectors.iter().any(|vector| it(&vector.expected));
        assert!(
            expected(|it| matches!(it, Expected::Accept(_))),
            "{}",
            scenario.id
        );
        assert!(
            expected(|it| matches!(it, Expected::Reject(_))),
            "{}",
            scenario.id
        );
    }
}

#[test]
fn every_requirement_of_a_codec_is_tested() {
    let scenarios = built_in();
    for requirement in Catalogue::get().requirements() {
        if requirement.iut.contains(&Iut::Codec)
            && !requirement.id.as_str().starts_with("codec.answers.")
        {
            let tested = scenarios.iter().any(|it| it.requirement == requirement.id);
            assert!(tested, "{}", requirement.id);
        }
    }
}

/// The mistakes in one scenario's text.
fn mistakes_in(scenario: &str) -> String {
    let text = format!("iut: codec\nscenarios:\n  - id: codec/a/b\n    title: T\n{scenario}");
    let path = "mine.yaml".to_owned();
    match CodecSuite::load(&[Arc::new(Source { path, text })]) {
        Ok(suite) => told(
            &suite
                .scenarios
                .iter()
                .flat_map(CodecScenario::unsound)
                .collect::<Vec<_>>(),
        ),
        Err(mistakes) => told(&mistakes),
    }
}

const GOOD: &str = "    requirement: codec.object.required\n    frame: run-response\n    kind: id\n    \
    payload: '0 {\"id\":\"c\"}'\n    broken: drop /id\n    rule: member.missing\n";

#[test]
fn a_mistake_is_told_at_its_place_with_what_is_expected() {
    assert_eq!(mistakes_in(GOOD), "");
    for (old, new, told) in [
        (
            "codec.object.required",
            "codec.object.requird",
            "mine.yaml:5:18: no requirement is called `codec.object.requird`; did you mean `codec.object.required`?",
        ),
        (
            "run-response",
            "run-respons",
            "mine.yaml:6:12: `frame` knows no `run-respons`; did you mean `run-response`?",
        ),
        (
            "kind: id",
            "kind: ids",
            "mine.yaml:7:11: `kind` knows no `ids`; ",
        ),
        (
            "'0 {\"id\":\"c\"}'",
            "'{\"id\":\"c\"}'",
            "mine.yaml:8:14: `payload`: a run-response is written as its first byte",
        ),
        (
            "drop /id",
            "drop /name",
            "mine.yaml:9:13: `broken`: there is nothing at `/name`",
        ),
        (
            "drop /id",
            "lose /id",
            "mine.yaml:9:13: `broken`: `lose` is no mutation; there are drop, ",
        ),
        (
            "drop /id",
            "set /id \"c\"",
            "mine.yaml:9:13: `broken`: the change leaves a payload that stands here already",
        ),
        (
            "member.missing",
            "member.mising",
            "mine.yaml:10:11: `rule` knows no `member.mising`; did you mean `member.missing`?",
        ),
        (
            "    broken: drop /id\n",
            "",
            "mine.yaml:3:5: the scenario lacks `broken`",
        ),
        (
            "    broken: drop /id\n",
            "    brocken: drop /id\n",
            "mine.yaml:9:5: a codec scenario has no `brocken`; did you mean `broken`?",
        ),
        (
            "drop /id",
            "set /id 1",
            "mine.yaml:3:5: this malformed probe proves nothing: with `set /id 1`, which must be rejected by member.missing, breaks string.expected",
        ),
        (
            "drop /id",
            "insert {\"a\":1}",
            "mine.yaml:3:5: this malformed probe proves nothing: with `insert {\"a\":1}`, which must be rejected by member.missing, is a well-formed id",
        ),
    ] {
        let found = mistakes_in(&GOOD.replace(old, new));
        assert!(found.contains(told), "`{told}` in\n{found}");
    }
    let case = "    cases:\n      one: drop /id\n      two: [drop /id]\n";
    let found = mistakes_in(&GOOD.replace("    broken: drop /id\n", case));
    assert!(
        found.contains("mine.yaml:11:12: a case is a list; expected a mapping"),
        "{found}"
    );
}
