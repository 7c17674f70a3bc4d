//! What a simulated kernel knows: the document, and what a document does not have.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::release::Release;
use crate::machine::document::{Device, Machine, Netdev, NetnsMode, Port};

/// Modules that can be loaded on demand, and the type of link they bring.
const LINK_MODULES: [(&str, &str); 2] = [("rxe", "rdma_rxe"), ("siw", "siw")];

/// The state, changed by requests and by the world.
#[derive(Debug)]
pub(super) struct State {
    pub(super) machine: Machine,
    pub(super) release: Release,
    /// The index the next device gets.
    pub(super) next_index: u32,
    /// Open user contexts by device index.
    pub(super) contexts: HashMap<u32, u32>,
    /// Devices moved to another network namespace, by index.
    pub(super) elsewhere: BTreeSet<u32>,
    /// Modules that are not installed.
    pub(super) missing_modules: BTreeSet<String>,
    /// QP counter mode by (device index, port): the mask of the automatic mode.
    pub(super) counter_modes: BTreeMap<(u32, u32), u32>,
    /// Netdevs that are to go once their devices are free.
    pub(super) leaving: BTreeSet<String>,
}

impl State {
    pub(super) fn new(machine: Machine) -> Self {
        let next_index = machine.devices.iter().map(|device| device.index + 1).max().unwrap_or(0);
        Self {
            release: Release::of(&machine.kernel.release),
            next_index,
            contexts: HashMap::new(),
            elsewhere: BTreeSet::new(),
            missing_modules: BTreeSet::new(),
            counter_modes: BTreeMap::new(),
            leaving: BTreeSet::new(),
            machine,
        }
    }

    /// ib_core is there.
    pub(super) fn has_rdma(&self) -> bool {
        !self.machine.devices.is_empty() || self.has_module("ib_core")
    }

    pub(super) fn has_module(&self, name: &str) -> bool {
        self.machine.kernel.modules.iter().any(|module| module == name)
    }

    /// `request_module`: true when it is loaded then.
    pub(super) fn load_module(&mut self, name: &str) -> bool {
        if self.has_module(name) {
            return true;
        }
        if self.missing_modules.contains(name) {
            return false;
        }
        self.machine.kernel.modules.push(name.to_owned());
        true
    }

    /// The module of a link type.
    pub(super) fn link_module(kind: &str) -> Option<&'static str> {
        LINK_MODULES.iter().find(|(known, _)| *known == kind).map(|(_, module)| *module)
    }

    /// In exclusive mode a socket of the initial namespace sees the devices of that namespace.
    pub(super) fn visible(&self) -> impl Iterator<Item = &Device> {
        let all = self.machine.kernel.netns_mode != Some(NetnsMode::Exclusive);
        self.machine.devices.iter().filter(move |device| all || !self.elsewhere.contains(&device.index))
    }

    pub(super) fn device(&self, index: u32) -> Option<&Device> {
        self.visible().find(|device| device.index == index)
    }

    pub(super) fn device_mut(&mut self, index: u32) -> Option<&mut Device> {
        self.device(index)?;
        self.machine.devices.iter_mut().find(|device| device.index == index)
    }

    pub(super) fn named(&self, name: &str) -> Option<&Device> {
        self.visible().find(|device| device.name == name)
    }

    pub(super) fn port(&self, index: u32, number: u32) -> Option<(&Device, &Port)> {
        let device = self.device(index)?;
        Some((device, device.ports.iter().find(|port| port.number == number)?))
    }

    pub(super) fn netdev(&self, name: &str) -> Option<&Netdev> {
        self.machine.netdevs.iter().find(|netdev| netdev.name == name)
    }

    /// Open contexts of a device: those of the document's resources, and those opened since.
    pub(super) fn context_count(&self, device: &Device) -> u32 {
        let recorded = self.machine.resources.iter().find(|resources| resources.device == device.name);
        let recorded = recorded.map_or(0, |resources| resources.ctxs.len());
        u32::try_from(recorded).unwrap_or(0) + self.contexts.get(&device.index).copied().unwrap_or(0)
    }

    /// True while DELLINK of this device would wait for its users.
    pub(super) fn waits_for_users(&self, device: &Device) -> bool {
        let takes = is_rxe(device) && self.release.rxe_disassociates();
        !takes && self.context_count(device) > 0
    }

    /// Takes a device away.
    pub(super) fn remove_device(&mut self, index: u32) -> Option<Device> {
        let place = self.machine.devices.iter().position(|device| device.index == index)?;
        let device = self.machine.devices.remove(place);
        self.contexts.remove(&index);
        self.elsewhere.remove(&index);
        self.machine.resources.retain(|resources| resources.device != device.name);
        Some(device)
    }

    /// The lowest uverbs number that is free.
    pub(super) fn free_uverbs(&self) -> u32 {
        let taken = |number: &u32| {
            let name = format!("uverbs{number}");
            self.machine.devices.iter().any(|d| d.uverbs.as_ref().is_some_and(|node| node.name == name))
        };
        (0..).find(|number| !taken(number)).unwrap_or_default()
    }
}

/// Only rxe has a `parent` file.
pub(super) fn is_rxe(device: &Device) -> bool {
    device.removable && device.parent_netdev.is_some()
}
