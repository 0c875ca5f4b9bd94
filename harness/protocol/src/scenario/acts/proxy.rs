//! The words of scenarios for proxies: the harness is the provider on one side, and the agent server on the other.

use super::{Act, Verb, Word, Words};
use crate::transcript::{AgentCall, Role};
use crate::wire::begin::BeginKind;

/// What happens in a scenario for proxies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxyAct {
    /// The provider opens a WebSocket, and is let in.
    Connect,
    /// The provider tries to open a WebSocket, and must be turned away with an HTTP status, 409 where none is named.
    TurnedAway,
    /// The provider closes its WebSocket.
    Close,
    /// The provider's WebSocket breaks, without a close frame.
    Drop,
    /// The provider sends a begin request on a new scope.
    Begin,
    /// The provider opens a channel on the begin scope.
    Ask(AgentCall),
    /// The provider opens a channel with a body given in full, tag and all.
    ChannelRequest,
    /// The provider finishes a channel that the proxy opened.
    FinishChannel,
    /// The provider sends a frame given by its fields.
    Frame,
    /// The provider sends a binary message given whole; in the path revision, its ask.
    Bytes,
    /// The provider sends a text message.
    Text,
    /// The provider must receive this response on the begin scope, or this message of a run's path.
    Response(BeginKind),
    /// Everything that the agent server sent and that must reach the provider has.
    Relayed,
    /// The provider must receive the finish of the begin scope.
    Finish,
    /// The provider must receive the finish of the scope with no response before it.
    BareFinish,
    /// The provider must receive an answer on a channel, or on a path other than a run's.
    Answer,
    /// The provider must receive the finish of a channel.
    ChannelFinish,
    /// The provider must receive the finish of a channel with no answer before it.
    BareChannelFinish,
    /// The proxy must close its WebSocket in order.
    Closed,
    /// The proxy's WebSocket must be gone, in order or not.
    Gone,
    /// The provider must have nothing unread.
    Nothing,
    /// The agent server must be called.
    Called(AgentCall),
    /// The caller must have dropped its call.
    Dropped,
    /// The agent server must have no call that no step has read.
    NotCalled,
    /// The agent server answers a call, whole.
    Reply,
    /// The agent server answers a call with a stream of events.
    Stream,
    /// The agent server sends an event.
    Event,
    /// The agent server sends bytes on the stream as they are.
    Raw,
    /// The agent server ends the stream in order.
    End,
    /// The agent server breaks a call off.
    Break,
    /// From here on nothing listens where the agent server does.
    AgentGone,
    /// The agent server listens again.
    AgentBack,
}

impl ProxyAct {
    pub(super) fn expects(self) -> bool {
        matches!(
            self,
            Self::Response(_)
                | Self::Relayed
                | Self::Finish
                | Self::BareFinish
                | Self::Answer
                | Self::ChannelFinish
                | Self::BareChannelFinish
                | Self::Closed
                | Self::Gone
                | Self::Nothing
                | Self::Called(_)
                | Self::Dropped
                | Self::NotCalled
        )
    }
}

const fn word(name: &'static str, act: ProxyAct, fields: &'static [&'static str]) -> Word {
    Word {
        name,
        act: Act::Proxy(act),
        fields,
    }
}

const fn link(act: ProxyAct, fields: &'static [&'static str]) -> Words {
    Words::Link(Act::Proxy(act), fields)
}

const ASK: &[&str] = &[
    "on",
    "run",
    "channel",
    "number",
    "same-number-as",
    "json",
    "hex",
    "mutate",
];
const RESPONSE: &[&str] = &["on", "run", "json", "parts"];
const CALL: &[&str] = &["call", "json", "parts", "content-type"];

pub(super) const VERBS: &[Verb] = &[
    Verb {
        key: "provider connects",
        about: "the provider opens a WebSocket of this name; in the path revision, to this path",
        from: Role::Provider,
        to: Role::Proxy,
        words: link(ProxyAct::Connect, &["path"]),
    },
    Verb {
        key: "provider is turned away",
        about: "the provider tries to open a WebSocket of this name, and must get an HTTP status instead",
        from: Role::Provider,
        to: Role::Proxy,
        words: link(ProxyAct::TurnedAway, &["path", "status"]),
    },
    Verb {
        key: "provider closes",
        about: "the provider closes its WebSocket of this name",
        from: Role::Provider,
        to: Role::Proxy,
        words: link(ProxyAct::Close, &[]),
    },
    Verb {
        key: "provider drops",
        about: "the provider's WebSocket of this name breaks without a close frame",
        from: Role::Provider,
        to: Role::Proxy,
        words: link(ProxyAct::Drop, &[]),
    },
    Verb {
        key: "provider sends",
        about: "the provider sends this message",
        from: Role::Provider,
        to: Role::Proxy,
        words: Words::Named(&[
            word(
                "begin",
                ProxyAct::Begin,
                &[
                    "on",
                    "run",
                    "number",
                    "channel-field",
                    "arguments",
                    "json",
                    "hex",
                    "mutate",
                ],
            ),
            word("enqueue", ProxyAct::Ask(AgentCall::Enqueue), ASK),
            word("dequeue", ProxyAct::Ask(AgentCall::Dequeue), ASK),
            word("schema", ProxyAct::Ask(AgentCall::Schema), ASK),
            word(
                "channel request",
                ProxyAct::ChannelRequest,
                &["on", "run", "channel", "number", "hex"],
            ),
            word(
                "channel finish",
                ProxyAct::FinishChannel,
                &["on", "run", "number"],
            ),
            word(
                "frame",
                ProxyAct::Frame,
                &["on", "run", "type", "scope", "channel-field", "hex", "json"],
            ),
            word("bytes", ProxyAct::Bytes, &["on", "hex", "json", "mutate"]),
            word("text", ProxyAct::Text, &["on", "text"]),
        ]),
    },
    Verb {
        key: "provider expects",
        about: "the provider must receive this",
        from: Role::Proxy,
        to: Role::Provider,
        words: Words::Named(&[
            word("begun", ProxyAct::Response(BeginKind::Begun), RESPONSE),
            word("error", ProxyAct::Response(BeginKind::Error), RESPONSE),
            word("chunk", ProxyAct::Response(BeginKind::Chunk), RESPONSE),
            word(
                "active",
                ProxyAct::Response(BeginKind::Active),
                &["on", "run"],
            ),
            word(
                "inactive",
                ProxyAct::Response(BeginKind::Inactive),
                RESPONSE,
            ),
            word("relayed", ProxyAct::Relayed, &["on", "run"]),
            word("finish", ProxyAct::Finish, &["on", "run"]),
            word("bare finish", ProxyAct::BareFinish, &["on", "run"]),
            word(
                "answer",
                ProxyAct::Answer,
                &["on", "run", "channel", "answer", "json", "parts"],
            ),
            word(
                "channel finish",
                ProxyAct::ChannelFinish,
                &["on", "run", "channel"],
            ),
            word(
                "bare channel finish",
                ProxyAct::BareChannelFinish,
                &["on", "run", "channel"],
            ),
            word("closed", ProxyAct::Closed, &["on"]),
            word("gone", ProxyAct::Gone, &["on"]),
            word("nothing", ProxyAct::Nothing, &["on"]),
        ]),
    },
    Verb {
        key: "agent expects",
        about: "the agent server must be asked this by the proxy",
        from: Role::Proxy,
        to: Role::AgentServer,
        words: Words::Named(&[
            word("register", ProxyAct::Called(AgentCall::Register), CALL),
            word("schema", ProxyAct::Called(AgentCall::Schema), CALL),
            word("run", ProxyAct::Called(AgentCall::Run), CALL),
            word("enqueue", ProxyAct::Called(AgentCall::Enqueue), CALL),
            word("dequeue", ProxyAct::Called(AgentCall::Dequeue), CALL),
            word("dropped", ProxyAct::Dropped, &["call"]),
            word("nothing", ProxyAct::NotCalled, &[]),
        ]),
    },
    Verb {
        key: "agent sends",
        about: "the agent server does this to a call, by name, or else to the newest one that it fits",
        from: Role::AgentServer,
        to: Role::Proxy,
        words: Words::Named(&[
            word(
                "answer",
                ProxyAct::Reply,
                &["call", "status", "content-type", "json", "hex", "text"],
            ),
            word("stream", ProxyAct::Stream, &["call"]),
            word("event", ProxyAct::Event, &["call", "json", "hex", "text"]),
            word("raw", ProxyAct::Raw, &["call", "hex", "text"]),
            word("end", ProxyAct::End, &["call"]),
            word("break", ProxyAct::Break, &["call"]),
        ]),
    },
    Verb {
        key: "agent server",
        about: "whether anything listens where the agent server does: `gone`, or `back`",
        from: Role::AgentServer,
        to: Role::Proxy,
        words: Words::Named(&[
            word("gone", ProxyAct::AgentGone, &[]),
            word("back", ProxyAct::AgentBack, &[]),
        ]),
    },
];
