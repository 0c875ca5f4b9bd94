//! Frames of a provider's: their header, their types and their finishes.

use bytes::Bytes;

use super::id;
use super::violation::{Cx, Length};
use crate::wire::frame::HEADER;
use crate::wire::{Frame, FrameType, Rule};

/// Reads what a provider sent as a server; `None` where no more can be said about it.
pub(super) fn from_server(message: &Bytes, cx: &mut Cx<'_>) -> Option<Frame> {
    let frame = read(message, cx)?;
    if matches!(frame.kind, FrameType::Authorization | FrameType::Request) {
        cx.flag(
            id::FRAME_SERVER_TYPES,
            "a frame of a type from 2 to 6",
            format!("the type {}", frame.kind.byte()),
        );
        return None;
    }
    finish_is_empty(&frame, cx);
    Some(frame)
}

/// Reads what a provider sent as its proxy's client. An authorization is told by the caller.
pub(super) fn from_client(message: &Bytes, cx: &mut Cx<'_>) -> Option<Frame> {
    let frame = read(message, cx)?;
    if matches!(frame.kind, FrameType::Response | FrameType::ResponseFinish) {
        cx.flag(
            id::FRAME_SERVER_TYPES,
            "a frame of the types 1, 4, 5 or 6",
            format!("the type {}", frame.kind.byte()),
        );
        return None;
    }
    finish_is_empty(&frame, cx);
    Some(frame)
}

fn read(message: &Bytes, cx: &mut Cx<'_>) -> Option<Frame> {
    match Frame::decode(message.clone()) {
        Ok(frame) => Some(frame),
        Err(fault) => {
            let rule = if fault.rule == Rule::FrameShort {
                id::FRAME_HEADER
            } else {
                id::FRAME_SERVER_TYPES
            };
            cx.flag(rule, fault.expected, fault.found);
            None
        }
    }
}

fn finish_is_empty(frame: &Frame, cx: &mut Cx<'_>) {
    if frame.kind.is_finish() && !frame.payload.is_empty() {
        let received = format!("{} behind the header", Length(frame.payload.len()));
        cx.flag(
            id::FRAME_FINISH_EMPTY,
            format!("a finish of {HEADER} bytes"),
            received,
        );
    }
}
