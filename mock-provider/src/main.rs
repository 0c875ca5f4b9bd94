//! Starts a provider where its environment says, and serves until it is interrupted.

use std::io::{self, Write};
use std::net::SocketAddr;

use clap::Parser;
use diverge_protocol::wire::run::Mode;
use mock_provider::server::{Behaviour, Config, serve};
use mock_provider::settings::{Volume, Volumes};
use mock_provider::{faults, hollow, variants};

/// A provider that conforms, or that deviates on purpose.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// Where to serve WebSocket.
    #[arg(long, env = "CONFORMANCE_LISTEN", required_unless_present = "list")]
    listen: Option<SocketAddr>,
    /// Where the proxy of every container answers.
    #[arg(long, env = "CONFORMANCE_PROXY", required_unless_present = "list")]
    proxy: Option<SocketAddr>,
    /// The one credential to accept.
    #[arg(
        long,
        env = "CONFORMANCE_CREDENTIAL",
        hide_env_values = true,
        required_unless_present = "list"
    )]
    credential: Option<String>,
    /// Have this fault.
    #[arg(long, value_name = "NAME", group = "behaviour")]
    fault: Option<String>,
    /// Be this conforming variant.
    #[arg(long, value_name = "NAME", group = "behaviour")]
    variant: Option<String>,
    /// Be this hollow provider.
    #[arg(long, value_name = "NAME", group = "behaviour")]
    hollow: Option<String>,
    /// Have a volume: held, mounted, fuse_served, mount_unsupported or mode, then its name and its mode.
    #[arg(long, value_name = "STATE=NAME:MODE", value_parser = volume)]
    volume: Vec<(State, Volume)>,
    /// List the faults, variants and hollow providers.
    #[arg(long)]
    list: bool,
}

/// Picks the volume of a state.
type State = fn(&mut Volumes) -> &mut Option<Volume>;

#[tokio::main]
async fn main() -> io::Result<()> {
    let arguments = Arguments::parse();
    let (Some(listen), Some(proxy), false) = (arguments.listen, arguments.proxy, arguments.list)
    else {
        return list();
    };
    let mut volumes = Volumes::default();
    for (state, volume) in arguments.volume {
        *state(&mut volumes) = Some(volume);
    }
    let behaviour = arguments
        .fault
        .map(Behaviour::Fault)
        .or(arguments.variant.map(Behaviour::Variant))
        .or(arguments.hollow.map(Behaviour::Hollow))
        .unwrap_or_default();
    let _server = serve(Config {
        listen,
        proxy,
        credential: arguments.credential.unwrap_or_default(),
        volumes,
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

fn volume(text: &str) -> Result<(State, Volume), String> {
    const FORM: &str = "STATE=NAME:MODE is expected";
    let (state, rest) = text.split_once('=').ok_or(FORM)?;
    let (name, mode) = rest.rsplit_once(':').ok_or(FORM)?;
    let state: State = match state {
        "held" => |volumes| &mut volumes.held,
        "mounted" => |volumes| &mut volumes.mounted,
        "fuse_served" => |volumes| &mut volumes.fuse_served,
        "mount_unsupported" => |volumes| &mut volumes.mount_unsupported,
        "mode" => |volumes| &mut volumes.mode,
        _ => return Err(format!("there is no state `{state}`")),
    };
    let mode = Mode::ALL.iter().find(|known| known.name() == mode);
    let mode = *mode.ok_or("the modes are persistent, ephemeral and read_only")?;
    Ok((
        state,
        Volume {
            name: name.to_owned(),
            mode,
        },
    ))
}
