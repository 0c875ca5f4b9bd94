//! Named mutations: one break in an otherwise well-formed JSON text, every other byte left as it is.
//!
//! A mutation is written on one line, its verb first: `drop /image/digest`, `set /memory -1`, `append x`. A place is a
//! JSON pointer; a verb without one means the whole text.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// One break.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Mutation {
    /// `drop PLACE`: take out a member or an element.
    Drop(Place),
    /// `set [PLACE] TEXT`: put text in the value's place, whether it is JSON or not.
    Set(Place, String),
    /// `insert [PLACE] JSON`: add an object's members to the object there, or one value to the array there, at its end.
    Insert(Place, String),
    /// `rename PLACE NAME`: give a member another name.
    Rename(Place, String),
    /// `repeat PLACE`: put a member or an element there twice.
    Repeat(Place),
    /// `null-for [PLACE]`: put null in the value's place.
    NullFor(Place),
    /// `array-for [PLACE]`: put the array of an object's values in its place.
    ArrayFor(Place),
    /// `object-for [PLACE]`: put an object that has a string as its one member, with null, in the string's place.
    ObjectFor(Place),
    /// `retype [PLACE]`: put a value of another kind in the value's place: a string for a number, a boolean or null, 0
    /// for a string, `{}` for an array and `[]` for an object.
    Retype(Place),
    /// `prepend TEXT`: put text in front of everything.
    Prepend(String),
    /// `append TEXT`: put text behind everything.
    Append(String),
    /// `truncate N`: take the last N bytes away.
    Truncate(usize),
}

/// A JSON pointer.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Place(Vec<String>);

/// A mutation that cannot be read, or cannot be made in a text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MutationError {
    /// The first word is none of the verbs that there are.
    #[error("`{0}` is no mutation; there are {verbs}", verbs = .1.join(", "))]
    UnknownVerb(String, Vec<&'static str>),
    /// The verb has nothing to work with.
    #[error("`{verb}` takes {takes}")]
    Arguments {
        /// The verb.
        verb: &'static str,
        /// What must follow it.
        takes: &'static str,
    },
    /// The text is not JSON, so no place can be found in it.
    #[error("the text is not JSON")]
    NotJson,
    /// There is nothing at the place.
    #[error("there is nothing at `{0}`")]
    NoSuchPlace(Place),
    /// What is at the place is of a kind that the mutation does not work on.
    #[error("what is at `{place}` is not {wanted}")]
    WrongKind {
        /// The place.
        place: Place,
        /// The kind the mutation works on.
        wanted: &'static str,
    },
    /// There are fewer bytes than are to be taken away, or the cut would split a character.
    #[error("the last {0} bytes cannot be taken away")]
    NoSuchCut(usize),
}

const VERBS: &[&str] = &[
    "drop",
    "set",
    "insert",
    "rename",
    "repeat",
    "null-for",
    "array-for",
    "object-for",
    "retype",
    "prepend",
    "append",
    "truncate",
];

impl FromStr for Mutation {
    type Err = MutationError;

    fn from_str(line: &str) -> Result<Mutation, MutationError> {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let Some(&verb) = VERBS.iter().find(|known| **known == verb) else {
            return Err(MutationError::UnknownVerb(verb.to_owned(), VERBS.to_vec()));
        };
        let wrong = |takes| MutationError::Arguments { verb, takes };
        let text = |takes| match rest {
            "" => Err(wrong(takes)),
            _ => Ok(rest.to_owned()),
        };
        let placed = |takes| match rest.split_once(' ') {
            _ if !rest.starts_with('/') => Ok((Place::default(), text(takes)?)),
            Some((place, text)) if !text.is_empty() => Ok((Place::parse(place), text.to_owned())),
            _ => Err(wrong(takes)),
        };
        let anywhere = || match rest {
            "" => Ok(Place::default()),
            place if place.starts_with('/') => Ok(Place::parse(place)),
            _ => Err(wrong("a JSON pointer or nothing")),
        };
        let below = |place: Place, takes| match place.0.is_empty() {
            true => Err(wrong(takes)),
            false => Ok(place),
        };
        const POINTER: &str = "a JSON pointer below the whole text";
        Ok(match verb {
            "drop" => Mutation::Drop(below(anywhere()?, POINTER)?),
            "repeat" => Mutation::Repeat(below(anywhere()?, POINTER)?),
            "null-for" => Mutation::NullFor(anywhere()?),
            "array-for" => Mutation::ArrayFor(anywhere()?),
            "object-for" => Mutation::ObjectFor(anywhere()?),
            "retype" => Mutation::Retype(anywhere()?),
            "set" => placed("a JSON pointer, which may be left out, and a text")
                .map(|(at, text)| Mutation::Set(at, text))?,
            "insert" => {
                let (place, json) = placed("a JSON pointer, which may be left out, and JSON")?;
                if serde_json::from_str::<&RawValue>(&json).is_err() {
                    return Err(wrong("a JSON pointer, which may be left out, and JSON"));
                }
                Mutation::Insert(place, json)
            }
            "rename" => {
                const TAKES: &str = "a JSON pointer and a name";
                let (place, name) = placed(TAKES)?;
                Mutation::Rename(below(place, TAKES)?, name)
            }
            "prepend" => Mutation::Prepend(text("a text")?),
            "append" => Mutation::Append(text("a text")?),
            _ => Mutation::Truncate(rest.parse().map_err(|_| wrong("a number of bytes"))?),
        })
    }
}

impl fmt::Display for Mutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gap = |place: &Place| if place.0.is_empty() { "" } else { " " };
        match self {
            Mutation::Drop(place) => write!(f, "drop {place}"),
            Mutation::Set(place, text) => write!(f, "set{}{place} {text}", gap(place)),
            Mutation::Insert(place, json) => write!(f, "insert{}{place} {json}", gap(place)),
            Mutation::Rename(place, name) => write!(f, "rename {place} {name}"),
            Mutation::Repeat(place) => write!(f, "repeat {place}"),
            Mutation::NullFor(place) => write!(f, "null-for{}{place}", gap(place)),
            Mutation::ArrayFor(place) => write!(f, "array-for{}{place}", gap(place)),
            Mutation::ObjectFor(place) => write!(f, "object-for{}{place}", gap(place)),
            Mutation::Retype(place) => write!(f, "retype{}{place}", gap(place)),
            Mutation::Prepend(text) => write!(f, "prepend {text}"),
            Mutation::Append(text) => write!(f, "append {text}"),
            Mutation::Truncate(bytes) => write!(f, "truncate {bytes}"),
        }
    }
}

impl Place {
    /// Reads a pointer; text in front of its first slash is passed over.
    #[must_use]
    pub fn parse(pointer: &str) -> Place {
        Place(
            pointer
                .split('/')
                .skip(1)
                .map(|name| name.replace("~1", "/").replace("~0", "~"))
                .collect(),
        )
    }

    /// Whether it is the place of the whole text.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.0.is_empty()
    }

    /// Where in JSON text the value at this place stands.
    ///
    /// # Errors
    /// When the text is not JSON, or has nothing there.
    pub fn span_in(&self, json: &str) -> Result<Range<usize>, MutationError> {
        find(json, self).map(|found| found.value)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|name| write!(f, "/{}", name.replace('~', "~0").replace('/', "~1")))
    }
}

/// Every place in JSON text, the whole text first; none where it is no JSON.
#[must_use]
pub fn places(json: &str) -> Vec<Place> {
    fn below(json: &str, here: &Place, all: &mut Vec<Place>) {
        all.push(here.clone());
        let (names, values): (Vec<String>, Vec<&RawValue>) = match Node::of(json.trim()) {
            Ok(Node::Object(members)) => members.into_iter().unzip(),
            Ok(Node::Array(elements)) => {
                let names = (0..elements.len()).map(|index| index.to_string());
                (names.collect(), elements)
            }
            _ => return,
        };
        for (name, value) in names.into_iter().zip(values) {
            let mut place = here.clone();
            place.0.push(name);
            below(value.get(), &place, all);
        }
    }
    let mut all = Vec::new();
    if serde_json::from_str::<&RawValue>(json).is_ok() {
        below(json, &Place::default(), &mut all);
    }
    all
}

/// Makes a mutation in JSON text.
///
/// # Errors
/// When the text is not JSON, or has nothing of the kind at the place.
pub fn mutate(json: &str, mutation: &Mutation) -> Result<String, MutationError> {
    let put =
        |span: Range<usize>, text: &str| [&json[..span.start], text, &json[span.end..]].concat();
    match mutation {
        Mutation::Prepend(text) => Ok([text, json].concat()),
        Mutation::Append(text) => Ok([json, text].concat()),
        Mutation::Truncate(bytes) => {
            let end = json.len().checked_sub(*bytes);
            end.and_then(|end| json.get(..end))
                .map(str::to_owned)
                .ok_or(MutationError::NoSuchCut(*bytes))
        }
        Mutation::Drop(place) => find(json, place).map(|found| put(found.removal, "")),
        Mutation::Set(place, text) => find(json, place).map(|found| put(found.value, text)),
        Mutation::NullFor(place) => find(json, place).map(|found| put(found.value, "null")),
        Mutation::Repeat(place) => {
            let found = find(json, place)?;
            let again = format!(",{}", &json[found.whole]);
            Ok(put(found.value.end..found.value.end, &again))
        }
        Mutation::Rename(place, name) => {
            let found = find(json, place)?;
            let key = found.key.ok_or_else(|| wrong_kind(place, "a member"))?;
            Ok(put(
                key,
                &serde_json::Value::from(name.as_str()).to_string(),
            ))
        }
        Mutation::Insert(place, more) => {
            let value = find(json, place)?.value;
            let (inner, empty) = match Node::of(&json[value.clone()])? {
                Node::Object(members) => (inside(more, place)?, members.is_empty()),
                Node::Array(elements) => (more.as_str(), elements.is_empty()),
                Node::Scalar => return Err(wrong_kind(place, "an object or an array")),
            };
            let comma = if empty { "" } else { "," };
            Ok(put(
                value.end - 1..value.end - 1,
                &format!("{comma}{inner}"),
            ))
        }
        Mutation::ArrayFor(place) => {
            let value = find(json, place)?.value;
            let Node::Object(members) = Node::of(&json[value.clone()])? else {
                return Err(wrong_kind(place, "an object"));
            };
            let values: Vec<&str> = members.iter().map(|(_, raw)| raw.get()).collect();
            Ok(put(value, &format!("[{}]", values.join(","))))
        }
        Mutation::ObjectFor(place) => {
            let value = find(json, place)?.value;
            let text = &json[value.clone()];
            match text.starts_with('"') {
                true => Ok(put(value, &format!("{{{text}:null}}"))),
                false => Err(wrong_kind(place, "a string")),
            }
        }
        Mutation::Retype(place) => {
            let value = find(json, place)?.value;
            let text = &json[value.clone()];
            Ok(put(
                value,
                &match text.as_bytes().first() {
                    Some(b'"') => "0".to_owned(),
                    Some(b'{') => "[]".to_owned(),
                    Some(b'[') => "{}".to_owned(),
                    _ => format!("\"{text}\""),
                },
            ))
        }
    }
}

fn wrong_kind(place: &Place, wanted: &'static str) -> MutationError {
    MutationError::WrongKind {
        place: place.clone(),
        wanted,
    }
}

/// The members of an object's text, without its braces.
fn inside<'a>(object: &'a str, place: &Place) -> Result<&'a str, MutationError> {
    let trimmed = object.trim();
    trimmed
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'))
        .map(str::trim)
        .filter(|members| !members.is_empty())
        .ok_or_else(|| {
            wrong_kind(
                place,
                "an array, so the text must be an object with members",
            )
        })
}

/// Where a value stands in a text.
struct Found {
    value: Range<usize>,
    /// The member's name with its quotes.
    key: Option<Range<usize>>,
    /// The member with its name, or the element.
    whole: Range<usize>,
    /// The same with the one comma that goes with it.
    removal: Range<usize>,
}

fn find(json: &str, place: &Place) -> Result<Found, MutationError> {
    let all = span_in(json, json.trim_matches([' ', '\t', '\r', '\n']));
    if serde_json::from_str::<&RawValue>(json).is_err() {
        return Err(MutationError::NotJson);
    }
    let mut found = Found {
        value: all.clone(),
        key: None,
        whole: all.clone(),
        removal: all,
    };
    for name in &place.0 {
        found = child(json, found.value, name)?
            .ok_or_else(|| MutationError::NoSuchPlace(place.clone()))?;
    }
    Ok(found)
}

fn child(json: &str, parent: Range<usize>, name: &str) -> Result<Option<Found>, MutationError> {
    let node = Node::of(&json[parent.clone()])?;
    let (values, index, named): (Vec<Range<usize>>, _, _) = match &node {
        Node::Object(members) => (
            members
                .iter()
                .map(|(_, raw)| span_in(json, raw.get()))
                .collect(),
            members.iter().position(|(key, _)| key == name),
            true,
        ),
        Node::Array(elements) => (
            elements
                .iter()
                .map(|raw| span_in(json, raw.get()))
                .collect(),
            name.parse().ok(),
            false,
        ),
        Node::Scalar => return Ok(None),
    };
    let Some(index) = index.filter(|index| *index < values.len()) else {
        return Ok(None);
    };
    let value = values[index].clone();
    let before = if index == 0 {
        parent.start + 1
    } else {
        values[index - 1].end
    };
    let key = named.then(|| {
        let gap = &json[before..value.start];
        let from = gap.find('"').unwrap_or_default();
        let to = gap.rfind('"').unwrap_or_default() + 1;
        before + from..before + to
    });
    let whole = key.as_ref().map_or(value.start, |key| key.start)..value.end;
    // The first loses the comma behind it, any other the comma in front.
    let removal = match values.get(1) {
        Some(next) if index == 0 => {
            let comma = json[value.end..next.start]
                .find(',')
                .map_or(value.end, |comma| value.end + comma + 1);
            whole.start..comma
        }
        _ if index == 0 => whole.clone(),
        _ => before..value.end,
    };
    Ok(Some(Found {
        value,
        key,
        whole,
        removal,
    }))
}

/// The place of a part of a text in it.
fn span_in(text: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr() as usize - text.as_ptr() as usize;
    start..start + part.len()
}

enum Node<'a> {
    Object(Vec<(String, &'a RawValue)>),
    Array(Vec<&'a RawValue>),
    Scalar,
}

impl<'a> Node<'a> {
    fn of(text: &'a str) -> Result<Node<'a>, MutationError> {
        match text.as_bytes().first() {
            Some(b'{' | b'[') => serde_json::from_str(text).map_err(|_| MutationError::NotJson),
            _ => Ok(Node::Scalar),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Node<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Node<'a>, D::Error> {
        struct Nodes;

        impl<'de> Visitor<'de> for Nodes {
            type Value = Node<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object or an array")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Node::Object(members))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Node<'de>, A::Error> {
                let mut elements = Vec::new();
                while let Some(element) = seq.next_element()? {
                    elements.push(element);
                }
                Ok(Node::Array(elements))
            }
        }

        deserializer.deserialize_any(Nodes)
    }
}
