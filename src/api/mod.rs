//! The API group `rdma-operator.dev/v1alpha1`: its objects, condition types and reasons, and their CRDs.

pub mod condition;
pub mod crds;
pub mod link;
mod link_check;
pub mod node;
mod slim;

pub use link::{
    AdoptPolicy, DeletionPolicy, LinkFailure, LinkType, NetdevSelector, NodeSelection, SoftRdmaLink,
    SoftRdmaLinkSpec, SoftRdmaLinkStatus, UpdatePolicy, WhenInUse,
};
pub use link_check::faults as link_faults;
pub use node::{
    MAX_SOFT_LINKS, NodeCharDevice, NodeDevice, NodeGid, NodeIsolation, NodePci, NodePort, NodeSoftLink,
    NodeSoftLinkStatus, NodeSystem, RdmaNode, RdmaNodeSpec, RdmaNodeStatus, SoftLinkState,
};

pub use slim::{SlimRdmaNode, SlimStatus};

/// API group.
pub const GROUP: &str = "rdma-operator.dev";
/// API version.
pub const VERSION: &str = "v1alpha1";
/// `apiVersion` of every object of the group.
pub const API_VERSION: &str = "rdma-operator.dev/v1alpha1";

/// Field manager of what agents apply.
pub const AGENT_MANAGER: &str = "rdma-operator-agent";
/// Field manager of what the controller applies.
pub const CONTROLLER_MANAGER: &str = "rdma-operator-controller";

/// Holds a SoftRdmaLink until every node has undone it.
pub const FINALIZER: &str = "rdma-operator.dev/soft-links";
/// Set to `"true"` on a SoftRdmaLink, releases its finalizer without waiting for nodes that do not answer.
pub const FORCE_RELEASE: &str = "rdma-operator.dev/force-release";
