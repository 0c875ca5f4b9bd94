//! The exchanges that the messages of a transcript belong to.

use std::collections::HashMap;

use diverge_protocol::transcript::{LinkId, LinkKind, Role, What};
use diverge_protocol::wire::FrameType;

use super::super::reading::Read;

/// All messages of a chain: one link behind another, calls to one endpoint behind those to another, and of a link one
/// exchange behind another, since the scenario orders no more than that. When a connection opens and ends is its parties'
/// own affair.
pub(super) fn by_exchange<'e, 't>(mut events: Vec<&'e Read<'t>>) -> Vec<&'e Read<'t>> {
    events.retain(|message| {
        let what = &message.event.what;
        !matches!(
            what,
            What::Opened { .. }
                | What::Refused { .. }
                | What::Closed
                | What::Broken
                | What::Exited { .. }
        )
    });
    events.sort_by_key(|message| message.event.seq);
    let mut begun = HashMap::new();
    for message in &events {
        let exchange = exchange(message);
        begun.entry(exchange).or_insert(message.event.seq);
    }
    let rank = |kind: LinkKind| {
        let ranks = [LinkKind::Client, LinkKind::Output, LinkKind::Begin];
        let rank = ranks.iter().position(|it| *it == kind);
        rank.unwrap_or(ranks.len())
    };
    events.sort_by_key(|message| {
        let exchange = exchange(message);
        let (_, _, opener) = exchange;
        (
            rank(message.link.kind),
            message.link.name.as_str(),
            message.link.id,
            opener.map(Role::as_str),
            begun.get(&exchange).copied(),
            message.event.seq,
        )
    });
    events
}

/// What a message belongs to: its link, and on it the scope, or a channel by its number and its opener.
fn exchange(message: &Read<'_>) -> (LinkId, Option<(u32, u32)>, Option<Role>) {
    let Some(frame) = &message.frame else {
        return (message.link.id, None, None);
    };
    match opener(message, frame.kind) {
        Some(role) => (
            message.link.id,
            Some((frame.scope, frame.channel)),
            Some(role),
        ),
        None => (message.link.id, Some((frame.scope, 0)), None),
    }
}

/// Who opened the channel that a frame is on.
pub(super) fn opener(message: &Read<'_>, kind: FrameType) -> Option<Role> {
    match kind {
        FrameType::ChannelRequest => Some(message.from),
        FrameType::ChannelResponse | FrameType::ChannelResponseFinish => Some(message.to),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use diverge_protocol::scenario::Iut;
    use diverge_protocol::wire::FrameType::{
        ChannelRequest, ChannelResponse, ChannelResponseFinish, Request, Response,
    };

    use super::super::super::testing::{self, Talk};
    use super::super::golden;
    use crate::verdict::{Outcome, Verdict};

    fn told(say: impl FnOnce(&mut Talk)) -> String {
        let mut talk = Talk::default();
        talk.client(Request, 1, 0, b"\0{}");
        say(&mut talk);
        let outcome = Outcome {
            transcript: talk.transcript,
            ..testing::outcome(Verdict::Pass)
        };
        golden(&outcome, Iut::Chain, &[])
    }

    #[test]
    fn which_exchange_comes_first_does_not_show_and_the_order_within_one_does() {
        let first = told(|talk| {
            talk.proxy(Response, 1, 0, b"\x03");
            talk.provider(Response, 1, 0, b"\x08");
            talk.client(ChannelRequest, 1, 5, b"\x01{\"key\":\"k\"}");
            talk.provider(ChannelResponse, 1, 5, b"\0");
            talk.provider(ChannelResponseFinish, 1, 5, b"");
            talk.provider(Response, 1, 0, b"\x07{}");
        });
        let other = told(|talk| {
            talk.client(ChannelRequest, 1, 5, b"\x01{\"key\":\"k\"}");
            talk.provider(Response, 1, 0, b"\x08");
            talk.provider(ChannelResponse, 1, 5, b"\0");
            talk.provider(Response, 1, 0, b"\x07{}");
            talk.proxy(Response, 1, 0, b"\x03");
            talk.provider(ChannelResponseFinish, 1, 5, b"");
        });
        assert_eq!(first, other);
        let swapped = told(|talk| {
            talk.proxy(Response, 1, 0, b"\x03");
            talk.provider(Response, 1, 0, b"\x07{}");
            talk.provider(Response, 1, 0, b"\x08");
            talk.client(ChannelRequest, 1, 5, b"\x01{\"key\":\"k\"}");
            talk.provider(ChannelResponse, 1, 5, b"\0");
            talk.provider(ChannelResponseFinish, 1, 5, b"");
        });
        assert_ne!(first, swapped);
        assert_eq!(first.lines().count(), 8, "{first}");
    }
}
