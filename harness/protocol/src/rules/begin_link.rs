//! A proxy connection: what the provider itself sends its proxy, and what the proxy says that the client must get.

use bytes::Bytes;

use super::run::{Run, RunIndex, Runs, ServedAgain};
use super::violation::{Cx, Length, difference};
use super::{frames, id, json};
use crate::transcript::{LinkId, Role, RunRef, What};
use crate::wire::request::BeginRequest;
use crate::wire::{Frame, FrameType};

/// How many proxy connections are remembered that serve requests on an open scope.
const SERVED: usize = 8;

/// One connection between provider and proxy.
#[derive(Debug)]
pub(super) struct BeginLink {
    id: LinkId,
    /// The run it serves, as far as it has been told.
    pub(super) reference: Option<RunRef>,
    run: Option<RunIndex>,
    opened: bool,
    stray: bool,
    /// The harness ends it without a close frame, so what it sent may be lost.
    pub(super) lossy: bool,
    spoken: bool,
    begin_scope: Option<u32>,
    /// The begin request, until its arguments have been compared.
    unjudged: Option<(u64, Bytes)>,
    /// The proxy spoke before the run was known.
    missed: bool,
}

/// How a proxy connection relates to the runs that are known.
pub(super) enum Claim {
    /// It serves this run, or the request at that event, which came under the run's number while it was open.
    Run(RunIndex, Option<u64>),
    /// It serves the request at that event, which came under the number of the open run.
    Duplicate(RunIndex, u64),
    /// It serves a request that an open scope should have ignored, and that scope is finished.
    Ignored,
    /// It serves a request that came before the credential.
    Premature,
    /// It is not known.
    Unknown,
}

impl BeginLink {
    pub(super) fn new(id: LinkId, reference: Option<RunRef>) -> Self {
        Self {
            id,
            reference,
            run: None,
            opened: false,
            stray: false,
            lossy: false,
            spoken: false,
            begin_scope: None,
            unjudged: None,
            missed: false,
        }
    }

    /// Whether it has a run to be claimed for, and has not been.
    pub(super) fn wants_claim(&self) -> Option<RunRef> {
        self.reference.filter(|_| self.run.is_none())
    }

    /// It is up, if this event shows that.
    pub(super) fn note(&mut self, what: &What, runs: &mut Runs) {
        let up = matches!(what, What::Opened { .. } | What::Binary(_) | What::Text(_));
        if up && !self.opened {
            self.opened = true;
            if self.run.is_none() {
                self.stray = true;
                runs.strays += 1;
            }
        }
    }

    /// Binds it to the run that it serves.
    pub(super) fn claim(&mut self, claim: &Claim, runs: &mut Runs, cx: &mut Cx<'_>) {
        let (index, again) = match *claim {
            Claim::Run(index, again) => (index, again),
            Claim::Duplicate(index, request) => (index, Some(request)),
            Claim::Ignored => {
                if std::mem::replace(&mut self.stray, false) {
                    runs.strays = runs.strays.saturating_sub(1);
                    let allowed = "no proxy connection for a request on an open scope";
                    cx.flag(id::SCOPE_DUPLICATE_IGNORED, allowed, "a proxy connection");
                }
                return;
            }
            Claim::Premature => {
                let allowed = "no proxy connection for a request before the credential";
                cx.flag(id::AUTH_NOTHING_BEFORE, allowed, "a proxy connection");
                // Once is enough.
                self.reference = None;
                return;
            }
            Claim::Unknown => return,
        };
        if !self.opened {
            return;
        }
        if std::mem::replace(&mut self.stray, false) {
            runs.strays = runs.strays.saturating_sub(1);
        }
        self.run = Some(index);
        runs.settle(index);
        let Some(run) = runs.get_mut(index) else {
            return;
        };
        if run.refused && run.begin.is_none() && again.is_none() {
            let received = "a proxy connection for a refused run";
            cx.flag(
                id::REFUSAL_NOTHING_DEPLOYED,
                "no proxy connection",
                received,
            );
        }
        let first =
            run.begin.is_none_or(|it| it == self.id) && !matches!(claim, Claim::Duplicate(..));
        if first {
            run.begin = Some(self.id);
            if self.missed {
                run.relay.begun = true;
                run.relay.lose_order();
                run.may_end(cx.seq);
            }
        } else if let Some(request) = again {
            if run.outlasts(request) {
                let allowed = "no proxy connection for a request on an open scope";
                cx.flag(id::SCOPE_DUPLICATE_IGNORED, allowed, "a proxy connection");
            } else if run.waits() && run.served_again.len() < SERVED {
                run.served_again.push(ServedAgain {
                    request,
                    seq: cx.seq,
                });
            }
        } else {
            cx.flag(
                id::BEGIN_ONE_CONNECTION,
                "one proxy connection for a run",
                "a second one",
            );
        }
        self.judge_arguments(runs, cx);
    }

    /// Compares the begin request's arguments with the run's, once both are known.
    fn judge_arguments(&mut self, runs: &mut Runs, cx: &mut Cx<'_>) {
        let Some(run) = self.own_run(runs) else {
            return;
        };
        let Some((seq, payload)) = self.unjudged.take() else {
            return;
        };
        let (Some(sent), Ok(received)) = (
            &run.request.arguments,
            BeginRequest::decode(cx.profile, &payload),
        ) else {
            return;
        };
        let (sent, received) = (sent.get(), received.arguments.get());
        if sent != received {
            let differs = difference(received.as_bytes(), sent.as_bytes());
            if !json::same_value(sent, received) {
                cx.flag_at(
                    seq,
                    id::BEGIN_ARGUMENTS_VALUE,
                    "the run request's arguments",
                    "another JSON value",
                );
            }
            cx.flag_at(
                seq,
                id::BEGIN_ARGUMENTS_BYTES,
                "the run request's arguments byte for byte",
                differs,
            );
        }
    }

    pub(super) fn event(&mut self, sender: Role, what: &What, runs: &mut Runs, cx: &mut Cx<'_>) {
        match (sender, what) {
            (Role::Provider, What::Binary(message)) => self.provider_sent(message, runs, cx),
            (Role::Provider, What::Text(text)) => {
                let received = format!("a text message of {}", Length(text.len()));
                cx.flag(id::BINARY_ONLY, "binary messages", received);
            }
            (Role::Proxy, What::Binary(message)) => self.proxy_sent(message, runs, cx),
            (Role::Proxy, What::Text(_)) => {}
            (_, What::Closed | What::Broken) => {
                let lossy = self.lossy;
                if let Some(run) = self.own_run(runs).filter(|_| sender == Role::Proxy) {
                    run.may_end(cx.seq);
                    if lossy {
                        run.relay.release();
                    }
                }
            }
            _ => {}
        }
    }

    /// The run whose one proxy connection this is.
    fn own_run<'a>(&self, runs: &'a mut Runs) -> Option<&'a mut Run> {
        let run = runs.get_mut(self.run?)?;
        (run.begin == Some(self.id)).then_some(run)
    }

    fn provider_sent(&mut self, message: &Bytes, runs: &mut Runs, cx: &mut Cx<'_>) {
        let first = !std::mem::replace(&mut self.spoken, true);
        if message.first() == Some(&FrameType::Authorization.byte()) {
            cx.flag(
                id::BEGIN_NO_CREDENTIAL,
                "no authorization on a proxy connection",
                "an authorization",
            );
            self.spoken = !first;
            return;
        }
        let Some(frame) = frames::from_client(message, cx) else {
            return;
        };
        let begins = cx.profile.begin_request.split(&frame.payload).is_ok();
        if frame.kind == FrameType::Request && (first || (begins && self.begin_scope.is_none())) {
            self.begin(&frame, begins, first, runs, cx);
            return;
        }
        if first {
            cx.flag(
                id::BEGIN_FIRST,
                "the begin request first",
                format!("a {}", frame.kind.name()),
            );
        }
        if frame.kind == FrameType::Request && begins {
            cx.flag(id::BEGIN_ONCE, "one begin request", "a second one");
            return;
        }
        if frame.kind == FrameType::ChannelRequest && Some(frame.scope) == self.begin_scope {
            let Some(run) = self.own_run(runs).filter(|run| run.judges_asks(cx)) else {
                return;
            };
            let begun = run.relay.begun;
            if let Ok(opened) = cx
                .profile
                .begin_channels
                .split(&frame.payload)
                .map(|(kind, _)| kind)
            {
                run.asks
                    .carried_on(frame.channel, opened, frame.payload.slice(1..), begun, cx);
            }
        }
    }

    fn begin(
        &mut self,
        frame: &Frame,
        begins: bool,
        first: bool,
        runs: &mut Runs,
        cx: &mut Cx<'_>,
    ) {
        if !first {
            // The first frame was another one, which has been told.
        } else if !begins && !frame.payload.is_empty() {
            cx.flag(
                id::BEGIN_FIRST,
                "the begin request first",
                "a request for something else",
            );
            return;
        }
        self.begin_scope = Some(frame.scope);
        let request = match BeginRequest::decode(cx.profile, &frame.payload) {
            Ok(request) => request,
            Err(fault) => {
                cx.flag_malformed(id::BEGIN_WELL_FORMED, "a begin request", &fault);
                return;
            }
        };
        self.unjudged = Some((cx.seq, frame.payload.clone()));
        match runs
            .guess(request.arguments.get())
            .filter(|_| self.run.is_none() && self.reference.is_none())
        {
            Some(index) => self.claim(&Claim::Run(index, None), runs, cx),
            None => self.judge_arguments(runs, cx),
        }
    }

    fn proxy_sent(&mut self, message: &Bytes, runs: &mut Runs, cx: &Cx<'_>) {
        let begin_scope = self.begin_scope;
        self.missed |= self.run.is_none();
        let Some(run) = self.own_run(runs) else {
            return;
        };
        let Ok(frame) = Frame::decode(message.clone()) else {
            run.relay.lose_order();
            run.may_end(cx.seq);
            return;
        };
        let own = Some(frame.scope) == begin_scope;
        match frame.kind {
            FrameType::Response if own => {
                let may_end = run.relay.proxy_says(&frame.payload, cx);
                if may_end {
                    run.may_end(cx.seq);
                }
            }
            FrameType::ResponseFinish if own => {
                run.relay.proxy_finishes();
                run.may_end(cx.seq);
            }
            FrameType::ChannelResponse if own => {
                run.asks
                    .proxy_answers(frame.channel, &frame.payload, cx.seq)
            }
            FrameType::ChannelResponseFinish if own => {
                run.asks.proxy_finishes(frame.channel, cx.seq)
            }
            FrameType::Authorization | FrameType::Request => {
                run.relay.lose_order();
                run.may_end(cx.seq);
            }
            _ => {}
        }
    }
}
