//! Accepting WebSockets on loopback.

use std::io;
use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::MaybeTlsStream;

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

    /// Ends the TCP connection without an answer.
    pub fn hang_up(self) {
        drop(self.stream);
    }
}
