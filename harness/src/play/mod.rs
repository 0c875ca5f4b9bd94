//! Plays one scenario against an implementation: the sequencer, and for each kind of implementation its scene.

mod agent_server;
mod client;
mod describe;
mod halt;
mod patience;
mod provider;
mod proxy;
mod sequencer;

use diverge_protocol::scenario::{Action, Step};

pub(crate) use agent_server::{lacking as agent_server_lacking, play as agent_server};
pub(crate) use client::play as client;
pub use patience::Patience;
pub(crate) use provider::{Parties, chain, chain_lacking};
pub use provider::{lacking, play};
pub(crate) use proxy::play as proxy;

use crate::verdict::Outcome;

/// How a played scenario ended.
#[derive(Debug)]
pub enum Played {
    /// With a verdict.
    Judged(Box<Outcome>),
    /// The implementation cannot be reached; the text says how it was tried.
    Unreachable(String),
    /// The scenario or the harness is at fault.
    Fault(String),
}

/// A step in a few words, as the scenario file has it.
pub(crate) fn step_text(step: &Step) -> String {
    let on = step
        .args
        .on
        .as_deref()
        .map(|on| format!(" on {on}"))
        .unwrap_or_default();
    let of = step
        .args
        .run
        .as_deref()
        .map(|run| format!(" of {run}"))
        .unwrap_or_default();
    let channel = step
        .args
        .channel
        .as_deref()
        .map(|name| format!(" [{name}]"))
        .unwrap_or_default();
    match &step.action {
        Action::ClientConnects { bare: false } => format!("client connects{on}"),
        Action::ClientConnects { bare: true } => {
            format!("client connects{on} without its credential")
        }
        Action::ClientSends(message) => format!("client sends {}{channel}{of}{on}", message.name()),
        Action::ClientExpects(expectation) => {
            format!("client expects {}{channel}{of}{on}", expectation.name())
        }
        Action::ClientCloses => format!("client closes{on}"),
        Action::ClientDrops => format!("client drops{on}"),
        Action::ProxyExpects(expectation) => {
            format!("proxy expects {}{channel}{of}", expectation.name())
        }
        Action::ProxySends(message) => format!("proxy sends {}{channel}{of}", message.name()),
        Action::ProxyCloses => format!("proxy closes{of}"),
        Action::ProxyRefuses => "proxy refuses connections".to_owned(),
        Action::Act(act) => {
            let (verb, word) = act
                .verb()
                .map_or(("", None), |(verb, word)| (verb.key, word));
            let word = word.map(|word| format!(" {word}")).unwrap_or_default();
            let of_call = step
                .args
                .call
                .as_deref()
                .map(|call| format!(" [{call}]"))
                .unwrap_or_default();
            format!("{verb}{word}{of_call}{channel}{of}{on}")
        }
        Action::EitherOrder(_) => "in either order".to_owned(),
        Action::OneOf(_) => "one of".to_owned(),
        Action::AnyNumberOf(_) => "any number of".to_owned(),
        Action::Repeat(times, _) => format!("{times} times"),
        Action::NotApplicable(_) => "not applicable".to_owned(),
    }
}
