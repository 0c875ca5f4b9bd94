//! The hidden command that plays an in-tree reference as a server of its own.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use clap::ValueEnum;
use diverge_protocol::rules::Revision;

use super::complain;
use crate::verdict::Exit;

/// Who is played.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Role {
    /// The provider.
    Provider,
    /// The proxy.
    Proxy,
    /// The agent server.
    AgentServer,
}

/// `serve`: until it is ended.
pub(crate) async fn serve(role: Role, fault: Option<String>) -> Exit {
    let served = match role {
        Role::Provider => provider(fault).await,
        Role::Proxy => proxy(fault).await,
        Role::AgentServer => agent_server(fault).await,
    };
    match served {
        Ok(()) => Exit::Conforms,
        Err(error) => {
            complain(&error.to_string());
            Exit::Usage
        }
    }
}

async fn provider(fault: Option<String>) -> io::Result<()> {
    use mock_provider::server::{Behaviour, Config, serve};
    let _server = serve(Config {
        listen: address("CONFORMANCE_LISTEN")?,
        proxy: address("CONFORMANCE_PROXY")?,
        credential: told("CONFORMANCE_CREDENTIAL")?,
        volumes: Default::default(),
        behaviour: fault.map_or(Behaviour::Conforming, Behaviour::Fault),
    })
    .await?;
    tokio::signal::ctrl_c().await
}

async fn proxy(fault: Option<String>) -> io::Result<()> {
    use mock_proxy::server::{Behaviour, Config, serve};
    let port = mock_proxy::answers::port(&told("PORT")?);
    let _server = serve(Config {
        listen: address("CONFORMANCE_LISTEN")?,
        agent: (Ipv4Addr::LOCALHOST, port).into(),
        revision: Revision::Scope,
        behaviour: fault.map_or(Behaviour::Conforming, Behaviour::Fault),
    })
    .await?;
    tokio::signal::ctrl_c().await
}

async fn agent_server(fault: Option<String>) -> io::Result<()> {
    use mock_agent_server::server::{Behaviour, Config, Listen, serve};
    let _server = serve(Config {
        listen: Listen::Port(Some(told("PORT")?)),
        revision: Revision::Scope,
        behaviour: fault.map_or(Behaviour::Conforming, Behaviour::Fault),
    })
    .await?;
    tokio::signal::ctrl_c().await
}

/// What a variable says.
fn told(variable: &str) -> io::Result<String> {
    std::env::var(variable).map_err(|error| io::Error::other(format!("{variable}: {error}")))
}

/// The address that a variable says.
fn address(variable: &str) -> io::Result<SocketAddr> {
    let text = told(variable)?;
    text.parse()
        .map_err(|_| io::Error::other(format!("{variable}: `{text}` is no host:port")))
}
