//! The provider as a program, told where to be by its environment: for `diverge-conformance run provider --launch`.

use std::env;
use std::error::Error;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (listen, proxy) = (
        env::var("CONFORMANCE_LISTEN")?,
        env::var("CONFORMANCE_PROXY")?,
    );
    let credential = env::var("CONFORMANCE_CREDENTIAL")?;
    let _server = example_provider::serve(listen.parse()?, proxy.parse()?, credential).await?;
    Ok(tokio::signal::ctrl_c().await?)
}
