//! The controller's families.

use std::fmt;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::{gauge, render, set};
use crate::controller::world::World;
use crate::http::Exposition;

/// What the controller counts.
pub struct ControllerMetrics {
    registry: Registry,
    /// 1 while this candidate leads.
    pub leading: Gauge,
    rdma_nodes: Gauge,
    links: Gauge,
    writes: Counter,
}

impl fmt::Debug for ControllerMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ControllerMetrics").finish_non_exhaustive()
    }
}

impl Default for ControllerMetrics {
    fn default() -> Self {
        Self::new()
    }
}

impl ControllerMetrics {
    /// All families at zero.
    #[must_use]
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("rdma_operator_controller");
        let leading = gauge(&mut registry, "leading", "1 while this candidate holds the lease");
        let rdma_nodes = gauge(&mut registry, "rdmanodes", "RdmaNode objects");
        let links = gauge(&mut registry, "softrdmalinks", "SoftRdmaLink objects");
        let writes = Counter::default();
        registry.register("planned_writes", "Writes to the API server that plans asked for", writes.clone());
        Self { registry, leading, rdma_nodes, links, writes }
    }

    /// Counts one plan.
    pub fn planned(&self, world: &World, actions: usize) {
        set(&self.rdma_nodes, world.rdma_nodes.len());
        set(&self.links, world.links.len());
        self.writes.inc_by(actions as u64);
    }
}

impl Exposition for ControllerMetrics {
    fn render(&self) -> String {
        render(&self.registry)
    }
}
