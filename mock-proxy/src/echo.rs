//! A proxy whose program says back what it is told: enough to try a provider by hand.
//!
//! Each enqueued message is delivered at once and makes one loop, whose chunks are the message's own text blocks as user
//! parts. It is no reference: nothing judges it, and it knows no secrets.

use std::io;

use bytes::Bytes;
use diverge_link::{Connection, Limits, Listener, Message};
use diverge_protocol::wire::begin::BeginKind;
use diverge_protocol::wire::channel::{ChannelAsk, EnqueueAsk};
use diverge_protocol::wire::frame::{Frame, FrameType};
use diverge_protocol::wire::profile::{
    BeginChannel, ClientChannel, DequeueKind, EnqueueKind, Profile, SchemaKind,
};

/// Serves every connection that comes in, until the listener breaks.
///
/// # Errors
/// When the listener breaks.
pub async fn serve(listener: Listener) -> io::Result<()> {
    loop {
        let handshake = listener.accept().await?;
        tokio::spawn(async move {
            if let Ok(connection) = handshake.complete().await {
                let _ = converse(connection).await;
            }
        });
    }
}

/// Listens on `address` with the usual limits.
///
/// # Errors
/// When the address cannot be had.
pub async fn listen(address: std::net::SocketAddr) -> io::Result<Listener> {
    Listener::bind(address, Limits::default()).await
}

async fn converse(mut connection: Connection) -> io::Result<()> {
    let profile = Profile::scope();
    loop {
        let bytes = match connection.receive().await {
            Message::Binary(bytes) => bytes,
            Message::Text(_) => continue,
            Message::Closed => return Ok(()),
        };
        let Ok(frame) = Frame::decode(bytes) else {
            continue;
        };
        for answer in answers(profile, &frame) {
            connection.send(answer.encode()).await?;
        }
    }
}

/// What a frame of the provider's is answered with.
fn answers(profile: &Profile, frame: &Frame) -> Vec<Frame> {
    let respond = |kind, body: &[u8]| {
        Frame::new(
            FrameType::Response,
            frame.scope,
            0,
            profile.begin_responses.payload(kind, body),
        )
    };
    let on_channel = |kind, payload: Vec<u8>| Frame::new(kind, frame.scope, frame.channel, payload);
    let finish = || on_channel(FrameType::ChannelResponseFinish, Vec::new());
    let tag = frame.payload.first().copied();
    match frame.kind {
        FrameType::Request if tag.is_some_and(|tag| profile.begin_request.word(tag).is_some()) => {
            vec![respond(BeginKind::Begun, b"[]")]
        }
        FrameType::Request => vec![Frame::new(
            FrameType::ResponseFinish,
            frame.scope,
            0,
            Bytes::new(),
        )],
        FrameType::ChannelRequest => {
            let body = frame.payload.get(1..).unwrap_or_default();
            match tag.and_then(|tag| profile.begin_channels.word(tag)) {
                Some(BeginChannel::Schema) => {
                    let schema = profile.schema_answers.payload(SchemaKind::Schema, b"{}");
                    vec![on_channel(FrameType::ChannelResponse, schema), finish()]
                }
                Some(BeginChannel::Dequeue) => {
                    let nothing = profile
                        .dequeue_answers
                        .payload(DequeueKind::NothingWaited, b"");
                    vec![on_channel(FrameType::ChannelResponse, nothing), finish()]
                }
                Some(BeginChannel::Enqueue) => {
                    match ChannelAsk::decode(ClientChannel::Enqueue, body) {
                        Ok(ChannelAsk::Enqueue(ask)) => {
                            let delivered =
                                profile.enqueue_answers.payload(EnqueueKind::Delivered, b"");
                            let mut said =
                                vec![on_channel(FrameType::ChannelResponse, delivered), finish()];
                            said.push(respond(BeginKind::Active, b""));
                            said.extend(
                                user_parts(&ask)
                                    .iter()
                                    .map(|part| respond(BeginKind::Chunk, part.as_bytes())),
                            );
                            said.push(respond(BeginKind::Inactive, b"{}"));
                            said
                        }
                        _ => vec![finish()],
                    }
                }
                _ => vec![finish()],
            }
        }
        _ => Vec::new(),
    }
}

/// The text blocks of a message as the chunks that mark its landing.
fn user_parts(ask: &EnqueueAsk) -> Vec<String> {
    ask.content
        .iter()
        .filter_map(|block| {
            let block: serde_json::Value = serde_json::from_str(block.get()).ok()?;
            let text = block.get("text")?;
            let part =
                serde_json::json!({"type": "user_text_content", "key": ask.key, "text": text});
            Some(part.to_string())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(kind: BeginChannel, body: &[u8]) -> Vec<Vec<u8>> {
        let profile = Profile::scope();
        let payload = profile.begin_channels.payload(kind, body);
        let frame = Frame::new(FrameType::ChannelRequest, 1, 7, payload);
        answers(profile, &frame)
            .into_iter()
            .map(|frame| frame.encode().to_vec())
            .collect()
    }

    #[test]
    fn a_message_is_delivered_and_said_back_in_one_loop() {
        let said = ask(
            BeginChannel::Enqueue,
            br#"{"key":"k","content":[{"type":"text","text":"hi"}]}"#,
        );
        let heads: Vec<(u8, u8)> = said
            .iter()
            .map(|bytes| (bytes[0], bytes.get(9).copied().unwrap_or_default()))
            .collect();
        assert_eq!(heads, [(5, 0), (6, 0), (2, 3), (2, 2), (2, 4)]);
        assert!(String::from_utf8_lossy(&said[3]).contains(r#""text":"hi""#));
    }

    #[test]
    fn an_unreadable_message_gets_the_bare_finish() {
        let said = ask(BeginChannel::Enqueue, b"[]");
        assert_eq!(said.len(), 1);
        assert_eq!(said[0][0], 6);
    }
}
