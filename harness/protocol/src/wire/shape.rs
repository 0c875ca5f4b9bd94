//! Static descriptions of what a place in a JSON text allows.
//!
//! One strict reader interprets them ([`Shape::judge`], [`Shape::read`]), so that a surface is a table and the traps of
//! derived readers are closed in one place: an array is no object, an object is no string constant, a known member
//! comes once, and no message quotes the text.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::reader;
use super::tape::Build;
use super::{Malformed, Rule};

/// What one place in a JSON text allows.
#[derive(Debug, Clone, Copy)]
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
    /// The members, at most 32.
    pub members: &'static [Member],
    /// Whether a member of another name is an error.
    pub closed: bool,
    /// Of these members at least one must be there; empty asks for nothing.
    pub any_of: &'static [&'static str],
    /// A member that some readers take instead of those.
    pub instead: Option<&'static str>,
    /// The required members, by place.
    required: u32,
}

impl Object {
    /// An object that ignores members it does not know.
    pub const fn open(members: &'static [Member]) -> Object {
        assert!(members.len() <= 32, "a bit to a member");
        let mut required = 0;
        let mut index = 0;
        while index < members.len() {
            required |= (members[index].required as u32) << index;
            index += 1;
        }
        Object {
            members,
            closed: false,
            any_of: &[],
            instead: None,
            required,
        }
    }

    /// An object that forbids members it does not know.
    pub const fn closed(members: &'static [Member]) -> Object {
        Object {
            closed: true,
            ..Object::open(members)
        }
    }

    /// The same object, of whose optional members at least one of these must be there.
    pub const fn with_any_of(self, any_of: &'static [&'static str]) -> Object {
        Object { any_of, ..self }
    }

    /// The same object, for which some readers take this member in place of any of those.
    pub const fn or_instead(self, instead: &'static str) -> Object {
        Object {
            instead: Some(instead),
            ..self
        }
    }

    /// The place of a member, looked for from the place where it is likely to be.
    pub(super) fn find(&self, name: &str, likely: usize) -> Option<usize> {
        let (before, after) = self.members.split_at_checked(likely)?;
        let is_it = |member: &Member| member.name == name;
        match after.iter().position(is_it) {
            Some(index) => Some(likely + index),
            None => before.iter().position(is_it),
        }
    }

    /// The first required member that is not among those present.
    pub(super) fn missing(&self, present: u32) -> Option<&'static Member> {
        match self.required & !present {
            0 => None,
            missing => self.members.get(missing.trailing_zeros() as usize),
        }
    }
}

/// One member of an object.
#[derive(Debug, Clone, Copy)]
pub struct Member {
    /// Its name.
    pub name: &'static str,
    /// What its value may be.
    pub shape: Shape,
    /// Whether it must be there. One that need not may also be null, which is the same as absent.
    pub required: bool,
    /// The name, the quote behind it and the colon, as they are mostly written.
    key: [u8; Member::LONGEST],
    /// The first eight bytes of that as a number, and which bits of it count.
    head: u64,
    head_mask: u64,
}

impl Member {
    const LONGEST: usize = 28;

    const fn new(name: &'static str, shape: Shape, required: bool) -> Member {
        let bytes = name.as_bytes();
        assert!(bytes.len() + 2 <= Member::LONGEST, "a name that fits");
        let mut key = [0; Member::LONGEST];
        let mut at = 0;
        while at < bytes.len() {
            key[at] = bytes[at];
            at += 1;
        }
        (key[at], key[at + 1]) = (b'"', b':');
        let (mut head, mut head_mask) = (0, 0);
        at = 0;
        while at < 8 && at < bytes.len() + 2 {
            head |= (key[at] as u64) << (8 * at);
            head_mask |= 0xff << (8 * at);
            at += 1;
        }
        Member {
            name,
            shape,
            required,
            key,
            head,
            head_mask,
        }
    }

    /// Whether the text begins with the name, the quote behind it and the colon.
    #[inline]
    pub(super) fn is_key(&self, text: &[u8]) -> bool {
        match text.first_chunk() {
            Some(eight) if u64::from_le_bytes(*eight) & self.head_mask != self.head => false,
            Some(_) if self.key_length() <= 8 => true,
            _ => text.starts_with(self.key.get(..self.key_length()).unwrap_or_default()),
        }
    }

    /// The bytes of the name, the quote behind it and the colon.
    #[inline]
    pub(super) fn key_length(&self) -> usize {
        self.name.len() + 2
    }
}

/// A member that must be there.
pub const fn required(name: &'static str, shape: Shape) -> Member {
    Member::new(name, shape, true)
}

/// A member that may be absent or null.
pub const fn optional(name: &'static str, shape: Shape) -> Member {
    Member::new(name, shape, false)
}

/// Several groups of members as one list, so that objects can have groups in common.
macro_rules! members {
    ($($group:expr),+ $(,)?) => {{
        const GROUPS: &[&[$crate::wire::shape::Member]] = &[$($group),+];
        const ALL: &[$crate::wire::shape::Member] =
            &$crate::wire::shape::joined::<{ $crate::wire::shape::total(GROUPS) }>(GROUPS);
        ALL
    }};
}

pub(super) use members;

pub(super) const fn total(groups: &[&[Member]]) -> usize {
    let mut total = 0;
    let mut group = 0;
    while group < groups.len() {
        total += groups[group].len();
        group += 1;
    }
    total
}

pub(super) const fn joined<const N: usize>(groups: &[&[Member]]) -> [Member; N] {
    let mut all = [required("", Shape::Any); N];
    let (mut group, mut index, mut place) = (0, 0, 0);
    while place < N {
        if index == groups[group].len() {
            (group, index) = (group + 1, 0);
            continue;
        }
        all[place] = groups[group][index];
        (index, place) = (index + 1, place + 1);
    }
    all
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
    /// A tag's value that is set aside for later, if there is one: malformed like any other, but told by name.
    pub reserved: Option<&'static str>,
}

/// Takes JSON text out of bytes: UTF-8 without a byte order mark.
///
/// # Errors
/// [`Rule::JsonEncoding`].
pub fn text(bytes: &[u8]) -> Result<&str, Malformed> {
    const ALLOWED: &str = "UTF-8 without a byte order mark";
    let fault = |offset, found| Malformed::bytes(Rule::JsonEncoding, offset, ALLOWED, found);
    let text = simdutf8::basic::from_utf8(bytes).map_err(|_| {
        let sound = str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
        fault(sound, "bytes that are not UTF-8")
    })?;
    match text.starts_with('\u{feff}') {
        true => Err(fault(0, "a byte order mark")),
        false => Ok(text),
    }
}

impl Shape {
    /// Judges that the bytes are exactly one JSON value of this shape, JSON whitespace around it aside.
    ///
    /// # Errors
    /// The first rule broken, in the order of the text.
    pub fn judge(&'static self, bytes: &[u8]) -> Result<(), Malformed> {
        reader::judge(self, text(bytes)?).map(|_| ())
    }

    /// Judges, then reads into a value of `T`, which must want no more than the shape promises.
    ///
    /// # Errors
    /// Those of [`judge`](Self::judge).
    pub fn read<T: DeserializeOwned>(&'static self, bytes: &[u8]) -> Result<T, Malformed> {
        self.borrow(text(bytes)?)
    }

    /// Judges, then reads into a value that borrows from the text; its errors are those of [`read`](Self::read).
    pub(super) fn borrow<'de, T: Deserialize<'de>>(
        &'static self,
        text: &'de str,
    ) -> Result<T, Malformed> {
        reader::judge(self, text)?;
        reader::parse(text)
    }

    /// Judges, and builds a value of a type that fits the shape.
    pub(super) fn build<T: Build>(&'static self, bytes: &[u8]) -> Result<T, Malformed> {
        reader::build(self, text(bytes)?)
    }

    /// Judges a tagged object, and says which variant it is by its place.
    pub(super) fn variant(&'static self, text: &str) -> Result<usize, Malformed> {
        reader::judge(self, text)
    }
}
