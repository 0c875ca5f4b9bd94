//! The agent server's address. It belongs to a scenario until its proxy is gone, whether anything listens there or not:
//! a proxy that calls late must not reach the agent server of another scenario.

use std::io;
use std::net::SocketAddr;

use mock_agent_server::{Arrival, Endpoint, Reserved};
use tokio::sync::mpsc;

use crate::port::Port;

#[derive(Debug)]
enum State {
    Listens(Endpoint),
    Gone(Reserved),
    /// A stranger has the port.
    Taken,
}

#[derive(Debug)]
pub(super) struct Agent {
    address: SocketAddr,
    to: mpsc::Sender<Arrival>,
    state: State,
    /// None where the proxy was told another port long ago.
    _port: Option<Port>,
}

impl Agent {
    /// Listens at `told`, or else at a port of its own, and reports to `to`.
    pub(super) async fn listen(
        told: Option<SocketAddr>,
        to: mpsc::Sender<Arrival>,
    ) -> io::Result<Self> {
        let bind = |address| Endpoint::bind(address, to.clone());
        let (endpoint, port) = match told {
            Some(address) => (bind(address).await?, None),
            None => {
                let (endpoint, port) = Port::listen(bind).await?;
                (endpoint, Some(port))
            }
        };
        Ok(Self {
            address: endpoint.address(),
            to,
            state: State::Listens(endpoint),
            _port: port,
        })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// From here on nothing of this scenario listens there. Whether that is new.
    pub(super) async fn goes(&mut self) -> bool {
        match std::mem::replace(&mut self.state, State::Taken) {
            State::Listens(endpoint) => {
                if let Ok(reserved) = endpoint.leave().await {
                    self.state = State::Gone(reserved);
                }
                true
            }
            other => {
                self.state = other;
                false
            }
        }
    }

    /// It listens again. Whether that is new.
    pub(super) async fn returns(&mut self) -> io::Result<bool> {
        let endpoint = match std::mem::replace(&mut self.state, State::Taken) {
            State::Gone(reserved) => reserved.listen(self.to.clone())?,
            State::Taken => Endpoint::bind(self.address, self.to.clone()).await?,
            listens @ State::Listens(_) => {
                self.state = listens;
                return Ok(false);
            }
        };
        self.state = State::Listens(endpoint);
        Ok(true)
    }

    /// Whether a stranger got the port in between, so that what the scenario found tells nothing.
    pub(super) fn is_taken(&self) -> bool {
        matches!(self.state, State::Taken)
    }
}
