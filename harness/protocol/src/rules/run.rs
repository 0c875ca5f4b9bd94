//! One run: its request, and where its parts stand.

use std::collections::HashMap;

use serde_json::value::RawValue;

use super::asks::{Asks, Excuse};
use super::catalogue::RequirementId;
use super::hindsight::Ids;
use super::id;
use super::relay::Relay;
use super::violation::Cx;
use crate::transcript::{LinkId, RunRef};
use crate::wire::request::RunRequest;
use crate::wire::{Malformed, Profile, Rule};

/// Where the responses of a run stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing has come.
    Waiting,
    /// The id has come.
    Running {
        /// A loop is open.
        in_loop: bool,
    },
    /// A refusal or an early error has come.
    Refused,
    /// The relayed error has come.
    Errored {
        /// It came in an open loop.
        in_loop: bool,
    },
    /// More came than may be judged.
    Unjudged,
    /// The finish has come.
    Finished,
}

/// Whether a request reads.
#[derive(Debug)]
pub(super) enum Readable {
    /// It does.
    Yes,
    /// It does not, and this requirement says what follows.
    No(RequirementId),
    /// Both verdicts stand.
    Unsure,
    /// It may be a request to another endpoint, of which no more is known than that it is a scope.
    Elsewhere,
}

/// First bytes from here on name no endpoint in any revision that is known or near.
const NO_ENDPOINT: u8 = 64;

/// How many ended connections are remembered.
const ENDED: usize = 64;

/// What the checkers need of a run request.
#[derive(Debug)]
pub(super) struct Request {
    pub readable: Readable,
    pub arguments: Option<Box<RawValue>>,
    pub digest: String,
}

impl Request {
    fn read(payload: &[u8], profile: &Profile) -> Self {
        match RunRequest::decode(profile, payload) {
            Ok(request) => Self {
                readable: Readable::Yes,
                arguments: Some(request.arguments),
                digest: request.image.digest,
            },
            Err(fault) => {
                let readable = match fault.rule {
                    Rule::PayloadUnknownFirstByte
                        if payload.first().is_some_and(|tag| *tag < NO_ENDPOINT) =>
                    {
                        Readable::Elsewhere
                    }
                    _ if ambiguous(&fault, payload) => Readable::Unsure,
                    _ => Readable::No(unreadable(&fault)),
                };
                Self {
                    readable,
                    arguments: None,
                    digest: String::new(),
                }
            }
        }
    }
}

/// Whether a payload may be read or not, as the project's notes leave it open.
pub(super) fn ambiguous(fault: &Malformed, payload: &[u8]) -> bool {
    // RFC 8259 lets a reader skip a byte order mark.
    let marked =
        || payload.starts_with(MARK) || payload.get(1..).is_some_and(|json| json.starts_with(MARK));
    fault.rule.is_open()
        || (fault.rule == Rule::JsonEncoding && marked())
        || (fault.rule == Rule::UnsignedExpected && is_integral(fault, payload))
}

const MARK: &[u8] = b"\xef\xbb\xbf";

/// Whether the number that was found is whole and only written with a point or an exponent, which to some JSON readers
/// is an integer.
fn is_integral(fault: &Malformed, payload: &[u8]) -> bool {
    let json: Option<serde_json::Value> = payload
        .get(1..)
        .and_then(|json| serde_json::from_slice(json).ok());
    let number = json
        .as_ref()
        .and_then(|json| json.pointer(&fault.pointer))
        .filter(|it| it.is_f64());
    let number = number.and_then(serde_json::Value::as_f64);
    number.is_some_and(|it| it.fract() == 0.0 && (0.0..1.8e19).contains(&it))
}

/// The requirement that an answered request breaks, by why it cannot be read. Where the pages do not say that it
/// cannot, the requirement is the weaker one that does.
fn unreadable(fault: &Malformed) -> RequirementId {
    match fault.rule {
        Rule::MemberMissing => id::REQUEST_MISSING_MEMBER,
        Rule::MemberRepeated => id::REQUEST_REPEATED_MEMBER,
        Rule::JsonTrailing => id::REQUEST_TRAILING_BYTES,
        Rule::ObjectExpected if fault.found.contains("array") => id::REQUEST_ANSWERED_BARE,
        Rule::StringExpected | Rule::ConstantExpected if fault.found.contains("object") => {
            id::REQUEST_ANSWERED_BARE
        }
        Rule::PayloadEmpty
        | Rule::PayloadUnknownFirstByte
        | Rule::JsonSyntax
        | Rule::JsonEncoding => id::REQUEST_ANSWERED_BARE,
        _ => id::REQUEST_WRONG_TYPE,
    }
}

/// A proxy connection that serves a request under the number of an open run.
#[derive(Debug)]
pub(super) struct ServedAgain {
    /// The request.
    pub request: u64,
    /// The connection.
    pub seq: u64,
}

/// One run request and what became of it.
#[derive(Debug)]
pub(super) struct Run {
    /// The connection that carried the request.
    link: LinkId,
    /// The request.
    opened: u64,
    pub request: Request,
    pub phase: Phase,
    pub relay: Relay,
    pub asks: Asks,
    /// The proxy connection.
    pub begin: Option<LinkId>,
    /// A volume has refused it.
    pub refused: bool,
    /// What first allowed the run to end.
    pub cause: Option<u64>,
    /// The proxy has done something that may end the run.
    proxy_ended: bool,
    /// Requests under its number that may have found it open, and the proxy connections that serve them.
    pub served_again: Vec<ServedAgain>,
}

impl Run {
    fn new(link: LinkId, payload: &[u8], cx: &Cx<'_>) -> Self {
        let request = Request::read(payload, cx.profile);
        let elsewhere = matches!(request.readable, Readable::Elsewhere);
        Self {
            link,
            opened: cx.seq,
            request,
            phase: if elsewhere {
                Phase::Unjudged
            } else {
                Phase::Waiting
            },
            relay: Relay::default(),
            asks: Asks::default(),
            begin: None,
            refused: false,
            cause: None,
            proxy_ended: false,
            served_again: Vec::new(),
        }
    }

    /// Whether nothing has come yet.
    pub(super) fn waits(&self) -> bool {
        self.phase == Phase::Waiting
    }

    /// Whether the id has come.
    pub(super) fn has_id(&self) -> bool {
        matches!(self.phase, Phase::Running { .. } | Phase::Errored { .. })
    }

    /// Whether its channels are those of a run.
    pub(super) fn is_run(&self) -> bool {
        !matches!(self.request.readable, Readable::Elsewhere)
    }

    /// Whether words of the proxy's may still be due.
    pub(super) fn goes_on(&self) -> bool {
        matches!(self.phase, Phase::Waiting | Phase::Running { .. })
    }

    /// Whether the client has an open loop.
    pub(super) fn in_loop(&self) -> bool {
        matches!(self.phase, Phase::Running { in_loop: true })
    }

    /// The proxy did something that may end the run.
    pub(super) fn may_end(&mut self, seq: u64) {
        if self.cause.is_none() {
            self.asks.settle(None);
            self.cause = Some(seq);
        }
        self.proxy_ended = true;
    }

    /// The client stopped the run, or went away: nothing is owed to it any more.
    pub(super) fn stop(&mut self, seq: u64) {
        if self.cause.is_none() {
            self.asks.settle(None);
            self.cause = Some(seq);
        }
        self.relay.release();
    }

    /// Whether a request under the run's number, at that event, certainly found the run open. What ends a run comes from
    /// the client in the order of its frames; what a proxy does may overtake a request that is on its way.
    pub(super) fn outlasts(&self, seq: u64) -> bool {
        self.has_id() && !self.proxy_ended && self.cause.is_none_or(|cause| cause > seq)
    }

    /// Whether what the proxy sent is known, so that what the client gets can be held against it.
    pub(super) fn judges_relay(&self, cx: &Cx<'_>) -> bool {
        cx.complete && self.begin.is_some()
    }

    /// Whether what comes on asks can be held against the proxy's words.
    pub(super) fn judges_asks(&self, cx: &Cx<'_>) -> bool {
        self.judges_relay(cx) && self.cause.is_none()
    }

    /// Whether an ask may be answered otherwise than by the proxy.
    pub(super) fn excuse(&self, cx: &Cx<'_>) -> Excuse {
        Excuse(!self.judges_asks(cx))
    }

    /// The finish has come.
    pub(super) fn over(&mut self) {
        self.phase = Phase::Finished;
        self.relay.clear();
        self.asks.clear();
        self.request.arguments = None;
        self.request.digest = String::new();
    }
}

/// A run's place among all runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RunIndex(usize);

/// All runs of a scenario.
#[derive(Debug, Default)]
pub(super) struct Runs {
    list: Vec<Run>,
    by_reference: HashMap<RunRef, RunIndex>,
    /// Runs without a proxy connection that have not ended.
    unbound: Vec<RunIndex>,
    /// Proxy connections that belong to no known run.
    pub(super) strays: u32,
    pub(super) ids: Ids,
    /// The client connections that have ended, and the events that ended them.
    ended: Vec<(LinkId, u64)>,
}

impl Runs {
    /// A run request came.
    pub(super) fn open(&mut self, reference: RunRef, payload: &[u8], cx: &Cx<'_>) -> RunIndex {
        let index = RunIndex(self.list.len());
        self.list.push(Run::new(reference.link, payload, cx));
        self.by_reference.insert(reference, index);
        self.unbound.push(index);
        index
    }

    /// A run request came under a number of which it is not known whether it is free.
    pub(super) fn open_unclear(&mut self, reference: RunRef, payload: &[u8], cx: &Cx<'_>) {
        let index = self.open(reference, payload, cx);
        self.settle(index);
        if let Some(run) = self.get_mut(index) {
            run.phase = Phase::Unjudged;
            run.may_end(cx.seq);
        }
    }

    pub(super) fn get(&self, index: RunIndex) -> Option<&Run> {
        self.list.get(index.0)
    }

    pub(super) fn get_mut(&mut self, index: RunIndex) -> Option<&mut Run> {
        self.list.get_mut(index.0)
    }

    /// A run, together with what is kept about ids.
    pub(super) fn with_ids(&mut self, index: RunIndex) -> Option<(&mut Run, &mut Ids)> {
        Some((self.list.get_mut(index.0)?, &mut self.ids))
    }

    pub(super) fn find(&self, reference: RunRef) -> Option<RunIndex> {
        self.by_reference.get(&reference).copied()
    }

    pub(super) fn at(&self, reference: RunRef) -> Option<&Run> {
        self.find(reference).and_then(|index| self.get(index))
    }

    /// A client connection has ended.
    pub(super) fn link_ended(&mut self, link: LinkId, seq: u64) {
        if self.ended.len() < ENDED && !self.ended.contains(&(link, seq)) {
            self.ended.push((link, seq));
        }
    }

    /// Whether another client connection has ended while a run was open.
    pub(super) fn ended_beside(&self, index: RunIndex) -> bool {
        let Some(run) = self.get(index) else {
            return false;
        };
        let mut ended = self.ended.iter();
        ended.any(|(link, seq)| *link != run.link && *seq > run.opened)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Run> {
        self.list.iter_mut()
    }

    /// A run has its proxy connection, or needs none any more.
    pub(super) fn settle(&mut self, index: RunIndex) {
        self.unbound.retain(|it| *it != index);
    }

    /// The run that a begin request with these arguments most likely serves.
    pub(super) fn guess(&self, arguments: &str) -> Option<RunIndex> {
        let candidates = || {
            self.unbound
                .iter()
                .filter_map(|index| self.get(*index).map(|run| (*index, run)))
        };
        let sent = |run: &Run| run.request.arguments.as_ref().map(|it| it.get().to_owned());
        let equal = candidates().find(|(_, run)| {
            run.request
                .arguments
                .as_ref()
                .is_some_and(|it| it.get() == arguments)
        });
        let same = || {
            candidates().find(|(_, run)| {
                sent(run).is_some_and(|sent| super::json::same_value(&sent, arguments))
            })
        };
        let again = || {
            let open = self
                .list
                .iter()
                .enumerate()
                .rev()
                .filter(|(_, run)| run.phase != Phase::Finished);
            let mut equal = open.filter(|(_, run)| sent(run).is_some_and(|sent| sent == arguments));
            equal.next().map(|(index, _)| RunIndex(index))
        };
        let only = || {
            self.unbound
                .first()
                .copied()
                .filter(|_| self.unbound.len() == 1)
        };
        equal
            .or_else(same)
            .map(|(index, _)| index)
            .or_else(again)
            .or_else(only)
    }
}
