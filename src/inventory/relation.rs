//! Pure: which netdevs and which RDMA devices belong together. Many to many: a bond stands for both ports of a
//! card, a port carries the GIDs of its VLANs, an InfiniBand function has its IPoIB netdevs.

use std::collections::BTreeMap;

use serde::Serialize;

use super::model::{Device, Netdev};

/// A netdev of a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Relation {
    /// The netdev's name.
    pub netdev: String,
    /// How it is known; the strongest of several ways.
    pub why: Why,
}

/// How a netdev is known to be a device's; the order is from strongest to weakest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Why {
    /// A port says so (RDMA_NLDEV_ATTR_NDEV_NAME).
    Port,
    /// A soft device is made on it.
    Parent,
    /// An InfiniBand function's IPoIB netdev: the same PCI function.
    Ipoib,
    /// It is another netdev of the same PCI function: a representor, or a port that does not name its netdev.
    Pci,
    /// A slot of a GID table names it: a VLAN or macvlan on a port's netdev, or the bond above it.
    Gid,
    /// It is the bond or team above a port's netdev.
    Master,
}

/// The netdevs of `device`, by name.
#[must_use]
pub fn relations(device: &Device, netdevs: &[Netdev]) -> Vec<Relation> {
    let mut found: BTreeMap<&str, Why> = BTreeMap::new();
    let mut add = |name, why| {
        let known = found.entry(name).or_insert(why);
        *known = why.min(*known);
    };
    for port in &device.ports {
        if let Some(name) = port.netdev.as_deref() {
            add(name, Why::Port);
            let netdev = netdevs.iter().find(|netdev| netdev.name == name);
            if let Some(master) = netdev.and_then(|netdev| netdev.master.as_deref()) {
                add(master, Why::Master);
            }
        }
        port.gids.iter().filter_map(|gid| gid.netdev.as_deref()).for_each(|name| add(name, Why::Gid));
    }
    if let Some(parent) = device.parent_netdev.as_deref() {
        add(parent, Why::Parent);
    }
    if let Some(pci) = &device.pci {
        for netdev in netdevs.iter().filter(|netdev| netdev.pci.as_deref() == Some(&*pci.address)) {
            add(&netdev.name, if netdev.is_ipoib() { Why::Ipoib } else { Why::Pci });
        }
    }
    found.into_iter().map(|(netdev, why)| Relation { netdev: netdev.to_owned(), why }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::testing::{device, netdev};
    use crate::sysfs::{Gid, GidScope, GidType, Pci};

    fn pci(address: &str) -> Pci {
        Pci { address: address.into(), ..Pci::default() }
    }

    fn names(device: &Device, netdevs: &[Netdev]) -> Vec<(String, Why)> {
        relations(device, netdevs).into_iter().map(|relation| (relation.netdev, relation.why)).collect()
    }

    #[test]
    fn a_bond_belongs_to_the_devices_below_it() {
        let mut below = netdev(2, "eth0");
        below.master = Some("bond0".into());
        let found = names(&device(0, "mlx5_0", "mlx5", "eth0"), &[below, netdev(3, "bond0")]);
        // device() is made like a soft one, with eth0 as its parent: the port is the stronger way.
        assert_eq!(found, [("bond0".into(), Why::Master), ("eth0".into(), Why::Port)]);
    }

    #[test]
    fn an_infiniband_function_has_its_ipoib_netdevs_by_pci_address() {
        let mut device = device(0, "mlx5_0", "mlx5", "");
        (device.parent_netdev, device.ports[0].netdev) = (None, None);
        device.pci = Some(pci("0000:1a:00.0"));
        let mut own = netdev(5, "ib0");
        (own.kind, own.pci) = (Some("ipoib".into()), Some("0000:1a:00.0".into()));
        let mut other = netdev(6, "ib1");
        (other.kind, other.pci) = (Some("ipoib".into()), Some("0000:1b:00.0".into()));
        assert_eq!(names(&device, &[own, other]), [("ib0".into(), Why::Ipoib)]);
    }

    #[test]
    fn children_are_known_by_the_gid_table_and_representors_by_the_function() {
        let mut device = device(0, "mlx5_0", "mlx5", "eth0");
        device.pci = Some(pci("0000:1a:00.0"));
        device.ports[0].gids = vec![Gid {
            index: 4,
            gid: "::ffff:198.51.100.1".parse().unwrap(),
            gid_type: GidType::RoceV2,
            scope: GidScope::Global,
            netdev: Some("eth0.100".into()),
        }];
        let mut representor = netdev(9, "eth0_0");
        representor.pci = Some("0000:1a:00.0".into());
        let found = names(&device, &[netdev(2, "eth0"), representor]);
        let expected = [("eth0", Why::Port), ("eth0.100", Why::Gid), ("eth0_0", Why::Pci)];
        assert_eq!(found, expected.map(|(name, why)| (name.to_owned(), why)));
    }
}
