//! Every metric family of agent and controller. Labels take fixed values only.

mod agent;
mod controller;

pub use agent::AgentMetrics;
pub use controller::ControllerMetrics;

use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

fn gauge(registry: &mut Registry, name: &str, help: &str) -> Gauge {
    let gauge = Gauge::default();
    registry.register(name, help, gauge.clone());
    gauge
}

fn set(gauge: &Gauge, number: usize) {
    gauge.set(i64::try_from(number).unwrap_or(i64::MAX));
}

fn render(registry: &Registry) -> String {
    let mut page = String::new();
    // Writing to a String cannot fail.
    let _ = prometheus_client::encoding::text::encode(&mut page, registry);
    page
}
