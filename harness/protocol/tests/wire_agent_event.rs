//! Claims about AgentEvents.

use diverge_protocol::wire::Rule;
use diverge_protocol::wire::agent_event::{AgentEvent, EventKind, EventRevision, judge};
use diverge_protocol::wire::mutate::mutate;

const EVENTS: &[(EventKind, &str)] = &[
    (
        EventKind::AssistantText,
        r#"{"type":"assistant_text","delta":""}"#,
    ),
    (
        EventKind::ToolUse,
        r#"{"type":"tool_use","toolUseId":"1","tool":"t","input":{"n": 1.0}}"#,
    ),
    (
        EventKind::ToolResult,
        r#"{"type":"tool_result","toolUseId":"1","output":null,"isError":true}"#,
    ),
    (
        EventKind::Cost,
        r#"{"type":"cost","costUsd":0.25,"tokens":{"input":1,"output":2,"cacheCreation":3,"cacheRead":4}}"#,
    ),
    (
        EventKind::Done,
        r#"{"type":"done","response":"r","transcript":[{"role":"tool_result","content":[ ],"timestampMs":-1},{"role":"user","content":"","timestampMs":9223372036854775807}]}"#,
    ),
    (EventKind::Error, r#"{"type":"error","message":"m"}"#),
    (
        EventKind::CompactionBoundary,
        r#"{"type":"compaction_boundary","trigger":"manual","preTokens":3,"postTokens":1,"cumulativeDroppedTokens":2,"durationMs":0}"#,
    ),
];

fn fault(json: &str) -> (Rule, String) {
    let fault = judge(EventRevision::Compaction, json.as_bytes()).expect_err(json);
    (fault.rule, fault.pointer)
}

fn broken(json: &str, line: &str) -> String {
    mutate(json, &line.parse().expect(line)).expect(line)
}

#[test]
fn every_event_goes_both_ways() {
    for (kind, json) in EVENTS {
        let event = AgentEvent::decode(EventRevision::Compaction, json.as_bytes()).expect(json);
        assert_eq!(event.kind(), *kind);
        assert_eq!(String::from_utf8(event.encode()).expect("UTF-8"), *json);
        let verdict = judge(EventRevision::Document, json.as_bytes());
        match kind {
            EventKind::CompactionBoundary => assert!(verdict.is_err()),
            _ => assert_eq!(verdict, Ok(*kind)),
        }
    }
}

#[test]
fn what_may_be_absent_may_be_null_and_nothing_else_may() {
    const MAY: &[&str] = &[
        "/isError",
        "/tokens/input",
        "/tokens/output",
        "/tokens/cacheCreation",
        "/tokens/cacheRead",
    ];
    for (kind, json) in EVENTS {
        let value: serde_json::Value = serde_json::from_str(json).expect(json);
        let mut places: Vec<String> = value
            .as_object()
            .expect(json)
            .keys()
            .map(|name| format!("/{name}"))
            .collect();
        if *kind == EventKind::Cost {
            places.extend(MAY[1..].iter().map(|place| (*place).to_owned()));
        }
        for place in places {
            let dropped = broken(json, &format!("drop {place}"));
            if MAY.contains(&place.as_str()) {
                let null = broken(json, &format!("null-for {place}"));
                for json in [dropped, null] {
                    AgentEvent::decode(EventRevision::Document, json.as_bytes()).expect(&json);
                }
            } else {
                assert_eq!(fault(&dropped), (Rule::MemberMissing, place.clone()));
                let any = ["/input", "/output"].contains(&place.as_str());
                let null = broken(json, &format!("null-for {place}"));
                assert_eq!(
                    judge(EventRevision::Compaction, null.as_bytes()).is_ok(),
                    any,
                    "{null}"
                );
            }
            assert_eq!(
                fault(&broken(json, &format!("repeat {place}"))).0,
                Rule::MemberRepeated
            );
        }
    }
}

#[test]
fn breaks_are_told_at_their_place() {
    let of = |kind| {
        EVENTS
            .iter()
            .find(|(listed, _)| *listed == kind)
            .expect("listed")
            .1
    };
    for (kind, line, rule, pointer) in [
        (
            EventKind::Cost,
            r#"set /costUsd "1""#,
            Rule::NumberExpected,
            "/costUsd",
        ),
        (
            EventKind::Cost,
            "set /tokens/input -1",
            Rule::UnsignedExpected,
            "/tokens/input",
        ),
        (
            EventKind::Cost,
            "array-for /tokens",
            Rule::ObjectExpected,
            "/tokens",
        ),
        (
            EventKind::Done,
            "object-for /transcript/0/role",
            Rule::StringExpected,
            "/transcript/0/role",
        ),
        (
            EventKind::Done,
            r#"set /transcript/1/role "system""#,
            Rule::ConstantExpected,
            "/transcript/1/role",
        ),
        (
            EventKind::Done,
            "set /transcript/1/timestampMs 9223372036854775808",
            Rule::IntegerExpected,
            "/transcript/1/timestampMs",
        ),
        (
            EventKind::Done,
            "set /transcript/1/timestampMs 1.5",
            Rule::IntegerExpected,
            "/transcript/1/timestampMs",
        ),
        (
            EventKind::Done,
            "array-for /transcript/1",
            Rule::ObjectExpected,
            "/transcript/1",
        ),
        (EventKind::Error, "array-for", Rule::ObjectExpected, ""),
        (
            EventKind::ToolResult,
            "set /isError 1",
            Rule::BoolExpected,
            "/isError",
        ),
        (
            EventKind::CompactionBoundary,
            r#"set /trigger "other""#,
            Rule::ConstantExpected,
            "/trigger",
        ),
    ] {
        assert_eq!(
            fault(&broken(of(kind), line)),
            (rule, pointer.to_owned()),
            "{line}"
        );
    }
}

#[test]
fn custom_is_told_to_be_reserved() {
    let fault = judge(EventRevision::Document, br#"{"type":"custom"}"#).expect_err("reserved");
    assert_eq!(fault.rule, Rule::ConstantExpected);
    assert!(
        fault.to_string().contains("reserved and not shipped"),
        "{fault}"
    );
}
