//! The provider as a program, told where to be by its environment: for `diverge-conformance run provider --launch`.

use std::env;
use std::error::Error;

use example_provider::{Settings, serve};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let settings = Settings {
        listen: env::var("CONFORMANCE_LISTEN")?.parse()?,
        proxy: env::var("CONFORMANCE_PROXY")?.parse()?,
        credential: env::var("CONFORMANCE_CREDENTIAL")?,
    };
    let _server = serve(settings).await?;
    Ok(tokio::signal::ctrl_c().await?)
}
