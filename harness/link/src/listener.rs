//! Accepting WebSockets on loopback.

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::MaybeTlsStream;
use tokio_tungstenite::tungstenite::handshake::server::{
    Callback, ErrorResponse, Request, Response,
};
use tokio_tungstenite::tungstenite::http::header::SEC_WEBSOCKET_PROTOCOL;
use tokio_tungstenite::tungstenite::http::{HeaderValue, StatusCode};

use crate::connection::{Connection, Limits};

/// A listening address. Dropping it stops listening.
#[derive(Debug)]
pub struct Listener {
    inner: TcpListener,
    limits: Limits,
}

/// A TCP connection whose WebSocket handshake has not been answered yet.
#[derive(Debug)]
pub struct Handshake {
    stream: TcpStream,
    limits: Limits,
}

impl Listener {
    /// Listens on `address`; port 0 lets the system pick one.
    ///
    /// # Errors
    /// When the address cannot be had.
    pub async fn bind(address: SocketAddr, limits: Limits) -> io::Result<Self> {
        Ok(Self {
            inner: TcpListener::bind(address).await?,
            limits,
        })
    }

    /// The address that peers dial.
    ///
    /// # Errors
    /// When the system does not tell.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }

    /// The next peer, before its handshake.
    ///
    /// # Errors
    /// When the listener is broken.
    pub async fn accept(&self) -> io::Result<Handshake> {
        let (stream, _) = self.inner.accept().await?;
        stream.set_nodelay(true)?;
        Ok(Handshake {
            stream,
            limits: self.limits,
        })
    }
}

impl Handshake {
    /// Completes the handshake, granting no subprotocol and no extension.
    ///
    /// # Errors
    /// When the peer asked for something that is no WebSocket handshake, or went away.
    pub async fn complete(self) -> io::Result<Connection> {
        let stream = MaybeTlsStream::Plain(self.stream);
        tokio_tungstenite::accept_async_with_config(stream, Some(self.limits.config()))
            .await
            .map(|stream| Connection::new(stream, None))
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))
    }

    /// Completes the handshake, and names a subprotocol in the reply, offered or not.
    ///
    /// # Errors
    /// When the name is no header value, the peer asked for something that is no WebSocket handshake, or went away.
    pub async fn complete_naming(self, subprotocol: &str) -> io::Result<Connection> {
        let name = HeaderValue::from_str(subprotocol)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error.to_string()))?;
        let stream = MaybeTlsStream::Plain(self.stream);
        let reply = NameSubprotocol(name);
        tokio_tungstenite::accept_hdr_async_with_config(stream, reply, Some(self.limits.config()))
            .await
            .map(|stream| Connection::new(stream, None))
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))
    }

    /// Asks `admit`, which is told the path of the request, and completes the handshake, or answers it with the HTTP
    /// status that `admit` gives. `admit` is asked once, and only about a request for a WebSocket.
    ///
    /// # Errors
    /// When it was not admitted, the peer asked for something that is no WebSocket handshake, or went away.
    pub async fn complete_if(
        self,
        admit: impl FnOnce(&str) -> Result<(), u16> + Unpin,
    ) -> io::Result<Connection> {
        let stream = MaybeTlsStream::Plain(self.stream);
        let config = Some(self.limits.config());
        tokio_tungstenite::accept_hdr_async_with_config(stream, Admit(admit), config)
            .await
            .map(|stream| Connection::new(stream, None))
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))
    }

    /// Answers with an HTTP error. Whoever goes away instead of reading it does without it.
    pub async fn refuse(mut self) {
        const ANSWER: &[u8] =
            b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        let _ = self.stream.read(&mut [0; 4096]).await;
        let _ = self.stream.write_all(ANSWER).await;
    }

    /// Ends the TCP connection without an answer.
    pub fn hang_up(self) {
        drop(self.stream);
    }
}

struct NameSubprotocol(HeaderValue);

impl Callback for NameSubprotocol {
    fn on_request(self, _: &Request, mut response: Response) -> Result<Response, ErrorResponse> {
        response
            .headers_mut()
            .insert(SEC_WEBSOCKET_PROTOCOL, self.0);
        Ok(response)
    }
}

struct Admit<F>(F);

impl<F: FnOnce(&str) -> Result<(), u16>> Callback for Admit<F> {
    fn on_request(self, request: &Request, response: Response) -> Result<Response, ErrorResponse> {
        let Err(status) = (self.0)(request.uri().path()) else {
            return Ok(response);
        };
        let mut refusal = ErrorResponse::new(None);
        *refusal.status_mut() =
            StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Err(refusal)
    }
}
