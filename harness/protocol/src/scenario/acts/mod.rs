//! The words of the kinds of implementations whose scenarios are told by a table: who does what, and which details each
//! may have.
//!
//! A kind is one module here with its verbs. The loader, the JSON Schema, the prose and the diagrams read the same
//! table. (Scenarios for providers came first, and have their words in the vocabulary module.)

mod agent_server;
mod client;
mod proxy;

pub use agent_server::AgentServerAct;
pub use client::{ClientAct, ClientEnd, Told};
pub use proxy::ProxyAct;

use crate::rules::Iut;
use crate::transcript::Role;

/// Something that a party does, or expects of the implementation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// In a scenario for proxies.
    Proxy(ProxyAct),
    /// In a scenario for agent servers.
    AgentServer(AgentServerAct),
    /// In a scenario for clients.
    Client(ClientAct),
}

/// The key of a step: a party, and whether it acts or waits.
#[derive(Debug)]
pub struct Verb {
    /// As scenario files have it.
    pub key: &'static str,
    /// For editors.
    pub about: &'static str,
    /// Who a message of this verb comes from.
    pub from: Role,
    /// Who it goes to.
    pub to: Role,
    /// What may stand behind the key.
    pub words: Words,
}

/// What stands behind a verb.
#[derive(Debug)]
pub enum Words {
    /// One of these words.
    Named(&'static [Word]),
    /// The name of a link, for this act with these details.
    Link(Act, &'static [&'static str]),
}

/// A word behind a verb.
#[derive(Debug)]
pub struct Word {
    /// As scenario files have it.
    pub name: &'static str,
    /// What it means.
    pub act: Act,
    /// The details that its step may have.
    pub fields: &'static [&'static str],
}

/// The verbs of a kind; none for kinds whose scenarios are told otherwise.
#[must_use]
pub fn verbs(iut: Iut) -> &'static [Verb] {
    match iut {
        Iut::Proxy => proxy::VERBS,
        Iut::AgentServer => agent_server::VERBS,
        Iut::Client => client::VERBS,
        Iut::Chain => client::IN_CHAINS,
        Iut::Provider | Iut::Codec | Iut::Events => &[],
    }
}

impl Act {
    fn iut(self) -> Iut {
        match self {
            Self::Proxy(_) => Iut::Proxy,
            Self::AgentServer(_) => Iut::AgentServer,
            Self::Client(_) => Iut::Client,
        }
    }

    /// Whether the step waits for something of the implementation.
    #[must_use]
    pub fn expects(self) -> bool {
        match self {
            Self::Proxy(act) => act.expects(),
            Self::AgentServer(act) => act.expects(),
            Self::Client(act) => act.expects(),
        }
    }

    /// Its verb, and its word there; an act on a link has the verb alone.
    #[must_use]
    pub fn verb(self) -> Option<(&'static Verb, Option<&'static str>)> {
        verbs(self.iut()).iter().find_map(|verb| match verb.words {
            Words::Named(words) => {
                let word = words.iter().find(|word| word.act == self)?;
                Some((verb, Some(word.name)))
            }
            Words::Link(act, _) => (act == self).then_some((verb, None)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::vocabulary::FIELDS;
    use super::*;

    #[test]
    fn every_detail_of_every_word_is_one_that_the_format_knows() {
        for verb in Iut::ALL.into_iter().flat_map(verbs) {
            let words: Vec<&[&str]> = match verb.words {
                Words::Named(words) => words.iter().map(|word| word.fields).collect(),
                Words::Link(_, fields) => vec![fields],
            };
            for field in words.into_iter().flatten() {
                let known = FIELDS.iter().any(|known| known.name == *field);
                assert!(known, "{}: {field}", verb.key);
            }
        }
    }

    #[test]
    fn every_act_is_found_by_its_verb_and_word() {
        for verb in Iut::ALL.into_iter().flat_map(verbs) {
            let Words::Named(words) = verb.words else {
                continue;
            };
            for word in words {
                let (found, name) = word.act.verb().expect("its verb");
                assert_eq!((found.key, name), (verb.key, Some(word.name)));
            }
        }
    }
}
