//! What the provider carries on to the proxy: which of the client's asks it is.

use bytes::Bytes;

use super::super::id;
use super::super::violation::{Cx, Length, difference};
use super::{Ask, AskKind, Asks, Carried};
use crate::wire::profile::BeginChannel;

impl Asks {
    /// The provider opened a channel on the begin scope.
    pub(in crate::rules) fn carried_on(
        &mut self,
        channel: u32,
        opened: BeginChannel,
        body: Bytes,
        begun: bool,
        cx: &mut Cx<'_>,
    ) {
        let Some(kind) = AskKind::of_begin(opened) else {
            return;
        };
        let ask = self.match_ask(kind, &body, begun, cx);
        self.carried.insert(
            channel,
            Carried {
                kind,
                body,
                ask,
                answered: false,
            },
        );
    }

    fn match_ask(
        &mut self,
        kind: AskKind,
        body: &Bytes,
        begun: bool,
        cx: &mut Cx<'_>,
    ) -> Option<(u32, u64)> {
        let equal = || {
            self.asks
                .iter()
                .filter(|(_, ask)| ask.is(kind, body) && !ask.relayed)
        };
        if let Some((&channel, ask)) = equal().min_by_key(|(_, ask)| ask.seq) {
            let (seq, early) = (ask.seq, ask.early);
            let several = equal().nth(1).is_some() || ask.loose;
            let before = |it: &Ask| it.early && !it.relayed && !it.lenient && it.seq < seq;
            if early && !several && self.asks.values().any(before) {
                let received = "one that it opened later";
                cx.flag(
                    id::EARLY_IN_ORDER,
                    "first the channel that the client opened first",
                    received,
                );
            }
            if early && !begun {
                let received = format!("the {} carried on", kind.name());
                cx.flag(
                    id::EARLY_KEPT,
                    "nothing of the client's channels before begun",
                    received,
                );
            }
            // Whether the server heard an equal ask that it may also have ignored cannot be told.
            let doubtful = self.doubtful.iter().any(|it| it.0 == kind && it.1 == *body)
                || self.again.iter().any(|it| it.asks(kind, body));
            for it in self
                .asks
                .values_mut()
                .filter(|it| it.is(kind, body) && (!it.relayed || it.loose))
            {
                it.loose |= several;
                it.lenient |= doubtful;
            }
            let ask = self.asks.get_mut(&channel)?;
            ask.relayed = true;
            return (!ask.loose && !ask.lenient).then_some((channel, seq));
        }
        if self.doubtful.iter().any(|it| it.0 == kind && it.1 == *body) {
            return None;
        }
        let mut again = self
            .again
            .iter()
            .filter(|it| it.asks(kind, body))
            .peekable();
        if again.peek().is_none() {
            return self.match_no_ask(kind, body, cx);
        }
        if again.all(|it| it.certain || self.waits(it.channel)) {
            let received = format!("the second {} carried on", kind.name());
            cx.flag(
                id::CHANNEL_DUPLICATE_IGNORED,
                "nothing for a request on an open channel",
                received,
            );
            self.again
                .iter_mut()
                .filter(|it| it.asks(kind, body))
                .for_each(|it| it.certain = true);
        }
        None
    }

    /// The provider carried on what the client did not ask in these words.
    fn match_no_ask(&mut self, kind: AskKind, body: &Bytes, cx: &mut Cx<'_>) -> Option<(u32, u64)> {
        let twice = self.asks.values().any(|ask| ask.is(kind, body))
            || self.ended.iter().any(|it| it.0 == kind && it.1 == *body);
        if twice {
            if kind != AskKind::Schema {
                cx.flag(
                    kind.request(),
                    format!("each {} once", kind.name()),
                    "one that was carried on before",
                );
            }
            return None;
        }
        let waiting = || {
            self.asks
                .iter()
                .filter(|(_, ask)| ask.kind == kind && !ask.relayed)
        };
        let changed = waiting()
            .filter(|(_, ask)| !ask.lenient)
            .min_by_key(|(_, ask)| ask.seq);
        if let Some((&channel, ask)) = changed {
            let (seq, received) = (ask.seq, difference(body, &ask.body));
            cx.flag(
                kind.request(),
                format!("the body of the client's {}", kind.name()),
                received,
            );
            self.asks.get_mut(&channel)?.relayed = true;
            return Some((channel, seq));
        }
        if kind != AskKind::Schema && waiting().next().is_none() {
            let received = format!("one of {} that no client asked", Length(body.len()));
            cx.flag(
                kind.request(),
                format!("only the {} that the client asks", kind.name()),
                received,
            );
        }
        None
    }
}
