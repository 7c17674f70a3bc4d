//! The machine document: one host as its kernel shows it. Every value is what the kernel gives, not what we make of
//! it; a key that is absent or null means that the kernel has no such attribute or file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// `kind` of the document.
pub const KIND: &str = "Machine";

/// One host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Machine {
    /// `rdma-operator.dev/v1alpha1`
    pub api_version: String,
    /// `Machine`
    pub kind: String,
    /// Its name.
    pub metadata: Metadata,
    /// Free text.
    #[serde(default)]
    pub notes: Option<String>,
    /// The kernel's own settings.
    pub kernel: Kernel,
    /// Network devices of the initial network namespace, by ifindex.
    #[serde(default)]
    pub netdevs: Vec<Netdev>,
    /// RDMA devices by kernel index.
    #[serde(default)]
    pub devices: Vec<Device>,
    /// What `rdma resource` shows.
    #[serde(default)]
    pub resources: Vec<Resources>,
    /// Global nodes below `/dev/infiniband`: `rdma_cm`.
    #[serde(default)]
    pub char_devices: Vec<String>,
    /// Files whose read fails.
    #[serde(default)]
    pub faults: Vec<Fault>,
}

/// The document's name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metadata {
    /// A word.
    pub name: String,
}

/// The kernel's own settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Kernel {
    /// `uname -r`
    pub release: String,
    /// `shared` or `exclusive`; absent on kernels before 5.2.
    #[serde(default)]
    pub netns_mode: Option<NetnsMode>,
    /// Absent before 5.13.
    #[serde(default)]
    pub copy_on_fork: Option<bool>,
    /// Absent before 6.7.
    #[serde(default)]
    pub privileged_qkey: Option<bool>,
    /// SYS_GET's MONITOR_MODE; absent before 6.12.
    #[serde(default)]
    pub monitor: Option<bool>,
    /// Loaded modules that have to do with RDMA or networking.
    #[serde(default)]
    pub modules: Vec<String>,
    /// Network namespaces besides the initial one.
    #[serde(default)]
    pub other_netns: u32,
}

/// How RDMA devices relate to network namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NetnsMode {
    /// Every namespace sees every device.
    Shared,
    /// A device belongs to one.
    Exclusive,
}

/// A network device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Netdev {
    /// ifindex.
    pub index: u32,
    /// Interface name.
    pub name: String,
    /// What it is.
    pub kind: NetdevKind,
    /// Hardware address; of an IPoIB netdev, 20 bytes.
    #[serde(default)]
    pub mac: Option<String>,
    /// Maximum transmission unit, bytes.
    pub mtu: u32,
    /// IFF_UP.
    pub up: bool,
    /// IFF_LOWER_UP.
    pub carrier: bool,
    /// Addresses with prefix lengths: `192.0.2.1/24`.
    #[serde(default)]
    pub addresses: Vec<String>,
    /// PCI function below it.
    #[serde(default)]
    pub pci: Option<String>,
    /// Name of the bond or bridge it is a port of.
    #[serde(default)]
    pub master: Option<String>,
    /// Name of the netdev it stands on.
    #[serde(default)]
    pub lower: Option<String>,
}

/// What a network device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum NetdevKind {
    Ether,
    Ipoib,
    Loopback,
    Vlan,
    Bond,
    Bridge,
    Dummy,
    Veth,
    Macvlan,
    Ipvlan,
    Tun,
    Wireguard,
}

/// An RDMA device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Device {
    /// RDMA_NLDEV_ATTR_DEV_INDEX.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// `CA`, `SWITCH`, `ROUTER`, `RNIC`, `USNIC`, `USNIC_UDP`, `UNSPECIFIED`: sysfs `node_type`.
    pub node_type: String,
    /// `ib`, `roce`, `iw`, `opa`, `usnic`.
    #[serde(default)]
    pub protocol: Option<String>,
    /// `0200:5eff:fe00:5301`
    pub node_guid: String,
    /// As the node GUID.
    pub sys_image_guid: String,
    /// RDMA_NLDEV_ATTR_FW_VERSION, sysfs `fw_ver`.
    #[serde(default)]
    pub firmware: Option<String>,
    /// RDMA_NLDEV_ATTR_CAP_FLAGS.
    #[serde(default)]
    pub cap_flags: Option<u64>,
    /// RDMA_NLDEV_ATTR_DEV_DIM.
    #[serde(default)]
    pub adaptive_moderation: Option<bool>,
    /// `enum rdma_nl_name_assign_type`; absent before 6.11.
    #[serde(default)]
    pub name_assign_type: Option<u8>,
    /// Kind of a sub-device: `smi`.
    #[serde(default, rename = "type")]
    pub device_type: Option<String>,
    /// Name of the device it is a sub-device of.
    #[serde(default)]
    pub parent: Option<String>,
    /// Kernel driver of the PCI function (sysfs `device/driver`); absent for a virtual device.
    #[serde(default)]
    pub driver: Option<String>,
    /// The driver lets it change its network namespace.
    #[serde(default)]
    pub movable: bool,
    /// DELLINK works: rxe and siw.
    #[serde(default)]
    pub removable: bool,
    /// sysfs `hca_type`.
    #[serde(default)]
    pub hca_type: Option<String>,
    /// sysfs `board_id`.
    #[serde(default)]
    pub board_id: Option<String>,
    /// sysfs `parent` of rxe.
    #[serde(default)]
    pub parent_netdev: Option<String>,
    /// The PCI function.
    #[serde(default)]
    pub pci: Option<Pci>,
    /// The verbs node.
    #[serde(default)]
    pub uverbs: Option<Uverbs>,
    /// sysfs `hw_counters` of the device: file texts.
    #[serde(default)]
    pub hw_counters: Option<BTreeMap<String, String>>,
    /// Ports by number.
    #[serde(default)]
    pub ports: Vec<Port>,
}

/// A PCI function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pci {
    /// `0000:1a:00.0`
    pub address: String,
    /// Six hex digits.
    #[serde(default)]
    pub class: Option<String>,
    /// Four hex digits.
    #[serde(default)]
    pub vendor: Option<String>,
    /// Four hex digits.
    #[serde(default)]
    pub device: Option<String>,
    /// −1: the firmware does not tell.
    #[serde(default)]
    pub numa_node: Option<i32>,
    /// `pci0000:15`
    #[serde(default)]
    pub root: Option<String>,
    /// Of a virtual function, its physical one.
    #[serde(default)]
    pub physfn: Option<String>,
}

/// A verbs node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Uverbs {
    /// `uverbs0`
    pub name: String,
    /// `231:192`
    pub dev: String,
    /// sysfs `abi_version`.
    #[serde(default)]
    pub abi: Option<u32>,
    /// UVERBS_DRIVER_ID.
    #[serde(default)]
    pub driver_id: Option<u32>,
}

/// A port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Port {
    /// From 1.
    pub number: u32,
    /// `InfiniBand`, `Ethernet`, `Unknown`.
    pub link_layer: String,
    /// `NOP`, `DOWN`, `INIT`, `ARMED`, `ACTIVE`, `ACTIVE_DEFER`.
    pub state: String,
    /// `Sleep`, `Polling`, `Disabled`, `PortConfigurationTraining`, `LinkUp`, `LinkErrorRecovery`, `PhyTest`.
    pub phys_state: String,
    /// `400 Gb/sec (4X NDR)`
    #[serde(default)]
    pub rate: Option<String>,
    /// sysfs `cap_mask`; over netlink as CAP_FLAGS on InfiniBand ports.
    #[serde(default)]
    pub cap_mask: Option<u32>,
    /// Local identifier.
    #[serde(default)]
    pub lid: Option<u32>,
    /// That of the subnet manager.
    #[serde(default)]
    pub sm_lid: Option<u32>,
    /// LID mask count.
    #[serde(default)]
    pub lmc: Option<u8>,
    /// As a GUID.
    #[serde(default)]
    pub subnet_prefix: Option<String>,
    /// RDMA_NLDEV_ATTR_NDEV_NAME.
    #[serde(default)]
    pub netdev: Option<String>,
    /// Slots of the GID table.
    #[serde(default)]
    pub gid_table_size: u32,
    /// Its filled slots, ascending.
    #[serde(default)]
    pub gids: Vec<Gid>,
    /// The whole P_Key table: `0xffff`; absent where there is no `pkeys` folder.
    #[serde(default)]
    pub pkeys: Option<Vec<String>>,
    /// `umad0`
    #[serde(default)]
    pub umad: Option<String>,
    /// `issm0`
    #[serde(default)]
    pub issm: Option<String>,
    /// sysfs `counters`: file texts; absent where there is no folder.
    #[serde(default)]
    pub counters: Option<BTreeMap<String, String>>,
    /// sysfs `hw_counters`: file texts; absent where there is no folder.
    #[serde(default)]
    pub hw_counters: Option<BTreeMap<String, String>>,
    /// Optional counters and whether they are enabled; netlink only.
    #[serde(default)]
    pub optional_counters: Option<BTreeMap<String, bool>>,
}

/// A filled slot of a GID table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Gid {
    /// Slot.
    pub index: u32,
    /// Eight groups of four hex digits.
    pub gid: String,
    /// `IB/RoCE v1` or `RoCE v2`.
    #[serde(default, rename = "type")]
    pub gid_type: Option<String>,
    /// `gid_attrs/ndevs`.
    #[serde(default)]
    pub netdev: Option<String>,
}

/// What `rdma resource` shows of a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Resources {
    /// Device name.
    pub device: String,
    /// Queue pairs.
    #[serde(default)]
    pub qps: Vec<QueuePair>,
    /// Completion queues.
    #[serde(default)]
    pub cqs: Vec<Object>,
    /// Memory regions.
    #[serde(default)]
    pub mrs: Vec<Object>,
    /// Protection domains.
    #[serde(default)]
    pub pds: Vec<Object>,
    /// User contexts.
    #[serde(default)]
    pub ctxs: Vec<Object>,
    /// Shared receive queues.
    #[serde(default)]
    pub srqs: Vec<Object>,
    /// Connection manager ids.
    #[serde(default)]
    pub cm_ids: Vec<Object>,
}

/// A queue pair.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct QueuePair {
    /// Local queue pair number.
    pub lqpn: u32,
    /// `RC`, `UD`, `GSI`, `SMI`, …
    #[serde(rename = "type")]
    pub qp_type: String,
    /// `RESET`, `INIT`, `RTR`, `RTS`, …
    pub state: String,
    /// Name of the kernel module that owns it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Process that owns it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
}

/// Any other object: its id (`cqn`, `mrn`, `pdn`, …) and its owner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Object {
    /// Its number.
    pub id: u32,
    /// Name of the kernel module that owns it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Process that owns it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
}

/// A file whose read fails.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// Below `/sys`.
    pub path: String,
    /// `EINVAL`, `EIO`, `ENODEV`, …
    pub errno: String,
}
