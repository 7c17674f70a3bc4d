//! One device as NETLINK_RDMA and sysfs show it together.

use super::chardev;
use super::collect::{driver, identity, is_soft};
use super::dirty::Dirty;
use super::model::{Device, Driver, Inventory, Port};
use super::movable::movable;
use super::problems::Problems;
use crate::nl;
use crate::sysfs::{Gid, MadNodes, Sysfs};

/// Reads devices one by one.
pub(super) struct ByNetlink<'a> {
    pub(super) handle: &'a nl::Handle,
    pub(super) sysfs: &'a Sysfs,
    pub(super) release: &'a str,
    pub(super) dirty: &'a Dirty,
    pub(super) last: &'a Inventory,
    pub(super) problems: &'a mut Problems,
    pub(super) mad: Mad,
}

impl ByNetlink<'_> {
    /// A device read anew, but for its tables where they are known and not dirty, and at a resync for what stays
    /// the same while it lives.
    pub(super) async fn device(&mut self, device: nl::Device, known: Option<&Device>) -> Device {
        let name = device.name;
        let fixed = fixed(known, &name, self.dirty, self.last);
        let pci = match fixed {
            Some(fixed) => fixed.pci.clone(),
            None => self.problems.ok(Some(&name), self.sysfs.pci(&name)).flatten(),
        };
        let node = chardev::uverbs(self.handle, self.sysfs, device.index, &name).await;
        let (uverbs, driver_id) = self.problems.ok(Some(&name), node).flatten().unzip();
        let module = match fixed {
            Some(fixed) => fixed.driver.module.clone(),
            None => self.sysfs.driver_module(&name),
        };
        let parent = match fixed {
            Some(fixed) if !fixed.is_soft() => None,
            _ => self.problems.ok(Some(&name), self.sysfs.device_file(&name, "parent")).flatten(),
        };
        let driver_name = driver(
            self.sysfs,
            driver_id.flatten(),
            module.as_deref(),
            parent.is_some(),
            device.protocol.as_deref(),
        );
        let mut ports = Vec::new();
        for number in 1..=device.port_count {
            ports.push(self.port(device.index, &name, number, (known, fixed)).await);
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
                (port.gids, port.pkeys) = tables(self.sysfs, self.problems, name, port.number);
            }
        }
    }

    async fn port(
        &mut self,
        index: u32,
        device: &str,
        number: u32,
        known: (Option<&Device>, Option<&Device>),
    ) -> Port {
        let answer = self.handle.port(index).get(number).await;
        let answer = self.problems.ok(Some(device), answer);
        let mut port = Port {
            lid: answer.as_ref().and_then(|port| port.lid),
            sm_lid: answer.as_ref().and_then(|port| port.sm_lid),
            lmc: answer.as_ref().and_then(|port| port.lmc),
            subnet_prefix: answer.as_ref().and_then(|port| port.subnet_prefix),
            ..port_of_sysfs(self.sysfs, (self.problems, self.dirty, &mut self.mad), device, number, known)
        };
        set_state(&mut port, answer.as_ref());
        port
    }
}

/// The MAD nodes of all ports, read when the first is asked for.
#[derive(Default)]
pub(super) struct Mad(Option<MadNodes>);

impl Mad {
    fn of(
        &mut self,
        sysfs: &Sysfs,
        problems: &mut Problems,
        device: &str,
        port: u32,
    ) -> (Option<String>, Option<String>) {
        let nodes = self.0.get_or_insert_with(|| problems.ok(None, sysfs.mad_nodes()).unwrap_or_default());
        nodes.get(&(device.to_owned(), port)).cloned().unwrap_or_default()
    }
}

/// What stays the same while a device lives can be taken from the last inventory at a resync, unless something of
/// the device could not be read then.
pub(super) fn fixed<'a>(
    known: Option<&'a Device>,
    name: &str,
    dirty: &Dirty,
    last: &Inventory,
) -> Option<&'a Device> {
    let failed = || last.problems.iter().any(|problem| problem.device.as_deref() == Some(name));
    known.filter(|known| known.name == name && !dirty.devices.contains(&known.index) && !failed())
}

/// What only sysfs tells of a port. `known` is the device as it was, and the same where what stays the same is good.
pub(super) fn port_of_sysfs(
    sysfs: &Sysfs,
    (problems, dirty, mad): (&mut Problems, &Dirty, &mut Mad),
    device: &str,
    number: u32,
    (known, fixed): (Option<&Device>, Option<&Device>),
) -> Port {
    let name = Some(device);
    let port = |device: Option<&Device>| {
        device.and_then(|device| device.ports.iter().find(|port| port.number == number)).cloned()
    };
    let clean = port(known.filter(|known| !dirty.has_gids_of(known.index)));
    let (umad, issm) = mad.of(sysfs, problems, device, number);
    let link_layer = match port(fixed) {
        Some(fixed) => fixed.link_layer,
        None => problems.ok(name, sysfs.port_file(device, number, "link_layer")).flatten(),
    };
    let (gids, pkeys) = match clean {
        Some(clean) => (clean.gids, clean.pkeys),
        None => tables(sysfs, problems, device, number),
    };
    Port {
        number,
        link_layer,
        rate: problems.ok(name, sysfs.port_file(device, number, "rate")).flatten(),
        gids,
        pkeys,
        umad,
        issm,
        ..Port::default()
    }
}

/// The filled slots of a port's GID table that can be read, and its partition keys.
pub(super) fn tables(
    sysfs: &Sysfs,
    problems: &mut Problems,
    device: &str,
    port: u32,
) -> (Vec<Gid>, Vec<u16>) {
    let (gids, failures) = sysfs.gids(device, port);
    failures.iter().for_each(|failure| problems.note(Some(device), failure));
    (gids, problems.ok(Some(device), sysfs.pkeys(device, port)).unwrap_or_default())
}

fn set_state(port: &mut Port, answer: Option<&nl::Port>) {
    port.state = answer.and_then(|port| port.state).map(|state| state.as_str().to_owned());
    port.phys_state = answer.and_then(|port| port.phys_state).map(|state| state.as_str().to_owned());
    port.netdev = answer.and_then(|port| port.netdev_name.clone());
}
