//! What is asked on a channel, and what is answered.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::mcp::{BLOCK, Block};
use super::profile::{ClientChannel, DequeueKind, EnqueueKind, Profile, SchemaKind};
use super::run::write_json;
use super::shape::{Object, Shape, required};
use super::{Malformed, Rule, Unsaid};

/// What a channel's opener asks, on the run scope or on the begin scope (provider facts, 5.7). Debugging output shows
/// its body by its length, since it may hold secrets.
#[derive(Clone)]
pub enum ChannelAsk {
    /// End the run.
    Stop,
    /// Watch the container's files.
    Filetree,
    /// Read a file.
    Read(ReadAsk),
    /// Write a file.
    Write(WriteAsk),
    /// Send a file to another container.
    Transfer(TransferAsk),
    /// The other half of the database connection of this id.
    Postgres(u32),
    /// The schema of what the agent takes.
    Schema,
    /// The other half of the daemon connection of this id.
    Daemon(u32),
    /// Say something to the agent.
    Enqueue(EnqueueAsk),
    /// Take something back that still waits.
    Dequeue(DequeueAsk),
    /// Feed secrets: the object of values as it came.
    Secrets(Box<RawValue>),
}

/// A file to read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadAsk {
    /// The file, by components from the container's root.
    pub path: Vec<String>,
}

/// A file to write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteAsk {
    /// What the channel that brings the bytes will quote.
    pub write_id: u32,
    /// The file, by components from the container's root.
    pub path: Vec<String>,
}

/// A file to send to another container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransferAsk {
    /// The file, by components from this container's root.
    pub path: Vec<String>,
    /// The other container.
    pub id: String,
    /// The file there, by components from its root.
    pub destination: Vec<String>,
}

/// A message for the agent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EnqueueAsk {
    /// The message's key.
    pub key: String,
    /// Its MCP content blocks, each byte for byte as it came.
    pub content: Vec<Box<RawValue>>,
}

impl EnqueueAsk {
    /// The content, read.
    ///
    /// # Errors
    /// The rule broken by a block that was not judged before, with the pointer inside that block.
    pub fn blocks(&self) -> Result<Vec<Block>, Malformed> {
        self.content
            .iter()
            .map(|block| BLOCK.build(block.get().as_bytes()))
            .collect()
    }
}

/// A message to take back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DequeueAsk {
    /// The message's key.
    pub key: String,
}

const PATH: Shape = Shape::Array(&Shape::Str);
/// What asks for a file.
pub static READ: Shape = Shape::Object(&Object::open(&[required("path", PATH)]));
/// What puts a file.
pub static WRITE: Shape = Shape::Object(&Object::open(&[
    required("write_id", Shape::U32),
    required("path", PATH),
]));
/// What moves a file from one place to another.
pub static TRANSFER: Shape = Shape::Object(&Object::open(&[
    required("path", PATH),
    required("id", Shape::Str),
    required("destination", PATH),
]));
/// A message to be taken up.
pub static ENQUEUE: Shape = Shape::Object(&Object::open(&[
    required("key", Shape::Str),
    required("content", Shape::Array(&BLOCK)),
]));
/// A message to be given back.
pub static DEQUEUE: Shape = Shape::Object(&Object::open(&[required("key", Shape::Str)]));

impl ChannelAsk {
    /// Reads what stands behind the first byte of a channel request. A [`BeginChannel`](super::profile::BeginChannel)
    /// converts into the client's channel that it carries on. Bytes of an ask that has no body are not read.
    ///
    /// # Errors
    /// The rule broken, with offsets counted from the body's first byte.
    pub fn decode(kind: impl Into<ClientChannel>, body: &[u8]) -> Result<ChannelAsk, Malformed> {
        match kind.into() {
            ClientChannel::Stop => Ok(ChannelAsk::Stop),
            ClientChannel::Filetree => Ok(ChannelAsk::Filetree),
            ClientChannel::Read => READ.read(body).map(ChannelAsk::Read),
            ClientChannel::Write => WRITE.read(body).map(ChannelAsk::Write),
            ClientChannel::Transfer => TRANSFER.read(body).map(ChannelAsk::Transfer),
            ClientChannel::Postgres => connection(body).map(ChannelAsk::Postgres),
            ClientChannel::Schema => Ok(ChannelAsk::Schema),
            ClientChannel::Daemon => connection(body).map(ChannelAsk::Daemon),
            ClientChannel::Enqueue => ENQUEUE.read(body).map(ChannelAsk::Enqueue),
            ClientChannel::Dequeue => DEQUEUE.read(body).map(ChannelAsk::Dequeue),
            ClientChannel::Secrets => Shape::AnyObject.read(body).map(ChannelAsk::Secrets),
        }
    }

    /// The channel that asks this.
    pub fn kind(&self) -> ClientChannel {
        match self {
            ChannelAsk::Stop => ClientChannel::Stop,
            ChannelAsk::Filetree => ClientChannel::Filetree,
            ChannelAsk::Read(_) => ClientChannel::Read,
            ChannelAsk::Write(_) => ClientChannel::Write,
            ChannelAsk::Transfer(_) => ClientChannel::Transfer,
            ChannelAsk::Postgres(_) => ClientChannel::Postgres,
            ChannelAsk::Schema => ClientChannel::Schema,
            ChannelAsk::Daemon(_) => ClientChannel::Daemon,
            ChannelAsk::Enqueue(_) => ClientChannel::Enqueue,
            ChannelAsk::Dequeue(_) => ClientChannel::Dequeue,
            ChannelAsk::Secrets(_) => ClientChannel::Secrets,
        }
    }

    /// What stands behind the first byte.
    pub fn body(&self) -> Vec<u8> {
        let mut body = Vec::new();
        match self {
            ChannelAsk::Stop | ChannelAsk::Filetree | ChannelAsk::Schema => {}
            ChannelAsk::Postgres(id) | ChannelAsk::Daemon(id) => {
                body.extend_from_slice(&id.to_be_bytes())
            }
            ChannelAsk::Read(ask) => write_json(&mut body, ask),
            ChannelAsk::Write(ask) => write_json(&mut body, ask),
            ChannelAsk::Transfer(ask) => write_json(&mut body, ask),
            ChannelAsk::Enqueue(ask) => write_json(&mut body, ask),
            ChannelAsk::Dequeue(ask) => write_json(&mut body, ask),
            ChannelAsk::Secrets(values) => body.extend_from_slice(values.get().as_bytes()),
        }
        body
    }
}

impl fmt::Debug for ChannelAsk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChannelAsk")
            .field("kind", &self.kind())
            .field("body", &Unsaid(self.body().len()))
            .finish()
    }
}

fn connection(body: &[u8]) -> Result<u32, Malformed> {
    let found = || format!("{} bytes", body.len());
    let bytes = body
        .try_into()
        .map_err(|_| Malformed::bytes(Rule::BytesLength, 0, "exactly four bytes", found()))?;
    Ok(u32::from_be_bytes(bytes))
}

/// The answer on an enqueue channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnqueueAnswer<'a> {
    /// The agent has the message.
    Delivered,
    /// It was taken back.
    Dequeued,
    /// It was not taken: exactly one JSON value, as its bytes.
    Error(&'a [u8]),
}

impl<'a> EnqueueAnswer<'a> {
    /// Reads one answer; bytes behind delivered and dequeued are not read.
    ///
    /// # Errors
    /// The rule broken.
    pub fn decode(profile: &Profile, payload: &'a [u8]) -> Result<EnqueueAnswer<'a>, Malformed> {
        match profile.enqueue_answers.split(payload)? {
            (EnqueueKind::Delivered, _) => Ok(EnqueueAnswer::Delivered),
            (EnqueueKind::Dequeued, _) => Ok(EnqueueAnswer::Dequeued),
            (EnqueueKind::Error, raw) => one_value(raw).map(EnqueueAnswer::Error),
        }
    }

    /// The payload that says this.
    pub fn encode(&self, profile: &Profile) -> Vec<u8> {
        let (kind, raw): (_, &[u8]) = match self {
            EnqueueAnswer::Delivered => (EnqueueKind::Delivered, &[]),
            EnqueueAnswer::Dequeued => (EnqueueKind::Dequeued, &[]),
            EnqueueAnswer::Error(raw) => (EnqueueKind::Error, raw),
        };
        profile.enqueue_answers.payload(kind, raw)
    }
}

/// The answer on a dequeue channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DequeueAnswer<'a> {
    /// Something was taken back.
    Withdrawn,
    /// Nothing waited under that key.
    NothingWaited,
    /// It failed: exactly one JSON value, as its bytes.
    Error(&'a [u8]),
}

impl<'a> DequeueAnswer<'a> {
    /// Reads one answer; bytes behind withdrawn and nothing waited are not read.
    ///
    /// # Errors
    /// The rule broken.
    pub fn decode(profile: &Profile, payload: &'a [u8]) -> Result<DequeueAnswer<'a>, Malformed> {
        match profile.dequeue_answers.split(payload)? {
            (DequeueKind::Withdrawn, _) => Ok(DequeueAnswer::Withdrawn),
            (DequeueKind::NothingWaited, _) => Ok(DequeueAnswer::NothingWaited),
            (DequeueKind::Error, raw) => one_value(raw).map(DequeueAnswer::Error),
        }
    }

    /// The payload that says this.
    pub fn encode(&self, profile: &Profile) -> Vec<u8> {
        let (kind, raw): (_, &[u8]) = match self {
            DequeueAnswer::Withdrawn => (DequeueKind::Withdrawn, &[]),
            DequeueAnswer::NothingWaited => (DequeueKind::NothingWaited, &[]),
            DequeueAnswer::Error(raw) => (DequeueKind::Error, raw),
        };
        profile.dequeue_answers.payload(kind, raw)
    }
}

/// The answer on a schema channel; either is exactly one JSON value, as its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaAnswer<'a> {
    /// A JSON Schema.
    Schema(&'a [u8]),
    /// An error.
    Error(&'a [u8]),
}

impl<'a> SchemaAnswer<'a> {
    /// Reads one answer.
    ///
    /// # Errors
    /// The rule broken.
    pub fn decode(profile: &Profile, payload: &'a [u8]) -> Result<SchemaAnswer<'a>, Malformed> {
        match profile.schema_answers.split(payload)? {
            (SchemaKind::Schema, raw) => one_value(raw).map(SchemaAnswer::Schema),
            (SchemaKind::Error, raw) => one_value(raw).map(SchemaAnswer::Error),
        }
    }

    /// The payload that says this.
    pub fn encode(&self, profile: &Profile) -> Vec<u8> {
        match self {
            SchemaAnswer::Schema(raw) => profile.schema_answers.payload(SchemaKind::Schema, raw),
            SchemaAnswer::Error(raw) => profile.schema_answers.payload(SchemaKind::Error, raw),
        }
    }
}

fn one_value(raw: &[u8]) -> Result<&[u8], Malformed> {
    Shape::Any
        .judge(raw)
        .map(|()| raw)
        .map_err(|fault| fault.behind(1))
}
