//! The stage of one scenario for clients: the provider's sockets, the clients' lines, one merged transcript, and the
//! checkers.

use std::future::Future;
use std::time::Duration;

use bytes::Bytes;
use diverge_link::{Connection, Message};
use diverge_protocol::rules::{ClientCheckers, Violation};
use diverge_protocol::transcript::{LinkId, LinkKind, Role, Transcript, What};
use diverge_protocol::wire::frame::{Frame, FrameType};
use diverge_protocol::wire::profile::Profile;
use mock_provider::endpoint::{Arrival, Endpoint};
use tokio::sync::mpsc;

use super::super::halt::{Halt, diverged, divergence_of};
use super::super::patience::{Began, Patience, Wait};
use super::state::{Client, Socket};
use super::written::{Ended, Written};
use crate::client::Given;
use crate::kinds::client::{Heard, Way};
use crate::kinds::reach::STARTING;

/// More messages and lines than any scenario needs: whoever sends them is flooding.
const MOST_EVENTS: usize = 50_000;
/// Messages that may wait between a reader and the stage; a flood stops here.
const WAITING: usize = 256;

/// What the stage's readers report, of a client by its place.
enum Report {
    Arrived(usize, Arrival),
    /// A message on a client's WebSocket; of an end, whether it was in order.
    Message(usize, Message, bool),
    Heard(usize, Heard),
}

pub(super) struct Stage<'a> {
    way: &'a Way,
    pub patience: &'a Patience,
    /// What no client can guess, of the shape in which golden transcripts redact it.
    pub token: String,
    pub transcript: Transcript,
    /// The events that the step that is played has sent or read.
    pub told: Vec<u64>,
    pub clients: Vec<Client>,
    /// How long clients have been waited for that may have been starting.
    starting: Duration,
    began: Began,
    checkers: ClientCheckers,
    reports: mpsc::Receiver<Report>,
    to_reports: mpsc::Sender<Report>,
    violations: Vec<Violation>,
}

impl<'a> Stage<'a> {
    /// A stage without a client.
    ///
    /// # Errors
    /// When the system has no random numbers.
    pub(super) fn new(way: &'a Way, patience: &'a Patience) -> Result<Self, getrandom::Error> {
        let (to_reports, reports) = mpsc::channel(WAITING);
        Ok(Self {
            way,
            patience,
            token: format!("run-{:016x}", getrandom::u64()?),
            transcript: Transcript::default(),
            told: Vec::new(),
            clients: Vec::new(),
            starting: Duration::ZERO,
            began: Began::now(),
            checkers: ClientCheckers::new(Profile::scope()),
            reports,
            to_reports,
            violations: Vec::new(),
        })
    }

    /// Writes an event into the transcript and lets the checkers judge it.
    fn record(&mut self, link: LinkId, sender: Role, what: What) -> u64 {
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

    /// Starts a client, with an address of its own to find the provider at.
    pub(super) async fn start(&mut self, name: &str, mut given: Given) -> Result<(), Halt> {
        let at = self.clients.len();
        let to = self.to_reports.clone();
        let endpoint = Endpoint::bind(to.clone(), move |arrival| Report::Arrived(at, arrival));
        let endpoint = endpoint.await.map_err(|error| {
            Halt::Unreachable(format!("the harness could not listen on loopback: {error}"))
        })?;
        given.url = endpoint.url();
        let output = self.open_link(LinkKind::Output, name);
        let running = self
            .way
            .start(given.clone(), to, move |heard| Report::Heard(at, heard))
            .map_err(|error| Halt::Unreachable(error.to_string()))?;
        self.clients.push(Client {
            name: name.to_owned(),
            given,
            endpoint: Some(endpoint),
            running: Some(running),
            socket: None,
            failed: None,
            frames: Default::default(),
            scope: None,
            written: Written::new(output),
        });
        Ok(())
    }

    /// Sends a message. A client that is gone is noticed by the expectations: it may have had enough. Whether it went
    /// before or behind this is chance, so that the transcript has the message either way.
    pub(super) async fn send(&mut self, client: usize, bytes: Bytes) -> Result<(), Halt> {
        let Some(socket) = self.clients[client].socket.as_mut().filter(|it| !it.left) else {
            return Ok(());
        };
        let link = socket.link;
        let sending = socket.sender.send(bytes.clone());
        taken_in(sending, self.patience).await?;
        self.record(link, Role::Provider, What::Binary(bytes));
        self.judge()
    }

    /// Sends a text message.
    pub(super) async fn send_text(&mut self, client: usize, text: String) -> Result<(), Halt> {
        let Some(socket) = self.clients[client].socket.as_mut().filter(|it| !it.left) else {
            return Ok(());
        };
        let link = socket.link;
        let sending = socket.sender.send_text(text.clone());
        taken_in(sending, self.patience).await?;
        self.record(link, Role::Provider, What::Text(text));
        self.judge()
    }

    /// Closes a client's WebSocket.
    pub(super) async fn close(&mut self, client: usize) {
        let Some(socket) = self.clients[client].socket.as_mut() else {
            return;
        };
        if !std::mem::replace(&mut socket.left, true) {
            let link = socket.link;
            let _ = socket.sender.close().await;
            self.record(link, Role::Provider, What::Closed);
        }
    }

    /// Breaks a client's WebSocket: both halves go, so that its byte stream ends.
    pub(super) fn break_off(&mut self, client: usize) {
        let Some(socket) = self.clients[client].socket.as_mut() else {
            return;
        };
        socket.left = true;
        socket.ended = true;
        socket.sender.let_go();
        socket.reader.abort();
        let link = socket.link;
        self.record(link, Role::Provider, What::Broken);
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
            () = wait.exhausted_after(at_most) => {
                let starts = at_most.is_none() && self.is_starting();
                if starts {
                    wait.restart();
                }
                return Ok(starts);
            }
        };
        wait.restart();
        if self.transcript.events.len() > MOST_EVENTS {
            return Err(diverged(
                "a conversation of bounded length",
                "a flood of messages or lines",
                self.transcript.events.last().map(|event| event.seq),
                None,
            ));
        }
        match report {
            Some(Report::Arrived(at, Arrival::Opened(connection))) => self.opened(at, *connection),
            Some(Report::Arrived(at, Arrival::Failed(error))) => {
                self.clients[at].failed = Some(error.to_string());
            }
            Some(Report::Message(at, message, in_order)) => self.received(at, message, in_order),
            Some(Report::Heard(at, heard)) => self.heard(at, heard),
            None => {}
        }
        self.judge()?;
        Ok(true)
    }

    /// Whether a launched client may still be starting. That is asked once each time the patience is used up, and
    /// granted for as long in all as any launched implementation has.
    fn is_starting(&mut self) -> bool {
        let starts = |client: &Client| client.socket.is_none() && client.written.ended.is_none();
        let launched = matches!(self.way, Way::Launch(_)) && self.clients.iter().any(starts);
        self.starting += self.patience.limit();
        launched && self.starting < STARTING && !self.patience.has_failed()
    }

    fn opened(&mut self, at: usize, connection: Connection) {
        let name = self.clients[at].name.clone();
        let link = self.open_link(LinkKind::Client, &name);
        self.record(link, Role::Client, What::Opened { subprotocol: None });
        if self.clients[at].socket.is_some() {
            // One that dials again has one connection all the same.
            drop(connection);
            self.record(link, Role::Provider, What::Broken);
            return;
        }
        let (sender, mut receiver) = connection.split();
        let to = self.to_reports.clone();
        let reader = tokio::spawn(async move {
            loop {
                let message = receiver.receive().await;
                let over = message == Message::Closed;
                let report = Report::Message(at, message, receiver.got_close_frame());
                if to.send(report).await.is_err() || over {
                    break;
                }
            }
        });
        self.clients[at].socket = Some(Socket {
            link,
            sender,
            reader,
            ended: false,
            left: false,
        });
    }

    fn received(&mut self, at: usize, message: Message, in_order: bool) {
        let Some(socket) = self.clients[at].socket.as_mut() else {
            return;
        };
        let link = socket.link;
        match message {
            Message::Binary(bytes) => {
                let seq = self.record(link, Role::Client, What::Binary(bytes.clone()));
                let client = &mut self.clients[at];
                // What a client says behind its request, the checkers judge.
                if client.scope.is_none()
                    && let Ok(frame) = Frame::decode(bytes)
                    && matches!(frame.kind, FrameType::Authorization | FrameType::Request)
                {
                    client.frames.push_back((seq, frame));
                }
            }
            Message::Text(text) => {
                self.record(link, Role::Client, What::Text(text));
            }
            Message::Closed => {
                socket.ended = true;
                socket.sender.let_go();
                let what = if in_order { What::Closed } else { What::Broken };
                self.record(link, Role::Client, what);
            }
        }
    }

    fn heard(&mut self, at: usize, heard: Heard) {
        let output = self.clients[at].written.link;
        match heard {
            Heard::Line(line) => {
                let seq = self.record(output, Role::Client, What::Line(line.clone()));
                self.clients[at].written.line(seq, &line);
            }
            Heard::Over { code, said } => {
                let seq = self.record(output, Role::Client, What::Exited { code });
                self.clients[at].written.ended = Some(Ended { seq, code, said });
            }
        }
    }

    /// Turns what the checkers found into a halt.
    pub(super) fn judge(&mut self) -> Result<(), Halt> {
        if self.violations.is_empty() {
            return Ok(());
        }
        let violations = std::mem::take(&mut self.violations);
        Err(Halt::Diverged(Box::new(divergence_of(&violations, None))))
    }

    /// Whether a client has ended, and the end of its connection has not come.
    pub(super) fn on_their_way(&self) -> bool {
        self.clients.iter().any(|client| {
            let goes_on = client.socket.as_ref().is_some_and(|socket| !socket.ended);
            client.written.ended.is_some() && goes_on
        })
    }

    /// Ends every client that has not ended, and every link. What is heard from here on is not the scenario's.
    pub(super) async fn end(&mut self) {
        for client in &mut self.clients {
            client.endpoint = None;
            if let Some(running) = client.running.take() {
                running.end().await;
            }
            client.socket = None;
        }
    }
}

/// Waits until a message is on its way, or has nobody to go to, as long as the patience lasts.
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
