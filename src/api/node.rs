//! RdmaNode: one node's RDMA, as its agent sees it, and what the controller wants of it.

// Columns share their types; the lint takes them for repeats.
#![allow(clippy::duplicated_attributes)]
// KubeSchema repeats its struct in a private block.
#![allow(unreachable_pub)]

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::link::{AdoptPolicy, DeletionPolicy, LinkType, NetdevSelector, UpdatePolicy};

/// Soft links a node takes.
pub const MAX_SOFT_LINKS: usize = 64;

/// What the controller wants of a node.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "rdma-operator.dev",
    version = "v1alpha1",
    kind = "RdmaNode",
    shortname = "rn",
    category = "rdma",
    derive = "PartialEq",
    status = "RdmaNodeStatus",
    doc = "The RDMA devices, ports and GIDs of one node, their health, and its soft links. Named as its Node.",
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
    ),
    printcolumn(name = "Devices", type_ = "integer", json_path = ".status.deviceCount"),
    printcolumn(name = "Active", type_ = "integer", json_path = ".status.activePorts"),
    printcolumn(name = "Netns", type_ = "string", json_path = ".status.system.netnsMode"),
    printcolumn(name = "Soft", type_ = "string", json_path = ".status.softReady"),
    printcolumn(name = "Kernel", type_ = "string", json_path = ".status.system.kernel"),
    printcolumn(
        name = "Agent",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"AgentAvailable\")].status",
        priority = 1
    ),
    printcolumn(
        name = "Plugin",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"PluginRegistered\")].status",
        priority = 1
    ),
    printcolumn(name = "Resources", type_ = "string", json_path = ".status.resources", priority = 1),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].reason",
        priority = 1
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct RdmaNodeSpec {
    /// The soft links of this node. Absent: not known, nothing is touched. Empty: none, owned ones are removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    // Atomic: applying an empty map list takes the field away, and absent is not empty here.
    #[schemars(length(max = 64))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub soft_links: Option<Vec<NodeSoftLink>>,
}

/// One SoftRdmaLink as it concerns this node.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct NodeSoftLink {
    /// Name of the SoftRdmaLink.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Its uid.
    #[schemars(length(min = 1, max = 64))]
    pub uid: String,
    /// Its generation.
    pub generation: i64,
    /// When it was made: of two links that want one netdev or name, the older wins.
    pub created_at: Time,
    /// rxe or siw.
    #[serde(rename = "type")]
    pub link_type: LinkType,
    /// Which netdev of the node.
    pub netdev: NetdevSelector,
    /// Name of the RDMA device; absent: the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63), regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$"))]
    pub device_name: Option<String>,
    /// What becomes of the link when it is no longer wanted.
    #[serde(default)]
    pub deletion_policy: DeletionPolicy,
    /// Whether to take over an identical link.
    #[serde(default)]
    pub adopt: AdoptPolicy,
    /// What to do when it must be made again.
    #[serde(default)]
    pub update_policy: UpdatePolicy,
}

/// What the agent sees on its node.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct RdmaNodeStatus {
    /// The spec generation that the agent has acted on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Version of the agent that wrote this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_version: Option<String>,
    /// The kernel and its RDMA subsystem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<NodeSystem>,
    /// RDMA devices by kernel index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub devices: Option<Vec<NodeDevice>>,
    /// What has become of each soft link of the spec, and of those being removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["uid".into()]))]
    pub soft_links: Option<Vec<NodeSoftLinkStatus>>,
    /// Number of devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_count: Option<i32>,
    /// Number of ports in state ACTIVE.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_ports: Option<i32>,
    /// Soft links ready of those wanted: 1/2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub soft_ready: Option<String>,
    /// The resources that pods can ask for, in a word: rdma/mlx5_0,rdma/mlx5_1
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<String>,
    /// True where GIDs were left out to keep the object small.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<bool>,
    /// Ready, PluginRegistered, NamespaceMode, …; AgentAvailable is the controller's.
    #[serde(default)]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}

/// The kernel and its RDMA subsystem.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct NodeSystem {
    /// uname -r.
    pub kernel: String,
    /// shared, exclusive or unknown.
    pub netns_mode: String,
    /// Loaded modules that have to do with RDMA.
    #[serde(default)]
    pub modules: Vec<String>,
    /// False: this kernel has no RDMA subsystem.
    pub rdma: bool,
    /// The kernel reports device events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub monitor: Option<bool>,
}

/// One RDMA device.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct NodeDevice {
    /// Kernel index.
    pub index: i64,
    /// Name.
    pub name: String,
    /// PCI address, GUID or name: what stays over renames and reboots.
    pub identity: String,
    /// mlx5, rxe, siw, irdma, …
    pub driver: String,
    /// ib, roce, iw, opa, usnic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// Node GUID.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_guid: Option<String>,
    /// Firmware version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware: Option<String>,
    /// PCI function; absent for a virtual device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pci: Option<NodePci>,
    /// Netdev of a soft device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_netdev: Option<String>,
    /// The verbs character device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uverbs: Option<NodeCharDevice>,
    /// The resource that pods ask for; absent: not advertised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_name: Option<String>,
    /// Healthy, Degraded, AdminDown or Unhealthy.
    pub health: String,
    /// Why, CamelCase.
    pub health_reason: String,
    /// Why, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health_message: Option<String>,
    /// Whether pods can have it in a namespace of their own.
    pub isolation: NodeIsolation,
    /// Ports.
    #[serde(default)]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub ports: Vec<NodePort>,
}

/// A PCI function.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct NodePci {
    /// 0000:1a:00.0
    pub address: String,
    /// Vendor id, hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
    /// Device id, hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// NUMA node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numa_node: Option<i32>,
    /// For a virtual function, its physical function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub physfn: Option<String>,
}

/// A character device below /dev/infiniband.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct NodeCharDevice {
    /// uverbs0
    pub name: String,
    /// Kernel ABI; user space libraries must support it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub abi: Option<i64>,
}

/// Whether a device can be given to one network namespace.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct NodeIsolation {
    /// True: it can be moved into a pod's namespace, now.
    pub isolated: bool,
    /// CamelCase.
    pub reason: String,
    /// What a pod sees and what it can open.
    pub message: String,
    /// Known (read in this kernel's source), Inferred (nearby release) or Unknown.
    pub confidence: String,
}

/// One port.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct NodePort {
    /// Number, from 1.
    pub port: i32,
    /// ACTIVE, DOWN, INIT, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// LINK_UP, DISABLED, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phys_state: Option<String>,
    /// InfiniBand, Ethernet, Unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_layer: Option<String>,
    /// 400 Gb/sec (4X NDR)
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<String>,
    /// Netdev of the port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub netdev: Option<String>,
    /// MTU of that netdev, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub netdev_mtu: Option<i32>,
    /// InfiniBand local identifier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lid: Option<i32>,
    /// Partition keys, hex.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pkeys: Vec<String>,
    /// Filled GID slots.
    #[serde(default)]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub gids: Vec<NodeGid>,
}

/// One filled GID slot.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct NodeGid {
    /// Slot number: NCCL_IB_GID_INDEX, ibv_* -g.
    pub index: i32,
    /// The GID.
    pub gid: String,
    /// IB/RoCE v1, RoCE v2.
    #[serde(rename = "type")]
    pub gid_type: String,
    /// linkLocal, global, loopback, multicast.
    pub scope: String,
    /// The netdev it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub netdev: Option<String>,
}

/// What has become of a soft link on this node.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct NodeSoftLinkStatus {
    /// uid of the SoftRdmaLink.
    pub uid: String,
    /// Its name.
    pub name: String,
    /// The generation acted on.
    pub observed_generation: i64,
    /// Ready, Pending, Failed or Removing.
    pub state: SoftLinkState,
    /// CamelCase.
    pub reason: String,
    /// What happened and what to do.
    pub message: String,
    /// The kernel's error number, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errno: Option<i32>,
    /// The device as the kernel named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// The netdev it is on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub netdev: Option<String>,
    /// Whether a pod can have the device in a namespace of its own; absent while there is no device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolated: Option<bool>,
    /// Why or why not, CamelCase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation_reason: Option<String>,
}

/// Where a soft link stands.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
pub enum SoftLinkState {
    /// In place and its port is up.
    Ready,
    /// Not there yet, and nothing is wrong.
    Pending,
    /// Cannot be made, or is not up.
    Failed,
    /// Is being removed.
    Removing,
}
