//! Nothing of a host survives, and what is nobody's stays.

use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::collection::vec;
use proptest::prelude::*;

use super::recorded;
use crate::machine::Machine;
use crate::machine::document::{Netdev, NetdevKind, Port};

#[test]
fn recorded_machines_have_nothing_to_hide() {
    for (path, text) in recorded() {
        let mut machine = Machine::load(&text, "recorded").unwrap();
        let mut anonymous = machine.anonymised(&[]).unwrap();
        // Boards are numbered in any case.
        for device in machine.devices.iter_mut().chain(&mut anonymous.devices) {
            device.board_id = device.board_id.take().map(|id| id.len().to_string());
        }
        if anonymous != machine {
            let (a, b) = (anonymous.to_yaml(), machine.to_yaml());
            let differ = a.lines().zip(b.lines()).find(|(a, b)| a != b);
            panic!("{}: {differ:?}", path.display());
        }
    }
}

#[test]
fn a_host_that_is_called_like_something_else_leaves_a_document() {
    let few = ["soft-roce-node", "omni-path", "azure-ib-vf"];
    let few = |path: &std::path::Path| few.iter().any(|name| path.to_string_lossy().contains(name));
    for (path, text) in recorded().into_iter().filter(|(path, _)| few(path)) {
        let mut machine = Machine::load(&text, "recorded").unwrap();
        for host in
            ["port", "class", "umad", "lo", "eth0", "name", "Infiniband", "rdma", "m", "gids", "mlx5", "rxe0"]
        {
            machine.metadata.name = host.into();
            machine.notes = Some(format!("seen on {host}."));
            let anonymous = machine.anonymised(&[host]).unwrap();
            assert_eq!(anonymous.contradiction(), None, "{host}: {}", path.display());
            assert_eq!(anonymous.metadata.name, "machine");
            assert!(!anonymous.notes.unwrap().ends_with(&format!(" {host}.")), "{host}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn anything_can_be_anonymised(machine in super::generate::machine()) {
        let anonymous = machine.anonymised(&["host.example"]).unwrap();
        prop_assert_eq!(anonymous.devices.len(), machine.devices.len());
        prop_assert_eq!(anonymous.netdevs.len(), machine.netdevs.len());
    }
}

/// A host of its own: its name, MACs and addresses, none of which is a documentation value.
#[derive(Clone, Debug)]
struct Secrets {
    host: String,
    macs: Vec<u64>,
    v4: Vec<Ipv4Addr>,
    v6: Vec<Ipv6Addr>,
}

fn secrets() -> impl Strategy<Value = Secrets> {
    // First bytes of real vendors, global and unique local prefixes: not those of documentation.
    let mac =
        (prop::sample::select(vec![0xb8599f_u64, 0x0c42a1, 0xa088c2, 0x000af7, 0x525400]), 0..=0xff_ffff_u64)
            .prop_map(|(vendor, low)| vendor << 24 | low);
    let v4 = (prop::sample::select(vec![10_u8, 100, 172, 8]), any::<[u8; 2]>(), 1..255_u8)
        .prop_map(|(a, [b, c], d)| Ipv4Addr::new(a, b, c, d));
    let v6 = (prop::sample::select(vec![0x2a00_u16, 0x2600, 0xfd12]), any::<[u16; 3]>(), 1..u64::MAX)
        .prop_map(|(top, [b, c, d], low)| {
            let high =
                u128::from(top) << 112 | u128::from(b) << 96 | u128::from(c) << 80 | u128::from(d) << 64;
            Ipv6Addr::from_bits(high | u128::from(low))
        });
    ("zq[a-z0-9]{4,12}", vec(mac, 1..5), vec(v4, 1..5), vec(v6, 1..5))
        .prop_map(|(host, macs, v4, v6)| Secrets { host, macs, v4, v6 })
}

fn colons(mac: u64) -> String {
    let bytes = mac.to_be_bytes();
    bytes.iter().skip(2).map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":")
}

fn eui(mac: u64) -> u64 {
    (mac >> 24 << 40 | 0xfffe << 24 | mac & 0xff_ffff) ^ 2 << 56
}

fn guid(bits: u64) -> String {
    crate::nl::Guid(bits).to_string()
}

fn full(address: Ipv6Addr) -> String {
    address.segments().map(|group| format!("{group:04x}")).join(":")
}

/// A machine that has the secrets wherever a real one would, and in longer texts.
fn machine_of(secrets: &Secrets) -> Machine {
    let (_, text) = recorded().into_iter().find(|(path, _)| path.ends_with("soft-roce-node.yaml")).unwrap();
    let mut machine = Machine::load(&text, "recorded").unwrap();
    let Secrets { host, macs, v4, v6 } = secrets;
    machine.metadata.name = format!("{host}.example.net");
    let all: Vec<String> =
        v4.iter().map(ToString::to_string).chain(v6.iter().map(ToString::to_string)).collect();
    machine.notes = Some(format!(
        "{} seen from {host}, next to {}. Also {}: ({}), {}",
        all.join(" and "),
        colons(macs[0]),
        colons(macs[0]).to_uppercase(),
        colons(macs[0]).replace(':', "-"),
        v6.iter().map(|ip| full(*ip)).collect::<Vec<_>>().join(","),
    ));
    for (index, mac) in macs.iter().enumerate() {
        let index = u32::try_from(index).unwrap();
        machine.netdevs.push(Netdev {
            index: 100 + index,
            name: format!("enx{mac:012x}"),
            kind: NetdevKind::Ether,
            mac: Some(colons(*mac)),
            mtu: 1500,
            up: true,
            carrier: true,
            addresses: v4
                .iter()
                .map(|ip| format!("{ip}/24"))
                .chain(v6.iter().map(|ip| format!("{ip}/64")))
                .collect(),
            pci: None,
            master: None,
            lower: None,
        });
        let mut device = machine.devices[0].clone();
        device.index = 10 + index;
        device.name = format!("rocex{:016x}", eui(*mac));
        device.node_guid = guid(eui(*mac));
        device.sys_image_guid = guid(mac >> 24 << 40 | 0x0300 << 24 | mac & 0xff_ffff);
        device.parent_netdev = Some(format!("enx{mac:012x}"));
        let port: &mut Port = &mut device.ports[0];
        port.gids.clear();
        let link_local = Ipv6Addr::from_bits(0xfe80 << 112 | u128::from(eui(*mac)));
        let iwarp = Ipv6Addr::from_bits(u128::from(*mac) << 80);
        let mapped = v4.iter().map(Ipv4Addr::to_ipv6_mapped);
        for (index, gid) in v6.iter().copied().chain(mapped).chain([link_local, iwarp]).enumerate() {
            port.gids.push(crate::machine::document::Gid {
                index: u32::try_from(index).unwrap(),
                gid: full(gid),
                gid_type: Some("RoCE v2".into()),
                netdev: Some(format!("enx{mac:012x}")),
            });
        }
        port.hw_counters.as_mut().unwrap().insert(format!("seen_{host}_x{mac:012x}"), "174460117740".into());
        machine.faults.push(crate::machine::document::Fault {
            path: format!("class/infiniband/{}/fw_ver", device.name),
            errno: "EIO".into(),
        });
        machine.devices.push(device);
    }
    machine.resources[0].qps[0].kernel = Some(format!("{host}-{}", colons(macs[0])));
    machine
}

/// Whether `text` has `secret` as itself: `10.0.0.1` is not in `10.0.0.12`.
fn has(text: &str, secret: &str) -> bool {
    let part = |c: Option<char>| c.is_some_and(|c| c.is_ascii_hexdigit() || c == ':');
    text.match_indices(secret).any(|(at, _)| {
        !part(text[..at].chars().next_back()) && !part(text[at + secret.len()..].chars().next())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn nothing_of_a_host_survives(secrets in secrets()) {
        let machine = machine_of(&secrets);
        let host = secrets.host.as_str();
        let anonymous = machine.anonymised(&[&format!("{host}.example.net")]).unwrap();
        let text = anonymous.to_yaml().to_lowercase();
        prop_assert!(!text.contains(host), "{host}\n{text}");
        prop_assert!(machine.to_yaml().contains(host), "the test would prove nothing");
        for mac in &secrets.macs {
            let spellings = [
                format!("{mac:012x}"), colons(*mac), colons(*mac).replace(':', "-"), guid(eui(*mac)),
                format!("{:016x}", eui(*mac)), guid(mac >> 24 << 40 | 0x0300 << 24 | mac & 0xff_ffff), guid(mac << 16),
            ];
            for spelling in spellings {
                prop_assert!(!text.contains(&spelling), "{spelling}\n{text}");
            }
        }
        let addresses = secrets.v6.iter().flat_map(|ip| [ip.to_string(), full(*ip)]);
        for address in addresses.chain(secrets.v4.iter().map(|ip| full(ip.to_ipv6_mapped()))) {
            prop_assert!(!text.contains(&address), "{address}\n{text}");
        }
        for address in &secrets.v4 {
            prop_assert!(!has(&text, &address.to_string()), "{address}\n{text}");
        }
        // It is a document still, and there is nothing left to replace.
        if machine.contradiction().is_none() {
            prop_assert_eq!(Machine::load(&anonymous.to_yaml(), "anonymous"), Ok(anonymous.clone()));
        }
        prop_assert_eq!(&anonymous.anonymised(&[]).unwrap(), &anonymous);
        // The same shape: as many lines, and counters are no addresses.
        prop_assert!(text.contains("174460117740"));
        // What belongs together does.
        let mac = anonymous.netdevs.iter().find(|netdev| netdev.index == 100).unwrap();
        let bare = mac.mac.clone().unwrap().replace(':', "");
        prop_assert_eq!(&mac.name, &format!("enx{bare}"));
        let device = anonymous.devices.iter().find(|device| device.index == 10).unwrap();
        let number = u64::from_str_radix(&bare, 16).unwrap();
        prop_assert_eq!(&device.node_guid, &guid(eui(number)));
        prop_assert_eq!(device.ports[0].gids.iter().rev().nth(1).unwrap().gid.clone(),
            format!("fe80:0000:0000:0000:{}", guid(eui(number))));
    }
}
