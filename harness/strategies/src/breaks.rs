//! Named mutations of JSON text, each with the one rule that it breaks.

use serde_json::Value;

use diverge_protocol::wire::Rule;
use diverge_protocol::wire::mutate::{Mutation, Place};
use diverge_protocol::wire::shape::{Member, Object, Shape};

/// Every mutation of `text`, which `shape` allows, that breaks one rule.
pub(super) fn of(shape: &'static Shape, text: &str) -> Vec<(Mutation, Rule)> {
    let mut breaks = Breaks::default();
    let end = text.trim_end();
    breaks.add(Mutation::Append(" x".to_owned()), Rule::JsonTrailing);
    breaks.add(Mutation::Prepend("\u{feff}".to_owned()), Rule::JsonEncoding);
    if end.ends_with(['}', ']', '"']) {
        let cut = Mutation::Truncate(text.len() - end.len() + 1);
        breaks.add(cut, Rule::JsonSyntax);
    }
    breaks.set("", "'x'", Rule::JsonSyntax);
    if let Ok(value) = serde_json::from_str(text) {
        breaks.value(shape, &value, "");
    }
    breaks.0
}

#[derive(Default)]
struct Breaks(Vec<(Mutation, Rule)>);

impl Breaks {
    fn add(&mut self, mutation: Mutation, rule: Rule) {
        self.0.push((mutation, rule));
    }

    fn set(&mut self, at: &str, text: &str, rule: Rule) {
        self.add(Mutation::Set(Place::parse(at), text.to_owned()), rule);
    }

    fn value(&mut self, shape: &'static Shape, value: &Value, at: &str) {
        let wrong = |others: &[&'static str], rule| (others.to_vec(), rule);
        let (others, rule) = match shape {
            Shape::Any | Shape::OnlyAStringCounts => return,
            Shape::AnyObject => wrong(&["0", "\"x\"", "[]", "[[\"a\",1]]"], Rule::ObjectExpected),
            Shape::Object(object) => {
                self.object(object, value, at);
                wrong(&["0", "\"x\"", "[]"], Rule::ObjectExpected)
            }
            Shape::Tagged(tagged) => {
                let tag = format!("{at}/{}", tagged.tag);
                let variant = tagged
                    .variants
                    .iter()
                    .find(|(kind, _)| value[tagged.tag] == **kind);
                if let Some((_, object)) = variant {
                    self.object(object, value, at);
                }
                self.set(&tag, "\"no such kind\"", Rule::ConstantExpected);
                if let Some(reserved) = tagged.reserved {
                    self.set(&tag, &format!("\"{reserved}\""), Rule::ConstantExpected);
                }
                wrong(&["0", "\"x\"", "[]"], Rule::ObjectExpected)
            }
            Shape::Array(element) => {
                let elements = value.as_array().map(Vec::as_slice).unwrap_or_default();
                for (index, value) in elements.iter().enumerate() {
                    self.value(element, value, &format!("{at}/{index}"));
                }
                wrong(&["0", "{}", "\"\""], Rule::ArrayExpected)
            }
            Shape::Str => {
                self.add(Mutation::ObjectFor(Place::parse(at)), Rule::StringExpected);
                wrong(&["0", "[\"x\"]", "true"], Rule::StringExpected)
            }
            Shape::Const(_) => {
                self.add(Mutation::ObjectFor(Place::parse(at)), Rule::StringExpected);
                self.set(at, "0", Rule::StringExpected);
                wrong(&["\"no such word\"", "\"\""], Rule::ConstantExpected)
            }
            Shape::Bool => wrong(&["0", "\"true\"", "[]"], Rule::BoolExpected),
            Shape::U8 => wrong(&["256", "-1", "1.0", "\"1\""], Rule::ByteExpected),
            Shape::U32 => wrong(
                &["4294967296", "-1", "1.0", "\"1\""],
                Rule::Unsigned32Expected,
            ),
            Shape::U64 => wrong(
                &["18446744073709551616", "-1", "1.0", "1e0", "\"1\"", "true"],
                Rule::UnsignedExpected,
            ),
            Shape::I64 => wrong(
                &[
                    "9223372036854775808",
                    "-9223372036854775809",
                    "1.0",
                    "\"1\"",
                ],
                Rule::IntegerExpected,
            ),
            Shape::Number => wrong(&["\"1\"", "true", "[1]"], Rule::NumberExpected),
            Shape::Decimal => wrong(
                &["\"x\"", "\"\"", "true", "1e30", "[]"],
                Rule::DecimalExpected,
            ),
        };
        for other in others {
            self.set(at, other, rule);
        }
    }

    fn object(&mut self, object: &'static Object, value: &Value, at: &str) {
        self.add(Mutation::ArrayFor(Place::parse(at)), Rule::ObjectExpected);
        let said = |member: &Member| match member.shape {
            Shape::OnlyAStringCounts => value[member.name].is_string(),
            _ => !value[member.name].is_null(),
        };
        for member in object.members {
            let Some(inner) = value.get(member.name) else {
                continue;
            };
            let place = format!("{at}/{}", member.name);
            self.add(Mutation::Repeat(Place::parse(&place)), Rule::MemberRepeated);
            if member.required {
                self.add(Mutation::Drop(Place::parse(&place)), Rule::MemberMissing);
                if let Some(rule) = expected(&member.shape) {
                    self.add(Mutation::NullFor(Place::parse(&place)), rule);
                }
            }
            if member.required || !inner.is_null() {
                self.value(&member.shape, inner, &place);
            }
        }
        if object.closed {
            let place = Place::parse(at);
            let unknown = "{\"x\":1}".to_owned();
            self.add(Mutation::Insert(place, unknown), Rule::MemberUnknown);
        }
        // Where one member alone says what one of several must say, nothing is said without it.
        let known = |name| object.members.iter().find(|member| member.name == name);
        let choice = || object.any_of.iter().copied().filter_map(known);
        let there = choice().filter(|member| value.get(member.name).is_some());
        let instead = object.instead.and_then(known).is_some_and(said);
        if let ([only], false) = (there.collect::<Vec<_>>().as_slice(), instead)
            && said(only)
        {
            let place = format!("{at}/{}", only.name);
            self.add(Mutation::Drop(Place::parse(&place)), Rule::MemberMissing);
        }
    }
}

/// The rule that a value of no fitting kind breaks.
fn expected(shape: &Shape) -> Option<Rule> {
    Some(match shape {
        Shape::Any | Shape::OnlyAStringCounts => return None,
        Shape::AnyObject | Shape::Object(_) | Shape::Tagged(_) => Rule::ObjectExpected,
        Shape::Array(_) => Rule::ArrayExpected,
        Shape::Str | Shape::Const(_) => Rule::StringExpected,
        Shape::Bool => Rule::BoolExpected,
        Shape::U8 => Rule::ByteExpected,
        Shape::U32 => Rule::Unsigned32Expected,
        Shape::U64 => Rule::UnsignedExpected,
        Shape::I64 => Rule::IntegerExpected,
        Shape::Number => Rule::NumberExpected,
        Shape::Decimal => Rule::DecimalExpected,
    })
}
