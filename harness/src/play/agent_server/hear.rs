//! Reads what an agent server answers, as it comes.

use bytes::Bytes;
use diverge_link::http::{CallError, Response};
use tokio::sync::mpsc;

/// What came of the call of this number.
#[derive(Debug)]
pub(in crate::play) enum Heard {
    /// The head of a stream: status and content type.
    Head(usize, u16, Option<String>),
    /// Bytes of a stream.
    Bytes(usize, Bytes),
    /// The end of a stream.
    End(usize),
    /// An answer, whole.
    Whole(usize, u16, Option<String>, Bytes),
    /// There is no answer, or not the whole of one.
    Broken(usize, String),
}

impl Heard {
    /// The call's number.
    pub(in crate::play) fn at(&self) -> usize {
        let (Self::Head(at, ..)
        | Self::Bytes(at, _)
        | Self::End(at)
        | Self::Whole(at, ..)
        | Self::Broken(at, _)) = self;
        *at
    }
}

/// Reads an answer to its end, which is returned; what comes before it of a stream is told as it comes.
pub(in crate::play) async fn hear(
    at: usize,
    streams: bool,
    answer: Result<Response, CallError>,
    to: &mpsc::Sender<Heard>,
) -> Heard {
    let mut response = match answer {
        Ok(response) => response,
        Err(error) => return Heard::Broken(at, error.to_string()),
    };
    let (status, content_type) = (response.status, response.content_type.clone());
    if !streams || !response.is_success() {
        return match response.bytes().await {
            Ok(body) => Heard::Whole(at, status, content_type, body),
            Err(error) => Heard::Broken(at, error.to_string()),
        };
    }
    let mut heard = Heard::Head(at, status, content_type);
    loop {
        if to.send(heard).await.is_err() {
            return Heard::End(at);
        }
        heard = match response.chunk().await {
            Ok(Some(bytes)) => Heard::Bytes(at, bytes),
            Ok(None) => return Heard::End(at),
            Err(error) => return Heard::Broken(at, error.to_string()),
        };
    }
}
