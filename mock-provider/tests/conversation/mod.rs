//! A conversation with a provider, without sockets: one client, one proxy, and the words that they say.

use bytes::Bytes;
use diverge_protocol::wire::run::Mode;
use diverge_protocol::wire::{Frame, FrameType, credential_payload};
use mock_provider::fault::Intercepted;
use mock_provider::policy::{ClientId, Input, Output, Policy, Provider, RunId};
use mock_provider::settings::{Settings, Volume, Volumes};
use mock_provider::{faults, variants};

/// The client of all conversations.
pub const CLIENT: ClientId = ClientId(0);

/// What the provider did, as words: `id`, `8`, `7{}` and `finish` on scope 1, `dial`, `begin {...}` and so on.
pub struct Conversation {
    provider: Box<dyn Provider>,
    done: Vec<String>,
    /// The run that was dialled for last.
    pub run: Option<RunId>,
    /// The ids that the client was told.
    pub ids: Vec<String>,
}

/// The settings of all conversations.
pub fn settings() -> Settings {
    let volume = |name: &str| {
        Some(Volume {
            name: name.into(),
            mode: Mode::Persistent,
        })
    };
    let volumes = Volumes {
        held: volume("held"),
        mounted: volume("mounted"),
        fuse_served: volume("served"),
        mount_unsupported: volume("unsupported"),
        mode: volume("free"),
    };
    Settings::new("tok", volumes)
}

#[allow(dead_code)] // Each test binary uses some of it.
impl Conversation {
    /// With the reference, after the credential.
    pub fn new() -> Self {
        let mut talk = Self::before_credential(Box::new(Policy::new(settings())));
        talk.client(FrameType::Authorization, 0, 0, credential_payload("tok"));
        talk
    }

    /// With the reference that has this fault, after the credential.
    pub fn with_fault(name: &str) -> Self {
        let fault = faults::find(name).expect("a fault of that name");
        let mut talk =
            Self::before_credential(Box::new(Intercepted::new(settings(), fault.build())));
        talk.client(FrameType::Authorization, 0, 0, credential_payload("tok"));
        talk
    }

    /// With that variant, after the credential.
    pub fn with_variant(name: &str) -> Self {
        let variant = variants::find(name).expect("a variant of that name");
        let mut talk =
            Self::before_credential(Box::new(Intercepted::new(settings(), variant.build())));
        talk.client(FrameType::Authorization, 0, 0, credential_payload("tok"));
        talk
    }

    /// With this provider, whose client has just connected.
    pub fn before_credential(provider: Box<dyn Provider>) -> Self {
        let mut talk = Self {
            provider,
            done: Vec::new(),
            run: None,
            ids: Vec::new(),
        };
        talk.hear(Input::ClientOpened(CLIENT));
        talk
    }

    /// Something happens to the provider.
    pub fn hear(&mut self, input: Input) -> &mut Self {
        let mut out = Vec::new();
        self.provider.on(input, &mut out);
        while let Some(at) = out.iter().position(|output| *output == Output::Wake) {
            out.remove(at);
            self.provider.on(Input::Woken, &mut out);
        }
        for output in out {
            self.note(output);
        }
        self
    }

    /// The client sends a frame.
    pub fn client(
        &mut self,
        kind: FrameType,
        scope: u32,
        channel: u32,
        payload: impl Into<Bytes>,
    ) -> &mut Self {
        self.hear(Input::ClientBinary(
            CLIENT,
            Frame::new(kind, scope, channel, payload).encode(),
        ))
    }

    /// The client asks for a run on scope 1.
    pub fn request(&mut self, mounts: &str) -> &mut Self {
        let text = format!(
            "\0{{\"image\":{{\"name\":\"acme/echo\",\"digest\":\"sha256:00\"}},\"memory\":1,\"disk\":1,{mounts}\"arguments\":{{ \"m\":1.50 }}}}"
        );
        self.client(FrameType::Request, 1, 0, text)
    }

    /// The client opens a channel on scope 1.
    pub fn ask(&mut self, channel: u32, payload: impl Into<Bytes>) -> &mut Self {
        self.client(FrameType::ChannelRequest, 1, channel, payload)
    }

    /// The proxy of the run sends a frame on the begin scope.
    pub fn proxy(&mut self, kind: FrameType, channel: u32, payload: impl Into<Bytes>) -> &mut Self {
        let run = self.run.expect("a run that was dialled for");
        self.hear(Input::ProxyBinary(
            run,
            Frame::new(kind, 1, channel, payload).encode(),
        ))
    }

    /// The proxy accepts the connection.
    pub fn opened(&mut self) -> &mut Self {
        self.hear(Input::ProxyOpened(
            self.run.expect("a run that was dialled for"),
        ))
    }

    /// The proxy sends a response on the begin scope.
    pub fn says(&mut self, payload: impl Into<Bytes>) -> &mut Self {
        self.proxy(FrameType::Response, 0, payload)
    }

    /// A run on scope 1 starts, and what it took to get there is forgotten.
    pub fn started(&mut self) -> &mut Self {
        self.request("").opened().says("\0[]");
        self.done.clear();
        self
    }

    /// The provider has done exactly this since it was asked last.
    #[track_caller]
    pub fn did(&mut self, expected: &[&str]) -> &mut Self {
        assert_eq!(self.done(), expected);
        self
    }

    /// What the provider has done since it was asked last.
    pub fn done(&mut self) -> Vec<String> {
        std::mem::take(&mut self.done)
    }

    fn note(&mut self, output: Output) {
        let words = match output {
            Output::Dial(run) => {
                self.run = Some(run);
                "dial".into()
            }
            Output::ToClient(_, bytes) => self.told(&bytes),
            Output::ToProxy(_, bytes) => format!("proxy: {}", frame(&bytes)),
            Output::CloseProxy(_) => "close proxy".into(),
            Output::CloseClient(_) => "close client".into(),
            Output::DropClient(_) => "drop client".into(),
            other => format!("{other:?}"),
        };
        self.done.push(words);
    }

    fn told(&mut self, bytes: &Bytes) -> String {
        if bytes.first() == Some(&FrameType::Response.byte()) && bytes.get(9) == Some(&0) {
            let body: serde_json::Value =
                serde_json::from_slice(&bytes[10..]).expect("JSON behind the id's byte");
            self.ids
                .push(body["id"].as_str().expect("an id").to_owned());
            return "id".into();
        }
        frame(bytes)
    }
}

/// A frame in words: its payload, with the first byte as a number; the channel in front where there is one.
fn frame(bytes: &Bytes) -> String {
    let frame = Frame::decode(bytes.clone()).expect("a frame");
    assert_eq!(frame.scope, 1);
    let payload = match frame.payload.split_first() {
        Some((first, body)) => format!("{first}{}", String::from_utf8_lossy(body)),
        None => String::new(),
    };
    match frame.kind {
        FrameType::Authorization => format!("credential {payload}"),
        FrameType::Request => format!("request {payload}"),
        FrameType::Response => payload,
        FrameType::ResponseFinish => format!("finish{payload}"),
        FrameType::ChannelRequest => format!("ask {}: {payload}", frame.channel),
        FrameType::ChannelResponse => format!("answer {}: {payload}", frame.channel),
        FrameType::ChannelResponseFinish => format!("finish {}{payload}", frame.channel),
    }
}
