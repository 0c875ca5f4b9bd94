//! What a step expects: compared with what waits to be read, without waiting itself.

use bytes::Bytes;
use diverge_protocol::rules::{OutstandingKind, RequirementId};
use diverge_protocol::scenario::{Args, ClientExpectation, ProxyExpectation};
use diverge_protocol::wire::frame::FrameType;
use diverge_protocol::wire::profile::BeginChannel;
use diverge_protocol::wire::run::RunKind;

use super::super::describe;
use super::super::halt::{Halt, Peek, diverged};
use super::Player;
use super::state::{Incoming, Opener};

fn kind_of(expectation: ClientExpectation) -> Option<RunKind> {
    use ClientExpectation as E;
    Some(match expectation {
        E::Id => RunKind::Id,
        E::VolumeHeld => RunKind::VolumeHeld,
        E::VolumeMounted => RunKind::VolumeMounted,
        E::VolumeFuseServed => RunKind::VolumeFuseServed,
        E::VolumeMountUnsupported => RunKind::VolumeMountUnsupported,
        E::VolumeMode => RunKind::VolumeMode,
        E::Error => RunKind::Error,
        E::Chunk => RunKind::Chunk,
        E::Active => RunKind::Active,
        E::Inactive => RunKind::Inactive,
        _ => return None,
    })
}

fn due_kind(kind: OutstandingKind) -> &'static str {
    match kind {
        OutstandingKind::Chunk => "a chunk",
        OutstandingKind::Active => "active",
        OutstandingKind::Inactive => "inactive",
        OutstandingKind::Error => "the proxy's error",
        OutstandingKind::Answer => "an answer",
    }
}

/// What is broken where something that is due never comes.
pub(super) fn due_requirement(kind: OutstandingKind) -> Option<RequirementId> {
    RequirementId::new(match kind {
        OutstandingKind::Chunk => "run.chunk.relayed",
        OutstandingKind::Active => "run.active.relayed",
        OutstandingKind::Inactive => "run.inactive.relayed",
        OutstandingKind::Error => "run.error.relayed",
        OutstandingKind::Answer => "enqueue.answer-relayed",
    })
}

impl Player<'_> {
    pub(super) fn peek_client(
        &mut self,
        expectation: ClientExpectation,
        args: &Args,
        checks: Option<RequirementId>,
    ) -> Result<Peek, Halt> {
        use ClientExpectation as E;
        match expectation {
            E::Closed => self.peek_closed(args, checks),
            E::Nothing => self.peek_nothing(args, checks),
            E::Relayed => self.peek_relayed(args, checks),
            E::Finish | E::BareFinish | E::FinishAtLast => {
                if expectation == E::FinishAtLast {
                    let run = self.run(args)?;
                    // How many come before it is left open.
                    self.read_words(run);
                }
                self.peek_finish(expectation == E::BareFinish, args, checks)
            }
            E::Answer | E::ChannelFinish | E::BareChannelFinish => {
                self.peek_channel(expectation, args, checks)
            }
            E::ChannelRequest => self.peek_provider_request(args, checks),
            _ => match kind_of(expectation) {
                Some(kind) => self.peek_response(kind, args, checks),
                None => Ok(Peek::Pending),
            },
        }
    }

    /// Where the connection of a run is gone, nothing more will come on it.
    fn gone(&self, run: usize, allowed: &str, checks: Option<RequirementId>) -> Peek {
        let client = self.stage.runs[run].client;
        match self.stage.clients[client].wire.closed {
            Some(seq) => Peek::other(
                allowed,
                "the provider ended the connection",
                Some(seq),
                checks,
            ),
            None => Peek::Pending,
        }
    }

    fn peek_response(
        &mut self,
        kind: RunKind,
        args: &Args,
        checks: Option<RequirementId>,
    ) -> Result<Peek, Halt> {
        let at = self.run(args)?;
        let allowed = describe::allowed(kind);
        let Some(incoming) = self.stage.runs[at].main.front().cloned() else {
            return Ok(self.gone(at, &allowed, checks));
        };
        let payload = &incoming.frame.payload;
        if incoming.frame.kind != FrameType::Response || RunKind::of(payload).ok() != Some(kind) {
            return Ok(Peek::other(
                &allowed,
                &describe::frame(&incoming.frame),
                Some(incoming.seq),
                checks,
            ));
        }
        let body = payload.slice(1..);
        if let Some(other) = self.compare_parts(&body, args, incoming.seq, checks) {
            return Ok(other);
        }
        if let Some(json) = &args.json {
            let wanted = self.fill(json, self.stage.runs[at].token.as_deref());
            if body != wanted.as_bytes() {
                let allowed = format!("{allowed} of exactly {} given bytes", wanted.len());
                return Ok(Peek::other(
                    &allowed,
                    &describe::frame(&incoming.frame),
                    Some(incoming.seq),
                    checks,
                ));
            }
        }
        if let Some(name) = &args.capture {
            let id = serde_json::from_slice::<serde_json::Value>(&body).ok();
            let id = id
                .as_ref()
                .and_then(|id| id.get("id"))
                .and_then(|id| id.as_str())
                .unwrap_or_default();
            self.captures.insert(name.clone(), id.to_owned());
        }
        self.stage.told.push(incoming.seq);
        let run = &mut self.stage.runs[at];
        run.main.pop_front();
        run.responses_read += 1;
        Ok(Peek::Met)
    }

    fn compare_parts(
        &self,
        body: &Bytes,
        args: &Args,
        seq: u64,
        checks: Option<RequirementId>,
    ) -> Option<Peek> {
        let value: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
        for (pointer, json) in &args.parts {
            let wanted: serde_json::Value =
                serde_json::from_str(&self.fill(json, None)).unwrap_or_default();
            let found = value.pointer(pointer);
            if found != Some(&wanted) {
                let mut halt = diverged(
                    &format!("{wanted} at {pointer}"),
                    &found.map_or_else(|| "nothing there".to_owned(), ToString::to_string),
                    Some(seq),
                    checks,
                );
                if let Halt::Diverged(divergence) = &mut halt {
                    divergence.pointer = Some(pointer.clone());
                }
                return Some(Peek::Diverged(halt));
            }
        }
        None
    }

    fn peek_relayed(&mut self, args: &Args, checks: Option<RequirementId>) -> Result<Peek, Halt> {
        let at = self.run(args)?;
        let read = self.read_words(at);
        self.stage.told.extend(read);
        let due = self.stage.outstanding(at);
        let Some(first) = due.first() else {
            return Ok(Peek::Met);
        };
        let allowed = format!(
            "what the proxy sent, passed on: {} still due, first {}",
            due.len(),
            due_kind(first.kind)
        );
        let checks = checks.or_else(|| due_requirement(first.kind));
        match self.stage.runs[at].main.front() {
            Some(incoming) => Ok(Peek::other(
                &allowed,
                &describe::frame(&incoming.frame),
                Some(incoming.seq),
                checks,
            )),
            None => Ok(self.gone(at, &allowed, checks)),
        }
    }

    /// Reads what has come of the proxy's words, and tells which events that were.
    fn read_words(&mut self, run: usize) -> Vec<u64> {
        let word = |incoming: &Incoming| {
            incoming.frame.kind == FrameType::Response
                && matches!(
                    RunKind::of(&incoming.frame.payload),
                    Ok(RunKind::Chunk | RunKind::Active | RunKind::Inactive | RunKind::Error)
                )
        };
        let run = &mut self.stage.runs[run];
        let mut read = Vec::new();
        while let Some(incoming) = run.main.front().filter(|it| word(it)) {
            read.push(incoming.seq);
            run.main.pop_front();
            run.responses_read += 1;
        }
        read
    }

    fn peek_finish(
        &mut self,
        bare: bool,
        args: &Args,
        checks: Option<RequirementId>,
    ) -> Result<Peek, Halt> {
        let at = self.run(args)?;
        let allowed = if bare {
            "the finish, with nothing before it"
        } else {
            "the finish of the run scope"
        };
        let Some(incoming) = self.stage.runs[at].main.front().cloned() else {
            return Ok(self.gone(at, allowed, checks));
        };
        if incoming.frame.kind != FrameType::ResponseFinish
            || (bare && self.stage.runs[at].responses_read > 0)
        {
            return Ok(Peek::other(
                allowed,
                &describe::frame(&incoming.frame),
                Some(incoming.seq),
                checks,
            ));
        }
        self.stage.told.push(incoming.seq);
        self.stage.runs[at].main.pop_front();
        Ok(Peek::Met)
    }

    fn peek_channel(
        &mut self,
        expectation: ClientExpectation,
        args: &Args,
        checks: Option<RequirementId>,
    ) -> Result<Peek, Halt> {
        let (at, channel) = self.channel(args, "enqueue", Opener::Client)?;
        let name = self.channel_name(args, "enqueue");
        let due = channel.answers_due.front().cloned();
        let allowed = match (expectation, &due) {
            (ClientExpectation::Answer, Some(due)) => {
                format!(
                    "on channel {}, the proxy's answer unchanged ({} bytes)",
                    channel.number,
                    due.len()
                )
            }
            (ClientExpectation::Answer, None) => format!("an answer on channel {}", channel.number),
            (ClientExpectation::BareChannelFinish, _) => {
                format!(
                    "the finish of channel {}, with no response before it",
                    channel.number
                )
            }
            _ => format!("the finish of channel {}", channel.number),
        };
        let run = &mut self.stage.runs[at];
        let queue = run.answers.entry(channel.number).or_default();
        let Some(incoming) = queue.front().cloned() else {
            if let Some(seq) = run.finished {
                return Ok(Peek::other(
                    &allowed,
                    "the run scope finished",
                    Some(seq),
                    checks,
                ));
            }
            return Ok(self.gone(at, &allowed, checks));
        };
        let frame = &incoming.frame;
        let met = match expectation {
            ClientExpectation::Answer => {
                frame.kind == FrameType::ChannelResponse
                    && due.as_ref().is_none_or(|due| *due == frame.payload)
            }
            ClientExpectation::BareChannelFinish => {
                frame.kind == FrameType::ChannelResponseFinish && channel.responses_read == 0
            }
            _ => frame.kind == FrameType::ChannelResponseFinish,
        };
        if !met {
            return Ok(Peek::other(
                &allowed,
                &describe::frame(frame),
                Some(incoming.seq),
                checks,
            ));
        }
        queue.pop_front();
        self.stage.told.push(incoming.seq);
        if let (ClientExpectation::Answer, Some(channel)) =
            (expectation, run.channels.get_mut(&name))
        {
            channel.answers_due.pop_front();
            channel.responses_read += 1;
        }
        Ok(Peek::Met)
    }

    fn peek_provider_request(
        &mut self,
        args: &Args,
        checks: Option<RequirementId>,
    ) -> Result<Peek, Halt> {
        let at = self.run(args)?;
        let allowed = "a channel that the provider opens";
        let run = &mut self.stage.runs[at];
        let Some(incoming) = run.requests.pop_front() else {
            if let Some(seq) = run.finished {
                return Ok(Peek::other(
                    allowed,
                    "the run scope finished",
                    Some(seq),
                    checks,
                ));
            }
            return Ok(self.gone(at, allowed, checks));
        };
        self.stage.told.push(incoming.seq);
        let name = args
            .channel
            .as_deref()
            .unwrap_or("channel request")
            .to_owned();
        let channel = super::state::Channel::new(
            Opener::Provider,
            incoming.frame.channel,
            incoming.frame.payload.clone(),
        );
        run.channels.insert(name, channel);
        Ok(Peek::Met)
    }

    fn peek_closed(&mut self, args: &Args, checks: Option<RequirementId>) -> Result<Peek, Halt> {
        let client = self.client(args)?;
        let allowed = "the provider to end the connection, without another frame";
        let unread = self.stage.clients[client].stray.front().or_else(|| {
            self.stage
                .runs
                .iter()
                .filter(|run| run.client == client)
                .find_map(|run| run.main.front())
        });
        if let Some(incoming) = unread {
            return Ok(Peek::other(
                allowed,
                &describe::frame(&incoming.frame),
                Some(incoming.seq),
                checks,
            ));
        }
        Ok(match self.stage.clients[client].wire.closed {
            Some(seq) => {
                self.stage.told.push(seq);
                Peek::Met
            }
            None => Peek::Pending,
        })
    }

    fn peek_nothing(&mut self, args: &Args, checks: Option<RequirementId>) -> Result<Peek, Halt> {
        let client = self.client(args)?;
        let unread = self.stage.clients[client].stray.front().or_else(|| {
            self.stage
                .runs
                .iter()
                .filter(|run| run.client == client)
                .find_map(|run| {
                    // What was left unread of a run that is over came before.
                    let mut answers = run.answers.values().filter(|_| run.finished.is_none());
                    run.main
                        .front()
                        .or_else(|| answers.find_map(|queue| queue.front()))
                })
        });
        Ok(match unread {
            Some(incoming) => Peek::other(
                "nothing here yet",
                &describe::frame(&incoming.frame),
                Some(incoming.seq),
                checks,
            ),
            None => Peek::Met,
        })
    }

    pub(super) fn peek_proxy(
        &mut self,
        expectation: ProxyExpectation,
        args: &Args,
        checks: Option<RequirementId>,
    ) -> Result<Peek, Halt> {
        use ProxyExpectation as E;
        match expectation {
            E::Attempt => {
                if self.stage.attempts > 0 {
                    self.stage.attempts -= 1;
                    return Ok(Peek::Met);
                }
                self.ended_instead("a connection to the proxy", args, checks)
            }
            E::Begin => {
                let at = self.run(args)?;
                let begun = self.stage.runs[at]
                    .proxy
                    .map(|proxy| &self.stage.proxies[proxy]);
                match begun {
                    Some(proxy) if proxy.begin_scope.is_some() => {
                        let begin = self.stage.opening_of(proxy);
                        self.stage.told.extend(begin);
                        Ok(Peek::Met)
                    }
                    Some(proxy) if proxy.wire.closed.is_some() => Ok(Peek::other(
                        "a begin request to the proxy",
                        "the provider ended the proxy's connection",
                        proxy.wire.closed,
                        checks,
                    )),
                    _ => self.ended_instead(
                        "a connection to the proxy, and its begin request",
                        args,
                        checks,
                    ),
                }
            }
            E::Closed => {
                let at = self.run(args)?;
                let Some(proxy) = self.stage.runs[at].proxy else {
                    return Ok(Peek::Met);
                };
                Ok(match self.stage.proxies[proxy].wire.closed {
                    Some(seq) => {
                        self.stage.told.push(seq);
                        Peek::Met
                    }
                    None => Peek::Pending,
                })
            }
            E::Nothing => {
                let at = self.run(args)?;
                let proxy = self.stage.runs[at]
                    .proxy
                    .map(|proxy| &self.stage.proxies[proxy]);
                let unread = proxy.and_then(|proxy| proxy.requests.front());
                Ok(match unread {
                    Some(incoming) => Peek::other(
                        "nothing for the proxy here yet",
                        &describe::frame(&incoming.frame),
                        Some(incoming.seq),
                        checks,
                    ),
                    None => Peek::Met,
                })
            }
            E::Enqueue => self.peek_relayed_ask(BeginChannel::Enqueue, "enqueue", args, checks),
            E::Dequeue => self.peek_relayed_ask(BeginChannel::Dequeue, "dequeue", args, checks),
            E::Schema => self.peek_relayed_ask(BeginChannel::Schema, "schema", args, checks),
            E::ChannelResponse | E::ChannelFinish => {
                self.peek_proxy_channel(expectation, args, checks)
            }
        }
    }

    /// Where the run ended instead, what was to happen at the proxy will not.
    fn ended_instead(
        &self,
        allowed: &str,
        args: &Args,
        checks: Option<RequirementId>,
    ) -> Result<Peek, Halt> {
        let at = self.run(args)?;
        Ok(match self.stage.runs[at].main.front() {
            Some(incoming) => Peek::other(
                allowed,
                &describe::frame(&incoming.frame),
                Some(incoming.seq),
                checks,
            ),
            None => self.gone(at, allowed, checks),
        })
    }

    fn peek_relayed_ask(
        &mut self,
        kind: BeginChannel,
        name: &str,
        args: &Args,
        checks: Option<RequirementId>,
    ) -> Result<Peek, Halt> {
        let (at, channel) = self.channel(args, name, Opener::Client)?;
        let name = self.channel_name(args, name);
        let allowed = format!("the client's {} passed on to the proxy", name);
        let Some(proxy) = self.stage.runs[at].proxy else {
            return Ok(Peek::Pending);
        };
        let tag = self.stage.profile().begin_channels.byte(kind);
        let wanted = channel.payload.get(1..).unwrap_or_default();
        let requests = &mut self.stage.proxies[proxy].requests;
        // A schema request has no body: what the client put behind it anyway may be left behind.
        let bodiless = kind == BeginChannel::Schema;
        let found =
            requests
                .iter()
                .position(|incoming| match incoming.frame.payload.split_first() {
                    Some((first, body)) => {
                        *first == tag && (body == wanted || (bodiless && body.is_empty()))
                    }
                    None => false,
                });
        if let Some(found) = found {
            let incoming = requests.remove(found);
            self.stage
                .told
                .extend(incoming.as_ref().map(|incoming| incoming.seq));
            let number = incoming.map(|incoming| incoming.frame.channel);
            if let Some(channel) = self.stage.runs[at].channels.get_mut(&name) {
                channel.relayed_as = number;
            }
            return Ok(Peek::Met);
        }
        if let Some(incoming) = requests.front() {
            let only = requests.len() == 1 && self.stage.runs[at].channels.len() == 1;
            if only {
                return Ok(Peek::other(
                    &allowed,
                    &describe::frame(&incoming.frame),
                    Some(incoming.seq),
                    checks,
                ));
            }
        }
        if let Some(seq) = self.stage.proxies[proxy].wire.closed {
            return Ok(Peek::other(
                &allowed,
                "the provider ended the proxy's connection",
                Some(seq),
                checks,
            ));
        }
        let answered = self.stage.runs[at]
            .answers
            .get(&channel.number)
            .and_then(|queue| queue.front());
        Ok(match answered {
            Some(incoming) => Peek::other(
                &allowed,
                &describe::frame(&incoming.frame),
                Some(incoming.seq),
                checks,
            ),
            None => self.gone(at, &allowed, checks),
        })
    }

    fn peek_proxy_channel(
        &mut self,
        expectation: ProxyExpectation,
        args: &Args,
        checks: Option<RequirementId>,
    ) -> Result<Peek, Halt> {
        let (at, channel) = self.channel(args, "ask", Opener::Proxy)?;
        let Some(proxy) = self.stage.runs[at].proxy else {
            return Ok(Peek::Pending);
        };
        let wants_finish = expectation == ProxyExpectation::ChannelFinish;
        let allowed = if wants_finish {
            "the finish of the proxy's ask"
        } else {
            "an answer to the proxy's ask"
        };
        let wanted = args
            .hex
            .as_ref()
            .map(|hex| self.fill(hex, None))
            .or_else(|| {
                args.json.as_ref().map(|json| {
                    self.fill(json, None)
                        .bytes()
                        .map(|b| format!("{b:02x}"))
                        .collect()
                })
            });
        let queue = self.stage.proxies[proxy]
            .answers
            .entry(channel.number)
            .or_default();
        let Some(incoming) = queue.front().cloned() else {
            let closed = self.stage.proxies[proxy].wire.closed;
            return Ok(match closed {
                Some(seq) => Peek::other(
                    allowed,
                    "the provider ended the proxy's connection",
                    Some(seq),
                    checks,
                ),
                None => Peek::Pending,
            });
        };
        let is_finish = incoming.frame.kind == FrameType::ChannelResponseFinish;
        let hex: String = incoming
            .frame
            .payload
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect();
        let same =
            wanted.is_none_or(|wanted| wanted.replace([' ', '\n'], "").eq_ignore_ascii_case(&hex));
        if is_finish != wants_finish || !same {
            return Ok(Peek::other(
                allowed,
                &describe::frame(&incoming.frame),
                Some(incoming.seq),
                checks,
            ));
        }
        queue.pop_front();
        self.stage.told.push(incoming.seq);
        Ok(Peek::Met)
    }
}
