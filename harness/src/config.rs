//! The configuration file: what only the implementer knows about their implementation.

use std::io;
use std::net::SocketAddr;
use std::path::Path;

use diverge_protocol::scenario::{Fixture, replace};
use diverge_protocol::toml_fault::TomlFault;
use serde::{Deserialize, Deserializer, de};

use crate::files;

/// `conformance.toml`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub struct Config {
    /// `[provider]`.
    pub provider: ProviderConfig,
    /// `[agent-server]`.
    #[serde(rename = "agent-server")]
    pub agent_server: AgentServerConfig,
    /// `[client]`.
    pub client: ClientConfig,
    /// `[chain]`.
    pub chain: ChainConfig,
}

/// Why a configuration file could not be had.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It cannot be read.
    #[error("could not read {path}: {error}")]
    Unreadable {
        /// As given.
        path: String,
        /// The system's reason.
        error: io::Error,
    },
    /// It is at fault.
    #[error("{path}:{fault}")]
    File {
        /// As given.
        path: String,
        /// What is wrong, and where.
        fault: TomlFault,
    },
    /// A value that no program can be told.
    #[error(
        "{path}: `{key}` holds a NUL, which can stand neither in a command line nor in a variable"
    )]
    Nul {
        /// As given.
        path: String,
        /// The key with its table.
        key: &'static str,
    },
}

impl Config {
    /// Reads a configuration file.
    ///
    /// # Errors
    /// When it cannot be read, or the first thing wrong with it.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let shown = path.display().to_string();
        let text = files::read(path).map_err(|error| ConfigError::Unreadable {
            path: shown.clone(),
            error,
        })?;
        let config: Self = toml::from_str(&text).map_err(|error| ConfigError::File {
            path: shown.clone(),
            fault: TomlFault::of(&text, &error),
        })?;
        match config.nul() {
            Some(key) => Err(ConfigError::Nul { path: shown, key }),
            None => Ok(config),
        }
    }

    /// The key of a text with a NUL that a program would have to be told.
    fn nul(&self) -> Option<&'static str> {
        let chain = &self.chain;
        let told = [
            ("provider.credential", Some(&self.provider.credential)),
            ("chain.provider", chain.provider.as_ref()),
            ("chain.proxy", chain.proxy.as_ref()),
            ("chain.agent-server", chain.agent_server.as_ref()),
            ("chain.client", chain.client.as_ref()),
        ];
        let nul = |text: Option<&String>| text.is_some_and(|text| text.contains('\0'));
        told.into_iter()
            .find(|(_, text)| nul(*text))
            .map(|(key, _)| key)
    }
}

/// What is known of an agent server's program. Scenarios that need what is not here are not applicable.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(
    deny_unknown_fields,
    default,
    expecting = "a table, as `[agent-server]` begins"
)]
pub struct AgentServerConfig {
    /// Arguments that the program takes.
    pub arguments: Option<serde_json::Value>,
    /// Arguments that it does not take.
    pub refused_arguments: Option<serde_json::Value>,
    /// `[agent-server.messages]`.
    pub messages: Messages,
}

/// What is known of a client. Scenarios that need what it does not do are not applicable.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(
    deny_unknown_fields,
    default,
    expecting = "a table, as `[client]` begins"
)]
pub struct ClientConfig {
    /// Whether it enqueues the messages of `CONFORMANCE_ENQUEUE`, and stops its run behind the last loop.
    pub enqueues: bool,
}

/// The commands that are launched in a chain; for whom there is none, the in-tree reference takes part.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(
    deny_unknown_fields,
    default,
    rename_all = "kebab-case",
    expecting = "a table, as `[chain]` begins"
)]
pub struct ChainConfig {
    /// The provider's.
    pub provider: Option<String>,
    /// The proxy's.
    pub proxy: Option<String>,
    /// The agent server's.
    pub agent_server: Option<String>,
    /// The client's, in scenarios whose client is a process.
    pub client: Option<String>,
}

impl ChainConfig {
    /// The parties by name, each with its command where it is launched.
    #[must_use]
    pub fn parties(&self) -> [(&'static str, Option<&str>); 4] {
        [
            ("provider", self.provider.as_deref()),
            ("proxy", self.proxy.as_deref()),
            ("agent-server", self.agent_server.as_deref()),
            ("client", self.client.as_deref()),
        ]
    }

    /// Who is who, for the head of a report; none where nobody is launched.
    #[must_use]
    pub fn in_words(&self) -> Option<String> {
        let parties = self.parties();
        parties
            .iter()
            .any(|(_, command)| command.is_some())
            .then(|| {
                let words = parties.map(|(name, command)| match command {
                    Some(command) => format!("{name} `{command}`"),
                    None => format!("the in-tree {name}"),
                });
                words.join(", ")
            })
    }
}

impl AgentServerConfig {
    /// What `${name}` stands for in a scenario, as it stands in JSON, behind the key that it comes from; none where the
    /// name is of nothing that an agent server is told.
    #[must_use]
    pub fn told(&self, name: &str) -> Option<(String, Option<String>)> {
        let json = |value: &Option<serde_json::Value>| value.as_ref().map(ToString::to_string);
        Some(match name {
            "json:arguments" => ("[agent-server] arguments".into(), json(&self.arguments)),
            "json:refused_arguments" => (
                "[agent-server] refused_arguments".into(),
                json(&self.refused_arguments),
            ),
            name => {
                let name = name.strip_prefix("message.")?;
                let key = format!("[agent-server.messages] {name}");
                (key, self.messages.get(name).map(inside_json))
            }
        })
    }

    /// What the first of the names in `text` lacks that stands for nothing here.
    #[must_use]
    pub fn lacks(&self, text: &str) -> Option<String> {
        let mut lacking = None;
        let _ = replace(text, |name| {
            if let Some((key, None)) = self.told(name)
                && lacking.is_none()
            {
                lacking = Some(format!("needs {key} in the configuration"));
            }
            None
        });
        lacking
    }
}

/// A text as it stands in a JSON string.
#[must_use]
pub(crate) fn inside_json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// Texts of messages that make the program do something in particular.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(
    deny_unknown_fields,
    default,
    expecting = "a table, as `[agent-server.messages]` begins"
)]
pub struct Messages {
    /// It says something and is done.
    pub ordinary: Option<String>,
    /// It calls a tool.
    pub tool: Option<String>,
    /// It stays in the loop until it is joined, or for a second or two.
    pub long: Option<String>,
    /// It keeps what joins waiting until the loop ends.
    pub holding: Option<String>,
    /// It says something and fails.
    pub failing: Option<String>,
}

impl Messages {
    /// The text of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let text = match name {
            "ordinary" => &self.ordinary,
            "tool" => &self.tool,
            "long" => &self.long,
            "holding" => &self.holding,
            "failing" => &self.failing,
            _ => &None,
        };
        text.as_deref()
    }
}

/// What a provider needs to be told and to tell.
#[derive(Debug, Clone, Deserialize)]
#[serde(
    deny_unknown_fields,
    default,
    expecting = "a table, as `[provider]` begins"
)]
pub struct ProviderConfig {
    /// The one credential that is accepted.
    pub credential: String,
    /// With `--url`, where the provider's containers find their proxy.
    #[serde(deserialize_with = "address")]
    pub proxy_listen: SocketAddr,
    /// The image that run requests name.
    pub image: Image,
    /// Volumes that are in a known state already.
    pub volumes: Volumes,
}

fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SocketAddr, D::Error> {
    let text = String::deserialize(deserializer)?;
    let expected = "an address such as \"127.0.0.1:14979\"";
    text.parse()
        .map_err(|_| de::Error::invalid_value(de::Unexpected::Str(&text), &expected))
}

impl Default for ProviderConfig {
    fn default() -> Self {
        Self {
            credential: "credential-for-tests".into(),
            proxy_listen: ([127, 0, 0, 1], 14979).into(),
            image: Image::default(),
            volumes: Volumes::default(),
        }
    }
}

/// An image as a run request names it.
#[derive(Debug, Clone, Deserialize, serde::Serialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { name = \"…\", digest = \"sha256:…\" }"
)]
pub struct Image {
    /// Repository path without host.
    pub name: String,
    /// `algorithm:hex`.
    pub digest: String,
}

impl Default for Image {
    fn default() -> Self {
        let digest =
            "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08".into();
        Self {
            name: "conformance/agent".into(),
            digest,
        }
    }
}

/// A volume and the mode it is in.
#[derive(Debug, Clone, Deserialize, PartialEq, Eq)]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { name = \"…\", mode = \"persistent\" }"
)]
pub struct Volume {
    /// Its name in the listing.
    pub name: String,
    /// `persistent`, `ephemeral` or `read_only`.
    pub mode: VolumeMode,
}

/// The modes of volumes.
#[derive(Debug, Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(
    rename_all = "snake_case",
    expecting = "one of \"persistent\", \"ephemeral\", \"read_only\""
)]
pub enum VolumeMode {
    /// Kept.
    Persistent,
    /// Dropped with its container.
    Ephemeral,
    /// Never written.
    ReadOnly,
}

impl VolumeMode {
    /// Its name on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Persistent => "persistent",
            Self::Ephemeral => "ephemeral",
            Self::ReadOnly => "read_only",
        }
    }

    /// Another mode.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Persistent | Self::Ephemeral => Self::ReadOnly,
            Self::ReadOnly => Self::Persistent,
        }
    }
}

/// `[provider.volumes]`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(
    deny_unknown_fields,
    default,
    expecting = "a table, as `[provider.volumes]` begins"
)]
pub struct Volumes {
    /// Under an exclusive operation.
    pub held: Option<Volume>,
    /// In a running container, on a provider that mounts its mode once.
    pub mounted: Option<Volume>,
    /// Under a FUSE serve, on a provider that mounts none beside one.
    pub fuse_served: Option<Volume>,
    /// In a mode that the provider does not mount.
    pub mount_unsupported: Option<Volume>,
    /// Mountable in its mode.
    pub mode: Option<Volume>,
}

impl Volumes {
    /// The volume that the configuration names for `fixture`.
    #[must_use]
    pub fn get(&self, fixture: Fixture) -> Option<&Volume> {
        match fixture {
            Fixture::Held => self.held.as_ref(),
            Fixture::Mounted => self.mounted.as_ref(),
            Fixture::FuseServed => self.fuse_served.as_ref(),
            Fixture::MountUnsupported => self.mount_unsupported.as_ref(),
            Fixture::Mode => self.mode.as_ref(),
        }
    }
}
