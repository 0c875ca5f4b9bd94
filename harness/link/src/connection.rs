//! One WebSocket, split into a sender and a receiver of whole messages.

use std::io;

use bytes::Bytes;
use diverge_protocol::wire::Frame;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{FutureExt, SinkExt, StreamExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{self, Message as WsMessage, http};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

/// How much one message may cost.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The largest message accepted, in bytes; a larger one ends the connection.
    pub message: usize,
}

impl Default for Limits {
    /// 64 MiB a message.
    fn default() -> Self {
        Self { message: 64 << 20 }
    }
}

impl Limits {
    pub(crate) fn config(self) -> WebSocketConfig {
        WebSocketConfig::default()
            .max_message_size(Some(self.message))
            .max_frame_size(Some(self.message))
            .read_buffer_size(8 << 10)
            .write_buffer_size(0)
            .accept_unmasked_frames(false)
    }
}

/// What arrives on a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// A binary message, whole.
    Binary(Bytes),
    /// A text message, whole.
    Text(String),
    /// The peer ended the connection: by a close frame, or by ending or breaking the byte stream.
    Closed,
}

/// Why a connection could not be had.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// Nothing accepts at that address.
    #[error("connection refused")]
    Refused,
    /// The peer answered the handshake with this HTTP status instead of 101.
    #[error("the handshake was answered with HTTP status {0}")]
    Status(u16),
    /// The peer broke the handshake off, or answered something that is no WebSocket handshake.
    #[error("the handshake broke off: {0}")]
    Handshake(String),
    /// The address is not one.
    #[error("not a WebSocket address: {0}")]
    Address(String),
    /// The network failed otherwise.
    #[error(transparent)]
    Io(io::Error),
}

impl ConnectError {
    /// Whether there is nobody who could have answered.
    #[must_use]
    pub fn is_unreachable(&self) -> bool {
        matches!(self, Self::Refused | Self::Address(_) | Self::Io(_))
    }

    /// The HTTP status of the answer to the handshake, where that was no grant.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Status(status) => Some(*status),
            _ => None,
        }
    }
}

type Stream = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// One open WebSocket.
#[derive(Debug)]
pub struct Connection {
    sender: Sender,
    receiver: Receiver,
    /// The subprotocol header of the accepting side's reply, as the dialling side saw it.
    pub subprotocol: Option<String>,
}

/// The sending half.
#[derive(Debug)]
pub struct Sender(Option<SplitSink<Stream, WsMessage>>);

/// The receiving half.
#[derive(Debug)]
pub struct Receiver {
    stream: SplitStream<Stream>,
    close_frame: bool,
}

impl Connection {
    pub(crate) fn new(stream: Stream, subprotocol: Option<String>) -> Self {
        let (sink, stream) = stream.split();
        Self {
            sender: Sender(Some(sink)),
            receiver: Receiver {
                stream,
                close_frame: false,
            },
            subprotocol,
        }
    }

    /// The two halves, for two tasks.
    #[must_use]
    pub fn split(self) -> (Sender, Receiver) {
        (self.sender, self.receiver)
    }

    /// Sends one binary message.
    ///
    /// # Errors
    /// When the connection is gone.
    pub async fn send(&mut self, message: Bytes) -> io::Result<()> {
        self.sender.send(message).await
    }

    /// The next message. After [`Message::Closed`] it is always [`Message::Closed`].
    pub async fn receive(&mut self) -> Message {
        self.receiver.receive().await
    }
}

impl Sender {
    /// Sends one binary message.
    ///
    /// # Errors
    /// When the connection is gone.
    pub async fn send(&mut self, message: Bytes) -> io::Result<()> {
        self.write(WsMessage::Binary(message)).await
    }

    /// Sends one text message.
    ///
    /// # Errors
    /// When the connection is gone.
    pub async fn send_text(&mut self, text: String) -> io::Result<()> {
        self.write(WsMessage::Text(text.into())).await
    }

    /// Sends a close frame; the peer's answer, if any, arrives at the receiver as [`Message::Closed`].
    ///
    /// # Errors
    /// When the connection is gone already.
    pub async fn close(&mut self) -> io::Result<()> {
        self.write(WsMessage::Close(None)).await
    }
}

impl Sender {
    /// Lets go of the connection without a close frame. Once the receiver is dropped as well, the byte stream ends.
    pub fn let_go(&mut self) {
        self.0 = None;
    }

    async fn write(&mut self, message: WsMessage) -> io::Result<()> {
        match &mut self.0 {
            Some(sink) => sink.send(message).await.map_err(io_error),
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }
}

impl Receiver {
    /// Whether the peer has sent a close frame.
    #[must_use]
    pub fn got_close_frame(&self) -> bool {
        self.close_frame
    }

    /// The next frame, past every message that is none; `None` once the connection has ended.
    pub async fn frame(&mut self) -> Option<Frame> {
        loop {
            match self.receive().await {
                Message::Binary(bytes) => {
                    if let Ok(frame) = Frame::decode(bytes) {
                        return Some(frame);
                    }
                }
                Message::Text(_) => {}
                Message::Closed => return None,
            }
        }
    }

    /// The next message. After [`Message::Closed`] it is always [`Message::Closed`].
    pub async fn receive(&mut self) -> Message {
        loop {
            match self.stream.next().await {
                Some(Ok(WsMessage::Binary(bytes))) => return Message::Binary(bytes),
                Some(Ok(WsMessage::Text(text))) => return Message::Text(text.as_str().to_owned()),
                Some(Ok(WsMessage::Close(_))) => {
                    self.close_frame = true;
                    // Reading on is what sends the answer to the close frame.
                    let _ = self.stream.next().now_or_never();
                    return Message::Closed;
                }
                Some(Err(_)) | None => return Message::Closed,
                Some(Ok(WsMessage::Ping(_) | WsMessage::Pong(_) | WsMessage::Frame(_))) => {}
            }
        }
    }
}

fn io_error(error: tungstenite::Error) -> io::Error {
    match error {
        tungstenite::Error::Io(error) => error,
        other => io::Error::new(io::ErrorKind::BrokenPipe, other.to_string()),
    }
}

/// Opens a WebSocket to `url`, offering no subprotocol and no extension.
///
/// # Errors
/// As [`ConnectError`] tells apart.
pub async fn connect(url: &str, limits: Limits) -> Result<Connection, ConnectError> {
    let opened =
        tokio_tungstenite::connect_async_with_config(url, Some(limits.config()), true).await;
    let (stream, response) = opened.map_err(connect_error)?;
    let subprotocol = response
        .headers()
        .get(http::header::SEC_WEBSOCKET_PROTOCOL)
        .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    Ok(Connection::new(stream, subprotocol))
}

fn connect_error(error: tungstenite::Error) -> ConnectError {
    match error {
        tungstenite::Error::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            ConnectError::Refused
        }
        tungstenite::Error::Io(error)
            if matches!(
                error.kind(),
                io::ErrorKind::ConnectionReset
                    | io::ErrorKind::UnexpectedEof
                    | io::ErrorKind::BrokenPipe
            ) =>
        {
            ConnectError::Handshake(error.to_string())
        }
        tungstenite::Error::Io(error) => ConnectError::Io(error),
        tungstenite::Error::Http(response) => ConnectError::Status(response.status().as_u16()),
        tungstenite::Error::Url(error) => ConnectError::Address(error.to_string()),
        other => ConnectError::Handshake(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use diverge_protocol::wire::FrameType;

    use super::*;
    use crate::Listener;

    #[tokio::test]
    async fn what_is_no_frame_is_passed_over_and_the_end_is_no_frame() {
        let address = ([127, 0, 0, 1], 0).into();
        let listener = Listener::bind(address, Limits::default()).await;
        let listener = listener.expect("a port");
        let url = format!("ws://{}/", listener.address().expect("its address"));
        let sending = tokio::spawn(async move {
            let connection = connect(&url, Limits::default()).await.expect("granted");
            let (mut sender, _receiver) = connection.split();
            sender.send_text("no frame".into()).await.expect("sent");
            sender.send(Bytes::from_static(&[1])).await.expect("sent");
            let frame = Frame::new(FrameType::Request, 7, 0, "all of it");
            sender.send(frame.encode()).await.expect("sent");
            sender.close().await.expect("sent");
        });
        let handshake = listener.accept().await.expect("a client");
        let (_sender, mut receiver) = handshake.complete().await.expect("a handshake").split();
        let came = receiver.frame().await.expect("a frame");
        assert_eq!((came.scope, &came.payload[..]), (7, &b"all of it"[..]));
        assert!(receiver.frame().await.is_none());
        sending.await.expect("it was sent");
    }
}
