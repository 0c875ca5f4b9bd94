//! JSON text with every freedom that the pages leave: white space, escapes, order of members, unknown ones, spelling of
//! numbers, and null for what may be absent.

use proptest::prelude::*;

use diverge_protocol::wire::shape::{Member, Object, Shape};

/// Any one JSON value.
///
/// What readers may differ about is not in it: lone surrogates, numbers beyond a double, nesting beyond 127, and names
/// that come twice.
pub fn json() -> BoxedStrategy<String> {
    let leaf = prop_oneof![
        prop::sample::select(&["null", "true", "false"][..]).prop_map(str::to_owned),
        number(),
        string(),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            (prop::collection::vec(inner.clone(), 0..4), gaps())
                .prop_map(|(elements, gaps)| enclosed("[", elements, "]", &gaps)),
            members_of(inner),
        ]
    })
    .boxed()
}

/// Any JSON object, as metadata and secret values are.
pub fn object() -> BoxedStrategy<String> {
    members_of(json()).boxed()
}

/// Any JSON string, in any spelling.
pub fn string() -> BoxedStrategy<String> {
    spelled(prop_oneof![3 => "[a-z ]{0,8}", 1 => any::<String>()]).boxed()
}

/// Any JSON number that a double can hold, in any spelling.
pub fn number() -> BoxedStrategy<String> {
    prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        "-?(0|[1-9][0-9]{0,24})(\\.[0-9]{1,24})?([eE][-+]?[0-9]{1,2})?",
    ]
    .boxed()
}

/// Text around a marker that must turn up in no error: JSON with it in names and strings, and text that is no JSON
/// because it stands bare.
pub fn planted(marker: &'static str) -> BoxedStrategy<String> {
    const NAMES: &[&str] = &[
        "type",
        "id",
        "name",
        "mode",
        "key",
        "text",
        "message",
        "arguments",
        "image",
        "memory",
        "content",
        "_meta",
    ];
    let leaf = prop_oneof![
        prop::sample::select(&["null", "-1.5", "true", "\"usage\""][..]).prop_map(str::to_owned),
        Just(format!("\"{marker}\"")),
        Just(format!("\"\\u0041{marker}\"")),
        Just(marker.to_owned()),
    ];
    let name = prop_oneof![1 => Just(marker), 6 => prop::sample::select(NAMES)];
    leaf.prop_recursive(4, 24, 5, move |inner| {
        let member =
            (name.clone(), inner.clone()).prop_map(|(name, value)| format!("\"{name}\":{value}"));
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(|elements| enclosed(
                "[",
                elements,
                "]",
                &[]
            )),
            prop::collection::vec(member, 0..6).prop_map(|members| enclosed(
                "{",
                members,
                "}",
                &[]
            )),
        ]
    })
    .boxed()
}

/// Text that `shape` allows.
pub(super) fn of(shape: &'static Shape) -> BoxedStrategy<String> {
    match shape {
        Shape::Any => json(),
        Shape::AnyObject => object(),
        Shape::Object(allowed) => record(allowed, None),
        Shape::Tagged(tagged) => {
            let variants = tagged
                .variants
                .iter()
                .map(|(kind, object)| record(object, Some((tagged.tag, kind))));
            prop::strategy::Union::new(variants).boxed()
        }
        Shape::Array(element) => (prop::collection::vec(of(element), 0..3), gaps())
            .prop_map(|(elements, gaps)| enclosed("[", elements, "]", &gaps))
            .boxed(),
        Shape::Str => string(),
        Shape::OnlyAStringCounts => prop_oneof![string(), json()].boxed(),
        Shape::Bool => any::<bool>().prop_map(|flag| flag.to_string()).boxed(),
        Shape::U8 => any::<u8>().prop_map(|number| number.to_string()).boxed(),
        Shape::U32 => any::<u32>().prop_map(|number| number.to_string()).boxed(),
        Shape::U64 => prop_oneof![0..1000u64, any::<u64>()]
            .prop_map(|number| number.to_string())
            .boxed(),
        Shape::I64 => any::<i64>().prop_map(|number| number.to_string()).boxed(),
        Shape::Number => number(),
        Shape::Decimal => {
            // Up to 28 significant digits, which are to be kept.
            let decimal = "-?(0|[1-9][0-9]{0,9})(\\.[0-9]{1,18})?";
            (decimal, any::<bool>())
                .prop_map(|(digits, quoted)| match quoted {
                    true => format!("\"{digits}\""),
                    false => digits,
                })
                .boxed()
        }
        Shape::Const(names) => {
            spelled(prop::sample::select(*names).prop_map(str::to_owned)).boxed()
        }
    }
}

/// Text of an object, whose tag is given where it is told apart by one.
fn record(
    object: &'static Object,
    tag: Option<(&'static str, &'static str)>,
) -> BoxedStrategy<String> {
    let with = |chosen: Option<&'static str>| {
        let members: Vec<_> = object
            .members
            .iter()
            .map(|member| match tag {
                Some((name, kind)) if name == member.name => {
                    Just(Some(format!("\"{kind}\""))).boxed()
                }
                _ => value(member, chosen == Some(member.name)),
            })
            .collect();
        let unknown = match object.closed {
            true => Just(Vec::new()).boxed(),
            false => unknown(object),
        };
        (
            members,
            unknown,
            any::<prop::sample::Index>(),
            escapes(),
            gaps(),
        )
            .prop_map(|(values, unknown, turn, escapes, gaps)| {
                let known = object.members.iter().zip(values);
                let mut members: Vec<_> = known
                    .filter_map(|(member, value)| Some((member.name.to_owned(), value?)))
                    .chain(unknown)
                    .map(|(name, value)| format!("{}:{value}", spell(&name, &escapes)))
                    .collect();
                if !members.is_empty() {
                    let turn = turn.index(members.len());
                    members.rotate_left(turn);
                    let last = members.len() - 1;
                    members.swap(last, turn);
                }
                enclosed("{", members, "}", &gaps)
            })
            .boxed()
    };
    match object.any_of {
        [] => with(None),
        names => prop::strategy::Union::new(names.iter().map(|name| with(Some(name)))).boxed(),
    }
}

/// A member's value, if it is there; one that was chosen is, and says something.
fn value(member: &'static Member, chosen: bool) -> BoxedStrategy<Option<String>> {
    let said = match member.shape {
        Shape::OnlyAStringCounts if chosen => string(),
        Shape::Any if chosen => object(),
        _ => of(&member.shape),
    };
    match member.required || chosen {
        true => said.prop_map(Some).boxed(),
        false => prop_oneof![
            3 => Just(None),
            1 => Just(Some("null".to_owned())),
            2 => said.prop_map(Some),
        ]
        .boxed(),
    }
}

/// Members that the object does not know, some by names that others do.
fn unknown(object: &'static Object) -> BoxedStrategy<Vec<(String, String)>> {
    const NAMES: &[&str] = &[
        "type",
        "id",
        "key",
        "name",
        "text",
        "data",
        "mode",
        "size",
        "content",
        "resource",
        "logprobs",
        "prompt",
        "message",
        "arguments",
        "isError",
        "is_fatal",
        "mimeType",
        "_meta",
        "annotations",
        "parent_tool_call_id",
        "toolUseId",
        "delta",
        "transcript",
        "tokens",
    ];
    let strange: Vec<&str> = NAMES
        .iter()
        .copied()
        .filter(|name| object.members.iter().all(|member| member.name != *name))
        .collect();
    let name = prop_oneof![
        prop::sample::select(strange).prop_map(str::to_owned),
        "x[a-z\u{e9}]{0,4}",
    ];
    prop_oneof![
        3 => Just(Vec::new()),
        1 => prop::collection::vec((name, json()), 1..3),
    ]
    .boxed()
}

/// An object with any members of different names.
fn members_of(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let members = prop::collection::btree_map("[a-zA-Z_/~\"\u{e9}]{0,3}", value, 0..4);
    (members, escapes(), gaps()).prop_map(|(members, escapes, gaps)| {
        let members = members
            .iter()
            .map(|(name, value)| format!("{}:{value}", spell(name, &escapes)));
        enclosed("{", members.collect(), "}", &gaps)
    })
}

/// What tells how characters are spelled, each by the next; mostly plainly.
fn escapes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        3 => Just(Vec::new()),
        1 => prop::collection::vec(0..4u8, 1..6),
    ]
}

fn spelled(text: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    (text, escapes()).prop_map(|(text, escapes)| spell(&text, &escapes))
}

/// A string in quotes; where the next escape is 3, a character that could stand for itself is escaped.
fn spell(text: &str, escapes: &[u8]) -> String {
    let mut next = escapes.iter().cycle();
    let mut spelled = String::from("\"");
    for c in text.chars() {
        let plain = next.next() != Some(&3);
        match c {
            '"' | '\\' => spelled.extend(['\\', c]),
            '/' if !plain => spelled.push_str("\\/"),
            '\n' if plain => spelled.push_str("\\n"),
            '\t' if plain => spelled.push_str("\\t"),
            c if plain && c >= ' ' => spelled.push(c),
            c => {
                let units = c.encode_utf16(&mut [0; 2]).to_vec();
                spelled.extend(units.iter().map(|unit| format!("\\u{unit:04x}")));
            }
        }
    }
    spelled.push('"');
    spelled
}

/// White space, each piece by the next; mostly none.
fn gaps() -> impl Strategy<Value = Vec<&'static str>> {
    prop_oneof![
        3 => Just(Vec::new()),
        1 => prop::collection::vec(prop::sample::select(&["", " ", "\n", "\t ", "\r\n"][..]), 1..5),
    ]
}

/// Parts with commas between them and brackets around them.
fn enclosed(open: &str, parts: Vec<String>, close: &str, gaps: &[&'static str]) -> String {
    let mut gaps = gaps.iter().copied().cycle();
    let mut gap = || gaps.next().unwrap_or_default();
    let mut text = format!("{open}{}", gap());
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            text.push(',');
            text.push_str(gap());
        }
        text.push_str(part);
        text.push_str(gap());
    }
    text.push_str(close);
    text
}
