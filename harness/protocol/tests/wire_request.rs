//! Claims about requests, channels and the begin response.

use diverge_protocol::wire::begin::{BeginKind, BeginResponse};
use diverge_protocol::wire::channel::{ChannelAsk, DequeueAnswer, EnqueueAnswer, SchemaAnswer};
use diverge_protocol::wire::mutate::mutate;
use diverge_protocol::wire::profile::{BeginChannel, ClientChannel};
use diverge_protocol::wire::request::{BeginRequest, MountFault, RunRequest, mount_fault};
use diverge_protocol::wire::{Profile, Rule};

const FULL: &str = r#"{"image":{"name":"a/b","digest":"sha256:00"},"memory":268435456,"disk":1,"volume_mounts":[{"volume_name":"v","volume_relative_path":["x"],"mode":"read_only","container_path":["data"]}],"fuse_file_mounts":[{"container_path":["home","f"],"id":"1"}],"fuse_directory_mounts":[{"container_path":["home","d"],"id":"2"}],"arguments":{"n": 12345678901234567890123, "n":1.0}}"#;
const SMALL: &str = r#"{"image":{"name":"a","digest":"d"},"memory":0,"disk":18446744073709551615,"arguments":null}"#;

fn broken(json: &str, line: &str) -> String {
    mutate(json, &line.parse().expect(line)).expect(line)
}

#[test]
fn a_request_goes_through_byte_for_byte() {
    for json in [FULL, SMALL] {
        let payload = [&[0], json.as_bytes()].concat();
        let request = RunRequest::decode(Profile::scope(), &payload).expect(json);
        assert_eq!(request.encode(Profile::scope()), payload);
    }
    let request = RunRequest::decode_json(FULL.as_bytes()).expect(FULL);
    assert_eq!(
        request.arguments.get(),
        r#"{"n": 12345678901234567890123, "n":1.0}"#
    );
}

#[test]
fn empty_lists_may_be_absent_null_or_written_out() {
    for line in [
        "null-for /volume_mounts",
        "set /volume_mounts []",
        "drop /volume_mounts",
    ] {
        let request = RunRequest::decode_json(broken(FULL, line).as_bytes()).expect(line);
        assert!(request.volume_mounts.is_empty());
    }
}

#[test]
fn each_break_of_a_request_names_its_rule_and_place() {
    for (line, rule, pointer) in [
        ("drop /image", Rule::MemberMissing, "/image"),
        ("drop /image/digest", Rule::MemberMissing, "/image/digest"),
        ("array-for /image", Rule::ObjectExpected, "/image"),
        ("array-for", Rule::ObjectExpected, ""),
        ("repeat /memory", Rule::MemberRepeated, "/memory"),
        ("set /memory -1", Rule::UnsignedExpected, "/memory"),
        ("set /memory 1.5", Rule::UnsignedExpected, "/memory"),
        (
            "set /memory 18446744073709551616",
            Rule::UnsignedExpected,
            "/memory",
        ),
        ("retype /disk", Rule::UnsignedExpected, "/disk"),
        ("drop /arguments", Rule::MemberMissing, "/arguments"),
        ("null-for /image", Rule::ObjectExpected, "/image"),
        (
            "retype /volume_mounts",
            Rule::ArrayExpected,
            "/volume_mounts",
        ),
        (
            "array-for /volume_mounts/0",
            Rule::ObjectExpected,
            "/volume_mounts/0",
        ),
        (
            "object-for /volume_mounts/0/mode",
            Rule::StringExpected,
            "/volume_mounts/0/mode",
        ),
        (
            r#"set /volume_mounts/0/mode "rw""#,
            Rule::ConstantExpected,
            "/volume_mounts/0/mode",
        ),
        (
            "drop /volume_mounts/0/mode",
            Rule::MemberMissing,
            "/volume_mounts/0/mode",
        ),
        (
            "drop /volume_mounts/0/volume_relative_path",
            Rule::MemberMissing,
            "/volume_mounts/0/volume_relative_path",
        ),
        (
            "set /volume_mounts/0/container_path/0 1",
            Rule::StringExpected,
            "/volume_mounts/0/container_path/0",
        ),
        (
            "drop /fuse_file_mounts/0/id",
            Rule::MemberMissing,
            "/fuse_file_mounts/0/id",
        ),
        (
            "drop /fuse_directory_mounts/0/container_path",
            Rule::MemberMissing,
            "/fuse_directory_mounts/0/container_path",
        ),
        ("append x", Rule::JsonTrailing, ""),
        ("truncate 1", Rule::JsonSyntax, ""),
        ("prepend \u{feff}", Rule::JsonEncoding, ""),
    ] {
        let fault = RunRequest::decode_json(broken(FULL, line).as_bytes()).expect_err(line);
        assert_eq!(
            (fault.rule, fault.pointer.as_str()),
            (rule, pointer),
            "{line}"
        );
    }
    let rule = |payload: &[u8]| {
        RunRequest::decode(Profile::scope(), payload)
            .map_err(|fault| fault.rule)
            .err()
    };
    assert_eq!(rule(&[]), Some(Rule::PayloadEmpty));
    assert_eq!(rule(&[9, b'{', b'}']), Some(Rule::PayloadUnknownFirstByte));
    assert_eq!(rule(&[0, 0xff]), Some(Rule::JsonEncoding));
}

#[test]
fn each_fault_of_mounts_is_found() {
    let fault = |line: &str| {
        let json = broken(FULL, line);
        mount_fault(&RunRequest::decode_json(json.as_bytes()).expect(line))
    };
    assert_eq!(fault("set /memory 1"), None);
    assert_eq!(fault("set /volume_mounts/0/volume_relative_path []"), None);
    assert_eq!(
        fault("set /fuse_file_mounts/0/container_path []"),
        Some(MountFault::Root)
    );
    assert_eq!(
        fault(r#"set /volume_mounts/0/container_path/0 "..""#),
        Some(MountFault::Component)
    );
    assert_eq!(
        fault(r#"set /fuse_file_mounts/0/container_path/0 "a/b""#),
        Some(MountFault::Component)
    );
    assert_eq!(
        fault(r#"set /fuse_file_mounts/0/container_path/0 "a\u0000b""#),
        Some(MountFault::Component)
    );
    assert_eq!(
        fault(r#"set /volume_mounts/0/volume_relative_path/0 """#),
        Some(MountFault::Component)
    );
    assert_eq!(
        fault(r#"set /fuse_file_mounts/0/container_path ["data"]"#),
        Some(MountFault::Duplicate)
    );
    assert_eq!(
        fault(r#"set /fuse_file_mounts/0/container_path ["home"]"#),
        Some(MountFault::Nested)
    );
    assert_eq!(
        fault(r#"set /fuse_file_mounts/0/container_path ["data","x"]"#),
        Some(MountFault::Nested)
    );
    assert_eq!(
        fault(r#"set /fuse_file_mounts/0/container_path ["data2"]"#),
        None
    );
    assert_eq!(
        fault(r#"set /fuse_file_mounts/0/id "2""#),
        Some(MountFault::FuseId)
    );
}

#[test]
fn a_begin_request_carries_the_arguments_verbatim() {
    let payload = b"\0{ \"arguments\" : [ 1.0 , {} ] }";
    let request = BeginRequest::decode(Profile::scope(), payload).expect("it is well formed");
    assert_eq!(request.arguments.get(), "[ 1.0 , {} ]");
    assert_eq!(
        request.encode(Profile::scope()),
        b"\0{\"arguments\":[ 1.0 , {} ]}"
    );
    let rule = |payload: &[u8]| {
        BeginRequest::decode(Profile::scope(), payload)
            .map_err(|fault| fault.rule)
            .err()
    };
    assert_eq!(rule(b"\0{}"), Some(Rule::MemberMissing));
    assert_eq!(rule(b"\0[1]"), Some(Rule::ObjectExpected));
}

#[test]
fn each_begin_response_has_its_form() {
    let profile = Profile::scope();
    for payload in [
        &b"\x00[]"[..],
        b"\x00 {\"a\":1} ",
        b"\x01null",
        b"\x02{\"type\":\"notification\",\"is_fatal\":true,\"message\":0}",
        b"\x03",
        b"\x04{\"s\":1.0}",
    ] {
        let read = BeginResponse::decode(profile, payload).expect("it is well formed");
        assert_eq!(read.encode(profile), payload);
        assert_eq!(BeginKind::of(profile, payload), Ok(read.kind()));
    }
    let rule = |payload: &[u8]| {
        BeginResponse::decode(profile, payload)
            .map_err(|fault| fault.rule)
            .err()
    };
    assert_eq!(rule(b""), Some(Rule::PayloadEmpty));
    assert_eq!(rule(b"\x05"), Some(Rule::PayloadUnknownFirstByte));
    assert_eq!(rule(b"\x00"), Some(Rule::JsonSyntax));
    assert_eq!(rule(b"\x00[] []"), Some(Rule::JsonTrailing));
    assert_eq!(rule(b"\x02[]"), Some(Rule::ObjectExpected));
    assert_eq!(rule(b"\x04[]"), Some(Rule::ObjectExpected));
}

#[test]
fn what_is_asked_on_a_channel_goes_both_ways() {
    for (kind, body) in [
        (ClientChannel::Stop, &b""[..]),
        (ClientChannel::Filetree, b""),
        (ClientChannel::Read, br#"{"path":["a"]}"#),
        (ClientChannel::Write, br#"{"write_id":4294967295,"path":[]}"#),
        (ClientChannel::Transfer, br#"{"path":[],"id":"i","destination":["b"]}"#),
        (ClientChannel::Postgres, &[0, 0, 1, 2]),
        (ClientChannel::Schema, b""),
        (ClientChannel::Daemon, &[255, 255, 255, 255]),
        (ClientChannel::Enqueue, br#"{"key":"k","content":[{"type":"text", "text":"t"},{"uri":"u","name":"n","type":"resource_link"}]}"#),
        (ClientChannel::Dequeue, br#"{"key":"k"}"#),
        (ClientChannel::Secrets, br#"{"a": 1.0,"b":{}}"#),
    ] {
        let ask = ChannelAsk::decode(kind, body).expect("it is well formed");
        assert_eq!((ask.kind(), ask.body()), (kind, body.to_vec()));
        if let ChannelAsk::Enqueue(ask) = ask {
            assert_eq!(ask.blocks().map(|blocks| blocks.len()), Ok(2));
        }
    }
    let rule = |kind: BeginChannel, body: &[u8]| {
        ChannelAsk::decode(kind, body)
            .map_err(|fault| fault.rule)
            .err()
    };
    assert_eq!(
        rule(BeginChannel::Postgres, &[0; 5]),
        Some(Rule::BytesLength)
    );
    assert_eq!(
        rule(BeginChannel::Enqueue, br#"{"key":"k"}"#),
        Some(Rule::MemberMissing)
    );
    assert_eq!(
        rule(
            BeginChannel::Enqueue,
            br#"{"key":"k","content":[{"type":"x"}]}"#
        ),
        Some(Rule::ConstantExpected)
    );
    assert_eq!(
        rule(BeginChannel::Enqueue, br#"{"key":"k","content":[]}"#),
        None
    );
    assert_eq!(
        rule(BeginChannel::Secrets, b"[]"),
        Some(Rule::ObjectExpected)
    );
    assert_eq!(
        rule(BeginChannel::Dequeue, br#"["k"]"#),
        Some(Rule::ObjectExpected)
    );
}

#[test]
fn answers_on_channels_go_both_ways() {
    let profile = Profile::scope();
    for (payload, answer) in [
        (&b"\0"[..], EnqueueAnswer::Delivered),
        (b"\x01", EnqueueAnswer::Dequeued),
        (b"\x02[1]", EnqueueAnswer::Error(b"[1]")),
    ] {
        assert_eq!(EnqueueAnswer::decode(profile, payload), Ok(answer));
        assert_eq!(answer.encode(profile), payload);
    }
    for (payload, answer) in [
        (&b"\0"[..], DequeueAnswer::Withdrawn),
        (b"\x01", DequeueAnswer::NothingWaited),
        (b"\x02{}", DequeueAnswer::Error(b"{}")),
    ] {
        assert_eq!(DequeueAnswer::decode(profile, payload), Ok(answer));
        assert_eq!(answer.encode(profile), payload);
    }
    for (payload, answer) in [
        (&b"\0true"[..], SchemaAnswer::Schema(b"true")),
        (b"\x01\"e\"", SchemaAnswer::Error(b"\"e\"")),
    ] {
        assert_eq!(SchemaAnswer::decode(profile, payload), Ok(answer));
        assert_eq!(answer.encode(profile), payload);
    }
    let rule = |payload| {
        EnqueueAnswer::decode(profile, payload)
            .map_err(|fault| fault.rule)
            .err()
    };
    assert_eq!(rule(b""), Some(Rule::PayloadEmpty));
    assert_eq!(rule(b"\x03"), Some(Rule::PayloadUnknownFirstByte));
    assert_eq!(rule(b"\x02"), Some(Rule::JsonSyntax));
}
