//! A conversation with a proxy, without sockets: a host, an agent server, and the words that they say.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use bytes::Bytes;
use diverge_protocol::rules::{ProxyCheckers, Revision, Violation};
use diverge_protocol::transcript::{AgentCall, LinkId, LinkKind, Role, Transcript, What};
use diverge_protocol::wire::{Frame, FrameType, Profile};
use mock_proxy::fault::{Intercepted, reference};
use mock_proxy::policy::{Admission, CallId, Endpoint, HostId, Input, Output, Proxy, Word};
use mock_proxy::settings::Settings;
use mock_proxy::{faults, variants};

/// What the proxy did, as words: `begun []`, `active`, `chunk {}`, `answer 5: 0`, `call /run {...}` and so on.
pub struct Conversation {
    proxy: Box<dyn Proxy>,
    calls: Vec<(CallId, Endpoint)>,
    done: Vec<String>,
    hosts: u64,
    revision: Revision,
    judged: Judged,
}

/// The conversation as the checkers see it.
struct Judged {
    checkers: ProxyCheckers,
    transcript: Transcript,
    hosts: HashMap<HostId, LinkId>,
    calls: HashMap<CallId, LinkId>,
    violations: Vec<Violation>,
}

impl Judged {
    fn new(revision: Revision) -> Self {
        Self {
            checkers: ProxyCheckers::new(Profile::scope(), revision),
            transcript: Transcript::default(),
            hosts: HashMap::new(),
            calls: HashMap::new(),
            violations: Vec::new(),
        }
    }

    fn link(&mut self, kind: LinkKind) -> LinkId {
        let id = self.transcript.open(kind, "link", None);
        let link = self.transcript.link(id).cloned().expect("just opened");
        self.checkers.link(&link);
        id
    }

    fn event(&mut self, link: Option<LinkId>, sender: Role, what: What) {
        // An answer to a call that was never made is heard by nobody.
        let Some(link) = link else { return };
        let seq = self.transcript.record(Duration::ZERO, link, sender, what);
        let event = &self.transcript.events[seq as usize];
        self.checkers.event(event, &mut self.violations);
    }

    /// A request for a WebSocket, and its answer.
    fn admitted(&mut self, path: &str, admission: Admission) -> Option<LinkId> {
        let kind = match path.strip_prefix("/agent/") {
            Some(name) => LinkKind::Path(AgentCall::named(name)?),
            None if path == "/" => LinkKind::Begin,
            None => return None,
        };
        let link = self.link(kind);
        let (sender, what) = match admission {
            Admission::Granted => (Role::Provider, What::Opened { subprotocol: None }),
            Admission::Refused(status) => {
                let status = Some(status);
                (Role::Proxy, What::Refused { status })
            }
        };
        self.event(Some(link), sender, what);
        Some(link)
    }

    fn input(&mut self, input: &Input) {
        let (host, what) = match input {
            Input::Opened(..) | Input::Woken => return,
            Input::Binary(host, message) => (host, What::Binary(message.clone())),
            Input::Text(host, text) => (host, What::Text(text.clone())),
            Input::Closed(host) => (host, What::Closed),
            Input::Lost(host) => (host, What::Broken),
            Input::Agent(call, word) => {
                let link = self.calls.get(call).copied();
                self.event(link, Role::AgentServer, said(word));
                return;
            }
        };
        let link = self.hosts.get(host).copied();
        self.event(link, Role::Provider, what);
    }

    fn output(&mut self, output: &Output) {
        let (host, what) = match output {
            Output::Send(host, message) | Output::Flood(host, message) => {
                (host, What::Binary(message.clone()))
            }
            Output::SendText(host, text) => (host, What::Text(text.clone())),
            Output::Close(host) => (host, What::Closed),
            Output::Drop(host) => (host, What::Broken),
            Output::Call(id, call) => {
                let link = self.link(LinkKind::Call);
                self.calls.insert(*id, link);
                let method = match call.endpoint {
                    Endpoint::Schema => "GET",
                    _ => "POST",
                };
                let request = What::Request {
                    method: method.into(),
                    path: call.endpoint.path().into(),
                    body: call.body.clone(),
                };
                self.event(Some(link), Role::Proxy, request);
                return;
            }
            Output::HangUp(id) => {
                let link = self.calls.get(id).copied();
                self.event(link, Role::Proxy, What::Broken);
                return;
            }
            Output::Wake => return,
        };
        let link = self.hosts.get(host).copied();
        self.event(link, Role::Proxy, what);
    }
}

fn said(word: &Word) -> What {
    let content_type = None;
    match word {
        Word::Failed(_) | Word::Broke(_) => What::Broken,
        Word::Ended => What::Closed,
        Word::Event(data) => What::ServerEvent(data.clone()),
        Word::Streams => What::Response {
            status: 200,
            content_type,
            body: None,
        },
        Word::Answered { status, body } => What::Response {
            status: *status,
            content_type,
            body: Some(body.clone()),
        },
    }
}

#[allow(dead_code)] // Each test binary uses some of it.
impl Conversation {
    /// With the reference of the scope revision, connected.
    pub fn new() -> Self {
        Self::with_settings(Settings::default())
    }

    /// With the reference of the scope revision under these settings, connected.
    pub fn with_settings(settings: Settings) -> Self {
        let mut talk = Self::unconnected(Revision::Scope, reference(Revision::Scope, settings));
        talk.connects("/");
        talk
    }

    /// With the reference that has this fault, connected in the scope revision.
    pub fn with_fault(name: &str) -> Self {
        let fault = faults::find(name).expect("a fault of that name");
        let proxy = Intercepted::new(fault.revisions[0], fault.build());
        let mut talk = Self::unconnected(fault.revisions[0], Box::new(proxy));
        if fault.revisions[0] == Revision::Scope {
            talk.connects_if_admitted("/");
        }
        talk
    }

    /// With the reference of that revision, connected in the scope revision.
    pub fn conforming(revision: Revision) -> Self {
        let mut talk = Self::unconnected(revision, reference(revision, Settings::default()));
        if revision == Revision::Scope {
            talk.connects_if_admitted("/");
        }
        talk
    }

    /// With that variant, connected in the scope revision.
    pub fn with_variant(name: &str, revision: Revision) -> Self {
        let variant = variants::find(name).expect("a variant of that name");
        let proxy = Intercepted::new(revision, variant.build());
        let mut talk = Self::unconnected(revision, Box::new(proxy));
        if revision == Revision::Scope {
            talk.connects("/");
        }
        talk
    }

    /// With the reference of the path revision.
    pub fn on_paths() -> Self {
        Self::on_paths_with(Settings::default())
    }

    /// With the reference of the path revision under these settings.
    pub fn on_paths_with(settings: Settings) -> Self {
        Self::unconnected(Revision::Path, reference(Revision::Path, settings))
    }

    fn unconnected(revision: Revision, proxy: Box<dyn Proxy>) -> Self {
        Self {
            proxy,
            calls: Vec::new(),
            done: Vec::new(),
            hosts: 0,
            revision,
            judged: Judged::new(revision),
        }
    }

    /// The host opens a connection on this path, which must be admitted.
    #[track_caller]
    pub fn connects(&mut self, path: &str) -> &mut Self {
        assert_eq!(self.admits(path), Admission::Granted);
        let host = HostId(self.hosts);
        self.hosts += 1;
        self.is_admitted(host, path, Admission::Granted);
        self.hear(Input::Opened(host, path.into()))
    }

    /// The host opens a connection on this path, if it is admitted; what it says on it is heard in any case.
    pub fn connects_if_admitted(&mut self, path: &str) -> &mut Self {
        let host = HostId(self.hosts);
        self.hosts += 1;
        let admission = self.admits(path);
        self.is_admitted(host, path, admission);
        if admission == Admission::Granted {
            self.hear(Input::Opened(host, path.into()));
        }
        self
    }

    /// How many connections were opened.
    pub fn connections(&self) -> u64 {
        self.hosts
    }

    /// How a request for a WebSocket is answered; a refusal is noted.
    pub fn admission(&mut self, path: &str) -> Admission {
        let admission = self.admits(path);
        self.judged.admitted(path, admission);
        admission
    }

    fn is_admitted(&mut self, host: HostId, path: &str, admission: Admission) {
        if let Some(link) = self.judged.admitted(path, admission) {
            self.judged.hosts.insert(host, link);
        }
    }

    fn admits(&mut self, path: &str) -> Admission {
        let admission = self.proxy.admit(path);
        if let Admission::Refused(status) = admission {
            self.done.push(format!("refuse {status}"));
        }
        admission
    }

    /// Something happens to the proxy.
    pub fn hear(&mut self, input: Input) -> &mut Self {
        let mut out = Vec::new();
        self.judged.input(&input);
        self.proxy.on(input, &mut out);
        while let Some(at) = out.iter().position(|output| *output == Output::Wake) {
            out.remove(at);
            self.proxy.on(Input::Woken, &mut out);
        }
        for output in out {
            self.judged.output(&output);
            self.note(output);
        }
        self
    }

    /// The host sends a frame on its first connection.
    pub fn host(
        &mut self,
        kind: FrameType,
        scope: u32,
        channel: u32,
        payload: impl Into<Bytes>,
    ) -> &mut Self {
        self.sends(0, Frame::new(kind, scope, channel, payload).encode())
    }

    /// The host sends a binary message on its nth connection, counted from 0.
    pub fn sends(&mut self, nth: u64, message: impl Into<Bytes>) -> &mut Self {
        self.hear(Input::Binary(HostId(nth), message.into()))
    }

    /// The host asks to begin on scope 1.
    pub fn begins(&mut self) -> &mut Self {
        self.host(FrameType::Request, 1, 0, "\0{\"arguments\":{ \"m\":1.50 }}")
    }

    /// The program begins on scope 1, and what it took to get there is forgotten.
    pub fn begun(&mut self) -> &mut Self {
        self.begins().answers(Endpoint::Register, 200, "{}");
        self.done.clear();
        self
    }

    /// The host opens a channel on scope 1.
    pub fn asks(&mut self, channel: u32, payload: impl Into<Bytes>) -> &mut Self {
        self.host(FrameType::ChannelRequest, 1, channel, payload)
    }

    /// The host enqueues a text under this key.
    pub fn enqueues(&mut self, channel: u32, key: &str) -> &mut Self {
        self.asks(channel, format!("\x03{}", message(key)))
    }

    /// The host dequeues this key.
    pub fn dequeues(&mut self, channel: u32, key: &str) -> &mut Self {
        self.asks(channel, format!("\x04{{\"key\":\"{key}\"}}"))
    }

    /// The agent server says something on its newest call of that endpoint.
    pub fn says(&mut self, endpoint: Endpoint, word: Word) -> &mut Self {
        let mut calls = self.calls.iter().rev();
        let id = calls.find(|(_, of)| *of == endpoint).map(|(id, _)| *id);
        // A fault may have made no such call; then nobody hears the answer.
        self.hear(Input::Agent(id.unwrap_or(CallId(u64::MAX)), word))
    }

    /// The agent server answers its newest call of that endpoint.
    pub fn answers(&mut self, endpoint: Endpoint, status: u16, body: &str) -> &mut Self {
        let body = Bytes::copy_from_slice(body.as_bytes());
        self.says(endpoint, Word::Answered { status, body })
    }

    /// The agent server's newest run starts.
    pub fn streams(&mut self) -> &mut Self {
        self.says(Endpoint::Run, Word::Streams)
    }

    /// An event comes.
    pub fn event(&mut self, data: &'static str) -> &mut Self {
        self.says(Endpoint::Run, Word::Event(data.into()))
    }

    /// The events end.
    pub fn ends(&mut self) -> &mut Self {
        self.says(Endpoint::Run, Word::Ended)
    }

    /// The proxy has done exactly this since it was asked last.
    #[track_caller]
    pub fn did(&mut self, expected: &[&str]) -> &mut Self {
        assert_eq!(self.done(), expected);
        self
    }

    /// The proxy has done exactly as much since it was asked last, and each thing begins like this.
    #[track_caller]
    pub fn did_like(&mut self, expected: &[&str]) -> &mut Self {
        let done = self.done();
        let like = done
            .iter()
            .zip(expected)
            .all(|(did, like)| did.starts_with(like));
        assert!(
            like && done.len() == expected.len(),
            "{done:#?} is not {expected:#?}"
        );
        self
    }

    /// What the proxy has done since it was asked last.
    pub fn done(&mut self) -> Vec<String> {
        std::mem::take(&mut self.done)
    }

    /// The requirements that the checkers say it broke.
    pub fn broken(&mut self) -> BTreeSet<&'static str> {
        let judged = &mut self.judged;
        judged.checkers.end(&mut judged.violations);
        let violations = judged.violations.iter();
        violations.map(|it| it.requirement.as_str()).collect()
    }

    fn note(&mut self, output: Output) {
        let words = match output {
            Output::Send(_, bytes) if self.revision == Revision::Scope => frame(&bytes),
            Output::Send(HostId(nth), bytes) => format!("{nth}: {}", payload(&bytes)),
            Output::Close(HostId(nth)) => format!("close {nth}"),
            Output::Call(id, call) => {
                self.calls.push((id, call.endpoint));
                let body = String::from_utf8_lossy(&call.body);
                let kind = match call.content_type.starts_with("application/json") {
                    true => "",
                    false => call.content_type,
                };
                format!("call {} {body} {kind}", call.endpoint.path())
                    .trim_end()
                    .to_owned()
            }
            Output::HangUp(id) => {
                let mut calls = self.calls.iter();
                let (_, endpoint) = calls.find(|(of, _)| *of == id).expect("a call");
                format!("hang up {}", endpoint.path())
            }
            other => format!("{other:?}"),
        };
        self.done.push(words);
    }
}

/// The JSON of a message with one text under this key.
pub fn message(key: &str) -> String {
    format!("{{\"key\":\"{key}\",\"content\":[{{\"type\":\"text\",\"text\":\"{key}!\"}}]}}")
}

fn payload(bytes: &[u8]) -> String {
    match bytes.split_first() {
        Some((first, body)) => format!("{first}{}", String::from_utf8_lossy(body)),
        None => String::new(),
    }
}

/// A frame in words: its payload, with the first byte in words or as a number, and the channel where there is one. What
/// is not on scope 1 names its scope.
fn frame(bytes: &Bytes) -> String {
    let Ok(frame) = Frame::decode(bytes.clone()) else {
        return format!("no frame {bytes:?}");
    };
    let payload = match (frame.kind, frame.payload.split_first()) {
        (FrameType::Response, Some((first, body))) => {
            let words = ["begun", "error", "chunk", "active", "inactive"];
            let word = words.get(usize::from(*first)).copied().unwrap_or("odd");
            format!("{word} {}", String::from_utf8_lossy(body))
                .trim_end()
                .to_owned()
        }
        _ => payload(&frame.payload),
    };
    let words = match frame.kind {
        FrameType::Response => payload,
        FrameType::ResponseFinish => format!("finish{payload}"),
        FrameType::ChannelResponse => format!("answer {}: {payload}", frame.channel),
        FrameType::ChannelResponseFinish => format!("finish {}{payload}", frame.channel),
        other => format!("{} {payload}", other.name()),
    };
    match frame.scope {
        1 => words,
        scope => format!("scope {scope}: {words}"),
    }
}
