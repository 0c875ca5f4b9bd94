//! Codecs that say what is right, each in a manner of its own.

use diverge_protocol::wire::leaves_open;

use super::{Form, Manner, Pen};
use crate::mutants::Duty;

pub(super) fn all() -> Vec<Form> {
    let form = |name, about, manner| Form {
        name,
        about,
        duty: Duty::Green,
        manner,
    };
    vec![
        form(
            "codec-at-the-end",
            "It answers once its input has ended, all at once.",
            Manner::Writes(|pen| pen.with("\n")),
        ),
        form(
            "codec-carriage-returns",
            "Its lines end with a carriage return and a line feed.",
            Manner::Writes(|pen| pen.with("\r\n")),
        ),
        form(
            "codec-trailing-spaces",
            "White space stands behind its answers.",
            Manner::Writes(|pen| pen.with(" \t\n")),
        ),
        form(
            "codec-byte-by-byte",
            "It flushes each byte.",
            Manner::Writes(byte_by_byte),
        ),
        form(
            "codec-in-blocks",
            "It flushes in blocks that end anywhere.",
            Manner::Writes(in_blocks),
        ),
        form(
            "codec-no-last-newline",
            "Its last line has no end.",
            Manner::Writes(no_last_newline),
        ),
        form(
            "codec-blank-lines-behind",
            "Empty lines stand behind its last answer.",
            Manner::Writes(blank_lines),
        ),
        form(
            "codec-refuses-what-is-open",
            "It rejects what may be taken or refused.",
            Manner::Refuses(|payload| leaves_open(payload.json())),
        ),
        form(
            "codec-takes-what-is-open",
            "It accepts what may be taken or refused.",
            Manner::Takes(|_, fault| fault.rule.is_open()),
        ),
    ]
}

fn byte_by_byte(pen: Pen<'_>) {
    let all = pen.all("\n");
    pen.output.extend(all.into_iter().map(|byte| vec![byte]));
}

fn in_blocks(pen: Pen<'_>) {
    const ODD: usize = 37;
    let all = pen.all("\n");
    pen.output.extend(all.chunks(ODD).map(<[u8]>::to_vec));
}

fn no_last_newline(pen: Pen<'_>) {
    let mut all = pen.all("\n");
    all.pop();
    pen.output.push(all);
}

fn blank_lines(pen: Pen<'_>) {
    let mut all = pen.all("\n");
    all.extend_from_slice(b"\n\n \n");
    pen.output.push(all);
}

impl Pen<'_> {
    fn all(&self, end: &str) -> Vec<u8> {
        self.answers
            .iter()
            .flat_map(|answer| [answer.as_bytes(), end.as_bytes()].concat())
            .collect()
    }

    fn with(self, end: &str) {
        let all = self.all(end);
        self.output.push(all);
    }
}
