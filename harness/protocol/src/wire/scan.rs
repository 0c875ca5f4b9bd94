//! JSON text read token by token, keeping nothing.
//!
//! serde_json reads JSON into values; a judge of surfaces wants none. It has to know where each token stands, to pass over
//! free-form parts at the speed of the memory, and to say what is wrong without words that quote the text. Whatever
//! passes here, serde_json can read into a value; in free-form parts, what JSON allows beyond that passes too.

use std::borrow::Cow;

use super::shape::Object;

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

    fn unescaped(self) -> String {
        let mut meant = String::with_capacity(self.raw.len());
        let mut rest = self.raw.get(1..self.raw.len() - 1).unwrap_or_default();
        while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
            let (plain, escape) = rest.split_at(at);
            meant.push_str(plain);
            let (character, length) = unescape(escape.as_bytes());
            meant.push(character);
            rest = escape.get(length..).unwrap_or_default();
        }
        meant.push_str(rest);
        meant
    }
}

/// The character that an escape means, and how many bytes the escape takes. It was gone past before.
fn unescape(escape: &[u8]) -> (char, usize) {
    let code = |at: usize| {
        let digits = escape.get(at..at + 4).unwrap_or_default();
        digits.iter().fold(0, |code, digit| {
            code * 16 + char::from(*digit).to_digit(16).unwrap_or_default()
        })
    };
    let character = match escape.get(1) {
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => match code(2) {
            high @ 0xd800..=0xdbff => {
                let whole = 0x1_0000 + ((high & 0x3ff) << 10 | code(8) & 0x3ff);
                return (char::from_u32(whole).unwrap_or_default(), 12);
            }
            code => return (char::from_u32(code).unwrap_or_default(), 6),
        },
        Some(other) => char::from(*other),
        None => char::REPLACEMENT_CHARACTER,
    };
    (character, 2)
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
    pub fn byte(&self) -> Option<u8> {
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
    #[inline]
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
    #[inline]
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
    #[inline]
    pub fn pass_string(&mut self) -> Scan<bool> {
        let bytes = self.text.as_bytes();
        if self.byte() != Some(b'"') {
            return Err(self.broken());
        }
        let at = special(bytes, self.at + 1);
        if bytes.get(at) == Some(&b'"') {
            self.at = at + 1;
            return Ok(false);
        }
        self.at = at;
        self.pass_escapes().map(|()| true)
    }

    /// Goes past the rest of a string, from its first escape on.
    fn pass_escapes(&mut self) -> Scan<()> {
        let bytes = self.text.as_bytes();
        loop {
            match (bytes.get(self.at), bytes.get(self.at + 1)) {
                (Some(b'"'), _) => {
                    self.at += 1;
                    return Ok(());
                }
                (Some(b'\\'), Some(b'n' | b'"' | b'\\' | b'/' | b't' | b'r' | b'b' | b'f')) => {
                    self.at += 2;
                }
                (Some(b'\\'), _) => self.escape()?,
                _ => return Err(self.broken()),
            }
            self.at = special(bytes, self.at);
        }
    }

    /// Goes past a string that holds nothing but a decimal as models send them: digits, at most 28 of them, with at most
    /// one point between and a minus in front. Stays where another value stands.
    #[inline]
    pub fn plain_decimal(&mut self) -> Option<Text<'t>> {
        let bytes = self.text.as_bytes().get(self.at..)?;
        let mut at = 1 + usize::from(bytes.get(1) == Some(&b'-'));
        let mut digits = 0;
        for points in 0..2 {
            let start = at;
            at += leading_digits(bytes, at);
            digits += at - start;
            if at == start || digits > 28 {
                return None;
            }
            match bytes.get(at) {
                Some(b'"') => break,
                Some(b'.') if points == 0 => at += 1,
                _ => return None,
            }
        }
        if bytes.first() != Some(&b'"') || bytes.get(at) != Some(&b'"') {
            return None;
        }
        let raw = self.text.get(self.at..self.at + at + 1)?;
        self.at += at + 1;
        Some(Text {
            raw,
            escaped: false,
        })
    }

    /// Goes past an array of integers from 0 to 255, if it has some and is written without space. Stays where another
    /// value stands.
    #[inline]
    pub fn plain_bytes(&mut self) -> bool {
        let bytes = self.text.as_bytes();
        let mut at = self.at + 1;
        // Behind a number there is room for three more bytes where a chunk goes on.
        while let Some([first, second, third, fourth]) =
            bytes.get(at..).and_then(<[u8]>::first_chunk)
        {
            let (behind, length) = match (first, second, third, fourth) {
                (b'0'..=b'9', behind @ (b',' | b']'), ..) => (behind, 1),
                (b'1'..=b'9', b'0'..=b'9', behind @ (b',' | b']'), _) => (behind, 2),
                (b'1', b'0'..=b'9', b'0'..=b'9', behind @ (b',' | b']'))
                | (b'2', b'0'..=b'4', b'0'..=b'9', behind @ (b',' | b']'))
                | (b'2', b'5', b'0'..=b'5', behind @ (b',' | b']')) => (behind, 3),
                _ => return false,
            };
            at += length + 1;
            if *behind == b']' {
                self.at = at;
                return true;
            }
        }
        false
    }

    /// Goes to the value of the next member, if that is one of the object's from the likely one on and written without
    /// space or escape. Stays otherwise.
    #[inline]
    pub fn likely_member(&mut self, first: bool, object: &Object, likely: usize) -> Option<usize> {
        let rest = self.text.as_bytes().get(self.at..)?;
        let key = match (rest, first) {
            ([b'"', key @ ..], true) | ([b',', b'"', key @ ..], false) => key,
            _ => return None,
        };
        let likelier = object.members.get(likely..)?;
        let index = likelier.iter().position(|member| member.is_key(key))?;
        self.at = self.text.len() - key.len() + likelier[index].key_length();
        Some(likely + index)
    }

    /// Goes past a string that is one of these, and says which. Stays otherwise.
    #[inline]
    pub fn likely_word<W>(&mut self, words: &[W], name: impl Fn(&W) -> &str) -> Option<usize> {
        let rest = self.text.as_bytes().get(self.at..)?.strip_prefix(b"\"")?;
        let is_it = |word: &W| {
            let word = name(word).as_bytes();
            rest.get(word.len()) == Some(&b'"') && rest.starts_with(word)
        };
        let index = words.iter().position(is_it)?;
        self.at += name(&words[index]).len() + 2;
        Some(index)
    }

    #[cold]
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
    #[inline]
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
    loop {
        for _ in 0..4 {
            let Some(eight) = bytes.get(at..).and_then(<[u8]>::first_chunk) else {
                return special_at_the_end(bytes, at);
            };
            match specials(u64::from_le_bytes(*eight)) {
                0 => at += 8,
                marks => return at + (marks.trailing_zeros() / 8) as usize,
            }
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
}

/// The same where less than eight bytes are left.
#[inline]
fn special_at_the_end(bytes: &[u8], at: usize) -> usize {
    let left = bytes.len().saturating_sub(at);
    match bytes.last_chunk() {
        // Behind the end stand zeros then, which are special too.
        Some(eight) if left > 0 => {
            let word = u64::from_le_bytes(*eight) >> (64 - 8 * left);
            at + (specials(word).trailing_zeros() / 8) as usize
        }
        _ => {
            let rest = bytes.get(at..).unwrap_or_default();
            at + rest
                .iter()
                .position(|byte| is_special(*byte))
                .unwrap_or(rest.len())
        }
    }
}

/// How many digits stand from `at` on.
#[inline]
fn leading_digits(bytes: &[u8], at: usize) -> usize {
    const ONES: u64 = u64::MAX / 255;
    let mut end = at;
    while let Some(eight) = bytes.get(end..).and_then(<[u8]>::first_chunk) {
        // Digits become 0 to 9; whatever else is there gets its high bit, and can carry only into what stands behind it.
        let values = u64::from_le_bytes(*eight) ^ (ONES * 0x30);
        match (values.wrapping_add(ONES * 0x76) | values) & (ONES << 7) {
            0 => end += 8,
            others => return end - at + (others.trailing_zeros() / 8) as usize,
        }
    }
    while bytes.get(end).is_some_and(u8::is_ascii_digit) {
        end += 1;
    }
    end - at
}

const fn is_special(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// Eight bytes at once: the lowest bit set is the high bit of the first special one.
#[inline]
fn specials(word: u64) -> u64 {
    const ONES: u64 = u64::MAX / 255;
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
        #[test]
        fn a_string_means_what_serde_json_reads(
            text in r#"([a-z"é]|\\["\\/bfnrtu]|\\u[0-9a-fA-F]{4}|\\ud83d\\ude[0-9]{2}){0,9}"#
        ) {
            let text = format!("\"{}\"", text.replace("\\\"", "\0").replace('"', "").replace('\0', "\\\""));
            let read = serde_json::from_str::<String>(&text).ok();
            let mut scanner = Scanner::new(&text);
            let meant = scanner.string().ok().filter(|_| scanner.end().is_ok());
            prop_assert_eq!(meant.map(|text| text.meant().into_owned()), read, "{}", text);
        }

        #[test]
        fn what_is_passed_as_plain_is_what_it_is_taken_for(
            bytes in r"\[[0-9, ]{0,12}\]?", decimal in r#""?-?[0-9.e]{0,32}"?"#
        ) {
            let followed = format!("{bytes}   ");
            let mut scanner = Scanner::new(&followed);
            if scanner.plain_bytes() {
                let plain = scanner.since(0);
                prop_assert!(serde_json::from_str::<Vec<u8>>(plain).is_ok_and(|all| !all.is_empty()), "{plain}");
            } else {
                let compact = serde_json::from_str::<Vec<u8>>(&bytes).ok().filter(|all| !all.is_empty());
                prop_assert!(compact.is_none() || bytes.contains(' '), "{bytes}");
            }
            let mut scanner = Scanner::new(&decimal);
            let plain = scanner.plain_decimal().map(|text| text.meant().into_owned());
            let inside = decimal.strip_prefix('"').and_then(|rest| rest.split_once('"')).map(|(inside, _)| inside);
            let wanted = inside.filter(|inside| crate::wire::logprob::is_plain(inside)).map(str::to_owned);
            prop_assert_eq!(plain, wanted, "{}", decimal);
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
