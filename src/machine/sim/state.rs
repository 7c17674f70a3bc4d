//! What a simulated kernel knows: the document, and what a document does not have.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::effects::Effects;
use super::release::Release;
use super::world;
use crate::machine::document::{Device, Machine, Netdev, NetnsMode, Port};

/// Modules that can be loaded on demand, and the type of link they bring.
const LINK_MODULES: [(&str, &str); 2] = [("rxe", "rdma_rxe"), ("siw", "siw")];
/// `xa_limit_31b`: the last index the kernel gives to a device.
const LAST_INDEX: u32 = i32::MAX as u32;
/// `IB_UVERBS_NUM_FIXED_MINOR` and `IB_UMAD_NUM_FIXED_MINOR`: nodes beyond have a major number of their own.
const FIXED_UVERBS: u32 = 32;
const FIXED_UMAD: u32 = 64;
/// Majors that `alloc_chrdev_region` gives where the lower ones are taken, as recorded.
const DYNAMIC_UVERBS: u32 = 511;
const DYNAMIC_UMAD: u32 = 510;

/// The state, changed by requests and by the world.
#[derive(Debug)]
pub(super) struct State {
    pub(super) machine: Machine,
    pub(super) release: Release,
    /// Where the search for the next device's index begins.
    next_index: u32,
    /// Open user contexts by device index.
    pub(super) contexts: HashMap<u32, u32>,
    /// Devices moved to another network namespace, by index.
    pub(super) elsewhere: BTreeSet<u32>,
    /// Modules that are not installed.
    pub(super) missing_modules: BTreeSet<String>,
    /// Automatic QP counter mode by (device index, port): its mask, and whether it takes optional counters along.
    pub(super) counter_modes: BTreeMap<(u32, u32), (u32, bool)>,
    /// Devices that DELLINK or the end of a netdev takes away once nobody has them open: in no list any more, but
    /// there for who knows the index.
    dying: BTreeSet<u32>,
    /// Reads of files that fail after some that do not.
    pub(super) late_faults: Vec<LateFault>,
    /// Netdevs that are to go once their devices are free.
    pub(super) leaving: BTreeSet<String>,
}

/// A file whose reads fail from one on.
#[derive(Debug)]
pub(super) struct LateFault {
    pub(super) path: String,
    pub(super) errno: i32,
    /// Reads that still succeed.
    pub(super) spared: u32,
}

impl State {
    pub(super) fn new(machine: Machine) -> Self {
        let last = machine.devices.iter().map(|device| device.index).max();
        Self {
            release: Release::of(&machine.kernel.release),
            next_index: last.map_or(0, |last| last.saturating_add(1)),
            contexts: HashMap::new(),
            elsewhere: BTreeSet::new(),
            missing_modules: BTreeSet::new(),
            counter_modes: BTreeMap::new(),
            dying: BTreeSet::new(),
            late_faults: Vec::new(),
            leaving: BTreeSet::new(),
            machine,
        }
    }

    /// `xa_alloc_cyclic`: the next index that no device has.
    pub(super) fn take_index(&mut self) -> u32 {
        let start = if self.next_index > LAST_INDEX { 0 } else { self.next_index };
        let free = |index: &u32| self.machine.devices.iter().all(|device| device.index != *index);
        let index = (start..=LAST_INDEX).chain(0..start).find(free).unwrap_or(start);
        self.next_index = index.saturating_add(1);
        index
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
        match name {
            "ib_umad" => self.make_umad(),
            "rdma_ucm" if !self.machine.char_devices.iter().any(|node| node == "rdma_cm") => {
                self.machine.char_devices.push("rdma_cm".to_owned());
            }
            _ => {}
        }
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

    /// What lists show.
    pub(super) fn listed(&self) -> impl Iterator<Item = &Device> {
        self.visible().filter(|device| !self.dying.contains(&device.index))
    }

    /// A device of this index, wherever it is.
    pub(super) fn exists(&self, index: u32) -> bool {
        self.machine.devices.iter().any(|device| device.index == index)
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

    /// `__ib_device_get_by_name`: the device that keeps another from getting this name.
    pub(super) fn holder_of(&self, name: &str) -> Option<&Device> {
        if self.release.has_names_of_all_namespaces() {
            return self.machine.devices.iter().find(|device| device.name == name);
        }
        self.named(name)
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
        let opened = self.contexts.get(&device.index).copied().unwrap_or(0);
        u32::try_from(recorded).unwrap_or(u32::MAX).saturating_add(opened)
    }

    /// True while DELLINK of this device would wait for its users.
    pub(super) fn waits_for_users(&self, device: &Device) -> bool {
        let takes = is_rxe(device) && self.release.rxe_disassociates();
        !takes && self.context_count(device) > 0
    }

    /// `disable_device` until it waits: no list has the device, its verbs node is gone. True when that is new.
    pub(super) fn begin_removal(&mut self, index: u32) -> bool {
        if let Some(device) = self.machine.devices.iter_mut().find(|device| device.index == index) {
            device.uverbs = None;
        }
        self.dying.insert(index)
    }

    /// Brings to an end what has waited for users that are gone.
    pub(super) fn settle(&mut self, effects: &mut Effects) {
        let free = |device: &&Device| self.dying.contains(&device.index) && self.context_count(device) == 0;
        let free: Vec<u32> = self.machine.devices.iter().filter(free).map(|device| device.index).collect();
        for index in free {
            self.unregister(index, effects);
        }
        for name in std::mem::take(&mut self.leaving) {
            if !world::leave(self, &name, effects) {
                self.leaving.insert(name);
            }
        }
    }

    /// Takes a device away and tells of it those of its namespace; false when there is none.
    pub(super) fn unregister(&mut self, index: u32, effects: &mut Effects) -> bool {
        let Some(place) = self.machine.devices.iter().position(|device| device.index == index) else {
            return false;
        };
        let visible = self.device(index).is_some();
        let device = self.machine.devices.remove(place);
        // Its sub-devices go first; those of a document may be each other's parents.
        let of_it = |sub: &&Device| sub.device_type.is_some() && sub.parent.as_ref() == Some(&device.name);
        let subs: Vec<u32> = self.machine.devices.iter().filter(of_it).map(|sub| sub.index).collect();
        for sub in subs {
            self.unregister(sub, effects);
        }
        self.contexts.remove(&index);
        self.elsewhere.remove(&index);
        self.dying.remove(&index);
        self.counter_modes.retain(|(of, _), _| *of != index);
        self.machine.resources.retain(|resources| resources.device != device.name);
        if visible {
            effects.unregistered(self.release, &device);
        }
        true
    }

    /// The lowest uverbs number that is free.
    pub(super) fn free_uverbs(&self) -> u32 {
        lowest_free(
            "uverbs",
            self.machine.devices.iter().filter_map(|device| Some(&device.uverbs.as_ref()?.name)),
        )
    }

    /// `ib_umad_add_one` for every rxe that has none yet; what hardware has the document says.
    pub(super) fn make_umad(&mut self) {
        for place in 0..self.machine.devices.len() {
            let ports = self.machine.devices.iter().flat_map(|device| &device.ports);
            let node = format!("umad{}", lowest_free("umad", ports.filter_map(|port| port.umad.as_ref())));
            let device = self.machine.devices.get_mut(place).filter(|device| is_rxe(device));
            if let Some(port) = device.and_then(|device| device.ports.first_mut()) {
                port.umad.get_or_insert(node);
            }
        }
    }
}

fn lowest_free<'a>(prefix: &str, taken: impl Iterator<Item = &'a String>) -> u32 {
    let taken: BTreeSet<u32> = taken.filter_map(|name| name.strip_prefix(prefix)?.parse().ok()).collect();
    (0..)
        .zip(&taken)
        .find(|(number, taken)| number != *taken)
        .map_or(u32::try_from(taken.len()).unwrap_or(u32::MAX), |(number, _)| number)
}

/// The device number of `uverbsN`.
pub(super) fn uverbs_device(number: u32) -> (u32, u32) {
    match number.checked_sub(FIXED_UVERBS) {
        None => (231, 192 + number),
        Some(beyond) => (DYNAMIC_UVERBS, beyond),
    }
}

/// The device number of `umadN`.
pub(super) fn umad_device(number: u32) -> (u32, u32) {
    match number.checked_sub(FIXED_UMAD) {
        None => (231, number),
        Some(beyond) => (DYNAMIC_UMAD, beyond),
    }
}

/// Only rxe has a `parent` file.
pub(super) fn is_rxe(device: &Device) -> bool {
    device.removable && device.parent_netdev.is_some()
}
