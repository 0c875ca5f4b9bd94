//! A client on a socket: the shell around its forms.

use std::io;

use diverge_link::{Limits, Message, Receiver, Sender, connect};
use tokio::io::{AsyncWrite, AsyncWriteExt};

use super::core::{Core, Given, Input, Output};
use super::{Deed, Form};

/// The exit status of a client that reaches nobody.
const UNREACHED: u8 = 1;

/// Plays a form to its end, writing lines to `output`, and says with which status it exits.
///
/// # Errors
/// When nothing can be written.
pub async fn speak(
    form: &Form,
    given: Given,
    output: impl AsyncWrite + Unpin + Send,
) -> io::Result<u8> {
    let mut shell = Shell {
        core: Core::new(given),
        deed: form.deed,
        output,
        sender: None,
        receiver: None,
    };
    let exit = shell.run().await?;
    shell.output.shutdown().await?;
    Ok(exit)
}

struct Shell<W> {
    core: Core,
    deed: Deed,
    output: W,
    sender: Option<Sender>,
    receiver: Option<Receiver>,
}

impl<W: AsyncWrite + Unpin> Shell<W> {
    async fn run(&mut self) -> io::Result<u8> {
        let mut exit = self.take(&Input::Started).await?;
        while exit.is_none() {
            let input = match &mut self.receiver {
                // One that waits for nothing waits until it is ended.
                None => std::future::pending().await,
                Some(receiver) => match receiver.receive().await {
                    Message::Binary(message) => Input::Binary(message),
                    Message::Text(text) => Input::Text(text),
                    Message::Closed => Input::Lost(receiver.got_close_frame()),
                },
            };
            if matches!(input, Input::Lost(_)) {
                self.receiver = None;
            }
            exit = self.take(&input).await?;
        }
        Ok(exit.unwrap_or_default())
    }

    /// Does what the form does about what happened; says with which status it ends, where it does.
    async fn take(&mut self, input: &Input) -> io::Result<Option<u8>> {
        let mut out = Vec::new();
        (self.deed)(&mut self.core, input, &mut out);
        let mut opened = false;
        for output in out {
            match output {
                Output::Connect => match connect(&self.core.given.url, Limits::default()).await {
                    Ok(connection) => {
                        let (sender, receiver) = connection.split();
                        self.sender = Some(sender);
                        self.receiver = Some(receiver);
                        opened = true;
                    }
                    Err(_) => return Ok(Some(UNREACHED)),
                },
                // Where the provider is gone, that is told by what is received.
                Output::Send(message) => {
                    if let Some(sender) = &mut self.sender {
                        let _ = sender.send(message).await;
                    }
                }
                Output::Text(text) => {
                    if let Some(sender) = &mut self.sender {
                        let _ = sender.send_text(text).await;
                    }
                }
                Output::Line(line) => self.write(&line.encode()).await?,
                Output::Raw(line) => self.write(&line).await?,
                Output::Close => {
                    if let Some(sender) = &mut self.sender {
                        let _ = sender.close().await;
                    }
                }
                Output::Exit(status) => return Ok(Some(status)),
            }
        }
        if opened {
            return Box::pin(self.take(&Input::Opened)).await;
        }
        Ok(None)
    }

    async fn write(&mut self, line: &str) -> io::Result<()> {
        self.output.write_all(line.as_bytes()).await?;
        self.output.write_all(b"\n").await?;
        self.output.flush().await
    }
}
