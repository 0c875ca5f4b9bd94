//! `decode` from outside: every frame, every form of a secret, and input that no payload should be.

use std::process::Output;

use serde_json::Value;

use super::program::fed;

/// A text that stands in secret places only.
const PLANTED: &str = "planted-secret-7f3a";

fn decode(arguments: &[&str], input: &[u8]) -> Output {
    fed(&[&["decode"], arguments].concat(), input)
}

fn hex(payload: &[u8]) -> String {
    payload.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn hex_lines(payloads: &[&[u8]]) -> Vec<u8> {
    let lines = payloads.iter().map(|payload| hex(payload) + "\n");
    lines.collect::<String>().into_bytes()
}

fn batch(frame: &str, payloads: &[&[u8]]) -> (i32, Vec<Value>) {
    let output = decode(&["--frame", frame, "--batch"], &hex_lines(payloads));
    let code = output.status.code().expect("it exits by itself");
    let lines = String::from_utf8(output.stdout).expect("UTF-8");
    let read = |line| serde_json::from_str(line).expect("every line is JSON");
    (code, lines.lines().map(read).collect())
}

fn json(first: u8, json: &str) -> Vec<u8> {
    [&[first], json.as_bytes()].concat()
}

const CHUNK: &str = r#"{"type":"usage","prompt_tokens":1,"completion_tokens":2,"total_tokens":3}"#;

/// A payload, and its kind or the rule that it breaks.
type Case = (Vec<u8>, &'static str);

/// For each frame: payloads with their kinds, and payloads with the rules that they break.
fn cases() -> Vec<(&'static str, Vec<Case>, Vec<Case>)> {
    let named = r#"{"name":"v"}"#;
    let frame = |kind: u8, payload: &[u8]| [&[kind, 0, 0, 0, 1, 0, 0, 0, 2], payload].concat();
    let event = |text: &str| text.as_bytes().to_vec();
    vec![
        (
            "frame",
            vec![
                (frame(0, b"\0x"), "authorization"),
                (frame(1, b""), "request"),
                (frame(2, b"\x08"), "response"),
                (frame(3, b""), "response-finish"),
                (frame(4, b""), "channel-request"),
                (frame(5, b""), "channel-response"),
                (frame(6, b""), "channel-response-finish"),
            ],
            vec![
                (Vec::new(), "frame.short"),
                (vec![2; 8], "frame.short"),
                (frame(7, b""), "frame.unknown-type"),
                (frame(3, b"x"), "frame.finish-with-payload"),
            ],
        ),
        (
            "run-response",
            vec![
                (json(0, r#"{"id":"a"}"#), "id"),
                (json(1, named), "volume-held"),
                (json(2, named), "volume-mounted"),
                (json(3, named), "volume-fuse-served"),
                (json(4, named), "volume-mount-unsupported"),
                (json(5, r#"{"name":"v","mode":"read_only"}"#), "volume-mode"),
                (json(6, "null"), "error"),
                (json(7, CHUNK), "chunk"),
                (json(8, "unread"), "active"),
                (json(9, "{}"), "inactive"),
            ],
            vec![
                (Vec::new(), "payload.empty"),
                (vec![10], "payload.unknown-first-byte"),
                (json(0, r#"["a"]"#), "object.expected"),
                (json(1, r#"{"name":"v","x":1}"#), "member.unknown"),
                (json(5, named), "member.missing"),
                (json(6, "1 2"), "json.trailing"),
                (json(9, "[]"), "object.expected"),
            ],
        ),
        (
            "begin-response",
            vec![
                (json(0, "[]"), "begun"),
                (json(1, "{}"), "error"),
                (json(2, CHUNK), "chunk"),
                (vec![3], "active"),
                (json(4, "{}"), "inactive"),
            ],
            vec![
                (vec![5], "payload.unknown-first-byte"),
                (json(0, ""), "json.syntax"),
                (json(4, "1"), "object.expected"),
            ],
        ),
        (
            "path-run-response",
            vec![
                (json(0, CHUNK), "chunk"),
                (json(0, r#"{"type":"user","prompt":"p"}"#), "chunk"),
                (json(1, "7"), "error"),
            ],
            vec![
                (vec![2], "payload.unknown-first-byte"),
                (
                    json(0, r#"{"type":"user_text_content"}"#),
                    "constant.expected",
                ),
                (vec![1, 0xff], "json.encoding"),
            ],
        ),
        (
            "path-run-request",
            vec![(event(r#"{"prompt":"p"}"#), "request")],
            vec![
                (Vec::new(), "json.syntax"),
                (event(r#"{"prompt":1}"#), "string.expected"),
            ],
        ),
        (
            "chunk",
            vec![(event(CHUNK), "usage")],
            vec![
                (
                    event(r#"{"type":"user","prompt":"p"}"#),
                    "constant.expected",
                ),
                (
                    event(r#"{"type":"usage","type":"usage"}"#),
                    "member.repeated",
                ),
            ],
        ),
        (
            "agent-event",
            vec![
                (
                    event(r#"{"type":"assistant_text","delta":""}"#),
                    "assistant_text",
                ),
                (event(r#"{"type":"error","message":""}"#), "error"),
            ],
            vec![
                (event(r#"{"type":"custom"}"#), "constant.expected"),
                (event(r#"["error",""]"#), "object.expected"),
            ],
        ),
    ]
}

#[test]
fn every_frame_has_its_kinds_and_its_rules() {
    for (frame, good, bad) in cases() {
        let payloads: Vec<&[u8]> = good.iter().map(|(payload, _)| payload.as_slice()).collect();
        let (code, lines) = batch(frame, &payloads);
        assert_eq!((code, lines.len()), (0, good.len()), "{frame}: {lines:?}");
        for (line, (_, kind)) in lines.iter().zip(&good) {
            assert_eq!(line["verdict"], "accept", "{frame}: {line}");
            assert_eq!(line["kind"], *kind, "{frame}: {line}");
        }
        let payloads: Vec<&[u8]> = bad.iter().map(|(payload, _)| payload.as_slice()).collect();
        let (code, lines) = batch(frame, &payloads);
        assert_eq!((code, lines.len()), (1, bad.len()), "{frame}: {lines:?}");
        for (line, (_, rule)) in lines.iter().zip(&bad) {
            assert_eq!(line["verdict"], "reject", "{frame}: {line}");
            assert_eq!(line["rule"], *rule, "{frame}: {line}");
            assert!(line["message"].is_string(), "{frame}: {line}");
        }
    }
}

#[test]
fn the_later_event_is_read_where_its_revision_is_asked_for() {
    const COMPACTED: &str = r#"{"type":"compaction_boundary","trigger":"manual","preTokens":2,"postTokens":1,"cumulativeDroppedTokens":1,"durationMs":1}"#;
    let input = hex_lines(&[COMPACTED.as_bytes()]);
    let frame = ["--frame", "agent-event", "--batch", "--events-revision"];
    for (revision, verdict) in [("document", "reject"), ("compaction", "accept")] {
        let output = decode(&[&frame[..], &[revision]].concat(), &input);
        let line: Value = serde_json::from_slice(&output.stdout).expect("a line of JSON");
        assert_eq!(line["verdict"], verdict, "{line}");
    }
}

#[test]
fn a_line_that_is_not_hex_is_told_by_its_number_and_the_rest_go_on() {
    let output = decode(
        &["--frame", "run-response", "--batch"],
        b"08\nxyz\n\n080\r\n08",
    );
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let verdicts: Vec<_> = lines.iter().map(|line| line["verdict"].as_str()).collect();
    let expected = ["accept", "error", "reject", "error", "accept"].map(Some);
    assert_eq!(verdicts, expected, "{text}");
    assert_eq!(
        (&lines[1]["line"], &lines[3]["line"]),
        (&2.into(), &4.into())
    );
    assert_eq!(lines[2]["rule"], "payload.empty");
    assert!(
        !text.contains("xyz"),
        "what is not hex is not quoted: {text}"
    );
}

#[test]
fn digits_and_spelling_stay_as_they_came() {
    let error = json(
        6,
        "{\"a\" : -0.12345678901234567890123,\n\"b\":[1.00,\"\u{2028}\"]}",
    );
    let output = decode(
        &["--frame", "run-response", "--batch"],
        &hex_lines(&[&error]),
    );
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let expected = r#"{"verdict":"accept","kind":"error","value":{"a" : -0.12345678901234567890123, "b":[1.00,"\u2028"]}}"#;
    assert_eq!(text, format!("{expected}\n"));
}

/// An inactive's values with the marker, well formed and in every way that they can be malformed.
fn planted() -> Vec<Vec<u8>> {
    let bodies = [
        format!(r#"{{"KEY":"{PLANTED}"}}"#),
        format!(r#"{{"KEY":{{"inner":["{PLANTED}"]}}}}"#),
        format!(r#"{{"KEY":"{PLANTED}","KEY":"{PLANTED}"}}"#),
        format!(r#"["{PLANTED}"]"#),
        format!(r#""{PLANTED}""#),
        PLANTED.to_owned(),
        format!(r#"{{"KEY":"{PLANTED}""#),
        format!(r#"{{"KEY":"{PLANTED}"#),
        format!(r#"{{"KEY":"{PLANTED}"}} {{"KEY":"{PLANTED}"}}"#),
        format!(r#"{{"KEY":"{PLANTED}"}}{PLANTED}"#),
        format!(r#"{{"KEY" "{PLANTED}"}}"#),
        format!(r#"{{{PLANTED}:1}}"#),
        format!(r#"{{"KEY":{PLANTED}}}"#),
        format!(r#"{{"KEY":"\q{PLANTED}"}}"#),
        format!(r#"{{"KEY":"{PLANTED}",}}"#),
        format!("{}\"{PLANTED}\"", "[".repeat(200)),
        format!("{{\"KEY\":\"{PLANTED}\n\"}}"),
        format!("\u{feff}{{\"KEY\":\"{PLANTED}\"}}"),
    ];
    let mut payloads: Vec<Vec<u8>> = bodies.into_iter().map(String::into_bytes).collect();
    payloads.push([format!(r#"{{"KEY":"{PLANTED}"#).as_bytes(), b"\xff\"}"].concat());
    payloads.push([b"\xff", PLANTED.as_bytes()].concat());
    payloads
}

#[test]
fn a_planted_secret_turns_up_in_no_output_of_any_form() {
    for (frame, first) in [("run-response", 9), ("begin-response", 4)] {
        let payloads: Vec<Vec<u8>> = planted()
            .iter()
            .map(|body| [&[first], body.as_slice()].concat())
            .collect();
        let payloads: Vec<&[u8]> = payloads.iter().map(Vec::as_slice).collect();
        // The wrong frame and a line of text are slips of the hand, and give nothing away either.
        for frame in [
            frame,
            "chunk",
            "agent-event",
            "path-run-response",
            "path-run-request",
            "frame",
        ] {
            for flags in [&["--batch"][..], &[]] {
                let mut input = hex_lines(&payloads);
                input.extend(format!("09{PLANTED}\n").bytes());
                let output = decode(&[&["--frame", frame], flags].concat(), &input);
                for text in [output.stdout, output.stderr] {
                    let text = String::from_utf8(text).expect("UTF-8");
                    let hidden =
                        !text.contains(PLANTED) && !text.contains(&hex(PLANTED.as_bytes()));
                    assert!(hidden, "{frame} {flags:?}: {text}");
                }
            }
        }
    }
}

#[test]
fn a_masked_inactive_tells_names_and_lengths_and_shows_its_values_when_asked() {
    let payload = json(9, r#"{"KEY":"hunter2","N":12345678901234567890123}"#);
    let (_, lines) = batch("run-response", &[&payload]);
    assert_eq!(lines[0]["value"]["KEY"], "‹secret, 7 bytes›");
    assert_eq!(lines[0]["value"]["N"], "‹secret, 23 bytes›");
    for flags in [&["--batch"][..], &[]] {
        let arguments = [&["--frame", "run-response", "--show-secrets"], flags].concat();
        let output = decode(&arguments, &hex_lines(&[&payload]));
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        assert!(
            text.contains("hunter2") && text.contains("12345678901234567890123"),
            "{text}"
        );
    }
}

#[test]
fn a_person_is_told_the_bytes_the_value_and_what_would_have_been_accepted() {
    let input = hex_lines(&[
        &json(5, r#"{"name":"v","mode":"read_only"}"#),
        &json(5, r#"{"name":"v"}"#),
    ]);
    let output = decode(&["--frame", "run-response"], &input);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    for part in [
        "line 1  accept  volume-mode",
        "0         the first byte, 5: volume-mode",
        "\"mode\": \"read_only\"",
        "line 2  reject  member.missing",
        "rule      A required member is not there.",
        "at        /mode",
        "allowed   this member",
    ] {
        assert!(text.contains(part), "`{part}` in\n{text}");
    }
}

#[test]
fn ten_thousand_random_lines_end_in_as_many_verdicts() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut input = Vec::new();
    for _ in 0..10_000 {
        let length = next() % 40;
        let mut payload: Vec<u8> = (0..length).map(|_| (next() >> 24) as u8).collect();
        // Half begin as a payload could, so that more than the first byte is read.
        if let (Some(first), 0) = (payload.first_mut(), next() % 2) {
            *first %= 11;
        }
        input.extend(hex(&payload).bytes());
        input.push(b'\n');
    }
    for (frame, _, _) in cases() {
        let output = decode(&["--frame", frame, "--batch"], &input);
        assert!(output.status.code().is_some_and(|code| code < 2), "{frame}");
        assert_eq!(
            output.stdout.split(|byte| *byte == b'\n').count(),
            10_001,
            "{frame}"
        );
    }
    let output = decode(&["--frame", "run-response"], &input);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn depth_and_length_end_in_a_verdict() {
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let deep_object = format!(r#"{{"type":"usage","x":{deep}}}"#);
    let long = format!("\"{}\"", "x".repeat(8 << 20));
    for (frame, payload) in [
        ("run-response", json(6, &deep)),
        ("run-response", json(9, &format!(r#"{{"a":{deep}}}"#))),
        ("run-response", json(9, &deep)),
        ("begin-response", json(0, &deep)),
        ("chunk", deep_object.clone().into_bytes()),
        ("agent-event", deep_object.into_bytes()),
        ("path-run-response", json(1, &deep)),
        ("run-response", json(6, &long)),
        ("run-response", json(9, &long)),
    ] {
        let (code, lines) = batch(frame, &[&payload]);
        assert!(code < 2 && lines.len() == 1, "{frame}");
        let output = decode(&["--frame", frame], &hex_lines(&[&payload]));
        assert_eq!(output.status.code(), Some(code), "{frame}");
        assert!(
            output.stdout.len() < 100_000,
            "what is shown to a person stays short"
        );
    }
}

#[test]
fn a_frame_that_there_is_not_exits_2() {
    assert_eq!(decode(&["--frame", "no-such"], b"").status.code(), Some(2));
    assert_eq!(decode(&["--batch"], b"").status.code(), Some(2));
}

#[test]
fn what_was_secret_in_one_line_is_masked_in_every_later_one() {
    let shown = format!(r#"{{"a":"so {PLANTED}","{PLANTED}":[12345678901234567890123, 7]}}"#);
    for secret in [
        json(
            9,
            &format!(r#"{{"K":"{PLANTED}","N":12345678901234567890123}}"#),
        ),
        json(9, &format!(r#"["{PLANTED}",12345678901234567890123"#)),
    ] {
        let payloads: [&[u8]; 3] = [
            &secret,
            &json(6, &shown),
            &json(0, &format!(r#"{{"id":"{PLANTED}"}}"#)),
        ];
        let (_, lines) = batch("run-response", &payloads);
        let mark = format!("‹secret, {} bytes›", PLANTED.len());
        assert_eq!(lines[1]["value"]["a"], format!("so {mark}"));
        assert_eq!(lines[1]["value"][&mark][0], "‹secret, 23 bytes›");
        assert_eq!(lines[1]["value"][&mark][1], 7);
        assert_eq!(lines[2]["value"]["id"], mark);
        let text = decode(&["--frame", "run-response"], &hex_lines(&payloads)).stdout;
        let text = String::from_utf8(text).expect("UTF-8");
        assert!(text.contains(&mark) && !text.contains(PLANTED), "{text}");
        let open = decode(
            &["--frame", "run-response", "--show-secrets", "--batch"],
            &hex_lines(&payloads),
        );
        let text = String::from_utf8(open.stdout).expect("UTF-8");
        assert!(text.contains(&shown), "{text}");
    }
}
