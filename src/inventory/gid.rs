//! Pure: which GID of a port a connection should use.

use std::net::IpAddr;

use super::model::Netdev;
use crate::sysfs::{Gid, GidScope, GidType};

/// The RoCE v2 GID of `netdevs` in a port's table that reaches farthest: an IPv4 address first (what most fabrics
/// route), then a global IPv6 one, then a link-local one; of several, the lowest slot. `None` without any.
///
/// The table also holds the addresses of the netdev's VLAN and macvlan children, and those of other netdevs of the
/// port: they are not this netdev's. A slot of which the kernel does not tell the netdev counts for all. The netdevs
/// are a port's own and what is above it: a bond, or the synthetic netdev of a virtual machine, has the addresses.
#[must_use]
pub fn best<'a>(gids: &'a [Gid], netdevs: &[&str]) -> Option<&'a Gid> {
    gids.iter()
        .filter(|gid| gid.gid_type == GidType::RoceV2)
        .filter(|gid| gid.netdev.as_deref().is_none_or(|netdev| netdevs.contains(&netdev)))
        .filter_map(|gid| Some((rank(gid)?, gid.index, gid)))
        .min_by_key(|&(rank, index, _)| (rank, index))
        .map(|(_, _, gid)| gid)
}

/// The GIDs that a process of this network namespace can use of a port whose netdev is in another one: a table shows
/// the GIDs of all namespaces, and names of netdevs tell nothing there (each pod has an `eth0`), addresses do.
#[must_use]
pub fn usable_here(gids: &[Gid], netdevs: &[Netdev]) -> Vec<Gid> {
    let has = |netdev: &Netdev, gid: &Gid| {
        let address = gid.gid.to_ipv4_mapped().map_or(IpAddr::V6(gid.gid), IpAddr::V4);
        netdev.addresses.iter().any(|(known, _)| *known == address)
    };
    let here = |gid: &&Gid| {
        let name = gid.netdev.as_deref();
        netdevs.iter().any(|netdev| name.is_none_or(|name| name == netdev.name) && has(netdev, gid))
    };
    gids.iter().filter(here).cloned().collect()
}

/// Why a port has no GID for RoCE v2 in this network namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoGid {
    /// The table has no filled slot.
    EmptyTable,
    /// What the table has belongs to netdevs of other namespaces.
    NoGidInNamespace,
    /// There are GIDs of this namespace, and none is of RoCE v2.
    NoRoceV2,
}

impl NoGid {
    /// Of a port with this table, in a namespace with these netdevs, of which the port's own is one or not.
    #[must_use]
    pub fn of(gids: &[Gid], netdevs: &[Netdev], own: bool) -> Self {
        // InfiniBand has GIDs of no netdev.
        let elsewhere = || !own && gids.iter().any(|gid| gid.netdev.is_some());
        if gids.is_empty() {
            Self::EmptyTable
        } else if elsewhere() && usable_here(gids, netdevs).is_empty() {
            Self::NoGidInNamespace
        } else {
            Self::NoRoceV2
        }
    }
}

fn rank(gid: &Gid) -> Option<u8> {
    match gid.scope {
        GidScope::Global if gid.gid.to_ipv4_mapped().is_some() => Some(0),
        GidScope::Global => Some(1),
        GidScope::LinkLocal => Some(2),
        GidScope::Loopback => Some(3),
        GidScope::Multicast | GidScope::Zero => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sysfs::scope;

    fn gid(index: u32, text: &str, gid_type: GidType, netdev: &str) -> Gid {
        let gid = text.parse().unwrap();
        Gid { index, gid, gid_type, scope: scope(gid), netdev: Some(netdev.into()) }
    }

    #[test]
    fn b48_b49_the_best_gid_is_v2_of_that_netdev_and_reaches_farthest() {
        let table = [
            gid(0, "fe80::1", GidType::RoceV2, "eth0"),
            gid(3, "::ffff:192.0.2.1", GidType::IbOrRoceV1, "eth0"),
            gid(4, "::ffff:198.51.100.1", GidType::RoceV2, "eth0.100"),
            gid(5, "2001:db8::1", GidType::RoceV2, "eth0"),
            gid(7, "::ffff:192.0.2.1", GidType::RoceV2, "eth0"),
            gid(9, "::ffff:192.0.2.2", GidType::RoceV2, "eth0"),
            gid(11, "::ffff:169.254.7.7", GidType::RoceV2, "eth1"),
        ];
        let of = |netdev| best(&table, &[netdev]).map(|gid| gid.index);
        assert_eq!(of("eth0"), Some(7));
        assert_eq!(of("eth0.100"), Some(4), "a child's GID in its parent's table");
        assert_eq!(of("eth1"), Some(11), "a link-local one, where nothing else is");
        assert_eq!(of("eth2"), None);
        assert_eq!(best(&table[..3], &["eth0"]).map(|gid| gid.index), Some(0));
    }

    fn netdev(name: &str, kind: Option<&str>, address: &str) -> Netdev {
        let addresses = vec![(address.parse().unwrap(), 24)];
        Netdev { name: name.into(), kind: kind.map(str::to_owned), addresses, ..Netdev::default() }
    }

    /// The device's own netdev is the host's `eth0`; the pod has an `eth0`, too.
    #[test]
    fn b51_b52_a_pod_on_an_overlay_or_a_bridge_has_no_gid_and_one_with_a_macvlan_has() {
        let mut table = vec![
            gid(1, "fe80::1", GidType::RoceV2, "eth0"),
            gid(3, "::ffff:192.0.2.1", GidType::RoceV2, "eth0"),
        ];
        let overlay = [netdev("eth0", Some("veth"), "10.244.1.7")];
        assert_eq!(usable_here(&table, &overlay), []);
        assert_eq!(NoGid::of(&table, &overlay, false), NoGid::NoGidInNamespace);
        let bridge = [netdev("net1", Some("veth"), "198.51.100.7")];
        assert_eq!(NoGid::of(&table, &bridge, false), NoGid::NoGidInNamespace);
        assert_eq!(NoGid::of(&[], &bridge, false), NoGid::EmptyTable);
        let infiniband = Gid { netdev: None, gid_type: GidType::IbOrRoceV1, ..table[0].clone() };
        assert_eq!(NoGid::of(&[infiniband], &bridge, false), NoGid::NoRoceV2);
        assert_eq!(
            NoGid::of(&table, &[], true),
            NoGid::NoRoceV2,
            "a port whose netdev has lost its addresses"
        );

        let macvlan = [overlay[0].clone(), netdev("net1", Some("macvlan"), "192.0.2.7")];
        table.push(gid(7, "::ffff:192.0.2.7", GidType::RoceV2, "net1"));
        assert_eq!(usable_here(&table, &macvlan), [table[2].clone()]);
        table[2].gid_type = GidType::IbOrRoceV1;
        assert_eq!(NoGid::of(&table, &macvlan, false), NoGid::NoRoceV2);
    }
}
