//! Lane diagrams as they are drawn: one column a role, one row a message or a note.

use diverge_protocol::transcript::Role;

use super::style::{self, BAD, QUIET, STRONG, paint};

/// Columns left of the first lane.
pub(super) const GUTTER: usize = 16;
/// The widest gap between two lanes.
pub(super) const GAP: usize = 60;
/// Columns that the last role's name may take right of its lane.
const OVERHANG: usize = 3;
/// The roles in the order of their lanes.
const ROLES: [Role; 4] = [Role::Client, Role::Provider, Role::Proxy, Role::AgentServer];

/// The lanes that these roles need, in their order.
pub(super) fn lanes(roles: &[Role]) -> Vec<Role> {
    let named = ROLES.into_iter().filter(|role| roles.contains(role));
    let lanes: Vec<Role> = named.collect();
    if lanes.len() < 2 {
        vec![Role::Client, Role::Provider]
    } else {
        lanes
    }
}

/// A diagram, drawn row by row.
pub(super) struct Diagram {
    lanes: Vec<Role>,
    gap: usize,
    text: String,
}

impl Diagram {
    /// A diagram with a heading and no rows yet.
    pub(super) fn new(roles: impl IntoIterator<Item = Role>) -> Self {
        let lanes = lanes(&roles.into_iter().collect::<Vec<Role>>());
        let gap = (style::WIDTH - GUTTER - OVERHANG - lanes.len()) / (lanes.len() - 1);
        let mut diagram = Self {
            lanes,
            gap: gap.min(GAP),
            text: String::new(),
        };
        diagram.heading();
        diagram
    }

    /// What has been drawn.
    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// Columns that an arrow has for its label.
    pub(super) fn room(&self) -> usize {
        self.gap - 7
    }

    /// A message; of a party to itself, what it does.
    pub(super) fn arrow(&mut self, gutter: &str, from: Role, to: Role, label: &str, marked: bool) {
        let lane = |role| {
            self.lanes
                .iter()
                .position(|other| *other == role)
                .unwrap_or_default()
        };
        let (from, to) = (lane(from), lane(to));
        if from == to {
            return self.note_at(from, gutter, label, marked);
        }
        let label = style::fit(label, self.room());
        let line = "─".repeat(self.gap - 5 - style::width(&label));
        let (before, after) = if from < to {
            ("──".to_owned(), format!("{line}▶"))
        } else {
            (format!("◀{line}"), "──".to_owned())
        };
        let (shaft, label) = if marked {
            (BAD, paint(BAD, label))
        } else {
            (QUIET, label)
        };
        let arrow = format!("{} {label} {}", paint(shaft, before), paint(shaft, after));
        self.row(gutter, from.min(to), &arrow, marked);
    }

    /// Something about the rows around it.
    pub(super) fn note(&mut self, gutter: &str, text: &str, marked: bool) {
        self.note_at(0, gutter, text, marked);
    }

    /// What one party does by itself, behind its lane.
    fn note_at(&mut self, lane: usize, gutter: &str, text: &str, marked: bool) {
        let text = style::fit(text, self.gap - 2);
        let padding = " ".repeat(self.gap - 1 - style::width(&text));
        let text = paint(if marked { BAD } else { QUIET }, text);
        let lane = lane.min(self.lanes.len().saturating_sub(2));
        self.row(gutter, lane, &format!(" {text}{padding}"), marked);
    }

    /// A row with something in the gap behind one lane.
    fn row(&mut self, gutter: &str, lane: usize, filled: &str, marked: bool) {
        let gutter = style::fit(gutter, GUTTER - 3);
        let padding = " ".repeat(GUTTER - 2 - style::width(&gutter));
        let mark = if marked {
            paint(BAD, "▶")
        } else {
            " ".to_owned()
        };
        let mut row = format!("{mark} {}{padding}", paint(QUIET, gutter));
        for at in 0..self.lanes.len() {
            row.push_str(&paint(QUIET, "│"));
            if at == lane {
                row.push_str(filled);
            } else if at + 1 < self.lanes.len() {
                row.push_str(&" ".repeat(self.gap));
            }
        }
        self.line(&row);
    }

    fn heading(&mut self) {
        let mut line = String::new();
        for (at, role) in self.lanes.iter().enumerate() {
            let name = role.as_str();
            let start = GUTTER + at * (self.gap + 1) - name.len() / 2;
            line.push_str(&" ".repeat(start.saturating_sub(line.len())));
            line.push_str(name);
        }
        self.line(&paint(STRONG, line));
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }
}
