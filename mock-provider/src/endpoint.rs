//! An endpoint without a will of its own: it grants every WebSocket, and hands it over.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use diverge_link::{Connection, Limits, Listener};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};

/// What an endpoint reports.
#[derive(Debug)]
pub enum Arrival {
    /// A client's WebSocket.
    Opened(Box<Connection>),
    /// A client came, and it came to no WebSocket.
    Failed(io::Error),
}

/// A listening address on loopback. Dropping it ends it; WebSockets that were handed over go on.
#[derive(Debug)]
pub struct Endpoint {
    address: SocketAddr,
    accepting: JoinHandle<()>,
}

impl Endpoint {
    /// Listens on a port that the system picks, and sends to `to` what `report` makes of each arrival.
    ///
    /// # Errors
    /// When there is no port.
    pub async fn bind<T: Send + 'static>(
        to: mpsc::Sender<T>,
        report: impl Fn(Arrival) -> T + Clone + Send + 'static,
    ) -> io::Result<Self> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let listener = Listener::bind(address, Limits::default()).await?;
        let address = listener.address()?;
        Ok(Self {
            address,
            accepting: tokio::spawn(accept_all(listener, to, report)),
        })
    }

    /// Where clients dial it.
    #[must_use]
    pub fn url(&self) -> String {
        format!("ws://{}/", self.address)
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept_all<T: Send + 'static>(
    listener: Listener,
    to: mpsc::Sender<T>,
    report: impl Fn(Arrival) -> T + Clone + Send + 'static,
) {
    let mut handshakes = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(handshake) => {
                    let (to, report) = (to.clone(), report.clone());
                    handshakes.spawn(async move {
                        let arrival = match handshake.complete().await {
                            Ok(connection) => Arrival::Opened(Box::new(connection)),
                            Err(error) => Arrival::Failed(error),
                        };
                        // Nobody to report to means that the scenario is over.
                        let _ = to.send(report(arrival)).await;
                    });
                }
                // Out of descriptors, or gone before it was taken: neither ends the endpoint.
                Err(_) => tokio::task::yield_now().await,
            },
            Some(_) = handshakes.join_next() => {}
        }
    }
}
