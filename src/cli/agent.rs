//! `rdma-operator agent`

use tokio_util::sync::CancellationToken;

/// Arguments.
#[derive(clap::Args, Debug)]
pub(super) struct Args {}

pub(super) async fn run(_args: Args, _stop: CancellationToken) -> anyhow::Result<()> {
    Ok(())
}
