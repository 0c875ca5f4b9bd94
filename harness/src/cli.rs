//! The command line: what can be asked, and the exit codes that answer.

use std::convert::Infallible;
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use diverge_protocol::rules::Revision;
use diverge_protocol::scenario::Iut;
use diverge_protocol::wire::agent_event::EventRevision;

use crate::commands;
use crate::decode::Surface;
use crate::kinds;
use crate::order::Shard;
use crate::output;
use crate::report::ReportTarget;
use crate::verdict::Exit;

/// Finds out whether an implementation does what the Diverge Provider Protocol says, and says exactly where it does not.
///
/// Start with `init`, which writes what testing yours needs, or with `run KIND --launch 'COMMAND'`. Each failure ends with
/// the command that plays just that again; `explain ID` tells what a scenario or a requirement is about.
///
/// Without a command, each kind of implementation that is built is judged by its in-tree reference: the quickest way to
/// see what a run looks like.
#[derive(Debug, Parser)]
#[command(name = "diverge-conformance", version, max_term_width = 110)]
#[command(after_help = "Examples:\n  \
    diverge-conformance run provider --launch 'python3 provider.py'\n  \
    diverge-conformance run provider --launch 'python3 provider.py' --baseline known.toml --bless\n  \
    diverge-conformance explain run.chunk.verbatim\n  \
    echo 08 | diverge-conformance decode --frame run-response\n\n\
    Exit codes: 0 conforms; 1 a scenario failed, was unstable or inconclusive, or none passed, or the run was \
    interrupted; 2 usage or a scenario file at fault; 3 a baseline entry is stale, matches nothing or is past its date; \
    4 the implementation could not be started or reached; 5 the harness is at fault, or what it says cannot be written.")]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs the scenarios against an implementation
    Run(Box<RunArgs>),
    /// Lists what there is: scenarios, requirements or mutants
    List {
        /// What to list
        #[arg(default_value = "scenarios")]
        what: ListWhat,
    },
    /// Tells what one scenario, requirement or mutant is about; a scenario as prose and as a lane diagram
    Explain {
        /// The id
        id: String,
    },
    /// Tries the scenarios on hollow peers, faults and conforming variants of the reference
    Mutants(MutantsArgs),
    /// Shows requirements, their scenarios and their mutants; exit 1 where one lacks either without a written reason
    Coverage,
    /// Judges a stream of agent events, one JSON object a line, or a transcript that `run --transcripts` wrote
    Check(CheckArgs),
    /// Writes the stream of agent events of an in-tree emitter
    #[command(hide = true)]
    EmitEvents {
        /// The emitter; without it, the reference
        name: Option<String>,
    },
    /// Serves as an in-tree reference, told where to be by its environment like any launched implementation
    #[command(hide = true)]
    Serve {
        /// Which: provider, proxy or agent-server
        role: commands::Role,
        /// Have this fault
        #[arg(long, value_name = "NAME")]
        fault: Option<String>,
    },
    /// Writes reports of runs that were recorded with `run --report json=PATH`: of one, or of several side by side
    Report(ReportArgs),
    /// Tells what moved: verdicts between two runs recorded with `run --report json=PATH`, or requirements and numbers
    /// between two revisions
    Diff(DiffArgs),
    /// Asks for a run and tells what it reads of it, as a client under test does
    #[command(hide = true)]
    Client(ClientArgs),
    /// Answers lines of `FRAME HEX` as a codec under test does
    #[command(hide = true)]
    Codec {
        /// The form of the in-tree codec; without it, the reference
        name: Option<String>,
    },
    /// Writes a test target, a configuration and a CI file for an implementation
    Init(InitArgs),
    /// Writes what completes these commands in a shell
    #[command(after_help = "Example:\n  \
        diverge-conformance completions bash > ~/.local/share/bash-completion/completions/diverge-conformance")]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Reads payloads as hex, one a line on standard input, and tells what they say or why they say nothing
    Decode(DecodeArgs),
    /// Checks scenario files; without files, those that are built in
    Lint {
        /// Scenario files
        files: Vec<PathBuf>,
        /// Print the JSON Schema of the format instead
        #[arg(long)]
        schema: bool,
        /// Print the list of what a revision scores instead, as it would be frozen now
        #[arg(long, value_name = "REVISION", conflicts_with_all = ["files", "schema"])]
        freeze: Option<RevisionArg>,
    },
}

/// What `--report` takes.
const REPORT_HELP: &str = "Write a report into a file while results come; repeatable. Formats: junit (for what reads \
    test results), json (every result with its story, for `diff` and `report`), html (one page), markdown (a summary, \
    such as for a job's page). Each file is a whole document at every moment, also of a run that is interrupted";

/// What `--launch` takes.
const LAUNCH_HELP: &str = "Start the implementation with this command. It is taken apart into words as a shell does it, \
    quotes included, but no shell runs it: variables, pipes and `&&` need one, such as \
    --launch \"sh -c 'cd server && exec ./run'\"";

/// How many scenarios are played at once.
fn jobs() -> impl TypedValueParser<Value = usize> {
    clap::value_parser!(u16).range(1..=1000).map(usize::from)
}

/// `init`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  \
    diverge-conformance init provider --launch 'python3 provider.py' --directory conformance")]
pub struct InitArgs {
    /// What is to be tested
    pub iut: IutArg,
    /// The command that starts it
    #[arg(long, value_name = "COMMAND", default_value = "./my-program", value_parser = NonEmptyStringValueParser::new())]
    pub launch: String,
    /// Where to write: a crate, or any other directory, which becomes a crate of tests
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub directory: PathBuf,
    /// Write over files that are there
    #[arg(long)]
    pub force: bool,
}

/// Which kind of list.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum ListWhat {
    /// Scenario ids and titles
    Scenarios,
    /// Requirement ids, strengths and sentences
    Requirements,
    /// Faults, variants and hollow peers of the references
    Mutants,
}

/// The kinds of implementations that can be judged.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum IutArg {
    /// A server that clients ask to run containers
    Provider,
    /// A program that asks a server to run a container; what it is told is advice, since the protocol binds no client
    Client,
    /// A program beside an agent server in a container, which a provider's server dials
    Proxy,
    /// A program that says of payloads what they are, or that they are malformed
    Codec,
    /// An agent's HTTP server, as a proxy calls it
    AgentServer,
    /// A program that writes a stream of agent events
    Events,
    /// A client, a provider, a proxy and an agent server in a row, judged at every link
    Chain,
}

impl IutArg {
    /// The kind in the catalogue's words.
    #[must_use]
    pub fn iut(self) -> Iut {
        match self {
            Self::Provider => Iut::Provider,
            Self::Client => Iut::Client,
            Self::Proxy => Iut::Proxy,
            Self::Codec => Iut::Codec,
            Self::AgentServer => Iut::AgentServer,
            Self::Events => Iut::Events,
            Self::Chain => Iut::Chain,
        }
    }
}

/// How results are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Pretty,
    /// One JSON object a line, as results come
    Jsonl,
}

/// The protocol's revisions.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum RevisionArg {
    /// Runs on scopes of the nine-byte frame
    Scope,
    /// Runs on a WebSocket path of the proxy
    Path,
}

impl RevisionArg {
    /// The revision in the catalogue's words.
    #[must_use]
    pub fn revision(self) -> Revision {
        match self {
            Self::Scope => Revision::Scope,
            Self::Path => Revision::Path,
        }
    }
}

/// A revision to play: one that is built in, or a file.
#[derive(Debug, Clone)]
pub enum PlayedRevision {
    /// Built in.
    Named(RevisionArg),
    /// What this file says of it.
    File(PathBuf),
}

impl FromStr for PlayedRevision {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let named = RevisionArg::from_str(text, false);
        Ok(named.map_or_else(|_| Self::File(text.into()), Self::Named))
    }
}

/// The revisions of the AgentEvent surface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EventsRevisionArg {
    /// The six events of the document
    Document,
    /// Those, and the later `compaction_boundary`
    Compaction,
}

impl EventsRevisionArg {
    /// The revision in the codec's words.
    #[must_use]
    pub fn revision(self) -> EventRevision {
        match self {
            Self::Document => EventRevision::Document,
            Self::Compaction => EventRevision::Compaction,
        }
    }
}

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

/// `mutants`.
#[derive(Debug, Args)]
pub struct MutantsArgs {
    /// Which reference; without it, all that are built
    pub iut: Option<IutArg>,
    /// Only mutants that fit this glob
    #[arg(long, value_name = "GLOB")]
    pub only: Option<String>,
    /// Also play every scenario on every fault, and list scenarios that no fault needs
    #[arg(long)]
    pub full: bool,
    /// How many scenarios are played at once, 1 to 1000
    #[arg(long, value_name = "N", default_value = "16", value_parser = jobs())]
    pub jobs: usize,
}

/// `check`.
#[derive(Debug, Args)]
#[command(after_help = "The first line tells which of the two the input is.\n\n\
    Exit codes: 0 conforms; 1 a line breaks what is stated, or nothing in it can be judged; \
    2 usage, or the file cannot be read.")]
pub struct CheckArgs {
    /// The stream of agent events as JSON Lines, or a transcript of a provider's run; `-` is standard input
    pub file: PathBuf,
    /// Warnings fail
    #[arg(long)]
    pub strict: bool,
    /// The revision of the AgentEvent surface
    #[arg(long, value_enum, value_name = "REVISION", default_value = "document")]
    pub events_revision: EventsRevisionArg,
}

/// `diff`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    diverge-conformance diff main.json branch.json\n  \
    diverge-conformance diff path scope\n  \
    diverge-conformance diff scope draft.toml\n\n\
    Exit codes: 0 nothing is worse, or two revisions were compared; 1 a verdict got worse, what passed is missing, or the newer run did not come to \
    its end; 2 usage.")]
pub struct DiffArgs {
    /// The older results, as a file; or the older revision, by its name or as a `.toml` file
    pub old: String,
    /// The newer results or revision
    pub new: String,
    /// How it is told
    #[arg(long, value_enum, default_value = "pretty")]
    pub format: Format,
}

/// `report`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    diverge-conformance report results.json --report html=page.html\n  \
    diverge-conformance report ours.json theirs.json --report html=matrix.html\n\n\
    Exit codes: 0; 2 usage, or a file cannot be read or written.")]
pub struct ReportArgs {
    /// Results as JSON
    #[arg(required_unless_present = "schema")]
    pub results: Vec<PathBuf>,
    /// What to write, and where; repeatable
    #[arg(long, value_name = "FORMAT=PATH", required_unless_present = "schema")]
    pub report: Vec<ReportTarget>,
    /// Print the JSON Schema of the results instead
    #[arg(long)]
    pub schema: bool,
}

/// `client`.
#[derive(Debug, Args)]
pub struct ClientArgs {
    /// The form of the in-tree client; without it, the reference
    pub name: Option<String>,
    /// The JSON of a message to enqueue: the first behind the id, each next one behind the end of a loop; repeatable
    #[arg(long, value_name = "JSON")]
    pub enqueue: Vec<String>,
    /// Stop the run when there is nothing to enqueue any more
    #[arg(long)]
    pub stop: bool,
}

/// `decode`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    echo 08 | diverge-conformance decode --frame run-response\n  \
    diverge-conformance decode --frame chunk --batch < captured.hex\n\n\
    A blank line is a payload with no byte. Exit codes: 0; 1 where a line was rejected or is not hex; 2 usage.")]
pub struct DecodeArgs {
    /// What each line is
    #[arg(long, value_parser = surfaces())]
    pub frame: Surface,
    /// Write one JSON object a line instead of explaining
    #[arg(long)]
    pub batch: bool,
    /// Show the values of an inactive, a frame's payload, and the text of what is rejected
    ///
    /// Without it, what was a text or number of four bytes or more among an inactive's values is masked in every later
    /// line too, wherever it turns up; of more than 1,024 such values, or 64 MiB of them, the oldest are forgotten.
    #[arg(long)]
    pub show_secrets: bool,
    /// The revision of the AgentEvent surface, for the frame `agent-event`
    #[arg(long, value_enum, value_name = "REVISION", default_value = "document")]
    pub events_revision: EventsRevisionArg,
}

/// The surfaces by name, each with what it is.
fn surfaces() -> impl TypedValueParser<Value = Surface> {
    let names = Surface::ALL
        .iter()
        .map(|surface| PossibleValue::new(surface.name()).help(surface.about()));
    PossibleValuesParser::new(names).try_map(|name| Surface::named(&name).ok_or("no such surface"))
}

/// Runs the command line of this process.
#[must_use]
pub fn main() -> ExitCode {
    kinds::chain::is_command_line();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            output::take(error.print());
            return ExitCode::from(told(if error.use_stderr() {
                Exit::Usage
            } else {
                Exit::Conforms
            }));
        }
    };
    let command = cli
        .command
        .unwrap_or_else(|| Command::Run(Box::new(RunArgs::bare())));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            commands::complain(&format!("could not start: {error}"));
            return ExitCode::from(Exit::Harness.code());
        }
    };
    if let Command::Client(args) = &command {
        return ExitCode::from(runtime.block_on(commands::client(args)));
    }
    let exit = runtime.block_on(async {
        match command {
            Command::Run(args) => commands::run(&args).await,
            Command::List { what } => commands::list(what),
            Command::Explain { id } => commands::explain(&id),
            Command::Mutants(args) => commands::mutants(&args).await,
            Command::Coverage => commands::coverage(),
            Command::Check(args) => commands::check(&args),
            Command::EmitEvents { name } => commands::emit(name.as_deref()),
            Command::Serve { role, fault } => commands::serve(role, fault).await,
            Command::Diff(args) => commands::diff(&args),
            Command::Report(args) => commands::report(&args),
            // It has an exit status of its own.
            Command::Client(_) => Exit::Harness,
            Command::Codec { name } => commands::codec(name.as_deref()).await,
            Command::Init(args) => commands::init(&args),
            Command::Completions { shell } => completions(shell),
            Command::Decode(args) => commands::decode(&args),
            Command::Lint {
                freeze: Some(revision),
                ..
            } => commands::freeze(revision.revision()),
            Command::Lint { files, schema, .. } => commands::lint(&files, schema),
        }
    });
    runtime.shutdown_timeout(Duration::from_millis(100));
    ExitCode::from(told(exit))
}

/// The exit code, which output that was lost decides too.
fn told(exit: Exit) -> u8 {
    let exit = match output::lost() {
        Some(error) => {
            commands::complain(&format!("could not write to standard output: {error}"));
            exit.worst(Exit::Harness)
        }
        None => exit,
    };
    exit.code()
}

fn completions(shell: Shell) -> Exit {
    let mut command = Cli::command();
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, name, &mut script);
    output::print(&String::from_utf8_lossy(&script));
    Exit::Conforms
}

impl RunArgs {
    fn bare() -> Self {
        #[derive(Parser)]
        struct Bare {
            #[command(flatten)]
            run: RunArgs,
        }
        Bare::parse_from(["run"]).run
    }
}
