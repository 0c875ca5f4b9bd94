//! The tables of faults, variants and hollow servers.

use std::collections::HashSet;

use diverge_protocol::rules::{Catalogue, Iut, RequirementId, Revision};
use mock_agent_server::{faults, hollow, variants};

use crate::conversation::Conversation;

const BOTH: [Revision; 2] = [Revision::Scope, Revision::Path];

#[test]
fn names_are_unique_and_lead_back() {
    let mut names = HashSet::new();
    for fault in faults::all() {
        assert!(names.insert(fault.name), "{}", fault.name);
        assert_eq!(faults::find(fault.name).map(|it| it.name), Some(fault.name));
    }
    for variant in variants::all() {
        assert!(names.insert(variant.name), "{}", variant.name);
        let found = variants::find(variant.name).map(|it| it.name);
        assert_eq!(found, Some(variant.name));
    }
    for hollow in hollow::all() {
        assert!(names.insert(hollow.name), "{}", hollow.name);
        assert_eq!(
            hollow::find(hollow.name).map(|it| it.name),
            Some(hollow.name)
        );
    }
    assert!(faults::find("no-such").is_none());
}

#[test]
fn every_requirement_that_is_tested_has_a_fault_and_every_fault_breaks_one() {
    for fault in faults::all() {
        let requirement =
            RequirementId::new(fault.requirement).and_then(RequirementId::requirement);
        let requirement = requirement.unwrap_or_else(|| panic!("{}", fault.requirement));
        assert!(
            requirement.iut.contains(&Iut::AgentServer),
            "{}",
            fault.name
        );
        assert!(requirement.excluded.is_none(), "{}", fault.name);
    }
    for requirement in Catalogue::get().requirements() {
        let tested = requirement.iut.contains(&Iut::AgentServer) && requirement.excluded.is_none();
        let broken = faults::all().any(|fault| fault.requirement == requirement.id.as_str());
        assert_eq!(tested, broken, "{}", requirement.id);
    }
}

#[test]
fn every_fault_does_something_else_than_the_reference() {
    let played = |mut talk: Conversation, all: bool| {
        match all {
            true => talk.plays_everything(),
            false => talk.registered(),
        };
        talk.log().to_vec()
    };
    let plays = BOTH.map(|revision| [(revision, false), (revision, true)]);
    let mut idle = Vec::new();
    for fault in faults::all() {
        if fault.requirement.starts_with("agent.port.") {
            continue; // Those show before anything is said; a test of their own tells them apart.
        }
        let same = plays.as_flattened().iter().all(|(revision, all)| {
            let spoiled = Conversation::with(*revision, fault.build());
            played(spoiled, *all) == played(Conversation::new(*revision), *all)
        });
        idle.extend(same.then_some(fault.name));
    }
    assert_eq!(idle, [""; 0]);
}

#[test]
fn every_variant_runs_a_loop() {
    for variant in variants::all() {
        for revision in BOTH {
            let mut talk = Conversation::with(revision, variant.build());
            let did = talk.registered().run("x").done();
            assert!(
                did.iter().any(|it| it.starts_with("2: stream 20")),
                "{} {did:?}",
                variant.name
            );
            assert_eq!(
                did.last().map(String::as_str),
                Some("2: end"),
                "{}",
                variant.name
            );
        }
    }
}

#[test]
fn every_port_fault_serves_on_another_port_for_some_variable() {
    use mock_agent_server::fault::Intercepted;
    use mock_agent_server::policy::AgentServer;
    use mock_agent_server::settings::{Settings, port};
    let variables = [
        None,
        Some(""),
        Some("0"),
        Some("65536"),
        Some("105536"),
        Some(" 40000"),
        Some("+40000"),
        Some("40000x"),
        Some("40000"),
        Some("1234"),
    ];
    for fault in faults::all().filter(|it| it.requirement.starts_with("agent.port.")) {
        let server = Intercepted::new(Settings::new(Revision::Scope), fault.build());
        let differs = variables.iter().any(|it| server.port(*it) != port(*it));
        assert!(differs, "{}", fault.name);
    }
}
