//! The command line: what can be asked, and the exit codes that answer.

mod run;
mod values;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, CommandFactory, Parser, Subcommand};
use clap_complete::Shell;

pub use self::run::{DEFAULT_PATIENCE, RunArgs};
use self::values::jobs;
pub use self::values::{EventsRevisionArg, Format, IutArg, ListWhat, PlayedRevision, RevisionArg};
use crate::commands;
use crate::decode::Surface;
use crate::kinds;
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
#[command(name = NAME, version, max_term_width = 110)]
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

/// How the program is called.
const NAME: &str = "diverge-conformance";

fn completions(shell: Shell) -> Exit {
    let all = Cli::command();
    let shown = all.get_subcommands().filter(|it| !it.is_hide_set());
    let mut command = clap::Command::new(NAME)
        .version(env!("CARGO_PKG_VERSION"))
        .args(all.get_arguments().cloned())
        .subcommands(shown.cloned());
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, NAME, &mut script);
    output::print(&String::from_utf8_lossy(&script));
    Exit::Conforms
}
