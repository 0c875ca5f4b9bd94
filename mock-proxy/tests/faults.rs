//! Faults, variants and hollow proxies, as conversations.

use std::collections::HashSet;

use diverge_protocol::rules::{Catalogue, Iut, Revision, Strength};
use diverge_protocol::wire::FrameType;
use mock_proxy::fault::Fault;
use mock_proxy::policy::{Endpoint, HostId, Input, Word};
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
                .connects("/agent/register")
                .sends(0, "{}")
                .answers(Endpoint::Register, 204, "")
                .connects("/agent/run")
                .sends(1, "{}")
                .streams()
                .event("{ }")
                .ends()
                .did(&[
                    "call /register {}",
                    "0: 0",
                    "close 0",
                    "call /run {}",
                    "1: 0{ }",
                    "close 1",
                ]);
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

#[test]
fn every_requirement_has_a_fault_and_every_fault_a_requirement() {
    let owed = |revision| {
        Catalogue::get()
            .of(Iut::Proxy, revision)
            .filter(|it| it.excluded.is_none())
    };
    for revision in [Revision::Scope, Revision::Path] {
        for requirement in owed(revision).filter(|it| it.strength > Strength::Inferred) {
            let mut faults = faults::all().filter(|it| it.revisions.contains(&revision));
            assert!(
                faults.any(|fault| fault.requirement == requirement.id.as_str()),
                "{} has no fault",
                requirement.id
            );
        }
    }
    for fault in faults::all() {
        assert!(
            owed(fault.revisions[0]).any(|it| it.id.as_str() == fault.requirement),
            "{} breaks {}, which is no requirement of its revision",
            fault.name,
            fault.requirement
        );
    }
}

/// Conversations of the scope revision that come across everything that a fault spoils.
const SCOPE: &[fn(&mut Conversation)] = &[
    |talk| {
        talk.admission("/");
        talk.hear(Input::Closed(HostId(0))).admission("/");
    },
    |talk| {
        talk.hear(Input::Text(HostId(0), "hello".into()))
            .sends(0, &b"\x07\0\0\0\x09\0\0\0\0"[..])
            .sends(0, &b"\x02\0\0\0\x09\0\0\0\0"[..])
            .sends(0, &b"\x02"[..])
            .host(FrameType::ChannelRequest, 8, 0, "\x01")
            .host(FrameType::Authorization, 0, 0, "\0tok");
    },
    |talk| {
        talk.hear(Input::Text(
            HostId(0),
            String::from("\x01\0\0\0\x01\0\0\0\0\0{\"arguments\":1}"),
        ));
    },
    |talk| {
        for (scope, payload) in ["", "\x63", "\0{}", "\0[1]", "\0x"].iter().enumerate() {
            talk.host(FrameType::Request, scope as u32 + 10, 0, *payload);
        }
        talk.begins()
            .begins()
            .answers(Endpoint::Register, 400, "{ \"no\":1}")
            .begins()
            .answers(Endpoint::Register, 400, "no JSON")
            .begins()
            .answers(Endpoint::Register, 200, "")
            .begins()
            .answers(Endpoint::Register, 204, "")
            .begins()
            .says(Endpoint::Register, Word::Failed("gone".into()));
    },
    |talk| {
        talk.host(FrameType::Request, 1, 0, "\0{\"arguments\":null}")
            .answers(Endpoint::Register, 201, "{\"dependencies\":[1,2]}")
            .host(FrameType::Request, 2, 0, "\0{\"arguments\":1}");
    },
    |talk| {
        talk.begins()
            .answers(Endpoint::Register, 200, "{}")
            .enqueues(1, "A")
            .streams()
            .event("{ \"a\":1}")
            .event("{\"type\":\"inactive\"}")
            .event("\u{3}")
            .event("{\"type\":\"notification\",\"is_fatal\":true}")
            .ends();
        for channel in 2..4 {
            talk.enqueues(channel, "b").streams().event("{}").ends();
        }
        talk.enqueues(4, "c")
            .streams()
            .event("{}")
            .says(Endpoint::Run, Word::Broke("reset".into()));
    },
    |talk| {
        let blocks = r#"[{"type":"text","text":"1","_meta":{}},{"type":"text","text":"2"}]"#;
        talk.begun()
            .asks(1, format!("\x03{{\"key\":\"a\",\"content\":{blocks}}}"))
            .enqueues(2, "b")
            .enqueues(3, "b")
            .answers(Endpoint::Run, 400, "{ }")
            .answers(Endpoint::Run, 400, "{ }")
            .enqueues(4, "d")
            .says(Endpoint::Run, Word::Failed("gone".into()))
            .enqueues(5, "e")
            .streams()
            .asks(6, format!("\x03{{\"key\":\"f\",\"content\":{blocks}}}"))
            .enqueues(7, "g")
            .enqueues(8, "h")
            .answers(Endpoint::Enqueue, 200, "{\"type\":\"delivered\"}")
            .answers(Endpoint::Enqueue, 200, "{\"type\":\"dequeued\"}")
            .answers(Endpoint::Enqueue, 422, "{ }")
            .enqueues(9, "i")
            .answers(Endpoint::Enqueue, 200, "{\"type\":\"missed\"}")
            .enqueues(10, "j")
            .ends()
            .answers(Endpoint::Run, 400, "{ }");
        for (status, body) in [(500, "{}"), (200, "odd")] {
            talk.enqueues(1, "a")
                .streams()
                .enqueues(2, "b")
                .enqueues(3, "c")
                .answers(Endpoint::Enqueue, status, body)
                .ends()
                .streams()
                .ends();
        }
    },
    |talk| {
        talk.begun()
            .dequeues(1, "a")
            .enqueues(1, "a")
            .streams()
            .enqueues(2, "b")
            .enqueues(3, " c")
            .enqueues(4, "d")
            .enqueues(5, " c")
            .dequeues(6, " c")
            .answers(Endpoint::Dequeue, 200, "{\"type\":\"empty\"}")
            .dequeues(6, "b")
            .answers(Endpoint::Dequeue, 200, "{\"type\":\"dequeued\"}")
            .dequeues(6, "x")
            .answers(Endpoint::Dequeue, 200, "{\"type\":\"empty\"}")
            .dequeues(6, "x")
            .answers(Endpoint::Dequeue, 500, "{}")
            .dequeues(6, "x")
            .answers(Endpoint::Dequeue, 200, "odd")
            .answers(Endpoint::Enqueue, 200, "{\"type\":\"missed\"}")
            .ends();
    },
    |talk| {
        talk.begun()
            .asks(1, "\x01")
            .answers(Endpoint::Schema, 200, "{\"a\":1}")
            .asks(1, "\x01")
            .answers(Endpoint::Schema, 200, "{\"b\":1}")
            .asks(1, "\x01")
            .answers(Endpoint::Schema, 400, "{\"c\":1}")
            .asks(1, "\x01")
            .answers(Endpoint::Schema, 200, "no JSON")
            .enqueues(2, "a")
            .streams()
            .asks(1, "\x01")
            .answers(Endpoint::Schema, 200, "{}")
            .asks(1, "")
            .asks(1, "\x63")
            .asks(1, "\x03{}")
            .asks(1, "\x03{\"content\":[]}")
            .enqueues(3, "b")
            .enqueues(3, "c")
            .host(FrameType::ChannelResponse, 1, 3, "\0")
            .host(FrameType::ChannelResponseFinish, 1, 3, "")
            .answers(Endpoint::Enqueue, 200, "{\"type\":\"delivered\"}");
    },
    |talk| {
        talk.begun()
            .enqueues(1, "a")
            .answers(Endpoint::Run, 400, "no JSON")
            .asks(2, "\x01")
            .says(Endpoint::Schema, Word::Failed("gone".into()))
            .asks(3, "\x04{}")
            .asks(4, "\x04[\"a\"]")
            .enqueues(5, "b")
            .streams()
            .enqueues(6, "c")
            .says(Endpoint::Enqueue, Word::Failed("cut off".into()))
            .ends();
    },
    |talk| {
        talk.begun().enqueues(1, "a").streams().enqueues(2, "b");
        for _ in 0..600 {
            talk.asks(3, "\x63");
        }
        talk.event("{}");
    },
    |talk| {
        talk.begun().asks(1, "\x01").enqueues(2, "a");
        for _ in 0..600 {
            talk.asks(3, "\x63");
        }
    },
];

/// Likewise of the path revision.
const PATH: &[fn(&mut Conversation)] = &[
    |talk| {
        talk.connects("/agent/run")
            .hear(Input::Text(HostId(0), "{}".into()))
            .sends(0, "{ \"prompt\":\"hi\"}")
            .streams()
            .event("{ \"a\":1}")
            .event("2")
            .event("{\"type\":\"notification\",\"is_fatal\":true}")
            .ends()
            .connects("/agent/run")
            .sends(1, "no JSON")
            .streams()
            .ends();
        for word in [
            Word::Answered {
                status: 409,
                body: "{\"kind\":\"unregistered\"}".into(),
            },
            Word::Failed("gone".into()),
        ] {
            talk.connects("/agent/run");
            let host = talk.connections() - 1;
            talk.sends(host, "{}").says(Endpoint::Run, word);
        }
        talk.connects("/agent/run")
            .sends(4, "{}")
            .streams()
            .says(Endpoint::Run, Word::Broke("reset".into()))
            .connects("/agent/run")
            .hear(Input::Closed(HostId(5)))
            .connects("/agent/run")
            .sends(6, "{}")
            .hear(Input::Lost(HostId(6)));
    },
    |talk| {
        talk.connects("/agent/run").sends(0, "{}").streams();
        talk.admission("/agent/run");
        talk.connects_if_admitted("/agent/run")
            .sends(1, "{}")
            .answers(Endpoint::Run, 409, "{\"kind\":\"busy\"}");
    },
    |talk| {
        for (host, (status, body)) in [
            (204, ""),
            (200, "{}"),
            (200, "odd"),
            (400, "{ }"),
            (400, "no JSON"),
            (409, "{\"kind\":\"registered\"}"),
        ]
        .into_iter()
        .enumerate()
        {
            talk.connects("/agent/register")
                .sends(host as u64, "{}")
                .answers(Endpoint::Register, status, body);
        }
    },
    |talk| {
        for (host, (status, body)) in [
            (200, "{\"type\":\"delivered\"}"),
            (200, "{\"type\":\"dequeued\"}"),
            (200, "{\"type\":\"missed\"}"),
            (500, "{}"),
            (200, "odd"),
            (400, "no JSON"),
        ]
        .into_iter()
        .enumerate()
        {
            talk.connects("/agent/enqueue");
            talk.admission("/agent/enqueue");
            talk.sends(host as u64, "{}")
                .answers(Endpoint::Enqueue, status, body);
        }
    },
    |talk| {
        for body in ["{\"type\":\"dequeued\"}", "odd"] {
            talk.connects("/agent/dequeue")
                .answers(Endpoint::Dequeue, 200, body);
        }
        talk.connects("/agent/schema")
            .answers(Endpoint::Schema, 200, "{\"a\":1}")
            .connects("/agent/schema")
            .answers(Endpoint::Schema, 404, "{}");
    },
    |talk| {
        for (path, endpoint) in [
            ("/agent/dequeue", Endpoint::Dequeue),
            ("/agent/schema", Endpoint::Schema),
        ] {
            talk.connects(path);
            talk.admission(path);
            talk.says(endpoint, Word::Failed("gone".into()));
        }
    },
];

#[test]
fn every_fault_deviates() {
    let deviates = |fault: &&Fault| {
        conversations(fault.revisions[0])
            .iter()
            .any(|conversation| {
                let mut conforming = Conversation::conforming(fault.revisions[0]);
                let mut deviating = Conversation::with_fault(fault.name);
                conversation(&mut conforming);
                conversation(&mut deviating);
                conforming.done() != deviating.done()
            })
    };
    let idle: Vec<&str> = faults::all()
        .filter(|fault| !deviates(fault))
        .map(|fault| fault.name)
        .collect();
    assert!(idle.is_empty(), "{idle:?} do what the reference does");
}

fn conversations(revision: Revision) -> &'static [fn(&mut Conversation)] {
    match revision {
        Revision::Scope => SCOPE,
        Revision::Path => PATH,
    }
}

#[test]
fn the_checkers_find_nothing_wrong_with_the_reference() {
    for revision in [Revision::Scope, Revision::Path] {
        for (at, conversation) in conversations(revision).iter().enumerate() {
            let mut talk = Conversation::conforming(revision);
            conversation(&mut talk);
            assert!(
                talk.broken().is_empty(),
                "{at} {revision:?}: {:?}",
                talk.broken()
            );
        }
    }
}

#[test]
fn the_checkers_find_nothing_wrong_with_a_variant() {
    for variant in variants::all() {
        for revision in variant.revisions {
            for conversation in conversations(*revision) {
                let mut talk = Conversation::with_variant(variant.name, *revision);
                conversation(&mut talk);
                assert!(
                    talk.broken().is_empty(),
                    "{}: {:?}",
                    variant.name,
                    talk.broken()
                );
            }
        }
    }
}

/// Faults that show only in what does not come, in what a checker does not see, or in what other readings allow.
const SILENT: &[&str] = &[
    "credential-passed-over",
    "empty-request-unanswered",
    "unknown-request-unanswered",
    "unreadable-begin-unanswered",
    "register-as-text",
    "run-as-text",
    "offer-as-text",
    "dequeue-as-text",
    "path-run-as-text",
    "path-enqueue-as-text",
    "created-no-success",
    "refusal-text-unanswered",
    "unreachable-unanswered",
    "after-refusal-unanswered",
    "second-begin-unfinished",
    "inactive-bare",
    "empty-loop-untold",
    "broken-stream-untold",
    "stuck-after-unreachable",
    "stuck-after-refusal",
    "start-answered-at-end",
    "never-offered",
    "refused-halts",
    "waiting-unanswered",
    "unreadable-enqueue-unanswered",
    "unknown-ask-unanswered",
    "empty-ask-unanswered",
    "path-left-open",
    "path-unreachable-waits",
    "path-unregistered-waits",
    "path-call-outlives-host",
    "path-dequeue-waits",
    "schema-unreachable-unanswered",
    "path-dequeue-waits-for-agent",
    "path-schema-waits-for-agent",
];

#[test]
fn the_checkers_find_every_fault_that_does_something() {
    let found = |fault: &Fault| {
        conversations(fault.revisions[0])
            .iter()
            .any(|conversation| {
                let mut talk = Conversation::with_fault(fault.name);
                conversation(&mut talk);
                !talk.broken().is_empty()
            })
    };
    let otherwise: Vec<&str> = faults::all()
        .filter(|fault| found(fault) == SILENT.contains(&fault.name))
        .map(|fault| fault.name)
        .collect();
    assert!(
        otherwise.is_empty(),
        "{otherwise:?} are found though they are said to be silent, or the other way round"
    );
}
