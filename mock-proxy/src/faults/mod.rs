//! The faults, by topic. Each breaks one requirement and leaves the rest alone.
//!
//! A fault is one entry of its topic's table: a name, the requirement that it breaks, what it does, and the interceptor,
//! built from the combinators of [`crate::fault`].

use bytes::Bytes;
use diverge_protocol::wire::{Frame, FrameType};
use serde_json::Value;

use crate::answers::{is_json, is_success};
use crate::fault::{Fault, Interceptor, Step, change_call, on_input, on_word, rewrite};
use crate::policy::{Call, Endpoint, HostId, Input, Output};
use crate::view::{Flow, Message, View};

mod begin;
mod channels;
mod connection;
mod dequeue;
mod enqueue;
mod loops;
mod path_answers;
mod paths;
mod queue;
mod requests;
mod runs;

pub(crate) use begin::begins_after_one_that_failed;

/// All faults, of both revisions.
pub fn all() -> impl Iterator<Item = &'static Fault> {
    [
        connection::FAULTS,
        requests::FAULTS,
        begin::FAULTS,
        loops::FAULTS,
        runs::FAULTS,
        enqueue::FAULTS,
        queue::FAULTS,
        dequeue::FAULTS,
        channels::FAULTS,
        paths::FAULTS,
        path_answers::FAULTS,
    ]
    .into_iter()
    .flatten()
}

/// The fault of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Fault> {
    all().find(|fault| fault.name == name)
}

/// What is done on the one connection of the scope revision, while that is open.
fn tell(view: &View, what: impl FnOnce(HostId) -> Vec<Step>) -> Vec<Step> {
    let mut open = view.hosts.iter().filter(|(_, host)| !host.ended);
    open.next().map(|(host, _)| what(*host)).unwrap_or_default()
}

fn frame(
    host: HostId,
    kind: FrameType,
    scope: u32,
    channel: u32,
    payload: impl Into<Bytes>,
) -> Step {
    let frame = Frame::new(kind, scope, channel, payload);
    Output::Send(host, frame.encode()).into()
}

/// The text of a refusal that is no JSON, out of the error that the reference makes of it.
fn refusal_in_words(error: &[u8]) -> Option<String> {
    let error: Value = serde_json::from_slice(error).ok()?;
    error["status"].as_u64()?;
    error["error"].as_str().map(str::to_owned)
}

/// Tells the text of a refusal that is no JSON as it is, in the messages that `refuses` is true of.
fn words_raw(refuses: fn(&Message<'_>) -> bool) -> Interceptor {
    rewrite(Flow::ToHost, refuses, |message| {
        match (
            message.frame.payload.first(),
            refusal_in_words(message.body()),
        ) {
            (Some(first), Some(text)) => [&[*first], text.as_bytes()].concat().into(),
            _ => message.frame.payload.clone(),
        }
    })
}

/// Does not tell of a refusal by that endpoint that is no JSON.
fn words_unanswered(endpoint: Endpoint) -> Interceptor {
    on_word(endpoint, |heard, next| {
        let silent = heard
            .answer()
            .is_some_and(|(status, body)| !is_success(status) && !is_json(body));
        if !silent {
            next.push(heard.pass());
        }
    })
}

/// Says that the bodies of the calls of that endpoint are text.
fn as_text(endpoint: Endpoint) -> Interceptor {
    change_call(endpoint, |_, call| {
        Some(Call {
            content_type: "text/plain",
            ..call.clone()
        })
    })
}

/// Whether a run is being started.
fn is_starting(view: &View) -> bool {
    let mut runs = view.calls_of(Endpoint::Run);
    runs.any(|(_, run)| !run.over && !run.streams)
}

/// Whether the events of a run come.
fn is_streaming(view: &View) -> bool {
    let mut runs = view.calls_of(Endpoint::Run);
    runs.any(|(_, run)| !run.over && run.streams)
}

/// How many turns a call may take that is given up.
const TURNS: usize = 500;

/// Gives up the call of that endpoint that has waited longest for its answer, as if it had been refused.
fn give_up(endpoint: Endpoint) -> Interceptor {
    let mut waiting = None;
    let mut turns = 0;
    on_input(move |view, input, next| {
        let mut calls = view.calls_of(endpoint);
        let oldest = calls.find(|(_, call)| !call.over && !call.streams);
        let oldest = oldest.map(|(id, _)| id);
        turns = if oldest == waiting { turns + 1 } else { 0 };
        waiting = oldest;
        if turns == TURNS
            && let Some(id) = oldest
        {
            let refusal = enqueue::refusal("{\"kind\":\"timeout\"}");
            next.push(Input::Agent(id, refusal).into());
        }
        next.push(input.into());
    })
}
