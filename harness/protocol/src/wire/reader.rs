//! The strict reader: a [`Shape`] interpreted over JSON text.
//!
//! It keeps what it is asked to keep. Only once something is wrong does it note the fault, and on the way out the place.

use std::borrow::Cow;

use serde::Deserialize;

use super::logprob;
use super::scan::{Broken, Kind, Scanner, Text};
use super::shape::{Member, Object, Shape, Tagged};
use super::tape::{Build, Keep, Nothing, Tape};
use super::{Malformed, Rule};

/// Judges that the text is exactly one JSON value of the shape, and says which variant it is by its place, or 0.
pub(super) fn judge(shape: &'static Shape, text: &str) -> Result<usize, Malformed> {
    read(shape, text, &mut Nothing)
}

/// Judges, and builds a value from what was read, which a type that fits the shape makes sure of.
pub(super) fn build<T: Build>(shape: &'static Shape, text: &str) -> Result<T, Malformed> {
    let mut tape = Tape::default();
    read(shape, text, &mut tape)?;
    tape.build().ok_or_else(unfit)
}

fn read<'t, K: Keep<'t>>(
    shape: &'static Shape,
    text: &'t str,
    keep: &mut K,
) -> Result<usize, Malformed> {
    let mut reader = Reader {
        scan: Scanner::new(text),
        keep,
    };
    reader.all(shape).map_err(|fault| fault.told())
}

/// Reads text that was judged already into a value, which then cannot fail.
pub(super) fn parse<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, Malformed> {
    serde_json::from_str(text).map_err(|_| unfit())
}

#[cold]
fn unfit() -> Malformed {
    Malformed {
        rule: Rule::JsonSyntax,
        pointer: String::new(),
        offset: None,
        expected: "a value of the judged form".into(),
        found: "another".into(),
    }
}

/// One step of a JSON pointer.
enum Step {
    Name(&'static str),
    Index(usize),
    /// A member whose name is none of the schema's, and so is not told.
    Hidden,
}

/// What is wrong, and where, from the inside out.
struct Fault {
    rule: Rule,
    expected: Cow<'static, str>,
    found: &'static str,
    offset: usize,
    path: Vec<Step>,
}

impl Fault {
    fn told(self) -> Malformed {
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
            rule: self.rule,
            pointer,
            offset: Some(self.offset),
            expected: self.expected,
            found: self.found.into(),
        }
    }
}

type Read<T> = Result<T, Box<Fault>>;

/// Passes a value on, or notes on the way out where it stood.
fn at<T>(step: Step, read: Read<T>) -> Read<T> {
    read.map_err(|mut fault| {
        fault.path.push(step);
        fault
    })
}

/// Which members an object had so far, and which of them count.
struct Seen {
    present: u32,
    counting: u32,
}

impl Seen {
    /// The first so many members, which count.
    fn of_first(members: usize) -> Seen {
        let bits = (1 << members) - 1;
        Seen {
            present: bits,
            counting: bits,
        }
    }
}

struct Reader<'k, 't, K> {
    scan: Scanner<'t>,
    keep: &'k mut K,
}

impl<'t, K: Keep<'t>> Reader<'_, 't, K> {
    #[cold]
    fn fault(
        &self,
        offset: usize,
        rule: Rule,
        expected: impl Into<Cow<'static, str>>,
        found: &'static str,
    ) -> Box<Fault> {
        Box::new(Fault {
            rule,
            expected: expected.into(),
            found,
            offset,
            path: Vec::new(),
        })
    }

    /// Passes on what was scanned, or tells why the text is no JSON.
    #[inline]
    fn sound<T>(&self, scanned: Result<T, Broken>) -> Read<T> {
        scanned.map_err(|broken| self.unsound(broken))
    }

    #[cold]
    fn unsound(&self, broken: Broken) -> Box<Fault> {
        let (rule, expected, found) = match broken {
            Broken::End => (
                Rule::JsonSyntax,
                "one whole JSON value",
                "the end of the text",
            ),
            Broken::Syntax => (Rule::JsonSyntax, "one JSON value", "text that is not JSON"),
            Broken::Surrogate => (
                Rule::JsonSurrogate,
                "both halves of a character",
                "an escape of one half",
            ),
            Broken::Range => (
                Rule::JsonNumberRange,
                "a number that a double can hold",
                "one beyond",
            ),
            Broken::Trailing => (
                Rule::JsonTrailing,
                "nothing behind the JSON value",
                "more text",
            ),
        };
        self.fault(self.scan.offset(), rule, expected, found)
    }

    #[inline]
    fn peek(&mut self) -> Read<Kind> {
        let kind = self.scan.peek();
        self.sound(kind)
    }

    /// Goes past a free-form value.
    fn skip(&mut self) -> Read<()> {
        let skipped = self.scan.free();
        self.sound(skipped)
    }

    fn string(&mut self) -> Read<Text<'t>> {
        let string = self.scan.string();
        self.sound(string)
    }

    fn next_member(&mut self, first: bool) -> Read<Option<Text<'t>>> {
        let name = self.scan.member(first);
        self.sound(name)
    }

    /// Reads the whole text.
    fn all(&mut self, shape: &'static Shape) -> Read<usize> {
        let mut variant = 0;
        match shape {
            Shape::Tagged(tagged) if self.peek()? == Kind::Object => {
                variant = self.tagged(tagged)?
            }
            _ => self.value(shape, false).map(drop)?,
        }
        let end = self.scan.end();
        self.sound(end)?;
        Ok(variant)
    }

    /// Reads one value, and says whether it counts as being there.
    #[inline]
    fn value(&mut self, shape: &'static Shape, nullable: bool) -> Read<bool> {
        match (shape, self.scan.byte()) {
            (Shape::Str, Some(b'"')) => {
                let string = self.string()?;
                self.keep.string(string);
                return Ok(true);
            }
            (Shape::Decimal, Some(b'"')) => {
                if let Some(decimal) = self.scan.plain_decimal() {
                    self.keep.string(decimal);
                    return Ok(true);
                }
            }
            _ => {}
        }
        self.any_value(shape, nullable)
    }

    fn any_value(&mut self, shape: &'static Shape, nullable: bool) -> Read<bool> {
        let kind = self.peek()?;
        let start = self.scan.offset();
        match (shape, kind) {
            (Shape::Any, _) | (Shape::AnyObject, Kind::Object) => {
                self.skip()?;
                self.keep.raw(self.scan.since(start));
            }
            (_, Kind::Null) if nullable => {
                self.skip()?;
                self.keep.none();
                return Ok(false);
            }
            (Shape::Object(object), Kind::Object) => {
                self.keep.object(0);
                self.members(object)?;
            }
            (Shape::Tagged(tagged), Kind::Object) => self.tagged(tagged).map(drop)?,
            (Shape::Array(Shape::U8), Kind::Array) if self.scan.plain_bytes() => {
                self.keep.raw(self.scan.since(start));
            }
            (Shape::Array(Shape::U8), Kind::Array) => {
                // Kept as one value.
                let mut reader = Reader {
                    scan: self.scan,
                    keep: &mut Nothing,
                };
                reader.elements(&Shape::U8)?;
                self.scan = reader.scan;
                self.keep.raw(self.scan.since(start));
            }
            (Shape::Array(shape), Kind::Array) => {
                let place = self.keep.array();
                let count = self.elements(shape)?;
                self.keep.elements(place, count);
            }
            (Shape::Str | Shape::OnlyAStringCounts, Kind::String) => {
                let string = self.string()?;
                self.keep.string(string);
            }
            (Shape::OnlyAStringCounts, _) => {
                self.skip()?;
                self.keep.none();
                return Ok(false);
            }
            (Shape::Bool, Kind::Bool) => {
                self.skip()?;
                self.keep.raw(self.scan.since(start));
            }
            (Shape::Const(allowed), Kind::String) => {
                let word = self.string()?;
                self.keep.string(word);
                if !allowed.contains(&&*word.meant()) {
                    let expected = format!("one of {}", allowed.join(", "));
                    let rule = Rule::ConstantExpected;
                    return Err(self.fault(start, rule, expected, "another string"));
                }
            }
            (Shape::Decimal, Kind::Number) => {
                let number = self.number()?;
                self.keep.raw(number);
                if !logprob::is_plain(number) && logprob::of_number(number).is_none() {
                    return Err(self.other(start, shape, "a number that is none"));
                }
            }
            (Shape::Decimal, Kind::String) => {
                let string = self.string()?;
                self.keep.string(string);
                if !logprob::is_decimal(&string.meant()) {
                    return Err(self.other(start, shape, "a string that is none"));
                }
            }
            (Shape::Number, Kind::Number) => {
                let number = self.number()?;
                self.keep.raw(number);
            }
            (Shape::U8 | Shape::U32 | Shape::U64 | Shape::I64, Kind::Number) => {
                let number = self.number()?;
                self.keep.raw(number);
                if !fits(shape, number) {
                    return Err(self.other(start, shape, "a number that is none such"));
                }
            }
            _ => return Err(self.other(start, shape, kind.name())),
        }
        Ok(true)
    }

    fn number(&mut self) -> Read<&'t str> {
        let number = self.scan.number();
        self.sound(number)
    }

    /// The answer to a value that the shape does not allow.
    #[cold]
    fn other(&self, start: usize, shape: &Shape, found: &'static str) -> Box<Fault> {
        let (rule, expected) = match shape {
            Shape::Any
            | Shape::OnlyAStringCounts
            | Shape::AnyObject
            | Shape::Object(_)
            | Shape::Tagged(_) => (Rule::ObjectExpected, "an object"),
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
        self.fault(start, rule, expected, found)
    }

    /// Reads an array's elements, and says how many there are.
    fn elements(&mut self, shape: &'static Shape) -> Read<usize> {
        self.scan.enter();
        let mut index = 0;
        loop {
            let more = self.scan.element(index == 0);
            if !self.sound(more)? {
                return Ok(index);
            }
            at(Step::Index(index), self.value(shape, false))?;
            index += 1;
        }
    }

    fn members(&mut self, object: &'static Object) -> Read<()> {
        let start = self.scan.offset();
        self.scan.enter();
        self.members_from(object, start, 0)
    }

    /// Reads an object's members from here on, of which the first so many were read already.
    fn members_from(&mut self, object: &'static Object, start: usize, read: usize) -> Read<()> {
        let mut seen = Seen::of_first(read);
        let mut likely = read;
        let mut first = read == 0;
        loop {
            // Members mostly come in the schema's order.
            let index = match self.scan.likely_member(first, object, likely) {
                Some(index) => Some(index),
                None => match self.next_member(first)? {
                    Some(name) => object.find(&name.meant(), likely),
                    None => break,
                },
            };
            first = false;
            match index.and_then(|index| Some((index, object.members.get(index)?))) {
                Some((index, member)) => {
                    let value = self.member(member, index, &mut seen);
                    at(Step::Name(member.name), value)?;
                    likely = index + 1;
                }
                None => at(Step::Hidden, self.unknown(object))?,
            }
        }
        self.keep.end();
        self.complete(object, &seen, start)
    }

    #[inline]
    fn member(&mut self, member: &'static Member, index: usize, seen: &mut Seen) -> Read<()> {
        let bit = 1 << index;
        if seen.present & bit != 0 {
            let rule = Rule::MemberRepeated;
            return Err(self.fault(self.scan.offset(), rule, "this member once", "it again"));
        }
        seen.present |= bit;
        self.keep.member(member.name);
        if self.value(&member.shape, !member.required)? {
            seen.counting |= bit;
        }
        Ok(())
    }

    fn unknown(&mut self, object: &'static Object) -> Read<()> {
        if object.closed {
            let rule = Rule::MemberUnknown;
            let found = "a member of another name";
            return Err(self.fault(self.scan.offset(), rule, "no other member", found));
        }
        self.skip()
    }

    #[inline]
    fn complete(&self, object: &'static Object, seen: &Seen, start: usize) -> Read<()> {
        match object.missing(seen.present).is_none() && object.any_of.is_empty() {
            true => Ok(()),
            false => self.lacking(object, seen, start),
        }
    }

    fn lacking(&self, object: &'static Object, seen: &Seen, start: usize) -> Read<()> {
        if let Some(member) = object.missing(seen.present) {
            let none = self.fault(start, Rule::MemberMissing, "this member", "none");
            return at(Step::Name(member.name), Err(none));
        }
        let counts = |name: &&str| {
            object
                .find(name, 0)
                .is_some_and(|index| seen.counting & (1 << index) != 0)
        };
        if object.any_of.is_empty() || object.any_of.iter().any(counts) {
            return Ok(());
        }
        let expected = format!("at least one of {}", object.any_of.join(", "));
        let (rule, found) = match object.instead.as_ref().is_some_and(counts) {
            true => (Rule::ResultOnlyMeta, "an object with metadata instead"),
            false => (Rule::MemberMissing, "an object without them"),
        };
        Err(self.fault(start, rule, expected, found))
    }

    /// Reads a tagged object. Its tag mostly comes first; else it is looked for ahead.
    fn tagged(&mut self, tagged: &'static Tagged) -> Read<usize> {
        let start = self.scan.offset();
        let mut ahead = self.scan;
        ahead.enter();
        // The tag is the first member of every variant.
        if ahead.likely_member(true, &tagged.variants[0].1, 0) == Some(0) {
            self.scan = ahead;
            let likely = self.scan.likely_word(tagged.variants, |(name, _)| name);
            let variant = match likely {
                Some(variant) => variant,
                None => at(Step::Name(tagged.tag), self.tag(tagged))?,
            };
            self.keep.object(variant);
            self.members_from(&tagged.variants[variant].1, start, 1)?;
            return Ok(variant);
        }
        let mut ahead = Reader {
            scan: self.scan,
            keep: &mut Nothing,
        };
        let variant = ahead.find_tag(tagged)?;
        self.keep.object(variant);
        self.members(&tagged.variants[variant].1)?;
        Ok(variant)
    }

    fn find_tag(&mut self, tagged: &'static Tagged) -> Read<usize> {
        let start = self.scan.offset();
        self.scan.enter();
        let mut first = true;
        while let Some(name) = self.next_member(first)? {
            first = false;
            if name.meant() == tagged.tag {
                return at(Step::Name(tagged.tag), self.tag(tagged));
            }
            at(Step::Hidden, self.skip())?;
        }
        let none = self.fault(start, Rule::MemberMissing, tagged.expected, "none");
        at(Step::Name(tagged.tag), Err(none))
    }

    fn tag(&mut self, tagged: &'static Tagged) -> Read<usize> {
        let kind = self.peek()?;
        let start = self.scan.offset();
        if kind != Kind::String {
            let rule = Rule::StringExpected;
            return Err(self.fault(start, rule, tagged.expected, kind.name()));
        }
        let tag = self.string()?.meant();
        let variant = tagged.variants.iter().position(|(name, _)| *name == tag);
        variant.ok_or_else(|| {
            let found = match tagged.reserved.is_some_and(|reserved| reserved == tag) {
                true => "the one that is reserved and not shipped",
                false => "another string",
            };
            self.fault(start, Rule::ConstantExpected, tagged.expected, found)
        })
    }
}

/// Whether a number as it is written is an integer of the shape's; `-0` is none, since it reads as a double.
fn fits(shape: &Shape, number: &str) -> bool {
    match shape {
        Shape::U8 => number.parse::<u8>().is_ok(),
        Shape::U32 => number.parse::<u32>().is_ok(),
        Shape::U64 => number.parse::<u64>().is_ok(),
        _ => number != "-0" && number.parse::<i64>().is_ok(),
    }
}
