//! The first bytes that a revision may move, as data.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::OnceLock;

use indexmap::IndexMap;
use serde::Deserialize;
use toml::Spanned;

use super::begin::BeginKind;
use super::vocabulary::{Vocabulary, vocabulary};
use super::{Malformed, Rule};

vocabulary! {
    /// Channels that a client opens on the run scope.
    pub enum ClientChannel {
        /// End the run.
        Stop = "stop",
        /// Watch the container's files.
        Filetree = "filetree",
        /// Read a file.
        Read = "read",
        /// Write a file.
        Write = "write",
        /// Send a file to another container.
        Transfer = "transfer",
        /// The client's half of a database connection.
        Postgres = "postgres",
        /// The schema of what the agent takes.
        Schema = "schema",
        /// The client's half of a daemon connection.
        Daemon = "daemon",
        /// Say something to the agent.
        Enqueue = "enqueue",
        /// Take something back that still waits.
        Dequeue = "dequeue",
        /// Feed the program's secrets.
        Secrets = "secrets",
    }
}

vocabulary! {
    /// Channels that a provider opens on the run scope.
    pub enum ProviderChannel {
        /// An image's manifest.
        OciManifest = "oci-manifest",
        /// An image's blob.
        OciBlob = "oci-blob",
        /// Whether the client has an image.
        OciHas = "oci-has",
        /// Deploy the agents and tools that this one needs.
        Dependencies = "dependencies",
        /// The bytes of a write.
        WriteBytes = "write-bytes",
        /// The provider's half of a database connection.
        Postgres = "postgres",
        /// The provider's half of a daemon connection.
        Daemon = "daemon",
        /// Read a vault key.
        VaultGet = "vault-get",
        /// Set a vault key.
        VaultSet = "vault-set",
        /// Remove a vault key.
        VaultDelete = "vault-delete",
        /// Lock a vault key.
        VaultLock = "vault-lock",
        /// Unlock a vault key.
        VaultUnlock = "vault-unlock",
        /// MCP: list tools.
        McpListTools = "mcp-list-tools",
        /// MCP: list resources.
        McpListResources = "mcp-list-resources",
        /// MCP: call a tool.
        McpCallTool = "mcp-call-tool",
        /// MCP: read a resource.
        McpReadResource = "mcp-read-resource",
        /// MCP: notifications.
        McpNotifications = "mcp-notifications",
        /// FUSE: read.
        FuseRead = "fuse-read",
        /// FUSE: write.
        FuseWrite = "fuse-write",
        /// FUSE: list a directory.
        FuseList = "fuse-list",
        /// FUSE: remove.
        FuseRemove = "fuse-remove",
        /// FUSE: rename.
        FuseRename = "fuse-rename",
        /// FUSE: make a directory.
        FuseMkdir = "fuse-mkdir",
        /// FUSE: stat.
        FuseStat = "fuse-stat",
        /// FUSE: truncate.
        FuseTruncate = "fuse-truncate",
        /// FUSE: set attributes.
        FuseSetattr = "fuse-setattr",
    }
}

vocabulary! {
    /// Channels that a provider opens on the begin scope.
    pub enum BeginChannel {
        /// A half of a database connection.
        Postgres = "postgres",
        /// The schema of what the agent takes.
        Schema = "schema",
        /// A half of a daemon connection.
        Daemon = "daemon",
        /// Say something to the agent.
        Enqueue = "enqueue",
        /// Take something back that still waits.
        Dequeue = "dequeue",
        /// Feed the program's secrets.
        Secrets = "secrets",
    }
}

impl From<BeginChannel> for ClientChannel {
    /// The client's channel that the begin scope's channel carries on.
    fn from(channel: BeginChannel) -> ClientChannel {
        match channel {
            BeginChannel::Postgres => ClientChannel::Postgres,
            BeginChannel::Schema => ClientChannel::Schema,
            BeginChannel::Daemon => ClientChannel::Daemon,
            BeginChannel::Enqueue => ClientChannel::Enqueue,
            BeginChannel::Dequeue => ClientChannel::Dequeue,
            BeginChannel::Secrets => ClientChannel::Secrets,
        }
    }
}

vocabulary! {
    /// Channels that a proxy opens on the begin scope.
    pub enum ProxyChannel {
        /// A half of a database connection.
        Postgres = "postgres",
        /// A half of a daemon connection.
        Daemon = "daemon",
        /// Read a vault key.
        VaultGet = "vault-get",
        /// Set a vault key.
        VaultSet = "vault-set",
        /// Remove a vault key.
        VaultDelete = "vault-delete",
        /// Lock a vault key.
        VaultLock = "vault-lock",
        /// Unlock a vault key.
        VaultUnlock = "vault-unlock",
        /// MCP: list tools.
        McpListTools = "mcp-list-tools",
        /// MCP: list resources.
        McpListResources = "mcp-list-resources",
        /// MCP: call a tool.
        McpCallTool = "mcp-call-tool",
        /// MCP: read a resource.
        McpReadResource = "mcp-read-resource",
        /// MCP: notifications.
        McpNotifications = "mcp-notifications",
    }
}

vocabulary! {
    /// What became of a message that was enqueued.
    pub enum EnqueueKind {
        /// The agent has it.
        Delivered = "delivered",
        /// It was taken back.
        Dequeued = "dequeued",
        /// It was not taken.
        Error = "error",
    }
}

vocabulary! {
    /// What a dequeue found.
    pub enum DequeueKind {
        /// Something was taken back.
        Withdrawn = "withdrawn",
        /// Nothing waited under that key.
        NothingWaited = "nothing-waited",
        /// It failed.
        Error = "error",
    }
}

vocabulary! {
    /// How a schema channel answers.
    pub enum SchemaKind {
        /// With a JSON Schema.
        Schema = "schema",
        /// With an error.
        Error = "error",
    }
}

vocabulary! {
    /// The one thing that a request of its surface can be.
    pub enum RequestKind {
        /// The request.
        Request = "request",
    }
}

/// The first bytes of one surface's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table<K> {
    /// Whether the numbers rest on something other than the revision's own pages.
    pub provisional: bool,
    bytes: Vec<u8>,
    words: PhantomData<K>,
}

impl<K: Vocabulary> Table<K> {
    /// The first byte of a word.
    pub fn byte(&self, word: K) -> u8 {
        self.bytes.get(word.index()).copied().unwrap_or_default()
    }

    /// The word of a first byte.
    pub fn word(&self, byte: u8) -> Option<K> {
        let index = self.bytes.iter().position(|known| *known == byte)?;
        K::ALL.get(index).copied()
    }

    /// Splits a payload into its word and what stands behind the first byte.
    ///
    /// # Errors
    /// [`Rule::PayloadEmpty`] or [`Rule::PayloadUnknownFirstByte`].
    pub fn split<'a>(&self, payload: &'a [u8]) -> Result<(K, &'a [u8]), Malformed> {
        let Some((&byte, body)) = payload.split_first() else {
            return Err(Malformed::bytes(
                Rule::PayloadEmpty,
                0,
                "a first byte that says what it is",
                "no byte",
            ));
        };
        match self.word(byte) {
            Some(word) => Ok((word, body)),
            None => {
                let names = K::ALL
                    .iter()
                    .map(|word| format!("{} ({})", self.byte(*word), word.name()));
                let expected = format!("a first byte of {}", names.collect::<Vec<_>>().join(", "));
                Err(Malformed::bytes(
                    Rule::PayloadUnknownFirstByte,
                    0,
                    expected,
                    format!("the byte {byte}"),
                ))
            }
        }
    }

    /// A payload: the word's first byte, then the body.
    pub fn payload(&self, word: K, body: &[u8]) -> Vec<u8> {
        let mut payload = Vec::with_capacity(1 + body.len());
        payload.push(self.byte(word));
        payload.extend_from_slice(body);
        payload
    }
}

/// One revision's numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// The revision's name.
    pub name: String,
    /// The revision that it comes after.
    pub follows: Option<String>,
    /// The run request's first byte.
    pub run_request: Table<RequestKind>,
    /// Channels that a client opens on the run scope.
    pub client_channels: Table<ClientChannel>,
    /// Channels that a provider opens on the run scope.
    pub provider_channels: Table<ProviderChannel>,
    /// The begin request's first byte.
    pub begin_request: Table<RequestKind>,
    /// What a proxy answers on the begin scope.
    pub begin_responses: Table<BeginKind>,
    /// Channels that a provider opens on the begin scope.
    pub begin_channels: Table<BeginChannel>,
    /// Channels that a proxy opens on the begin scope.
    pub proxy_channels: Table<ProxyChannel>,
    /// Answers on an enqueue channel.
    pub enqueue_answers: Table<EnqueueKind>,
    /// Answers on a dequeue channel.
    pub dequeue_answers: Table<DequeueKind>,
    /// Answers on a schema channel.
    pub schema_answers: Table<SchemaKind>,
}

/// The text of the default profile.
pub const SCOPE: &str = include_str!("../../../../scenarios/revisions/scope.toml");

/// The profile that this process speaks where it speaks the scope revision's form.
static SPOKEN: OnceLock<Profile> = OnceLock::new();

impl Profile {
    /// The profile of the scope revision, or of the revision of its form that [`Revisions::speak`] has named.
    ///
    /// [`Revisions::speak`]: crate::rules::revisions::Revisions::speak
    ///
    /// # Panics
    /// Never: a test reads the file that is built in.
    pub fn scope() -> &'static Profile {
        SPOKEN.get_or_init(|| Profile::parse(SCOPE).unwrap_or_else(|error| panic!("{error}")))
    }

    /// Has this process speak another profile; `false` where it has spoken already.
    pub(crate) fn speak(profile: Profile) -> bool {
        SPOKEN.set(profile).is_ok()
    }

    /// Reads a profile from TOML.
    ///
    /// # Errors
    /// The first thing wrong, with its line and column.
    pub fn parse(text: &str) -> Result<Profile, ProfileError> {
        let file: File = toml::from_str(text).map_err(|error| {
            ProfileError::at(
                text,
                error.span(),
                ProfileFault::Syntax(error.message().to_owned()),
            )
        })?;
        let mut provisional = Provisional {
            text,
            names: file.provisional,
        };
        let profile = Profile {
            name: file.name,
            follows: file.follows,
            run_request: provisional.table("run-request", file.run_request)?,
            client_channels: provisional.table("client-channels", file.client_channels)?,
            provider_channels: provisional.table("provider-channels", file.provider_channels)?,
            begin_request: provisional.table("begin-request", file.begin_request)?,
            begin_responses: provisional.table("begin-responses", file.begin_responses)?,
            begin_channels: provisional.table("begin-channels", file.begin_channels)?,
            proxy_channels: provisional.table("proxy-channels", file.proxy_channels)?,
            enqueue_answers: provisional.table("enqueue-answers", file.enqueue_answers)?,
            dequeue_answers: provisional.table("dequeue-answers", file.dequeue_answers)?,
            schema_answers: provisional.table("schema-answers", file.schema_answers)?,
        };
        provisional.none_left()?;
        Ok(profile)
    }
}

type Section = Spanned<IndexMap<Spanned<String>, Spanned<u8>>>;

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct File {
    name: String,
    follows: Option<String>,
    provisional: Vec<Spanned<String>>,
    run_request: Section,
    client_channels: Section,
    provider_channels: Section,
    begin_request: Section,
    begin_responses: Section,
    begin_channels: Section,
    proxy_channels: Section,
    enqueue_answers: Section,
    dequeue_answers: Section,
    schema_answers: Section,
}

/// The tables said to be provisional, less those read so far.
struct Provisional<'t> {
    text: &'t str,
    names: Vec<Spanned<String>>,
}

impl Provisional<'_> {
    fn table<K: Vocabulary>(
        &mut self,
        name: &str,
        section: Section,
    ) -> Result<Table<K>, ProfileError> {
        let fault = |span, fault| Err(ProfileError::at(self.text, Some(span), fault));
        let mut bytes: Vec<Option<u8>> = vec![None; K::ALL.len()];
        for (name, byte) in section.get_ref() {
            let Some(word) = K::named(name.get_ref()) else {
                return fault(
                    name.span(),
                    ProfileFault::UnknownName(name.get_ref().clone()),
                );
            };
            if bytes.contains(&Some(*byte.get_ref())) {
                return fault(byte.span(), ProfileFault::RepeatedByte(*byte.get_ref()));
            }
            bytes[word.index()] = Some(*byte.get_ref());
        }
        if let Some(missing) = K::ALL.iter().find(|word| bytes[word.index()].is_none()) {
            return fault(section.span(), ProfileFault::MissingName(missing.name()));
        }
        let before = self.names.len();
        self.names
            .retain(|provisional| provisional.get_ref() != name);
        Ok(Table {
            provisional: self.names.len() < before,
            bytes: bytes.into_iter().flatten().collect(),
            words: PhantomData,
        })
    }

    fn none_left(self) -> Result<(), ProfileError> {
        match self.names.first() {
            None => Ok(()),
            Some(name) => {
                let fault = ProfileFault::UnknownTable(name.get_ref().clone());
                Err(ProfileError::at(self.text, Some(name.span()), fault))
            }
        }
    }
}

/// A profile that cannot be read, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {fault}")]
pub struct ProfileError {
    /// Counted from 1.
    pub line: usize,
    /// In characters, counted from 1.
    pub column: usize,
    /// What is wrong there.
    pub fault: ProfileFault,
}

/// What is wrong with a profile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProfileFault {
    /// Not TOML, or not of a profile's form.
    #[error("{0}")]
    Syntax(String),
    /// A name that the table does not have.
    #[error("`{0}` is no name of this table")]
    UnknownName(String),
    /// A name that the table must have.
    #[error("this table has no number for `{0}`")]
    MissingName(&'static str),
    /// A provisional table that a profile does not have.
    #[error("`{0}` is no table of a profile")]
    UnknownTable(String),
    /// One number for two names.
    #[error("the number {0} stands for another name already")]
    RepeatedByte(u8),
}

impl ProfileError {
    fn at(text: &str, span: Option<Range<usize>>, fault: ProfileFault) -> ProfileError {
        let before = span
            .and_then(|span| text.get(..span.start))
            .unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before
            .rsplit('\n')
            .next()
            .unwrap_or_default()
            .chars()
            .count()
            + 1;
        ProfileError {
            line,
            column,
            fault,
        }
    }
}
