//! Reads scenario files and reports every mistake in them at its place.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::acts;
use super::error::{Mistake, MistakeKind, close};
use super::interpolate::{self, names_in};
use super::model::{Action, Fixture, Iut, Located, Part, Scenario, Source, Step};
use super::node::{self, Data, Node, Place};
use super::step::{StepReader, TextValue};
use crate::rules::revisions::{Revisions, Span};
use crate::rules::{Catalogue, RequirementId, Revision};

/// All scenarios of a set of files, in the order of the files.
#[derive(Debug, Default)]
pub struct Suite {
    /// The scenarios, cases filled in.
    pub scenarios: Vec<Scenario>,
}

impl Suite {
    /// Loads `sources` together: a fragment may stand in any of them, and ids are unique over all.
    ///
    /// # Errors
    /// Every mistake of every file.
    pub fn load(sources: &[Arc<Source>]) -> Result<Self, Vec<Mistake>> {
        Self::load_beside(sources, &[])
    }

    /// Loads `sources`, whose scenarios may play the fragments of `library` too.
    ///
    /// # Errors
    /// Every mistake of every file.
    pub fn load_beside(
        sources: &[Arc<Source>],
        library: &[Arc<Source>],
    ) -> Result<Self, Vec<Mistake>> {
        let mut loader = Loader::default();
        let mut files = Vec::new();
        for source in library {
            loader.read_file(source, false);
        }
        for source in sources {
            files.extend(loader.read_file(source, true));
        }
        for (source, node) in files {
            loader.scenario(&source, &node);
        }
        loader.finished()?;
        Ok(Self {
            scenarios: loader.scenarios,
        })
    }
}

/// What a file says of all its scenarios.
#[derive(Debug, Clone, Copy)]
struct Head {
    iut: Iut,
    revision: Revision,
}

/// A fragment: where it comes from and its list of steps.
type Fragment = (Arc<Source>, Node);

/// A case's name, where there are cases, and its values.
type Case = (Option<String>, Vec<(String, String)>);

#[derive(Default)]
pub(super) struct Loader {
    fragments: BTreeMap<(Iut, String), Fragment>,
    scenarios: Vec<Scenario>,
    ids: BTreeMap<String, String>,
    mistakes: Vec<Mistake>,
}

/// The members of a mapping, by name; repeats and unknown ones are reported.
pub(super) struct Members<'a>(pub Vec<(&'a str, &'a Node)>);

impl<'a> Members<'a> {
    pub(super) fn get(&self, name: &str) -> Option<&'a Node> {
        self.0
            .iter()
            .find(|(key, _)| *key == name)
            .map(|(_, node)| *node)
    }
}

impl Loader {
    /// Tells every mistake, in the order of the files.
    pub(super) fn finished(&mut self) -> Result<(), Vec<Mistake>> {
        let mut mistakes = std::mem::take(&mut self.mistakes);
        if mistakes.is_empty() {
            return Ok(());
        }
        mistakes.sort_by(|a, b| {
            (&a.at.source.path, a.at.place.bytes.start)
                .cmp(&(&b.at.source.path, b.at.place.bytes.start))
        });
        mistakes.dedup_by(|a, b| a.at.place == b.at.place && a.kind == b.kind);
        Err(mistakes)
    }

    pub(super) fn mistake(&mut self, source: &Arc<Source>, place: &Place, kind: MistakeKind) {
        self.mistakes.push(Mistake::new(source, place, kind));
    }

    pub(super) fn wrong(
        &mut self,
        source: &Arc<Source>,
        node: &Node,
        what: &str,
        expected: &'static str,
    ) {
        let kind = MistakeKind::WrongNode {
            what: what.to_owned(),
            expected,
            found: node.kind(),
        };
        self.mistake(source, &node.place, kind);
    }

    pub(super) fn nothing_to_check(&mut self, source: &Arc<Source>, node: &Node) {
        let member = "scenarios".to_owned();
        let why = "expected at least one scenario, since an empty list checks nothing".to_owned();
        self.mistake(source, &node.place, MistakeKind::BadValue { member, why });
    }

    pub(super) fn members<'a>(
        &mut self,
        source: &Arc<Source>,
        node: &'a Node,
        what: &str,
        known: &[&str],
    ) -> Option<Members<'a>> {
        let Data::Mapping(entries) = &node.data else {
            self.wrong(source, node, what, "a mapping");
            return None;
        };
        let mut members = Vec::new();
        let mut seen = BTreeSet::new();
        for (key, value) in entries {
            let Some(name) = key.text() else {
                self.wrong(source, key, what, "a name as key");
                continue;
            };
            if !seen.insert(name) {
                self.mistake(source, &key.place, MistakeKind::Repeated(name.to_owned()));
            } else if known.is_empty() || known.contains(&name) {
                members.push((name, value));
            } else {
                let known = close(name, known.iter().copied());
                let kind = MistakeKind::UnknownMember {
                    what: what.to_owned(),
                    member: name.to_owned(),
                    known,
                };
                self.mistake(source, &key.place, kind);
            }
        }
        Some(Members(members))
    }

    /// Reads a file's fragments, and hands back its scenarios to be read once all fragments are known.
    fn read_file(&mut self, source: &Arc<Source>, own: bool) -> Vec<(Arc<Source>, (Head, Node))> {
        let root = match node::parse(&source.text) {
            Ok(root) => root,
            Err(error) => {
                self.mistake(source, &error.place, MistakeKind::NotYaml(error.what));
                return Vec::new();
            }
        };
        let what = "a scenario file";
        let Some(members) = self.members(
            source,
            &root,
            what,
            &["iut", "revision", "fragments", "scenarios"],
        ) else {
            return Vec::new();
        };
        let Some(iut_node) = members.get("iut") else {
            self.mistake(
                source,
                &root.place,
                MistakeKind::Missing {
                    what: what.into(),
                    member: "iut",
                },
            );
            return Vec::new();
        };
        let mut told = Iut::CONVERSING.into_iter().filter(|iut| {
            matches!(iut, Iut::Provider | Iut::Chain) || !acts::verbs(*iut).is_empty()
        });
        let Some(iut) = told
            .clone()
            .find(|iut| iut_node.text() == Some(iut.as_str()))
        else {
            let mut names: Vec<&str> = told.by_ref().map(Iut::as_str).collect();
            names.push(Iut::Codec.as_str());
            let why = format!("expected one of {}", names.join(", "));
            let member = "iut".to_owned();
            self.mistake(
                source,
                &iut_node.place,
                MistakeKind::BadValue { member, why },
            );
            return Vec::new();
        };
        let revision = match members.get("revision").map(|node| (node, node.text())) {
            None | Some((_, Some("scope"))) => Revision::Scope,
            Some((_, Some("path"))) if !matches!(iut, Iut::Provider | Iut::Chain) => Revision::Path,
            Some((node, _)) => {
                let why = if matches!(iut, Iut::Provider | Iut::Chain) {
                    "providers have the revision `scope` alone".to_owned()
                } else {
                    "expected `scope` or `path`".to_owned()
                };
                let member = "revision".to_owned();
                self.mistake(source, &node.place, MistakeKind::BadValue { member, why });
                return Vec::new();
            }
        };
        let head = Head { iut, revision };
        if let Some(fragments) = members.get("fragments")
            && let Some(fragments) = self.members(source, fragments, "`fragments`", &[])
        {
            for (name, steps) in fragments.0 {
                self.fragments
                    .insert((iut, name.to_owned()), (Arc::clone(source), steps.clone()));
            }
        }
        match members.get("scenarios").map(|node| (node, &node.data)) {
            None if members.get("fragments").is_none() => {
                let what = what.to_owned();
                let member = "scenarios";
                self.mistake(source, &root.place, MistakeKind::Missing { what, member });
                Vec::new()
            }
            None => Vec::new(),
            Some((node, Data::Sequence(items))) if items.is_empty() => {
                self.nothing_to_check(source, node);
                Vec::new()
            }
            Some((_, Data::Sequence(items))) if own => items
                .iter()
                .map(|item| (Arc::clone(source), (head, item.clone())))
                .collect(),
            Some((_, Data::Sequence(_))) => Vec::new(),
            Some((node, _)) => {
                self.wrong(source, node, "`scenarios`", "a list");
                Vec::new()
            }
        }
    }

    fn scenario(&mut self, source: &Arc<Source>, (head, node): &(Head, Node)) {
        let iut = &head.iut;
        const KNOWN: &[&str] = &[
            "id",
            "title",
            "requirements",
            "freedom",
            "since",
            "until",
            "exclusive",
            "needs",
            "cases",
            "steps",
        ];
        let Some(members) = self.members(source, node, "a scenario", KNOWN) else {
            return;
        };
        let text_of = |loader: &mut Self, name: &'static str| {
            let found = members.get(name);
            if found.is_none() {
                loader.mistake(
                    source,
                    &node.place,
                    MistakeKind::Missing {
                        what: "the scenario".into(),
                        member: name,
                    },
                );
            }
            let text = found.and_then(Node::text);
            if let (Some(node), None) = (found, text) {
                loader.wrong(source, node, name, "text");
            }
            text.map(str::to_owned)
        };
        let id = text_of(self, "id");
        let title = text_of(self, "title");
        let (Some(id), Some(title)) = (id, title) else {
            return;
        };
        self.check_id(source, members.get("id").unwrap_or(node), &id, *iut);
        let requirements = self.requirements(source, node, members.get("requirements"));
        let needs = self.needs(source, members.get("needs"));
        let exclusive = self.flag(source, members.get("exclusive"));
        let freedom = members
            .get("freedom")
            .and_then(Node::text)
            .map(str::to_owned);
        let mut revision = |name: &'static str| self.revision(source, members.get(name), name);
        let span = Span {
            since: revision("since"),
            until: revision("until"),
        };
        let Some(steps) = members.get("steps") else {
            let kind = MistakeKind::Missing {
                what: format!("scenario `{id}`"),
                member: "steps",
            };
            self.mistake(source, &node.place, kind);
            return;
        };
        let cases = self.cases(source, members.get("cases"));
        let at = Located {
            source: Arc::clone(source),
            place: node.place.clone(),
        };
        for (case, values) in cases {
            let full = case
                .as_ref()
                .map_or_else(|| id.clone(), |case| format!("{id}/{case}"));
            let filled = match interpolate::fill(steps, &values) {
                Ok(filled) => filled,
                Err(unused) => {
                    let why = format!("nothing in the steps uses ${{{unused}}}");
                    let kind = MistakeKind::BadCase {
                        case: case.unwrap_or_default(),
                        why,
                    };
                    self.mistake(source, &steps.place, kind);
                    continue;
                }
            };
            let before = self.mistakes.len();
            let mut playing = Vec::new();
            let steps = self.steps(
                source,
                &filled,
                *iut,
                Part::Probe,
                &Defaults::default(),
                &mut playing,
            );
            let scenario = Scenario {
                id: full,
                family: id.clone(),
                title: title.clone(),
                iut: *iut,
                revision: head.revision,
                requirements: requirements.clone(),
                freedom: freedom.clone(),
                span: span.clone(),
                exclusive,
                needs: needs.clone(),
                steps,
                at: at.clone(),
            };
            if self.mistakes.len() == before {
                self.check_whole(source, node, &scenario);
            }
            self.scenarios.push(scenario);
        }
    }

    /// The name of a revision that there is.
    fn revision(
        &mut self,
        source: &Arc<Source>,
        node: Option<&Node>,
        member: &'static str,
    ) -> Option<String> {
        let node = node?;
        let known = Revisions::known();
        let name = node.text().filter(|name| known.find(name).is_ok());
        if name.is_none() {
            self.wrong(
                source,
                node,
                member,
                "the name of a revision, `path` or `scope`",
            );
        }
        name.map(str::to_owned)
    }

    pub(super) fn check_id(&mut self, source: &Arc<Source>, node: &Node, id: &str, iut: Iut) {
        let part = |text: &str| {
            !text.is_empty()
                && text
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        };
        let parts: Vec<_> = id.split('/').collect();
        if parts.len() != 3
            || parts[0] != iut.as_str()
            || !parts.iter().all(|p| part(p))
            || id.len() > 80
        {
            let why = format!(
                "an id is `{}/topic/name` in lower case with hyphens, at most 80 characters",
                iut.as_str()
            );
            self.mistake(
                source,
                &node.place,
                MistakeKind::BadValue {
                    member: "id".into(),
                    why,
                },
            );
        }
        let here = format!("{}:{}:{}", source.path, node.place.line, node.place.column);
        if let Some(other) = self.ids.insert(id.to_owned(), here) {
            self.mistake(
                source,
                &node.place,
                MistakeKind::DuplicateId {
                    id: id.to_owned(),
                    other,
                },
            );
        }
    }

    fn requirements(
        &mut self,
        source: &Arc<Source>,
        scenario: &Node,
        node: Option<&Node>,
    ) -> Vec<RequirementId> {
        let Some(node) = node else {
            let kind = MistakeKind::Missing {
                what: "the scenario".into(),
                member: "requirements",
            };
            self.mistake(source, &scenario.place, kind);
            return Vec::new();
        };
        let Data::Sequence(items) = &node.data else {
            self.wrong(source, node, "`requirements`", "a list of requirement ids");
            return Vec::new();
        };
        if items.is_empty() {
            let why = "at least one requirement is expected".to_owned();
            self.mistake(
                source,
                &node.place,
                MistakeKind::BadValue {
                    member: "requirements".into(),
                    why,
                },
            );
        }
        items
            .iter()
            .filter_map(|item| self.requirement(source, item))
            .collect()
    }

    pub(super) fn requirement(
        &mut self,
        source: &Arc<Source>,
        node: &Node,
    ) -> Option<RequirementId> {
        let Some(name) = node.text() else {
            self.wrong(source, node, "a requirement", "its id");
            return None;
        };
        let found = RequirementId::new(name);
        if found.is_none() {
            let known = close(
                name,
                Catalogue::get()
                    .requirements()
                    .iter()
                    .map(|requirement| requirement.id.as_str()),
            );
            let kind = MistakeKind::UnknownRequirement {
                name: name.to_owned(),
                known,
            };
            self.mistake(source, &node.place, kind);
        }
        found
    }

    fn needs(&mut self, source: &Arc<Source>, node: Option<&Node>) -> Vec<Fixture> {
        let Some(node) = node else { return Vec::new() };
        let Data::Sequence(items) = &node.data else {
            self.wrong(source, node, "`needs`", "a list of fixtures");
            return Vec::new();
        };
        let mut needs = Vec::new();
        for item in items {
            let found = Fixture::ALL
                .iter()
                .find(|(_, key)| item.text() == Some(*key));
            match found {
                Some((fixture, _)) => needs.push(*fixture),
                None => {
                    let name = item.text().unwrap_or_default().to_owned();
                    let known = close(&name, Fixture::ALL.iter().map(|(_, key)| *key));
                    self.mistake(
                        source,
                        &item.place,
                        MistakeKind::UnknownName {
                            verb: "needs".into(),
                            name,
                            known,
                        },
                    );
                }
            }
        }
        needs
    }

    fn flag(&mut self, source: &Arc<Source>, node: Option<&Node>) -> bool {
        match node.map(|node| (node, node.text())) {
            None | Some((_, Some("false"))) => false,
            Some((_, Some("true"))) => true,
            Some((node, _)) => {
                let why = "expected true or false".to_owned();
                self.mistake(
                    source,
                    &node.place,
                    MistakeKind::BadValue {
                        member: "exclusive".into(),
                        why,
                    },
                );
                false
            }
        }
    }

    /// Every case with its values; a scenario without cases is one case without values.
    fn cases(&mut self, source: &Arc<Source>, node: Option<&Node>) -> Vec<Case> {
        let Some(node) = node else {
            return vec![(None, Vec::new())];
        };
        let Some(cases) = self.members(source, node, "`cases`", &[]) else {
            return Vec::new();
        };
        let mut read = Vec::new();
        for (name, values) in cases.0 {
            let Some(values) = self.members(source, values, "a case", &[]) else {
                continue;
            };
            let mut pairs = Vec::new();
            for (key, value) in values.0 {
                match value.text() {
                    Some(text) => pairs.push((key.to_owned(), text.to_owned())),
                    None => self.wrong(source, value, key, "text"),
                }
            }
            read.push((Some(name.to_owned()), pairs));
        }
        read
    }

    fn steps(
        &mut self,
        source: &Arc<Source>,
        node: &Node,
        iut: Iut,
        part: Part,
        defaults: &Defaults,
        playing: &mut Vec<String>,
    ) -> Vec<Step> {
        let Data::Sequence(items) = &node.data else {
            self.wrong(source, node, "a conversation", "a list of steps");
            return Vec::new();
        };
        let mut steps = Vec::new();
        for item in items {
            self.step(source, item, iut, part, defaults, playing, &mut steps);
        }
        steps
    }

    #[allow(
        clippy::too_many_arguments,
        reason = "the context of one recursive descent"
    )]
    fn step(
        &mut self,
        source: &Arc<Source>,
        node: &Node,
        iut: Iut,
        part: Part,
        defaults: &Defaults,
        playing: &mut Vec<String>,
        out: &mut Vec<Step>,
    ) {
        let mut reader = match StepReader::new(source, node, iut) {
            Ok(reader) => reader,
            Err(mistakes) => return self.mistakes.extend(mistakes),
        };
        let at = Located {
            source: Arc::clone(source),
            place: node.place.clone(),
        };
        let plain = |action| Step {
            at: at.clone(),
            action,
            args: defaults.args(),
            checks: None,
            part,
        };
        match reader.verb() {
            "play" => {
                let (name, mut renamed, checks) = reader.play(defaults);
                self.mistakes.extend(reader.finish());
                if let Some(checks) = checks {
                    renamed.checks = self.requirement(source, &checks);
                }
                let Some(TextValue { text: name, place }) = name else {
                    return;
                };
                let Some((from, fragment)) = self.fragments.get(&(iut, name.clone())).cloned()
                else {
                    let of_kind = self.fragments.keys().filter(|(other, _)| *other == iut);
                    let known = close(&name, of_kind.map(|(_, known)| known.as_str()));
                    return self.mistake(
                        source,
                        &place,
                        MistakeKind::UnknownFragment { name, known },
                    );
                };
                if playing.contains(&name) {
                    return self.mistake(source, &place, MistakeKind::EndlessFragment(name));
                }
                playing.push(name);
                out.extend(self.steps(&from, &fragment, iut, part, &renamed, playing));
                playing.pop();
            }
            "control" | "witness" => {
                let inner = reader.value().clone();
                self.mistakes.extend(reader.finish());
                out.extend(self.steps(source, &inner, iut, Part::Control, defaults, playing));
            }
            "any number of" => {
                let inner = reader.value().clone();
                self.mistakes.extend(reader.finish());
                let steps = self.steps(source, &inner, iut, part, defaults, playing);
                let expects = |step: &Step| step.action.expects();
                if !steps.iter().all(expects) {
                    let why = "only expectations can be met any number of times".to_owned();
                    let member = "any number of".to_owned();
                    self.mistake(source, &inner.place, MistakeKind::BadValue { member, why });
                }
                out.push(plain(Action::AnyNumberOf(steps)));
            }
            verb @ ("either order" | "one of") => {
                let inner = reader.value().clone();
                self.mistakes.extend(reader.finish());
                let Data::Sequence(branches) = &inner.data else {
                    return self.wrong(source, &inner, verb, "a list of conversations");
                };
                let branches: Vec<_> = branches
                    .iter()
                    .map(|b| self.steps(source, b, iut, part, defaults, playing))
                    .collect();
                out.push(plain(if verb == "one of" {
                    Action::OneOf(branches)
                } else {
                    Action::EitherOrder(branches)
                }));
            }
            "repeat" => {
                let (times, inner) = reader.repeat();
                self.mistakes.extend(reader.finish());
                if let (Some(times), Some(inner)) = (times, inner) {
                    let steps = self.steps(source, &inner, iut, part, defaults, playing);
                    out.push(plain(Action::Repeat(times, steps)));
                }
            }
            _ => {
                let (action, mut args, checks) = reader.speak();
                self.mistakes.extend(reader.finish());
                defaults.complete(&mut args);
                let checks = checks.and_then(|node| self.requirement(source, &node));
                if let Some(action) = action {
                    let checks = checks.or(defaults.checks.filter(|_| action.expects()));
                    out.push(Step {
                        at,
                        action,
                        args,
                        checks,
                        part,
                    });
                }
            }
        }
    }

    /// What can be said only of a scenario whose steps are all sound.
    fn check_whole(&mut self, source: &Arc<Source>, node: &Node, scenario: &Scenario) {
        let mut expects = false;
        let mut captured: BTreeSet<String> = BTreeSet::new();
        let mut missing = Vec::new();
        let mut fixes_arguments = None;
        scenario.each_step(&mut |step| {
            expects |= step.action.expects();
            for text in step.args.texts() {
                for name in names_in(text) {
                    if !captured.contains(name) && !interpolate::is_built_in(name) {
                        missing.push((step.at.clone(), name.to_owned()));
                    }
                }
            }
            captured.extend(step.args.capture.clone());
            let whole = [&step.args.arguments, &step.args.json]
                .into_iter()
                .flatten();
            if scenario.iut == Iut::Provider
                && matches!(
                    step.action,
                    Action::ClientSends(super::model::ClientMessage::Run)
                )
                && whole.clone().count() > 0
                && !whole.clone().any(|text| text.contains("${token}"))
            {
                fixes_arguments = Some(
                    "its run request's arguments do not hold ${token}, which tells its connections",
                );
            }
            if matches!(step.action, Action::ProxyRefuses) {
                fixes_arguments =
                    Some("its proxy turns connections away before they can say whose they are");
            }
        });
        for (at, name) in missing {
            self.mistakes.push(Mistake {
                at,
                kind: MistakeKind::UsedBeforeCaptured(name),
            });
        }
        if !expects {
            self.mistake(
                source,
                &node.place,
                MistakeKind::NoExpectation(scenario.id.clone()),
            );
        }
        if let (Some(why), false) = (fixes_arguments, scenario.exclusive) {
            let kind = MistakeKind::NeedsExclusive {
                id: scenario.id.clone(),
                why,
            };
            self.mistake(source, &node.place, kind);
        }
    }
}

/// What a played fragment's steps mean by the connection, the run, the channel and the requirement that they do not name.
#[derive(Debug, Clone, Default)]
pub(super) struct Defaults {
    pub on: Option<String>,
    pub run: Option<String>,
    pub channel: Option<String>,
    /// What its expectations check, unless they say it themselves.
    pub checks: Option<RequirementId>,
}

impl Defaults {
    fn args(&self) -> super::model::Args {
        let mut args = super::model::Args::default();
        self.complete(&mut args);
        args
    }

    fn complete(&self, args: &mut super::model::Args) {
        if args.on.is_none() {
            args.on.clone_from(&self.on);
        }
        if args.run.is_none() {
            args.run.clone_from(&self.run);
        }
        if args.channel.is_none() {
            args.channel.clone_from(&self.channel);
        }
    }
}
