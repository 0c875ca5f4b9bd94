//! Reads one step: its key, its message, and the details that the vocabulary allows there.

use std::sync::Arc;

use super::acts::{Verb, Words, verbs};
use super::error::{Mistake, MistakeKind, close};
use super::load::Defaults;
use super::model::{
    Action, Args, ClientExpectation, ClientMessage, Iut, ProxyExpectation, ProxyMessage, Source,
};
use super::node::{Data, Node, Place};
use super::vocabulary::{self, FIELDS, Form, step_keys};
use crate::transcript::AgentCall;
use crate::wire::mutate::Mutation;

/// Text and where it stands.
pub(super) struct TextValue {
    pub text: String,
    pub place: Place,
}

/// The members of one step, taken one by one; what is left over at the end does not belong there.
pub(super) struct StepReader<'a> {
    source: &'a Arc<Source>,
    iut: Iut,
    verb: &'static str,
    value: &'a Node,
    rest: Vec<(&'a Node, &'a str, &'a Node)>,
    allowed: Vec<&'static str>,
    mistakes: Vec<Mistake>,
}

impl<'a> StepReader<'a> {
    pub(super) fn new(
        source: &'a Arc<Source>,
        node: &'a Node,
        iut: Iut,
    ) -> Result<Self, Vec<Mistake>> {
        let unknown = || {
            let keys = step_keys(iut).map(|(key, _)| key.to_owned()).collect();
            Mistake::new(source, &node.place, MistakeKind::UnknownStep(keys))
        };
        let Data::Mapping(entries) = &node.data else {
            return Err(vec![unknown()]);
        };
        let mut mistakes = Vec::new();
        let mut verb = None;
        let mut rest: Vec<(&Node, &str, &Node)> = Vec::new();
        for (key, value) in entries {
            let Some(name) = key.text() else {
                let kind = MistakeKind::WrongNode {
                    what: "a step".into(),
                    expected: "a name as key",
                    found: key.kind(),
                };
                mistakes.push(Mistake::new(source, &key.place, kind));
                continue;
            };
            let known = step_keys(iut)
                .find(|(step, _)| *step == name)
                .map(|(step, _)| step);
            match (known, verb) {
                (Some(step), None) => verb = Some((step, value)),
                (Some(step), Some(_)) => {
                    let kind = MistakeKind::UnknownMember {
                        what: "this step".into(),
                        member: step.into(),
                        known: vec![],
                    };
                    mistakes.push(Mistake::new(source, &key.place, kind));
                }
                (None, _) if rest.iter().any(|(_, other, _)| *other == name) => {
                    mistakes.push(Mistake::new(
                        source,
                        &key.place,
                        MistakeKind::Repeated(name.to_owned()),
                    ));
                }
                (None, _) => rest.push((key, name, value)),
            }
        }
        match verb {
            Some((verb, value)) if mistakes.is_empty() => Ok(Self {
                source,
                iut,
                verb,
                value,
                rest,
                allowed: Vec::new(),
                mistakes,
            }),
            Some(_) => Err(mistakes),
            None => {
                mistakes.push(unknown());
                Err(mistakes)
            }
        }
    }

    pub(super) fn verb(&self) -> &'static str {
        self.verb
    }

    pub(super) fn value(&self) -> &'a Node {
        self.value
    }

    fn mistake(&mut self, place: &Place, kind: MistakeKind) {
        self.mistakes.push(Mistake::new(self.source, place, kind));
    }

    fn bad(&mut self, place: &Place, member: &str, why: impl Into<String>) {
        self.mistake(
            place,
            MistakeKind::BadValue {
                member: member.to_owned(),
                why: why.into(),
            },
        );
    }

    fn take(&mut self, name: &'static str) -> Option<&'a Node> {
        self.allowed.push(name);
        let at = self.rest.iter().position(|(_, key, _)| *key == name)?;
        Some(self.rest.remove(at).2)
    }

    fn take_text(&mut self, name: &'static str) -> Option<String> {
        let node = self.take(name)?;
        self.text(node, name)
    }

    fn text(&mut self, node: &Node, what: &str) -> Option<String> {
        let text = node.text().map(str::to_owned);
        if text.is_none() {
            let kind = MistakeKind::WrongNode {
                what: format!("`{what}`"),
                expected: "text",
                found: node.kind(),
            };
            self.mistake(&node.place, kind);
        }
        text
    }

    fn number<T: TryFrom<u64>>(&mut self, name: &'static str) -> Option<T> {
        let node = self.take(name)?;
        let text = self.text(node, name)?;
        let parsed = match text.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(&hex.replace('_', ""), 16),
            None => text.parse(),
        };
        let number = parsed.ok().and_then(|number| T::try_from(number).ok());
        if number.is_none() {
            self.bad(
                &node.place,
                name,
                format!("`{text}` is no number that fits here"),
            );
        }
        number
    }

    /// The fragment's name, and what its steps mean by the names that they leave out.
    /// The requirement is what those of its steps check that say nothing else.
    pub(super) fn play(
        &mut self,
        defaults: &Defaults,
    ) -> (Option<TextValue>, Defaults, Option<Node>) {
        let checks = self.take("checks").cloned();
        let name = self.text(self.value, "play").map(|text| TextValue {
            text,
            place: self.value.place.clone(),
        });
        let on = self.take_text("on").or_else(|| defaults.on.clone());
        let run = self.take_text("run").or_else(|| defaults.run.clone());
        let channel = self
            .take_text("channel")
            .or_else(|| defaults.channel.clone());
        let defaults = Defaults {
            on,
            run,
            channel,
            checks: defaults.checks,
        };
        (name, defaults, checks)
    }

    pub(super) fn repeat(&mut self) -> (Option<u32>, Option<Node>) {
        let times = self.text(self.value, "repeat").and_then(|text| {
            let times = text.parse().ok().filter(|times| *times > 0);
            if times.is_none() {
                self.bad(
                    &self.value.place.clone(),
                    "repeat",
                    "a number from 1 is expected",
                );
            }
            times
        });
        let steps = self.take("steps").cloned();
        if steps.is_none() {
            let kind = MistakeKind::Missing {
                what: "`repeat`".into(),
                member: "steps",
            };
            self.mistake(&self.value.place.clone(), kind);
        }
        (times, steps)
    }

    /// A speaking step: its action, its details, and the requirement that it checks.
    pub(super) fn speak(&mut self) -> (Option<Action>, Args, Option<Node>) {
        let checks = self.take("checks").cloned();
        let value = self.text(self.value, self.verb).unwrap_or_default();
        let mut args = Args::default();
        let told = verbs(self.iut).iter().find(|verb| verb.key == self.verb);
        if let Some(verb) = told {
            let action = self.told_by_table(verb, value, &mut args);
            return (action, args, checks);
        }
        let (action, fields): (Option<Action>, &[&str]) = match self.verb {
            "client connects" => {
                let bare = self.one_of(&value, &["authorized", "bare"]) == Some(1);
                (Some(Action::ClientConnects { bare }), &["on"])
            }
            "client closes" => {
                args.on = Some(value);
                (Some(Action::ClientCloses), &[])
            }
            "client drops" => {
                args.on = Some(value);
                (Some(Action::ClientDrops), &[])
            }
            "proxy closes" => {
                args.run = Some(value);
                (Some(Action::ProxyCloses), &[])
            }
            "proxy refuses" => (
                self.one_of(&value, &["connections"])
                    .map(|_| Action::ProxyRefuses),
                &[],
            ),
            "not applicable" => (Some(Action::NotApplicable(value)), &[]),
            "client sends" => match ClientMessage::named(&value) {
                Some(message) => (
                    Some(Action::ClientSends(message)),
                    vocabulary::client_sends(message),
                ),
                None => (
                    self.unknown(&value, ClientMessage::ALL.iter().map(|m| m.name())),
                    &[],
                ),
            },
            "client expects" => match ClientExpectation::named(&value) {
                Some(message) => (
                    Some(Action::ClientExpects(message)),
                    vocabulary::client_expects(message),
                ),
                None => (
                    self.unknown(&value, ClientExpectation::ALL.iter().map(|m| m.name())),
                    &[],
                ),
            },
            "proxy sends" => match ProxyMessage::named(&value) {
                Some(message) => (
                    Some(Action::ProxySends(message)),
                    vocabulary::proxy_sends(message),
                ),
                None => (
                    self.unknown(&value, ProxyMessage::ALL.iter().map(|m| m.name())),
                    &[],
                ),
            },
            _ => match ProxyExpectation::named(&value) {
                Some(message) => (
                    Some(Action::ProxyExpects(message)),
                    vocabulary::proxy_expects(message),
                ),
                None => (
                    self.unknown(&value, ProxyExpectation::ALL.iter().map(|m| m.name())),
                    &[],
                ),
            },
        };
        if action.is_some() {
            for name in fields {
                self.field(name, &mut args);
            }
        } else {
            self.rest.clear();
        }
        (action, args, checks)
    }

    fn told_by_table(&mut self, verb: &Verb, value: String, args: &mut Args) -> Option<Action> {
        let (act, fields) = match verb.words {
            Words::Named(words) => match words.iter().find(|word| word.name == value) {
                Some(word) => (word.act, word.fields),
                None => {
                    self.rest.clear();
                    return self.unknown(&value, words.iter().map(|word| word.name));
                }
            },
            Words::Link(act, fields) => {
                args.on = Some(value);
                (act, fields)
            }
        };
        for name in fields {
            self.field(name, args);
        }
        Some(Action::Act(act))
    }

    fn one_of(&mut self, value: &str, known: &[&'static str]) -> Option<usize> {
        let found = known.iter().position(|one| *one == value);
        if found.is_none() {
            self.unknown(value, known.iter().copied());
        }
        found
    }

    fn unknown<'b>(&mut self, name: &str, known: impl Iterator<Item = &'b str>) -> Option<Action> {
        let known = close(name, known);
        let kind = MistakeKind::UnknownName {
            verb: self.verb.to_owned(),
            name: name.to_owned(),
            known,
        };
        self.mistake(&self.value.place.clone(), kind);
        None
    }

    fn field(&mut self, name: &'static str, args: &mut Args) {
        match name {
            "on" => args.on = self.take_text(name),
            "run" => args.run = self.take_text(name),
            "channel" => args.channel = self.take_text(name),
            "number" => args.number = self.number(name),
            "same-number-as" => args.same_number_as = self.take_text(name),
            "scope" => args.scope = self.number(name),
            "channel-field" => args.channel_field = self.number(name),
            "type" => args.frame_type = self.number(name),
            "mode" => args.mode = self.number(name),
            "text" => args.text = self.take_text(name),
            "answer" => args.answer = self.take_text(name),
            "capture" => args.capture = self.take_text(name),
            "call" => args.call = self.take_text(name),
            "key" => args.key = self.take_text(name),
            "message" => args.message = self.named(name, super::model::MESSAGES),
            "class" => args.class = self.named(name, super::model::CLASSES),
            "path" => args.path = self.path(name),
            "status" => args.status = self.number(name),
            "content-type" => args.content_type = self.take_text(name),
            "hex" => args.hex = self.hex(name),
            "mutate" => args.mutate = self.mutation(name),
            "parts" => args.parts = self.parts(name),
            "json" => args.json = self.json(name),
            "arguments" => args.arguments = self.json(name),
            "image" => args.image = self.json(name),
            "volume-mounts" => args.volume_mounts = self.json(name),
            "fuse-file-mounts" => args.fuse_file_mounts = self.json(name),
            "fuse-directory-mounts" => args.fuse_directory_mounts = self.json(name),
            _ => debug_assert!(false, "the vocabulary names the unknown field {name}"),
        }
    }

    /// One of these names.
    fn named(&mut self, name: &'static str, known: &[&str]) -> Option<String> {
        let node = self.take(name)?;
        let text = self.text(node, name)?;
        if !known.contains(&text.as_str()) {
            let why = format!("expected one of {}", known.join(", "));
            self.bad(&node.place, name, why);
        }
        Some(text)
    }

    fn path(&mut self, name: &'static str) -> Option<AgentCall> {
        let node = self.take(name)?;
        let text = self.text(node, name)?;
        let path = AgentCall::named(&text);
        if path.is_none() {
            let known = AgentCall::ALL.iter().map(|call| call.name());
            let known: Vec<&str> = known.collect();
            let why = format!("expected one of {}", known.join(", "));
            self.bad(&node.place, name, why);
        }
        path
    }

    fn hex(&mut self, name: &'static str) -> Option<String> {
        let node = self.take(name)?;
        let text = self.text(node, name)?;
        let digits: String = super::interpolate::replace(&text, |_| Some(String::new()))
            .chars()
            .filter(|c| !c.is_ascii_whitespace())
            .collect();
        if digits.len() % 2 == 1 || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            self.bad(
                &node.place,
                name,
                "an even number of hex digits is expected",
            );
        }
        Some(text)
    }

    fn mutation(&mut self, name: &'static str) -> Option<Mutation> {
        let node = self.take(name)?;
        let text = self.text(node, name)?;
        match text.parse() {
            Ok(mutation) => Some(mutation),
            Err(error) => {
                self.bad(&node.place, name, format!("{error}"));
                None
            }
        }
    }

    fn json(&mut self, name: &'static str) -> Option<String> {
        let node = self.take(name)?;
        let text = self.text(node, name)?;
        self.check_json(&node.place, name, &text);
        Some(text)
    }

    fn parts(&mut self, name: &'static str) -> Vec<(String, String)> {
        let Some(node) = self.take(name) else {
            return Vec::new();
        };
        let Data::Mapping(entries) = &node.data else {
            let kind = MistakeKind::WrongNode {
                what: "`parts`".into(),
                expected: "a mapping of JSON pointers",
                found: node.kind(),
            };
            self.mistake(&node.place, kind);
            return Vec::new();
        };
        let mut parts = Vec::new();
        for (key, value) in entries {
            let (Some(pointer), Some(json)) = (self.text(key, name), self.text(value, name)) else {
                continue;
            };
            if !pointer.is_empty() && !pointer.starts_with('/') {
                self.bad(&key.place, name, "a JSON pointer starts with `/`");
            }
            self.check_json(&value.place, name, &json);
            parts.push((pointer, json));
        }
        parts
    }

    /// The JSON that a text stands for must parse; what stands for itself only when played is filled in with a word.
    fn check_json(&mut self, place: &Place, name: &str, text: &str) {
        let filled = super::interpolate::replace(text, |name| {
            Some(if name.starts_with("json:") {
                "null".into()
            } else {
                "x".into()
            })
        });
        if let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(&filled) {
            let why = error.to_string();
            self.mistake(
                place,
                MistakeKind::BadJson {
                    member: name.to_owned(),
                    why,
                },
            );
        }
    }

    /// The mistakes, with one for every member that was left over.
    pub(super) fn finish(mut self) -> Vec<Mistake> {
        let what = format!("`{}: {}`", self.verb, self.value.text().unwrap_or("…"));
        self.allowed.push("checks");
        for (key, name, _) in std::mem::take(&mut self.rest) {
            let known_elsewhere = FIELDS.iter().any(|field| field.name == name);
            let known = if known_elsewhere && !self.allowed.contains(&name) {
                self.allowed.iter().map(|one| (*one).to_owned()).collect()
            } else {
                close(name, self.allowed.iter().copied())
            };
            let kind = MistakeKind::UnknownMember {
                what: what.clone(),
                member: name.to_owned(),
                known,
            };
            self.mistake(&key.place, kind);
        }
        self.mistakes
    }
}

const _: () = {
    // Every form has a reader above; a new one must be added to `field` and to the schema.
    let _ = [
        Form::Name,
        Form::Text,
        Form::Number,
        Form::Byte,
        Form::Json,
        Form::Hex,
        Form::Mutation,
        Form::Parts,
    ];
};
