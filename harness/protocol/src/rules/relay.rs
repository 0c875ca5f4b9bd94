//! The begin scope's words on their way to the client: what a faithful relay must deliver, by byte equality.

use std::collections::VecDeque;

use bytes::Bytes;

use super::catalogue::RequirementId;
use super::violation::{Cx, Length, difference};
use super::{Outstanding, OutstandingKind, id, json};
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

    fn strange_chunk(&mut self, body: &Bytes, cx: &mut Cx<'_>) -> bool {
        let length = Length(body.len());
        if let Some(at) = self.missing.iter().position(|it| it.body == body) {
            let late = self.missing.remove(at);
            let allowed = format!("the chunk of event {} before those sent after it", late.seq);
            cx.flag(id::CHUNK_IN_ORDER, allowed, "the same chunk behind them");
            return false;
        }
        if let Some(rest) = self.rest.take().filter(|rest| rest.starts_with(body)) {
            self.rest = (rest.len() > body.len()).then(|| rest.slice(body.len()..));
            return false;
        }
        if self.recent.contains(body) {
            cx.flag(
                id::CHUNK_ONE_EACH,
                "each chunk of the proxy's once",
                format!("a chunk of {length} that came before"),
            );
            return false;
        }
        if let Some(outside) = self.cut_or_joined(body, cx) {
            return outside;
        }
        let changed = |due: &Due| due.word == Word::Chunk && same_chunk_changed(body, &due.body);
        let changed = self.due.iter().take(RECENT).position(changed);
        if let Some(at) = changed {
            self.skip(at, Word::Chunk, cx);
            let sent = self
                .due
                .get(at)
                .map(|due| due.body.clone())
                .unwrap_or_default();
            cx.flag(
                id::CHUNK_VERBATIM,
                "the proxy's chunk byte for byte",
                difference(body, &sent),
            );
            return self.take(at);
        }
        if let Some(at) = self
            .missing
            .iter()
            .position(|it| same_chunk_changed(body, &it.body))
        {
            let late = self.missing.remove(at);
            cx.flag(
                id::CHUNK_VERBATIM,
                "the proxy's chunk byte for byte",
                difference(body, &late.body),
            );
            return false;
        }
        let allowed = match self.due.iter().find(|due| !due.optional) {
            Some(due) => format!("{} that the proxy sent", due.word.name()),
            None => "nothing, since everything that the proxy sent has come".to_owned(),
        };
        cx.flag(
            id::CHUNK_NOT_INVENTED,
            allowed,
            format!("a chunk of {length} that the proxy did not send"),
        );
        false
    }

    /// A response that holds a part of the next chunk, or several.
    fn cut_or_joined(&mut self, body: &Bytes, cx: &mut Cx<'_>) -> Option<bool> {
        let at = self.position(|due| due.word == Word::Chunk && !due.body.is_empty())?;
        let first = self.due.get(at)?.body.clone();
        let allowed = "each chunk of the proxy's as one response";
        if !body.is_empty()
            && first.len() > body.len()
            && first.starts_with(body)
            && !json::is_json(body)
        {
            self.skip(at, Word::Chunk, cx);
            cx.flag(
                id::CHUNK_ONE_EACH,
                allowed,
                format!("the first {} of {}", Length(body.len()), first.len()),
            );
            self.rest = Some(first.slice(body.len()..));
            return Some(self.take(at));
        }
        let second = self
            .due
            .get(at + 1)
            .filter(|due| due.word == Word::Chunk && !due.body.is_empty())?
            .body
            .clone();
        if body.len() >= first.len() + second.len()
            && body.starts_with(&first)
            && body.ends_with(&second)
        {
            self.skip(at, Word::Chunk, cx);
            cx.flag(
                id::CHUNK_ONE_EACH,
                allowed,
                format!("several chunks in one response of {}", Length(body.len())),
            );
            return Some(self.take(at + 1));
        }
        None
    }

    fn strange_word(&mut self, word: Word, body: &Bytes, cx: &mut Cx<'_>) -> bool {
        let spoken = |due: &Due| due.word == Word::Chunk && speaks(&due.body, word);
        let same =
            |due: &Due| word == Word::Inactive && due.word == Word::Chunk && due.body == body;
        if let Some(at) = self.position(same) {
            return self.forged(at, word, cx);
        }
        if let Some(at) = self.position(|due| word == Word::Inactive && due.word == Word::Inactive)
        {
            self.skip(at, word, cx);
            let sent = self
                .due
                .get(at)
                .map(|due| due.body.clone())
                .unwrap_or_default();
            cx.flag(
                id::INACTIVE_VERBATIM,
                "the proxy's values byte for byte",
                difference(body, &sent),
            );
            return self.take(at);
        }
        let next = self.due.iter().position(|due| !due.optional);
        if let Some(at) = next.filter(|at| self.due.get(*at).is_some_and(spoken)) {
            return self.forged(at, word, cx);
        }
        let rule = if word == Word::Active {
            id::ACTIVE_NOT_INVENTED
        } else {
            id::INACTIVE_NOT_INVENTED
        };
        cx.flag(
            rule,
            "only words that the proxy sent",
            format!("{} that it did not send", word.name()),
        );
        false
    }

    fn forged(&mut self, at: usize, word: Word, cx: &mut Cx<'_>) -> bool {
        if let Some(due) = self.due.get_mut(at) {
            due.optional = true;
            let allowed = format!("the chunk of event {} as a chunk", due.seq);
            cx.flag(
                id::WORDS_NOT_FORGED,
                allowed,
                format!("{} in its place", word.name()),
            );
        }
        false
    }

    fn strange_error(&mut self, body: &Bytes, cx: &mut Cx<'_>) -> bool {
        if let Some(at) = self.position(|due| due.word == Word::Error) {
            self.skip(at, Word::Error, cx);
            let sent = self
                .due
                .get(at)
                .map(|due| due.body.clone())
                .unwrap_or_default();
            cx.flag(
                id::ERROR_VERBATIM,
                "the proxy's error byte for byte",
                difference(body, &sent),
            );
            return self.take(at);
        }
        let received = format!("an error of {}", Length(body.len()));
        cx.flag(
            id::ERROR_ONLY_FROM_PROXY,
            "no error, since the proxy ended begin with none",
            received,
        );
        false
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

/// Whether a chunk says one of the proxy's words in its own text.
fn speaks(body: &[u8], word: Word) -> bool {
    let name: &[u8] = if word == Word::Active {
        b"active"
    } else {
        b"inactive"
    };
    json::type_of(body).is_some_and(|kind| kind.as_bytes().eq_ignore_ascii_case(name))
        || body.first() == Some(&if word == Word::Active { 8 } else { 9 })
}

/// Whether a chunk is another one with changes, rather than one of its own.
fn same_chunk_changed(received: &[u8], sent: &[u8]) -> bool {
    if let (Ok(a), Ok(b)) = (std::str::from_utf8(received), std::str::from_utf8(sent))
        && json::same_value(a, b)
    {
        return true;
    }
    let longer = received.len().max(sent.len());
    let start = received
        .iter()
        .zip(sent)
        .take_while(|(a, b)| a == b)
        .count();
    let left = received.len().min(sent.len()) - start;
    let end = received
        .iter()
        .rev()
        .zip(sent.iter().rev())
        .take(left)
        .take_while(|(a, b)| a == b)
        .count();
    (start + end) * 2 >= longer
        || json::type_of(received).is_some_and(|kind| json::type_of(sent) == Some(kind))
}
