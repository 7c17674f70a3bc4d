//! Who tells of devices: NETLINK_RDMA, or where it is refused what sysfs shows of the same.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::document::Uverbs;
use crate::inventory::{Collector, Device, Dirty, Host, Inventory, Kernel, chardev};
use crate::nl::{self, Guid};
use crate::sysfs::{CharDevice, Sysfs};

/// Where the facts that are no file come from.
pub(super) enum Source<'a> {
    Netlink(&'a nl::Handle),
    Sysfs(Inventory),
}

/// What a source tells of a port.
#[derive(Default)]
pub(super) struct Told {
    pub(super) state: Option<nl::PortState>,
    pub(super) phys_state: Option<nl::PhysState>,
    pub(super) subnet_prefix: Option<Guid>,
    pub(super) netdev: Option<String>,
    /// Optional counters, and whether each counts.
    pub(super) optional: BTreeMap<String, bool>,
}

/// Every device as sysfs shows it, with indexes made up from 0.
pub(super) async fn by_sysfs(host: &Arc<dyn Host>) -> Inventory {
    let mut collector = Collector::new(Arc::new(Kernel::new(host.clone())));
    let mut inventory = collector.collect(&Inventory::default(), &Dirty::all()).await;
    for (index, device) in (0..).zip(&mut inventory.devices) {
        device.index = index;
    }
    inventory
}

/// A device as netlink would tell it.
pub(super) fn as_told(device: &Device) -> nl::Device {
    nl::Device {
        index: device.index,
        name: device.name.clone(),
        port_count: device.ports.last().map_or(0, |port| port.number),
        cap_flags: device.cap_flags,
        firmware: device.firmware.clone(),
        node_guid: device.node_guid,
        sys_image_guid: device.sys_image_guid,
        node_type: (0..=u8::MAX).map(nl::NodeType::from).find(|kind| kind.as_str() == device.node_type),
        protocol: device.protocol.clone(),
        adaptive_moderation: None,
        device_type: None,
        parent: None,
        name_assign_type: None,
        attributes: Vec::new(),
    }
}

impl Source<'_> {
    /// The verbs node of a device, and the word of its driver.
    pub(super) async fn uverbs(&self, sysfs: &Sysfs, index: u32, name: &str) -> (Option<Uverbs>, String) {
        let of = |node: CharDevice, id: Option<nl::DriverId>| Uverbs {
            name: node.name,
            dev: format!("{}:{}", node.major, node.minor),
            abi: node.abi.and_then(|abi| u32::try_from(abi).ok()),
            driver_id: id.map(nl::DriverId::number),
        };
        match self {
            Self::Netlink(handle) => {
                let node = chardev::uverbs(handle, sysfs, index, name).await.ok().flatten();
                let id = node.as_ref().and_then(|(_, id)| *id);
                let word = id.map_or("unknown", |id| id.as_str()).to_owned();
                (node.map(|(node, id)| of(node, id)), word)
            }
            Self::Sysfs(inventory) => {
                let Some(device) = inventory.device(name) else { return (None, "unknown".to_owned()) };
                (device.uverbs.clone().map(|node| of(node, None)), device.driver.name.clone())
            }
        }
    }

    pub(super) async fn port(&self, index: u32, device: &str, number: u32) -> Told {
        match self {
            Self::Netlink(handle) => {
                let port = handle.port(index).get(number).await.ok();
                let status = handle.stats().status(index, number).await.ok();
                let counters = status.into_iter().flat_map(|status| status.counters);
                Told {
                    state: port.as_ref().and_then(|port| port.state),
                    phys_state: port.as_ref().and_then(|port| port.phys_state),
                    subnet_prefix: port.as_ref().and_then(|port| port.subnet_prefix),
                    netdev: port.and_then(|port| port.netdev_name),
                    optional: counters.filter_map(|counter| Some((counter.name, counter.enabled?))).collect(),
                }
            }
            // States are files, too.
            Self::Sysfs(inventory) => {
                let device = inventory.device(device);
                let port =
                    device.and_then(|device| device.ports.iter().find(|port| port.number == number)).cloned();
                let (subnet_prefix, netdev) = port.map(|port| (port.subnet_prefix, port.netdev)).unzip();
                Told { subnet_prefix: subnet_prefix.flatten(), netdev: netdev.flatten(), ..Told::default() }
            }
        }
    }
}
