//! A transcript as a lane diagram, around the message that was at fault.

use std::time::Duration;

use diverge_protocol::transcript::{Role, Transcript};
use diverge_protocol::wire::FrameType;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::diagram::{self, Diagram};
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

/// What a label in a report in a file may take at most, in columns.
const ROOM: usize = 52;

/// The last messages of a transcript, in the words of reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lanes {
    /// The roles, as they stand beside each other.
    pub roles: Vec<String>,
    /// What happened between them, one after the other.
    pub rows: Vec<Row>,
}

/// A row of a lane diagram.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Row {
    /// A message, or the opening or the end of a link.
    Message {
        /// Its number in the transcript.
        seq: u64,
        /// When it came, in microseconds from the start of the scenario.
        at_us: u64,
        /// Who sent it.
        from: String,
        /// Who it was sent to.
        to: String,
        /// What it is, in short.
        label: String,
        /// Whether it is at fault.
        marked: bool,
    },
    /// Something about the rows around it.
    Note {
        /// What is to be said.
        note: String,
        /// Whether that is what is at fault.
        marked: bool,
    },
}

/// The last messages of a transcript up to the offence and a few after it, and before them those that are `told` of,
/// by their numbers.
pub(super) fn lanes(transcript: &Transcript, offence: Offence, told: &[u64], mask: &Mask) -> Lanes {
    let (roles, shown) = choose(transcript, offence, told);
    let roles = diagram::lanes(&roles);
    let row = |shown: Shown<'_>| match shown {
        Shown::Note { note, marked } => Row::Note { note, marked },
        // What a party does by itself is no arrow.
        Shown::Message { message, marked } if message.from == message.to => Row::Note {
            note: format!(
                "{} {}",
                message.from.as_str(),
                label(&message, transcript, mask, ROOM)
            ),
            marked,
        },
        Shown::Message { message, marked } => Row::Message {
            seq: message.event.seq,
            at_us: u64::try_from(message.event.at.as_micros()).unwrap_or(u64::MAX),
            from: message.from.as_str().to_owned(),
            to: message.to.as_str().to_owned(),
            label: label(&message, transcript, mask, ROOM),
            marked,
        },
    };
    Lanes {
        roles: roles.iter().map(|it| it.as_str().to_owned()).collect(),
        rows: shown.into_iter().map(row).collect(),
    }
}

/// The same, drawn for a terminal.
pub(super) fn of_transcript(
    transcript: &Transcript,
    offence: Offence,
    told: &[u64],
    mask: &Mask,
) -> String {
    let (roles, shown) = choose(transcript, offence, told);
    let mut diagram = Diagram::new(roles);
    for shown in shown {
        match shown {
            Shown::Note { note, marked } => diagram.note("", &note, marked),
            Shown::Message { message, marked } => {
                let event = message.event;
                let gutter = format!("{:>3}  {:>8}", event.seq, style::duration(event.at));
                let label = label(&message, transcript, mask, diagram.room());
                diagram.arrow(&gutter, message.from, message.to, &label, marked);
            }
        }
    }
    diagram.into_text()
}

/// A row to be shown.
enum Shown<'t> {
    Message { message: Read<'t>, marked: bool },
    Note { note: String, marked: bool },
}

/// The roles that take part in what is shown, and what that is.
fn choose<'t>(
    transcript: &'t Transcript,
    offence: Offence,
    told: &[u64],
) -> (Vec<Role>, Vec<Shown<'t>>) {
    let messages: Vec<Read<'_>> = read(transcript).collect();
    let all = messages.len();
    let until = match offence {
        Offence::Event(seq) => messages
            .iter()
            .position(|message| message.event.seq == seq)
            .map_or(all, |at| at + 1),
        Offence::Silence(end) => pause(&messages, end),
    };
    let (first, last) = (until.saturating_sub(BEFORE), (until + AFTER).min(all));
    let mut roles = Vec::new();
    let mut shown = Vec::new();
    let mut next = 0;
    for (at, message) in messages.into_iter().enumerate() {
        let is_told = at < first && told.contains(&message.event.seq);
        if !(first..last).contains(&at) && !is_told {
            continue;
        }
        shown.extend(left_out(at - next));
        if at == until {
            shown.extend(silence(offence));
        }
        let (opener, answerer) = message.link.kind.roles();
        roles.extend([opener, answerer]);
        let marked = matches!(offence, Offence::Event(seq) if seq == message.event.seq);
        shown.push(Shown::Message { message, marked });
        next = at + 1;
    }
    if until == last {
        shown.extend(silence(offence));
    }
    shown.extend(left_out(all - next));
    (roles, shown)
}

/// Draws the messages around one of a transcript.
pub(crate) fn around(transcript: &Transcript, seq: u64, mask: &Mask) -> String {
    of_transcript(transcript, Offence::Event(seq), &[], mask)
}

fn left_out<'t>(messages: usize) -> Option<Shown<'t>> {
    (messages > 0).then(|| Shown::Note {
        note: format!("… {}", style::count(messages, "more message")),
        marked: false,
    })
}

fn silence<'t>(offence: Offence) -> Option<Shown<'t>> {
    matches!(offence, Offence::Silence(_)).then(|| Shown::Note {
        note: "nothing more came".to_owned(),
        marked: true,
    })
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
    use diverge_protocol::transcript::What;

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
