//! The strict reader: a [`Shape`] interpreted over serde_json's stream.
//!
//! It keeps nothing on the way. Only once something is wrong does it note the fault, and on the way out the place:
//! a serde error serves to unwind, never to tell, since serde_json's messages quote what they reject.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::logprob;
use super::shape::{Member, Object, Shape, Tagged};
use super::{Malformed, Rule};

/// What a value came to: nothing where it does not count as being there, else the place of its variant, or 0.
type Reading = Option<usize>;

/// Judges that the text is exactly one JSON value of the shape.
pub(super) fn judge(shape: &'static Shape, text: &str) -> Result<Reading, Malformed> {
    let mut judge = Judge::new(text);
    let mut stream = serde_json::Deserializer::from_str(text);
    let reading = judge.reader(shape, false).deserialize(&mut stream);
    reading
        .and_then(|reading| stream.end().map(|()| reading))
        .map_err(|error| judge.verdict(&error))
}

/// Reads text that was judged already into a value.
pub(super) fn parse<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, Malformed> {
    serde_json::from_str(text).map_err(|error| Judge::new(text).verdict(&error))
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

/// One step of a JSON pointer.
enum Step {
    Name(&'static str),
    Index(usize),
    /// A member whose name is none of the schema's, and so is not told.
    Hidden,
}

/// The state of one judging: the first fault, and its place from the inside out.
struct Judge<'t> {
    text: &'t str,
    fault: Option<Fault>,
    offset: Option<usize>,
    path: Vec<Step>,
}

impl<'t> Judge<'t> {
    fn new(text: &'t str) -> Judge<'t> {
        Judge {
            text,
            fault: None,
            offset: None,
            path: Vec::new(),
        }
    }

    fn reader(&mut self, shape: &'static Shape, nullable: bool) -> Reader<'_, 't> {
        Reader {
            shape,
            nullable,
            judge: self,
        }
    }

    fn member(&mut self, member: &'static Member) -> Reader<'_, 't> {
        self.reader(&member.shape, !member.required)
    }

    fn fail<E: Error>(
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

    /// Passes a value on, or notes on the way out where it stood.
    fn at<T, E>(&mut self, step: Step, result: Result<T, E>) -> Result<T, E> {
        result.inspect_err(|_| self.path.push(step))
    }

    /// Reads a member's value that was set aside before the object's tag was known.
    fn set_aside<E: Error>(
        &mut self,
        member: &'static Member,
        raw: &RawValue,
    ) -> Result<Reading, E> {
        let mut stream = serde_json::Deserializer::from_str(raw.get());
        self.member(member)
            .deserialize(&mut stream)
            .map_err(|error| {
                let start = (raw.get().as_ptr() as usize).checked_sub(self.text.as_ptr() as usize);
                let within = offset_of(raw.get(), &error);
                self.offset = self.offset.or_else(|| Some(start? + within?));
                self.fault.get_or_insert_with(|| Fault::of(&error));
                E::custom("")
            })
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
}

/// Where serde_json stopped, in bytes: it counts lines from 1 and the bytes of a line.
fn offset_of(text: &str, error: &serde_json::Error) -> Option<usize> {
    let line = error.line().checked_sub(1)?;
    let before: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    Some(before + error.column())
}

/// The kind of a value, by its first byte.
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

/// Reads one value.
struct Reader<'j, 't> {
    shape: &'static Shape,
    nullable: bool,
    judge: &'j mut Judge<'t>,
}

impl<'de> DeserializeSeed<'de> for Reader<'_, '_> {
    type Value = Reading;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Reading, D::Error> {
        match self.shape {
            Shape::Any => IgnoredAny::deserialize(deserializer).map(|_| Some(0)),
            Shape::Decimal => match <&RawValue>::deserialize(deserializer)?.get() {
                "null" if self.nullable => Ok(None),
                raw if logprob::is_decimal(raw) => Ok(Some(0)),
                raw => self.other(kind_of(raw)),
            },
            _ => deserializer.deserialize_any(self),
        }
    }
}

impl Reader<'_, '_> {
    /// The answer to a value of a kind that the shape does not name.
    fn other<E: Error>(self, found: &'static str) -> Result<Reading, E> {
        let (rule, expected) = match self.shape {
            Shape::Any | Shape::OnlyAStringCounts => return Ok(None),
            Shape::AnyObject | Shape::Object(_) | Shape::Tagged(_) => {
                (Rule::ObjectExpected, "an object")
            }
            Shape::Array(_) => (Rule::ArrayExpected, "an array"),
            Shape::Str | Shape::Const(_) => (Rule::StringExpected, "a string"),
            Shape::Bool => (Rule::BoolExpected, "true or false"),
            Shape::U8 => (Rule::ByteExpected, "an integer from 0 to 255"),
            Shape::U32 => (Rule::Unsigned32Expected, "an integer from 0 to 4294967295"),
            Shape::U64 => (
                Rule::UnsignedExpected,
                "an integer from 0 to 18446744073709551615",
            ),
            Shape::I64 => (Rule::IntegerExpected, "an integer of 64 bits"),
            Shape::Number => (Rule::NumberExpected, "a number"),
            Shape::Decimal => (Rule::DecimalExpected, "a decimal, as a number or a string"),
        };
        Err(self.judge.fail(rule, expected, found))
    }

    /// Reads an object's members, or the rest of them after those seen.
    fn members<'de, A: MapAccess<'de>>(
        &mut self,
        object: &'static Object,
        map: &mut A,
        mut seen: Seen,
    ) -> Result<(), A::Error> {
        let mut likely = seen.present.count_ones() as usize;
        while let Some(found) = map.next_key_seed(Key { object, likely })? {
            match found.and_then(|index| Some((index, object.members.get(index)?))) {
                Some((index, member)) => {
                    self.once(&mut seen, index, member)?;
                    let value = map.next_value_seed(self.judge.member(member));
                    seen.read(index, self.judge.at(Step::Name(member.name), value)?);
                    likely = index + 1;
                }
                None => {
                    self.unknown(object)?;
                    let value = map.next_value::<IgnoredAny>();
                    self.judge.at(Step::Hidden, value)?;
                }
            }
        }
        self.complete(object, &seen)
    }

    fn once<E: Error>(
        &mut self,
        seen: &mut Seen,
        index: usize,
        member: &'static Member,
    ) -> Result<(), E> {
        if seen.note(index) {
            return Ok(());
        }
        let again = self
            .judge
            .fail(Rule::MemberRepeated, "this member once", "it again");
        self.judge.at(Step::Name(member.name), Err(again))
    }

    fn unknown<E: Error>(&mut self, object: &'static Object) -> Result<(), E> {
        if !object.closed {
            return Ok(());
        }
        let other = self.judge.fail(
            Rule::MemberUnknown,
            "no other member",
            "a member of another name",
        );
        self.judge.at(Step::Hidden, Err(other))
    }

    fn complete<E: Error>(&mut self, object: &'static Object, seen: &Seen) -> Result<(), E> {
        if let Some(member) = object.missing(seen.present) {
            let none = self.judge.fail(Rule::MemberMissing, "this member", "none");
            return self.judge.at(Step::Name(member.name), Err(none));
        }
        let counts = |name: &&str| object.find(name, 0).is_some_and(|index| seen.counts(index));
        if object.any_of.is_empty() || object.any_of.iter().any(counts) {
            return Ok(());
        }
        let expected = format!("at least one of {}", object.any_of.join(", "));
        Err(self
            .judge
            .fail(Rule::MemberMissing, expected, "an object without them"))
    }

    /// Reads a tagged object in one pass when the tag comes first; members in front of it are set aside.
    fn tagged<'de, A: MapAccess<'de>>(
        &mut self,
        tagged: &'static Tagged,
        mut map: A,
    ) -> Result<usize, A::Error> {
        let mut aside: Vec<(Cow<'de, str>, &'de RawValue)> = Vec::new();
        let variant = loop {
            match map.next_key_seed(Text)? {
                Some(name) if name == tagged.tag => {
                    let judge = &mut *self.judge;
                    let variant = map.next_value_seed(Tag { tagged, judge });
                    break self.judge.at(Step::Name(tagged.tag), variant)?;
                }
                Some(name) => {
                    let raw = map.next_value();
                    aside.push((name, self.judge.at(Step::Hidden, raw)?));
                }
                None => {
                    let none = self
                        .judge
                        .fail(Rule::MemberMissing, tagged.expected, "none");
                    return self.judge.at(Step::Name(tagged.tag), Err(none));
                }
            }
        };
        let (_, object) = &tagged.variants[variant];
        let mut seen = Seen::default();
        seen.note(0);
        for (name, raw) in aside {
            match object
                .find(&name, 0)
                .and_then(|index| Some((index, object.members.get(index)?)))
            {
                Some((index, member)) => {
                    self.once(&mut seen, index, member)?;
                    let value = self.judge.set_aside(member, raw);
                    seen.read(index, self.judge.at(Step::Name(member.name), value)?);
                }
                None => self.unknown(object)?,
            }
        }
        self.members(object, &mut map, seen)?;
        Ok(variant)
    }
}

/// Which members an object had so far, and which of them count.
#[derive(Default)]
struct Seen {
    present: u32,
    counting: u32,
}

impl Seen {
    /// Notes a member, and says whether this is the first time.
    fn note(&mut self, index: usize) -> bool {
        let first = !self.present(index);
        self.present |= 1 << index;
        first
    }

    fn read(&mut self, index: usize, reading: Reading) {
        self.counting |= u32::from(reading.is_some()) << index;
    }

    fn present(&self, index: usize) -> bool {
        self.present & (1 << index) != 0
    }

    fn counts(&self, index: usize) -> bool {
        self.counting & (1 << index) != 0
    }
}

impl<'de> Visitor<'de> for Reader<'_, '_> {
    type Value = Reading;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("another value")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Reading, A::Error> {
        match self.shape {
            Shape::Object(object) => self
                .members(object, &mut map, Seen::default())
                .map(|()| Some(0)),
            Shape::Tagged(tagged) => self.tagged(tagged, map).map(Some),
            Shape::AnyObject | Shape::OnlyAStringCounts => {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(matches!(self.shape, Shape::AnyObject).then_some(0))
            }
            _ => self.other("an object"),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Reading, A::Error> {
        match self.shape {
            Shape::Array(shape) => {
                let mut index = 0;
                loop {
                    let element = seq.next_element_seed(self.judge.reader(shape, false));
                    match self.judge.at(Step::Index(index), element)? {
                        Some(_) => index += 1,
                        None => return Ok(Some(0)),
                    }
                }
            }
            Shape::OnlyAStringCounts => {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(None)
            }
            _ => self.other("an array"),
        }
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Reading, E> {
        match self.shape {
            Shape::Str | Shape::OnlyAStringCounts => Ok(Some(0)),
            Shape::Const(allowed) if allowed.contains(&value) => Ok(Some(0)),
            Shape::Const(allowed) => {
                let expected = format!("one of {}", allowed.join(", "));
                Err(self
                    .judge
                    .fail(Rule::ConstantExpected, expected, "another string"))
            }
            _ => self.other("a string"),
        }
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Reading, E> {
        match self.shape {
            Shape::Bool => Ok(Some(0)),
            _ => self.other("a boolean"),
        }
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Reading, E> {
        let fits = match self.shape {
            Shape::Number | Shape::U64 => true,
            Shape::U8 => u8::try_from(value).is_ok(),
            Shape::U32 => u32::try_from(value).is_ok(),
            Shape::I64 => i64::try_from(value).is_ok(),
            _ => return self.other("a number"),
        };
        match fits {
            true => Ok(Some(0)),
            false => self.other("an integer beyond"),
        }
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Reading, E> {
        match self.shape {
            Shape::Number | Shape::I64 => Ok(Some(0)),
            Shape::U8 | Shape::U32 | Shape::U64 => self.other("a negative integer"),
            _ => self.other("a number"),
        }
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Reading, E> {
        match self.shape {
            Shape::Number => Ok(Some(0)),
            Shape::U8 | Shape::U32 | Shape::U64 | Shape::I64 => {
                self.other("a number that is no such integer")
            }
            _ => self.other("a number"),
        }
    }

    fn visit_unit<E: Error>(self) -> Result<Reading, E> {
        match self.nullable {
            true => Ok(None),
            false => self.other("null"),
        }
    }
}

/// Reads a member's name as the place of the member that it names.
struct Key {
    object: &'static Object,
    /// Where it is likely to be: members mostly come in the schema's order.
    likely: usize,
}

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a member name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.object.find(name, self.likely))
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
        f.write_str("a string")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

/// Reads a tag as the place of the variant that it names.
struct Tag<'j, 't> {
    tagged: &'static Tagged,
    judge: &'j mut Judge<'t>,
}

impl Tag<'_, '_> {
    fn other<E: Error>(self, found: &'static str) -> Result<usize, E> {
        Err(self
            .judge
            .fail(Rule::StringExpected, self.tagged.expected, found))
    }
}

impl<'de> DeserializeSeed<'de> for Tag<'_, '_> {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<usize, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Tag<'_, '_> {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a tag")
    }

    fn visit_str<E: Error>(self, tag: &str) -> Result<usize, E> {
        let Tag { tagged, judge } = self;
        let variant = tagged.variants.iter().position(|(name, _)| *name == tag);
        variant.ok_or_else(|| {
            let found = match tagged.reserved == Some(tag) {
                true => "the one that is reserved and not shipped",
                false => "another string",
            };
            judge.fail(Rule::ConstantExpected, tagged.expected, found)
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, _: A) -> Result<usize, A::Error> {
        self.other("an object")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<usize, A::Error> {
        self.other("an array")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<usize, E> {
        self.other("a boolean")
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<usize, E> {
        self.other("a number")
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<usize, E> {
        self.other("a number")
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<usize, E> {
        self.other("a number")
    }

    fn visit_unit<E: Error>(self) -> Result<usize, E> {
        self.other("null")
    }
}
