//! The freedoms that the protocol leaves a proxy, as the reference and its variants use them, and the deviations that
//! faults set.

use std::collections::HashSet;

use bytes::Bytes;

/// Something that the queue of the scope revision does wrong; only a fault makes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Slip {
    /// The message that came last is offered first.
    NewestFirst,
    /// A loop that missed a message is offered the others all the same.
    KeepsOffering,
    /// A message that was missed goes behind those that wait.
    MissedLast,
    /// A run takes one message, and the others wait for runs of their own.
    OneEach,
    /// A dequeue leaves what waits where it is.
    WithdrawsNothing,
    /// A dequeue withdraws only the first message under its key.
    WithdrawsOne,
    /// A dequeue withdraws what waits under any key.
    WithdrawsAll,
    /// A dequeue withdraws what waits, and does not count it.
    CountsNothing,
    /// A message that was dequeued while it was offered, and then missed, waits again.
    ForgetsWithdrawn,
}

/// How the policies use their freedom. The default is the reference.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Say that a loop began before its messages are answered, instead of after.
    pub active_before_fates: bool,
    /// Start the next loop only once the delivery into the last one is answered, instead of without that message.
    pub awaits_delivery: bool,
    /// Ask the agent server for messages under a key whenever there is a run, instead of only while its events come.
    pub asks_while_starting: bool,
    /// Leave an event out whose data is no JSON, instead of relaying it.
    pub drops_malformed: bool,
    /// Take a begin after one that failed, instead of refusing every begin but the first.
    pub begins_again: bool,
    /// The values of an inactive, for a program that declared no secret.
    pub values: Bytes,
    /// The JSON of the errors that the proxy makes itself, instead of an object with a `kind`.
    pub error: Option<&'static str>,
    /// In the path revision, a second binary message ends the exchange, instead of being passed over.
    pub second_message_leaves: bool,
    /// In the path revision, a text message ahead of the ask ends the exchange, instead of being passed over.
    pub text_leaves: bool,
    /// What is done wrong.
    pub slips: HashSet<Slip>,
}

impl Settings {
    /// Whether that is done wrong.
    #[must_use]
    pub fn slips(&self, slip: Slip) -> bool {
        self.slips.contains(&slip)
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            active_before_fates: false,
            awaits_delivery: false,
            asks_while_starting: false,
            drops_malformed: false,
            begins_again: true,
            values: Bytes::from_static(b"{}"),
            error: None,
            second_message_leaves: false,
            text_leaves: false,
            slips: HashSet::new(),
        }
    }
}
