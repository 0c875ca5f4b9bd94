//! Scopes of a client's connection: one finish each, silence after it, and what a number means the next time.

use bytes::Bytes;

use super::channels::Channels;
use super::id;
use super::run::{RunIndex, Runs};
use super::run_stream::{self, Around};
use super::violation::Cx;
use crate::transcript::{LinkId, RunRef};
use crate::wire::{Frame, FrameType};

/// How many requests on an open scope are kept.
const DUPLICATES: usize = 8;

/// A request that named an open scope.
#[derive(Debug)]
struct Duplicate {
    payload: Bytes,
    reference: RunRef,
    seq: u64,
}

/// One scope number of a connection.
#[derive(Debug, Default)]
pub(super) struct Scope {
    /// How many requests have named the number.
    requests: u32,
    open: Option<Open>,
    /// The last run was asked for again while it was certainly open.
    ignored: bool,
    /// A second credential came before the request, so nothing should answer it.
    pub(super) after_end: bool,
}

/// An open scope.
#[derive(Debug)]
struct Open {
    run: RunIndex,
    channels: Channels,
    duplicates: Vec<Duplicate>,
}

impl Open {
    fn new(run: RunIndex) -> Self {
        Self { run, channels: Channels::default(), duplicates: Vec::new() }
    }
}

impl Scope {
    /// The client requests something under this number.
    pub(super) fn requested(&mut self, link: LinkId, frame: &Frame, runs: &mut Runs, cx: &Cx<'_>) {
        let reference = RunRef { link, scope: frame.scope, generation: self.requests };
        self.requests = self.requests.saturating_add(1);
        match &mut self.open {
            None => {
                self.ignored = false;
                self.open = Some(Open::new(runs.open(reference, &frame.payload, cx.profile)));
            }
            Some(open) if open.duplicates.len() < DUPLICATES => {
                open.duplicates.push(Duplicate { payload: frame.payload.clone(), reference, seq: cx.seq });
            }
            Some(_) => {}
        }
    }

    /// The open run, if a request under this reference was a duplicate of it.
    pub(super) fn duplicated(&self, reference: RunRef) -> Option<RunIndex> {
        let open = self.open.as_ref()?;
        open.duplicates.iter().any(|it| it.reference == reference).then_some(open.run)
    }

    /// Whether the open run was asked for again.
    pub(super) fn has_duplicates(&self) -> bool {
        self.open.as_ref().is_some_and(|open| !open.duplicates.is_empty())
    }

    /// The open run.
    pub(super) fn run(&self) -> Option<RunIndex> {
        self.open.as_ref().map(|open| open.run)
    }

    /// The client sends a channel frame.
    pub(super) fn client_frame(&mut self, frame: &Frame, runs: &mut Runs, cx: &Cx<'_>) {
        let Some(open) = &mut self.open else { return };
        match frame.kind {
            FrameType::ChannelRequest => {
                if let Some(run) = runs.get_mut(open.run) {
                    open.channels.client_asks(frame, run, cx);
                }
            }
            FrameType::ChannelResponseFinish => open.channels.client_finishes(frame.channel),
            _ => {}
        }
    }

    /// The server sends a frame that names this scope.
    pub(super) fn server_frame(&mut self, frame: &Frame, runs: &mut Runs, cx: &mut Cx<'_>) {
        let strays = runs.strays > 0;
        let Some(open) = &mut self.open else {
            self.after_finish(frame.kind, cx);
            return;
        };
        let Some((run, ids)) = runs.with_ids(open.run) else {
            return;
        };
        match frame.kind {
            FrameType::Response => {
                let had_id = run.has_id();
                let mut around = Around { ids, duplicates: !open.duplicates.is_empty(), strays };
                run_stream::response(run, &frame.payload, &mut around, cx);
                if !had_id && run.has_id() {
                    open.channels.id_came(cx);
                }
            }
            FrameType::ResponseFinish => self.finished(runs, cx),
            FrameType::ChannelRequest => open.channels.server_asks(frame, cx),
            FrameType::ChannelResponse | FrameType::ChannelResponseFinish => {
                open.channels.server_answers(frame, run, cx);
            }
            FrameType::Authorization | FrameType::Request => {}
        }
    }

    fn after_finish(&self, kind: FrameType, cx: &mut Cx<'_>) {
        let received = format!("a {} after it", kind.name());
        let rule = match kind {
            _ if self.ignored => id::SCOPE_DUPLICATE_IGNORED,
            FrameType::ResponseFinish => id::SCOPE_FINISHED_ONCE,
            FrameType::Response => id::SCOPE_SILENT_AFTER_FINISH,
            _ => id::CHANNEL_ENDED_BY_SCOPE,
        };
        cx.flag(rule, "no frame on a scope after its finish", received);
    }

    fn finished(&mut self, runs: &mut Runs, cx: &mut Cx<'_>) {
        let Some(open) = self.open.take() else { return };
        runs.settle(open.run);
        let Some(run) = runs.get_mut(open.run) else {
            return;
        };
        // A request after the id and before anything that may end the run met an open scope for certain. Another one
        // may have met a scope whose finish was under way, and then it opened the number anew.
        let certain = |it: &Duplicate| run.has_id() && run.cause.is_none_or(|cause| cause > it.seq);
        let (ignored, mut doubtful): (Vec<_>, Vec<_>) = open.duplicates.into_iter().partition(certain);
        run_stream::finish(run, !ignored.is_empty(), open.channels.trouble, cx);
        self.ignored = !ignored.is_empty();
        if !doubtful.is_empty() {
            let first = doubtful.remove(0);
            let mut open = Open::new(runs.open(first.reference, &first.payload, cx.profile));
            open.duplicates = doubtful;
            self.open = Some(open);
        }
    }
}
