//! What happens to a host that nobody asked its kernel for over NETLINK_RDMA.

use super::answer::Answer;
use super::effects::Effects;
use super::soft;
use super::state::State;
use super::{Shared, Simulator};
use crate::inventory::Change;
use crate::machine::document::{Device, Fault, Netdev};
use crate::nl::packet::{NldevAttribute as A, NldevCommand, NldevMessage};

impl Simulator {
    fn change<T>(&self, change: impl FnOnce(&mut State, &mut Effects) -> T) -> T {
        let mut effects = Effects::default();
        let result = change(&mut self.shared.state(), &mut effects);
        self.shared.tell(effects);
        result
    }

    /// A device comes: a function is plugged in, a VF is made. It gets the next index, which is given back.
    pub fn plug(&self, device: Device) -> u32 {
        self.change(|state, effects| {
            let device = Device { index: state.next_index, ..device };
            state.next_index += 1;
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
            let Some(index) = state.named(name).map(|device| device.index) else { return false };
            let Some(device) = state.remove_device(index) else { return false };
            effects.unregistered(state.release, &device);
            true
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
                None => netdevs.push(netdev),
            }
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
                    effects.netdev_renamed(state.release, netdev);
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
                *state.contexts.entry(index).or_default() += count;
            }
        });
    }

    /// They close it; what waits for that goes on.
    pub fn close_contexts(&self, device: &str) {
        self.change(|state, effects| {
            if let Some(index) = state.named(device).map(|device| device.index) {
                state.contexts.remove(&index);
            }
            for name in std::mem::take(&mut state.leaving) {
                if !leave(state, &name, effects) {
                    state.leaving.insert(name);
                }
            }
        });
        let Shared { freed, freed_async, .. } = &*self.shared;
        freed.notify_all();
        freed_async.notify_waiters();
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

    /// All files can be read again.
    pub fn clear_faults(&self) {
        self.change(|state, _| state.machine.faults.clear());
    }

    /// A device's verbs node gets another number, as after a driver reload; false when there is none.
    pub fn renumber_uverbs(&self, device: &str, number: u32) -> bool {
        self.change(|state, effects| {
            let device = state.machine.devices.iter_mut().find(|known| known.name == device);
            let Some(node) = device.and_then(|device| device.uverbs.as_mut()) else { return false };
            node.name = format!("uverbs{number}");
            node.dev = format!("231:{}", 192 + number);
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

/// Takes a netdev away, and what stands on it; false when the kernel has to wait.
fn leave(state: &mut State, name: &str, effects: &mut Effects) -> bool {
    let Some(netdev) = state.netdev(name).cloned() else { return true };
    let on = |device: &&Device| device.ports.iter().any(|port| port.netdev.as_deref() == Some(name));
    let soft: Vec<u32> =
        state.machine.devices.iter().filter(|d| d.removable && on(d)).map(|device| device.index).collect();
    if state.machine.devices.iter().any(|d| soft.contains(&d.index) && state.waits_for_users(d)) {
        return false;
    }
    for index in soft {
        if let Some(device) = state.remove_device(index) {
            effects.unregistered(state.release, &device);
        }
    }
    let children: Vec<String> = state
        .machine
        .netdevs
        .iter()
        .filter(|child| child.lower.as_deref() == Some(name))
        .map(|child| child.name.clone())
        .collect();
    for child in children {
        leave(state, &child, effects);
    }
    let release = state.release;
    for device in &mut state.machine.devices {
        let ports: Vec<u32> =
            device.ports.iter().filter(|p| p.netdev.as_deref() == Some(name)).map(|p| p.number).collect();
        for number in ports {
            effects.detached(release, device, number);
            if let Some(port) = device.ports.iter_mut().find(|port| port.number == number) {
                port.netdev = None;
                port.gids.retain(|gid| gid.netdev.as_deref() != Some(name));
            }
        }
    }
    state.machine.netdevs.retain(|known| known.name != name);
    effects.changes.push(Change::LinkGone(netdev.index));
    soft::follow_netdevs(state);
    true
}
