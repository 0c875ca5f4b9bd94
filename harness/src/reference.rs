//! The in-tree references, started in this process.

use std::io;
use std::net::SocketAddr;

use diverge_protocol::wire::run::Mode;
use mock_provider::server::{self, Behaviour, Config, Server};
use mock_provider::settings::{Volume, Volumes};

use crate::config::{ProviderConfig, VolumeMode};

/// The configuration that the reference provider is judged with: all fixtures are there.
#[must_use]
pub fn config() -> ProviderConfig {
    let volume = |name: &str, mode| {
        Some(crate::config::Volume {
            name: name.into(),
            mode,
        })
    };
    let mut config = ProviderConfig::default();
    config.volumes.held = volume("being-written", VolumeMode::Persistent);
    config.volumes.mounted = volume("in-a-container", VolumeMode::Persistent);
    config.volumes.fuse_served = volume("served", VolumeMode::Persistent);
    config.volumes.mount_unsupported = volume("not-mountable", VolumeMode::Ephemeral);
    config.volumes.mode = volume("work", VolumeMode::ReadOnly);
    config
}

/// Starts the reference provider.
///
/// # Errors
/// When there is no such behaviour, or the address cannot be had.
pub async fn serve(
    listen: SocketAddr,
    proxy: SocketAddr,
    config: &ProviderConfig,
    behaviour: Behaviour,
) -> io::Result<Server> {
    let volume = |volume: &Option<crate::config::Volume>| {
        volume.as_ref().map(|volume| Volume {
            name: volume.name.clone(),
            mode: mode(volume.mode),
        })
    };
    let fixtures = &config.volumes;
    let volumes = Volumes {
        held: volume(&fixtures.held),
        mounted: volume(&fixtures.mounted),
        fuse_served: volume(&fixtures.fuse_served),
        mount_unsupported: volume(&fixtures.mount_unsupported),
        mode: volume(&fixtures.mode),
    };
    server::serve(Config {
        listen,
        proxy,
        credential: config.credential.clone(),
        volumes,
        behaviour,
    })
    .await
}

fn mode(mode: VolumeMode) -> Mode {
    match mode {
        VolumeMode::Persistent => Mode::Persistent,
        VolumeMode::Ephemeral => Mode::Ephemeral,
        VolumeMode::ReadOnly => Mode::ReadOnly,
    }
}

/// The fault, conforming variant or hollow peer of that name.
#[must_use]
pub fn named(name: &str) -> Option<Behaviour> {
    let mutant = crate::mutants::all()
        .into_iter()
        .find(|mutant| mutant.name == name)?;
    Some(mutant.behaviour())
}

/// A behaviour in words.
#[must_use]
pub fn in_words(behaviour: &Behaviour) -> String {
    match behaviour {
        Behaviour::Conforming => "conforming".to_owned(),
        Behaviour::Fault(name) => format!("with the fault {name}"),
        Behaviour::Variant(name) => format!("as the conforming variant {name}"),
        Behaviour::Hollow(name) => format!("replaced by the hollow peer {name}"),
    }
}
