//! The reference agent server, without I/O: what it does on every input.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use diverge_protocol::rules::Revision;
use diverge_protocol::wire::Malformed;
use diverge_protocol::wire::agent_server::{
    Endpoint, Fate, Outcome, PathEnqueueAsk, PathRegisterAsk, PathRunRequest, RegisterAsk, RunAsk,
};
use diverge_protocol::wire::channel::{DequeueAsk, EnqueueAsk};
use serde_json::Value;

use crate::call::{Answer, Asked, CallId, Head};
use crate::settings::{Check, Settings, Withdraws};
use crate::talk::{self, Deed, Message};

/// What happens to an agent server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// It is called.
    Called(CallId, Asked),
    /// A caller is gone that still waited for its answer, or for more of it.
    Dropped(CallId),
    /// The time is over that [`Output::Alarm`] asked for.
    Rung(Alarm),
    /// The turn has come that [`Output::Wake`] asked for.
    Woken,
}

/// Which alarm rang.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Alarm(pub u64);

/// What an agent server does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Answer a call whole.
    Answer(CallId, Answer),
    /// Begin a call's answer, whose body comes piece by piece.
    Stream(CallId, Head),
    /// Send an event with this data.
    Event(CallId, Bytes),
    /// Send these bytes as they are.
    Raw(CallId, Bytes),
    /// Bring a body to its end.
    End(CallId),
    /// Cut a caller off.
    Cut(CallId),
    /// Send these bytes without end; only a hollow server does.
    Flood(CallId, Bytes),
    /// Hand in [`Input::Rung`] after this time.
    Alarm(Alarm, Duration),
    /// Hand in [`Input::Woken`] once everything that has already arrived was handed in.
    Wake,
}

/// Something that plays an agent server.
pub trait AgentServer: Send {
    /// The port it serves on, by the value of the variable `PORT`.
    fn port(&self, variable: Option<&str>) -> u16 {
        crate::settings::port(variable)
    }

    /// Takes one input and appends what is to be done, in order.
    fn on(&mut self, input: Input, out: &mut Vec<Output>);
}

/// A refusal's body.
#[must_use]
pub fn refusal(status: u16, kind: &str, message: &str) -> Answer {
    let body = format!(
        "{{\"kind\":{},\"message\":{}}}",
        talk::string(kind),
        talk::string(message)
    );
    Answer::json(status, body)
}

/// A message that waits in a loop.
#[derive(Debug)]
struct Waiting {
    call: CallId,
    message: Message,
}

/// What a loop waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Staying {
    /// Somebody who joins.
    Joined,
    /// Its time.
    Holding,
}

#[derive(Debug)]
struct Loop {
    call: CallId,
    staying: Staying,
    waiting: VecDeque<Waiting>,
    alarm: Alarm,
}

/// The conforming reference.
#[derive(Debug)]
pub struct Policy {
    settings: Settings,
    registered: bool,
    running: Option<Loop>,
    /// The messages taken so far: the conversation that every loop resumes.
    taken: u64,
    alarms: u64,
}

impl AgentServer for Policy {
    fn port(&self, variable: Option<&str>) -> u16 {
        (self.settings.port)(variable)
    }

    fn on(&mut self, input: Input, out: &mut Vec<Output>) {
        match input {
            Input::Called(call, asked) => {
                if let Err(refused) = self.on_call(call, &asked, out) {
                    out.push(Output::Answer(call, refused));
                }
            }
            Input::Dropped(call) => self.on_dropped(call, out),
            Input::Rung(alarm) => self.on_rung(alarm, out),
            Input::Woken => {}
        }
    }
}

impl Policy {
    /// A server that nothing was registered at.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            registered: false,
            running: None,
            taken: 0,
            alarms: 0,
        }
    }

    fn on_call(
        &mut self,
        call: CallId,
        asked: &Asked,
        out: &mut Vec<Output>,
    ) -> Result<(), Answer> {
        let path = asked.path.split('?').next().unwrap_or_default();
        let Some(endpoint) = Endpoint::named(path) else {
            return Err(refusal(404, "path", "there is nothing at this path"));
        };
        if asked.method != endpoint.method() {
            return Err(refusal(
                405,
                "method",
                "the path is asked by another method",
            ));
        }
        match endpoint {
            Endpoint::Register => self.register(call, &asked.body, out),
            Endpoint::Schema => {
                out.push(Output::Answer(call, self.schema()));
                Ok(())
            }
            Endpoint::Run => self.run(call, &asked.body, out),
            Endpoint::Enqueue => self.enqueue(call, &asked.body, out),
            Endpoint::Dequeue => self.dequeue(call, &asked.body, out),
        }
    }

    fn unreadable(&self, fault: &Malformed) -> Answer {
        refusal(
            self.settings.unreadable_status,
            "unreadable",
            &fault.to_string(),
        )
    }

    fn content(&self, message: &str) -> Answer {
        refusal(self.settings.content_status, "content", message)
    }

    fn register(&mut self, call: CallId, body: &[u8], out: &mut Vec<Output>) -> Result<(), Answer> {
        let arguments = match self.settings.revision {
            Revision::Scope => RegisterAsk::decode(body).map(|ask| ask.arguments),
            Revision::Path => PathRegisterAsk::decode(body).map(|ask| ask.agent),
        };
        let arguments = arguments.map_err(|fault| self.unreadable(&fault))?;
        if self.registered && self.settings.checks(Check::RegisteredOnce) {
            let status = self.settings.registered_status;
            return Err(refusal(status, "registered", "this was registered before"));
        }
        if self.settings.checks(Check::Arguments) && !takes(arguments.get()) {
            let status = self.settings.arguments_status;
            return Err(refusal(status, "agent", "these arguments are not taken"));
        }
        self.registered = true;
        let registration = &self.settings.registration;
        let answer = match registration.body {
            Some(body) => Answer::json(registration.status, body),
            None => Answer::empty(registration.status),
        };
        out.push(Output::Answer(call, answer));
        Ok(())
    }

    fn schema(&self) -> Answer {
        match self.settings.schema_status {
            200..300 => Answer::json(self.settings.schema_status, self.settings.schema),
            status => refusal(status, "schema", "there is no schema"),
        }
    }

    fn run(&mut self, call: CallId, body: &[u8], out: &mut Vec<Output>) -> Result<(), Answer> {
        let messages: Vec<Message> = match self.settings.revision {
            Revision::Scope => {
                let ask = RunAsk::decode(body).map_err(|fault| self.unreadable(&fault))?;
                let empty = ask.messages.iter().any(|it| it.content.is_empty());
                if empty && self.settings.checks(Check::RunContent) {
                    return Err(self.content("a message has no content"));
                }
                if ask.messages.is_empty() && self.settings.checks(Check::AnyMessage) {
                    return Err(self.content("there is no message"));
                }
                ask.messages.iter().map(Message::of).collect()
            }
            Revision::Path => {
                let ask = PathRunRequest::decode(body).map_err(|fault| self.unreadable(&fault))?;
                vec![Message::starting(&ask.prompt)]
            }
        };
        if !self.registered && self.settings.checks(Check::Registered) {
            let status = self.settings.unregistered_status;
            return Err(refusal(status, "unregistered", "nothing was registered"));
        }
        if self.running.is_some() && self.settings.checks(Check::Busy) {
            let status = self.settings.busy_status;
            return Err(refusal(status, "busy", "a loop is running"));
        }
        let head = Head {
            content_type: Some(self.settings.content_type.to_owned()),
            ..Head::default()
        };
        out.push(Output::Stream(call, head));
        let landed = messages.iter().flat_map(|message| &message.landed);
        out.extend(landed.map(|chunk| Output::Event(call, chunk.clone())));
        self.taken += messages.len() as u64;
        self.running = Some(Loop {
            call,
            staying: Staying::Joined,
            waiting: VecDeque::new(),
            alarm: Alarm(0),
        });
        self.turn(messages.last().map_or(Deed::Ordinary, |it| it.deed), out);
        Ok(())
    }

    fn enqueue(&mut self, call: CallId, body: &[u8], out: &mut Vec<Output>) -> Result<(), Answer> {
        let message = match self.settings.revision {
            Revision::Scope => {
                let ask = EnqueueAsk::decode(body).map_err(|fault| self.unreadable(&fault))?;
                if ask.content.is_empty() && self.settings.checks(Check::EnqueueContent) {
                    return Err(self.content("the message has no content"));
                }
                Message::of(&ask)
            }
            Revision::Path => {
                let ask = PathEnqueueAsk::decode(body).map_err(|fault| self.unreadable(&fault))?;
                Message::joining(&ask.prompt)
            }
        };
        let Some(running) = &mut self.running else {
            fate(call, Fate::Missed, out);
            return Ok(());
        };
        running.waiting.push_back(Waiting { call, message });
        match running.staying {
            Staying::Joined => self.take_next(out),
            Staying::Holding => self.hold(out),
        }
        Ok(())
    }

    fn dequeue(&mut self, call: CallId, body: &[u8], out: &mut Vec<Output>) -> Result<(), Answer> {
        // The path revision asks with an empty object, of which nothing is read.
        let key = match self.settings.revision {
            Revision::Scope => {
                let ask = DequeueAsk::decode(body).map_err(|fault| self.unreadable(&fault))?;
                Some(ask.key)
            }
            Revision::Path => None,
        };
        let waiting = self.running.as_mut().map(|running| &mut running.waiting);
        let mut outcome = Outcome::Empty;
        if let Some(waiting) = waiting {
            let nobody = waiting.iter().all(|it| it.message.key != key);
            let lower = |key: &Option<String>| key.as_ref().map(|key| key.to_lowercase());
            let first = self.settings.withdraws == Withdraws::First;
            for it in std::mem::take(waiting) {
                let same = key.is_none() || it.message.key == key;
                let named = match self.settings.withdraws {
                    Withdraws::Everything => true,
                    Withdraws::OrEverything => same || nobody,
                    Withdraws::InAnyCase => same || lower(&it.message.key) == lower(&key),
                    Withdraws::Named | Withdraws::First => same,
                };
                if named && !(first && outcome == Outcome::Dequeued) {
                    fate(it.call, Fate::Dequeued, out);
                    outcome = Outcome::Dequeued;
                } else {
                    waiting.push_back(it);
                }
            }
        }
        out.push(Output::Answer(call, Answer::json(200, outcome.encode())));
        if self
            .running
            .as_ref()
            .is_some_and(|it| it.staying == Staying::Holding)
        {
            self.hold(out);
        }
        Ok(())
    }

    /// Does what a message makes the program do, and then goes on with what waits.
    fn turn(&mut self, deed: Deed, out: &mut Vec<Output>) {
        let chunks = match deed {
            Deed::Ordinary => talk::said(self.taken),
            Deed::Tool => [talk::tool_used(self.taken), talk::said(self.taken)].concat(),
            Deed::Long | Deed::Holding => talk::staying(),
            Deed::Failing => talk::failed(),
        };
        self.say(chunks, out);
        match deed {
            Deed::Ordinary | Deed::Tool => self.next(out),
            Deed::Long => {
                self.stay(Staying::Joined, out);
                self.take_next(out);
            }
            Deed::Holding => self.stay(Staying::Holding, out),
            Deed::Failing => self.end(out),
        }
    }

    fn say(&self, chunks: Vec<Bytes>, out: &mut Vec<Output>) {
        if let Some(running) = &self.running {
            out.extend(chunks.into_iter().map(|it| Output::Event(running.call, it)));
        }
    }

    /// Goes on with the next message that waits, or ends the loop where none does.
    fn next(&mut self, out: &mut Vec<Output>) {
        match self.running.as_ref().map(|it| it.waiting.is_empty()) {
            Some(true) => self.end(out),
            Some(false) => self.take_next(out),
            None => {}
        }
    }

    fn take_next(&mut self, out: &mut Vec<Output>) {
        let Some(running) = &mut self.running else {
            return;
        };
        let Some(Waiting { call, message }) = running.waiting.pop_front() else {
            return;
        };
        let stream = running.call;
        if self.settings.fate_first {
            fate(call, Fate::Delivered, out);
        }
        out.extend(
            message
                .landed
                .into_iter()
                .map(|it| Output::Event(stream, it)),
        );
        if !self.settings.fate_first {
            fate(call, Fate::Delivered, out);
        }
        self.taken += 1;
        self.turn(message.deed, out);
    }

    fn stay(&mut self, staying: Staying, out: &mut Vec<Output>) {
        let time = match staying {
            Staying::Joined => self.settings.long,
            Staying::Holding => self.settings.hold,
        };
        if let Some(running) = &mut self.running {
            self.alarms += 1;
            running.staying = staying;
            running.alarm = Alarm(self.alarms);
            out.push(Output::Alarm(running.alarm, time));
        }
    }

    fn hold(&mut self, out: &mut Vec<Output>) {
        self.stay(Staying::Holding, out);
    }

    fn on_rung(&mut self, alarm: Alarm, out: &mut Vec<Output>) {
        if self.running.as_ref().is_some_and(|it| it.alarm == alarm) {
            self.say(talk::said(self.taken), out);
            self.end(out);
        }
    }

    fn on_dropped(&mut self, call: CallId, out: &mut Vec<Output>) {
        match &mut self.running {
            Some(running) if running.call == call => {
                let waiting = std::mem::take(&mut running.waiting);
                self.running = None;
                waiting
                    .iter()
                    .for_each(|it| fate(it.call, Fate::Missed, out));
            }
            Some(running) => running.waiting.retain(|it| it.call != call),
            None => {}
        }
    }

    /// Ends the loop; what still waits has missed it.
    fn end(&mut self, out: &mut Vec<Output>) {
        let Some(running) = self.running.take() else {
            return;
        };
        if self.settings.end_first {
            out.push(Output::End(running.call));
        }
        for it in &running.waiting {
            fate(it.call, Fate::Missed, out);
        }
        if !self.settings.end_first {
            out.push(Output::End(running.call));
        }
    }
}

fn fate(call: CallId, fate: Fate, out: &mut Vec<Output>) {
    out.push(Output::Answer(call, Answer::json(200, fate.encode())));
}

/// Whether the program takes these arguments.
fn takes(arguments: &str) -> bool {
    match serde_json::from_str(arguments) {
        Ok(Value::Object(members)) => members.get("refused") != Some(&Value::Bool(true)),
        // A text that reads as an object and still is too much for a value is an object.
        Ok(_) => false,
        Err(_) => arguments.starts_with('{'),
    }
}
