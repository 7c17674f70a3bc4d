//! Devices as sysfs alone shows them: where NETLINK_RDMA is refused (SELinux) or not there.

use std::collections::HashMap;

use super::collect::{driver_name, identity, is_soft};
use super::model::{Device, Driver, Port};
use super::movable::movable;
use super::reading::Reading;
use crate::nl::{Guid, NodeType, PhysState, PortState};
use crate::sysfs::{self, GidScope};

/// Where made-up indexes start; the kernel's own count from 0.
const FIRST: u32 = 1 << 31;

/// Indexes for devices whose real ones only netlink tells: a name keeps its own.
#[derive(Debug, Default)]
pub(super) struct Indexes(HashMap<String, u32>);

impl Indexes {
    pub(super) fn of(&mut self, name: &str) -> u32 {
        let next = FIRST.saturating_add(u32::try_from(self.0.len()).unwrap_or(FIRST));
        *self.0.entry(name.to_owned()).or_insert(next)
    }
}

/// Reads devices one by one.
pub(super) struct BySysfs<'a> {
    pub(super) reading: Reading<'a>,
}

impl BySysfs<'_> {
    /// A device read anew, but for its GIDs where they are known and not dirty.
    pub(super) fn device(&mut self, index: u32, name: &str, known: Option<&Device>) -> Device {
        let reading = &mut self.reading;
        let pci = reading.problems.ok(Some(name), reading.sysfs.pci(name)).flatten();
        let module = reading.sysfs.driver_module(name);
        let parent = reading.file(name, "parent");
        let node_type = reading.file(name, "node_type").as_deref().and_then(sysfs::named_number);
        let node_type = node_type.map(NodeType::from);
        // sysfs has no protocol; an RNIC that is no PCI function is siw.
        let protocol = (node_type == Some(NodeType::Rnic)).then(|| "iw".to_owned());
        let driver =
            driver_name(reading.sysfs, None, module.as_deref(), parent.is_some(), protocol.as_deref());
        let numbers = reading.problems.ok(Some(name), reading.sysfs.ports(name)).unwrap_or_default();
        let ports: Vec<Port> = numbers.into_iter().map(|number| self.port(name, number, known)).collect();
        let reading = &mut self.reading;
        let soft = is_soft(&driver);
        let netdev = ports.first().and_then(|port| port.netdev.clone());
        let node_guid = reading.file(name, "node_guid").and_then(|text| text.parse().ok());
        Device {
            index,
            name: name.to_owned(),
            identity: identity(pci.as_ref(), node_guid, soft, name),
            movable: movable(&driver, reading.release),
            driver: Driver { name: driver, module },
            node_type: node_type.map_or("unknown", |node_type| node_type.as_str()).to_owned(),
            protocol,
            node_guid,
            sys_image_guid: reading.file(name, "sys_image_guid").and_then(|text| text.parse().ok()),
            firmware: reading.file(name, "fw_ver").filter(|text| !text.is_empty()),
            pci,
            parent_netdev: if soft { parent.or(netdev) } else { None },
            uverbs: reading.problems.ok(Some(name), reading.sysfs.uverbs(name)).flatten(),
            ports,
            ..Device::default()
        }
    }

    /// A known device of which at most port states and tables are dirty.
    pub(super) fn refreshed(&mut self, known: &Device) -> Device {
        let mut device = self.reading.keep(known);
        for port in &mut device.ports {
            if self.reading.dirty.ports.contains(&(known.index, port.number)) {
                self.set_state(&known.name, port);
            }
            if self.reading.dirty.has_gids_of(known.index) {
                (port.gids, port.pkeys) = self.reading.tables(&known.name, port.number, Some(port));
            }
        }
        device
    }

    fn port(&mut self, device: &str, number: u32, known: Option<&Device>) -> Port {
        let reading = &mut self.reading;
        let mut port = reading.port(device, number, known, None);
        let mut local = |name| reading.port_file(device, number, name).as_deref().and_then(sysfs::number);
        (port.lid, port.sm_lid) = (local("lid"), local("sm_lid"));
        port.lmc = local("lid_mask_count").and_then(|lmc| u8::try_from(lmc).ok());
        // The port's netdev is that of its first slot: of a child's slots the first comes later.
        port.netdev = port.gids.first().and_then(|gid| gid.netdev.clone());
        if port.link_layer.as_deref() == Some("InfiniBand") {
            let own = port.gids.iter().find(|gid| gid.scope == GidScope::LinkLocal).or(port.gids.first());
            port.subnet_prefix = own.and_then(|gid| u64::try_from(gid.gid.to_bits() >> 64).ok()).map(Guid);
        }
        self.set_state(device, &mut port);
        port
    }

    fn set_state(&mut self, device: &str, port: &mut Port) {
        let mut state =
            |name| self.reading.port_file(device, port.number, name).as_deref().and_then(sysfs::named_number);
        let (logical, physical) = (state("state"), state("phys_state"));
        port.state = logical.map(|state| PortState::from(state).as_str().to_owned());
        port.phys_state = physical.map(|state| PhysState::from(state).as_str().to_owned());
    }
}
