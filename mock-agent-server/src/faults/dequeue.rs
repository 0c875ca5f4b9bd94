//! Faults of messages that are taken back.

use bytes::Bytes;
use diverge_protocol::wire::agent_server::{Endpoint, Fate, Outcome};
use diverge_protocol::wire::channel::EnqueueAsk;

use crate::call::{Answer, Asked};
use crate::fault::{
    Fault, Intercept, Interceptor, Role, Step, answer_instead, fault, replace_reply, tune,
};
use crate::policy::{Output, refusal};
use crate::settings::Withdraws;
use crate::talk::Message;
use crate::view::{Reply, View};

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "outcome-a-string",
        "agent.dequeue.outcome-form",
        "tells what a dequeue found as a JSON string",
        || found(|it, _| Answer::json(200, format!("\"{it}\""))),
    ),
    fault(
        "outcome-a-count",
        "agent.dequeue.outcome-form",
        "tells what a dequeue found as a number of messages",
        || {
            found(|it, _| {
                let count = u8::from(it == Outcome::Dequeued);
                Answer::json(200, format!("{{\"dequeued\":{count}}}"))
            })
        },
    ),
    fault(
        "outcome-without-content",
        "agent.dequeue.outcome-form",
        "answers a dequeue with 204",
        || found(|_, _| Answer::empty(204)),
    ),
    fault(
        "withdrawn-told-empty",
        "agent.dequeue.withdraws",
        "says that nothing waited where a dequeue withdrew something",
        || found(|_, _| outcome(Outcome::Empty)),
    ),
    fault(
        "dequeue-ineffective",
        "agent.dequeue.withdraws",
        "withdraws nothing",
        || answer_instead(Endpoint::Dequeue, |_, _| Some(outcome(Outcome::Empty))),
    ),
    fault(
        "withdrawn-told-missed",
        "agent.dequeue.fate",
        "says that a message was missed that a dequeue withdrew",
        || withdrawn(|reply| vec![reply.with(fate(Fate::Missed))]),
    ),
    fault(
        "withdrawn-told-delivered",
        "agent.dequeue.fate",
        "says that a message was delivered that a dequeue withdrew",
        || withdrawn(|reply| vec![reply.with(fate(Fate::Delivered))]),
    ),
    fault(
        "withdrawn-left-hanging",
        "agent.dequeue.fate",
        "does not answer a message that a dequeue withdrew",
        || withdrawn(|_| Vec::new()),
    ),
    fault(
        "withdrawn-refused",
        "agent.dequeue.fate",
        "answers a message that a dequeue withdrew with 410",
        || withdrawn(|reply| vec![reply.with(refusal(410, "dequeued", "it was withdrawn"))]),
    ),
    fault(
        "withdrawn-taken",
        "agent.dequeue.not-taken",
        "sends the parts of a message that a dequeue withdrew at the loop's end",
        || Taken::new(Fate::Dequeued, false),
    ),
    fault(
        "withdrawn-taken-later",
        "agent.dequeue.not-taken",
        "sends the parts of a message that a dequeue withdrew in the next loop",
        || Taken::new(Fate::Dequeued, true),
    ),
    fault(
        "dequeue-of-everything",
        "agent.dequeue.other-keys",
        "withdraws everything, whatever its key",
        || tune(|settings| settings.withdraws = Withdraws::Everything),
    ),
    fault(
        "dequeue-of-everything-for-nobody",
        "agent.dequeue.other-keys",
        "withdraws everything where nothing waits under a key",
        || tune(|settings| settings.withdraws = Withdraws::OrEverything),
    ),
    fault(
        "dequeue-in-any-case",
        "agent.dequeue.other-keys",
        "withdraws what waits under a key in other letters",
        || tune(|settings| settings.withdraws = Withdraws::InAnyCase),
    ),
    fault(
        "dequeue-of-first",
        "agent.dequeue.all-under-key",
        "withdraws the first message under a key only",
        || tune(|settings| settings.withdraws = Withdraws::First),
    ),
    fault(
        "nothing-told-dequeued",
        "agent.dequeue.nothing",
        "says that something was withdrawn where nothing waited",
        || found(|_, _| outcome(Outcome::Dequeued)),
    ),
    fault(
        "nothing-a-404",
        "agent.dequeue.nothing",
        "answers a dequeue with 404 where nothing waited",
        || {
            found(|it, _| match it {
                Outcome::Empty => refusal(404, "empty", "nothing waits"),
                other => outcome(other),
            })
        },
    ),
    fault(
        "idle-dequeue-refused",
        "agent.dequeue.nothing",
        "refuses a dequeue while no loop runs",
        || {
            found(|it, reply| match reply.view.running {
                None => refusal(409, "idle", "no loop is running"),
                Some(_) => outcome(it),
            })
        },
    ),
    fault(
        "delivered-told-dequeued",
        "agent.dequeue.taken-stays",
        "says that a message was withdrawn that was delivered",
        || {
            found(|it, reply| {
                let same = |asked: &Asked| match reply.view.is_path() {
                    true => true,
                    false => asked.key() == reply.asked.key(),
                };
                let delivered =
                    |(asked, fate): &(Asked, Fate)| *fate == Fate::Delivered && same(asked);
                match reply.view.fates.iter().any(delivered) {
                    true => outcome(Outcome::Dequeued),
                    false => outcome(it),
                }
            })
        },
    ),
    fault(
        "path-dequeue-of-first",
        "agent.path.dequeue-all",
        "withdraws the first message only",
        || tune(|settings| settings.withdraws = Withdraws::First),
    ),
];

fn fate(fate: Fate) -> Answer {
    Answer::json(200, fate.encode())
}

fn outcome(outcome: Outcome) -> Answer {
    Answer::json(200, outcome.encode())
}

/// Tells what a dequeue found in another way.
fn found(tell: fn(Outcome, &Reply<'_>) -> Answer) -> Interceptor {
    let read = |reply: &Reply<'_>| match reply.endpoint {
        Endpoint::Dequeue if reply.is_good() => Outcome::decode(&reply.answer.body).ok(),
        _ => None,
    };
    replace_reply(
        move |reply| read(reply).is_some(),
        move |reply| {
            let told = read(reply).map(|it| reply.with(tell(it, reply)));
            told.into_iter().collect()
        },
    )
}

/// Answers messages that a dequeue withdrew in another way.
fn withdrawn(with: fn(&Reply<'_>) -> Vec<Step>) -> Interceptor {
    replace_reply(|reply| reply.fate() == Some(Fate::Dequeued), with)
}

/// Sends the parts of messages that were answered with a fate, at the end of their loop or of the next.
pub(super) struct Taken {
    fate: Fate,
    later: bool,
    parts: Vec<Bytes>,
    due: Vec<Bytes>,
}

impl Taken {
    pub(super) fn new(fate: Fate, later: bool) -> Box<Self> {
        Box::new(Self {
            fate,
            later,
            parts: Vec::new(),
            due: Vec::new(),
        })
    }
}

impl Intercept<Role> for Taken {
    fn output(&mut self, view: &View, output: Output, next: &mut Vec<Step>) {
        match &output {
            Output::Answer(call, answer) if Fate::decode(&answer.body) == Ok(self.fate) => {
                if let Some(asked) = view.asked(*call) {
                    self.parts.extend(landed(view, asked));
                }
            }
            Output::Stream(..) if self.later => self.due.append(&mut self.parts),
            Output::End(call) => {
                if !self.later {
                    self.due.append(&mut self.parts);
                }
                let parts = self.due.drain(..);
                next.extend(parts.map(|part| Output::Event(*call, part).into()));
            }
            _ => {}
        }
        next.push(output.into());
    }
}

/// The chunks that tell that a message landed.
fn landed(view: &View, asked: &Asked) -> Vec<Bytes> {
    if asked.endpoint() != Some(Endpoint::Enqueue) {
        return Vec::new();
    }
    let message = match view.is_path() {
        true => asked.json()["prompt"].as_str().map(Message::joining),
        false => EnqueueAsk::decode(&asked.body)
            .ok()
            .map(|ask| Message::of(&ask)),
    };
    message.map(|message| message.landed).unwrap_or_default()
}
