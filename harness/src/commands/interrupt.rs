//! Ctrl-C, a polite request to end, or a terminal that is closed.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Listens from the moment it is made, so that a process started later never outlives an interrupted run.
pub(super) struct Interrupt {
    signals: Vec<Signal>,
}

impl Interrupt {
    /// Where the system grants no listener, its default stays: the process ends.
    pub(super) fn listen() -> Self {
        let hangup = (!ignores_hangup()).then(SignalKind::hangup);
        let kinds = [SignalKind::interrupt(), SignalKind::terminate()];
        Self {
            signals: kinds
                .into_iter()
                .chain(hangup)
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

/// Whether whoever started this process wants it to outlive its terminal, where the system tells.
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mut lines = status.lines();
    let ignored = lines.find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // The lowest bit is signal 1.
    ignored.is_some_and(|mask| mask & 1 == 1)
}
