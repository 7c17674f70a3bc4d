//! Pure: which GID of a port a connection should use.

use crate::sysfs::{Gid, GidScope, GidType};

/// The RoCE v2 GID of `netdev` in a port's table that reaches farthest: an IPv4 address first (what most fabrics
/// route), then a global IPv6 one, then a link-local one; of several, the lowest slot. `None` without any.
///
/// The table also holds the addresses of the netdev's VLAN and macvlan children, and those of other netdevs of the
/// port: they are not this netdev's. A slot of which the kernel does not tell the netdev counts for all.
#[must_use]
pub fn best<'a>(gids: &'a [Gid], netdev: Option<&str>) -> Option<&'a Gid> {
    best_of(gids, netdev.as_slice())
}

/// As [`best`], of a netdev that has others above it: a bond, or the synthetic netdev of a virtual machine, has the
/// addresses.
pub(super) fn best_of<'a>(gids: &'a [Gid], netdevs: &[&str]) -> Option<&'a Gid> {
    gids.iter()
        .filter(|gid| gid.gid_type == GidType::RoceV2)
        .filter(|gid| gid.netdev.as_deref().is_none_or(|netdev| netdevs.contains(&netdev)))
        .filter_map(|gid| Some((rank(gid)?, gid.index, gid)))
        .min_by_key(|&(rank, index, _)| (rank, index))
        .map(|(_, _, gid)| gid)
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
        let of = |netdev| best(&table, Some(netdev)).map(|gid| gid.index);
        assert_eq!(of("eth0"), Some(7));
        assert_eq!(of("eth0.100"), Some(4), "a child's GID in its parent's table");
        assert_eq!(of("eth1"), Some(11), "a link-local one, where nothing else is");
        assert_eq!(of("eth2"), None);
        assert_eq!(best(&table[..3], Some("eth0")).map(|gid| gid.index), Some(0));
    }
}
