use super::*;
use crate::rules::{Catalogue, Iut};

/// What was broken where, by ids that the catalogue has.
fn told(out: &[Violation]) -> Vec<(u64, &'static str)> {
    let id = |it: &Violation| {
        let id = it.requirement.as_str();
        assert!(RequirementId::new(id).is_some(), "{id}");
        (it.seq, id)
    };
    out.iter().map(id).collect()
}

const TEXT: &str = r#"{"type":"assistant_text_content","text":"yo"}"#;
const USAGE: &str = r#"{"type":"usage","completion_tokens":1,"prompt_tokens":2,"total_tokens":3}"#;
const FATAL: &str = r#"{"type":"notification","is_fatal":true,"message":null}"#;
const WARNING: &str = r#"{"type":"notification","is_fatal":false,"message":"x"}"#;
const HI: &str = r#"{"type":"user_text_content","key":"k","text":"hi"}"#;
const IMAGE: &str = r#"{"type":"user_image_content","key":"k","data":"AA","mimeType":"i/p"}"#;
const OTHER: &str = r#"{"type":"user_text_content","key":"o","text":"other"}"#;
const CALL: &str = r#"{"type":"assistant_tool_call","id":"c","name":"n","arguments":"{}"}"#;
const RESPONSE: &str = r#"{"type":"tool_response","id":"c","content":[]}"#;

/// What happens in a conversation of the scope revision, whose loops start on `hi` with an image, and on `other`.
#[derive(Clone, Copy)]
enum Step<'a> {
    /// A loop begins.
    Begin,
    /// A loop begins on another message.
    BeginOther,
    /// An event.
    Says(&'a str),
    /// A message with these blocks joins under the key `j`.
    Joins(&'a str),
    /// The message of that number is answered.
    Told(usize, Fate),
    End,
    Cut,
}

use Step::{Begin, BeginOther, Cut, End, Joins, Says, Told};

fn message(key: &str, content: &str) -> Message {
    let ask = format!("{{\"key\":\"{key}\",\"content\":[{content}]}}");
    let ask = EnqueueAsk::decode(ask.as_bytes()).expect("a message");
    Message::new(&ask).expect("its blocks")
}

fn text(text: &str) -> String {
    format!("{{\"type\":\"text\",\"text\":\"{text}\"}}")
}

/// Plays the steps, each under its place, and tells what was broken where.
fn broken(steps: &[Step<'_>]) -> Vec<(u64, &'static str)> {
    let image = r#"{"type":"image","data":"AA","mimeType":"i/p"}"#;
    let first = [
        message("k", &format!("{},{image}", text("hi"))),
        message("o", &text("other")),
    ];
    let mut stream = ChunkStream::new(Revision::Scope);
    let mut out = Vec::new();
    let mut joined = Vec::new();
    for (seq, step) in (1..).zip(steps) {
        match step {
            Begin => stream.begin(&first),
            BeginOther => stream.begin(&[message("b", &text("b"))]),
            Says(data) => stream.event(seq, data.as_bytes(), &mut out),
            Joins(blocks) => joined.push(stream.joined(message("j", blocks))),
            Told(at, fate) => stream.fate(seq, joined[*at], *fate, &mut out),
            End => stream.end(seq, Ending::Whole, &mut out),
            Cut => stream.end(seq, Ending::CutOff, &mut out),
        }
    }
    stream.settled(steps.len() as u64 + 1, &mut out);
    told(&out)
}

/// The parts of the messages that loops start on, and then these steps and the end.
fn behind_parts<'a>(steps: &[Step<'a>]) -> Vec<Step<'a>> {
    [&[Begin, Says(HI), Says(IMAGE), Says(OTHER)], steps, &[End]].concat()
}

/// Steps, and what they break, each with its place.
type Case<'a> = (Vec<Step<'a>>, Vec<(u64, &'static str)>);

#[test]
fn each_rule_is_broken_by_itself() {
    use Fate::{Delivered, Dequeued, Missed};
    let one = |chunk| behind_parts(&[Says(chunk)]);
    let start = |chunks: &[&'static str]| {
        let mut steps = vec![Begin];
        steps.extend(chunks.iter().map(|it| Says(it)));
        steps.push(End);
        steps
    };
    let blocks = text("a") + "," + &text("b");
    let joins = |steps: &[Step<'static>]| {
        let mut all = behind_parts(&[]);
        all.pop();
        all.extend_from_slice(steps);
        all
    };
    const A: Step<'_> = Says(r#"{"type":"user_text_content","key":"j","text":"a"}"#);
    const B: Step<'_> = Says(r#"{"type":"user_text_content","key":"j","text":"b"}"#);
    let joins_two: Step<'static> = Joins(Box::leak(blocks.into_boxed_str()));
    let joins_a: Step<'static> = Joins(Box::leak(text("a").into_boxed_str()));
    let cases: Vec<Case<'_>> = vec![
        (one("[DONE]"), vec![(5, "agent.chunk.one-object")]),
        (one(""), vec![(5, "agent.chunk.one-object")]),
        (
            one(r#"{"type":"assistant_refusal","text":"a"} {"type":"usage"}"#),
            vec![(5, "agent.chunk.one-object")],
        ),
        (
            one(r#"["usage",1,2,3]"#),
            vec![(5, "agent.chunk.one-object")],
        ),
        (one(r#"{"type":"ping"}"#), vec![(5, "agent.chunk.kind")]),
        (
            one(r#"{"type":"user","prompt":"x"}"#),
            vec![(5, "agent.chunk.kind")],
        ),
        (one(r#"{"text":"x"}"#), vec![(5, "agent.chunk.kind")]),
        (
            one(r#"{"type":"assistant_text_content"}"#),
            vec![(5, "agent.chunk.members")],
        ),
        (
            start(&[USAGE, HI, IMAGE, OTHER]),
            vec![(2, "agent.parts.first")],
        ),
        (
            start(&[HI, IMAGE, TEXT, OTHER]),
            vec![(4, "agent.parts.first"), (4, "agent.parts.before-output")],
        ),
        (start(&[HI, IMAGE, TEXT]), vec![(5, "agent.parts.complete")]),
        (start(&[]), vec![(2, "agent.parts.complete")]),
        (
            start(&[HI, IMAGE, OTHER, OTHER]),
            vec![(5, "agent.parts.complete")],
        ),
        (start(&[OTHER, HI, IMAGE]), vec![(2, "agent.parts.order")]),
        (start(&[HI, OTHER]), vec![(4, "agent.parts.complete")]),
        (
            start(&[
                HI,
                r#"{"type":"user_audio_content","key":"k","data":"AA","mimeType":"i/p"}"#,
                OTHER,
            ]),
            vec![(3, "agent.parts.kind")],
        ),
        (
            start(&[
                HI,
                IMAGE,
                r#"{"type":"user_text_content","key":"k","text":"other"}"#,
            ]),
            vec![(4, "agent.parts.key")],
        ),
        (
            start(&[
                HI,
                IMAGE,
                r#"{"type":"user_text_content","key":"o","text":"othe"}"#,
            ]),
            vec![(4, "agent.parts.content")],
        ),
        (
            start(&[
                HI,
                IMAGE,
                r#"{"type":"user_text_content","key":"o","text":"other","_meta":{}}"#,
            ]),
            vec![(4, "agent.parts.content")],
        ),
        (
            [start(&[HI, IMAGE, OTHER]), vec![BeginOther, Says(HI)]].concat(),
            vec![(7, "agent.run.again")],
        ),
        (
            behind_parts(&[Says(FATAL), Says(USAGE)]),
            vec![(6, "agent.failure.last-word")],
        ),
        (
            joins(&[joins_two, Told(0, Delivered), End]),
            vec![(7, "agent.enqueue.delivered-parts")],
        ),
        (
            joins(&[joins_two, End, Told(0, Delivered)]),
            vec![(7, "agent.enqueue.delivered-parts")],
        ),
        (
            joins(&[joins_two, Told(0, Delivered)]),
            vec![(7, "agent.enqueue.delivered-parts")],
        ),
        (
            joins(&[joins_two, A, B, Told(0, Missed), End]),
            vec![(8, "agent.enqueue.delivered-parts")],
        ),
        (
            joins(&[joins_a, A, Told(0, Delivered), A, End]),
            vec![(8, "agent.enqueue.delivered-parts")],
        ),
        (
            joins(&[joins_two, A, Says(TEXT), Told(0, Delivered), End]),
            vec![(7, "agent.enqueue.parts-together")],
        ),
        (
            joins(&[joins_two, B, Told(0, Delivered), End]),
            vec![(6, "agent.enqueue.parts-together")],
        ),
        (
            joins(&[
                joins_a,
                Says(r#"{"type":"user_text_content","key":"","text":"a"}"#),
                End,
            ]),
            vec![(6, "agent.enqueue.parts-together")],
        ),
        (
            joins(&[A, End]),
            vec![(5, "agent.enqueue.parts-of-messages")],
        ),
        (
            joins(&[joins_a, Told(0, Dequeued), A, End]),
            vec![
                (7, "agent.enqueue.delivered-parts"),
                (7, "agent.dequeue.not-taken"),
            ],
        ),
        (one(RESPONSE), vec![(5, "agent.tool.response-known")]),
        (
            behind_parts(&[Says(RESPONSE), Says(CALL)]),
            vec![(5, "agent.tool.response-known")],
        ),
        (
            one(r#"{"type":"assistant_tool_call","id":"c","name":"n","arguments":"{"}"#),
            vec![(6, "agent.tool.arguments-json")],
        ),
        (
            behind_parts(&[Says(CALL), Says(CALL)]),
            vec![(7, "agent.tool.arguments-json")],
        ),
        (
            one(r#"{"type":"assistant_text_content","text":"","parent_tool_call_id":"c"}"#),
            vec![(5, "agent.tool.parent-known")],
        ),
        (
            one(r#"{"type":"usage","completion_tokens":1,"prompt_tokens":2,"total_tokens":2}"#),
            vec![(5, "agent.usage.sum")],
        ),
        (
            one(
                r#"{"type":"usage","completion_tokens":18446744073709551615,"prompt_tokens":1,"total_tokens":0}"#,
            ),
            vec![(5, "agent.usage.sum")],
        ),
    ];
    for (number, (steps, expected)) in cases.iter().enumerate() {
        assert_eq!(broken(steps), *expected, "case {number}");
    }
    let paths = ["agent.path.delivered-prompt", "agent.path.no-echo"];
    let of_chunks = |id: &str| {
        let topics = ["chunk", "parts", "tool", "usage"];
        topics
            .iter()
            .any(|topic| id.split('.').nth(1) == Some(*topic))
    };
    for requirement in Catalogue::get().requirements() {
        let id = requirement.id.as_str();
        let owed = requirement.iut == [Iut::AgentServer] && of_chunks(id) && !paths.contains(&id);
        let broken = cases
            .iter()
            .any(|(_, all)| all.iter().any(|(_, it)| *it == id));
        assert!(broken || !owed, "{id} is broken by no case");
    }
}

#[test]
fn what_is_left_open_breaks_nothing() {
    use Fate::{Delivered, Dequeued, Missed};
    let two = text("a") + "," + &text("b");
    let one = text("a");
    let a = Says(r#"{"text":"a","key":"j","type":"user_text_content","annotations":null,"x":1}"#);
    let b = Says(r#"{"type":"user_text_content","key":"j","text":"b"}"#);
    let piece = |id: &str, arguments: &str| {
        format!(
            "{{\"type\":\"assistant_tool_call\",\"id\":\"{id}\",\"name\":\"n\",\"arguments\":\"{arguments}\"}}"
        )
    };
    let (first, second) = (piece("c", "[1"), piece("c", "]"));
    let (other, bare) = (
        piece("d", ""),
        r#"{"type":"assistant_tool_call","id":"e","name":"n","arguments":null}"#,
    );
    let child = r#"{"type":"assistant_reasoning","text":"","parent_tool_call_id":"c"}"#;
    let open = r#"{"type":"notification","is_fatal":false,"message":1e999}"#;
    for steps in [
        behind_parts(&[]),
        behind_parts(&[Says(TEXT), Says(USAGE), Says(WARNING), Says(TEXT)]),
        behind_parts(&[Says(TEXT), Says(FATAL)]),
        behind_parts(&[
            Says(&first),
            Says(&other),
            Says(bare),
            Says(&second),
            Says(child),
            Says(RESPONSE),
        ]),
        behind_parts(&[
            Says(CALL),
            Says(RESPONSE),
            Says(CALL),
            Says(RESPONSE),
            Says(RESPONSE),
        ]),
        behind_parts(&[Says(&first), Says(FATAL)]),
        behind_parts(&[Says(open)]),
        [
            behind_parts(&[Says(CALL)]),
            behind_parts(&[Says(child), Says(RESPONSE)]),
        ]
        .concat(),
        behind_parts(&[Joins(&two), a, b, Told(0, Delivered)]),
        behind_parts(&[
            Joins(&two),
            Told(0, Delivered),
            Says(TEXT),
            a,
            b,
            Says(TEXT),
        ]),
        behind_parts(&[
            Joins(&one),
            Told(0, Dequeued),
            Joins(&one),
            a,
            Told(1, Delivered),
        ]),
        behind_parts(&[
            Joins(&one),
            Joins(&one),
            a,
            Told(0, Dequeued),
            Told(1, Delivered),
        ]),
        behind_parts(&[
            Joins(&one),
            Joins(&two),
            a,
            b,
            a,
            Told(0, Delivered),
            Told(1, Delivered),
        ]),
        behind_parts(&[
            Joins(&two),
            Joins(&one),
            a,
            a,
            b,
            Told(0, Delivered),
            Told(1, Delivered),
        ]),
        [behind_parts(&[Joins(&one)]), vec![Told(0, Missed)]].concat(),
        [behind_parts(&[Joins("")]), vec![Told(0, Delivered)]].concat(),
        behind_parts(&[Joins(""), Told(0, Delivered)]),
        vec![Begin, Says(HI), Cut],
        vec![
            Begin,
            Says(HI),
            Says(IMAGE),
            Says(OTHER),
            Joins(&two),
            a,
            Cut,
            Told(0, Missed),
        ],
        vec![
            Begin,
            Says(HI),
            Says(IMAGE),
            Says(OTHER),
            Joins(&two),
            Told(0, Delivered),
            Cut,
        ],
    ] {
        assert_eq!(broken(&steps), []);
    }
}

#[test]
fn numbers_in_parts_agree_by_their_value() {
    let block =
        r#"{"type":"text","text":"x","_meta":{"n":1.0,"m":[1e2]},"annotations":{"priority":1}}"#;
    let mut stream = ChunkStream::new(Revision::Scope);
    let mut out = Vec::new();
    stream.begin(&[message("k", block)]);
    let part = r#"{"type":"user_text_content","key":"k","text":"x","_meta":{"m":[100],"n":1},"annotations":{"priority":1.0}}"#;
    stream.event(1, part.as_bytes(), &mut out);
    stream.end(2, Ending::Whole, &mut out);
    assert_eq!(out, []);
}

#[test]
fn prompts_of_the_path_revision_are_told_where_they_join_and_not_where_they_start() {
    let user = br#"{"type":"user","prompt":"x","_meta":{"t":1}}"#;
    let play = |prompt: &str, joins: &[(&str, Fate)], users: usize| {
        let mut stream = ChunkStream::new(Revision::Path);
        let mut out = Vec::new();
        stream.begin(&[Message::prompt(prompt)]);
        let joined: Vec<_> = joins
            .iter()
            .map(|(prompt, fate)| (stream.joined(Message::prompt(prompt)), *fate))
            .collect();
        stream.event(1, TEXT.as_bytes(), &mut out);
        (0..users).for_each(|_| stream.event(2, user, &mut out));
        for (joined, fate) in joined {
            stream.fate(3, joined, fate, &mut out);
        }
        stream.end(4, Ending::Whole, &mut out);
        stream.settled(5, &mut out);
        told(&out)
    };
    assert_eq!(play("p", &[("x", Fate::Delivered)], 1), []);
    assert_eq!(play("x", &[("x", Fate::Delivered)], 1), []);
    assert_eq!(
        play("p", &[("x", Fate::Delivered), ("x", Fate::Missed)], 1),
        []
    );
    assert_eq!(play("x", &[], 1), [(2, "agent.path.no-echo")]);
    assert_eq!(play("p", &[], 1), [(2, "agent.enqueue.parts-of-messages")]);
    let delivered = "agent.path.delivered-prompt";
    assert_eq!(play("p", &[("x", Fate::Delivered)], 0), [(4, delivered)]);
    assert_eq!(play("p", &[("x", Fate::Delivered)], 2), [(2, delivered)]);
    assert_eq!(play("p", &[("x", Fate::Missed)], 1), [(3, delivered)]);
    let mut stream = ChunkStream::new(Revision::Path);
    let mut out = Vec::new();
    stream.begin(&[]);
    stream.event(1, HI.as_bytes(), &mut out);
    assert_eq!(out[0].requirement.as_str(), "agent.chunk.kind");
}

#[test]
fn a_message_that_was_refused_is_held_against_nobody() {
    let mut stream = ChunkStream::new(Revision::Scope);
    let mut out = Vec::new();
    stream.begin(&[]);
    let joined = stream.joined(message("j", &text("a")));
    stream.forgotten(joined);
    stream.end(1, Ending::Whole, &mut out);
    stream.settled(2, &mut out);
    assert_eq!(out, []);
}
