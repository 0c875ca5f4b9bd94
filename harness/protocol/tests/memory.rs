//! What the rule checkers hold of a scope that stays open does not grow with what goes over it.

#[path = "../benches/speed/checkers.rs"]
mod checkers;

use diverge_protocol::rules::Checkers;
use diverge_protocol::wire::Profile;
use peak_alloc::PeakAlloc;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

const LOOPS: usize = 10_000;

#[test]
fn a_scope_that_stays_open_takes_the_same_memory_after_any_number_of_loops() {
    let chunk = r#"{"type":"assistant_text_content","text":"a word or two"}"#;
    let talk = checkers::conversation(1, &vec![chunk.to_owned(); 20]);
    assert!(checkers::judged(&talk).is_empty());
    let is_active = |payload: &[u8]| payload.first() == Some(&3);
    let binary = |event: &diverge_protocol::transcript::Event| match &event.what {
        diverge_protocol::transcript::What::Binary(bytes) => is_active(&bytes[9..]),
        _ => false,
    };
    let start = talk.events.iter().position(binary).expect("a loop begins");
    // Active, twenty chunks and inactive, each of them relayed.
    let end = start + 2 * 22;
    let mut wrong = Vec::new();
    let mut checkers = Checkers::new(Profile::scope());
    talk.links.iter().for_each(|link| checkers.link(link));
    let mut play = |checkers: &mut Checkers, events: std::ops::Range<usize>| {
        let events = talk.events[events].iter();
        events.for_each(|event| checkers.event(event, &mut wrong));
    };
    play(&mut checkers, 0..start);
    let mut held = |loops: usize| {
        (0..loops).for_each(|_| play(&mut checkers, start..end));
        HEAP.current_usage()
    };
    let (few, many) = (held(10), held(LOOPS));
    // Whoever runs this test has a thread of its own that allocates too, though not for each loop.
    assert!(
        many < few + LOOPS,
        "{few} bytes are held after ten loops, and {many} after {LOOPS} more"
    );
    play(&mut checkers, end..talk.events.len());
    checkers.end(&mut wrong);
    assert!(wrong.is_empty(), "{wrong:?}");
}
