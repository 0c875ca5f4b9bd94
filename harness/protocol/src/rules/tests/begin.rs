//! What a provider sends its proxy.

use super::talk::*;
use crate::transcript::{Role, What};
use crate::wire::FrameType;

#[test]
fn two_proxy_connections() {
    let mut talk = Talk::running();
    talk.proxy_link(Some(run()));
    talk.breaks(&["begin.one-connection"]);
}

#[test]
fn two_proxy_connections_known_by_their_arguments() {
    let mut talk = Talk::running();
    talk.proxy_link(None);
    talk.begin(&begin_request(ARGUMENTS));
    talk.breaks(&["begin.one-connection"]);
}

#[test]
fn a_handshake_that_failed_is_no_connection() {
    let mut talk = Talk::new();
    talk.request(RUN, &request(ARGUMENTS));
    talk.refused_proxy_link(Some(run()));
    talk.proxy_link(Some(run()));
    talk.begin(&begin_request(ARGUMENTS));
    talk.breaks_nothing();
}

#[test]
fn a_run_that_becomes_known_late() {
    let mut talk = Talk::new();
    talk.request(RUN, &request("1"));
    talk.request(RUN + 1, &request("2"));
    let link = talk.proxy_link(None);
    talk.begin(&begin_request("[3]"));
    talk.tell_run(link, run());
    talk.proxy_says(BEGUN, "[]");
    talk.gets(0, ID);
    talk.stops();
    talk.breaks(&["begin.arguments-value", "begin.arguments-bytes"]);

    let mut talk = Talk::new();
    talk.request(RUN, &request("1"));
    talk.request(RUN + 1, &request("2"));
    let link = talk.proxy_link(None);
    talk.begin(b"\0");
    talk.proxy_says(BEGUN, "[]");
    talk.tell_run(link, run());
    talk.gets(0, ID);
    talk.breaks(&["begin.well-formed"]);
}

#[test]
fn a_credential_for_the_proxy() {
    let mut talk = Talk::new();
    talk.request(RUN, &request(ARGUMENTS));
    talk.proxy_link(Some(run()));
    talk.sends_proxy(FrameType::Authorization, (0, 0), [0]);
    talk.begin(&begin_request(ARGUMENTS));
    talk.breaks(&["begin.no-credential"]);
}

#[test]
fn something_before_begin() {
    let mut talk = Talk::new();
    talk.request(RUN, &request(ARGUMENTS));
    talk.proxy_link(Some(run()));
    talk.sends_proxy(FrameType::ChannelRequest, (BEGIN, 0), [1]);
    talk.begin(&begin_request(ARGUMENTS));
    talk.breaks(&["begin.first"]);

    let mut talk = Talk::new();
    talk.request(RUN, &request(ARGUMENTS));
    talk.proxy_link(Some(run()));
    talk.sends_proxy(FrameType::Request, (3, 0), [77]);
    talk.begin(&begin_request(ARGUMENTS));
    talk.breaks(&["begin.first"]);
}

#[test]
fn begin_twice() {
    let mut talk = Talk::running();
    talk.sends_proxy(FrameType::Request, (BEGIN + 1, 0), begin_request(ARGUMENTS));
    talk.sends_proxy(FrameType::Request, (BEGIN + 2, 0), [77]);
    talk.breaks(&["begin.once"]);
}

#[test]
fn a_begin_that_does_not_read() {
    for payload in [&[][..], b"\0", b"\0[1]", b"\0{}", b"\0{\"arguments\":1}x"] {
        let mut talk = Talk::new();
        talk.request(RUN, &request(ARGUMENTS));
        talk.proxy_link(Some(run()));
        talk.begin(payload);
        talk.breaks(&["begin.well-formed"]);
    }
}

#[test]
fn arguments_are_changed() {
    for (arguments, broken) in [
        (r#"{"a":"x","b":1.50}"#, &["begin.arguments-bytes"][..]),
        (
            r#"{ "b": 1.5, "a": "x" }"#,
            &["begin.arguments-value", "begin.arguments-bytes"],
        ),
        ("null", &["begin.arguments-value", "begin.arguments-bytes"]),
    ] {
        for reference in [Some(run()), None] {
            let mut talk = Talk::new();
            talk.request(RUN, &request(ARGUMENTS));
            talk.proxy_link(reference);
            talk.begin(&begin_request(arguments));
            talk.breaks(broken);
        }
    }
}

#[test]
fn frames_that_a_proxys_client_does_not_send() {
    let mut talk = Talk::running();
    talk.sends_proxy(FrameType::Response, (BEGIN, 0), "");
    talk.sends_proxy(FrameType::ResponseFinish, (BEGIN, 0), "");
    talk.breaks(&["frame.server-types"; 2]);
}

#[test]
fn messages_that_are_no_frames() {
    let mut talk = Talk::running();
    let proxy = crate::transcript::LinkId(1);
    talk.at(proxy, Role::Provider, What::Text("x".into()));
    talk.at(proxy, Role::Provider, What::Binary(vec![4].into()));
    talk.breaks(&["transport.binary-only", "frame.header"]);
}

#[test]
fn the_begin_envelope_is_free() {
    let mut talk = Talk::new();
    talk.request(RUN, &request(ARGUMENTS));
    let link = talk.proxy_link(None);
    talk.tell_run(link, run());
    talk.begin(&word(
        0,
        format!("{{ \"more\" : [] ,\n\"arguments\" : {ARGUMENTS} }} "),
    ));
    talk.proxy_says(BEGUN, "[]");
    talk.gets(0, ID);
    talk.stops();
    talk.breaks_nothing();
}
