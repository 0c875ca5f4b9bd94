//! One connection of a client: its credential, its request and its channels.

use std::collections::{HashMap, HashSet};

use bytes::Bytes;

use super::super::violation::{Cx, Length};
use super::id;
use crate::transcript::{Role, What};
use crate::wire::channel::ChannelAsk;
use crate::wire::frame::read_credential;
use crate::wire::request::RunRequest;
use crate::wire::{Frame, FrameType};

#[derive(Debug, Default)]
pub(super) struct Wire {
    /// The client has sent something.
    spoken: bool,
    /// It has sent its credential.
    credential: bool,
    /// It has asked for a run.
    asked: bool,
    scopes: HashMap<u32, Scope>,
}

/// A scope that the client opened. That the provider has finished it changes nothing: what the client sends on it may
/// have been on its way.
#[derive(Debug, Default)]
struct Scope {
    /// Channels that the client opened and the provider has not finished.
    own: HashSet<u32>,
    /// Channels that the provider opened, and whether the client has finished them.
    asked: HashMap<u32, bool>,
}

impl Wire {
    pub(super) fn event(&mut self, sender: Role, what: &What, cx: &mut Cx<'_>) {
        match (sender, what) {
            (Role::Client, What::Text(text)) => {
                let received = format!("a text message of {}", Length(text.len()));
                cx.flag(id::BINARY, "binary messages", received);
            }
            (Role::Client, What::Binary(message)) => self.said(message, cx),
            (Role::Provider, What::Binary(message)) => self.heard(message),
            _ => {}
        }
    }

    /// The provider sent something.
    fn heard(&mut self, message: &Bytes) {
        let Ok(frame) = Frame::decode(message.clone()) else {
            return;
        };
        let Some(scope) = self.scopes.get_mut(&frame.scope) else {
            return;
        };
        match frame.kind {
            FrameType::ChannelRequest => {
                scope.asked.insert(frame.channel, false);
            }
            FrameType::ChannelResponseFinish => {
                scope.own.remove(&frame.channel);
            }
            _ => {}
        }
    }

    /// The client sent something.
    fn said(&mut self, message: &Bytes, cx: &mut Cx<'_>) {
        let first = !std::mem::replace(&mut self.spoken, true);
        let frame = match Frame::decode_strict(message.clone()) {
            Ok(frame) => frame,
            Err(fault) => return cx.flag_malformed(id::FRAMES, "a frame", &fault),
        };
        if first && frame.kind != FrameType::Authorization {
            let received = format!("a frame of type {}", frame.kind.name());
            cx.flag(id::CREDENTIAL_FIRST, "the credential first", received);
        }
        match frame.kind {
            FrameType::Authorization => self.authorization(&frame, cx),
            FrameType::Request => self.request(&frame, cx),
            FrameType::Response | FrameType::ResponseFinish => {
                let received = format!("a frame of type {}", frame.kind.name());
                cx.flag(id::FRAMES, "frames that a client may send", received);
            }
            FrameType::ChannelRequest => self.channel(&frame, cx),
            FrameType::ChannelResponse | FrameType::ChannelResponseFinish => {
                self.answer(&frame, cx);
            }
        }
    }

    fn authorization(&mut self, frame: &Frame, cx: &mut Cx<'_>) {
        if std::mem::replace(&mut self.credential, true) {
            cx.flag(id::CREDENTIAL_ONCE, "one credential", "a second one");
        } else if let Err(fault) = read_credential(&frame.payload) {
            cx.flag_malformed(id::CREDENTIAL_GIVEN, "a credential", &fault);
        }
    }

    fn request(&mut self, frame: &Frame, cx: &mut Cx<'_>) {
        if std::mem::replace(&mut self.asked, true) {
            cx.flag(id::RUN_ONCE, "one request", "a further one");
        } else if let Err(fault) = RunRequest::decode(cx.profile, &frame.payload) {
            cx.flag_malformed(id::RUN_READABLE, "a run request", &fault);
        }
        self.scopes.entry(frame.scope).or_default();
    }

    fn channel(&mut self, frame: &Frame, cx: &mut Cx<'_>) {
        let Some(scope) = self.scopes.get_mut(&frame.scope) else {
            let received = format!("a channel on scope {}, which is not open", frame.scope);
            return cx.flag(id::CHANNEL_OPEN_SCOPE, "a scope that is open", received);
        };
        if !scope.own.insert(frame.channel) {
            let received = format!("a second channel {}", frame.channel);
            cx.flag(id::CHANNEL_FREE_NUMBER, "a number that is free", received);
        }
        let asked = cx.profile.client_channels.split(&frame.payload);
        let read = asked.and_then(|(kind, body)| ChannelAsk::decode(kind, body));
        if let Err(fault) = read {
            cx.flag_malformed(id::CHANNEL_READABLE, "a channel request", &fault);
        }
    }

    fn answer(&mut self, frame: &Frame, cx: &mut Cx<'_>) {
        let scope = self.scopes.get_mut(&frame.scope);
        let received = match scope.and_then(|scope| scope.asked.get_mut(&frame.channel)) {
            Some(finished @ false) => {
                *finished = frame.kind == FrameType::ChannelResponseFinish;
                return;
            }
            Some(true) => format!("one more on channel {} behind its finish", frame.channel),
            None => format!("one on channel {}, which was not asked", frame.channel),
        };
        cx.flag(
            id::CHANNEL_ANSWERS,
            "answers on channels that the provider opened",
            received,
        );
    }
}
