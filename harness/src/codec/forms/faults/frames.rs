//! What is wrong about frames, and about the first byte of a payload.

use diverge_protocol::wire::Rule;
use diverge_protocol::wire::surface::Surface;

use super::super::Form;
use super::{refuses, takes};

pub(super) fn all() -> Vec<Form> {
    vec![
        takes(
            "codec-short-frames",
            "codec.frame.header",
            "It takes a frame that is cut within its header.",
            |_, fault| fault.rule == Rule::FrameShort,
        ),
        refuses(
            "codec-small-scopes",
            "codec.frame.header",
            "It reads a scope as a number with a sign, and refuses what is below zero.",
            |payload| {
                payload.surface == Surface::Frame
                    && payload.bytes.get(1).is_some_and(|byte| *byte >= 0x80)
            },
        ),
        takes(
            "codec-any-frame-type",
            "codec.frame.type",
            "It takes a frame of any type.",
            |_, fault| fault.rule == Rule::FrameUnknownType,
        ),
        takes(
            "codec-masks-frame-type",
            "codec.frame.type",
            "It reads the type from three bits.",
            |payload, fault| {
                fault.rule == Rule::FrameUnknownType
                    && payload.bytes.first().is_some_and(|byte| byte & 7 < 7)
            },
        ),
        takes(
            "codec-finish-with-payload",
            "codec.frame.finish-empty",
            "It takes a finish with bytes behind its header.",
            |_, fault| fault.rule == Rule::FrameFinishWithPayload,
        ),
        refuses(
            "codec-reads-frame-payload",
            "codec.frame.payload-unread",
            "It reads a response's payload with its frame.",
            |payload| {
                payload.surface == Surface::Frame
                    && payload.bytes.get(9).is_some_and(|byte| *byte > 9)
            },
        ),
        takes(
            "codec-takes-nothing",
            "codec.payload.empty",
            "It takes a payload without a byte for its first kind.",
            |_, fault| fault.rule == Rule::PayloadEmpty,
        ),
        takes(
            "codec-any-first-byte",
            "codec.payload.first-byte",
            "It takes a first byte that it does not know.",
            |_, fault| fault.rule == Rule::PayloadUnknownFirstByte,
        ),
        takes(
            "codec-next-first-byte",
            "codec.payload.first-byte",
            "It counts one first byte too far.",
            |payload, fault| {
                fault.rule == Rule::PayloadUnknownFirstByte && payload.bytes.first() == Some(&10)
            },
        ),
        takes(
            "codec-digits-as-first-byte",
            "codec.payload.first-byte",
            "It takes a digit for the first byte.",
            |payload, fault| {
                fault.rule == Rule::PayloadUnknownFirstByte
                    && payload.bytes.first().is_some_and(u8::is_ascii_digit)
            },
        ),
        refuses(
            "codec-reads-behind-active",
            "codec.payload.active-alone",
            "It refuses bytes behind an active.",
            |payload| payload.looks_like() == "active" && payload.bytes.len() > 1,
        ),
    ]
}
