//! Lane diagrams: one column a role, one row a message, an arrow from who sends it to who gets it.

use std::time::Duration;

use diverge_protocol::scenario::{Action, ClientExpectation, Part, ProxyExpectation, Step};
use diverge_protocol::transcript::{LinkKind, Role, Transcript, What};

use super::mask::{Mask, stand_in};
use super::reading::{Read, read};
use super::style::{self, BAD, QUIET, STRONG};
use crate::play::step_text;

/// How many messages are shown up to the offending one, and how many after it.
const BEFORE: usize = 12;
const AFTER: usize = 3;
/// Columns left of the first lane.
const GUTTER: usize = 15;
/// The widest gap between two lanes.
const GAP: usize = 60;
const ROLES: [Role; 3] = [Role::Client, Role::Provider, Role::Proxy];

/// What a diagram marks.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Offence {
    /// This event.
    Event(u64),
    /// That nothing came in the longest pause; the scenario took this long.
    Silence(Duration),
}

/// Draws the last messages of a transcript up to the offence and a few after it.
pub(crate) fn of_transcript(transcript: &Transcript, offence: Offence, mask: &Mask) -> String {
    let several = |kind| transcript.links.iter().filter(|link| link.kind == kind).count() > 1;
    let named = [LinkKind::Client, LinkKind::Begin].map(|kind| (kind, several(kind)));
    let messages: Vec<Read<'_>> = read(transcript).collect();
    let until = match offence {
        Offence::Event(seq) => messages.iter().position(|message| message.event.seq == seq).map_or(0, |at| at + 1),
        Offence::Silence(end) => pause(&messages, end),
    };
    let first = until.saturating_sub(BEFORE);
    let last = (until + AFTER).min(messages.len());
    let has_proxy = messages[first..last].iter().any(|message| message.link.kind == LinkKind::Begin);
    let mut diagram = Diagram::new(if has_proxy { 3 } else { 2 }, true);
    diagram.heading();
    if first > 0 {
        diagram.note("", &format!("… {}", style::count(first, "earlier message")), false);
    }
    for (at, message) in messages.iter().enumerate().take(last).skip(first) {
        if at == until {
            diagram.silence(offence);
        }
        let marked = matches!(offence, Offence::Event(seq) if seq == message.event.seq);
        let prefix = if named.contains(&(message.link.kind, true)) { Some(message.link.name.as_str()) } else { None };
        let gutter = style::duration(message.event.at);
        diagram.arrow(&gutter, lane(message.from), lane(message.to), &label(message, prefix, mask), marked);
    }
    if until == last {
        diagram.silence(offence);
    }
    if last < messages.len() {
        diagram.note("", &format!("… {} after that", style::count(messages.len() - last, "message")), false);
    }
    diagram.text
}

/// How many messages came before the longest pause.
fn pause(messages: &[Read<'_>], end: Duration) -> usize {
    let times: Vec<Duration> = messages.iter().map(|message| message.event.at).chain([end]).collect();
    let gaps = times.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
    gaps.enumerate().max_by_key(|(_, gap)| *gap).map_or(messages.len(), |(at, _)| at + 1)
}

fn lane(role: Role) -> usize {
    ROLES.iter().position(|other| *other == role).unwrap_or_default()
}

/// A message in words, without a byte of what is secret.
fn label(message: &Read<'_>, link: Option<&str>, mask: &Mask) -> String {
    let mut label = String::new();
    if let Some(frame) = &message.frame {
        use diverge_protocol::wire::FrameType as T;
        match frame.kind {
            T::Authorization => {}
            T::Request | T::Response | T::ResponseFinish => label.push_str(&format!("#{} ", frame.scope)),
            _ => label.push_str(&format!("#{}.{} ", frame.scope, frame.channel)),
        }
    }
    label.push_str(&message.word);
    if let Some(link) = link {
        label = format!("{link}: {label}");
    }
    let body = body(message, mask);
    if !body.is_empty() {
        label.push(' ');
        label.push_str(&body);
    }
    label
}

fn body(message: &Read<'_>, mask: &Mask) -> String {
    if let Some(secret) = &message.secret {
        return stand_in(secret.place.len());
    }
    let bytes = &message.raw()[message.body.clone()];
    if bytes.is_empty() {
        return String::new();
    }
    match std::str::from_utf8(bytes) {
        Ok(text) if matches!(message.event.what, What::Text(_)) || !text.contains(is_binary) => {
            style::printable(&mask.shortened(text, style::WIDTH))
        }
        _ => style::count(bytes.len(), "byte"),
    }
}

fn is_binary(c: char) -> bool {
    c.is_control() && !c.is_ascii_whitespace()
}

/// Draws the conversation that steps expect.
pub(crate) fn of_steps(steps: &[Step]) -> String {
    let has_proxy = any(steps, &|step| {
        matches!(
            step.action,
            Action::ProxyExpects(_) | Action::ProxySends(_) | Action::ProxyCloses | Action::ProxyRefuses
        )
    });
    let mut diagram = Diagram::new(if has_proxy { 3 } else { 2 }, false);
    diagram.heading();
    diagram.steps(steps, "");
    diagram.text
}

fn any(steps: &[Step], holds: &dyn Fn(&Step) -> bool) -> bool {
    steps.iter().any(|step| {
        holds(step)
            || match &step.action {
                Action::OneOf(branches) | Action::EitherOrder(branches) => {
                    branches.iter().any(|branch| any(branch, holds))
                }
                Action::Repeat(_, steps) => any(steps, holds),
                _ => false,
            }
    })
}

/// A diagram as it is drawn, row by row.
struct Diagram {
    lanes: usize,
    gap: usize,
    /// Whether the gutter has times, which stand at its right.
    timed: bool,
    text: String,
}

impl Diagram {
    fn new(lanes: usize, timed: bool) -> Self {
        let gap = ((style::WIDTH - GUTTER - 4 - lanes) / (lanes - 1)).min(GAP);
        Self { lanes, gap, timed, text: String::new() }
    }

    fn heading(&mut self) {
        let mut line = String::new();
        for (at, role) in ROLES.iter().take(self.lanes).enumerate() {
            let name = role.as_str();
            let middle = GUTTER + at * (self.gap + 1);
            let start = middle.saturating_sub(name.len() / 2);
            line.push_str(&" ".repeat(start.saturating_sub(style::width(&line))));
            line.push_str(name);
        }
        self.line(&style::paint(STRONG, line));
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// The gutter's text, and a mark before it.
    fn gutter(&self, text: &str, marked: bool) -> String {
        let room = GUTTER - 3;
        let text = style::fit(text, room);
        let padding = " ".repeat(room - style::width(&text));
        let mark = if marked { style::paint(BAD, "▶") } else { " ".to_owned() };
        let text = style::paint(QUIET, text);
        if self.timed { format!("{mark}{padding}{text}  ") } else { format!("{mark} {text}{padding} ") }
    }

    fn arrow(&mut self, gutter: &str, from: usize, to: usize, label: &str, marked: bool) {
        let gutter = self.gutter(gutter, marked);
        let (left, right) = (from.min(to), from.max(to).min(self.lanes - 1));
        let room = (right - left) * (self.gap + 1) - 1;
        let label = style::fit(label, room - 7);
        let line = "─".repeat(room - 5 - style::width(&label));
        let [head, tail] = if from < to { ["", "▶"] } else { ["◀", ""] };
        let (head_line, tail_line) = if from < to { ("──", line.as_str()) } else { (line.as_str(), "──") };
        let style = if marked { BAD } else { anstyle::Style::new() };
        let (shaft, label) = (if marked { BAD } else { QUIET }, style::paint(style, label));
        let arrow = format!(
            "{} {label} {}",
            style::paint(shaft, format!("{head}{head_line}")),
            style::paint(shaft, format!("{tail_line}{tail}"))
        );
        let mut row = gutter;
        for lane in 0..self.lanes {
            row.push_str(&style::paint(QUIET, "│"));
            if lane == left {
                row.push_str(&arrow);
            } else if lane + 1 < self.lanes && !(left..right).contains(&lane) {
                row.push_str(&" ".repeat(self.gap));
            }
        }
        self.line(&row);
    }

    /// A row that says something about the rows around it.
    fn note(&mut self, gutter: &str, text: &str, marked: bool) {
        let mut row = self.gutter(gutter, marked);
        row.push_str(&style::paint(QUIET, "│"));
        let text = style::fit(text, self.gap - 2);
        let style = if marked { BAD } else { QUIET };
        row.push_str(&format!(" {}", style::paint(style, &text)));
        row.push_str(&" ".repeat(self.gap - 1 - style::width(&text)));
        for lane in 1..self.lanes {
            row.push_str(&style::paint(QUIET, "│"));
            if lane + 1 < self.lanes {
                row.push_str(&" ".repeat(self.gap));
            }
        }
        self.line(&row);
    }

    fn silence(&mut self, offence: Offence) {
        if let Offence::Silence(_) = offence {
            self.note("", "nothing more came", true);
        }
    }

    fn steps(&mut self, steps: &[Step], indent: &str) {
        let mut in_control = false;
        for step in steps {
            let control = step.part == Part::Control && indent.is_empty();
            if control != in_control {
                self.note(if control { "╭ control" } else { "╰" }, "", false);
                in_control = control;
            }
            let indent = if in_control { "│" } else { indent };
            self.step(step, indent);
        }
        if in_control {
            self.note("╰", "", false);
        }
    }

    fn step(&mut self, step: &Step, indent: &str) {
        let inner = format!("{indent}│");
        let [client, provider, proxy] = [0, 1, 2];
        let mut arrow = |from, to, label: &str| self.arrow(indent, from, to, &detailed(step, label), false);
        match &step.action {
            Action::ClientConnects { bare: false } => arrow(client, provider, "connects, credential"),
            Action::ClientConnects { bare: true } => arrow(client, provider, "connects"),
            Action::ClientSends(message) => arrow(client, provider, message.name()),
            Action::ClientCloses => arrow(client, provider, "closes"),
            Action::ClientDrops => arrow(client, provider, "breaks off"),
            Action::ClientExpects(ClientExpectation::Nothing) => self.note(indent, "nothing has come", false),
            Action::ClientExpects(ClientExpectation::Relayed) => arrow(provider, client, "all that the proxy sent"),
            Action::ClientExpects(ClientExpectation::Closed) => arrow(provider, client, "closes"),
            Action::ClientExpects(expectation) => arrow(provider, client, expectation.name()),
            Action::ProxySends(message) => arrow(proxy, provider, message.name()),
            Action::ProxyCloses => arrow(proxy, provider, "closes"),
            Action::ProxyExpects(ProxyExpectation::Nothing) => self.note(indent, "nothing has come", false),
            Action::ProxyExpects(ProxyExpectation::Begin) => arrow(provider, proxy, "connects, begin"),
            Action::ProxyExpects(ProxyExpectation::Attempt) => arrow(provider, proxy, "tries to connect"),
            Action::ProxyExpects(ProxyExpectation::Closed) => arrow(provider, proxy, "closes"),
            Action::ProxyExpects(expectation) => arrow(provider, proxy, expectation.name()),
            Action::ProxyRefuses => self.note(indent, &step_text(step), false),
            Action::NotApplicable(why) => self.note(indent, &format!("not applicable: {why}"), false),
            Action::Repeat(times, steps) => {
                self.note(&format!("{indent}╭ {times} times"), "", false);
                self.steps(steps, &inner);
                self.note(&format!("{indent}╰"), "", false);
            }
            Action::OneOf(branches) => self.branches("one of", "or", branches, indent, &inner),
            Action::EitherOrder(branches) => self.branches("any order", "and", branches, indent, &inner),
        }
    }

    fn branches(&mut self, first: &str, next: &str, branches: &[Vec<Step>], indent: &str, inner: &str) {
        for (at, branch) in branches.iter().enumerate() {
            let head = if at == 0 { format!("{indent}╭ {first}") } else { format!("{indent}├ {next}") };
            self.note(&head, "", false);
            self.steps(branch, inner);
        }
        self.note(&format!("{indent}╰"), "", false);
    }
}

/// An arrow's label with those of the step's details that a person tells messages apart by.
fn detailed(step: &Step, word: &str) -> String {
    let args = &step.args;
    let mut label = String::new();
    for name in [&args.on, &args.run, &args.channel].into_iter().flatten() {
        label.push_str(&format!("{name}: "));
    }
    label.push_str(word);
    if let Some(answer) = &args.answer {
        label.push_str(&format!(": {answer}"));
    }
    if let Some(mutation) = &args.mutate {
        label.push_str(&format!(", {mutation}"));
    } else if let Some(body) = [&args.json, &args.hex, &args.text, &args.arguments].into_iter().flatten().next() {
        label.push_str(&format!(" {body}"));
    }
    style::printable(&label)
}

#[cfg(test)]
mod tests {
    use diverge_protocol::wire::frame::FrameType;

    use super::super::testing::{self, Talk};
    use super::*;

    fn draw(transcript: &Transcript, offence: Offence) -> Vec<String> {
        let drawn = of_transcript(transcript, offence, &Mask::of(transcript, &[]));
        let plain = anstream::adapter::strip_str(&drawn).to_string();
        assert!(plain.lines().all(|line| style::width(line) <= style::WIDTH), "{plain}");
        plain.lines().map(str::to_owned).collect()
    }

    #[test]
    fn each_message_is_an_arrow_between_its_lanes() {
        let rows = draw(&testing::failed().transcript, Offence::Event(3));
        let heads: Vec<_> = rows[0].split_whitespace().collect();
        assert_eq!(heads, ["client", "provider", "proxy"]);
        assert!(rows[1].contains("│── credential ‹secret, 7 bytes› ─"), "{}", rows[1]);
        assert!(rows[3].trim_end().ends_with("─ #1 chunk {\"type\":\"usage\"} ──│"), "{}", rows[3]);
        assert!(rows[4].starts_with('▶') && rows[4].contains("─ #1 chunk {\"type\":\"‹secret, 7 bytes›\"} ──│"), "{}", rows[4]);
        assert_eq!(rows.iter().filter(|row| row.contains('▶')).count(), 3, "{rows:#?}");
    }

    #[test]
    fn only_the_last_messages_before_the_offence_are_shown_and_a_few_after() {
        let mut talk = Talk::default();
        for scope in 0..40 {
            talk.client(FrameType::Request, scope, 0, b"\0{}");
        }
        let rows = draw(&talk.transcript, Offence::Event(29));
        assert!(rows[1].contains("… 18 earlier messages"));
        assert!(rows[2].contains("#18 run") && rows[13].starts_with('▶') && rows[13].contains("#29 run"));
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
        talk.transcript.record(closing, link, Role::Client, What::Closed);
        let rows = draw(&talk.transcript, Offence::Silence(closing + Duration::from_millis(1)));
        assert!(rows[3].starts_with('▶') && rows[3].contains("nothing more came"), "{rows:#?}");
        assert!(rows[4].contains("closes"), "{rows:#?}");
    }

    #[test]
    fn links_of_one_kind_are_told_apart_by_name() {
        let mut talk = Talk::default();
        talk.client(FrameType::Request, 1, 0, b"\0{}");
        let second = talk.transcript.open(LinkKind::Client, "second", None);
        talk.transcript.record(Duration::ZERO, second, Role::Provider, What::Opened { subprotocol: None });
        let rows = draw(&talk.transcript, Offence::Event(1));
        assert!(rows[1].contains("── client: #1 run {} ─"), "{rows:#?}");
        assert!(rows[2].contains("── second: connects ─"), "{rows:#?}");
    }

    #[test]
    fn wide_and_moving_characters_keep_the_lanes_straight() {
        let mut talk = Talk::default();
        talk.provider(FrameType::Response, 1, 0, "\u{7}{\"text\":\"🏃🏃 日本\u{202e}\"}".as_bytes());
        let rows = draw(&talk.transcript, Offence::Event(0));
        assert_eq!(style::width(&rows[1]), GUTTER + 62);
        assert!(rows[1].contains("🏃🏃 日本\\u{202e}"), "{}", rows[1]);
    }
}
