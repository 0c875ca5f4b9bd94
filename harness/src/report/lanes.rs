//! A transcript as a lane diagram, around the message that was at fault.

use std::time::Duration;

use diverge_protocol::transcript::{LinkKind, Transcript};
use diverge_protocol::wire::FrameType;

use super::diagram::Diagram;
use super::mask::{Mask, stand_in};
use super::reading::{Read, read};
use super::style;

/// How many messages are shown up to the offending one, and how many after it.
const BEFORE: usize = 12;
const AFTER: usize = 3;
/// Up to this length, bytes that are no text are shown.
const FEW: usize = 8;

/// What a diagram marks.
#[derive(Debug, Clone, Copy)]
pub(super) enum Offence {
    /// This event.
    Event(u64),
    /// That nothing came in the longest pause; the scenario took this long.
    Silence(Duration),
}

/// Draws the last messages of a transcript up to the offence and a few after it.
pub(super) fn of_transcript(transcript: &Transcript, offence: Offence, mask: &Mask) -> String {
    let messages: Vec<Read<'_>> = read(transcript).collect();
    let until = match offence {
        Offence::Event(seq) => messages
            .iter()
            .position(|message| message.event.seq == seq)
            .map_or(messages.len(), |at| at + 1),
        Offence::Silence(end) => pause(&messages, end),
    };
    let (first, last) = (
        until.saturating_sub(BEFORE),
        (until + AFTER).min(messages.len()),
    );
    let shown = &messages[first..last];
    let mut diagram = Diagram::new(
        shown
            .iter()
            .any(|message| message.link.kind == LinkKind::Begin),
    );
    if first > 0 {
        diagram.note(
            "",
            &format!("… {}", style::count(first, "earlier message")),
            false,
        );
    }
    let (before, after) = shown.split_at(until - first);
    let draw = |diagram: &mut Diagram, message: &Read<'_>| {
        let event = message.event;
        let gutter = format!("{:>3}  {:>8}", event.seq, style::duration(event.at));
        let marked = matches!(offence, Offence::Event(seq) if seq == event.seq);
        diagram.arrow(
            &gutter,
            message.from,
            message.to,
            &label(message, transcript, mask),
            marked,
        );
    };
    before
        .iter()
        .for_each(|message| draw(&mut diagram, message));
    if let Offence::Silence(_) = offence {
        diagram.note("", "nothing more came", true);
    }
    after.iter().for_each(|message| draw(&mut diagram, message));
    if last < messages.len() {
        diagram.note(
            "",
            &format!(
                "… {} after that",
                style::count(messages.len() - last, "message")
            ),
            false,
        );
    }
    diagram.into_text()
}

/// How many messages came before the longest pause.
fn pause(messages: &[Read<'_>], end: Duration) -> usize {
    let times: Vec<Duration> = messages
        .iter()
        .map(|message| message.event.at)
        .chain([end])
        .collect();
    let gaps = times.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
    gaps.enumerate()
        .max_by_key(|(_, gap)| *gap)
        .map_or(messages.len(), |(at, _)| at + 1)
}

/// A message in words, without a byte of what is secret.
fn label(message: &Read<'_>, transcript: &Transcript, mask: &Mask) -> String {
    let mut words = Vec::new();
    if transcript
        .links
        .iter()
        .filter(|link| link.kind == message.link.kind)
        .count()
        > 1
    {
        words.push(format!("{}:", message.link.name));
    }
    if let Some(frame) = &message.frame {
        match frame.kind {
            FrameType::Authorization => {}
            FrameType::Request | FrameType::Response | FrameType::ResponseFinish => {
                words.push(format!("#{}", frame.scope));
            }
            _ => words.push(format!("#{}.{}", frame.scope, frame.channel)),
        }
    }
    words.push(message.word.clone().into_owned());
    words.push(body(message, mask));
    words.join(" ").trim_end().to_owned()
}

fn body(message: &Read<'_>, mask: &Mask) -> String {
    if let Some(secret) = &message.secret {
        return stand_in(secret.place.len());
    }
    let bytes = &message.raw()[message.body.clone()];
    let is_text =
        |text: &&str| !text.contains(|c: char| c.is_control() && !c.is_ascii_whitespace());
    match std::str::from_utf8(bytes).ok().filter(is_text) {
        Some(text) => style::printable(&mask.shortened(text, style::WIDTH)),
        None if bytes.len() <= FEW && mask.places(bytes).is_empty() => bytes
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<Vec<_>>()
            .join(" "),
        None => style::count(bytes.len(), "byte"),
    }
}

#[cfg(test)]
mod tests {
    use diverge_protocol::transcript::{Role, What};

    use super::super::diagram::GUTTER;
    use super::super::testing::{self, Talk};
    use super::*;

    fn draw(transcript: &Transcript, offence: Offence) -> Vec<String> {
        let drawn = of_transcript(transcript, offence, &Mask::of(transcript, &[]));
        let plain = anstream::adapter::strip_str(&drawn).to_string();
        assert!(
            plain.lines().all(|line| style::width(line) <= style::WIDTH),
            "{plain}"
        );
        plain.lines().map(str::to_owned).collect()
    }

    #[test]
    fn each_message_is_an_arrow_between_its_lanes() {
        let rows = draw(&testing::failed().transcript, Offence::Event(3));
        let heads: Vec<_> = rows[0].split_whitespace().collect();
        assert_eq!(heads, ["client", "provider", "proxy"]);
        assert!(
            rows[1].contains("│── credential ‹secret, 7 bytes› ─"),
            "{}",
            rows[1]
        );
        assert!(
            rows[3]
                .trim_end()
                .ends_with("─ #1 chunk {\"type\":\"usage\"} ──│"),
            "{}",
            rows[3]
        );
        assert!(
            rows[4].starts_with('▶')
                && rows[4].contains("─ #1 chunk {\"type\":\"‹secret, 7 bytes›\"} ──│"),
            "{}",
            rows[4]
        );
        assert_eq!(
            rows.iter().filter(|row| row.contains('▶')).count(),
            3,
            "{rows:#?}"
        );
    }

    #[test]
    fn only_the_last_messages_before_the_offence_are_shown_and_a_few_after() {
        let mut talk = Talk::default();
        for scope in 0..40 {
            talk.client(FrameType::Request, scope, 0, b"\0{}");
        }
        let rows = draw(&talk.transcript, Offence::Event(29));
        assert!(rows[1].contains("… 18 earlier messages"));
        assert!(
            rows[2].contains("#18 run")
                && rows[13].starts_with('▶')
                && rows[13].contains("#29 run")
        );
        assert!(rows[16].contains("#32 run") && rows[17].contains("… 7 messages after that"));
        assert_eq!(rows.len(), 18);
        assert!(!rows[0].contains("proxy"), "no proxy takes part in it");
    }

    #[test]
    fn a_message_that_did_not_come_is_marked_where_it_was_waited_for() {
        let mut talk = Talk::default();
        talk.client(FrameType::Request, 1, 0, b"\0{}");
        talk.client(FrameType::Request, 2, 0, b"\0{}");
        let closing = Duration::from_secs(5);
        let link = talk.transcript.links[0].id;
        talk.transcript
            .record(closing, link, Role::Client, What::Closed);
        let rows = draw(
            &talk.transcript,
            Offence::Silence(closing + Duration::from_millis(1)),
        );
        assert!(
            rows[3].starts_with('▶') && rows[3].contains("nothing more came"),
            "{rows:#?}"
        );
        assert!(rows[4].contains("closes"), "{rows:#?}");
    }

    #[test]
    fn links_of_one_kind_are_told_apart_by_name() {
        let mut talk = Talk::default();
        talk.client(FrameType::Request, 1, 0, b"\0{}");
        let second = talk.transcript.open(LinkKind::Client, "second", None);
        talk.transcript.record(
            Duration::ZERO,
            second,
            Role::Provider,
            What::Opened { subprotocol: None },
        );
        let rows = draw(&talk.transcript, Offence::Event(1));
        assert!(rows[1].contains("── client: #1 run {} ─"), "{rows:#?}");
        assert!(rows[2].contains("── second: connects ─"), "{rows:#?}");
    }

    #[test]
    fn wide_and_moving_characters_keep_the_lanes_straight() {
        let mut talk = Talk::default();
        talk.provider(
            FrameType::Response,
            1,
            0,
            "\u{7}{\"text\":\"🏃🏃 日本\u{202e}\"}".as_bytes(),
        );
        let rows = draw(&talk.transcript, Offence::Event(0));
        assert_eq!(style::width(&rows[1]), GUTTER + 62);
        assert!(rows[1].contains("🏃🏃 日本\\u{202e}"), "{}", rows[1]);
    }
}
