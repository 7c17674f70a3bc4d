//! What others notice of a change: notifications, uevents, netdev events.

use super::release::Release;
use crate::inventory::Change;
use crate::machine::document::{Device, Netdev, Port};
use crate::nl::EventType;
use crate::nl::packet::{NldevAttribute as A, NldevCommand, NldevMessage};

/// Gathered while the state changes, sent when it has changed.
#[derive(Debug, Default)]
pub(super) struct Effects {
    /// To NETLINK_RDMA's group NOTIFY.
    pub(super) events: Vec<NldevMessage>,
    /// To other listeners.
    pub(super) changes: Vec<Change>,
}

impl Effects {
    /// REGISTER is followed by an ATTACH for each port that has a netdev.
    pub(super) fn registered(&mut self, release: Release, device: &Device, netdevs: &[Netdev]) {
        self.changes.push(Change::Device);
        if !release.has_events() {
            return;
        }
        self.event(EventType::Register, about(device));
        for port in &device.ports {
            self.attached(release, device, port, netdevs);
        }
    }

    pub(super) fn attached(&mut self, release: Release, device: &Device, port: &Port, netdevs: &[Netdev]) {
        let netdev = port.netdev.as_ref().and_then(|name| netdevs.iter().find(|n| n.name == *name));
        if let Some(netdev) = netdev.filter(|_| release.has_events()) {
            let mut attributes = about(device);
            attributes.push(A::PortIndex(port.number));
            attributes.push(A::NdevIndex(netdev.index));
            attributes.push(A::NdevName(netdev.name.clone()));
            self.event(EventType::NetdevAttach, attributes);
        }
    }

    pub(super) fn detached(&mut self, release: Release, device: &Device, port: u32) {
        if release.has_events() {
            let mut attributes = about(device);
            attributes.push(A::PortIndex(port));
            self.event(EventType::NetdevDetach, attributes);
        }
    }

    pub(super) fn unregistered(&mut self, release: Release, device: &Device) {
        self.changes.push(Change::Device);
        if release.has_events() {
            self.event(EventType::Unregister, about(device));
        }
    }

    /// The uevent is MOVE.
    pub(super) fn renamed(&mut self, release: Release, device: &Device) {
        self.changes.push(Change::Device);
        if release.has_rename_events() {
            self.event(EventType::Rename, about(device));
        }
    }

    /// The kernel tells of a netdev's name only when it is `attached` to a port.
    pub(super) fn netdev_renamed(&mut self, release: Release, netdev: &Netdev, attached: bool) {
        self.changes.push(Change::Link(netdev.index));
        if attached && release.has_rename_events() {
            let attributes = vec![A::NdevIndex(netdev.index), A::NdevName(netdev.name.clone())];
            self.event(EventType::NetdevRename, attributes);
        }
    }

    fn event(&mut self, kind: EventType, mut attributes: Vec<A>) {
        attributes.push(A::EventType(kind.number()));
        self.events.push(NldevMessage::new(NldevCommand::Monitor, attributes));
    }
}

fn about(device: &Device) -> Vec<A> {
    vec![A::DevIndex(device.index), A::DevName(device.name.clone())]
}
