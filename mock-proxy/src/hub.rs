//! One listening address, and who owns the connections that come in on it.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use diverge_link::{Connection, Handshake, Limits, Listener, Message};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Every token starts with this, so that a connection's messages need one search.
const TOKEN_PREFIX: &[u8] = b"run-";
/// Hex digits behind the prefix.
const TOKEN_DIGITS: usize = 16;

/// A connection that reached its scenario, with the messages that were read to find out whose it is.
#[derive(Debug)]
pub struct ProxyConnection {
    /// The token in its messages; none on an address that one scenario has for itself.
    pub token: Option<String>,
    /// What came so far.
    pub first: Vec<Message>,
    /// The rest.
    pub connection: Connection,
}

/// What a claim hears.
#[derive(Debug)]
pub enum Arrival {
    /// A connection of the claim's.
    Connected(Box<ProxyConnection>),
    /// A connection that was turned away, as the claim asked.
    TurnedAway,
}

/// A connection that no scenario claims.
#[derive(Debug, Clone)]
pub struct Unclaimed {
    /// What is known of it, for people.
    pub about: String,
}

/// What to make of a connection that comes when its scenario is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Late {
    /// The run was left alone while it came up: its connection may still come.
    Allowed,
    /// The run was refused or is over: none may come.
    Unclaimed,
}

/// One address on which the proxies of all containers answer.
#[derive(Debug)]
pub struct Hub {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Shared {
    claims: Mutex<Claims>,
}

#[derive(Debug, Default)]
struct Claims {
    by_token: HashMap<String, mpsc::Sender<Arrival>>,
    over: HashMap<String, Late>,
    exclusive: Option<Exclusive>,
    unclaimed: Vec<Unclaimed>,
}

#[derive(Debug, Clone)]
struct Exclusive {
    to: mpsc::Sender<Arrival>,
    turn_away: bool,
}

impl Shared {
    fn claims(&self) -> MutexGuard<'_, Claims> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A scenario's right to connections; dropping it ends the right.
#[derive(Debug)]
pub struct Claim {
    shared: Arc<Shared>,
    to: mpsc::Sender<Arrival>,
    tokens: Vec<String>,
    exclusive: bool,
    late: HashMap<String, Late>,
}

impl Hub {
    /// Listens on `address`; port 0 lets the system pick one.
    ///
    /// # Errors
    /// When the address cannot be had.
    pub async fn bind(address: SocketAddr, limits: Limits) -> io::Result<Self> {
        let listener = Listener::bind(address, limits).await?;
        let address = listener.address()?;
        let shared = Arc::new(Shared::default());
        let accepting = tokio::spawn(accept_all(listener, Arc::clone(&shared)));
        Ok(Self {
            address,
            shared,
            accepting,
        })
    }

    /// The address that providers dial.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A claim whose arrivals go to `to`; an exclusive one gets every connection, whatever it carries.
    #[must_use]
    pub fn claim(&self, to: mpsc::Sender<Arrival>, exclusive: bool) -> Claim {
        if exclusive {
            self.shared.claims().exclusive = Some(Exclusive {
                to: to.clone(),
                turn_away: false,
            });
        }
        Claim {
            shared: Arc::clone(&self.shared),
            to,
            tokens: Vec::new(),
            exclusive,
            late: HashMap::new(),
        }
    }

    /// Takes what no scenario claimed since the last call.
    #[must_use]
    pub fn take_unclaimed(&self) -> Vec<Unclaimed> {
        std::mem::take(&mut self.shared.claims().unclaimed)
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Claim {
    /// A new token whose connections belong to this claim.
    pub fn token(&mut self) -> String {
        let token = fresh_token();
        self.shared
            .claims()
            .by_token
            .insert(token.clone(), self.to.clone());
        self.tokens.push(token.clone());
        token
    }

    /// From here on connections are turned away before their handshake; exclusive claims only.
    pub fn turn_away(&mut self) {
        if let Some(exclusive) = &mut self.shared.claims().exclusive {
            exclusive.turn_away = true;
        }
    }

    /// Says what a connection with `token` means once this claim is gone; without a word it is allowed.
    pub fn when_late(&mut self, token: &str, late: Late) {
        self.late.insert(token.to_owned(), late);
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut claims = self.shared.claims();
        if self.exclusive {
            claims.exclusive = None;
        }
        for token in &self.tokens {
            claims.by_token.remove(token);
            let late = self.late.get(token).copied().unwrap_or(Late::Allowed);
            claims.over.insert(token.clone(), late);
        }
    }
}

fn fresh_token() -> String {
    use std::hash::{BuildHasher, RandomState};
    use std::sync::atomic::{AtomicU64, Ordering};
    static COUNT: AtomicU64 = AtomicU64::new(0);
    // A fresh hasher's keys are random; the counter keeps two tokens of one process apart in any case.
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let random = RandomState::new().hash_one(count);
    format!("run-{:08x}{:08x}", random as u32, count as u32)
}

/// The first known token in `message`.
fn token_in<'a>(message: &'a [u8], claims: &Claims) -> Option<&'a str> {
    memchr::memmem::find_iter(message, TOKEN_PREFIX).find_map(|at| {
        let token = message.get(at..at + TOKEN_PREFIX.len() + TOKEN_DIGITS)?;
        let token = std::str::from_utf8(token).ok()?;
        (claims.by_token.contains_key(token) || claims.over.contains_key(token)).then_some(token)
    })
}

async fn accept_all(listener: Listener, shared: Arc<Shared>) {
    let mut connections = tokio::task::JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok(handshake) = accepted else { continue };
                connections.spawn(receive(handshake, Arc::clone(&shared)));
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Finds the owner of one connection and hands it over.
async fn receive(handshake: Handshake, shared: Arc<Shared>) {
    let exclusive = shared.claims().exclusive.clone();
    if let Some(Exclusive { to, turn_away }) = exclusive {
        if turn_away {
            handshake.hang_up();
            let _ = to.send(Arrival::TurnedAway).await;
        } else if let Ok(connection) = handshake.complete().await {
            let connected = ProxyConnection {
                token: None,
                first: Vec::new(),
                connection,
            };
            let _ = to.send(Arrival::Connected(Box::new(connected))).await;
        }
        return;
    }
    let Ok(mut connection) = handshake.complete().await else {
        return;
    };
    let mut first = Vec::new();
    loop {
        let message = connection.receive().await;
        let bytes = match &message {
            Message::Binary(bytes) => bytes.clone(),
            Message::Text(text) => Bytes::copy_from_slice(text.as_bytes()),
            Message::Closed => {
                let about = format!(
                    "a connection that carried no run's arguments in its {} messages",
                    first.len()
                );
                return shared.claims().unclaimed.push(Unclaimed { about });
            }
        };
        first.push(message);
        let owner = {
            let mut claims = shared.claims();
            let Some(token) = token_in(&bytes, &claims).map(str::to_owned) else {
                if first.len() >= 64 {
                    let about =
                        "a connection that carried no run's arguments in its first 64 messages"
                            .into();
                    return claims.unclaimed.push(Unclaimed { about });
                }
                continue;
            };
            match claims.by_token.get(&token) {
                Some(to) => (token, to.clone()),
                None => {
                    if claims.over.get(&token) == Some(&Late::Unclaimed) {
                        let about =
                            format!("a connection for {token}, whose run was refused or over");
                        claims.unclaimed.push(Unclaimed { about });
                    }
                    return;
                }
            }
        };
        let (token, to) = owner;
        let connected = ProxyConnection {
            token: Some(token),
            first,
            connection,
        };
        let _ = to.send(Arrival::Connected(Box::new(connected))).await;
        return;
    }
}
