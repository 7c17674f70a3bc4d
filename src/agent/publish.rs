//! Brings the status to the API server: when it changed, and not more often than every five seconds, except for
//! health and soft links, for which people and pods wait.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::jiff::Timestamp;
use kube::{Api, Client};
use serde_json::json;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::links::Report;
use super::status::{Parts, status};
use super::wanted::Wanted;
use crate::api::{AGENT_MANAGER, API_VERSION, NodeDevice, RdmaNodeStatus, SlimRdmaNode, condition};
use crate::cluster::{apply_status, is_refusal};
use crate::http::Readiness;
use crate::inventory::Inventory;
use crate::metrics::AgentMetrics;
use crate::plugin::PluginStatus;
use crate::telemetry::{OnChange, chain};

/// Least time between two writes that nobody waits for.
const INTERVAL: Duration = Duration::from_secs(5);
/// Wait after the first failed write; doubled by each further one up to [`MAX_RETRY`].
const RETRY: Duration = Duration::from_secs(1);
/// Longest wait after failed writes.
const MAX_RETRY: Duration = Duration::from_secs(60);

/// What the status is made of.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// The host.
    pub inventory: watch::Receiver<Option<Arc<Inventory>>>,
    /// The device plugin.
    pub plugin: watch::Receiver<PluginStatus>,
    /// The soft links.
    pub links: watch::Receiver<Report>,
    /// The object as the API server shows it.
    pub wanted: watch::Receiver<Wanted>,
}

impl Inputs {
    fn status(&self, now: Timestamp) -> Option<RdmaNodeStatus> {
        let inventory = self.inventory.borrow().clone()?;
        let wanted = self.wanted.borrow();
        // Without the object there is nowhere to write; the follower says when it comes.
        wanted.exists.then(|| {
            let (plugin, links) = (self.plugin.borrow(), self.links.borrow());
            let parts =
                Parts { inventory: &inventory, plugin: &plugin, links: &links, previous: &wanted.conditions };
            status(parts, now)
        })
    }

    /// Any of them has changed. None of the senders ends before the process does.
    pub async fn changed(&mut self) {
        let closed = tokio::select! {
            changed = self.inventory.changed() => changed.is_err(),
            changed = self.plugin.changed() => changed.is_err(),
            changed = self.links.changed() => changed.is_err(),
            changed = self.wanted.changed() => changed.is_err(),
        };
        if closed {
            std::future::pending().await
        }
    }
}

/// Publishes until `stop`.
pub(super) async fn publish(
    client: Client,
    node: String,
    mut inputs: Inputs,
    metrics: Arc<AgentMetrics>,
    readiness: Readiness,
    stop: CancellationToken,
) {
    let api: Api<SlimRdmaNode> = Api::all(client);
    let log = OnChange::default();
    let subject = format!("writing the status of rdmanode {node}");
    let mut written: Option<RdmaNodeStatus> = None;
    let mut not_before = Instant::now();
    let mut failures: u32 = 0;
    loop {
        let next = inputs.status(Timestamp::now());
        let undone = written.as_ref().is_some_and(|last| {
            // The object lags behind our own writes for a moment.
            Instant::now() >= not_before && !shows(&inputs.wanted.borrow().conditions, last)
        });
        if next.is_none() || undone {
            // A new object of the same name has none of what was written; nor has one that somebody else edited.
            written = None;
        }
        if next.is_none() {
            // Failures were the old object's.
            failures = 0;
            not_before = Instant::now();
        }
        let due = next.filter(|next| written.as_ref().is_none_or(|last| differs(last, next)));
        let Some(due) = due else {
            tokio::select! {
                () = stop.cancelled() => return,
                () = inputs.changed() => continue,
            }
        };
        let urgent = failures == 0 && written.as_ref().is_none_or(|last| awaited(last) != awaited(&due));
        if !urgent && Instant::now() < not_before {
            tokio::select! {
                () = stop.cancelled() => return,
                () = sleep_until(not_before) => {}
                () = inputs.changed(), if failures == 0 => {}
            }
            continue;
        }
        let body = json!({"apiVersion": API_VERSION, "kind": "RdmaNode", "status": due});
        match apply_status(&api, &node, AGENT_MANAGER, &body).await {
            Ok(_) => {
                log.clear(&subject);
                readiness.clear("status");
                metrics.writes.inc();
                failures = 0;
                not_before = Instant::now() + INTERVAL;
                written = Some(due);
            }
            Err(error) => {
                log.warn(&subject, &format!("{}; retrying", chain(&error)));
                if is_refusal(&error) {
                    readiness.block("status", format!("{subject}: {}", chain(&error)));
                }
                metrics.write_failures.inc();
                not_before = Instant::now() + (RETRY * (1 << failures.min(6))).min(MAX_RETRY);
                failures = failures.saturating_add(1);
            }
        }
    }
}

/// True when the object has the conditions that were written.
fn shows(object: &[Condition], written: &RdmaNodeStatus) -> bool {
    let word = |c: &Condition| (c.status.clone(), c.reason.clone(), c.message.clone());
    let same = |ours: &Condition| condition::find(object, &ours.type_).is_some_and(|c| word(c) == word(ours));
    written.conditions.iter().all(same)
}

/// Transition times alone are no news: they are taken from the object, which lags behind what was written.
fn differs(last: &RdmaNodeStatus, next: &RdmaNodeStatus) -> bool {
    let timeless = |status: &RdmaNodeStatus| {
        let mut status = status.clone();
        for condition in &mut status.conditions {
            condition.last_transition_time.0 = Timestamp::UNIX_EPOCH;
        }
        status
    };
    timeless(last) != timeless(next)
}

/// What somebody waits for: soft links, the generation they are of, each device's health, each condition.
fn awaited(status: &RdmaNodeStatus) -> impl PartialEq + use<'_> {
    let health =
        |device: &'_ NodeDevice| (device.name.clone(), device.health.clone(), device.resource_name.clone());
    let devices: Vec<_> = status.devices.iter().flatten().map(health).collect();
    let conditions: Vec<_> = status.conditions.iter().map(|c| (&c.type_, &c.status, &c.reason)).collect();
    (&status.soft_links, status.observed_generation, devices, conditions)
}

#[cfg(test)]
#[path = "publish_tests.rs"]
mod tests;
