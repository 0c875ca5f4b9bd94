//! What stands beyond a provider in a chain: a real proxy and a real agent server, and between each two the harness, which
//! passes on what they say, byte for byte, and writes it down.

use bytes::Bytes;
use diverge_link::http::{self, CallError, Method, call_on};
use diverge_link::{Message, Sender};
use diverge_protocol::rules::{
    Ending, Joined, OutstandingKind, ProxyCheckers, RequirementId, Revision, Violation,
};
use diverge_protocol::transcript::{Event, Link, LinkId, LinkKind, Role, What};
use diverge_protocol::wire::agent_server::{Endpoint, RunAsk};
use diverge_protocol::wire::profile::Profile;
use diverge_protocol::wire::sse::EventReader;
use mock_agent_server::{Arrival, Call, CallId, Head};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::super::agent_server::hear::{Heard, hear};
use super::super::agent_server::judge::{Answer, Judge};
use super::super::halt::{Halt, diverged};
use super::stage::{Report, Stage, WAITING, taken_in};
use super::watched::what;
use crate::kinds::reach::nobody;
use crate::kinds::{agent_server, proxy};
use crate::port::Port;

/// The real parties beyond the provider, and where the proxy reaches the harness in place of its agent server.
#[derive(Debug)]
pub(crate) struct Parties {
    pub proxy: proxy::Subject,
    pub agent: agent_server::Subject,
    /// The agent server's endpoint as the proxy has it, and the port that it listens at.
    pub listening: (mock_agent_server::Endpoint, Port),
    pub arrivals: mpsc::Receiver<Arrival>,
}

/// A task that ends with whoever holds this.
#[derive(Debug)]
pub(super) struct Task(JoinHandle<()>);

impl Task {
    pub(super) fn new(running: JoinHandle<()>) -> Self {
        Self(running)
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Those parties, while they are watched.
#[derive(Debug)]
pub(super) struct Beyond {
    proxy: proxy::Subject,
    agent: agent_server::Subject,
    listening: (mock_agent_server::Endpoint, Port),
    checkers: ProxyCheckers,
    judge: Judge,
    calls: Vec<Relayed>,
    heard: mpsc::Sender<Heard>,
    _forwarding: [Task; 2],
}

/// The proxy's end of a connection of the provider's.
#[derive(Debug)]
pub(super) struct Upstream {
    sender: Sender,
    _reader: Task,
}

/// A call of the proxy's that is made again at the agent server.
#[derive(Debug)]
struct Relayed {
    id: CallId,
    link: LinkId,
    endpoint: Option<Endpoint>,
    joined: Option<Joined>,
    call: Call,
    reader: EventReader,
    streams: bool,
    over: bool,
    status: Option<u16>,
    task: Task,
}

impl Beyond {
    pub(super) fn new(parties: Parties, reports: &mpsc::Sender<Report>) -> Self {
        let Parties {
            proxy,
            agent,
            listening,
            mut arrivals,
        } = parties;
        let (heard, mut hearing) = mpsc::channel(WAITING);
        let to = reports.clone();
        let calls = tokio::spawn(async move {
            while let Some(arrival) = arrivals.recv().await {
                if to.send(Report::Called(arrival)).await.is_err() {
                    break;
                }
            }
        });
        let to = reports.clone();
        let answers = tokio::spawn(async move {
            while let Some(heard) = hearing.recv().await {
                if to.send(Report::Heard(heard)).await.is_err() {
                    break;
                }
            }
        });
        Self {
            proxy,
            agent,
            listening,
            checkers: ProxyCheckers::new(Profile::scope(), Revision::Scope),
            judge: Judge::new(Revision::Scope),
            calls: Vec::new(),
            heard,
            _forwarding: [Task(calls), Task(answers)],
        }
    }

    pub(super) fn link(&mut self, link: &Link) {
        self.checkers.link(link);
    }

    /// Judges an event of any link but a client's.
    pub(super) fn event(&mut self, event: &Event, out: &mut Vec<Violation>) {
        self.checkers.event(event, out);
    }

    /// What is only wrong in hindsight.
    pub(super) fn judge_end(&mut self, seq: u64, out: &mut Vec<Violation>) {
        self.checkers.end(out);
        self.judge.settled(seq);
        out.append(&mut self.judge.violations);
    }

    /// What the agent server breaks that does not answer.
    pub(super) fn owed_by_agent(&self) -> Option<&'static str> {
        let unanswered = |it: &&Relayed| !it.streams && !it.over;
        let mut calls = self.calls.iter().filter(unanswered);
        calls.find_map(|it| match it.endpoint? {
            Endpoint::Register => Some("agent.register.accepted"),
            Endpoint::Schema => Some("agent.schema.any-time"),
            Endpoint::Run => Some("agent.run.starts"),
            Endpoint::Dequeue => Some("agent.dequeue.outcome-form"),
            // Its answer may come whenever its fate is known, which it is where no loop goes on.
            Endpoint::Enqueue => (!self.streams()).then_some("agent.enqueue.missed-at-end"),
        })
    }

    /// What the proxy breaks that does not tell what the agent server has told it.
    pub(super) fn owed_by_proxy(&self) -> Option<&'static str> {
        Some(match self.checkers.outstanding().first()?.kind {
            OutstandingKind::Chunk => "proxy.loop.chunk-each",
            OutstandingKind::Active => "proxy.loop.active-first",
            OutstandingKind::Inactive => "proxy.loop.inactive-last",
            OutstandingKind::Error => "proxy.begin.refusal",
            OutstandingKind::Answer => "proxy.enqueue.one-answer",
        })
    }

    /// Whether the loop that was asked for last was refused.
    pub(super) fn refused_last_run(&self) -> bool {
        let run = |it: &&Relayed| it.endpoint == Some(Endpoint::Run);
        let status = self.calls.iter().rev().find(run).and_then(|it| it.status);
        status.is_some_and(|status| !(200..300).contains(&status))
    }

    /// How many messages the proxy has put to the agent server, each time that it did.
    pub(super) fn offers(&self) -> usize {
        let offers = |it: &Relayed| match it.endpoint {
            Some(Endpoint::Run) => {
                RunAsk::decode(&it.call.asked.body).map_or(0, |ask| ask.messages.len())
            }
            Some(Endpoint::Enqueue) => 1,
            _ => 0,
        };
        self.calls.iter().map(offers).sum()
    }

    /// Whether a loop's stream goes on.
    pub(super) fn streams(&self) -> bool {
        self.calls.iter().any(|it| it.streams && !it.over)
    }

    /// Ends what was started, and waits until it is gone.
    pub(super) async fn end(self) {
        drop(self.calls);
        self.proxy.end().await;
        self.agent.end().await;
        let (listening, _port) = self.listening;
        listening.stop().await;
    }
}

impl Stage<'_> {
    /// Opens the proxy's end of a connection of the provider's.
    pub(super) async fn reach_beyond(&mut self, at: usize) -> Result<(), Halt> {
        let (link, patience) = (self.proxies[at].wire.link, self.patience);
        let Some(beyond) = &mut self.beyond else {
            return Ok(());
        };
        match beyond.proxy.connect(None, patience).await {
            Ok(connection) => {
                let (sender, receiver) = connection.split();
                let reader = self.read(receiver, move |message| Report::Upstream(at, message));
                self.proxies[at].upstream = Some(Upstream {
                    sender,
                    _reader: Task(reader),
                });
                Ok(())
            }
            Err(error) if error.is_unreachable() => {
                let place = format!("the proxy's {}", beyond.proxy.url(None));
                let why = nobody(&place, &error, beyond.proxy.last_words());
                Err(Halt::Unreachable(why))
            }
            Err(error) => {
                let status = error.status();
                let seq = self.record(link, Role::Proxy, What::Refused { status });
                patience.exchange_failed();
                Err(diverged(
                    "the WebSocket handshake to be granted by the proxy",
                    &error.to_string(),
                    Some(seq),
                    RequirementId::new("proxy.connection.accepted"),
                ))
            }
        }
    }

    /// Writes down a message between provider and proxy, and passes it on.
    pub(super) async fn pass_on(
        &mut self,
        at: usize,
        from: Role,
        message: Message,
    ) -> Result<(), Halt> {
        let link = self.proxies[at].wire.link;
        let seq = self.record(link, from, what(&message));
        let patience = self.patience;
        let proxy = &mut self.proxies[at];
        let Some(upstream) = &mut proxy.upstream else {
            return Ok(());
        };
        let to = match from {
            Role::Provider => &mut upstream.sender,
            _ => &mut proxy.wire.sender,
        };
        match message {
            Message::Binary(bytes) => taken_in(to.send(bytes), patience).await,
            Message::Text(text) => taken_in(to.send_text(text), patience).await,
            Message::Closed => {
                // One that is gone already has nothing to be told.
                let _ = to.close().await;
                match from {
                    Role::Provider => proxy.wire.ended(seq),
                    _ => upstream.sender.let_go(),
                }
                Ok(())
            }
        }
    }

    /// Makes a call of the proxy's again at the agent server, or drops one that the proxy has dropped.
    pub(super) async fn proxy_called(&mut self, arrival: Arrival) -> Result<(), Halt> {
        let call = match arrival {
            Arrival::Called(call) => *call,
            Arrival::Dropped(id) => {
                self.proxy_dropped(id);
                return Ok(());
            }
        };
        let asked = call.asked.clone();
        let link = self.open_link(
            LinkKind::Call,
            asked.path.trim_start_matches('/').to_owned(),
            None,
        );
        let request = What::Request {
            method: asked.method.clone(),
            path: asked.path.clone(),
            body: asked.body.clone(),
        };
        self.record(link, Role::Proxy, request);
        let patience = self.patience;
        let Some(beyond) = &mut self.beyond else {
            return Ok(());
        };
        let endpoint = Endpoint::named(&asked.path).filter(|it| it.method() == asked.method);
        let joined = match endpoint {
            Some(Endpoint::Enqueue) => beyond.judge.joins(&asked.body),
            _ => None,
        };
        let connected = beyond.agent.connect(patience).await;
        if let (Err(error), true) = (&connected, beyond.calls.is_empty()) {
            let words = beyond.agent.last_words();
            let words = words.map(|words| format!(": {words}")).unwrap_or_default();
            let nobody = format!(
                "nothing accepts connections at the agent server's {}: {error}",
                beyond.agent.address()
            );
            return Err(Halt::Unreachable(nobody + &words));
        }
        let again = http::Call {
            method: Method::from_bytes(asked.method.as_bytes()).unwrap_or_default(),
            path: asked.path,
            content_type: asked
                .headers
                .get("content-type")
                .and_then(|it| it.to_str().ok())
                .map(str::to_owned),
            body: asked.body,
        };
        let (at, to) = (beyond.calls.len(), beyond.heard.clone());
        let streams = endpoint == Some(Endpoint::Run);
        let task = tokio::spawn(async move {
            let answer = match connected {
                Ok(stream) => call_on(stream, again).await,
                Err(error) => Err(CallError::Unreachable(error)),
            };
            let last = hear(at, streams, answer, &to).await;
            // Nobody listens any more where the scenario is over.
            let _ = to.send(last).await;
        });
        beyond.calls.push(Relayed {
            id: call.id,
            link,
            endpoint,
            joined,
            call,
            reader: EventReader::new(),
            streams: false,
            over: false,
            status: None,
            task: Task(task),
        });
        Ok(())
    }

    fn proxy_dropped(&mut self, id: CallId) {
        let calls = self.beyond.as_mut().map(|beyond| &mut beyond.calls);
        let found = calls.and_then(|it| it.iter_mut().enumerate().find(|(_, it)| it.id == id));
        let Some((at, relayed)) = found.filter(|(_, relayed)| !relayed.over) else {
            return;
        };
        relayed.over = true;
        relayed.task.0.abort();
        let link = relayed.link;
        let seq = self.record(link, Role::Proxy, What::Broken);
        if let Some(beyond) = &mut self.beyond {
            beyond.judge.dropped(seq, at);
        }
        self.take_judged();
    }

    /// Writes down what the agent server answers, and passes it on.
    pub(super) fn agent_answered(&mut self, heard: Heard) {
        let at = heard.at();
        let calls = self.beyond.as_mut().map(|beyond| &mut beyond.calls);
        let Some(relayed) = calls.and_then(|calls| calls.get_mut(at)) else {
            return;
        };
        if relayed.over {
            return;
        }
        let (link, streams) = (relayed.link, relayed.streams);
        let from = Role::AgentServer;
        match heard {
            Heard::Head(_, status, content_type) => {
                let response = What::Response {
                    status,
                    content_type: content_type.clone(),
                    body: None,
                };
                let seq = self.record(link, from, response);
                self.of_call(at, |judge, relayed| {
                    let asked = relayed.call.asked.body.clone();
                    judge.begins(seq, at, &asked, content_type.as_deref());
                    relayed.streams = true;
                    relayed.status = Some(status);
                    // A proxy that has left is told so elsewhere, here and below.
                    let _ = relayed.call.stream(Head {
                        status,
                        content_type,
                    });
                });
            }
            Heard::Bytes(_, bytes) => {
                let mut events = Vec::new();
                relayed.reader.push(&bytes, &mut events);
                for event in events {
                    let data = Bytes::from(event.data.clone());
                    let seq = self.record(link, from, What::ServerEvent(data));
                    self.of_call(at, |judge, _| judge.event(seq, at, &event));
                }
                self.of_call(at, |_, relayed| {
                    let _ = relayed.call.raw(bytes);
                });
            }
            Heard::End(_) => {
                let seq = self.record(link, from, What::Closed);
                self.of_call(at, |judge, relayed| {
                    let cut_short = relayed.reader.is_cut_short();
                    judge.ends(seq, at, Ending::Whole, cut_short);
                    relayed.over = true;
                    let _ = relayed.call.end();
                });
            }
            Heard::Whole(_, status, content_type, body) => {
                let response = What::Response {
                    status,
                    content_type: content_type.clone(),
                    body: Some(body.clone()),
                };
                let seq = self.record(link, from, response);
                self.of_call(at, |judge, relayed| {
                    relayed.over = true;
                    relayed.status = Some(status);
                    let answer = Answer {
                        seq,
                        status,
                        body: body.clone(),
                    };
                    if let Some(endpoint) = relayed.endpoint {
                        let asked = relayed.call.asked.body.clone();
                        judge.answered(endpoint, &asked, relayed.joined.take(), &answer);
                    }
                    let _ = relayed.call.respond(mock_agent_server::Answer {
                        status,
                        content_type,
                        body,
                    });
                });
            }
            Heard::Broken(..) => {
                let seq = self.record(link, from, What::Broken);
                self.of_call(at, |judge, relayed| {
                    if streams {
                        judge.ends(seq, at, Ending::CutOff, false);
                    }
                    relayed.over = true;
                    relayed.call.break_off();
                });
            }
        }
        self.take_judged();
    }

    fn of_call(&mut self, at: usize, told: impl FnOnce(&mut Judge, &mut Relayed)) {
        if let Some(beyond) = &mut self.beyond
            && let Some(relayed) = beyond.calls.get_mut(at)
        {
            told(&mut beyond.judge, relayed);
        }
    }

    fn take_judged(&mut self) {
        if let Some(beyond) = &mut self.beyond {
            self.violations.append(&mut beyond.judge.violations);
        }
    }
}
