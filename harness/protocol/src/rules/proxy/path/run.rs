//! One run of the path revision: the events that it must relay, and how it must end.

use std::collections::VecDeque;

use bytes::Bytes;

use super::super::super::catalogue::RequirementId;
use super::super::super::json;
use super::super::super::violation::Cx;
use super::super::super::{Outstanding, OutstandingKind};
use super::super::call::{self, Reply};
use super::super::id;
use crate::wire::path_run::PathRunKind;

#[derive(Debug, Default)]
enum Stream {
    #[default]
    Waits,
    Refused(Reply),
    Streams,
    Ended,
    Broke,
}

#[derive(Debug)]
struct Due {
    data: Bytes,
    seq: u64,
    /// It may be left out.
    optional: bool,
}

/// One run.
#[derive(Debug, Default)]
pub(super) struct Run {
    stream: Stream,
    due: VecDeque<Due>,
    events: u64,
    /// The last event told of a failure that ends the loop.
    fatal: bool,
    /// An event came that is no text, at which a reader may give up.
    unreadable: bool,
    /// An error has come.
    errored: bool,
    /// Its call is not known for certain, or is none of its own any more.
    pub(super) blurred: bool,
    /// Its call has been made.
    pub(super) called: bool,
    /// Another run was asked for while it went on.
    pub(super) disturbed: bool,
    /// Another run went on when it was asked for.
    pub(super) beside: bool,
    /// Nothing was registered when it was asked for.
    pub(super) unregistered: bool,
}

impl Run {
    pub(super) fn streams(&self) -> bool {
        matches!(self.stream, Stream::Streams)
    }

    pub(super) fn replied(&mut self, reply: &Reply) {
        self.stream = match reply {
            Reply::Success(_) => Stream::Streams,
            _ => Stream::Refused(reply.clone()),
        };
    }

    pub(super) fn streamed(&mut self, data: &Bytes, seq: u64) {
        self.events += 1;
        self.unreadable |= std::str::from_utf8(data).is_err();
        self.fatal = call::is_fatal(data);
        self.due.push_back(Due {
            data: data.clone(),
            seq,
            optional: self.unreadable || call::value(data).is_none(),
        });
    }

    pub(super) fn ended(&mut self, broken: bool) {
        if !self.streams() {
            return;
        }
        self.stream = if broken {
            // What a connection held when it broke may be lost with it.
            self.due.iter_mut().for_each(|due| due.optional = true);
            Stream::Broke
        } else {
            Stream::Ended
        };
    }

    /// What the way that its call was refused makes of an answer that is none.
    fn refusal(&self, reply: &Reply) -> RequirementId {
        match reply {
            Reply::Refusal { body, .. } => match kind_of(body).as_deref() {
                Some("unregistered") if self.unregistered => id::PATH_UNREGISTERED,
                _ if self.beside => id::PATH_SECOND_REFUSED,
                _ => id::PATH_RUN_REFUSED,
            },
            Reply::Success(_) | Reply::Lost => id::PATH_RUN_UNREACHABLE,
        }
    }

    /// The host is told something. `failed` is whether the agent server may not have been there.
    pub(super) fn message(&mut self, message: &Bytes, failed: bool, cx: &mut Cx<'_>) {
        let kind = match PathRunKind::of(message) {
            Ok(kind) => kind,
            Err(fault) => {
                cx.flag(id::PATH_CHUNKS, fault.expected, fault.found);
                return;
            }
        };
        if self.errored {
            let id = match &self.stream {
                Stream::Refused(reply) => self.refusal(reply),
                Stream::Broke => id::PATH_BROKEN,
                _ => id::PATH_RUN_UNREACHABLE,
            };
            cx.flag(id, "the close behind an error", "another message");
            return;
        }
        let body = message.slice(1..);
        match kind {
            PathRunKind::Chunk => self.chunk(&body, cx),
            PathRunKind::Error => {
                self.errored = true;
                self.error(&body, failed, cx);
            }
        }
    }

    /// What it breaks to end while its events still come.
    pub(super) fn early_end(&self) -> RequirementId {
        if self.disturbed {
            id::PATH_SECOND_HARMLESS
        } else {
            id::PATH_ENDS_CLEAN
        }
    }

    fn chunk(&mut self, data: &Bytes, cx: &mut Cx<'_>) {
        if self.blurred {
            return;
        }
        if let Stream::Refused(reply) = &self.stream {
            cx.flag(self.refusal(reply), "an error", "a chunk");
            return;
        }
        let required = self.due.iter().position(|due| !due.optional);
        let reach = required.map_or(self.due.len(), |at| at + 1);
        let found = self.due.iter().take(reach).position(|due| due.data == data);
        if let Some(at) = found {
            self.due.drain(..=at);
            return;
        }
        let later = self.due.iter().position(|due| due.data == data);
        if !self.unreadable {
            let allowed = "the data of the next event byte for byte";
            let received = match later {
                Some(_) => "that of a later one",
                None => "something else",
            };
            cx.flag(id::PATH_CHUNKS, allowed, received);
        }
        self.due.drain(..later.map_or(reach, |at| at + 1));
    }

    fn error(&self, error: &[u8], failed: bool, cx: &mut Cx<'_>) {
        if self.blurred {
            return;
        }
        let (id, words) = match &self.stream {
            Stream::Waits if failed => (id::PATH_RUN_UNREACHABLE, None),
            Stream::Streams if self.unreadable => (id::PATH_BROKEN, None),
            Stream::Waits | Stream::Streams => {
                let id = match self.stream {
                    Stream::Waits if !self.called => id::PATH_PROMPT,
                    Stream::Waits if self.beside => id::PATH_SECOND_REFUSED,
                    Stream::Waits => id::PATH_RUN_REFUSED,
                    _ if self.fatal => id::PATH_FATAL,
                    _ => self.early_end(),
                };
                let allowed = "an error once the run is refused or breaks off";
                cx.flag(id, allowed, "an error");
                return;
            }
            Stream::Refused(reply) => (self.refusal(reply), reply.words()),
            Stream::Broke => (id::PATH_BROKEN, None),
            Stream::Ended if self.unreadable => return,
            Stream::Ended => {
                let id = match self.events {
                    _ if self.fatal => id::PATH_FATAL,
                    0 => id::PATH_NO_EVENTS,
                    _ => id::PATH_ENDS_CLEAN,
                };
                cx.flag(id, "a close", "an error");
                return;
            }
        };
        if let Err(received) = call::says(error, words) {
            cx.flag(id, "the JSON value that the error is", received);
        }
    }

    /// The proxy closes the connection, although the host has not.
    pub(super) fn closed(&self, cx: &mut Cx<'_>) {
        if self.errored || self.blurred {
            return;
        }
        let allowed = "an error ahead of the close";
        match &self.stream {
            Stream::Waits => {
                let allowed = "the close once the run is answered";
                cx.flag(id::PATH_PROMPT, allowed, "a close");
            }
            Stream::Refused(reply) => cx.flag(self.refusal(reply), allowed, "a close"),
            Stream::Streams if !self.unreadable => {
                let allowed = "the close once the events have ended";
                cx.flag(self.early_end(), allowed, "a close");
            }
            Stream::Broke => cx.flag(id::PATH_BROKEN, allowed, "a close"),
            Stream::Streams | Stream::Ended => {
                if let Some(due) = self.due.iter().find(|due| !due.optional) {
                    let allowed = format!("first the chunk of event {}", due.seq);
                    cx.flag(id::PATH_CHUNKS, allowed, "a close");
                }
            }
        }
    }

    /// What must still come, oldest first.
    pub(super) fn outstanding(&self) -> Vec<Outstanding> {
        let due = self.due.iter().filter(|due| !due.optional);
        due.map(|due| Outstanding {
            kind: OutstandingKind::Chunk,
            seq: due.seq,
        })
        .collect()
    }
}

/// The member `kind` of an error, where it has one.
fn kind_of(error: &[u8]) -> Option<String> {
    json::member(error, "kind")
}
