//! Plays one scenario against an implementation: the sequencer for all roles.
//!
//! The steps are taken in order. What comes in is kept apart by stream (a run's responses, each channel, each link), so
//! that a step waits for the next message of its own stream, and messages of different streams may come in any order.
//! The checkers see every message the moment it is read, so the first divergence decides.

mod describe;
mod expect;
mod patience;
mod send;
mod stage;
mod state;

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

use diverge_link::Limits;
use diverge_protocol::rules::{RequirementId, Strength};
use diverge_protocol::scenario::{
    Action, Args, ClientExpectation, ClientMessage, Part, Scenario, Step,
};
use diverge_protocol::transcript::{Role, What};
use diverge_protocol::wire::frame::FrameType;
use mock_proxy::Late;

pub use patience::Patience;

use self::expect::{Peek, due_requirement};
use self::send::{DEFAULT_CLIENT, DEFAULT_RUN};
use self::stage::{Halt, Stage, diverged};
use self::state::{Channel, Incoming, Opener};
use crate::config::ProviderConfig;
use crate::kinds::provider::Endpoint;
use crate::verdict::{Outcome, Verdict};

/// How long an implementation may take to answer a close frame before the harness stops watching.
const CLOSING: Duration = Duration::from_millis(250);

/// How a played scenario ended.
#[derive(Debug)]
pub enum Played {
    /// With a verdict.
    Judged(Box<Outcome>),
    /// The implementation cannot be reached; the text says how it was tried.
    Unreachable(String),
    /// The scenario or the harness is at fault.
    Fault(String),
}

/// The sequencer's state for one scenario.
struct Player<'a> {
    scenario: &'a Scenario,
    config: &'a ProviderConfig,
    stage: Stage<'a>,
    captures: HashMap<String, String>,
    current: Option<&'a Step>,
    part: Part,
    evaluated: u32,
    readings: Vec<String>,
    /// Expectations that may be met any number of times before the next one is.
    meanwhile: Vec<&'a Step>,
}

/// Plays `scenario` against the implementation behind `endpoint`.
pub async fn play(
    scenario: &Scenario,
    endpoint: &Endpoint,
    config: &ProviderConfig,
    patience: &Patience,
) -> Played {
    let started = Instant::now();
    if let Some(missing) = scenario
        .needs
        .iter()
        .find(|fixture| config.volumes.get(**fixture).is_none())
    {
        let why = format!(
            "needs [provider.volumes] {} in the configuration",
            missing.key()
        );
        return Played::Judged(Box::new(Outcome::unplayed(
            scenario,
            Verdict::NotApplicable,
            why,
        )));
    }
    let mut player = Player {
        scenario,
        config,
        stage: Stage::new(endpoint, patience, scenario.exclusive),
        captures: HashMap::new(),
        current: None,
        part: Part::Probe,
        evaluated: 0,
        readings: Vec::new(),
        meanwhile: Vec::new(),
    };
    player.stage.reads_requests = reads_requests(scenario);
    let mut halt = player.steps(&scenario.steps).await.err();
    if halt.is_none() {
        player.current = None;
        player.part = Part::Probe;
        halt = player.nothing_left().err();
    }
    let closing = player.close().await;
    halt = halt.or(closing.err());
    player.judge(halt, started)
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

type Steps<'b> = Pin<Box<dyn Future<Output = Result<(), Halt>> + Send + 'b>>;

impl<'a> Player<'a> {
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

    fn steps<'b>(&'b mut self, steps: &'a [Step]) -> Steps<'b>
    where
        'a: 'b,
    {
        Box::pin(async move {
            for step in steps {
                self.current = Some(step);
                self.part = step.part;
                self.step(step).await?;
            }
            Ok(())
        })
    }

    async fn step(&mut self, step: &'a Step) -> Result<(), Halt> {
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
            Action::ProxyRefuses => {
                self.stage.claim.turn_away();
                Ok(())
            }
            Action::ClientExpects(_) | Action::ProxyExpects(_) => {
                self.wait_for(std::slice::from_ref(step)).await.map(drop)
            }
            Action::OneOf(branches) => {
                let taken = self.choose(branches).await?;
                self.steps(&branches[taken][1..]).await
            }
            Action::EitherOrder(branches) => {
                let mut left: Vec<&'a [Step]> = branches.iter().map(Vec::as_slice).collect();
                while !left.is_empty() {
                    let firsts: Vec<&Step> =
                        left.iter().filter_map(|branch| branch.first()).collect();
                    let taken = self.wait_among(&firsts).await?;
                    let branch = left.remove(taken);
                    self.steps(&branch[1..]).await?;
                }
                Ok(())
            }
            Action::AnyNumberOf(steps) => {
                self.meanwhile = steps.iter().collect();
                Ok(())
            }
            Action::Repeat(times, steps) => {
                for _ in 0..*times {
                    self.steps(steps).await?;
                }
                Ok(())
            }
            Action::NotApplicable(why) => Err(Halt::NotApplicable(why.clone())),
        }
    }

    async fn choose(&mut self, branches: &'a [Vec<Step>]) -> Result<usize, Halt> {
        let firsts: Vec<&Step> = branches
            .iter()
            .filter_map(|branch| branch.first())
            .collect();
        if firsts.len() != branches.len() {
            return Err(Halt::Script(
                "every branch needs a first step that expects something".into(),
            ));
        }
        let taken = self.wait_among(&firsts).await?;
        if let Some(step) = branches[taken].first() {
            self.readings.push(step_text(step));
        }
        Ok(taken)
    }

    async fn wait_for(&mut self, steps: &'a [Step]) -> Result<usize, Halt> {
        let steps: Vec<&Step> = steps.iter().collect();
        self.wait_among(&steps).await
    }

    fn peek(&mut self, step: &Step) -> Result<Peek, Halt> {
        let blamed = step
            .checks
            .or_else(|| self.scenario.requirements.first().copied());
        match &step.action {
            // What must have been passed on tells best itself what its absence breaks.
            Action::ClientExpects(ClientExpectation::Relayed) => {
                self.peek_client(ClientExpectation::Relayed, &step.args, step.checks)
            }
            Action::ClientExpects(expectation) => {
                self.peek_client(*expectation, &step.args, blamed)
            }
            Action::ProxyExpects(expectation) => self.peek_proxy(*expectation, &step.args, blamed),
            _ => Err(Halt::Script(
                "a branch starts with something that is expected".into(),
            )),
        }
    }

    /// Waits until one of `steps` is met, and says which; only expectations can be waited for.
    async fn wait_among(&mut self, steps: &[&'a Step]) -> Result<usize, Halt> {
        let mut wait = self.stage.patience.start();
        loop {
            let mut first_other = None;
            let mut pending = false;
            for (at, step) in steps.iter().enumerate() {
                match self.peek(step)? {
                    Peek::Met => {
                        self.evaluated += 1;
                        self.meanwhile.clear();
                        self.stage.patience.exchange_worked();
                        return Ok(at);
                    }
                    Peek::Pending => pending = true,
                    Peek::Diverged(halt) => first_other = first_other.or(Some(halt)),
                }
            }
            if first_other.is_some() && self.passes_meanwhile()? {
                continue;
            }
            match first_other {
                Some(halt) if !pending || steps.len() == 1 => {
                    self.evaluated += 1;
                    self.stage.patience.exchange_failed();
                    return Err(among(halt, steps));
                }
                _ => {}
            }
            match self.stage.pump(&mut wait, None).await {
                Ok(true) => {}
                Ok(false) => {
                    self.evaluated += 1;
                    self.stage.patience.exchange_failed();
                    return Err(first_other.unwrap_or_else(|| self.overdue(steps)));
                }
                Err(Halt::Diverged(mut divergence)) => {
                    self.evaluated += 1;
                    self.stage.patience.exchange_failed();
                    // What this very step is there to check is broken by the same message.
                    if let Some(checks) = steps.iter().find_map(|step| step.checks)
                        && !divergence.requirements.contains(&checks)
                    {
                        divergence.requirements.push(checks);
                    }
                    return Err(Halt::Diverged(divergence));
                }
                Err(other) => return Err(other),
            }
        }
    }

    /// Whether something came that may come any number of times; it is read then.
    fn passes_meanwhile(&mut self) -> Result<bool, Halt> {
        for step in self.meanwhile.clone() {
            if matches!(self.peek(step)?, Peek::Met) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What was due did not come.
    fn overdue(&self, steps: &[&Step]) -> Halt {
        let wanted: Vec<String> = steps.iter().map(|step| step_text(step)).collect();
        let limit = self.stage.patience.limit();
        let mut blamed = steps.iter().find_map(|step| step.checks);
        if blamed.is_none()
            && let [
                Step {
                    action: Action::ClientExpects(ClientExpectation::Relayed),
                    args,
                    ..
                },
            ] = steps
            && let Ok(run) = self.run(args)
        {
            blamed = self
                .stage
                .outstanding(run)
                .first()
                .and_then(|due| due_requirement(due.kind));
        }
        let blamed = blamed.or_else(|| self.scenario.requirements.first().copied());
        diverged(
            &wanted.join(", or "),
            &format!(
                "nothing that decides it within {} ms without progress",
                limit.as_millis()
            ),
            None,
            blamed,
        )
    }

    /// A message that no step has read when the script is over.
    ///
    /// A channel's finish may be left: where it may come at all, the checkers know, and a stop's may come or not.
    fn nothing_left(&mut self) -> Result<(), Halt> {
        let blamed = self.scenario.requirements.first().copied();
        let on_runs = self
            .stage
            .runs
            .iter()
            .flat_map(|run| run.main.iter().chain(run.answers.values().flatten()));
        let on_proxies = self.stage.proxies.iter().flat_map(|proxy| &proxy.requests);
        let on_links = self.stage.clients.iter().flat_map(|client| &client.stray);
        let finishes =
            |incoming: &&Incoming| incoming.frame.kind != FrameType::ChannelResponseFinish;
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
        for proxy in 0..self.stage.proxies.len() {
            self.close_proxy(proxy).await;
        }
        self.stage.judge_end()
    }

    fn judge(self, halt: Option<Halt>, started: Instant) -> Played {
        let scenario = self.scenario;
        let mut outcome = Outcome::unplayed(scenario, Verdict::Pass, String::new());
        outcome.message = None;
        outcome.evaluated = self.evaluated;
        outcome.readings = self.readings;
        match halt {
            None if self.evaluated == 0 => {
                return Played::Fault(format!("scenario {} evaluated no expectation", scenario.id));
            }
            None => {}
            Some(Halt::Script(why)) => {
                let place = self
                    .current
                    .map_or_else(|| scenario.at.display(), |step| step.at.display());
                return Played::Fault(format!("{place}: scenario {}: {why}", scenario.id));
            }
            Some(Halt::Unreachable(why)) => return Played::Unreachable(why),
            Some(Halt::NotApplicable(why)) => {
                outcome.verdict = Verdict::NotApplicable;
                outcome.message = Some(why);
            }
            Some(Halt::Diverged(mut divergence)) => {
                if divergence.requirements.is_empty() {
                    divergence
                        .requirements
                        .extend(scenario.requirements.first());
                }
                divergence.step = self.current.map(|step| (step.at.clone(), step_text(step)));
                outcome.verdict = verdict(self.part, divergence.by_rule, &divergence.requirements);
                outcome.message = Some(format!(
                    "expected {}; got {}",
                    divergence.allowed, divergence.received
                ));
                outcome.divergence = Some(*divergence);
            }
        }
        outcome.transcript = self.stage.transcript;
        outcome.duration = started.elapsed();
        Played::Judged(Box::new(outcome))
    }
}

fn verdict(part: Part, by_rule: bool, requirements: &[RequirementId]) -> Verdict {
    if part == Part::Control && !by_rule {
        return Verdict::Inconclusive;
    }
    let strength = requirements
        .iter()
        .filter_map(|id| id.requirement())
        .map(|requirement| requirement.strength)
        .max();
    if strength == Some(Strength::Stated) {
        Verdict::Fail
    } else {
        Verdict::Warn
    }
}

/// Where several branches were possible, the divergence allows all of them.
fn among(halt: Halt, steps: &[&Step]) -> Halt {
    match halt {
        Halt::Diverged(mut divergence) if steps.len() > 1 => {
            let all: Vec<String> = steps.iter().map(|step| step_text(step)).collect();
            divergence.allowed = all.join(", or ");
            Halt::Diverged(divergence)
        }
        other => other,
    }
}

/// A step in a few words, as the scenario file has it.
pub(crate) fn step_text(step: &Step) -> String {
    let on = step
        .args
        .on
        .as_deref()
        .map(|on| format!(" on {on}"))
        .unwrap_or_default();
    let of = step
        .args
        .run
        .as_deref()
        .map(|run| format!(" of {run}"))
        .unwrap_or_default();
    let channel = step
        .args
        .channel
        .as_deref()
        .map(|name| format!(" [{name}]"))
        .unwrap_or_default();
    match &step.action {
        Action::ClientConnects { bare: false } => format!("client connects{on}"),
        Action::ClientConnects { bare: true } => {
            format!("client connects{on} without its credential")
        }
        Action::ClientSends(message) => format!("client sends {}{channel}{of}{on}", message.name()),
        Action::ClientExpects(expectation) => {
            format!("client expects {}{channel}{of}{on}", expectation.name())
        }
        Action::ClientCloses => format!("client closes{on}"),
        Action::ClientDrops => format!("client drops{on}"),
        Action::ProxyExpects(expectation) => {
            format!("proxy expects {}{channel}{of}", expectation.name())
        }
        Action::ProxySends(message) => format!("proxy sends {}{channel}{of}", message.name()),
        Action::ProxyCloses => format!("proxy closes{of}"),
        Action::ProxyRefuses => "proxy refuses connections".to_owned(),
        Action::EitherOrder(_) => "in either order".to_owned(),
        Action::OneOf(_) => "one of".to_owned(),
        Action::AnyNumberOf(_) => "any number of".to_owned(),
        Action::Repeat(times, _) => format!("{times} times"),
        Action::NotApplicable(_) => "not applicable".to_owned(),
    }
}
