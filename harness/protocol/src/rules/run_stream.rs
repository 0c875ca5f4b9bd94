//! The responses of a run: what may come first, what may follow, and what its words must look like.

use bytes::Bytes;

use super::hindsight::Ids;
use super::id;
use super::relay::Word;
use super::run::{Phase, Readable, Run, ambiguous};
use super::violation::{Cx, Length};
use crate::wire::run::{RunKind, RunResponse};
use crate::wire::{Malformed, Rule};

/// What a response is judged by beside its run.
pub(super) struct Around<'a> {
    /// The ids of all runs.
    pub ids: &'a mut Ids,
    /// The client sent another request under the number while the scope was open.
    pub duplicates: bool,
    /// There are proxy connections of which it is not known whose they are.
    pub strays: bool,
}

/// The client got a response.
pub(super) fn response(run: &mut Run, payload: &Bytes, around: &mut Around<'_>, cx: &mut Cx<'_>) {
    if let Readable::No(rule) = run.request.readable {
        if run.phase != Phase::Unjudged {
            let received = format!("a response of {}", Length(payload.len()));
            cx.flag(
                rule,
                "the finish alone, for a request that cannot be read",
                received,
            );
        }
        run.phase = Phase::Unjudged;
        return;
    }
    if run.phase == Phase::Unjudged {
        return;
    }
    let kind = match RunKind::of(payload) {
        Ok(kind) => kind,
        Err(fault) => {
            cx.flag_malformed(id::PAYLOAD_KNOWN, "a response", &fault);
            return;
        }
    };
    match run.phase {
        Phase::Waiting => first(run, kind, payload, around, cx),
        Phase::Running { in_loop } => later(run, kind, in_loop, payload, around, cx),
        Phase::Refused => {
            let received = format!("{} ({})", kind.name(), Length(payload.len()));
            cx.flag(
                id::REFUSAL_THEN_FINISH,
                "the finish, after a refusal or an early error",
                received,
            );
        }
        Phase::Errored { in_loop } => {
            let rule = match kind {
                RunKind::Error => id::ERROR_ONCE,
                RunKind::Inactive if in_loop => id::ERROR_NO_INACTIVE,
                _ => id::ERROR_THEN_FINISH,
            };
            cx.flag(
                rule,
                "the finish, after the proxy's error",
                format!("the response {}", kind.name()),
            );
        }
        Phase::Unjudged | Phase::Finished => {}
    }
}

fn first(run: &mut Run, kind: RunKind, payload: &Bytes, around: &mut Around<'_>, cx: &mut Cx<'_>) {
    match kind {
        RunKind::Id => {
            run.phase = Phase::Running { in_loop: false };
            before_begun(run, around.strays, cx);
            match RunResponse::decode(payload) {
                Ok(RunResponse::Id(given)) => around.ids.add(given, &run.request, cx),
                Ok(_) => {}
                Err(fault) if ambiguous(&fault, payload) => {}
                Err(fault) => cx.flag_malformed(id::ID_WELL_FORMED, "an id", &fault),
            }
            for again in std::mem::take(&mut run.served_again)
                .into_iter()
                .filter(|it| run.outlasts(it.request))
            {
                let allowed = "no proxy connection for a request on an open scope";
                cx.flag_at(
                    again.seq,
                    id::SCOPE_DUPLICATE_IGNORED,
                    allowed,
                    "a proxy connection",
                );
            }
        }
        RunKind::Error => {
            run.phase = Phase::Refused;
            if let Some(fault) = malformed(payload) {
                cx.flag_malformed(id::REFUSAL_ERROR, "an error", &fault);
            }
        }
        RunKind::Chunk | RunKind::Active | RunKind::Inactive => {
            let received = format!("the response {}", kind.name());
            if kind == RunKind::Active {
                cx.flag(
                    id::ACTIVE_NOT_BEFORE_ID,
                    "no active before the id",
                    received.clone(),
                );
            }
            cx.flag(
                id::FIRST_RESPONSE,
                "the id, a refusal or an error first",
                received,
            );
        }
        _ => {
            run.phase = Phase::Refused;
            run.refused = true;
            if let Some(fault) = malformed(payload) {
                let strict = fault.rule == Rule::MemberUnknown;
                let rule = if strict {
                    id::REFUSAL_STRICT
                } else {
                    id::REFUSAL_WELL_FORMED
                };
                cx.flag_malformed(rule, "a refusal", &fault);
            }
            if run.begin.is_some() {
                let received = "a refusal after the proxy was connected to";
                cx.flag(
                    id::REFUSAL_NOTHING_DEPLOYED,
                    "no proxy connection for a refused run",
                    received,
                );
            }
        }
    }
}

/// What is wrong with a response of the server's own making.
fn malformed(payload: &[u8]) -> Option<Malformed> {
    RunResponse::decode(payload)
        .err()
        .filter(|fault| !ambiguous(fault, payload))
}

/// Whether the proxy had begun when the id came.
fn before_begun(run: &Run, strays: bool, cx: &mut Cx<'_>) {
    let begun = match run.begin {
        Some(_) => run.relay.begun,
        None => strays,
    };
    if cx.complete && !begun {
        let received = if run.begin.is_some() {
            "the id"
        } else {
            "the id, and no proxy connection"
        };
        cx.flag(
            id::SILENT_BEFORE_ID,
            "no id before the proxy answered begun",
            received,
        );
    }
}

fn later(
    run: &mut Run,
    kind: RunKind,
    in_loop: bool,
    payload: &Bytes,
    around: &Around<'_>,
    cx: &mut Cx<'_>,
) {
    let judged = run.judges_relay(cx);
    let body = || payload.slice(1..);
    match kind {
        RunKind::Chunk => {
            let outside = !judged || run.relay.delivered(Word::Chunk, body(), cx);
            if !in_loop && !outside {
                let received = format!("a chunk of {}", Length(payload.len() - 1));
                cx.flag(
                    id::CHUNK_NOT_OUTSIDE,
                    "no chunk while no loop is open",
                    received,
                );
            }
        }
        RunKind::Active => {
            if judged {
                run.relay.delivered(Word::Active, Bytes::new(), cx);
            }
            if in_loop {
                cx.flag(
                    id::ACTIVE_NOT_IN_LOOP,
                    "no active while a loop is open",
                    "an active",
                );
            }
            if payload.len() > 1 {
                let received = format!("{} behind it", Length(payload.len() - 1));
                cx.flag(id::ACTIVE_BARE, "the byte 8 and nothing else", received);
            }
            run.phase = Phase::Running { in_loop: true };
        }
        RunKind::Inactive => {
            if judged {
                run.relay.delivered(Word::Inactive, body(), cx);
            }
            if !in_loop {
                cx.flag(
                    id::INACTIVE_IN_LOOP,
                    "no inactive while no loop is open",
                    "an inactive",
                );
            }
            run.phase = Phase::Running { in_loop: false };
        }
        RunKind::Error => {
            if judged {
                run.relay.delivered(Word::Error, body(), cx);
            }
            run.phase = Phase::Errored { in_loop };
        }
        RunKind::Id if around.duplicates => {
            cx.flag(
                id::SCOPE_DUPLICATE_IGNORED,
                "no answer to a request on an open scope",
                "a second id",
            );
        }
        RunKind::Id => cx.flag(id::ID_ONCE, "one id", "a second id"),
        _ => {
            let received = format!("the refusal {}", kind.name());
            let rule = if around.duplicates {
                id::SCOPE_DUPLICATE_IGNORED
            } else {
                id::FIRST_RESPONSE
            };
            cx.flag(rule, "no refusal after the id", received);
        }
    }
}

/// What may have moved a provider to finish a run that nothing allowed to end.
pub(super) struct Beside {
    /// Requests under its number that it had to ignore.
    pub duplicates: bool,
    /// Another connection of a client's that ended.
    pub ended: bool,
    /// Something that failed on one of its channels.
    pub trouble: bool,
}

/// The client got the run's finish.
pub(super) fn finish(run: &mut Run, beside: &Beside, cx: &mut Cx<'_>) {
    if let (Phase::Running { .. }, true) = (run.phase, run.judges_relay(cx)) {
        if run.cause.is_none() {
            let rule = match beside {
                Beside {
                    duplicates: true, ..
                } => id::SCOPE_DUPLICATE_IGNORED,
                Beside { ended: true, .. } => id::CONNECTIONS_INDEPENDENT,
                Beside { trouble: true, .. } => id::SURVIVES_CHANNELS,
                _ => id::QUIET_ALLOWED,
            };
            let allowed =
                "no finish before a stop, the proxy's end or error, or the connection's end";
            cx.flag(rule, allowed, "the finish");
        }
        run.relay.finish(cx);
    }
    run.over();
}
