//! A recorded transcript, judged by the checkers that judge a run while it goes on.

use std::io::{BufReader, Read};

use diverge_protocol::rules::Violation;

use super::{TOLD, is_stated, story, to_usize, unreadable};
use crate::cli::CheckArgs;
use crate::recorded::{Judged, Recorded};
use crate::report::style::{BAD, GOOD, count, paint, say};
use crate::report::{Mask, around};
use crate::verdict::Exit;

/// Judges a transcript from its first line on, which has this number.
pub(super) fn check(
    first: &[u8],
    number: u64,
    input: &mut BufReader<impl Read>,
    args: &CheckArgs,
) -> Exit {
    let recorded = match Recorded::read(first, number, input) {
        Ok(recorded) => recorded,
        Err(error) => return unreadable(args, &error),
    };
    let transcript = &recorded.transcript;
    let judged = Judged::of(transcript);
    if judged.is_empty() {
        say(&format!(
            "{}: this transcript tells neither what a provider says to a client nor what a proxy says to its host, so \
            nothing passes; agent servers and clients are judged while they run",
            paint(BAD, "fail")
        ));
        return Exit::Fails;
    }
    if let Some(silent) = judged.iter().find(|it| !it.says_something(transcript)) {
        say(&format!(
            "{}: {} says nothing in this transcript, so nothing passes",
            paint(BAD, "fail"),
            silent.name()
        ));
        return Exit::Fails;
    }
    let mut wrong: Vec<_> = judged.iter().flat_map(|it| it.judge(transcript)).collect();
    wrong.sort_by_key(|violation| violation.seq);
    let (mut failed, mut warned) = (0, 0);
    for at_once in wrong.chunk_by(|a, b| a.seq == b.seq) {
        *(if at_once.iter().any(is_stated) {
            &mut failed
        } else {
            &mut warned
        }) += 1;
        if failed + warned <= TOLD {
            say(&story(&place(&recorded, at_once), at_once, None));
        }
        if failed + warned == 1 {
            let mask = Mask::of(transcript, &recorded.stand_ins);
            say(&around(transcript, at_once[0].seq, &mask));
        }
    }
    if failed + warned > TOLD {
        let untold = to_usize(failed + warned - TOLD);
        say(&format!(
            "and {} not shown\n",
            count(untold, "more message")
        ));
    }
    let judged = count(transcript.events.len(), "message");
    let counts = format!("{judged}, {failed} failed, {warned} warned");
    if failed > 0 || (args.strict && warned > 0) {
        say(&format!("{}: {counts}", paint(BAD, "fail")));
        return Exit::Fails;
    }
    say(&format!("{}: {counts}", paint(GOOD, "conforms")));
    Exit::Conforms
}

/// Which message is at fault, as the diagram numbers it and where it stands in the input.
fn place(recorded: &Recorded, wrong: &[Violation]) -> String {
    let seq = wrong.first().map_or(0, |violation| violation.seq);
    match recorded.lines.get(to_usize(seq)) {
        Some(line) => format!("message {seq}, line {line}"),
        None => format!("message {seq}"),
    }
}
