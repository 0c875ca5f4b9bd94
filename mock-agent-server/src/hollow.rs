//! Hollow agent servers: peers that implement nothing, and must pass nothing.

use diverge_protocol::wire::agent_server::Endpoint;

use crate::call::{Answer, Asked, CallId, Head};
use crate::policy::{AgentServer, Input, Output};

/// What happens to a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// Its calls are taken.
    Open,
    /// It is accepted and ended.
    HangUp,
    /// It is refused.
    Shut,
}

/// A named hollow agent server.
#[derive(Debug, Clone, Copy)]
pub struct Hollow {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
    /// What it does with a connection.
    pub door: Door,
    called: Act,
}

/// What is done with a call.
type Act = fn(CallId, &Asked, &mut Vec<Output>);

const NOTHING: Act = |_, _, _| {};

const HOLLOW: &[Hollow] = &[
    Hollow {
        name: "refuse",
        about: "accepts no connection",
        door: Door::Shut,
        called: NOTHING,
    },
    Hollow {
        name: "hang-up",
        about: "accepts connections and ends them",
        door: Door::HangUp,
        called: NOTHING,
    },
    hollow(
        "hang-up-after-request",
        "ends the connection of every call",
        |call, _, out| out.push(Output::Cut(call)),
    ),
    hollow(
        "hang-up-after-head",
        "begins an event stream for everything, and cuts it off",
        |call, _, out| {
            out.extend([Output::Stream(call, Head::default()), Output::Cut(call)]);
        },
    ),
    hollow(
        "hang-up-after-registration",
        "takes any registration, and ends the connection of every other call",
        |call, asked, out| {
            out.push(match asked.endpoint() {
                Some(Endpoint::Register) => Output::Answer(call, Answer::json(200, "{}")),
                _ => Output::Cut(call),
            });
        },
    ),
    hollow("mute", "takes every call and answers none", NOTHING),
    hollow(
        "empty",
        "answers everything with 200 and no body",
        |call, _, out| out.push(Output::Answer(call, Answer::empty(200))),
    ),
    hollow(
        "no-content",
        "answers everything with 204",
        |call, _, out| out.push(Output::Answer(call, Answer::empty(204))),
    ),
    hollow(
        "object",
        "answers everything with 200 and an empty object",
        |call, _, out| out.push(Output::Answer(call, Answer::json(200, "{}"))),
    ),
    hollow(
        "stream",
        "answers everything with an event stream without events",
        |call, _, out| {
            out.extend([Output::Stream(call, Head::default()), Output::End(call)]);
        },
    ),
    hollow(
        "open-stream",
        "answers everything with an event stream that says nothing and does not end",
        |call, _, out| out.push(Output::Stream(call, Head::default())),
    ),
    hollow(
        "missed",
        "answers everything with the fate of a missed message",
        |call, _, out| {
            out.push(Output::Answer(
                call,
                Answer::json(200, "{\"type\":\"missed\"}"),
            ));
        },
    ),
    hollow("echo", "sends every body back", |call, asked, out| {
        out.push(Output::Answer(call, Answer::json(200, asked.body.clone())));
    }),
    hollow(
        "error",
        "answers everything with a failure of its own",
        |call, _, out| {
            out.push(Output::Answer(
                call,
                Answer::json(500, "{\"kind\":\"internal\"}"),
            ));
        },
    ),
    hollow("refusal", "refuses everything", |call, _, out| {
        out.push(Output::Answer(
            call,
            Answer::json(409, "{\"kind\":\"registered\"}"),
        ));
    }),
    hollow(
        "flood",
        "answers everything with events without end",
        |call, _, out| {
            out.push(Output::Stream(call, Head::default()));
            let event = "data: {\"type\":\"assistant_text_content\",\"text\":\"more\"}\n\n";
            out.push(Output::Flood(call, event.into()));
        },
    ),
];

const fn hollow(name: &'static str, about: &'static str, called: Act) -> Hollow {
    Hollow {
        name,
        about,
        door: Door::Open,
        called,
    }
}

/// All hollow agent servers.
pub fn all() -> impl Iterator<Item = &'static Hollow> {
    HOLLOW.iter()
}

/// The hollow agent server of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Hollow> {
    all().find(|hollow| hollow.name == name)
}

impl AgentServer for Hollow {
    fn on(&mut self, input: Input, out: &mut Vec<Output>) {
        if let Input::Called(call, asked) = input {
            (self.called)(call, &asked, out);
        }
    }
}
