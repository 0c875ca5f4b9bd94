//! Faults, variants and hollow proxies, as conversations.

use std::collections::HashSet;

use diverge_protocol::rules::Revision;
use diverge_protocol::wire::FrameType;
use mock_proxy::policy::Endpoint;
use mock_proxy::{faults, hollow, variants};

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
fn every_variant_plays_a_plain_loop() {
    for variant in variants::all() {
        if variant.revisions.contains(&Revision::Scope) {
            let mut talk = Conversation::with_variant(variant.name, Revision::Scope);
            let done = talk
                .begun()
                .enqueues(1, "a")
                .streams()
                .event("{ }")
                .ends()
                .done();
            let has = |start: &str| {
                let count = done.iter().filter(|it| it.starts_with(start)).count();
                assert_eq!(count, 1, "{start} in {done:?} of {}", variant.name);
            };
            [
                "call /run",
                "answer 1: 0",
                "active",
                "chunk { }",
                "inactive",
                "finish 1",
            ]
            .into_iter()
            .for_each(has);
            assert_eq!(done.len(), 6, "{}", variant.name);
        }
        if variant.revisions.contains(&Revision::Path) {
            Conversation::with_variant(variant.name, Revision::Path)
                .connects("/agent/run")
                .sends(0, "{}")
                .streams()
                .event("{ }")
                .ends()
                .did(&["call /run {}", "0: 0{ }", "close 0"]);
        }
    }
}

#[test]
fn a_fault_spoils_one_thing() {
    Conversation::with_fault("credential-answered")
        .begun()
        .enqueues(1, "a")
        .answers(Endpoint::Run, 500, "1")
        .host(FrameType::Authorization, 1, 0, "")
        .did_like(&["call /run", "answer 1: 21", "finish 1", "finish", "close 0"]);
}
