//! The form of codec scenario files, as editors want it.

use serde_json::{Map, Value, json};

use super::load::SHARED;
use crate::wire::Rule;
use crate::wire::surface::Surface;

/// The JSON Schema of a file of codec scenarios; requirements are defined where it is used.
pub(in crate::scenario) fn file() -> Value {
    let shared = || {
        SHARED
            .iter()
            .map(|name| ((*name).to_owned(), member(name)))
            .collect::<Map<_, _>>()
    };
    let case = json!({"type": "object", "additionalProperties": false, "properties": shared()});
    let mut properties = shared();
    properties.insert(
        "id".into(),
        json!({"type": "string", "pattern": "^codec(/[a-z0-9-]+){2}$", "maxLength": 80}),
    );
    properties.insert("title".into(), json!({"type": "string"}));
    properties.insert(
        "cases".into(),
        json!({
            "type": "object",
            "description": "by name: each makes one scenario; a text alone is the broken neighbour",
            "additionalProperties": {"anyOf": [{"type": ["string", "number"]}, case]}
        }),
    );
    let scenario = json!({
        "type": "object",
        "required": ["id", "title"],
        "additionalProperties": false,
        "properties": properties
    });
    json!({
        "type": "object",
        "required": ["iut", "scenarios"],
        "additionalProperties": false,
        "properties": {
            "iut": {"const": "codec", "description": "what the scenarios judge"},
            "scenarios": {"type": "array", "items": scenario}
        }
    })
}

/// A member of a scenario or of one of its cases.
fn member(name: &str) -> Value {
    let text = |about: &str| json!({"type": ["string", "number"], "description": about});
    match name {
        "requirement" => json!({"$ref": "#/$defs/requirement"}),
        "frame" => {
            let surfaces: Vec<_> = Surface::ALL.iter().map(|surface| surface.name()).collect();
            json!({"enum": surfaces, "description": "what the payloads are"})
        }
        "kind" => {
            let mut kinds: Vec<_> = Surface::ALL
                .iter()
                .flat_map(|surface| surface.kinds())
                .collect();
            kinds.sort_unstable();
            kinds.dedup();
            json!({"enum": kinds, "description": "the kind that the valid payload is accepted as"})
        }
        "rule" => {
            let rules: Vec<_> = Rule::ALL.iter().map(|rule| rule.as_str()).collect();
            json!({"enum": rules, "description": "the rule that the broken neighbour breaks"})
        }
        "payload" => text(
            "the valid payload: JSON, behind its first byte in decimal where it has one; or `hex` and its bytes",
        ),
        "free" => text("the change that makes a neighbour which is accepted too"),
        _ => text("the change that makes the neighbour which is rejected"),
    }
}
