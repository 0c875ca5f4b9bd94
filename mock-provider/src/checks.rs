//! What a run request is refused for, as a list of named checks.

use std::collections::HashMap;

use diverge_protocol::wire::request::{Image, MountFault, RunRequest, mount_fault};
use diverge_protocol::wire::run::{Mode, RefusalKind, RunKind, RunResponse};

use crate::settings::{Settings, Volume, Volumes};

/// One thing that is checked in a run request that can be read. The order is that of the checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Check {
    /// A mount at the container's root.
    RootMount,
    /// A path component that is none.
    Component,
    /// Two mounts at one place.
    SamePath,
    /// A mount inside another.
    NestedMount,
    /// Two FUSE mounts under one id.
    FuseId,
    /// An image that cannot be named so.
    Image,
    /// A volume that the provider does not list.
    UnlistedVolume,
    /// A volume under an exclusive operation.
    Held,
    /// A volume that another container has for itself.
    Mounted,
    /// A volume that a FUSE serve has for itself.
    FuseServed,
    /// A volume in a mode that is not mounted.
    MountUnsupported,
    /// A volume in another mode than its mount names.
    Mode,
    /// A volume that the request names under two modes.
    TwoModes,
}

/// The payload that refuses the request, by the first check that fails, or nothing where the run may start.
#[must_use]
pub fn refusal(request: &RunRequest, settings: &Settings) -> Option<Vec<u8>> {
    plain_checks()
        .iter()
        .filter(|(check, _, _)| settings.makes(*check))
        .find(|(_, _, fails)| fails(request, &settings.volumes))
        .map(|(_, message, _)| error(message))
        .or_else(|| volume_refusal(request, settings))
}

/// An early error with that message.
#[must_use]
pub fn error(message: &str) -> Vec<u8> {
    let mut payload = vec![RunKind::Error.byte()];
    payload.extend(
        serde_json::json!({ "kind": "refused", "message": message })
            .to_string()
            .into_bytes(),
    );
    payload
}

type Fails = fn(&RunRequest, &Volumes) -> bool;

/// The checks that are answered with an error.
fn plain_checks() -> &'static [(Check, &'static str, Fails)] {
    &[
        (Check::RootMount, "a mount at the root", |request, _| {
            mount_fault(request) == Some(MountFault::Root)
        }),
        (
            Check::Component,
            "a path with an impossible component",
            |request, _| mount_fault(request) == Some(MountFault::Component),
        ),
        (Check::SamePath, "two mounts at one path", |request, _| {
            mount_fault(request) == Some(MountFault::Duplicate)
        }),
        (
            Check::NestedMount,
            "a mount inside another",
            |request, _| mount_fault(request) == Some(MountFault::Nested),
        ),
        (
            Check::FuseId,
            "two FUSE mounts under one id",
            |request, _| mount_fault(request) == Some(MountFault::FuseId),
        ),
        (Check::Image, "no image is named so", |request, _| {
            !is_image(&request.image)
        }),
        (
            Check::UnlistedVolume,
            "a volume that is not listed",
            |request, volumes| {
                request
                    .volume_mounts
                    .iter()
                    .any(|mount| volumes.find(&mount.volume_name).is_none())
            },
        ),
    ]
}

/// The refusal by the first volume, in the order first named, that the run cannot have.
fn volume_refusal(request: &RunRequest, settings: &Settings) -> Option<Vec<u8>> {
    let mut modes: HashMap<&str, Vec<Mode>> = HashMap::new();
    for mount in &request.volume_mounts {
        modes
            .entry(&mount.volume_name)
            .or_default()
            .push(mount.mode);
    }
    let mut in_order = request
        .volume_mounts
        .iter()
        .filter_map(|mount| modes.remove_entry(mount.volume_name.as_str()));
    in_order.find_map(|(name, named)| {
        let volume = settings.volumes.find(name)?;
        let kind = volume_fault(volume, &named, settings)?;
        let mode = (kind == RefusalKind::Mode).then_some(volume.mode);
        Some(
            RunResponse::Refusal {
                kind,
                name: name.to_owned(),
                mode,
            }
            .encode(),
        )
    })
}

/// Why the run cannot have that volume under the modes that it names it under.
fn volume_fault(volume: &Volume, named: &[Mode], settings: &Settings) -> Option<RefusalKind> {
    let volumes = &settings.volumes;
    let is = |one: &Option<Volume>| one.as_ref() == Some(volume);
    let two_modes = named.iter().any(|mode| *mode != named[0]);
    [
        (Check::Held, is(&volumes.held), RefusalKind::Held),
        (Check::Mounted, is(&volumes.mounted), RefusalKind::Mounted),
        (
            Check::FuseServed,
            is(&volumes.fuse_served),
            RefusalKind::FuseServed,
        ),
        (
            Check::MountUnsupported,
            is(&volumes.mount_unsupported),
            RefusalKind::MountUnsupported,
        ),
        (
            Check::Mode,
            !two_modes && named[0] != volume.mode,
            RefusalKind::Mode,
        ),
        (Check::TwoModes, two_modes, RefusalKind::Mode),
    ]
    .into_iter()
    .find(|(check, fails, _)| *fails && settings.makes(*check))
    .map(|(_, _, kind)| kind)
}

/// Whether the name is a repository path without a host, and the digest an algorithm and hexadecimal digits.
fn is_image(image: &Image) -> bool {
    let is_component = |component: &str| {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        component
            .bytes()
            .all(|byte| plain(byte) || b"._-".contains(&byte))
            && component.bytes().next().is_some_and(plain)
            && component.bytes().last().is_some_and(plain)
    };
    let is_digest = |digest: &str| {
        digest.split_once(':').is_some_and(|(algorithm, hex)| {
            is_component(algorithm)
                && !hex.is_empty()
                && hex.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
    };
    image.name.split('/').all(is_component) && is_digest(&image.digest)
}
