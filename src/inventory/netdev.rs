//! Network devices, their addresses and default routes, over rtnetlink.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use futures::TryStreamExt;
use netlink_packet_route::address::AddressAttribute;
use netlink_packet_route::link::{InfoKind, LinkAttribute, LinkFlags, LinkInfo, LinkMessage};
use netlink_packet_route::route::{RouteAttribute, RouteHeader, RouteMessage};
use rtnetlink::{Handle, RouteMessageBuilder};

use super::model::{DefaultRoute, Netdev};
use crate::sysfs::is_pci_address;

/// Every netdev of this network namespace, by ascending ifindex.
///
/// # Errors
/// When one of the three dumps fails.
pub(super) async fn netdevs(handle: &Handle) -> Result<Vec<Netdev>, rtnetlink::Error> {
    let mut netdevs = BTreeMap::new();
    let mut links = handle.link().get().execute();
    let mut above_and_below = Vec::new();
    while let Some(link) = links.try_next().await? {
        above_and_below.push(neighbours(&link));
        netdevs.insert(link.header.index, netdev(link));
    }
    for (index, master, lower) in above_and_below {
        let name = |index: Option<u32>| Some(netdevs.get(&index?)?.name.clone());
        let (master, lower) = (name(master), name(lower));
        if let Some(netdev) = netdevs.get_mut(&index) {
            (netdev.master, netdev.lower) = (master, lower);
        }
    }
    let mut addresses = handle.address().get().execute();
    while let Some(message) = addresses.try_next().await? {
        let Some(netdev) = netdevs.get_mut(&message.header.index) else { continue };
        // IFA_LOCAL is the host's end of a point-to-point link, IFA_ADDRESS the peer's; elsewhere they agree.
        let local = message.attributes.iter().find_map(|attribute| match attribute {
            AddressAttribute::Local(address) => Some(*address),
            _ => None,
        });
        let any = message.attributes.iter().find_map(|attribute| match attribute {
            AddressAttribute::Address(address) => Some(*address),
            _ => None,
        });
        netdev.addresses.extend(local.or(any).map(|address| (address, message.header.prefix_len)));
    }
    for netdev in netdevs.values_mut() {
        netdev.addresses.sort();
    }
    let v4 = RouteMessageBuilder::<Ipv4Addr>::new().build();
    let v6 = RouteMessageBuilder::<Ipv6Addr>::new().build();
    for (ipv6, request) in [(false, v4), (true, v6)] {
        let mut routes = handle.route().get(request).execute();
        while let Some(route) = routes.try_next().await? {
            let Some((index, metric)) = default_route(&route) else { continue };
            if let Some(netdev) = netdevs.get_mut(&index) {
                let route = DefaultRoute { ipv6, metric };
                netdev.default_route = Some(netdev.default_route.map_or(route, |known| known.min(route)));
            }
        }
    }
    Ok(netdevs.into_values().collect())
}

fn netdev(link: LinkMessage) -> Netdev {
    let flags = link.header.flags;
    let mut netdev = Netdev {
        index: link.header.index,
        up: flags.contains(LinkFlags::Up),
        carrier: flags.contains(LinkFlags::LowerUp),
        ..Netdev::default()
    };
    for attribute in link.attributes {
        match attribute {
            LinkAttribute::IfName(name) => netdev.name = name,
            LinkAttribute::Mtu(mtu) => netdev.mtu = mtu,
            LinkAttribute::Address(bytes) if !bytes.is_empty() => netdev.mac = Some(mac(&bytes)),
            // Since 5.14; before, sysfs tells.
            LinkAttribute::ParentDevName(name) => netdev.pci = Some(name).filter(|name| is_pci_address(name)),
            LinkAttribute::LinkInfo(infos) => netdev.kind = infos.iter().find_map(kind),
            _ => {}
        }
    }
    netdev
}

/// ifindex, that of the master, and that of the netdev below in this network namespace.
fn neighbours(link: &LinkMessage) -> (u32, Option<u32>, Option<u32>) {
    let find = |wanted: fn(&LinkAttribute) -> Option<u32>| link.attributes.iter().find_map(wanted);
    let master = find(|attribute| match attribute {
        LinkAttribute::Controller(index) => Some(*index),
        _ => None,
    });
    // The index is one of another namespace where IFLA_LINK_NETNSID is set.
    let elsewhere =
        link.attributes.iter().any(|attribute| matches!(attribute, LinkAttribute::LinkNetNsId(_)));
    let lower = find(|attribute| match attribute {
        LinkAttribute::Link(index) => Some(*index),
        _ => None,
    });
    (link.header.index, master, lower.filter(|lower| !elsewhere && *lower != link.header.index))
}

fn mac(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":")
}

fn kind(info: &LinkInfo) -> Option<String> {
    match info {
        LinkInfo::Kind(InfoKind::Other(kind)) => Some(kind.clone()),
        LinkInfo::Kind(kind) => Some(kind.to_string()),
        _ => None,
    }
}

/// Outgoing ifindex and metric of a default route of the main table.
fn default_route(route: &RouteMessage) -> Option<(u32, u32)> {
    if route.header.destination_prefix_length != 0 || route.header.table != RouteHeader::RT_TABLE_MAIN {
        return None;
    }
    let mut index = None;
    let mut metric = 0;
    for attribute in &route.attributes {
        match attribute {
            RouteAttribute::Oif(oif) => index = Some(*oif),
            RouteAttribute::Priority(priority) => metric = *priority,
            RouteAttribute::MultiPath(hops) => index = hops.first().map(|hop| hop.interface_index),
            _ => {}
        }
    }
    Some((index?, metric))
}
