//! Claims about the run response codec.

use diverge_protocol::wire::Rule;
use diverge_protocol::wire::chunk::ChunkKind;
use diverge_protocol::wire::run::{Mode, RefusalKind, RunKind, RunResponse};

fn payload(byte: u8, json: &str) -> Vec<u8> {
    [&[byte], json.as_bytes()].concat()
}

fn rule(byte: u8, json: &str) -> (Rule, String) {
    let fault = RunResponse::decode(&payload(byte, json)).expect_err(json);
    (fault.rule, fault.pointer)
}

#[test]
fn each_first_byte_has_its_form() {
    let chunk = r#"{"message":1e0,"type":"notification","is_fatal":false}"#;
    let refusal = |kind, mode| RunResponse::Refusal {
        kind,
        name: "v".into(),
        mode,
    };
    let read = |byte, json: &'static str| {
        RunResponse::decode(&payload(byte, json)).map(|read| read.encode())
    };
    for (byte, json, expected) in [
        (0, r#"{"id":"c"}"#, RunResponse::Id("c".into())),
        (1, r#"{"name":"v"}"#, refusal(RefusalKind::Held, None)),
        (2, r#"{"name":"v"}"#, refusal(RefusalKind::Mounted, None)),
        (3, r#"{"name":"v"}"#, refusal(RefusalKind::FuseServed, None)),
        (
            4,
            r#"{"name":"v"}"#,
            refusal(RefusalKind::MountUnsupported, None),
        ),
        (
            5,
            r#"{"name":"v","mode":"read_only"}"#,
            refusal(RefusalKind::Mode, Some(Mode::ReadOnly)),
        ),
        (6, " [ 1 ] ", RunResponse::Error(b" [ 1 ] ")),
        (
            7,
            chunk,
            RunResponse::Chunk {
                kind: ChunkKind::Notification,
                raw: chunk.as_bytes(),
            },
        ),
        (8, "", RunResponse::Active),
        (
            9,
            r#"{"a":1,"a":2}"#,
            RunResponse::Inactive {
                raw: br#"{"a":1,"a":2}"#,
            },
        ),
    ] {
        assert_eq!(
            RunResponse::decode(&payload(byte, json)),
            Ok(expected),
            "{byte} {json}"
        );
        assert_eq!(read(byte, json), Ok(payload(byte, json)), "{byte} {json}");
    }
}

#[test]
fn bytes_behind_active_are_not_read() {
    assert_eq!(
        RunResponse::decode(&[8, 0xff, b'{']),
        Ok(RunResponse::Active)
    );
}

#[test]
fn the_first_byte_alone_tells_the_kind() {
    for (index, kind) in RunKind::ALL.iter().enumerate() {
        assert_eq!(RunKind::of(&[index as u8, 0xff]), Ok(*kind));
        assert_eq!(RunKind::named(kind.name()), Some(*kind));
    }
    assert_eq!(
        RunKind::of(&[]).map_err(|fault| fault.rule),
        Err(Rule::PayloadEmpty)
    );
    assert_eq!(
        RunKind::of(&[10]).map_err(|fault| fault.rule),
        Err(Rule::PayloadUnknownFirstByte)
    );
}

#[test]
fn each_break_names_its_rule_and_place() {
    for (byte, json, expected, pointer) in [
        (0, r#"{}"#, Rule::MemberMissing, "/id"),
        (0, r#"["c"]"#, Rule::ObjectExpected, ""),
        (0, r#"{"id":1}"#, Rule::StringExpected, "/id"),
        (0, r#"{"id":"c","id":"c"}"#, Rule::MemberRepeated, "/id"),
        (0, r#"{"id":"c"} x"#, Rule::JsonTrailing, ""),
        (0, r#"{"id":"c""#, Rule::JsonSyntax, ""),
        (0, "\u{feff}{\"id\":\"c\"}", Rule::JsonEncoding, ""),
        (0, "", Rule::JsonSyntax, ""),
        (1, r#"{"name":"v","secret":1}"#, Rule::MemberUnknown, "/*"),
        (
            1,
            r#"{"name":"v","mode":"persistent"}"#,
            Rule::MemberUnknown,
            "/*",
        ),
        (5, r#"{"name":"v"}"#, Rule::MemberMissing, "/mode"),
        (
            5,
            r#"{"name":"v","mode":{"persistent":null}}"#,
            Rule::StringExpected,
            "/mode",
        ),
        (
            5,
            r#"{"name":"v","mode":"other"}"#,
            Rule::ConstantExpected,
            "/mode",
        ),
        (6, "1 2", Rule::JsonTrailing, ""),
        (7, r#"["usage",1,2,3]"#, Rule::ObjectExpected, ""),
        (7, r#"{"is_fatal":true}"#, Rule::MemberMissing, "/type"),
        (
            7,
            r#"{"type":"usage","type":"usage"}"#,
            Rule::MemberRepeated,
            "/type",
        ),
        (
            7,
            r#"{"total_tokens":-1,"type":"usage"}"#,
            Rule::UnsignedExpected,
            "/total_tokens",
        ),
        (
            7,
            r#"{"type":{"usage":null}}"#,
            Rule::StringExpected,
            "/type",
        ),
        (
            7,
            r#"{"type":"tool_response","id":"1","content":[{"type":"text"}]}"#,
            Rule::MemberMissing,
            "/content/0/text",
        ),
        (
            7,
            r#"{"type":"tool_response","id":"1","_meta":{}}"#,
            Rule::ResultOnlyMeta,
            "",
        ),
        (9, r#""hunter2""#, Rule::ObjectExpected, ""),
    ] {
        assert_eq!(rule(byte, json), (expected, pointer.to_owned()), "{json}");
    }
}
