//! Messages in words, without a byte of what might be secret.

use diverge_protocol::wire::begin::BeginKind;
use diverge_protocol::wire::frame::{Frame, FrameType};
use diverge_protocol::wire::profile::Profile;
use diverge_protocol::wire::run::RunKind;

/// A provider's frame in words.
pub(crate) fn frame(frame: &Frame) -> String {
    let Frame {
        kind,
        scope,
        channel,
        payload,
    } = frame;
    let bytes = |count: usize| {
        if count == 1 {
            "1 byte".to_owned()
        } else {
            format!("{count} bytes")
        }
    };
    match kind {
        FrameType::Response => match RunKind::of(payload) {
            Ok(RunKind::Id | RunKind::Error) => {
                let body = String::from_utf8_lossy(&payload[1..]);
                format!(
                    "{} on scope {scope}: {}",
                    kind_name(payload),
                    shorten(&body, 160)
                )
            }
            Ok(kind) if kind.refusal().is_some() => {
                let body = String::from_utf8_lossy(&payload[1..]);
                format!(
                    "{} on scope {scope}: {}",
                    kind_name(payload),
                    shorten(&body, 160)
                )
            }
            Ok(_) => format!(
                "{} on scope {scope} ({})",
                kind_name(payload),
                bytes(payload.len() - 1)
            ),
            Err(_) => format!(
                "a response on scope {scope} that has no known kind ({})",
                bytes(payload.len())
            ),
        },
        FrameType::ResponseFinish => format!("the finish of scope {scope}"),
        FrameType::ChannelRequest => {
            format!(
                "a request for channel {channel} of scope {scope} ({})",
                bytes(payload.len())
            )
        }
        FrameType::ChannelResponse => {
            format!(
                "an answer on channel {channel} of scope {scope} ({})",
                bytes(payload.len())
            )
        }
        FrameType::ChannelResponseFinish => {
            format!("the finish of channel {channel} of scope {scope}")
        }
        FrameType::Authorization => "a credential frame".to_owned(),
        FrameType::Request => format!("a request on scope {scope} ({})", bytes(payload.len())),
    }
}

/// A proxy's frame in words.
pub(crate) fn begin_frame(frame: &Frame) -> String {
    let first = frame.payload.first();
    let kind = first.and_then(|first| Profile::scope().begin_responses.word(*first));
    match (frame.kind, kind) {
        (FrameType::Response, Some(kind @ (BeginKind::Begun | BeginKind::Error))) => {
            let body = String::from_utf8_lossy(&frame.payload[1..]);
            let body = shorten(&body, 160);
            format!("{} on scope {}: {body}", kind.name(), frame.scope)
        }
        (FrameType::Response, Some(kind)) => format!(
            "{} on scope {} ({} bytes)",
            kind.name(),
            frame.scope,
            frame.payload.len() - 1
        ),
        (FrameType::Response, None) => format!(
            "a response on scope {} that has no known kind ({} bytes)",
            frame.scope,
            frame.payload.len()
        ),
        (FrameType::ChannelResponse, _) => format!(
            "an answer with the first byte {} on channel {} ({} bytes)",
            first.map_or_else(|| "missing".to_owned(), u8::to_string),
            frame.channel,
            frame.payload.len()
        ),
        _ => self::frame(frame),
    }
}

/// A message of the path revision in words.
pub(crate) fn bytes(message: &[u8]) -> String {
    match message.split_first() {
        None => "an empty message".to_owned(),
        Some((first, rest)) => format!(
            "a message with the first byte {first}: {}",
            shorten(&String::from_utf8_lossy(rest), 160)
        ),
    }
}

fn kind_name(payload: &[u8]) -> String {
    RunKind::of(payload).map_or_else(|_| "an unknown response".to_owned(), allowed)
}

/// A response that is expected, in words.
pub(crate) fn allowed(kind: RunKind) -> String {
    match kind {
        RunKind::Id => "the id".to_owned(),
        RunKind::Error => "an error".to_owned(),
        RunKind::Chunk => "a chunk".to_owned(),
        RunKind::Active => "active".to_owned(),
        RunKind::Inactive => "inactive".to_owned(),
        refusal => format!("the refusal {}", refusal.name()),
    }
}

/// At most `most` characters, with an ellipsis where something is left out.
pub(crate) fn shorten(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", &text[..at]),
    }
}
