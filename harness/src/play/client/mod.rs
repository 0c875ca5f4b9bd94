//! Plays a scenario against clients: the harness is the provider, and reads what a client writes.

mod expect;
mod stage;
mod state;
pub(super) mod written;

use std::time::Duration;

use bytes::Bytes;
use diverge_protocol::rules::RequirementId;
use diverge_protocol::scenario::acts::{Act, ClientAct};
use diverge_protocol::scenario::{Action, Args, Scenario, Step, defaults, replace};
use diverge_protocol::transcript::{Role, Transcript};
use diverge_protocol::wire::frame::{Frame, FrameType};
use diverge_protocol::wire::mutate::mutate;
use diverge_protocol::wire::run::RunKind;

use self::stage::Stage;
use super::Played;
use super::halt::{Halt, Peek, diverged};
use super::patience::{Patience, Wait};
use super::sequencer::{self, Scene};
use crate::client::Given;
use crate::kinds::client::Way;

/// How long the last messages of a client that has ended may take.
const CLOSING: Duration = Duration::from_millis(250);
/// What steps mean that name no client.
const DEFAULT: &str = "client";

/// Plays `scenario` against clients that are had in this `way`.
pub async fn play(scenario: &Scenario, way: &Way, patience: &Patience) -> Played {
    let stage = match Stage::new(way, patience) {
        Ok(stage) => stage,
        Err(error) => return Played::Fault(format!("no random number can be had: {error}")),
    };
    sequencer::run(scenario, Player { stage }, patience).await
}

/// The provider, the clients, and what has happened.
struct Player<'a> {
    stage: Stage<'a>,
}

fn script(why: impl Into<String>) -> Halt {
    Halt::Script(why.into())
}

impl Player<'_> {
    /// `text` with its `${…}` filled in.
    fn fill(&self, text: &str) -> String {
        replace(text, |name| match name.split_once(':') {
            Some(("fill", count)) => count.parse().ok().map(|count| "a".repeat(count)),
            None if name == "token" => Some(self.stage.token.clone()),
            _ => None,
        })
    }

    fn fill_hex(&self, text: &str) -> Result<Bytes, Halt> {
        let digits: String = self.fill(text).split_ascii_whitespace().collect();
        let byte = |at: usize| {
            let pair = digits.get(at..at + 2)?;
            u8::from_str_radix(pair, 16).ok()
        };
        (0..digits.len())
            .step_by(2)
            .map(byte)
            .collect::<Option<Vec<u8>>>()
            .map(Bytes::from)
            .ok_or_else(|| script("the hex digits do not make whole bytes"))
    }

    /// The bytes that a step gives in hex or JSON, or `default`, with its mutation applied.
    fn body(&self, args: &Args, default: &str) -> Result<Bytes, Halt> {
        if let Some(hex) = &args.hex {
            return self.fill_hex(hex);
        }
        let text = args.json.as_deref().unwrap_or(default);
        // A mutation may hold what is filled in, too.
        let text = match &args.mutate {
            None => text.to_owned(),
            Some(mutation) => {
                mutate(text, mutation).map_err(|error| script(format!("the mutation: {error}")))?
            }
        };
        Ok(Bytes::from(self.fill(&text)))
    }

    /// The newest client of the name that a step means.
    fn client(&self, args: &Args) -> Result<usize, Halt> {
        let name = args.on.as_deref().unwrap_or(DEFAULT);
        let mut clients = self.stage.clients.iter();
        clients
            .rposition(|client| client.name == name)
            .ok_or_else(|| {
                script(format!(
                    "there is no client called `{name}`; start it first"
                ))
            })
    }

    async fn start(&mut self, args: &Args) -> Result<(), Halt> {
        let name = args.on.as_deref().unwrap_or(DEFAULT);
        let request = defaults::run_request(args, defaults::IMAGE);
        let credential = args.text.as_deref().unwrap_or("credential of ${token}");
        let given = Given {
            credential: self.fill(credential),
            request: self.fill(&request),
            ..Given::default()
        };
        self.stage.start(name, given).await
    }

    /// The scope of a client's run, which the provider has read.
    fn scope(&self, client: usize) -> Result<u32, Halt> {
        let scope = self.stage.clients[client].scope;
        scope.ok_or_else(|| {
            script("the client has not asked for a run; the provider expects it first")
        })
    }

    async fn respond(&mut self, args: &Args, payload: Vec<u8>) -> Result<(), Halt> {
        let client = self.client(args)?;
        let scope = self.scope(client)?;
        self.stage.clients[client].written.owes(&payload);
        let frame = Frame::new(FrameType::Response, scope, 0, payload);
        self.stage.send(client, frame.encode()).await
    }

    async fn response(&mut self, kind: RunKind, args: &Args) -> Result<(), Halt> {
        let body = self.body(args, defaults::run_response(kind))?;
        let payload = [&[kind.byte()], &body[..]].concat();
        self.respond(args, payload).await
    }

    async fn finish(&mut self, args: &Args) -> Result<(), Halt> {
        let client = self.client(args)?;
        let scope = self.scope(client)?;
        self.stage.clients[client].written.finished = true;
        let frame = Frame::new(FrameType::ResponseFinish, scope, 0, Bytes::new());
        self.stage.send(client, frame.encode()).await
    }

    async fn channel(&mut self, args: &Args) -> Result<(), Halt> {
        let client = self.client(args)?;
        let scope = self.scope(client)?;
        let payload = self.body(args, "")?;
        let number = args.number.unwrap_or(1);
        let frame = Frame::new(FrameType::ChannelRequest, scope, number, payload);
        self.stage.send(client, frame.encode()).await
    }

    /// A frame by its fields; without a scope, on one that the client did not open.
    async fn frame(&mut self, args: &Args) -> Result<(), Halt> {
        let client = self.client(args)?;
        let scope = match args.scope {
            Some(scope) => scope,
            None => self.scope(client)?.wrapping_add(1),
        };
        let mut message = vec![args.frame_type.unwrap_or_default()];
        message.extend(scope.to_be_bytes());
        message.extend(args.channel_field.unwrap_or_default().to_be_bytes());
        message.extend(self.body(args, "")?);
        self.stage.send(client, message.into()).await
    }
}

impl Player<'_> {
    async fn take(&mut self, step: &Step) -> Result<(), Halt> {
        let args = &step.args;
        let Action::Act(Act::Client(act)) = step.action else {
            return Err(script("this step is none of a scenario for clients"));
        };
        match act {
            ClientAct::Start => self.start(args).await,
            ClientAct::Response(kind) => self.response(kind, args).await,
            ClientAct::Payload => {
                let payload = self.body(args, "")?.to_vec();
                self.respond(args, payload).await
            }
            ClientAct::Finish => self.finish(args).await,
            ClientAct::ChannelRequest => self.channel(args).await,
            ClientAct::Frame => self.frame(args).await,
            ClientAct::Bytes => {
                let bytes = self.body(args, "")?;
                let client = self.client(args)?;
                self.stage.send(client, bytes).await
            }
            ClientAct::Text => {
                let text = self.fill(args.text.as_deref().unwrap_or_default());
                let client = self.client(args)?;
                self.stage.send_text(client, text).await
            }
            ClientAct::Close => {
                let client = self.client(args)?;
                self.stage.close(client).await;
                self.stage.judge()
            }
            ClientAct::Drop => {
                let client = self.client(args)?;
                self.stage.break_off(client);
                self.stage.judge()
            }
            _ => Err(script("this step is expected, not done")),
        }
    }
}

impl Scene for Player<'_> {
    async fn act(&mut self, step: &Step) -> Result<(), Halt> {
        let before = self.stage.transcript.events.len();
        let taken = self.take(step).await;
        // What a client says meanwhile is read by the steps that expect it.
        let since = self.stage.transcript.events.iter().skip(before);
        let sent = since.filter(|event| event.sender == Role::Provider);
        self.stage.told.extend(sent.map(|event| event.seq));
        taken
    }

    fn take_told(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.stage.told)
    }

    fn peek(&mut self, step: &Step, blamed: Option<RequirementId>) -> Result<Peek, Halt> {
        match step.action {
            Action::Act(Act::Client(act)) => self.peek_act(act, &step.args, blamed),
            _ => Err(script("this step is none of a scenario for clients")),
        }
    }

    async fn pump(&mut self, wait: &mut Wait, at_most: Option<Duration>) -> Result<bool, Halt> {
        self.stage.pump(wait, at_most).await
    }

    fn nothing_left(&mut self, blamed: Option<RequirementId>) -> Result<(), Halt> {
        let clients = self.stage.clients.iter();
        let left = clients.filter_map(|client| client.written.left()).min();
        match left {
            Some((seq, line)) => Err(diverged(
                "nothing more: the script is over",
                &line,
                Some(seq),
                blamed,
            )),
            None => Ok(()),
        }
    }

    async fn close(&mut self) -> Result<(), Halt> {
        // What a client said before it ended may still be on its way.
        let mut wait = self.stage.patience.start();
        let mut heard = Ok(true);
        while matches!(heard, Ok(true)) && self.stage.on_their_way() {
            heard = self.stage.pump(&mut wait, Some(CLOSING)).await;
        }
        self.stage.end().await;
        heard.map(drop)
    }

    fn into_transcript(self) -> Transcript {
        self.stage.transcript
    }
}
