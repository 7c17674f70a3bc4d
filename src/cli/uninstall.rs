//! `rdma-operator uninstall`: the chart's pre-delete hook. While agents and controller still run, every
//! SoftRdmaLink is deleted, so that the links go; what does not go in time is let go.

use std::time::Duration;

use anyhow::Context;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::runtime::events::{Event, EventType, Recorder};
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::Cluster;
use crate::api::{FINALIZER, SlimRdmaNode, SoftRdmaLink};
use crate::cluster::{connect, ignore_gone};
use crate::telemetry::chain;

/// Arguments.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    #[command(flatten)]
    cluster: Cluster,
    /// Seconds to wait for the nodes to remove their links
    #[arg(long, default_value_t = 60)]
    timeout: u64,
}

pub(super) async fn run(args: Args) -> anyhow::Result<()> {
    let client = connect(args.cluster.kubeconfig).await?;
    let links: Api<SoftRdmaLink> = Api::all(client.clone());
    let end = Instant::now() + Duration::from_secs(args.timeout);
    for link in list(&links).await? {
        // A policy of Retain is obeyed: the link stays on its nodes, the object goes.
        ignore_gone(links.delete(&link.name_any(), &DeleteParams::default()).await)
            .with_context(|| format!("cannot delete softrdmalink {}", link.name_any()))?;
        tracing::info!("softrdmalink {}: deleting", link.name_any());
    }
    loop {
        let left = list(&links).await?;
        if left.is_empty() {
            tracing::info!("no soft links are left");
            return Ok(());
        }
        if Instant::now() >= end {
            return let_go(client, &left).await;
        }
        sleep(Duration::from_secs(1)).await;
    }
}

/// No CRD, no links.
async fn list(links: &Api<SoftRdmaLink>) -> anyhow::Result<Vec<SoftRdmaLink>> {
    match links.list(&ListParams::default()).await {
        Ok(list) => Ok(list.items),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
        Err(error) => Err(error).context("cannot list softrdmalinks"),
    }
}

/// Drops our finalizer: the objects go, and nodes that did not answer keep what they have. Which ones is said here
/// and, because the hook's log goes with it, by an event of each Node.
async fn let_go(client: Client, left: &[SoftRdmaLink]) -> anyhow::Result<()> {
    let nodes: Api<SlimRdmaNode> = Api::all(client.clone());
    let nodes = nodes.list(&ListParams::default()).await.context("cannot list rdmanodes")?;
    let links: Api<SoftRdmaLink> = Api::all(client.clone());
    for link in left {
        let name = link.name_any();
        let others: Vec<&String> =
            link.finalizers().iter().filter(|finalizer| *finalizer != FINALIZER).collect();
        let patch = Patch::Merge(json!({"metadata": {"finalizers": others}}));
        ignore_gone(links.patch(&name, &PatchParams::default(), &patch).await)
            .with_context(|| format!("cannot let softrdmalink {name} go"))?;
        tracing::warn!("softrdmalink {name}: let go; what it made on nodes that did not answer stays");
    }
    let recorder = Recorder::new(client, "rdma-operator-uninstall".to_owned().into());
    for node in &nodes {
        let devices = leftovers(node, left);
        if devices.is_empty() {
            continue;
        }
        let note = note(&devices);
        tracing::warn!("node {}: {note}", node.name());
        let event = Event {
            type_: EventType::Warning,
            reason: "SoftLinksLeft".to_owned(),
            note: Some(note),
            action: "Uninstall".to_owned(),
            secondary: None,
        };
        if let Err(error) = recorder.publish(&event, &reference(node)).await {
            tracing::warn!("cannot write an event of node {}: {}", node.name(), chain(&error));
        }
    }
    Ok(())
}

/// Devices of `links` that `node` last said it has.
fn leftovers<'a>(node: &'a SlimRdmaNode, links: &[SoftRdmaLink]) -> Vec<&'a str> {
    let uids = links.iter().filter_map(|link| link.metadata.uid.as_deref());
    uids.filter_map(|uid| node.link(uid)?.device.as_deref()).collect()
}

fn note(devices: &[&str]) -> String {
    let commands: Vec<String> = devices.iter().map(|device| format!("rdma link delete {device}")).collect();
    format!(
        "rdma-operator was uninstalled and left {} here; to remove: {}",
        devices.join(", "),
        commands.join("; ")
    )
}

/// The Node that an RdmaNode is of.
fn reference(node: &SlimRdmaNode) -> ObjectReference {
    let owner = node.metadata.owner_references.iter().flatten().find(|owner| owner.kind == "Node");
    ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("Node".to_owned()),
        name: Some(node.name().to_owned()),
        uid: owner.map(|owner| owner.uid.clone()),
        ..ObjectReference::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_still_has_a_device_is_told_how_to_remove_it() {
        let link: SoftRdmaLink = serde_json::from_value(json!({
            "apiVersion": "rdma-operator.dev/v1alpha1", "kind": "SoftRdmaLink",
            "metadata": {"name": "lab", "uid": "u1"},
            "spec": {"type": "rxe", "netdev": {"name": "eth0"}},
        }))
        .unwrap();
        let node = |soft_links: serde_json::Value| -> SlimRdmaNode {
            serde_json::from_value(json!({
                "apiVersion": "rdma-operator.dev/v1alpha1", "kind": "RdmaNode", "metadata": {"name": "n"},
                "spec": {}, "status": {"softLinks": soft_links},
            }))
            .unwrap()
        };
        let entry = |uid: &str| {
            json!({"uid": uid, "name": "lab", "observedGeneration": 1, "state": "Ready", "reason": "Ready",
                   "message": "", "device": "rxe0"})
        };
        let has = node(json!([entry("u1"), entry("u2")]));
        let devices = leftovers(&has, std::slice::from_ref(&link));
        assert_eq!(devices, ["rxe0"], "u2 is no link of those");
        assert!(note(&devices).ends_with("to remove: rdma link delete rxe0"), "{}", note(&devices));
        assert!(leftovers(&node(json!([])), std::slice::from_ref(&link)).is_empty());
    }
}
