//! What a client says well: on its connection, and in the lines in which it tells what it reads.
//!
//! [`ClientCheckers`] judge the form and the order of what a client says. Whether a line tells what came is for the
//! scenario to say, which knows what came.

mod id;
mod output;
#[cfg(test)]
mod tests;
mod wire;

use std::collections::HashMap;

use self::output::Output;
use self::wire::Wire;
use super::Violation;
use super::violation::Cx;
use crate::transcript::{Event, Link, LinkId, LinkKind};
use crate::wire::Profile;

#[derive(Debug)]
enum Side {
    Wire(Wire),
    Output(Output),
}

/// Judges the links of one scenario as their events come: a client's connections, and what it writes. They name the
/// requirements of `client.*` that it breaks.
#[derive(Debug)]
pub struct ClientCheckers {
    profile: &'static Profile,
    links: HashMap<LinkId, Side>,
}

impl ClientCheckers {
    /// Checkers for a scenario in which every client has one request to ask.
    #[must_use]
    pub fn new(profile: &'static Profile) -> Self {
        Self {
            profile,
            links: HashMap::new(),
        }
    }

    /// Announces a link, before its first event.
    pub fn link(&mut self, link: &Link) {
        let side = match link.kind {
            LinkKind::Client => Side::Wire(Wire::default()),
            LinkKind::Output => Side::Output(Output::default()),
            LinkKind::Begin | LinkKind::Path(_) | LinkKind::Call | LinkKind::Address => return,
        };
        self.links.entry(link.id).or_insert(side);
    }

    /// Judges one event, of a link that has been announced.
    pub fn event(&mut self, event: &Event, out: &mut Vec<Violation>) {
        let mut cx = Cx {
            profile: self.profile,
            seq: event.seq,
            complete: true,
            out,
        };
        match self.links.get_mut(&event.link) {
            Some(Side::Wire(wire)) => wire.event(event.sender, &event.what, &mut cx),
            Some(Side::Output(output)) => output.event(&event.what, &mut cx),
            None => {}
        }
    }
}
