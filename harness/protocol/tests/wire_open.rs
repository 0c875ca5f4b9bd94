//! Where the pages leave a reading open, that shows.

use diverge_protocol::wire::chunk::judge;
use diverge_protocol::wire::{Rule, leaves_open};

fn refused(json: &str) -> Rule {
    judge(json.as_bytes()).expect_err(json).rule
}

fn response(members: &str) -> String {
    format!(r#"{{"type":"tool_response","id":"1",{members}}}"#)
}

#[test]
fn a_result_with_metadata_alone_breaks_an_open_rule_and_one_with_nothing_does_not() {
    for (members, rule) in [
        (r#""_meta":{}"#, Rule::ResultOnlyMeta),
        (r#""_meta":{},"content":null"#, Rule::ResultOnlyMeta),
        (r#""_meta":null"#, Rule::MemberMissing),
        (r#""other":1"#, Rule::MemberMissing),
    ] {
        assert_eq!(refused(&response(members)), rule, "{members}");
    }
    assert!(Rule::ResultOnlyMeta.is_open() && !Rule::MemberMissing.is_open());
}

#[test]
fn text_that_no_string_and_numbers_that_no_double_holds_break_open_rules() {
    for (value, rule) in [
        (r#""\ud800""#, Rule::JsonSurrogate),
        (r#""\udc00x""#, Rule::JsonSurrogate),
        ("1e999", Rule::JsonNumberRange),
    ] {
        let json = format!(
            r#"{{"type":"user_text_content","key":"","text":"","annotations":{{"priority":{value}}}}}"#
        );
        let told = match rule {
            Rule::JsonNumberRange => refused(&json),
            _ => refused(&json.replace("priority", "lastModified")),
        };
        assert_eq!(told, rule, "{json}");
        assert!(rule.is_open());
        assert!(leaves_open(json.as_bytes()), "{json}");
    }
}

#[test]
fn what_is_taken_here_and_may_be_refused_elsewhere_is_told() {
    let deep = format!("{}{}", "[".repeat(128), "]".repeat(128));
    for open in [
        r#"{"secret":"a","other":1,"secret":"b"}"#,
        r#"{"a":1,"\u0061":2}"#,
        r#"[[{"a":"\udc00"}]]"#,
        r#"{"\ud800":0}"#,
        "-1e999",
        &deep,
        &response(r#""structuredContent":null"#),
        &response(r#""structuredContent":null,"content":null"#),
    ] {
        assert!(leaves_open(open.as_bytes()), "{open}");
    }
    let shallow = &deep[1..deep.len() - 1];
    for settled in [
        r#"{"secret":"a","other":{"secret":1,"secret":2}}"#,
        r#"["\ud83d\ude00",1e308]"#,
        "{",
        "",
        "\u{feff}{}",
        shallow,
        &response(r#""structuredContent":null,"isError":false"#),
        &response(r#""structuredContent":{}"#),
        &response(r#""_meta":{}"#),
        r#"{"type":"usage","structuredContent":null}"#,
    ] {
        assert!(!leaves_open(settled.as_bytes()), "{settled}");
    }
}
