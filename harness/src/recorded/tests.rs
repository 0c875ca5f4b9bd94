use diverge_protocol::wire::frame::FrameType;
use diverge_protocol::wire::surface::Surface;
use diverge_protocol::wire::{Frame, credential_payload};
use diverge_strategies as strategies;
use proptest::prelude::*;

use super::*;
use crate::report::written;

const ARGUMENTS: &str = r#"{"prompt":"planted-secret"}"#;

fn frame(kind: FrameType, payload: Vec<u8>) -> Bytes {
    Frame::new(kind, 1, 0, payload).encode()
}

/// One message of a conversation: on the proxy's link or the client's, and what a payload it has.
fn message() -> impl Strategy<Value = (bool, FrameType, Vec<u8>)> {
    let kind = prop_oneof![
        8 => Just(FrameType::Response),
        1 => Just(FrameType::ResponseFinish),
        1 => prop::sample::select(FrameType::ALL),
    ];
    let values = r#"{"K":"planted-secret","N":1234567}"#;
    let said = prop_oneof![
        3 => strategies::valid(Surface::BeginResponse).prop_map(|valid| valid.bytes()),
        1 => strategies::bytes(Surface::RunResponse),
        2 => Just([b"\x04", values.as_bytes()].concat()),
        1 => Just(b"\x02{\"type\":\"notification\",\"is_fatal\":false,\"message\":\"planted-secret\"}".to_vec()),
        2 => Just(vec![3]),
    ];
    (any::<bool>(), kind, said)
}

/// A run that begins, and then any messages, each perhaps relayed.
fn conversation(messages: &[(bool, FrameType, Vec<u8>)], relays: &[bool]) -> Transcript {
    let mut transcript = Transcript::default();
    let client = transcript.open(LinkKind::Client, "client", None);
    let run = RunRef {
        link: client,
        scope: 1,
        generation: 0,
    };
    let begin = transcript.open(LinkKind::Begin, "proxy of run", Some(run));
    let mut say = |link, sender, bytes| {
        transcript.record(Duration::from_micros(7), link, sender, What::Binary(bytes));
    };
    let request = format!(
        "\0{{\"image\":{{\"name\":\"n\",\"digest\":\"sha256:00\"}},\"memory\":1234567,\"disk\":1,\"arguments\":{ARGUMENTS}}}"
    );
    let asked = format!("\0{{\"arguments\":{ARGUMENTS}}}");
    say(
        client,
        Role::Client,
        frame(
            FrameType::Authorization,
            credential_payload("planted-secret"),
        ),
    );
    say(
        client,
        Role::Client,
        frame(FrameType::Request, request.into_bytes()),
    );
    say(
        begin,
        Role::Provider,
        frame(FrameType::Request, asked.into_bytes()),
    );
    say(
        begin,
        Role::Proxy,
        frame(FrameType::Response, b"\0[]".to_vec()),
    );
    let id = br#"{"id":"6f1b0c52-62c2-4b7e-9a59-0d1f4b8f6a10"}"#;
    say(
        client,
        Role::Provider,
        frame(FrameType::Response, [b"\0", &id[..]].concat()),
    );
    let mut relays = relays.iter().cycle();
    for (proxys, kind, payload) in messages {
        if !*proxys {
            say(client, Role::Provider, frame(*kind, payload.clone()));
            continue;
        }
        say(begin, Role::Proxy, frame(*kind, payload.clone()));
        if let (Some(true), [2..=4, body @ ..]) = (relays.next(), payload.as_slice()) {
            let relayed = [&[payload[0] + 5], body].concat();
            say(client, Role::Provider, frame(*kind, relayed));
        }
    }
    transcript.record(Duration::ZERO, client, Role::Provider, What::Closed);
    transcript
}

/// What the checkers find, but for where within secrets two texts differ, which what stands in for them cannot tell.
fn found(transcript: &Transcript) -> Vec<(String, u64, String)> {
    let whole = |wrong: Violation| {
        (
            wrong.requirement.to_string(),
            wrong.seq,
            wrong.allowed.to_string(),
        )
    };
    let wrong = Judged::Provider.judge(transcript);
    wrong.into_iter().map(whole).collect()
}

fn read(text: &[u8]) -> Result<Recorded, RecordedError> {
    let mut input = BufReader::new(text);
    let mut first = Vec::new();
    next_line(&mut input, LONGEST, &mut first)?;
    Recorded::read(&first, 1, &mut input)
}

proptest! {
    #[test]
    fn a_recorded_transcript_is_judged_as_it_was_live(
        messages in prop::collection::vec(message(), 0..8),
        relays in prop::collection::vec(any::<bool>(), 1..8),
    ) {
        let live = conversation(&messages, &relays);
        let text = written(&live);
        let told = String::from_utf8(text.clone()).expect("text");
        prop_assert!(!told.contains("planted-secret"), "{told}");
        let recorded = read(&text).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(recorded.transcript.events.len(), live.events.len());
        for (read, was) in recorded.transcript.events.iter().zip(&live.events) {
            prop_assert_eq!((read.seq, read.at, read.link, read.sender), (was.seq, was.at, was.link, was.sender));
            let length = |what: &What| match what {
                What::Binary(bytes) => Some(bytes.len()),
                _ => None,
            };
            prop_assert_eq!(length(&read.what), length(&was.what));
        }
        prop_assert_eq!(found(&recorded.transcript), found(&live));
    }

    #[test]
    fn equal_secrets_have_equal_stand_ins_and_others_have_others(
        json in prop::option::of(prop::sample::select(&["object", "array", "string", "number", "boolean", "null"][..])),
        length in 6..40usize,
    ) {
        let mut made = Vec::new();
        for index in 0..20 {
            let text = stand_in(json, length, index).expect("a kind");
            prop_assert_eq!(text.len(), length);
            let value: Result<serde_json::Value, _> = serde_json::from_slice(&text);
            prop_assert_eq!(value.is_ok(), json.is_some());
            // A word leaves room for few.
            if !["boolean", "null"].contains(&json.unwrap_or_default()) {
                prop_assert!(!made.contains(&text));
            }
            made.push(text);
        }
    }

    #[test]
    fn no_text_makes_reading_panic(
        lines in prop::collection::vec(r#"\{("link":[01])?(,"seq":[01],"time_us":1)?(,"kind":"(client|begin|x)","name":"n")?(,"sender":"proxy")?(,"what":"(text|binary|closed)")?(,"raw":("00"|"0"|\[\{"length":3,"digest":"a"\}\]|7))?\}"#, 0..5),
    ) {
        // The lines tell what is wrong with them by their numbers.
        if let Err(error) = read(lines.join("\n").as_bytes()) {
            prop_assert!(error.to_string().starts_with("line "), "{error}");
        }
    }
}

#[test]
fn a_line_at_fault_is_told_by_its_number_and_what_was_expected() {
    let link = r#"{"link":0,"kind":"client","name":"client"}"#;
    for (lines, told) in [
        (
            r#"{"link":0,"kind":"pipe","name":"n"}"#.to_owned(),
            "line 1: no `kind` of link",
        ),
        (
            r#"{"link":1,"kind":"client","name":"n"}"#.to_owned(),
            "line 1: link 1 where link 0",
        ),
        (
            r#"{"seq":0,"time_us":1,"link":0,"sender":"client","what":"closed"}"#.to_owned(),
            "line 1: an event of link 0, which no line before it tells of",
        ),
        (
            format!(
                "{link}\n\n{}",
                r#"{"seq":1,"time_us":1,"link":0,"sender":"client","what":"closed"}"#
            ),
            "line 3: event 1 where event 0",
        ),
        (
            format!(
                "{link}\n{}",
                r#"{"seq":0,"time_us":1,"link":0,"sender":"nobody","what":"closed"}"#
            ),
            "line 2: no `sender`",
        ),
        (
            format!(
                "{link}\n{}",
                r#"{"seq":0,"time_us":1,"link":0,"sender":"client","what":"binary","raw":"0g"}"#
            ),
            "line 2: no hex digit",
        ),
        (
            format!(
                "{link}\n{}",
                r#"{"seq":0,"time_us":1,"link":0,"sender":"client","what":"binary","raw":[7]}"#
            ),
            "line 2: no line of a transcript: `raw` is hex",
        ),
        (
            format!("{link}\nnonsense"),
            "line 2: no line of a transcript",
        ),
    ] {
        let error = read(lines.as_bytes()).expect_err(told).to_string();
        assert!(error.starts_with(told), "{error}");
    }
}
