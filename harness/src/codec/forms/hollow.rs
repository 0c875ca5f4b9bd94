//! Codecs that know nothing: none may pass a single scenario.

use std::collections::BTreeSet;

use diverge_protocol::wire::surface::Surface;

use super::{Form, Manner, Pen};
use crate::mutants::Duty;

/// What a form says that dies instead.
pub(super) const DIES: &str = "\0";

pub(super) fn all() -> Vec<Form> {
    let form = |name, about, manner| Form {
        name,
        about,
        duty: Duty::NothingPasses,
        manner,
    };
    let mut all = vec![
        form(
            "codec-rejects-all",
            "It rejects everything.",
            Manner::Repeats("reject"),
        ),
        form(
            "codec-accepts-blindly",
            "It accepts everything, with the kind that a look at it suggests.",
            Manner::Judges(|payload, verdict| verdict.ok().or_else(|| Some(payload.looks_like()))),
        ),
        form(
            "codec-accepts-first-kind",
            "It accepts everything, with the first kind of what it is asked about.",
            Manner::Judges(|payload, _| payload.surface.kinds().first().copied()),
        ),
        form(
            "codec-echoes",
            "It writes what it reads.",
            Manner::Says(|line| format!("{line}\n")),
        ),
        form(
            "codec-repeats-the-frame",
            "It accepts everything, with what it is asked about as the kind.",
            Manner::Says(|line| format!("accept {}\n", line.split(' ').next().unwrap_or_default())),
        ),
        form(
            "codec-silent",
            "It reads everything and writes nothing.",
            Manner::Says(|_| String::new()),
        ),
        form(
            "codec-blank",
            "It answers with empty lines.",
            Manner::Says(|_| "\n".to_owned()),
        ),
        form(
            "codec-accepts-without-kind",
            "It accepts everything, and names no kind.",
            Manner::Repeats("accept"),
        ),
        form(
            "codec-says-ok",
            "It answers everything with a word of its own.",
            Manner::Repeats("ok"),
        ),
        form(
            "codec-dies",
            "It dies of the first line.",
            Manner::Says(|_| DIES.to_owned()),
        ),
        form(
            "codec-one-line-few",
            "It is right, but does not answer the last line.",
            Manner::Writes(one_line_few),
        ),
        form(
            "codec-one-line-more",
            "It is right, but writes one line more.",
            Manner::Writes(one_line_more),
        ),
        form(
            "codec-first-line-missing",
            "It is right, but does not answer the first line.",
            Manner::Writes(first_missing),
        ),
        form(
            "codec-title-line",
            "It is right, but writes a title first.",
            Manner::Writes(title),
        ),
        form(
            "codec-floods",
            "It answers each line a thousand times.",
            Manner::Says(|_| "reject\n".repeat(1000)),
        ),
        form(
            "codec-the-opposite",
            "It accepts what is malformed and rejects what is not.",
            Manner::Judges(|payload, verdict| verdict.err().map(|_| payload.looks_like())),
        ),
    ];
    let kinds: BTreeSet<&'static str> = Surface::ALL
        .iter()
        .flat_map(|surface| surface.kinds())
        .collect();
    all.extend(kinds.into_iter().map(|kind| {
        let line: &'static str = Box::leak(format!("accept {kind}").into_boxed_str());
        let name: &'static str =
            Box::leak(format!("codec-accepts-as-{}", kind.replace('_', "-")).into_boxed_str());
        form(
            name,
            "It accepts everything, with one kind.",
            Manner::Repeats(line),
        )
    }));
    // Two kinds may differ in their hyphens alone.
    all.sort_by_key(|form| form.name);
    all.dedup_by_key(|form| form.name);
    all
}

fn one_line_few(pen: Pen<'_>) {
    let few = pen.answers.len().saturating_sub(1);
    let text: String = pen.answers[..few]
        .iter()
        .flat_map(|answer| [answer, "\n"])
        .collect();
    pen.output.push(text.into_bytes());
}

fn one_line_more(pen: Pen<'_>) {
    let text: String = pen
        .answers
        .iter()
        .flat_map(|answer| [answer, "\n"])
        .collect();
    pen.output.push((text + "reject\n").into_bytes());
}

fn first_missing(pen: Pen<'_>) {
    let text: String = pen
        .answers
        .iter()
        .skip(1)
        .flat_map(|answer| [answer, "\n"])
        .collect();
    pen.output.push(text.into_bytes());
}

fn title(pen: Pen<'_>) {
    let text: String = pen
        .answers
        .iter()
        .flat_map(|answer| [answer, "\n"])
        .collect();
    pen.output
        .push(("codec 1.0\n".to_owned() + &text).into_bytes());
}
