//! Claims about chunks.

mod wire_samples;

use diverge_protocol::wire::Rule;
use diverge_protocol::wire::channel::ChannelAsk;
use diverge_protocol::wire::chunk::{Chunk, ChunkKind, judge, user_parts};
use diverge_protocol::wire::merge::merged;
use diverge_protocol::wire::mutate::mutate;
use diverge_protocol::wire::path_run::{self, PathChunk, PathRunRequest, PathRunResponse};
use diverge_protocol::wire::profile::ClientChannel;
use wire_samples::CHUNKS;

/// The required members of each kind, besides `type`.
const REQUIRED: &[(ChunkKind, &[&str])] = &[
    (ChunkKind::AssistantReasoning, &["/text"]),
    (ChunkKind::AssistantTextContent, &["/text"]),
    (ChunkKind::AssistantRefusal, &["/text"]),
    (ChunkKind::AssistantImageContent, &["/data", "/mimeType"]),
    (ChunkKind::AssistantAudioContent, &["/data", "/mimeType"]),
    (ChunkKind::AssistantToolCall, &["/id", "/name"]),
    (ChunkKind::ToolResponse, &["/id"]),
    (ChunkKind::UserTextContent, &["/key", "/text"]),
    (ChunkKind::UserImageContent, &["/key", "/data", "/mimeType"]),
    (ChunkKind::UserAudioContent, &["/key", "/data", "/mimeType"]),
    (
        ChunkKind::UserResource,
        &["/key", "/resource", "/resource/uri"],
    ),
    (ChunkKind::UserResourceLink, &["/key", "/uri", "/name"]),
    (
        ChunkKind::Usage,
        &["/completion_tokens", "/prompt_tokens", "/total_tokens"],
    ),
    (ChunkKind::Notification, &["/is_fatal", "/message"]),
];

fn broken(json: &str, line: &str) -> String {
    mutate(json, &line.parse().expect(line)).expect(line)
}

fn fault(json: &str) -> (Rule, String) {
    let fault = judge(json.as_bytes()).expect_err(json);
    (fault.rule, fault.pointer)
}

#[test]
fn there_is_a_sample_of_every_kind() {
    for kind in ChunkKind::ALL {
        assert!(CHUNKS.iter().any(|(sample, _)| sample == kind), "{kind}");
        assert!(REQUIRED.iter().any(|(listed, _)| listed == kind), "{kind}");
    }
}

#[test]
fn every_sample_is_judged_and_read_and_written_alike() {
    for (kind, json) in CHUNKS {
        assert_eq!(judge(json.as_bytes()), Ok(*kind), "{json}");
        let chunk = Chunk::decode(json.as_bytes()).expect(json);
        assert_eq!(chunk.kind(), *kind);
        assert_eq!(Chunk::decode(&chunk.encode()), Ok(chunk), "{json}");
    }
}

#[test]
fn members_may_come_in_any_order_and_spelling() {
    for (kind, json) in CHUNKS {
        let moved = broken(
            &broken(json, "drop /type"),
            &format!(r#"insert {{"type":"{kind}"}}"#),
        );
        assert_eq!(judge(moved.as_bytes()), Ok(*kind), "{moved}");
        let spaced = format!(" \n{json}\t\r\n");
        assert_eq!(judge(spaced.as_bytes()), Ok(*kind), "{spaced}");
        let more = broken(json, r#"insert {"unknown":[],"unknown":{}}"#);
        assert_eq!(judge(more.as_bytes()), Ok(*kind), "{more}");
    }
    let escaped = r#"{"typ\u0065":"us\u0061ge","completion_tokens":1,"prompt\u005ftokens":2,"total_tokens":3}"#;
    assert_eq!(judge(escaped.as_bytes()), Ok(ChunkKind::Usage));
}

#[test]
fn every_required_member_is_missed_and_takes_no_null_but_where_any_value_will_do() {
    for (kind, json) in CHUNKS {
        let required = REQUIRED
            .iter()
            .find(|(listed, _)| listed == kind)
            .expect("listed")
            .1;
        for place in required.iter().chain(&["/type"]) {
            let (rule, pointer) = fault(&broken(json, &format!("drop {place}")));
            assert_eq!(
                (rule, pointer.as_str()),
                (Rule::MemberMissing, *place),
                "{json}"
            );
            if *place != "/message" {
                assert_eq!(
                    fault(&broken(json, &format!("null-for {place}"))).1,
                    *place,
                    "{json}"
                );
            }
        }
    }
}

#[test]
fn every_member_of_every_sample_comes_once_and_has_its_kind() {
    const FREE: &[&str] = &["_meta", "structuredContent", "message"];
    for (_, json) in CHUNKS {
        let serde_json::Value::Object(members) = serde_json::from_str(json).expect(json) else {
            panic!("a chunk is an object")
        };
        for name in members.keys() {
            let place = format!("/{name}");
            let (rule, pointer) = fault(&broken(json, &format!("repeat {place}")));
            assert_eq!((rule, &pointer), (Rule::MemberRepeated, &place), "{json}");
            if !FREE.contains(&name.as_str()) {
                let retyped = broken(json, &format!("retype {place}"));
                assert_eq!(fault(&retyped).1, place, "{retyped}");
            }
        }
        assert_eq!(
            fault(&broken(json, "array-for")),
            (Rule::ObjectExpected, String::new())
        );
        assert_eq!(
            fault(&broken(json, "object-for /type")),
            (Rule::StringExpected, "/type".into())
        );
        assert_eq!(fault(&broken(json, "append x")).0, Rule::JsonTrailing);
        assert_eq!(fault(&broken(json, "truncate 1")).0, Rule::JsonSyntax);
    }
}

#[test]
fn commas_stand_between_members_and_nowhere_else() {
    for (_, json) in CHUNKS {
        for broken in [
            json.replacen('{', "{,", 1),
            json.replacen(r#","#, ",,", 1),
            json.replacen(r#","#, " ", 1),
            json.replacen(r#"":"#, r#"" "#, 1),
            format!("{},}}", &json[..json.len() - 1]),
        ] {
            assert_eq!(fault(&broken).0, Rule::JsonSyntax, "{broken}");
        }
    }
}

#[test]
fn null_stands_for_every_optional_member() {
    for (kind, json) in CHUNKS {
        for place in [
            "/parent_tool_call_id",
            "/logprobs",
            "/_meta",
            "/annotations",
            "/arguments",
            "/icons",
            "/title",
        ] {
            if let Ok(absent) = mutate(json, &format!("null-for {place}").parse().expect(place)) {
                assert_eq!(judge(absent.as_bytes()), Ok(*kind), "{absent}");
                Chunk::decode(absent.as_bytes()).expect(&absent);
            }
        }
    }
}

#[test]
fn breaks_inside_are_told_at_their_place() {
    let logprobs = CHUNKS[2].1;
    let response = CHUNKS
        .iter()
        .find(|(_, json)| json.contains("resultType"))
        .expect("it is there")
        .1;
    for (json, line, rule, pointer) in [
        (
            logprobs,
            "drop /logprobs/0/top_logprobs",
            Rule::MemberMissing,
            "/logprobs/0/top_logprobs",
        ),
        (
            logprobs,
            "null-for /logprobs/0/top_logprobs",
            Rule::ArrayExpected,
            "/logprobs/0/top_logprobs",
        ),
        (
            logprobs,
            "set /logprobs/0/bytes/0 256",
            Rule::ByteExpected,
            "/logprobs/0/bytes/0",
        ),
        (
            logprobs,
            "set /logprobs/0/bytes/0 -0",
            Rule::ByteExpected,
            "/logprobs/0/bytes/0",
        ),
        (
            logprobs,
            "set /logprobs/0/bytes/0 1.0",
            Rule::ByteExpected,
            "/logprobs/0/bytes/0",
        ),
        (
            logprobs,
            "null-for /logprobs/0/logprob",
            Rule::DecimalExpected,
            "/logprobs/0/logprob",
        ),
        (
            logprobs,
            "set /logprobs/0/logprob 1e30",
            Rule::DecimalExpected,
            "/logprobs/0/logprob",
        ),
        (
            logprobs,
            r#"set /logprobs/0/logprob "x""#,
            Rule::DecimalExpected,
            "/logprobs/0/logprob",
        ),
        (
            logprobs,
            "array-for /logprobs/0",
            Rule::ObjectExpected,
            "/logprobs/0",
        ),
        (
            logprobs,
            "array-for /logprobs/0/top_logprobs/1",
            Rule::ObjectExpected,
            "/logprobs/0/top_logprobs/1",
        ),
        (
            logprobs,
            "object-for /annotations/audience/1",
            Rule::StringExpected,
            "/annotations/audience/1",
        ),
        (
            logprobs,
            r#"set /annotations/audience/0 "x""#,
            Rule::ConstantExpected,
            "/annotations/audience/0",
        ),
        (
            logprobs,
            r#"set /annotations/priority "1""#,
            Rule::NumberExpected,
            "/annotations/priority",
        ),
        (
            response,
            "drop /content/0/type",
            Rule::MemberMissing,
            "/content/0/type",
        ),
        (
            response,
            r#"set /content/0/type "x""#,
            Rule::ConstantExpected,
            "/content/0/type",
        ),
        (
            response,
            "set /content/0/type 0",
            Rule::StringExpected,
            "/content/0/type",
        ),
        (
            response,
            "drop /content/3/resource/text",
            Rule::MemberMissing,
            "/content/3/resource",
        ),
        (
            response,
            "drop /content/5/icons/0/src",
            Rule::MemberMissing,
            "/content/5/icons/0/src",
        ),
        (
            response,
            "set /content/5/size 18446744073709551616",
            Rule::UnsignedExpected,
            "/content/5/size",
        ),
        (
            response,
            r#"set /resultType "task""#,
            Rule::ConstantExpected,
            "/resultType",
        ),
        (
            response,
            "null-for /content/0",
            Rule::ObjectExpected,
            "/content/0",
        ),
    ] {
        assert_eq!(
            fault(&broken(json, line)),
            (rule, pointer.to_owned()),
            "{line}"
        );
    }
}

#[test]
fn the_offset_is_where_the_offending_part_starts() {
    let offset = |json: &str| judge(json.as_bytes()).expect_err(json).offset;
    for json in [
        "{\"type\":\"usage\",\n\n \"total_tokens\": -1}",
        "{\"total_tokens\":\n-1,\"type\":\"usage\"}",
    ] {
        assert_eq!(offset(json), json.find('-'), "{json}");
    }
    let trailing = format!("{} x", CHUNKS[0].1);
    assert_eq!(
        offset(&trailing),
        trailing.find(" x").map(|space| space + 1)
    );
    assert_eq!(offset("\u{feff}{}"), Some(0));
    assert_eq!(
        offset(" {}"),
        Some(1),
        "a missing member is missed from its object"
    );
}

#[test]
fn a_logprob_keeps_its_digits_as_number_and_as_string() {
    const DIGITS: &str = "-0.1234567890123456789012345678";
    for spelled in [DIGITS.to_owned(), format!("\"{DIGITS}\"")] {
        let json = broken(CHUNKS[2].1, &format!("set /logprobs/0/logprob {spelled}"));
        let Ok(Chunk::AssistantTextContent(delta)) = Chunk::decode(json.as_bytes()) else {
            panic!("{json}")
        };
        assert_eq!(
            delta.logprobs.expect("there are some")[0]
                .logprob
                .to_string(),
            DIGITS
        );
    }
    for spelled in [
        "1e-5",
        "\"1e-5\"",
        "0",
        "-7",
        "1E2",
        "1e-40",
        "\"\\u0031\"",
        "18446744073709551616",
    ] {
        let json = broken(CHUNKS[2].1, &format!("set /logprobs/0/logprob {spelled}"));
        assert!(judge(json.as_bytes()).is_ok(), "{spelled}");
        assert!(Chunk::decode(json.as_bytes()).is_ok(), "{spelled}");
    }
}

#[test]
fn a_notification_keeps_its_message_byte_for_byte() {
    let json = r#"{"type":"notification","is_fatal":true,"message":{ "n" : 1.000e0, "n":[ ] }}"#;
    let Ok(Chunk::Notification(said)) = Chunk::decode(json.as_bytes()) else {
        panic!("{json}")
    };
    assert_eq!(said.message.get(), r#"{ "n" : 1.000e0, "n":[ ] }"#);
    assert_eq!(Chunk::Notification(said).encode(), json.as_bytes());
}

#[test]
fn deep_nesting_overflows_nothing() {
    for depth in [100, 100_000] {
        let deep = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        for json in [
            format!(r#"{{"type":"notification","is_fatal":true,"message":{deep}}}"#),
            format!(r#"{{"_meta":{{"a":{deep}}},"type":"user_text_content","key":"","text":""}}"#),
        ] {
            assert!(judge(json.as_bytes()).is_ok(), "{depth}");
            let chunk = Chunk::decode(json.as_bytes()).expect("it is judged well formed");
            let again = String::from_utf8(chunk.encode()).expect("it is text");
            assert!(again.contains(&deep), "{depth}");
            assert_eq!(Chunk::decode(again.as_bytes()), Ok(chunk), "{depth}");
        }
        for json in [
            format!(r#"{{"type":{deep}}}"#),
            deep.clone(),
            "[".repeat(depth),
            r#"{"a":"#.repeat(depth),
        ] {
            assert!(judge(json.as_bytes()).is_err());
        }
    }
}

#[test]
fn free_form_parts_hold_what_no_value_can() {
    for part in [
        r#"{"a":1e999,"a":-1E+9999}"#,
        r#"{"a":"\ud800","\udfff":12345678901234567890123}"#,
        r#"{ "a" : [ 1.0 ,1e2] }"#,
    ] {
        for json in [
            format!(r#"{{"type":"user_text_content","key":"","text":"","_meta":{part}}}"#),
            format!(r#"{{"type":"notification","is_fatal":false,"message":{part}}}"#),
            format!(r#"{{"type":"tool_response","id":"","structuredContent":{part}}}"#),
        ] {
            let chunk = Chunk::decode(json.as_bytes()).expect(&json);
            assert_eq!(chunk.encode(), json.as_bytes());
        }
    }
}

#[test]
fn the_path_revision_shares_nine_kinds_and_has_user() {
    for (kind, json) in CHUNKS {
        let verdict = path_run::judge(json.as_bytes()).map(|kind| kind.name());
        match kind.is_user_part() {
            true => assert_eq!(
                verdict.map_err(|fault| fault.rule),
                Err(Rule::ConstantExpected)
            ),
            false => assert_eq!(verdict, Ok(kind.name())),
        }
    }
    let user = r#"{"type":"user","prompt":"p","_meta":{"a":1}}"#;
    assert_eq!(fault(user).0, Rule::ConstantExpected);
    let chunk = PathChunk::decode(user.as_bytes()).expect(user);
    assert_eq!(chunk.encode(), user.as_bytes());
    assert!(path_run::judge(br#"{"type":"user","prompt":null}"#).is_err());
}

#[test]
fn the_path_revision_has_two_first_bytes() {
    let raw = CHUNKS[1].1.as_bytes();
    for message in [[&[0], raw].concat(), b"\x01 {\"type\":1} ".to_vec()] {
        assert_eq!(
            PathRunResponse::decode(&message).map(|read| read.encode()),
            Ok(message)
        );
    }
    let rule = |message: &[u8]| {
        PathRunResponse::decode(message)
            .map_err(|fault| fault.rule)
            .err()
    };
    assert_eq!(rule(b""), Some(Rule::PayloadEmpty));
    assert_eq!(rule(b"\x02{}"), Some(Rule::PayloadUnknownFirstByte));
    assert_eq!(rule(b"\x01"), Some(Rule::JsonSyntax));
    assert_eq!(rule(b"\x011 1"), Some(Rule::JsonTrailing));
    assert_eq!(
        PathRunRequest::decode(br#"{"prompt":"p","x":1}"#).map(|asked| asked.prompt),
        Ok("p".into())
    );
    assert_eq!(
        PathRunRequest::decode(br#"["p"]"#).map_err(|fault| fault.rule),
        Err(Rule::ObjectExpected)
    );
}

#[test]
fn fragments_of_one_thing_are_put_together() {
    let chunk = |json: &str| Chunk::decode(json.as_bytes()).expect(json);
    let text = |parent: &str, text: &str, logprobs: &str| {
        chunk(&format!(
            r#"{{"type":"assistant_text_content","parent_tool_call_id":{parent},"text":"{text}","logprobs":{logprobs}}}"#
        ))
    };
    let call = |id: &str, arguments: &str| {
        chunk(&format!(
            r#"{{"type":"assistant_tool_call","id":"{id}","name":"n","arguments":{arguments}}}"#
        ))
    };
    let logprob = r#"[{"token":"t","logprob":-1,"top_logprobs":[]}]"#;
    let stream = vec![
        text("null", "a", "null"),
        text("null", "b", logprob),
        text("null", "c", logprob),
        text("\"p\"", "d", "null"),
        call("1", "null"),
        call("1", r#""{\"a\":""#),
        call("1", r#""1}""#),
        call("2", "\"{}\""),
        text("null", "e", "null"),
    ];
    let whole: Vec<String> = merged(stream)
        .iter()
        .map(|chunk| match chunk {
            Chunk::AssistantTextContent(delta) => {
                format!(
                    "{} {}",
                    delta.content.text,
                    delta.logprobs.as_ref().map_or(0, Vec::len)
                )
            }
            Chunk::AssistantToolCall(call) => call.arguments.clone().unwrap_or_default(),
            other => other.kind().to_string(),
        })
        .collect();
    assert_eq!(whole, ["abc 2", "d 0", r#"{"a":1}"#, "{}", "e 0"]);
}

#[test]
fn a_message_lands_as_one_chunk_to_a_block() {
    const ASKED: &str = r#"{"key":"k","content":[{"type":"text","text":"t"},{"type":"image","data":"","mimeType":"m"},{"type":"audio","data":"","mimeType":"m"},{"type":"resource","resource":{"uri":"u","text":"t"}},{"type":"resource_link","uri":"u","name":"n"}]}"#;
    let Ok(ChannelAsk::Enqueue(ask)) = ChannelAsk::decode(ClientChannel::Enqueue, ASKED.as_bytes())
    else {
        panic!("{ASKED}")
    };
    let parts = user_parts(&ask.key, ask.blocks().expect(ASKED));
    let kinds: Vec<_> = parts.iter().map(Chunk::kind).collect();
    assert_eq!(
        kinds,
        [
            ChunkKind::UserTextContent,
            ChunkKind::UserImageContent,
            ChunkKind::UserAudioContent,
            ChunkKind::UserResource,
            ChunkKind::UserResourceLink,
        ]
    );
    assert_eq!(
        parts[0].encode(),
        br#"{"type":"user_text_content","key":"k","text":"t"}"#
    );
    for part in parts {
        assert_eq!(judge(&part.encode()), Ok(part.kind()));
    }
}
