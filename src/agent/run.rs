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
use super::wanted;
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
    /// The device plugin.
    pub plugin: plugin::Settings,
    /// Where /metrics, /healthz and /readyz are served.
    pub listen: SocketAddr,
}

/// Runs until `stop`. No RDMA, no API server and no kubelet are states of the world, not errors.
///
/// # Errors
/// When the HTTP address cannot be bound.
pub async fn run(client: Client, settings: Settings, stop: CancellationToken) -> Result<(), http::Error> {
    let metrics = Arc::new(AgentMetrics::new());
    let readiness = Readiness::default();
    readiness.block("inventory", "the host has not been read yet");
    http::serve(settings.listen, metrics.clone(), readiness.clone(), stop.clone()).await?;

    let kernel = Arc::new(Kernel::new(settings.host));
    let host = inventory::watch(kernel.clone());
    let spec = settings.state.join("spec.json");
    let (wanted_sender, wanted) = watch::channel(wanted::kept(&spec));
    let (report_sender, report) = watch::channel(Report::default());
    let (plugin_sender, plugin) = watch::channel(PluginStatus::default());

    let tasks = TaskTracker::new();
    tokio::spawn(wanted::follow(
        client.clone(),
        settings.node.clone(),
        spec,
        wanted_sender,
        readiness.clone(),
    ));
    tokio::spawn(once_read(host.inventory.clone(), readiness.clone()));
    let ledger = settings.state.join("links.json");
    let keeper = Keeper::new(kernel.clone(), host.clone(), wanted.clone(), report_sender, ledger);
    tasks.spawn(keeper.run(stop.clone()));
    let resolver = Arc::new(KernelResolver::new(kernel, host.inventory.clone()));
    tasks.spawn(plugin::run(settings.plugin, host.inventory.clone(), resolver, plugin_sender, stop.clone()));
    let inputs =
        Inputs { inventory: host.inventory.clone(), plugin: plugin.clone(), links: report.clone(), wanted };
    tasks.spawn(publish(client, settings.node, inputs.clone(), metrics.clone(), readiness, stop.clone()));
    tasks.spawn(metrics.follow(inputs, stop));
    tasks.close();
    tasks.wait().await;
    Ok(())
}

/// The first complete enumeration makes the agent ready.
async fn once_read(mut inventory: watch::Receiver<Option<Arc<Inventory>>>, readiness: Readiness) {
    if inventory.wait_for(Option::is_some).await.is_ok() {
        readiness.clear("inventory");
    }
}
