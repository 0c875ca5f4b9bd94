//! Plays a scenario in a chain: the harness is the client, unless that is a process too, and listens in on everybody else.

use diverge_protocol::rules::RequirementId;
use diverge_protocol::scenario::acts::{Act, ClientAct};
use diverge_protocol::scenario::{Action, ClientExpectation, ClientMessage, Scenario, Step};
use diverge_protocol::transcript::{LinkKind, Role, What};
use diverge_protocol::wire::frame::{Frame, FrameType};
use diverge_protocol::wire::profile::{BeginChannel, ClientChannel};

use super::beyond::Parties;
use super::expect::due_requirement;
use super::send::ORDINARY;
use super::stage::Stage;
use super::state::{Channel, Opener, ProxyLink};
use super::{Player, sequencer, watched};
use crate::config::Config;
use crate::kinds::client;
use crate::kinds::provider::Endpoint;
use crate::play::{Patience, Played};
use crate::verdict::{Outcome, Verdict};

/// Plays `scenario` against the provider behind `endpoint`, beyond which these parties stand.
pub(crate) async fn play(
    scenario: &Scenario,
    endpoint: &Endpoint,
    parties: Parties,
    client_way: &client::Way,
    config: &Config,
    patience: &Patience,
) -> Played {
    if let Some(why) = lacking(scenario, config) {
        let outcome = Outcome::unplayed(scenario, Verdict::NotApplicable, why);
        return Played::Judged(Box::new(outcome));
    }
    let mut player = Player {
        config: &config.provider,
        agent: Some(&config.agent_server),
        client_way: Some(client_way),
        stage: Stage::new(endpoint, patience, true),
        captures: Default::default(),
    };
    player.stage.goes_beyond(parties);
    sequencer::run(scenario, player, patience).await
}

/// What a scenario needs of the configuration, and it lacks.
#[must_use]
pub(crate) fn lacking(scenario: &Scenario, config: &Config) -> Option<String> {
    let mut lacking = None;
    scenario.each_step(&mut |step| {
        let args = &step.args;
        let starts = matches!(step.action, Action::Act(Act::Client(ClientAct::Start)));
        if starts && args.json.is_some() && !config.client.enqueues && lacking.is_none() {
            lacking = Some("needs [client] enqueues = true in the configuration".to_owned());
        }
        let default = match step.action {
            Action::ClientSends(ClientMessage::Run)
            | Action::Act(Act::Client(ClientAct::Start))
                if args.arguments.is_none() =>
            {
                "${json:arguments}"
            }
            Action::ClientSends(ClientMessage::Enqueue) if args.json.is_none() => ORDINARY,
            _ => "",
        };
        let texts = [&args.json, &args.arguments].into_iter().flatten();
        let parts = args.parts.iter().map(|(_, json)| json);
        let mut all: Vec<&str> = texts.chain(parts).map(String::as_str).collect();
        all.push(default);
        let all = all.join(" ");
        lacking = lacking.take().or_else(|| config.agent_server.lacks(&all));
    });
    lacking
}

impl Player<'_> {
    /// What is broken where a step waits in vain, as far as the links tell: somebody was told something, and did not act
    /// on it.
    pub(super) fn owed(&self, step: &Step) -> Option<RequirementId> {
        use ClientExpectation as E;
        let expected = match step.action {
            Action::ClientExpects(expected) => expected,
            Action::Act(Act::Client(act)) => {
                if let Some(owed) = self.owed_by_process(act) {
                    return Some(owed);
                }
                watched::expectation(act)
            }
            _ => return None,
        };
        let beyond = self.stage.beyond.as_ref()?;
        let otherwise = || match expected {
            E::Active if beyond.refused_last_run() => Some("agent.run.starts"),
            E::Active if self.enqueued() < self.asked(step, ClientChannel::Enqueue) => {
                Some("enqueue.request-relayed")
            }
            E::Active if beyond.offers() < self.enqueued() => Some("proxy.run.message"),
            E::Answer if beyond.offers() < self.enqueued() => Some("proxy.enqueue.offered"),
            E::Inactive if beyond.streams() => Some("agent.run.ends"),
            E::Finish | E::FinishAtLast if self.asked(step, ClientChannel::Stop) > 0 => {
                Some("stop.finishes-run")
            }
            _ => None,
        };
        beyond
            .owed_by_agent()
            .or_else(|| self.owed_at_begin())
            .or_else(|| beyond.owed_by_proxy())
            .and_then(RequirementId::new)
            .or_else(|| self.owed_by_provider(step))
            .or_else(|| otherwise().and_then(RequirementId::new))
            .or_else(|| self.unasked_by_process(step).and_then(RequirementId::new))
    }

    /// How many messages the provider has carried on to the proxy.
    fn enqueued(&self) -> usize {
        let transcript = &self.stage.transcript;
        let begins = |link| {
            let link = transcript.link(link);
            link.is_some_and(|link| link.kind == LinkKind::Begin)
        };
        let channels = &self.stage.profile().begin_channels;
        let mut events = transcript.events.iter();
        let asks = events.by_ref().filter(|it| {
            let What::Binary(message) = &it.what else {
                return false;
            };
            let asked = Frame::decode(message.clone()).ok().filter(|frame| {
                it.sender == Role::Provider && frame.kind == FrameType::ChannelRequest
            });
            let tag = asked.and_then(|frame| frame.payload.first().copied());
            begins(it.link) && tag.and_then(|tag| channels.word(tag)) == Some(BeginChannel::Enqueue)
        });
        asks.count()
    }

    /// How often the client has asked this of the run of the step.
    pub(super) fn asked(&self, step: &Step, wanted: ClientChannel) -> usize {
        let channels = &self.stage.profile().client_channels;
        let asks = |channel: &&Channel| {
            let tag = channel.payload.first().copied();
            channel.opener == Opener::Client
                && tag.and_then(|tag| channels.word(tag)) == Some(wanted)
        };
        let run = self.run(&step.args).ok();
        run.map_or(0, |run| {
            let channels = self.stage.runs[run].channels.values();
            channels.filter(asks).count()
        })
    }

    /// What the proxy owes that was asked to begin.
    fn owed_at_begin(&self) -> Option<&'static str> {
        let transcript = &self.stage.transcript;
        let of = |kind: LinkKind, from: Role| {
            let link = transcript.links.iter().find(|link| link.kind == kind)?;
            let mut events = transcript.events.iter();
            events.find(|it| {
                let speaks = matches!(it.what, What::Binary(_) | What::Request { .. });
                it.link == link.id && it.sender == from && speaks
            })
        };
        of(LinkKind::Begin, Role::Provider)?;
        match (
            of(LinkKind::Call, Role::Proxy),
            of(LinkKind::Begin, Role::Proxy),
        ) {
            (None, _) => Some("proxy.begin.registers"),
            (Some(_), None) => Some("proxy.begin.begun"),
            (Some(_), Some(_)) => None,
        }
    }

    /// What the provider owes that its proxy has told something.
    fn owed_by_provider(&self, step: &Step) -> Option<RequirementId> {
        let at = self.run(&step.args).ok()?;
        let run = &self.stage.runs[at];
        let told = |link: &ProxyLink| {
            let mut events = self.stage.transcript.events.iter();
            events.any(|it| it.link == link.wire.link && it.sender == Role::Proxy)
        };
        if run.responses_read == 0 && self.stage.proxies.iter().any(told) {
            return RequirementId::new("run.started");
        }
        due_requirement(self.stage.due(at).first()?.kind)
    }
}
