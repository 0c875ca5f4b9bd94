//! The begin scope's words on their way to the client: what a faithful relay must deliver, by byte equality.

mod strange;

use std::collections::VecDeque;

use bytes::Bytes;

use super::catalogue::RequirementId;
use super::violation::Cx;
use super::{Outstanding, OutstandingKind, id};
use crate::wire::begin::{BeginKind, BeginResponse};

/// How many words may be under way before the relay is no longer followed.
const MOST_DUE: usize = 1 << 16;
/// How many delivered chunks are remembered, to know one that comes twice.
const RECENT: usize = 16;
/// How many overtaken chunks are remembered, to know one that comes late.
const MISSING: usize = 64;

/// A kind of word that goes from the proxy to the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    Chunk,
    Active,
    Inactive,
    Error,
}

impl Word {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Chunk => "a chunk",
            Self::Active => "an active",
            Self::Inactive => "an inactive",
            Self::Error => "an error",
        }
    }

    fn relayed(self) -> RequirementId {
        match self {
            Self::Chunk => id::CHUNK_RELAYED,
            Self::Active => id::ACTIVE_RELAYED,
            Self::Inactive => id::INACTIVE_RELAYED,
            Self::Error => id::ERROR_RELAYED,
        }
    }

    fn outstanding(self) -> OutstandingKind {
        match self {
            Self::Chunk => OutstandingKind::Chunk,
            Self::Active => OutstandingKind::Active,
            Self::Inactive => OutstandingKind::Inactive,
            Self::Error => OutstandingKind::Error,
        }
    }
}

/// A word of the proxy's that has not reached the client.
#[derive(Debug, Clone)]
struct Due {
    word: Word,
    body: Bytes,
    seq: u64,
    /// It may be dropped.
    optional: bool,
    /// The proxy sent it outside a loop.
    outside: bool,
}

impl Due {
    fn is(&self, word: Word, body: &[u8]) -> bool {
        self.word == word && (word == Word::Active || self.body == body)
    }
}

/// A chunk that later words have overtaken.
#[derive(Debug)]
struct Missing {
    body: Bytes,
    seq: u64,
    reported: bool,
}

/// What the proxy of one run has said, and how much of it has reached the client.
#[derive(Debug, Default)]
pub(super) struct Relay {
    pub(super) begun: bool,
    in_loop: bool,
    /// The proxy has said its error.
    errored: bool,
    /// The proxy has finished the begin scope.
    finished: bool,
    /// The proxy has left its order: bytes may be dropped, and the run may end.
    pub(super) disorder: bool,
    /// The proxy has sent a chunk outside a loop: the run may end for that.
    strayed: bool,
    /// Nothing is owed any more.
    released: bool,
    /// More was under way than is followed.
    blind: bool,
    due: VecDeque<Due>,
    recent: VecDeque<Bytes>,
    missing: Vec<Missing>,
    /// What is left of a chunk of which a part has come.
    rest: Option<Bytes>,
}

impl Relay {
    /// The proxy sent a response on the begin scope. Tells whether this may end the run.
    pub(super) fn proxy_says(&mut self, payload: &Bytes, cx: &Cx<'_>) -> bool {
        let Ok(kind) = BeginKind::of(cx.profile, payload) else {
            self.lose_order();
            return true;
        };
        if self.errored || self.finished {
            self.lose_order();
        }
        let outside = !self.in_loop;
        match kind {
            BeginKind::Begun => {
                if self.begun || BeginResponse::decode(cx.profile, payload).is_err() {
                    self.lose_order();
                }
                self.begun = true;
                return self.disorder;
            }
            BeginKind::Error => {
                self.errored = true;
                if self.begun {
                    if BeginResponse::decode(cx.profile, payload).is_err() {
                        self.lose_order();
                    }
                    self.push(Word::Error, payload, cx.seq, false);
                }
                return true;
            }
            BeginKind::Chunk => {
                if !self.begun {
                    self.lose_order();
                }
                self.strayed |= outside;
                self.push(Word::Chunk, payload, cx.seq, outside);
            }
            BeginKind::Active => {
                // What stands behind the byte makes it no active for a reader that is strict.
                if !self.begun || self.in_loop || payload.len() > 1 {
                    self.lose_order();
                }
                self.in_loop = true;
                self.push(Word::Active, payload, cx.seq, outside);
            }
            BeginKind::Inactive => {
                if !self.begun || !self.in_loop {
                    self.lose_order();
                }
                self.in_loop = false;
                self.push(Word::Inactive, payload, cx.seq, outside);
            }
        }
        self.disorder || self.strayed
    }

    /// The proxy finished the begin scope.
    pub(super) fn proxy_finishes(&mut self) {
        if self.finished {
            self.lose_order();
        }
        self.finished = true;
    }

    /// The proxy left its order.
    pub(super) fn lose_order(&mut self) {
        self.disorder = true;
        self.released = true;
    }

    /// What has not been delivered is no longer due.
    pub(super) fn release(&mut self) {
        self.released = true;
    }

    /// The run is over.
    pub(super) fn clear(&mut self) {
        self.release();
        self.due = VecDeque::new();
        self.recent = VecDeque::new();
        self.missing = Vec::new();
        self.rest = None;
    }

    pub(super) fn outstanding(&self, into: &mut Vec<Outstanding>) {
        if self.released {
            return;
        }
        let missing = self.missing.iter().filter(|it| !it.reported);
        into.extend(missing.map(|it| Outstanding {
            kind: OutstandingKind::Chunk,
            seq: it.seq,
        }));
        let due = self.due.iter().filter(|due| !due.optional);
        into.extend(due.map(|due| Outstanding {
            kind: due.word.outstanding(),
            seq: due.seq,
        }));
    }

    fn push(&mut self, word: Word, payload: &Bytes, seq: u64, outside: bool) {
        if self.due.len() >= MOST_DUE {
            self.blind = true;
            return;
        }
        let body = if word == Word::Active {
            Bytes::new()
        } else {
            payload.slice(1..)
        };
        let optional = outside && word == Word::Chunk;
        self.due.push_back(Due {
            word,
            body,
            seq,
            optional,
            outside,
        });
    }

    /// The client got a word after the id. Tells whether the proxy itself may have sent it outside a loop.
    pub(super) fn delivered(&mut self, word: Word, body: Bytes, cx: &mut Cx<'_>) -> bool {
        if self.missing.is_empty()
            && self.rest.is_none()
            && self.due.front().is_some_and(|due| due.is(word, &body))
        {
            let Some(due) = self.due.pop_front() else {
                return false;
            };
            if word == Word::Chunk {
                self.remember(due.body);
            }
            return due.outside || self.disorder;
        }
        self.delivered_otherwise(word, &body, cx) || self.disorder
    }

    fn remember(&mut self, body: Bytes) {
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(body);
    }

    fn delivered_otherwise(&mut self, word: Word, body: &Bytes, cx: &mut Cx<'_>) -> bool {
        if word != Word::Chunk {
            self.rest = None;
            self.report_missing(cx);
        }
        if let Some(at) = self.position(|due| due.is(word, body)) {
            self.skip(at, word, cx);
            return self.take(at);
        }
        if self.blind {
            return true;
        }
        match word {
            Word::Chunk => self.strange_chunk(body, cx),
            Word::Active | Word::Inactive => self.strange_word(word, body, cx),
            Word::Error => self.strange_error(body, cx),
        }
    }

    fn position(&self, matches: impl Fn(&Due) -> bool) -> Option<usize> {
        self.due.iter().position(matches)
    }

    /// Takes the word at a place, and everything before it.
    fn take(&mut self, at: usize) -> bool {
        let Some(due) = self.due.drain(..=at).next_back() else {
            return false;
        };
        if due.word == Word::Chunk {
            self.remember(due.body);
        }
        due.outside
    }

    /// A word came although those before its place have not.
    fn skip(&mut self, before: usize, word: Word, cx: &mut Cx<'_>) {
        if self.released {
            return;
        }
        let mut flagged = Vec::new();
        for due in self.due.iter().take(before).filter(|due| !due.optional) {
            let overtaken =
                due.word == Word::Chunk && word == Word::Chunk && self.missing.len() < MISSING;
            if !overtaken && !flagged.contains(&due.word) {
                flagged.push(due.word);
                let allowed = format!(
                    "{} that the proxy sent first (event {})",
                    due.word.name(),
                    due.seq
                );
                cx.flag(
                    due.word.relayed(),
                    allowed,
                    format!("{} that it sent later", word.name()),
                );
            }
            if due.word == Word::Chunk && self.missing.len() < MISSING {
                self.missing.push(Missing {
                    body: due.body.clone(),
                    seq: due.seq,
                    reported: !overtaken,
                });
            }
        }
    }

    /// Chunks that were overtaken can no longer come in their loop.
    fn report_missing(&mut self, cx: &mut Cx<'_>) {
        if let Some(lost) = self
            .missing
            .iter()
            .find(|it| !it.reported)
            .filter(|_| !self.released)
        {
            let allowed = format!("first the chunk that the proxy sent at event {}", lost.seq);
            cx.flag(
                id::CHUNK_RELAYED,
                allowed,
                "the end of its loop or of the run",
            );
        }
        for missing in &mut self.missing {
            missing.reported = true;
        }
    }

    /// The run's finish came after its id.
    pub(super) fn finish(&mut self, cx: &mut Cx<'_>) {
        self.report_missing(cx);
        if !self.released && !self.strayed {
            let mut flagged = Vec::new();
            for due in self.due.iter().filter(|due| !due.optional) {
                if !flagged.contains(&due.word) {
                    flagged.push(due.word);
                    let allowed = format!(
                        "first {} that the proxy sent (event {})",
                        due.word.name(),
                        due.seq
                    );
                    cx.flag(due.word.relayed(), allowed, "the finish");
                }
            }
        }
        self.clear();
    }

    /// The scenario is over: what later words have overtaken has not come.
    pub(super) fn end(&mut self, cx: &mut Cx<'_>) {
        self.report_missing(cx);
    }
}
