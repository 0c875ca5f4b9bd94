//! `init`: the files with which an implementer tests from then on.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use diverge_protocol::scenario::Iut;

use super::complain;
use crate::cli::InitArgs;
use crate::files;
use crate::report::style::say;
use crate::verdict::Exit;

/// Where this program was built from; there the library is, unless it has been moved.
const HARNESS: &str = env!("CARGO_MANIFEST_DIR");
/// The test target that is written.
const TESTS: &str = "tests/conformance.rs";

/// A file to be written.
struct File {
    path: PathBuf,
    text: String,
}

pub(crate) fn init(args: &InitArgs) -> Exit {
    if args.iut.iut() == Iut::Chain {
        complain(
            "a chain is several programs, and `init` writes the tests of one: name its kind instead",
        );
        return Exit::Usage;
    }
    let files = files(args);
    let there: Vec<&File> = files.iter().filter(|file| file.path.exists()).collect();
    if !args.force && !there.is_empty() {
        for file in there {
            complain(&format!("{} is there already", file.path.display()));
        }
        complain("nothing was written; --force writes over what is there");
        return Exit::Usage;
    }
    for file in &files {
        if let Err(error) = write(file) {
            complain(&format!("could not write {}: {error}", file.path.display()));
            return Exit::Usage;
        }
        say(&format!("wrote {}", file.path.display()));
    }
    say(&next(args, &files));
    Exit::Conforms
}

fn write(file: &File) -> io::Result<()> {
    if let Some(directory) = file.path.parent() {
        fs::create_dir_all(directory)?;
    }
    files::replace(&file.path, file.text.as_bytes())
}

fn files(args: &InitArgs) -> Vec<File> {
    let iut = args.iut.iut();
    let file = |path: &str, template: &str| File {
        path: args.directory.join(path),
        text: fill(template, iut, &args.launch),
    };
    let (tests, config) = match iut {
        Iut::Provider => (
            include_str!("../../templates/provider.rs"),
            include_str!("../../templates/provider.toml"),
        ),
        Iut::AgentServer => (
            include_str!("../../templates/conformance.rs"),
            include_str!("../../templates/agent-server.toml"),
        ),
        Iut::Client => (
            include_str!("../../templates/conformance.rs"),
            include_str!("../../templates/client.toml"),
        ),
        _ => (
            include_str!("../../templates/conformance.rs"),
            include_str!("../../templates/bare.toml"),
        ),
    };
    let mut files = vec![
        file(TESTS, tests),
        file("conformance.toml", config),
        file(
            ".github/workflows/conformance.yml",
            include_str!("../../templates/ci.yml"),
        ),
    ];
    if !in_a_crate(&args.directory) {
        files.push(file(
            "Cargo.toml",
            include_str!("../../templates/Cargo.toml"),
        ));
    }
    files
}

/// Whether a crate is there that is not of our making.
fn in_a_crate(directory: &Path) -> bool {
    fs::read_to_string(directory.join("Cargo.toml"))
        .is_ok_and(|text| !text.contains("name = \"conformance\"\nversion"))
}

fn fill(template: &str, iut: Iut, command: &str) -> String {
    let variant = match iut {
        Iut::Provider => "Provider",
        Iut::Proxy => "Proxy",
        Iut::AgentServer => "AgentServer",
        Iut::Client => "Client",
        Iut::Codec => "Codec",
        Iut::Events => "Events",
        Iut::Chain => "Chain",
    };
    // A JSON text is one of YAML, TOML and Rust as well, for what a command line or a path can hold.
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    template
        .replace("{{kind}}", iut.as_str())
        .replace("{{variant}}", variant)
        .replace("{{command}}", &quoted(command))
        .replace("{{path}}", &quoted(HARNESS))
}

/// What to do next, in this order.
fn next(args: &InitArgs, files: &[File]) -> String {
    let iut = args.iut.iut();
    let command = shlex::try_quote(&args.launch).unwrap_or_default();
    let configuration = match files
        .iter()
        .any(|file| file.path.ends_with("conformance.toml"))
    {
        true => " --config conformance.toml",
        false => "",
    };
    // Of an agent server nothing can be asked that it has not been told of.
    let first = match iut {
        Iut::AgentServer => {
            "\nSay in conformance.toml first which arguments it takes: without them no scenario can be played.\n"
        }
        _ => "",
    };
    let mut next = format!(
        "{first}\nSee what it says now:\n  diverge-conformance run {}{configuration} --launch {command}",
        iut.as_str()
    );
    let has_manifest = files.iter().any(|file| file.path.ends_with("Cargo.toml"));
    if !has_manifest {
        let harness = shlex::try_quote(HARNESS).unwrap_or_default();
        next.push_str(&format!(
            "\n\nFor the tests, add the library, and the test target to Cargo.toml:\n  \
             cargo add --dev --path {harness} diverge-conformance\n\n  \
             [[test]]\n  name = \"conformance\"\n  harness = false"
        ));
    }
    next.push_str("\n\nRun them:\n  cargo test --test conformance");
    next
}
