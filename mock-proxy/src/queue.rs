//! The messages that wait for the program, and the loops that take them: all that wait go into one run, what comes while
//! a loop goes on is offered to it one message at a time, and there is never a second run beside one.

use std::collections::VecDeque;

use bytes::Bytes;
use diverge_protocol::wire::channel::{EnqueueAnswer, EnqueueAsk};
use serde::Serialize;

use crate::answers::{self, Fate, error_of, is_success};
use crate::policy::{CallId, Endpoint, Word};
use crate::scope::Side;
use crate::settings::{Settings, Slip};

/// A message whose fate is not known.
#[derive(Debug)]
struct Waiting {
    channel: u32,
    ask: EnqueueAsk,
}

/// The message that was offered to a loop and not answered for.
#[derive(Debug)]
struct Offered {
    call: CallId,
    message: Waiting,
    /// Whether its key was dequeued since.
    withdrawn: bool,
    /// Which loop it was offered to.
    to: u64,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Idle,
    /// A run was asked for; the messages in it cannot be withdrawn any more.
    Starting { call: CallId, batch: Vec<Waiting> },
    /// Its events come.
    Active {
        call: CallId,
        /// Whether it missed a message, so that it is offered no more.
        halted: bool,
    },
}

/// The queue, and the loop that takes from it.
#[derive(Debug, Default)]
pub struct Queue {
    waiting: VecDeque<Waiting>,
    state: State,
    offered: Option<Offered>,
    loops: u64,
}

#[derive(Serialize)]
struct RunBody<'a> {
    messages: Vec<&'a EnqueueAsk>,
}

impl Queue {
    /// Takes a message in.
    pub(crate) fn enqueue(
        &mut self,
        channel: u32,
        ask: EnqueueAsk,
        settings: &Settings,
        side: &mut Side<'_>,
    ) {
        self.waiting.push_back(Waiting { channel, ask });
        self.drive(settings, side);
    }

    /// Withdraws what waits under that key. Gives whether there was any, and whether the agent server is to be asked too.
    pub(crate) fn dequeue(
        &mut self,
        key: &str,
        settings: &Settings,
        side: &mut Side<'_>,
    ) -> (bool, bool) {
        let mut withdrawn = Vec::new();
        for message in std::mem::take(&mut self.waiting) {
            let named = message.ask.key == key || settings.slips(Slip::WithdrawsAll);
            let spared = settings.slips(Slip::WithdrawsNothing)
                || (settings.slips(Slip::WithdrawsOne) && !withdrawn.is_empty());
            if named && !spared {
                withdrawn.push(message);
            } else {
                self.waiting.push_back(message);
            }
        }
        for message in &withdrawn {
            side.settle(message.channel, EnqueueAnswer::Dequeued);
        }
        if let Some(offered) = &mut self.offered {
            offered.withdrawn |= offered.message.ask.key == key;
        }
        let asks = match self.state {
            State::Idle => false,
            State::Starting { .. } => settings.asks_while_starting,
            State::Active { .. } => true,
        };
        let any = !withdrawn.is_empty() && !settings.slips(Slip::CountsNothing);
        (any, asks)
    }

    /// Takes a word of the agent server's, if it is on a call of the queue's.
    pub(crate) fn hear(
        &mut self,
        call: CallId,
        word: Word,
        settings: &Settings,
        side: &mut Side<'_>,
    ) {
        if self.offered.as_ref().is_some_and(|it| it.call == call) {
            self.hear_of_delivery(&word, settings, side);
        } else {
            self.hear_of_run(call, word, settings, side);
        }
        self.drive(settings, side);
    }

    fn hear_of_run(&mut self, call: CallId, word: Word, settings: &Settings, side: &mut Side<'_>) {
        match std::mem::take(&mut self.state) {
            State::Starting { call: own, batch } if own == call => {
                if word == Word::Streams {
                    self.state = State::Active {
                        call,
                        halted: false,
                    };
                    self.loops += 1;
                    if settings.active_before_fates {
                        side.active();
                    }
                    for message in &batch {
                        side.settle(message.channel, EnqueueAnswer::Delivered);
                    }
                    if !settings.active_before_fates {
                        side.active();
                    }
                } else {
                    let error = error_of(&word, settings);
                    for message in &batch {
                        side.settle(message.channel, EnqueueAnswer::Error(&error));
                    }
                }
            }
            State::Active { call: own, halted } if own == call => match word {
                Word::Ended | Word::Broke(_) => side.inactive(settings),
                word => {
                    if let Word::Event(data) = word
                        && (answers::is_json(&data) || !settings.drops_malformed)
                    {
                        side.chunk(&data);
                    }
                    self.state = State::Active { call, halted };
                }
            },
            other => self.state = other,
        }
    }

    fn hear_of_delivery(&mut self, word: &Word, settings: &Settings, side: &mut Side<'_>) {
        let Some(offered) = self.offered.take() else {
            return;
        };
        let channel = offered.message.channel;
        let fate = match word {
            Word::Answered { status, .. } if (400..500).contains(status) => {
                let error = error_of(word, settings);
                return side.settle(channel, EnqueueAnswer::Error(&error));
            }
            Word::Answered { status, body } if is_success(*status) => answers::fate(body),
            _ => None,
        };
        match fate {
            Some(Fate::Delivered) => side.settle(channel, EnqueueAnswer::Delivered),
            Some(Fate::Dequeued) => side.settle(channel, EnqueueAnswer::Dequeued),
            // Whatever else was answered, the loop has not got it.
            Some(Fate::Missed) | None => {
                if offered.withdrawn && !settings.slips(Slip::ForgetsWithdrawn) {
                    side.settle(channel, EnqueueAnswer::Dequeued);
                } else if settings.slips(Slip::MissedLast) {
                    self.waiting.push_back(offered.message);
                } else {
                    self.waiting.push_front(offered.message);
                }
                if let State::Active { halted, .. } = &mut self.state {
                    let keeps = settings.slips(Slip::KeepsOffering);
                    *halted |= offered.to == self.loops && !keeps;
                }
            }
        }
    }

    /// Does what can be done for the messages that wait.
    fn drive(&mut self, settings: &Settings, side: &mut Side<'_>) {
        if self.waiting.is_empty() || (self.offered.is_some() && settings.awaits_delivery) {
            return;
        }
        match &self.state {
            State::Idle => {
                let mut batch: Vec<Waiting> = std::mem::take(&mut self.waiting).into();
                if settings.slips(Slip::OneEach) {
                    self.waiting = batch.split_off(1).into();
                }
                let body = RunBody {
                    messages: batch.iter().map(|message| &message.ask).collect(),
                };
                let call = side.call(Endpoint::Run, json(&body));
                self.state = State::Starting { call, batch };
            }
            State::Active { halted: false, .. } if self.offered.is_none() => {
                let next = if settings.slips(Slip::NewestFirst) {
                    self.waiting.pop_back()
                } else {
                    self.waiting.pop_front()
                };
                if let Some(message) = next {
                    let call = side.call(Endpoint::Enqueue, json(&message.ask));
                    self.offered = Some(Offered {
                        call,
                        message,
                        withdrawn: false,
                        to: self.loops,
                    });
                }
            }
            State::Starting { .. } | State::Active { .. } => {}
        }
    }
}

/// The JSON of something that was read from JSON.
fn json(value: &impl Serialize) -> Bytes {
    // Strings, lists and JSON texts are all there is in it, and those can always be written.
    serde_json::to_vec(value).unwrap_or_default().into()
}
