//! The frame: nine header bytes and a payload, one frame to a WebSocket message.

use std::fmt;

use bytes::{BufMut, Bytes, BytesMut};

use super::vocabulary::vocabulary;
use super::{Malformed, Rule, Unsaid};

pub use super::credential::{credential_payload, read_credential};

/// Bytes of the header: the type, then the scope and the channel as big-endian integers of 32 bits.
pub const HEADER: usize = 9;

vocabulary! {
    /// What a frame is, by its first byte, which is also the variant's place (provider facts, 2).
    pub enum FrameType {
        /// The connector's credential, the first frame of a connection.
        Authorization = "authorization",
        /// A client opens a scope.
        Request = "request",
        /// A piece of a scope's answer.
        Response = "response",
        /// A scope's end.
        ResponseFinish = "response-finish",
        /// Either side opens a channel in a scope.
        ChannelRequest = "channel-request",
        /// A piece of a channel's answer.
        ChannelResponse = "channel-response",
        /// A channel's end.
        ChannelResponseFinish = "channel-response-finish",
    }
}

impl FrameType {
    /// The type that a header's first byte names.
    pub fn of(byte: u8) -> Option<FrameType> {
        FrameType::ALL.get(usize::from(byte)).copied()
    }

    /// The header's first byte.
    pub const fn byte(self) -> u8 {
        self as u8
    }

    /// Whether a frame of this type ends something and carries no payload.
    pub const fn is_finish(self) -> bool {
        matches!(
            self,
            FrameType::ResponseFinish | FrameType::ChannelResponseFinish
        )
    }
}

/// One frame. Debugging output shows the payload by its length, since it may hold a secret.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Frame {
    /// What it is.
    pub kind: FrameType,
    /// The scope it belongs to; not read in an authorization.
    pub scope: u32,
    /// The channel it belongs to; read in the channel types only.
    pub channel: u32,
    /// What stands behind the header, unread.
    pub payload: Bytes,
}

impl Frame {
    /// A frame of these parts.
    pub fn new(kind: FrameType, scope: u32, channel: u32, payload: impl Into<Bytes>) -> Frame {
        Frame {
            kind,
            scope,
            channel,
            payload: payload.into(),
        }
    }

    /// Reads one message; the payload shares the message's memory.
    ///
    /// # Errors
    /// [`Rule::FrameShort`] below nine bytes, [`Rule::FrameUnknownType`] for a first byte above 6. Which types a
    /// direction allows is not judged, nor is a payload behind a finish: see [`judge_finish`](Self::judge_finish).
    pub fn decode(bytes: Bytes) -> Result<Frame, Malformed> {
        let Some((header, _)) = bytes.split_first_chunk::<HEADER>() else {
            let found = format!("{} bytes", bytes.len());
            return Err(Malformed::bytes(
                Rule::FrameShort,
                bytes.len(),
                "a header of nine bytes",
                found,
            ));
        };
        let [kind, s0, s1, s2, s3, c0, c1, c2, c3] = *header;
        let Some(kind) = FrameType::of(kind) else {
            let found = format!("the type {kind}");
            return Err(Malformed::bytes(
                Rule::FrameUnknownType,
                0,
                "a type from 0 to 6",
                found,
            ));
        };
        Ok(Frame {
            kind,
            scope: u32::from_be_bytes([s0, s1, s2, s3]),
            channel: u32::from_be_bytes([c0, c1, c2, c3]),
            payload: bytes.slice(HEADER..),
        })
    }

    /// Like [`decode`](Self::decode), and refuses a finish that carries a payload.
    ///
    /// # Errors
    /// Those of `decode`, and [`Rule::FrameFinishWithPayload`].
    pub fn decode_strict(bytes: Bytes) -> Result<Frame, Malformed> {
        let frame = Frame::decode(bytes)?;
        frame.judge_finish()?;
        Ok(frame)
    }

    /// Judges that a finish carries nothing; any other type passes.
    ///
    /// # Errors
    /// [`Rule::FrameFinishWithPayload`].
    pub fn judge_finish(&self) -> Result<(), Malformed> {
        if self.kind.is_finish() && !self.payload.is_empty() {
            let found = format!("{} bytes behind it", self.payload.len());
            return Err(Malformed::bytes(
                Rule::FrameFinishWithPayload,
                HEADER,
                "nothing behind the header",
                found,
            ));
        }
        Ok(())
    }

    /// The message that carries this frame.
    pub fn encode(&self) -> Bytes {
        let mut bytes = BytesMut::with_capacity(HEADER + self.payload.len());
        bytes.put_u8(self.kind.byte());
        bytes.put_u32(self.scope);
        bytes.put_u32(self.channel);
        bytes.put_slice(&self.payload);
        bytes.freeze()
    }
}

impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frame")
            .field("kind", &self.kind)
            .field("scope", &self.scope)
            .field("channel", &self.channel)
            .field("payload", &Unsaid(self.payload.len()))
            .finish()
    }
}
