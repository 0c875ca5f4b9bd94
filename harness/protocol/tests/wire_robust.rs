//! No bytes make a decoder panic, and no error tells what was in them.

use bytes::Bytes;
use diverge_protocol::wire::agent_event::{self, AgentEvent, EventRevision};
use diverge_protocol::wire::begin::BeginResponse;
use diverge_protocol::wire::channel::{ChannelAsk, DequeueAnswer, EnqueueAnswer, SchemaAnswer};
use diverge_protocol::wire::chunk::{self, Chunk};
use diverge_protocol::wire::path_run::{PathChunk, PathRunRequest, PathRunResponse};
use diverge_protocol::wire::profile::ClientChannel;
use diverge_protocol::wire::request::{BeginRequest, RunRequest};
use diverge_protocol::wire::run::RunResponse;
use diverge_protocol::wire::surface::Surface;
use diverge_protocol::wire::{Frame, FrameType, Malformed, Profile, Rule, read_credential};
use diverge_strategies::{self as strategies, planted};
use proptest::prelude::*;
use proptest::strategy::Union;

/// Every decoder's verdict on a payload.
fn verdicts(payload: &[u8]) -> Vec<Result<(), Malformed>> {
    let profile = Profile::scope();
    let frame = Bytes::copy_from_slice(payload);
    let mut all = vec![
        Frame::decode_strict(frame).map(drop),
        read_credential(payload).map(drop),
        RunResponse::decode(payload).map(drop),
        BeginResponse::decode(profile, payload).map(drop),
        RunRequest::decode(profile, payload).map(drop),
        BeginRequest::decode(profile, payload).map(drop),
        EnqueueAnswer::decode(profile, payload).map(drop),
        DequeueAnswer::decode(profile, payload).map(drop),
        SchemaAnswer::decode(profile, payload).map(drop),
        Chunk::decode(payload).map(drop),
        PathChunk::decode(payload).map(drop),
        PathRunRequest::decode(payload).map(drop),
        PathRunResponse::decode(payload).map(drop),
        AgentEvent::decode(EventRevision::Compaction, payload).map(drop),
        agent_event::judge(EventRevision::Document, payload).map(drop),
    ];
    all.extend(
        ClientChannel::ALL
            .iter()
            .map(|kind| ChannelAsk::decode(*kind, payload).map(drop)),
    );
    all
}

const MARKER: &str = "hunter2";

fn tells_nothing(payload: &[u8]) -> Result<(), TestCaseError> {
    for fault in verdicts(payload).into_iter().filter_map(Result::err) {
        let told = format!("{fault} {fault:?}");
        prop_assert!(!told.contains(MARKER), "{told}");
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_bytes_are_judged(
        payload in Union::new(Surface::ALL.iter().map(|surface| strategies::bytes(*surface))),
    ) {
        verdicts(&payload);
    }

    #[test]
    fn no_error_tells_what_was_in_the_payload(json in planted(MARKER), byte in prop::option::of(0u8..10)) {
        let payload: Vec<u8> = byte.into_iter().chain(json.bytes()).collect();
        tells_nothing(&payload)?;
    }

    #[test]
    fn what_is_judged_well_formed_is_read(json in planted(MARKER)) {
        if chunk::judge(json.as_bytes()).is_ok() {
            prop_assert!(Chunk::decode(json.as_bytes()).is_ok(), "{json}");
        }
    }
}

#[test]
fn an_unknown_member_is_told_by_no_name() {
    for json in [
        format!(r#"{{"name":"v","{MARKER}":1}}"#),
        format!(r#"{{"name":"v","{MARKER}":{{"#),
        format!(r#"{{"{MARKER}":"\x""#),
        format!("\"{MARKER}\""),
        format!("{{\"name\":\"{MARKER}\u{1}\"}}"),
    ] {
        for byte in 0..10 {
            tells_nothing(&[&[byte], json.as_bytes()].concat()).expect("nothing is told");
        }
    }
}

#[test]
fn debugging_output_shows_no_payload() {
    let profile = Profile::scope();
    let values = format!(r#"{{"a":"{MARKER}"}}"#);
    let inactive = [&[9], values.as_bytes()].concat();
    let begun = [&[4], values.as_bytes()].concat();
    let frame = Frame::new(FrameType::Response, 1, 0, inactive.clone());
    for told in [
        format!("{frame:?}"),
        format!("{:?}", RunResponse::decode(&inactive)),
        format!("{:?}", BeginResponse::decode(profile, &begun)),
        format!(
            "{:?}",
            ChannelAsk::decode(ClientChannel::Secrets, values.as_bytes())
        ),
    ] {
        assert!(told.contains("bytes") && !told.contains(MARKER), "{told}");
    }
}

#[test]
fn every_rule_has_a_name_of_its_own() {
    let names: std::collections::HashSet<_> = Rule::ALL.iter().map(|rule| rule.as_str()).collect();
    assert_eq!(names.len(), Rule::ALL.len());
}
