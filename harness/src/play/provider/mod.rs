//! Plays a scenario against a provider: the harness is its client, and the proxies of its containers.
//!
//! What comes in is kept apart by stream (a run's responses, each channel, each link), so that a step waits for the
//! next message of its own stream, and messages of different streams may come in any order. The checkers see every
//! message the moment it is read, so the first divergence decides.

mod beyond;
mod chain;
mod expect;
mod send;
mod stage;
mod state;
mod watched;

use std::collections::HashMap;
use std::time::Duration;

use diverge_link::Limits;
use diverge_protocol::rules::RequirementId;
use diverge_protocol::scenario::acts::{Act, ClientAct};
use diverge_protocol::scenario::{Action, Args, ClientExpectation, ClientMessage, Scenario, Step};
use diverge_protocol::transcript::{Role, Transcript, What};
use diverge_protocol::wire::frame::FrameType;
use mock_proxy::Late;

pub(crate) use self::beyond::Parties;
pub(crate) use self::chain::{lacking as chain_lacking, play as chain};
use self::expect::due_requirement;
use self::send::{DEFAULT_CLIENT, DEFAULT_RUN};
use self::stage::Stage;
use self::state::{Channel, Incoming, Opener};
use super::halt::{Halt, Peek, diverged};
use super::patience::{Patience, Wait};
use super::sequencer::{self, Scene};
use super::{Played, describe};
use crate::config::{AgentServerConfig, ProviderConfig};
use crate::kinds::client;
use crate::kinds::provider::Endpoint;
use crate::verdict::{Outcome, Verdict};

/// How long an implementation may take to answer a close frame before the harness stops watching.
const CLOSING: Duration = Duration::from_millis(250);

/// The client and the proxies, the provider between them, and what has happened.
struct Player<'a> {
    config: &'a ProviderConfig,
    /// What the agent server of a chain is told.
    agent: Option<&'a AgentServerConfig>,
    /// How a chain has a client of its own process.
    client_way: Option<&'a client::Way>,
    stage: Stage<'a>,
    captures: HashMap<String, String>,
}

/// Plays `scenario` against the implementation behind `endpoint`.
pub async fn play(
    scenario: &Scenario,
    endpoint: &Endpoint,
    config: &ProviderConfig,
    patience: &Patience,
) -> Played {
    if let Some(why) = lacking(scenario, config) {
        return Played::Judged(Box::new(Outcome::unplayed(
            scenario,
            Verdict::NotApplicable,
            why,
        )));
    }
    let mut player = Player {
        config,
        agent: None,
        client_way: None,
        stage: Stage::new(endpoint, patience, scenario.exclusive),
        captures: HashMap::new(),
    };
    player.stage.reads_requests = reads_requests(scenario);
    sequencer::run(scenario, player, patience).await
}

/// What a provider's scenario needs and the configuration lacks.
#[must_use]
pub fn lacking(scenario: &Scenario, config: &ProviderConfig) -> Option<String> {
    let mut needs = scenario.needs.iter();
    let missing = needs.find(|fixture| config.volumes.get(**fixture).is_none())?;
    let key = missing.key();
    Some(format!(
        "needs [provider.volumes] {key} in the configuration"
    ))
}

fn reads_requests(scenario: &Scenario) -> bool {
    let mut reads = false;
    scenario.each_step(&mut |step| {
        reads |= matches!(
            step.action,
            Action::ClientExpects(ClientExpectation::ChannelRequest)
        );
    });
    reads
}

impl Player<'_> {
    fn client(&self, args: &Args) -> Result<usize, Halt> {
        let name = args.on.as_deref().unwrap_or(DEFAULT_CLIENT);
        self.stage
            .clients
            .iter()
            .rposition(|client| client.name == name)
            .ok_or_else(|| {
                Halt::Script(format!(
                    "the client has no connection called `{name}`; connect it first"
                ))
            })
    }

    fn run(&self, args: &Args) -> Result<usize, Halt> {
        let name = args.run.as_deref().unwrap_or(DEFAULT_RUN);
        self.stage
            .runs
            .iter()
            .rposition(|run| run.name == name)
            .ok_or_else(|| {
                Halt::Script(format!(
                    "there is no run called `{name}`; the client sends it first"
                ))
            })
    }

    fn channel_name(&self, args: &Args, default: &str) -> String {
        if let Some(name) = &args.channel {
            return name.clone();
        }
        // A step that names no channel means the one that there is.
        let only = self.run(args).ok().and_then(|run| {
            let mut names = self.stage.runs[run].channels.keys();
            names.next().filter(|_| names.next().is_none())
        });
        only.cloned().unwrap_or_else(|| default.to_owned())
    }

    fn channel(
        &self,
        args: &Args,
        default: &str,
        opener: Opener,
    ) -> Result<(usize, Channel), Halt> {
        let run = self.run(args)?;
        let name = self.channel_name(args, default);
        match self.stage.runs[run].channels.get(&name) {
            Some(channel) if channel.opener == opener => Ok((run, channel.clone())),
            _ => Err(Halt::Script(format!(
                "the run has no such channel called `{name}` at this point"
            ))),
        }
    }

    async fn close_client(&mut self, client: usize) {
        let wire = &mut self.stage.clients[client].wire;
        if wire.closed.is_none() && !wire.closing {
            wire.closing = true;
            let _ = wire.sender.close().await;
            let link = wire.link;
            self.stage.record(link, Role::Client, What::Closed);
        }
    }

    /// Breaks a client's connection: both halves go, so that its byte stream ends.
    fn drop_client(&mut self, client: usize) {
        let wire = &mut self.stage.clients[client].wire;
        if wire.closed.is_none() {
            wire.closing = true;
            wire.sender.let_go();
            wire.reader.abort();
            let link = wire.link;
            let seq = self.stage.record(link, Role::Client, What::Closed);
            self.stage.clients[client].wire.closed = Some(seq);
        }
    }

    async fn close_proxy(&mut self, proxy: usize) {
        let wire = &mut self.stage.proxies[proxy].wire;
        if wire.closed.is_none() && !wire.closing {
            wire.closing = true;
            let _ = wire.sender.close().await;
            let link = wire.link;
            self.stage.record(link, Role::Proxy, What::Closed);
        }
    }
}

impl Player<'_> {
    async fn take(&mut self, step: &Step) -> Result<(), Halt> {
        let args = &step.args;
        match &step.action {
            Action::ClientConnects { bare } => {
                let name = args.on.as_deref().unwrap_or(DEFAULT_CLIENT);
                self.stage.connect(name, Limits::default()).await?;
                if !bare {
                    self.client_sends(ClientMessage::Credential, args).await?;
                }
                Ok(())
            }
            Action::ClientSends(message) => self.client_sends(*message, args).await,
            Action::ProxySends(message) => self.proxy_sends(*message, args).await,
            Action::ClientCloses => {
                let client = self.client(args)?;
                self.close_client(client).await;
                Ok(())
            }
            Action::ClientDrops => {
                let client = self.client(args)?;
                self.drop_client(client);
                Ok(())
            }
            Action::ProxyCloses => {
                let run = self.run(args)?;
                self.stage.runs[run].proxy_ended = true;
                if let Some(proxy) = self.stage.runs[run].proxy {
                    self.close_proxy(proxy).await;
                }
                Ok(())
            }
            Action::Act(Act::Client(ClientAct::Start)) => self.start_client(args).await,
            Action::ProxyRefuses => {
                self.stage.claim.turn_away();
                Ok(())
            }
            _ => Err(Halt::Script(
                "this step is none of a scenario for providers".into(),
            )),
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
        match &step.action {
            // What must have been passed on tells best itself what its absence breaks.
            Action::ClientExpects(ClientExpectation::Relayed) => {
                self.peek_client(ClientExpectation::Relayed, &step.args, step.checks)
            }
            Action::ClientExpects(expectation) => {
                self.peek_client(*expectation, &step.args, blamed)
            }
            Action::Act(Act::Client(act)) => self.peek_process(*act, blamed),
            Action::ProxyExpects(expectation) => self.peek_proxy(*expectation, &step.args, blamed),
            _ => Err(Halt::Script(
                "this step is none of a scenario for providers".into(),
            )),
        }
    }

    async fn pump(&mut self, wait: &mut Wait, at_most: Option<Duration>) -> Result<bool, Halt> {
        self.stage.pump(wait, at_most).await
    }

    fn blamed_for(&self, step: &Step) -> Option<RequirementId> {
        if self.stage.beyond.is_some() {
            return self.owed(step);
        }
        match &step.action {
            Action::ClientExpects(ClientExpectation::Relayed) => {
                let run = self.run(&step.args).ok()?;
                let due = self.stage.outstanding(run);
                due.first().and_then(|due| due_requirement(due.kind))
            }
            _ => None,
        }
    }

    /// A message that no step has read when the script is over.
    ///
    /// A channel's finish may be left: where it may come at all, the checkers know, and a stop's may come or not.
    fn nothing_left(&mut self, blamed: Option<RequirementId>) -> Result<(), Halt> {
        let on_runs = self
            .stage
            .runs
            .iter()
            .flat_map(|run| run.main.iter().chain(run.answers.values().flatten()));
        let on_proxies = self.stage.proxies.iter().flat_map(|proxy| &proxy.requests);
        let on_links = self.stage.clients.iter().flat_map(|client| &client.stray);
        let finishes =
            |incoming: &&Incoming| incoming.frame.kind != FrameType::ChannelResponseFinish;
        if let Some(watched) = &self.stage.watched
            && let Some((seq, line)) = watched.written.left()
        {
            let over = "nothing more: the script is over";
            return Err(diverged(over, &line, Some(seq), blamed));
        }
        let left = on_runs
            .chain(on_proxies)
            .chain(on_links)
            .filter(finishes)
            .min_by_key(|incoming| incoming.seq);
        match left {
            Some(incoming) => {
                let received = describe::frame(&incoming.frame);
                Err(diverged(
                    "nothing more: the script is over",
                    &received,
                    Some(incoming.seq),
                    blamed,
                ))
            }
            None => Ok(()),
        }
    }

    /// Ends every link, and goes on judging what still comes until the provider has ended its side.
    async fn close(&mut self) -> Result<(), Halt> {
        for run in &self.stage.runs {
            if let Some(token) = &run.token {
                let over = run.finished.is_some() && run.proxy.is_none();
                self.stage
                    .claim
                    .when_late(token, if over { Late::Unclaimed } else { Late::Allowed });
            }
        }
        for client in 0..self.stage.clients.len() {
            self.close_client(client).await;
        }
        let mut wait = self.stage.patience.start();
        while self
            .stage
            .clients
            .iter()
            .map(|client| &client.wire)
            .any(|wire| wire.closed.is_none())
            || self
                .stage
                .proxies
                .iter()
                .map(|proxy| &proxy.wire)
                .any(|wire| wire.closed.is_none())
        {
            if !self.stage.pump(&mut wait, Some(CLOSING)).await? {
                break;
            }
        }
        if self.stage.beyond.is_none() {
            for proxy in 0..self.stage.proxies.len() {
                self.close_proxy(proxy).await;
            }
        }
        let judged = self.stage.judge_end();
        if let Some(watched) = self.stage.watched.take() {
            watched.end().await;
        }
        if let Some(beyond) = self.stage.beyond.take() {
            beyond.end().await;
        }
        judged
    }

    fn into_transcript(self) -> Transcript {
        self.stage.transcript
    }
}
