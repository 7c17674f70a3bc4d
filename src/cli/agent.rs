//! `rdma-operator agent`

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Context;
use tokio_util::sync::CancellationToken;

use super::Cluster;
use super::host::Folders;
use crate::agent::{self, Settings, standalone};
use crate::cluster::connect;
use crate::{plugin, pool};

/// Arguments.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    #[command(flatten)]
    cluster: Cluster,
    /// Name of this Node
    #[arg(long, env = "NODE_NAME", required_unless_present = "standalone")]
    node: Option<String>,
    /// Run without Kubernetes: inventory, metrics, and the soft links of --links
    #[arg(long, conflicts_with = "kubeconfig")]
    standalone: bool,
    /// A file of SoftRdmaLinks to keep in place; may be given again. Read again when it changes
    #[arg(long, value_name = "FILE", requires = "standalone")]
    links: Vec<PathBuf>,
    /// Folder that outlives the pod: which soft links are ours, and what was wanted last
    #[arg(long, value_name = "FOLDER", default_value = "/var/lib/rdma-operator")]
    state_dir: PathBuf,
    /// The kubelet's device plugin folder; it does not move with the kubelet's --root-dir
    #[arg(long, value_name = "FOLDER", default_value = "/var/lib/kubelet/device-plugins")]
    device_plugin_dir: PathBuf,
    /// Prefix of resource names: rdma/mlx5_0
    #[arg(long, default_value = "rdma")]
    resource_prefix: String,
    /// Offer every device that is no virtual function as a resource of its own
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set)]
    default_resources: bool,
    #[command(flatten)]
    folders: Folders,
    /// Where /metrics, /healthz and /readyz are served
    #[arg(long, default_value = "[::]:9427")]
    listen: SocketAddr,
}

pub(super) async fn run(args: Args, machine: Option<PathBuf>, stop: CancellationToken) -> anyhow::Result<()> {
    pool::name::check(&format!("{}/x", args.resource_prefix))
        .with_context(|| format!("--resource-prefix {}", args.resource_prefix))?;
    let settings = Settings {
        node: args.node.clone().unwrap_or_else(host_name),
        host: args.folders.host(machine.as_deref())?,
        state: args.state_dir.clone(),
        listen: args.listen,
    };
    if args.standalone {
        let links = standalone::read(&args.links, &settings.node)?;
        tracing::info!("no Kubernetes; node {}, soft links wanted: {}", settings.node, links.len());
        return Ok(agent::run_standalone(args.links, links, settings, stop).await?);
    }
    let client = connect(args.cluster.kubeconfig).await?;
    let pool = pool::Settings {
        prefix: args.resource_prefix,
        enabled: args.default_resources,
        ..pool::Settings::default()
    };
    let plugin = plugin::Settings {
        dir: args.device_plugin_dir,
        dev_root: args.folders.dev,
        state: Some(args.state_dir.join("given")),
        pool,
        ..plugin::Settings::default()
    };
    Ok(agent::run(client, settings, plugin, stop).await?)
}

/// The name a Node of this host would have.
fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_lowercase()
}
