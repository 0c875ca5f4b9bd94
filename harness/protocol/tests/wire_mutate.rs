//! Claims about named mutations.

use diverge_protocol::wire::mutate::{Mutation, MutationError, mutate};
use diverge_strategies as strategies;
use proptest::prelude::*;
use serde_json::{Value, json};

fn made(json: &str, line: &str) -> String {
    let mutation: Mutation = line
        .parse()
        .unwrap_or_else(|error| panic!("{line}: {error}"));
    assert_eq!(
        mutation.to_string(),
        line,
        "a mutation is written as it is read"
    );
    mutate(json, &mutation).unwrap_or_else(|error| panic!("{line}: {error}"))
}

#[test]
fn each_mutation_changes_its_place_and_no_other_byte() {
    let json = r#" { "a" : {"b": 1 , "c":"x"}, "l":[ 1 ,[] , {} ],"t" : true } "#;
    for (line, expected) in [
        (
            "drop /a/b",
            r#" { "a" : { "c":"x"}, "l":[ 1 ,[] , {} ],"t" : true } "#,
        ),
        (
            "drop /a/c",
            r#" { "a" : {"b": 1}, "l":[ 1 ,[] , {} ],"t" : true } "#,
        ),
        (
            "drop /l/0",
            r#" { "a" : {"b": 1 , "c":"x"}, "l":[ [] , {} ],"t" : true } "#,
        ),
        (
            "drop /l/2",
            r#" { "a" : {"b": 1 , "c":"x"}, "l":[ 1 ,[] ],"t" : true } "#,
        ),
        (
            "set /a/b -1.5e3",
            r#" { "a" : {"b": -1.5e3 , "c":"x"}, "l":[ 1 ,[] , {} ],"t" : true } "#,
        ),
        ("set 5", " 5 "),
        (
            r#"insert /a {"d":[1, 2]}"#,
            r#" { "a" : {"b": 1 , "c":"x","d":[1, 2]}, "l":[ 1 ,[] , {} ],"t" : true } "#,
        ),
        (
            r#"insert /l/2 {"d":1}"#,
            r#" { "a" : {"b": 1 , "c":"x"}, "l":[ 1 ,[] , {"d":1} ],"t" : true } "#,
        ),
        (
            "insert /l/1 7",
            r#" { "a" : {"b": 1 , "c":"x"}, "l":[ 1 ,[7] , {} ],"t" : true } "#,
        ),
        (
            r#"insert {"d":1}"#,
            r#" { "a" : {"b": 1 , "c":"x"}, "l":[ 1 ,[] , {} ],"t" : true ,"d":1} "#,
        ),
        (
            "rename /a/b q\"",
            r#" { "a" : {"q\"": 1 , "c":"x"}, "l":[ 1 ,[] , {} ],"t" : true } "#,
        ),
        (
            "repeat /a/b",
            r#" { "a" : {"b": 1,"b": 1 , "c":"x"}, "l":[ 1 ,[] , {} ],"t" : true } "#,
        ),
        (
            "repeat /l/1",
            r#" { "a" : {"b": 1 , "c":"x"}, "l":[ 1 ,[],[] , {} ],"t" : true } "#,
        ),
        (
            "null-for /t",
            r#" { "a" : {"b": 1 , "c":"x"}, "l":[ 1 ,[] , {} ],"t" : null } "#,
        ),
        (
            "array-for /a",
            r#" { "a" : [1,"x"], "l":[ 1 ,[] , {} ],"t" : true } "#,
        ),
        ("array-for", r#" [{"b": 1 , "c":"x"},[ 1 ,[] , {} ],true] "#),
        (
            "object-for /a/c",
            r#" { "a" : {"b": 1 , "c":{"x":null}}, "l":[ 1 ,[] , {} ],"t" : true } "#,
        ),
        (
            "retype /t",
            r#" { "a" : {"b": 1 , "c":"x"}, "l":[ 1 ,[] , {} ],"t" : "true" } "#,
        ),
        (
            "retype /l",
            r#" { "a" : {"b": 1 , "c":"x"}, "l":{},"t" : true } "#,
        ),
    ] {
        assert_eq!(made(json, line), expected, "{line}");
    }
    assert_eq!(made("{}", "append x y"), "{}x y");
    assert_eq!(made("{}", "prepend x"), "x{}");
    assert_eq!(made(r#"{"a":1}"#, "truncate 3"), r#"{"a""#);
    assert_eq!(made(r#"{"a":1}"#, "drop /a"), "{}");
    assert_eq!(made(r#"{"a/~":1}"#, "null-for /a~1~0"), r#"{"a/~":null}"#);
}

#[test]
fn a_mutation_that_cannot_be_read_says_what_it_takes() {
    for line in [
        "",
        "dorp /a",
        "drop",
        "drop a",
        "set /a",
        "insert /a {",
        "rename x",
        "append",
        "truncate -1",
    ] {
        assert!(line.parse::<Mutation>().is_err(), "{line}");
    }
}

#[test]
fn a_mutation_that_has_no_place_is_refused() {
    let error = |json, line: &str| mutate(json, &line.parse().expect("it reads")).expect_err(line);
    for (json, line, told) in [
        ("{}", "drop /a", "there is nothing at `/a`"),
        ("7", "drop /a", "there is nothing at `/a`"),
        ("[1]", "drop /1", "there is nothing at `/1`"),
        (
            r#"{"a":1}"#,
            "array-for /a",
            "what is at `/a` is not an object",
        ),
        (
            r#"{"a":1}"#,
            "object-for /a",
            "what is at `/a` is not a string",
        ),
        ("[1]", "rename /0 x", "what is at `/0` is not a member"),
        (
            "1",
            "insert 1",
            "what is at `` is not an object or an array",
        ),
    ] {
        assert_eq!(error(json, line).to_string(), told);
    }
    assert_eq!(error("{", "drop /a"), MutationError::NotJson);
    assert_eq!(error("\u{e9}", "truncate 1"), MutationError::NoSuchCut(1));
    assert_eq!(error("{}", "truncate 3"), MutationError::NoSuchCut(3));
}

fn any_json() -> impl Strategy<Value = Value> {
    let read = |text: String| serde_json::from_str(&text).expect("it is JSON");
    strategies::json().prop_map(read)
}

/// Every place in a value, as pointers.
fn places(value: &Value, here: String, all: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let name = name.replace('~', "~0").replace('/', "~1");
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

proptest! {
    #[test]
    fn a_mutation_does_to_the_text_what_it_says_of_the_value(
        value in any_json(),
        place in any::<prop::sample::Index>(),
        pretty in any::<bool>(),
    ) {
        let text = match pretty {
            true => serde_json::to_string_pretty(&value),
            false => serde_json::to_string(&value),
        }
        .expect("it is written");
        let mut all = Vec::new();
        places(&value, String::new(), &mut all);
        prop_assume!(!all.is_empty());
        let place = place.get(&all);
        let made = |line: String| mutate(&text, &line.parse().expect("it reads")).expect("it is made");
        let read = |text: String| serde_json::from_str::<Value>(&text).expect("it is JSON");

        let here = value.pointer(place).expect("it is there");
        prop_assert_eq!(read(made(format!("set {place} {here}"))), value.clone());

        let mut without = value.clone();
        let (parent, name) = place.rsplit_once('/').expect("a pointer");
        let name = name.replace("~1", "/").replace("~0", "~");
        match without.pointer_mut(parent) {
            Some(Value::Object(members)) => drop(members.remove(&name)),
            Some(Value::Array(elements)) => drop(elements.remove(name.parse().expect("an index"))),
            _ => prop_assert!(false, "a parent holds"),
        }
        prop_assert_eq!(read(made(format!("drop {place}"))), without);

        let mut nulled = value.clone();
        *nulled.pointer_mut(place).expect("it is there") = Value::Null;
        prop_assert_eq!(read(made(format!("null-for {place}"))), nulled);

        let repeated = made(format!("repeat {place}"));
        prop_assert!(repeated.len() > text.len());
        read(repeated);
    }

    #[test]
    fn no_line_and_no_text_makes_a_mutation_panic(
        line in "(drop|set|insert|rename|repeat|null-for|array-for|object-for|retype|append|truncate)?( ?/?[a0-9/~]{0,3}){0,2}( \\{\\}| 1)?",
        text in r#"[\[\]{}":,a0 é]{0,12}"#,
    ) {
        if let Ok(mutation) = line.parse::<Mutation>() {
            let _ = mutate(&text, &mutation);
            prop_assert_eq!(mutation.to_string().parse::<Mutation>(), Ok(mutation));
        }
    }
}

#[test]
fn a_mutation_of_the_whole_text_has_no_pointer() {
    let json = json!({"a": 1}).to_string();
    for (line, expected) in [
        ("retype", "[]"),
        ("array-for", "[1]"),
        ("null-for", "null"),
        ("set x", "x"),
    ] {
        let mutation: Mutation = line.parse().expect(line);
        assert_eq!(mutate(&json, &mutation).expect(line), expected);
    }
}
