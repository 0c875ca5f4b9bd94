//! The one connection between host and proxy in the scope revision, and the agent server's side of it.

use std::collections::HashSet;

use bytes::Bytes;

use super::super::Outstanding;
use super::super::catalogue::RequirementId;
use super::super::violation::{Cx, Length};
use super::begin::Begins;
use super::call::Reply;
use super::channels::Channels;
use super::relay::Relay;
use super::{Listening, id};
use crate::transcript::{AgentCall, LinkId, What};
use crate::wire::begin::BeginKind;
use crate::wire::frame::HEADER;
use crate::wire::{Frame, FrameType, Rule};

/// The HTTP status that turns a further connection away.
const TURNED_AWAY: u16 = 409;

/// Both sides of a proxy of the scope revision.
#[derive(Debug, Default)]
pub(super) struct Connection {
    /// The connection that was granted.
    link: Option<LinkId>,
    announced: HashSet<LinkId>,
    /// It has ended.
    over: bool,
    /// The host has ended it.
    left: bool,
    /// The host has sent a frame.
    spoken: bool,
    /// The host has sent an authorization.
    credential: bool,
    /// What the host sent last that must be passed over.
    dropped: Option<RequirementId>,
    /// Scopes that are not open and on which the host asked for something.
    unknown: HashSet<u32>,
    begins: Begins,
    relay: Relay,
    channels: Channels,
    /// The run whose events the relay follows.
    streaming: Option<LinkId>,
    /// How many calls are not over.
    calls: usize,
    /// An error behind begun has come, which its finish follows.
    errored: bool,
}

impl Connection {
    pub(super) fn announced(&mut self, link: LinkId) {
        self.announced.insert(link);
    }

    pub(super) fn event(
        &mut self,
        link: LinkId,
        from_proxy: bool,
        what: &What,
        listening: &Listening,
        cx: &mut Cx<'_>,
    ) {
        if !self.announced.contains(&link) {
            return;
        }
        match what {
            What::Opened { .. } => self.opened(link, cx),
            What::Refused { status } => self.refused(*status, cx),
            _ if self.link != Some(link) || self.over => {}
            What::Closed | What::Broken => {
                self.over = true;
                if !from_proxy {
                    self.left = true;
                } else if !self.credential {
                    let idle = self.calls == 0 && self.channels.are_quiet();
                    let otherwise = if idle { id::IDLE_KEPT } else { id::KEPT };
                    let id = self.dropped.or(self.relay.suspect()).unwrap_or(otherwise);
                    cx.flag(id, "the connection to go on", "its end");
                }
            }
            What::Text(text) if from_proxy => {
                let received = format!("a text message of {}", Length(text.len()));
                cx.flag(id::BINARY_ONLY, "binary messages", received);
            }
            What::Text(_) => self.dropped = Some(id::TEXT_IGNORED),
            What::Binary(message) if from_proxy => self.proxy_sent(message, listening, cx),
            What::Binary(message) => self.host_sent(message, cx),
            _ => {}
        }
    }

    fn opened(&mut self, link: LinkId, cx: &mut Cx<'_>) {
        if self.link.is_none() {
            self.link = Some(link);
        } else if self.link != Some(link) {
            self.turned_away(None, cx);
        }
    }

    fn refused(&self, status: Option<u16>, cx: &mut Cx<'_>) {
        let Some(status) = status else {
            return;
        };
        if self.link.is_none() {
            let received = format!("the status {status}");
            cx.flag(id::ACCEPTED, "a WebSocket", received);
        } else if status != TURNED_AWAY {
            self.turned_away(Some(status), cx);
        }
    }

    /// A further connection got something else than it must.
    fn turned_away(&self, status: Option<u16>, cx: &mut Cx<'_>) {
        let id = if self.over {
            id::NEVER_AGAIN
        } else {
            id::SECOND_CONNECTION
        };
        let received = match status {
            Some(status) => format!("the status {status}"),
            None => "a WebSocket".to_owned(),
        };
        cx.flag(id, format!("the status {TURNED_AWAY}"), received);
    }

    fn host_sent(&mut self, message: &Bytes, cx: &mut Cx<'_>) {
        self.spoken = true;
        let frame = match Frame::decode(message.clone()) {
            // Its first byte is all that is read.
            _ if message.first() == Some(&FrameType::Authorization.byte()) => {
                if message.len() < HEADER {
                    self.dropped = Some(id::SHORT);
                } else {
                    self.credential = true;
                }
                return;
            }
            Err(fault) => {
                let short = fault.rule == Rule::FrameShort;
                self.dropped = Some(if short { id::SHORT } else { id::UNKNOWN_TYPE });
                return;
            }
            Ok(frame) => frame,
        };
        match frame.kind {
            FrameType::Response | FrameType::ResponseFinish => {
                self.dropped = Some(id::WRONG_DIRECTION);
            }
            FrameType::Request => {
                self.dropped = None;
                self.begins.requested(&frame, self.credential, cx);
            }
            _ if !self.begins.is_open(frame.scope) => {
                self.dropped = Some(id::UNKNOWN_SCOPE);
                self.unknown.insert(frame.scope);
            }
            FrameType::ChannelRequest if !self.begins.is_other(frame.scope) => {
                self.dropped = None;
                let begun = self.begins.begun == Some(frame.scope);
                self.relay.asked |= begun;
                let certain = self.relay.runs_for_certain();
                self.channels
                    .requested(&frame, begun, self.credential, certain, cx);
            }
            FrameType::ChannelResponse | FrameType::ChannelResponseFinish => {
                self.channels.touched(frame.scope, frame.channel, cx.seq);
            }
            _ => {}
        }
    }

    fn proxy_sent(&mut self, message: &Bytes, listening: &Listening, cx: &mut Cx<'_>) {
        if !self.spoken {
            let received = format!("a message of {}", Length(message.len()));
            cx.flag(id::SILENT_FIRST, "the host's first frame first", received);
            return;
        }
        let mut found = Vec::new();
        let mut own = Cx {
            out: &mut found,
            profile: cx.profile,
            ..*cx
        };
        self.judge(message, listening, &mut own);
        // What was under way when the authorization came may still arrive, and nothing else.
        if self.credential {
            found.truncate(1);
            for violation in &mut found {
                violation.requirement = id::CREDENTIAL_SILENT;
            }
        }
        cx.out.append(&mut found);
    }

    fn judge(&mut self, message: &Bytes, listening: &Listening, cx: &mut Cx<'_>) {
        let frame = match Frame::decode(message.clone()) {
            Ok(frame) => frame,
            Err(fault) => {
                cx.flag(id::HEADER, fault.expected, fault.found);
                return;
            }
        };
        if matches!(frame.kind, FrameType::Authorization | FrameType::Request) {
            let received = format!("the type {}", frame.kind.byte());
            cx.flag(id::HEADER, "a type from 2 to 6", received);
            return;
        }
        if frame.kind.is_finish() && !frame.payload.is_empty() {
            let received = format!("{} behind the header", Length(frame.payload.len()));
            cx.flag(
                id::FINISH_EMPTY,
                format!("a finish of {HEADER} bytes"),
                received,
            );
        }
        let name = format!("a {}", frame.kind.name());
        if !self.begins.knows(frame.scope) {
            let id = if self.unknown.contains(&frame.scope) {
                id::UNKNOWN_SCOPE
            } else {
                self.dropped.unwrap_or(id::HEADER)
            };
            let received = format!("{name} for another scope");
            cx.flag(id, "scopes that the host opened", received);
            return;
        }
        if self.begins.is_late(frame.scope) {
            let allowed = "nothing for a request behind an authorization";
            cx.flag(id::CREDENTIAL_SILENT, allowed, name);
            return;
        }
        match frame.kind {
            FrameType::ResponseFinish => self.finish(frame.scope, listening, cx),
            _ if self.begins.is_other(frame.scope) => {}
            FrameType::Response => self.response(&frame, listening, cx),
            _ if self.begins.stray(frame.scope, &name, cx) => {}
            FrameType::ChannelRequest => self.channel_request(frame.scope, cx),
            FrameType::ChannelResponse => {
                let certain = self.relay.runs_for_certain();
                self.channels.answered(&frame, listening, certain, cx);
            }
            FrameType::ChannelResponseFinish => self.channels.finished(&frame, cx),
            FrameType::Authorization | FrameType::Request => {}
        }
    }

    fn channel_request(&self, scope: u32, cx: &mut Cx<'_>) {
        let received = "a channel of the proxy's";
        if self.begins.begun != Some(scope) {
            cx.flag(id::SILENT_BEFORE_BEGUN, "no channel before begun", received);
        } else if !self.relay.asked {
            let allowed = "nothing until something is asked";
            cx.flag(id::QUIET_WHEN_IDLE, allowed, received);
        }
    }

    fn response(&mut self, frame: &Frame, listening: &Listening, cx: &mut Cx<'_>) {
        let begun = self.begins.begun == Some(frame.scope);
        if self.begins.stray(frame.scope, "a response", cx) {
            return;
        }
        if begun && self.errored {
            cx.flag(
                id::BEGUN_ONCE,
                "the finish behind an error",
                "another response",
            );
            return;
        }
        let body = frame.payload.slice(frame.payload.len().min(1)..);
        if begun && self.relay.unmarked(&frame.payload, cx) {
            return;
        }
        match BeginKind::of(cx.profile, &frame.payload) {
            Err(fault) => cx.flag(id::PAYLOAD_KNOWN, fault.expected, fault.found),
            Ok(BeginKind::Begun) => {
                if !begun || !self.relay.forged("begun", cx) {
                    self.begins.begun(frame.scope, &body, cx);
                }
            }
            Ok(BeginKind::Error) => self.error(frame.scope, &body, listening, cx),
            Ok(_) if !begun => {
                let allowed = "begun or an error first";
                cx.flag(id::SILENT_BEFORE_BEGUN, allowed, "a word of a loop");
            }
            Ok(BeginKind::Active) => self.relay.active(&frame.payload, cx),
            Ok(BeginKind::Chunk) => self.relay.chunk(&body, cx),
            Ok(BeginKind::Inactive) => self.relay.inactive(&body, cx),
        }
    }

    fn error(&mut self, scope: u32, error: &[u8], listening: &Listening, cx: &mut Cx<'_>) {
        if self.begins.refused(scope, error, listening, cx) || self.relay.forged("error", cx) {
            return;
        }
        self.errored = true;
        if let Err(id) = self.relay.error() {
            let id = self.begins.blamed(scope).or(id).unwrap_or(id::BEGUN_ONCE);
            cx.flag(id, "no error behind begun", "an error");
        } else if super::call::value(error).is_none() {
            let received = "an error that is not one JSON value";
            cx.flag(id::BEGUN_ONCE, "one JSON value", received);
        }
    }

    fn finish(&mut self, scope: u32, listening: &Listening, cx: &mut Cx<'_>) {
        if !self.begins.finished(scope, listening, cx) {
            return;
        }
        if std::mem::take(&mut self.errored) {
            return;
        }
        let id = self.begins.blamed(scope).or(self.relay.suspect());
        let allowed = "a begin scope that goes on";
        cx.flag(id.unwrap_or(id::NOT_FINISHED), allowed, "its finish");
    }

    pub(super) fn called(&mut self, link: LinkId, kind: AgentCall, body: &Bytes, cx: &mut Cx<'_>) {
        self.calls += 1;
        if kind == AgentCall::Register {
            self.begins.register(link, body, self.dropped, cx);
            return;
        }
        if !self.begins.is_registered() {
            let received = format!("a call for {}", kind.name());
            cx.flag(id::REGISTERS, "a register with success first", received);
        }
        if kind == AgentCall::Run {
            self.relay.asked_to_run();
        }
        self.channels
            .called(link, kind, body, self.relay.inactive, cx);
    }

    pub(super) fn replied(
        &mut self,
        link: LinkId,
        kind: AgentCall,
        reply: &Reply,
        cx: &mut Cx<'_>,
    ) {
        if kind != AgentCall::Run || !matches!(reply, Reply::Success(_)) {
            self.calls = self.calls.saturating_sub(1);
        }
        match kind {
            AgentCall::Register => self.begins.registered(link, reply),
            AgentCall::Run if self.streaming.is_none() => match reply {
                Reply::Success(_) => {
                    self.streaming = Some(link);
                    self.relay.started(cx.seq);
                }
                _ => self.relay.refused(),
            },
            _ => {}
        }
        self.channels.replied(link, kind, reply, cx);
    }

    pub(super) fn streamed(&mut self, link: LinkId, data: &Bytes, cx: &Cx<'_>) {
        if self.streaming == Some(link) {
            self.relay.streamed(data, cx.seq);
        }
    }

    pub(super) fn ended(&mut self, link: LinkId, broken: bool, cx: &Cx<'_>) {
        self.calls = self.calls.saturating_sub(1);
        if self.streaming == Some(link) {
            self.streaming = None;
            self.relay.ended(broken, cx.seq);
        }
        self.channels.ended(link, cx.seq);
    }

    /// The proxy gave a call up.
    pub(super) fn dropped(&self, cx: &mut Cx<'_>) {
        if !self.over && !self.credential {
            let allowed = "to wait for the agent server";
            cx.flag(id::NO_TIMEOUT, allowed, "the end of the call");
        }
    }

    pub(super) fn outstanding(&self) -> Vec<Outstanding> {
        if self.over || self.credential || self.begins.begun.is_none() {
            return Vec::new();
        }
        self.relay.outstanding()
    }

    pub(super) fn end(&mut self, cx: &mut Cx<'_>) {
        self.relay.end(cx);
    }
}
