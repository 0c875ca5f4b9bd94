//! Channels of a run scope: answers only where the client asked, one finish each, numbers not used twice at a time.

use std::collections::{HashMap, HashSet};

use super::asks::{AskKind, NewAsk};
use super::id;
use super::run::{Run, ambiguous};
use super::violation::{Cx, Length};
use crate::wire::channel::ChannelAsk;
use crate::wire::profile::ClientChannel;
use crate::wire::{Frame, FrameType, Malformed};

/// How many finished channels are remembered, to know a frame that comes after the finish.
const FINISHED: usize = 1 << 12;

/// What the client asks on a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Stop,
    /// Fed before the id by some readings, so it is not held.
    Secrets,
    /// Answered by what the proxy answers.
    Carried,
    Other,
    Unreadable,
    /// Readable or not, both verdicts stand.
    Unsure,
}

/// A channel of the client's.
#[derive(Debug)]
struct Channel {
    asked: Asked,
    seq: u64,
    open: bool,
    /// The client asked again before it saw the finish.
    again: bool,
    /// It asked again while the channel was certainly open.
    ignored: bool,
    /// It asked again when the server may have finished, so that from there on nothing is certain.
    doubtful: bool,
}

/// The channels of one scope.
#[derive(Debug, Default)]
pub(super) struct Channels {
    client: HashMap<u32, Channel>,
    finished: usize,
    server: HashSet<u32>,
    /// The first early channel that was finished before the id.
    finished_early: Option<u64>,
    /// Something failed on a channel of the run.
    pub(super) trouble: bool,
}

fn read(payload: &[u8], cx: &Cx<'_>) -> Result<(ClientChannel, bool), Malformed> {
    let (kind, body) = cx.profile.client_channels.split(payload)?;
    match ChannelAsk::decode(kind, body) {
        Ok(ChannelAsk::Enqueue(ask)) => Ok((kind, ask.content.is_empty())),
        // The pages say of a stop that bytes behind it are ignored; of a schema request they do not say.
        Ok(ChannelAsk::Schema) => Ok((kind, !body.is_empty())),
        Ok(_) => Ok((kind, false)),
        // A block that the agent does not take is answered with an error, and one that is none is no enqueue.
        Err(fault) if kind == ClientChannel::Enqueue && fault.pointer.starts_with("/content/") => {
            Ok((kind, true))
        }
        Err(fault) if ambiguous(&fault, body) => Ok((kind, true)),
        Err(fault) => Err(fault),
    }
}

impl Channels {
    /// The client opens a channel.
    pub(super) fn client_asks(&mut self, frame: &Frame, run: &mut Run, cx: &Cx<'_>) {
        let read = read(&frame.payload, cx);
        let asked = match read {
            _ if !run.is_run() => Asked::Unsure,
            Err(_) => Asked::Unreadable,
            Ok((ClientChannel::Stop, _)) => Asked::Stop,
            Ok((ClientChannel::Secrets, _)) => Asked::Secrets,
            Ok((kind, unsure)) => match (AskKind::of_client(kind), unsure) {
                (Some(_), _) => Asked::Carried,
                (None, true) => Asked::Unsure,
                (None, false) => Asked::Other,
            },
        };
        self.trouble |= asked == Asked::Unreadable;
        let known = self.client.get_mut(&frame.channel).filter(|it| it.open);
        if asked == Asked::Stop {
            run.stop(cx.seq);
        }
        let read = read.ok().filter(|_| run.is_run());
        let carried = read.and_then(|(kind, lenient)| AskKind::of_client(kind).zip(Some(lenient)));
        let ask = carried.map(|(kind, lenient)| (kind, frame.payload.slice(1..), lenient));
        match (&known, ask) {
            (None, None) => {}
            (None, Some((kind, body, lenient))) => {
                let early = !run.has_id();
                run.asks.asked(
                    frame.channel,
                    NewAsk {
                        kind,
                        body,
                        seq: cx.seq,
                        early,
                        lenient,
                    },
                );
            }
            (Some(channel), Some((kind, body, _))) if channel.doubtful => {
                run.asks.doubt(kind, body)
            }
            (Some(_), ask) => run.asks.asked_again(
                frame.channel,
                ask.map(|(kind, body, _)| (kind, body)),
                cx.seq,
            ),
        }
        if let Some(channel) = known {
            channel.again = true;
            return;
        }
        let channel = Channel {
            asked,
            seq: cx.seq,
            open: true,
            again: false,
            ignored: false,
            doubtful: false,
        };
        if self.client.insert(frame.channel, channel).is_some() {
            self.finished = self.finished.saturating_sub(1);
        }
    }

    /// The server answers or finishes a channel of the client's.
    pub(super) fn server_answers(&mut self, frame: &Frame, run: &mut Run, cx: &mut Cx<'_>) {
        let finish = frame.kind == FrameType::ChannelResponseFinish;
        let what = if finish {
            "a channel finish"
        } else {
            "a channel answer"
        };
        let Some(channel) = self.client.get_mut(&frame.channel) else {
            let received = format!("{what} for a channel that it did not open");
            cx.flag(
                id::CHANNEL_WITHOUT_REQUEST,
                "answers on channels that the client opened",
                received,
            );
            return;
        };
        if !channel.open {
            let received = format!("{what} after that");
            if channel.ignored {
                let allowed = "nothing for a request on an open channel, and nothing after the channel's finish";
                cx.flag(id::CHANNEL_DUPLICATE_IGNORED, allowed, received);
            } else {
                cx.flag(
                    id::CHANNEL_FINISHED_ONCE,
                    "nothing on a channel after its finish",
                    received,
                );
            }
            return;
        }
        if channel.doubtful {
            return;
        }
        run.asks.hears(channel.seq);
        let excuse = run.excuse(cx);
        let early = run.waits() && !matches!(channel.asked, Asked::Stop | Asked::Secrets);
        if !finish {
            if early {
                let received = "a channel answer before the id";
                cx.flag(
                    id::EARLY_KEPT,
                    "no answer on an early channel before the id",
                    received,
                );
            }
            match channel.asked {
                Asked::Stop => cx.flag(
                    id::STOP_NO_ANSWER,
                    "the scope's finish, with or without the channel's before it",
                    format!("a channel answer of {}", Length(frame.payload.len())),
                ),
                Asked::Unreadable => cx.flag(
                    id::CHANNEL_UNREADABLE,
                    "the channel's finish alone",
                    format!("a channel answer of {}", Length(frame.payload.len())),
                ),
                Asked::Carried if !early => {
                    run.asks.answered(frame.channel, &frame.payload, excuse, cx)
                }
                _ => {}
            }
            return;
        }
        if early {
            self.finished_early.get_or_insert(cx.seq);
        }
        if channel.asked == Asked::Carried {
            run.asks.channel_finished(frame.channel, excuse, cx);
        }
        if channel.again {
            // What was asked again may have come after the finish. Only where it cannot have is the channel known.
            channel.ignored =
                channel.asked == Asked::Carried && run.asks.again_was_certain(frame.channel);
            channel.doubtful = !channel.ignored;
            if channel.doubtful {
                return;
            }
        }
        channel.open = false;
        self.finished += 1;
        if self.finished > FINISHED {
            self.client.retain(|_, it| it.open);
            self.finished = 0;
        }
    }

    /// The server opens a channel.
    pub(super) fn server_asks(&mut self, frame: &Frame, cx: &mut Cx<'_>) {
        if !self.server.insert(frame.channel) {
            let received = "a number that its unfinished channel has";
            cx.flag(
                id::CHANNEL_LIVE_NUMBER,
                "a channel number that the server has not open",
                received,
            );
        }
    }

    /// The client finishes a channel of the server's.
    pub(super) fn client_finishes(&mut self, channel: u32) {
        self.server.remove(&channel);
    }

    /// The id came, so the run had not failed when its early channels were finished.
    pub(super) fn id_came(&mut self, cx: &mut Cx<'_>) {
        if let Some(seq) = self.finished_early.take() {
            let allowed = "no finish of an early channel before the id";
            cx.flag_at(seq, id::EARLY_KEPT, allowed, "a channel finish");
        }
    }
}
