//! The run response: what a provider sends on a run scope, told by its first byte.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::chunk::{self, ChunkKind};
use super::shape::{Member, Object, Shape, members, required};
use super::vocabulary::vocabulary;
use super::{Malformed, Rule, Unsaid};

vocabulary! {
    /// What a run response is; the first byte is the variant's place.
    pub enum RunKind {
        /// The container runs, under this id.
        Id = "id",
        /// Refused: an operation holds a volume.
        VolumeHeld = "volume-held",
        /// Refused: a running container holds a volume.
        VolumeMounted = "volume-mounted",
        /// Refused: a FUSE serve holds a volume.
        VolumeFuseServed = "volume-fuse-served",
        /// Refused: volumes of that mode are not mounted here.
        VolumeMountUnsupported = "volume-mount-unsupported",
        /// Refused: a volume is in another mode.
        VolumeMode = "volume-mode",
        /// The run failed, or its proxy did.
        Error = "error",
        /// A chunk of the conversation.
        Chunk = "chunk",
        /// A loop began.
        Active = "active",
        /// The end of a loop, with the secrets that rotate.
        Inactive = "inactive",
    }
}

impl RunKind {
    /// The first byte of a payload of this kind.
    pub const fn byte(self) -> u8 {
        self as u8
    }

    /// The kind that a first byte names.
    pub fn from_byte(byte: u8) -> Option<RunKind> {
        RunKind::ALL.get(usize::from(byte)).copied()
    }

    /// The kind of a payload by its first byte; nothing behind it is read.
    ///
    /// # Errors
    /// [`Rule::PayloadEmpty`], or [`Rule::PayloadUnknownFirstByte`] above 9 (run response page, Malformed).
    pub fn of(payload: &[u8]) -> Result<RunKind, Malformed> {
        const ALLOWED: &str = "a first byte from 0 to 9";
        let Some(&byte) = payload.first() else {
            return Err(Malformed::bytes(Rule::PayloadEmpty, 0, ALLOWED, "no byte"));
        };
        RunKind::from_byte(byte).ok_or_else(|| {
            Malformed::bytes(
                Rule::PayloadUnknownFirstByte,
                0,
                ALLOWED,
                format!("the byte {byte}"),
            )
        })
    }

    /// The refusal that this kind is, if it is one.
    pub const fn refusal(self) -> Option<RefusalKind> {
        match self {
            RunKind::VolumeHeld => Some(RefusalKind::Held),
            RunKind::VolumeMounted => Some(RefusalKind::Mounted),
            RunKind::VolumeFuseServed => Some(RefusalKind::FuseServed),
            RunKind::VolumeMountUnsupported => Some(RefusalKind::MountUnsupported),
            RunKind::VolumeMode => Some(RefusalKind::Mode),
            _ => None,
        }
    }
}

vocabulary! {
    /// Why a volume refused a run, in the order in which a provider tries the reasons on it.
    pub enum RefusalKind {
        /// An operation holds the volume.
        Held = "volume-held",
        /// A running container holds it, and its mode is mounted once.
        Mounted = "volume-mounted",
        /// A FUSE serve holds it, and its mode is not mounted beside one.
        FuseServed = "volume-fuse-served",
        /// Volumes of its mode are not mounted.
        MountUnsupported = "volume-mount-unsupported",
        /// It is in another mode than its mount names.
        Mode = "volume-mode",
    }
}

impl RefusalKind {
    /// The run response kind that says so.
    pub const fn run_kind(self) -> RunKind {
        match self {
            RefusalKind::Held => RunKind::VolumeHeld,
            RefusalKind::Mounted => RunKind::VolumeMounted,
            RefusalKind::FuseServed => RunKind::VolumeFuseServed,
            RefusalKind::MountUnsupported => RunKind::VolumeMountUnsupported,
            RefusalKind::Mode => RunKind::VolumeMode,
        }
    }
}

/// The mode of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Kept between containers.
    Persistent,
    /// Gone with its containers.
    Ephemeral,
    /// Not written to.
    ReadOnly,
}

impl Mode {
    /// Every mode.
    pub const ALL: &'static [Mode] = &[Mode::Persistent, Mode::Ephemeral, Mode::ReadOnly];

    /// The mode's name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Mode::Persistent => "persistent",
            Mode::Ephemeral => "ephemeral",
            Mode::ReadOnly => "read_only",
        }
    }
}

/// One run response, borrowed from its payload; what a provider relays stays the bytes it is, and debugging output shows
/// those by their length.
#[derive(Clone, PartialEq, Eq)]
pub enum RunResponse<'a> {
    /// The container runs, under this id.
    Id(String),
    /// A volume refused the run.
    Refusal {
        /// Why.
        kind: RefusalKind,
        /// The volume's name, as the request has it.
        name: String,
        /// The mode that the volume is in, with [`RefusalKind::Mode`] only.
        mode: Option<Mode>,
    },
    /// An error: exactly one JSON value, as its bytes.
    Error(&'a [u8]),
    /// A chunk.
    Chunk {
        /// Its kind.
        kind: ChunkKind,
        /// Its JSON, as it came.
        raw: &'a [u8],
    },
    /// A loop began.
    Active,
    /// A loop ended.
    Inactive {
        /// The object of rotating secrets, as it came.
        raw: &'a [u8],
    },
}

#[derive(Serialize, Deserialize)]
struct Id {
    id: String,
}

#[derive(Serialize, Deserialize)]
struct Refusal {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<Mode>,
}

/// What tells the id.
pub static ID: Shape = Shape::Object(&Object::open(&[required("id", Shape::Str)]));
const VOLUME: &[Member] = &[required("name", Shape::Str)];
/// A refusal that names a volume.
pub static REFUSAL: Shape = Shape::Object(&Object::closed(VOLUME));
/// A refusal that names a volume and its mode.
pub static REFUSAL_WITH_MODE: Shape =
    Shape::Object(&Object::closed(members![VOLUME, &[required("mode", MODE)]]));

/// One of the three modes.
pub(super) const MODE: Shape = Shape::Const(&["persistent", "ephemeral", "read_only"]);

impl<'a> RunResponse<'a> {
    /// Reads one payload whole.
    ///
    /// # Errors
    /// The rule broken, with offsets counted from the payload's first byte (run response page, Malformed).
    pub fn decode(payload: &'a [u8]) -> Result<RunResponse<'a>, Malformed> {
        let kind = RunKind::of(payload)?;
        let body = payload.get(1..).unwrap_or_default();
        RunResponse::body(kind, body).map_err(|fault| fault.behind(1))
    }

    fn body(kind: RunKind, raw: &'a [u8]) -> Result<RunResponse<'a>, Malformed> {
        if let Some(kind) = kind.refusal() {
            let shape = if kind == RefusalKind::Mode {
                &REFUSAL_WITH_MODE
            } else {
                &REFUSAL
            };
            let Refusal { name, mode } = shape.read(raw)?;
            return Ok(RunResponse::Refusal { kind, name, mode });
        }
        match kind {
            RunKind::Id => ID.read(raw).map(|Id { id }| RunResponse::Id(id)),
            RunKind::Chunk => chunk::judge(raw).map(|kind| RunResponse::Chunk { kind, raw }),
            RunKind::Inactive => Shape::AnyObject
                .judge(raw)
                .map(|()| RunResponse::Inactive { raw }),
            RunKind::Active => Ok(RunResponse::Active),
            _ => Shape::Any.judge(raw).map(|()| RunResponse::Error(raw)),
        }
    }

    /// What it is.
    pub fn kind(&self) -> RunKind {
        match self {
            RunResponse::Id(_) => RunKind::Id,
            RunResponse::Refusal { kind, .. } => kind.run_kind(),
            RunResponse::Error(_) => RunKind::Error,
            RunResponse::Chunk { .. } => RunKind::Chunk,
            RunResponse::Active => RunKind::Active,
            RunResponse::Inactive { .. } => RunKind::Inactive,
        }
    }

    /// The payload that says this; raw parts go out as they are.
    pub fn encode(&self) -> Vec<u8> {
        let mut payload = vec![self.kind().byte()];
        match self {
            RunResponse::Id(id) => write_json(&mut payload, &Id { id: id.clone() }),
            RunResponse::Refusal { name, mode, .. } => {
                write_json(
                    &mut payload,
                    &Refusal {
                        name: name.clone(),
                        mode: *mode,
                    },
                );
            }
            RunResponse::Error(raw)
            | RunResponse::Chunk { raw, .. }
            | RunResponse::Inactive { raw } => {
                payload.extend_from_slice(raw);
            }
            RunResponse::Active => {}
        }
        payload
    }
}

impl fmt::Debug for RunResponse<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunResponse::Id(id) => f.debug_tuple("Id").field(id).finish(),
            RunResponse::Refusal { kind, name, mode } => {
                let mut refusal = f.debug_struct("Refusal");
                refusal
                    .field("kind", kind)
                    .field("name", name)
                    .field("mode", mode)
                    .finish()
            }
            RunResponse::Error(raw) => f.debug_tuple("Error").field(&Unsaid(raw.len())).finish(),
            RunResponse::Chunk { kind, raw } => {
                let mut chunk = f.debug_struct("Chunk");
                chunk
                    .field("kind", kind)
                    .field("raw", &Unsaid(raw.len()))
                    .finish()
            }
            RunResponse::Active => f.write_str("Active"),
            RunResponse::Inactive { raw } => f
                .debug_struct("Inactive")
                .field("raw", &Unsaid(raw.len()))
                .finish(),
        }
    }
}

/// Appends a value's JSON. Our own types have string keys and finite numbers, and a `Vec` takes all bytes.
pub(super) fn write_json(out: &mut Vec<u8>, value: &impl Serialize) {
    serde_json::to_writer(&mut *out, value)
        .unwrap_or_else(|_| unreachable!("our types always serialize"));
}
