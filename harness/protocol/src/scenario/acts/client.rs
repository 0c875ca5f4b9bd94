//! The words of scenarios for clients: the harness is the provider, and reads what the client writes of its run.

use super::{Act, Verb, Word, Words};
use crate::transcript::Role;
use crate::wire::client_line::ClientLine;
use crate::wire::run::RunKind;

/// What happens in a scenario for clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientAct {
    /// A client is started, and told where the provider is, its credential and its request.
    Start,
    /// The client must open a WebSocket.
    Connection,
    /// The client must send the credential that it was told.
    Credential,
    /// The client must send the run request that it was told.
    Run,
    /// The provider sends this response on the run's scope.
    Response(RunKind),
    /// The provider sends a response on the run's scope whose payload is given whole.
    Payload,
    /// The provider finishes the run's scope.
    Finish,
    /// The provider opens a channel on the run's scope, with a payload given whole.
    ChannelRequest,
    /// The provider sends a frame given by its fields.
    Frame,
    /// The provider sends a binary message given whole.
    Bytes,
    /// The provider sends a text message.
    Text,
    /// The provider closes the WebSocket.
    Close,
    /// The provider's WebSocket breaks, without a close frame.
    Drop,
    /// The client must write this next.
    Tells(Told),
    /// The client must end.
    Ends(ClientEnd),
}

/// What a client writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// The id.
    Id,
    /// A refusal.
    Refused,
    /// An error.
    Error,
    /// A chunk.
    Chunk,
    /// A loop began.
    Active,
    /// A loop ended.
    Inactive,
    /// The scope is finished.
    Finished,
    /// Something was wrong with what came: malformed, or out of place.
    Trouble,
}

impl Told {
    /// As scenario files have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Refused => "refused",
            Self::Error => "error",
            Self::Chunk => "chunk",
            Self::Active => "active",
            Self::Inactive => "inactive",
            Self::Finished => "finished",
            Self::Trouble => "trouble",
        }
    }

    /// Whether a line tells this.
    #[must_use]
    pub fn is(self, line: &ClientLine) -> bool {
        match self {
            Self::Trouble => line.is_trouble(),
            _ => line.event() == self.name() && !matches!(line, ClientLine::Other(_)),
        }
    }
}

/// How a client ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientEnd {
    /// With the exit status 0, and with nothing written that no step has read.
    Well,
    /// In any way, with nothing written but trouble, and the finish where it was sent.
    Anyhow,
    /// Telling by a line or by its exit status that the run was not finished.
    Lost,
}

impl ClientAct {
    pub(super) fn expects(self) -> bool {
        matches!(
            self,
            Self::Connection | Self::Credential | Self::Run | Self::Tells(_) | Self::Ends(_)
        )
    }
}

const fn word(name: &'static str, act: ClientAct, fields: &'static [&'static str]) -> Word {
    Word {
        name,
        act: Act::Client(act),
        fields,
    }
}

const fn response(kind: RunKind) -> Word {
    word(
        kind.name(),
        ClientAct::Response(kind),
        &["on", "json", "hex", "mutate"],
    )
}

const fn told(told: Told) -> Word {
    word(told.name(), ClientAct::Tells(told), &["on", "json"])
}

pub(super) const VERBS: &[Verb] = &[
    Verb {
        key: "client starts",
        about: "a client of this name is started; `json` is the run request and `text` the credential that it is told",
        from: Role::Client,
        to: Role::Client,
        words: Words::Link(Act::Client(ClientAct::Start), &["json", "text"]),
    },
    Verb {
        key: "provider expects",
        about: "the provider must receive this",
        from: Role::Client,
        to: Role::Provider,
        words: Words::Named(&[
            word("connection", ClientAct::Connection, &["on"]),
            word("credential", ClientAct::Credential, &["on"]),
            word("run", ClientAct::Run, &["on"]),
        ]),
    },
    Verb {
        key: "provider sends",
        about: "the provider sends this message",
        from: Role::Provider,
        to: Role::Client,
        words: Words::Named(&[
            response(RunKind::Id),
            response(RunKind::VolumeHeld),
            response(RunKind::VolumeMounted),
            response(RunKind::VolumeFuseServed),
            response(RunKind::VolumeMountUnsupported),
            response(RunKind::VolumeMode),
            response(RunKind::Error),
            response(RunKind::Chunk),
            response(RunKind::Active),
            response(RunKind::Inactive),
            word("payload", ClientAct::Payload, &["on", "hex"]),
            word("finish", ClientAct::Finish, &["on"]),
            word(
                "channel request",
                ClientAct::ChannelRequest,
                &["on", "number", "hex"],
            ),
            word(
                "frame",
                ClientAct::Frame,
                &["on", "type", "scope", "channel-field", "hex", "json"],
            ),
            word("bytes", ClientAct::Bytes, &["on", "hex"]),
            word("text", ClientAct::Text, &["on", "text"]),
        ]),
    },
    Verb {
        key: "provider closes",
        about: "the provider closes the WebSocket of this client",
        from: Role::Provider,
        to: Role::Client,
        words: Words::Link(Act::Client(ClientAct::Close), &[]),
    },
    Verb {
        key: "provider drops",
        about: "the WebSocket of this client breaks without a close frame",
        from: Role::Provider,
        to: Role::Client,
        words: Words::Link(Act::Client(ClientAct::Drop), &[]),
    },
    Verb {
        key: "client tells",
        about: "the client must write this next, of the oldest such message that it has not told; `json` is the text \
                that it must have instead",
        from: Role::Client,
        to: Role::Client,
        words: Words::Named(&[
            told(Told::Id),
            told(Told::Refused),
            told(Told::Error),
            told(Told::Chunk),
            told(Told::Active),
            told(Told::Inactive),
            told(Told::Finished),
            told(Told::Trouble),
        ]),
    },
    Verb {
        key: "client ends",
        about: "the client's process must end: `well` with the exit status 0, `lost` telling that its run did not \
                finish, or `anyhow`",
        from: Role::Client,
        to: Role::Client,
        words: Words::Named(&[
            word("well", ClientAct::Ends(ClientEnd::Well), &["on"]),
            word("anyhow", ClientAct::Ends(ClientEnd::Anyhow), &["on"]),
            word("lost", ClientAct::Ends(ClientEnd::Lost), &["on"]),
        ]),
    },
];

const fn read(told: Told) -> Word {
    word(told.name(), ClientAct::Tells(told), &["on"])
}

/// The words of scenarios for chains whose client is a process of its own: it is started and read, and what it says on
/// its connection is its own affair.
pub(super) const IN_CHAINS: &[Verb] = &[
    Verb {
        key: "client starts",
        about: "a client of this name is started as a process of its own: to ask for a run with these `arguments`, and, \
                where `json` is a list of messages, to enqueue one behind the id and one behind each loop, and then to \
                stop the run",
        from: Role::Client,
        to: Role::Client,
        words: Words::Link(Act::Client(ClientAct::Start), &["arguments", "json"]),
    },
    Verb {
        key: "client tells",
        about: "the client's process must write this next, as the provider has sent it",
        from: Role::Client,
        to: Role::Client,
        words: Words::Named(&[
            read(Told::Id),
            read(Told::Refused),
            read(Told::Error),
            read(Told::Chunk),
            read(Told::Active),
            read(Told::Inactive),
            read(Told::Finished),
        ]),
    },
    Verb {
        key: "client ends",
        about: "the client's process must end: `well`, with the exit status 0",
        from: Role::Client,
        to: Role::Client,
        words: Words::Named(&[word("well", ClientAct::Ends(ClientEnd::Well), &["on"])]),
    },
];
