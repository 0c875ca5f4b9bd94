//! A conversation for the rule checkers: one run of many loops, each relaying a stream of chunks.

use std::time::Duration;

use diverge_protocol::rules::{Checkers, Violation};
use diverge_protocol::transcript::{LinkKind, Role, RunRef, Transcript, What};
use diverge_protocol::wire::{Frame, FrameType, Profile, credential_payload};

const ARGUMENTS: &str = r#"{"task":"bench"}"#;
const RUN: u32 = 1;
const BEGIN: u32 = 40;

/// A run of that many loops, with every chunk relayed in each of them, and its stop.
pub fn conversation(loops: usize, chunks: &[String]) -> Transcript {
    let mut talk = Transcript::default();
    let client = talk.open(LinkKind::Client, "client", None);
    let opened = |talk: &mut Transcript, link, sender| {
        talk.record(
            Duration::ZERO,
            link,
            sender,
            What::Opened { subprotocol: None },
        );
    };
    let frame = |talk: &mut Transcript, link, sender, kind, (scope, channel), payload: Vec<u8>| {
        let frame = Frame::new(kind, scope, channel, payload);
        talk.record(Duration::ZERO, link, sender, What::Binary(frame.encode()));
    };
    opened(&mut talk, client, Role::Client);
    frame(
        &mut talk,
        client,
        Role::Client,
        FrameType::Authorization,
        (0, 0),
        credential_payload("tok"),
    );
    let request = format!(
        r#"{{"image":{{"name":"acme/echo","digest":"sha256:00112233445566778899aabbccddeeff"}},"memory":1,"disk":1,"arguments":{ARGUMENTS}}}"#
    );
    frame(
        &mut talk,
        client,
        Role::Client,
        FrameType::Request,
        (RUN, 0),
        word(0, &request),
    );
    let run = RunRef {
        link: client,
        scope: RUN,
        generation: 0,
    };
    let proxy = talk.open(LinkKind::Begin, "begin", Some(run));
    opened(&mut talk, proxy, Role::Provider);
    let begin = format!(r#"{{"arguments":{ARGUMENTS}}}"#);
    frame(
        &mut talk,
        proxy,
        Role::Provider,
        FrameType::Request,
        (BEGIN, 0),
        word(0, &begin),
    );
    let relayed = |talk: &mut Transcript, begin: u8, run: u8, body: &str, received: &str| {
        let said = word(begin, body);
        frame(
            talk,
            proxy,
            Role::Proxy,
            FrameType::Response,
            (BEGIN, 0),
            said,
        );
        frame(
            talk,
            client,
            Role::Provider,
            FrameType::Response,
            (RUN, 0),
            word(run, received),
        );
    };
    relayed(
        &mut talk,
        0,
        0,
        "[]",
        r#"{"id":"6f1b0c52-62c2-4b7e-9a59-0d1f4b8f6a10"}"#,
    );
    for _ in 0..loops {
        relayed(&mut talk, 3, 8, "", "");
        for chunk in chunks {
            relayed(&mut talk, 2, 7, chunk, chunk);
        }
        relayed(&mut talk, 4, 9, "{}", "{}");
    }
    frame(
        &mut talk,
        client,
        Role::Client,
        FrameType::ChannelRequest,
        (RUN, 9),
        vec![0],
    );
    frame(
        &mut talk,
        client,
        Role::Provider,
        FrameType::ResponseFinish,
        (RUN, 0),
        Vec::new(),
    );
    talk
}

fn word(first: u8, body: &str) -> Vec<u8> {
    [&[first], body.as_bytes()].concat()
}

/// What the conversation breaks.
pub fn judged(talk: &Transcript) -> Vec<Violation> {
    let mut checkers = Checkers::new(Profile::scope());
    let mut out = Vec::new();
    for link in &talk.links {
        checkers.link(link);
    }
    for event in &talk.events {
        checkers.event(event, &mut out);
    }
    checkers.end(&mut out);
    out
}
