//! `rdma-operator controller`

use std::net::SocketAddr;

use tokio_util::sync::CancellationToken;

use super::Cluster;
use crate::cluster::connect;
use crate::controller::{self, Settings};

/// Arguments.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    #[command(flatten)]
    cluster: Cluster,
    /// Namespace of the lease and of the agent pods
    #[arg(long, env = "POD_NAMESPACE", default_value = "rdma-operator")]
    namespace: String,
    /// Name of this candidate for the lease: the pod's
    #[arg(long, env = "POD_NAME", default_value = "rdma-operator")]
    identity: String,
    /// Labels of agent pods
    #[arg(long, default_value = "app.kubernetes.io/name=rdma-operator,app.kubernetes.io/component=agent")]
    agent_selector: String,
    /// Where /metrics, /healthz and /readyz are served
    #[arg(long, default_value = "[::]:9428")]
    listen: SocketAddr,
}

pub(super) async fn run(args: Args, stop: CancellationToken) -> anyhow::Result<()> {
    let client = connect(args.cluster.kubeconfig).await?;
    let settings = Settings {
        namespace: args.namespace,
        identity: args.identity,
        agent_selector: args.agent_selector,
        listen: args.listen,
    };
    Ok(controller::run(client, settings, stop).await?)
}
