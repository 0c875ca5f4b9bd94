//! The reference, as conversations.

#![allow(clippy::unwrap_used)]

use bytes::Bytes;
use diverge_protocol::wire::{FrameType, credential_payload};
use mock_provider::policy::{Input, Policy};

mod conversation;
use conversation::{CLIENT, Conversation, settings};

#[test]
fn a_run_from_request_to_stop() {
    Conversation::new()
        .request("")
        .did(&["dial"])
        .opened()
        .did(&["proxy: request 0{\"arguments\":{ \"m\":1.50 }}"])
        .says("\0[]")
        .did(&["id"])
        .says("\x03")
        .did(&["8"])
        .says("\x02{ \"type\" :\"odd\", \"n\": 1e400 }")
        .did(&["7{ \"type\" :\"odd\", \"n\": 1e400 }"])
        .says("\x04{ }")
        .did(&["9{ }"])
        .says("\x03")
        .did(&["8"])
        .ask(5, "\0junk")
        .did(&["close proxy", "finish"]);
}

#[test]
fn only_the_credential_opens_the_door() {
    for payload in [&b""[..], b"\0", b"\0no", b"\x01tok", b"\0\xff\xfe"] {
        Conversation::before_credential(Box::new(Policy::new(settings())))
            .client(FrameType::Authorization, 7, 7, payload)
            .did(&["close client"])
            .request("")
            .did(&[]);
    }
    Conversation::before_credential(Box::new(Policy::new(settings())))
        .hear(Input::ClientText(CLIENT, "hello".into()))
        .hear(Input::ClientBinary(CLIENT, Bytes::from_static(&[1, 2, 3])))
        .ask(1, "\x06")
        .did(&[])
        .request("")
        .did(&["close client"]);
}

#[test]
fn a_second_credential_ends_the_connection_and_its_runs() {
    Conversation::new()
        .started()
        .client(FrameType::Authorization, 0, 0, credential_payload("tok"))
        .did(&["close proxy", "close client"])
        .says("\x03")
        .did(&[]);
}

#[test]
fn what_cannot_be_read_is_finished_bare() {
    for payload in ["", "\u{fa}{}", "\0", "\0{", "\0[]", "\0{}"] {
        Conversation::new()
            .client(FrameType::Request, 1, 0, payload)
            .did(&["finish"]);
    }
}

#[test]
fn what_has_no_place_is_dropped() {
    Conversation::new()
        .started()
        .request("")
        .client(FrameType::Response, 1, 0, "\x08")
        .client(FrameType::ResponseFinish, 1, 0, "")
        .client(FrameType::ChannelRequest, 2, 0, "\0")
        .client(FrameType::ChannelResponse, 1, 9, "x")
        .client(FrameType::ChannelResponseFinish, 1, 9, "")
        .did(&[]);
}

#[test]
fn mounts_and_volumes_that_refuse() {
    let volume = |name: &str, mode: &str, path: &str| {
        format!(
            "{{\"volume_name\":\"{name}\",\"volume_relative_path\":[],\"mode\":\"{mode}\",\"container_path\":{path}}}"
        )
    };
    let one =
        |name: &str, mode: &str| format!("\"volume_mounts\":[{}],", volume(name, mode, "[\"a\"]"));
    let two = |first: &str, second: &str| {
        let second = volume(second, "persistent", "[\"b\"]");
        format!(
            "\"volume_mounts\":[{},{second}],",
            volume(first, "persistent", "[\"a\"]")
        )
    };
    let both = format!(
        "\"volume_mounts\":[{},{}],",
        volume("free", "persistent", "[\"a\"]"),
        volume("free", "ephemeral", "[\"b\"]")
    );
    for (mounts, answer) in [
        (one("held", "persistent"), "1{\"name\":\"held\"}"),
        (one("mounted", "persistent"), "2{\"name\":\"mounted\"}"),
        (one("served", "persistent"), "3{\"name\":\"served\"}"),
        (
            one("unsupported", "persistent"),
            "4{\"name\":\"unsupported\"}",
        ),
        (
            one("free", "read_only"),
            "5{\"name\":\"free\",\"mode\":\"persistent\"}",
        ),
        (both, "5{\"name\":\"free\",\"mode\":\"persistent\"}"),
        (two("free", "held"), "1{\"name\":\"held\"}"),
        (two("mounted", "held"), "2{\"name\":\"mounted\"}"),
        (
            one("nowhere", "persistent"),
            "6{\"kind\":\"refused\",\"message\":\"a volume that is not listed\"}",
        ),
        (
            "\"fuse_file_mounts\":[{\"container_path\":[],\"id\":\"f\"}],".into(),
            "6{\"kind\":\"refused\",\"message\":\"a mount at the root\"}",
        ),
    ] {
        Conversation::new()
            .request(&mounts)
            .did(&[answer, "finish"]);
    }
    Conversation::new()
        .request(&two("free", "free"))
        .did(&["dial"]);
}

#[test]
fn a_proxy_that_does_not_begin() {
    let mut talk = Conversation::new();
    talk.request("").did(&["dial"]);
    let run = talk.run.unwrap();
    talk.hear(Input::ProxyRefused(run))
        .did(&[
            "6{\"kind\":\"refused\",\"message\":\"no proxy answers\"}",
            "close proxy",
            "finish",
        ])
        .request("")
        .did(&["dial"])
        .opened()
        .says("\x01 \"no\"")
        .did(&[
            "proxy: request 0{\"arguments\":{ \"m\":1.50 }}",
            "6 \"no\"",
            "close proxy",
            "finish",
        ]);
}

#[test]
fn early_channels_wait_for_the_id() {
    Conversation::new()
        .request("")
        .ask(9, "\x06")
        .ask(9, "\x06")
        .ask(3, "\x09{\"key\":\"k\"}")
        .did(&["dial"])
        .opened()
        .says("\0[]")
        .did(&[
            "proxy: request 0{\"arguments\":{ \"m\":1.50 }}",
            "id",
            "proxy: ask 0: 1",
            "proxy: ask 1: 4{\"key\":\"k\"}",
        ])
        .proxy(FrameType::ChannelResponse, 1, "\x01")
        .proxy(FrameType::ChannelResponseFinish, 1, "")
        .did(&["answer 3: 1", "finish 3"])
        .ask(3, "\x09oops")
        .did(&["finish 3"]);
}

#[test]
fn a_stop_before_the_id() {
    Conversation::new()
        .request("")
        .ask(0, "\0")
        .opened()
        .says("\0[]")
        .did(&[
            "dial",
            "proxy: request 0{\"arguments\":{ \"m\":1.50 }}",
            "id",
            "close proxy",
            "finish",
        ]);
    Conversation::with_variant("early-stop-acted-on")
        .request("")
        .ask(0, "\0")
        .did(&["dial", "close proxy", "finish"]);
}

#[test]
fn a_proxy_out_of_order() {
    Conversation::new()
        .started()
        .says("\x02{}")
        .says("\x04{}")
        .says("\0[]")
        .did(&[])
        .says("\x03")
        .says("\x03")
        .did(&["8"]);
    Conversation::with_variant("disorder-ends")
        .started()
        .says("\x04{}")
        .did(&["close proxy", "finish"]);
}

#[test]
fn the_proxys_error_ends_the_run() {
    Conversation::new()
        .started()
        .says("\x03")
        .says("\x01{ \"secret\":\"a\" }")
        .did(&["8", "6{ \"secret\":\"a\" }", "close proxy", "finish"])
        .says("\x04{}")
        .did(&[]);
}

#[test]
fn the_proxys_asks_reach_the_client() {
    Conversation::new()
        .started()
        .proxy(FrameType::ChannelRequest, 40, "\x02key")
        .proxy(FrameType::ChannelRequest, 41, "\x09{\"name\":\"t\"}")
        .proxy(FrameType::ChannelRequest, 42, "\0\0\0\0\x01")
        .did(&[
            "ask 0: 7key",
            "ask 1: 14{\"name\":\"t\"}",
            "proxy: finish 42",
        ])
        .client(FrameType::ChannelResponse, 1, 1, "\0{ }")
        .client(FrameType::ChannelResponseFinish, 1, 1, "")
        .did(&["proxy: answer 41: 0{ }", "proxy: finish 41"]);
}

#[test]
fn a_run_ends_with_its_proxy_or_its_client() {
    let mut talk = Conversation::new();
    talk.started()
        .proxy(FrameType::ResponseFinish, 0, "")
        .did(&["close proxy", "finish"]);
    talk.started();
    let run = talk.run.unwrap();
    talk.hear(Input::ProxyClosed(run))
        .did(&["close proxy", "finish"]);
    talk.started()
        .hear(Input::ClientClosed(CLIENT))
        .did(&["close proxy"]);
    assert_eq!(talk.ids.len(), 3);
    assert_ne!(talk.ids[0], talk.ids[1]);
}
