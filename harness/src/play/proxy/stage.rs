//! The stage of one scenario for proxies: the provider's links, the agent server's endpoint, one merged transcript, and
//! the checkers.

use std::time::Duration;

use bytes::Bytes;
use diverge_link::{Message, Receiver};

use diverge_protocol::rules::{Outstanding, ProxyCheckers, RequirementId, Revision, Violation};
use diverge_protocol::transcript::{AgentCall, LinkId, LinkKind, Role, Transcript, What};
use diverge_protocol::wire::frame::{Frame, FrameType};
use diverge_protocol::wire::profile::Profile;
use diverge_protocol::wire::sse::EventReader;
use mock_agent_server::Arrival;
use tokio::sync::mpsc;

use super::super::halt::{Halt, diverged, divergence_of};
use super::super::patience::{Began, Patience, Wait};
use super::agent::Agent;
use super::state::{Called, Ended, Host, Incoming, Scope};
use crate::kinds::proxy::Subject;
use crate::kinds::reach::nobody;

/// More messages than any scenario needs: whoever sends them is flooding.
const MOST_EVENTS: usize = 50_000;
/// Messages that may wait between a reader and the stage; a flood stops here.
const WAITING: usize = 256;

/// What the stage's readers report.
#[derive(Debug)]
pub(super) enum Report {
    /// A message on a link of the provider's; of an end, whether it was in order.
    Host(usize, Message, bool),
    Agent(Arrival),
}

pub(super) struct Stage<'a> {
    pub subject: &'a Subject,
    pub patience: &'a Patience,
    pub revision: Revision,
    pub profile: &'static Profile,
    pub transcript: Transcript,
    /// The events that the step that is played has sent or read.
    pub told: Vec<u64>,
    pub hosts: Vec<Host>,
    pub scopes: Vec<Scope>,
    pub calls: Vec<Called>,
    began: Began,
    checkers: ProxyCheckers,
    agent: &'a mut Agent,
    address: Option<LinkId>,
    reports: mpsc::Receiver<Report>,
    to_reports: mpsc::Sender<Report>,
    violations: Vec<Violation>,
}

impl<'a> Stage<'a> {
    /// A stage whose agent server reports through `arrivals`.
    pub(super) fn new(
        subject: &'a Subject,
        patience: &'a Patience,
        revision: Revision,
        agent: &'a mut Agent,
        mut arrivals: mpsc::Receiver<Arrival>,
    ) -> Self {
        let (to_reports, reports) = mpsc::channel(WAITING);
        let forward = to_reports.clone();
        tokio::spawn(async move {
            while let Some(arrival) = arrivals.recv().await {
                if forward.send(Report::Agent(arrival)).await.is_err() {
                    break;
                }
            }
        });
        let profile = Profile::scope();
        Self {
            subject,
            patience,
            revision,
            profile,
            transcript: Transcript::default(),
            told: Vec::new(),
            hosts: Vec::new(),
            scopes: Vec::new(),
            calls: Vec::new(),
            began: Began::now(),
            checkers: ProxyCheckers::new(profile, revision),
            agent,
            address: None,
            reports,
            to_reports,
            violations: Vec::new(),
        }
    }

    /// Writes an event into the transcript and lets the checkers judge it.
    pub(super) fn record(&mut self, link: LinkId, sender: Role, what: What) -> u64 {
        let seq = self
            .transcript
            .record(self.began.elapsed(), link, sender, what);
        if let Some(event) = self.transcript.events.last() {
            self.checkers.event(event, &mut self.violations);
        }
        seq
    }

    fn open_link(&mut self, kind: LinkKind, name: &str) -> LinkId {
        let id = self.transcript.open(kind, name, None);
        if let Some(link) = self.transcript.link(id) {
            self.checkers.link(link);
        }
        id
    }

    fn read(&self, at: usize, mut receiver: Receiver) -> tokio::task::JoinHandle<()> {
        let to = self.to_reports.clone();
        tokio::spawn(async move {
            loop {
                let message = receiver.receive().await;
                let over = message == Message::Closed;
                let report = Report::Host(at, message, receiver.got_close_frame());
                if to.send(report).await.is_err() || over {
                    break;
                }
            }
        })
    }

    fn kind(path: Option<AgentCall>) -> LinkKind {
        path.map_or(LinkKind::Begin, LinkKind::Path)
    }

    /// Opens a WebSocket to the proxy.
    pub(super) async fn connect(
        &mut self,
        name: &str,
        path: Option<AgentCall>,
    ) -> Result<(), Halt> {
        let link = self.open_link(Self::kind(path), name);
        let connection = match self.subject.connect(path, self.patience).await {
            Ok(connection) => connection,
            Err(error) if error.is_unreachable() => {
                let words = self.subject.last_words();
                let why = nobody(&self.subject.url(path), &error, words);
                return Err(Halt::Unreachable(why));
            }
            Err(error) => {
                let status = error.status();
                let seq = self.record(link, Role::Proxy, What::Refused { status });
                self.patience.exchange_failed();
                self.judge()?;
                let accepted = RequirementId::new("proxy.connection.accepted");
                return Err(diverged(
                    "the WebSocket handshake to be granted",
                    &error.to_string(),
                    Some(seq),
                    accepted.filter(|_| self.revision == Revision::Scope),
                ));
            }
        };
        let subprotocol = connection.subprotocol.clone();
        self.record(link, Role::Proxy, What::Opened { subprotocol });
        let (sender, receiver) = connection.split();
        let reader = self.read(self.hosts.len(), receiver);
        self.hosts.push(Host {
            name: name.to_owned(),
            path,
            link,
            sender,
            reader,
            ended: None,
            left: false,
            next_scope: 1,
            stray: Default::default(),
            messages: Default::default(),
        });
        self.judge()
    }

    /// Tries to open a WebSocket, which must be answered with `status`.
    pub(super) async fn turned_away(
        &mut self,
        name: &str,
        path: Option<AgentCall>,
        status: u16,
        blamed: Option<RequirementId>,
    ) -> Result<(), Halt> {
        let link = self.open_link(Self::kind(path), name);
        let allowed = format!("HTTP status {status} instead of a WebSocket");
        let got = match self.subject.connect(path, self.patience).await {
            Ok(_) => {
                let what = What::Opened { subprotocol: None };
                let seq = self.record(link, Role::Proxy, what);
                return Err(diverged(&allowed, "a WebSocket", Some(seq), blamed));
            }
            Err(error) => error,
        };
        let seen = got.status();
        let seq = self.record(link, Role::Proxy, What::Refused { status: seen });
        if seen == Some(status) {
            self.judge()
        } else {
            Err(diverged(&allowed, &got.to_string(), Some(seq), blamed))
        }
    }

    pub(super) async fn send(&mut self, host: usize, bytes: Bytes) -> Result<(), Halt> {
        let link = self.hosts[host].link;
        self.record(link, Role::Provider, What::Binary(bytes.clone()));
        let sending = self.hosts[host].sender.send(bytes);
        taken_in(sending, self.patience).await?;
        self.judge()
    }

    pub(super) async fn send_text(&mut self, host: usize, text: String) -> Result<(), Halt> {
        let link = self.hosts[host].link;
        self.record(link, Role::Provider, What::Text(text.clone()));
        let sending = self.hosts[host].sender.send_text(text);
        taken_in(sending, self.patience).await?;
        self.judge()
    }

    /// Closes a WebSocket of the provider's.
    pub(super) async fn close(&mut self, host: usize) {
        if !std::mem::replace(&mut self.hosts[host].left, true) {
            let _ = self.hosts[host].sender.close().await;
            let link = self.hosts[host].link;
            self.record(link, Role::Provider, What::Closed);
        }
    }

    /// Breaks a WebSocket of the provider's: both halves go, so that its byte stream ends.
    pub(super) fn break_off(&mut self, host: usize) {
        let host = &mut self.hosts[host];
        host.left = true;
        host.sender.let_go();
        host.reader.abort();
        let link = host.link;
        let seq = self.record(link, Role::Provider, What::Broken);
        let ended = Ended {
            seq,
            in_order: false,
        };
        if let Some(host) = self.hosts.iter_mut().find(|host| host.link == link) {
            host.ended = Some(ended);
        }
    }

    /// The link that tells whether the agent server listens.
    fn address(&mut self) -> LinkId {
        if let Some(address) = self.address {
            return address;
        }
        let address = self.open_link(LinkKind::Address, "agent server");
        self.address = Some(address);
        address
    }

    /// From here on nothing listens where the agent server does.
    pub(super) async fn agent_goes(&mut self) {
        if self.agent.goes().await {
            let address = self.address();
            self.record(address, Role::AgentServer, What::Closed);
        }
    }

    /// The agent server listens again, where it did before.
    pub(super) async fn agent_returns(&mut self) -> Result<(), Halt> {
        let returned = self.agent.returns().await;
        let taken = |error| Halt::Script(format!("the agent server's port is taken: {error}"));
        if returned.map_err(taken)? {
            let address = self.address();
            let opened = What::Opened { subprotocol: None };
            self.record(address, Role::AgentServer, opened);
        }
        Ok(())
    }

    /// Waits for one report and takes it in.
    pub(super) async fn pump(
        &mut self,
        wait: &mut Wait,
        at_most: Option<Duration>,
    ) -> Result<bool, Halt> {
        let report = tokio::select! {
            biased;
            report = self.reports.recv() => report,
            () = wait.exhausted_after(at_most) => return Ok(false),
        };
        wait.restart();
        if self.transcript.events.len() > MOST_EVENTS {
            return Err(diverged(
                "a conversation of bounded length",
                "a flood of messages",
                self.transcript.events.last().map(|event| event.seq),
                None,
            ));
        }
        match report {
            Some(Report::Host(at, message, in_order)) => {
                self.host_received(at, message, in_order).await?;
            }
            Some(Report::Agent(arrival)) => self.agent_received(arrival),
            None => {}
        }
        self.judge()?;
        Ok(true)
    }

    /// Turns what the checkers found into a halt.
    pub(super) fn judge(&mut self) -> Result<(), Halt> {
        if self.violations.is_empty() {
            return Ok(());
        }
        let violations = std::mem::take(&mut self.violations);
        Err(Halt::Diverged(Box::new(divergence_of(&violations, None))))
    }

    /// What is only wrong in hindsight.
    pub(super) fn judge_end(&mut self) -> Result<(), Halt> {
        self.checkers.end(&mut self.violations);
        self.judge()
    }

    /// What the agent server has sent and the provider has not got on this link.
    pub(super) fn outstanding(&self, host: usize) -> Vec<Outstanding> {
        match self.revision {
            Revision::Scope => self.checkers.outstanding(),
            Revision::Path => self.checkers.outstanding_on(self.hosts[host].link),
        }
    }

    async fn host_received(
        &mut self,
        at: usize,
        message: Message,
        in_order: bool,
    ) -> Result<(), Halt> {
        let link = self.hosts[at].link;
        let bytes = match message {
            Message::Binary(bytes) => bytes,
            Message::Text(text) => {
                let told = format!("a text message of {} bytes", text.len());
                let seq = self.record(link, Role::Proxy, What::Text(text));
                self.hosts[at].stray.push_back((seq, told));
                return Ok(());
            }
            Message::Closed => {
                let what = if in_order { What::Closed } else { What::Broken };
                let seq = self.record(link, Role::Proxy, what);
                let host = &mut self.hosts[at];
                host.ended = Some(Ended { seq, in_order });
                host.sender.let_go();
                return Ok(());
            }
        };
        let seq = self.record(link, Role::Proxy, What::Binary(bytes.clone()));
        if self.hosts[at].path.is_some() {
            self.hosts[at].messages.push_back((seq, bytes));
            return Ok(());
        }
        let Ok(frame) = Frame::decode(bytes) else {
            let told = "a message that is no frame".to_owned();
            self.hosts[at].stray.push_back((seq, told));
            return Ok(());
        };
        let scope = self.scopes.iter_mut().rev().find(|scope| {
            scope.host == at && scope.number == frame.scope && scope.finished.is_none()
        });
        let Some(scope) = scope else {
            let told = super::super::describe::begin_frame(&frame);
            self.hosts[at].stray.push_back((seq, told));
            return Ok(());
        };
        match frame.kind {
            FrameType::Response => scope.main.push_back(Incoming { seq, frame }),
            FrameType::ResponseFinish => {
                scope.finished = Some(seq);
                scope.main.push_back(Incoming { seq, frame });
            }
            FrameType::ChannelResponse | FrameType::ChannelResponseFinish => {
                let queue = scope.answers.entry(frame.channel).or_default();
                queue.push_back(Incoming { seq, frame });
            }
            FrameType::ChannelRequest => {
                // A provider that has nothing to say to an ask says so by the bare finish.
                let kind = FrameType::ChannelResponseFinish;
                let finish = Frame::new(kind, frame.scope, frame.channel, Bytes::new());
                self.send(at, finish.encode()).await?;
            }
            FrameType::Authorization | FrameType::Request => {}
        }
        Ok(())
    }

    fn agent_received(&mut self, arrival: Arrival) {
        match arrival {
            Arrival::Called(call) => {
                let path = call.asked.path.clone();
                let asks = path.strip_prefix('/').and_then(AgentCall::named);
                let link = self.open_link(LinkKind::Call, path.trim_start_matches('/'));
                let request = What::Request {
                    method: call.asked.method.clone(),
                    path,
                    body: call.asked.body.clone(),
                };
                let seq = self.record(link, Role::Proxy, request);
                self.calls.push(Called {
                    id: call.id,
                    name: None,
                    asks,
                    link,
                    seq,
                    call: *call,
                    answered: false,
                    streams: false,
                    dropped: false,
                    raw: EventReader::new(),
                });
            }
            Arrival::Dropped(id) => {
                let found = self.calls.iter_mut().find(|called| called.id == id);
                if let Some(called) = found {
                    called.dropped = true;
                    let link = called.link;
                    self.record(link, Role::Proxy, What::Broken);
                }
            }
        }
    }
}

/// Channels for an endpoint's arrivals.
pub(super) fn arrivals() -> (mpsc::Sender<Arrival>, mpsc::Receiver<Arrival>) {
    mpsc::channel(WAITING)
}

/// Waits until a message is on its way, as long as the patience lasts.
///
/// A proxy that is gone is noticed by the next expectation; sending to it is no fault of its own.
async fn taken_in(
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
