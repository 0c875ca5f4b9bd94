//! The credential, silence before it, binary messages, headers and types.

use super::talk::*;
use crate::transcript::{Role, RunRef, What};
use crate::wire::FrameType;

#[test]
fn a_reply_names_a_subprotocol() {
    let mut talk = Talk::silent();
    let subprotocol = Some("chat".to_owned());
    talk.at(CLIENT, Role::Provider, What::Opened { subprotocol });
    talk.breaks(&["transport.handshake-plain"]);
}

#[test]
fn a_text_message_from_the_server() {
    let mut talk = Talk::running();
    talk.at(CLIENT, Role::Provider, What::Text("hello".into()));
    talk.breaks(&["transport.binary-only"]);
}

#[test]
fn a_short_message_from_the_server() {
    let mut talk = Talk::running();
    talk.at(
        CLIENT,
        Role::Provider,
        What::Binary(vec![2, 0, 0, 0, 1].into()),
    );
    talk.breaks(&["frame.header"]);
}

#[test]
fn a_response_on_a_scope_that_nobody_opened() {
    let mut talk = Talk::running();
    talk.provider_sent(FrameType::Response, (RUN.swap_bytes(), 0), [8]);
    talk.breaks(&["frame.header"]);
}

#[test]
fn frames_of_types_that_are_not_the_servers() {
    let mut talk = Talk::running();
    talk.provider_sent(FrameType::Authorization, (0, 0), [0]);
    talk.provider_sent(FrameType::Request, (RUN, 0), [0]);
    talk.at(CLIENT, Role::Provider, What::Binary(vec![7; 9].into()));
    talk.breaks(&["frame.server-types"; 3]);
}

#[test]
fn finishes_with_a_payload() {
    let mut talk = Talk::running();
    talk.asks(5, word(READ, r#"{"path":["a"]}"#));
    talk.provider_sent(FrameType::ChannelResponseFinish, (RUN, 5), [1]);
    talk.asks(6, [STOP]);
    talk.provider_sent(FrameType::ResponseFinish, (RUN, 0), "e");
    talk.breaks(&["frame.finish-empty"; 2]);
}

#[test]
fn a_request_before_the_credential_is_served() {
    let mut talk = Talk::silent();
    talk.request(RUN, &request(ARGUMENTS));
    talk.gets_finish();
    talk.breaks(&["auth.nothing-before-credential"]);
}

#[test]
fn a_request_before_the_credential_is_taken_to_a_proxy() {
    let mut talk = Talk::silent();
    talk.request(RUN, &request(ARGUMENTS));
    talk.proxy_link(Some(run()));
    talk.begin(&begin_request(ARGUMENTS));
    talk.breaks(&["auth.nothing-before-credential"]);
}

#[test]
fn a_request_before_the_credential_is_served_after_it() {
    let mut talk = Talk::silent();
    talk.request(RUN, &request(ARGUMENTS));
    talk.credential();
    talk.gets_finish();
    talk.breaks(&["auth.nothing-before-credential"]);
}

#[test]
fn a_request_before_the_credential_is_dropped_and_still_counts() {
    let mut talk = Talk::silent();
    talk.request(RUN, &request("[]"));
    talk.credential();
    talk.request(RUN, &request(ARGUMENTS));
    talk.proxy_link(Some(RunRef {
        generation: 1,
        ..run()
    }));
    talk.begin(&begin_request(ARGUMENTS));
    talk.proxy_says(BEGUN, "[]");
    talk.gets(0, ID);
    talk.stops();
    talk.breaks_nothing();
}

#[test]
fn malformed_credentials_are_answered() {
    for payload in [&b""[..], b"\x01tok", b"\0\xff\xfe"] {
        let mut talk = Talk::silent();
        talk.client_sent(FrameType::Authorization, (0, 0), payload);
        talk.request(RUN, &request(ARGUMENTS));
        talk.gets_finish();
        talk.breaks(&["auth.rejected-silently"]);
    }
}

#[test]
fn a_request_after_the_second_credential_is_served() {
    let mut talk = Talk::new();
    talk.credential();
    talk.request(RUN, &request(ARGUMENTS));
    talk.gets_finish();
    talk.breaks(&["auth.second-credential-ends-connection"]);
}

#[test]
fn runs_may_end_with_the_second_credential() {
    let mut talk = Talk::looping();
    talk.proxy_says(PROXY_CHUNK, "{}");
    talk.credential();
    talk.gets_finish();
    talk.at(CLIENT, Role::Provider, What::Closed);
    talk.breaks_nothing();
}

#[test]
fn what_the_server_drops_moves_nothing() {
    let mut talk = Talk::silent();
    for message in [&[][..], &[0; 8], &[200; 12]] {
        talk.at(CLIENT, Role::Client, What::Binary(message.to_vec().into()));
    }
    talk.at(CLIENT, Role::Client, What::Text("hello".into()));
    talk.client_sent(FrameType::Response, (0, 0), "");
    talk.client_sent(FrameType::ChannelRequest, (RUN, 0), [STOP]);
    talk.credential();
    talk.client_sent(FrameType::ChannelResponse, (RUN, 0), "");
    talk.request(RUN, &request(ARGUMENTS));
    talk.gets(6, "null");
    talk.gets_finish();
    talk.breaks_nothing();
}
