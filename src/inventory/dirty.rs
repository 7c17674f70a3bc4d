//! Pure: what has to be read again.

use std::collections::BTreeSet;

use super::model::{Device, Inventory, Netdev};

/// What has to be read again; the rest is taken from the last inventory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dirty {
    /// All devices and the system, but no GID table for this alone.
    pub everything: bool,
    /// Which devices there are: new ones are read, gone ones dropped.
    pub list: bool,
    /// These devices by index, but not their GID tables.
    pub devices: BTreeSet<u32>,
    /// States of these ports: (device index, port).
    pub ports: BTreeSet<(u32, u32)>,
    /// GID tables of all devices. They are long (rxe: 1,024 slots).
    pub gids: bool,
    /// GID tables of these devices, by index.
    pub gids_of: BTreeSet<u32>,
    /// Netdevs, addresses and routes.
    pub netdevs: bool,
    /// Netdevs by ifindex of which the ports' states have to be read.
    pub links: BTreeSet<u32>,
    /// Netdevs by ifindex of which the GIDs have to be read.
    pub addresses: BTreeSet<u32>,
}

impl Dirty {
    /// Nothing is taken from the last inventory.
    #[must_use]
    pub fn all() -> Self {
        Self { gids: true, ..Self::all_but_gids() }
    }

    /// Of the last inventory, the GID tables of known devices are good.
    #[must_use]
    pub fn all_but_gids() -> Self {
        Self { everything: true, netdevs: true, ..Self::default() }
    }

    /// True when nothing has to be read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds what `other` marks.
    pub fn merge(&mut self, other: Self) {
        self.everything |= other.everything;
        self.list |= other.list;
        self.devices.extend(other.devices);
        self.ports.extend(other.ports);
        self.gids |= other.gids;
        self.gids_of.extend(other.gids_of);
        self.netdevs |= other.netdevs;
        self.links.extend(other.links);
        self.addresses.extend(other.addresses);
    }

    /// Turns changes of netdevs into what they mean for devices, by what was known of both.
    pub(super) fn resolve(&mut self, last: &Inventory) {
        for index in std::mem::take(&mut self.links) {
            let ports = concerned(last, index).flat_map(|device| {
                let index = device.index;
                device.ports.iter().map(move |port| (index, port.number))
            });
            self.ports.extend(ports);
        }
        for index in std::mem::take(&mut self.addresses) {
            if last.netdevs.iter().any(|netdev| netdev.index == index) {
                self.gids_of.extend(concerned(last, index).map(|device| device.index));
            } else {
                // A netdev that has just come: whose child it is, is not known.
                self.gids = true;
            }
        }
    }

    /// What a netdev is called stands in its devices and their GID tables.
    pub(super) fn follow_renames(&mut self, last: &Inventory, netdevs: &[Netdev]) {
        let renamed = |netdev: &&Netdev| {
            let before = last.netdevs.iter().find(|before| before.index == netdev.index);
            before.is_some_and(|before| before.name != netdev.name)
        };
        for netdev in netdevs.iter().filter(renamed) {
            let devices: Vec<u32> = concerned(last, netdev.index).map(|device| device.index).collect();
            self.devices.extend(&devices);
            self.gids_of.extend(devices);
        }
    }

    /// True when the list of devices has to be read.
    pub(super) fn needs_list(&self) -> bool {
        self.everything || self.list || !self.devices.is_empty()
    }

    /// True when all of this device has to be read.
    pub(super) fn has_device(&self, index: u32) -> bool {
        self.everything || self.devices.contains(&index)
    }

    /// True when the GID table of this device has to be read.
    pub(super) fn has_gids_of(&self, index: u32) -> bool {
        self.gids || self.gids_of.contains(&index)
    }
}

/// The devices that a netdev, what it stands on or what stands above it belong to.
fn concerned(inventory: &Inventory, ifindex: u32) -> impl Iterator<Item = &Device> {
    let netdev = inventory.netdevs.iter().find(move |netdev| netdev.index == ifindex);
    let names: Vec<&str> = netdev.map(|netdev| family(inventory, netdev)).unwrap_or_default();
    inventory
        .devices
        .iter()
        .filter(move |device| device.netdevs.iter().any(|relation| names.contains(&relation.netdev.as_str())))
}

/// The netdev, all below it, and its master.
fn family<'a>(inventory: &'a Inventory, netdev: &'a Netdev) -> Vec<&'a str> {
    let mut names = vec![netdev.name.as_str()];
    let mut here = netdev;
    // Netdevs stack only a few high; the bound is for what cannot be.
    for _ in 0..8 {
        names.extend(here.master.as_deref());
        let Some(lower) = here.lower.as_deref().and_then(|name| inventory.netdev(name)) else { break };
        names.push(&lower.name);
        here = lower;
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::testing::{device, netdev};
    use crate::inventory::{Relation, Why};

    fn host() -> Inventory {
        let on = |index, name: &str, netdev: &str| Device {
            netdevs: vec![Relation { netdev: netdev.into(), why: Why::Port }],
            ..device(index, name, "mlx5", netdev)
        };
        let mut vlan = netdev(7, "eth0.100");
        vlan.lower = Some("eth0".into());
        Inventory {
            devices: vec![on(0, "mlx5_0", "eth0"), on(1, "mlx5_1", "eth1")],
            netdevs: vec![netdev(2, "eth0"), netdev(3, "eth1"), vlan],
            ..Inventory::default()
        }
    }

    #[test]
    fn a_link_that_changes_makes_its_own_ports_dirty() {
        let mut dirty = Dirty { links: [3].into(), ..Dirty::default() };
        dirty.resolve(&host());
        assert_eq!(dirty, Dirty { ports: [(1, 1)].into(), ..Dirty::default() });
    }

    #[test]
    fn b54_an_address_of_a_vlan_makes_the_table_of_the_device_below_dirty() {
        let mut dirty = Dirty { addresses: [7].into(), ..Dirty::default() };
        dirty.resolve(&host());
        assert_eq!(dirty, Dirty { gids_of: [0].into(), ..Dirty::default() });
    }

    #[test]
    fn a_netdev_with_a_new_name_makes_its_devices_dirty() {
        let mut dirty = Dirty::default();
        let mut netdevs = host().netdevs;
        dirty.follow_renames(&host(), &netdevs);
        assert!(dirty.is_empty());
        netdevs[0].name = "lan0".into();
        dirty.follow_renames(&host(), &netdevs);
        assert_eq!(dirty, Dirty { devices: [0].into(), gids_of: [0].into(), ..Dirty::default() });
    }

    #[test]
    fn an_address_of_a_netdev_nobody_knows_makes_every_table_dirty() {
        let mut dirty = Dirty { addresses: [99].into(), ..Dirty::default() };
        dirty.resolve(&host());
        assert!(dirty.gids && dirty.gids_of.is_empty());
    }
}
