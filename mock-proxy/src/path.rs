//! The reference of the path revision, without I/O: every exchange is a connection of its own, and nothing is kept from
//! one to the next.

use std::collections::HashMap;

use bytes::Bytes;
use diverge_protocol::wire::path_run::PathRunKind;

use crate::answers::{self, Fate, error_of, is_success};
use crate::policy::{Admission, Call, CallId, Calls, Endpoint, HostId, Input, Output, Proxy, Word};
use crate::settings::Settings;

/// What the paths begin with.
pub const PREFIX: &str = "/agent";

/// The conforming reference of the path revision.
#[derive(Debug, Default)]
pub struct Policy {
    settings: Settings,
    exchanges: HashMap<HostId, Exchange>,
    hosts: HashMap<CallId, HostId>,
    calls: Calls,
}

/// A connection whose answer is not complete.
#[derive(Debug)]
struct Exchange {
    endpoint: Endpoint,
    call: Option<CallId>,
}

/// The endpoint behind a path.
#[must_use]
pub fn endpoint(path: &str) -> Option<Endpoint> {
    let path = path.strip_prefix(PREFIX)?;
    Endpoint::ALL.into_iter().find(|it| it.path() == path)
}

impl Proxy for Policy {
    fn admit(&mut self, path: &str) -> Admission {
        match endpoint(path) {
            Some(_) => Admission::Granted,
            None => Admission::Refused(404),
        }
    }

    fn on(&mut self, input: Input, out: &mut Vec<Output>) {
        match input {
            Input::Opened(host, path) => self.open(host, &path, out),
            Input::Binary(host, message) => self.on_message(host, message, out),
            Input::Text(host, _) => {
                let unasked = self
                    .exchanges
                    .get(&host)
                    .is_some_and(|it| it.call.is_none());
                if unasked && self.settings.text_leaves {
                    self.leave(host, out);
                    out.push(Output::Close(host));
                }
            }
            Input::Closed(host) | Input::Lost(host) => self.leave(host, out),
            Input::Agent(call, word) => self.on_word(call, word, out),
            Input::Woken => {}
        }
    }
}

impl Policy {
    /// A proxy that nobody has connected to.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            ..Self::default()
        }
    }

    /// Opens an exchange; those that take no message are asked at once.
    fn open(&mut self, host: HostId, path: &str, out: &mut Vec<Output>) {
        let Some(endpoint) = endpoint(path) else {
            return;
        };
        let call = match endpoint {
            Endpoint::Schema => Some(Bytes::new()),
            Endpoint::Dequeue => Some(Bytes::from_static(b"{}")),
            Endpoint::Register | Endpoint::Run | Endpoint::Enqueue => None,
        };
        let call = call.map(|body| self.call(host, endpoint, body, out));
        self.exchanges.insert(host, Exchange { endpoint, call });
    }

    fn on_message(&mut self, host: HostId, message: Bytes, out: &mut Vec<Output>) {
        let Some(exchange) = self.exchanges.get(&host) else {
            return;
        };
        if exchange.call.is_none() {
            let call = self.call(host, exchange.endpoint, message, out);
            if let Some(exchange) = self.exchanges.get_mut(&host) {
                exchange.call = Some(call);
            }
        } else if self.settings.second_message_leaves {
            self.leave(host, out);
            out.push(Output::Close(host));
        }
    }

    fn call(
        &mut self,
        host: HostId,
        endpoint: Endpoint,
        body: Bytes,
        out: &mut Vec<Output>,
    ) -> CallId {
        let call = self.calls.call(Call::new(endpoint, body), out);
        self.hosts.insert(call, host);
        call
    }

    /// The host left: its call is given up.
    fn leave(&mut self, host: HostId, out: &mut Vec<Output>) {
        if let Some(call) = self.exchanges.remove(&host).and_then(|it| it.call) {
            self.hosts.remove(&call);
            out.push(Output::HangUp(call));
        }
    }

    fn on_word(&mut self, call: CallId, word: Word, out: &mut Vec<Output>) {
        let Some(&host) = self.hosts.get(&call) else {
            return;
        };
        let Some(exchange) = self.exchanges.get(&host) else {
            return;
        };
        let last = word.is_last();
        if let Some(message) = self.message(exchange.endpoint, &word) {
            out.push(Output::Send(host, message.into()));
        }
        if last {
            self.hosts.remove(&call);
            self.exchanges.remove(&host);
            out.push(Output::Close(host));
        }
    }

    /// The message that tells the host a word of the agent server's, if it is told at all.
    fn message(&self, endpoint: Endpoint, word: &Word) -> Option<Vec<u8>> {
        let success = match word {
            Word::Answered { status, body } if is_success(*status) => Some(body),
            _ => None,
        };
        let told = match endpoint {
            Endpoint::Run => match word {
                Word::Streams | Word::Ended => return None,
                Word::Event(data) => {
                    let drops = self.settings.drops_malformed && !answers::is_json(data);
                    return (!drops).then(|| [&[PathRunKind::Chunk.byte()], &data[..]].concat());
                }
                Word::Broke(reason) => {
                    let error = answers::loop_broke(reason, &self.settings);
                    return Some([&[PathRunKind::Error.byte()], &error[..]].concat());
                }
                _ => Err(PathRunKind::Error.byte()),
            },
            Endpoint::Register => success.map(|_| vec![0]).ok_or(1),
            Endpoint::Schema => success
                .filter(|body| answers::is_json(body))
                .map(|schema| [&[0], &schema[..]].concat())
                .ok_or(1),
            Endpoint::Enqueue => success
                .and_then(|body| answers::fate(body))
                .map(|fate| match fate {
                    Fate::Delivered => vec![0],
                    Fate::Dequeued => vec![1],
                    Fate::Missed => vec![2],
                })
                .ok_or(3),
            Endpoint::Dequeue => success
                .and_then(|body| answers::withdrew(body))
                .map(|withdrew| vec![u8::from(!withdrew)])
                .ok_or(2),
        };
        Some(told.unwrap_or_else(|tag| [&[tag], &error_of(word, &self.settings)[..]].concat()))
    }
}
