//! How the agent server answered a call.

use bytes::Bytes;
use serde::Deserialize;

use super::super::json;
use crate::transcript::AgentCall;
use crate::wire::agent_server::Endpoint;

/// An answer, as far as it is not a stream of events.
#[derive(Debug, Clone)]
pub(super) enum Reply {
    /// A status of success, and this body.
    Success(Bytes),
    /// Another status.
    Refusal {
        /// The status.
        status: u16,
        /// The body.
        body: Bytes,
    },
    /// The call broke off before it was answered.
    Lost,
}

impl Reply {
    /// The answer that a response gives.
    pub(super) fn of(status: u16, body: Option<&Bytes>) -> Self {
        let body = body.cloned().unwrap_or_default();
        if (200..300).contains(&status) {
            Self::Success(body)
        } else {
            Self::Refusal { status, body }
        }
    }

    /// The JSON value that a refusal says, where it says one.
    pub(super) fn words(&self) -> Option<&str> {
        match self {
            Self::Refusal { body, .. } => value(body),
            Self::Success(_) | Self::Lost => None,
        }
    }
}

/// A text that is one JSON value.
pub(super) fn value(body: &[u8]) -> Option<&str> {
    std::str::from_utf8(body)
        .ok()
        .filter(|_| json::is_json(body))
}

/// Whether what was received is one JSON value, and the same as `words` where there are some.
pub(super) fn says(received: &[u8], words: Option<&str>) -> Result<(), &'static str> {
    match (value(received), words) {
        (None, _) => Err("what is not one JSON value"),
        (Some(received), Some(words)) if !json::same_value(received, words) => {
            Err("another JSON value")
        }
        _ => Ok(()),
    }
}

/// Whether an event tells of a failure that ends its loop.
pub(super) fn is_fatal(data: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Notification {
        is_fatal: bool,
    }
    json::type_of(data).as_deref() == Some("notification")
        && serde_json::from_slice::<Notification>(data).is_ok_and(|it| it.is_fatal)
}

/// What a request asks an agent server for, if it asks for anything.
pub(super) fn asked(method: &str, path: &str) -> Option<AgentCall> {
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    let endpoint = Endpoint::named(path).filter(|it| it.method() == method)?;
    Some(match endpoint {
        Endpoint::Register => AgentCall::Register,
        Endpoint::Schema => AgentCall::Schema,
        Endpoint::Run => AgentCall::Run,
        Endpoint::Enqueue => AgentCall::Enqueue,
        Endpoint::Dequeue => AgentCall::Dequeue,
    })
}
