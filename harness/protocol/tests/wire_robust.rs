//! No bytes make a decoder panic, and no error tells what was in them.

mod wire_samples;

use bytes::Bytes;
use diverge_protocol::wire::agent_event::{self, AgentEvent, EventRevision};
use diverge_protocol::wire::begin::BeginResponse;
use diverge_protocol::wire::channel::{ChannelAsk, DequeueAnswer, EnqueueAnswer, SchemaAnswer};
use diverge_protocol::wire::chunk::{self, Chunk};
use diverge_protocol::wire::path_run::{PathChunk, PathRunRequest, PathRunResponse};
use diverge_protocol::wire::profile::ClientChannel;
use diverge_protocol::wire::request::{BeginRequest, RunRequest};
use diverge_protocol::wire::run::RunResponse;
use diverge_protocol::wire::{Frame, FrameType, Malformed, Profile, Rule, read_credential};
use proptest::prelude::*;
use wire_samples::CHUNKS;

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

/// JSON text around a marker, in the place of names, of strings and of raw text.
fn marked() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("-1.5".to_owned()),
        Just("true".to_owned()),
        Just(format!("\"{MARKER}\"")),
        Just(format!("\"\\u0041{MARKER}\"")),
        Just(MARKER.to_owned()),
        Just("\"usage\"".to_owned()),
    ];
    let name = prop_oneof![
        Just(MARKER),
        Just("type"),
        Just("id"),
        Just("name"),
        Just("mode"),
        Just("key"),
        Just("text"),
        Just("message"),
        Just("arguments"),
        Just("image"),
        Just("memory"),
        Just("content"),
        Just("_meta"),
    ];
    leaf.prop_recursive(4, 24, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4)
                .prop_map(|elements| format!("[{}]", elements.join(","))),
            prop::collection::vec((name.clone(), inner), 0..6).prop_map(|members| {
                let members: Vec<_> = members
                    .iter()
                    .map(|(name, value)| format!("\"{name}\":{value}"))
                    .collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
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
    fn any_bytes_are_judged(payload in prop::collection::vec(any::<u8>(), 0..80)) {
        verdicts(&payload);
    }

    #[test]
    fn any_text_that_looks_like_json_is_judged(text in r#"[\x00-\x09]?[\[\]{}":,0-9eE+\-. \\utfnsr\u{feff}é]{0,60}"#) {
        verdicts(text.as_bytes());
    }

    #[test]
    fn any_cut_or_changed_sample_is_judged(
        (_, json) in prop::sample::select(CHUNKS),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        cut in any::<bool>(),
    ) {
        let mut bytes = json.as_bytes().to_vec();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if cut {
            bytes.truncate(at);
        }
        verdicts(&bytes);
        bytes.insert(0, 7);
        verdicts(&bytes);
    }

    #[test]
    fn no_error_tells_what_was_in_the_payload(json in marked(), byte in prop::option::of(0u8..10)) {
        let payload: Vec<u8> = byte.into_iter().chain(json.bytes()).collect();
        tells_nothing(&payload)?;
    }

    #[test]
    fn what_is_judged_well_formed_is_read(json in marked()) {
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
