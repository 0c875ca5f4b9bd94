//! Mistakes in scenario files: each is reported at its line and column, with what was expected, and all at once.

use std::sync::Arc;

use diverge_protocol::scenario::{Mistake, Source, Suite, lint};

fn load(text: &str) -> Result<Suite, Vec<Mistake>> {
    let source = Source {
        path: "mine.yaml".into(),
        text: text.into(),
    };
    Suite::load(&[Arc::new(source)])
}

/// `line:column message` of every mistake.
fn mistakes(text: &str) -> Vec<String> {
    let mistakes = load(text).expect_err("the file has mistakes");
    mistakes
        .iter()
        .map(|mistake| {
            format!(
                "{}:{} {}",
                mistake.at.place.line, mistake.at.place.column, mistake.kind
            )
        })
        .collect()
}

/// A file with one scenario of these steps, which start at line 7, column 9.
fn steps(steps: &str) -> String {
    let mut text = String::from(
        "iut: provider\nscenarios:\n  - id: provider/mine/one\n    title: t\n    requirements: [run.started]\n    steps:\n",
    );
    for line in steps.lines() {
        text.push_str("      ");
        text.push_str(line);
        text.push('\n');
    }
    text
}

#[track_caller]
fn one_mistake(text: &str, at: &str, says: &str) {
    let mistakes = mistakes(text);
    assert_eq!(mistakes.len(), 1, "{mistakes:#?}");
    assert!(
        mistakes[0].starts_with(at),
        "{} should stand at {at}",
        mistakes[0]
    );
    assert!(
        mistakes[0].contains(says),
        "{} should say {says}",
        mistakes[0]
    );
}

const EXPECTS: &str = "- client connects: authorized\n- client sends: run\n- client expects: id\n";

#[test]
fn a_sound_file_loads() {
    let suite = load(&steps(EXPECTS)).expect("it is sound");
    assert_eq!(suite.scenarios.len(), 1);
    assert_eq!(suite.scenarios[0].id, "provider/mine/one");
    assert_eq!(suite.scenarios[0].steps.len(), 3);
}

#[test]
fn text_that_is_no_yaml() {
    let mistakes = mistakes("iut: [provider\n");
    assert_eq!(mistakes.len(), 1);
    assert!(mistakes[0].contains("not YAML"), "{}", mistakes[0]);
}

#[test]
fn an_empty_file() {
    one_mistake("", "1:1", "empty");
}

#[test]
fn an_unknown_step() {
    one_mistake(
        &steps(&format!("{EXPECTS}- server sends: id\n")),
        "10:9",
        "unknown step",
    );
}

#[test]
fn an_unknown_message() {
    one_mistake(
        &steps(&format!("{EXPECTS}- client sends: enqeue\n")),
        "10:23",
        "did you mean `enqueue`?",
    );
}

#[test]
fn an_unknown_detail() {
    one_mistake(
        &steps(&format!("{EXPECTS}- proxy sends: chunk\n  jsn: '{{}}'\n")),
        "11:9",
        "has no `jsn`",
    );
}

#[test]
fn a_detail_that_another_step_has() {
    one_mistake(
        &steps(&format!("{EXPECTS}- client sends: stop\n  capture: x\n")),
        "11:9",
        "has no `capture`",
    );
}

#[test]
fn a_detail_twice() {
    one_mistake(
        &steps(&format!(
            "{EXPECTS}- proxy sends: chunk\n  json: '1'\n  json: '2'\n"
        )),
        "12:9",
        "`json` stands here twice",
    );
}

#[test]
fn json_that_does_not_parse() {
    one_mistake(
        &steps(&format!(
            "{EXPECTS}- proxy sends: error\n  json: '{{\"a\":}}'\n"
        )),
        "11:15",
        "is no JSON",
    );
}

#[test]
fn hex_of_half_a_byte() {
    one_mistake(
        &steps(&format!("{EXPECTS}- client sends: bytes\n  hex: 'abc'\n")),
        "11:14",
        "even number",
    );
}

#[test]
fn a_number_that_does_not_fit() {
    one_mistake(
        &steps(&format!(
            "{EXPECTS}- client sends: stop\n  number: 4294967296\n"
        )),
        "11:17",
        "no number that fits",
    );
}

#[test]
fn a_mutation_that_is_none() {
    let mistakes = mistakes(&steps(&format!(
        "{EXPECTS}- client sends: run\n  mutate: explode /image\n"
    )));
    assert_eq!(mistakes.len(), 1, "{mistakes:?}");
    assert!(mistakes[0].starts_with("11:17"), "{}", mistakes[0]);
}

#[test]
fn a_capture_that_is_used_before_it_is_made() {
    one_mistake(
        &steps(
            "- client connects: authorized\n- client sends: run\n  arguments: '{\"t\":\"${token}\",\"id\":\"${first}\"}'\n- client expects: id\n  capture: first\n",
        ),
        "8:9",
        "${first} is used before",
    );
}

#[test]
fn an_unknown_requirement() {
    one_mistake(
        &steps(&format!(
            "{EXPECTS}- client expects: active\n  checks: run.active.relaied\n"
        )),
        "11:17",
        "did you mean `run.active.relayed`?",
    );
}

#[test]
fn an_unknown_fragment() {
    one_mistake(
        &steps(&format!("{EXPECTS}- play: nowhere\n")),
        "10:15",
        "no fragment is called `nowhere`",
    );
}

#[test]
fn something_sent_any_number_of_times() {
    one_mistake(
        &steps(&format!(
            "{EXPECTS}- any number of:\n    - client sends: stop\n"
        )),
        "11:11",
        "only expectations",
    );
}

#[test]
fn a_fragment_that_plays_itself() {
    let text = format!(
        "{}fragments:\n  round:\n    - play: round\n",
        steps(&format!("{EXPECTS}- play: round\n"))
    );
    let mistakes = mistakes(&text);
    assert!(
        mistakes
            .iter()
            .any(|mistake| mistake.contains("plays itself")),
        "{mistakes:?}"
    );
}

#[test]
fn a_scenario_that_expects_nothing() {
    one_mistake(
        &steps("- client connects: authorized\n- client sends: run\n"),
        "3:5",
        "expects nothing",
    );
}

#[test]
fn an_id_that_is_there_already() {
    let one = steps(EXPECTS);
    let again = one.split_once("scenarios:\n").expect("it has scenarios").1;
    one_mistake(
        &format!("{one}{again}"),
        "10:9",
        "stands at mine.yaml:3:9 already",
    );
}

#[test]
fn an_id_of_another_form() {
    let text = steps(EXPECTS).replace("provider/mine/one", "Mine");
    one_mistake(&text, "3:9", "`provider/topic/name`");
}

#[test]
fn a_scenario_without_a_title() {
    let text = steps(EXPECTS).replace("    title: t\n", "");
    one_mistake(&text, "3:5", "lacks `title`");
}

#[test]
fn a_case_that_fills_in_nothing() {
    let text = steps(EXPECTS).replace("    steps:\n", "    cases: {odd: {value: x}}\n    steps:\n");
    let mistakes = mistakes(&text);
    assert!(
        mistakes[0].contains("nothing in the steps uses ${value}"),
        "{mistakes:?}"
    );
}

#[test]
fn arguments_without_a_token_need_an_address_alone() {
    let text = steps(
        "- client connects: authorized\n- client sends: run\n  arguments: 'null'\n- client expects: id\n",
    );
    one_mistake(&text, "3:5", "exclusive: true");
    load(&text.replace("    steps:\n", "    exclusive: true\n    steps:\n"))
        .expect("it is sound now");
}

#[test]
fn every_mistake_is_reported_in_the_order_of_the_file() {
    let text = steps(&format!(
        "{EXPECTS}- client sends: nonsense\n- proxy expects: rubbish\n- what: ever\n"
    ));
    let mistakes = mistakes(&text);
    let places: Vec<_> = mistakes
        .iter()
        .map(|mistake| mistake.split(' ').next().unwrap_or_default())
        .collect();
    assert_eq!(places, ["10:23", "11:24", "12:9"], "{mistakes:?}");
}

#[test]
fn a_malformed_probe_must_be_one_mutation_from_a_readable_message() {
    let probe = |mutate: &str| {
        let text = steps(&format!(
            "- client connects: authorized\n- client sends: run\n  mutate: {mutate}\n- client expects: bare finish\n"
        ));
        let suite = load(&text).expect("it loads");
        lint::unsound_probes(&suite.scenarios[0]).len()
    };
    assert_eq!(probe("drop /image"), 0);
    assert_eq!(probe("insert {\"extra\":1}"), 1);
}

#[test]
fn a_whole_request_names_the_configured_image() {
    let request = r#"{"image":${json:image},"memory":1,"disk":1,"arguments":"${token}"}"#;
    let probe = |json: &str| {
        let text = steps(&format!(
            "- client connects: authorized\n- client sends: run\n  json: '{json}'\n  mutate: drop /disk\n- client expects: bare finish\n"
        ));
        load(&text).map(|suite| lint::unsound_probes(&suite.scenarios[0]).len())
    };
    assert_eq!(probe(request).expect("it loads"), 0);
    assert!(probe(&request.replace("json:image", "json:volume")).is_err());
}

#[test]
fn a_scenario_may_be_of_some_revisions_only_and_names_them_rightly() {
    let of = |since: &str| {
        steps(EXPECTS).replace("    steps:", &format!("    since: {since}\n    steps:"))
    };
    let suite = load(&of("scope")).unwrap_or_else(|mistakes| panic!("{mistakes:?}"));
    assert_eq!(suite.scenarios[0].span.since.as_deref(), Some("scope"));
    assert_eq!(suite.scenarios[0].span.until, None);
    one_mistake(&of("scpoe"), "6:12", "`path` or `scope`");
}
