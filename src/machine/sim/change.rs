//! Requests that change something.

use super::answer::{Answer, Done, Refused, Waits};
use super::effects::Effects;
use super::soft;
use super::state::State;
use crate::machine::document::{Device, NetdevKind, NetnsMode};
use crate::nl::errno::{EBUSY, EEXIST, EINVAL, ENFILE, ENODEV, EOPNOTSUPP, EPERM};
use crate::nl::packet::number::*;
use crate::nl::packet::{AttributeList, NldevMessage};

/// IB_DEVICE_NAME_MAX without its NUL.
const DEVICE_NAME: usize = 63;
/// The kernel copies NEWDEV's name into IFNAMSIZ bytes.
const SUB_DEVICE_NAME: usize = 15;
/// The kernel's words for a string that is too long.
const TOO_LONG: &str = "Attribute failed policy validation";

impl State {
    /// `nldev_set_doit`: one change a request.
    pub(super) fn set(&mut self, request: &NldevMessage, effects: &mut Effects) -> Answer {
        let Some(index) = request.get_u32(RDMA_NLDEV_ATTR_DEV_INDEX) else { return Refused(EINVAL, None) };
        let Some(device) = self.device(index) else { return Refused(EINVAL, None) };
        let (movable, wanted) = (device.movable, request.get_string(RDMA_NLDEV_ATTR_DEV_NAME));
        let moves = request.get_u32(RDMA_NLDEV_NET_NS_FD).is_some();
        if moves && (wanted.is_none() || self.release.moves_before_renaming()) {
            return self.move_device(index, movable, effects);
        }
        if let Some(wanted) = wanted {
            return self.rename(index, wanted, effects);
        }
        if let (Some(dim), Some(device)) = (request.get_u8(RDMA_NLDEV_ATTR_DEV_DIM), self.device_mut(index)) {
            if dim > 1 {
                return Refused(EINVAL, None);
            }
            device.adaptive_moderation = Some(dim == 1);
        }
        Done(Vec::new())
    }

    fn rename(&mut self, index: u32, wanted: String, effects: &mut Effects) -> Answer {
        if wanted.len() > DEVICE_NAME {
            return Refused(EINVAL, Some(TOO_LONG));
        }
        match self.named(&wanted) {
            Some(other) if other.index == index => return Done(Vec::new()),
            Some(_) => return Refused(EEXIST, None),
            None => {}
        }
        let release = self.release;
        let Some(device) = self.device_mut(index) else { return Refused(EINVAL, None) };
        let before = std::mem::replace(&mut device.name, wanted);
        effects.renamed(release, device);
        let after = device.name.clone();
        for resources in self.machine.resources.iter_mut().filter(|known| known.device == before) {
            resources.device.clone_from(&after);
        }
        Done(Vec::new())
    }

    fn move_device(&mut self, index: u32, movable: bool, effects: &mut Effects) -> Answer {
        let text = |text| self.release.explains_netns().then_some(text);
        if self.machine.kernel.netns_mode != Some(NetnsMode::Exclusive) {
            let why = "Cannot change net namespace of RDMA device in shared netns mode";
            return Refused(EOPNOTSUPP, text(why));
        }
        if !movable {
            let why = "Device does not support namespace changes (no disassociate support)";
            return Refused(EOPNOTSUPP, text(why));
        }
        // Its clients are removed and added again: users lose it, its nodes may get other numbers.
        self.contexts.remove(&index);
        self.elsewhere.insert(index);
        effects.changes.push(crate::inventory::Change::Device);
        Done(Vec::new())
    }

    /// `nldev_newlink`
    pub(super) fn new_link(&mut self, request: &NldevMessage, effects: &mut Effects) -> Answer {
        let text = |number| request.get_string(number);
        let attributes = (
            text(RDMA_NLDEV_ATTR_DEV_NAME),
            text(RDMA_NLDEV_ATTR_LINK_TYPE),
            text(RDMA_NLDEV_ATTR_NDEV_NAME),
        );
        let (Some(name), Some(kind), Some(netdev)) = attributes else { return Refused(EINVAL, None) };
        if name.len() > DEVICE_NAME {
            return Refused(EINVAL, Some(TOO_LONG));
        }
        if name.is_empty() || name.contains('%') {
            return Refused(EINVAL, None);
        }
        let Some(netdev) = self.netdev(&netdev).cloned() else { return Refused(ENODEV, None) };
        let loaded = Self::link_module(&kind).is_some_and(|module| self.load_module(module));
        if !loaded {
            return Refused(EINVAL, None);
        }
        let rxe = kind == "rxe";
        if rxe && netdev.kind == NetdevKind::Vlan {
            return Refused(EPERM, None);
        }
        if !rxe && netdev.kind == NetdevKind::Ipoib {
            return Refused(EINVAL, None);
        }
        let same = |device: &&Device| {
            device.removable
                && device.parent_netdev.is_some() == rxe
                && device.ports.iter().any(|port| port.netdev.as_deref() == Some(&*netdev.name))
        };
        if self.machine.devices.iter().any(|device| same(&device)) {
            return Refused(EEXIST, None);
        }
        if self.named(&name.replace('/', "!")).is_some() {
            return Refused(ENFILE, None);
        }
        let device = soft::device(self, &kind, &name, &netdev);
        self.next_index = self.next_index.saturating_add(1);
        self.machine.devices.push(device);
        soft::follow_netdevs(self);
        if let Some(device) = self.machine.devices.last() {
            effects.registered(self.release, device, &self.machine.netdevs);
        }
        Done(Vec::new())
    }

    /// `nldev_dellink`: only what NEWLINK made.
    pub(super) fn del_link(&mut self, request: &NldevMessage, effects: &mut Effects) -> Answer {
        let device = request.get_u32(RDMA_NLDEV_ATTR_DEV_INDEX).and_then(|index| self.device(index));
        let Some(device) = device.filter(|device| device.removable) else { return Refused(EINVAL, None) };
        if self.waits_for_users(device) {
            return Waits;
        }
        if let Some(device) = self.remove_device(device.index) {
            effects.unregistered(self.release, &device);
        }
        Done(Vec::new())
    }

    /// `nldev_sys_set_doit`
    pub(super) fn sys_set(&mut self, request: &NldevMessage) -> Answer {
        if let Some(mode) = request.get_u8(RDMA_NLDEV_SYS_ATTR_NETNS_MODE) {
            let wanted = match mode {
                0 => NetnsMode::Exclusive,
                1 => NetnsMode::Shared,
                _ => return Refused(EINVAL, None),
            };
            let kernel = &mut self.machine.kernel;
            if kernel.netns_mode == Some(wanted) {
                return Done(Vec::new());
            }
            if kernel.other_netns > 0 {
                return Refused(EBUSY, None);
            }
            kernel.netns_mode = Some(wanted);
            return Done(Vec::new());
        }
        match request.get_u8(RDMA_NLDEV_SYS_ATTR_PRIVILEGED_QKEY_MODE) {
            Some(mode @ 0..=1) if self.release.has_privileged_qkey() => {
                self.machine.kernel.privileged_qkey = Some(mode == 1);
                Done(Vec::new())
            }
            _ => Refused(EINVAL, None),
        }
    }

    /// `nldev_newdev`: only mlx5 has sub-devices.
    pub(super) fn new_dev(&mut self, request: &NldevMessage, effects: &mut Effects) -> Answer {
        let (index, name) =
            (request.get_u32(RDMA_NLDEV_ATTR_DEV_INDEX), request.get_string(RDMA_NLDEV_ATTR_DEV_NAME));
        let kind = request.get_u8(RDMA_NLDEV_ATTR_DEV_TYPE);
        let (Some(index), Some(mut name), Some(kind)) = (index, name, kind) else {
            return Refused(EINVAL, None);
        };
        let Some(parent) = self.device(index).cloned() else { return Refused(EINVAL, None) };
        if parent.driver.as_deref() != Some("mlx5_core") || parent.device_type.is_some() || kind != 1 {
            return Refused(EOPNOTSUPP, None);
        }
        name = name.chars().take(SUB_DEVICE_NAME).collect();
        if self.named(&name).is_some() {
            return Refused(ENFILE, None);
        }
        let device = Device {
            index: self.next_index,
            name,
            device_type: Some("smi".to_owned()),
            parent: Some(parent.name.clone()),
            uverbs: None,
            ..parent
        };
        self.next_index = self.next_index.saturating_add(1);
        effects.registered(self.release, &device, &self.machine.netdevs);
        self.machine.devices.push(device);
        Done(Vec::new())
    }

    /// `nldev_deldev`
    pub(super) fn del_dev(&mut self, request: &NldevMessage, effects: &mut Effects) -> Answer {
        let device = request.get_u32(RDMA_NLDEV_ATTR_DEV_INDEX).and_then(|index| self.device(index));
        let Some(device) = device else { return Refused(EINVAL, None) };
        if device.device_type.is_none() {
            return Refused(EOPNOTSUPP, None);
        }
        if let Some(device) = self.remove_device(device.index) {
            effects.unregistered(self.release, &device);
        }
        Done(Vec::new())
    }
}
