//! One process, asked a batch of lines: all is written while its answers are read, then its input is closed.

use std::time::Duration;

use bytes::{Buf, BytesMut};
use diverge_protocol::rules::Revision;
use diverge_protocol::rules::revisions::Revisions;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::task::JoinHandle;

use super::answer::Answer;
use super::forms::{self, Form};
use crate::iut::PlugError;
use crate::play::Patience;
use crate::process::{CommandLine, Pipes, Process};

/// A line is read no further than so many bytes; no answer is so long.
const LONGEST: usize = 4096;
/// A line of so many bytes will not end any more, and a program that writes it is not listened to any longer.
pub(super) const ENDLESS: usize = 1 << 20;
/// Once it has written so many lines more than it was asked, a program is not listened to any longer.
const SURPLUS: usize = 100;
/// What is read or buffered at once, in bytes.
const BLOCK: usize = 1 << 16;

/// A codec that can be asked.
#[derive(Debug, Clone)]
pub enum Codec {
    /// A form of the in-tree codec.
    InTree(&'static Form),
    /// A program that is started for each batch.
    Program(CommandLine),
}

/// What came of a batch.
#[derive(Debug)]
pub struct Asked {
    /// The answers, in their order; trailing empty lines are none.
    pub answers: Vec<Answer>,
    /// How it ended.
    pub ending: Ending,
}

/// How a process ended that was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// It ended well, or had answered everything.
    Well,
    /// It died; how and what it said.
    Died(String),
    /// It did not move for so long, and was ended.
    Hung(Duration),
    /// It still wrote when there was nothing left to answer, or a line without an end, and was ended.
    Overflowed,
}

impl Codec {
    /// Asks one process about these lines.
    ///
    /// # Errors
    /// When it cannot be started.
    pub async fn ask(&self, lines: &[String], patience: &Patience) -> Result<Asked, PlugError> {
        match self {
            Codec::Program(command) => {
                let environment = [(
                    "CONFORMANCE_REVISION",
                    Revisions::spoken(Revision::Scope).to_owned(),
                )];
                let mut process = Process::start(command, &environment, Pipes::Both)?;
                let (stdin, stdout) = (process.stdin(), process.stdout());
                let (Some(stdin), Some(stdout)) = (stdin, stdout) else {
                    return Err(PlugError::Start {
                        command: command.text().to_owned(),
                        error: std::io::Error::other("its input and output cannot be had"),
                    });
                };
                let heard = hear(stdin, stdout, lines, patience).await;
                let ended = heard.ended(lines.len(), async {
                    let mut waited = patience.start();
                    let status = tokio::select! {
                        status = process.wait() => status.ok(),
                        () = waited.exhausted() => None,
                    };
                    let status = status.filter(|status| !status.success())?;
                    let said = process.said().join(" ⏎ ");
                    let after = if said.is_empty() {
                        String::new()
                    } else {
                        format!(" after writing: {said}")
                    };
                    Some(format!("the process ended ({status}){after}"))
                });
                let asked = ended.await;
                process.end().await;
                Ok(asked)
            }
            Codec::InTree(form) => {
                let (ours, theirs) = tokio::io::duplex(BLOCK);
                let (input, output) = tokio::io::split(theirs);
                let speaking = Aborted(tokio::spawn(forms::speak(form, input, output)));
                let (stdout, stdin) = tokio::io::split(ours);
                let heard = hear(stdin, stdout, lines, patience).await;
                let ended = heard.ended(lines.len(), async {
                    let died = "the in-tree codec died".to_owned();
                    let mut speaking = speaking;
                    match (&mut speaking.0).await {
                        Ok(Ok(())) => None,
                        _ => Some(died),
                    }
                });
                Ok(ended.await)
            }
        }
    }

    /// Whether a process that is asked nothing ends well: if not, it is no use to ask it anything.
    ///
    /// # Errors
    /// When it cannot be started, or dies of nothing.
    pub async fn try_out(&self, patience: &Patience) -> Result<(), PlugError> {
        match (self, self.ask(&[], patience).await?.ending) {
            (Codec::Program(command), Ending::Died(how)) => Err(PlugError::Start {
                command: command.text().to_owned(),
                error: std::io::Error::other(format!("{how}, without having been asked anything")),
            }),
            _ => Ok(()),
        }
    }
}

/// A task that ends with this value.
struct Aborted<T>(JoinHandle<T>);

impl<T> Drop for Aborted<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What was heard until the output ended or nothing more was worth waiting for.
struct Heard {
    answers: Vec<Answer>,
    stopped: Option<Ending>,
}

impl Heard {
    /// Adds how the process ended, which is asked only where it can matter.
    async fn ended(self, lines: usize, died: impl Future<Output = Option<String>>) -> Asked {
        let ending = match self.stopped {
            Some(ending) => ending,
            None if self.answers.len() >= lines && lines > 0 => Ending::Well,
            None => died.await.map_or(Ending::Well, Ending::Died),
        };
        Asked {
            answers: self.answers,
            ending,
        }
    }
}

/// Writes all lines and reads all answers at once, so that neither side waits for the other.
async fn hear(
    stdin: impl AsyncWrite + Unpin,
    mut stdout: impl AsyncRead + Unpin,
    lines: &[String],
    patience: &Patience,
) -> Heard {
    let mut stdin = Some(stdin);
    let mut unsent = lines.iter();
    let mut block = BytesMut::with_capacity(BLOCK);
    let mut answers = Answers::default();
    let mut waited = patience.start();
    let mut read = BytesMut::with_capacity(BLOCK);
    let stopped = loop {
        while block.len() < BLOCK / 2
            && let Some(line) = unsent.next()
        {
            block.extend_from_slice(line.as_bytes());
            block.extend_from_slice(b"\n");
        }
        if let Some(mut done) = stdin.take_if(|_| block.is_empty()) {
            let _ = done.shutdown().await;
        }
        tokio::select! {
            wrote = async { stdin.as_mut()?.write(&block).await.ok() }, if stdin.is_some() => match wrote {
                Some(bytes) if bytes > 0 => {
                    block.advance(bytes);
                    waited.restart();
                }
                // It reads no more; what it has answered counts all the same.
                _ => {
                    stdin = None;
                    block.clear();
                    unsent = [].iter();
                }
            },
            got = stdout.read_buf(&mut read) => match got {
                Ok(bytes) if bytes > 0 => {
                    waited.restart();
                    answers.take(&mut read);
                    let surplus = answers.read.len() + answers.blank > lines.len() + SURPLUS;
                    if surplus || answers.unended > ENDLESS {
                        break Some(Ending::Overflowed);
                    }
                }
                _ => break None,
            },
            () = waited.exhausted() => {
                break (answers.read.len() < lines.len()).then(|| Ending::Hung(patience.limit()));
            }
        }
    };
    Heard {
        answers: answers.finish(),
        stopped,
    }
}

/// Answers out of bytes as they come.
#[derive(Default)]
struct Answers {
    read: Vec<Answer>,
    line: Vec<u8>,
    /// How many bytes have come of the line that has not ended yet.
    unended: usize,
    /// Empty lines that count only where something follows them.
    blank: usize,
}

impl Answers {
    fn take(&mut self, bytes: &mut BytesMut) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.keep(&bytes[..end]);
            bytes.advance(end + 1);
            self.end_of_line();
        }
        self.keep(bytes);
        bytes.clear();
    }

    /// Keeps of a line what can be of use.
    fn keep(&mut self, bytes: &[u8]) {
        self.unended += bytes.len();
        let room = LONGEST.saturating_sub(self.line.len());
        self.line.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn end_of_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        self.unended = 0;
        if line.trim_ascii().is_empty() {
            self.blank += 1;
            return;
        }
        let blank = std::mem::take(&mut self.blank);
        self.read.extend((0..blank).map(|_| Answer::read(b"")));
        self.read.push(Answer::read(&line));
    }

    fn finish(mut self) -> Vec<Answer> {
        if !self.line.is_empty() {
            self.end_of_line();
        }
        self.read
    }
}
