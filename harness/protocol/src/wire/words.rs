//! The words that the protocol's own JSON is made of: names of members, values of tags, literals.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::shape::{Object, Shape};
use super::{agent_event, agent_server, channel, chunk, path_run, request, run};

static WORDS: LazyLock<BTreeSet<&'static str>> = LazyLock::new(|| {
    let mut words = BTreeSet::from(["true", "false", "null"]);
    let payloads = [
        &request::RUN,
        &request::BEGIN,
        &run::ID,
        &run::REFUSAL_WITH_MODE,
        &chunk::CHUNK,
        &path_run::REQUEST,
        &path_run::PATH_CHUNK,
        &channel::READ,
        &channel::WRITE,
        &channel::TRANSFER,
        &channel::ENQUEUE,
        &channel::DEQUEUE,
    ];
    let payloads = payloads.into_iter().chain([&agent_event::COMPACTION]);
    for shape in payloads.chain(agent_server::SHAPES.iter().copied()) {
        collect(shape, &mut words);
    }
    words
});

/// Whether a text is a word of the protocol's own JSON or stands within one, as `type`, `mess` and `true` do: nobody can
/// tell by it what a payload says.
#[must_use]
pub fn says_nothing(text: &[u8]) -> bool {
    let within = |word: &&str| word.as_bytes().windows(text.len()).any(|part| part == text);
    text.is_empty() || WORDS.iter().any(within)
}

fn collect(shape: &Shape, words: &mut BTreeSet<&'static str>) {
    match shape {
        Shape::Object(object) => members(object, words),
        Shape::Tagged(tagged) => {
            for (tag, object) in tagged.variants {
                words.insert(tag);
                members(object, words);
            }
        }
        Shape::Array(items) => collect(items, words),
        Shape::Const(values) => words.extend(values.iter()),
        _ => {}
    }
}

fn members(object: &Object, words: &mut BTreeSet<&'static str>) {
    for member in object.members {
        words.insert(member.name);
        collect(&member.shape, words);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tags_literals_and_parts_of_them_say_nothing_and_other_texts_do() {
        for word in [
            "name",
            "tool_call",
            "read_only",
            "mess",
            "null",
            "mimeType",
            "ephemeral",
            "",
        ] {
            assert!(says_nothing(word.as_bytes()), "{word}");
        }
        for text in ["hunter2", "names", "name ", "123456"] {
            assert!(!says_nothing(text.as_bytes()), "{text}");
        }
    }
}
