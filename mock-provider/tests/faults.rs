//! Faults, variants and hollow providers, as conversations.

use std::collections::HashSet;

use diverge_protocol::wire::FrameType;
use mock_provider::{faults, hollow, variants};

mod conversation;
use conversation::Conversation;

#[test]
fn names_are_unique() {
    let names: Vec<&str> = (faults::all().map(|fault| fault.name))
        .chain(variants::all().map(|variant| variant.name))
        .chain(hollow::all().map(|hollow| hollow.name))
        .collect();
    assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len());
}

#[test]
fn a_fault_spoils_one_thing() {
    Conversation::with_fault("chunk-lost")
        .started()
        .says("\x03")
        .says("\x02{\"a\":1}")
        .says("\x02{\"a\":2}")
        .says("\x02{\"a\":3}")
        .says("\x04{}")
        .did(&["8", "7{\"a\":1}", "7{\"a\":3}", "9{}"]);
    Conversation::with_fault("chunks-swapped")
        .started()
        .says("\x03")
        .says("\x02{\"a\":1}")
        .says("\x02{\"a\":2}")
        .says("\x04{}")
        .did(&["8", "7{\"a\":2}", "7{\"a\":1}", "9{}"]);
    Conversation::with_fault("duplicate-finished")
        .started()
        .request("")
        .did(&["finish"]);
    Conversation::with_fault("root-mount-taken")
        .request("\"fuse_file_mounts\":[{\"container_path\":[],\"id\":\"f\"}],")
        .did(&["dial"]);
    Conversation::with_fault("late-error-unfinished")
        .started()
        .says("\x01null")
        .did(&["6null", "close proxy"]);
}

#[test]
fn every_variant_plays_a_plain_run() {
    for variant in variants::all() {
        if variant.name == "begin-scope-high" || variant.name == "unread-fields-filled" {
            continue; // The conversation's words have no place for these.
        }
        let mut talk = Conversation::with_variant(variant.name);
        talk.started()
            .says("\x03")
            .says("\x02{ }")
            .says("\x04{ }")
            .did(&["8", "7{ }", "9{ }"])
            .proxy(FrameType::ResponseFinish, 0, "");
        let ended = talk.done();
        assert!(
            ended == ["close proxy", "finish"] || ended == ["finish", "close proxy"],
            "{}",
            variant.name
        );
        assert_eq!(talk.ids.len(), 1, "{}", variant.name);
    }
}
