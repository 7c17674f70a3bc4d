//! Condition types, their reasons, and the rule of `lastTransitionTime`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::Timestamp;

/// The object does what it is for.
pub const READY: &str = "Ready";
/// A SoftRdmaLink is still being brought to its nodes.
pub const PROGRESSING: &str = "Progressing";
/// Whether pods can be given a soft device of their own network namespace.
pub const NAMESPACE_ISOLATED: &str = "NamespaceIsolated";
/// RdmaNode: the network namespace mode of the node's RDMA subsystem, explained.
pub const NAMESPACE_MODE: &str = "NamespaceMode";
/// RdmaNode: the kubelet knows our resources.
pub const PLUGIN_REGISTERED: &str = "PluginRegistered";
/// RdmaNode, the controller's: a ready agent pod runs on the node.
pub const AGENT_AVAILABLE: &str = "AgentAvailable";
/// RdmaNode: librdmacm works on this node.
pub const RDMA_CM_AVAILABLE: &str = "RdmaCmAvailable";
/// RdmaNode: every read of the last enumeration succeeded.
pub const INVENTORY_COMPLETE: &str = "InventoryComplete";
/// RdmaNode: what is made on the node can be put on record, so that it can be undone.
pub const SOFT_LINKS_RECORDED: &str = "SoftLinksRecorded";

/// Reasons, CamelCase, one meaning each.
pub mod reason {
    /// Nothing is wrong.
    pub const AS_EXPECTED: &str = "AsExpected";
    /// The node has no RDMA device: a normal state.
    pub const NO_RDMA_DEVICES: &str = "NoRdmaDevices";
    /// The kernel has no RDMA subsystem: a normal state.
    pub const NO_RDMA_SUBSYSTEM: &str = "NoRdmaSubsystem";
    /// Every namespace sees every device.
    pub const NETNS_SHARED: &str = "NetnsShared";
    /// A device belongs to one namespace; rdma-cni moves it into a pod.
    pub const NEEDS_RDMA_CNI: &str = "NeedsRdmaCni";
    /// The kernel does not tell its mode.
    pub const NETNS_UNKNOWN: &str = "NetnsUnknown";
    /// The driver cannot change a device's namespace.
    pub const DRIVER_CANNOT_MOVE: &str = "DriverCannotMove";
    /// This kernel release's driver cannot, a later one can.
    pub const KERNEL_TOO_OLD: &str = "KernelTooOld";
    /// The driver can, and the node is in exclusive mode.
    pub const MOVABLE: &str = "Movable";
    /// The driver can, but the node shares its devices.
    pub const SHARED_MODE: &str = "SharedMode";
    /// No table entry for this driver.
    pub const DRIVER_UNKNOWN: &str = "DriverUnknown";
    /// Nodes differ in why.
    pub const MIXED: &str = "Mixed";
    /// No node reports yet.
    pub const NO_NODES: &str = "NoNodes";
    /// Some nodes are not there yet.
    pub const NODES_PENDING: &str = "NodesPending";
    /// A node has failed; its own reason is used where all agree.
    pub const NODES_FAILED: &str = "NodesFailed";
    /// The node has as many links as it takes.
    pub const TOO_MANY_LINKS: &str = "TooManyLinks";
    /// No Node has a name that is listed.
    pub const NODE_NOT_FOUND: &str = "NodeNotFound";
    /// Something has the link open.
    pub const IN_USE: &str = "InUse";
    /// Links are being removed.
    pub const DELETING: &str = "Deleting";
    /// All chosen nodes have the link.
    pub const ALL_NODES_READY: &str = "AllNodesReady";
    /// No agent pod runs on the node.
    pub const AGENT_MISSING: &str = "AgentMissing";
    /// The agent pod is not ready.
    pub const AGENT_NOT_READY: &str = "AgentNotReady";
    /// The agent pod is ready.
    pub const AGENT_READY: &str = "AgentReady";
    /// rdma_ucm is not loaded.
    pub const RDMA_UCM_NOT_LOADED: &str = "RdmaUcmNotLoaded";
    /// The ownership file is damaged or cannot be written.
    pub const STATE_NOT_WRITABLE: &str = "StateNotWritable";
    /// Some files or requests failed.
    pub const READ_ERRORS: &str = "ReadErrors";
}

/// A condition as it is now; [`merge`] settles its transition time.
#[must_use]
pub fn new(kind: &str, status: bool, reason: &str, message: impl Into<String>) -> Condition {
    with_status(kind, if status { "True" } else { "False" }, reason, message)
}

/// A condition with the status `True`, `False` or `Unknown`.
#[must_use]
pub fn with_status(kind: &str, status: &str, reason: &str, message: impl Into<String>) -> Condition {
    Condition {
        type_: kind.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: message.into(),
        observed_generation: None,
        last_transition_time: Time(Timestamp::UNIX_EPOCH),
    }
}

/// Gives each of `current` the transition time of its predecessor unless its status word flipped.
#[must_use]
pub fn merge(
    previous: &[Condition],
    mut current: Vec<Condition>,
    generation: Option<i64>,
    now: Timestamp,
) -> Vec<Condition> {
    for condition in &mut current {
        condition.observed_generation = generation;
        condition.last_transition_time = previous
            .iter()
            .find(|old| old.type_ == condition.type_ && old.status == condition.status)
            .map_or(Time(now), |old| old.last_transition_time.clone());
    }
    current.sort_by(|a, b| a.type_.cmp(&b.type_));
    current
}

/// The condition of this type, if it is there.
#[must_use]
pub fn find<'a>(conditions: &'a [Condition], kind: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == kind)
}

/// True when the condition is there and `True`.
#[must_use]
pub fn is_true(conditions: &[Condition], kind: &str) -> bool {
    find(conditions, kind).is_some_and(|condition| condition.status == "True")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn transition_time_moves_only_when_the_status_flips() {
        let first = merge(&[], vec![new(READY, false, "A", "a")], Some(1), at(10));
        let same = merge(&first, vec![new(READY, false, "B", "b")], Some(2), at(20));
        assert_eq!(same[0].last_transition_time, Time(at(10)));
        assert_eq!(same[0].reason, "B");
        let flipped = merge(&same, vec![new(READY, true, "C", "")], Some(2), at(30));
        assert_eq!(flipped[0].last_transition_time, Time(at(30)));
    }
}
