//! An HTTP endpoint without a will of its own: it reports every call, and does what it is told with it.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::Stream;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, JoinSet};

use crate::call::{Asked, Begun, Call, CallId, Cut, Head, Piece};

/// The longest body of a request that is read, in bytes.
const LONGEST: usize = 64 << 20;
/// How many connections wait to be accepted at an address that is listened at again.
const BACKLOG: u32 = 1024;

/// What an endpoint reports.
#[derive(Debug)]
pub enum Arrival {
    /// A call, read whole.
    Called(Box<Call>),
    /// The caller is gone: it left before its call was answered, or before its answer's body came to its end. Nobody is
    /// reported whom the endpoint itself cut off.
    Dropped(CallId),
}

/// A listening address. Dropping it ends it, its connections and their calls.
#[derive(Debug)]
pub struct Endpoint {
    address: SocketAddr,
    accepting: JoinHandle<()>,
}

impl Endpoint {
    /// Listens on `address`, where port 0 lets the system pick one, and reports to `to`.
    ///
    /// # Errors
    /// When the address cannot be had.
    pub async fn bind(address: SocketAddr, to: mpsc::Sender<Arrival>) -> io::Result<Self> {
        Self::on(TcpListener::bind(address).await?, to)
    }

    fn on(listener: TcpListener, to: mpsc::Sender<Arrival>) -> io::Result<Self> {
        Ok(Self {
            address: listener.local_addr()?,
            accepting: tokio::spawn(accept_all(listener, to)),
        })
    }

    /// Ends it, and keeps its port from everybody else.
    ///
    /// # Errors
    /// When the port is gone at once.
    pub async fn leave(self) -> io::Result<Reserved> {
        let address = self.address;
        self.stop().await;
        let socket = match address {
            SocketAddr::V4(_) => TcpSocket::new_v4()?,
            SocketAddr::V6(_) => TcpSocket::new_v6()?,
        };
        // Connections that were cut still count as users of the port, unless it may be reused; others may not.
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        socket.set_reuseaddr(false)?;
        Ok(Reserved(socket))
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends it, and returns once its port is free.
    pub async fn stop(mut self) {
        self.accepting.abort();
        // An abort is how it always ends.
        let _ = (&mut self.accepting).await;
    }
}

/// An address that an endpoint had, at which nobody listens and nobody else can.
#[derive(Debug)]
pub struct Reserved(TcpSocket);

impl Reserved {
    /// Listens there again.
    ///
    /// # Errors
    /// When the system does not let it.
    pub fn listen(self, to: mpsc::Sender<Arrival>) -> io::Result<Endpoint> {
        self.0.set_reuseaddr(true)?;
        Endpoint::on(self.0.listen(BACKLOG)?, to)
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept_all(listener: TcpListener, to: mpsc::Sender<Arrival>) {
    let calls = Arc::new(AtomicU64::new(0));
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(serve(stream, to.clone(), Arc::clone(&calls)));
                }
                // Out of descriptors, or gone before it was taken: neither ends the endpoint.
                Err(_) => tokio::task::yield_now().await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Serves one connection until it ends or is cut.
async fn serve(stream: TcpStream, to: mpsc::Sender<Arrival>, calls: Arc<AtomicU64>) {
    // Pieces are to go out one by one; where that cannot be had they still go out.
    let _ = stream.set_nodelay(true);
    let cut = Arc::<Cut>::default();
    let taking = Taking {
        to,
        calls,
        cut: Arc::clone(&cut),
    };
    let app = Router::new().fallback(take).with_state(taking);
    let serving =
        http1::Builder::new().serve_connection(TokioIo::new(stream), TowerToHyperService::new(app));
    tokio::select! {
        // Whether it ended well does not matter here: what its calls were told tells.
        _ = serving => {}
        () = cut.wait() => {}
    }
}

/// What every call of one connection is taken with.
#[derive(Clone)]
struct Taking {
    to: mpsc::Sender<Arrival>,
    calls: Arc<AtomicU64>,
    cut: Arc<Cut>,
}

/// Reports a call, waits for what it is to be answered, and answers it.
async fn take(State(taking): State<Taking>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, LONGEST).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let id = CallId(taking.calls.fetch_add(1, Ordering::Relaxed));
    let asked = Asked {
        method: parts.method.to_string(),
        path: parts
            .uri
            .path_and_query()
            .map_or_else(|| parts.uri.path().to_owned(), ToString::to_string),
        headers: parts.headers,
        body,
    };
    let (begin, begun) = oneshot::channel();
    let call = Call::new(id, asked, begin, Arc::clone(&taking.cut));
    if taking
        .to
        .send(Arrival::Called(Box::new(call)))
        .await
        .is_err()
    {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    let watch = Watch {
        id,
        to: taking.to,
        cut: taking.cut,
        over: false,
    };
    match begun.await {
        Ok(Begun::Whole(answer)) => {
            watch.done();
            with_head(answer.status, answer.content_type, Body::from(answer.body))
        }
        Ok(Begun::Stream(head, pieces)) => {
            let Head {
                status,
                content_type,
            } = head;
            let body = Pieces {
                pieces,
                flood: None,
                yielded: false,
                watch: Some(watch),
            };
            with_head(status, content_type, Body::from_stream(body))
        }
        // The call was broken off, and with it the connection is cut.
        Err(_) => std::future::pending().await,
    }
}

fn with_head(status: u16, content_type: Option<String>, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if let Some(value) = content_type.and_then(|it| HeaderValue::from_str(&it).ok()) {
        response.headers_mut().insert(CONTENT_TYPE, value);
    }
    response
}

/// Reports a caller that goes away while its call is watched.
struct Watch {
    id: CallId,
    to: mpsc::Sender<Arrival>,
    cut: Arc<Cut>,
    over: bool,
}

impl Watch {
    fn done(mut self) {
        self.over = true;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if self.over || self.cut.is_cut() {
            return;
        }
        let (to, dropped) = (self.to.clone(), Arrival::Dropped(self.id));
        if let Err(mpsc::error::TrySendError::Full(dropped)) = to.try_send(dropped)
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(async move { to.send(dropped).await });
        }
    }
}

/// A body that comes piece by piece.
struct Pieces {
    pieces: mpsc::UnboundedReceiver<Piece>,
    flood: Option<Bytes>,
    /// Whether the connection had a turn to send since the head, or the last piece.
    yielded: bool,
    watch: Option<Watch>,
}

impl Pieces {
    fn done(&mut self) {
        if let Some(watch) = self.watch.take() {
            watch.done();
        }
    }
}

impl Stream for Pieces {
    type Item = Result<Bytes, io::Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        // Every piece goes out by itself, and what was sent before a cut goes out first.
        if !std::mem::replace(&mut self.yielded, true) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        if let Some(bytes) = &self.flood {
            return Poll::Ready(Some(Ok(bytes.clone())));
        }
        match self.pieces.poll_recv(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Some(Piece::Bytes(bytes))) => {
                self.yielded = false;
                Poll::Ready(Some(Ok(bytes)))
            }
            Poll::Ready(Some(Piece::Flood(bytes))) => {
                self.flood = Some(bytes.clone());
                Poll::Ready(Some(Ok(bytes)))
            }
            Poll::Ready(Some(Piece::End)) => {
                self.done();
                Poll::Ready(None)
            }
            Poll::Ready(None) => {
                self.done();
                Poll::Ready(Some(Err(io::Error::other("broken off"))))
            }
        }
    }
}
