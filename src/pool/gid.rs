//! Which GID of a port a connection should use.

use crate::inventory::{Gid, GidScope, GidType, Port};

/// The RoCE v2 GID of the port's own netdev that reaches farthest: an IPv4 address first (what most fabrics
/// route), then a global IPv6 one, then a link-local one; of several, the lowest slot. `None` without any.
#[must_use]
pub fn best(port: &Port) -> Option<&Gid> {
    port.gids
        .iter()
        .filter(|gid| gid.gid_type == GidType::RoceV2)
        // The table also holds the addresses of VLAN and macvlan children; those are not this netdev's.
        .filter(|gid| gid.netdev.is_none() || gid.netdev == port.netdev)
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
        GidScope::Multicast => None,
    }
}
