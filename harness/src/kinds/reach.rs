//! Connecting to an implementation that may still be starting.

use std::time::Duration;

use diverge_link::{ConnectError, Connection, Limits, connect};

use crate::play::Patience;

/// Waits between two attempts to connect, growing to the last.
pub(crate) const BACKOFF: [Duration; 5] = [
    Duration::from_millis(5),
    Duration::from_millis(20),
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(200),
];
/// How long a launched process may take until it accepts.
pub(crate) const STARTING: Duration = Duration::from_secs(30);
/// How long an address that nobody answers at is tried.
pub(crate) const REACHING: Duration = Duration::from_millis(500);

/// Opens a WebSocket; while nobody accepts and `alive` holds, tries again until that took as long as is `allowed`.
///
/// # Errors
/// [`ConnectError::Refused`] when nobody accepts in time; others as they come.
pub(crate) async fn reach(
    url: impl Fn() -> String,
    limits: Limits,
    patience: &Patience,
    allowed: Duration,
    alive: impl Fn() -> bool,
) -> Result<Connection, ConnectError> {
    let mut backoff = BACKOFF
        .iter()
        .chain(std::iter::repeat(&BACKOFF[BACKOFF.len() - 1]));
    let mut waited = patience.start();
    let mut tried = Duration::ZERO;
    loop {
        let url = url();
        let connected = tokio::select! {
            connected = connect(&url, limits) => connected,
            () = waited.exhausted() => {
                Err(ConnectError::Handshake("no answer to the handshake".to_owned()))
            }
        };
        match connected {
            Err(ConnectError::Refused) if tried < allowed && alive() => {
                let pause = backoff.next().copied().unwrap_or(REACHING);
                waited.restart();
                waited.paused(pause).await;
                tried += pause;
            }
            other => return other,
        }
    }
}

/// Why nobody was reached at `place`, and what became of whoever was started there.
pub(crate) fn nobody(place: &str, error: &ConnectError, last_words: Option<String>) -> String {
    let why = match error {
        ConnectError::Refused => format!("nothing accepts connections at {place}"),
        other => format!("could not connect to {place}: {other}"),
    };
    match last_words {
        Some(words) => format!("{why}: {words}"),
        None => why,
    }
}
