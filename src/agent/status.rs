//! Pure: inventory, plugin and soft links → RdmaNode.status.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::jiff::Timestamp;

use super::isolation::isolation;
use super::links::Report;
use crate::api::condition::{self, reason};
use crate::api::{
    NodeCharDevice, NodeDevice, NodeGid, NodeIsolation, NodePci, NodePort, NodeSystem, RdmaNodeStatus,
    SoftLinkState,
};
use crate::health::{self, device_health};
use crate::inventory::{Device, GidScope, Inventory, NetnsMode, Port};
use crate::plugin::PluginStatus;

/// A status above this many bytes of JSON is shown without GIDs: an object of etcd is limited, and what is read by
/// many should be small.
const MAX_BYTES: usize = 400 << 10;

/// Everything a status is made of.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    /// The host.
    pub inventory: &'a Inventory,
    /// The device plugin.
    pub plugin: &'a PluginStatus,
    /// The soft links.
    pub links: &'a Report,
    /// The conditions the object has now.
    pub previous: &'a [Condition],
}

/// The status of this node.
#[must_use]
pub fn status(parts: Parts<'_>, now: Timestamp) -> RdmaNodeStatus {
    let Parts { inventory, plugin, links, previous } = parts;
    let devices: Vec<NodeDevice> =
        inventory.devices.iter().map(|device| node_device(device, inventory, plugin)).collect();
    let active =
        inventory.devices.iter().flat_map(|device| &device.ports).filter(|port| port.is_active()).count();
    let ready = links.links.iter().filter(|link| link.state == SoftLinkState::Ready).count();
    let mut status = RdmaNodeStatus {
        observed_generation: links.generation,
        agent_version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        system: Some(NodeSystem {
            kernel: inventory.system.kernel.clone(),
            netns_mode: inventory.system.netns_mode.as_str().to_owned(),
            modules: inventory.system.modules.clone(),
            rdma: inventory.system.rdma,
            monitor: inventory.system.monitor,
        }),
        device_count: Some(count(devices.len())),
        active_ports: Some(count(active)),
        soft_ready: Some(format!("{ready}/{}", links.wanted)),
        soft_links: Some(links.links.clone()),
        devices: Some(devices),
        resources: resources(plugin),
        truncated: None,
        conditions: condition::merge(previous, conditions(inventory, plugin, links), links.generation, now),
    };
    if serde_json::to_vec(&status).map_or(0, |json| json.len()) > MAX_BYTES {
        for port in status.devices.iter_mut().flatten().flat_map(|device| &mut device.ports) {
            port.gids.clear();
        }
        status.truncated = Some(true);
    }
    status
}

/// All names, up to a number that a column bears.
fn resources(plugin: &PluginStatus) -> Option<String> {
    const MOST: usize = 8;
    let names: Vec<&str> = plugin.resources.iter().map(|resource| resource.name.as_str()).collect();
    let more = names.len().saturating_sub(MOST);
    let shown = names.iter().take(MOST).copied().collect::<Vec<_>>().join(",");
    (!names.is_empty()).then(|| if more > 0 { format!("{shown} and {more} more") } else { shown })
}

fn conditions(inventory: &Inventory, plugin: &PluginStatus, links: &Report) -> Vec<Condition> {
    let system = &inventory.system;
    let registered = plugin.condition();
    let ready = if !registered.status {
        condition::new(condition::READY, false, registered.reason, registered.message.clone())
    } else if !system.rdma {
        let message = "this kernel has no RDMA subsystem (ib_core is neither loaded nor loadable)";
        condition::new(condition::READY, true, reason::NO_RDMA_SUBSYSTEM, message)
    } else if inventory.devices.is_empty() {
        condition::new(condition::READY, true, reason::NO_RDMA_DEVICES, "no RDMA devices; waiting for some")
    } else {
        let number = inventory.devices.len();
        let message = format!("{number} device{}", if number == 1 { "" } else { "s" });
        condition::new(condition::READY, true, reason::AS_EXPECTED, message)
    };
    let mut conditions = vec![
        ready,
        condition::new(
            condition::PLUGIN_REGISTERED,
            registered.status,
            registered.reason,
            registered.message,
        ),
        namespace_mode(system.netns_mode, system.rdma),
        completeness(inventory),
        recorded(links),
    ];
    if !inventory.devices.is_empty() {
        conditions.push(rdma_cm(system.rdma_cm));
    }
    conditions
}

/// True: the mode is known; the message says what it means for pods.
fn namespace_mode(mode: NetnsMode, rdma: bool) -> Condition {
    let kind = condition::NAMESPACE_MODE;
    match mode {
        NetnsMode::Shared => condition::new(
            kind,
            true,
            reason::NETNS_SHARED,
            "shared: every pod sees every RDMA device in sysfs; what it can open is only what its resources gave it",
        ),
        NetnsMode::Exclusive => condition::new(
            kind,
            true,
            reason::NEEDS_RDMA_CNI,
            "exclusive: a device works only in the network namespace it is in; rdma-cni must move it into a pod, nothing here does. \
             Back to shared: boot with ib_core.netns_mode=1, or `rdma system set netns shared` while no other namespace exists",
        ),
        NetnsMode::Unknown if !rdma => {
            condition::with_status(kind, "Unknown", reason::NO_RDMA_SUBSYSTEM, "there is no RDMA subsystem")
        }
        NetnsMode::Unknown => condition::with_status(
            kind,
            "Unknown",
            reason::NETNS_UNKNOWN,
            "this kernel does not tell (before Linux 5.2)",
        ),
    }
}

fn completeness(inventory: &Inventory) -> Condition {
    let kind = condition::INVENTORY_COMPLETE;
    match inventory.problems.split_first() {
        None => condition::new(kind, true, reason::AS_EXPECTED, "everything could be read"),
        Some((first, rest)) => {
            let more = if rest.is_empty() { String::new() } else { format!(" (and {} more)", rest.len()) };
            let message = format!("{}: {}{more}", first.what, first.message);
            condition::new(kind, false, reason::READ_ERRORS, message)
        }
    }
}

fn recorded(links: &Report) -> Condition {
    let kind = condition::SOFT_LINKS_RECORDED;
    match &links.unrecorded {
        None => condition::new(kind, true, reason::AS_EXPECTED, "the record of soft links can be written"),
        Some(why) => condition::new(kind, false, reason::STATE_NOT_WRITABLE, why),
    }
}

fn rdma_cm(there: bool) -> Condition {
    let kind = condition::RDMA_CM_AVAILABLE;
    if there {
        condition::new(kind, true, reason::AS_EXPECTED, "/dev/infiniband/rdma_cm is there")
    } else {
        let message = "there is no /dev/infiniband/rdma_cm: programs that use librdmacm fail; `modprobe rdma_ucm` makes it";
        condition::new(kind, false, reason::RDMA_UCM_NOT_LOADED, message)
    }
}

fn node_device(device: &Device, inventory: &Inventory, plugin: &PluginStatus) -> NodeDevice {
    let health = device_health(device, &inventory.netdevs, &health::Policy::default());
    let isolation = isolation(&inventory.system, device);
    let resource = plugin.resources.iter().find(|resource| resource.devices.contains(&device.name));
    NodeDevice {
        index: i64::from(device.index),
        name: device.name.clone(),
        identity: device.identity.to_string(),
        driver: device.driver.name.clone(),
        protocol: device.protocol.clone(),
        node_guid: device.node_guid.map(|guid| guid.to_string()),
        firmware: device.firmware.clone(),
        pci: device.pci.as_ref().map(|pci| NodePci {
            address: pci.address.clone(),
            vendor: pci.vendor.clone(),
            device: pci.device.clone(),
            numa_node: pci.numa_node.and_then(|node| i32::try_from(node).ok()),
            physfn: pci.physfn.clone(),
        }),
        parent_netdev: device.parent_netdev.clone(),
        uverbs: device.uverbs.as_ref().map(|node| NodeCharDevice {
            name: node.name.clone(),
            abi: node.abi.and_then(|abi| i64::try_from(abi).ok()),
        }),
        resource_name: resource.map(|resource| resource.name.clone()),
        health: health.state.as_str().to_owned(),
        health_reason: health.reason.to_owned(),
        health_message: Some(health.message).filter(|message| !message.is_empty()),
        isolation: NodeIsolation {
            isolated: isolation.isolated,
            reason: isolation.reason.to_owned(),
            message: isolation.message,
            confidence: isolation.confidence.as_str().to_owned(),
        },
        ports: device.ports.iter().map(|port| node_port(port, inventory)).collect(),
    }
}

fn node_port(port: &Port, inventory: &Inventory) -> NodePort {
    let netdev = port.netdev.as_deref().and_then(|name| inventory.netdev(name));
    let integer = |number: u32| i32::try_from(number).unwrap_or(i32::MAX);
    NodePort {
        port: integer(port.number),
        state: port.state.clone(),
        phys_state: port.phys_state.clone(),
        link_layer: port.link_layer.clone(),
        rate: port.rate.clone(),
        netdev: port.netdev.clone(),
        netdev_mtu: netdev.map(|netdev| integer(netdev.mtu)),
        lid: port.lid.map(integer),
        pkeys: port.pkeys.iter().map(|key| format!("{key:#06x}")).collect(),
        gids: port
            .gids
            .iter()
            .map(|gid| NodeGid {
                index: integer(gid.index),
                gid: gid.gid.to_string(),
                gid_type: gid.gid_type.as_str().to_owned(),
                scope: scope(gid.scope).to_owned(),
                netdev: gid.netdev.clone(),
            })
            .collect(),
    }
}

fn scope(scope: GidScope) -> &'static str {
    match scope {
        GidScope::LinkLocal => "linkLocal",
        GidScope::Global => "global",
        GidScope::Loopback => "loopback",
        GidScope::Multicast => "multicast",
        GidScope::Zero => "zero",
    }
}

fn count(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::testing::{device, netdev};
    use crate::inventory::{Gid, GidType, System};

    fn host() -> Inventory {
        Inventory {
            system: System {
                kernel: "6.12.117".into(),
                rdma: true,
                netns_mode: NetnsMode::Shared,
                ..System::default()
            },
            devices: vec![device(0, "rxe0", "rxe", "eth0")],
            netdevs: vec![netdev(2, "eth0")],
            ..Inventory::default()
        }
    }

    fn of(inventory: &Inventory) -> RdmaNodeStatus {
        let plugin = PluginStatus { enumerated: true, ..PluginStatus::default() };
        status(
            Parts { inventory, plugin: &plugin, links: &Report::default(), previous: &[] },
            Timestamp::UNIX_EPOCH,
        )
    }

    fn condition_of<'a>(status: &'a RdmaNodeStatus, kind: &str) -> &'a Condition {
        condition::find(&status.conditions, kind).unwrap()
    }

    #[test]
    fn b26_a_node_without_rdma_is_ready_with_no_devices() {
        let none = Inventory { system: System { rdma: false, ..System::default() }, ..Inventory::default() };
        let status = of(&none);
        let ready = condition_of(&status, condition::READY);
        assert_eq!((ready.status.as_str(), ready.reason.as_str()), ("True", "NoRdmaSubsystem"));
        assert_eq!((status.device_count, status.active_ports), (Some(0), Some(0)));
    }

    #[test]
    fn b15_a_missing_rdma_cm_is_a_condition_with_the_remedy() {
        let status = of(&host());
        let condition = condition_of(&status, condition::RDMA_CM_AVAILABLE);
        assert_eq!(condition.reason, "RdmaUcmNotLoaded");
        assert!(condition.message.contains("modprobe rdma_ucm"));
    }

    #[test]
    fn a_record_of_links_that_cannot_be_written_is_a_condition() {
        let plugin = PluginStatus { enumerated: true, ..PluginStatus::default() };
        let links = Report { unrecorded: Some("links.json is damaged".into()), ..Report::default() };
        let parts = Parts { inventory: &host(), plugin: &plugin, links: &links, previous: &[] };
        let status = status(parts, Timestamp::UNIX_EPOCH);
        let condition = condition_of(&status, condition::SOFT_LINKS_RECORDED);
        assert_eq!((condition.status.as_str(), condition.reason.as_str()), ("False", "StateNotWritable"));
        assert_eq!(condition.message, "links.json is damaged");
        assert_eq!(condition_of(&of(&host()), condition::SOFT_LINKS_RECORDED).status, "True");
    }

    #[test]
    fn b35_exclusive_mode_is_explained() {
        let mut host = host();
        host.system.netns_mode = NetnsMode::Exclusive;
        let status = of(&host);
        let condition = condition_of(&status, condition::NAMESPACE_MODE);
        assert_eq!(condition.reason, "NeedsRdmaCni");
        assert!(condition.message.contains("ib_core.netns_mode=1"));
    }

    #[test]
    fn a_huge_status_loses_its_gids_and_says_so() {
        let mut host = host();
        let gid = |index| Gid {
            index,
            gid: "2001:db8::1".parse().unwrap(),
            gid_type: GidType::RoceV2,
            scope: GidScope::Global,
            netdev: Some("eth0".into()),
        };
        host.devices[0].ports[0].gids = (0..8192).map(gid).collect();
        let status = of(&host);
        assert_eq!(status.truncated, Some(true));
        assert!(serde_json::to_vec(&status).unwrap().len() < MAX_BYTES);
        host.devices[0].ports[0].gids.truncate(4);
        assert_eq!(of(&host).truncated, None);
    }

    #[test]
    fn a_device_says_whether_it_can_be_isolated() {
        let status = of(&host());
        let isolation = &status.devices.unwrap()[0].isolation;
        assert!(!isolation.isolated);
        assert_eq!((isolation.reason.as_str(), isolation.confidence.as_str()), ("KernelTooOld", "Known"));
    }
}
