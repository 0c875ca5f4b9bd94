//! The in-tree emitters: a conforming reference, its faults and conforming variants, and hollow ones.

use std::time::Duration;

use diverge_protocol::wire::agent_event::EventRevision;

use super::Judge;
pub use crate::mutants::Duty;
use crate::verdict::{Outcome, Verdict};

/// A stream, and what must come of it.
#[derive(Debug)]
pub struct Emitter {
    /// Its name.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub about: &'static str,
    /// What must come of it.
    pub duty: Duty,
    /// The revision of the surface that it writes, and is judged by.
    pub revision: EventRevision,
    /// The lines that it writes.
    pub lines: &'static [&'static str],
}

const LOOK: &str = r#"{"type":"assistant_text","delta":"I look. "}"#;
const USE: &str =
    r#"{"type":"tool_use","toolUseId":"use-1","tool":"read","input":{"path":"notes.txt"}}"#;
const RESULT: &str =
    r#"{"type":"tool_result","toolUseId":"use-1","output":"two lines","isError":false}"#;
const THERE: &str = r#"{"type":"assistant_text","delta":"There are "}"#;
const TWO: &str = r#"{"type":"assistant_text","delta":"two lines."}"#;
const COST: &str = r#"{"type":"cost","costUsd":0.0125,"tokens":{"input":812,"output":41,"cacheCreation":0,"cacheRead":512}}"#;
const DONE: &str = r#"{"type":"done","response":"There are two lines.","transcript":[{"role":"user","content":"How long are my notes?","timestampMs":1700000000000},{"role":"assistant","content":"There are two lines.","timestampMs":1700000001500}]}"#;
const ERROR: &str = r#"{"type":"error","message":"The model could not be reached."}"#;

const COMPACTED: &str = r#"{"type":"compaction_boundary","trigger":"auto","preTokens":180000,"postTokens":21000,"cumulativeDroppedTokens":159000,"durationMs":1840}"#;
const BY_PERSON: &str = r#"{"durationMs":0,"type":"compaction_boundary","trigger":"manual","postTokens":18446744073709551615,"preTokens":0,"cumulativeDroppedTokens":0,"why":[]}"#;
const TRIGGERED_BY_TIMER: &str = r#"{"type":"compaction_boundary","trigger":"timer","preTokens":2,"postTokens":1,"cumulativeDroppedTokens":1,"durationMs":1}"#;
const WITHOUT_DURATION: &str = r#"{"type":"compaction_boundary","trigger":"auto","preTokens":2,"postTokens":1,"cumulativeDroppedTokens":1}"#;

/// The conforming reference.
pub static REFERENCE: Emitter = Emitter {
    name: "reference",
    about: "A run that reads a file and answers.",
    duty: Duty::Green,
    revision: EventRevision::Document,
    lines: &[LOOK, USE, RESULT, THERE, TWO, COST, DONE],
};

const fn fault(
    name: &'static str,
    requirement: &'static str,
    about: &'static str,
    lines: &'static [&'static str],
) -> Emitter {
    let duty = Duty::Caught(requirement);
    Emitter {
        name,
        about,
        duty,
        revision: EventRevision::Document,
        lines,
    }
}

const fn variant(
    name: &'static str,
    about: &'static str,
    lines: &'static [&'static str],
) -> Emitter {
    let duty = Duty::Green;
    Emitter {
        name,
        about,
        duty,
        revision: EventRevision::Document,
        lines,
    }
}

const fn hollow(
    name: &'static str,
    about: &'static str,
    lines: &'static [&'static str],
) -> Emitter {
    let duty = Duty::NothingPasses;
    Emitter {
        name,
        about,
        duty,
        revision: EventRevision::Document,
        lines,
    }
}

const fn later(emitter: Emitter) -> Emitter {
    Emitter {
        revision: EventRevision::Compaction,
        ..emitter
    }
}

static MUTANTS: &[Emitter] = &[
    hollow("event-silent", "It writes nothing.", &[]),
    hollow("event-blank", "It writes blank lines.", &["", " ", ""]),
    hollow(
        "event-garbage",
        "It writes lines that are no JSON.",
        &["started", "{", "\u{fffd}"],
    ),
    hollow("event-one-line", "It writes one fragment of text.", &[LOOK]),
    hollow(
        "event-end-only",
        "It fails at once, and shows nothing else.",
        &[ERROR],
    ),
    hollow(
        "event-empty-objects",
        "It writes objects without a type.",
        &["{}", "{}"],
    ),
    fault(
        "event-custom",
        "events.known-type",
        "It writes the type that is reserved.",
        &[LOOK, r#"{"type":"custom","name":"x"}"#, COST, DONE],
    ),
    fault(
        "event-as-array",
        "events.known-type",
        "It writes an event as an array.",
        &[r#"["assistant_text","I look. "]"#, COST, DONE],
    ),
    fault(
        "event-without-input",
        "events.members",
        "A tool's use has no input.",
        &[
            LOOK,
            r#"{"type":"tool_use","toolUseId":"use-1","tool":"read"}"#,
            COST,
            DONE,
        ],
    ),
    fault(
        "event-tokens-as-text",
        "events.members",
        "A count of tokens is a string.",
        &[
            LOOK,
            r#"{"type":"cost","costUsd":0.1,"tokens":{"input":"812"}}"#,
            DONE,
        ],
    ),
    fault(
        "event-snake-case",
        "events.members",
        "Members are in snake case.",
        &[LOOK, r#"{"type":"cost","cost_usd":0.1,"tokens":{}}"#, DONE],
    ),
    fault(
        "event-of-later-revision",
        "events.known-type",
        "It writes the compaction that the document does not have.",
        &[LOOK, COMPACTED, THERE, TWO, COST, DONE],
    ),
    later(fault(
        "compaction-custom",
        "events.known-type",
        "It writes the reserved type, which the later revision does not ship either.",
        &[LOOK, r#"{"type":"custom"}"#, COMPACTED, COST, DONE],
    )),
    later(fault(
        "compaction-trigger-unknown",
        "events.members",
        "A compaction has a trigger that there is not.",
        &[LOOK, TRIGGERED_BY_TIMER, THERE, TWO, COST, DONE],
    )),
    later(fault(
        "compaction-without-duration",
        "events.members",
        "A compaction does not tell how long it took.",
        &[LOOK, WITHOUT_DURATION, THERE, TWO, COST, DONE],
    )),
    later(fault(
        "compaction-behind-done",
        "events.silent-after-end",
        "A compaction comes behind the end.",
        &[THERE, TWO, COST, DONE, COMPACTED],
    )),
    fault(
        "cost-twice",
        "events.cost-once",
        "The cost comes twice.",
        &[THERE, TWO, COST, COST, DONE],
    ),
    fault(
        "cost-behind-done",
        "events.cost-before-end",
        "The cost comes behind the end.",
        &[THERE, TWO, DONE, COST],
    ),
    fault(
        "cost-behind-error",
        "events.cost-before-end",
        "The cost comes behind the failure.",
        &[THERE, ERROR, COST],
    ),
    fault(
        "cost-never",
        "events.cost-of-success",
        "A run succeeds without a cost.",
        &[THERE, TWO, DONE],
    ),
    fault(
        "done-twice",
        "events.ends-once",
        "The run succeeds twice.",
        &[THERE, TWO, COST, DONE, DONE],
    ),
    fault(
        "done-then-error",
        "events.ends-once",
        "The run succeeds, then fails.",
        &[THERE, TWO, COST, DONE, ERROR],
    ),
    fault(
        "text-behind-done",
        "events.silent-after-end",
        "Text comes behind the end.",
        &[THERE, TWO, COST, DONE, LOOK],
    ),
    fault(
        "result-of-nothing",
        "events.result-of-use",
        "A result names no use.",
        &[LOOK, RESULT, COST, DONE],
    ),
    fault(
        "result-first",
        "events.result-of-use",
        "A result comes before its use.",
        &[LOOK, RESULT, USE, COST, DONE],
    ),
    fault(
        "result-twice",
        "events.result-once",
        "A use has two results.",
        &[USE, RESULT, RESULT, COST, DONE],
    ),
    fault(
        "event-cut-short",
        "events.ended",
        "The stream stops before the run's end.",
        &[LOOK, USE, RESULT, THERE],
    ),
    variant(
        "event-failed-run",
        "A run that fails tells no cost.",
        &[LOOK, USE, ERROR],
    ),
    variant(
        "event-failed-run-with-cost",
        "A run that fails tells its cost.",
        &[LOOK, COST, ERROR],
    ),
    later(variant(
        "event-compaction",
        "Earlier turns are compacted, by the agent and by a person.",
        &[
            LOOK, COMPACTED, USE, RESULT, BY_PERSON, THERE, TWO, COST, DONE,
        ],
    )),
    later(variant(
        "event-compaction-never",
        "A run of the later revision that compacts nothing.",
        &[THERE, TWO, COST, DONE],
    )),
    variant(
        "event-no-tools",
        "A run without tools.",
        &[THERE, TWO, COST, DONE],
    ),
    variant(
        "event-early-cost",
        "The cost comes in front of the last text.",
        &[THERE, COST, TWO, DONE],
    ),
    variant(
        "event-no-text",
        "A run whose text comes in its end only.",
        &[USE, RESULT, COST, DONE],
    ),
    variant(
        "event-other-response",
        "A response that the fragments do not end with is noted.",
        &[LOOK, COST, DONE],
    ),
    variant(
        "event-id-again",
        "A tool use id that comes again is a use of its own.",
        &[USE, RESULT, USE, RESULT, THERE, TWO, COST, DONE],
    ),
    variant(
        "event-no-result",
        "A use without a result.",
        &[LOOK, USE, THERE, TWO, COST, DONE],
    ),
    variant(
        "event-spelling",
        "Members in another order, unknown ones, escapes, absent and null ones.",
        &[
            r#" { "delta" : "There are two lines.", "more" : [ 1 ], "type" : "assistant_text" } "#,
            r#"{"input":[],"tool":"read","toolUseId":"\u0075se","type":"tool_use"}"#,
            r#"{"type":"tool_result","toolUseId":"use","output":null,"isError":null}"#,
            r#"{"type":"cost","costUsd":1e-3,"tokens":{"input":null}}"#,
            DONE,
        ],
    ),
    variant(
        "event-blank-lines",
        "Blank lines between events.",
        &["", LOOK, "", COST, DONE, ""],
    ),
];

/// Every emitter but the reference: hollow ones, faults, variants.
pub fn all() -> impl Iterator<Item = &'static Emitter> {
    MUTANTS.iter()
}

/// The emitter of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Emitter> {
    all().find(|emitter| emitter.name == name)
}

impl Emitter {
    /// Its stream, judged by a revision.
    #[must_use]
    pub fn judge(&self, revision: EventRevision) -> Judge {
        let mut judge = Judge::new(self.name, revision);
        self.lines
            .iter()
            .for_each(|line| judge.line(line.as_bytes()));
        judge
    }

    /// The results of its stream, by its own revision.
    #[must_use]
    pub fn outcomes(&self) -> Vec<Outcome> {
        self.judge(self.revision).outcomes(Duration::ZERO)
    }

    /// What did not come of it as it must.
    #[must_use]
    pub fn wrong(&self) -> Vec<String> {
        let outcomes = self.outcomes();
        let flagged = |it: &Outcome| matches!(it.verdict, Verdict::Fail | Verdict::Warn);
        let told = |it: &Outcome| format!("{}: {}", it.id, it.verdict.as_str());
        let passing = |it: &&Outcome| it.verdict == Verdict::Pass;
        match self.duty {
            Duty::Caught(requirement) => {
                let catches =
                    |it: &Outcome| flagged(it) && it.requirements[0].as_str() == requirement;
                match outcomes.iter().any(catches) {
                    true => Vec::new(),
                    false => vec![format!("survives the check of {requirement}")],
                }
            }
            Duty::Green => {
                let fine =
                    |it: &&Outcome| !matches!(it.verdict, Verdict::Pass | Verdict::NotApplicable);
                let mut wrong: Vec<String> = outcomes.iter().filter(fine).map(told).collect();
                if !outcomes.iter().any(|it| it.verdict == Verdict::Pass) {
                    wrong.push("nothing passes".to_owned());
                }
                wrong
            }
            Duty::NothingPasses => outcomes.iter().filter(passing).map(told).collect(),
        }
    }
}
