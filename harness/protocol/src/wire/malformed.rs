//! What is wrong with a payload, said without quoting it.

use std::borrow::Cow;
use std::fmt;

macro_rules! rules {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal,)+) => {
        /// A rule of well-formedness that a payload can break.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Rule {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl Rule {
            /// Every rule, in the order of their declaration.
            pub const ALL: &'static [Rule] = &[$(Rule::$variant,)+];

            /// The stable name, as reports and `decode --batch` print it.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Rule::$variant => $name,)+
                }
            }

            /// How it is broken, as a sentence.
            pub const fn sentence(self) -> &'static str {
                match self {
                    $(Rule::$variant => concat!($($doc),+).trim_ascii(),)+
                }
            }
        }
    };
}

rules! {
    /// A payload has no byte, so not even the one that says what it is.
    PayloadEmpty = "payload.empty",
    /// The first byte is none that the surface defines.
    PayloadUnknownFirstByte = "payload.unknown-first-byte",
    /// A message is shorter than the nine bytes of a frame header.
    FrameShort = "frame.short",
    /// The first header byte is no frame type.
    FrameUnknownType = "frame.unknown-type",
    /// A finish carries bytes behind its header.
    FrameFinishWithPayload = "frame.finish-with-payload",
    /// A credential's mode byte is not 0.
    CredentialMode = "credential.mode",
    /// A credential is not UTF-8.
    CredentialEncoding = "credential.encoding",
    /// A body of fixed length has another.
    BytesLength = "bytes.length",
    /// Text outside JSON is not UTF-8.
    TextEncoding = "text.encoding",
    /// JSON text is not UTF-8, or starts with a byte order mark.
    JsonEncoding = "json.encoding",
    /// The text is not JSON.
    JsonSyntax = "json.syntax",
    /// Something follows the one JSON value.
    JsonTrailing = "json.trailing",
    /// An escape in a string that is read names half of a character that takes two.
    JsonSurrogate = "json.surrogate",
    /// A number that is read lies beyond what a double can hold.
    JsonNumberRange = "json.number-range",
    /// An object was due.
    ObjectExpected = "object.expected",
    /// An array was due.
    ArrayExpected = "array.expected",
    /// A string was due.
    StringExpected = "string.expected",
    /// True or false was due.
    BoolExpected = "bool.expected",
    /// An integer from 0 to 255 was due.
    ByteExpected = "byte.expected",
    /// An integer from 0 to 2^32 - 1 was due.
    Unsigned32Expected = "unsigned32.expected",
    /// An integer from 0 to 2^64 - 1 was due.
    UnsignedExpected = "unsigned.expected",
    /// An integer of 64 bits with a sign was due.
    IntegerExpected = "integer.expected",
    /// A number was due.
    NumberExpected = "number.expected",
    /// A decimal, as a number or a string, was due.
    DecimalExpected = "decimal.expected",
    /// A string that must be one of a fixed set (a `type`, a `mode`) is another.
    ConstantExpected = "constant.expected",
    /// A required member is not there.
    MemberMissing = "member.missing",
    /// A known member is there twice.
    MemberRepeated = "member.repeated",
    /// A member is there that this object forbids.
    MemberUnknown = "member.unknown",
    /// A tool's result says nothing but metadata.
    ResultOnlyMeta = "result.only-meta",
}

impl Rule {
    /// Whether the pages leave it open if a reader takes what breaks this rule. Every decoder here refuses it, and no
    /// implementation is judged by it.
    pub const fn is_open(self) -> bool {
        matches!(
            self,
            Rule::JsonSurrogate | Rule::JsonNumberRange | Rule::ResultOnlyMeta
        )
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A payload that its surface does not define: the rule it breaks and where.
///
/// It holds no text of the payload, so it can be printed wherever a secret must not appear: member names are
/// those of the schema, the members of free-form objects stand as `*`, and what was found is told by kind.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Malformed {
    /// The rule broken.
    pub rule: Rule,
    /// JSON pointer into the JSON part of the payload; empty for its root and where there is no JSON.
    pub pointer: String,
    /// Bytes in front of the offending value or byte, from the start of the payload, when that is known.
    pub offset: Option<usize>,
    /// What was allowed at that place.
    pub expected: Cow<'static, str>,
    /// What kind of thing stood there.
    pub found: Cow<'static, str>,
}

impl Malformed {
    /// A fault outside any JSON.
    pub(crate) fn bytes(
        rule: Rule,
        offset: usize,
        expected: impl Into<Cow<'static, str>>,
        found: impl Into<Cow<'static, str>>,
    ) -> Malformed {
        Malformed {
            rule,
            pointer: String::new(),
            offset: Some(offset),
            expected: expected.into(),
            found: found.into(),
        }
    }

    /// The same fault, told of a payload that has `bytes` bytes in front of the part judged.
    pub(crate) fn behind(mut self, bytes: usize) -> Malformed {
        self.offset = self.offset.map(|offset| offset + bytes);
        self
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.rule)?;
        if !self.pointer.is_empty() {
            write!(f, " at {}", self.pointer)?;
        }
        if let Some(offset) = self.offset {
            write!(f, " (byte {offset})")?;
        }
        write!(f, ": expected {}, found {}", self.expected, self.found)
    }
}

impl std::error::Error for Malformed {}

/// Bytes that may hold a secret, as debugging output shows them: by their number.
pub(super) struct Unsaid(pub usize);

impl fmt::Debug for Unsaid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0)
    }
}
