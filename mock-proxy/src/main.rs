//! A proxy to try a provider with by hand: it says back what it is told.

use std::net::SocketAddr;
use std::process::ExitCode;

use clap::Parser;

/// Answers for the proxies of all containers: begins at once, and says back what is enqueued.
#[derive(Debug, Parser)]
#[command(name = "mock-proxy", version)]
struct Cli {
    /// Where to listen; a provider under `CONFORMANCE_PROXY` dials it
    #[arg(long, env = "CONFORMANCE_LISTEN", default_value = "127.0.0.1:14979")]
    listen: SocketAddr,
}

#[tokio::main]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    let serving = async {
        let listener = mock_proxy::echo::listen(cli.listen).await?;
        anstream::println!("listening on {}", listener.address()?);
        mock_proxy::echo::serve(listener).await
    };
    tokio::select! {
        served = serving => match served {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                anstream::eprintln!("error: could not serve on {}: {error}", cli.listen);
                ExitCode::FAILURE
            }
        },
        _ = tokio::signal::ctrl_c() => ExitCode::SUCCESS,
    }
}
