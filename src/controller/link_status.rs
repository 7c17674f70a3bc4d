//! Pure: what a SoftRdmaLink's status says, from the statuses of its nodes.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::jiff::Timestamp;

use super::plan::{chosen, holders};
use super::world::{Agent, World};
use crate::api::condition::{self, reason};
use crate::api::{
    FORCE_RELEASE, LinkFailure, MAX_SOFT_LINKS, NodeSoftLinkStatus, SoftLinkState, SoftRdmaLink,
    SoftRdmaLinkStatus,
};

/// Failures listed by node; the rest are only counted.
const MAX_FAILURES: usize = 32;

/// One chosen node's answer.
enum Answer<'a> {
    Ready(&'a NodeSoftLinkStatus),
    /// With what the node says of it, where it has said something.
    Pending(Option<(String, &'a NodeSoftLinkStatus)>),
    Failed(LinkFailure),
}

/// The status of a link, with transition times kept from the one it has.
#[must_use]
pub fn status(world: &World, link: &SoftRdmaLink, now: Timestamp) -> SoftRdmaLinkStatus {
    let previous = link.status.as_ref();
    let deleting = link.metadata.deletion_timestamp.is_some();
    let answers: Vec<(&String, Answer<'_>)> =
        chosen(world, link).map(|node| (node, answer(world, node, link))).collect();
    let ready: Vec<&NodeSoftLinkStatus> = answers
        .iter()
        .filter_map(|(_, answer)| if let Answer::Ready(entry) = answer { Some(*entry) } else { None })
        .collect();
    let pending: Vec<&Option<(String, &NodeSoftLinkStatus)>> = answers
        .iter()
        .filter_map(|(_, answer)| if let Answer::Pending(said) = answer { Some(said) } else { None })
        .collect();
    let waits = pending.iter().find_map(|said| said.as_ref());
    let failures: Vec<LinkFailure> = answers
        .iter()
        .filter_map(
            |(_, answer)| if let Answer::Failed(failure) = answer { Some(failure.clone()) } else { None },
        )
        .collect();

    let ready_condition = if deleting {
        deleting_condition(world, link)
    } else {
        ready_condition(answers.len(), ready.len(), (pending.len(), waits), &failures)
    };
    let progressing = deleting || !pending.is_empty();
    let progress_reason = match (deleting, progressing) {
        (true, _) => reason::DELETING,
        (false, true) => reason::NODES_PENDING,
        (false, false) => reason::AS_EXPECTED,
    };
    let conditions = vec![
        ready_condition,
        condition::new(
            condition::PROGRESSING,
            progressing,
            progress_reason,
            format!("{} pending", nodes(pending.len())),
        ),
        isolation_condition(&ready),
    ];
    let count = |number: usize| i32::try_from(number).unwrap_or(i32::MAX);
    let generation = link.metadata.generation;
    SoftRdmaLinkStatus {
        observed_generation: generation,
        netdev: Some(link.spec.netdev.describe()),
        desired_nodes: count(answers.len()),
        ready_nodes: count(ready.len()),
        failed_nodes: count(failures.len()),
        conditions: condition::merge(
            previous.map_or(&[][..], |status| &status.conditions),
            conditions,
            generation,
            now,
        ),
        failures: failures.into_iter().take(MAX_FAILURES).collect(),
    }
}

fn answer<'a>(world: &'a World, node: &str, link: &SoftRdmaLink) -> Answer<'a> {
    let failed = |reason: &str, message: &str| {
        Answer::Failed(LinkFailure { node: node.into(), reason: reason.into(), message: message.into() })
    };
    if !world.nodes.contains_key(node) {
        return failed(reason::NODE_NOT_FOUND, "there is no Node of this name: see spec.nodes.names");
    }
    let agent = world.agents.get(node).copied();
    if agent != Some(Agent::Ready) {
        let (_, reason, message) = Agent::availability(agent);
        return failed(reason, message);
    }
    let uid = link.metadata.uid.as_deref().unwrap_or_default();
    let Some(rdma) = world.rdma_nodes.get(node) else { return Answer::Pending(None) };
    let listed = rdma.spec.soft_links.as_ref().map_or(0, Vec::len);
    if listed >= MAX_SOFT_LINKS && !rdma.wants(uid) {
        let message = format!("a node takes {MAX_SOFT_LINKS} soft links, and older ones have them");
        return failed(reason::TOO_MANY_LINKS, &message);
    }
    let Some(entry) = rdma.link(uid) else { return Answer::Pending(None) };
    if Some(entry.observed_generation) != link.metadata.generation {
        return Answer::Pending(None);
    }
    match entry.state {
        SoftLinkState::Ready => Answer::Ready(entry),
        SoftLinkState::Failed => failed(&entry.reason, &entry.message),
        SoftLinkState::Pending | SoftLinkState::Removing => Answer::Pending(Some((node.to_owned(), entry))),
    }
}

fn ready_condition(
    desired: usize,
    ready: usize,
    (pending, waits): (usize, Option<&(String, &NodeSoftLinkStatus)>),
    failures: &[LinkFailure],
) -> Condition {
    let (ok, reason, message) = if desired == 0 {
        (false, reason::NO_NODES, "no node is chosen: see spec.nodes, and whether agents run".to_owned())
    } else if let Some(first) = failures.first() {
        let same = failures.iter().all(|failure| failure.reason == first.reason);
        let reason = if same { first.reason.as_str() } else { reason::NODES_FAILED };
        (
            false,
            reason,
            format!("{} of {}: {}: {}", failures.len(), nodes(desired), first.node, first.message),
        )
    } else if pending > 0 {
        let ready = ready_of(ready, desired);
        match waits {
            // What waits for its users waits long: that is said.
            Some((node, entry)) if entry.reason == reason::IN_USE => {
                (false, reason::IN_USE, format!("{ready}: {node}: {}", entry.message))
            }
            Some((node, entry)) => {
                (false, reason::NODES_PENDING, format!("{ready}: {node}: {}", entry.message))
            }
            None => (false, reason::NODES_PENDING, ready),
        }
    } else {
        (true, reason::ALL_NODES_READY, ready_of(ready, desired))
    };
    condition::new(condition::READY, ok, reason, message)
}

fn deleting_condition(world: &World, link: &SoftRdmaLink) -> Condition {
    let waiting = holders(world, link);
    let uid = link.metadata.uid.as_deref().unwrap_or_default();
    let why = waiting.iter().find_map(|node| {
        let entry = world.rdma_nodes.get(*node)?.link(uid)?;
        (entry.state != SoftLinkState::Ready).then(|| format!("{node}: {}: {}", entry.reason, entry.message))
    });
    let names = waiting.iter().take(5).copied().collect::<Vec<_>>().join(", ");
    let message = match (waiting.is_empty(), why) {
        (true, _) => "gone from every node".to_owned(),
        (false, Some(why)) => format!("still on {}: {why}", nodes(waiting.len())),
        (false, None) => format!(
            "waiting for {} ({names}) to say that it is gone; where one never will: annotate with {FORCE_RELEASE}=true",
            nodes(waiting.len())
        ),
    };
    condition::new(condition::READY, false, reason::DELETING, message)
}

/// Whether pods can have the link's devices in a namespace of their own: true only if so on every ready node.
fn isolation_condition(ready: &[&NodeSoftLinkStatus]) -> Condition {
    let kind = condition::NAMESPACE_ISOLATED;
    if ready.is_empty() {
        return condition::with_status(kind, "Unknown", reason::NO_NODES, "no node has the link yet");
    }
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in ready.iter().filter(|entry| entry.isolated != Some(true)) {
        *reasons.entry(entry.isolation_reason.as_deref().unwrap_or(reason::DRIVER_UNKNOWN)).or_default() += 1;
    }
    let mut parts = reasons.iter().map(|(reason, number)| format!("{}: {}", nodes(*number), explain(reason)));
    match (reasons.len(), reasons.keys().next()) {
        (0, _) | (_, None) => condition::new(
            kind,
            true,
            reason::MOVABLE,
            "rdma-cni can move the device into a pod on every node",
        ),
        (1, Some(reason)) => condition::new(kind, false, reason, parts.next().unwrap_or_default()),
        _ => condition::new(kind, false, reason::MIXED, parts.collect::<Vec<_>>().join("; ")),
    }
}

/// `1 of 1 node is ready`, `1 of 2 nodes are ready`
fn ready_of(ready: usize, desired: usize) -> String {
    format!("{ready} of {} {} ready", nodes(desired), if desired == 1 { "is" } else { "are" })
}

/// `1 node`, `2 nodes`
fn nodes(number: usize) -> String {
    format!("{number} node{}", if number == 1 { "" } else { "s" })
}

fn explain(word: &str) -> &'static str {
    match word {
        reason::SHARED_MODE => {
            "the nodes are in shared mode: every pod sees every RDMA device, and opens only those it was given"
        }
        reason::KERNEL_TOO_OLD => {
            "this kernel's driver cannot change a device's namespace, a later kernel's can"
        }
        reason::DRIVER_CANNOT_MOVE => "the driver cannot change a device's namespace on any kernel",
        reason::NETNS_UNKNOWN => "the kernel does not tell its namespace mode",
        _ => "it is not known whether the driver can change a device's namespace",
    }
}
