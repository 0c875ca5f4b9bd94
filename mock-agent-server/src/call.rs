//! A call to an agent server: what was asked, and the way to answer it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::http::HeaderMap;
use bytes::Bytes;
use diverge_protocol::wire::sse;
use tokio::sync::{Notify, mpsc, oneshot};

/// A call, among all calls of one endpoint, in the order they came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(pub u64);

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "call {}", self.0)
    }
}

/// What was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The method, as it came.
    pub method: String,
    /// The path, with the query if there is one.
    pub path: String,
    /// The headers.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status, 100 to 999.
    pub status: u16,
    /// The content type; none sends no such header.
    pub content_type: Option<String>,
    /// The body.
    pub body: Bytes,
}

impl Answer {
    /// An answer with a JSON body, or what is to pass for one.
    #[must_use]
    pub fn json(status: u16, body: impl Into<Bytes>) -> Self {
        Self {
            status,
            content_type: Some("application/json".to_owned()),
            body: body.into(),
        }
    }

    /// An answer without a body.
    #[must_use]
    pub fn empty(status: u16) -> Self {
        Self {
            status,
            content_type: None,
            body: Bytes::new(),
        }
    }
}

/// How an answer begins whose body comes piece by piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The status, 100 to 999.
    pub status: u16,
    /// The content type; none sends no such header.
    pub content_type: Option<String>,
}

impl Default for Head {
    /// That of a loop's event stream.
    fn default() -> Self {
        Self {
            status: 200,
            content_type: Some("text/event-stream".to_owned()),
        }
    }
}

/// A call cannot be told more: its caller is gone, or it was answered already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Over;

impl fmt::Display for Over {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the caller is gone, or the call was answered already")
    }
}

impl std::error::Error for Over {}

/// What the connection is told about its call's answer.
#[derive(Debug)]
pub(crate) enum Begun {
    Whole(Answer),
    Stream(Head, mpsc::UnboundedReceiver<Piece>),
}

/// What the connection is told about a body that comes piece by piece. A body whose pieces stop without an end is cut off.
#[derive(Debug)]
pub(crate) enum Piece {
    Bytes(Bytes),
    Flood(Bytes),
    End,
}

/// How a connection is cut without an answer.
#[derive(Debug, Default)]
pub(crate) struct Cut {
    cut: AtomicBool,
    notify: Notify,
}

impl Cut {
    fn cut(&self) {
        self.cut.store(true, Ordering::Release);
        self.notify.notify_one();
    }

    /// Whether it was cut.
    pub fn is_cut(&self) -> bool {
        self.cut.load(Ordering::Acquire)
    }

    /// Waits until it is cut.
    pub async fn wait(&self) {
        self.notify.notified().await;
    }
}

/// A call that waits for its answer. Nothing is answered unless it is told; once it is dropped, a caller that still waits
/// is cut off.
#[derive(Debug)]
pub struct Call {
    /// Which call it is.
    pub id: CallId,
    /// What was asked.
    pub asked: Asked,
    begin: Option<oneshot::Sender<Begun>>,
    pieces: Option<mpsc::UnboundedSender<Piece>>,
    cut: Arc<Cut>,
}

impl Call {
    pub(crate) fn new(
        id: CallId,
        asked: Asked,
        begin: oneshot::Sender<Begun>,
        cut: Arc<Cut>,
    ) -> Self {
        Self {
            id,
            asked,
            begin: Some(begin),
            pieces: None,
            cut,
        }
    }

    /// Answers the call whole.
    ///
    /// # Errors
    /// When there is nobody to answer any more.
    pub fn respond(&mut self, answer: Answer) -> Result<(), Over> {
        self.begin(Begun::Whole(answer))
    }

    /// Begins an answer whose body comes piece by piece.
    ///
    /// # Errors
    /// When there is nobody to answer any more.
    pub fn stream(&mut self, head: Head) -> Result<(), Over> {
        let (pieces, body) = mpsc::unbounded_channel();
        self.begin(Begun::Stream(head, body))?;
        self.pieces = Some(pieces);
        Ok(())
    }

    /// Sends one event with this data on the stream that was begun. It goes out byte for byte, unless it has a line break:
    /// an event has a line for each of its data's.
    ///
    /// # Errors
    /// When no stream goes on.
    pub fn event(&self, data: &[u8]) -> Result<(), Over> {
        self.raw(sse::event(data))
    }

    /// Sends these bytes on the stream that was begun.
    ///
    /// # Errors
    /// When no stream goes on.
    pub fn raw(&self, bytes: impl Into<Bytes>) -> Result<(), Over> {
        self.piece(Piece::Bytes(bytes.into()))
    }

    /// Sends these bytes on the stream that was begun, without end, as fast as they are read.
    ///
    /// # Errors
    /// When no stream goes on.
    pub fn flood(&self, bytes: impl Into<Bytes>) -> Result<(), Over> {
        self.piece(Piece::Flood(bytes.into()))
    }

    /// Brings the stream that was begun to its end.
    ///
    /// # Errors
    /// When no stream goes on.
    pub fn end(&mut self) -> Result<(), Over> {
        self.piece(Piece::End)?;
        self.pieces = None;
        Ok(())
    }

    /// Cuts the caller off: its connection ends, in front of any answer or in the middle of a stream. What was sent on the
    /// stream before still goes out.
    pub fn break_off(&mut self) {
        if self.begin.take().is_some() {
            self.cut.cut();
        }
        // A body whose pieces stop without an end is cut off.
        self.pieces = None;
    }

    /// Whether the caller still waits for an answer, or for more of it.
    #[must_use]
    pub fn is_open(&self) -> bool {
        let unanswered = self.begin.as_ref().is_some_and(|it| !it.is_closed());
        unanswered || self.pieces.as_ref().is_some_and(|it| !it.is_closed())
    }

    /// Whether there is more to tell it, should the caller still be there.
    pub(crate) fn goes_on(&self) -> bool {
        self.begin.is_some() || self.pieces.is_some()
    }

    fn begin(&mut self, begun: Begun) -> Result<(), Over> {
        let begin = self.begin.take().ok_or(Over)?;
        begin.send(begun).map_err(|_| Over)
    }

    fn piece(&self, piece: Piece) -> Result<(), Over> {
        let pieces = self.pieces.as_ref().ok_or(Over)?;
        pieces.send(piece).map_err(|_| Over)
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.break_off();
    }
}
