//! Each requirement broken by one conversation, and conversations that break none.

mod begin;
mod channels;
mod connection;
mod freedoms;
mod loops;
mod path;
mod queue;
mod talk;

use std::collections::BTreeSet;

use self::talk::Talk;
use super::id;

/// What a conversation breaks, and the conversation.
type Broken = (&'static str, fn(&mut Talk));

const SCOPE: &[&[Broken]] = &[
    connection::BROKEN,
    begin::BROKEN,
    loops::BROKEN,
    queue::BROKEN,
    channels::BROKEN,
];

#[test]
fn each_conversation_breaks_what_it_names_and_nothing_else() {
    let mut otherwise = Vec::new();
    let mut hold = |id: &'static str, talk: Talk| {
        let broken = talk.broken();
        if broken != [id] {
            otherwise.push((id, broken));
        }
    };
    for (id, speak) in SCOPE.iter().flat_map(|table| table.iter()) {
        let mut talk = Talk::scope();
        speak(&mut talk);
        hold(id, talk);
    }
    for (id, speak) in path::BROKEN {
        let mut talk = Talk::path();
        speak(&mut talk);
        hold(id, talk);
    }
    assert_eq!(otherwise, []);
}

#[test]
fn every_id_is_broken_by_a_conversation() {
    let tables = SCOPE.iter().chain(&[path::BROKEN]);
    let broken: BTreeSet<_> = tables
        .flat_map(|table| table.iter())
        .map(|it| it.0)
        .collect();
    let known: BTreeSet<_> = id::ALL.iter().map(|id| id.as_str()).collect();
    assert_eq!(broken, known);
}
