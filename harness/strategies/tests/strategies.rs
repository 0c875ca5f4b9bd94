//! Every value goes both ways, every break breaks the rule that it names, and whoever judges the same bytes agrees.

use std::time::Duration;

use bytes::Bytes;
use diverge_protocol::rules::{Checkers, EventStream, Violation};
use diverge_protocol::transcript::{LinkKind, Role, Transcript, What};
use diverge_protocol::wire::agent_event::{self, AgentEvent, EventRevision};
use diverge_protocol::wire::begin::BeginResponse;
use diverge_protocol::wire::channel::{ChannelAsk, DequeueAnswer, EnqueueAnswer, SchemaAnswer};
use diverge_protocol::wire::chunk::{self, Chunk};
use diverge_protocol::wire::merge::merged;
use diverge_protocol::wire::path_run::{self, PathChunk, PathRunRequest, PathRunResponse};
use diverge_protocol::wire::profile::ClientChannel;
use diverge_protocol::wire::request::{BeginRequest, RunRequest};
use diverge_protocol::wire::run::{RunKind, RunResponse};
use diverge_protocol::wire::surface::Surface;
use diverge_protocol::wire::{
    Frame, FrameType, Profile, credential_payload, leaves_open, read_credential,
};
use diverge_strategies::{self as strategies, Valid};
use proptest::prelude::*;
use proptest::strategy::Union;

fn of_any_surface<T: std::fmt::Debug + 'static>(
    payloads: fn(Surface) -> BoxedStrategy<T>,
) -> impl Strategy<Value = (Surface, T)> {
    let of = |surface: &Surface| (Just(*surface), payloads(*surface));
    Union::new(Surface::ALL.iter().map(of))
}

/// What the owned types say of a payload, as its bytes written again.
fn owned(surface: Surface, payload: &[u8]) -> Result<Vec<u8>, diverge_protocol::wire::Malformed> {
    let profile = Profile::scope();
    Ok(match surface {
        Surface::Frame => Frame::decode_strict(Bytes::copy_from_slice(payload))?
            .encode()
            .to_vec(),
        Surface::RunResponse => RunResponse::decode(payload)?.encode(),
        Surface::BeginResponse => BeginResponse::decode(profile, payload)?.encode(profile),
        Surface::PathRunResponse => PathRunResponse::decode(payload)?.encode(),
        Surface::PathRunRequest => PathRunRequest::decode(payload)?.encode(),
        Surface::Chunk => Chunk::decode(payload)?.encode(),
        Surface::AgentEvent => AgentEvent::decode(EventRevision::Document, payload)?.encode(),
    })
}

/// Whether what a kind says stays the bytes that it is.
fn is_raw(surface: Surface, kind: &str) -> bool {
    match surface {
        Surface::Frame => true,
        Surface::RunResponse | Surface::BeginResponse | Surface::PathRunResponse => {
            ["error", "chunk", "inactive", "begun"].contains(&kind)
        }
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn what_is_valid_is_taken_with_its_kind((surface, valid) in of_any_surface(strategies::valid)) {
        prop_assert_eq!(surface.judge(&valid.bytes()), Ok(valid.kind), "{} {}", surface, valid.payload);
    }

    #[test]
    fn a_change_breaks_the_rule_that_it_names_and_no_other((surface, broken) in of_any_surface(strategies::broken)) {
        prop_assert_eq!(surface.judge(&broken.valid.bytes()), Ok(broken.valid.kind));
        let verdict = surface.judge(&broken.bytes()).map_err(|fault| fault.rule);
        prop_assert_eq!(verdict, Err(broken.rule), "{} {}: {}", surface, broken.valid.payload, broken.change);
        let line = broken.change.to_string();
        let again = line.parse();
        prop_assert_eq!(again.as_ref(), Ok(&broken.change), "{}", line);
    }

    #[test]
    fn every_value_goes_both_ways((surface, valid) in of_any_surface(strategies::valid)) {
        let payload = valid.bytes();
        let written = owned(surface, &payload);
        let written = written.map_err(|fault| TestCaseError::fail(fault.to_string()))?;
        if is_raw(surface, valid.kind) {
            prop_assert_eq!(&written, &payload, "raw bytes stay as they are");
        }
        prop_assert_eq!(surface.judge(&written), Ok(valid.kind));
        prop_assert_eq!(owned(surface, &written), Ok(written.clone()));
    }

    #[test]
    fn the_judge_and_the_owned_types_say_the_same((surface, payload) in of_any_surface(strategies::bytes)) {
        let judged = surface.judge(&payload).map(drop);
        prop_assert_eq!(owned(surface, &payload).map(drop), judged);
    }
}

proptest! {
    #[test]
    fn requests_go_both_ways(run in strategies::run_request(), begin in strategies::begin_request()) {
        let profile = Profile::scope();
        let written = |run: &RunRequest| run.encode(profile);
        let request = RunRequest::decode(profile, &run).expect("a run request");
        let again = RunRequest::decode(profile, &written(&request)).expect("it is read again");
        prop_assert_eq!(written(&again), written(&request));
        prop_assert!(std::str::from_utf8(&run).expect("text").contains(request.arguments.get()));
        let request = BeginRequest::decode(profile, &begin).expect("a begin request");
        let written = request.encode(profile);
        let again = BeginRequest::decode(profile, &written).expect("it is read again");
        prop_assert_eq!(again.arguments.get(), request.arguments.get());
    }

    #[test]
    fn what_is_asked_on_a_channel_goes_both_ways(
        (channel, body) in Union::new(
            ClientChannel::ALL.iter().map(|channel| (Just(*channel), strategies::channel_ask(*channel))),
        ),
    ) {
        let ask = ChannelAsk::decode(channel, &body).expect("an ask");
        prop_assert_eq!(ask.kind(), channel);
        let again = ChannelAsk::decode(channel, &ask.body()).expect("it is read again");
        prop_assert_eq!(again.body(), ask.body());
    }

    #[test]
    fn answers_frames_and_credentials_go_both_ways(
        enqueue in strategies::enqueue_answer(),
        dequeue in strategies::dequeue_answer(),
        schema in strategies::schema_answer(),
        credential in strategies::credential(),
        frame in strategies::frame(),
    ) {
        let profile = Profile::scope();
        prop_assert_eq!(EnqueueAnswer::decode(profile, &enqueue).map(|it| it.encode(profile)), Ok(enqueue.clone()));
        prop_assert_eq!(DequeueAnswer::decode(profile, &dequeue).map(|it| it.encode(profile)), Ok(dequeue.clone()));
        prop_assert_eq!(SchemaAnswer::decode(profile, &schema).map(|it| it.encode(profile)), Ok(schema.clone()));
        prop_assert_eq!(read_credential(&credential).map(credential_payload), Ok(credential.clone()));
        prop_assert_eq!(Frame::decode_strict(frame.encode()), Ok(frame));
    }

    #[test]
    fn the_later_revision_has_the_events_of_the_document_and_one_more(
        later in strategies::agent_event(EventRevision::Compaction),
        document in strategies::agent_event(EventRevision::Document),
    ) {
        let judge = |revision, event: &Valid| agent_event::judge(revision, &event.bytes()).map(|kind| kind.name());
        prop_assert_eq!(judge(EventRevision::Compaction, &later), Ok(later.kind));
        prop_assert_eq!(judge(EventRevision::Compaction, &document), Ok(document.kind));
        let is_later = later.kind == "compaction_boundary";
        prop_assert_eq!(judge(EventRevision::Document, &later).is_err(), is_later);
        let event = AgentEvent::decode(EventRevision::Compaction, &later.bytes()).expect("an event");
        let again = AgentEvent::decode(EventRevision::Compaction, &event.encode()).expect("it is read again");
        prop_assert_eq!(again.encode(), event.encode());
    }

    #[test]
    fn a_path_chunk_goes_both_ways(valid in strategies::valid(Surface::PathRunResponse)) {
        if valid.kind == "chunk" {
            let raw = valid.payload.body.as_slice();
            let chunk = PathChunk::decode(raw).expect("a chunk");
            let again = PathChunk::decode(&chunk.encode()).expect("it is read again");
            prop_assert_eq!(again.encode(), chunk.encode());
            prop_assert!(path_run::judge(raw).is_ok());
        }
    }

    #[test]
    fn a_message_of_a_notification_stays_as_it_came(message in strategies::json()) {
        let raw = format!(r#"{{"type":"notification","message":{message},"is_fatal":false}}"#);
        let Ok(Chunk::Notification(said)) = Chunk::decode(raw.as_bytes()) else {
            return Err(TestCaseError::fail(raw));
        };
        prop_assert_eq!(said.message.get(), message.as_str());
    }
}

/// What the checkers say of a payload that is the first response of a run, as a tap sees it.
fn checked(payload: &[u8]) -> Vec<Violation> {
    const REQUEST: &str =
        r#"{"image":{"name":"n","digest":"sha256:00"},"memory":1,"disk":1,"arguments":null}"#;
    let mut transcript = Transcript::default();
    let link = transcript.open(LinkKind::Client, "client", None);
    let request = [&[0], REQUEST.as_bytes()].concat();
    for (sender, kind, payload) in [
        (
            Role::Client,
            FrameType::Authorization,
            credential_payload("c"),
        ),
        (Role::Client, FrameType::Request, request),
        (Role::Provider, FrameType::Response, payload.to_vec()),
    ] {
        let scope = u32::from(kind != FrameType::Authorization);
        let message = Frame::new(kind, scope, 0, payload).encode();
        transcript.record(Duration::ZERO, link, sender, What::Binary(message));
    }
    let mut checkers = Checkers::client_side(Profile::scope());
    let mut wrong = Vec::new();
    checkers.link(&transcript.links[0]);
    transcript
        .events
        .iter()
        .for_each(|event| checkers.event(event, &mut wrong));
    wrong
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn the_checkers_and_the_decoder_agree_on_what_a_provider_may_say_first(
        payload in strategies::bytes(Surface::RunResponse),
    ) {
        let relayed = [RunKind::Chunk, RunKind::Active, RunKind::Inactive].map(RunKind::byte);
        let first = payload.first().copied();
        // What is relayed cannot come first, and a malformed one is held against its author.
        prop_assume!(first.is_none_or(|first| !relayed.contains(&first)));
        let json = payload.get(1..).unwrap_or_default();
        // Nor is a byte order mark, which RFC 8259 lets a reader skip, held against a provider.
        prop_assume!(!leaves_open(json) && !json.starts_with(b"\xef\xbb\xbf"));
        let wrong = checked(&payload);
        let malformed = RunResponse::decode(&payload).is_err();
        prop_assert_eq!(!wrong.is_empty(), malformed, "{:?}", wrong);
    }

    #[test]
    fn the_checkers_and_the_decoder_agree_on_what_a_line_of_events_may_be(
        line in strategies::bytes(Surface::AgentEvent),
    ) {
        prop_assume!(!line.contains(&b'\n') && !line.trim_ascii().is_empty() && !leaves_open(&line));
        let mut stream = EventStream::new(EventRevision::Document);
        stream.line(&line, &mut Vec::new());
        let malformed = agent_event::judge(EventRevision::Document, &line).is_err();
        prop_assert_eq!((stream.events() == 0, stream.malformed() == 1), (malformed, malformed));
    }

    #[test]
    fn an_order_that_is_kept_breaks_nothing(lines in strategies::event_stream()) {
        let (wrong, stream) = judged(lines.iter().map(String::as_bytes));
        prop_assert!(wrong.is_empty(), "{:?}", wrong);
        prop_assert_eq!(stream.events(), lines.len() as u64);
    }

    #[test]
    fn events_are_judged_alike_one_by_one_and_all_at_once(
        lines in strategies::some_events(EventRevision::Document),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let (at_once, _) = judged(lines.iter().map(Vec::as_slice));
        let mut stream = EventStream::new(EventRevision::Document);
        let mut one_by_one = Vec::new();
        for line in &lines {
            let mut alone = Vec::new();
            stream.line(line, &mut alone);
            one_by_one.append(&mut alone);
        }
        stream.end(&mut one_by_one);
        prop_assert_eq!(&one_by_one, &at_once);
        // The same bytes in pieces of any size, as a pipe brings them.
        let whole = lines.join(&b'\n');
        let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(whole.len() + 1)).collect();
        ends.push(whole.len());
        ends.sort_unstable();
        let (mut stream, mut in_pieces) = (EventStream::new(EventRevision::Document), Vec::new());
        let (mut line, mut from) = (Vec::new(), 0);
        for end in ends {
            for byte in &whole[from..end] {
                match byte {
                    b'\n' => stream.line(&std::mem::take(&mut line), &mut in_pieces),
                    byte => line.push(*byte),
                }
            }
            from = end;
        }
        if !lines.is_empty() {
            stream.line(&line, &mut in_pieces);
        }
        stream.end(&mut in_pieces);
        prop_assert_eq!(in_pieces, at_once);
    }

    #[test]
    fn chunks_come_to_the_same_wherever_their_stream_is_split(
        lines in strategies::chunk_stream(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
    ) {
        let verdicts: Vec<_> = lines.iter().map(|line| chunk::judge(line.as_bytes())).collect();
        prop_assert!(verdicts.iter().all(Result::is_ok));
        let chunks: Vec<Chunk> = lines
            .iter()
            .map(|line| Chunk::decode(line.as_bytes()).expect(line))
            .collect();
        let whole = written(&merged(chunks.clone()));
        let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(chunks.len() + 1)).collect();
        ends.push(chunks.len());
        ends.sort_unstable();
        let (mut so_far, mut from) = (Vec::new(), 0);
        for end in ends {
            so_far.extend(chunks[from..end].iter().cloned());
            so_far = merged(so_far);
            from = end;
        }
        prop_assert_eq!(written(&so_far), whole);
    }
}

fn written(chunks: &[Chunk]) -> Vec<Vec<u8>> {
    chunks.iter().map(Chunk::encode).collect()
}

fn judged<'a>(lines: impl Iterator<Item = &'a [u8]>) -> (Vec<Violation>, EventStream) {
    let (mut stream, mut wrong) = (EventStream::new(EventRevision::Document), Vec::new());
    lines.for_each(|line| stream.line(line, &mut wrong));
    stream.end(&mut wrong);
    (wrong, stream)
}
