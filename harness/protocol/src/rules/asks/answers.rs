//! What the client gets for an ask: whether it is what the proxy said.

use bytes::Bytes;

use super::super::catalogue::RequirementId;
use super::super::id;
use super::super::violation::{Cx, Length, difference};
use super::{Ask, Asks, LooseAnswer};

impl Asks {
    /// An answer that cannot be this ask's is one to a second request on its channel, where there was one.
    pub(super) fn named(&self, channel: u32, ask: &Ask, rule: RequirementId) -> RequirementId {
        let again = self.again.iter().any(|it| it.channel == channel);
        if again && ask.waits() {
            id::CHANNEL_DUPLICATE_IGNORED
        } else {
            rule
        }
    }

    pub(super) fn judge_answer(
        &self,
        ask: &Ask,
        payload: &Bytes,
    ) -> Option<(RequirementId, String, String)> {
        let kind = ask.kind;
        let got = format!("an answer of {}", Length(payload.len()));
        if ask.answered > 0 {
            if ask.more_answers {
                return None;
            }
            return Some((
                kind.answer(id::ENQUEUE_ANSWER),
                "one answer".to_owned(),
                "a second answer".to_owned(),
            ));
        }
        if ask.loose {
            let group = || {
                self.loose
                    .iter()
                    .filter(|it| it.kind == kind && it.body == ask.body)
            };
            if group().any(|it| it.answer.as_ref() == Some(payload)) {
                return None;
            }
            let rule = if group().next().is_some() {
                id::ENQUEUE_VERBATIM
            } else {
                id::ENQUEUE_LATE
            };
            return Some((
                kind.answer(rule),
                "an answer of the proxy's, unchanged".to_owned(),
                got,
            ));
        }
        if !ask.relayed {
            let allowed = format!("the {} carried on to the proxy first", kind.name());
            return Some((kind.request(), allowed, got));
        }
        let own = ask.answer.as_ref().map(|(_, answer)| answer);
        if own == Some(payload) {
            return None;
        }
        let mut others = self.asks.values();
        if others.any(|it| {
            it.kind == kind
                && it
                    .answer
                    .as_ref()
                    .is_some_and(|(_, answer)| answer == payload)
        }) {
            let received = "the answer to another ask".to_owned();
            return Some((
                kind.answer(id::ENQUEUE_MANY),
                "the answer to this ask".to_owned(),
                received,
            ));
        }
        match (own, ask.finished) {
            (Some(own), _) => {
                let allowed = "the proxy's answer byte for byte".to_owned();
                Some((
                    kind.answer(id::ENQUEUE_VERBATIM),
                    allowed,
                    difference(payload, own),
                ))
            }
            (None, true) => Some((
                kind.answer(id::ENQUEUE_UNSERVED),
                "the finish alone, as from the proxy".to_owned(),
                got,
            )),
            (None, false) => Some((
                kind.answer(id::ENQUEUE_LATE),
                "nothing before the proxy's answer".to_owned(),
                got,
            )),
        }
    }

    pub(super) fn judge_bare(&mut self, channel: u32, ask: &Ask, cx: &mut Cx<'_>) {
        let kind = ask.kind;
        if ask.loose {
            let same = |it: &LooseAnswer| ask.is(it.kind, &it.body) && it.answer.is_none();
            match self.loose.iter().position(same) {
                Some(at) => drop(self.loose.remove(at)),
                None => cx.flag(
                    kind.answer(id::ENQUEUE_LATE),
                    "an answer of the proxy's",
                    "the finish alone",
                ),
            }
        } else if !ask.relayed {
            let allowed = format!("the {} carried on to the proxy", kind.name());
            cx.flag(
                self.named(channel, ask, kind.request()),
                allowed,
                "the channel's finish without that",
            );
        } else if let Some((seq, answer)) = &ask.answer {
            let allowed = format!(
                "the proxy's answer of {} (event {seq})",
                Length(answer.len())
            );
            cx.flag(kind.answer(id::ENQUEUE_ANSWER), allowed, "the finish alone");
        } else if !ask.finished {
            let rule = self.named(channel, ask, kind.answer(id::ENQUEUE_LATE));
            cx.flag(
                rule,
                "nothing before the proxy's answer",
                "the finish alone",
            );
        }
    }
}
