//! Ports of loopback for what listens in scenarios.
//!
//! A program that is launched is told a port and listens there some time later, and a scenario may need that nothing
//! listens at a port of its own. Meanwhile nobody else may be given that port: a call that is meant for one scenario would
//! reach another. So whoever takes a port here keeps it, also while nothing listens there, from all others who take one
//! here, in this process and in any other.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};

use tokio::net::TcpSocket;

/// How many ports are tried until one is nobody else's.
const TRIES: u32 = 100;

/// A TCP port of loopback that nobody else who takes one is given while this is kept. Nothing listens there yet.
#[derive(Debug)]
pub struct Port {
    address: SocketAddr,
    /// The mark of whoever took it is its namesake in UDP, which nothing here uses and the system takes back by itself.
    _mark: UdpSocket,
}

impl Port {
    /// Takes one that the system picks.
    ///
    /// # Errors
    /// When the system has none.
    pub fn take() -> io::Result<Self> {
        let mut failed = io::Error::from(io::ErrorKind::AddrInUse);
        for _ in 0..TRIES {
            let free = TcpSocket::new_v4()?;
            free.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
            let address = free.local_addr()?;
            // Marked before it is free again, so that no two who take it could both find it free.
            match UdpSocket::bind(address) {
                Ok(mark) => {
                    return Ok(Self {
                        address,
                        _mark: mark,
                    });
                }
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    /// Takes one and listens there by `bind`; where a stranger was quicker, at another one.
    ///
    /// # Errors
    /// Those of `bind`, or when the system has no port.
    pub async fn listen<T, F>(bind: impl Fn(SocketAddr) -> F) -> io::Result<(T, Self)>
    where
        F: Future<Output = io::Result<T>>,
    {
        let mut tries = TRIES;
        loop {
            let port = Self::take()?;
            match bind(port.address).await {
                Err(error) if error.kind() == io::ErrorKind::AddrInUse && tries > 0 => tries -= 1,
                listening => return Ok((listening?, port)),
            }
        }
    }

    /// The port, with loopback's address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::OnceLock;

    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn a_port_that_is_kept_is_given_to_nobody_else() {
        let ports: Vec<_> = (0..2_000).map(|_| Port::take().expect("a port")).collect();
        let different: HashSet<_> = ports.iter().map(Port::address).collect();
        assert_eq!(different.len(), ports.len());
    }

    #[tokio::test]
    async fn a_port_is_kept_while_what_listens_there_comes_and_goes() {
        let port = Port::take().expect("a port");
        for _ in 0..2 {
            let listener = TcpListener::bind(port.address()).await;
            drop(listener.expect("nobody else listens"));
            assert!(UdpSocket::bind(port.address()).is_err(), "it is marked");
        }
        let address = port.address();
        drop(port);
        drop(UdpSocket::bind(address).expect("the mark is gone"));
    }

    #[tokio::test]
    async fn another_port_is_taken_where_a_stranger_was_quicker() {
        let stranger = OnceLock::new();
        let (_listener, port) = Port::listen(|address| {
            stranger.get_or_init(|| std::net::TcpListener::bind(address).expect("a free port"));
            TcpListener::bind(address)
        })
        .await
        .expect("another port");
        let stranger = stranger
            .get()
            .map(|it| it.local_addr().expect("its address"));
        assert!(stranger.is_some_and(|it| it != port.address()));
    }
}
