//! A provider's conformance as tests of `cargo test` and `cargo nextest`: one for each scenario.
//!
//! An implementer writes a test target with `harness = false`, and in it how their server is had: started in the same
//! process, by a command, or reached at an address.
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! use diverge_conformance::cargo_test::{Conformance, Started};
//! # mod my_provider {
//! #     pub struct Server;
//! #     impl Server { pub fn address(&self) -> std::net::SocketAddr { ([127, 0, 0, 1], 1).into() } }
//! #     pub async fn serve(_: std::net::SocketAddr, _: std::net::SocketAddr, _: &str) -> std::io::Result<Server> {
//! #         Ok(Server)
//! #     }
//! # }
//!
//! fn main() -> ExitCode {
//!     Conformance::in_process(|place| async move {
//!         let server = my_provider::serve(place.listen, place.proxy, &place.credential).await?;
//!         Ok(Started::at(server.address(), server))
//!     })
//!     .run()
//! }
//! ```
//!
//! Filters, `--list`, `--skip`, `--exact` and the rest mean what they mean for other tests. What one run of the tests
//! selects is played together, on a few servers; a test runner that runs each test in a process of its own, as nextest
//! does, starts a server in each. A test fails with what the command line prints for a failure. A scenario that needs
//! something that the configuration lacks is ignored, with the reason.
//!
//! With [`Conformance::snapshots`], there is also a test for each topic that compares what was said with what was said
//! before: golden transcripts, reviewed with `cargo insta`.
//!
//! A proxy, an agent server, a client or whatever else is judged is had by its command, and has all of this too:
//!
//! ```no_run
//! # use std::process::ExitCode;
//! use diverge_conformance::cargo_test::{Conformance, Iut};
//!
//! # fn main() -> ExitCode {
//! Conformance::launched(Iut::Proxy, "target/debug/my-proxy")
//!     .snapshots("snapshots")
//!     .run()
//! # }
//! ```

mod session;
mod snapshot;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

pub use diverge_protocol::rules::Revision;
pub use diverge_protocol::scenario::Iut;
use libtest_mimic::Arguments;

use self::session::{Options, Part, Session};
use crate::baseline::Baseline;
use crate::commands::{complain, complain_of};
use crate::config::Config;
use crate::iut::{InProcess, Plug, Start};
pub use crate::iut::{Place, Started};
use crate::kinds::{self, Selection, Setting};
use crate::play::Patience;
use crate::report::Heading;
use crate::verdict::Exit;

/// How many scenarios are played at once where the command line does not say.
const JOBS: usize = 16;

/// The conformance tests of one implementation.
#[derive(Debug)]
pub struct Conformance {
    iut: Iut,
    plug: Plug,
    config: Option<PathBuf>,
    baseline: Option<PathBuf>,
    scenarios: Vec<String>,
    revision: Option<Revision>,
    patience: Duration,
    strict: bool,
    snapshots: Option<PathBuf>,
    only_snapshots: bool,
}

impl Conformance {
    /// A provider that `start` starts in this process, on a runtime of tokio's, as often as the scenarios need one.
    pub fn in_process<F, S>(start: F) -> Self
    where
        F: Fn(Place) -> S + Send + Sync + 'static,
        S: Future<Output = Start> + Send + 'static,
    {
        Self::new(Iut::Provider, Plug::InProcess(InProcess::new(start)))
    }

    /// An implementation that a command line starts, as `run --launch` does: no shell takes part, and where to be is
    /// told by the environment.
    #[must_use]
    pub fn launched(iut: Iut, command: impl Into<String>) -> Self {
        Self::new(iut, Plug::Launch(command.into()))
    }

    /// An implementation that is running already, as with `run --url`.
    #[must_use]
    pub fn at(iut: Iut, url: impl Into<String>) -> Self {
        Self::new(iut, Plug::Url(url.into()))
    }

    /// The in-tree reference of a kind.
    #[must_use]
    pub fn reference(iut: Iut) -> Self {
        Self::new(iut, Plug::Reference(None))
    }

    fn new(iut: Iut, plug: Plug) -> Self {
        Self {
            iut,
            plug,
            config: None,
            baseline: None,
            scenarios: Vec::new(),
            revision: None,
            patience: Duration::from_secs(5),
            strict: false,
            snapshots: None,
            only_snapshots: false,
        }
    }

    /// The configuration file, from the root of the package.
    #[must_use]
    pub fn config(mut self, path: impl Into<PathBuf>) -> Self {
        self.config = Some(path.into());
        self
    }

    /// The [baseline](crate::baseline), from the root of the package. An expected failure is an ignored test.
    #[must_use]
    pub fn baseline(mut self, path: impl Into<PathBuf>) -> Self {
        self.baseline = Some(path.into());
        self
    }

    /// Only these scenarios: an id glob, or a path to a scenario file. May be called several times.
    #[must_use]
    pub fn scenarios(mut self, pattern: impl Into<String>) -> Self {
        self.scenarios.push(pattern.into());
        self
    }

    /// Only this revision of the protocol.
    #[must_use]
    pub fn revision(mut self, revision: Revision) -> Self {
        self.revision = Some(revision);
        self
    }

    /// How long to wait without progress for a message that is due; 5 s unless said.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Warnings fail.
    #[must_use]
    pub fn strict(mut self) -> Self {
        self.strict = true;
        self
    }

    /// Keeps golden transcripts in this directory, from the root of the package: a snapshot of insta's for each topic,
    /// and a test for it. `INSTA_UPDATE` and `cargo insta review` mean what they mean for other snapshots.
    ///
    /// A snapshot holds what the scenarios' steps sent and read, in the order that the scenarios enforce; times, ids,
    /// secrets and the numbers that the implementation chose are redacted. Of a chain it holds each exchange of each link by
    /// itself. Of what did not pass it holds the verdict.
    #[must_use]
    pub fn snapshots(mut self, directory: impl Into<PathBuf>) -> Self {
        self.snapshots = Some(directory.into());
        self
    }

    /// Has the tests of snapshots only; the scenarios are tests elsewhere.
    #[must_use]
    pub fn only_snapshots(mut self) -> Self {
        self.only_snapshots = true;
        self
    }

    /// Runs the tests that the command line of this process selects; a test target's `main` returns what this returns.
    #[must_use]
    pub fn run(self) -> ExitCode {
        self.run_with(&Arguments::from_args())
    }

    fn run_with(&self, arguments: &Arguments) -> ExitCode {
        match self.session(arguments) {
            Ok(session) => session.run(arguments),
            Err(exit) => ExitCode::from(exit.code()),
        }
    }

    /// What is to be played; where that cannot be had, it says why.
    fn session(&self, arguments: &Arguments) -> Result<Arc<Session>, Exit> {
        let usage = |why: String| {
            complain(&why);
            Exit::Usage
        };
        let kind = kinds::of(self.iut)
            .ok_or_else(|| usage(format!("no {} is judged yet", self.iut.as_str())))?;
        let config = match &self.config {
            Some(path) => Config::load(path).map_err(|error| usage(error.to_string()))?,
            None if matches!(self.plug, Plug::Reference(_)) => kind.in_tree(),
            None => Config::default(),
        };
        let baseline = self.baseline.as_deref().map(Baseline::load).transpose();
        let baseline = baseline.map_err(|error| usage(error.to_string()))?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(|error| usage(format!("could not start: {error}")))?;
        let setting = Setting {
            plug: self.plug.clone(),
            config,
            jobs: arguments.test_threads.unwrap_or(JOBS).max(1),
            patience: {
                let _inside = runtime.enter();
                Patience::new(self.patience)
            },
            strict: self.strict,
            generated: None,
            events_revision: None,
        };
        let selection = Selection::Patterns(self.scenarios.clone());
        let trials = kind
            .trials(&selection, self.revision, &setting)
            .map_err(|error| complain_of(&error))?;
        if trials.is_empty() {
            return Err(usage("no scenario of that revision is built in".to_owned()));
        }
        // Kinds with several revisions may have a scenario in each.
        let several = trials.len() > 1;
        let parts = trials.into_iter().map(|trial| {
            let revision = trial.revision().filter(|_| several);
            let prefix = revision.map_or_else(String::new, |it| format!("{}/", it.as_str()));
            Part {
                heading: Heading {
                    unscored: Arc::default(),
                    iut: trial.iut(),
                    revision: trial.revision(),
                    subject: setting.plug.in_words(),
                    replay: format!("{} {prefix}", replay()),
                    scenarios: trial.scenarios(),
                    secrets: setting.secrets(),
                },
                prefix,
                trial,
            }
        });
        Ok(Arc::new(Session::new(
            runtime,
            parts.collect(),
            baseline,
            Options {
                whole: self.scenarios.is_empty() && self.revision.is_none(),
                strict: self.strict,
                snapshots: self.snapshots.clone(),
                scenarios: !self.only_snapshots,
            },
        )))
    }
}

/// The command that runs one of these tests again, whose name is put behind it.
fn replay() -> String {
    let package = std::env::var("CARGO_PKG_NAME").ok();
    let package = package.map_or_else(String::new, |name| format!(" -p {name}"));
    let program = std::env::args().next().unwrap_or_default();
    let stem = Path::new(&program).file_stem().unwrap_or_default();
    let stem = stem.to_string_lossy();
    // Cargo puts a hash of the build behind the name of the target.
    let target = stem.rsplit_once('-').map_or(&*stem, |(target, _)| target);
    format!("cargo test{package} --test {target} -- --exact")
}
