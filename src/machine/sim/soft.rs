//! The soft devices that a simulated kernel makes.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};

use super::state::State;
use super::state::uverbs_device;
use super::words::{eui64, gid, mac};
use crate::machine::document::{Device, Gid, Netdev, NetdevKind, Object, Port, QueuePair, Resources, Uverbs};
use crate::machine::words;
use crate::nl::Guid;

/// RDMA_DRIVER_RXE and RDMA_DRIVER_SIW.
const DRIVERS: [u32; 2] = [14, 18];
/// Counters of rxe in the kernel's order, the last two since 7.2.
pub(super) const RXE_COUNTERS: [&str; 17] = [
    "sent_pkts",
    "rcvd_pkts",
    "duplicate_request",
    "out_of_seq_request",
    "rcvd_rnr_err",
    "send_rnr_err",
    "rcvd_seq_err",
    "ack_deferred",
    "retry_exceeded_err",
    "retry_rnr_exceeded_err",
    "completer_retry_err",
    "send_err",
    "link_downed",
    "rdma_sends",
    "rdma_recvs",
    "sent_bytes",
    "rcvd_bytes",
];
const NEW_COUNTERS: usize = 2;

/// A new rxe or siw device on `netdev`.
pub(super) fn device(state: &State, index: u32, kind: &str, name: &str, netdev: &Netdev) -> Device {
    let rxe = kind == "rxe";
    let own = netdev.mac.as_deref().and_then(mac).map_or(0, eui64);
    let number = state.free_uverbs();
    let (major, minor) = uverbs_device(number);
    let driver = DRIVERS[usize::from(!rxe)];
    let counters = rxe.then(|| {
        let number = RXE_COUNTERS.len() - if state.release.rxe_has_counters() { 0 } else { NEW_COUNTERS };
        let names = RXE_COUNTERS.into_iter().take(number);
        let mut files: BTreeMap<String, String> =
            names.map(|name| (name.to_owned(), "0".to_owned())).collect();
        files.insert("lifespan".to_owned(), "12".to_owned());
        files
    });
    let port = Port {
        number: 1,
        link_layer: "Ethernet".to_owned(),
        state: String::new(),
        phys_state: String::new(),
        rate: Some("2.5 Gb/sec (1X SDR)".to_owned()),
        cap_mask: Some(if rxe { 0x10000 } else { 0x90000 }),
        lid: Some(0),
        sm_lid: Some(0),
        lmc: Some(0),
        subnet_prefix: None,
        netdev: Some(netdev.name.clone()),
        gid_table_size: if rxe { 1024 } else { 1 },
        gids: Vec::new(),
        pkeys: rxe.then(|| vec!["0xffff".to_owned()]),
        umad: None,
        issm: None,
        counters: (rxe && state.release.rxe_has_counters()).then(BTreeMap::new),
        hw_counters: counters,
        optional_counters: None,
    };
    Device {
        index,
        // kobject_set_name: a slash cannot be in a file name.
        name: name.replace('/', "!"),
        node_type: if rxe { "CA" } else { "RNIC" }.to_owned(),
        protocol: Some(if rxe { "roce" } else { "iw" }.to_owned()),
        node_guid: Guid(own).to_string(),
        sys_image_guid: Guid(own).to_string(),
        firmware: None,
        cap_flags: Some(if rxe { 0x1c0_0122_3c76 } else { 0x20_0000 }),
        adaptive_moderation: Some(false),
        // RDMA_NAME_ASSIGN_TYPE_USER
        name_assign_type: state.release.has_name_assign_type().then_some(1),
        device_type: None,
        parent: None,
        driver: None,
        movable: rxe && state.release.rxe_disassociates(),
        removable: true,
        hca_type: None,
        board_id: None,
        parent_netdev: rxe.then(|| netdev.name.clone()),
        pci: None,
        uverbs: Some(Uverbs {
            name: format!("uverbs{number}"),
            dev: format!("{major}:{minor}"),
            abi: Some(if rxe { 2 } else { 1 }),
            driver_id: Some(driver),
        }),
        hw_counters: None,
        ports: vec![port],
    }
}

/// What ib_core itself has of a new device: rxe answers MADs, by a queue pair of ib_core's; siw does not.
pub(super) fn resources(device: &Device) -> Option<Resources> {
    device.parent_netdev.as_ref()?;
    let kernel = Some("ib_core".to_owned());
    let first = vec![Object { id: 0, kernel: kernel.clone(), pid: None }];
    let gsi = QueuePair { lqpn: 1, qp_type: "GSI".to_owned(), state: "RTS".to_owned(), kernel, pid: None };
    Some(Resources {
        device: device.name.clone(),
        qps: vec![gsi],
        cqs: first.clone(),
        mrs: Vec::new(),
        pds: first,
        ctxs: Vec::new(),
        srqs: Vec::new(),
        cm_ids: Vec::new(),
    })
}

/// The most objects a soft device can have, by kind.
pub(super) fn most(device: &Device) -> &'static [(&'static str, u64)] {
    match (device.removable, device.parent_netdev.is_some()) {
        (true, true) => {
            &[("pd", 0x10_0000), ("cq", 0x10_0000), ("qp", 0xf_fff0), ("mr", 0x7_ffff), ("srq", 0xd_ffff)]
        }
        (true, false) => {
            &[("pd", 102_400), ("cq", 102_400), ("qp", 102_400), ("mr", 1_024_000), ("srq", 102_400)]
        }
        _ => &[],
    }
}

/// Brings ports and GID tables of soft devices in line with their netdevs.
pub(super) fn follow_netdevs(state: &mut State) {
    let netdevs = state.machine.netdevs.clone();
    for device in state.machine.devices.iter_mut().filter(|device| device.removable) {
        let rxe = device.parent_netdev.is_some();
        let Some(port) = device.ports.first_mut() else { continue };
        let Some(netdev) = netdevs.iter().find(|netdev| Some(&netdev.name) == port.netdev.as_ref()) else {
            continue;
        };
        let up = netdev.up && netdev.carrier;
        if up { "ACTIVE" } else { "DOWN" }.clone_into(&mut port.state);
        let phys = match up {
            true => "LinkUp",
            // rxe is looking for the other end while its netdev is up.
            false if rxe && netdev.up => "Polling",
            false => "Disabled",
        };
        phys.clone_into(&mut port.phys_state);
        port.gids = if rxe { rxe_gids(netdev, &netdevs) } else { siw_gids(netdev) };
    }
}

/// Of the netdev and of the VLANs on it: first the default one, made of the MAC.
fn rxe_gids(netdev: &Netdev, netdevs: &[Netdev]) -> Vec<Gid> {
    let mut found: Vec<(Ipv6Addr, &str)> = Vec::new();
    let on = |child: &&Netdev| child.lower.as_ref() == Some(&netdev.name) && child.kind != NetdevKind::Veth;
    let family = netdevs.iter().filter(on);
    for member in std::iter::once(netdev).chain(family) {
        let default = member
            .mac
            .as_deref()
            .and_then(mac)
            .map(|mac| Ipv6Addr::from_bits(0xfe80 << 112 | u128::from(eui64(mac))));
        let addresses = member.addresses.iter().filter_map(|text| match words::address(text)?.0 {
            IpAddr::V4(address) => Some(address.to_ipv6_mapped()),
            IpAddr::V6(address) => Some(address),
        });
        for address in default.into_iter().filter(|_| member.name == netdev.name).chain(addresses) {
            if !found.contains(&(address, &member.name)) {
                found.push((address, &member.name));
            }
        }
    }
    let slots = (0..).zip(found);
    slots
        .map(|(index, (address, netdev))| Gid {
            index,
            gid: gid(address),
            gid_type: Some("RoCE v2".to_owned()),
            netdev: Some(netdev.to_owned()),
        })
        .collect()
}

/// The MAC and zeros.
fn siw_gids(netdev: &Netdev) -> Vec<Gid> {
    let [a, b, c, d, e, f] = netdev.mac.as_deref().and_then(mac).unwrap_or_default();
    let bits = u64::from_be_bytes([a, b, c, d, e, f, 0, 0]);
    vec![Gid {
        index: 0,
        gid: gid(Ipv6Addr::from_bits(u128::from(bits) << 64)),
        gid_type: Some("IB/RoCE v1".to_owned()),
        netdev: Some(netdev.name.clone()),
    }]
}
