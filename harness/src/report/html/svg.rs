//! A lane diagram as SVG: a lane a role, an arrow a message, the offending one marked.

use std::time::Duration;

use maud::{Markup, html};

use crate::report::lanes::{Lanes, Row};
use crate::report::style;

/// Lengths in the units of the drawing, which are pixels where there is room.
const GUTTER: usize = 104;
const HEAD: usize = 30;
const ROW: usize = 34;
const RIGHT: usize = 56;
/// What a character of a label takes.
const CHARACTER: usize = 7;
const NARROWEST: usize = 190;

pub(super) fn draw(lanes: &Lanes) -> Markup {
    let gap = gap(lanes);
    let lane = |role: &str| {
        let at = lanes.roles.iter().position(|other| other == role);
        GUTTER + at.unwrap_or_default() * gap
    };
    let last = GUTTER + lanes.roles.len().saturating_sub(1) * gap;
    let width = last + RIGHT;
    let height = HEAD + lanes.rows.len() * ROW + 8;
    let rows = lanes.rows.iter().enumerate();
    html! {
        svg xmlns="http://www.w3.org/2000/svg" role="img" width=(width) height=(height)
            viewBox={ "0 0 " (width) " " (height) } {
            title { (said(lanes)) }
            @for role in &lanes.roles {
                text .role x=(lane(role)) y="16" text-anchor="middle" { (role) }
                line .lane x1=(lane(role)) y1=(HEAD - 6) x2=(lane(role)) y2=(height) {}
            }
            @for (at, row) in rows {
                @let y = HEAD + at * ROW;
                (draw_row(row, y, width, &lane))
            }
        }
    }
}

fn draw_row(row: &Row, y: usize, width: usize, lane: &dyn Fn(&str) -> usize) -> Markup {
    let line = y + ROW - 8;
    let class = |marked: bool| if marked { "row bad" } else { "row" };
    let band = html! {
        rect .band x="0" y=(y + 2) width=(width) height=(ROW - 2) rx="4" {}
        text .mark x="4" y=(line - 3) { "▶" }
    };
    match row {
        Row::Note { note, marked } => html! {
            g class=(class(*marked)) {
                @if *marked { (band) }
                text .note x=(GUTTER + 10) y=(line - 5) { (note) }
            }
        },
        Row::Message {
            seq,
            at_us,
            from,
            to,
            label,
            marked,
        } => {
            let (start, end) = (lane(from), lane(to));
            let (tip, back) = if start < end {
                (end - 2, end - 11)
            } else {
                (end + 2, end + 11)
            };
            let head = format!("M{tip} {line} L{back} {} L{back} {} Z", line - 5, line + 5);
            let at = style::duration(Duration::from_micros(*at_us));
            html! {
                g class=(class(*marked)) {
                    @if *marked { (band) }
                    text .time x=(GUTTER - 14) y=(line + 4) text-anchor="end" { (at) }
                    text .seq x="16" y=(line + 4) { (seq) }
                    line .arrow x1=(start) y1=(line) x2=(back) y2=(line) {}
                    path .head d=(head) {}
                    text .said x=((start + end) / 2) y=(line - 6) text-anchor="middle" { (label) }
                }
            }
        }
    }
}

/// The distance of two lanes: what the longest label between neighbours takes.
fn gap(lanes: &Lanes) -> usize {
    let label = |row: &Row| match row {
        Row::Message { label, .. } => style::width(label),
        Row::Note { .. } => 0,
    };
    let longest = lanes.rows.iter().map(label).max().unwrap_or_default();
    (longest * CHARACTER + 36).max(NARROWEST)
}

/// The diagram for those who do not see it.
fn said(lanes: &Lanes) -> String {
    let line = |row: &Row| match row {
        Row::Message {
            from,
            to,
            label,
            marked,
            ..
        } => {
            let mark = if *marked { "at fault: " } else { "" };
            format!("{mark}{from} to {to}: {label}")
        }
        Row::Note { note, .. } => note.clone(),
    };
    lanes.rows.iter().map(line).collect::<Vec<_>>().join("\n")
}
