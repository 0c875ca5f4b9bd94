//! A transcript as a snapshot: what the scenario's steps sent and read, in the order of its script.
//!
//! Messages on different links, and of different exchanges on one link, come in whatever order the machine happens to
//! run things. The script's order is the one that the scenario enforces, so a snapshot shows no other. A chain's script
//! speaks of one of its links alone, so that its snapshot shows each exchange of each link by itself. What differs from
//! run to run by right is redacted: times, ids, tokens, the numbers that the implementation chose, and secrets.

mod exchanges;

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use diverge_protocol::scenario::Iut;
use diverge_protocol::transcript::{LinkId, Role};
use diverge_protocol::wire::FrameType;
use diverge_protocol::wire::run::RunKind;
use sha2::{Digest, Sha256};

use self::exchanges::{by_exchange, opener};
use super::mask::{Mask, stand_in};
use super::reading::{Read, read};
use super::style;
use crate::verdict::{Outcome, Verdict};

/// A longer body is shown by its ends, its length and a digest.
const LONG: usize = 200;
/// Of a body that is no text, so many bytes are shown.
const FEW: usize = 32;
/// Fewer lines are told again where scenarios share them.
const SHARED: usize = 3;
/// Where in an id the slash stands that divides a family from its case.
const FAMILY: usize = 2;
/// How a digest begins, how many digits it has, and how many of them tell it apart.
const DIGEST: (&str, usize, usize) = ("sha256:", 64, 8);
/// The most lines that are looked for as a repetition.
const BLOCK: usize = 40;
/// How the tokens begin by which a connection is known to its scenario, and their hex digits.
const TOKEN: (&str, usize) = ("run-", 16);

/// The snapshot of one scenario's result: a line with its id and verdict, and for a pass a line for each message.
#[must_use]
pub fn golden(outcome: &Outcome, iut: Iut, secrets: &[String]) -> String {
    let mut text = format!("{}  {}\n", outcome.id, outcome.verdict.as_str());
    if outcome.verdict != Verdict::Pass {
        return text;
    }
    let mask = Mask::of(&outcome.transcript, secrets);
    let mut redaction = Redaction {
        judged: judged(iut),
        ..Redaction::default()
    };
    let events: HashMap<u64, Read<'_>> = read(&outcome.transcript)
        .map(|message| (message.event.seq, message))
        .collect();
    let shown: Vec<&Read<'_>> = match iut {
        Iut::Chain => by_exchange(events.values().collect()),
        _ => outcome
            .script
            .iter()
            .filter_map(|seq| events.get(seq))
            .collect(),
    };
    let links: HashSet<LinkId> = shown.iter().map(|message| message.link.id).collect();
    let lines: Vec<String> = shown
        .iter()
        .map(|message| {
            let kind = message.link.kind;
            let alike = shown.iter().filter(|other| other.link.kind == kind);
            let several = alike
                .map(|other| other.link.id)
                .collect::<HashSet<_>>()
                .len()
                > 1;
            let name = several && links.len() > 1;
            redaction.line(message, name, &mask)
        })
        .collect();
    fold(&lines, &mut text);
    text
}

/// The snapshots of several scenarios as one text. Of what a scenario has in common with the first case of its family,
/// or else with the first of all, at its beginning and at its end, only the number of lines is told.
#[must_use]
pub fn together(goldens: &[String]) -> String {
    let mut text = String::new();
    let mut firsts: HashMap<&str, (&str, Vec<&str>)> = HashMap::new();
    for golden in goldens {
        let mut lines = golden.lines();
        let head = lines.next().unwrap_or_default();
        let lines: Vec<&str> = lines.collect();
        let id = head.split_whitespace().next().unwrap_or_default();
        let family = id
            .match_indices('/')
            .nth(FAMILY)
            .map_or(id, |(at, _)| &id[..at]);
        let _ = writeln!(text, "{head}");
        let of_all = firsts.get("").cloned();
        match firsts.get(family).or(of_all.as_ref()) {
            Some((name, first)) => unlike(&mut text, &lines, name, first),
            None => text.extend(lines.iter().flat_map(|line| [*line, "\n"])),
        }
        for of in ["", family] {
            firsts.entry(of).or_insert_with(|| (id, lines.clone()));
        }
    }
    text
}

/// Writes what `lines` have between what they share with those of the scenario `name`.
fn unlike(text: &mut String, lines: &[&str], name: &str, first: &[&str]) {
    let alike = |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| {
        let alike = pairs.take_while(|(one, other)| one == other).count();
        if alike < SHARED { 0 } else { alike }
    };
    let before = alike(&mut lines.iter().zip(first));
    let behind = alike(
        &mut lines[before..]
            .iter()
            .rev()
            .zip(first[before..].iter().rev()),
    );
    if before > 0 {
        let _ = writeln!(text, "{:>13} as the first {before} lines of {name}", "⋮");
    }
    for line in &lines[before..lines.len() - behind] {
        let _ = writeln!(text, "{line}");
    }
    if behind > 0 {
        let _ = writeln!(text, "{:>13} as the last {behind} lines of {name}", "⋮");
    }
}

/// The parties that are judged where this is.
fn judged(iut: Iut) -> &'static [Role] {
    match iut {
        Iut::Client => &[Role::Client],
        Iut::Provider => &[Role::Provider],
        Iut::Proxy => &[Role::Proxy],
        Iut::AgentServer => &[Role::AgentServer],
        Iut::Chain => &[Role::Client, Role::Provider, Role::Proxy, Role::AgentServer],
        Iut::Codec | Iut::Events => &[],
    }
}

/// Names for what differs from run to run, in the order in which it is met.
#[derive(Default)]
struct Redaction {
    judged: &'static [Role],
    ids: Vec<String>,
    tokens: Vec<String>,
    numbers: HashMap<(LinkId, Option<u32>), Vec<u32>>,
}

impl Redaction {
    fn line(&mut self, message: &Read<'_>, named: bool, mask: &Mask) -> String {
        let from = message.from.as_str();
        let mut line = if message.from == message.to {
            format!("{from:>12}   {:12}", "")
        } else {
            format!("{from:>12} → {:<12}", message.to.as_str())
        };
        if named {
            let _ = write!(line, " {}:", message.link.name);
        }
        let frame = message.frame.as_ref();
        if let Some(frame) = frame.filter(|it| it.kind != FrameType::Authorization) {
            let (dialler, _) = message.link.kind.roles();
            let scope = self.number((message.link.id, None), frame.scope, dialler);
            match opener(message, frame.kind) {
                Some(opener) => {
                    let of = (message.link.id, Some(frame.scope));
                    let channel = self.number(of, frame.channel, opener);
                    let _ = write!(line, " #{scope}.{channel}");
                }
                None => {
                    let _ = write!(line, " #{scope}");
                }
            }
        }
        let _ = write!(line, " {}", message.word);
        let body = self.body(message, mask);
        if !body.is_empty() {
            let _ = write!(line, " {body}");
        }
        line.trim_end().to_owned()
    }

    /// A number as it is where the harness chose it, and a letter where the implementation did.
    fn number(&mut self, of: (LinkId, Option<u32>), number: u32, chooser: Role) -> String {
        if !self.judged.contains(&chooser) {
            return number.to_string();
        }
        let numbers = self.numbers.entry(of).or_default();
        let at = numbers.iter().position(|it| *it == number);
        let at = at.unwrap_or_else(|| {
            numbers.push(number);
            numbers.len() - 1
        });
        nth(at)
    }

    fn body(&mut self, message: &Read<'_>, mask: &Mask) -> String {
        if let Some(secret) = &message.secret {
            return stand_in(secret.place.len());
        }
        let bytes = &message.raw()[message.body.clone()];
        let is_id = message.word == RunKind::Id.name();
        if is_id && let Ok(body) = serde_json::from_slice::<serde_json::Value>(bytes) {
            let id = body.get("id").and_then(serde_json::Value::as_str);
            self.ids.extend(id.map(str::to_owned));
        }
        let Ok(text) = std::str::from_utf8(bytes) else {
            let shown: String = bytes
                .iter()
                .take(FEW)
                .map(|it| format!("{it:02x}"))
                .collect();
            return if bytes.len() <= FEW && mask.places(bytes).is_empty() {
                format!("0x{shown}")
            } else {
                format!("‹{}, {}›", style::count(bytes.len(), "byte"), digest(bytes))
            };
        };
        let text = style::printable(&self.redacted(&mask.text(text)));
        if text.chars().count() <= LONG {
            return text;
        }
        let about = format!(
            "‹{}, {}›",
            style::count(text.len(), "byte"),
            digest(text.as_bytes())
        );
        format!("{} {about}", style::fit_ends(&text, LONG / 2))
    }

    fn redacted(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for (at, id) in self.ids.iter().enumerate().filter(|(_, id)| !id.is_empty()) {
            text = text.replace(id, &format!("‹id {}›", nth(at)));
        }
        let (prefix, digits) = TOKEN;
        let mut redacted = String::new();
        let mut rest = text.as_str();
        while let Some(at) = rest.find(prefix) {
            let (before, token) = rest.split_at(at);
            redacted.push_str(before);
            let hex = &token.as_bytes()[prefix.len()..];
            let length = hex.iter().take(digits);
            let length = length.take_while(|byte| byte.is_ascii_hexdigit()).count();
            // A message that was cut may end within a token.
            let is_cut = length > 0 && length < digits && length == hex.len();
            if length < digits && !is_cut {
                redacted.push_str(prefix);
                rest = &token[prefix.len()..];
                continue;
            }
            let (token, behind) = token.split_at(prefix.len() + length);
            let known = self.tokens.iter().position(|it| it.starts_with(token));
            let at = known.unwrap_or_else(|| {
                self.tokens.push(token.to_owned());
                self.tokens.len() - 1
            });
            let cut = if is_cut { ", cut" } else { "" };
            let _ = write!(redacted, "‹token {}{cut}›", nth(at));
            rest = behind;
        }
        redacted.push_str(rest);
        short_digests(&redacted)
    }
}

/// The text with whole digests cut.
fn short_digests(text: &str) -> String {
    let (prefix, digits, shown) = DIGEST;
    let mut parts = text.split(prefix);
    let mut short = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let hex = part
            .bytes()
            .take(digits)
            .take_while(u8::is_ascii_hexdigit)
            .count();
        short.push_str(prefix);
        if hex == digits {
            short.push_str(&part[..shown]);
            short.push('…');
            short.push_str(&part[digits..]);
        } else {
            short.push_str(part);
        }
    }
    short
}

/// `a` to `z`, then `a1` to `z1`, and so on.
fn nth(at: usize) -> String {
    let letter = char::from(b'a' + u8::try_from(at % 26).unwrap_or_default());
    match at / 26 {
        0 => letter.to_string(),
        round => format!("{letter}{round}"),
    }
}

fn digest(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest
        .iter()
        .take(4)
        .map(|it| format!("{it:02x}"))
        .collect()
}

/// Writes the lines; of three or more blocks in a row that differ in numbers and names alone, only the first.
fn fold(lines: &[String], text: &mut String) {
    let shapes: Vec<String> = lines.iter().map(|line| shape(line)).collect();
    let mut at = 0;
    while at < lines.len() {
        let rest = &shapes[at..];
        let times = |block: usize| {
            let blocks = rest.chunks_exact(block);
            blocks.take_while(|it| **it == rest[..block]).count()
        };
        let block = (1..=BLOCK.min(rest.len())).find(|block| times(*block) > 2);
        let shown = block.unwrap_or(1);
        for line in &lines[at..at + shown] {
            let _ = writeln!(text, "{line}");
        }
        let number_in =
            |block: &[String]| block.iter().find_map(|it| number(it).map(str::to_owned));
        let first = number_in(&lines[at..at + shown]);
        at += shown;
        if let Some(block) = block {
            let more = times(block) - 1;
            let what = if block == 1 {
                "that line".to_owned()
            } else {
                format!("those {block} lines")
            };
            at += block * more;
            let last =
                number_in(&lines[at - block..at]).filter(|last| first.as_ref() != Some(last));
            let last = last.map_or_else(String::new, |it| format!(", up to {it}"));
            let _ = writeln!(text, "{:>13} {what}, {more} times more{last}", "⋮");
        }
    }
}

/// The numbers of a line's frame.
fn number(line: &str) -> Option<&str> {
    line.split_whitespace().find(|word| word.starts_with('#'))
}

/// A line without its numbers and the names of its ids and tokens.
fn shape(line: &str) -> String {
    let mut shape = match number(line) {
        Some(number) => line.replacen(number, "#", 1),
        None => line.to_owned(),
    };
    for name in ["‹id ", "‹token "] {
        let parts = shape.split(name).enumerate();
        shape = parts
            .map(|(at, part)| match part.split_once('›') {
                Some((_, behind)) if at > 0 => format!("{name}›{behind}"),
                _ => part.to_owned(),
            })
            .collect();
    }
    shape
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, Talk};
    use super::*;

    fn outcome(talk: Talk, script: &[u64]) -> Outcome {
        Outcome {
            transcript: talk.transcript,
            script: script.to_vec(),
            ..testing::outcome(Verdict::Pass)
        }
    }

    #[test]
    fn only_what_steps_sent_and_read_is_told_in_the_order_of_the_script() {
        let mut talk = Talk::default();
        talk.client(
            FrameType::Request,
            1,
            0,
            b"\0{\"arguments\":\"run-00112233aabbccdd\"}",
        );
        talk.provider(FrameType::Response, 1, 0, b"\0{\"id\":\"xyzzy\"}");
        talk.provider(FrameType::ChannelRequest, 1, 812, b"\x07key-of-mine");
        talk.provider(
            FrameType::Response,
            1,
            0,
            b"\x07\"xyzzy, run-00112233aabbccdd, run-x\"",
        );
        let told = golden(&outcome(talk, &[0, 1, 3]), Iut::Provider, &[]);
        let lines: Vec<Vec<&str>> = told
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(lines[0], ["provider/streams/one-loop", "pass"]);
        assert_eq!(
            lines[1].join(" "),
            "client → provider #1 run {\"arguments\":\"‹token a›\"}"
        );
        assert_eq!(
            lines[2].join(" "),
            "provider → client #1 id {\"id\":\"‹id a›\"}"
        );
        assert_eq!(
            lines[3].join(" "),
            "provider → client #1 chunk \"‹id a›, ‹token a›, run-x\""
        );
        assert_eq!(lines.len(), 4);
    }

    #[test]
    fn a_token_is_known_where_a_message_was_cut_within_it() {
        let mut talk = Talk::default();
        talk.client(
            FrameType::Request,
            1,
            0,
            b"\0{\"arguments\":\"run-00112233aa",
        );
        talk.client(FrameType::Request, 2, 0, b"\0{\"arguments\":\"run-up");
        let told = golden(&outcome(talk, &[0, 1]), Iut::Provider, &[]);
        assert!(told.contains("{\"arguments\":\"‹token a, cut›\n"), "{told}");
        assert!(told.contains("{\"arguments\":\"run-up\n"), "{told}");
    }

    #[test]
    fn numbers_that_the_implementation_chose_are_letters_and_secrets_are_masked() {
        let mut talk = Talk::default();
        talk.client(FrameType::Authorization, 0, 0, b"\0hunter2");
        talk.provider(FrameType::ChannelRequest, 1, 812, b"\x07key-of-mine");
        talk.client(FrameType::ChannelResponse, 1, 812, b"\0value-of-mine");
        talk.client(FrameType::ChannelRequest, 1, 812, b"\0");
        let told = golden(&outcome(talk, &[0, 1, 2, 3]), Iut::Provider, &[]);
        assert!(
            !told.contains("of-mine") && !told.contains("hunter2"),
            "{told}"
        );
        for part in [
            "#1.a vault-get ‹secret",
            "#1.a vault-get answer",
            "#1.812 stop",
        ] {
            assert!(told.contains(part), "`{part}` in\n{told}");
        }
    }

    #[test]
    fn a_failure_has_no_messages_since_it_may_end_anywhere() {
        let told = golden(&testing::failed(), Iut::Provider, &[]);
        assert_eq!(told, "provider/streams/one-loop  fail\n");
    }

    #[test]
    fn what_cases_share_with_the_first_of_their_family_is_told_once() {
        let told = |goldens: &[&str]| {
            let goldens: Vec<String> = goldens.iter().map(|it| it.replace(' ', "\n")).collect();
            let text = together(&goldens);
            let lines = text.lines().map(|line| line.trim().to_owned());
            lines.collect::<Vec<_>>()
        };
        let cases = [
            "k/t/one/x a b c d e f g",
            "k/t/one/y a b c D e f g",
            "k/t/one/z a b c",
        ];
        let expected = [
            "k/t/one/x a b c d e f g k/t/one/y",
            "⋮ as the first 3 lines of k/t/one/x",
            "D",
            "⋮ as the last 3 lines of k/t/one/x",
            "k/t/one/z",
            "⋮ as the first 3 lines of k/t/one/x",
        ];
        assert_eq!(told(&cases).join(" "), expected.join(" "));
        let others = [
            "k/t/one a b c",
            "k/t/two a b d",
            "k/t/three/x 1 2 3",
            "k/t/three/y 1 2 3 4",
        ];
        let expected = [
            "k/t/one a b c k/t/two a b d k/t/three/x 1 2 3 k/t/three/y",
            "⋮ as the first 3 lines of k/t/three/x",
            "4",
        ];
        assert_eq!(told(&others).join(" "), expected.join(" "));
    }

    #[test]
    fn a_digest_is_cut_to_what_tells_it_apart() {
        let mut redaction = Redaction::default();
        let digest = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
        let told = redaction.redacted(&format!("{digest} {digest}1 sha256:9f"));
        assert_eq!(told, "sha256:9f86d081… sha256:9f86d081…1 sha256:9f");
    }

    #[test]
    fn equal_blocks_are_told_once() {
        let lines: Vec<String> = ["x", "a", "b", "a", "b", "a", "b", "a", "y", "y"]
            .map(str::to_owned)
            .into();
        let mut text = String::new();
        fold(&lines, &mut text);
        let told: Vec<&str> = text.lines().map(str::trim).collect();
        assert_eq!(
            told,
            [
                "x",
                "a",
                "b",
                "⋮ those 2 lines, 2 times more",
                "a",
                "y",
                "y"
            ]
        );
    }

    #[test]
    fn blocks_that_differ_in_numbers_and_names_alone_are_equal() {
        let lines: Vec<String> = (1..=5)
            .flat_map(|at| {
                [
                    format!("client #{at} run ‹token {at}›"),
                    format!("#{at} id ‹id {at}›"),
                ]
            })
            .collect();
        let mut text = String::new();
        fold(&lines, &mut text);
        let told: Vec<&str> = text.lines().map(str::trim).collect();
        let more = "⋮ those 2 lines, 4 times more, up to #5";
        assert_eq!(told, ["client #1 run ‹token 1›", "#1 id ‹id 1›", more]);
    }

    #[test]
    fn a_long_body_is_told_by_its_ends_length_and_digest() {
        let mut talk = Talk::default();
        let long = |middle: &str| format!("\x07\"{}{middle}{}\"", "x".repeat(300), "x".repeat(300));
        talk.provider(FrameType::Response, 1, 0, long("1").as_bytes());
        talk.provider(FrameType::Response, 1, 0, long("2").as_bytes());
        let told = golden(&outcome(talk, &[0, 1]), Iut::Provider, &[]);
        let lines: Vec<&str> = told.lines().skip(1).collect();
        assert!(
            lines.iter().all(|line| line.contains("‹603 bytes, ")),
            "{told}"
        );
        assert_ne!(lines[0], lines[1]);
    }
}
