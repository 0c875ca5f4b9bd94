//! A transcript as a lane diagram, around the message that was at fault.

use std::time::Duration;

use diverge_protocol::transcript::Transcript;
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
/// Of a longer body the end is not looked at.
const MOST: usize = 4096;
/// What is shown of a body at least.
const LEAST: usize = 8;

/// What a diagram marks.
#[derive(Debug, Clone, Copy)]
pub(super) enum Offence {
    /// This event.
    Event(u64),
    /// That nothing came in the longest pause; the scenario took this long.
    Silence(Duration),
}

/// Draws the last messages of a transcript up to the offence and a few after it, and before them those that are `told`
/// of, by their numbers.
pub(super) fn of_transcript(
    transcript: &Transcript,
    offence: Offence,
    told: &[u64],
    mask: &Mask,
) -> String {
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
    let shown = |at: &usize| {
        (first..last).contains(at) || (*at < first && told.contains(&messages[*at].event.seq))
    };
    let shown: Vec<usize> = (0..messages.len()).filter(shown).collect();
    let roles = shown.iter().flat_map(|at| {
        let (opener, answerer) = messages[*at].link.kind.roles();
        [opener, answerer]
    });
    let mut diagram = Diagram::new(roles);
    let mut next = 0;
    for at in shown {
        left_out(&mut diagram, at - next);
        if at == until {
            silence(&mut diagram, offence);
        }
        let message = &messages[at];
        let event = message.event;
        let gutter = format!("{:>3}  {:>8}", event.seq, style::duration(event.at));
        let marked = matches!(offence, Offence::Event(seq) if seq == event.seq);
        let label = label(message, transcript, mask, diagram.room());
        diagram.arrow(&gutter, message.from, message.to, &label, marked);
        next = at + 1;
    }
    if until == last {
        silence(&mut diagram, offence);
    }
    left_out(&mut diagram, messages.len() - next);
    diagram.into_text()
}

fn left_out(diagram: &mut Diagram, messages: usize) {
    if messages > 0 {
        diagram.note(
            "",
            &format!("… {}", style::count(messages, "more message")),
            false,
        );
    }
}

fn silence(diagram: &mut Diagram, offence: Offence) {
    if let Offence::Silence(_) = offence {
        diagram.note("", "nothing more came", true);
    }
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
fn label(message: &Read<'_>, transcript: &Transcript, mask: &Mask, room: usize) -> String {
    let mut label = String::new();
    if transcript
        .links
        .iter()
        .filter(|link| link.kind == message.link.kind)
        .count()
        > 1
    {
        label = format!("{}: ", message.link.name);
    }
    if let Some(frame) = &message.frame {
        match frame.kind {
            FrameType::Authorization => {}
            FrameType::Request | FrameType::Response | FrameType::ResponseFinish => {
                label.push_str(&format!("#{} ", frame.scope));
            }
            _ => label.push_str(&format!("#{}.{} ", frame.scope, frame.channel)),
        }
    }
    label.push_str(&message.word);
    let body = body(message, mask);
    if !body.is_empty() {
        // Two messages of a kind differ at their ends rather than in their middles.
        let room = room.saturating_sub(style::width(&label) + 1).max(LEAST);
        label = format!("{label} {}", style::fit_ends(&body, room));
    }
    label
}

fn body(message: &Read<'_>, mask: &Mask) -> String {
    if let Some(secret) = &message.secret {
        return stand_in(secret.place.len());
    }
    let bytes = &message.raw()[message.body.clone()];
    let is_text =
        |text: &&str| !text.contains(|c: char| c.is_control() && !c.is_ascii_whitespace());
    match std::str::from_utf8(bytes).ok().filter(is_text) {
        Some(text) => style::printable(&mask.shortened(text, MOST)),
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
        let drawn = of_transcript(transcript, offence, &[2], &Mask::of(transcript, &[]));
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
        // The second message is shown as well, since it is told of.
        let shown: Vec<String> = rows
            .iter()
            .skip(1)
            .map(|row| row.split('│').nth(1).unwrap_or_default().replace('─', ""))
            .collect();
        let shown: Vec<&str> = shown.iter().map(|row| row.trim()).collect();
        assert_eq!(
            shown[..4],
            [
                "… 2 more messages",
                "#2 run {} ▶",
                "… 15 more messages",
                "#18 run {} ▶"
            ]
        );
        assert_eq!(
            shown[14..],
            [
                "#29 run {} ▶",
                "#30 run {} ▶",
                "#31 run {} ▶",
                "#32 run {} ▶",
                "… 7 more messages"
            ]
        );
        assert!(rows[15].starts_with('▶') && rows.len() == 20, "{rows:#?}");
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
        let second = talk.transcript.open(
            diverge_protocol::transcript::LinkKind::Client,
            "second",
            None,
        );
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
