//! Machines of every shape, for properties.

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;

use crate::machine::document::*;
use crate::machine::{API_VERSION, Machine};

/// Any text, also what YAML would take for something else.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[ -~]{0,20}",
        Just("null".to_owned()),
        Just("~".to_owned()),
        Just("0x10".to_owned()),
        Just("1e3".to_owned()),
        Just("- a: b # c".to_owned()),
        Just("two\nlines\n".to_owned()),
        "([a-z]{1,9} ){0,40}[a-z.:#-]{1,9}",
    ]
}

fn maybe() -> impl Strategy<Value = Option<String>> {
    option::of(text())
}

fn counters() -> impl Strategy<Value = Option<std::collections::BTreeMap<String, String>>> {
    option::of(btree_map(text(), text(), 0..4))
}

fn netdev() -> impl Strategy<Value = Netdev> {
    let kind = prop_oneof![Just(NetdevKind::Ether), Just(NetdevKind::Ipoib), Just(NetdevKind::Vlan)];
    let facts = (any::<u32>(), text(), kind, maybe(), any::<u32>(), any::<bool>(), any::<bool>());
    (facts, vec(text(), 0..3), maybe(), maybe(), maybe()).prop_map(
        |((index, name, kind, mac, mtu, up, carrier), addresses, pci, master, lower)| Netdev {
            index,
            name,
            kind,
            mac,
            mtu,
            up,
            carrier,
            addresses,
            pci,
            master,
            lower,
        },
    )
}

fn port() -> impl Strategy<Value = Port> {
    let gid = (any::<u32>(), text(), maybe(), maybe()).prop_map(|(index, gid, gid_type, netdev)| Gid {
        index,
        gid,
        gid_type,
        netdev,
    });
    let one = (any::<u32>(), text(), text(), text(), maybe(), any::<Option<u32>>(), any::<Option<u8>>());
    let two = (maybe(), maybe(), any::<u32>(), vec(gid, 0..3), option::of(vec(text(), 0..3)), maybe());
    let optional = option::of(btree_map(text(), any::<bool>(), 0..3));
    (one, two, counters(), counters(), optional).prop_map(
        |(
            (number, link_layer, state, phys_state, rate, lid, lmc),
            (subnet_prefix, netdev, gid_table_size, gids, pkeys, umad),
            counters,
            hw_counters,
            optional_counters,
        )| Port {
            number,
            link_layer,
            state,
            phys_state,
            rate,
            cap_mask: lid,
            lid,
            sm_lid: lid,
            lmc,
            subnet_prefix,
            netdev,
            gid_table_size,
            gids,
            pkeys,
            issm: umad.clone(),
            umad,
            counters,
            hw_counters,
            optional_counters,
        },
    )
}

fn device() -> impl Strategy<Value = Device> {
    let pci =
        option::of((text(), maybe(), any::<Option<i32>>()).prop_map(|(address, class, numa_node)| Pci {
            address,
            vendor: class.clone(),
            device: class.clone(),
            root: class.clone(),
            physfn: class.clone(),
            class,
            numa_node,
        }));
    let uverbs = option::of((text(), text(), any::<Option<u32>>()).prop_map(|(name, dev, abi)| Uverbs {
        name,
        dev,
        abi,
        driver_id: abi,
    }));
    let one = (any::<u32>(), text(), text(), maybe(), any::<Option<u64>>(), any::<Option<bool>>());
    (one, maybe(), pci, uverbs, counters(), vec(port(), 0..3)).prop_map(
        |((index, name, guid, some, cap_flags, flag), other, pci, uverbs, hw_counters, ports)| Device {
            index,
            name,
            node_type: "CA".into(),
            protocol: some.clone(),
            node_guid: guid.clone(),
            sys_image_guid: guid,
            firmware: other.clone(),
            cap_flags,
            adaptive_moderation: flag,
            name_assign_type: flag.map(u8::from),
            device_type: some.clone(),
            parent: other.clone(),
            driver: some.clone(),
            movable: flag == Some(true),
            removable: flag == Some(false),
            hca_type: other.clone(),
            board_id: some,
            parent_netdev: other,
            pci,
            uverbs,
            hw_counters,
            ports,
        },
    )
}

/// A machine of any shape; most would be refused.
pub(super) fn machine() -> impl Strategy<Value = Machine> {
    let qp = (any::<u32>(), text(), maybe(), any::<Option<u32>>()).prop_map(|(lqpn, word, kernel, pid)| {
        QueuePair { lqpn, qp_type: word.clone(), state: word, kernel, pid }
    });
    let object = || {
        (any::<u32>(), maybe(), any::<Option<u32>>()).prop_map(|(id, kernel, pid)| Object { id, kernel, pid })
    };
    let resources = (text(), vec(qp, 0..3), vec(object(), 0..3), vec(object(), 0..2)).prop_map(
        |(device, qps, cqs, mrs)| Resources {
            device,
            qps,
            pds: cqs.clone(),
            srqs: mrs.clone(),
            cqs,
            mrs,
            ctxs: Vec::new(),
            cm_ids: Vec::new(),
        },
    );
    let fault = (text(), text()).prop_map(|(path, errno)| Fault { path, errno });
    let mode = option::of(prop_oneof![Just(NetnsMode::Shared), Just(NetnsMode::Exclusive)]);
    let kernel = (text(), mode, any::<Option<bool>>(), vec(text(), 0..4), any::<u32>()).prop_map(
        |(release, netns_mode, flag, modules, other_netns)| Kernel {
            release,
            netns_mode,
            copy_on_fork: flag,
            privileged_qkey: flag,
            monitor: flag,
            modules,
            other_netns,
        },
    );
    let lists =
        (vec(netdev(), 0..3), vec(device(), 0..3), vec(resources, 0..3), vec(text(), 0..3), vec(fault, 0..3));
    (text(), maybe(), kernel, lists).prop_map(
        |(name, notes, kernel, (netdevs, devices, resources, char_devices, faults))| Machine {
            api_version: API_VERSION.into(),
            kind: KIND.into(),
            metadata: Metadata { name },
            notes,
            kernel,
            netdevs,
            devices,
            resources,
            char_devices,
            faults,
        },
    )
}
