//! The responses of a run.

use super::talk::*;

const OTHER_ID: &str = r#"{"id":"a3c0e1d7-1f2b-4c44-8f0e-9b7a6c5d4e3f"}"#;

#[test]
fn a_payload_that_means_nothing() {
    let mut talk = Talk::running();
    talk.gets(10, "{}");
    talk.provider_sent(crate::wire::FrameType::Response, (RUN, 0), "");
    talk.breaks(&["run.payload-known"; 2]);
}

#[test]
fn unreadable_requests_are_answered() {
    let json = |text: &str| word(0, text);
    let full = String::from_utf8(request(ARGUMENTS)[1..].to_vec()).expect("text");
    let mode = |mode: &str| {
        let mount = format!(
            r#"{{"volume_name":"v","volume_relative_path":[],"mode":{mode},"container_path":["a"]}}"#
        );
        format!("\"disk\":1,\"volume_mounts\":[{mount}]")
    };
    let cases = [
        (vec![], "request.answered-bare"),
        (vec![250], "request.answered-bare"),
        (json("{"), "request.answered-bare"),
        (json("[]"), "request.answered-bare"),
        (
            json(&full.replace("\"disk\":1,", "")),
            "request.missing-member",
        ),
        (
            json(&full.replace("\"disk\":1", "\"disk\":-1")),
            "request.wrong-type",
        ),
        (
            json(&full.replace("\"disk\":1", "\"disk\":1.5")),
            "request.wrong-type",
        ),
        (
            json(&full.replace("\"disk\":1", "\"disk\":1e20")),
            "request.wrong-type",
        ),
        (
            json(&full.replace("\"disk\":1", "\"disk\":1,\"disk\":1")),
            "request.repeated-member",
        ),
        (json(&(full.clone() + "x")), "request.trailing-bytes"),
        (
            json(&full.replace("\"image\":{", "\"image\":[\"a\"],\"more\":{")),
            "request.answered-bare",
        ),
        (
            json(&full.replace("\"disk\":1", &mode("{\"persistent\":null}"))),
            "request.answered-bare",
        ),
        (
            json(&full.replace("\"disk\":1", &mode("\"rw\""))),
            "request.wrong-type",
        ),
    ];
    for (payload, rule) in cases {
        for answer in [word(0, ID), word(6, "null"), word(1, r#"{"name":"v"}"#)] {
            let mut talk = Talk::new();
            talk.request(RUN, &payload);
            talk.provider_sent(crate::wire::FrameType::Response, (RUN, 0), answer);
            talk.gets_finish();
            talk.breaks(&[rule]);
        }
        let mut talk = Talk::new();
        talk.request(RUN, &payload);
        talk.gets_finish();
        talk.breaks_nothing();
    }
}

#[test]
fn other_endpoints_are_scopes_only() {
    let mut talk = Talk::new();
    talk.request(RUN, &[15]);
    talk.asks(0, [STOP]);
    talk.asks(1, [77]);
    talk.provider_sent(crate::wire::FrameType::ChannelRequest, (RUN, 0), [0]);
    talk.provider_sent(crate::wire::FrameType::Response, (RUN, 0), "2.3.0");
    talk.answered(0, [9]);
    talk.ended(0);
    talk.gets_finish();
    talk.breaks_nothing();

    let mut talk = Talk::new();
    talk.request(RUN, &[15]);
    talk.answered(0, [9]);
    talk.gets_finish();
    talk.gets_finish();
    talk.breaks(&["channel.answer-without-request", "scope.finished-once"]);
}

#[test]
fn requests_that_may_be_read_or_not() {
    let full = String::from_utf8(request(ARGUMENTS)[1..].to_vec()).expect("text");
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let arguments =
        [r#""\ud800""#, "1e999", &deep].map(|arguments| full.replace(ARGUMENTS, arguments));
    let sizes = ["1.0", "1e3"].map(|size| full.replace("\"disk\":1", &format!("\"disk\":{size}")));
    for json in arguments
        .into_iter()
        .chain(sizes)
        .chain([format!("\u{feff}{full}")])
    {
        let mut talk = Talk::new();
        talk.request(RUN, &word(0, json));
        talk.gets(6, "null");
        talk.gets_finish();
        talk.breaks_nothing();
    }
}

#[test]
fn an_error_that_is_not_one_value() {
    let mut talk = Talk::new();
    talk.request(RUN, &request(ARGUMENTS));
    talk.gets(6, "{} {}");
    talk.gets_finish();
    talk.breaks(&["refusal.error-one-json-value"]);
}

#[test]
fn refusals_that_do_not_read() {
    for (tag, body) in [
        (1, "{}"),
        (2, "[\"v\"]"),
        (5, r#"{"name":"v"}"#),
        (5, r#"{"name":"v","mode":"rw"}"#),
    ] {
        let mut talk = Talk::new();
        talk.request(RUN, &request(ARGUMENTS));
        talk.gets(tag, body);
        talk.gets_finish();
        talk.breaks(&["refusal.well-formed"]);
    }
}

#[test]
fn a_refusal_with_more_members() {
    let mut talk = Talk::new();
    talk.request(RUN, &request(ARGUMENTS));
    talk.gets(3, r#"{"name":"v","why":1}"#);
    talk.gets_finish();
    let violations = talk.violations();
    assert_eq!(violations.len(), 1);
    assert_eq!(violations[0].requirement.as_str(), "refusal.members-strict");
}

#[test]
fn something_after_a_refusal() {
    for (tag, body) in [(6, "1"), (4, r#"{"name":"v"}"#), (0, OTHER_ID), (8, "")] {
        let mut talk = Talk::new();
        talk.request(RUN, &request(ARGUMENTS));
        talk.gets(4, r#"{"name":"v"}"#);
        talk.gets(tag, body);
        talk.gets_finish();
        talk.breaks(&["refusal.then-finish"]);
    }
}

#[test]
fn a_refused_run_is_deployed() {
    let mut talk = Talk::begins();
    talk.gets(1, r#"{"name":"v"}"#);
    talk.gets_finish();
    talk.breaks(&["refusal.nothing-deployed"]);

    let mut talk = Talk::new();
    talk.request(RUN, &request(ARGUMENTS));
    talk.gets(1, r#"{"name":"v"}"#);
    talk.proxy_link(Some(run()));
    talk.begin(&begin_request(ARGUMENTS));
    talk.gets_finish();
    talk.breaks(&["refusal.nothing-deployed"]);
}

#[test]
fn a_refused_run_is_deployed_after_its_finish() {
    let mut talk = Talk::new();
    talk.request(RUN, &request(ARGUMENTS));
    talk.gets(1, r#"{"name":"v"}"#);
    talk.gets_finish();
    talk.proxy_link(Some(run()));
    talk.begin(&begin_request(ARGUMENTS));
    talk.breaks(&["refusal.nothing-deployed"]);
}

#[test]
fn something_else_first() {
    let mut talk = Talk::begins();
    talk.proxy_says(BEGUN, "[]");
    talk.gets(7, "{}");
    talk.gets(9, "{}");
    talk.breaks(&["run.first-response"; 2]);
}

#[test]
fn an_active_before_the_id() {
    let mut talk = Talk::begins();
    talk.gets(8, "");
    talk.breaks(&["run.active.not-before-id", "run.first-response"]);
}

#[test]
fn a_refusal_after_the_id() {
    let mut talk = Talk::running();
    talk.gets(1, r#"{"name":"v"}"#);
    talk.breaks(&["run.first-response"]);
}

#[test]
fn the_id_before_begun() {
    let mut talk = Talk::begins();
    talk.gets(0, ID);
    talk.breaks(&["run.silent-before-id"]);

    let mut talk = Talk::new();
    talk.request(RUN, &request(ARGUMENTS));
    talk.gets(0, ID);
    talk.breaks(&["run.silent-before-id"]);
}

#[test]
fn an_id_that_does_not_read() {
    for body in [
        "",
        "\"x\"",
        "[\"x\"]",
        "{}",
        r#"{"id":7}"#,
        r#"{"id":"x"}{}"#,
    ] {
        let mut talk = Talk::begins();
        talk.proxy_says(BEGUN, "[]");
        talk.gets(0, body);
        talk.breaks(&["run.id-well-formed"]);
    }
}

#[test]
fn two_ids() {
    let mut talk = Talk::running();
    talk.gets(0, OTHER_ID);
    talk.breaks(&["run.id-once"]);
}

/// Runs one after another, with these ids.
fn ids(ids: &[&str], arguments: &str) -> Talk {
    let mut talk = Talk::new();
    for (generation, id) in (0..).zip(ids) {
        talk.request(RUN, &request(arguments));
        talk.proxy_link(Some(crate::transcript::RunRef {
            generation,
            ..run()
        }));
        talk.begin(&begin_request(arguments));
        talk.proxy_says(BEGUN, "[]");
        talk.gets(0, format!(r#"{{"id":"{id}","more":0}}"#));
        talk.stops();
    }
    talk
}

#[test]
fn one_id_for_two_runs() {
    ids(&["Zm9vYmFyYmF6cXV4", "Zm9vYmFyYmF6cXV4"], "1").breaks(&["run.id-unique"]);
}

#[test]
fn counted_ids() {
    ids(&["run-9", "run-10", "run-11"], "1").breaks(&["run.id-unguessable"]);
    ids(&["run-9", "run-10"], "1").breaks_nothing();
    ids(
        &["q83vEjRWeJCrze8S", "AAECAwQFBgcICQoL", "Zm9vYmFyYmF6cXV4"],
        "1",
    )
    .breaks_nothing();
}

#[test]
fn an_id_made_of_the_request() {
    let rule = &["run.id-not-derived"];
    ids(&["x-00112233445566778899aabbccddeeff"], "1").breaks(rule);
    ids(&["00112233445566778899"], "1").breaks(rule);
    ids(&["of-agent-seven"], r#"{"name":["agent-seven"]}"#).breaks(rule);
    ids(&["of-agent"], r#"{"name":["agent"]}"#).breaks_nothing();
}

#[test]
fn an_active_with_bytes() {
    let mut talk = Talk::running();
    talk.proxy_says(PROXY_ACTIVE, "more");
    talk.gets(8, "more");
    talk.breaks(&["run.active.bare"]);
}

#[test]
fn an_active_in_a_loop_and_an_inactive_outside() {
    let mut talk = Talk::looping();
    talk.proxy_says(PROXY_ACTIVE, "");
    talk.gets(8, "");
    talk.breaks(&["run.active.not-in-open-loop"]);

    let mut talk = Talk::running();
    talk.proxy_says(PROXY_INACTIVE, "{}");
    talk.gets(9, "{}");
    talk.breaks(&["run.inactive.only-in-open-loop"]);
}

#[test]
fn a_chunk_outside_a_loop() {
    let mut talk = Talk::running();
    talk.proxy_says(PROXY_ACTIVE, "");
    talk.proxy_says(PROXY_CHUNK, "{}");
    talk.gets(7, "{}");
    talk.breaks(&["run.active.relayed", "run.chunk.not-outside-loop"]);
}

#[test]
fn after_the_relayed_error() {
    for (tag, body, rule) in [
        (6, "{}", "run.error.once"),
        (9, "{}", "run.error.no-inactive"),
        (7, "{}", "run.error.then-finish"),
        (0, OTHER_ID, "run.error.then-finish"),
    ] {
        let mut talk = Talk::looping();
        talk.proxy_says(PROXY_ERROR, "{}");
        talk.proxy_finishes();
        talk.gets(6, "{}");
        talk.gets(tag, body);
        talk.gets_finish();
        talk.breaks(&[rule]);
    }
}

#[test]
fn a_finish_without_a_cause() {
    let mut talk = Talk::running();
    talk.gets_finish();
    talk.breaks(&["run.quiet-allowed"]);
}

#[test]
fn a_finish_for_a_failure_on_a_channel() {
    let mut talk = Talk::running();
    talk.asks(0, [200]);
    talk.ended(0);
    talk.gets_finish();
    talk.breaks(&["run.survives-channel-failures"]);
}
