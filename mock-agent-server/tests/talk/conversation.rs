//! Conversations with an agent server without sockets.

use diverge_protocol::rules::Revision;
use diverge_protocol::wire::agent_server::Endpoint;
use mock_agent_server::fault::{Intercepted, Interceptor};
use mock_agent_server::policy::{AgentServer, Alarm, Input, Output, Policy};
use mock_agent_server::settings::{ARGUMENTS, MESSAGES, Settings};
use mock_agent_server::{Asked, CallId};
use serde_json::Value;

/// Something that happened in a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The server was told something.
    Told(Input),
    /// The server did something.
    Did(Output),
}

/// A server, and what it did since it was last looked at, in words.
pub struct Conversation {
    server: Box<dyn AgentServer>,
    revision: Revision,
    calls: u64,
    did: Vec<String>,
    log: Vec<Event>,
    alarm: Option<Alarm>,
    wakes: usize,
}

impl Conversation {
    /// A conversation with the reference.
    pub fn new(revision: Revision) -> Self {
        Self::of(Box::new(Policy::new(Settings::new(revision))), revision)
    }

    /// A conversation with the reference behind an interceptor.
    pub fn with(revision: Revision, intercept: Interceptor) -> Self {
        let server = Intercepted::new(Settings::new(revision), intercept);
        Self::of(Box::new(server), revision)
    }

    fn of(server: Box<dyn AgentServer>, revision: Revision) -> Self {
        Self {
            server,
            revision,
            calls: 0,
            did: Vec::new(),
            log: Vec::new(),
            alarm: None,
            wakes: 0,
        }
    }

    fn hear(&mut self, input: Input) -> &mut Self {
        let mut inputs = vec![input];
        while !inputs.is_empty() {
            let mut out = Vec::new();
            let input = inputs.remove(0);
            self.log.push(Event::Told(input.clone()));
            self.server.on(input, &mut out);
            for output in out {
                self.log.push(Event::Did(output.clone()));
                self.note(output);
            }
            if self.wakes > 0 {
                self.wakes -= 1;
                inputs.push(Input::Woken);
            }
        }
        self
    }

    fn note(&mut self, output: Output) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let said = match output {
            Output::Answer(call, answer) => {
                let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
                let kind = body["kind"].as_str().or(body["type"].as_str());
                let body = kind.map_or_else(|| text(&answer.body), str::to_owned);
                format!("{}: {} {body}", call.0, answer.status)
                    .trim_end()
                    .to_owned()
            }
            Output::Stream(call, head) => format!("{}: stream {}", call.0, head.status),
            Output::Event(call, chunk) => format!("{}: {}", call.0, told(&chunk)),
            Output::Raw(call, bytes) => format!("{}: raw {}", call.0, text(&bytes)),
            Output::Flood(call, _) => format!("{}: flood", call.0),
            Output::End(call) => format!("{}: end", call.0),
            Output::Cut(call) => format!("{}: cut", call.0),
            Output::Alarm(alarm, _) => return self.alarm = Some(alarm),
            Output::Wake => return self.wakes += 1,
        };
        self.did.push(said);
    }

    /// Asks on an endpoint; calls are numbered from 1.
    pub fn ask(&mut self, endpoint: Endpoint, body: &str) -> &mut Self {
        self.call(endpoint.method(), endpoint.name(), body)
    }

    /// Asks in any way.
    pub fn call(&mut self, method: &str, path: &str, body: &str) -> &mut Self {
        self.calls += 1;
        let asked = Asked {
            method: method.into(),
            path: path.into(),
            headers: Default::default(),
            body: body.to_owned().into(),
        };
        self.hear(Input::Called(CallId(self.calls), asked))
    }

    /// Registers good arguments.
    pub fn registered(&mut self) -> &mut Self {
        let name = match self.revision {
            Revision::Scope => "arguments",
            Revision::Path => "agent",
        };
        self.ask(Endpoint::Register, &format!("{{\"{name}\":{ARGUMENTS}}}"));
        self.did.clear();
        self
    }

    fn body(&self, key: &str, text: &str) -> String {
        let text = Value::from(text);
        match self.revision {
            Revision::Scope => {
                format!("{{\"key\":\"{key}\",\"content\":[{{\"type\":\"text\",\"text\":{text}}}]}}")
            }
            Revision::Path => format!("{{\"prompt\":{text}}}"),
        }
    }

    /// Asks for a loop on one message under the key `k`.
    pub fn run(&mut self, text: &str) -> &mut Self {
        let body = match self.revision {
            Revision::Scope => format!("{{\"messages\":[{}]}}", self.body("k", text)),
            Revision::Path => self.body("k", text),
        };
        self.ask(Endpoint::Run, &body)
    }

    /// Asks for a message to join.
    pub fn enqueue(&mut self, key: &str, text: &str) -> &mut Self {
        let body = self.body(key, text);
        self.ask(Endpoint::Enqueue, &body)
    }

    /// Asks for messages to be taken back.
    pub fn dequeue(&mut self, key: &str) -> &mut Self {
        let body = match self.revision {
            Revision::Scope => format!("{{\"key\":\"{key}\"}}"),
            Revision::Path => "{}".to_owned(),
        };
        self.ask(Endpoint::Dequeue, &body)
    }

    /// The caller of that call leaves.
    pub fn drops(&mut self, call: u64) -> &mut Self {
        self.hear(Input::Dropped(CallId(call)))
    }

    /// The last alarm rings.
    pub fn rings(&mut self) -> &mut Self {
        match self.alarm.take() {
            Some(alarm) => self.hear(Input::Rung(alarm)),
            None => panic!("no alarm was set"),
        }
    }

    /// The server did this since it was last looked at.
    #[track_caller]
    pub fn did(&mut self, expected: &[&str]) -> &mut Self {
        assert_eq!(std::mem::take(&mut self.did), expected);
        self
    }

    /// What the server did since it was last looked at.
    pub fn done(&mut self) -> Vec<String> {
        std::mem::take(&mut self.did)
    }

    /// Everything that the server was told and did, to the byte.
    pub fn log(&self) -> &[Event] {
        &self.log
    }

    /// Plays everything that there is to play, so that whatever stands in between is met.
    pub fn plays_everything(&mut self) -> &mut Self {
        self.ask(Endpoint::Schema, "").run(MESSAGES.ordinary);
        self.enqueue("early", "x").dequeue("early");
        let refused = r#"{"arguments":{"refused":true},"agent":{"refused":true}}"#;
        self.ask(Endpoint::Register, refused);
        self.ask(Endpoint::Register, "{}");
        self.ask(Endpoint::Register, "nonsense")
            .registered()
            .registered();
        self.ask(
            Endpoint::Register,
            &format!("{{\"arguments\":{ARGUMENTS},\"agent\":{ARGUMENTS}}}"),
        );
        self.ask(Endpoint::Run, "{}")
            .ask(Endpoint::Run, "{\"messages\":[]}");
        for content in ["[]", r#"[{"type":"smell"}]"#] {
            let message = format!("{{\"key\":\"k\",\"content\":{content}}}");
            self.ask(Endpoint::Run, &format!("{{\"messages\":[{message}]}}"));
        }
        let blocks = r#"[{"type":"text","text":" é <b>e\u0301</b>\r\n"},{"type":"text","text":""},{"type":"image","data":"AA==","mimeType":"image/png","_meta":{"a":1}},
            {"type":"audio","data":"AA==","mimeType":"audio/wav"},
            {"type":"resource","resource":{"uri":"u:","text":"t"}},
            {"type":"resource_link","uri":"u:","name":"n","title":"t","annotations":{"priority":0.5}}]"#;
        let many = format!(
            "{{\"messages\":[{{\"key\":\"z Z \",\"content\":{blocks}}},{{\"key\":\"a\",\"content\":{blocks}}}],\"prompt\":\"x\"}}"
        );
        self.ask(Endpoint::Run, &many);
        self.run(&"long ".repeat(1000))
            .run(MESSAGES.tool)
            .run(MESSAGES.ordinary)
            .run(MESSAGES.failing);
        self.run(MESSAGES.long)
            .run(MESSAGES.ordinary)
            .ask(Endpoint::Schema, "");
        let joining = format!("{{\"key\":\"j\",\"content\":{blocks},\"prompt\":\"x\"}}");
        self.ask(Endpoint::Enqueue, &joining)
            .dequeue("j")
            .dequeue("other");
        self.run(MESSAGES.holding);
        for key in ["a", "a", "b", "c"] {
            self.enqueue(key, "x");
        }
        self.ask(Endpoint::Enqueue, r#"{"key":"k","content":[]}"#);
        self.ask(
            Endpoint::Enqueue,
            r#"{"key":"k","content":[{"type":"smell"}]}"#,
        );
        self.ask(Endpoint::Enqueue, "nonsense")
            .ask(Endpoint::Dequeue, "{}");
        self.dequeue("a").dequeue("nobody").dequeue("C");
        if self.alarm.is_some() {
            self.rings();
        }
        self.run(MESSAGES.long);
        let last = self.calls;
        self.drops(last).run(MESSAGES.holding).enqueue("left", "x");
        let last = self.calls - 1;
        self.drops(last).run(MESSAGES.ordinary)
    }
}

/// A chunk in a word or two.
fn told(chunk: &[u8]) -> String {
    let chunk: Value = serde_json::from_slice(chunk).unwrap_or_default();
    let kind = chunk["type"].as_str().unwrap_or("?");
    let short = match kind {
        "assistant_reasoning" => "thinks",
        "assistant_text_content" => "says",
        "assistant_tool_call" => "calls",
        "tool_response" => "response",
        "notification" if chunk["is_fatal"] == true => "fatal",
        other => other,
    };
    match chunk["key"].as_str() {
        Some(key) => format!("{short} {key}"),
        None => short.to_owned(),
    }
}
