//! A process that the harness starts, and that listens where it is told.

use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use diverge_link::{ConnectError, Connection, Limits};

use super::reach::{REACHING, STARTING, reach};
use crate::iut::PlugError;
use crate::play::Patience;
use crate::port::Port;
use crate::process::{CommandLine, Pipes, Process};

/// The variable that tells a process where to listen, as `host:port`.
const LISTEN: &str = "CONFORMANCE_LISTEN";
/// How often a process is started that ends before it was reached: what it was told is a port that was free a moment
/// ago, which a stranger may have taken since.
const ATTEMPTS: u32 = 3;

/// A process, and the place where it listens. Dropping it ends the process and its group.
#[derive(Debug)]
pub(super) struct Launched {
    command: CommandLine,
    environment: Vec<(&'static str, String)>,
    state: Mutex<Running>,
}

#[derive(Debug)]
struct Running {
    process: Process,
    port: Port,
    /// How many processes died before this one, each after it had been reached.
    generation: u64,
    reached: bool,
    /// How many processes have been started since one was last reached.
    attempts: u32,
}

impl Running {
    fn start(
        command: &CommandLine,
        environment: &[(&'static str, String)],
        generation: u64,
        attempts: u32,
    ) -> Result<Self, PlugError> {
        let port = Port::take().map_err(PlugError::Listen)?;
        let mut environment = environment.to_vec();
        environment.push((LISTEN, port.address().to_string()));
        Ok(Self {
            process: Process::start(command, &environment, Pipes::None)?,
            port,
            generation,
            reached: false,
            attempts,
        })
    }
}

impl Launched {
    /// Starts a process, which is told where to listen besides what its `environment` tells it.
    ///
    /// # Errors
    /// When the system cannot start it.
    pub(super) fn start(
        command: CommandLine,
        environment: Vec<(&'static str, String)>,
    ) -> Result<Self, PlugError> {
        let running = Running::start(&command, &environment, 0, 1)?;
        Ok(Self {
            command,
            environment,
            state: Mutex::new(running),
        })
    }

    fn state(&self) -> MutexGuard<'_, Running> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where it listens now.
    pub(super) fn address(&self) -> SocketAddr {
        self.state().port.address()
    }

    /// Whether the process runs.
    pub(super) fn alive(&self) -> bool {
        self.state().process.ended().is_none()
    }

    /// Which process this is, counted from 0.
    pub(super) fn generation(&self) -> u64 {
        self.state().generation
    }

    /// Whether a connection to it was ever had.
    pub(super) fn reached(&self) -> bool {
        let state = self.state();
        state.reached || state.generation > 0
    }

    /// Opens a WebSocket to the address that `url` makes of where it listens; while nobody accepts and the process
    /// lives, tries again.
    ///
    /// # Errors
    /// [`ConnectError::Refused`] when nobody accepts in time; others as they come.
    pub(super) async fn connect(
        &self,
        url: impl Fn(SocketAddr) -> String,
        limits: Limits,
        patience: &Patience,
    ) -> Result<Connection, ConnectError> {
        loop {
            let (attempts, reached) = {
                let state = self.state();
                (state.attempts, state.reached)
            };
            let allowed = if reached { REACHING } else { STARTING };
            let url = || url(self.address());
            let connected = reach(url, limits, patience, allowed, || self.alive()).await;
            match connected {
                Ok(_) => self.state().reached = true,
                Err(ConnectError::Refused) if self.started_again(attempts) => continue,
                Err(_) => {}
            }
            return connected;
        }
    }

    /// Starts the process at another port where it ended before it was ever reached. Whether another one runs now than
    /// that of so many `attempts`.
    fn started_again(&self, attempts: u32) -> bool {
        let mut state = self.state();
        if state.attempts != attempts {
            return true;
        }
        if state.reached || attempts >= ATTEMPTS || state.process.ended().is_none() {
            return false;
        }
        let generation = state.generation;
        match Running::start(&self.command, &self.environment, generation, attempts + 1) {
            Ok(running) => {
                *state = running;
                true
            }
            Err(_) => false,
        }
    }

    /// Starts the process again where it has died; says whether it had.
    ///
    /// # Errors
    /// When it cannot be started again.
    pub(super) fn revive(&self) -> Result<bool, PlugError> {
        let mut state = self.state();
        if state.process.ended().is_none() {
            return Ok(false);
        }
        let generation = state.generation + 1;
        *state = Running::start(&self.command, &self.environment, generation, 1)?;
        Ok(true)
    }

    /// How the process ended and what it wrote last, where it has ended.
    pub(super) fn last_words(&self) -> Option<String> {
        let mut state = self.state();
        let status = state.process.ended()?;
        let mut words = format!("`{}` ended ({status})", self.command.text());
        let said = state.process.said().join(" ⏎ ");
        if !said.is_empty() {
            words.push_str(" after writing: ");
            words.push_str(&said);
        }
        Some(words)
    }

    /// Ends the process and its group, and waits until they are gone.
    pub(super) async fn end(self) {
        let running = self.state.into_inner();
        let running = running.unwrap_or_else(PoisonError::into_inner);
        running.process.end().await;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn a_process_that_ends_before_it_is_reached_is_started_again_at_another_port() {
        let directory = tempfile::tempdir().expect("a directory");
        let heard = directory.path().join("heard");
        let script = format!("'echo $CONFORMANCE_LISTEN >> {}; exit 1'", heard.display());
        let command = CommandLine::parse(&format!("sh -c {script}")).expect("a command");
        let launched = Launched::start(command, Vec::new()).expect("a shell");
        let url = |address| format!("ws://{address}/");
        let patience = Patience::new(Duration::from_secs(30));
        let connected = launched.connect(url, Limits::default(), &patience).await;
        assert!(matches!(connected, Err(ConnectError::Refused)));
        let heard = std::fs::read_to_string(heard).expect("a file");
        let mut places: Vec<_> = heard.lines().collect();
        assert_eq!(places.len(), ATTEMPTS as usize);
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), ATTEMPTS as usize, "each at a port of its own");
        assert!(launched.last_words().is_some());
    }
}
