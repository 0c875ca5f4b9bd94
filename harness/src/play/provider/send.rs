//! What a step sends: from the words of a scenario to bytes on a link.

use bytes::Bytes;
use diverge_protocol::scenario::{Args, ClientMessage, Fixture, ProxyMessage, defaults, replace};
use diverge_protocol::transcript::{Role, What};
use diverge_protocol::wire::begin::BeginKind;
use diverge_protocol::wire::frame::{Frame, FrameType, credential_payload};
use diverge_protocol::wire::mutate::mutate;
use diverge_protocol::wire::profile::{
    ClientChannel, DequeueKind, EnqueueKind, RequestKind, SchemaKind,
};

use super::super::halt::Halt;
use super::Player;
use super::state::{Channel, Opener, Run};

/// The name of the run and of the connection that steps mean when they name none.
pub(super) const DEFAULT_RUN: &str = "run";
pub(super) const DEFAULT_CLIENT: &str = "client";

/// What a client enqueues in a chain where a step does not say it.
pub(super) const ORDINARY: &str =
    r#"{"key":"first","content":[{"type":"text","text":"${message.ordinary}"}]}"#;

/// Another form of the credential that is accepted.
fn respelled(credential: &str, form: &str) -> Option<String> {
    let other_case = |c: char| {
        if c.is_ascii_lowercase() {
            c.to_ascii_uppercase()
        } else {
            c.to_ascii_lowercase()
        }
    };
    match form {
        "shorter" => {
            let mut shorter = credential.to_owned();
            shorter.pop();
            Some(shorter)
        }
        "other-case" => Some(credential.chars().map(other_case).collect()),
        "hex" => Some(
            credential
                .bytes()
                .map(|byte| format!("{byte:02x}"))
                .collect(),
        ),
        _ => None,
    }
}

fn script(why: impl Into<String>) -> Halt {
    Halt::Script(why.into())
}

impl Player<'_> {
    /// `text` with its `${…}` filled in.
    pub(super) fn fill(&self, text: &str, token: Option<&str>) -> String {
        let volumes = &self.config.volumes;
        let fixture = |key: &str| {
            Fixture::ALL
                .iter()
                .find(|(_, name)| *name == key)
                .and_then(|(fixture, _)| volumes.get(*fixture))
        };
        replace(text, |name| match name.split_once(['.', ':']) {
            None if name == "token" => token.map(str::to_owned),
            None if name == "credential" => Some(self.stage.endpoint.credential().to_owned()),
            Some(("credential", form)) => respelled(self.stage.endpoint.credential(), form),
            None => self.captures.get(name).cloned(),
            Some(("json", "image")) => serde_json::to_string(&self.config.image).ok(),
            Some(("fill", count)) => count.parse().ok().map(|count| "a".repeat(count)),
            Some(("mode", "other")) => volumes
                .mode
                .as_ref()
                .map(|volume| volume.mode.other().as_str().to_owned()),
            Some(("mode", key)) => fixture(key).map(|volume| volume.mode.as_str().to_owned()),
            Some(("volume", key)) => fixture(key).map(|volume| volume.name.clone()),
            Some(_) => self.agent.and_then(|agent| agent.told(name)?.1),
        })
    }

    fn fill_hex(&self, text: &str, token: Option<&str>) -> Result<Bytes, Halt> {
        let digits: Vec<u8> = self
            .fill(text, token)
            .bytes()
            .filter(|b| !b.is_ascii_whitespace())
            .collect();
        digits
            .chunks(2)
            .map(|pair| {
                std::str::from_utf8(pair)
                    .ok()
                    .and_then(|pair| u8::from_str_radix(pair, 16).ok())
            })
            .collect::<Option<Vec<u8>>>()
            .map(Bytes::from)
            .ok_or_else(|| script("the hex digits do not make whole bytes"))
    }

    /// The body that a step gives in hex or JSON, or `default`, with its mutation applied.
    fn body(&self, args: &Args, default: &str, token: Option<&str>) -> Result<Bytes, Halt> {
        if let Some(hex) = &args.hex {
            return self.fill_hex(hex, token);
        }
        let text = self.fill(args.json.as_deref().unwrap_or(default), token);
        match &args.mutate {
            None => Ok(Bytes::from(text)),
            Some(mutation) => mutate(&text, mutation)
                .map(Bytes::from)
                .map_err(|error| script(format!("the mutation: {error}"))),
        }
    }

    pub(super) async fn client_sends(
        &mut self,
        message: ClientMessage,
        args: &Args,
    ) -> Result<(), Halt> {
        match message {
            ClientMessage::Credential => {
                let client = self.client(args)?;
                let payload = match (&args.hex, &args.text) {
                    (Some(hex), _) => self.fill_hex(hex, None)?,
                    (None, Some(text)) => credential_payload(&self.wrong_credential(text)?).into(),
                    (None, None) => credential_payload(self.stage.endpoint.credential()).into(),
                };
                let mut payload = payload.to_vec();
                if let (Some(mode), Some(first)) = (args.mode, payload.first_mut()) {
                    *first = mode;
                }
                let scope = args.scope.unwrap_or_default();
                let frame = Frame::new(
                    FrameType::Authorization,
                    scope,
                    args.channel_field.unwrap_or_default(),
                    payload,
                );
                self.stage.send_client(client, frame.encode()).await
            }
            ClientMessage::Run => self.send_run(args).await,
            ClientMessage::Stop => self.send_ask(ClientChannel::Stop, "stop", "", args).await,
            ClientMessage::Enqueue => {
                let default = match self.agent {
                    Some(_) => ORDINARY,
                    None => defaults::ENQUEUE,
                };
                self.send_ask(ClientChannel::Enqueue, "enqueue", default, args)
                    .await
            }
            ClientMessage::Dequeue => {
                self.send_ask(ClientChannel::Dequeue, "dequeue", defaults::DEQUEUE, args)
                    .await
            }
            ClientMessage::Schema => {
                self.send_ask(ClientChannel::Schema, "schema", "", args)
                    .await
            }
            ClientMessage::ChannelRequest => {
                let payload = self.body(args, "", None)?;
                self.send_channel_request("channel request", payload, args)
                    .await
            }
            ClientMessage::ChannelResponse => {
                let payload = self.body(args, "", None)?;
                self.answer_provider(FrameType::ChannelResponse, payload, args)
                    .await
            }
            ClientMessage::ChannelFinish => {
                self.answer_provider(FrameType::ChannelResponseFinish, Bytes::new(), args)
                    .await
            }
            ClientMessage::Frame => {
                let (client, scope) = match &args.run {
                    Some(_) => {
                        let run = self.run(args)?;
                        (self.stage.runs[run].client, self.stage.runs[run].scope)
                    }
                    None => (self.client(args)?, 0),
                };
                let bytes = self.raw_frame(args, scope)?;
                self.stage.send_client(client, bytes).await
            }
            ClientMessage::Bytes => {
                let client = self.client(args)?;
                let bytes = self.body(args, "", None)?;
                self.stage.send_client(client, bytes).await
            }
            ClientMessage::Text => {
                let client = self.client(args)?;
                let text = self.fill(args.text.as_deref().unwrap_or_default(), None);
                let wire = &mut self.stage.clients[client].wire;
                let _ = wire.sender.send_text(text.clone()).await;
                let link = wire.link;
                self.stage.record(link, Role::Client, What::Text(text));
                Ok(())
            }
        }
    }

    /// A credential that a step gives in text; one that is given in terms of the accepted one must differ from it.
    fn wrong_credential(&self, text: &str) -> Result<String, Halt> {
        let filled = self.fill(text, None);
        if filled != text && filled == self.stage.endpoint.credential() {
            let why = format!("the configured credential is the same as `{text}`");
            return Err(Halt::NotApplicable(why));
        }
        Ok(filled)
    }

    fn raw_frame(&self, args: &Args, scope: u32) -> Result<Bytes, Halt> {
        let body = self.body(args, "", None)?;
        let mut bytes = Vec::with_capacity(9 + body.len());
        bytes.push(args.frame_type.unwrap_or_default());
        bytes.extend(args.scope.unwrap_or(scope).to_be_bytes());
        bytes.extend(args.channel_field.unwrap_or_default().to_be_bytes());
        bytes.extend(body);
        Ok(bytes.into())
    }

    fn request_json(&self, args: &Args, token: &str) -> Result<Bytes, Halt> {
        let image =
            serde_json::to_string(&self.config.image).map_err(|error| script(error.to_string()))?;
        let mut args = args.clone();
        if self.agent.is_some() && args.arguments.is_none() {
            args.arguments = Some("${json:arguments}".to_owned());
        }
        let text = defaults::run_request(&args, &image);
        let body = self.body(&args, &text, Some(token))?;
        Ok(self
            .stage
            .profile()
            .run_request
            .payload(RequestKind::Request, &body)
            .into())
    }

    async fn send_run(&mut self, args: &Args) -> Result<(), Halt> {
        let client = self.client(args)?;
        let name = args.run.as_deref().unwrap_or(DEFAULT_RUN).to_owned();
        let (payload, token) = match &args.hex {
            Some(hex) => (self.fill_hex(hex, None)?, None),
            None => {
                let token = self.stage.claim.token();
                (self.request_json(args, &token)?, Some(token))
            }
        };
        let link = &mut self.stage.clients[client];
        let scope = args.number.unwrap_or(link.next_scope);
        if args.number.is_none() {
            link.next_scope += 1;
        }
        let generation = link.generation(scope);
        // A run whose name is given away again is over and read, or still to be told apart by its number.
        self.stage
            .runs
            .retain(|run| run.name != name || run.finished.is_none() || !run.main.is_empty());
        self.stage
            .runs
            .push(Run::asked(name, client, (scope, generation), token));
        let frame = Frame::new(
            FrameType::Request,
            scope,
            args.channel_field.unwrap_or_default(),
            payload,
        );
        self.stage.send_client(client, frame.encode()).await
    }

    async fn send_ask(
        &mut self,
        kind: ClientChannel,
        name: &str,
        default: &str,
        args: &Args,
    ) -> Result<(), Halt> {
        let body = self.body(args, default, None)?;
        let payload = self.stage.profile().client_channels.payload(kind, &body);
        self.send_channel_request(name, payload.into(), args).await
    }

    async fn send_channel_request(
        &mut self,
        name: &str,
        payload: Bytes,
        args: &Args,
    ) -> Result<(), Halt> {
        let at = self.run(args)?;
        let run = &mut self.stage.runs[at];
        let number = match &args.same_number_as {
            Some(other) => Some(
                run.channels
                    .get(other)
                    .ok_or_else(|| script(format!("the run has no channel called `{other}`")))?
                    .number,
            ),
            None => args.number,
        };
        if number.is_none() {
            run.next_channel += 1;
        }
        let number = number.unwrap_or(run.next_channel - 1);
        let name = args.channel.as_deref().unwrap_or(name).to_owned();
        run.channels
            .insert(name, Channel::new(Opener::Client, number, payload.clone()));
        let frame = Frame::new(FrameType::ChannelRequest, run.scope, number, payload);
        let client = run.client;
        self.stage.send_client(client, frame.encode()).await
    }

    async fn answer_provider(
        &mut self,
        kind: FrameType,
        payload: Bytes,
        args: &Args,
    ) -> Result<(), Halt> {
        let (run, channel) = self.channel(args, "channel request", Opener::Provider)?;
        let frame = Frame::new(kind, self.stage.runs[run].scope, channel.number, payload);
        let client = self.stage.runs[run].client;
        self.stage.send_client(client, frame.encode()).await
    }

    pub(super) async fn proxy_sends(
        &mut self,
        message: ProxyMessage,
        args: &Args,
    ) -> Result<(), Halt> {
        let run = self.run(args)?;
        let proxy = self.stage.runs[run]
            .proxy
            .ok_or_else(|| script("the proxy has no connection yet; expect its begin first"))?;
        let scope = self.stage.proxies[proxy].begin_scope.unwrap_or_default();
        let token = self.stage.runs[run].token.clone();
        let response = |player: &Self, kind: BeginKind, default: &str| -> Result<Bytes, Halt> {
            let body = player.body(args, default, token.as_deref())?;
            let payload = player.stage.profile().begin_responses.payload(kind, &body);
            Ok(Frame::new(FrameType::Response, scope, 0, payload).encode())
        };
        let bytes = match message {
            ProxyMessage::Begun => response(self, BeginKind::Begun, "[]")?,
            ProxyMessage::Error => {
                self.stage.runs[run].proxy_ended = true;
                response(self, BeginKind::Error, defaults::ERROR)?
            }
            ProxyMessage::Chunk => response(self, BeginKind::Chunk, defaults::CHUNK)?,
            ProxyMessage::Active => response(self, BeginKind::Active, "")?,
            ProxyMessage::Inactive => response(self, BeginKind::Inactive, "{}")?,
            ProxyMessage::Finish => {
                self.stage.runs[run].proxy_ended = true;
                Frame::new(FrameType::ResponseFinish, scope, 0, Bytes::new()).encode()
            }
            ProxyMessage::Answer => return self.proxy_answers(run, proxy, scope, args).await,
            ProxyMessage::ChannelFinish => {
                let number = self.relayed_channel(args)?;
                Frame::new(
                    FrameType::ChannelResponseFinish,
                    scope,
                    number,
                    Bytes::new(),
                )
                .encode()
            }
            ProxyMessage::Ask => {
                let payload = self.body(args, "", token.as_deref())?;
                let link = &mut self.stage.proxies[proxy];
                let number = args.number.unwrap_or(link.next_channel);
                link.next_channel += 1;
                let name = args.channel.as_deref().unwrap_or("ask").to_owned();
                let channel = Channel::new(Opener::Proxy, number, payload.clone());
                self.stage.runs[run].channels.insert(name, channel);
                Frame::new(FrameType::ChannelRequest, scope, number, payload).encode()
            }
            ProxyMessage::Frame => self.raw_frame(args, scope)?,
            ProxyMessage::Bytes => self.body(args, "", token.as_deref())?,
            ProxyMessage::Text => {
                let text = args.text.clone().unwrap_or_default();
                let wire = &mut self.stage.proxies[proxy].wire;
                let _ = wire.sender.send_text(text.clone()).await;
                let link = wire.link;
                self.stage.record(link, Role::Proxy, What::Text(text));
                return Ok(());
            }
        };
        self.stage.send_proxy(proxy, bytes).await
    }

    async fn proxy_answers(
        &mut self,
        run: usize,
        proxy: usize,
        scope: u32,
        args: &Args,
    ) -> Result<(), Halt> {
        let number = self.relayed_channel(args)?;
        let (_, channel) = self.channel(args, "enqueue", Opener::Client)?;
        let profile = self.stage.profile();
        let kind = channel
            .payload
            .first()
            .and_then(|tag| profile.client_channels.word(*tag));
        let answer = args.answer.as_deref();
        let payload: Bytes = if args.hex.is_some() {
            self.body(args, "", None)?
        } else {
            let unknown = || {
                script(format!(
                    "no answer is called `{}` there",
                    answer.unwrap_or_default()
                ))
            };
            match kind {
                Some(ClientChannel::Dequeue) => {
                    let kind =
                        DequeueKind::named(answer.unwrap_or("withdrawn")).ok_or_else(unknown)?;
                    let default = if kind == DequeueKind::Error {
                        defaults::ERROR
                    } else {
                        ""
                    };
                    profile
                        .dequeue_answers
                        .payload(kind, &self.body(args, default, None)?)
                        .into()
                }
                Some(ClientChannel::Schema) => {
                    let kind = SchemaKind::named(answer.unwrap_or("schema")).ok_or_else(unknown)?;
                    let default = if kind == SchemaKind::Error {
                        defaults::ERROR
                    } else {
                        defaults::SCHEMA
                    };
                    profile
                        .schema_answers
                        .payload(kind, &self.body(args, default, None)?)
                        .into()
                }
                _ => {
                    let kind =
                        EnqueueKind::named(answer.unwrap_or("delivered")).ok_or_else(unknown)?;
                    let default = if kind == EnqueueKind::Error {
                        defaults::ERROR
                    } else {
                        ""
                    };
                    profile
                        .enqueue_answers
                        .payload(kind, &self.body(args, default, None)?)
                        .into()
                }
            }
        };
        let name = self.channel_name(args, "enqueue");
        if let Some(channel) = self.stage.runs[run].channels.get_mut(&name) {
            channel.answers_due.push_back(payload.clone());
        }
        let frame = Frame::new(FrameType::ChannelResponse, scope, number, payload);
        self.stage.send_proxy(proxy, frame.encode()).await
    }

    /// The number on the begin scope of the channel that a step names.
    fn relayed_channel(&self, args: &Args) -> Result<u32, Halt> {
        let (_, channel) = self.channel(args, "enqueue", Opener::Client)?;
        channel
            .relayed_as
            .ok_or_else(|| script("the proxy has not got that channel yet; expect it first"))
    }
}
