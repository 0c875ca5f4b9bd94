//! MCP content is judged as `rmcp` reads it, less arrays in place of objects and repeated members.

use diverge_protocol::wire::chunk::{Chunk, judge};
use diverge_protocol::wire::{Malformed, Rule};
use proptest::prelude::*;
use rmcp::model::{
    AudioContent, CallToolResult, ContentBlock, EmbeddedResource, ImageContent, MetaObject,
    RequestMetaObject, Resource, TextContent,
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// Each chunk kind that carries MCP's members, whether `rmcp` reads them, and a full set.
type Kind = (&'static str, fn(&str) -> bool, fn() -> Value);

const KINDS: &[Kind] = &[
    ("user_text_content", reads::<TextContent>, text),
    ("user_image_content", reads::<ImageContent>, media),
    ("user_audio_content", reads::<AudioContent>, media),
    ("user_resource", reads::<EmbeddedResource>, embedded),
    ("user_resource_link", reads::<Resource>, link),
    ("tool_response", reads::<CallToolResult>, result),
    ("assistant_text_content", reads::<TextContent>, text),
    ("assistant_image_content", reads::<ImageContent>, media),
];

fn reads<T: DeserializeOwned>(json: &str) -> bool {
    serde_json::from_str::<T>(json).is_ok()
}

fn annotations() -> Value {
    json!({"audience": ["user", "assistant"], "priority": 0.5, "lastModified": "2025-01-12"})
}

fn text() -> Value {
    json!({"text": "t", "_meta": {"a": 1}, "annotations": annotations()})
}

fn media() -> Value {
    json!({"data": "d", "mimeType": "m", "_meta": {}, "annotations": annotations()})
}

fn embedded() -> Value {
    json!({"resource": {"uri": "u", "mimeType": "m", "text": "t", "blob": "b", "_meta": {}}, "_meta": {}, "annotations": annotations()})
}

fn link() -> Value {
    let icons =
        json!([{"src": "s", "mimeType": "m", "sizes": ["1x1"], "theme": "dark"}, {"src": "s"}]);
    json!({"uri": "u", "name": "n", "title": "t", "description": "d", "mimeType": "m", "size": 1, "icons": icons, "_meta": {}, "annotations": annotations()})
}

fn result() -> Value {
    let block = |kind: &str, mut members: Value| {
        members["type"] = kind.into();
        members
    };
    let content = [
        block("text", text()),
        block("image", media()),
        block("audio", media()),
        block("resource", embedded()),
        block("resource_link", link()),
    ];
    json!({"resultType": "complete", "content": content, "structuredContent": {"a": 1}, "isError": false, "_meta": {}})
}

/// Values to put in the place of others.
fn stranger() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        prop_oneof![
            Just(json!(0)),
            Just(json!(-1)),
            Just(json!(1.5)),
            Just(json!(u64::MAX)),
            Just(json!(1e300))
        ],
        prop_oneof![
            "text", "image", "user", "light", "complete", "task", "x", ""
        ]
        .prop_map(Value::from),
        Just(json!([])),
        Just(json!({})),
        Just(json!([null])),
        Just(json!(["user"])),
        Just(json!({"user": null})),
        Just(text()),
        Just(link()),
        Just(embedded()["resource"].clone()),
    ]
}

#[derive(Debug, Clone)]
enum Change {
    Drop,
    Set(Value),
    Add(&'static str, Value),
}

fn change() -> impl Strategy<Value = Change> {
    let names = prop::sample::select(vec![
        "text", "blob", "type", "extra", "isError", "content", "_meta", "uri", "size",
    ]);
    prop_oneof![
        Just(Change::Drop),
        stranger().prop_map(Change::Set),
        (names, stranger()).prop_map(|(name, value)| Change::Add(name, value)),
    ]
}

/// Every place in a value, as pointers.
fn places(value: &Value, here: String, all: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                places(member, format!("{here}/{name}"), all);
            }
        }
        Value::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                places(element, format!("{here}/{index}"), all);
            }
        }
        _ => {}
    }
    if !here.is_empty() {
        all.push(here);
    }
}

fn apply(members: &mut Value, place: prop::sample::Index, change: Change) {
    let mut all = Vec::new();
    places(members, String::new(), &mut all);
    if all.is_empty() {
        return;
    }
    let place = place.get(&all);
    let (parent, name) = place.rsplit_once('/').expect("a pointer");
    match change {
        Change::Set(value) => *members.pointer_mut(place).expect("it is there") = value,
        Change::Add(name, value) => {
            if let Some(object) = members.pointer_mut(place).and_then(Value::as_object_mut) {
                object.insert(name.to_owned(), value);
            }
        }
        Change::Drop => match members.pointer_mut(parent) {
            Some(Value::Object(object)) => drop(object.remove(name)),
            Some(Value::Array(array)) => drop(array.remove(name.parse().expect("an index"))),
            _ => {}
        },
    }
}

/// What the pages refuse although a derived reader takes it.
fn is_stricter(fault: &Malformed) -> bool {
    matches!(
        (fault.rule, &*fault.found),
        (Rule::ObjectExpected, "an array") | (Rule::StringExpected, "an object")
    )
}

fn chunk_of(kind: &str, members: &Value) -> String {
    let mut chunk = Map::new();
    chunk.insert("type".into(), kind.into());
    chunk.insert("key".into(), "k".into());
    chunk.insert("id".into(), "1".into());
    if let Value::Object(members) = members {
        chunk.extend(
            members
                .iter()
                .filter(|(name, _)| *name != "type")
                .map(|(name, value)| (name.clone(), value.clone())),
        );
    }
    Value::Object(chunk).to_string()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn a_chunk_is_judged_as_rmcp_reads_its_members(
        kind in prop::sample::select(KINDS),
        changes in prop::collection::vec((any::<prop::sample::Index>(), change()), 0..4),
    ) {
        let (name, reads, full) = kind;
        let mut members = full();
        for (place, change) in changes {
            apply(&mut members, place, change);
        }
        let chunk = chunk_of(name, &members);
        // Neither layout nor a type that comes first changes a verdict.
        let verdict = |json: &str| judge(json.as_bytes()).map_err(|fault| (fault.rule, fault.pointer));
        let value: Value = serde_json::from_str(&chunk).expect(&chunk);
        let spread = serde_json::to_string_pretty(&value).expect(&chunk);
        prop_assert_eq!(verdict(&spread), verdict(&chunk));
        let (ahead, behind) = chunk.split_once(&format!(r#","type":"{name}""#)).expect(&chunk);
        let leading = format!(r#"{{"type":"{name}",{}{behind}"#, &ahead[1..]);
        prop_assert_eq!(verdict(&leading).is_ok(), verdict(&chunk).is_ok(), "{}", leading);
        match judge(chunk.as_bytes()) {
            Ok(_) => {
                prop_assert!(reads(&members.to_string()), "rmcp refuses {chunk}");
                prop_assert!(Chunk::decode(chunk.as_bytes()).is_ok(), "{chunk}");
            }
            Err(fault) if is_stricter(&fault) => {}
            Err(fault) => prop_assert!(!reads(&members.to_string()), "rmcp reads {chunk}: {fault}"),
        }
    }
}

/// A content block, inside the smallest chunk that has one.
fn block_verdict(block: &str) -> bool {
    judge(format!(r#"{{"type":"tool_response","id":"1","content":[{block}]}}"#).as_bytes()).is_ok()
}

#[test]
fn spellings_that_a_value_cannot_hold_are_judged_alike() {
    for block in [
        r#"{"type":"text","text":"a","text":"a"}"#,
        r#"{"type":"text","type":"text","text":"a"}"#,
        r#"{"text":"a","type":"text","annotations":{"priority":1,"priority":1}}"#,
        r#"{"type":"text","text":"a","other":1,"other":2}"#,
        r#"{"type":"text","text":"a","_meta":{"a":1,"a":2}}"#,
        r#"{"type":"resource","resource":{"uri":"u","uri":"u","text":"t"}}"#,
        r#"{"type":"resource","resource":{"text":1,"blob":"b","uri":"u"}}"#,
        r#"{"type":"resource","resource":{"text":"t","blob":{},"uri":"u"}}"#,
        r#"{"type":"resource_link","uri":"u","name":"n","size":-0}"#,
        r#"{"type":"resource_link","uri":"u","name":"n","size":1.0}"#,
        r#"{"type":"text","text":"a","annotations":{"priority":-0.0e-5}}"#,
        r#"{"type":"te\u0078t","te\u0078t":"\ud83d\ude00"}"#,
        r#"{"type":"Text","text":"a"}"#,
        r#"{"type":null,"text":"a"}"#,
        r#"{"type":"text","text":"a","annotations":{"audience":["User"]}}"#,
    ] {
        assert_eq!(
            block_verdict(block),
            reads::<ContentBlock>(block),
            "{block}"
        );
    }
}

#[test]
fn a_result_must_say_something() {
    for (members, verdict) in [
        (r#""content":null"#, false),
        (r#""isError":null"#, false),
        (r#""content":null,"isError":false"#, true),
        (r#""structuredContent":null"#, true),
        (r#""_meta":{}"#, false),
        (r#""resultType":"complete""#, false),
        (r#""resultType":null,"content":[]"#, true),
    ] {
        assert_eq!(
            reads::<CallToolResult>(&format!("{{{members}}}")),
            verdict,
            "{members}"
        );
        let chunk = format!(r#"{{"type":"tool_response","id":"1",{members}}}"#);
        assert_eq!(judge(chunk.as_bytes()).is_ok(), verdict, "{members}");
    }
}

#[test]
fn metadata_is_any_object() {
    for meta in [
        r#"{"a":1,"progressToken":[]}"#,
        "{}",
        "[]",
        "null",
        "\"x\"",
        "0",
    ] {
        let call =
            format!(r#"{{"type":"assistant_tool_call","id":"1","name":"n","_meta":{meta}}}"#);
        let verdict = judge(call.as_bytes()).is_ok();
        assert_eq!(verdict, reads::<Option<RequestMetaObject>>(meta), "{meta}");
        let usage = format!(
            r#"{{"type":"usage","completion_tokens":0,"prompt_tokens":0,"total_tokens":0,"_meta":{meta}}}"#
        );
        assert_eq!(
            judge(usage.as_bytes()).is_ok(),
            reads::<Option<MetaObject>>(meta),
            "{meta}"
        );
    }
}
