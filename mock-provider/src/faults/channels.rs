//! Faults of channels, whoever opens them.

use crate::fault::{Fault, double, fault};
use crate::view::{Flow, Part};

pub(super) const FAULTS: &[Fault] = &[fault(
    "channel-finish-twice",
    "channel.finished-once",
    "finishes a client's channel twice",
    || double(Flow::ToClient, |message| message.part == Part::AnswerFinish),
)];
