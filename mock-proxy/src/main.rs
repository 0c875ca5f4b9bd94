//! Starts a proxy where its environment says, and serves until it is interrupted.

use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};

use clap::{Parser, ValueEnum};
use diverge_protocol::rules;
use mock_proxy::server::{Behaviour, Config, serve};
use mock_proxy::{echo, faults, hollow, variants};

/// A container proxy that conforms, or that deviates on purpose.
#[derive(Debug, Parser)]
#[command(name = "mock-proxy", version)]
struct Cli {
    /// Where to serve WebSocket
    #[arg(long, env = "CONFORMANCE_LISTEN", default_value = "127.0.0.1:14979")]
    listen: SocketAddr,
    /// The port of the agent server, on 127.0.0.1; whatever is no port means 8080
    #[arg(long, env = "PORT", default_value = "8080")]
    port: String,
    /// The revision to speak
    #[arg(long, env = "CONFORMANCE_REVISION", default_value = "scope")]
    revision: Revision,
    /// Have this fault
    #[arg(long, value_name = "NAME", group = "behaviour")]
    fault: Option<String>,
    /// Be this conforming variant
    #[arg(long, value_name = "NAME", group = "behaviour")]
    variant: Option<String>,
    /// Be this hollow proxy
    #[arg(long, value_name = "NAME", group = "behaviour")]
    hollow: Option<String>,
    /// Need no agent server: answer for the proxies of all containers, and say back what is enqueued
    #[arg(long, group = "behaviour")]
    echo: bool,
    /// List the faults, variants and hollow proxies
    #[arg(long)]
    list: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Revision {
    Scope,
    Path,
}

impl From<Revision> for rules::Revision {
    fn from(revision: Revision) -> Self {
        match revision {
            Revision::Scope => Self::Scope,
            Revision::Path => Self::Path,
        }
    }
}

#[tokio::main]
async fn main() -> io::Result<()> {
    let cli = Cli::parse();
    if cli.list {
        return list();
    }
    if cli.echo {
        let listener = echo::listen(cli.listen).await?;
        anstream::println!("listening on {}", listener.address()?);
        return tokio::select! {
            served = echo::serve(listener) => served,
            interrupted = tokio::signal::ctrl_c() => interrupted,
        };
    }
    let behaviour = cli
        .fault
        .map(Behaviour::Fault)
        .or(cli.variant.map(Behaviour::Variant))
        .or(cli.hollow.map(Behaviour::Hollow))
        .unwrap_or_default();
    let server = serve(Config {
        listen: cli.listen,
        agent: (Ipv4Addr::LOCALHOST, mock_proxy::answers::port(&cli.port)).into(),
        revision: cli.revision.into(),
        behaviour,
    })
    .await?;
    anstream::println!("listening on {}", server.address());
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
