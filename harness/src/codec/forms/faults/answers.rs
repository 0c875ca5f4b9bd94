//! What is wrong about what is answered.

use diverge_protocol::wire::surface::Surface;

use super::super::{Form, Manner, Payload, answer, hollow};
use super::fault;

pub(super) fn all() -> Vec<Form> {
    let judged =
        |name, requirement, about, judge| fault(name, requirement, about, Manner::Judges(judge));
    vec![
        judged(
            "codec-swaps-refusals",
            "codec.answers.kind",
            "It takes one refusal for another.",
            |_, verdict| match verdict.ok() {
                Some("volume-held") => Some("volume-mounted"),
                kind => kind,
            },
        ),
        judged(
            "codec-names-the-frame",
            "codec.answers.kind",
            "It tells a chunk inside a response by its type.",
            |payload, verdict| match verdict.ok() {
                Some("chunk") => payload.types().into_iter().next(),
                kind => kind,
            },
        ),
        judged(
            "codec-kinds-in-lower-case",
            "codec.answers.kind",
            "It spells kinds its own way.",
            |_, verdict| match verdict.ok() {
                Some("assistant_text") => Some("AssistantText"),
                Some("response-finish") => Some("response_finish"),
                kind => kind,
            },
        ),
        fault(
            "codec-explains",
            "codec.answers.line",
            "It tells why it rejects, on the same line.",
            Manner::Says(|line| match answer(line, |_, verdict| verdict.ok()) {
                answer if answer == "reject" => "reject: malformed\n".to_owned(),
                answer => answer + "\n",
            }),
        ),
        fault(
            "codec-skips-empty",
            "codec.answers.line",
            "It does not answer where a payload has no byte.",
            Manner::Says(|line| match line.trim_end().contains(' ') {
                true => answer(line, |_, verdict| verdict.ok()) + "\n",
                false => String::new(),
            }),
        ),
        fault(
            "codec-dies-of-deep-ones",
            "codec.answers.line",
            "It dies of a payload that nests three lists.",
            Manner::Says(|line| match line.contains("5b5b5b") {
                true => hollow::DIES.to_owned(),
                false => answer(line, |_, verdict| verdict.ok()) + "\n",
            }),
        ),
        fault(
            "codec-knows-no-frames",
            "codec.answers.line",
            "It answers with a question mark to what it does not know.",
            Manner::Says(|line| match line.starts_with("path-") {
                true => "?\n".to_owned(),
                false => answer(line, |_, verdict| verdict.ok()) + "\n",
            }),
        ),
    ]
}

impl Payload<'_> {
    /// The chunk types that stand in it.
    fn types(&self) -> Vec<&'static str> {
        let kinds = Surface::Chunk.kinds();
        kinds
            .into_iter()
            .filter(|kind| self.has(&format!("\"{kind}\"")))
            .collect()
    }
}
