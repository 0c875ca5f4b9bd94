//! Providers under test.

mod endpoint;
mod lanes;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use diverge_protocol::rules::Revision;
use diverge_protocol::scenario::{Iut, Scenario};
use diverge_protocol::wire::run::Mode;
use mock_provider::server::{self, Behaviour, Server};
use mock_provider::settings::{Volume, Volumes};
use mock_provider::{faults, hollow, variants};

pub use self::endpoint::Endpoint;
use super::{Kind, Playing, Selection, Setting, Trial, reference};
use crate::config::{Config, ProviderConfig, VolumeMode};
use crate::mutants::Mutant;
use crate::play;
use crate::runner::Progress;
use crate::suite::{self, SelectError};

/// Providers.
#[derive(Debug)]
pub struct Provider;

impl Kind for Provider {
    fn iut(&self) -> Iut {
        Iut::Provider
    }

    fn mutants(&self) -> Vec<Mutant> {
        let hollow = hollow::all().map(|it| (it.name, it.about));
        reference::mutants(self.iut(), hollow, faults::all(), variants::all())
    }

    fn in_tree(&self) -> Config {
        Config {
            provider: config(),
            ..Config::default()
        }
    }

    fn trials(
        &self,
        selection: &Selection,
        revision: Option<Revision>,
        setting: &Setting,
    ) -> Result<Vec<Box<dyn Trial>>, SelectError> {
        if revision == Some(Revision::Path) {
            return Ok(Vec::new());
        }
        let scenarios = suite::select(Iut::Provider, selection)?;
        Ok(vec![Box::new(Judged {
            scenarios,
            setting: setting.clone(),
        })])
    }
}

/// A provider and the scenarios that it is judged by.
struct Judged {
    scenarios: Vec<Arc<Scenario>>,
    setting: Setting,
}

impl Trial for Judged {
    fn iut(&self) -> Iut {
        Iut::Provider
    }

    fn revision(&self) -> Option<Revision> {
        Some(Revision::Scope)
    }

    fn ids(&self) -> Vec<String> {
        self.scenarios.iter().map(|it| it.id.clone()).collect()
    }

    fn lacking(&self, id: &str) -> Option<String> {
        let scenario = self.scenarios.iter().find(|it| it.id == id)?;
        play::lacking(scenario, &self.setting.config.provider)
    }

    fn keep(&mut self, ids: &[String]) {
        suite::keep(&mut self.scenarios, ids);
    }

    fn play<'a>(&'a self, progress: &'a mut (dyn FnMut(Progress) + Send)) -> Playing<'a> {
        Box::pin(lanes::run(&self.scenarios, &self.setting, progress))
    }
}

/// The configuration that the reference provider is judged with: all fixtures are there.
fn config() -> ProviderConfig {
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
async fn serve(
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
    server::serve(server::Config {
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
