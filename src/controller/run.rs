//! The controller's loop: become leader, follow the cluster, plan and write until leadership ends.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::jiff::Timestamp;
use kube::core::PartialObjectMeta;
use kube::runtime::reflector::Store;
use kube::runtime::watcher;
use kube::{Api, Client};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::execute::Executor;
use super::lease::Elector;
use super::plan::plan;
use super::world::World;
use crate::api::{SlimRdmaNode, SoftRdmaLink};
use crate::cluster::follow;
use crate::http::{self, Readiness};
use crate::metrics::ControllerMetrics;
use crate::telemetry::OnChange;

/// Name of the Lease.
const LEASE: &str = "rdma-operator-controller";
/// Changes that come together are planned together.
const DEBOUNCE: Duration = Duration::from_millis(100);
/// Without any change, look again: a watch may have missed something.
const RESYNC: Duration = Duration::from_secs(300);
/// RdmaNodes can be large: small pages keep the decoder's memory small.
const PAGE: u32 = 50;

/// What the controller is told.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Namespace of the Lease and of the agent pods.
    pub namespace: String,
    /// Name of this candidate: the pod's.
    pub identity: String,
    /// Label selector of agent pods.
    pub agent_selector: String,
    /// Where /metrics, /healthz and /readyz are served.
    pub listen: SocketAddr,
}

/// The four stores the plan reads.
struct Stores {
    nodes: Store<PartialObjectMeta<Node>>,
    rdma_nodes: Store<SlimRdmaNode>,
    links: Store<SoftRdmaLink>,
    pods: Store<Pod>,
}

/// Runs until `shutdown` or until leadership is lost; then the process should end, and a new one stand again.
///
/// # Errors
/// When the HTTP address cannot be bound.
pub async fn run(client: Client, settings: Settings, shutdown: CancellationToken) -> Result<(), http::Error> {
    let metrics = Arc::new(ControllerMetrics::new());
    // A candidate that waits for the lease is ready: it stands by.
    let readiness = Readiness::default();
    http::serve(settings.listen, metrics.clone(), readiness, shutdown.clone()).await?;

    let elector = Elector::new(client.clone(), &settings.namespace, LEASE, &settings.identity);
    tracing::info!("waiting for the lease {}/{LEASE} as {}", settings.namespace, settings.identity);
    tokio::select! {
        () = elector.acquire() => {}
        () = shutdown.cancelled() => return Ok(()),
    }
    tracing::info!("leading");
    metrics.leading.set(1);
    tokio::select! {
        () = lead(client, &settings, &metrics) => {}
        () = elector.hold() => tracing::error!("lost the lease {}/{LEASE}: ending", settings.namespace),
        () = shutdown.cancelled() => elector.release().await,
    }
    Ok(())
}

async fn lead(client: Client, settings: &Settings, metrics: &ControllerMetrics) {
    let changed = Arc::new(Notify::new());
    let stores = Stores::follow(&client, settings, &changed);
    stores.synced().await;
    tracing::info!("caches are complete");
    let mut executor = Executor::new(client);
    loop {
        let world = stores.world();
        let actions = plan(&world, Timestamp::now());
        metrics.planned(&world, actions.len());
        let again = executor.execute(actions).await.unwrap_or(RESYNC);
        tokio::select! {
            () = changed.notified() => tokio::time::sleep(DEBOUNCE).await,
            () = tokio::time::sleep(again.max(DEBOUNCE)) => {}
        }
    }
}

impl Stores {
    fn follow(client: &Client, settings: &Settings, changed: &Arc<Notify>) -> Self {
        let log = Arc::new(OnChange::default());
        let paged = watcher::Config::default().page_size(PAGE);
        let agents = watcher::Config::default().labels(&settings.agent_selector);
        let pods: Api<Pod> = Api::namespaced(client.clone(), &settings.namespace);
        Self {
            nodes: follow("nodes", Api::all(client.clone()), paged.clone(), changed.clone(), log.clone()),
            rdma_nodes: follow(
                "rdmanodes",
                Api::all(client.clone()),
                paged.clone(),
                changed.clone(),
                log.clone(),
            ),
            links: follow("softrdmalinks", Api::all(client.clone()), paged, changed.clone(), log.clone()),
            pods: follow("agent pods", pods, agents, changed.clone(), log),
        }
    }

    /// Planning on a half-filled cache would take what is not there yet for gone.
    async fn synced(&self) {
        // The writers live in tasks that never end.
        let _ = tokio::join!(
            self.nodes.wait_until_ready(),
            self.rdma_nodes.wait_until_ready(),
            self.links.wait_until_ready(),
            self.pods.wait_until_ready(),
        );
    }

    fn world(&self) -> World {
        World::new(&self.nodes.state(), self.rdma_nodes.state(), self.links.state(), &self.pods.state())
    }
}
