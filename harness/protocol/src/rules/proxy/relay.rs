//! The loops of the agent server on their way to the host: what must come on the begin scope, and in which order.

use std::collections::VecDeque;

use bytes::Bytes;

use super::super::catalogue::RequirementId;
use super::super::json;
use super::super::violation::Cx;
use super::super::{Outstanding, OutstandingKind};
use super::{call, id};

/// How many relayed chunks are remembered, to know one that comes twice.
const RECENT: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    Active,
    Chunk,
    Inactive,
}

impl Word {
    fn outstanding(self) -> OutstandingKind {
        match self {
            Self::Active => OutstandingKind::Active,
            Self::Chunk => OutstandingKind::Chunk,
            Self::Inactive => OutstandingKind::Inactive,
        }
    }
}

/// A word that must come.
#[derive(Debug)]
struct Due {
    word: Word,
    data: Bytes,
    seq: u64,
    /// It may be left out.
    optional: bool,
}

/// A chunk that is none of those due, and the one whose place it took.
#[derive(Debug)]
struct Odd {
    instead_of: Bytes,
    seq: u64,
}

/// How the newest run went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Newest {
    #[default]
    None,
    Asked,
    Refused,
    Streams,
    Ended,
    Broke,
}

/// The words under way, and where the host is.
#[derive(Debug, Default)]
pub(super) struct Relay {
    due: VecDeque<Due>,
    newest: Newest,
    /// The last event told of a failure that ends the loop.
    fatal: bool,
    /// The last event was no JSON.
    malformed: bool,
    /// An event came that is no text, at which a reader may give up.
    unreadable: bool,
    /// The host has been told that a loop began.
    open: bool,
    /// It was told so before the loop began.
    early: bool,
    /// It was told of a chunk first.
    late: bool,
    /// It was told that the loop ended before it did.
    cut: bool,
    /// Chunks of the loop that later ones have overtaken.
    overtaken: Vec<Due>,
    odd: Option<Odd>,
    recent: VecDeque<Bytes>,
    /// The host has asked for something since begun.
    pub(super) asked: bool,
    /// When the host was last told that a loop ended.
    pub(super) inactive: Option<u64>,
}

impl Relay {
    /// A run is asked for.
    pub(super) fn asked_to_run(&mut self) {
        if self.newest != Newest::Streams {
            self.newest = Newest::Asked;
        }
    }

    /// The newest run is refused, or got no answer.
    pub(super) fn refused(&mut self) {
        self.newest = Newest::Refused;
    }

    /// The newest run starts.
    pub(super) fn started(&mut self, seq: u64) {
        self.newest = Newest::Streams;
        (self.fatal, self.malformed) = (false, false);
        (self.unreadable, self.cut) = (false, false);
        if !std::mem::take(&mut self.early) {
            self.push(Word::Active, Bytes::new(), seq, false);
        }
    }

    /// The newest run streamed an event.
    pub(super) fn streamed(&mut self, data: &Bytes, seq: u64) {
        self.unreadable |= std::str::from_utf8(data).is_err();
        self.fatal = call::is_fatal(data);
        self.malformed = call::value(data).is_none();
        if !self.cut {
            let optional = self.unreadable || self.malformed;
            self.push(Word::Chunk, data.clone(), seq, optional);
        }
    }

    /// The newest run's events are over.
    pub(super) fn ended(&mut self, broken: bool, seq: u64) {
        if self.newest != Newest::Streams {
            return;
        }
        self.newest = if broken { Newest::Broke } else { Newest::Ended };
        if broken {
            // What a connection held when it broke may be lost with it.
            let rest = self.due.iter_mut().rev();
            rest.take_while(|due| due.word == Word::Chunk)
                .for_each(|due| due.optional = true);
        }
        if !self.cut {
            self.push(Word::Inactive, Bytes::new(), seq, false);
        }
    }

    fn push(&mut self, word: Word, data: Bytes, seq: u64, optional: bool) {
        self.due.push_back(Due {
            word,
            data,
            seq,
            optional,
        });
    }

    /// Whether the host is in a loop of which the agent server still streams.
    pub(super) fn runs_for_certain(&self) -> bool {
        let told = !self.due.iter().any(|due| due.word == Word::Active);
        self.open && told && self.newest == Newest::Streams && !self.unreadable && !self.cut
    }

    /// What must still come, oldest first.
    pub(super) fn outstanding(&self) -> Vec<Outstanding> {
        let due = self.due.iter().filter(|due| !due.optional);
        let outstanding = |due: &Due| Outstanding {
            kind: due.word.outstanding(),
            seq: due.seq,
        };
        self.overtaken.iter().chain(due).map(outstanding).collect()
    }

    /// The chunk that should come next in the host's loop.
    fn next_chunk(&self) -> Option<&Due> {
        self.due.front().filter(|due| due.word == Word::Chunk)
    }

    /// Whether a word that does not fit is the next event, taken for a word of the proxy's own; then that event is not
    /// waited for.
    pub(super) fn forged(&mut self, name: &str, cx: &mut Cx<'_>) -> bool {
        let alike = self
            .next_chunk()
            .is_some_and(|due| json::type_of(&due.data).as_deref() == Some(name));
        if alike {
            self.due.pop_front();
            let allowed = "a chunk, whatever its event looks like";
            cx.flag(id::NOT_FORGED, allowed, format!("the word {name}"));
        }
        alike
    }

    /// Whether a payload is the next event without the byte of a chunk; then that event is not waited for.
    pub(super) fn unmarked(&mut self, payload: &[u8], cx: &mut Cx<'_>) -> bool {
        let alike = self.open && self.next_chunk().is_some_and(|due| due.data == payload);
        if alike {
            self.due.pop_front();
            let allowed = "the byte of a chunk ahead of the event";
            cx.flag(id::NOT_FORGED, allowed, "the event alone");
        }
        alike
    }

    /// What a word that belongs to no loop breaks.
    fn stray(&self, otherwise: RequirementId) -> RequirementId {
        match self.newest {
            _ if !self.asked => id::QUIET_WHEN_IDLE,
            Newest::Refused => id::REFUSED_NO_LOOP,
            _ => otherwise,
        }
    }

    /// The host is told that a loop begins.
    pub(super) fn active(&mut self, payload: &[u8], cx: &mut Cx<'_>) {
        if payload.len() > 1 {
            let received = "bytes behind the byte of an active";
            cx.flag(id::ACTIVE_BARE, "that byte alone", received);
        }
        if std::mem::take(&mut self.late) {
            return;
        }
        if self.open {
            if self.forged("active", cx) {
                return;
            }
            cx.flag(id::ALTERNATE, "an active after an inactive", "an active");
            // A loop's end that was left out.
            if let Some(next) = self.due.iter().position(|due| due.word == Word::Active) {
                self.due.drain(..=next);
            }
            return;
        }
        self.open = true;
        if self.due.front().is_some_and(|due| due.word == Word::Active) {
            self.due.pop_front();
            return;
        }
        self.early = true;
        let allowed = "an active once a run has started";
        cx.flag(self.stray(id::ACTIVE_NOT_INVENTED), allowed, "an active");
    }

    /// The host is told of a chunk.
    pub(super) fn chunk(&mut self, data: &Bytes, cx: &mut Cx<'_>) {
        if !self.open {
            let allowed = "an active ahead of the first chunk";
            if self.due.front().is_some_and(|due| due.word == Word::Active) {
                cx.flag(id::ACTIVE_FIRST, allowed, "a chunk");
                self.due.pop_front();
                (self.open, self.late) = (true, true);
            } else {
                cx.flag(
                    self.stray(id::CHUNK_INSIDE),
                    "a chunk within a loop",
                    "a chunk",
                );
                return;
            }
        }
        if let Some(odd) = self.odd.take() {
            if odd.instead_of == data {
                let (allowed, received) = ("a chunk for each event", "a chunk more");
                cx.flag_at(odd.seq, id::CHUNK_EACH, allowed, received);
                self.remember(data.clone());
                return;
            }
            not_verbatim(odd.seq, cx);
        }
        let loop_end = self.due.iter().position(|due| due.word != Word::Chunk);
        let chunks = self.due.iter().take(loop_end.unwrap_or(self.due.len()));
        if let Some(at) = chunks.clone().position(|due| due.data == data) {
            let skipped = self.due.drain(..=at).take(at);
            self.overtaken.extend(skipped.filter(|due| !due.optional));
            self.remember(data.clone());
        } else if let Some(at) = self.overtaken.iter().position(|due| due.data == data) {
            self.overtaken.remove(at);
            cx.flag(
                id::CHUNK_ORDER,
                "the order of the events",
                "a chunk that a later one overtook",
            );
        } else if self.recent.contains(data) {
            cx.flag(
                id::CHUNK_EACH,
                "a chunk for each event",
                "the same chunk again",
            );
        } else if let Some(due) = self.next_chunk() {
            let alike = call::value(&due.data)
                .zip(call::value(data))
                .is_some_and(|(due, data)| json::same_value(due, data));
            if let Some(due) = self.due.pop_front() {
                if alike {
                    not_verbatim(cx.seq, cx);
                } else {
                    self.odd = Some(Odd {
                        instead_of: due.data,
                        seq: cx.seq,
                    });
                }
            }
        } else if !self.unreadable {
            cx.flag(
                id::CHUNK_EACH,
                "a chunk for each event",
                "a chunk without an event",
            );
        }
    }

    fn remember(&mut self, data: Bytes) {
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(data);
    }

    /// The host is told that a loop ended; `body` stands behind the byte.
    pub(super) fn inactive(&mut self, body: &[u8], cx: &mut Cx<'_>) {
        judge_values(body, cx);
        if !self.open {
            if self.due.front().is_some_and(|due| due.word == Word::Active) {
                let allowed = "the active of the run that started";
                cx.flag(id::ACTIVE_FIRST, allowed, "an inactive");
                self.due.pop_front();
                self.late = true;
            } else {
                let allowed = "an inactive after an active";
                cx.flag(self.stray(id::ALTERNATE), allowed, "an inactive");
                return;
            }
        }
        let end = self.due.iter().position(|due| due.word == Word::Inactive);
        if end.is_none() {
            if self.forged("inactive", cx) {
                return;
            }
            if !self.unreadable && !self.early {
                let allowed = "the events of the loop to its end";
                cx.flag(id::INACTIVE_LAST, allowed, "an inactive before it");
            }
            self.cut = self.newest == Newest::Streams;
        }
        self.settle(cx);
        let rest: Vec<_> = self
            .due
            .drain(..end.map_or(self.due.len(), |end| end + 1))
            .collect();
        let lost = rest
            .iter()
            .find(|due| due.word == Word::Chunk && !due.optional);
        if let Some(lost) = lost.filter(|_| end.is_some()) {
            let allowed = format!("first the chunk of event {}", lost.seq);
            cx.flag(id::CHUNK_EACH, allowed, "an inactive");
        }
        (self.open, self.early) = (false, false);
        self.inactive = Some(cx.seq);
    }

    /// The loop is over for the host: what it still misses of what has been overtaken does not come.
    fn settle(&mut self, cx: &mut Cx<'_>) {
        if let Some(odd) = self.odd.take() {
            not_verbatim(odd.seq, cx);
        }
        if let Some(lost) = self.overtaken.drain(..).next() {
            let allowed = format!("the chunk of event {}", lost.seq);
            cx.flag(id::CHUNK_EACH, allowed, "the chunks behind it, without it");
        }
    }

    /// An error came behind begun. Whether it stands where an inactive would, as after secrets that cannot be
    /// collected; what it breaks, where it does not and the relay can tell.
    pub(super) fn error(&self) -> Result<(), Option<RequirementId>> {
        match self.newest {
            _ if self.suspect().is_some() => Err(self.suspect()),
            Newest::Refused => Err(Some(id::REFUSED_NO_LOOP)),
            Newest::Ended if self.open => {
                let next = self.due.iter().find(|due| !due.optional);
                let ends = next.is_some_and(|due| due.word == Word::Inactive);
                if ends { Ok(()) } else { Err(None) }
            }
            _ => Err(None),
        }
    }

    /// What the scope or the connection breaks by ending, where the way that the newest run ended is to blame.
    pub(super) fn suspect(&self) -> Option<RequirementId> {
        match self.newest {
            Newest::Broke => Some(id::BROKEN_STREAM),
            Newest::Streams | Newest::Ended if self.fatal => Some(id::FATAL_NOTIFICATION),
            Newest::Streams if self.malformed => Some(id::MALFORMED_DATA),
            _ => None,
        }
    }

    /// The scenario is over.
    pub(super) fn end(&mut self, cx: &mut Cx<'_>) {
        self.settle(cx);
    }
}

fn not_verbatim(seq: u64, cx: &mut Cx<'_>) {
    let allowed = "the data of an event byte for byte";
    cx.flag_at(seq, id::CHUNK_VERBATIM, allowed, "other bytes");
}

fn judge_values(body: &[u8], cx: &mut Cx<'_>) {
    let object = body.trim_ascii_start().first() == Some(&b'{');
    match call::value(body).filter(|_| object) {
        // The byte alone is how revisions without secrets have it.
        None if body.is_empty() => {}
        None => {
            let allowed = "one JSON object behind the byte";
            cx.flag(id::INACTIVE_VALUES, allowed, "something else");
        }
        Some(values) if !json::same_value(values, "{}") => {
            let allowed = "an empty object, since no secret was declared";
            cx.flag(id::INACTIVE_EMPTY, allowed, "an object with members");
        }
        Some(_) => {}
    }
}
