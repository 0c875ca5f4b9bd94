//! Codecs that are wrong about one thing each, in the way that a hurried port is.

mod answers;
mod chunks;
mod frames;
mod json;
mod objects;
mod revisions;
mod types;

use diverge_protocol::wire::Malformed;

use super::{Form, Manner, Payload};
use crate::mutants::Duty;

type Takes = fn(&Payload<'_>, &Malformed) -> bool;

/// A codec that accepts what is malformed in one way.
fn takes(name: &'static str, requirement: &'static str, about: &'static str, takes: Takes) -> Form {
    fault(name, requirement, about, Manner::Takes(takes))
}

/// A codec that rejects what is well formed in one way.
fn refuses(
    name: &'static str,
    requirement: &'static str,
    about: &'static str,
    refuses: fn(&Payload<'_>) -> bool,
) -> Form {
    fault(name, requirement, about, Manner::Refuses(refuses))
}

fn fault(
    name: &'static str,
    requirement: &'static str,
    about: &'static str,
    manner: Manner,
) -> Form {
    Form {
        name,
        about,
        duty: Duty::Caught(requirement),
        manner,
    }
}

/// The fault's pointer ends so.
fn at(fault: &Malformed, end: &str) -> bool {
    fault.pointer.ends_with(end)
}

/// The same payload with other bytes is well formed.
fn fine_as(payload: &Payload<'_>, bytes: &[u8]) -> bool {
    payload.surface.judge(bytes).is_ok()
}

/// The same payload with other JSON is well formed.
fn fine_with(payload: &Payload<'_>, json: &str) -> bool {
    let first = &payload.bytes[..payload.bytes.len() - payload.json().len()];
    fine_as(payload, &[first, json.as_bytes()].concat())
}

/// The number at the fault's place, as a double.
fn number(payload: &Payload<'_>, fault: &Malformed) -> Option<f64> {
    let text = std::str::from_utf8(payload.bytes.get(fault.offset?..)?).ok()?;
    let end = text.find([',', '}', ']', ' ']).unwrap_or(text.len());
    text[..end].parse().ok()
}

/// Whether the JSON is of that kind, by its first character.
fn starts_with(payload: &Payload<'_>, first: &[char]) -> bool {
    payload.text().trim_start().starts_with(first)
}

const VOLUMES: std::ops::RangeInclusive<u8> = 1..=5;

pub(super) fn all() -> Vec<Form> {
    [
        frames::all,
        json::all,
        objects::all,
        types::all,
        chunks::all,
        revisions::all,
        answers::all,
    ]
    .into_iter()
    .flat_map(|topic| topic())
    .collect()
}
