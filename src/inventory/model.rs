//! The plain data of one host: what the kernel shows, in our types, with nothing left to look up.
//!
//! A field that is `None` means that this kernel, driver or file has no such thing; it never means zero.

use std::fmt;
use std::net::IpAddr;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::movable::{Confidence, Movable};
use super::relation::Relation;
use crate::nl::Guid;
use crate::sysfs::{CharDevice, Gid, Pci};

/// Everything known of one host's RDMA at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Inventory {
    /// The kernel and the RDMA subsystem.
    pub system: System,
    /// RDMA devices, by ascending kernel index.
    pub devices: Vec<Device>,
    /// Network devices of this network namespace, by ascending ifindex.
    pub netdevs: Vec<Netdev>,
    /// What could not be read. Each costs its own field only.
    pub problems: Vec<Problem>,
}

impl Inventory {
    /// The device of this name, if there is one.
    #[must_use]
    pub fn device(&self, name: &str) -> Option<&Device> {
        self.devices.iter().find(|device| device.name == name)
    }

    /// The device of this kernel index, if there is one.
    #[must_use]
    pub fn device_by_index(&self, index: u32) -> Option<&Device> {
        self.devices.iter().find(|device| device.index == index)
    }

    /// The netdev of this name, if there is one.
    #[must_use]
    pub fn netdev(&self, name: &str) -> Option<&Netdev> {
        self.netdevs.iter().find(|netdev| netdev.name == name)
    }
}

/// A read that failed: which file or request, and what the kernel said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// The device concerned, by name; absent where the whole host is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// The path below `/sys` or the netlink request.
    pub what: String,
    /// The error's text.
    pub message: String,
}

/// The kernel and its RDMA subsystem.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct System {
    /// `uname -r`.
    pub kernel: String,
    /// False where the kernel has no NETLINK_RDMA (EPROTONOSUPPORT): a normal state.
    pub rdma: bool,
    /// How RDMA devices relate to network namespaces.
    pub netns_mode: NetnsMode,
    /// SYS_GET's COPY_ON_FORK; `None` before 5.13.
    pub copy_on_fork: Option<bool>,
    /// SYS_GET's PRIVILEGED_QKEY_MODE; `None` before 6.7.
    pub privileged_qkey: Option<bool>,
    /// SYS_GET's MONITOR_MODE; `None` before 6.12.
    pub monitor: Option<bool>,
    /// Loaded modules that have to do with RDMA, sorted.
    pub modules: Vec<String>,
    /// `/dev/infiniband/rdma_cm` is there.
    pub rdma_cm: bool,
}

/// The network namespace mode of the RDMA subsystem.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NetnsMode {
    /// Every namespace sees every device.
    Shared,
    /// A device belongs to one namespace.
    Exclusive,
    /// The kernel does not say (before 5.2, or no RDMA).
    #[default]
    Unknown,
}

impl NetnsMode {
    /// The word rdma(8) uses.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Shared => "shared",
            Self::Exclusive => "exclusive",
            Self::Unknown => "unknown",
        }
    }
}

/// One RDMA device.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Device {
    /// RDMA_NLDEV_ATTR_DEV_INDEX: unique on the host, not reused quickly, kept over a rename.
    pub index: u32,
    /// The device's name at this moment.
    pub name: String,
    /// What stays the same over renames and reboots.
    pub identity: Identity,
    /// The driver family.
    pub driver: Driver,
    /// Node type as rdma(8) prints it: `ca`, `rnic`, `switch`, …
    pub node_type: String,
    /// `ib`, `roce`, `iw`, `opa`, `usnic`.
    pub protocol: Option<String>,
    /// Node GUID; all zeros is `Some(Guid(0))`.
    #[serde(serialize_with = "guid")]
    pub node_guid: Option<Guid>,
    /// System image GUID.
    #[serde(serialize_with = "guid")]
    pub sys_image_guid: Option<Guid>,
    /// Firmware version.
    pub firmware: Option<String>,
    /// RDMA_NLDEV_ATTR_CAP_FLAGS.
    pub cap_flags: Option<u64>,
    /// The PCI function below it; `None` for a virtual device.
    pub pci: Option<Pci>,
    /// For a soft device, the netdev it is made on.
    pub parent_netdev: Option<String>,
    /// Kind of a sub-device: `smi`.
    #[serde(rename = "type")]
    pub device_type: Option<String>,
    /// For a sub-device (SMI), the name of its parent device.
    pub parent: Option<String>,
    /// Its sub-devices (SMI), by name.
    pub companions: Vec<String>,
    /// Whether its driver can change its network namespace on this kernel.
    #[serde(serialize_with = "movable")]
    pub movable: (Movable, Confidence),
    /// The verbs character device; `None` when there is none (ib_uverbs not loaded, sub-device).
    pub uverbs: Option<CharDevice>,
    /// Ports by ascending number.
    pub ports: Vec<Port>,
    /// Netdevs that belong to it, by name.
    pub netdevs: Vec<Relation>,
}

impl Device {
    /// True for devices without hardware (rxe, siw).
    #[must_use]
    pub fn is_soft(&self) -> bool {
        matches!(self.driver.name.as_str(), "rxe" | "siw")
    }

    /// True for a PCI virtual function.
    #[must_use]
    pub fn is_virtual_function(&self) -> bool {
        self.pci.as_ref().is_some_and(|pci| pci.physfn.is_some())
    }

    /// The netdev of the first port that has one.
    #[must_use]
    pub fn netdev(&self) -> Option<&str> {
        self.ports.iter().find_map(|port| port.netdev.as_deref())
    }
}

/// What identifies a device over renames, re-plugging and reboots.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Identity {
    /// `0000:1a:00.0`
    Pci(String),
    /// The node GUID of a device that is not on PCI.
    Guid(String),
    /// Its name: the last resort, and that of soft devices, whose GUIDs may be random.
    Name(String),
}

impl Default for Identity {
    fn default() -> Self {
        Self::Name(String::new())
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pci(text) | Self::Guid(text) | Self::Name(text) => f.write_str(text),
        }
    }
}

/// The driver behind a device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Driver {
    /// The verbs driver: `mlx5`, `rxe`, `siw`, `irdma`, …; `unknown` when neither netlink nor sysfs tells.
    pub name: String,
    /// The kernel module bound to the PCI function (`mlx5_core`), from sysfs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
}

/// One port of a device. Numbers start at 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Port {
    /// Port number.
    pub number: u32,
    /// `ACTIVE`, `DOWN`, `INIT`, …; `None` when the query failed.
    pub state: Option<String>,
    /// `LINK_UP`, `DISABLED`, `POLLING`, … as rdma(8) prints it.
    pub phys_state: Option<String>,
    /// `InfiniBand`, `Ethernet` or `Unknown`; `None` when sysfs does not say.
    pub link_layer: Option<String>,
    /// sysfs `rate`: `400 Gb/sec (4X NDR)`.
    pub rate: Option<String>,
    /// Local identifier (InfiniBand).
    pub lid: Option<u32>,
    /// Subnet manager's LID (InfiniBand).
    pub sm_lid: Option<u32>,
    /// LID mask count (InfiniBand).
    pub lmc: Option<u8>,
    /// Subnet prefix (InfiniBand).
    #[serde(serialize_with = "guid")]
    pub subnet_prefix: Option<Guid>,
    /// The netdev behind the port, when it is in this network namespace.
    pub netdev: Option<String>,
    /// Slot of the GID that a RoCE v2 connection over that netdev should use.
    pub best_gid: Option<u32>,
    /// Filled GID slots by ascending index; the table is sparse.
    pub gids: Vec<Gid>,
    /// Partition keys that are set, in table order.
    pub pkeys: Vec<u16>,
    /// `umad0`
    pub umad: Option<String>,
    /// `issm0`
    pub issm: Option<String>,
}

impl Port {
    /// True when the port carries traffic. ACTIVE_DEFER does for a while: the fabric is about to take it away.
    #[must_use]
    pub fn is_active(&self) -> bool {
        let active =
            |state: &str| ["ACTIVE", "ACTIVE_DEFER"].iter().any(|word| word.eq_ignore_ascii_case(state));
        self.state.as_deref().is_some_and(active)
    }
}

fn movable<S: Serializer>(
    (can, confidence): &(Movable, Confidence),
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    map.serialize_entry("can", can.as_str())?;
    if let Movable::Later(since) = can {
        map.serialize_entry("since", &since.to_string())?;
    }
    map.serialize_entry("confidence", confidence)?;
    map.end()
}

fn guid<S: Serializer>(guid: &Option<Guid>, serializer: S) -> Result<S::Ok, S::Error> {
    match guid {
        Some(guid) => serializer.collect_str(guid),
        None => serializer.serialize_none(),
    }
}

/// A network device of this namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Netdev {
    /// ifindex.
    pub index: u32,
    /// Interface name.
    pub name: String,
    /// Maximum transmission unit, bytes.
    pub mtu: u32,
    /// IFF_UP is set.
    pub up: bool,
    /// IFF_LOWER_UP is set: it has a carrier.
    pub carrier: bool,
    /// Kind of a virtual netdev (`vlan`, `bond`, `bridge`, …) and `ipoib`; `None` for other hardware.
    pub kind: Option<String>,
    /// Hardware address, as `ip link` prints it.
    pub mac: Option<String>,
    /// The PCI function below it.
    pub pci: Option<String>,
    /// The bond, bridge or team it is a port of.
    pub master: Option<String>,
    /// The netdev it stands on: of a VLAN, macvlan or ipvlan, when it is in this network namespace.
    pub lower: Option<String>,
    /// Addresses with their prefix length.
    pub addresses: Vec<(IpAddr, u8)>,
    /// The best default route that goes out here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_route: Option<DefaultRoute>,
}

impl Netdev {
    /// True for IP over InfiniBand.
    #[must_use]
    pub fn is_ipoib(&self) -> bool {
        self.kind.as_deref() == Some("ipoib")
    }
}

/// A default route; the smallest is the one that traffic takes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DefaultRoute {
    /// False for IPv4.
    pub ipv6: bool,
    /// Its metric.
    pub metric: u32,
}
