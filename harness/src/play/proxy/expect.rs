//! What a step expects of a proxy: compared with what waits to be read, without waiting itself.

use diverge_protocol::rules::{OutstandingKind, RequirementId};
use diverge_protocol::scenario::Args;
use diverge_protocol::scenario::acts::ProxyAct;
use diverge_protocol::transcript::AgentCall;
use diverge_protocol::wire::begin::BeginKind;
use diverge_protocol::wire::frame::FrameType;
use serde_json::Value;

use super::super::describe;
use super::super::halt::{Halt, Peek, diverged};
use super::state::{Called, Incoming};
use super::{Player, fill, script};

/// A call in words.
pub(super) fn call_in_words(called: &Called) -> String {
    let asked = &called.call.asked;
    format!(
        "{} {} with a body of {} bytes",
        asked.method,
        asked.path,
        asked.body.len()
    )
}

fn due_in_words(kind: OutstandingKind) -> &'static str {
    match kind {
        OutstandingKind::Chunk => "a chunk",
        OutstandingKind::Active => "active",
        OutstandingKind::Inactive => "inactive",
        OutstandingKind::Error => "an error",
        OutstandingKind::Answer => "an answer",
    }
}

/// The first byte of a path's answer.
fn path_tag(call: AgentCall, answer: &str) -> Option<u8> {
    Some(match (call, answer) {
        (AgentCall::Register, "registered") | (AgentCall::Schema, "schema") => 0,
        (AgentCall::Register | AgentCall::Schema | AgentCall::Run, "error") => 1,
        (AgentCall::Enqueue, "delivered") | (AgentCall::Dequeue, "withdrawn") => 0,
        (AgentCall::Enqueue, "dequeued") | (AgentCall::Dequeue, "nothing") => 1,
        (AgentCall::Enqueue, "missed") | (AgentCall::Dequeue, "error") => 2,
        (AgentCall::Enqueue, "error") => 3,
        _ => return None,
    })
}

/// How a JSON text differs from what a step expects of it.
fn compare(found: &[u8], args: &Args, seq: u64, blamed: Option<RequirementId>) -> Option<Peek> {
    let value: Value = serde_json::from_slice(found).unwrap_or_default();
    if let Some(json) = &args.json {
        let wanted: Value = serde_json::from_str(&fill(json)).unwrap_or_default();
        if value != wanted {
            let allowed = format!("JSON equal to {}", describe::shorten(&fill(json), 160));
            let received = describe::shorten(&String::from_utf8_lossy(found), 160);
            return Some(Peek::other(&allowed, &received, Some(seq), blamed));
        }
    }
    for (pointer, json) in &args.parts {
        let wanted: Value = serde_json::from_str(&fill(json)).unwrap_or_default();
        let part = value.pointer(pointer);
        if part != Some(&wanted) {
            let mut halt = diverged(
                &format!("{wanted} at {pointer}"),
                &part.map_or_else(|| "nothing there".to_owned(), ToString::to_string),
                Some(seq),
                blamed,
            );
            if let Halt::Diverged(divergence) = &mut halt {
                divergence.pointer = Some(pointer.clone());
            }
            return Some(Peek::Diverged(halt));
        }
    }
    None
}

impl Player<'_> {
    pub(super) fn peek_act(
        &mut self,
        act: ProxyAct,
        args: &Args,
        blamed: Option<RequirementId>,
    ) -> Result<Peek, Halt> {
        match act {
            ProxyAct::Response(kind) if self.is_path(args) => self.peek_message(kind, args, blamed),
            ProxyAct::Response(kind) => self.peek_response(kind, args, blamed),
            ProxyAct::Relayed => self.peek_relayed(args, blamed),
            ProxyAct::Finish => self.peek_finish(false, args, blamed),
            ProxyAct::BareFinish => self.peek_finish(true, args, blamed),
            ProxyAct::Answer if self.is_path(args) => self.peek_path_answer(args, blamed),
            ProxyAct::Answer | ProxyAct::ChannelFinish | ProxyAct::BareChannelFinish => {
                self.peek_channel(act, args, blamed)
            }
            ProxyAct::Closed => self.peek_ended(true, args, blamed),
            ProxyAct::Gone => self.peek_ended(false, args, blamed),
            ProxyAct::Nothing => self.peek_nothing(args, blamed),
            ProxyAct::Called(call) => Ok(self.peek_called(call, args, blamed)),
            ProxyAct::Dropped => self.peek_dropped(args),
            ProxyAct::NotCalled => Ok(self.peek_not_called(blamed)),
            _ => Err(script("this step is done, not expected")),
        }
    }

    fn is_path(&self, args: &Args) -> bool {
        self.host(args)
            .is_ok_and(|host| self.stage.hosts[host].path.is_some())
    }

    /// Where a link is gone, nothing more will come on it.
    fn gone(&self, host: usize, allowed: &str, blamed: Option<RequirementId>) -> Peek {
        match self.stage.hosts[host].ended {
            Some(ended) => {
                let how = if ended.in_order {
                    "the proxy closed the connection"
                } else {
                    "the connection broke off"
                };
                Peek::other(allowed, how, Some(ended.seq), blamed)
            }
            None => Peek::Pending,
        }
    }

    fn peek_response(
        &mut self,
        kind: BeginKind,
        args: &Args,
        blamed: Option<RequirementId>,
    ) -> Result<Peek, Halt> {
        let at = self.scope(args)?;
        let allowed = format!("{} on the begin scope", kind.name());
        let Some(incoming) = self.stage.scopes[at].main.front().cloned() else {
            return Ok(self.gone(self.stage.scopes[at].host, &allowed, blamed));
        };
        let payload = &incoming.frame.payload;
        let responses = &self.stage.profile.begin_responses;
        let found = payload.first().and_then(|first| responses.word(*first));
        if incoming.frame.kind != FrameType::Response || found != Some(kind) {
            let received = describe::begin_frame(&incoming.frame);
            return Ok(Peek::other(&allowed, &received, Some(incoming.seq), blamed));
        }
        let exact = kind == BeginKind::Chunk && args.json.is_some();
        let body = payload.slice(1..);
        if exact {
            let wanted = fill(args.json.as_deref().unwrap_or_default());
            if body != wanted.as_bytes() {
                let allowed = format!("{allowed}, of exactly {} given bytes", wanted.len());
                let received = describe::begin_frame(&incoming.frame);
                return Ok(Peek::other(&allowed, &received, Some(incoming.seq), blamed));
            }
        } else if let Some(other) = compare(&body, args, incoming.seq, blamed) {
            return Ok(other);
        }
        self.stage.told.push(incoming.seq);
        let scope = &mut self.stage.scopes[at];
        scope.main.pop_front();
        scope.responses_read += 1;
        Ok(Peek::Met)
    }

    /// A message of a run's path.
    fn peek_message(
        &mut self,
        kind: BeginKind,
        args: &Args,
        blamed: Option<RequirementId>,
    ) -> Result<Peek, Halt> {
        let at = self.host(args)?;
        let tag = match kind {
            BeginKind::Chunk => 0,
            BeginKind::Error => 1,
            _ => return Err(script("a path has chunks and an error, and nothing else")),
        };
        let allowed = format!("{} as the next message of the path", kind.name());
        self.take_message(at, tag, kind == BeginKind::Chunk, &allowed, args, blamed)
    }

    fn peek_path_answer(
        &mut self,
        args: &Args,
        blamed: Option<RequirementId>,
    ) -> Result<Peek, Halt> {
        let at = self.host(args)?;
        let answer = args.answer.as_deref().unwrap_or_default();
        let path = self.stage.hosts[at].path;
        let tag = path
            .and_then(|path| path_tag(path, answer))
            .ok_or_else(|| script(format!("this path has no answer called `{answer}`")))?;
        let allowed = format!("the answer {answer}");
        self.take_message(at, tag, false, &allowed, args, blamed)
    }

    fn take_message(
        &mut self,
        at: usize,
        tag: u8,
        exact: bool,
        allowed: &str,
        args: &Args,
        blamed: Option<RequirementId>,
    ) -> Result<Peek, Halt> {
        let host = &self.stage.hosts[at];
        if let Some((seq, told)) = host.stray.front() {
            return Ok(Peek::other(allowed, told, Some(*seq), blamed));
        }
        let Some((seq, bytes)) = host.messages.front().cloned() else {
            return Ok(self.gone(at, allowed, blamed));
        };
        let body = bytes.slice(bytes.len().min(1)..);
        let wanted = args.json.as_deref().map(fill);
        let differs = exact && wanted.is_some_and(|wanted| body != wanted.as_bytes());
        if bytes.first() != Some(&tag) || differs {
            let received = describe::bytes(&bytes);
            return Ok(Peek::other(allowed, &received, Some(seq), blamed));
        }
        if !exact && let Some(other) = compare(&body, args, seq, blamed) {
            return Ok(other);
        }
        self.stage.told.push(seq);
        self.stage.hosts[at].messages.pop_front();
        Ok(Peek::Met)
    }

    fn peek_relayed(&mut self, args: &Args, blamed: Option<RequirementId>) -> Result<Peek, Halt> {
        let (host, front) = if self.is_path(args) {
            let host = self.host(args)?;
            // The checkers have judged them.
            let read = self.stage.hosts[host].messages.drain(..);
            self.stage.told.extend(read.map(|(seq, _)| seq));
            (host, None)
        } else {
            let at = self.scope(args)?;
            let words = &self.stage.profile.begin_responses;
            let relayed = |incoming: &Incoming| {
                let first = incoming.frame.payload.first();
                let kind = first.and_then(|first| words.word(*first));
                incoming.frame.kind == FrameType::Response
                    && matches!(
                        kind,
                        Some(BeginKind::Chunk | BeginKind::Active | BeginKind::Inactive)
                    )
            };
            let scope = &mut self.stage.scopes[at];
            while let Some(incoming) = scope.main.front().filter(|it| relayed(it)) {
                self.stage.told.push(incoming.seq);
                scope.main.pop_front();
                scope.responses_read += 1;
            }
            (scope.host, scope.main.front().cloned())
        };
        let due = self.stage.outstanding(host);
        let Some(first) = due.first() else {
            return Ok(Peek::Met);
        };
        let allowed = format!(
            "what the agent server sent, passed on: {} still due, first {}",
            due.len(),
            due_in_words(first.kind)
        );
        Ok(match front {
            Some(incoming) => {
                let received = describe::begin_frame(&incoming.frame);
                Peek::other(&allowed, &received, Some(incoming.seq), blamed)
            }
            None => self.gone(host, &allowed, blamed),
        })
    }

    fn peek_finish(
        &mut self,
        bare: bool,
        args: &Args,
        blamed: Option<RequirementId>,
    ) -> Result<Peek, Halt> {
        let at = self.scope(args)?;
        let allowed = if bare {
            "the finish of the scope, with nothing before it"
        } else {
            "the finish of the scope"
        };
        let Some(incoming) = self.stage.scopes[at].main.front().cloned() else {
            return Ok(self.gone(self.stage.scopes[at].host, allowed, blamed));
        };
        let spoiled = bare && self.stage.scopes[at].responses_read > 0;
        if incoming.frame.kind != FrameType::ResponseFinish || spoiled {
            let received = describe::begin_frame(&incoming.frame);
            return Ok(Peek::other(allowed, &received, Some(incoming.seq), blamed));
        }
        self.stage.told.push(incoming.seq);
        self.stage.scopes[at].main.pop_front();
        Ok(Peek::Met)
    }

    /// The first byte of an answer by its name.
    fn answer_tag(&self, asks: Option<AgentCall>, answer: &str) -> Option<u8> {
        use diverge_protocol::wire::profile::{DequeueKind, EnqueueKind, SchemaKind};
        let profile = self.stage.profile;
        match asks? {
            AgentCall::Enqueue => {
                EnqueueKind::named(answer).map(|word| profile.enqueue_answers.byte(word))
            }
            AgentCall::Dequeue => {
                DequeueKind::named(answer).map(|word| profile.dequeue_answers.byte(word))
            }
            AgentCall::Schema => {
                SchemaKind::named(answer).map(|word| profile.schema_answers.byte(word))
            }
            AgentCall::Register | AgentCall::Run => None,
        }
    }

    fn peek_channel(
        &mut self,
        act: ProxyAct,
        args: &Args,
        blamed: Option<RequirementId>,
    ) -> Result<Peek, Halt> {
        let (at, name, channel) = self.channel(args)?;
        let tag = match (&args.answer, act) {
            (Some(answer), ProxyAct::Answer) => {
                let tag = self.answer_tag(channel.asks, answer);
                Some(tag.ok_or_else(|| {
                    script(format!("this channel has no answer called `{answer}`"))
                })?)
            }
            _ => None,
        };
        let allowed = match act {
            ProxyAct::Answer => format!(
                "the answer {} on channel {}",
                args.answer.as_deref().unwrap_or("of any kind"),
                channel.number
            ),
            ProxyAct::BareChannelFinish => format!(
                "the finish of channel {}, with no answer before it",
                channel.number
            ),
            _ => format!("the finish of channel {}", channel.number),
        };
        let scope = &mut self.stage.scopes[at];
        let queue = scope.answers.entry(channel.number).or_default();
        let Some(incoming) = queue.front().cloned() else {
            return Ok(match scope.finished {
                Some(seq) => Peek::other(&allowed, "the scope finished", Some(seq), blamed),
                None => self.gone(self.stage.scopes[at].host, &allowed, blamed),
            });
        };
        let frame = &incoming.frame;
        let finishes = frame.kind == FrameType::ChannelResponseFinish;
        let met = match act {
            ProxyAct::Answer => {
                !finishes && tag.is_none_or(|tag| frame.payload.first() == Some(&tag))
            }
            ProxyAct::BareChannelFinish => finishes && channel.answers_read == 0,
            _ => finishes,
        };
        if !met {
            let received = describe::begin_frame(frame);
            return Ok(Peek::other(&allowed, &received, Some(incoming.seq), blamed));
        }
        if act == ProxyAct::Answer {
            let body = frame.payload.slice(frame.payload.len().min(1)..);
            if let Some(other) = compare(&body, args, incoming.seq, blamed) {
                return Ok(other);
            }
        }
        queue.pop_front();
        self.stage.told.push(incoming.seq);
        if let (ProxyAct::Answer, Some(channel)) = (act, scope.channels.get_mut(&name)) {
            channel.answers_read += 1;
        }
        Ok(Peek::Met)
    }

    fn peek_ended(
        &mut self,
        in_order: bool,
        args: &Args,
        blamed: Option<RequirementId>,
    ) -> Result<Peek, Halt> {
        let at = self.host(args)?;
        let allowed = if in_order {
            "the proxy to close the connection with a close frame, and to send nothing before"
        } else {
            "the proxy to end the connection, and to send nothing before"
        };
        if let Some((seq, told)) = self.unread(at) {
            return Ok(Peek::other(allowed, &told, Some(seq), blamed));
        }
        Ok(match self.stage.hosts[at].ended {
            Some(ended) if ended.in_order || !in_order => {
                self.stage.told.push(ended.seq);
                Peek::Met
            }
            Some(_) => self.gone(at, allowed, blamed),
            None => Peek::Pending,
        })
    }

    /// The first thing on a link that no step has read.
    fn unread(&self, at: usize) -> Option<(u64, String)> {
        let host = &self.stage.hosts[at];
        let messages = host.messages.front();
        let messages = messages.map(|(seq, bytes)| (*seq, describe::bytes(bytes)));
        let scopes = self.stage.scopes.iter().filter(|scope| scope.host == at);
        let frames = scopes.flat_map(|scope| {
            let answers = scope.answers.values().flatten();
            scope.main.iter().chain(answers)
        });
        let frames = frames.map(|it| (it.seq, describe::begin_frame(&it.frame)));
        host.stray
            .front()
            .cloned()
            .into_iter()
            .chain(messages)
            .chain(frames)
            .min()
    }

    fn peek_nothing(&mut self, args: &Args, blamed: Option<RequirementId>) -> Result<Peek, Halt> {
        let at = self.host(args)?;
        Ok(match self.unread(at) {
            Some((seq, told)) => Peek::other("nothing here yet", &told, Some(seq), blamed),
            None => Peek::Met,
        })
    }

    fn peek_called(&mut self, asks: AgentCall, args: &Args, blamed: Option<RequirementId>) -> Peek {
        let unread = |called: &&mut Called| called.name.is_none() && called.asks == Some(asks);
        let Some(called) = self.stage.calls.iter_mut().find(unread) else {
            // A call with a path that nobody knows will not turn into this one.
            let odd = self.stage.calls.iter().find(|called| called.asks.is_none());
            return match odd {
                Some(odd) => {
                    let allowed = format!("a call of /{}", asks.name());
                    Peek::other(&allowed, &call_in_words(odd), Some(odd.seq), blamed)
                }
                None => Peek::Pending,
            };
        };
        let wanted = if asks == AgentCall::Schema {
            "GET"
        } else {
            "POST"
        };
        if called.call.asked.method != wanted {
            let allowed = format!("{wanted} /{}", asks.name());
            return Peek::other(&allowed, &call_in_words(called), Some(called.seq), blamed);
        }
        if let Some(wanted) = &args.content_type {
            let headers = &called.call.asked.headers;
            let found = headers.get("content-type");
            let found = found.map(|it| String::from_utf8_lossy(it.as_bytes()).to_lowercase());
            if !found.as_ref().is_some_and(|it| it.starts_with(wanted)) {
                let allowed = format!("the content type {wanted}");
                let received = found.unwrap_or_else(|| "none".to_owned());
                return Peek::other(&allowed, &received, Some(called.seq), blamed);
            }
        }
        let body = called.call.asked.body.clone();
        if let Some(other) = compare(&body, args, called.seq, blamed) {
            return other;
        }
        let name = args.call.clone().unwrap_or_else(|| asks.name().to_owned());
        called.name = Some(name);
        self.stage.told.push(called.seq);
        Peek::Met
    }

    fn peek_dropped(&mut self, args: &Args) -> Result<Peek, Halt> {
        let named = |called: &&Called| match &args.call {
            Some(name) => called.name.as_ref() == Some(name),
            None => called.name.is_some(),
        };
        let mut calls = self.stage.calls.iter().rev();
        match calls.find(named) {
            Some(called) if called.dropped => Ok(Peek::Met),
            Some(_) => Ok(Peek::Pending),
            None => Err(script(
                "the agent server has no such call; it expects one first",
            )),
        }
    }

    fn peek_not_called(&mut self, blamed: Option<RequirementId>) -> Peek {
        let mut calls = self.stage.calls.iter();
        match calls.find(|called| called.name.is_none()) {
            Some(called) => {
                let told = call_in_words(called);
                Peek::other(
                    "no call to the agent server yet",
                    &told,
                    Some(called.seq),
                    blamed,
                )
            }
            None => Peek::Met,
        }
    }
}
