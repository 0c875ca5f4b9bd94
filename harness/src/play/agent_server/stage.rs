//! The stage of one scenario for agent servers: the calls, what answers them, one transcript, and the rules.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use diverge_link::http::{Call, Method, call_on};
use diverge_protocol::rules::{Ending, Joined, RequirementId, Revision};
use diverge_protocol::transcript::{LinkId, LinkKind, Role, Transcript, What};
use diverge_protocol::wire::agent_server::Endpoint;
use diverge_protocol::wire::sse::EventReader;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::super::halt::{Halt, diverged, divergence_of};
use super::super::patience::{Began, Patience, Wait};
use super::hear::{Heard, hear};
use super::judge::{Answer, Judge};
use crate::kinds::agent_server::{Given, ReachError, Subject, Way};
use crate::port::Port;

/// More messages than any scenario needs: whoever sends them is flooding.
const MOST_EVENTS: usize = 20_000;
/// So many bytes of a stream without an event among them are a flood too.
const MOST_BYTES: usize = 64 << 20;
/// Reports that may wait between the calls and the stage; a flood stops here.
const WAITING: usize = 256;
/// How often a loop that is refused is asked for again, and how long after the refusal.
const TRIES: u32 = 12;
const PAUSE: Duration = Duration::from_millis(50);

/// A loop's stream, as far as it has come.
#[derive(Debug)]
pub(super) struct Stream {
    pub seq: u64,
    pub status: u16,
    reader: EventReader,
    /// Bytes that came since the last event.
    unended: usize,
    /// Events that no step has read.
    pub events: VecDeque<(u64, Bytes)>,
    pub ended: Option<(u64, Ending)>,
}

/// A call that was made.
#[derive(Debug)]
pub(super) struct Called {
    pub name: String,
    pub endpoint: Endpoint,
    link: LinkId,
    asked: Bytes,
    joined: Option<Joined>,
    task: JoinHandle<()>,
    pub answer: Option<Answer>,
    pub stream: Option<Stream>,
    /// Why no answer will come.
    pub broken: Option<(u64, String)>,
    /// A step has read the answer, or the head of the stream; or nobody will.
    pub read: bool,
    pub dropped: bool,
}

impl Drop for Called {
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub(super) struct Stage<'a> {
    way: &'a Way,
    pub subject: Option<Subject>,
    patience: &'a Patience,
    pub revision: Revision,
    pub transcript: Transcript,
    /// The events that the step that is played has sent or read.
    pub told: Vec<u64>,
    pub calls: Vec<Called>,
    /// What is to blame where nobody accepts connections.
    pub port: Option<RequirementId>,
    /// The port that the server may be given.
    pub kept: Option<Port>,
    began: Began,
    judge: Judge,
    reports: mpsc::Receiver<Heard>,
    to_reports: mpsc::Sender<Heard>,
}

impl<'a> Stage<'a> {
    pub(super) fn new(way: &'a Way, patience: &'a Patience, revision: Revision) -> Self {
        let (to_reports, reports) = mpsc::channel(WAITING);
        Self {
            way,
            subject: None,
            patience,
            revision,
            transcript: Transcript::default(),
            told: Vec::new(),
            calls: Vec::new(),
            port: None,
            kept: None,
            began: Began::now(),
            judge: Judge::new(revision),
            reports,
            to_reports,
        }
    }

    fn record(&mut self, link: LinkId, sender: Role, what: What) -> u64 {
        let at = self.began.elapsed();
        self.transcript.record(at, link, sender, what)
    }

    /// Starts the server, given this for its port.
    pub(super) async fn start(&mut self, given: &Given) -> Result<(), Halt> {
        if self.subject.is_some() {
            return Err(Halt::Script("the server runs already".to_owned()));
        }
        let kept = self.kept.take();
        let subject = self
            .way
            .start(given, kept, self.revision, self.patience)
            .await;
        self.subject = Some(subject.map_err(|error| match error {
            ReachError::Lacking(why) => Halt::NotApplicable(why),
            ReachError::Plug(error) => Halt::Unreachable(error.to_string()),
        })?);
        Ok(())
    }

    /// Makes a call; `persistent` makes it again for a while where it is refused.
    pub(super) async fn call(
        &mut self,
        name: &str,
        endpoint: Endpoint,
        body: Bytes,
        persistent: bool,
    ) -> Result<usize, Halt> {
        if self.subject.is_none() {
            self.start(&Given::Free).await?;
        }
        let link = self.transcript.open(LinkKind::Call, name, None);
        let Some(subject) = &self.subject else {
            return Err(Halt::Script("the server does not run".to_owned()));
        };
        let connected = subject.connect(self.patience).await;
        let stream = match connected {
            Ok(stream) => stream,
            Err(error) => {
                let address = subject.address();
                let nobody = format!("nothing accepts connections at {address}: {error}");
                let words = subject.last_words();
                let words = words.map(|words| format!(": {words}")).unwrap_or_default();
                let seq = self.record(link, Role::AgentServer, What::Refused { status: None });
                return Err(match self.port {
                    Some(_) => {
                        self.patience.exchange_failed();
                        let allowed = format!("a connection at {address}");
                        diverged(&allowed, &(nobody + &words), Some(seq), self.port)
                    }
                    None => Halt::Unreachable(nobody + &words),
                });
            }
        };
        let address = subject.address();
        let method = endpoint.method();
        let call = Call {
            method: match endpoint {
                Endpoint::Schema => Method::GET,
                _ => Method::POST,
            },
            path: endpoint.name().to_owned(),
            content_type: (!body.is_empty()).then(|| "application/json".to_owned()),
            body: body.clone(),
        };
        let request = What::Request {
            method: method.to_owned(),
            path: endpoint.name().to_owned(),
            body: body.clone(),
        };
        self.record(link, Role::Proxy, request);
        let joined = match endpoint {
            Endpoint::Enqueue => self.judge.joins(&body),
            _ => None,
        };
        let at = self.calls.len();
        let (to, patience) = (self.to_reports.clone(), self.patience.clone());
        let task = tokio::spawn(async move {
            let mut answer = call_on(stream, call.clone()).await;
            let mut tries = if persistent { TRIES } else { 0 };
            while tries > 0 && answer.as_ref().is_ok_and(|it| !it.is_success()) {
                tries -= 1;
                patience.start().paused(PAUSE).await;
                answer = diverge_link::http::call(address, call.clone()).await;
            }
            let last = hear(at, endpoint == Endpoint::Run, answer, &to).await;
            // Nobody listens any more where the scenario is over.
            let _ = to.send(last).await;
        });
        self.calls.push(Called {
            name: name.to_owned(),
            endpoint,
            link,
            asked: body,
            joined,
            task,
            answer: None,
            stream: None,
            broken: None,
            read: false,
            dropped: false,
        });
        Ok(at)
    }

    /// Drops a call, and whatever answers it.
    pub(super) fn drop_call(&mut self, at: usize) {
        let called = &mut self.calls[at];
        called.dropped = true;
        called.read = true;
        called.task.abort();
        let link = called.link;
        let seq = self.record(link, Role::Proxy, What::Broken);
        self.judge.dropped(seq, at);
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
        let streams = self.calls.iter().filter_map(|call| call.stream.as_ref());
        let endless = streams
            .into_iter()
            .any(|stream| stream.unended > MOST_BYTES);
        if endless || self.transcript.events.len() > MOST_EVENTS {
            return Err(diverged(
                "a conversation of bounded length",
                "a flood of messages",
                self.transcript.events.last().map(|event| event.seq),
                None,
            ));
        }
        if let Some(report) = report {
            self.received(report);
        }
        self.judged()?;
        Ok(true)
    }

    fn received(&mut self, heard: Heard) {
        let at = heard.at();
        if self.calls[at].dropped {
            return;
        }
        let link = self.calls[at].link;
        let from = Role::AgentServer;
        match heard {
            Heard::Head(_, status, content_type) => {
                let response = What::Response {
                    status,
                    content_type: content_type.clone(),
                    body: None,
                };
                let seq = self.record(link, from, response);
                let asked = self.calls[at].asked.clone();
                self.judge.begins(seq, at, &asked, content_type.as_deref());
                self.calls[at].stream = Some(Stream {
                    seq,
                    status,
                    reader: EventReader::new(),
                    unended: 0,
                    events: VecDeque::new(),
                    ended: None,
                });
            }
            Heard::Bytes(_, bytes) => {
                let mut events = Vec::new();
                if let Some(stream) = &mut self.calls[at].stream {
                    stream.reader.push(&bytes, &mut events);
                    stream.unended = if events.is_empty() {
                        stream.unended + bytes.len()
                    } else {
                        0
                    };
                }
                for event in events {
                    let data = Bytes::from(event.data.clone());
                    let seq = self.record(link, from, What::ServerEvent(data.clone()));
                    self.judge.event(seq, at, &event);
                    if let Some(stream) = &mut self.calls[at].stream {
                        stream.events.push_back((seq, data));
                    }
                }
            }
            Heard::End(_) => self.ended(at, Ending::Whole),
            Heard::Whole(_, status, content_type, body) => {
                let response = What::Response {
                    status,
                    content_type,
                    body: Some(body.clone()),
                };
                let seq = self.record(link, from, response);
                let answer = Answer { seq, status, body };
                let called = &mut self.calls[at];
                self.judge.answered(
                    called.endpoint,
                    &called.asked,
                    called.joined.take(),
                    &answer,
                );
                called.answer = Some(answer);
            }
            Heard::Broken(_, _) if self.calls[at].stream.is_some() => {
                self.ended(at, Ending::CutOff);
            }
            Heard::Broken(_, why) => {
                let seq = self.record(link, from, What::Broken);
                self.calls[at].broken = Some((seq, why));
            }
        }
    }

    fn ended(&mut self, at: usize, ending: Ending) {
        let what = match ending {
            Ending::Whole => What::Closed,
            Ending::CutOff => What::Broken,
        };
        let link = self.calls[at].link;
        let seq = self.record(link, Role::AgentServer, what);
        if let Some(stream) = &mut self.calls[at].stream {
            stream.ended = Some((seq, ending));
            let cut_short = stream.reader.is_cut_short();
            self.judge.ends(seq, at, ending, cut_short);
        }
    }

    /// Turns what the rules found into a halt.
    pub(super) fn judged(&mut self) -> Result<(), Halt> {
        if self.judge.violations.is_empty() {
            return Ok(());
        }
        let violations = std::mem::take(&mut self.judge.violations);
        Err(Halt::Diverged(Box::new(divergence_of(&violations, None))))
    }

    /// Ends every call, and tells what is only wrong in hindsight.
    pub(super) fn close(&mut self) -> Result<(), Halt> {
        for at in 0..self.calls.len() {
            let called = &self.calls[at];
            let open = called.stream.as_ref().is_some_and(|it| it.ended.is_none());
            if open && !called.dropped {
                self.drop_call(at);
            }
        }
        let last = self.transcript.events.last().map_or(0, |event| event.seq);
        self.judge.settled(last);
        self.judged()
    }
}
