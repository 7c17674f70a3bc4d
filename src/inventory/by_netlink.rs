//! One device as NETLINK_RDMA and sysfs show it together.

use super::chardev;
use super::collect::{driver_name, identity, is_soft};
use super::model::{Device, Driver, Port};
use super::movable::movable;
use super::reading::Reading;
use crate::nl;

/// Reads devices one by one.
pub(super) struct ByNetlink<'a> {
    pub(super) handle: &'a nl::Handle,
    pub(super) reading: Reading<'a>,
}

impl ByNetlink<'_> {
    /// A device read anew, but for its tables where they are known and not dirty, and at a resync for what stays
    /// the same while it lives.
    pub(super) async fn device(&mut self, device: nl::Device, known: Option<&Device>) -> Device {
        let name = device.name;
        let reading = &mut self.reading;
        let fixed = reading.fixed(known, &name);
        let (pci, parent) = match fixed {
            Some(fixed) => (fixed.pci.clone(), fixed.parent_netdev.clone()),
            None => {
                let pci = reading.problems.ok(Some(&name), reading.sysfs.pci(&name)).flatten();
                (pci, reading.file(&name, "parent"))
            }
        };
        let (uverbs, driver_id) = match fixed {
            Some(fixed) if reading.same_nodes => (fixed.uverbs.clone(), None),
            _ => {
                let node = chardev::uverbs(self.handle, reading.sysfs, device.index, &name).await;
                reading.problems.ok(Some(&name), node).flatten().unzip()
            }
        };
        let driver = match (fixed, driver_id.flatten()) {
            (Some(fixed), None) => fixed.driver.clone(),
            (_, id) => {
                let module = reading.sysfs.driver_module(&name);
                let protocol = device.protocol.as_deref();
                let name = driver_name(reading.sysfs, id, module.as_deref(), parent.is_some(), protocol);
                Driver { name, module }
            }
        };
        let mut ports = Vec::new();
        for number in 1..=device.port_count {
            ports.push(self.port(device.index, &name, number, known, fixed).await);
        }
        let soft = is_soft(&driver.name);
        let netdev = ports.first().and_then(|port: &Port| port.netdev.clone());
        Device {
            index: device.index,
            identity: identity(pci.as_ref(), device.node_guid, soft, &name),
            movable: movable(&driver.name, self.reading.release),
            driver,
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

    /// A known device of which at most port states and tables are dirty.
    pub(super) async fn refreshed(&mut self, known: &Device) -> Device {
        let mut device = self.reading.keep(known);
        for port in &mut device.ports {
            if self.reading.dirty.ports.contains(&(known.index, port.number)) {
                let answer = self.handle.port(known.index).get(port.number).await;
                set_state(port, self.reading.problems.ok(Some(&known.name), answer).as_ref());
            }
            if self.reading.dirty.has_gids_of(known.index) {
                (port.gids, port.pkeys) = self.reading.tables(&known.name, port.number, Some(port));
            }
        }
        device
    }

    async fn port(
        &mut self,
        index: u32,
        device: &str,
        number: u32,
        known: Option<&Device>,
        fixed: Option<&Device>,
    ) -> Port {
        let answer = self.handle.port(index).get(number).await;
        let answer = self.reading.problems.ok(Some(device), answer);
        let mut port = Port {
            lid: answer.as_ref().and_then(|port| port.lid),
            sm_lid: answer.as_ref().and_then(|port| port.sm_lid),
            lmc: answer.as_ref().and_then(|port| port.lmc),
            subnet_prefix: answer.as_ref().and_then(|port| port.subnet_prefix),
            ..self.reading.port(device, number, known, fixed)
        };
        set_state(&mut port, answer.as_ref());
        port
    }
}

fn set_state(port: &mut Port, answer: Option<&nl::Port>) {
    port.state = answer.and_then(|port| port.state).map(|state| state.as_str().to_owned());
    port.phys_state = answer.and_then(|port| port.phys_state).map(|state| state.as_str().to_owned());
    port.netdev = answer.and_then(|port| port.netdev_name.clone());
}
