//! Reads files of codec scenarios, and reports every mistake in them at its place.

use std::sync::Arc;

use super::change::{Change, Payload};
use super::{CodecScenario, Expected, Vector};
use crate::rules::{Iut, RequirementId};
use crate::scenario::error::{Mistake, MistakeKind, close};
use crate::scenario::load::{Loader, Members};
use crate::scenario::model::{Located, Source};
use crate::scenario::node::{self, Data, Node};
use crate::wire::Rule;
use crate::wire::surface::Surface;

/// All codec scenarios of a set of files, in the order of the files.
#[derive(Debug, Default)]
pub struct CodecSuite {
    /// The scenarios, one for each case.
    pub scenarios: Vec<CodecScenario>,
}

/// The kind of implementation that a file's scenarios are for, as far as the file says so.
#[must_use]
pub fn iut_of(source: &Source) -> Option<Iut> {
    let root = node::parse(&source.text).ok()?;
    let Data::Mapping(entries) = &root.data else {
        return None;
    };
    let (_, iut) = entries.iter().find(|(key, _)| key.text() == Some("iut"))?;
    Iut::ALL
        .into_iter()
        .find(|known| iut.text() == Some(known.as_str()))
}

/// Members that stand in a scenario or, for one case of it, in that case.
pub(super) const SHARED: &[&str] = &[
    "requirement",
    "frame",
    "kind",
    "payload",
    "free",
    "broken",
    "rule",
];

impl CodecSuite {
    /// Loads `sources` together; ids are unique over all.
    ///
    /// # Errors
    /// Every mistake of every file.
    pub fn load(sources: &[Arc<Source>]) -> Result<Self, Vec<Mistake>> {
        let mut loading = Loading::default();
        sources.iter().for_each(|source| loading.file(source));
        loading.loader.finished()?;
        Ok(Self {
            scenarios: loading.scenarios,
        })
    }
}

#[derive(Default)]
struct Loading {
    loader: Loader,
    scenarios: Vec<CodecScenario>,
}

/// What a scenario says of all its cases, and a case of itself; the case's word comes first.
struct Said<'a> {
    source: &'a Arc<Source>,
    whole: &'a Node,
    case: Option<(&'a Node, Members<'a>)>,
    shared: &'a Members<'a>,
}

impl<'a> Said<'a> {
    fn get(&self, name: &str) -> Option<&'a Node> {
        let own = self
            .case
            .as_ref()
            .and_then(|(_, members)| members.get(name));
        own.or_else(|| self.shared.get(name))
    }

    /// The node to point at for what is not there.
    fn node(&self) -> &'a Node {
        self.case.as_ref().map_or(self.whole, |(node, _)| node)
    }
}

impl Loading {
    fn file(&mut self, source: &Arc<Source>) {
        let root = match node::parse(&source.text) {
            Ok(root) => root,
            Err(error) => {
                let kind = MistakeKind::NotYaml(error.what);
                return self.loader.mistake(source, &error.place, kind);
            }
        };
        let what = "a file of codec scenarios";
        let Some(members) = self
            .loader
            .members(source, &root, what, &["iut", "scenarios"])
        else {
            return;
        };
        match members.get("iut") {
            None => self.lacks(source, &root, what, "iut"),
            Some(iut) if iut.text() != Some(Iut::Codec.as_str()) => {
                self.bad(source, iut, "iut", "expected `codec`".to_owned());
            }
            Some(_) => {}
        }
        match members.get("scenarios").map(|node| (node, &node.data)) {
            None => self.lacks(source, &root, what, "scenarios"),
            Some((node, Data::Sequence(items))) if items.is_empty() => {
                self.loader.nothing_to_check(source, node);
            }
            Some((_, Data::Sequence(items))) => {
                items.iter().for_each(|item| self.scenario(source, item));
            }
            Some((node, _)) => self.loader.wrong(source, node, "`scenarios`", "a list"),
        }
    }

    fn scenario(&mut self, source: &Arc<Source>, node: &Node) {
        let known = [&["id", "title", "cases"], SHARED].concat();
        let Some(shared) = self
            .loader
            .members(source, node, "a codec scenario", &known)
        else {
            return;
        };
        let mut text = |name| {
            let found = shared.get(name);
            if found.is_none() {
                self.lacks(source, node, "the scenario", name);
            }
            self.text(source, found?, name)
        };
        let (Some(id), Some(title)) = (text("id"), text("title")) else {
            return;
        };
        self.loader
            .check_id(source, shared.get("id").unwrap_or(node), &id, Iut::Codec);
        let Some(cases) = shared.get("cases") else {
            let said = Said {
                source,
                whole: node,
                case: None,
                shared: &shared,
            };
            return self.case(&said, &id, &id, &title);
        };
        let Some(cases) = self.loader.members(source, cases, "`cases`", &[]) else {
            return;
        };
        for (name, value) in cases.0 {
            // A case that is but a text is its broken neighbour.
            let members = match &value.data {
                Data::Scalar { .. } => Some(Members(vec![("broken", value)])),
                _ => self.loader.members(source, value, "a case", SHARED),
            };
            let Some(members) = members else { continue };
            let said = Said {
                source,
                whole: node,
                case: Some((value, members)),
                shared: &shared,
            };
            self.case(&said, &format!("{id}/{name}"), &id, &title);
        }
    }

    fn case(&mut self, said: &Said<'_>, id: &str, family: &str, title: &str) {
        let Some(requirement) = self.requirement(said) else {
            return;
        };
        let Some(surface) = self.word(
            said,
            "frame",
            Surface::ALL.iter().map(|it| (it.name(), *it)),
        ) else {
            return;
        };
        let kinds = surface.kinds().into_iter().map(|kind| (kind, kind));
        let kind = self.word(said, "kind", kinds);
        let rule = self.word(
            said,
            "rule",
            Rule::ALL.iter().map(|rule| (rule.as_str(), *rule)),
        );
        let payload = self.needed(said, "payload").and_then(|(node, text)| {
            let payload = Payload::read(surface, &text);
            payload
                .map_err(|why| self.bad(said.source, node, "payload", why))
                .ok()
        });
        let (Some(kind), Some(rule), Some(payload)) = (kind, rule, payload) else {
            return;
        };
        let mut vectors = vec![Vector {
            surface,
            bytes: payload.bytes(),
            expected: Expected::Accept(kind),
            payload: payload.clone(),
            change: None,
        }];
        let neighbours = [
            ("free", Expected::Accept(kind)),
            ("broken", Expected::Reject(rule)),
        ];
        for (name, expected) in neighbours {
            if name == "free" && said.get(name).is_none() {
                continue;
            }
            let Some((node, text)) = self.needed(said, name) else {
                return;
            };
            let changed = text
                .parse::<Change>()
                .and_then(|change| Ok((change.apply(&payload)?, change)));
            match changed {
                Ok((bytes, _)) if vectors.iter().any(|vector| vector.bytes == bytes) => {
                    let why = "the change leaves a payload that stands here already".to_owned();
                    return self.bad(said.source, node, name, why);
                }
                Ok((bytes, change)) => vectors.push(Vector {
                    surface,
                    bytes,
                    expected,
                    payload: payload.clone(),
                    change: Some(change),
                }),
                Err(error) => return self.bad(said.source, node, name, error.to_string()),
            }
        }
        self.scenarios.push(CodecScenario {
            id: id.to_owned(),
            family: family.to_owned(),
            title: title.to_owned(),
            requirement,
            vectors,
            at: Located {
                source: Arc::clone(said.source),
                place: said.node().place.clone(),
            },
        });
    }

    fn requirement(&mut self, said: &Said<'_>) -> Option<RequirementId> {
        let (node, _) = self.needed(said, "requirement")?;
        self.loader.requirement(said.source, node)
    }

    /// A member that is one of a set of words.
    fn word<T>(
        &mut self,
        said: &Said<'_>,
        name: &'static str,
        words: impl Iterator<Item = (&'static str, T)> + Clone,
    ) -> Option<T> {
        let (node, text) = self.needed(said, name)?;
        let found = words.clone().find(|(word, _)| *word == text);
        if found.is_none() {
            let kind = MistakeKind::UnknownName {
                verb: name.to_owned(),
                known: close(&text, words.map(|(word, _)| word)),
                name: text,
            };
            self.loader.mistake(said.source, &node.place, kind);
        }
        found.map(|(_, value)| value)
    }

    /// A member that must be there, and its text.
    fn needed<'a>(&mut self, said: &Said<'a>, name: &'static str) -> Option<(&'a Node, String)> {
        let Some(node) = said.get(name) else {
            let what = if said.case.is_some() {
                "the case with its scenario"
            } else {
                "the scenario"
            };
            self.lacks(said.source, said.node(), what, name);
            return None;
        };
        self.text(said.source, node, name).map(|text| (node, text))
    }

    fn text(&mut self, source: &Arc<Source>, node: &Node, name: &str) -> Option<String> {
        let text = node.text();
        if text.is_none() {
            self.loader.wrong(
                source,
                node,
                name,
                "text, in quotes where it starts with a bracket",
            );
        }
        text.map(str::to_owned)
    }

    fn lacks(&mut self, source: &Arc<Source>, node: &Node, what: &str, member: &'static str) {
        let what = what.to_owned();
        self.loader
            .mistake(source, &node.place, MistakeKind::Missing { what, member });
    }

    fn bad(&mut self, source: &Arc<Source>, node: &Node, member: &str, why: String) {
        let member = member.to_owned();
        self.loader
            .mistake(source, &node.place, MistakeKind::BadValue { member, why });
    }
}
