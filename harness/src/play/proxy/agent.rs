//! The agent server's address. It belongs to a scenario until its proxy is gone, whether anything listens there or not:
//! a proxy that calls late must not reach the agent server of another scenario.

use std::io;
use std::net::SocketAddr;

use mock_agent_server::{Arrival, Endpoint, Reserved};
use tokio::sync::mpsc;

#[derive(Debug)]
enum State {
    Listens(Endpoint),
    Gone(Reserved),
    /// Nothing keeps it.
    Lost,
    /// It was to listen again, and somebody else has the port.
    Taken,
}

#[derive(Debug)]
pub(super) struct Agent {
    address: SocketAddr,
    to: mpsc::Sender<Arrival>,
    state: State,
}

impl Agent {
    /// Listens at `address`, where port 0 lets the system pick one, and reports to `to`.
    pub(super) async fn listen(address: SocketAddr, to: mpsc::Sender<Arrival>) -> io::Result<Self> {
        let endpoint = Endpoint::bind(address, to.clone()).await?;
        Ok(Self {
            address: endpoint.address(),
            to,
            state: State::Listens(endpoint),
        })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// From here on nothing of this scenario listens there. Whether that is new.
    pub(super) async fn goes(&mut self) -> bool {
        match std::mem::replace(&mut self.state, State::Lost) {
            State::Listens(endpoint) => {
                // Where the port cannot be kept, it is gone all the same.
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
            State::Lost | State::Taken => Endpoint::bind(self.address, self.to.clone()).await?,
            listens @ State::Listens(_) => {
                self.state = listens;
                return Ok(false);
            }
        };
        self.state = State::Listens(endpoint);
        Ok(true)
    }

    /// Whether somebody else got the port in between, so that the scenario could not go on.
    pub(super) fn is_taken(&self) -> bool {
        matches!(self.state, State::Taken)
    }
}
