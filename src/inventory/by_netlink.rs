//! One device as NETLINK_RDMA and sysfs show it together.

use super::chardev;
use super::collect::{driver, identity, is_soft, known_gids};
use super::dirty::Dirty;
use super::model::{Device, Driver, Port};
use super::movable::movable;
use super::problems::Problems;
use crate::nl;
use crate::sysfs::Sysfs;

/// Reads devices one by one.
pub(super) struct ByNetlink<'a> {
    pub(super) handle: &'a nl::Handle,
    pub(super) sysfs: &'a Sysfs,
    pub(super) release: &'a str,
    pub(super) dirty: &'a Dirty,
    pub(super) problems: &'a mut Problems,
}

impl ByNetlink<'_> {
    /// A device read anew, but for its GIDs where they are known and not dirty.
    pub(super) async fn device(&mut self, device: nl::Device, known: Option<&Device>) -> Device {
        let name = device.name;
        let pci = self.problems.ok(Some(&name), self.sysfs.pci(&name)).flatten();
        let node = chardev::uverbs(self.handle, self.sysfs, device.index, &name).await;
        let (uverbs, driver_id) = self.problems.ok(Some(&name), node).flatten().unzip();
        let module = self.sysfs.driver_module(&name);
        let parent = self.problems.ok(Some(&name), self.sysfs.device_file(&name, "parent")).flatten();
        let driver_name = driver(
            self.sysfs,
            driver_id.flatten(),
            module.as_deref(),
            parent.is_some(),
            device.protocol.as_deref(),
        );
        let mut ports = Vec::new();
        for number in 1..=device.port_count {
            let gids = known_gids(known, number, self.dirty);
            ports.push(self.port(device.index, &name, number, gids).await);
        }
        let soft = is_soft(&driver_name);
        let netdev = ports.first().and_then(|port: &Port| port.netdev.clone());
        Device {
            index: device.index,
            identity: identity(pci.as_ref(), device.node_guid, soft, &name),
            movable: movable(&driver_name, self.release),
            driver: Driver { name: driver_name, module },
            node_type: device.node_type.map_or("unknown", |node_type| node_type.as_str()).to_owned(),
            protocol: device.protocol,
            node_guid: device.node_guid,
            sys_image_guid: device.sys_image_guid,
            firmware: device.firmware,
            cap_flags: device.cap_flags,
            pci,
            parent_netdev: if soft { parent.or(netdev) } else { None },
            device_type: device.device_type.map(|kind| kind.as_str().to_owned()),
            parent: device.parent,
            uverbs,
            ports,
            name,
            ..Device::default()
        }
    }

    /// A known device of which at most port states and GIDs are dirty.
    pub(super) async fn refresh(&mut self, device: &mut Device) {
        let (index, name) = (device.index, &device.name);
        for port in &mut device.ports {
            if self.dirty.ports.contains(&(index, port.number)) {
                let answer = self.handle.port(index).get(port.number).await;
                set_state(port, self.problems.ok(Some(name), answer).as_ref());
            }
            if self.dirty.has_gids_of(index) {
                port.gids = gids(self.sysfs, self.problems, name, port.number);
            }
        }
    }

    async fn port(
        &mut self,
        index: u32,
        device: &str,
        number: u32,
        known: Option<Vec<crate::sysfs::Gid>>,
    ) -> Port {
        let answer = self.handle.port(index).get(number).await;
        let answer = self.problems.ok(Some(device), answer);
        let mut port = Port {
            lid: answer.as_ref().and_then(|port| port.lid),
            sm_lid: answer.as_ref().and_then(|port| port.sm_lid),
            lmc: answer.as_ref().and_then(|port| port.lmc),
            subnet_prefix: answer.as_ref().and_then(|port| port.subnet_prefix),
            ..port_of_sysfs(self.sysfs, self.problems, device, number, known)
        };
        set_state(&mut port, answer.as_ref());
        port
    }
}

/// What only sysfs tells of a port.
pub(super) fn port_of_sysfs(
    sysfs: &Sysfs,
    problems: &mut Problems,
    device: &str,
    number: u32,
    known: Option<Vec<crate::sysfs::Gid>>,
) -> Port {
    let name = Some(device);
    let (umad, issm) = problems.ok(name, sysfs.mad_nodes(device, number)).unwrap_or_default();
    Port {
        number,
        link_layer: problems.ok(name, sysfs.port_file(device, number, "link_layer")).flatten(),
        rate: problems.ok(name, sysfs.port_file(device, number, "rate")).flatten(),
        gids: known.unwrap_or_else(|| gids(sysfs, problems, device, number)),
        pkeys: problems.ok(name, sysfs.pkeys(device, number)).unwrap_or_default(),
        umad,
        issm,
        ..Port::default()
    }
}

/// The filled slots of a GID table that can be read.
pub(super) fn gids(
    sysfs: &Sysfs,
    problems: &mut Problems,
    device: &str,
    port: u32,
) -> Vec<crate::sysfs::Gid> {
    let (gids, failures) = sysfs.gids(device, port);
    failures.iter().for_each(|failure| problems.note(Some(device), failure));
    gids
}

fn set_state(port: &mut Port, answer: Option<&nl::Port>) {
    port.state = answer.and_then(|port| port.state).map(|state| state.as_str().to_owned());
    port.phys_state = answer.and_then(|port| port.phys_state).map(|state| state.as_str().to_owned());
    port.netdev = answer.and_then(|port| port.netdev_name.clone());
}
