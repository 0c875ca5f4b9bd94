//! Programs that the harness starts: each in a process group of its own, gone afterwards.

use std::collections::VecDeque;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop, ProcessGroup};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout};

use crate::iut::PlugError;

/// How long a killed process may take to be gone.
const DYING: Duration = Duration::from_secs(2);
/// How many of a process's last lines are kept.
const LINES: usize = 20;

/// A command line as a user gave it.
#[derive(Debug, Clone)]
pub struct CommandLine {
    text: String,
    words: Vec<String>,
}

impl CommandLine {
    /// Takes it apart as a shell would; no shell runs it.
    ///
    /// # Errors
    /// Where a quote is not closed, or there is no word.
    pub fn parse(text: &str) -> Result<Self, PlugError> {
        let words = shlex::split(text)
            .filter(|words| !words.is_empty())
            .ok_or_else(|| PlugError::CommandLine(text.to_owned()))?;
        Ok(Self {
            text: text.to_owned(),
            words,
        })
    }

    /// As it was given.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Which of a process's streams its starter reads and writes; what it does not read is kept as [`Process::said`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pipes {
    /// Neither: standard input is empty.
    None,
    /// Standard output.
    Output,
    /// Standard input and output.
    Both,
}

/// A started program. Dropping it ends it and everything in its process group.
#[derive(Debug)]
pub struct Process {
    child: Box<dyn ChildWrapper>,
    said: Said,
}

impl Process {
    /// Starts a program with these variables added to its environment.
    ///
    /// # Errors
    /// When the system cannot start it.
    pub fn start(
        command: &CommandLine,
        environment: &[(&str, String)],
        pipes: Pipes,
    ) -> Result<Self, PlugError> {
        Self::start_without(command, environment, None, pipes)
    }

    /// The same, without a variable that this program has in its own environment.
    ///
    /// # Errors
    /// When the system cannot start it.
    pub fn start_without(
        command: &CommandLine,
        environment: &[(&str, String)],
        without: Option<&str>,
        pipes: Pipes,
    ) -> Result<Self, PlugError> {
        let mut wrap = CommandWrap::with_new(&command.words[0], |process| {
            process
                .args(&command.words[1..])
                .envs(environment.iter().map(|(name, value)| (name, value)))
                .stdin(if pipes == Pipes::Both {
                    Stdio::piped()
                } else {
                    Stdio::null()
                })
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
            if let Some(name) = without {
                process.env_remove(name);
            }
        });
        wrap.wrap(ProcessGroup::leader()).wrap(KillOnDrop);
        let mut child = wrap.spawn().map_err(|error| PlugError::Start {
            command: command.text.clone(),
            error,
        })?;
        let said = Said::default();
        if pipes == Pipes::None
            && let Some(stdout) = child.stdout().take()
        {
            said.listen(stdout);
        }
        if let Some(stderr) = child.stderr().take() {
            said.listen(stderr);
        }
        Ok(Self { child, said })
    }

    /// Its standard input, once, where it was asked for.
    pub fn stdin(&mut self) -> Option<ChildStdin> {
        self.child.stdin().take()
    }

    /// Its standard output, once, where it was asked for.
    pub fn stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout().take()
    }

    /// How it ended, where it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Waits until it ends by itself.
    ///
    /// # Errors
    /// When the system cannot tell.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// The last lines that it wrote on the streams that nobody reads. They are its own affair: for a person to see
    /// where it ended, and no part of a verdict.
    #[must_use]
    pub fn said(&self) -> Vec<String> {
        self.said.lines()
    }

    /// Ends it and its group, and waits until they are gone.
    pub async fn end(mut self) {
        let _ = self.child.start_kill();
        let _ = self.child.wait().await;
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
