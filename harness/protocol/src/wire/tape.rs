//! What the reader keeps of a text while it judges it, and values built from that without a second look at the text.

use std::borrow::Cow;
use std::fmt;

use compact_str::CompactString;
use rust_decimal::Decimal;
use serde::Serialize;
use serde_json::value::RawValue;
use smallvec::SmallVec;

use super::logprob::{self, TokenBytes};
use super::scan::Text;

/// What the reader tells of a text as it goes over it.
pub(super) trait Keep<'t> {
    /// An object of a shape with members begins; of several, it is this variant.
    fn object(&mut self, variant: usize);
    /// A known member's value follows.
    fn member(&mut self, name: &'static str);
    /// An array begins; gives its place.
    fn array(&mut self) -> usize;
    /// The array at that place had so many elements.
    fn elements(&mut self, place: usize, count: usize);
    /// The innermost object ends.
    fn end(&mut self);
    /// A string.
    fn string(&mut self, text: Text<'t>);
    /// Any other value that is kept as it is written.
    fn raw(&mut self, raw: &'t str);
    /// A value that is the same as none.
    fn none(&mut self);
}

/// Keeps nothing: the text is only judged.
pub(super) struct Nothing;

impl Keep<'_> for Nothing {
    #[inline]
    fn object(&mut self, _: usize) {}
    #[inline]
    fn member(&mut self, _: &'static str) {}
    #[inline]
    fn array(&mut self) -> usize {
        0
    }
    #[inline]
    fn elements(&mut self, _: usize, _: usize) {}
    #[inline]
    fn end(&mut self) {}
    #[inline]
    fn string(&mut self, _: Text<'_>) {}
    #[inline]
    fn raw(&mut self, _: &str) {}
    #[inline]
    fn none(&mut self) {}
}

#[derive(Debug, Clone, Copy)]
enum Token<'t> {
    Object(usize),
    Member(&'static str),
    /// So many elements follow.
    Array(usize),
    End,
    String(Text<'t>),
    Raw(&'t str),
    None,
}

/// Keeps the values of known members, in the order of the text.
#[derive(Debug, Default)]
pub(super) struct Tape<'t> {
    /// The chunks that most of a stream is made of need no more than this.
    tokens: SmallVec<[Token<'t>; 24]>,
}

impl Tape<'_> {
    /// The value that was kept; none if it is of another form than `T` wants, which a shape rules out.
    pub fn build<T: Build>(&self) -> Option<T> {
        let mut play = Play {
            tokens: self.tokens.iter(),
        };
        T::build(&mut play)
    }
}

impl<'t> Keep<'t> for Tape<'t> {
    #[inline]
    fn object(&mut self, variant: usize) {
        self.tokens.push(Token::Object(variant));
    }

    #[inline]
    fn member(&mut self, name: &'static str) {
        self.tokens.push(Token::Member(name));
    }

    #[inline]
    fn array(&mut self) -> usize {
        self.tokens.push(Token::Array(0));
        self.tokens.len() - 1
    }

    #[inline]
    fn elements(&mut self, place: usize, count: usize) {
        if let Some(Token::Array(elements)) = self.tokens.get_mut(place) {
            *elements = count;
        }
    }

    #[inline]
    fn end(&mut self) {
        self.tokens.push(Token::End);
    }

    #[inline]
    fn string(&mut self, text: Text<'t>) {
        self.tokens.push(Token::String(text));
    }

    #[inline]
    fn raw(&mut self, raw: &'t str) {
        self.tokens.push(Token::Raw(raw));
    }

    #[inline]
    fn none(&mut self) {
        self.tokens.push(Token::None);
    }
}

/// A place on a tape.
pub(super) struct Play<'a, 't> {
    tokens: std::slice::Iter<'a, Token<'t>>,
}

impl<'t> Play<'_, 't> {
    /// Goes into an object, and says which variant it is.
    #[inline]
    pub fn object(&mut self) -> Option<usize> {
        match self.tokens.next()? {
            Token::Object(variant) => Some(*variant),
            _ => None,
        }
    }

    /// Fills in a value from the members of the object that was gone into.
    #[inline]
    pub fn members<T: Fill>(&mut self) -> Option<T> {
        let mut value = T::default();
        loop {
            match self.tokens.next()? {
                Token::Member(name) => value.fill(name, self)?,
                Token::End => return Some(value),
                _ => return None,
            }
        }
    }

    /// Puts the value that comes next into its place.
    #[inline]
    pub fn put<T: Build>(&mut self, place: &mut T) -> Option<()> {
        *place = T::build(self)?;
        Some(())
    }

    /// Goes past a value that is not wanted: the tag, which the variant tells already.
    #[inline]
    pub fn pass(&mut self) -> Option<()> {
        self.text().map(drop)
    }

    /// The string that comes next.
    #[inline]
    pub fn text(&mut self) -> Option<Cow<'t, str>> {
        match self.tokens.next()? {
            Token::String(text) => Some(text.meant()),
            _ => None,
        }
    }

    #[inline]
    fn raw(&mut self) -> Option<&'t str> {
        match self.tokens.next()? {
            Token::Raw(raw) => Some(raw),
            _ => None,
        }
    }
}

/// A value that is built from a tape.
pub(super) trait Build: Sized {
    /// Builds the value that comes next.
    fn build(play: &mut Play<'_, '_>) -> Option<Self>;
}

/// A value that is filled in member by member. What a shape requires is there by then.
pub(super) trait Fill: Default {
    /// Takes in one member.
    fn fill(&mut self, name: &str, play: &mut Play<'_, '_>) -> Option<()>;
}

impl<T: Fill> Build for T {
    #[inline]
    fn build(play: &mut Play<'_, '_>) -> Option<T> {
        play.object()?;
        play.members()
    }
}

impl<T: Build> Build for Option<T> {
    #[inline]
    fn build(play: &mut Play<'_, '_>) -> Option<Option<T>> {
        if let Some(Token::None) = play.tokens.as_slice().first() {
            play.tokens.next();
            return Some(None);
        }
        T::build(play).map(Some)
    }
}

impl<T: Build> Build for Vec<T> {
    fn build(play: &mut Play<'_, '_>) -> Option<Vec<T>> {
        let Token::Array(count) = play.tokens.next()? else {
            return None;
        };
        let mut values = Vec::with_capacity(*count);
        for _ in 0..*count {
            values.push(T::build(play)?);
        }
        Some(values)
    }
}

impl Build for String {
    #[inline]
    fn build(play: &mut Play<'_, '_>) -> Option<String> {
        play.text().map(Cow::into_owned)
    }
}

impl Build for bool {
    fn build(play: &mut Play<'_, '_>) -> Option<bool> {
        play.raw().map(|raw| raw == "true")
    }
}

impl Build for u64 {
    fn build(play: &mut Play<'_, '_>) -> Option<u64> {
        play.raw()?.parse().ok()
    }
}

impl Build for f64 {
    fn build(play: &mut Play<'_, '_>) -> Option<f64> {
        play.raw()?.parse().ok()
    }
}

impl Build for Decimal {
    fn build(play: &mut Play<'_, '_>) -> Option<Decimal> {
        match play.tokens.next()? {
            Token::String(text) => {
                let text = text.meant();
                logprob::of_plain(&text).or_else(|| logprob::of_string(&text))
            }
            Token::Raw(raw) => logprob::of_number(raw),
            _ => None,
        }
    }
}

impl Build for CompactString {
    #[inline]
    fn build(play: &mut Play<'_, '_>) -> Option<CompactString> {
        play.text().map(CompactString::from)
    }
}

/// An array of bytes, which is kept as one value.
impl Build for TokenBytes {
    fn build(play: &mut Play<'_, '_>) -> Option<TokenBytes> {
        let raw = play.raw()?.as_bytes();
        let mut bytes = TokenBytes::new();
        let (mut number, mut digits) = (0u8, false);
        for byte in raw {
            match byte {
                b'0'..=b'9' => {
                    number = number.wrapping_mul(10).wrapping_add(byte - b'0');
                    digits = true;
                }
                b',' | b']' if digits => {
                    bytes.push(number);
                    (number, digits) = (0, false);
                }
                _ => {}
            }
        }
        Some(bytes)
    }
}

/// Any JSON value, byte for byte as it came.
#[derive(Clone, Serialize)]
pub struct Raw(Box<RawValue>);

impl Raw {
    /// The text of one JSON value.
    ///
    /// # Errors
    /// Text that is none.
    pub fn new(text: impl Into<String>) -> Result<Raw, serde_json::Error> {
        RawValue::from_string(text.into()).map(Raw)
    }

    /// The text.
    pub fn get(&self) -> &str {
        self.0.get()
    }
}

impl Default for Raw {
    fn default() -> Raw {
        Raw(RawValue::NULL.to_owned())
    }
}

impl PartialEq for Raw {
    fn eq(&self, other: &Raw) -> bool {
        self.get() == other.get()
    }
}

impl Eq for Raw {}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get())
    }
}

impl Build for Raw {
    fn build(play: &mut Play<'_, '_>) -> Option<Raw> {
        Raw::new(play.raw()?).ok()
    }
}
