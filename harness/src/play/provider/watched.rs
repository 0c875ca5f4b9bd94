//! The client of a chain, where it is a process of its own: the harness stands between it and the provider, passes on
//! every message as it came, and reads what the client writes of it.

use std::time::Duration;

use diverge_link::{Limits, Message, Sender};
use diverge_protocol::rules::{ClientCheckers, RequirementId, Violation};
use diverge_protocol::scenario::acts::{ClientAct, Told};
use diverge_protocol::scenario::{Args, ClientExpectation, Step, defaults};
use diverge_protocol::transcript::{Event, Link, LinkKind, Role, What};
use diverge_protocol::wire::client_line::ClientLine;
use diverge_protocol::wire::frame::{Frame, FrameType};
use diverge_protocol::wire::profile::{ClientChannel, Profile};
use mock_provider::endpoint::{Arrival, Endpoint};
use serde_json::value::RawValue;

use super::super::client::written::{Ended, Written, as_given};
use super::super::halt::{Halt, Peek};
use super::Player;
use super::beyond::Task;
use super::send::{DEFAULT_CLIENT, DEFAULT_RUN};
use super::stage::{Report, Stage, taken_in};
use super::state::{Channel, Opener, Run};
use crate::client::Given;
use crate::kinds::client::{Heard, Running, Way};
use crate::kinds::reach::STARTING;

/// The process, while it is watched.
pub(super) struct Watched {
    name: String,
    given: Given,
    /// Where it finds the provider.
    endpoint: Endpoint,
    running: Running,
    /// Whether it is a process that takes its time to start.
    launched: bool,
    /// How long it has been waited for while it may have been starting.
    starting: Duration,
    checkers: ClientCheckers,
    pub written: Written,
}

/// The process's end of a connection to the provider.
#[derive(Debug)]
pub(super) struct Downstream {
    sender: Sender,
    _reader: Task,
}

impl Watched {
    pub(super) fn link(&mut self, link: &Link) {
        self.checkers.link(link);
    }

    /// Judges an event of the client's links.
    pub(super) fn event(&mut self, event: &Event, out: &mut Vec<Violation>) {
        self.checkers.event(event, out);
    }

    /// Ends it, and waits until it is gone.
    pub(super) async fn end(self) {
        drop(self.endpoint);
        self.running.end().await;
    }
}

impl Stage<'_> {
    async fn start_client(&mut self, way: &Way, name: &str, mut given: Given) -> Result<(), Halt> {
        let to = self.reports();
        let endpoint = Endpoint::bind(to.clone(), Report::Arrived).await;
        let endpoint = endpoint.map_err(|error| {
            Halt::Unreachable(format!("the harness could not listen on loopback: {error}"))
        })?;
        given.url = endpoint.url();
        let output = self.open_link(LinkKind::Output, name.to_owned(), None);
        let mut checkers = ClientCheckers::new(Profile::scope());
        if let Some(link) = self.transcript.link(output) {
            checkers.link(link);
        }
        let running = way
            .start(given.clone(), to, Report::Wrote)
            .map_err(|error| Halt::Unreachable(error.to_string()))?;
        self.watched = Some(Watched {
            name: name.to_owned(),
            given,
            endpoint,
            running,
            launched: matches!(way, Way::Launch(_)),
            starting: Duration::ZERO,
            checkers,
            written: Written::new(output),
        });
        Ok(())
    }

    /// Whether the client's process may still be starting. That is asked once each time the patience is used up, and granted
    /// for as long in all as any launched implementation has.
    pub(super) fn is_starting(&mut self) -> bool {
        let Some(watched) = &mut self.watched else {
            return false;
        };
        watched.starting += self.patience.limit();
        let silent = self.clients.is_empty() && watched.written.ended.is_none();
        watched.launched && silent && watched.starting < STARTING && !self.patience.has_failed()
    }

    /// Opens the provider's end of a connection that the client's process has opened.
    pub(super) async fn client_arrived(&mut self, arrival: Arrival) -> Result<(), Halt> {
        // Whoever comes to no WebSocket need not have been the client.
        let (Arrival::Opened(connection), Some(watched)) = (arrival, &self.watched) else {
            return Ok(());
        };
        let name = watched.name.clone();
        let at = self.connect(&name, Limits::default()).await?;
        let (sender, receiver) = connection.split();
        let reader = self.read(receiver, move |message| Report::Downstream(at, message));
        self.clients[at].downstream = Some(Downstream {
            sender,
            _reader: Task::new(reader),
        });
        Ok(())
    }

    /// Writes down what the client's process says, and passes it on.
    pub(super) async fn client_said(&mut self, at: usize, message: Message) -> Result<(), Halt> {
        let seq = self.record(self.clients[at].wire.link, Role::Client, what(&message));
        let patience = self.patience;
        match message {
            Message::Binary(bytes) => {
                if let Ok(frame) = Frame::decode(bytes.clone()) {
                    if let Some(watched) = &self.watched {
                        as_given(&frame, &watched.given, seq)?;
                    }
                    self.note_ask(at, frame);
                }
                let sender = &mut self.clients[at].wire.sender;
                taken_in(sender.send(bytes), patience).await
            }
            Message::Text(text) => {
                let sender = &mut self.clients[at].wire.sender;
                taken_in(sender.send_text(text), patience).await
            }
            Message::Closed => {
                let wire = &mut self.clients[at].wire;
                if wire.closed.is_none() && !wire.closing {
                    wire.closing = true;
                    // One that is gone already has nothing to be told.
                    let _ = wire.sender.close().await;
                }
                Ok(())
            }
        }
    }

    /// Notes a run, or a channel, that the client asks for.
    fn note_ask(&mut self, at: usize, frame: Frame) {
        match frame.kind {
            FrameType::Request => {
                let generation = self.clients[at].generation(frame.scope);
                let (name, token) = (DEFAULT_RUN.to_owned(), Some(self.claim.token()));
                let run = Run::asked(name, at, (frame.scope, generation), token);
                self.runs.push(run);
            }
            FrameType::ChannelRequest => {
                let channel = Channel::new(Opener::Client, frame.channel, frame.payload);
                if let Some(run) = self.run_on(at, frame.scope) {
                    let name = format!("{} of its {}", frame.channel, run.channels.len() + 1);
                    run.channels.insert(name, channel);
                }
            }
            _ => {}
        }
    }

    fn run_on(&mut self, at: usize, scope: u32) -> Option<&mut Run> {
        let open =
            |run: &&mut Run| run.client == at && run.scope == scope && run.finished.is_none();
        self.runs.iter_mut().find(open)
    }

    /// Writes down what the provider says to the client's process, and passes it on.
    pub(super) async fn pass_back(&mut self, at: usize, message: Message) -> Result<(), Halt> {
        let seq = self.record(self.clients[at].wire.link, Role::Provider, what(&message));
        if let Message::Binary(bytes) = &message
            && let Ok(frame) = Frame::decode(bytes.clone())
        {
            self.note_response(at, seq, &frame);
        }
        let patience = self.patience;
        let client = &mut self.clients[at];
        let Some(downstream) = &mut client.downstream else {
            return Ok(());
        };
        match message {
            Message::Binary(bytes) => taken_in(downstream.sender.send(bytes), patience).await,
            Message::Text(text) => taken_in(downstream.sender.send_text(text), patience).await,
            Message::Closed => {
                // One that is gone already has nothing to be told.
                let _ = downstream.sender.close().await;
                client.wire.ended(seq);
                Ok(())
            }
        }
    }

    /// Notes what the client must tell of a response on its run's scope.
    fn note_response(&mut self, at: usize, seq: u64, frame: &Frame) {
        let Some(run) = self.run_on(at, frame.scope) else {
            return;
        };
        let finishes = frame.kind == FrameType::ResponseFinish;
        if finishes {
            run.finished = Some(seq);
        } else if frame.kind == FrameType::Response {
            run.responses_read += 1;
        } else {
            return;
        }
        let Some(watched) = &mut self.watched else {
            return;
        };
        if finishes {
            watched.written.finished = true;
            watched.written.due.push_back(ClientLine::Finished);
        } else {
            watched.written.owes(&frame.payload);
        }
    }

    /// Writes down what the client's process writes.
    pub(super) fn client_wrote(&mut self, heard: Heard) {
        let Some(output) = self.watched.as_ref().map(|it| it.written.link) else {
            return;
        };
        match heard {
            Heard::Line(line) => {
                let seq = self.record(output, Role::Client, What::Line(line.clone()));
                if let Some(watched) = &mut self.watched {
                    watched.written.line(seq, &line);
                }
            }
            Heard::Over { code, said } => {
                let seq = self.record(output, Role::Client, What::Exited { code });
                if let Some(watched) = &mut self.watched {
                    watched.written.ended = Some(Ended { seq, code, said });
                }
            }
        }
    }
}

/// A message as the transcript has it.
pub(super) fn what(message: &Message) -> What {
    match message {
        Message::Binary(bytes) => What::Binary(bytes.clone()),
        Message::Text(text) => What::Text(text.clone()),
        Message::Closed => What::Closed,
    }
}

impl Player<'_> {
    pub(super) async fn start_client(&mut self, args: &Args) -> Result<(), Halt> {
        let script = |why: &str| Halt::Script(why.to_owned());
        let way = self.client_way.filter(|_| self.stage.watched.is_none());
        let way = way.ok_or_else(|| script("a chain has one client"))?;
        let image = serde_json::to_string(&self.config.image)
            .map_err(|error| Halt::Script(error.to_string()))?;
        let asked = Args {
            arguments: Some(args.arguments.clone().unwrap_or("${json:arguments}".into())),
            ..Args::default()
        };
        let messages = self.fill(args.json.as_deref().unwrap_or("[]"), None);
        let messages: Vec<Box<RawValue>> = serde_json::from_str(&messages)
            .map_err(|_| script("what a client enqueues is a list"))?;
        let given = Given {
            credential: self.stage.endpoint.credential().to_owned(),
            request: self.fill(&defaults::run_request(&asked, &image), None),
            stops: !messages.is_empty(),
            enqueues: messages.iter().map(|it| it.get().to_owned()).collect(),
            ..Given::default()
        };
        let name = args.on.as_deref().unwrap_or(DEFAULT_CLIENT);
        self.stage.start_client(way, name, given).await
    }

    /// Whether the client's process has written, or ended, as a step expects.
    pub(super) fn peek_process(
        &mut self,
        act: ClientAct,
        blamed: Option<RequirementId>,
    ) -> Result<Peek, Halt> {
        let script = |why: &str| Halt::Script(why.to_owned());
        let Some(watched) = &mut self.stage.watched else {
            return Err(script("there is no client's process; start it first"));
        };
        let (written, read) = (&mut watched.written, &mut self.stage.told);
        match act {
            ClientAct::Tells(told) => Ok(written.peek_first(told, blamed, read)),
            ClientAct::Ends(end) => {
                let exits = RequirementId::new("client.finish.exit");
                Ok(written.peek_ended(end, exits, read))
            }
            _ => Err(script("this step is done, not expected")),
        }
    }

    /// What the client's process owes that was told something.
    pub(super) fn owed_by_process(&self, act: ClientAct) -> Option<RequirementId> {
        let written = &self.stage.watched.as_ref()?.written;
        let ends = matches!(act, ClientAct::Ends(_)) && written.finished;
        let exits = || RequirementId::new("client.finish.exit").filter(|_| ends);
        written.untold().or_else(exits)
    }

    /// What it owes that has been told all that there is.
    pub(super) fn unasked_by_process(&self, step: &Step) -> Option<&'static str> {
        let watched = self.stage.watched.as_ref()?;
        if self.stage.clients.is_empty() {
            return Some("client.connection.credential-first");
        }
        let Some(run) = self.stage.runs.first() else {
            return Some("client.run.readable");
        };
        let (given, loops) = (&watched.given, watched.written.loops);
        let enqueues =
            self.asked(step, ClientChannel::Enqueue) < given.enqueues.len().min(loops + 1);
        let stops = given.stops
            && loops >= given.enqueues.len()
            && self.asked(step, ClientChannel::Stop) == 0;
        (run.responses_read > 0 && (enqueues || stops)).then_some("chain.client.asks")
    }
}

/// What a client gets where its process must tell this.
pub(super) fn expectation(act: ClientAct) -> ClientExpectation {
    use ClientExpectation as E;
    match act {
        ClientAct::Tells(Told::Id) => E::Id,
        ClientAct::Tells(Told::Error) => E::Error,
        ClientAct::Tells(Told::Active) => E::Active,
        ClientAct::Tells(Told::Inactive) => E::Inactive,
        ClientAct::Tells(Told::Finished) => E::Finish,
        _ => E::Chunk,
    }
}
