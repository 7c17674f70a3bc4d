//! `rdma-operator uninstall`: the chart's pre-delete hook. While agents and controller still run, every
//! SoftRdmaLink is deleted, so that the links go; what does not go in time is let go.

use std::time::Duration;

use anyhow::Context;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::Cluster;
use crate::api::{FINALIZER, SoftRdmaLink};
use crate::cluster::connect;

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
        ignore_gone(links.delete(&link.name_any(), &DeleteParams::default()).await.map(drop))
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

/// Drops our finalizer: the objects go, and nodes that did not answer keep what they have.
async fn let_go(client: Client, left: &[SoftRdmaLink]) -> anyhow::Result<()> {
    let links: Api<SoftRdmaLink> = Api::all(client);
    for link in left {
        let name = link.name_any();
        let others: Vec<&String> =
            link.finalizers().iter().filter(|finalizer| *finalizer != FINALIZER).collect();
        let patch = Patch::Merge(json!({"metadata": {"finalizers": others}}));
        ignore_gone(links.patch(&name, &PatchParams::default(), &patch).await.map(drop))
            .with_context(|| format!("cannot let softrdmalink {name} go"))?;
        let failing = link.status.as_ref().map_or(0, |status| status.desired_nodes);
        tracing::warn!(
            "softrdmalink {name}: let go; some of its {failing} nodes may keep a device: rdma link delete"
        );
    }
    Ok(())
}

fn ignore_gone(result: kube::Result<()>) -> kube::Result<()> {
    match result {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        other => other,
    }
}
