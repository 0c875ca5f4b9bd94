//! Requirements and checkers.
//!
//! The [`Catalogue`] says what the protocol requires, as data. The [`Checkers`] are fed the events of a scenario's links
//! in their order and name every requirement that the provider breaks. They judge only what the provider sends: what
//! client and proxy send moves their state, and a frame that the provider may send is never held against it.
//! [`ProxyCheckers`] do the same for a proxy, [`ClientCheckers`] for a client, a [`ChunkStream`] judges what an agent server says, and an [`EventStream`]
//! what a program tells as agent events.

mod asks;
mod begin_link;
mod catalogue;
mod channels;
mod chunk_stream;
mod client;
mod connection;
mod events;
mod frames;
mod hindsight;
mod id;
mod json;
mod proxy;
mod relay;
pub mod revisions;
mod run;
mod run_stream;
mod scopes;
#[cfg(test)]
mod tests;
mod violation;

use std::collections::HashMap;

pub use catalogue::{
    Catalogue, CatalogueError, Iut, Requirement, RequirementId, Revision, Source, Strength,
};
pub use chunk_stream::{ChunkStream, Ending, Joined, Message};
pub use client::ClientCheckers;
pub use events::EventStream;
pub use proxy::ProxyCheckers;
pub use violation::Violation;

use self::begin_link::{BeginLink, Claim};
use self::connection::ClientLink;
use self::run::Runs;
use self::scopes::Scope;
use self::violation::Cx;
use crate::transcript::{Event, Link, LinkId, LinkKind, RunRef};
use crate::wire::Profile;

/// A kind of thing that one side sent and that has not come out on the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OutstandingKind {
    /// A chunk, within a loop.
    Chunk,
    /// An active.
    Active,
    /// An inactive.
    Inactive,
    /// The error that ends the begin scope.
    Error,
    /// The answer to an enqueue, a dequeue or a schema request.
    Answer,
}

/// Something that was sent to the implementation under test, and that it must still relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Outstanding {
    /// What it is.
    pub kind: OutstandingKind,
    /// The event that calls for it.
    pub seq: u64,
}

#[derive(Debug)]
enum Watched {
    Client(ClientLink),
    Begin(BeginLink),
}

/// Judges the links of one scenario as their events come.
#[derive(Debug)]
pub struct Checkers {
    profile: &'static Profile,
    complete: bool,
    links: HashMap<LinkId, Watched>,
    runs: Runs,
    last: u64,
}

impl Checkers {
    /// Checkers for a scenario of which every link of the provider's is seen.
    #[must_use]
    pub fn new(profile: &'static Profile) -> Self {
        Self {
            profile,
            complete: true,
            links: HashMap::new(),
            runs: Runs::default(),
            last: 0,
        }
    }

    /// Checkers for client links alone, as a tap sees them: what a proxy did or did not send is not known, so nothing
    /// is held against it.
    #[must_use]
    pub fn client_side(profile: &'static Profile) -> Self {
        Self {
            complete: false,
            ..Self::new(profile)
        }
    }

    /// Announces a link, before its first event. A begin link whose run is not known is taken to serve the run whose
    /// arguments its begin request has; it may be announced again, once its run is known and before its proxy answers.
    ///
    /// In a [`RunRef`], the generation counts all earlier requests of the link under the scope number: those before the
    /// credential and those on an open scope too, which a provider ignores.
    pub fn link(&mut self, link: &Link) {
        match self.links.get_mut(&link.id) {
            Some(Watched::Begin(begin)) => begin.reference = begin.reference.or(link.run),
            Some(Watched::Client(_)) => {}
            None => {
                let watched = match link.kind {
                    LinkKind::Client => Watched::Client(ClientLink::new(link.id)),
                    LinkKind::Begin => Watched::Begin(BeginLink::new(link.id, link.run)),
                    // No provider of the scope revision has such links.
                    LinkKind::Path(_) | LinkKind::Call | LinkKind::Address | LinkKind::Output => {
                        return;
                    }
                };
                self.links.insert(link.id, watched);
            }
        }
    }

    /// Says that a begin link is about to be cut without a close frame, so that what was sent on it may be lost.
    pub fn lossy(&mut self, link: LinkId) {
        if let Some(Watched::Begin(begin)) = self.links.get_mut(&link) {
            begin.lossy = true;
        }
    }

    /// Judges one event, of a link that has been announced.
    pub fn event(&mut self, event: &Event, out: &mut Vec<Violation>) {
        self.last = event.seq;
        let mut cx = Cx {
            profile: self.profile,
            seq: event.seq,
            complete: self.complete,
            out,
        };
        match self.links.get_mut(&event.link) {
            Some(Watched::Client(link)) => {
                link.event(event.sender, &event.what, &mut self.runs, &mut cx)
            }
            Some(Watched::Begin(begin)) => {
                begin.note(&event.what, &mut self.runs);
                if let Some(reference) = begin.wants_claim() {
                    self.claim(event.link, reference, &mut cx);
                }
                if let Some(Watched::Begin(begin)) = self.links.get_mut(&event.link) {
                    begin.event(event.sender, &event.what, &mut self.runs, &mut cx);
                }
            }
            None => {}
        }
    }

    fn claim(&mut self, link: LinkId, reference: RunRef, cx: &mut Cx<'_>) {
        let client = match self.links.get(&reference.link) {
            Some(Watched::Client(client)) => Some(client),
            _ => None,
        };
        let scope = client.and_then(|client| client.scope(reference.scope));
        let premature = client.is_some_and(|client| client.spoke_too_soon(reference));
        let claim = match self.runs.find(reference) {
            Some(index) => {
                let open = scope.filter(|it| it.run() == Some(index));
                Claim::Run(index, open.and_then(Scope::asked_again))
            }
            None if scope.is_some_and(|it| it.ignores(reference)) => Claim::Ignored,
            None if premature => Claim::Premature,
            None => match scope.and_then(|it| it.duplicated(reference)) {
                Some((index, request)) => Claim::Duplicate(index, request),
                None => Claim::Unknown,
            },
        };
        if let Some(Watched::Begin(begin)) = self.links.get_mut(&link) {
            begin.claim(&claim, &mut self.runs, cx);
        }
    }

    /// What the proxy sent on a run's begin scope and must still reach the client, oldest first.
    #[must_use]
    pub fn outstanding(&self, run: RunRef) -> Vec<Outstanding> {
        let mut outstanding = Vec::new();
        if let Some(run) = self.runs.at(run).filter(|run| run.goes_on()) {
            run.relay.outstanding(&mut outstanding);
            if run.cause.is_none() {
                run.asks.outstanding(&mut outstanding);
            }
        }
        outstanding.sort_by_key(|it| it.seq);
        outstanding
    }

    /// Whether the client has been told that a loop began, and not that it ended.
    #[must_use]
    pub fn loop_open(&self, run: RunRef) -> bool {
        self.runs.at(run).is_some_and(run::Run::in_loop)
    }

    /// The scenario is over: adds what only shows in hindsight.
    pub fn end(&mut self, out: &mut Vec<Violation>) {
        let mut cx = Cx {
            profile: self.profile,
            seq: self.last,
            complete: self.complete,
            out,
        };
        for run in self.runs.iter_mut() {
            run.relay.end(&mut cx);
        }
        self.runs.ids.end(&mut cx);
    }
}
