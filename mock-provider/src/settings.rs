//! What a provider is told before it starts, and the freedoms and deviations that variants and faults set in it.

use std::collections::HashSet;

use diverge_protocol::wire::run::Mode;

use crate::checks::Check;

/// A volume of the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Volume {
    /// The name a request mounts it by.
    pub name: String,
    /// The mode it is in.
    pub mode: Mode,
}

/// The volumes that the provider has, each already in the state its member is named for.
#[derive(Debug, Clone, Default)]
pub struct Volumes {
    /// Under an exclusive operation.
    pub held: Option<Volume>,
    /// Held by a running container, in a mode that is mounted once.
    pub mounted: Option<Volume>,
    /// Held by a FUSE serve, in a mode that is not mounted beside one.
    pub fuse_served: Option<Volume>,
    /// In a mode that is not mounted at all.
    pub mount_unsupported: Option<Volume>,
    /// Free, in a mode that any number of containers mount.
    pub mode: Option<Volume>,
}

impl Volumes {
    /// The volume of that name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Volume> {
        [
            &self.held,
            &self.mounted,
            &self.fuse_served,
            &self.mount_unsupported,
            &self.mode,
        ]
        .into_iter()
        .flatten()
        .find(|volume| volume.name == name)
    }
}

/// What to do with a stop that comes before the id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EarlyStop {
    /// Keep it with the other early channels, and act on it once the id is out.
    #[default]
    Kept,
    /// End the run at once, with a bare finish.
    ActedOn,
}

/// How the policy uses the freedom that the protocol leaves. The default is the reference.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The one credential that is accepted.
    pub credential: String,
    /// The provider's volumes.
    pub volumes: Volumes,
    /// The checks of a run request that are left out.
    pub off: HashSet<Check>,
    /// The scope number of begin on a proxy connection.
    pub begin_scope: u32,
    /// The number of the first channel opened on a scope.
    pub first_channel: u32,
    /// Open every channel under the lowest number that is free, instead of the next.
    pub lowest_free_channel: bool,
    /// What to do with a stop before the id.
    pub early_stop: EarlyStop,
    /// Finish the stop's own channel before the scope.
    pub finish_stop_channel: bool,
    /// Finish every channel the client still has open before the scope.
    pub finish_open_channels: bool,
    /// Relay a chunk that the proxy sends outside a loop, instead of dropping it.
    pub relay_stray_chunks: bool,
    /// End a run whose proxy sends a word out of order, instead of dropping that word.
    pub end_on_disorder: bool,
}

impl Settings {
    /// The reference's settings.
    #[must_use]
    pub fn new(credential: impl Into<String>, volumes: Volumes) -> Self {
        Self {
            credential: credential.into(),
            volumes,
            off: HashSet::new(),
            begin_scope: 1,
            first_channel: 0,
            lowest_free_channel: false,
            early_stop: EarlyStop::default(),
            finish_stop_channel: false,
            finish_open_channels: false,
            relay_stray_chunks: false,
            end_on_disorder: false,
        }
    }

    /// Whether that check is made.
    #[must_use]
    pub fn makes(&self, check: Check) -> bool {
        !self.off.contains(&check)
    }
}
