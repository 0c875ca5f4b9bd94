//! A scenario as the loader hands it over: who sends or expects what, in order.

use std::sync::Arc;

use super::acts::Act;
pub use super::node::Place;
pub use crate::rules::Iut;
use crate::rules::revisions::Span;
use crate::rules::{RequirementId, Revision};
use crate::transcript::AgentCall;
use crate::wire::mutate::Mutation;
use crate::wire::vocabulary::vocabulary;

/// A scenario file or a built-in one, by name, with its text for excerpts.
#[derive(Debug)]
pub struct Source {
    /// The path as the user wrote it, or as it stands below `scenarios/`.
    pub path: String,
    /// The whole text.
    pub text: String,
}

/// A place in a source.
#[derive(Debug, Clone)]
pub struct Located {
    /// The file.
    pub source: Arc<Source>,
    /// Where in it.
    pub place: Place,
}

impl Located {
    /// `path:line:column`.
    #[must_use]
    pub fn display(&self) -> String {
        format!(
            "{}:{}:{}",
            self.source.path, self.place.line, self.place.column
        )
    }
}

/// A volume that the configuration must name before a scenario can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fixture {
    /// A volume under an exclusive operation.
    Held,
    /// A volume of a running container, on a server that mounts its mode once.
    Mounted,
    /// A volume under a FUSE serve, on a server that mounts none beside one.
    FuseServed,
    /// A volume of a mode that the server does not mount.
    MountUnsupported,
    /// A volume that can be mounted in its mode.
    Mode,
}

impl Fixture {
    /// All of them, as the configuration names them.
    pub const ALL: [(Self, &'static str); 5] = [
        (Self::Held, "held"),
        (Self::Mounted, "mounted"),
        (Self::FuseServed, "fuse_served"),
        (Self::MountUnsupported, "mount_unsupported"),
        (Self::Mode, "mode"),
    ];

    /// The configuration key below `[provider.volumes]`.
    #[must_use]
    pub fn key(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(fixture, _)| *fixture == self)
            .map_or("", |(_, key)| key)
    }
}

/// One scenario, with its fragments played in and its case filled in.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// `iut/topic/name`, and `/case` where it has cases.
    pub id: String,
    /// The id without the case: scenarios that differ in data alone share it.
    pub family: String,
    /// One line for people.
    pub title: String,
    /// Whom it judges.
    pub iut: Iut,
    /// By which revision.
    pub revision: Revision,
    /// What it tests; the first is blamed where nothing finer is known.
    pub requirements: Vec<RequirementId>,
    /// The freedom that it pins, where it exists to keep a conforming variant green.
    pub freedom: Option<String>,
    /// The first and the last revision that has it.
    pub span: Span,
    /// Whether it needs its proxy address for itself.
    pub exclusive: bool,
    /// Fixtures without which it is not applicable.
    pub needs: Vec<Fixture>,
    /// The conversation.
    pub steps: Vec<Step>,
    /// Where it is written.
    pub at: Located,
}

impl Scenario {
    /// The second part of the id.
    #[must_use]
    pub fn topic(&self) -> &str {
        self.id.split('/').nth(1).unwrap_or_default()
    }

    /// Calls `visit` for every step, also inside alternatives.
    pub fn each_step<'a>(&'a self, visit: &mut dyn FnMut(&'a Step)) {
        fn walk<'a>(steps: &'a [Step], visit: &mut dyn FnMut(&'a Step)) {
            for step in steps {
                visit(step);
                match &step.action {
                    Action::EitherOrder(branches) | Action::OneOf(branches) => {
                        branches.iter().for_each(|branch| walk(branch, visit));
                    }
                    Action::Repeat(_, inner) | Action::AnyNumberOf(inner) => walk(inner, visit),
                    _ => {}
                }
            }
        }
        walk(&self.steps, visit);
    }
}

/// What a failing step means for the verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Part {
    /// The probe itself: a divergence is a failure.
    #[default]
    Probe,
    /// The mended conversation: a divergence makes the scenario inconclusive, unless a rule was broken.
    Control,
}

/// One step.
#[derive(Debug, Clone)]
pub struct Step {
    /// Where it is written; a played fragment's steps stand in the fragment.
    pub at: Located,
    /// What happens.
    pub action: Action,
    /// Its details.
    pub args: Args,
    /// The requirement to blame when it diverges.
    pub checks: Option<RequirementId>,
    /// Probe or control.
    pub part: Part,
}

/// What a step does.
#[derive(Debug, Clone)]
pub enum Action {
    /// The client opens a WebSocket, and sends the credential unless `bare`.
    ClientConnects {
        /// Without the credential.
        bare: bool,
    },
    /// The client sends one message.
    ClientSends(ClientMessage),
    /// The client must receive this.
    ClientExpects(ClientExpectation),
    /// The client closes its WebSocket.
    ClientCloses,
    /// The client's connection breaks, without a close frame.
    ClientDrops,
    /// The proxy must receive this.
    ProxyExpects(ProxyExpectation),
    /// The proxy sends one message.
    ProxySends(ProxyMessage),
    /// The proxy closes its WebSocket.
    ProxyCloses,
    /// From here on the proxy turns connections away.
    ProxyRefuses,
    /// Something of a kind whose words stand in a table.
    Act(Act),
    /// The branches happen in any order, each in its own.
    EitherOrder(Vec<Vec<Step>>),
    /// Exactly one branch happens; its first step decides.
    OneOf(Vec<Vec<Step>>),
    /// Any number of these expectations, none included, are met before the next one is.
    AnyNumberOf(Vec<Step>),
    /// The steps happen this many times.
    Repeat(u32, Vec<Step>),
    /// The scenario cannot go on for this reason.
    NotApplicable(String),
}

impl Action {
    /// Whether the step waits for something of the implementation.
    #[must_use]
    pub fn expects(&self) -> bool {
        match self {
            Self::ClientExpects(_) | Self::ProxyExpects(_) => true,
            Self::Act(act) => act.expects(),
            _ => false,
        }
    }
}

vocabulary! {
    /// What a client can send.
    pub enum ClientMessage {
        /// The credential frame.
        Credential = "credential",
        /// A run request.
        Run = "run",
        /// A channel request: stop.
        Stop = "stop",
        /// A channel request: enqueue.
        Enqueue = "enqueue",
        /// A channel request: dequeue.
        Dequeue = "dequeue",
        /// A channel request: schema.
        Schema = "schema",
        /// A channel request with a body given in full, tag and all.
        ChannelRequest = "channel request",
        /// An answer on a channel that the provider opened.
        ChannelResponse = "channel response",
        /// The finish of a channel that the provider opened.
        ChannelFinish = "channel finish",
        /// A frame given by its fields.
        Frame = "frame",
        /// A binary message given whole.
        Bytes = "bytes",
        /// A text message.
        Text = "text",
    }
}

vocabulary! {
    /// What a client can expect.
    pub enum ClientExpectation {
        /// The id.
        Id = "id",
        /// The refusal: held.
        VolumeHeld = "volume-held",
        /// The refusal: mounted.
        VolumeMounted = "volume-mounted",
        /// The refusal: FUSE served.
        VolumeFuseServed = "volume-fuse-served",
        /// The refusal: mount unsupported.
        VolumeMountUnsupported = "volume-mount-unsupported",
        /// The refusal: mode.
        VolumeMode = "volume-mode",
        /// An error, before or after the id.
        Error = "error",
        /// A loop began.
        Active = "active",
        /// A chunk.
        Chunk = "chunk",
        /// A loop ended.
        Inactive = "inactive",
        /// Everything that the proxy sent and that must reach the client has.
        Relayed = "relayed",
        /// The finish of the run scope.
        Finish = "finish",
        /// The finish of the run scope with no response before it.
        BareFinish = "bare finish",
        /// The finish of the run scope, behind whatever of the proxy's words comes before it; the checkers judge those.
        FinishAtLast = "finish at last",
        /// The proxy's answer on a channel, unchanged.
        Answer = "answer",
        /// The finish of a channel.
        ChannelFinish = "channel finish",
        /// The finish of a channel with no response before it.
        BareChannelFinish = "bare channel finish",
        /// A channel that the provider opens.
        ChannelRequest = "channel request",
        /// The provider ends the connection.
        Closed = "closed",
        /// Nothing unread is there now.
        Nothing = "nothing",
    }
}

vocabulary! {
    /// What a proxy can send.
    pub enum ProxyMessage {
        /// Begun, with its list.
        Begun = "begun",
        /// The error, before or after begun.
        Error = "error",
        /// A chunk.
        Chunk = "chunk",
        /// A loop began.
        Active = "active",
        /// A loop ended, with its values.
        Inactive = "inactive",
        /// The finish of the begin scope.
        Finish = "finish",
        /// An answer on a channel that the provider opened.
        Answer = "answer",
        /// The finish of a channel that the provider opened.
        ChannelFinish = "channel finish",
        /// A channel that the proxy opens.
        Ask = "ask",
        /// A frame given by its fields.
        Frame = "frame",
        /// A binary message given whole.
        Bytes = "bytes",
        /// A text message.
        Text = "text",
    }
}

vocabulary! {
    /// What a proxy can expect.
    pub enum ProxyExpectation {
        /// A connection whose first frame is the begin request of the run.
        Begin = "begin",
        /// A connection refused by this proxy was attempted.
        Attempt = "attempt",
        /// The channel request that relays the client's.
        Enqueue = "enqueue",
        /// The channel request that relays the client's.
        Dequeue = "dequeue",
        /// The channel request that relays the client's.
        Schema = "schema",
        /// An answer on a channel that the proxy opened.
        ChannelResponse = "channel response",
        /// The finish of a channel that the proxy opened.
        ChannelFinish = "channel finish",
        /// The provider ends the connection.
        Closed = "closed",
        /// Nothing unread is there now.
        Nothing = "nothing",
    }
}

/// The texts of messages that a configuration has for an agent server, by their keys.
pub const MESSAGES: &[&str] = &["ordinary", "tool", "long", "holding", "failing"];

/// What an HTTP status can say.
pub const CLASSES: &[&str] = &["success", "refused", "4xx"];

/// The details of a step; which of them a step may have, the vocabulary says.
#[derive(Debug, Clone, Default)]
pub struct Args {
    /// The client connection, by name.
    pub on: Option<String>,
    /// The run, by name.
    pub run: Option<String>,
    /// The channel, by name.
    pub channel: Option<String>,
    /// A channel or scope number to use.
    pub number: Option<u32>,
    /// The channel, by name, whose number to use.
    pub same_number_as: Option<String>,
    /// The scope field.
    pub scope: Option<u32>,
    /// The channel field.
    pub channel_field: Option<u32>,
    /// The frame type.
    pub frame_type: Option<u8>,
    /// The payload's or body's text.
    pub json: Option<String>,
    /// Bytes in hex.
    pub hex: Option<String>,
    /// Plain text.
    pub text: Option<String>,
    /// The mode byte of a credential.
    pub mode: Option<u8>,
    /// The run request's arguments, as JSON text.
    pub arguments: Option<String>,
    /// The run request's image, as JSON text.
    pub image: Option<String>,
    /// The run request's volume mounts, as JSON text.
    pub volume_mounts: Option<String>,
    /// The run request's FUSE files, as JSON text.
    pub fuse_file_mounts: Option<String>,
    /// The run request's FUSE directories, as JSON text.
    pub fuse_directory_mounts: Option<String>,
    /// The one broken thing.
    pub mutate: Option<Mutation>,
    /// The answer by name.
    pub answer: Option<String>,
    /// JSON pointers into what came, and the JSON that must stand there.
    pub parts: Vec<(String, String)>,
    /// The call to the agent server, by name.
    pub call: Option<String>,
    /// The path of the path revision that a WebSocket is opened for, by its name.
    pub path: Option<AgentCall>,
    /// An HTTP status.
    pub status: Option<u16>,
    /// The content type of an HTTP answer.
    pub content_type: Option<String>,
    /// A message's key.
    pub key: Option<String>,
    /// Which of the configured texts a message has.
    pub message: Option<String>,
    /// What an HTTP status says.
    pub class: Option<String>,
    /// The name under which an id is kept.
    pub capture: Option<String>,
}

impl Args {
    /// The texts in which `${…}` may stand.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        [
            &self.json,
            &self.hex,
            &self.text,
            &self.arguments,
            &self.image,
            &self.volume_mounts,
            &self.fuse_file_mounts,
            &self.fuse_directory_mounts,
            &self.key,
        ]
        .into_iter()
        .flatten()
        .map(String::as_str)
        .chain(self.parts.iter().map(|(_, json)| json.as_str()))
    }
}
