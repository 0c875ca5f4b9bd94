//! Plays a scenario against a proxy: the harness is the provider on one side, and the agent server on the other.

mod agent;
mod expect;
mod stage;
mod state;

use std::time::Duration;

use bytes::Bytes;
use diverge_protocol::rules::{RequirementId, Revision};
use diverge_protocol::scenario::acts::{Act, ProxyAct};
use diverge_protocol::scenario::{Action, Args, Scenario, Step, defaults, replace};
use diverge_protocol::transcript::{AgentCall, Role, Transcript, What};
use diverge_protocol::wire::frame::{Frame, FrameType};
use diverge_protocol::wire::mutate::mutate;
use diverge_protocol::wire::profile::{BeginChannel, RequestKind};
use mock_agent_server::{Answer, Head};

use self::agent::Agent;
use self::stage::Stage;
use self::state::{Called, Channel, Scope};
use super::Played;
use super::halt::{Halt, Peek, diverged};
use super::patience::{Patience, Wait};
use super::sequencer::{self, Scene};
use crate::kinds::proxy::Way;

/// How long a proxy may take to answer a close frame before the harness stops watching.
const CLOSING: Duration = Duration::from_millis(250);
/// What steps mean that name no link, and no scope.
const DEFAULT_HOST: &str = "provider";
const DEFAULT_SCOPE: &str = "run";
/// The arguments of a begin that names none.
const ARGUMENTS: &str = r#"{"model":"made-up","temperature":0.5}"#;
/// The request of a run's or an enqueue's path that names none.
const PROMPT: &str = r#"{"prompt":"hello"}"#;
/// The request of a register's path that names none.
const AGENT: &str = r#"{"agent":{"model":"made-up"}}"#;

/// How often a scenario is played anew whose agent server could not return to its port.
const ATTEMPTS: usize = 3;

/// Plays `scenario` against a proxy that is had in this `way`.
pub async fn play(scenario: &Scenario, way: &Way, patience: &Patience) -> Played {
    let mut attempts = 1;
    loop {
        let (played, taken) = play_once(scenario, way, patience).await;
        // A port of the system's choice can be another one.
        let again = taken && attempts < ATTEMPTS && way.agent_address().is_none();
        if !again {
            return played;
        }
        attempts += 1;
    }
}

/// Plays it, and tells whether its agent server lost its port.
async fn play_once(scenario: &Scenario, way: &Way, patience: &Patience) -> (Played, bool) {
    let (to_agent, arrivals) = stage::arrivals();
    let told = way.agent_address();
    let mut agent = match Agent::listen(told, to_agent).await {
        Ok(agent) => agent,
        Err(error) => {
            let at = told.map_or_else(|| "loopback".to_owned(), |it| it.to_string());
            let why = format!("could not listen on {at} for the agent server: {error}");
            return (Played::Unreachable(why), false);
        }
    };
    let subject = match way.start(agent.address(), scenario.revision).await {
        Ok(subject) => subject,
        Err(error) => return (Played::Unreachable(error.to_string()), false),
    };
    let played = {
        let stage = Stage::new(&subject, patience, scenario.revision, &mut agent, arrivals);
        sequencer::run(scenario, Player { stage }, patience).await
    };
    let words = subject.last_words();
    subject.end().await;
    (with_last_words(played, words), agent.is_taken())
}

/// A proxy that ended by itself says why, where its scenario did not pass.
fn with_last_words(mut played: Played, words: Option<String>) -> Played {
    if let (Played::Judged(outcome), Some(words)) = (&mut played, words)
        && let Some(message) = &mut outcome.message
    {
        message.push_str("; ");
        message.push_str(&words);
    }
    played
}

/// The provider and the agent server, the proxy between them, and what has happened.
struct Player<'a> {
    stage: Stage<'a>,
}

fn script(why: impl Into<String>) -> Halt {
    Halt::Script(why.into())
}

/// `text` with its `${…}` filled in.
fn fill(text: &str) -> String {
    replace(text, |name| match name.split_once(':') {
        Some(("fill", count)) => count.parse().ok().map(|count| "a".repeat(count)),
        _ => None,
    })
}

pub(super) fn fill_hex(text: &str) -> Result<Bytes, Halt> {
    let digits: String = fill(text).split_ascii_whitespace().collect();
    let byte = |at: usize| {
        let pair = digits.get(at..at + 2)?;
        u8::from_str_radix(pair, 16).ok()
    };
    (0..digits.len())
        .step_by(2)
        .map(byte)
        .collect::<Option<Vec<u8>>>()
        .map(Bytes::from)
        .ok_or_else(|| script("the hex digits do not make whole bytes"))
}

/// The bytes that a step gives in hex, text or JSON, or `default`, with its mutation applied.
fn body(args: &Args, default: &str) -> Result<Bytes, Halt> {
    if let Some(hex) = &args.hex {
        return fill_hex(hex);
    }
    let text = args.json.as_ref().or(args.text.as_ref());
    let text = fill(text.map_or(default, String::as_str));
    match &args.mutate {
        None => Ok(Bytes::from(text)),
        Some(mutation) => mutate(&text, mutation)
            .map(Bytes::from)
            .map_err(|error| script(format!("the mutation: {error}"))),
    }
}

impl Player<'_> {
    fn host(&self, args: &Args) -> Result<usize, Halt> {
        let name = args.on.as_deref().unwrap_or(DEFAULT_HOST);
        let mut hosts = self.stage.hosts.iter();
        hosts.rposition(|host| host.name == name).ok_or_else(|| {
            script(format!(
                "the provider has no WebSocket called `{name}`; connect it first"
            ))
        })
    }

    fn scope(&self, args: &Args) -> Result<usize, Halt> {
        let name = args.run.as_deref().unwrap_or(DEFAULT_SCOPE);
        let mut scopes = self.stage.scopes.iter();
        scopes.rposition(|scope| scope.name == name).ok_or_else(|| {
            script(format!(
                "there is no scope called `{name}`; the provider begins it first"
            ))
        })
    }

    /// The channel that a step names; one that names none means the one that there is.
    fn channel(&self, args: &Args) -> Result<(usize, String, Channel), Halt> {
        let at = self.scope(args)?;
        let channels = &self.stage.scopes[at].channels;
        let name = match &args.channel {
            Some(name) => name.clone(),
            None => match channels.keys().collect::<Vec<_>>().as_slice() {
                [only] => (*only).clone(),
                _ => return Err(script("the step must say which `channel` it means")),
            },
        };
        let found = channels.get(&name).copied();
        let channel = found.ok_or_else(|| {
            script(format!(
                "the scope has no channel called `{name}` at this point"
            ))
        })?;
        Ok((at, name, channel))
    }

    /// The call that a step names, or else the newest that `fits`.
    fn call(&mut self, args: &Args, fits: impl Fn(&Called) -> bool) -> Result<&mut Called, Halt> {
        let named = |called: &Called| match &args.call {
            Some(name) => called.name.as_ref() == Some(name),
            None => called.name.is_some() && fits(called),
        };
        let mut calls = self.stage.calls.iter_mut().rev();
        calls
            .find(|called| named(called))
            .ok_or_else(|| script("the agent server has no such call; it expects one first"))
    }

    async fn begin(&mut self, args: &Args) -> Result<(), Halt> {
        let host = self.host(args)?;
        let link = &mut self.stage.hosts[host];
        let number = args.number.unwrap_or(link.next_scope);
        link.next_scope = link.next_scope.max(number.checked_add(1).unwrap_or(1));
        let payload = match &args.hex {
            Some(hex) => fill_hex(hex)?,
            None => {
                let arguments = fill(args.arguments.as_deref().unwrap_or(ARGUMENTS));
                let body = body(args, &format!(r#"{{"arguments":{arguments}}}"#))?;
                let profile = self.stage.profile;
                profile
                    .begin_request
                    .payload(RequestKind::Request, &body)
                    .into()
            }
        };
        self.stage.scopes.push(Scope {
            name: args.run.as_deref().unwrap_or(DEFAULT_SCOPE).to_owned(),
            host,
            number,
            main: Default::default(),
            responses_read: 0,
            finished: None,
            channels: Default::default(),
            answers: Default::default(),
            next_channel: 1,
        });
        let channel = args.channel_field.unwrap_or_default();
        let frame = Frame::new(FrameType::Request, number, channel, payload);
        self.stage.send(host, frame.encode()).await
    }

    async fn ask(&mut self, asks: Option<AgentCall>, args: &Args) -> Result<(), Halt> {
        let at = self.scope(args)?;
        let profile = self.stage.profile;
        let (name, payload) = match asks {
            Some(call) => {
                let (channel, default) = match call {
                    AgentCall::Enqueue => (BeginChannel::Enqueue, defaults::ENQUEUE),
                    AgentCall::Dequeue => (BeginChannel::Dequeue, defaults::DEQUEUE),
                    _ => (BeginChannel::Schema, ""),
                };
                let body = body(args, default)?;
                (
                    call.name(),
                    profile.begin_channels.payload(channel, &body).into(),
                )
            }
            None => ("channel request", body(args, "")?),
        };
        let scope = &mut self.stage.scopes[at];
        let number = match (&args.same_number_as, args.number) {
            (Some(other), _) => {
                let other = scope
                    .channels
                    .get(other)
                    .ok_or_else(|| script(format!("the scope has no channel called `{other}`")))?;
                other.number
            }
            (None, Some(number)) => number,
            (None, None) => scope.next_channel,
        };
        scope.next_channel = scope.next_channel.max(number.saturating_add(1));
        let channel = Channel {
            number,
            asks,
            answers_read: 0,
        };
        let name = args.channel.clone().unwrap_or_else(|| name.to_owned());
        scope.channels.insert(name, channel);
        let (host, scope) = (scope.host, scope.number);
        let frame = Frame::new(FrameType::ChannelRequest, scope, number, payload);
        self.stage.send(host, frame.encode()).await
    }

    async fn frame(&mut self, args: &Args) -> Result<(), Halt> {
        let host = self.host(args)?;
        let scope = match (args.scope, &args.run) {
            (Some(scope), _) => scope,
            (None, Some(_)) => self.stage.scopes[self.scope(args)?].number,
            (None, None) => 0,
        };
        let mut message = vec![args.frame_type.unwrap_or_default()];
        message.extend(scope.to_be_bytes());
        message.extend(args.channel_field.unwrap_or_default().to_be_bytes());
        message.extend(body(args, "")?);
        self.stage.send(host, message.into()).await
    }

    /// The provider's ask in the path revision, or a message given whole.
    async fn bytes(&mut self, args: &Args) -> Result<(), Halt> {
        let host = self.host(args)?;
        let default = match self.stage.hosts[host].path {
            Some(AgentCall::Register) => AGENT,
            Some(AgentCall::Run | AgentCall::Enqueue) => PROMPT,
            _ => "",
        };
        let bytes = body(args, default)?;
        self.stage.send(host, bytes).await
    }

    /// Answers a call whole.
    fn reply(&mut self, args: &Args) -> Result<(), Halt> {
        let body = body(args, "{}")?;
        let status = args.status.unwrap_or(200);
        let content_type = args.content_type.clone();
        let content_type = content_type.unwrap_or_else(|| "application/json".to_owned());
        let called = self.call(args, |called| !called.answered && !called.dropped)?;
        called.answered = true;
        let answer = Answer {
            status,
            content_type: Some(content_type.clone()),
            body: body.clone(),
        };
        let (link, sent) = (called.link, called.call.respond(answer).is_ok());
        let response = What::Response {
            status,
            content_type: Some(content_type),
            body: Some(body),
        };
        self.agent_did(link, sent, response)
    }

    fn stream(&mut self, args: &Args) -> Result<(), Halt> {
        let called = self.call(args, |called| !called.answered && !called.dropped)?;
        called.answered = true;
        called.streams = true;
        let head = Head::default();
        let response = What::Response {
            status: head.status,
            content_type: head.content_type.clone(),
            body: None,
        };
        let (link, sent) = (called.link, called.call.stream(head).is_ok());
        self.agent_did(link, sent, response)
    }

    fn event(&mut self, args: &Args) -> Result<(), Halt> {
        let data = body(args, defaults::CHUNK)?;
        let called = self.call(args, |called| called.streams)?;
        let (link, sent) = (called.link, called.call.event(&data).is_ok());
        self.agent_did(link, sent, What::ServerEvent(data))
    }

    /// Bytes on the stream as they are; the transcript has the events that they make.
    fn raw(&mut self, args: &Args) -> Result<(), Halt> {
        let bytes = body(args, "")?;
        let called = self.call(args, |called| called.streams)?;
        let mut events = Vec::new();
        called.raw.push(&bytes, &mut events);
        let (link, sent) = (called.link, called.call.raw(bytes).is_ok());
        for event in events {
            self.agent_did(link, sent, What::ServerEvent(event.data.into()))?;
        }
        Ok(())
    }

    fn end(&mut self, args: &Args) -> Result<(), Halt> {
        let called = self.call(args, |called| called.streams)?;
        called.streams = false;
        let (link, sent) = (called.link, called.call.end().is_ok());
        self.agent_did(link, sent, What::Closed)
    }

    fn break_call(&mut self, args: &Args) -> Result<(), Halt> {
        let called = self.call(args, |called| called.streams || !called.answered)?;
        called.streams = false;
        called.answered = true;
        called.call.break_off();
        let link = called.link;
        self.agent_did(link, true, What::Broken)
    }

    /// A caller that is gone is noticed by the expectations: that nothing reaches it is no fault of the script.
    fn agent_did(
        &mut self,
        link: diverge_protocol::transcript::LinkId,
        sent: bool,
        what: What,
    ) -> Result<(), Halt> {
        if sent {
            self.stage.record(link, Role::AgentServer, what);
        }
        self.stage.judge()
    }
}

impl Player<'_> {
    async fn take(&mut self, step: &Step) -> Result<(), Halt> {
        let args = &step.args;
        let Action::Act(Act::Proxy(act)) = step.action else {
            return Err(script("this step is none of a scenario for proxies"));
        };
        let name = args.on.as_deref().unwrap_or(DEFAULT_HOST);
        match act {
            ProxyAct::Connect => self.stage.connect(name, self.path(args)?).await,
            ProxyAct::TurnedAway => {
                let status = args.status.unwrap_or(409);
                let path = self.path(args)?;
                self.stage
                    .turned_away(name, path, status, step.checks)
                    .await
            }
            ProxyAct::Close => {
                let host = self.host(args)?;
                self.stage.close(host).await;
                self.stage.judge()
            }
            ProxyAct::Drop => {
                let host = self.host(args)?;
                self.stage.break_off(host);
                self.stage.judge()
            }
            ProxyAct::Begin => self.begin(args).await,
            ProxyAct::Ask(call) => self.ask(Some(call), args).await,
            ProxyAct::ChannelRequest => self.ask(None, args).await,
            ProxyAct::FinishChannel => {
                let at = self.scope(args)?;
                let scope = &self.stage.scopes[at];
                let kind = FrameType::ChannelResponseFinish;
                let channel = args.number.unwrap_or_default();
                let frame = Frame::new(kind, scope.number, channel, Bytes::new());
                let host = scope.host;
                self.stage.send(host, frame.encode()).await
            }
            ProxyAct::Frame => self.frame(args).await,
            ProxyAct::Bytes => self.bytes(args).await,
            ProxyAct::Text => {
                let host = self.host(args)?;
                let text = fill(args.text.as_deref().unwrap_or_default());
                self.stage.send_text(host, text).await
            }
            ProxyAct::Reply => self.reply(args),
            ProxyAct::Stream => self.stream(args),
            ProxyAct::Event => self.event(args),
            ProxyAct::Raw => self.raw(args),
            ProxyAct::End => self.end(args),
            ProxyAct::Break => self.break_call(args),
            ProxyAct::AgentGone => {
                self.stage.agent_goes().await;
                Ok(())
            }
            ProxyAct::AgentBack => self.stage.agent_returns().await,
            _ => Err(script("this step is expected, not done")),
        }
    }
}

impl Scene for Player<'_> {
    async fn act(&mut self, step: &Step) -> Result<(), Halt> {
        let before = self.stage.transcript.events.len() as u64;
        let taken = self.take(step).await;
        // Nothing is taken in meanwhile, so that all that was recorded is the step's own.
        let after = self.stage.transcript.events.len() as u64;
        self.stage.told.extend(before..after);
        taken
    }

    fn take_told(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.stage.told)
    }

    fn peek(&mut self, step: &Step, blamed: Option<RequirementId>) -> Result<Peek, Halt> {
        match step.action {
            Action::Act(Act::Proxy(act)) => self.peek_act(act, &step.args, blamed),
            _ => Err(script("this step is none of a scenario for proxies")),
        }
    }

    async fn pump(&mut self, wait: &mut Wait, at_most: Option<Duration>) -> Result<bool, Halt> {
        self.stage.pump(wait, at_most).await
    }

    fn nothing_left(&mut self, blamed: Option<RequirementId>) -> Result<(), Halt> {
        let hosts = self.stage.hosts.iter().flat_map(|host| {
            let messages = host.messages.iter();
            let messages = messages.map(|(seq, bytes)| (*seq, super::describe::bytes(bytes)));
            host.stray.iter().cloned().chain(messages)
        });
        let scopes = self.stage.scopes.iter().flat_map(|scope| {
            // A channel's finish may be left: where it may come at all, the checkers know.
            let answers = scope.answers.values().flatten();
            let answers = answers.filter(|it| it.frame.kind != FrameType::ChannelResponseFinish);
            let all = scope.main.iter().chain(answers);
            all.map(|it| (it.seq, super::describe::begin_frame(&it.frame)))
        });
        let calls = self
            .stage
            .calls
            .iter()
            .filter(|called| called.name.is_none());
        let calls = calls.map(|called| (called.seq, expect::call_in_words(called)));
        let left = hosts.chain(scopes).chain(calls).min();
        match left {
            Some((seq, received)) => Err(diverged(
                "nothing more: the script is over",
                &received,
                Some(seq),
                blamed,
            )),
            None => Ok(()),
        }
    }

    async fn close(&mut self) -> Result<(), Halt> {
        for host in 0..self.stage.hosts.len() {
            self.stage.close(host).await;
        }
        let mut wait = self.stage.patience.start();
        while self.stage.hosts.iter().any(|host| host.ended.is_none()) {
            if !self.stage.pump(&mut wait, Some(CLOSING)).await? {
                break;
            }
        }
        self.stage.judge_end()
    }

    fn into_transcript(self) -> Transcript {
        self.stage.transcript
    }
}

impl Player<'_> {
    /// What a WebSocket is opened for: in the path revision always something.
    fn path(&self, args: &Args) -> Result<Option<AgentCall>, Halt> {
        match (self.stage.revision, args.path) {
            (Revision::Path, None) => Err(script("in the path revision, a WebSocket has a `path`")),
            (Revision::Scope, Some(_)) => {
                Err(script("in the scope revision, a WebSocket has no `path`"))
            }
            (_, path) => Ok(path),
        }
    }
}
