//! The in-tree references, started in this process.

use std::io;
use std::net::SocketAddr;

use mock_provider::{Behaviour, Config, Server, Volume, Volumes};

use crate::config::{ProviderConfig, VolumeMode};

/// The configuration that the reference provider is judged with: all fixtures are there.
#[must_use]
pub fn config() -> ProviderConfig {
    let volume = |name: &str, mode| Some(crate::config::Volume { name: name.into(), mode });
    let mut config = ProviderConfig::default();
    config.volumes.held = volume("being-written", VolumeMode::Persistent);
    config.volumes.mounted = volume("in-a-container", VolumeMode::Persistent);
    config.volumes.fuse_served = volume("served", VolumeMode::Persistent);
    config.volumes.mount_unsupported = volume("not-mountable", VolumeMode::Ephemeral);
    config.volumes.mode = volume("work", VolumeMode::ReadOnly);
    config
}
