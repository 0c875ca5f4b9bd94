//! The stage of one scenario: its links to the implementation under test, one merged transcript, and the checkers.

use std::time::Duration;

use bytes::Bytes;
use diverge_link::{Connection, Limits, Message, Receiver, Sender};
use diverge_protocol::rules::{Checkers, Outstanding, OutstandingKind, RequirementId, Violation};
use diverge_protocol::transcript::{LinkId, LinkKind, Role, RunRef, Transcript, What};
use diverge_protocol::wire::frame::{Frame, FrameType};
use diverge_protocol::wire::profile::{Profile, ProviderChannel};
use mock_proxy::{Arrival, Claim, ProxyConnection};
use tokio::sync::mpsc;

use super::super::agent_server::hear::Heard;
use super::super::halt::{Halt, diverged, divergence_of};
use super::super::patience::{Began, Patience, Wait};
use super::beyond::{Beyond, Parties};
use super::state::{ClientLink, Incoming, ProxyLink, Run, Wire};
use super::watched::Watched;
use crate::kinds::client;
use crate::kinds::provider::Endpoint;
use crate::kinds::reach::nobody;

/// More messages than any scenario needs: whoever sends them is flooding.
const MOST_EVENTS: usize = 50_000;
/// Messages that may wait between a reader and the stage; a flood stops here.
pub(super) const WAITING: usize = 256;

/// What the stage's readers report.
#[derive(Debug)]
pub(super) enum Report {
    Client(usize, Message),
    Proxy(usize, Message),
    Hub(Arrival),
    /// A message of the real proxy's, in a chain.
    Upstream(usize, Message),
    /// A call of the real proxy's, in a chain.
    Called(mock_agent_server::Arrival),
    /// What the real agent server answers, in a chain.
    Heard(Heard),
    /// A connection of the client's process, in a chain.
    Arrived(mock_provider::endpoint::Arrival),
    /// A message of the client's process, in a chain.
    Downstream(usize, Message),
    /// What the client's process writes, in a chain.
    Wrote(client::Heard),
}

pub(super) struct Stage<'a> {
    pub endpoint: &'a Endpoint,
    pub patience: &'a Patience,
    pub began: Began,
    pub transcript: Transcript,
    /// The events that the step that is played has sent or read.
    pub told: Vec<u64>,
    pub clients: Vec<ClientLink>,
    pub proxies: Vec<ProxyLink>,
    pub runs: Vec<Run>,
    pub claim: Claim,
    pub attempts: u32,
    /// Channel requests of the provider's that no step reads are finished at once, unless the scenario reads them.
    pub reads_requests: bool,
    /// What stands beyond the provider, where the harness does not play it.
    pub beyond: Option<Beyond>,
    /// The client, where the harness does not play it.
    pub watched: Option<Watched>,
    pub(super) violations: Vec<Violation>,
    checkers: Checkers,
    profile: &'static Profile,
    reports: mpsc::Receiver<Report>,
    to_reports: mpsc::Sender<Report>,
}

impl<'a> Stage<'a> {
    pub(super) fn new(endpoint: &'a Endpoint, patience: &'a Patience, exclusive: bool) -> Self {
        let (to_reports, reports) = mpsc::channel(WAITING);
        let (to_hub, mut from_hub) = mpsc::channel(WAITING);
        let forward = to_reports.clone();
        tokio::spawn(async move {
            while let Some(arrival) = from_hub.recv().await {
                if forward.send(Report::Hub(arrival)).await.is_err() {
                    break;
                }
            }
        });
        Self {
            endpoint,
            patience,
            began: Began::now(),
            transcript: Transcript::default(),
            told: Vec::new(),
            clients: Vec::new(),
            proxies: Vec::new(),
            runs: Vec::new(),
            claim: endpoint.hub().claim(to_hub, exclusive),
            attempts: 0,
            reads_requests: false,
            beyond: None,
            watched: None,
            checkers: Checkers::new(Profile::scope()),
            profile: Profile::scope(),
            reports,
            to_reports,
            violations: Vec::new(),
        }
    }

    /// From here on real parties stand beyond the provider.
    pub(super) fn goes_beyond(&mut self, parties: Parties) {
        self.beyond = Some(Beyond::new(parties, &self.to_reports));
    }

    pub(super) fn profile(&self) -> &'static Profile {
        self.profile
    }

    /// Writes an event into the transcript and lets the checkers judge it.
    pub(super) fn record(&mut self, link: LinkId, sender: Role, what: What) -> u64 {
        let seq = self
            .transcript
            .record(self.began.elapsed(), link, sender, what);
        if let Some(event) = self.transcript.events.last() {
            self.checkers.event(event, &mut self.violations);
            let kind = self.transcript.link(link).map(|link| link.kind);
            let of_client = matches!(kind, Some(LinkKind::Client | LinkKind::Output));
            match (of_client, &mut self.watched, &mut self.beyond) {
                (true, Some(watched), _) => watched.event(event, &mut self.violations),
                (false, _, Some(beyond)) => beyond.event(event, &mut self.violations),
                _ => {}
            }
        }
        seq
    }

    pub(super) fn open_link(
        &mut self,
        kind: LinkKind,
        name: String,
        run: Option<RunRef>,
    ) -> LinkId {
        let id = self.transcript.open(kind, name, run);
        if let Some(link) = self.transcript.link(id) {
            self.checkers.link(link);
            if let Some(beyond) = &mut self.beyond {
                beyond.link(link);
            }
            if let Some(watched) = &mut self.watched {
                watched.link(link);
            }
        }
        id
    }

    /// Where readers report to.
    pub(super) fn reports(&self) -> mpsc::Sender<Report> {
        self.to_reports.clone()
    }

    pub(super) fn read(
        &self,
        mut receiver: Receiver,
        report: impl Fn(Message) -> Report + Send + 'static,
    ) -> tokio::task::JoinHandle<()> {
        let to = self.to_reports.clone();
        tokio::spawn(async move {
            loop {
                let message = receiver.receive().await;
                let over = message == Message::Closed;
                if to.send(report(message)).await.is_err() || over {
                    break;
                }
            }
        })
    }

    /// Opens a WebSocket to the implementation.
    pub(super) async fn connect(&mut self, name: &str, limits: Limits) -> Result<usize, Halt> {
        let link = self.open_link(LinkKind::Client, name.to_owned(), None);
        let connection = match self.endpoint.connect(limits, self.patience).await {
            Ok(connection) => connection,
            Err(error) if error.is_unreachable() => {
                let words = self.endpoint.last_words();
                let why = nobody(&self.endpoint.url(), &error, words);
                return Err(Halt::Unreachable(why));
            }
            Err(error) => {
                let status = error.status();
                let seq = self.record(link, Role::Provider, What::Refused { status });
                self.patience.exchange_failed();
                return Err(diverged(
                    "the WebSocket handshake to be granted",
                    &error.to_string(),
                    Some(seq),
                    RequirementId::new("transport.handshake-plain"),
                ));
            }
        };
        let subprotocol = connection.subprotocol.clone();
        self.record(link, Role::Provider, What::Opened { subprotocol });
        let (sender, receiver) = connection.split();
        let at = self.clients.len();
        let reader = self.read(receiver, move |message| Report::Client(at, message));
        let wire = Wire {
            link,
            sender,
            reader,
            closed: None,
            closing: false,
        };
        self.clients.push(ClientLink {
            name: name.to_owned(),
            wire,
            downstream: None,
            stray: Default::default(),
            generations: Default::default(),
            next_scope: 1,
        });
        self.judge(None)?;
        Ok(at)
    }

    pub(super) async fn send_client(&mut self, client: usize, bytes: Bytes) -> Result<(), Halt> {
        self.record(
            self.clients[client].wire.link,
            Role::Client,
            What::Binary(bytes.clone()),
        );
        let sent = self.clients[client].wire.sender.send(bytes);
        taken_in(sent, self.patience).await?;
        self.judge(None)
    }

    pub(super) async fn send_proxy(&mut self, proxy: usize, bytes: Bytes) -> Result<(), Halt> {
        self.record(
            self.proxies[proxy].wire.link,
            Role::Proxy,
            What::Binary(bytes.clone()),
        );
        let sent = self.proxies[proxy].wire.sender.send(bytes);
        taken_in(sent, self.patience).await?;
        self.judge(None)
    }

    /// Waits for one report and takes it in.
    ///
    /// `Ok(false)` when the patience, or `at_most`, was used up first.
    pub(super) async fn pump(
        &mut self,
        wait: &mut Wait,
        at_most: Option<Duration>,
    ) -> Result<bool, Halt> {
        let report = tokio::select! {
            biased;
            report = self.reports.recv() => report,
            () = wait.exhausted_after(at_most) => {
                let starts = at_most.is_none() && self.is_starting();
                if starts {
                    wait.restart();
                }
                return Ok(starts);
            }
        };
        wait.restart();
        if let Some(report) = report {
            self.take_in(report).await?;
        }
        Ok(true)
    }

    async fn take_in(&mut self, report: Report) -> Result<(), Halt> {
        if self.transcript.events.len() > MOST_EVENTS {
            return Err(diverged(
                "a conversation of bounded length",
                "a flood of messages",
                self.transcript.events.last().map(|event| event.seq),
                None,
            ));
        }
        match report {
            Report::Client(at, message) => self.client_received(at, message).await?,
            Report::Proxy(at, message) => self.proxy_received(at, message).await?,
            Report::Upstream(at, message) => self.pass_on(at, Role::Proxy, message).await?,
            Report::Called(arrival) => self.proxy_called(arrival).await?,
            Report::Heard(heard) => self.agent_answered(heard),
            Report::Arrived(arrival) => self.client_arrived(arrival).await?,
            Report::Downstream(at, message) => self.client_said(at, message).await?,
            Report::Wrote(heard) => self.client_wrote(heard),
            Report::Hub(Arrival::TurnedAway) => self.attempts += 1,
            Report::Hub(Arrival::Connected(connected)) => self.proxy_connected(*connected).await?,
        }
        self.judge(None)
    }

    /// Turns what the checkers found into a halt.
    pub(super) fn judge(&mut self, also: Option<RequirementId>) -> Result<(), Halt> {
        if self.violations.is_empty() {
            return Ok(());
        }
        let violations = std::mem::take(&mut self.violations);
        Err(Halt::Diverged(Box::new(divergence_of(&violations, also))))
    }

    /// What is only wrong in hindsight.
    pub(super) fn judge_end(&mut self) -> Result<(), Halt> {
        self.checkers.end(&mut self.violations);
        let last = self.transcript.events.last().map_or(0, |event| event.seq);
        if let Some(beyond) = &mut self.beyond {
            beyond.judge_end(last, &mut self.violations);
        }
        self.judge(None)
    }

    /// The events with which the provider connected to a proxy and asked it to begin.
    pub(super) fn opening_of(&self, proxy: &ProxyLink) -> Vec<u64> {
        let begins = |what: &What| match what {
            What::Opened { .. } => true,
            What::Binary(bytes) => Frame::decode(bytes.clone()).is_ok_and(|frame| {
                frame.kind == FrameType::Request && Some(frame.scope) == proxy.begin_scope
            }),
            _ => false,
        };
        let events = self.transcript.events.iter();
        events
            .filter(|event| event.link == proxy.wire.link && begins(&event.what))
            .map(|event| event.seq)
            .take(2)
            .collect()
    }

    /// What the proxy has said about the loops of a run and the client has not got.
    pub(super) fn outstanding(&self, run: usize) -> Vec<Outstanding> {
        let mut due = self.due(run);
        due.retain(|due| due.kind != OutstandingKind::Answer);
        due
    }

    /// The same, and what it has answered.
    pub(super) fn due(&self, run: usize) -> Vec<Outstanding> {
        self.checkers.outstanding(self.run_ref(run))
    }

    pub(super) fn run_ref(&self, run: usize) -> RunRef {
        let run = &self.runs[run];
        RunRef {
            link: self.clients[run.client].wire.link,
            scope: run.scope,
            generation: run.generation,
        }
    }

    async fn client_received(&mut self, at: usize, message: Message) -> Result<(), Halt> {
        if self.watched.is_some() {
            return self.pass_back(at, message).await;
        }
        let link = self.clients[at].wire.link;
        let bytes = match message {
            Message::Binary(bytes) => bytes,
            Message::Text(text) => {
                self.record(link, Role::Provider, What::Text(text));
                return Ok(());
            }
            Message::Closed => {
                let seq = self.record(link, Role::Provider, What::Closed);
                self.clients[at].wire.ended(seq);
                return Ok(());
            }
        };
        let seq = self.record(link, Role::Provider, What::Binary(bytes.clone()));
        let Ok(frame) = Frame::decode(bytes) else {
            return Ok(());
        };
        let run = self
            .runs
            .iter()
            .position(|run| run.client == at && run.scope == frame.scope && run.finished.is_none());
        let Some(run) = run else {
            self.clients[at].stray.push_back(Incoming { seq, frame });
            return Ok(());
        };
        let (kind, channel) = (frame.kind, frame.channel);
        let opens = frame
            .payload
            .first()
            .and_then(|tag| self.profile.provider_channels.word(*tag));
        let run = &mut self.runs[run];
        match kind {
            FrameType::Response => run.main.push_back(Incoming { seq, frame }),
            FrameType::ResponseFinish => {
                run.finished = Some(seq);
                run.main.push_back(Incoming { seq, frame });
            }
            FrameType::ChannelResponse | FrameType::ChannelResponseFinish => {
                run.answers
                    .entry(channel)
                    .or_default()
                    .push_back(Incoming { seq, frame });
            }
            FrameType::ChannelRequest => {
                let asks_for_image = matches!(
                    opens,
                    Some(
                        ProviderChannel::OciManifest
                            | ProviderChannel::OciBlob
                            | ProviderChannel::OciHas
                    )
                );
                let scope = run.scope;
                if self.reads_requests && !asks_for_image {
                    run.requests.push_back(Incoming { seq, frame });
                } else {
                    // A client that has nothing to say to an ask says so by the bare finish.
                    let finish = Frame::new(
                        FrameType::ChannelResponseFinish,
                        scope,
                        channel,
                        Bytes::new(),
                    );
                    self.send_client(at, finish.encode()).await?;
                }
            }
            FrameType::Authorization | FrameType::Request => {}
        }
        Ok(())
    }

    async fn proxy_connected(&mut self, connected: ProxyConnection) -> Result<(), Halt> {
        let ProxyConnection {
            token,
            first,
            connection,
        } = connected;
        let run = match &token {
            Some(token) => self
                .runs
                .iter()
                .position(|run| run.token.as_ref() == Some(token)),
            // On an address of its own, a connection belongs to the one run that has none yet, or else to the newest.
            None => self
                .runs
                .iter()
                .position(|run| run.proxy.is_none() && run.finished.is_none())
                .or_else(|| self.runs.len().checked_sub(1)),
        };
        let run_ref = run.map(|run| self.run_ref(run));
        let name = run.map_or_else(
            || "proxy".to_owned(),
            |run| format!("proxy of {}", self.runs[run].name),
        );
        let link = self.open_link(LinkKind::Begin, name, run_ref);
        self.record(link, Role::Provider, What::Opened { subprotocol: None });
        let at = self.proxies.len();
        let (sender, receiver) = Connection::split(connection);
        let reader = self.read(receiver, move |message| Report::Proxy(at, message));
        self.push_proxy(link, sender, reader);
        if let Some(run) = run
            && self.runs[run].proxy.is_none()
        {
            self.runs[run].proxy = Some(at);
        }
        self.reach_beyond(at).await?;
        for message in first {
            self.proxy_received(at, message).await?;
        }
        Ok(())
    }

    fn push_proxy(&mut self, link: LinkId, sender: Sender, reader: tokio::task::JoinHandle<()>) {
        let wire = Wire {
            link,
            sender,
            reader,
            closed: None,
            closing: false,
        };
        self.proxies.push(ProxyLink {
            wire,
            upstream: None,
            begin_scope: None,
            next_channel: 1,
            requests: Default::default(),
            answers: Default::default(),
        });
    }

    async fn proxy_received(&mut self, at: usize, message: Message) -> Result<(), Halt> {
        if self.beyond.is_some() {
            return self.pass_on(at, Role::Provider, message).await;
        }
        let link = self.proxies[at].wire.link;
        let bytes = match message {
            Message::Binary(bytes) => bytes,
            Message::Text(text) => {
                self.record(link, Role::Provider, What::Text(text));
                return Ok(());
            }
            Message::Closed => {
                let seq = self.record(link, Role::Provider, What::Closed);
                self.proxies[at].wire.ended(seq);
                return Ok(());
            }
        };
        let seq = self.record(link, Role::Provider, What::Binary(bytes.clone()));
        let Ok(frame) = Frame::decode(bytes) else {
            return Ok(());
        };
        let proxy = &mut self.proxies[at];
        match frame.kind {
            FrameType::Request => {
                let begins = frame
                    .payload
                    .first()
                    .is_some_and(|tag| self.profile.begin_request.word(*tag).is_some());
                if begins && proxy.begin_scope.is_none() {
                    proxy.begin_scope = Some(frame.scope);
                } else if !begins {
                    self.answer_other_scope(at, &frame).await?;
                }
            }
            FrameType::ChannelRequest => proxy.requests.push_back(Incoming { seq, frame }),
            FrameType::ChannelResponse | FrameType::ChannelResponseFinish => {
                proxy
                    .answers
                    .entry(frame.channel)
                    .or_default()
                    .push_back(Incoming { seq, frame });
            }
            FrameType::Authorization | FrameType::Response | FrameType::ResponseFinish => {}
        }
        Ok(())
    }

    /// A mount is granted, so that a provider that mounts before the id can go on; anything else is not served.
    async fn answer_other_scope(&mut self, at: usize, request: &Frame) -> Result<(), Halt> {
        /// The endpoint tag of a FUSE mount on the proxy.
        const FUSE_MOUNT: u8 = 2;
        let (kind, payload) = if request.payload.first() == Some(&FUSE_MOUNT) {
            (FrameType::Response, Bytes::from_static(&[0]))
        } else {
            (FrameType::ResponseFinish, Bytes::new())
        };
        let answer = Frame::new(kind, request.scope, 0, payload);
        self.send_proxy(at, answer.encode()).await
    }
}

/// Waits until a message is on its way, as long as the patience lasts.
///
/// A provider that is gone is noticed by the next expectation; sending to it is no fault of its own.
pub(super) async fn taken_in(
    sending: impl Future<Output = std::io::Result<()>>,
    patience: &Patience,
) -> Result<(), Halt> {
    let mut wait = patience.start();
    tokio::select! {
        _ = sending => Ok(()),
        () = wait.exhausted() => {
            patience.exchange_failed();
            Err(diverged("what is sent to be read", "a connection that takes nothing in", None, None))
        }
    }
}
