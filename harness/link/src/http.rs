//! Calls to an HTTP server, each on a connection of its own, and the server-sent events that may answer one.
//!
//! No redirect is followed, no proxy is used, nothing is tried again, and nothing but a dropped call ends the wait for an
//! answer. Dropping a call, a [`Response`] or an [`Events`] ends its connection.

use std::io;
use std::net::SocketAddr;

use bytes::Bytes;
use futures_util::StreamExt;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{CONNECTION, CONTENT_TYPE, HOST};
use hyper_util::rt::TokioIo;
use sse_stream::SseStream;
use tokio::net::TcpStream;
use tokio::task::AbortHandle;

pub use hyper::Method;

/// The longest body that is read as a whole, in bytes.
const LONGEST: usize = 64 << 20;

/// What is asked of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The method.
    pub method: Method,
    /// The path, from its slash.
    pub path: String,
    /// The type of the body, where one is said.
    pub content_type: Option<String>,
    /// The body; none where it is empty.
    pub body: Bytes,
}

/// Why a call has no answer, or not the whole of one.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// Nothing accepts at that address.
    #[error("no connection: {}", .0.kind())]
    Unreachable(io::Error),
    /// The call itself is none: a path or a type that HTTP does not know.
    #[error("the call cannot be written: {0}")]
    Unwritable(String),
    /// The server ended the connection, or answered something that is no HTTP.
    #[error("the answer broke off: {0}")]
    Broken(String),
    /// The body goes on beyond what is read of one.
    #[error("the body is longer than {} MiB", LONGEST >> 20)]
    TooLong,
    /// The body is no stream of events that can be read.
    #[error("no stream of events: {0}")]
    NoEvents(String),
}

/// The head of an answer; its body is still to be read.
#[derive(Debug)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// What the server says the body's type is.
    pub content_type: Option<String>,
    body: Incoming,
    driver: Driver,
}

/// The events of an answer's body.
pub struct Events {
    stream: SseStream<Incoming>,
    _driver: Driver,
}

/// The task that moves a connection's bytes, ended with whoever holds this.
#[derive(Debug)]
struct Driver(AbortHandle);

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Calls the server at `address`, and waits for the head of its answer.
///
/// # Errors
/// When there is no answer, as [`CallError`] tells apart.
pub async fn call(address: SocketAddr, call: Call) -> Result<Response, CallError> {
    let stream = TcpStream::connect(address)
        .await
        .map_err(CallError::Unreachable)?;
    call_on(stream, call).await
}

/// Makes a call on a connection that is up, and waits for the head of its answer.
///
/// # Errors
/// When there is no answer, as [`CallError`] tells apart.
pub async fn call_on(stream: TcpStream, call: Call) -> Result<Response, CallError> {
    let address = stream.peer_addr().map_err(CallError::Unreachable)?;
    let mut request = hyper::Request::builder()
        .method(call.method)
        .uri(call.path)
        .header(HOST, address.to_string())
        .header(CONNECTION, "close");
    if let Some(content_type) = call.content_type {
        request = request.header(CONTENT_TYPE, content_type);
    }
    let request = request
        .body(Full::new(call.body))
        .map_err(|error| CallError::Unwritable(error.to_string()))?;
    stream.set_nodelay(true).map_err(CallError::Unreachable)?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .map_err(broken)?;
    let driving = tokio::spawn(async move {
        // What goes wrong here is told to whoever waits for the head or reads the body.
        let _ = connection.await;
    });
    let driver = Driver(driving.abort_handle());
    let response = sender.send_request(request).await.map_err(broken)?;
    let content_type = response.headers().get(CONTENT_TYPE);
    Ok(Response {
        status: response.status().as_u16(),
        content_type: content_type.map(|it| String::from_utf8_lossy(it.as_bytes()).into_owned()),
        body: response.into_body(),
        driver,
    })
}

fn broken(error: hyper::Error) -> CallError {
    CallError::Broken(error.to_string())
}

impl Response {
    /// Whether the status is one of success.
    #[must_use]
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The next bytes of the body as they came, or none at its end.
    ///
    /// # Errors
    /// When it breaks off.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, CallError> {
        loop {
            match self.body.frame().await {
                None => return Ok(None),
                Some(frame) => {
                    if let Ok(bytes) = frame.map_err(broken)?.into_data() {
                        return Ok(Some(bytes));
                    }
                }
            }
        }
    }

    /// The whole body, of 64 MiB at most.
    ///
    /// # Errors
    /// When it breaks off, or is longer.
    pub async fn bytes(self) -> Result<Bytes, CallError> {
        let _driver = self.driver;
        let body = Limited::new(self.body, LONGEST).collect().await;
        let body = body.map_err(|error| match error.is::<LengthLimitError>() {
            true => CallError::TooLong,
            false => CallError::Broken(error.to_string()),
        })?;
        Ok(body.to_bytes())
    }

    /// The body as server-sent events.
    #[must_use]
    pub fn events(self) -> Events {
        Events {
            stream: SseStream::new(self.body),
            _driver: self.driver,
        }
    }
}

impl Events {
    /// The data of the next event that has any, byte for byte as it was sent, or none at the end. Comments, and fields
    /// other than data, are passed over; so is an event that the end leaves without its blank line.
    ///
    /// # Errors
    /// When the stream breaks off or cannot be read; nothing comes after that.
    pub async fn next(&mut self) -> Result<Option<Bytes>, CallError> {
        loop {
            match self.stream.next().await {
                None => return Ok(None),
                Some(Ok(event)) => {
                    if let Some(data) = event.data {
                        return Ok(Some(data.into()));
                    }
                }
                Some(Err(sse_stream::Error::Body(error))) => {
                    return Err(CallError::Broken(error.to_string()));
                }
                Some(Err(error)) => return Err(CallError::NoEvents(error.to_string())),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// A server that reads one request, answers with these bytes, and hands over the request and its connection.
    async fn served(answer: &'static [u8]) -> (SocketAddr, tokio::task::JoinHandle<Served>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("its address");
        let serving = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let mut request = vec![0; 4096];
            let count = stream.read(&mut request).await.expect("a request");
            request.truncate(count);
            stream.write_all(answer).await.expect("written");
            Served {
                request: String::from_utf8(request).expect("UTF-8"),
                stream,
            }
        });
        (address, serving)
    }

    struct Served {
        request: String,
        stream: TcpStream,
    }

    fn post(path: &str) -> Call {
        Call {
            method: Method::POST,
            path: path.into(),
            content_type: Some("application/json".into()),
            body: Bytes::from_static(b"{}"),
        }
    }

    #[tokio::test]
    async fn a_call_has_a_status_and_a_body() {
        let (address, serving) = served(b"HTTP/1.1 418 x\r\ncontent-length: 2\r\n\r\n[]").await;
        let response = call(address, post("/register")).await.expect("an answer");
        assert_eq!((response.status, response.is_success()), (418, false));
        assert_eq!(response.bytes().await.expect("a body"), "[]");
        let request = serving.await.expect("served").request;
        assert!(
            request.starts_with("POST /register HTTP/1.1\r\n"),
            "{request}"
        );
        assert!(
            request.contains("content-type: application/json\r\n"),
            "{request}"
        );
        assert!(request.ends_with("\r\n\r\n{}"), "{request}");
    }

    #[tokio::test]
    async fn events_keep_every_byte_of_their_data() {
        let (address, _serving) = served(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\
             content-length: 72\r\n\r\n: hi\n\nevent: x\n\ndata: { \"a\": 1.50 }\ndata:\ndata:  é\n\n\
             data:{}\r\n\r\ndata: cut short\n"
                .as_bytes(),
        )
        .await;
        let response = call(address, post("/run")).await.expect("an answer");
        assert_eq!(response.content_type.as_deref(), Some("text/event-stream"));
        let mut events = response.events();
        let mut next = async || events.next().await.expect("a stream");
        assert_eq!(
            next().await.as_deref(),
            Some("{ \"a\": 1.50 }\n\n é".as_bytes())
        );
        assert_eq!(next().await.as_deref(), Some(&b"{}"[..]));
        assert_eq!(next().await, None);
    }

    #[tokio::test]
    async fn a_stream_that_breaks_off_is_told_from_one_that_ends() {
        let (address, serving) =
            served(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\ndata: 1\n\n").await;
        let mut events = call(address, post("/run"))
            .await
            .expect("an answer")
            .events();
        assert_eq!(events.next().await.expect("an event"), Some("1".into()));
        drop(serving.await);
        assert!(matches!(events.next().await, Err(CallError::Broken(_))));
    }

    #[tokio::test]
    async fn a_body_without_end_is_not_read_for_ever() {
        let (address, serving) = served(b"HTTP/1.1 400 x\r\n\r\n").await;
        let response = call(address, post("/register")).await.expect("an answer");
        let mut stream = serving.await.expect("served").stream;
        let endless =
            tokio::spawn(async move { while stream.write_all(&[b'x'; 1 << 16]).await.is_ok() {} });
        assert!(matches!(response.bytes().await, Err(CallError::TooLong)));
        endless.await.expect("the connection is ended");
    }

    #[tokio::test]
    async fn a_body_is_read_as_it_comes_up_to_where_it_breaks_off() {
        let (address, _serving) = served(
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n2\r\nbc\r\n0\r\n\r\n",
        )
        .await;
        let mut response = call(address, post("/run")).await.expect("an answer");
        let mut next = async || response.chunk().await.expect("a body");
        assert_eq!(next().await.as_deref(), Some(&b"a"[..]));
        assert_eq!(next().await.as_deref(), Some(&b"bc"[..]));
        assert_eq!(next().await, None);

        let (address, serving) =
            served(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n").await;
        let mut response = call(address, post("/run")).await.expect("an answer");
        assert_eq!(response.chunk().await.expect("a body"), Some("a".into()));
        drop(serving.await);
        assert!(matches!(response.chunk().await, Err(CallError::Broken(_))));
    }

    #[tokio::test]
    async fn dropping_the_events_ends_the_connection() {
        let (address, serving) =
            served(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\ndata: 1\n\n").await;
        let mut events = call(address, post("/run"))
            .await
            .expect("an answer")
            .events();
        assert_eq!(events.next().await.expect("an event"), Some("1".into()));
        drop(events);
        let mut stream = serving.await.expect("served").stream;
        let end = stream.read(&mut [0; 16]).await;
        assert!(matches!(end, Ok(0) | Err(_)));
    }

    #[tokio::test]
    async fn a_server_that_is_not_there_is_unreachable() {
        let (address, serving) = served(b"").await;
        serving.abort();
        drop(serving.await);
        let answer = call(address, post("/register")).await;
        assert!(matches!(answer, Err(CallError::Unreachable(_))));
    }
}
