//! Scopes of a client's connection: one finish each, silence after it, and what a number means the next time.

use bytes::Bytes;

use super::channels::Channels;
use super::id;
use super::run::{RunIndex, Runs};
use super::run_stream::{self, Around, Beside};
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
    /// The requests that came while the last run was certainly open.
    ignored: Vec<RunRef>,
    /// The client asked for the last run again when the server may have finished it, so that from there on it is not
    /// known which request a frame belongs to.
    unclear: bool,
    /// A second credential came before the request, so nothing should answer it.
    pub(super) after_end: bool,
}

/// An open scope.
#[derive(Debug)]
struct Open {
    run: RunIndex,
    channels: Channels,
    duplicates: Vec<Duplicate>,
    /// There were more than are kept.
    more: bool,
}

impl Open {
    fn new(run: RunIndex) -> Self {
        Self {
            run,
            channels: Channels::default(),
            duplicates: Vec::new(),
            more: false,
        }
    }
}

impl Scope {
    /// A scope number under which some requests came that no server serves.
    pub(super) fn after(requests: u32) -> Self {
        Self {
            requests,
            ..Self::default()
        }
    }

    /// The client requests something under this number.
    pub(super) fn requested(&mut self, link: LinkId, frame: &Frame, runs: &mut Runs, cx: &Cx<'_>) {
        let reference = RunRef {
            link,
            scope: frame.scope,
            generation: self.requests,
        };
        self.requests = self.requests.saturating_add(1);
        match &mut self.open {
            _ if self.unclear => runs.open_unclear(reference, &frame.payload, cx),
            None => {
                self.ignored.clear();
                self.open = Some(Open::new(runs.open(reference, &frame.payload, cx)));
            }
            Some(open) if open.duplicates.len() < DUPLICATES => {
                open.duplicates.push(Duplicate {
                    payload: frame.payload.clone(),
                    reference,
                    seq: cx.seq,
                });
            }
            Some(open) => open.more = true,
        }
    }

    /// The open run and the event of the request, if a request under this reference came while it was open.
    pub(super) fn duplicated(&self, reference: RunRef) -> Option<(RunIndex, u64)> {
        let open = self.open.as_ref()?;
        let duplicate = open
            .duplicates
            .iter()
            .find(|it| it.reference == reference)?;
        Some((open.run, duplicate.seq))
    }

    /// Whether a request under this reference had to be ignored, and the run that was open then is finished.
    pub(super) fn ignores(&self, reference: RunRef) -> bool {
        self.ignored.contains(&reference)
    }

    /// The event of the first request that came while the run was open.
    pub(super) fn asked_again(&self) -> Option<u64> {
        self.open.as_ref()?.duplicates.first().map(|it| it.seq)
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
        if self.unclear {
            return;
        }
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
                let mut around = Around {
                    ids,
                    duplicates: !open.duplicates.is_empty(),
                    strays,
                };
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
            _ if !self.ignored.is_empty() => id::SCOPE_DUPLICATE_IGNORED,
            FrameType::ResponseFinish => id::SCOPE_FINISHED_ONCE,
            FrameType::Response => id::SCOPE_SILENT_AFTER_FINISH,
            _ => id::CHANNEL_ENDED_BY_SCOPE,
        };
        cx.flag(rule, "no frame on a scope after its finish", received);
    }

    fn finished(&mut self, runs: &mut Runs, cx: &mut Cx<'_>) {
        let Some(open) = self.open.take() else { return };
        runs.settle(open.run);
        let ended = runs.ended_beside(open.run);
        let Some(run) = runs.get_mut(open.run) else {
            return;
        };
        let (ignored, doubtful): (Vec<_>, Vec<_>) = open
            .duplicates
            .into_iter()
            .partition(|it| run.outlasts(it.seq));
        let beside = Beside {
            duplicates: !ignored.is_empty(),
            ended,
            trouble: open.channels.trouble,
        };
        run_stream::finish(run, &beside, cx);
        self.ignored = ignored.iter().map(|it| it.reference).collect();
        self.unclear = !doubtful.is_empty() || open.more;
        for again in doubtful {
            runs.open_unclear(again.reference, &again.payload, cx);
        }
    }
}
