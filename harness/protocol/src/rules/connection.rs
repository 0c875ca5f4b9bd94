//! A client's connection: the credential, silence before it, binary messages only.

use std::collections::HashMap;

use bytes::Bytes;

use super::run::Runs;
use super::scopes::Scope;
use super::violation::{Cx, Length};
use super::{frames, id};
use crate::transcript::{LinkId, Role, RunRef, What};
use crate::wire::{Frame, FrameType, read_credential};

/// What the client has sent of a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Credential {
    /// Nothing yet.
    Missing,
    /// One that may be good.
    Given,
    /// One that no server accepts.
    Malformed,
    /// A second one.
    Repeated,
}

/// One connection between client and provider.
#[derive(Debug)]
pub(super) struct ClientLink {
    id: LinkId,
    credential: Credential,
    /// How many requests under a number came before the credential.
    premature: HashMap<u32, u32>,
    scopes: HashMap<u32, Scope>,
}

impl ClientLink {
    pub(super) fn new(id: LinkId) -> Self {
        Self {
            id,
            credential: Credential::Missing,
            premature: HashMap::new(),
            scopes: HashMap::new(),
        }
    }

    pub(super) fn scope(&self, number: u32) -> Option<&Scope> {
        self.scopes.get(&number)
    }

    /// Whether a request came before the credential.
    pub(super) fn spoke_too_soon(&self, request: RunRef) -> bool {
        self.premature
            .get(&request.scope)
            .is_some_and(|count| request.generation < *count)
    }

    pub(super) fn event(&mut self, sender: Role, what: &What, runs: &mut Runs, cx: &mut Cx<'_>) {
        match (sender, what) {
            (Role::Provider, What::Binary(message)) => self.provider_sent(message, runs, cx),
            (Role::Provider, What::Text(text)) => {
                let received = format!("a text message of {}", Length(text.len()));
                cx.flag(id::BINARY_ONLY, "binary messages", received);
            }
            (
                _,
                What::Opened {
                    subprotocol: Some(_),
                },
            ) => {
                cx.flag(
                    id::HANDSHAKE_PLAIN,
                    "a reply without a subprotocol",
                    "a reply that names one",
                );
            }
            (Role::Client, What::Binary(message)) => self.client_sent(message, runs, cx),
            (_, What::Closed | What::Broken) => self.end_runs(runs, cx),
            _ => {}
        }
    }

    fn client_sent(&mut self, message: &Bytes, runs: &mut Runs, cx: &Cx<'_>) {
        let Ok(frame) = Frame::decode(message.clone()) else {
            return;
        };
        match frame.kind {
            FrameType::Authorization => {
                let well_formed = read_credential(&frame.payload).is_ok();
                self.credential = match self.credential {
                    Credential::Missing if well_formed => Credential::Given,
                    Credential::Missing | Credential::Malformed => Credential::Malformed,
                    Credential::Given | Credential::Repeated => Credential::Repeated,
                };
                if self.credential == Credential::Repeated {
                    self.end_runs(runs, cx);
                }
            }
            FrameType::Request if self.credential == Credential::Missing => {
                *self.premature.entry(frame.scope).or_default() += 1;
            }
            FrameType::Request => {
                let before = self
                    .premature
                    .get(&frame.scope)
                    .copied()
                    .unwrap_or_default();
                let scope = self
                    .scopes
                    .entry(frame.scope)
                    .or_insert_with(|| Scope::after(before));
                scope.requested(self.id, &frame, runs, cx);
                scope.after_end |= self.credential == Credential::Repeated;
            }
            _ if self.credential == Credential::Missing => {}
            _ => {
                if let Some(scope) = self.scopes.get_mut(&frame.scope) {
                    scope.client_frame(&frame, runs, cx);
                }
            }
        }
    }

    fn provider_sent(&mut self, message: &Bytes, runs: &mut Runs, cx: &mut Cx<'_>) {
        let refused = match self.credential {
            Credential::Missing => Some((id::AUTH_NOTHING_BEFORE, "nothing before the credential")),
            Credential::Malformed => Some((
                id::AUTH_REJECTED_SILENTLY,
                "nothing after a credential of no known form",
            )),
            Credential::Given | Credential::Repeated => None,
        };
        if let Some((rule, allowed)) = refused {
            cx.flag(
                rule,
                allowed,
                format!("a message of {}", Length(message.len())),
            );
            return;
        }
        let Some(frame) = frames::from_server(message, cx) else {
            return;
        };
        let Some(scope) = self.scopes.get_mut(&frame.scope) else {
            let received = format!("a {} for a scope that it did not open", frame.kind.name());
            if self.premature.contains_key(&frame.scope) {
                cx.flag(
                    id::AUTH_NOTHING_BEFORE,
                    "nothing for a request before the credential",
                    received,
                );
            } else {
                cx.flag(id::FRAME_HEADER, "scopes that the client opened", received);
            }
            return;
        };
        if scope.after_end {
            let received = format!(
                "a {} for a request after the second credential",
                frame.kind.name()
            );
            cx.flag(id::AUTH_SECOND_ENDS, "the end of the connection", received);
            return;
        }
        scope.server_frame(&frame, runs, cx);
    }

    /// The connection ends, so its runs may.
    fn end_runs(&mut self, runs: &mut Runs, cx: &Cx<'_>) {
        runs.link_ended(self.id, cx.seq);
        for index in self.scopes.values().filter_map(Scope::run) {
            if let Some(run) = runs.get_mut(index) {
                run.stop(cx.seq);
            }
        }
    }
}
