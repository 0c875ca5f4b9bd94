//! What a container proxy owes to the provider's server that dials it, here the host, and to the agent server.
//!
//! [`ProxyCheckers`] judge both revisions. Where the order of two events tells nothing, because they came over different
//! connections of the proxy's, every order is accepted: only what the proxy did in answer to something that was done to
//! it is held against it.

mod begin;
mod call;
mod channels;
mod connection;
mod dequeues;
mod id;
mod path;
mod queue;
mod relay;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use bytes::Bytes;

use self::call::Reply;
use self::connection::Connection;
use self::path::Paths;
use super::violation::Cx;
use super::{Outstanding, Revision, Violation};
use crate::transcript::{AgentCall, Event, Link, LinkId, LinkKind, Role, What};
use crate::wire::Profile;
use crate::wire::sse::EventReader;

/// One call, as far as it has come.
#[derive(Debug)]
struct Call {
    kind: AgentCall,
    /// It was answered, or will not be.
    answered: bool,
    /// Nothing more comes of it.
    over: bool,
}

/// Whether an agent server listens, which it does until a link says otherwise.
#[derive(Debug, Default)]
struct Listening {
    address: Option<LinkId>,
    gone: bool,
    /// It was gone up to here.
    back: Option<u64>,
}

impl Listening {
    fn event(&mut self, event: &Event) {
        match event.what {
            What::Closed => self.gone = true,
            What::Opened { .. } if std::mem::take(&mut self.gone) => self.back = Some(event.seq),
            _ => {}
        }
    }

    /// Whether a call after this event may have found nobody.
    fn failed_after(&self, seq: u64) -> bool {
        self.gone || self.back.is_some_and(|back| back >= seq)
    }
}

#[derive(Debug)]
enum Side {
    Scope(Box<Connection>),
    Path(Box<Paths>),
}

/// Judges the links of one scenario as their events come, whichever end of the proxy they are on. They name the
/// requirements of `proxy.*` that it breaks.
#[derive(Debug)]
pub struct ProxyCheckers {
    profile: &'static Profile,
    calls: HashMap<LinkId, Option<Call>>,
    listening: Listening,
    side: Side,
    last: u64,
}

impl ProxyCheckers {
    /// Checkers for a scenario whose links to the proxy and from it are all seen. The profile's numbers are those of
    /// the scope revision; the path revision needs none.
    #[must_use]
    pub fn new(profile: &'static Profile, revision: Revision) -> Self {
        Self {
            profile,
            calls: HashMap::new(),
            listening: Listening::default(),
            side: match revision {
                Revision::Scope => Side::Scope(Box::default()),
                Revision::Path => Side::Path(Box::default()),
            },
            last: 0,
        }
    }

    /// Announces a link, before its first event.
    pub fn link(&mut self, link: &Link) {
        match (link.kind, &mut self.side) {
            (LinkKind::Call, _) => {
                self.calls.entry(link.id).or_insert(None);
            }
            (LinkKind::Address, _) => self.listening.address = Some(link.id),
            (LinkKind::Begin, Side::Scope(connection)) => connection.announced(link.id),
            (LinkKind::Path(kind), Side::Path(paths)) => paths.announced(link.id, kind),
            _ => {}
        }
    }

    /// Judges one event, of a link that has been announced. What the proxy does when the scenario is over and it is
    /// being ended is none of it.
    pub fn event(&mut self, event: &Event, out: &mut Vec<Violation>) {
        self.last = event.seq;
        let mut cx = Cx {
            profile: self.profile,
            seq: event.seq,
            complete: true,
            out,
        };
        if self.listening.address == Some(event.link) {
            self.listening.event(event);
            return;
        }
        if self.calls.contains_key(&event.link) {
            self.call_event(event, &mut cx);
            return;
        }
        let from_proxy = event.sender == Role::Proxy;
        let listening = &self.listening;
        match &mut self.side {
            Side::Scope(it) => it.event(event.link, from_proxy, &event.what, listening, &mut cx),
            Side::Path(it) => it.event(event.link, from_proxy, &event.what, listening, &mut cx),
        }
    }

    fn call_event(&mut self, event: &Event, cx: &mut Cx<'_>) {
        let Some(slot) = self.calls.get_mut(&event.link) else {
            return;
        };
        if let What::Request { method, path, body } = &event.what {
            if let Some(kind) = call::asked(method, path) {
                *slot = Some(Call {
                    kind,
                    answered: false,
                    over: false,
                });
                self.side.called(event.link, kind, body, cx);
            }
            return;
        }
        let Some(call) = slot.as_mut().filter(|call| !call.over) else {
            return;
        };
        let kind = call.kind;
        match &event.what {
            What::Response { status, body, .. } if !call.answered => {
                call.answered = true;
                let reply = Reply::of(*status, body.as_ref());
                let runs = kind == AgentCall::Run && matches!(reply, Reply::Success(_));
                call.over = body.is_some() || !runs;
                self.side.replied(event.link, kind, &reply, cx);
                if let Some(body) = body.as_ref().filter(|_| runs) {
                    let mut events = Vec::new();
                    EventReader::new().push(body, &mut events);
                    for event_data in events {
                        self.side.streamed(event.link, &event_data.data.into(), cx);
                    }
                    self.side.ended(event.link, false, cx);
                }
            }
            What::ServerEvent(data) if call.answered => self.side.streamed(event.link, data, cx),
            What::Closed | What::Broken => {
                call.over = true;
                let broken = event.what == What::Broken;
                if event.sender == Role::Proxy {
                    self.side.dropped(event.link, cx);
                }
                if call.answered {
                    self.side.ended(event.link, broken, cx);
                } else {
                    self.side.replied(event.link, kind, &Reply::Lost, cx);
                }
            }
            _ => {}
        }
    }

    /// What the agent server's streams hold that must still reach the host on the begin scope, oldest first.
    #[must_use]
    pub fn outstanding(&self) -> Vec<Outstanding> {
        match &self.side {
            Side::Scope(connection) => connection.outstanding(),
            Side::Path(_) => Vec::new(),
        }
    }

    /// The same of one connection of the path revision.
    #[must_use]
    pub fn outstanding_on(&self, link: LinkId) -> Vec<Outstanding> {
        match &self.side {
            Side::Scope(_) => Vec::new(),
            Side::Path(paths) => paths.outstanding(link),
        }
    }

    /// The scenario is over: adds what only shows in hindsight.
    pub fn end(&mut self, out: &mut Vec<Violation>) {
        let mut cx = Cx {
            profile: self.profile,
            seq: self.last,
            complete: true,
            out,
        };
        if let Side::Scope(connection) = &mut self.side {
            connection.end(&mut cx);
        }
    }
}

impl Side {
    fn called(&mut self, link: LinkId, kind: AgentCall, body: &Bytes, cx: &mut Cx<'_>) {
        match self {
            Self::Scope(it) => it.called(link, kind, body, cx),
            Self::Path(it) => it.called(link, kind, body, cx),
        }
    }

    fn replied(&mut self, link: LinkId, kind: AgentCall, reply: &Reply, cx: &mut Cx<'_>) {
        match self {
            Self::Scope(it) => it.replied(link, kind, reply, cx),
            Self::Path(it) => it.replied(link, kind, reply, cx),
        }
    }

    fn streamed(&mut self, link: LinkId, data: &Bytes, cx: &Cx<'_>) {
        match self {
            Self::Scope(it) => it.streamed(link, data, cx),
            Self::Path(it) => it.streamed(link, data, cx),
        }
    }

    fn ended(&mut self, link: LinkId, broken: bool, cx: &Cx<'_>) {
        match self {
            Self::Scope(it) => it.ended(link, broken, cx),
            Self::Path(it) => it.ended(link, broken, cx),
        }
    }

    fn dropped(&mut self, link: LinkId, cx: &mut Cx<'_>) {
        match self {
            Self::Scope(it) => it.dropped(cx),
            Self::Path(it) => it.dropped(link, cx),
        }
    }
}
