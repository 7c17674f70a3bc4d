//! What happens to a host that nobody asked its kernel for over NETLINK_RDMA.

use std::collections::BTreeSet;

use super::Simulator;
use super::answer::Answer;
use super::effects::Effects;
use super::soft;
use super::state::{LateFault, State, uverbs_device};
use crate::inventory::Change;
use crate::machine::document::{Device, Fault, Netdev, NetdevKind, Port};
use crate::nl::packet::{NldevAttribute as A, NldevCommand, NldevMessage};

impl Simulator {
    fn change<T>(&self, change: impl FnOnce(&mut State, &mut Effects) -> T) -> T {
        self.shared.change(change)
    }

    /// A device comes: a function is plugged in, a VF is made. It gets the next index, which is given back.
    pub fn plug(&self, device: Device) -> u32 {
        self.change(|state, effects| {
            let device = Device { index: state.take_index(), ..device };
            effects.registered(state.release, &device, &state.machine.netdevs);
            let index = device.index;
            state.machine.devices.push(device);
            index
        })
    }

    /// Somebody makes a soft link, as `rdma link add` does; the errno when that is refused.
    ///
    /// # Errors
    /// As NEWLINK.
    pub fn make_link(&self, name: &str, kind: &str, netdev: &str) -> Result<(), i32> {
        let attributes = vec![A::DevName(name.into()), A::LinkType(kind.into()), A::NdevName(netdev.into())];
        let request = NldevMessage::new(NldevCommand::NewLink, attributes);
        match self.change(|state, effects| state.new_link(&request, effects)) {
            Answer::Refused(errno, _) => Err(errno),
            _ => Ok(()),
        }
    }

    /// A device goes, whoever uses it; false when there is none of that name.
    pub fn unplug(&self, name: &str) -> bool {
        self.change(|state, effects| {
            let index = state.machine.devices.iter().find(|device| device.name == name).map(|d| d.index);
            index.is_some_and(|index| state.unregister(index, effects))
        })
    }

    /// A port's state changes; no kernel sends an event for that.
    pub fn set_port(&self, device: &str, port: u32, state: &str, phys_state: &str) {
        self.change(|kernel, _| {
            let device = kernel.machine.devices.iter_mut().find(|known| known.name == device);
            let port = device.and_then(|device| device.ports.iter_mut().find(|known| known.number == port));
            if let Some(port) = port {
                state.clone_into(&mut port.state);
                phys_state.clone_into(&mut port.phys_state);
            }
        });
    }

    /// A netdev comes, or changes: its flags, its MTU, what it is part of.
    pub fn set_netdev(&self, netdev: Netdev) {
        self.change(|state, effects| {
            effects.changes.push(Change::Link(netdev.index));
            let netdevs = &mut state.machine.netdevs;
            match netdevs.iter_mut().find(|known| known.name == netdev.name) {
                Some(known) => *known = netdev,
                None => {
                    netdevs.push(netdev.clone());
                    attach(state, &netdev, effects);
                }
            }
            veth_carriers(state);
            soft::follow_netdevs(state);
        });
    }

    /// A netdev goes and takes its soft devices and VLANs along. Where the kernel has to wait for users of a soft
    /// device it stays until they are gone, and the answer is false.
    pub fn remove_netdev(&self, name: &str) -> bool {
        self.change(|state, effects| {
            let gone = leave(state, name, effects);
            if !gone {
                state.leaving.insert(name.to_owned());
            }
            gone
        })
    }

    /// A netdev gets another name.
    pub fn rename_netdev(&self, name: &str, to: &str) {
        self.change(|state, effects| {
            let rename = |text: &mut Option<String>| {
                if text.as_deref() == Some(name) {
                    *text = Some(to.to_owned());
                }
            };
            for netdev in &mut state.machine.netdevs {
                rename(&mut netdev.master);
                rename(&mut netdev.lower);
                if netdev.name == name {
                    to.clone_into(&mut netdev.name);
                    let port = |port: &Port| port.netdev.as_deref() == Some(name);
                    let attached = state.machine.devices.iter().any(|device| device.ports.iter().any(port));
                    effects.netdev_renamed(state.release, netdev, attached);
                }
            }
            for device in &mut state.machine.devices {
                rename(&mut device.parent_netdev);
                for port in &mut device.ports {
                    rename(&mut port.netdev);
                    port.gids.iter_mut().for_each(|gid| rename(&mut gid.netdev));
                }
            }
        });
    }

    /// A netdev gets an address (`192.0.2.1/24`), and soft devices the GID.
    pub fn add_address(&self, netdev: &str, address: &str) {
        self.addresses(netdev, |addresses| addresses.push(address.to_owned()));
    }

    /// A netdev loses an address.
    pub fn remove_address(&self, netdev: &str, address: &str) {
        self.addresses(netdev, |addresses| addresses.retain(|known| known != address));
    }

    fn addresses(&self, netdev: &str, change: impl FnOnce(&mut Vec<String>)) {
        self.change(|state, effects| {
            let Some(netdev) = state.machine.netdevs.iter_mut().find(|known| known.name == netdev) else {
                return;
            };
            change(&mut netdev.addresses);
            effects.changes.push(Change::Address(netdev.index));
            soft::follow_netdevs(state);
        });
    }

    /// Processes open a device, so many times.
    pub fn open_contexts(&self, device: &str, count: u32) {
        self.change(|state, _| {
            if let Some(index) = state.named(device).map(|device| device.index) {
                let open = state.contexts.entry(index).or_default();
                *open = open.saturating_add(count);
            }
        });
    }

    /// They close it, and those that the document knows; what waits for that goes on.
    pub fn close_contexts(&self, device: &str) {
        self.change(|state, effects| {
            let index = state.machine.devices.iter().find(|known| known.name == device).map(|d| d.index);
            let Some(index) = index else { return };
            state.contexts.remove(&index);
            for resources in state.machine.resources.iter_mut().filter(|known| known.device == device) {
                resources.ctxs.clear();
            }
            effects.changes.push(Change::Device);
        });
    }

    /// A module is to be loaded; false when it is not there.
    pub fn load_module(&self, name: &str) -> bool {
        self.change(|state, _| state.load_module(name))
    }

    /// A module is neither loaded nor there to be loaded.
    pub fn forbid_module(&self, name: &str) {
        self.change(|state, _| {
            state.machine.kernel.modules.retain(|module| module != name);
            state.missing_modules.insert(name.to_owned());
        });
    }

    /// Reading a file fails from now on: `class/infiniband/mlx5_0/fw_ver`, `EIO`.
    pub fn add_fault(&self, path: &str, errno: &str) {
        let fault = Fault { path: path.to_owned(), errno: errno.to_owned() };
        self.change(|state, _| state.machine.faults.push(fault));
    }

    /// Reading a file fails after `spared` reads of it from now on.
    pub fn add_late_fault(&self, path: &str, errno: i32, spared: u32) {
        let fault = LateFault { path: path.to_owned(), errno, spared };
        self.change(|state, _| state.late_faults.push(fault));
    }

    /// All files can be read again.
    pub fn clear_faults(&self) {
        self.change(|state, _| {
            state.machine.faults.clear();
            state.late_faults.clear();
        });
    }

    /// A device's verbs node gets another number, as after a driver reload; false when there is none.
    pub fn renumber_uverbs(&self, device: &str, number: u32) -> bool {
        self.change(|state, effects| {
            let device = state.machine.devices.iter_mut().find(|known| known.name == device);
            let Some(node) = device.and_then(|device| device.uverbs.as_mut()) else { return false };
            node.name = format!("uverbs{number}");
            let (major, minor) = uverbs_device(number);
            node.dev = format!("{major}:{minor}");
            effects.changes.push(Change::Device);
            true
        })
    }

    /// A global node below `/dev/infiniband` comes.
    pub fn add_char_device(&self, name: &str) {
        self.change(|state, effects| {
            state.machine.char_devices.push(name.to_owned());
            effects.changes.push(Change::Device);
        });
    }
}

/// An end of a veth has a carrier while both ends are up.
fn veth_carriers(state: &mut State) {
    let up = |netdev: &Netdev| netdev.kind == NetdevKind::Veth && netdev.up;
    let ups: BTreeSet<String> =
        state.machine.netdevs.iter().filter(|netdev| up(netdev)).map(|netdev| netdev.name.clone()).collect();
    for netdev in state.machine.netdevs.iter_mut().filter(|netdev| netdev.kind == NetdevKind::Veth) {
        // The other end may be in another namespace, where nobody knows it.
        if let Some(other) = &netdev.lower {
            netdev.carrier = netdev.up && ups.contains(other);
        }
    }
}

/// A netdev of a function that has come: the driver attaches it to the first port without one.
fn attach(state: &mut State, netdev: &Netdev, effects: &mut Effects) {
    let release = state.release;
    let Some(address) = &netdev.pci else { return };
    for device in &mut state.machine.devices {
        if device.pci.as_ref().is_none_or(|pci| pci.address != *address) {
            continue;
        }
        if let Some(port) = device.ports.iter_mut().find(|port| port.netdev.is_none()) {
            port.netdev = Some(netdev.name.clone());
            let port = port.clone();
            effects.attached(release, device, &port, std::slice::from_ref(netdev));
            return;
        }
    }
}

/// Takes a netdev away, and what stands on it; false when the kernel has to wait.
pub(super) fn leave(state: &mut State, name: &str, effects: &mut Effects) -> bool {
    // With what stands on it. The two ends of a veth stand on each other.
    let mut family: Vec<String> = state.netdev(name).map(|netdev| netdev.name.clone()).into_iter().collect();
    let mut next = 0;
    while let Some(lower) = family.get(next).cloned() {
        let on = |child: &&Netdev| child.lower.as_ref() == Some(&lower) && !family.contains(&child.name);
        let children: Vec<String> =
            state.machine.netdevs.iter().filter(on).map(|child| child.name.clone()).collect();
        family.extend(children);
        next += 1;
    }
    let of_family = |name: &Option<String>| name.as_ref().is_some_and(|name| family.contains(name));
    let on = |device: &&Device| device.removable && device.ports.iter().any(|port| of_family(&port.netdev));
    let soft: Vec<u32> = state.machine.devices.iter().filter(on).map(|device| device.index).collect();
    let mut held = false;
    for index in soft {
        let device = state.machine.devices.iter().find(|device| device.index == index);
        if device.is_some_and(|device| state.waits_for_users(device)) {
            held = true;
            if state.begin_removal(index) {
                effects.changes.push(Change::Device);
            }
        } else {
            state.unregister(index, effects);
        }
    }
    if held {
        return false;
    }
    let release = state.release;
    for device in &mut state.machine.devices {
        let mut lost = Vec::new();
        for port in &mut device.ports {
            if of_family(&port.netdev) {
                port.netdev = None;
                lost.push(port.number);
            }
            port.gids.retain(|gid| !of_family(&gid.netdev));
        }
        for number in lost {
            effects.detached(release, device, number);
        }
    }
    let gone = state.machine.netdevs.iter().filter(|netdev| family.contains(&netdev.name));
    effects.changes.extend(gone.map(|netdev| Change::LinkGone(netdev.index)));
    state.machine.netdevs.retain(|known| !family.contains(&known.name));
    soft::follow_netdevs(state);
    true
}
