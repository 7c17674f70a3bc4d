//! Puts the node side together.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use kube::Client;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::links::{Keeper, Report};
use super::publish::{Inputs, publish};
use super::resolver::KernelResolver;
use super::standalone::{self, as_wanted};
use super::wanted::{self, Wanted};
use crate::api::NodeSoftLink;
use crate::http::{self, Readiness};
use crate::inventory::{self, Host, Inventory, Kernel};
use crate::metrics::AgentMetrics;
use crate::plugin::{self, PluginStatus};

/// What the agent is told.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Name of this Node.
    pub node: String,
    /// The host to look after.
    pub host: Arc<dyn Host>,
    /// Where what we made and what was wanted last are kept over restarts.
    pub state: PathBuf,
    /// Where /metrics, /healthz and /readyz are served.
    pub listen: SocketAddr,
}

/// Runs in a cluster until `stop`. No RDMA, no API server and no kubelet are states of the world, not errors.
///
/// # Errors
/// When the HTTP address cannot be bound.
pub async fn run(
    client: Client,
    settings: Settings,
    plugin_settings: plugin::Settings,
    stop: CancellationToken,
) -> Result<(), http::Error> {
    let spec = settings.state.join("spec.json");
    let (wanted_sender, wanted) = watch::channel(wanted::kept(&spec));
    let (plugin_sender, plugin) = watch::channel(PluginStatus::default());
    let node = settings.node.clone();
    let side = NodeSide::start(settings, wanted, plugin, &stop).await?;
    tokio::spawn(wanted::follow(client.clone(), node.clone(), spec, wanted_sender, side.readiness.clone()));
    let inventory = side.inputs.inventory.clone();
    let resolver = Arc::new(KernelResolver::new(side.kernel.clone(), inventory.clone()));
    side.tasks.spawn(plugin::run(plugin_settings, inventory, resolver, plugin_sender, stop.clone()));
    let (metrics, readiness) = (side.metrics.clone(), side.readiness.clone());
    side.tasks.spawn(publish(client, node, side.inputs.clone(), metrics, readiness, stop));
    side.end().await;
    Ok(())
}

/// Runs without Kubernetes until `stop`: inventory, metrics, and the soft links of `files`, of which `links` is
/// what [`standalone::read`] gave.
///
/// # Errors
/// When the HTTP address cannot be bound.
pub async fn run_standalone(
    files: Vec<PathBuf>,
    links: Vec<NodeSoftLink>,
    settings: Settings,
    stop: CancellationToken,
) -> Result<(), http::Error> {
    let (wanted_sender, wanted) = watch::channel(as_wanted(links, None));
    let (_plugin, plugin) = watch::channel(PluginStatus::default());
    let node = settings.node.clone();
    let side = NodeSide::start(settings, wanted, plugin, &stop).await?;
    side.tasks.spawn(standalone::follow(files, node, wanted_sender, stop));
    side.end().await;
    Ok(())
}

/// What runs with a cluster and without.
struct NodeSide {
    kernel: Arc<Kernel>,
    inputs: Inputs,
    metrics: Arc<AgentMetrics>,
    readiness: Readiness,
    tasks: TaskTracker,
}

impl NodeSide {
    async fn start(
        settings: Settings,
        wanted: watch::Receiver<Wanted>,
        plugin: watch::Receiver<PluginStatus>,
        stop: &CancellationToken,
    ) -> Result<Self, http::Error> {
        let metrics = Arc::new(AgentMetrics::new());
        let readiness = Readiness::default();
        readiness.block("inventory", "the host has not been read yet");
        http::serve(settings.listen, metrics.clone(), readiness.clone(), stop.clone()).await?;
        let kernel = Arc::new(Kernel::new(settings.host));
        let host = inventory::watch(kernel.clone());
        let (report_sender, links) = watch::channel(Report::default());
        let tasks = TaskTracker::new();
        let ledger = settings.state.join("links.json");
        let keeper = Keeper::new(kernel.clone(), host.clone(), wanted.clone(), report_sender, ledger);
        tasks.spawn(keeper.run(stop.clone()));
        tokio::spawn(once_read(host.inventory.clone(), readiness.clone()));
        let inputs = Inputs { inventory: host.inventory.clone(), plugin, links, wanted };
        tasks.spawn(metrics.clone().follow(inputs.clone(), stop.clone()));
        Ok(Self { kernel, inputs, metrics, readiness, tasks })
    }

    /// Returns when all has ended.
    async fn end(self) {
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// The first complete enumeration makes the agent ready.
async fn once_read(mut inventory: watch::Receiver<Option<Arc<Inventory>>>, readiness: Readiness) {
    if inventory.wait_for(Option::is_some).await.is_ok() {
        readiness.clear("inventory");
    }
}
