//! The words of scenarios for agent servers: the harness is the proxy, and calls.

use super::{Act, Verb, Word, Words};
use crate::transcript::Role;
use crate::wire::agent_server::Endpoint;

/// What happens in a scenario for agent servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentServerAct {
    /// The server starts, with the text as the value of its port variable.
    Port,
    /// The server starts without its port variable.
    NoPort,
    /// The proxy calls.
    Call(Endpoint),
    /// The proxy asks for a loop, and again for a while where it is refused.
    RunOnceFree,
    /// The proxy asks for the schema a few times, so that the server has taken in the calls before.
    CatchUp,
    /// The proxy drops a call, and whatever answers it.
    Drop,
    /// A call must be answered, whole.
    Answer,
    /// A call must be answered with a loop's stream.
    Stream,
    /// The next event of a stream must be this.
    NextEvent,
    /// An event like this must come on a stream, behind others or not.
    Event,
    /// A stream must come to its end, behind whatever events are still to come.
    End,
    /// A call must not be answered yet, nor its stream have ended.
    NoAnswer,
}

impl AgentServerAct {
    pub(super) fn expects(self) -> bool {
        matches!(
            self,
            Self::Answer
                | Self::Stream
                | Self::NextEvent
                | Self::Event
                | Self::End
                | Self::NoAnswer
        )
    }
}

const fn word(name: &'static str, act: AgentServerAct, fields: &'static [&'static str]) -> Word {
    Word {
        name,
        act: Act::AgentServer(act),
        fields,
    }
}

const MESSAGE: &[&str] = &["call", "message", "key", "json", "text", "hex", "mutate"];
const EVENT: &[&str] = &["call", "json", "parts"];

pub(super) const VERBS: &[Verb] = &[
    Verb {
        key: "agent server is given",
        about: "the server starts with this in PORT; a scenario that says nothing gives it a free port",
        from: Role::Proxy,
        to: Role::AgentServer,
        words: Words::Named(&[
            word("port", AgentServerAct::Port, &["text"]),
            word("no port", AgentServerAct::NoPort, &[]),
        ]),
    },
    Verb {
        key: "proxy calls",
        about: "the proxy makes this call; it has the name of the endpoint where none is given",
        from: Role::Proxy,
        to: Role::AgentServer,
        words: Words::Named(&[
            word(
                "register",
                AgentServerAct::Call(Endpoint::Register),
                &["call", "arguments", "json", "text", "hex", "mutate"],
            ),
            word("schema", AgentServerAct::Call(Endpoint::Schema), &["call"]),
            word("run", AgentServerAct::Call(Endpoint::Run), MESSAGE),
            word(
                "run once free",
                AgentServerAct::RunOnceFree,
                &["call", "message", "key"],
            ),
            word("enqueue", AgentServerAct::Call(Endpoint::Enqueue), MESSAGE),
            word(
                "dequeue",
                AgentServerAct::Call(Endpoint::Dequeue),
                &["call", "key", "json", "text", "hex", "mutate"],
            ),
            word("catch up", AgentServerAct::CatchUp, &[]),
        ]),
    },
    Verb {
        key: "proxy drops",
        about: "the proxy drops the call of this name",
        from: Role::Proxy,
        to: Role::AgentServer,
        words: Words::Link(Act::AgentServer(AgentServerAct::Drop), &[]),
    },
    Verb {
        key: "proxy expects",
        about: "a call must be answered like this",
        from: Role::AgentServer,
        to: Role::Proxy,
        words: Words::Named(&[
            word(
                "answer",
                AgentServerAct::Answer,
                &["call", "class", "status", "answer", "json", "parts"],
            ),
            word("stream", AgentServerAct::Stream, &["call"]),
            word("next event", AgentServerAct::NextEvent, EVENT),
            word("event", AgentServerAct::Event, EVENT),
            word("end", AgentServerAct::End, &["call"]),
            word("no answer yet", AgentServerAct::NoAnswer, PLAIN_CALL),
        ]),
    },
];

const PLAIN_CALL: &[&str] = &["call"];
