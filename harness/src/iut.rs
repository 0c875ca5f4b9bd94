//! The implementation under test: where it is reached, and the processes that are started for it.

use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use diverge_link::{ConnectError, Connection, Limits, connect};
use mock_provider::server::{Behaviour, Server};
use mock_proxy::Hub;
use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop, ProcessGroup};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};

use crate::config::ProviderConfig;
use crate::play::Patience;

/// How an implementation is had.
#[derive(Debug, Clone)]
pub enum Plug {
    /// The in-tree reference, with this behaviour.
    Reference(Behaviour),
    /// A command line that the harness starts.
    Launch(String),
    /// A server that is running already.
    Url(String),
}

/// Why an implementation could not be had.
#[derive(Debug, thiserror::Error)]
pub enum PlugError {
    /// The command could not be started.
    #[error("could not start `{command}`: {error}")]
    Start {
        /// The command line.
        command: String,
        /// The system's reason.
        error: io::Error,
    },
    /// The command line cannot be taken apart.
    #[error("`{0}` is no command line: a quote is not closed, or it is empty")]
    CommandLine(String),
    /// The address for the mock proxy cannot be had.
    #[error(
        "could not listen on {address} for the containers' proxy: {error}; set [provider] proxy_listen"
    )]
    ProxyAddress {
        /// The address.
        address: SocketAddr,
        /// The system's reason.
        error: io::Error,
    },
    /// The harness itself could not listen.
    #[error("the harness could not listen on loopback: {0}")]
    Listen(io::Error),
}

/// Waits between two attempts to connect, growing to the last.
const BACKOFF: [Duration; 5] = [
    Duration::from_millis(5),
    Duration::from_millis(20),
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(200),
];
/// How long a launched process may take until it accepts.
const STARTING: Duration = Duration::from_secs(30);
/// How long an address that nobody answers at is tried.
const REACHING: Duration = Duration::from_millis(500);

/// How long a killed process may take to be gone.
const DYING: Duration = Duration::from_secs(2);

/// One way to an implementation, with the address at which its containers' proxies answer.
#[derive(Debug)]
pub struct Endpoint {
    hub: Arc<Hub>,
    credential: String,
    body: Body,
}

#[derive(Debug)]
enum Body {
    Reference { url: String, _server: Box<Server> },
    Launched(Launched),
    Url(String),
}

#[derive(Debug)]
struct Launched {
    command: String,
    words: Vec<String>,
    environment: Vec<(&'static str, String)>,
    state: Mutex<Process>,
}

#[derive(Debug)]
struct Process {
    child: Box<dyn ChildWrapper>,
    url: String,
    /// The last lines that it wrote, on either stream.
    said: Said,
    /// How many processes came before this one.
    generation: u64,
    reached: bool,
}

impl Endpoint {
    /// Plugs an implementation in, with an address of its own for its proxies.
    ///
    /// # Errors
    /// When it cannot be started, or an address cannot be had.
    pub async fn plug(plug: &Plug, config: &ProviderConfig) -> Result<Self, PlugError> {
        let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let address = if matches!(plug, Plug::Url(_)) {
            config.proxy_listen
        } else {
            loopback
        };
        let hub = Hub::bind(address, Limits::default())
            .await
            .map_err(|error| PlugError::ProxyAddress { address, error })?;
        let credential = config.credential.clone();
        let body = match plug {
            Plug::Url(url) => Body::Url(url.clone()),
            Plug::Reference(behaviour) => {
                let server =
                    crate::reference::serve(loopback, hub.address(), config, behaviour.clone())
                        .await
                        .map_err(PlugError::Listen)?;
                Body::Reference {
                    url: format!("ws://{}/", server.address()),
                    _server: Box::new(server),
                }
            }
            Plug::Launch(command) => {
                let words = shlex::split(command)
                    .filter(|words| !words.is_empty())
                    .ok_or_else(|| PlugError::CommandLine(command.clone()))?;
                let environment = vec![
                    ("CONFORMANCE_PROXY", hub.address().to_string()),
                    ("CONFORMANCE_CREDENTIAL", credential.clone()),
                    ("CONFORMANCE_REVISION", "scope".to_owned()),
                ];
                let process = start(command, &words, &environment, 0)?;
                Body::Launched(Launched {
                    command: command.clone(),
                    words,
                    environment,
                    state: Mutex::new(process),
                })
            }
        };
        Ok(Self {
            hub: Arc::new(hub),
            credential,
            body,
        })
    }

    /// Where the implementation's containers reach their proxy.
    #[must_use]
    pub fn hub(&self) -> &Hub {
        &self.hub
    }

    /// The credential that it accepts.
    #[must_use]
    pub fn credential(&self) -> &str {
        &self.credential
    }

    /// Its WebSocket address now.
    #[must_use]
    pub fn url(&self) -> String {
        match &self.body {
            Body::Reference { url, .. } | Body::Url(url) => url.clone(),
            Body::Launched(launched) => launched.state().url.clone(),
        }
    }

    /// Opens a WebSocket to it; while nobody accepts and its process lives, tries again.
    ///
    /// # Errors
    /// [`ConnectError::Refused`] when nobody accepts in time; others as they come.
    pub async fn connect(
        &self,
        limits: Limits,
        patience: &Patience,
    ) -> Result<Connection, ConnectError> {
        let mut backoff = BACKOFF
            .iter()
            .chain(std::iter::repeat(&BACKOFF[BACKOFF.len() - 1]));
        let mut waited = patience.start();
        let allowed = match &self.body {
            Body::Launched(launched) if !launched.state().reached => STARTING,
            _ => REACHING,
        };
        let mut tried = Duration::ZERO;
        loop {
            let url = self.url();
            let connected = tokio::select! {
                connected = connect(&url, limits) => connected,
                () = waited.exhausted() => {
                    Err(ConnectError::Handshake("no answer to the handshake".to_owned()))
                }
            };
            match connected {
                Err(ConnectError::Refused) if tried < allowed && self.alive() => {
                    let pause = backoff.next().copied().unwrap_or(REACHING);
                    waited.restart();
                    waited.paused(pause).await;
                    tried += pause;
                }
                other => {
                    if let (Body::Launched(launched), true) = (&self.body, other.is_ok()) {
                        launched.state().reached = true;
                    }
                    return other;
                }
            }
        }
    }

    /// Whether there can be an answer: a launched process runs, or there is none to ask about.
    #[must_use]
    pub fn alive(&self) -> bool {
        match &self.body {
            Body::Launched(launched) => matches!(launched.state().child.try_wait(), Ok(None)),
            Body::Reference { .. } | Body::Url(_) => true,
        }
    }

    /// How a launched process ended and what it wrote last, where it has ended.
    #[must_use]
    pub fn last_words(&self) -> Option<String> {
        let Body::Launched(launched) = &self.body else {
            return None;
        };
        let mut state = launched.state();
        let status = state.child.try_wait().ok().flatten()?;
        let mut words = format!("`{}` ended ({status})", launched.command);
        let said = state
            .said
            .lines()
            .join(" ⏎ ")
            .replace(&self.credential, "‹credential›");
        if !said.is_empty() {
            words.push_str(" after writing: ");
            words.push_str(&said);
        }
        Some(words)
    }

    /// Which process this is, counted from 0.
    #[must_use]
    pub fn generation(&self) -> u64 {
        match &self.body {
            Body::Launched(launched) => launched.state().generation,
            Body::Reference { .. } | Body::Url(_) => 0,
        }
    }

    /// Whether a connection was ever had.
    #[must_use]
    pub fn reached(&self) -> bool {
        match &self.body {
            Body::Launched(launched) => launched.state().reached || launched.state().generation > 0,
            Body::Reference { .. } | Body::Url(_) => true,
        }
    }

    /// Starts the process again where it has died; says whether it had.
    ///
    /// # Errors
    /// When it cannot be started again.
    pub fn revive(&self) -> Result<bool, PlugError> {
        let Body::Launched(launched) = &self.body else {
            return Ok(false);
        };
        let mut state = launched.state();
        if matches!(state.child.try_wait(), Ok(None)) {
            return Ok(false);
        }
        let generation = state.generation + 1;
        *state = start(
            &launched.command,
            &launched.words,
            &launched.environment,
            generation,
        )?;
        Ok(true)
    }

    /// Ends the process and its group, and waits until they are gone.
    pub async fn unplug(self) {
        if let Body::Launched(launched) = self.body {
            let mut process = launched
                .state
                .into_inner()
                .unwrap_or_else(PoisonError::into_inner);
            let _ = process.child.start_kill();
            let _ = process.child.wait().await;
        }
    }
}

impl Drop for Process {
    /// Ends the whole group, also when the run is interrupted, and sees it gone.
    fn drop(&mut self) {
        let _ = self.child.start_kill();
        // A killed process is gone within microseconds, unless the system itself holds it.
        let killed = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) && killed.elapsed() < DYING {
            std::thread::yield_now();
        }
    }
}

impl Launched {
    fn state(&self) -> std::sync::MutexGuard<'_, Process> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn start(
    command: &str,
    words: &[String],
    environment: &[(&'static str, String)],
    generation: u64,
) -> Result<Process, PlugError> {
    let listen = free_address().map_err(PlugError::Listen)?;
    let mut wrap = CommandWrap::with_new(&words[0], |process| {
        process
            .args(&words[1..])
            .env("CONFORMANCE_LISTEN", listen.to_string())
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
    });
    wrap.wrap(ProcessGroup::leader()).wrap(KillOnDrop);
    let mut child = wrap.spawn().map_err(|error| PlugError::Start {
        command: command.to_owned(),
        error,
    })?;
    let said = Said::default();
    if let Some(stdout) = child.stdout().take() {
        said.listen(stdout);
    }
    if let Some(stderr) = child.stderr().take() {
        said.listen(stderr);
    }
    Ok(Process {
        child,
        url: format!("ws://{listen}/"),
        said,
        generation,
        reached: false,
    })
}

/// An address on loopback that was free a moment ago; the process that is told it listens there.
fn free_address() -> io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}

/// How many of a process's last lines are kept.
const LINES: usize = 20;

/// What a launched process wrote last. Its output is its own affair: it is shown only where the process ended.
#[derive(Debug, Clone, Default)]
struct Said(Arc<Mutex<VecDeque<String>>>);

impl Said {
    fn listen(&self, stream: impl AsyncRead + Send + Unpin + 'static) {
        let said = self.clone();
        tokio::spawn(async move {
            let mut stream = BufReader::new(stream);
            let mut line = Vec::new();
            // A line without end is cut, so that a process that writes no newline costs no memory.
            while matches!((&mut stream).take(4096).read_until(b'\n', &mut line).await, Ok(read) if read > 0)
            {
                let mut lines = said.0.lock().unwrap_or_else(PoisonError::into_inner);
                if lines.len() == LINES {
                    lines.pop_front();
                }
                lines.push_back(String::from_utf8_lossy(&line).trim_end().to_owned());
                line.clear();
            }
        });
    }

    fn lines(&self) -> Vec<String> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .cloned()
            .collect()
    }
}
