//! Clients under test. A client asks for one run in its life, so that each conversation starts one of its own.

use std::future::Future;
use std::sync::Arc;

use bytes::Bytes;
use diverge_protocol::rules::Revision;
use diverge_protocol::rules::revisions::Revisions;
use diverge_protocol::scenario::{Iut, Scenario};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::each::each;
use super::{Kind, Playing, Selection, Setting, Trial};
use crate::client::{self, Form, Given, REFERENCE};
use crate::iut::{Plug, PlugError};
use crate::mutants::Mutant;
use crate::play;
use crate::process::{CommandLine, Pipes, Process};
use crate::runner::Progress;
use crate::suite::{self, SelectError};

/// A line of a client is read no further than so many bytes; no scenario makes a longer one.
const LONGEST: u64 = 64 << 20;
/// What waits unread between an in-tree client and its reader, in bytes.
const BLOCK: usize = 1 << 16;

/// Clients.
#[derive(Debug)]
pub struct Client;

impl Kind for Client {
    fn iut(&self) -> Iut {
        Iut::Client
    }

    fn mutants(&self) -> Vec<Mutant> {
        let mutant = |form: &Form| Mutant {
            iut: Iut::Client,
            name: form.name,
            about: form.about,
            duty: form.duty,
        };
        client::all().map(mutant).collect()
    }

    fn trials(
        &self,
        selection: &Selection,
        revision: Option<Revision>,
        setting: &Setting,
    ) -> Result<Vec<Box<dyn Trial>>, SelectError> {
        let scenarios = suite::select(Iut::Client, selection)?;
        if scenarios.is_empty() || revision.is_some_and(|it| it != Revision::Scope) {
            return Ok(Vec::new());
        }
        Ok(vec![Box::new(Judged {
            scenarios,
            setting: setting.clone(),
        })])
    }
}

/// Clients and the scenarios that they are judged by.
struct Judged {
    scenarios: Vec<Arc<Scenario>>,
    setting: Setting,
}

impl Trial for Judged {
    fn iut(&self) -> Iut {
        Iut::Client
    }

    fn revision(&self) -> Option<Revision> {
        Some(Revision::Scope)
    }

    fn ids(&self) -> Vec<String> {
        self.scenarios.iter().map(|it| it.id.clone()).collect()
    }

    fn keep(&mut self, ids: &[String]) {
        suite::keep(&mut self.scenarios, ids);
    }

    fn play<'a>(&'a self, progress: &'a mut (dyn FnMut(Progress) + Send)) -> Playing<'a> {
        Box::pin(async move {
            let way = Way::of(&self.setting.plug)?;
            let (way, patience) = (&way, &self.setting.patience);
            let play = |scenario: Arc<Scenario>| async move {
                play::client(&scenario, way, patience).await
            };
            Ok(each(&self.scenarios, &self.setting, progress, play).await)
        })
    }
}

/// How clients are had, each for one conversation.
#[derive(Debug, Clone)]
pub enum Way {
    /// A form of the in-tree client.
    InTree(&'static Form),
    /// Started by this command.
    Launch(CommandLine),
}

/// What is heard of a client.
#[derive(Debug)]
pub enum Heard {
    /// A line of its standard output, without its end.
    Line(Bytes),
    /// It has ended, and will write nothing more.
    Over {
        /// Its exit status, where it has one.
        code: Option<i32>,
        /// What it wrote last on its standard error.
        said: Vec<String>,
    },
}

impl Way {
    pub(super) fn of(plug: &Plug) -> Result<Self, PlugError> {
        Ok(match plug {
            Plug::Reference(mutant) => {
                let named = mutant.as_ref().and_then(|it| client::find(it.name));
                Self::InTree(named.unwrap_or(&REFERENCE))
            }
            Plug::Launch(command) => Self::Launch(CommandLine::parse(command)?),
            Plug::Url(_) => return Err(PlugError::NoAddress(Iut::Client)),
            Plug::InProcess(_) => return Err(PlugError::NotInProcess(Iut::Client)),
        })
    }

    /// Starts a client, and sends to `to` what `report` makes of what is heard of it.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start<T: Send + 'static>(
        &self,
        given: Given,
        to: mpsc::Sender<T>,
        report: impl Fn(Heard) -> T + Send + Sync + 'static,
    ) -> Result<Running, PlugError> {
        let (end, ended) = oneshot::channel();
        let task = match self {
            Self::InTree(form) => {
                let (ours, theirs) = tokio::io::duplex(BLOCK);
                let form: &'static Form = form;
                tokio::spawn(async move {
                    let speaking = async {
                        let exit = client::speak(form, given, theirs).await;
                        (exit.ok().map(i32::from), Vec::new())
                    };
                    tokio::select! {
                        () = hear(ours, speaking, &to, &report) => {}
                        _ = ended => {}
                    }
                })
            }
            Self::Launch(command) => {
                let mut environment = vec![
                    ("CONFORMANCE_URL", given.url),
                    ("CONFORMANCE_CREDENTIAL", given.credential),
                    ("CONFORMANCE_REQUEST", given.request),
                    (
                        "CONFORMANCE_REVISION",
                        Revisions::spoken(Revision::Scope).to_owned(),
                    ),
                ];
                if !given.enqueues.is_empty() {
                    let messages: Vec<String> = given.enqueues.into();
                    let messages = format!("[{}]", messages.join(","));
                    environment.push(("CONFORMANCE_ENQUEUE", messages));
                }
                let mut process = Process::start(command, &environment, Pipes::Output)?;
                let stdout = process.stdout().ok_or_else(|| PlugError::Start {
                    command: command.text().to_owned(),
                    error: std::io::Error::other("its output cannot be had"),
                })?;
                tokio::spawn(async move {
                    let waiting = async {
                        let status = process.wait().await;
                        (status.ok().and_then(|it| it.code()), process.said())
                    };
                    tokio::select! {
                        () = hear(stdout, waiting, &to, &report) => {}
                        _ = ended => {}
                    }
                    process.end().await;
                })
            }
        };
        Ok(Running {
            end: Some(end),
            task,
        })
    }
}

/// Reports every line to the end of the output, and then how it ended. What ends is awaited at once, since an in-tree
/// client only goes on while it is.
async fn hear<T>(
    output: impl AsyncRead + Unpin,
    ending: impl Future<Output = (Option<i32>, Vec<String>)>,
    to: &mpsc::Sender<T>,
    report: &impl Fn(Heard) -> T,
) {
    let reading = async {
        let mut output = BufReader::new(output);
        let mut line = Vec::new();
        while matches!((&mut output).take(LONGEST).read_until(b'\n', &mut line).await, Ok(read) if read > 0)
        {
            if line.last() == Some(&b'\n') {
                line.pop();
            }
            let read = Bytes::from(std::mem::take(&mut line));
            if to.send(report(Heard::Line(read))).await.is_err() {
                break;
            }
        }
    };
    let ((), (code, said)) = tokio::join!(reading, ending);
    // Nobody to report to means that the scenario is over.
    let _ = to.send(report(Heard::Over { code, said })).await;
}

/// A client that was started. Dropping it ends it.
#[derive(Debug)]
pub struct Running {
    end: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

impl Running {
    /// Ends it, and waits until it is gone.
    pub async fn end(mut self) {
        self.end = None;
        // However it ended, it is gone.
        let _ = (&mut self.task).await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}
