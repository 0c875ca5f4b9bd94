//! Plays a scenario against an agent server: the harness is the proxy, and calls.

mod expect;
pub(super) mod hear;
pub(super) mod judge;
mod stage;

use std::time::Duration;

use bytes::Bytes;
use diverge_protocol::rules::{RequirementId, Revision};
use diverge_protocol::scenario::acts::{Act, AgentServerAct};
use diverge_protocol::scenario::{Action, Args, Scenario, Step, replace};
use diverge_protocol::transcript::{Role, Transcript};
use diverge_protocol::wire::agent_server::Endpoint;
use diverge_protocol::wire::mutate::mutate;

use self::stage::Stage;
use super::Played;
use super::halt::{Halt, Peek, diverged};
use super::patience::{Patience, Wait};
use super::sequencer::{self, Scene};
use crate::config::{AgentServerConfig, inside_json};
use crate::kinds::agent_server::{Given, Way};
use crate::port::Port;
use crate::verdict::{Outcome, Verdict};

/// The text and the key of a message that says nothing of them.
const ORDINARY: &str = "ordinary";
const KEY: &str = "first";
/// The requirement that a loop breaks which does not come to its end.
const ENDS: &str = "agent.run.ends";
/// How many answers tell that the calls before were taken in.
const CATCHING_UP: u32 = 3;

/// How long the loops of the configured messages may say nothing: they stay for a second or two.
const PAUSES: Duration = Duration::from_secs(2);

/// How often a scenario is played whose loop was over too soon.
const ATTEMPTS: u32 = 3;

/// Plays `scenario` against an agent server that is had in this `way`; again where its loop was over too soon, and another
/// server can be had.
pub async fn play(
    scenario: &Scenario,
    way: &Way,
    config: &AgentServerConfig,
    patience: &Patience,
) -> Played {
    let mut attempts = match way {
        Way::Url(_) => 1,
        Way::Reference(_) | Way::Launch(..) => ATTEMPTS,
    };
    let patience = &patience.with_pauses(PAUSES);
    loop {
        let played = once(scenario, way, config, patience).await;
        attempts -= 1;
        match &played {
            Played::Judged(outcome) if outcome.verdict == Verdict::Inconclusive && attempts > 0 => {
            }
            _ => return played,
        }
    }
}

async fn once(
    scenario: &Scenario,
    way: &Way,
    config: &AgentServerConfig,
    patience: &Patience,
) -> Played {
    if let Some(why) = lacking(scenario, config) {
        let outcome = Outcome::unplayed(scenario, Verdict::NotApplicable, why);
        return Played::Judged(Box::new(outcome));
    }
    let mut stage = Stage::new(way, patience, scenario.revision);
    let mut ports = scenario.requirements.iter();
    stage.port = ports
        .find(|it| it.as_str().starts_with("agent.port."))
        .copied();
    let port = match Port::take() {
        Ok(port) => stage.kept.insert(port).address().port(),
        Err(error) => return Played::Unreachable(error.to_string()),
    };
    let player = Player {
        stage,
        config,
        port,
        patience,
    };
    sequencer::run(scenario, player, patience).await
}

/// What an agent server's scenario needs and the configuration lacks.
#[must_use]
pub fn lacking(scenario: &Scenario, config: &AgentServerConfig) -> Option<String> {
    let mut lacking = None;
    scenario.each_step(&mut |step| {
        let args = &step.args;
        let told = args.json.is_some() || args.text.is_some() || args.hex.is_some();
        let texts = [&args.json, &args.arguments].into_iter().flatten();
        let parts = args.parts.iter().map(|(_, json)| json);
        let mut all: String = texts.chain(parts).map(|text| format!("{text} ")).collect();
        match step.action {
            Action::Act(Act::AgentServer(AgentServerAct::Call(Endpoint::Register)))
                if !told && args.arguments.is_none() =>
            {
                all.push_str("${json:arguments}");
            }
            Action::Act(Act::AgentServer(
                AgentServerAct::Call(Endpoint::Run | Endpoint::Enqueue)
                | AgentServerAct::RunOnceFree,
            )) if !told => {
                let message = args.message.as_deref().unwrap_or(ORDINARY);
                all.push_str(&format!("${{message.{message}}}"));
            }
            _ => {}
        }
        lacking = lacking.take().or_else(|| config.lacks(&all));
    });
    lacking
}

/// The proxy, and what has happened.
struct Player<'a> {
    stage: Stage<'a>,
    config: &'a AgentServerConfig,
    port: u16,
    patience: &'a Patience,
}

fn script(why: impl Into<String>) -> Halt {
    Halt::Script(why.into())
}

impl Player<'_> {
    /// `text` with its `${…}` filled in.
    fn fill(&self, text: &str) -> Result<String, Halt> {
        let mut unknown = None;
        let filled = replace(text, |name| {
            let value = match name {
                "port" => Some(self.port.to_string()),
                name => match name.strip_prefix("fill:") {
                    Some(count) => count.parse().ok().map(|count| "a".repeat(count)),
                    None => self.config.told(name).and_then(|(_, value)| value),
                },
            };
            if value.is_none() {
                unknown = Some(name.to_owned());
            }
            value
        });
        match unknown {
            Some(name) => Err(script(format!("nothing is known of ${{{name}}} here"))),
            None => Ok(filled),
        }
    }

    /// The body that a step gives, or that its call has by itself, with its mutation applied.
    fn body(&self, endpoint: Endpoint, args: &Args) -> Result<Bytes, Halt> {
        if let Some(hex) = &args.hex {
            return super::proxy::fill_hex(hex);
        }
        let text = match args.json.as_ref().or(args.text.as_ref()) {
            Some(text) => text.clone(),
            None => self.usual(endpoint, args),
        };
        let text = self.fill(&text)?;
        match &args.mutate {
            None => Ok(Bytes::from(text)),
            Some(mutation) => mutate(&text, mutation)
                .map(Bytes::from)
                .map_err(|error| script(format!("the mutation: {error}"))),
        }
    }

    fn usual(&self, endpoint: Endpoint, args: &Args) -> String {
        let path = self.stage.revision == Revision::Path;
        let key = inside_json(args.key.as_deref().unwrap_or(KEY));
        let text = args.message.as_deref().unwrap_or(ORDINARY);
        let message = match path {
            true => format!(r#"{{"prompt":"${{message.{text}}}"}}"#),
            false => format!(
                r#"{{"key":"{key}","content":[{{"type":"text","text":"${{message.{text}}}"}}]}}"#
            ),
        };
        match endpoint {
            Endpoint::Schema => String::new(),
            Endpoint::Register => {
                let arguments = args.arguments.as_deref().unwrap_or("${json:arguments}");
                let name = if path { "agent" } else { "arguments" };
                format!(r#"{{"{name}":{arguments}}}"#)
            }
            Endpoint::Run if !path => format!(r#"{{"messages":[{message}]}}"#),
            Endpoint::Run | Endpoint::Enqueue => message,
            Endpoint::Dequeue if path => "{}".to_owned(),
            Endpoint::Dequeue => format!(r#"{{"key":"{key}"}}"#),
        }
    }

    async fn call(
        &mut self,
        endpoint: Endpoint,
        args: &Args,
        persistent: bool,
    ) -> Result<(), Halt> {
        let body = self.body(endpoint, args)?;
        let name = args.call.as_deref();
        let name = name.unwrap_or_else(|| endpoint.name().trim_start_matches('/'));
        self.stage.call(name, endpoint, body, persistent).await?;
        Ok(())
    }

    async fn catch_up(&mut self) -> Result<(), Halt> {
        for _ in 0..CATCHING_UP {
            let schema = Endpoint::Schema;
            let at = self
                .stage
                .call("catch up", schema, Bytes::new(), false)
                .await?;
            self.stage.calls[at].read = true;
            let mut wait = self.patience.start();
            let waits = |stage: &Stage<'_>| {
                let called = &stage.calls[at];
                called.answer.is_none() && called.broken.is_none()
            };
            while waits(&self.stage) {
                if !self.stage.pump(&mut wait, None).await? {
                    return Err(diverged("an answer", "none", None, None));
                }
            }
        }
        Ok(())
    }
}

impl Player<'_> {
    async fn take(&mut self, step: &Step) -> Result<(), Halt> {
        let args = &step.args;
        let Action::Act(Act::AgentServer(act)) = step.action else {
            return Err(script("this step is none of a scenario for agent servers"));
        };
        match act {
            AgentServerAct::Port => {
                let given = self.fill(args.text.as_deref().unwrap_or("${port}"))?;
                self.stage.start(&Given::Port(given)).await
            }
            AgentServerAct::NoPort => self.stage.start(&Given::NoPort).await,
            AgentServerAct::Call(endpoint) => self.call(endpoint, args, false).await,
            AgentServerAct::RunOnceFree => self.call(Endpoint::Run, args, true).await,
            AgentServerAct::CatchUp => self.catch_up().await.map_err(|halt| match halt {
                Halt::Diverged(mut divergence) => {
                    divergence.requirements.extend(step.checks);
                    Halt::Diverged(divergence)
                }
                other => other,
            }),
            AgentServerAct::Drop => {
                let name = args.on.as_deref().unwrap_or_default();
                let mut calls = self.stage.calls.iter();
                let at = calls.rposition(|called| called.name == name);
                let at = at.ok_or_else(|| script(format!("there is no call `{name}`")))?;
                self.stage.drop_call(at);
                self.stage.judged()
            }
            _ => Err(script("this step is expected, not done")),
        }
    }
}

impl Scene for Player<'_> {
    async fn act(&mut self, step: &Step) -> Result<(), Halt> {
        let before = self.stage.transcript.events.len();
        let taken = self.take(step).await;
        // What answers meanwhile is read by the steps that expect it.
        let since = self.stage.transcript.events.iter().skip(before);
        let sent = since.filter(|event| event.sender == Role::Proxy);
        self.stage.told.extend(sent.map(|event| event.seq));
        taken
    }

    fn take_told(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.stage.told)
    }

    fn peek(&mut self, step: &Step, blamed: Option<RequirementId>) -> Result<Peek, Halt> {
        match step.action {
            Action::Act(Act::AgentServer(act)) => self.peek_act(act, &step.args, blamed),
            _ => Err(script("this step is none of a scenario for agent servers")),
        }
    }

    async fn pump(&mut self, wait: &mut Wait, at_most: Option<Duration>) -> Result<bool, Halt> {
        self.stage.pump(wait, at_most).await
    }

    fn blamed_for(&self, step: &Step) -> Option<RequirementId> {
        match step.action {
            Action::Act(Act::AgentServer(AgentServerAct::End)) => RequirementId::new(ENDS),
            _ => None,
        }
    }

    fn nothing_left(&mut self, blamed: Option<RequirementId>) -> Result<(), Halt> {
        let unread = |called: &&stage::Called| !called.read && called.answer.is_some();
        let left = self.stage.calls.iter().find(unread);
        match left.and_then(|called| called.answer.as_ref()) {
            Some(answer) => Err(diverged(
                "nothing more: the script is over",
                &expect::in_words(answer),
                Some(answer.seq),
                blamed,
            )),
            None => Ok(()),
        }
    }

    async fn close(&mut self) -> Result<(), Halt> {
        let closed = self.stage.close();
        self.stage.calls.clear();
        if let Some(subject) = self.stage.subject.take() {
            subject.end().await;
        }
        closed
    }

    fn into_transcript(self) -> Transcript {
        self.stage.transcript
    }
}
