//! What interceptors know: what has happened so far, and what passes by.

use std::collections::HashMap;

use bytes::Bytes;
use diverge_intercept::Notes;
use diverge_protocol::wire::agent_server::{Endpoint, Fate};
use serde_json::Value;

use crate::call::{Answer, Asked, CallId, Head};
use crate::fault::{Role, Step};
use crate::policy::{Input, Output};
use crate::settings::Settings;

/// What has happened so far.
#[derive(Debug)]
pub struct View {
    /// The settings.
    pub settings: Settings,
    /// Whether something was registered.
    pub registered: bool,
    /// How many registrations were asked for.
    pub registrations: u64,
    /// How many loops have begun.
    pub loops: u64,
    /// How many loops have ended.
    pub ended: u64,
    /// The loop that runs.
    pub running: Option<LoopView>,
    /// The calls that were not answered whole yet.
    open: HashMap<CallId, Asked>,
    /// Enqueues that wait, in order.
    pub waiting: Vec<CallId>,
    /// Enqueues and what became of them.
    pub fates: Vec<(Asked, Fate)>,
}

/// A loop that runs.
#[derive(Debug, Clone)]
pub struct LoopView {
    /// The call that it answers.
    pub call: CallId,
    /// How many loops had begun when it did, itself among them.
    pub nth: u64,
    /// What it was asked.
    pub asked: Asked,
    /// The chunks so far, as they left the reference.
    pub chunks: Vec<Bytes>,
}

impl View {
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            settings,
            registered: false,
            registrations: 0,
            loops: 0,
            ended: 0,
            running: None,
            open: HashMap::new(),
            waiting: Vec::new(),
            fates: Vec::new(),
        }
    }

    /// Whether the path revision is spoken.
    #[must_use]
    pub fn is_path(&self) -> bool {
        self.settings.is_path()
    }

    /// What a call asked, while it is open.
    #[must_use]
    pub fn asked(&self, call: CallId) -> Option<&Asked> {
        self.open.get(&call)
    }

    /// The endpoint that an open call is for.
    #[must_use]
    pub fn endpoint(&self, call: CallId) -> Option<Endpoint> {
        self.asked(call).and_then(Asked::endpoint)
    }

    /// Whether that call is the loop that runs.
    #[must_use]
    pub fn runs(&self, call: CallId) -> bool {
        self.running.as_ref().is_some_and(|it| it.call == call)
    }

    fn forget(&mut self, call: CallId) {
        self.open.remove(&call);
        self.waiting.retain(|it| *it != call);
        if self.runs(call) {
            self.running = None;
            self.ended += 1;
        }
    }
}

impl Notes<Role> for View {
    fn note_input(&mut self, input: &Input) {
        match input {
            Input::Called(call, asked) => {
                match asked.endpoint() {
                    Some(Endpoint::Register) => self.registrations += 1,
                    Some(Endpoint::Enqueue) => self.waiting.push(*call),
                    _ => {}
                }
                self.open.insert(*call, asked.clone());
            }
            Input::Dropped(call) => self.forget(*call),
            Input::Rung(_) | Input::Woken => {}
        }
    }

    fn note_heard(&mut self, input: &Input) {
        // A caller whom only the interceptor takes for gone; what did happen was noted before.
        if let Input::Dropped(_) = input {
            self.note_input(input);
        }
    }

    fn note_output(&mut self, output: &Output) {
        match output {
            Output::Answer(call, answer) => {
                let good = (200..300).contains(&answer.status);
                if let Some(asked) = self.open.get(call) {
                    match asked.endpoint() {
                        Some(Endpoint::Register) => self.registered |= good,
                        Some(Endpoint::Enqueue) => {
                            if let Ok(fate) = Fate::decode(&answer.body) {
                                self.fates.push((asked.clone(), fate));
                            }
                        }
                        _ => {}
                    }
                }
                self.forget(*call);
            }
            Output::Stream(call, _) => {
                self.loops += 1;
                self.running = self.open.get(call).map(|asked| LoopView {
                    call: *call,
                    nth: self.loops,
                    asked: asked.clone(),
                    chunks: Vec::new(),
                });
            }
            Output::Event(call, data) => {
                if let Some(running) = self.running.as_mut().filter(|it| it.call == *call) {
                    running.chunks.push(data.clone());
                }
            }
            Output::End(call) | Output::Cut(call) => self.forget(*call),
            Output::Raw(..) | Output::Flood(..) | Output::Alarm(..) | Output::Wake => {}
        }
    }
}

impl Asked {
    /// The endpoint that is asked, if its path is one's.
    #[must_use]
    pub fn endpoint(&self) -> Option<Endpoint> {
        Endpoint::named(self.path.split('?').next().unwrap_or_default())
    }

    /// The body as a JSON value; null where it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The body's member `key`, or nothing.
    #[must_use]
    pub fn key(&self) -> Option<String> {
        self.json()["key"].as_str().map(str::to_owned)
    }
}

/// An answer on its way.
#[derive(Debug)]
pub struct Reply<'a> {
    /// What happened before it.
    pub view: &'a View,
    /// The call that it answers.
    pub call: CallId,
    /// The endpoint that was asked.
    pub endpoint: Endpoint,
    /// What was asked.
    pub asked: &'a Asked,
    /// The answer.
    pub answer: Answer,
}

impl Reply<'_> {
    /// Whether it is a 2xx.
    #[must_use]
    pub fn is_good(&self) -> bool {
        (200..300).contains(&self.answer.status)
    }

    /// The refusal's kind, where it is one.
    #[must_use]
    pub fn kind(&self) -> Option<String> {
        let body: Value = serde_json::from_slice(&self.answer.body).ok()?;
        let kind = body["kind"].as_str().map(str::to_owned);
        kind.filter(|_| !self.is_good())
    }

    /// The fate that it tells.
    #[must_use]
    pub fn fate(&self) -> Option<Fate> {
        let is_fate = self.endpoint == Endpoint::Enqueue && self.is_good();
        is_fate.then(|| Fate::decode(&self.answer.body).ok())?
    }

    /// The answer as it is.
    #[must_use]
    pub fn pass(&self) -> Step {
        self.with(self.answer.clone())
    }

    /// Another answer.
    #[must_use]
    pub fn with(&self, answer: Answer) -> Step {
        Output::Answer(self.call, answer).into()
    }

    /// The answer with another status.
    #[must_use]
    pub fn with_status(&self, status: u16) -> Step {
        self.with(Answer {
            status,
            ..self.answer.clone()
        })
    }

    /// The answer with another body.
    #[must_use]
    pub fn with_body(&self, body: impl Into<Bytes>) -> Step {
        self.with(Answer {
            body: body.into(),
            ..self.answer.clone()
        })
    }
}

/// What passes by on a loop's stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Passing {
    /// Its beginning.
    Head(Head),
    /// A chunk.
    Chunk(Bytes),
    /// Its end.
    End,
}

/// A piece of a loop's stream on its way.
#[derive(Debug)]
pub struct Piece<'a> {
    /// What happened before it.
    pub view: &'a View,
    /// The loop's call.
    pub call: CallId,
    /// What the loop was asked.
    pub asked: &'a Asked,
    /// Which loop it is, counted from 1.
    pub nth: u64,
    /// Chunks that came before it.
    pub before: &'a [Bytes],
    /// The piece.
    pub what: Passing,
}

impl Piece<'_> {
    /// The piece as it is.
    #[must_use]
    pub fn pass(&self) -> Step {
        let call = self.call;
        match &self.what {
            Passing::Head(head) => Output::Stream(call, head.clone()),
            Passing::Chunk(data) => Output::Event(call, data.clone()),
            Passing::End => Output::End(call),
        }
        .into()
    }

    /// A chunk on the same stream.
    #[must_use]
    pub fn chunk(&self, data: impl Into<Bytes>) -> Step {
        Output::Event(self.call, data.into()).into()
    }

    /// Bytes on the same stream.
    #[must_use]
    pub fn raw(&self, bytes: impl Into<Bytes>) -> Step {
        Output::Raw(self.call, bytes.into()).into()
    }

    /// The chunk as a value; null where it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        match &self.what {
            Passing::Chunk(data) => serde_json::from_slice(data).unwrap_or_default(),
            _ => Value::Null,
        }
    }

    /// The chunk's type.
    #[must_use]
    pub fn kind(&self) -> String {
        self.json()["type"].as_str().unwrap_or_default().to_owned()
    }

    /// Whether it is a chunk of that type.
    #[must_use]
    pub fn is(&self, kind: &str) -> bool {
        self.kind() == kind
    }

    /// Whether it is a part of a message that landed.
    #[must_use]
    pub fn is_user_part(&self) -> bool {
        self.kind().starts_with("user")
    }

    /// How many chunks before it are parts of messages that landed.
    #[must_use]
    pub fn parts_before(&self) -> usize {
        let user = |data: &&Bytes| kind_of(data).starts_with("user");
        self.before.iter().filter(user).count()
    }

    /// The blocks of the messages that the loop started on.
    #[must_use]
    pub fn started_on(&self) -> usize {
        let messages = self.asked.json();
        let messages = messages["messages"]
            .as_array()
            .map_or(&[][..], Vec::as_slice);
        let blocks = |message: &Value| message["content"].as_array().map_or(0, Vec::len);
        messages.iter().map(blocks).sum()
    }

    /// Whether it is a part of a message that the loop started on.
    #[must_use]
    pub fn is_first_part(&self) -> bool {
        self.is_user_part() && self.parts_before() < self.started_on()
    }

    /// Whether it is a part of a message that joined.
    #[must_use]
    pub fn is_joined_part(&self) -> bool {
        self.is_user_part() && self.parts_before() >= self.started_on()
    }
}

/// The type of a chunk.
pub(crate) fn kind_of(chunk: &[u8]) -> String {
    let value: Value = serde_json::from_slice(chunk).unwrap_or_default();
    value["type"].as_str().unwrap_or_default().to_owned()
}
