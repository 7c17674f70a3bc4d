//! What the controller knows of the cluster at one moment.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::core::PartialObjectMeta;

use crate::api::{SlimRdmaNode, SoftRdmaLink, condition::reason};

/// A Node by its metadata alone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeView {
    /// uid, for the owner reference.
    pub uid: String,
    /// Labels, for selectors.
    pub labels: BTreeMap<String, String>,
}

/// The agent pod of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agent {
    /// Its pod is ready.
    Ready,
    /// Its pod is there but not ready.
    NotReady,
}

impl Agent {
    /// Status word, reason and message of the condition AgentAvailable.
    #[must_use]
    pub fn availability(agent: Option<Self>) -> (bool, &'static str, &'static str) {
        match agent {
            Some(Self::Ready) => (true, reason::AGENT_READY, "the agent pod is ready"),
            Some(Self::NotReady) => (
                false,
                reason::AGENT_NOT_READY,
                "the agent pod is not ready: describe it, by its label app.kubernetes.io/component=agent",
            ),
            None => (
                false,
                reason::AGENT_MISSING,
                "no agent pod runs on this node: what is shown here is what the last one saw",
            ),
        }
    }
}

/// The cluster at one moment.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// Nodes by name.
    pub nodes: BTreeMap<String, NodeView>,
    /// RdmaNodes by name.
    pub rdma_nodes: BTreeMap<String, Arc<SlimRdmaNode>>,
    /// Soft links in no order.
    pub links: Vec<Arc<SoftRdmaLink>>,
    /// Agent pods by node name.
    pub agents: BTreeMap<String, Agent>,
}

impl World {
    /// Puts the four stores together.
    #[must_use]
    pub fn new(
        nodes: &[Arc<PartialObjectMeta<Node>>],
        rdma_nodes: Vec<Arc<SlimRdmaNode>>,
        links: Vec<Arc<SoftRdmaLink>>,
        pods: &[Arc<Pod>],
    ) -> Self {
        let nodes = nodes.iter().filter_map(|node| {
            let metadata = &node.metadata;
            let view =
                NodeView { uid: metadata.uid.clone()?, labels: metadata.labels.clone().unwrap_or_default() };
            Some((metadata.name.clone()?, view))
        });
        let mut agents = BTreeMap::new();
        for (node, agent) in pods.iter().filter_map(|pod| agent(pod)) {
            // During a rolling update a node has two agent pods: the ready one counts.
            let known = agents.entry(node).or_insert(agent);
            if agent == Agent::Ready {
                *known = agent;
            }
        }
        Self {
            nodes: nodes.collect(),
            rdma_nodes: rdma_nodes.into_iter().map(|node| (node.name().to_owned(), node)).collect(),
            links,
            agents,
        }
    }
}

fn agent(pod: &Pod) -> Option<(String, Agent)> {
    let node = pod.spec.as_ref()?.node_name.clone()?;
    let status = pod.status.as_ref();
    let ended = matches!(status.and_then(|s| s.phase.as_deref()), Some("Succeeded" | "Failed"));
    if ended {
        return None;
    }
    let ready = pod.metadata.deletion_timestamp.is_none()
        && status
            .and_then(|s| s.conditions.as_ref())
            .is_some_and(|all| all.iter().any(|c| c.type_ == "Ready" && c.status == "True"));
    Some((node, if ready { Agent::Ready } else { Agent::NotReady }))
}
