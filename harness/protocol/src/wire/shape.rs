//! One strict reader of JSON, driven by static descriptions of what a place allows.
//!
//! serde's derived readers take an array for a struct and an object for a string constant, and serde_json's
//! messages quote what they reject. This reader interprets a [`Shape`] over serde_json's stream instead: it allows
//! only the kinds that the shape names, keeps nothing, and reports the rule, the place and the kind found.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use rust_decimal::Decimal;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::{Malformed, Rule};

/// What one place in a JSON text allows.
#[derive(Debug)]
pub enum Shape {
    /// Any one value.
    Any,
    /// An object with any members, repeated ones included.
    AnyObject,
    /// An object with these members.
    Object(&'static Object),
    /// An object whose tag says which of several it is.
    Tagged(&'static Tagged),
    /// An array of one shape.
    Array(&'static Shape),
    /// A string.
    Str,
    /// Anything, but only a string counts as being there: one leg of a choice between members.
    OnlyAStringCounts,
    /// True or false.
    Bool,
    /// An integer from 0 to 255.
    U8,
    /// An integer from 0 to 2^32 - 1.
    U32,
    /// An integer from 0 to 2^64 - 1.
    U64,
    /// A signed integer of 64 bits.
    I64,
    /// A number.
    Number,
    /// A number or a string that `rust_decimal` reads.
    Decimal,
    /// One of these strings.
    Const(&'static [&'static str]),
}

/// An object's members, and what it does about others.
#[derive(Debug)]
pub struct Object {
    /// The members, in groups so that objects can have groups in common. At most 32 in all.
    pub groups: &'static [&'static [Member]],
    /// Whether a member that is in no group is an error.
    pub closed: bool,
    /// Of these members at least one must be there; empty asks for nothing.
    pub any_of: &'static [&'static str],
}

impl Object {
    /// An object that ignores members it does not know.
    pub const fn open(groups: &'static [&'static [Member]]) -> Object {
        Object {
            groups,
            closed: false,
            any_of: &[],
        }
    }

    /// An object that forbids members it does not know.
    pub const fn closed(groups: &'static [&'static [Member]]) -> Object {
        Object {
            groups,
            closed: true,
            any_of: &[],
        }
    }

    fn members(&self) -> impl Iterator<Item = (usize, &'static Member)> {
        self.groups
            .iter()
            .flat_map(|group| group.iter())
            .enumerate()
    }

    fn find(&self, name: &str) -> Option<(usize, &'static Member)> {
        self.members().find(|(_, member)| member.name == name)
    }
}

/// One member of an object.
#[derive(Debug)]
pub struct Member {
    /// Its name.
    pub name: &'static str,
    /// What its value may be.
    pub shape: Shape,
    /// Whether it must be there. One that need not may also be null, which is the same as absent.
    pub required: bool,
}

/// A member that must be there.
pub const fn required(name: &'static str, shape: Shape) -> Member {
    Member {
        name,
        shape,
        required: true,
    }
}

/// A member that may be absent or null.
pub const fn optional(name: &'static str, shape: Shape) -> Member {
    Member {
        name,
        shape,
        required: false,
    }
}

/// An object that is one of several, told apart by a string member.
#[derive(Debug)]
pub struct Tagged {
    /// The member that tells; each variant lists it as its own first member.
    pub tag: &'static str,
    /// The tag's values in words, for an error.
    pub expected: &'static str,
    /// The objects by the tag's value.
    pub variants: &'static [(&'static str, Object)],
}

/// Takes JSON text out of bytes: UTF-8 without a byte order mark.
///
/// # Errors
/// [`Rule::JsonEncoding`].
pub fn text(bytes: &[u8]) -> Result<&str, Malformed> {
    const ALLOWED: &str = "UTF-8 without a byte order mark";
    let text = std::str::from_utf8(bytes).map_err(|error| {
        Malformed::bytes(
            Rule::JsonEncoding,
            error.valid_up_to(),
            ALLOWED,
            "bytes that are not UTF-8",
        )
    })?;
    if text.starts_with('\u{feff}') {
        return Err(Malformed::bytes(
            Rule::JsonEncoding,
            0,
            ALLOWED,
            "a byte order mark",
        ));
    }
    Ok(text)
}

impl Shape {
    /// Judges that the bytes are exactly one JSON value of this shape, JSON whitespace around it aside.
    ///
    /// # Errors
    /// The first rule broken, in the order of the text.
    pub fn judge(&'static self, bytes: &[u8]) -> Result<(), Malformed> {
        self.judge_text(text(bytes)?).map(|_| ())
    }

    /// Judges, then reads into a value of `T`, which must want no more than the shape promises.
    ///
    /// # Errors
    /// Those of [`judge`](Self::judge), and [`Rule::JsonDepth`] or [`Rule::JsonNumberRange`] for what judging lets
    /// through but no value can hold.
    pub fn read<T: DeserializeOwned>(&'static self, bytes: &[u8]) -> Result<T, Malformed> {
        self.borrow(text(bytes)?)
    }

    /// Judges, then reads into a value that borrows from the text. Errors as with [`read`](Self::read).
    pub(crate) fn borrow<'de, T: Deserialize<'de>>(
        &'static self,
        text: &'de str,
    ) -> Result<T, Malformed> {
        self.judge_text(text)?;
        serde_json::from_str(text).map_err(|error| Judge::new(text).verdict(&error))
    }

    /// Judges text, and returns which variant the outermost tagged object is.
    pub(crate) fn judge_text(&'static self, text: &str) -> Result<Option<usize>, Malformed> {
        let mut judge = Judge::new(text);
        let mut stream = serde_json::Deserializer::from_str(text);
        Reader {
            shape: self,
            nullable: false,
            judge: &mut judge,
        }
        .deserialize(&mut stream)
        .and_then(|_| stream.end())
        .map_err(|error| judge.verdict(&error))?;
        Ok(judge.variant)
    }
}

/// What is wrong, before it has a place.
struct Fault {
    rule: Rule,
    expected: Cow<'static, str>,
    found: &'static str,
}

impl Fault {
    /// serde_json's own verdict, by its fixed opening words only: the rest may quote the text.
    fn of(error: &serde_json::Error) -> Fault {
        let message = error.to_string();
        let (rule, expected, found) = if message.starts_with("trailing characters") {
            (
                Rule::JsonTrailing,
                "nothing behind the JSON value",
                "more text",
            )
        } else if message.starts_with("recursion limit exceeded") {
            (
                Rule::JsonDepth,
                "values nested at most 127 deep",
                "deeper ones",
            )
        } else if message.starts_with("number out of range") {
            (
                Rule::JsonNumberRange,
                "a number that a double can hold",
                "one beyond",
            )
        } else if error.is_eof() {
            (
                Rule::JsonSyntax,
                "one whole JSON value",
                "the end of the text",
            )
        } else {
            (Rule::JsonSyntax, "one JSON value", "text that is not JSON")
        };
        Fault {
            rule,
            expected: expected.into(),
            found,
        }
    }
}

enum Step {
    Name(&'static str),
    Index(usize),
    Hidden,
}

/// The state of one judging: nothing but the first fault and its place, inside out.
struct Judge<'t> {
    text: &'t str,
    fault: Option<Fault>,
    offset: Option<usize>,
    path: Vec<Step>,
    variant: Option<usize>,
}

impl<'t> Judge<'t> {
    fn new(text: &'t str) -> Judge<'t> {
        Judge {
            text,
            fault: None,
            offset: None,
            path: Vec::new(),
            variant: None,
        }
    }

    fn fail<E: serde::de::Error>(
        &mut self,
        rule: Rule,
        expected: impl Into<Cow<'static, str>>,
        found: &'static str,
    ) -> E {
        self.fault = Some(Fault {
            rule,
            expected: expected.into(),
            found,
        });
        E::custom("")
    }

    fn fail_at<E: serde::de::Error>(
        &mut self,
        step: Step,
        rule: Rule,
        expected: impl Into<Cow<'static, str>>,
        found: &'static str,
    ) -> E {
        self.path.push(step);
        self.fail(rule, expected, found)
    }

    fn verdict(&mut self, error: &serde_json::Error) -> Malformed {
        let fault = self.fault.take().unwrap_or_else(|| Fault::of(error));
        let mut pointer = String::new();
        for step in self.path.iter().rev() {
            pointer.push('/');
            match step {
                Step::Name(name) => pointer.push_str(name),
                Step::Index(index) => pointer.push_str(&index.to_string()),
                Step::Hidden => pointer.push('*'),
            }
        }
        Malformed {
            rule: fault.rule,
            pointer,
            offset: self.offset.or_else(|| offset_of(self.text, error)),
            expected: fault.expected,
            found: fault.found.into(),
        }
    }

    /// Reads a member's value that was set aside before the object's tag was known.
    fn set_aside<E: serde::de::Error>(
        &mut self,
        member: &'static Member,
        raw: &RawValue,
    ) -> Result<bool, E> {
        let mut stream = serde_json::Deserializer::from_str(raw.get());
        Reader {
            shape: &member.shape,
            nullable: !member.required,
            judge: self,
        }
        .deserialize(&mut stream)
        .map_err(|error| {
            if self.fault.is_none() {
                self.fault = Some(Fault::of(&error));
            }
            let start = (raw.get().as_ptr() as usize).checked_sub(self.text.as_ptr() as usize);
            let within = offset_of(raw.get(), &error);
            self.offset = self.offset.or_else(|| Some(start? + within?));
            E::custom("")
        })
    }
}

/// Where serde_json stopped, in bytes: it counts lines from 1 and the bytes of a line.
fn offset_of(text: &str, error: &serde_json::Error) -> Option<usize> {
    let line: usize = match error.line() {
        0 => return None,
        line => text
            .split_inclusive('\n')
            .take(line - 1)
            .map(str::len)
            .sum(),
    };
    Some(line + error.column())
}

/// Reads one value; its answer is whether the value counts as being there.
struct Reader<'j, 't> {
    shape: &'static Shape,
    nullable: bool,
    judge: &'j mut Judge<'t>,
}

impl<'de> DeserializeSeed<'de> for Reader<'_, '_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        match self.shape {
            Shape::Any => deserializer
                .deserialize_ignored_any(IgnoredAny)
                .map(|_| true),
            Shape::Decimal => {
                let raw = <&RawValue>::deserialize(deserializer)?.get();
                match raw {
                    "null" if self.nullable => Ok(false),
                    _ if is_decimal(raw) => Ok(true),
                    _ => Err(self.judge.fail(
                        Rule::DecimalExpected,
                        "a decimal, as a number or a string",
                        kind_of(raw),
                    )),
                }
            }
            _ => deserializer.deserialize_any(self),
        }
    }
}

/// Whether `rust_decimal` reads the value, a number by its digits rather than through a double.
fn is_decimal(raw: &str) -> bool {
    decimal(raw).is_some()
}

/// The decimal that a raw JSON number or string is, with every digit that a decimal can keep.
pub(crate) fn decimal(raw: &str) -> Option<Decimal> {
    let parse = |text: &str| {
        Decimal::from_str(text)
            .or_else(|_| Decimal::from_scientific(text))
            .ok()
    };
    match raw.as_bytes().first()? {
        b'"' => match raw.contains('\\') {
            false => parse(raw.get(1..raw.len() - 1)?),
            true => parse(&serde_json::from_str::<String>(raw).ok()?),
        },
        // A tiny number in scientific form has no decimal of its own, but rounds to one.
        b'-' | b'0'..=b'9' => {
            parse(raw).or_else(|| Decimal::from_str(&raw.parse::<f64>().ok()?.to_string()).ok())
        }
        _ => None,
    }
}

fn kind_of(raw: &str) -> &'static str {
    match raw.as_bytes().first() {
        Some(b'"') => "a string",
        Some(b'{') => "an object",
        Some(b'[') => "an array",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        _ => "a number",
    }
}

impl Reader<'_, '_> {
    fn other<E: serde::de::Error>(self, found: &'static str) -> Result<bool, E> {
        let (rule, expected) = match self.shape {
            // Read without a visitor, or satisfied by anything.
            Shape::Any | Shape::Decimal => return Ok(true),
            Shape::OnlyAStringCounts => return Ok(false),
            Shape::AnyObject | Shape::Object(_) | Shape::Tagged(_) => {
                (Rule::ObjectExpected, "an object")
            }
            Shape::Array(_) => (Rule::ArrayExpected, "an array"),
            Shape::Str => (Rule::StringExpected, "a string"),
            Shape::Bool => (Rule::BoolExpected, "true or false"),
            Shape::U8 => (Rule::ByteExpected, "an integer from 0 to 255"),
            Shape::U32 => (Rule::Unsigned32Expected, "an integer from 0 to 4294967295"),
            Shape::U64 => (
                Rule::UnsignedExpected,
                "an integer from 0 to 18446744073709551615",
            ),
            Shape::I64 => (Rule::IntegerExpected, "an integer of 64 bits"),
            Shape::Number => (Rule::NumberExpected, "a number"),
            Shape::Const(_) => (Rule::StringExpected, "a string"),
        };
        Err(self.judge.fail(rule, expected, found))
    }

    fn members<'de, A: MapAccess<'de>>(
        &mut self,
        object: &'static Object,
        map: &mut A,
        mut seen: Seen,
    ) -> Result<bool, A::Error> {
        while let Some(key) = map.next_key_seed(Key(object))? {
            match key {
                Some((index, member)) => {
                    self.once(&mut seen, index, member)?;
                    let reader = Reader {
                        shape: &member.shape,
                        nullable: !member.required,
                        judge: self.judge,
                    };
                    match map.next_value_seed(reader) {
                        Ok(counts) => seen.counts(index, counts),
                        Err(error) => {
                            self.judge.path.push(Step::Name(member.name));
                            return Err(error);
                        }
                    }
                }
                None => {
                    self.unknown(object)?;
                    map.next_value::<IgnoredAny>()
                        .inspect_err(|_| self.judge.path.push(Step::Hidden))?;
                }
            }
        }
        for (index, member) in object.members() {
            if member.required && !seen.has(index) {
                return Err(self.judge.fail_at(
                    Step::Name(member.name),
                    Rule::MemberMissing,
                    "this member",
                    "none",
                ));
            }
        }
        let any = |name: &&str| {
            object
                .find(name)
                .is_some_and(|(index, _)| seen.counted(index))
        };
        if !object.any_of.is_empty() && !object.any_of.iter().any(any) {
            let expected = format!("at least one of {}", object.any_of.join(", "));
            return Err(self
                .judge
                .fail(Rule::MemberMissing, expected, "an object without them"));
        }
        Ok(true)
    }

    fn once<E: serde::de::Error>(
        &mut self,
        seen: &mut Seen,
        index: usize,
        member: &'static Member,
    ) -> Result<(), E> {
        if seen.has(index) {
            return Err(self.judge.fail_at(
                Step::Name(member.name),
                Rule::MemberRepeated,
                "this member once",
                "it again",
            ));
        }
        seen.note(index);
        Ok(())
    }

    fn unknown<E: serde::de::Error>(&mut self, object: &'static Object) -> Result<(), E> {
        match object.closed {
            true => Err(self.judge.fail_at(
                Step::Hidden,
                Rule::MemberUnknown,
                "no other member",
                "a member of another name",
            )),
            false => Ok(()),
        }
    }

    fn tagged<'de, A: MapAccess<'de>>(
        &mut self,
        tagged: &'static Tagged,
        mut map: A,
    ) -> Result<bool, A::Error> {
        let mut aside: Vec<(Cow<'de, str>, &'de RawValue)> = Vec::new();
        let variant = loop {
            match map.next_key_seed(Text)? {
                None => {
                    return Err(self.judge.fail_at(
                        Step::Name(tagged.tag),
                        Rule::MemberMissing,
                        tagged.expected,
                        "none",
                    ));
                }
                Some(name) if name == tagged.tag => {
                    let tag = Tag {
                        tagged,
                        judge: self.judge,
                    };
                    break map
                        .next_value_seed(tag)
                        .inspect_err(|_| self.judge.path.push(Step::Name(tagged.tag)))?;
                }
                Some(name) => {
                    let raw = map
                        .next_value()
                        .inspect_err(|_| self.judge.path.push(Step::Hidden))?;
                    aside.push((name, raw));
                }
            }
        };
        let (_, object) = &tagged.variants[variant];
        let mut seen = Seen::default();
        seen.note(0);
        for (name, raw) in aside {
            match object.find(&name) {
                Some((index, member)) => {
                    self.once(&mut seen, index, member)?;
                    match self.judge.set_aside(member, raw) {
                        Ok(counts) => seen.counts(index, counts),
                        Err(error) => {
                            self.judge.path.push(Step::Name(member.name));
                            return Err(error);
                        }
                    }
                }
                None => self.unknown(object)?,
            }
        }
        self.judge.variant.get_or_insert(variant);
        self.members(object, &mut map, seen)
    }
}

/// Which members an object had so far, and which of them count.
#[derive(Default)]
struct Seen {
    present: u32,
    counted: u32,
}

impl Seen {
    fn has(&self, index: usize) -> bool {
        self.present & (1 << index) != 0
    }

    fn note(&mut self, index: usize) {
        self.present |= 1 << index;
    }

    fn counts(&mut self, index: usize, counts: bool) {
        self.counted |= u32::from(counts) << index;
    }

    fn counted(&self, index: usize) -> bool {
        self.counted & (1 << index) != 0
    }
}

impl<'de> Visitor<'de> for Reader<'_, '_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("another value")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<bool, A::Error> {
        match self.shape {
            Shape::Object(object) => self.members(object, &mut map, Seen::default()),
            Shape::Tagged(tagged) => self.tagged(tagged, map),
            Shape::AnyObject | Shape::OnlyAStringCounts => {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(matches!(self.shape, Shape::AnyObject))
            }
            _ => self.other("an object"),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<bool, A::Error> {
        match self.shape {
            Shape::Array(shape) => {
                let mut index = 0;
                loop {
                    match seq.next_element_seed(Reader {
                        shape,
                        nullable: false,
                        judge: self.judge,
                    }) {
                        Ok(None) => return Ok(true),
                        Ok(Some(_)) => index += 1,
                        Err(error) => {
                            self.judge.path.push(Step::Index(index));
                            return Err(error);
                        }
                    }
                }
            }
            Shape::OnlyAStringCounts => {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(false)
            }
            _ => self.other("an array"),
        }
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<bool, E> {
        match self.shape {
            Shape::Str | Shape::OnlyAStringCounts => Ok(true),
            Shape::Const(allowed) if allowed.contains(&value) => Ok(true),
            Shape::Const(allowed) => {
                let expected = format!("one of {}", allowed.join(", "));
                Err(self
                    .judge
                    .fail(Rule::ConstantExpected, expected, "another string"))
            }
            _ => self.other("a string"),
        }
    }

    fn visit_bool<E: serde::de::Error>(self, _: bool) -> Result<bool, E> {
        match self.shape {
            Shape::Bool => Ok(true),
            _ => self.other("a boolean"),
        }
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<bool, E> {
        match self.shape {
            Shape::Number | Shape::U64 => Ok(true),
            Shape::U8 if u8::try_from(value).is_ok() => Ok(true),
            Shape::U32 if u32::try_from(value).is_ok() => Ok(true),
            Shape::I64 if i64::try_from(value).is_ok() => Ok(true),
            Shape::U8 | Shape::U32 | Shape::I64 => self.other("an integer beyond that"),
            _ => self.other("a number"),
        }
    }

    fn visit_i64<E: serde::de::Error>(self, _: i64) -> Result<bool, E> {
        match self.shape {
            Shape::Number | Shape::I64 => Ok(true),
            Shape::U8 | Shape::U32 | Shape::U64 => self.other("a negative integer"),
            _ => self.other("a number"),
        }
    }

    fn visit_f64<E: serde::de::Error>(self, _: f64) -> Result<bool, E> {
        match self.shape {
            Shape::Number => Ok(true),
            Shape::U8 | Shape::U32 | Shape::U64 | Shape::I64 => {
                self.other("a number that is no such integer")
            }
            _ => self.other("a number"),
        }
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<bool, E> {
        match self.nullable {
            true => Ok(false),
            false => self.other("null"),
        }
    }
}

/// Reads a member's name as the member it is.
struct Key(&'static Object);

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Option<(usize, &'static Member)>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key {
    type Value = Option<(usize, &'static Member)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a member name")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.0.find(name))
    }
}

/// Reads a string, borrowed where it has no escape.
struct Text;

impl<'de> DeserializeSeed<'de> for Text {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Text {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a member name")
    }

    fn visit_borrowed_str<E: serde::de::Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

/// Reads a tag as the place of its variant.
struct Tag<'j, 't> {
    tagged: &'static Tagged,
    judge: &'j mut Judge<'t>,
}

impl<'de> DeserializeSeed<'de> for Tag<'_, '_> {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<usize, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?.get();
        if !raw.starts_with('"') {
            return Err(self
                .judge
                .fail(Rule::StringExpected, self.tagged.expected, kind_of(raw)));
        }
        // An escaped spelling of a tag is still that tag.
        let spelled = match raw.contains('\\') {
            true => serde_json::from_str::<String>(raw)
                .map(Cow::Owned)
                .map_err(D::Error::custom)?,
            false => Cow::Borrowed(raw.trim_matches('"')),
        };
        match self
            .tagged
            .variants
            .iter()
            .position(|(tag, _)| *tag == spelled)
        {
            Some(variant) => Ok(variant),
            None => Err(self.judge.fail(
                Rule::ConstantExpected,
                self.tagged.expected,
                "another string",
            )),
        }
    }
}
