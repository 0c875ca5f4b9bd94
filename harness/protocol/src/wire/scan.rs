//! JSON text read token by token, keeping nothing.
//!
//! serde_json reads JSON into values; a judge of surfaces wants none. It has to know where each token stands, to pass over
//! free-form parts at the speed of the memory, and to say what is wrong without words that quote the text. Whatever
//! passes here, serde_json can read into a value; in free-form parts, what JSON allows beyond that passes too.

use std::borrow::Cow;

/// A kind of value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Object,
    Array,
    String,
    Number,
    Bool,
    Null,
}

impl Kind {
    /// The kind, as an error tells it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Object => "an object",
            Kind::Array => "an array",
            Kind::String => "a string",
            Kind::Number => "a number",
            Kind::Bool => "a boolean",
            Kind::Null => "null",
        }
    }
}

/// Why text is no JSON, or none that a value can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Broken {
    /// The text ends inside a value.
    End,
    /// A byte stands where none like it can.
    Syntax,
    /// An escape names half of a character that needs two.
    Surrogate,
    /// A number lies beyond a double.
    Range,
    /// Something follows the value.
    Trailing,
}

/// A string as it is written, with its quotes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Text<'t> {
    raw: &'t str,
    escaped: bool,
}

impl<'t> Text<'t> {
    /// The string that is meant.
    #[inline]
    pub fn meant(self) -> Cow<'t, str> {
        match self.raw.get(1..self.raw.len() - 1) {
            Some(meant) if !self.escaped => Cow::Borrowed(meant),
            _ => Cow::Owned(self.unescaped()),
        }
    }

    #[cold]
    fn unescaped(self) -> String {
        serde_json::from_str(self.raw).unwrap_or_default()
    }
}

/// A place in JSON text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scanner<'t> {
    text: &'t str,
    at: usize,
    /// Whether what no value can hold passes: half a character, or a number beyond a double.
    lenient: bool,
}

type Scan<T> = Result<T, Broken>;

impl<'t> Scanner<'t> {
    /// The text's start.
    pub fn new(text: &'t str) -> Scanner<'t> {
        Scanner {
            text,
            at: 0,
            lenient: false,
        }
    }

    /// The bytes in front of this place.
    pub fn offset(&self) -> usize {
        self.at
    }

    #[inline]
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn broken(&self) -> Broken {
        match self.byte() {
            Some(_) => Broken::Syntax,
            None => Broken::End,
        }
    }

    /// Goes past whitespace, and says which byte stands there.
    #[inline]
    fn space(&mut self) -> Scan<u8> {
        loop {
            match self.byte() {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                Some(byte) => return Ok(byte),
                None => return Err(Broken::End),
            }
        }
    }

    /// Goes to the value that starts here, and says what kind it is.
    #[inline]
    pub fn peek(&mut self) -> Scan<Kind> {
        match self.space()? {
            b'{' => Ok(Kind::Object),
            b'[' => Ok(Kind::Array),
            b'"' => Ok(Kind::String),
            b'-' | b'0'..=b'9' => Ok(Kind::Number),
            b't' | b'f' => Ok(Kind::Bool),
            b'n' => Ok(Kind::Null),
            _ => Err(Broken::Syntax),
        }
    }

    /// Goes past the end of the text.
    pub fn end(&mut self) -> Scan<()> {
        match self.space() {
            Ok(_) => Err(Broken::Trailing),
            Err(_) => Ok(()),
        }
    }

    /// Goes into the object or array that was peeked at.
    pub fn enter(&mut self) {
        self.at += 1;
    }

    /// Goes to the next member's value and gives its name, or leaves the object.
    pub fn member(&mut self, first: bool) -> Scan<Option<Text<'t>>> {
        match (self.space()?, first) {
            (b'}', _) => {
                self.at += 1;
                return Ok(None);
            }
            (b',', false) => {
                self.at += 1;
                self.space()?;
            }
            (_, true) => {}
            (_, false) => return Err(Broken::Syntax),
        }
        let name = self.string()?;
        match self.space()? {
            b':' => self.at += 1,
            _ => return Err(Broken::Syntax),
        }
        Ok(Some(name))
    }

    /// Goes to the next element and says that there is one, or leaves the array.
    pub fn element(&mut self, first: bool) -> Scan<bool> {
        match (self.space()?, first) {
            (b']', _) => {
                self.at += 1;
                Ok(false)
            }
            (b',', false) => {
                self.at += 1;
                Ok(true)
            }
            (_, true) => Ok(true),
            (_, false) => Err(Broken::Syntax),
        }
    }

    /// Goes past a string, and gives it as it is written.
    #[inline]
    pub fn string(&mut self) -> Scan<Text<'t>> {
        let start = self.at;
        let escaped = self.pass_string()?;
        let raw = self.since(start);
        Ok(Text { raw, escaped })
    }

    /// The text from a place up to here.
    #[inline]
    pub fn since(&self, start: usize) -> &'t str {
        &self.text[start..self.at]
    }

    /// Goes past a string, and says whether it has an escape.
    pub fn pass_string(&mut self) -> Scan<bool> {
        let bytes = self.text.as_bytes();
        if self.byte() != Some(b'"') {
            return Err(self.broken());
        }
        self.at += 1;
        let mut escaped = false;
        loop {
            let at = special(bytes, self.at);
            self.at = at;
            match bytes.get(at) {
                Some(b'"') => {
                    self.at = at + 1;
                    return Ok(escaped);
                }
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                _ => return Err(self.broken()),
            }
        }
    }

    /// Goes past the next member's name, if it is this one and written without any space or escape.
    #[inline]
    pub fn pass_member(&mut self, first: bool, name: &str) -> bool {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let opening: &[u8] = if first { b"\"" } else { b",\"" };
        let behind = rest
            .strip_prefix(opening)
            .and_then(|rest| rest.strip_prefix(name.as_bytes()))
            .and_then(|rest| rest.strip_prefix(b"\":"));
        if let Some(behind) = behind {
            self.at = self.text.len() - behind.len();
        }
        behind.is_some()
    }

    fn escape(&mut self) -> Scan<()> {
        self.at += 1;
        match self.byte() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.at += 1;
                Ok(())
            }
            Some(b'u') if self.lenient => self.code().map(drop),
            Some(b'u') => match self.code()? {
                0xd800..=0xdbff => {
                    let rest = &self.text.as_bytes()[self.at..];
                    if !rest.starts_with(b"\\u") {
                        return Err(Broken::Surrogate);
                    }
                    self.at += 1;
                    match self.code()? {
                        0xdc00..=0xdfff => Ok(()),
                        _ => Err(Broken::Surrogate),
                    }
                }
                0xdc00..=0xdfff => Err(Broken::Surrogate),
                _ => Ok(()),
            },
            _ => Err(self.broken()),
        }
    }

    /// Goes past a `u` and its four digits.
    fn code(&mut self) -> Scan<u32> {
        let mut code = 0;
        for _ in 0..4 {
            self.at += 1;
            let digit = self.byte().and_then(|byte| char::from(byte).to_digit(16));
            code = code * 16 + digit.ok_or_else(|| self.broken())?;
        }
        self.at += 1;
        Ok(code)
    }

    /// Goes past a number, and gives it as it is written.
    pub fn number(&mut self) -> Scan<&'t str> {
        let start = self.at;
        if self.byte() == Some(b'-') {
            self.at += 1;
        }
        match self.byte() {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        let mut exact = true;
        if self.byte() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.byte() {
            exact = false;
            self.at += 1;
            if let Some(b'+' | b'-') = self.byte() {
                self.at += 1;
            }
            self.digits()?;
        }
        let raw = self.since(start);
        // Without an exponent it takes over three hundred digits to leave a double's range.
        if (!exact || raw.len() > 300) && !self.lenient && raw.parse().is_ok_and(f64::is_infinite) {
            return Err(Broken::Range);
        }
        Ok(raw)
    }

    fn digits(&mut self) -> Scan<()> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.byte() {
            self.at += 1;
        }
        match self.at > start {
            true => Ok(()),
            false => Err(self.broken()),
        }
    }

    /// Goes past true, false or null.
    pub fn word(&mut self) -> Scan<()> {
        let rest = &self.text.as_bytes()[self.at..];
        for word in [&b"true"[..], b"false", b"null"] {
            if rest.starts_with(word) {
                self.at += word.len();
                return Ok(());
            }
            if word.starts_with(rest) {
                self.at = self.text.len();
                return Err(Broken::End);
            }
        }
        Err(Broken::Syntax)
    }

    /// Goes past any one value of a free-form part, which may hold whatever JSON allows.
    pub fn free(&mut self) -> Scan<()> {
        let lenient = std::mem::replace(&mut self.lenient, true);
        let passed = self.value();
        self.lenient = lenient;
        passed.map(drop)
    }

    /// Goes past any one value, without recursion, and says how deep it nests others.
    pub fn value(&mut self) -> Scan<usize> {
        let mut levels = Levels::default();
        let mut first = false;
        loop {
            match self.peek()? {
                kind @ (Kind::Object | Kind::Array) => {
                    levels.enter(kind == Kind::Object);
                    self.enter();
                    first = true;
                }
                Kind::String => self.pass_string().map(drop)?,
                Kind::Number => self.number().map(drop)?,
                Kind::Bool | Kind::Null => self.word()?,
            }
            loop {
                if levels.depth == 0 {
                    return Ok(levels.deepest);
                }
                let more = match levels.in_object() {
                    true => self.member(first)?.is_some(),
                    false => self.element(first)?,
                };
                first = false;
                if more {
                    break;
                }
                levels.leave();
            }
        }
    }
}

/// The levels that are open, a bit to each: whether it is an object.
#[derive(Default)]
struct Levels {
    depth: usize,
    deepest: usize,
    /// The innermost ones, the last in the lowest bit.
    inner: u64,
    /// Those outside, by sixty-four.
    outer: Vec<u64>,
}

impl Levels {
    #[inline]
    fn enter(&mut self, object: bool) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.outer.push(self.inner);
        }
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
        self.inner = self.inner << 1 | u64::from(object);
    }

    #[inline]
    fn in_object(&self) -> bool {
        self.inner & 1 == 1
    }

    #[inline]
    fn leave(&mut self) {
        self.depth -= 1;
        self.inner >>= 1;
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.inner = self.outer.pop().unwrap_or_default();
        }
    }
}

/// The first place, from `at` on, of a byte that a string cannot hold as it is: a quote, a backslash or a control
/// character; the end where there is none.
#[inline]
fn special(bytes: &[u8], mut at: usize) -> usize {
    while let Some(eight) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        match specials(*eight) {
            0 => at += 8,
            marks => return at + (marks.trailing_zeros() / 8) as usize,
        }
        // A long string is passed by blocks that the compiler compares as vectors.
        while let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk::<32>)
            && !block
                .iter()
                .fold(false, |any, byte| any | is_special(*byte))
        {
            at += 32;
        }
    }
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest
        .iter()
        .position(|byte| is_special(*byte))
        .unwrap_or(rest.len())
}

const fn is_special(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// Eight bytes at once: the lowest bit set is the high bit of the first special one.
fn specials(eight: [u8; 8]) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    let word = u64::from_le_bytes(eight);
    // With bit 1 flipped, the quote stands right behind the control characters, and one comparison finds both.
    let low = (word ^ (ONES * 2)).wrapping_sub(ONES * 0x21);
    let backslash = (word ^ (ONES * b'\\' as u64)).wrapping_sub(ONES);
    (low | backslash) & !word & (ONES << 7)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde::de::IgnoredAny;
    use serde_json::Value;

    fn verdict(text: &str) -> Scan<()> {
        let mut scanner = Scanner::new(text);
        scanner.value()?;
        scanner.end()
    }

    fn freely(text: &str) -> Scan<()> {
        let mut scanner = Scanner::new(text);
        scanner.free()?;
        scanner.end()
    }

    /// serde_json's verdict, with no value to hold.
    fn passed(text: &str) -> bool {
        serde_json::from_str::<IgnoredAny>(text).is_ok()
    }

    /// serde_json's verdict, with a value to hold: it refuses half characters and numbers beyond a double.
    fn held(text: &str) -> bool {
        serde_json::from_str::<Value>(text).is_ok()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(700))]

        #[test]
        fn what_serde_json_reads_passes_and_nothing_else(
            text in r#"[ \t]?([\[{]|"a":|"[^"\\]{0,20}"|"\\[u"bx\\][d8c09]{0,4}(\\u)?[dc0]{0,4}"|-?[0-9.]{1,3}([eE][+-]?[0-9]{0,3})?|true|fals|false|null|[\]},: \n]){0,12}"#
        ) {
            prop_assert_eq!(verdict(&text).is_ok(), held(&text), "{:?} {:?}", text, verdict(&text));
            prop_assert_eq!(freely(&text).is_ok(), passed(&text), "{:?} {:?}", text, freely(&text));
        }

        #[test]
        fn a_string_stops_at_its_first_special_byte(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let first = bytes.iter().position(|byte| *byte < 0x20 || *byte == b'"' || *byte == b'\\');
            prop_assert_eq!(special(&bytes, 0), first.unwrap_or(bytes.len()));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(50))]

        #[test]
        fn any_value_passes_in_any_layout(depth in 0usize..6, text in any::<String>(), number in any::<f64>()) {
            let leaf = serde_json::json!({"a": text, "b": [number, true, null, {}], &text: []});
            let value = (0..depth).fold(leaf, |inner, _| serde_json::json!([inner, {"x": 1}]));
            for written in [serde_json::to_string(&value), serde_json::to_string_pretty(&value)] {
                let written = written.expect("it is written");
                prop_assert_eq!(verdict(&written), Ok(()));
                for cut in 1..written.len() {
                    let cut = written.get(..cut).unwrap_or("[");
                    prop_assert_eq!(verdict(cut), Err(Broken::End), "{}", cut);
                }
            }
        }
    }

    #[test]
    fn each_break_is_told_apart() {
        for (text, broken) in [
            ("", Broken::End),
            (" ", Broken::End),
            ("[1,]", Broken::Syntax),
            ("{\"a\":1,}", Broken::Syntax),
            ("{a:1}", Broken::Syntax),
            ("[1 2]", Broken::Syntax),
            ("01", Broken::Trailing),
            ("1 1", Broken::Trailing),
            ("+1", Broken::Syntax),
            ("1.", Broken::End),
            ("-", Broken::End),
            ("1e400", Broken::Range),
            ("\"\u{1}\"", Broken::Syntax),
            ("\"\\ud800\"", Broken::Surrogate),
            ("\"\\udc00\"", Broken::Surrogate),
            ("\"\\ud800\\u0041\"", Broken::Surrogate),
            ("\"\\x\"", Broken::Syntax),
            ("tru", Broken::End),
            ("trux", Broken::Syntax),
            ("[}", Broken::Syntax),
            ("{,\"a\":1}", Broken::Syntax),
            ("[,1]", Broken::Syntax),
        ] {
            assert_eq!(verdict(text), Err(broken), "{text}");
        }
        assert_eq!(verdict(&"9".repeat(400)), Err(Broken::Range));
        assert_eq!(verdict("1e-400"), Ok(()));
    }

    #[test]
    fn values_nest_to_any_depth() {
        for depth in [1, 63, 64, 65, 127, 128, 129, 100_000] {
            for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
                let text = format!("{}0{}", open.repeat(depth), close.repeat(depth));
                assert_eq!(Scanner::new(&text).value(), Ok(depth));
                assert_eq!(depth <= 127, held(&text), "{depth}");
                assert_eq!(freely(&text), Ok(()), "{depth}");
                let (whole, cut) = (text.len(), text.len() - 1);
                assert_eq!(freely(&text[..cut]), Err(Broken::End), "{depth}");
                let other = if close == "]" { "}" } else { "]" };
                let crossed = format!("{}{other}", &text[..cut]);
                assert_eq!(crossed.len(), whole);
                assert_eq!(freely(&crossed), Err(Broken::Syntax), "{depth}");
            }
        }
    }
}
