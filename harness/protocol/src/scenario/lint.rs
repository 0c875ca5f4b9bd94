//! Proves that malformed probes are one mutation away from a well-formed message.
//!
//! A message that the implementation must find unreadable must be readable without its mutation and unreadable with
//! it; a mutated message that must be served must be readable both times. Otherwise the scenario tests something else
//! than it says.

use super::acts::{Act, ClientAct};
use super::error::{Mistake, MistakeKind};
use super::model::{Action, ClientExpectation, ClientMessage, Scenario, Step};
use super::{defaults, replace};
use crate::wire::Malformed;
use crate::wire::channel::ChannelAsk;
use crate::wire::mutate::{Mutation, mutate};
use crate::wire::profile::ClientChannel;
use crate::wire::request::RunRequest;
use crate::wire::run::{RunKind, RunResponse};

/// The probes of `scenario` that prove nothing.
#[must_use]
pub fn unsound_probes(scenario: &Scenario) -> Vec<Mistake> {
    let mut mistakes = Vec::new();
    scenario.each_step(&mut |step| {
        if let Err(why) = check(scenario, step) {
            mistakes.push(Mistake {
                at: step.at.clone(),
                kind: MistakeKind::UnsoundProbe(why),
            });
        }
    });
    mistakes
}

/// Says whether a message's JSON is readable.
type Judge = fn(&str) -> Result<(), Malformed>;

fn check(scenario: &Scenario, step: &Step) -> Result<(), String> {
    if let (Some(mutation), Action::Act(Act::Client(ClientAct::Response(kind)))) =
        (&step.args.mutate, &step.action)
    {
        return check_response(step, *kind, mutation);
    }
    let (Some(mutation), Action::ClientSends(message)) = (&step.args.mutate, &step.action) else {
        return Ok(());
    };
    let (base, decode): (String, Judge) = match message {
        ClientMessage::Run => (defaults::run_request(&step.args, defaults::IMAGE), |text| {
            RunRequest::decode_json(text.as_bytes()).map(drop)
        }),
        ClientMessage::Enqueue => (body(step, defaults::ENQUEUE), |text| {
            ChannelAsk::decode(ClientChannel::Enqueue, text.as_bytes()).map(drop)
        }),
        ClientMessage::Dequeue => (body(step, defaults::DEQUEUE), |text| {
            ChannelAsk::decode(ClientChannel::Dequeue, text.as_bytes()).map(drop)
        }),
        _ => return Err("only run requests, enqueues and dequeues can be mutated".to_owned()),
    };
    let base = replace(&base, |name| {
        Some(match name {
            "json:image" => defaults::IMAGE.to_owned(),
            name if name.starts_with("mode.") => "persistent".to_owned(),
            _ => "x".to_owned(),
        })
    });
    decode(&base).map_err(|malformed| {
        format!("without its mutation it is unreadable as well: {malformed}")
    })?;
    let broken =
        mutate(&base, mutation).map_err(|error| format!("the mutation cannot be made: {error}"))?;
    match (
        decode(&broken),
        must_be_unreadable(scenario, *message, step),
    ) {
        (Ok(()), true) => Err("with its mutation it is still readable".to_owned()),
        (Err(malformed), false) => Err(format!(
            "its mutation makes it unreadable, yet it must be served: {malformed}"
        )),
        _ => Ok(()),
    }
}

/// A response that is sent to a client broken must be readable without its mutation, and unreadable with it.
fn check_response(step: &Step, kind: RunKind, mutation: &Mutation) -> Result<(), String> {
    let base = body(step, defaults::run_response(kind));
    let base = replace(&base, |_| Some("x".to_owned()));
    let decode = |json: &str| {
        let payload = [&[kind.byte()], json.as_bytes()].concat();
        RunResponse::decode(&payload).map(drop)
    };
    decode(&base).map_err(|malformed| {
        format!("without its mutation it is unreadable as well: {malformed}")
    })?;
    let broken =
        mutate(&base, mutation).map_err(|error| format!("the mutation cannot be made: {error}"))?;
    match decode(&broken) {
        Ok(()) => Err("with its mutation it is still readable".to_owned()),
        Err(_) => Ok(()),
    }
}

fn body(step: &Step, default: &str) -> String {
    step.args.json.clone().unwrap_or_else(|| default.to_owned())
}

/// Whether the scenario expects this message to be answered by a bare finish.
fn must_be_unreadable(scenario: &Scenario, message: ClientMessage, sent: &Step) -> bool {
    let wanted = match message {
        ClientMessage::Run => ClientExpectation::BareFinish,
        _ => ClientExpectation::BareChannelFinish,
    };
    let channel = |step: &Step| {
        step.args
            .channel
            .clone()
            .unwrap_or_else(|| message.name().to_owned())
    };
    let mut found = false;
    scenario.each_step(&mut |step| {
        let same = step.args.run == sent.args.run
            && (message == ClientMessage::Run
                || step.args.channel.is_none()
                || channel(step) == channel(sent));
        found |= same
            && matches!(&step.action, Action::ClientExpects(expectation) if *expectation == wanted);
    });
    found
}
