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
/// IFNAMSIZ without its NUL: of netdevs, of types of links, and of what NEWDEV is to make.
const INTERFACE_NAME: usize = 15;
/// Bad file descriptor.
const EBADF: i32 = 9;
/// Texts of SET NET_NS_FD.
const NO_NETNS: &str = "Invalid target net namespace fd";
const SHARED: &str = "Cannot change net namespace of RDMA device in shared netns mode";
const CANNOT: &str = "Device does not support namespace changes (no disassociate support)";

impl State {
    /// `nldev_set_doit`: one change a request.
    pub(super) fn set(&mut self, request: &NldevMessage, effects: &mut Effects) -> Answer {
        let Some(index) = request.get_u32(RDMA_NLDEV_ATTR_DEV_INDEX) else { return Refused(EINVAL, None) };
        let Some(device) = self.device(index) else { return Refused(EINVAL, None) };
        let (movable, wanted) = (device.movable, request.get_string(RDMA_NLDEV_ATTR_DEV_NAME));
        let wanted = wanted.map(|name| cut(&name, DEVICE_NAME));
        let netns = request.get_u32(RDMA_NLDEV_NET_NS_FD);
        if let Some(netns) = netns.filter(|_| wanted.is_none() || self.release.moves_before_renaming()) {
            return self.move_device(index, movable, netns, wanted, effects);
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
        if wanted.is_empty() {
            return Refused(EINVAL, None);
        }
        match self.holder_of(&wanted) {
            Some(other) if other.index == index => return Done(Vec::new()),
            Some(_) => return Refused(EEXIST, None),
            None => {}
        }
        let release = self.release;
        let Some(device) = self.device_mut(index) else { return Refused(EINVAL, None) };
        let before = std::mem::replace(&mut device.name, wanted);
        effects.renamed(release, device);
        let after = device.name.clone();
        for sub in self.machine.devices.iter_mut().filter(|sub| sub.parent.as_ref() == Some(&before)) {
            sub.parent = Some(after.clone());
        }
        for resources in self.machine.resources.iter_mut().filter(|known| known.device == before) {
            resources.device.clone_from(&after);
        }
        Done(Vec::new())
    }

    fn move_device(
        &mut self,
        index: u32,
        movable: bool,
        netns: u32,
        wanted: Option<String>,
        effects: &mut Effects,
    ) -> Answer {
        let text = |text| self.release.explains_netns().then_some(text);
        if wanted.as_ref().is_some_and(String::is_empty) {
            return Refused(EINVAL, None);
        }
        // Of descriptors a simulated process has all but those that cannot be one.
        if i32::try_from(netns).is_err() {
            return Refused(EBADF, text(NO_NETNS));
        }
        if self.machine.kernel.netns_mode != Some(NetnsMode::Exclusive) {
            return Refused(EOPNOTSUPP, text(SHARED));
        }
        if !movable {
            return Refused(EOPNOTSUPP, text(CANNOT));
        }
        // Its clients are removed and added again: users lose it, its nodes may get other numbers.
        self.contexts.remove(&index);
        self.elsewhere.insert(index);
        if let Some(device) = self.machine.devices.iter_mut().find(|device| device.index == index) {
            let before = device.name.clone();
            device.name = wanted.unwrap_or_else(|| before.clone());
            self.machine.resources.retain(|resources| resources.device != before);
        }
        effects.changes.push(crate::inventory::Change::Device);
        Done(Vec::new())
    }

    /// `nldev_newlink`
    pub(super) fn new_link(&mut self, request: &NldevMessage, effects: &mut Effects) -> Answer {
        let text = |number, most| request.get_string(number).map(|text| cut(&text, most));
        let attributes = (
            text(RDMA_NLDEV_ATTR_DEV_NAME, DEVICE_NAME),
            text(RDMA_NLDEV_ATTR_LINK_TYPE, INTERFACE_NAME),
            text(RDMA_NLDEV_ATTR_NDEV_NAME, INTERFACE_NAME),
        );
        let (Some(name), Some(kind), Some(netdev)) = attributes else { return Refused(EINVAL, None) };
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
        if self.holder_of(&name.replace('/', "!")).is_some() {
            return Refused(ENFILE, None);
        }
        let index = self.take_index();
        let device = soft::device(self, index, &kind, &name, &netdev);
        self.machine.resources.extend(soft::resources(&device));
        self.machine.devices.push(device);
        if self.has_module("ib_umad") {
            self.make_umad();
        }
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
        let index = device.index;
        if self.waits_for_users(device) {
            if self.begin_removal(index) {
                effects.changes.push(crate::inventory::Change::Device);
            }
            return Waits(index);
        }
        self.unregister(index, effects);
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
        name = cut(&name, INTERFACE_NAME);
        if self.holder_of(&name).is_some() {
            return Refused(ENFILE, None);
        }
        let device = Device {
            index: self.take_index(),
            name,
            device_type: Some("smi".to_owned()),
            parent: Some(parent.name.clone()),
            uverbs: None,
            ..parent
        };
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
        self.unregister(device.index, effects);
        Done(Vec::new())
    }
}

/// `nla_strscpy`: a text that is too long for its place is cut off, in silence.
fn cut(text: &str, most: usize) -> String {
    let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or(0)).unwrap_or_default().to_owned()
}
