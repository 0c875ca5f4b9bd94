//! What a conversation with a client has come to.

use std::collections::VecDeque;

use diverge_link::Sender;
use diverge_protocol::transcript::LinkId;
use diverge_protocol::wire::frame::Frame;
use mock_provider::endpoint::Endpoint;
use tokio::task::JoinHandle;

use super::written::Written;
use crate::client::Given;
use crate::kinds::client::Running;

/// A client that was started.
pub(super) struct Client {
    pub name: String,
    pub given: Given,
    /// Where it finds the provider.
    pub endpoint: Option<Endpoint>,
    pub running: Option<Running>,
    pub socket: Option<Socket>,
    /// Why it came to no WebSocket, where it tried.
    pub failed: Option<String>,
    /// Frames that no step has read, up to its run request.
    pub frames: VecDeque<(u64, Frame)>,
    /// The scope of its run request, once a step has read it.
    pub scope: Option<u32>,
    /// What it writes.
    pub written: Written,
}

/// The WebSocket of a client.
pub(super) struct Socket {
    pub link: LinkId,
    pub sender: Sender,
    pub reader: JoinHandle<()>,
    /// The client has ended it.
    pub ended: bool,
    /// The provider has closed it, or broken it.
    pub left: bool,
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.reader.abort();
    }
}
