//! Pure: the cluster as it is → the writes that bring it to what it should be. No change, no write.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::jiff::Timestamp;

use super::link_status;
use super::world::{Agent, World};
use crate::api::{
    FINALIZER, FORCE_RELEASE, MAX_SOFT_LINKS, NodeSelection, NodeSoftLink, SlimRdmaNode, SoftRdmaLink,
    SoftRdmaLinkStatus, condition,
};

/// One write to the API server.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Create the RdmaNode or bring its spec up to date.
    WriteNode {
        /// Node name.
        node: String,
        /// The Node's uid, for the owner reference.
        owner: String,
        /// The whole list.
        soft_links: Vec<NodeSoftLink>,
    },
    /// Set the RdmaNode's AgentAvailable.
    WriteAvailability {
        /// Node name.
        node: String,
        /// The condition.
        condition: Condition,
    },
    /// Hold a link before it reaches any node.
    AddFinalizer {
        /// Link name.
        link: String,
        /// The link.
        object: Arc<SoftRdmaLink>,
    },
    /// Let a deleted link go.
    RemoveFinalizer {
        /// Link name.
        link: String,
        /// The link.
        object: Arc<SoftRdmaLink>,
    },
    /// Say what has become of a link.
    WriteLinkStatus {
        /// Link name.
        link: String,
        /// The whole status.
        status: Box<SoftRdmaLinkStatus>,
    },
}

impl Action {
    /// What is written, for backoff and messages.
    #[must_use]
    pub fn subject(&self) -> String {
        match self {
            Self::WriteNode { node, .. } => format!("rdmanode {node} spec"),
            Self::WriteAvailability { node, .. } => format!("rdmanode {node} availability"),
            Self::AddFinalizer { link, .. } => format!("softrdmalink {link} finalizer"),
            Self::RemoveFinalizer { link, .. } => format!("softrdmalink {link} release"),
            Self::WriteLinkStatus { link, .. } => format!("softrdmalink {link} status"),
        }
    }
}

/// The writes that are due, in order: holds, node specs, statuses, releases.
#[must_use]
pub fn plan(world: &World, now: Timestamp) -> Vec<Action> {
    let mut actions = holds(world);
    let assigned = assignments(world);
    for (name, node) in &world.nodes {
        if !concerned(world, name) {
            continue;
        }
        let existing = world.rdma_nodes.get(name);
        let soft_links = assigned.get(name.as_str()).cloned().unwrap_or_default();
        if existing.is_none_or(|rdma| rdma.spec.soft_links.as_ref() != Some(&soft_links)) {
            let (node, owner) = (name.clone(), node.uid.clone());
            actions.push(Action::WriteNode { node, owner, soft_links });
        }
        if let Some(rdma) = existing {
            actions.extend(availability(name, rdma, world.agents.get(name).copied(), now));
        }
    }
    for link in &world.links {
        let status = link_status::status(world, link, now);
        if link.status.as_ref() != Some(&status) {
            actions.push(Action::WriteLinkStatus { link: name(link), status: Box::new(status) });
        }
        if held(link) && link.metadata.deletion_timestamp.is_some() && released(world, link) {
            actions.push(Action::RemoveFinalizer { link: name(link), object: Arc::clone(link) });
        }
    }
    actions
}

/// Nodes a link is for, by name: all that its selection chooses; with no selection, all that have an agent, or had
/// one. A node whose RdmaNode was deleted is one of them: the new one must not say that there are no links.
pub(super) fn chosen<'a>(
    world: &'a World,
    link: &'a SoftRdmaLink,
) -> Box<dyn Iterator<Item = &'a String> + 'a> {
    match &link.spec.nodes {
        None => Box::new(world.nodes.keys().filter(|name| concerned(world, name))),
        // A listed name without a Node is chosen too: that it is not there is a failure to be told.
        Some(NodeSelection { names: Some(names), .. }) => Box::new(names.iter()),
        Some(selection) => Box::new(
            world
                .nodes
                .iter()
                .filter(|(name, node)| selection.matches(name, &node.labels))
                .map(|(name, _)| name),
        ),
    }
}

/// True for a node that has an RdmaNode or is to get one.
fn concerned(world: &World, node: &str) -> bool {
    world.rdma_nodes.contains_key(node) || world.agents.contains_key(node)
}

/// Nodes that may still have something of a deleted link.
pub(super) fn holders<'a>(world: &'a World, link: &SoftRdmaLink) -> Vec<&'a str> {
    let uid = uid(link);
    let may_have = |node: &&Arc<SlimRdmaNode>| {
        world.nodes.contains_key(node.name())
            && (node.wants(&uid) || node.link(&uid).is_some() || (!node.settled() && was_ready(link)))
    };
    world.rdma_nodes.values().filter(may_have).map(|node| node.name()).collect()
}

/// A link that no node was ever told of leaves nothing behind on nodes that lag.
fn was_ready(link: &SoftRdmaLink) -> bool {
    link.status.as_ref().is_some_and(|status| status.desired_nodes > 0)
}

fn released(world: &World, link: &SoftRdmaLink) -> bool {
    let forced = link.metadata.annotations.as_ref().and_then(|all| all.get(FORCE_RELEASE));
    forced.is_some_and(|value| value == "true") || holders(world, link).is_empty()
}

fn holds(world: &World) -> Vec<Action> {
    let unheld = world.links.iter().filter(|link| !held(link) && link.metadata.deletion_timestamp.is_none());
    unheld.map(|link| Action::AddFinalizer { link: name(link), object: Arc::clone(link) }).collect()
}

/// For each node its links, oldest first. A link counts once its finalizer holds it: otherwise it could be
/// deleted with nobody to undo it. One that is being deleted stays on a node until its agent has acted on the
/// deletion policy as it is now: what it does on removal is what it was told last.
fn assignments(world: &World) -> BTreeMap<&str, Vec<NodeSoftLink>> {
    let mut assigned: BTreeMap<&str, Vec<NodeSoftLink>> = BTreeMap::new();
    for link in world.links.iter().filter(|link| held(link)) {
        let Some(entry) = entry(link) else { continue };
        let nodes: Vec<&String> = if link.metadata.deletion_timestamp.is_some() {
            let unaware = |(_, node): &(&String, &Arc<SlimRdmaNode>)| !knows_policy(node, &entry);
            world.rdma_nodes.iter().filter(unaware).map(|(name, _)| name).collect()
        } else {
            chosen(world, link).collect()
        };
        for node in nodes {
            assigned.entry(node).or_default().push(entry.clone());
        }
    }
    for links in assigned.values_mut() {
        links.sort_by(|a, b| (a.created_at.0, &a.uid).cmp(&(b.created_at.0, &b.uid)));
        // The API server would refuse a longer list, and with it every change of the others.
        links.truncate(MAX_SOFT_LINKS);
    }
    assigned
}

/// True when the node does not have the link, or its agent has acted on this deletion policy of it.
fn knows_policy(node: &SlimRdmaNode, entry: &NodeSoftLink) -> bool {
    let written = node.spec.soft_links.iter().flatten().find(|link| link.uid == entry.uid);
    written.is_none_or(|link| link.deletion_policy == entry.deletion_policy && node.settled())
}

fn entry(link: &SoftRdmaLink) -> Option<NodeSoftLink> {
    let spec = &link.spec;
    Some(NodeSoftLink {
        name: name(link),
        uid: link.metadata.uid.clone()?,
        generation: link.metadata.generation.unwrap_or(0),
        created_at: link.metadata.creation_timestamp.clone()?,
        link_type: spec.link_type,
        netdev: spec.netdev.clone(),
        device_name: spec.device_name.clone(),
        deletion_policy: spec.deletion_policy,
        adopt: spec.adopt,
        update_policy: spec.update_policy,
    })
}

fn availability(name: &str, rdma: &SlimRdmaNode, agent: Option<Agent>, now: Timestamp) -> Option<Action> {
    let (ok, reason, message) = Agent::availability(agent);
    let previous = rdma.status.as_ref().map_or(&[][..], |status| &status.conditions);
    let wanted = condition::new(condition::AGENT_AVAILABLE, ok, reason, message);
    let condition = condition::merge(previous, vec![wanted], None, now).pop()?;
    let current = condition::find(previous, condition::AGENT_AVAILABLE);
    (current != Some(&condition)).then(|| Action::WriteAvailability { node: name.to_owned(), condition })
}

fn held(link: &SoftRdmaLink) -> bool {
    link.metadata.finalizers.iter().flatten().any(|finalizer| finalizer == FINALIZER)
}

fn name(link: &SoftRdmaLink) -> String {
    link.metadata.name.clone().unwrap_or_default()
}

fn uid(link: &SoftRdmaLink) -> String {
    link.metadata.uid.clone().unwrap_or_default()
}
