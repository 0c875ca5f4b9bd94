//! What `run` takes.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Parser};

use super::values::{EventsRevisionArg, Format, IutArg, PlayedRevision, jobs};
use crate::order::Shard;
use crate::report::ReportTarget;

/// What `--report` takes.
const REPORT_HELP: &str = "Write a report into a file while results come; repeatable. Formats: junit (for what reads \
    test results), json (every result with its story, for `diff` and `report`), html (one page), markdown (a summary, \
    such as for a job's page). Each file is a whole document at every moment, also of a run that is interrupted";

/// What `--launch` takes.
const LAUNCH_HELP: &str = "Start the implementation with this command. It is taken apart into words as a shell does it, \
    quotes included, but no shell runs it: variables, pipes and `&&` need one, such as \
    --launch \"sh -c 'cd server && exec ./run'\"";

/// How long a message that is due is waited for without progress, in milliseconds, if nothing else is said.
pub const DEFAULT_PATIENCE: u64 = 5000;

/// `run`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    diverge-conformance run provider --launch 'python3 provider.py'\n  \
    diverge-conformance run provider --url ws://127.0.0.1:8080/ --scenario 'provider/streams/*'\n  \
    diverge-conformance run provider --scenario my-scenarios.yaml --format jsonl\n  \
    diverge-conformance run client --launch 'node client.js'\n  \
    diverge-conformance run proxy --launch './my-proxy' --revision scope\n  \
    diverge-conformance run codec --launch './my-codec'\n  \
    diverge-conformance run codec --launch './my-codec' --cases 10000 --seed 7\n  \
    diverge-conformance run events --launch 'my-agent --events'\n  \
    diverge-conformance run chain --provider './my-provider' --proxy './my-proxy'\n  \
    diverge-conformance run chain --client 'node client.js' --scenario 'chain/client/*'")]
pub struct RunArgs {
    /// What is judged; without it, everything that is built, each by its in-tree reference
    pub iut: Option<IutArg>,
    /// Start the implementation with this command; no shell runs it, but for `sh -c '…'`
    #[arg(long, value_name = "COMMAND", conflicts_with = "url", requires = "iut", long_help = LAUNCH_HELP)]
    pub launch: Option<String>,
    /// `run chain` only: the provider's command; whoever has none is the in-tree reference
    #[arg(long, value_name = "COMMAND")]
    pub provider: Option<String>,
    /// `run chain` only: the proxy's command
    #[arg(long, value_name = "COMMAND")]
    pub proxy: Option<String>,
    /// `run chain` only: the agent server's command
    #[arg(long, value_name = "COMMAND")]
    pub agent_server: Option<String>,
    /// `run chain` only: the client's command, in scenarios whose client is a process
    #[arg(long, value_name = "COMMAND")]
    pub client: Option<String>,
    /// Judge the implementation that runs at this address
    #[arg(long, value_name = "URL", requires = "iut")]
    pub url: Option<String>,
    /// Only these scenarios: an id glob, or a path to a scenario file; repeatable
    #[arg(long, value_name = "GLOB")]
    pub scenario: Vec<String>,
    /// The protocol's revision: `scope`, `path`, or a TOML file that says what another one moves
    #[arg(long, value_name = "REVISION")]
    pub revision: Option<PlayedRevision>,
    /// The revision of the AgentEvent surface that `run events` judges by; without it, the document's, or a mutant's own
    #[arg(long, value_enum, value_name = "REVISION")]
    pub events_revision: Option<EventsRevisionArg>,
    /// `run codec` only: also so many generated cases
    #[arg(long, value_name = "N")]
    pub cases: Option<u64>,
    /// Where generated cases start from
    #[arg(long, value_name = "S", requires = "cases", default_value_t = 0)]
    pub seed: u64,
    /// The configuration file
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// How results are shown
    #[arg(long, value_enum, default_value = "pretty")]
    pub format: Format,
    /// How many scenarios are played at once, 1 to 1000
    #[arg(long, value_name = "N", default_value = "16", value_parser = jobs())]
    pub jobs: usize,
    /// How long to wait without progress for a message that is due, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = DEFAULT_PATIENCE, value_parser = clap::value_parser!(u64).range(1..))]
    pub patience: u64,
    /// Warnings fail the run
    #[arg(long)]
    pub strict: bool,
    /// Failures that are known and expected: only what is new fails the run
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// Write what fails now into the baseline, and take out of it what does not any more
    #[arg(long, requires = "baseline")]
    pub bless: bool,
    /// Why what is blessed is expected to fail
    #[arg(long, value_name = "TEXT", requires = "bless", value_parser = NonEmptyStringValueParser::new())]
    pub reason: Option<String>,
    /// Play only the K-th of N parts of the selection
    #[arg(long, value_name = "K/N")]
    pub shard: Option<Shard>,
    /// Play everything N times; a scenario whose verdict differs is unstable
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
    pub repeat: u32,
    /// Play in an order that this number decides
    #[arg(long, value_name = "SEED")]
    pub shuffle: Option<u64>,
    /// Write a report into a file while results come; repeatable
    #[arg(long, value_name = "FORMAT=PATH", long_help = REPORT_HELP)]
    pub report: Vec<ReportTarget>,
    /// Write each scenario's transcript into this directory, as JSON Lines
    #[arg(long, value_name = "DIR")]
    pub transcripts: Option<PathBuf>,
    /// Play a fault of the in-tree reference, to see it caught; `list mutants` names them
    #[arg(long, value_name = "NAME", conflicts_with_all = ["launch", "url"])]
    pub mutant: Option<String>,
}

impl RunArgs {
    /// The patience as a duration.
    #[must_use]
    pub fn patience(&self) -> Duration {
        Duration::from_millis(self.patience)
    }
}

impl RunArgs {
    /// Everything that is built, each by its in-tree reference.
    pub(super) fn bare() -> Self {
        #[derive(Parser)]
        struct Bare {
            #[command(flatten)]
            run: RunArgs,
        }
        Bare::parse_from(["run"]).run
    }
}
