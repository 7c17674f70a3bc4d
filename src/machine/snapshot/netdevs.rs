//! Netdevs of a snapshot, and names of netdevs that are elsewhere.

use super::super::document::{Machine, Netdev, NetdevKind};
use crate::inventory;

/// The netdevs of the host in the document's words.
pub(super) fn netdevs(found: Vec<inventory::Netdev>, notes: &mut Vec<String>) -> Vec<Netdev> {
    let netdev = |netdev: inventory::Netdev| {
        let kind = kind(&netdev, notes);
        let bytes = if kind == NetdevKind::Ipoib { 20 } else { 6 };
        Netdev {
            index: netdev.index,
            name: netdev.name,
            kind,
            // Tunnels have an address of another kind there.
            mac: netdev.mac.filter(|mac| mac.split(':').count() == bytes),
            mtu: netdev.mtu,
            up: netdev.up,
            carrier: netdev.carrier,
            addresses: netdev.addresses.iter().map(|(ip, prefix)| format!("{ip}/{prefix}")).collect(),
            pci: netdev.pci,
            master: netdev.master,
            lower: netdev.lower,
        }
    };
    found.into_iter().map(netdev).collect()
}

fn kind(netdev: &inventory::Netdev, notes: &mut Vec<String>) -> NetdevKind {
    let long = netdev.mac.as_deref().is_some_and(|mac| mac.split(':').count() == 20);
    match netdev.kind.as_deref() {
        None if netdev.name == "lo" => NetdevKind::Loopback,
        None if long => NetdevKind::Ipoib,
        None => NetdevKind::Ether,
        Some("ether") => NetdevKind::Ether,
        Some("loopback") => NetdevKind::Loopback,
        Some("ipoib") => NetdevKind::Ipoib,
        Some("vlan") => NetdevKind::Vlan,
        Some("bond") => NetdevKind::Bond,
        Some("bridge") => NetdevKind::Bridge,
        Some("dummy") => NetdevKind::Dummy,
        Some("veth") => NetdevKind::Veth,
        Some("macvlan") => NetdevKind::Macvlan,
        Some("ipvlan") => NetdevKind::Ipvlan,
        Some("tun") => NetdevKind::Tun,
        Some("wireguard") => NetdevKind::Wireguard,
        Some(other) => {
            notes.push(format!("{} is of kind {other}, written as dummy.", netdev.name));
            NetdevKind::Dummy
        }
    }
}

/// Some kernels name netdevs of other network namespaces, which the document does not have.
pub(super) fn drop_strangers(machine: &mut Machine, notes: &mut Vec<String>) {
    let known: Vec<&str> = machine.netdevs.iter().map(|netdev| netdev.name.as_str()).collect();
    let mut check = |netdev: &mut Option<String>, what: &str| {
        if let Some(name) = netdev.take_if(|name| !known.contains(&name.as_str())) {
            notes.push(format!("{what} is on netdev {name}, which is not here."));
        }
    };
    for device in &mut machine.devices {
        check(&mut device.parent_netdev, &device.name);
        for port in &mut device.ports {
            let what = format!("{} port {}", device.name, port.number);
            check(&mut port.netdev, &what);
            for gid in &mut port.gids {
                check(&mut gid.netdev, &format!("{what} GID {}", gid.index));
            }
        }
    }
}
