//! Starts an agent server where its environment says, and serves until it is interrupted.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use diverge_protocol::rules::Revision;
use mock_agent_server::server::{Behaviour, Config, Listen, serve};
use mock_agent_server::{faults, hollow, variants};

/// An agent server that conforms, or that deviates on purpose. It serves on 127.0.0.1, on the port that the variable
/// PORT says, or else on 8080.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// The revision to speak: scope or path.
    #[arg(long, env = "CONFORMANCE_REVISION", default_value = "scope", value_parser = revision)]
    revision: Revision,
    /// Have this fault.
    #[arg(long, value_name = "NAME", group = "behaviour")]
    fault: Option<String>,
    /// Be this conforming variant.
    #[arg(long, value_name = "NAME", group = "behaviour")]
    variant: Option<String>,
    /// Be this hollow agent server.
    #[arg(long, value_name = "NAME", group = "behaviour")]
    hollow: Option<String>,
    /// List the faults, variants and hollow agent servers.
    #[arg(long)]
    list: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            anstream::eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> io::Result<()> {
    if arguments.list {
        return list();
    }
    let behaviour = arguments
        .fault
        .map(Behaviour::Fault)
        .or(arguments.variant.map(Behaviour::Variant))
        .or(arguments.hollow.map(Behaviour::Hollow))
        .unwrap_or_default();
    // What is no text is no number either.
    let port = std::env::var_os("PORT").map(|it| it.to_string_lossy().into_owned());
    let _server = serve(Config {
        listen: Listen::Port(port),
        revision: arguments.revision,
        behaviour,
    })
    .await?;
    tokio::signal::ctrl_c().await
}

fn list() -> io::Result<()> {
    let mut out = io::stdout().lock();
    for fault in faults::all() {
        writeln!(
            out,
            "fault {} ({}): {}",
            fault.name, fault.requirement, fault.about
        )?;
    }
    for variant in variants::all() {
        writeln!(out, "variant {}: {}", variant.name, variant.about)?;
    }
    for hollow in hollow::all() {
        writeln!(out, "hollow {}: {}", hollow.name, hollow.about)?;
    }
    Ok(())
}

fn revision(text: &str) -> Result<Revision, String> {
    match text {
        "scope" => Ok(Revision::Scope),
        "path" => Ok(Revision::Path),
        _ => Err("the revisions are scope and path".to_owned()),
    }
}
