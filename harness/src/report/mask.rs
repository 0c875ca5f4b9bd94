//! Secrets are shown nowhere: neither in their places, nor wherever else their texts turn up.
//!
//! Secret places are the credential, the values of a loop's end, what goes over a secrets channel, and what is asked
//! of and answered by a vault. Every text and number that was seen in such a place is looked for in everything that is
//! shown, in any spelling that JSON allows.

mod seen;

use std::cmp::Ordering;
use std::ops::Range;

use diverge_protocol::transcript::Transcript;
use diverge_protocol::wire::words;

use super::reading::read;

pub(crate) use seen::Seen;

/// Shorter texts are not masked by value: they would mask words that have nothing to do with them, and so give
/// themselves away.
const SHORTEST: usize = 4;

/// The secrets of one transcript.
#[derive(Debug, Clone, Default)]
pub struct Mask {
    /// The longest first, so that a secret that contains another is found whole.
    secrets: Vec<Vec<u8>>,
    /// By first byte: whether a secret can begin there, plainly or by an escape.
    begins: Vec<bool>,
}

impl Mask {
    /// The secrets that stand in secret places of `transcript`, and `extra` ones.
    #[must_use]
    pub fn of(transcript: &Transcript, extra: &[String]) -> Self {
        let mut secrets: Vec<Vec<u8>> =
            extra.iter().map(|text| text.clone().into_bytes()).collect();
        for message in read(transcript) {
            for place in message.secret.iter().flat_map(|secret| &secret.texts) {
                values(&message.raw()[place.clone()], &mut secrets);
            }
        }
        secrets.retain(|secret| hides_something(secret));
        secrets.sort_unstable_by(|a, b| longest_first(a, b));
        secrets.dedup();
        let mut begins = Vec::new();
        if !secrets.is_empty() {
            begins = vec![false; 256];
            begins[usize::from(b'\\')] = true;
            secrets
                .iter()
                .for_each(|secret| begins[usize::from(secret[0])] = true);
        }
        Self { secrets, begins }
    }

    /// Adds a secret; says whether it is new.
    fn add(&mut self, secret: &[u8]) -> bool {
        let Err(at) = self.find(secret) else {
            return false;
        };
        self.begins.resize(256, false);
        self.begins[usize::from(b'\\')] = true;
        if let Some(first) = secret.first() {
            self.begins[usize::from(*first)] = true;
        }
        self.secrets.insert(at, secret.to_vec());
        true
    }

    /// Takes a secret out again.
    fn forget(&mut self, secret: &[u8]) {
        if let Ok(at) = self.find(secret) {
            self.secrets.remove(at);
        }
    }

    /// Where a secret is, or where it belongs.
    fn find(&self, secret: &[u8]) -> Result<usize, usize> {
        self.secrets
            .binary_search_by(|it| longest_first(it, secret))
    }

    /// `text` with every secret replaced by its length.
    #[must_use]
    pub fn text(&self, text: &str) -> String {
        self.shortened(text, usize::MAX)
    }

    /// At most about `most` characters of `text`, with an ellipsis where something is left out, and no secret in it.
    #[must_use]
    pub fn shortened(&self, text: &str, most: usize) -> String {
        let mut shown = String::new();
        let (mut at, mut count) = (0, 0);
        while let Some(next) = text[at..].chars().next() {
            if count >= most {
                shown.push('…');
                break;
            }
            if let Some((length, secret)) = self.starts(&text.as_bytes()[at..]) {
                let stand_in = stand_in(secret.len());
                count += stand_in.chars().count();
                shown.push_str(&stand_in);
                at += length;
            } else {
                shown.push(next);
                count += 1;
                at += next.len_utf8();
            }
        }
        shown
    }

    /// Where in `bytes` secrets stand.
    pub(super) fn places(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        let mut places = Vec::new();
        let mut at = 0;
        while at < bytes.len() {
            match self.starts(&bytes[at..]) {
                Some((length, _)) => {
                    places.push(at..at + length);
                    at += length;
                }
                None => at += 1,
            }
        }
        places
    }

    /// The secret that `bytes` begin with, and how many bytes its spelling there takes.
    fn starts(&self, bytes: &[u8]) -> Option<(usize, &[u8])> {
        if !*self.begins.get(usize::from(*bytes.first()?))? {
            return None;
        }
        self.secrets
            .iter()
            .find_map(|secret| Some((spelled(bytes, secret)?, secret.as_slice())))
    }
}

/// Whether a text is masked by value: not the words of the protocol itself, which tell nothing, and without which the
/// messages that they stand in could not be judged.
fn hides_something(secret: &[u8]) -> bool {
    secret.len() >= SHORTEST && !words::says_nothing(secret)
}

/// The order of a mask's secrets.
fn longest_first(a: &[u8], b: &[u8]) -> Ordering {
    b.len().cmp(&a.len()).then_with(|| a.cmp(b))
}

/// What is shown in the place of a secret.
pub(crate) fn stand_in(bytes: usize) -> String {
    if bytes == 1 {
        "‹secret, 1 byte›".to_owned()
    } else {
        format!("‹secret, {bytes} bytes›")
    }
}

/// How many bytes of `text` spell `secret`: as it is, with JSON escapes, or cut off by an ellipsis of ours.
fn spelled(text: &[u8], secret: &[u8]) -> Option<usize> {
    if text.starts_with(secret) {
        return Some(secret.len());
    }
    let (mut at, mut left) = (0, secret);
    while let Some(first) = left.first() {
        let rest = &text[at..];
        let escaped = unescape(rest).and_then(|(character, length)| {
            let mut utf8 = [0; 4];
            left.strip_prefix(character.encode_utf8(&mut utf8).as_bytes())
                .map(|left| (left, length))
        });
        if let Some((behind, length)) = escaped {
            left = behind;
            at += length;
        } else if rest.first() == Some(first) {
            left = &left[1..];
            at += 1;
        } else {
            let cut = rest.starts_with("…".as_bytes()) && secret.len() - left.len() >= SHORTEST;
            return cut.then_some(at);
        }
    }
    Some(at)
}

/// The character that a JSON escape at the beginning of `text` stands for, and its length there.
fn unescape(text: &[u8]) -> Option<(char, usize)> {
    let hex = |at: usize| {
        let digits = text.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let plain = match (text.first()?, text.get(1)?) {
        (b'\\', b'b') => '\u{8}',
        (b'\\', b'f') => '\u{c}',
        (b'\\', b'n') => '\n',
        (b'\\', b'r') => '\r',
        (b'\\', b't') => '\t',
        (b'\\', other @ (b'"' | b'\\' | b'/')) => char::from(*other),
        (b'\\', b'u') => {
            let first = hex(0)?;
            let units = [Some(first), hex(6)];
            let character = char::decode_utf16(units.into_iter().flatten())
                .next()?
                .ok()?;
            return Some((character, 6 * character.len_utf16()));
        }
        _ => return None,
    };
    Some((plain, 2))
}

/// The texts and numbers in a secret place: those of JSON, member names aside, or else the whole place.
///
/// Read by its tokens alone, so that a value in broken JSON, or behind another of the same name, is found too.
fn values(place: &[u8], found: &mut Vec<Vec<u8>>) {
    let trimmed = place.trim_ascii();
    let is_json = matches!(trimmed.first(), Some(b'{' | b'[' | b'"'));
    if !is_json {
        found.push(place.to_vec());
        if trimmed.len() < place.len() {
            found.push(trimmed.to_vec());
        }
        return;
    }
    let mut at = 0;
    while at < trimmed.len() {
        let rest = &trimmed[at..];
        at += match rest[0] {
            b'"' => {
                let (inner, length) = quoted(rest);
                let behind = trimmed[at + length..].trim_ascii_start();
                if behind.first() != Some(&b':') {
                    found.push(unescaped(inner));
                }
                length
            }
            b'-' | b'0'..=b'9' => {
                let number =
                    |byte: &&u8| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
                let length = rest.iter().take_while(number).count();
                found.push(rest[..length].to_vec());
                length
            }
            _ => 1,
        };
    }
}

/// What stands between the quote at the beginning of `text` and the next, and the length with both.
fn quoted(text: &[u8]) -> (&[u8], usize) {
    let mut at = 1;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => return (&text[1..at], at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    (&text[1..], text.len())
}

fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        if let Some((character, length)) = unescape(&text[at..]) {
            plain.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            at += length;
        } else {
            plain.push(text[at]);
            at += 1;
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use diverge_protocol::transcript::{LinkKind, Role, What};
    use diverge_protocol::wire::frame::{Frame, FrameType};

    use super::*;

    const MARKER: &str = "hunter2-\"é\"-marker";

    fn mask(link: LinkKind, messages: &[(Role, Frame)]) -> Mask {
        let mut transcript = Transcript::default();
        let link = transcript.open(link, "link", None);
        for (sender, frame) in messages {
            transcript.record(Duration::ZERO, link, *sender, What::Binary(frame.encode()));
        }
        Mask::of(&transcript, &[])
    }

    fn payload(tag: u8, body: &[u8]) -> Vec<u8> {
        [&[tag], body].concat()
    }

    fn masks(mask: &Mask) -> bool {
        let shown = mask.text(&format!("before {MARKER} after"));
        shown == format!("before ‹secret, {} bytes› after", MARKER.len())
    }

    #[test]
    fn a_marker_planted_in_any_secret_place_is_masked_everywhere() {
        let json = serde_json::json!({ "name": [1, { "inner": MARKER }] }).to_string();
        let with = |kind, tag, body: &[u8]| Frame::new(kind, 1, 3, payload(tag, body));
        let (ask, answer) = (FrameType::ChannelRequest, FrameType::ChannelResponse);
        let set = [&[0, 3], &b"key"[..], MARKER.as_bytes()].concat();
        let places: [(LinkKind, Vec<(Role, Frame)>); 8] = [
            (
                LinkKind::Client,
                vec![(
                    Role::Client,
                    with(FrameType::Authorization, 0, MARKER.as_bytes()),
                )],
            ),
            (
                LinkKind::Client,
                vec![(
                    Role::Provider,
                    with(FrameType::Response, 9, json.as_bytes()),
                )],
            ),
            (
                LinkKind::Begin,
                vec![(Role::Proxy, with(FrameType::Response, 4, json.as_bytes()))],
            ),
            (
                LinkKind::Client,
                vec![(Role::Client, with(ask, 10, json.as_bytes()))],
            ),
            (
                LinkKind::Begin,
                vec![(Role::Provider, with(ask, 5, json.as_bytes()))],
            ),
            (LinkKind::Client, vec![(Role::Provider, with(ask, 8, &set))]),
            (LinkKind::Begin, vec![(Role::Proxy, with(ask, 3, &set))]),
            (
                LinkKind::Client,
                vec![
                    (Role::Provider, with(ask, 7, b"key")),
                    (Role::Client, with(answer, 0, MARKER.as_bytes())),
                ],
            ),
        ];
        for (link, messages) in places {
            assert!(masks(&mask(link, &messages)), "{messages:?}");
        }
    }

    #[test]
    fn a_marker_is_known_in_every_spelling_of_json() {
        let mask = Mask::of(&Transcript::default(), &[MARKER.to_owned()]);
        let stand_in = stand_in(MARKER.len());
        for spelling in [
            serde_json::json!(MARKER).to_string(),
            format!(
                "\"{}\"",
                MARKER.replace('"', "\\\"").replace('h', "\\u0068")
            ),
            format!(
                "\"{}\"",
                MARKER.replace('"', "\\u0022").replace('é', "\\u00E9")
            ),
        ] {
            assert_eq!(
                mask.text(&spelling),
                format!("\"{stand_in}\""),
                "{spelling}"
            );
        }
        let beyond = Mask::of(&Transcript::default(), &["key-🏃-é".to_owned()]);
        assert_eq!(
            beyond.text(r"<key-\uD83C\udfc3-\u00e9>"),
            "<‹secret, 11 bytes›>"
        );
    }

    #[test]
    fn a_value_in_broken_or_repeated_json_is_found() {
        for json in [
            format!("{{\"a\":\"{}\",\"a\":\"other\"}}", "repeated-marker"),
            "{\"a\":\"repeated-marker\"".to_owned(),
            "{\"a\":\"repeated-marker".to_owned(),
            "[\"repeated-marker\",]".to_owned(),
        ] {
            let frame = Frame::new(FrameType::Response, 1, 0, payload(9, json.as_bytes()));
            let mask = mask(LinkKind::Client, &[(Role::Provider, frame)]);
            assert_eq!(mask.text("repeated-marker"), "‹secret, 15 bytes›", "{json}");
        }
    }

    #[test]
    fn numbers_are_masked_and_names_and_short_texts_are_not() {
        let frame = Frame::new(
            FrameType::Response,
            1,
            0,
            payload(9, br#"{"pass word":123456,"b":"abc","c":true}"#),
        );
        let mask = mask(LinkKind::Client, &[(Role::Provider, frame)]);
        assert_eq!(
            mask.text("pass word 123456 abc true"),
            "pass word ‹secret, 6 bytes› abc true"
        );
    }

    #[test]
    fn the_words_of_the_protocol_are_masked_in_secret_places_only() {
        let values = br#"{"K":"name","L":"tool_call","M":"hunter2"}"#;
        let frame = Frame::new(FrameType::Response, 1, 0, payload(9, values));
        let mask = mask(LinkKind::Client, &[(Role::Provider, frame)]);
        assert_eq!(
            mask.text(r#"{"type":"tool_call","name":"hunter2"}"#),
            r#"{"type":"tool_call","name":"‹secret, 7 bytes›"}"#
        );
    }

    #[test]
    fn a_secret_is_masked_before_it_is_cut() {
        let mask = Mask::of(&Transcript::default(), &["hunter2".to_owned()]);
        assert_eq!(
            mask.shortened("my hunter2 is long", 6),
            "my ‹secret, 7 bytes›…"
        );
        assert_eq!(mask.shortened("my word", 6), "my wor…");
        assert_eq!(
            mask.text("it began with hunte… and so on"),
            "it began with ‹secret, 7 bytes›… and so on"
        );
        assert_eq!(
            mask.text("hun… is too little to tell"),
            "hun… is too little to tell"
        );
    }

    #[test]
    fn the_longest_secret_is_found_whole() {
        let mask = Mask::of(
            &Transcript::default(),
            &["aaaa".to_owned(), "aaaa-bbbb".to_owned()],
        );
        assert_eq!(
            mask.text("aaaa-bbbb aaaa"),
            "‹secret, 9 bytes› ‹secret, 4 bytes›"
        );
        assert_eq!(mask.places(b"x aaaa-bbbb").first(), Some(&(2..11)));
    }
}
