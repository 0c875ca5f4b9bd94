//! What a step expects of an agent server: compared with what has come, without waiting itself.

use std::time::Duration;

use bytes::Bytes;
use diverge_protocol::rules::RequirementId;
use diverge_protocol::scenario::Args;
use diverge_protocol::scenario::acts::AgentServerAct;
use diverge_protocol::wire::agent_server::{Endpoint, Fate, Outcome};
use serde_json::Value;

use super::super::describe::shorten;
use super::super::halt::{Halt, Peek};
use super::judge::Answer;
use super::stage::{Called, Stream};
use super::{Player, script};

const OVER: &str = "the loop was over before what the scenario does in it had come; a program that stays in it for longer tells more";
/// A loop that is ended for another's sake ends within this.
const ENDED_FOR_IT: Duration = Duration::from_millis(300);

/// An answer in words.
pub(super) fn in_words(answer: &Answer) -> String {
    let body = shorten(&String::from_utf8_lossy(&answer.body), 120);
    format!("status {} with the body {body:?}", answer.status)
}

impl Player<'_> {
    pub(super) fn peek_act(
        &mut self,
        act: AgentServerAct,
        args: &Args,
        blamed: Option<RequirementId>,
    ) -> Result<Peek, Halt> {
        let at = self.called(args, act)?;
        match act {
            AgentServerAct::Answer => self.peek_answer(at, args, blamed),
            AgentServerAct::Stream => Ok(self.peek_stream(at, blamed)),
            AgentServerAct::NextEvent | AgentServerAct::Event => {
                let next = act == AgentServerAct::NextEvent;
                self.peek_event(at, next, args, blamed)
            }
            AgentServerAct::End => self.peek_end(at, blamed),
            AgentServerAct::NoAnswer => self.peek_no_answer(at, blamed),
            _ => Err(script("this step is done, not expected")),
        }
    }

    /// The call that a step names, or else the newest that it fits.
    fn called(&self, args: &Args, act: AgentServerAct) -> Result<usize, Halt> {
        let loops = matches!(
            act,
            AgentServerAct::Stream
                | AgentServerAct::NextEvent
                | AgentServerAct::Event
                | AgentServerAct::End
        );
        let fits = |called: &Called| match &args.call {
            Some(name) => called.name == *name,
            None if loops => called.endpoint == Endpoint::Run && !called.dropped,
            None => !called.read,
        };
        let mut calls = self.stage.calls.iter();
        calls
            .rposition(fits)
            .ok_or_else(|| script("there is no such call; make it first"))
    }

    /// What stands in the way of an answer.
    fn no_answer(&self, at: usize, allowed: &str, blamed: Option<RequirementId>) -> Option<Peek> {
        let (seq, why) = self.stage.calls[at].broken.as_ref()?;
        Some(Peek::other(allowed, why, Some(*seq), blamed))
    }

    /// A call that is still to be answered, or whose stream goes on.
    fn peek_no_answer(&self, at: usize, blamed: Option<RequirementId>) -> Result<Peek, Halt> {
        let called = &self.stage.calls[at];
        let ended = called.stream.as_ref().and_then(|it| it.ended);
        if let Some((seq, _)) = ended {
            if self.by_itself(seq) {
                return Err(Halt::TooLate(OVER.to_owned()));
            }
            let allowed = "a stream that goes on";
            return Ok(Peek::other(allowed, "its end", Some(seq), blamed));
        }
        let Some(answer) = &called.answer else {
            return Ok(Peek::Met);
        };
        self.in_time(at, answer)?;
        let received = in_words(answer);
        Ok(Peek::other(
            "no answer yet",
            &received,
            Some(answer.seq),
            blamed,
        ))
    }

    fn peek_answer(
        &mut self,
        at: usize,
        args: &Args,
        blamed: Option<RequirementId>,
    ) -> Result<Peek, Halt> {
        let called = &self.stage.calls[at];
        let allowed = self.allowed(args)?;
        if let Some(stream) = &called.stream {
            let received = format!("status {} and a stream", stream.status);
            return Ok(Peek::other(&allowed, &received, Some(stream.seq), blamed));
        }
        let Some(answer) = &called.answer else {
            return Ok(self
                .no_answer(at, &allowed, blamed)
                .unwrap_or(Peek::Pending));
        };
        let class = match args.class.as_deref() {
            Some("success") => answer.is_success(),
            Some("refused") => !answer.is_success(),
            Some("4xx") => (400..500).contains(&answer.status),
            _ => args.answer.is_none() || answer.is_success(),
        };
        let status = args.status.is_none_or(|status| status == answer.status);
        let told = args.answer.as_deref().is_none_or(|wanted| {
            let told = match called.endpoint {
                Endpoint::Enqueue => Fate::decode(&answer.body).map(Fate::name),
                _ => Outcome::decode(&answer.body).map(Outcome::name),
            };
            told.is_ok_and(|told| told == wanted)
        });
        if class && status && told && self.alike(&answer.body, args)? {
            self.stage.told.push(answer.seq);
            self.stage.calls[at].read = true;
            return Ok(Peek::Met);
        }
        if matches!(args.answer.as_deref(), Some("delivered" | "dequeued")) {
            self.in_time(at, answer)?;
        }
        let received = in_words(answer);
        Ok(Peek::other(&allowed, &received, Some(answer.seq), blamed))
    }

    /// Fails where an answer says that there is no loop, and the loop that the step is about had come to its end: on a busy
    /// machine the harness may have been slower than the program.
    fn in_time(&self, at: usize, answer: &Answer) -> Result<(), Halt> {
        let idle = match self.stage.calls[at].endpoint {
            Endpoint::Enqueue => Fate::decode(&answer.body) == Ok(Fate::Missed),
            Endpoint::Dequeue => Outcome::decode(&answer.body) == Ok(Outcome::Empty),
            _ => false,
        };
        let mut calls = self.stage.calls.iter().rev();
        let stream: Option<&Stream> = calls.find_map(|it| it.stream.as_ref());
        let ended = stream.and_then(|stream| stream.ended.as_ref());
        let over = ended.is_some_and(|(seq, _)| *seq < answer.seq);
        // Whoever says that a message was taken back has come to it in time.
        let taken_back = self.stage.calls.iter().any(|it| {
            let answer = it.answer.as_ref().filter(|it| it.is_success());
            it.endpoint == Endpoint::Dequeue
                && answer.is_some_and(|it| Outcome::decode(&it.body) == Ok(Outcome::Dequeued))
        });
        let missed = self.stage.calls[at].endpoint == Endpoint::Enqueue;
        if idle && answer.is_success() && over && !(missed && taken_back) {
            return Err(Halt::TooLate(OVER.to_owned()));
        }
        Ok(())
    }

    /// Whether a loop came to its end long after another was refused, and so not for that.
    fn by_itself(&self, end: u64) -> bool {
        let runs = self.stage.calls.iter();
        let refusals = runs.filter(|it| it.endpoint == Endpoint::Run);
        let refused = refusals.filter_map(|it| it.answer.as_ref()).next_back();
        let at = |seq: u64| {
            let events = &self.stage.transcript.events;
            events.iter().find(|it| it.seq == seq).map(|it| it.at)
        };
        match (refused.and_then(|it| at(it.seq)), at(end)) {
            (Some(refused), Some(ended)) => ended.saturating_sub(refused) > ENDED_FOR_IT,
            _ => false,
        }
    }

    fn peek_stream(&mut self, at: usize, blamed: Option<RequirementId>) -> Peek {
        let allowed = "a 2xx with an event stream";
        let called = &mut self.stage.calls[at];
        if let Some(stream) = &called.stream {
            self.stage.told.push(stream.seq);
            called.read = true;
            return Peek::Met;
        }
        if let Some(answer) = &called.answer {
            return Peek::other(allowed, &in_words(answer), Some(answer.seq), blamed);
        }
        self.no_answer(at, allowed, blamed).unwrap_or(Peek::Pending)
    }

    fn peek_event(
        &mut self,
        at: usize,
        next: bool,
        args: &Args,
        blamed: Option<RequirementId>,
    ) -> Result<Peek, Halt> {
        let allowed = self.allowed(args)?;
        loop {
            let Some(stream) = &mut self.stage.calls[at].stream else {
                return Err(script("the call has no stream; expect it first"));
            };
            let Some((seq, data)) = stream.events.pop_front() else {
                return Ok(match stream.ended {
                    Some((seq, _)) => Peek::other(
                        &format!("an event with {allowed}"),
                        "the end of the stream",
                        Some(seq),
                        blamed,
                    ),
                    None => Peek::Pending,
                });
            };
            if self.alike(&data, args)? {
                self.stage.told.push(seq);
                return Ok(Peek::Met);
            }
            if next {
                let received = shorten(&String::from_utf8_lossy(&data), 160);
                let allowed = format!("an event with {allowed}");
                return Ok(Peek::other(&allowed, &received, Some(seq), blamed));
            }
        }
    }

    fn peek_end(&mut self, at: usize, _blamed: Option<RequirementId>) -> Result<Peek, Halt> {
        let Some(stream) = &mut self.stage.calls[at].stream else {
            return Err(script("the call has no stream; expect it first"));
        };
        let read = stream.events.drain(..);
        self.stage.told.extend(read.map(|(seq, _)| seq));
        Ok(match stream.ended {
            // One that broke off has broken a rule already.
            Some((seq, _)) => {
                self.stage.told.push(seq);
                Peek::Met
            }
            None => Peek::Pending,
        })
    }

    /// Whether a text is the JSON that a step wants, or has the parts that it wants.
    fn alike(&self, found: &Bytes, args: &Args) -> Result<bool, Halt> {
        let value: Value = serde_json::from_slice(found).unwrap_or_default();
        let parse = |json: &str| {
            let text = self.fill(json)?;
            serde_json::from_str::<Value>(&text).map_err(|error| script(error.to_string()))
        };
        if let Some(json) = &args.json
            && parse(json)? != value
        {
            return Ok(false);
        }
        for (pointer, json) in &args.parts {
            if value.pointer(pointer) != Some(&parse(json)?) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// What a step wants, in words.
    fn allowed(&self, args: &Args) -> Result<String, Halt> {
        let mut wanted = Vec::new();
        wanted.extend(args.class.as_deref().map(|class| match class {
            "success" => "a 2xx".to_owned(),
            "refused" => "an answer that is no 2xx".to_owned(),
            class => format!("a {class}"),
        }));
        wanted.extend(args.status.map(|status| format!("status {status}")));
        wanted.extend(
            args.answer
                .as_ref()
                .map(|told| format!("the answer {told}")),
        );
        if let Some(json) = &args.json {
            wanted.push(format!("JSON equal to {}", shorten(&self.fill(json)?, 160)));
        }
        for (pointer, json) in &args.parts {
            wanted.push(format!("{} at {pointer}", shorten(&self.fill(json)?, 160)));
        }
        Ok(match wanted.is_empty() {
            true => "anything".to_owned(),
            false => wanted.join(", "),
        })
    }
}
