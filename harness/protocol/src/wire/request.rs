//! What a run and a begin ask for.

use std::collections::HashSet;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::Malformed;
use super::profile::{Profile, RequestKind};
use super::run::{MODE, Mode, write_json};
use super::shape::{self, Object, Shape, optional, required};

/// A run request (provider facts, 5.1). Numbers are in bytes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunRequest {
    /// The image to run.
    pub image: Image,
    /// The most memory the container may use.
    pub memory: u64,
    /// The limit of what the container writes to its file system, in bytes.
    pub disk: u64,
    /// Volumes to mount, in the order to mount them.
    #[serde(
        default,
        deserialize_with = "null_as_empty",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub volume_mounts: Vec<VolumeMount>,
    /// Live files.
    #[serde(
        default,
        deserialize_with = "null_as_empty",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub fuse_file_mounts: Vec<FuseMount>,
    /// Live directories.
    #[serde(
        default,
        deserialize_with = "null_as_empty",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub fuse_directory_mounts: Vec<FuseMount>,
    /// What the program is started with: any JSON value, byte for byte as it came.
    pub arguments: Box<RawValue>,
}

/// An image, by its manifest.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Image {
    /// Repository path without a host.
    pub name: String,
    /// The manifest's digest, `algorithm:hex`.
    pub digest: String,
}

/// A volume, or a part of one, at a place in the container.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct VolumeMount {
    /// The volume.
    pub volume_name: String,
    /// The part of it, by components; empty is the whole.
    pub volume_relative_path: Vec<String>,
    /// The mode that the volume is meant to be in.
    pub mode: Mode,
    /// The place, by components from the container's root.
    pub container_path: Vec<String>,
}

/// A live file or directory at a place in the container.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FuseMount {
    /// The place, by components from the container's root.
    pub container_path: Vec<String>,
    /// The client's name for it.
    pub id: String,
}

fn null_as_empty<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

static IMAGE: Object =
    Object::open(&[required("name", Shape::Str), required("digest", Shape::Str)]);
const PATH: Shape = Shape::Array(&Shape::Str);
static VOLUME_MOUNT: Shape = Shape::Object(&Object::open(&[
    required("volume_name", Shape::Str),
    required("volume_relative_path", PATH),
    required("mode", MODE),
    required("container_path", PATH),
]));
static FUSE_MOUNT: Shape = Shape::Object(&Object::open(&[
    required("container_path", PATH),
    required("id", Shape::Str),
]));
/// What asks for a container.
pub static RUN: Shape = Shape::Object(&Object::open(&[
    required("image", Shape::Object(&IMAGE)),
    required("memory", Shape::U64),
    required("disk", Shape::U64),
    optional("volume_mounts", Shape::Array(&VOLUME_MOUNT)),
    optional("fuse_file_mounts", Shape::Array(&FUSE_MOUNT)),
    optional("fuse_directory_mounts", Shape::Array(&FUSE_MOUNT)),
    required("arguments", Shape::Any),
]));

impl RunRequest {
    /// Reads a request payload, first byte and JSON.
    ///
    /// # Errors
    /// The rule broken, with offsets counted from the payload's first byte.
    pub fn decode(profile: &Profile, payload: &[u8]) -> Result<RunRequest, Malformed> {
        let (_, json) = profile.run_request.split(payload)?;
        RunRequest::decode_json(json).map_err(|fault| fault.behind(1))
    }

    /// Reads the JSON of a request.
    ///
    /// # Errors
    /// The rule broken.
    pub fn decode_json(json: &[u8]) -> Result<RunRequest, Malformed> {
        RUN.read(json)
    }

    /// The payload of this request, first byte and JSON.
    pub fn encode(&self, profile: &Profile) -> Vec<u8> {
        let mut payload = vec![profile.run_request.byte(RequestKind::Request)];
        write_json(&mut payload, self);
        payload
    }
}

/// A begin request, borrowed from its payload.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct BeginRequest<'a> {
    /// The run request's arguments, byte for byte.
    #[serde(borrow)]
    pub arguments: &'a RawValue,
}

/// What asks a proxy to begin.
pub static BEGIN: Shape = Shape::Object(&Object::open(&[required("arguments", Shape::Any)]));

impl<'a> BeginRequest<'a> {
    /// Reads a begin request payload, first byte and JSON.
    ///
    /// # Errors
    /// The rule broken, with offsets counted from the payload's first byte.
    pub fn decode(profile: &Profile, payload: &'a [u8]) -> Result<BeginRequest<'a>, Malformed> {
        let (_, json) = profile.begin_request.split(payload)?;
        shape::text(json)
            .and_then(|text| BEGIN.borrow(text))
            .map_err(|fault| fault.behind(1))
    }

    /// The payload of this request, first byte and JSON.
    pub fn encode(&self, profile: &Profile) -> Vec<u8> {
        let mut payload = vec![profile.begin_request.byte(RequestKind::Request)];
        write_json(&mut payload, self);
        payload
    }
}

/// Why a provider refuses a request's mounts with an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MountFault {
    /// A mount at the container's root.
    Root,
    /// A path component that is empty, `.`, `..`, or holds a slash or a NUL.
    Component,
    /// Two mounts at one place.
    Duplicate,
    /// A mount inside another.
    Nested,
    /// Two FUSE mounts under one id.
    FuseId,
}

impl MountFault {
    /// Every fault.
    pub const ALL: &'static [MountFault] = &[
        MountFault::Root,
        MountFault::Component,
        MountFault::Duplicate,
        MountFault::Nested,
        MountFault::FuseId,
    ];

    /// The fault's name.
    pub const fn name(self) -> &'static str {
        match self {
            MountFault::Root => "root",
            MountFault::Component => "component",
            MountFault::Duplicate => "duplicate",
            MountFault::Nested => "nested",
            MountFault::FuseId => "fuse-id",
        }
    }
}

/// The first fault in a request's mounts.
pub fn mount_fault(request: &RunRequest) -> Option<MountFault> {
    let fuse = || {
        request
            .fuse_file_mounts
            .iter()
            .chain(&request.fuse_directory_mounts)
    };
    let volumes = || request.volume_mounts.iter();
    let places: Vec<&[String]> = volumes()
        .map(|mount| mount.container_path.as_slice())
        .chain(fuse().map(|mount| mount.container_path.as_slice()))
        .collect();
    let mut components = places
        .iter()
        .copied()
        .chain(volumes().map(|mount| mount.volume_relative_path.as_slice()))
        .flatten();
    if places.iter().any(|place| place.is_empty()) {
        return Some(MountFault::Root);
    }
    if components.any(|component| !is_component(component)) {
        return Some(MountFault::Component);
    }
    let distinct: HashSet<&[String]> = places.iter().copied().collect();
    if distinct.len() < places.len() {
        return Some(MountFault::Duplicate);
    }
    if places
        .iter()
        .any(|place| (1..place.len()).any(|depth| distinct.contains(&place[..depth])))
    {
        return Some(MountFault::Nested);
    }
    let mut ids = HashSet::new();
    fuse()
        .any(|mount| !ids.insert(mount.id.as_str()))
        .then_some(MountFault::FuseId)
}

fn is_component(component: &str) -> bool {
    !component.is_empty()
        && component != "."
        && component != ".."
        && !component.contains(['/', '\0'])
}
