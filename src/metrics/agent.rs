//! The agent's families.

use std::fmt;
use std::sync::Arc;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use tokio_util::sync::CancellationToken;

use super::{gauge, render, set};
use crate::agent::Inputs;
use crate::api::SoftLinkState;
use crate::http::Exposition;

/// What the agent counts.
pub struct AgentMetrics {
    registry: Registry,
    devices: Gauge,
    active_ports: Gauge,
    problems: Gauge,
    resources: Gauge,
    registered: Gauge,
    links_wanted: Gauge,
    links_ready: Gauge,
    /// Status writes that succeeded.
    pub writes: Counter,
    /// Status writes that failed.
    pub write_failures: Counter,
}

impl fmt::Debug for AgentMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentMetrics").finish_non_exhaustive()
    }
}

impl Default for AgentMetrics {
    fn default() -> Self {
        Self::new()
    }
}

impl AgentMetrics {
    /// All families at zero.
    #[must_use]
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("rdma_operator_agent");
        let (writes, write_failures) = (Counter::default(), Counter::default());
        registry.register("status_writes", "Writes of the RdmaNode status", writes.clone());
        registry.register(
            "status_write_failures",
            "Failed writes of the RdmaNode status",
            write_failures.clone(),
        );
        Self {
            devices: gauge(&mut registry, "devices", "RDMA devices of this node"),
            active_ports: gauge(&mut registry, "active_ports", "Ports in state ACTIVE"),
            problems: gauge(
                &mut registry,
                "read_problems",
                "Files and requests that failed in the last enumeration",
            ),
            resources: gauge(&mut registry, "resources", "Resources offered to the kubelet"),
            registered: gauge(&mut registry, "resources_registered", "Resources that the kubelet has taken"),
            links_wanted: gauge(&mut registry, "soft_links_wanted", "Soft links wanted of this node"),
            links_ready: gauge(&mut registry, "soft_links_ready", "Soft links in place with an active port"),
            writes,
            write_failures,
            registry,
        }
    }

    /// Keeps the gauges up to date until `stop`.
    pub async fn follow(self: Arc<Self>, mut inputs: Inputs, stop: CancellationToken) {
        loop {
            self.update(&inputs);
            tokio::select! {
                () = stop.cancelled() => return,
                () = inputs.changed() => {}
            }
        }
    }

    fn update(&self, inputs: &Inputs) {
        if let Some(inventory) = inputs.inventory.borrow().as_ref() {
            let ports = inventory.devices.iter().flat_map(|device| &device.ports);
            set(&self.devices, inventory.devices.len());
            set(&self.active_ports, ports.filter(|port| port.is_active()).count());
            set(&self.problems, inventory.problems.len());
        }
        let plugin = inputs.plugin.borrow();
        set(&self.resources, plugin.resources.len());
        set(&self.registered, plugin.resources.iter().filter(|resource| resource.registered).count());
        let links = inputs.links.borrow();
        set(&self.links_wanted, links.wanted);
        set(&self.links_ready, links.links.iter().filter(|link| link.state == SoftLinkState::Ready).count());
    }
}

impl Exposition for AgentMetrics {
    fn render(&self) -> String {
        render(&self.registry)
    }
}
