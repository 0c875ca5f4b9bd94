//! A word that is none of those under way: which of them it was meant to be, and what is wrong with it.

use bytes::Bytes;

use super::super::violation::{Cx, Length, difference};
use super::super::{id, json};
use super::{Due, RECENT, Relay, Word};

impl Relay {
    pub(super) fn strange_chunk(&mut self, body: &Bytes, cx: &mut Cx<'_>) -> bool {
        let length = Length(body.len());
        if let Some(at) = self.missing.iter().position(|it| it.body == body) {
            let late = self.missing.remove(at);
            let allowed = format!("the chunk of event {} before those sent after it", late.seq);
            cx.flag(id::CHUNK_IN_ORDER, allowed, "the same chunk behind them");
            return false;
        }
        if let Some(rest) = self.rest.take().filter(|rest| rest.starts_with(body)) {
            self.rest = (rest.len() > body.len()).then(|| rest.slice(body.len()..));
            return false;
        }
        if self.recent.contains(body) {
            cx.flag(
                id::CHUNK_ONE_EACH,
                "each chunk of the proxy's once",
                format!("a chunk of {length} that came before"),
            );
            return false;
        }
        if let Some(outside) = self.cut_or_joined(body, cx) {
            return outside;
        }
        let changed = |due: &Due| due.word == Word::Chunk && same_chunk_changed(body, &due.body);
        let changed = self.due.iter().take(RECENT).position(changed);
        if let Some(at) = changed {
            self.skip(at, Word::Chunk, cx);
            let sent = self
                .due
                .get(at)
                .map(|due| due.body.clone())
                .unwrap_or_default();
            cx.flag(
                id::CHUNK_VERBATIM,
                "the proxy's chunk byte for byte",
                difference(body, &sent),
            );
            return self.take(at);
        }
        if let Some(at) = self
            .missing
            .iter()
            .position(|it| same_chunk_changed(body, &it.body))
        {
            let late = self.missing.remove(at);
            cx.flag(
                id::CHUNK_VERBATIM,
                "the proxy's chunk byte for byte",
                difference(body, &late.body),
            );
            return false;
        }
        let allowed = match self.due.iter().find(|due| !due.optional) {
            Some(due) => format!("{} that the proxy sent", due.word.name()),
            None => "nothing, since everything that the proxy sent has come".to_owned(),
        };
        cx.flag(
            id::CHUNK_NOT_INVENTED,
            allowed,
            format!("a chunk of {length} that the proxy did not send"),
        );
        false
    }

    /// A response that holds a part of the next chunk, or several.
    fn cut_or_joined(&mut self, body: &Bytes, cx: &mut Cx<'_>) -> Option<bool> {
        let at = self.position(|due| due.word == Word::Chunk && !due.body.is_empty())?;
        let first = self.due.get(at)?.body.clone();
        let allowed = "each chunk of the proxy's as one response";
        if !body.is_empty()
            && first.len() > body.len()
            && first.starts_with(body)
            && !json::is_json(body)
        {
            self.skip(at, Word::Chunk, cx);
            cx.flag(
                id::CHUNK_ONE_EACH,
                allowed,
                format!("the first {} of {}", Length(body.len()), first.len()),
            );
            self.rest = Some(first.slice(body.len()..));
            return Some(self.take(at));
        }
        let second = self
            .due
            .get(at + 1)
            .filter(|due| due.word == Word::Chunk && !due.body.is_empty())?
            .body
            .clone();
        if body.len() >= first.len() + second.len()
            && body.starts_with(&first)
            && body.ends_with(&second)
        {
            self.skip(at, Word::Chunk, cx);
            cx.flag(
                id::CHUNK_ONE_EACH,
                allowed,
                format!("several chunks in one response of {}", Length(body.len())),
            );
            return Some(self.take(at + 1));
        }
        None
    }

    pub(super) fn strange_word(&mut self, word: Word, body: &Bytes, cx: &mut Cx<'_>) -> bool {
        let spoken = |due: &Due| due.word == Word::Chunk && speaks(&due.body, word);
        let same =
            |due: &Due| word == Word::Inactive && due.word == Word::Chunk && due.body == body;
        if let Some(at) = self.position(same) {
            return self.forged(at, word, cx);
        }
        if let Some(at) = self.position(|due| word == Word::Inactive && due.word == Word::Inactive)
        {
            self.skip(at, word, cx);
            let sent = self
                .due
                .get(at)
                .map(|due| due.body.clone())
                .unwrap_or_default();
            cx.flag(
                id::INACTIVE_VERBATIM,
                "the proxy's values byte for byte",
                difference(body, &sent),
            );
            return self.take(at);
        }
        let next = self.due.iter().position(|due| !due.optional);
        if let Some(at) = next.filter(|at| self.due.get(*at).is_some_and(spoken)) {
            return self.forged(at, word, cx);
        }
        let rule = if word == Word::Active {
            id::ACTIVE_NOT_INVENTED
        } else {
            id::INACTIVE_NOT_INVENTED
        };
        cx.flag(
            rule,
            "only words that the proxy sent",
            format!("{} that it did not send", word.name()),
        );
        false
    }

    fn forged(&mut self, at: usize, word: Word, cx: &mut Cx<'_>) -> bool {
        if let Some(due) = self.due.get_mut(at) {
            due.optional = true;
            let allowed = format!("the chunk of event {} as a chunk", due.seq);
            cx.flag(
                id::WORDS_NOT_FORGED,
                allowed,
                format!("{} in its place", word.name()),
            );
        }
        false
    }

    pub(super) fn strange_error(&mut self, body: &Bytes, cx: &mut Cx<'_>) -> bool {
        if let Some(at) = self.position(|due| due.word == Word::Error) {
            self.skip(at, Word::Error, cx);
            let sent = self
                .due
                .get(at)
                .map(|due| due.body.clone())
                .unwrap_or_default();
            cx.flag(
                id::ERROR_VERBATIM,
                "the proxy's error byte for byte",
                difference(body, &sent),
            );
            return self.take(at);
        }
        let received = format!("an error of {}", Length(body.len()));
        cx.flag(
            id::ERROR_ONLY_FROM_PROXY,
            "no error, since the proxy ended begin with none",
            received,
        );
        false
    }
}

/// Whether a chunk says one of the proxy's words in its own text.
fn speaks(body: &[u8], word: Word) -> bool {
    let name: &[u8] = if word == Word::Active {
        b"active"
    } else {
        b"inactive"
    };
    json::type_of(body).is_some_and(|kind| kind.as_bytes().eq_ignore_ascii_case(name))
        || body.first() == Some(&if word == Word::Active { 8 } else { 9 })
}

/// Whether a chunk is another one with changes, rather than one of its own.
fn same_chunk_changed(received: &[u8], sent: &[u8]) -> bool {
    if let (Ok(a), Ok(b)) = (std::str::from_utf8(received), std::str::from_utf8(sent))
        && json::same_value(a, b)
    {
        return true;
    }
    let longer = received.len().max(sent.len());
    let start = received
        .iter()
        .zip(sent)
        .take_while(|(a, b)| a == b)
        .count();
    let left = received.len().min(sent.len()) - start;
    let end = received
        .iter()
        .rev()
        .zip(sent.iter().rev())
        .take(left)
        .take_while(|(a, b)| a == b)
        .count();
    (start + end) * 2 >= longer
        || json::type_of(received).is_some_and(|kind| json::type_of(sent) == Some(kind))
}
