//! Ctrl-C, or a polite request to end.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Listens from the moment it is made, so that a process started later never outlives an interrupted run.
pub(super) struct Interrupt {
    signals: Vec<Signal>,
}

impl Interrupt {
    /// Where the system grants no listener, its default stays: the process ends.
    pub(super) fn listen() -> Self {
        let kinds = [SignalKind::interrupt(), SignalKind::terminate()];
        Self {
            signals: kinds
                .into_iter()
                .filter_map(|kind| signal(kind).ok())
                .collect(),
        }
    }

    /// Waits for one of them.
    pub(super) async fn came(&mut self) {
        std::future::poll_fn(|context| {
            let came = self
                .signals
                .iter_mut()
                .any(|signal| signal.poll_recv(context).is_ready());
            if came {
                std::task::Poll::Ready(())
            } else {
                std::task::Poll::Pending
            }
        })
        .await;
    }
}
