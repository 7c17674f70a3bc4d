//! Checks of what a machine has: netdevs, devices, ports and what is allocated on them.

use std::collections::BTreeMap;

use super::check::{At, Check};
use super::document::{Device, Gid, Netdev, NetdevKind, Object, Pci, Port, QueuePair, Resources, Uverbs};
use super::words;

/// The kernel's limit of interface names.
const NETDEV_NAME: usize = 15;
/// The kernel's limit of device names.
const DEVICE_NAME: usize = 63;
/// Slots of a GID table or a P_Key table: more than any driver has, and few enough to list.
const SLOTS: u32 = 65_535;

pub(super) fn netdevs(check: &mut Check<'_>, list: &At<'_>, netdevs: &[Netdev]) {
    for (index, netdev) in netdevs.iter().enumerate() {
        let at = &list.item(index);
        check.unique(&at.key("index"), "ifindex", netdev.index);
        if netdev.index == 0 {
            check.wrong(&at.key("index"), "index 0: the kernel counts netdevs from 1".into());
        }
        let name = &netdev.name;
        let fits =
            words::is_file_name(name, NETDEV_NAME) && !name.contains([':', '%']) && !name.contains(' ');
        check.shape(&at.key("name"), name, fits, "an interface name of 1 to 15 bytes");
        check.unique(&at.key("name"), "netdev name", name);
        if let Some(mac) = &netdev.mac {
            let (bytes, expected) = match netdev.kind {
                NetdevKind::Ipoib => (20, "20 bytes like 00:00:10:29:fe:80:…, as IPoIB has"),
                _ => (6, "6 bytes like 00:00:5e:00:53:01"),
            };
            check.shape(&at.key("mac"), mac, words::is_mac(mac, bytes), expected);
        }
        let addresses = at.key("addresses");
        for (index, text) in netdev.addresses.iter().enumerate() {
            let fits = words::address(text).is_some();
            check.shape(&addresses.item(index), text, fits, "an address with its prefix, like 192.0.2.1/24");
        }
        pci_address(check, &at.key("pci"), netdev.pci.as_deref());
        for (key, other) in [("master", &netdev.master), ("lower", &netdev.lower)] {
            check.netdev(&at.key(key), other.as_deref());
            if other.as_ref() == Some(name) {
                check.wrong(&at.key(key), format!("{key} {name:?} is the netdev itself: expected another"));
            }
        }
    }
}

fn pci_address(check: &mut Check<'_>, at: &At<'_>, text: Option<&str>) {
    if let Some(text) = text {
        check.shape(at, text, words::is_pci(text), "a PCI function like 0000:1a:00.0");
    }
}

fn guid(check: &mut Check<'_>, at: &At<'_>, text: &str) {
    check.shape(at, text, words::is_guid(text), "four groups of four hex digits like 0200:5eff:fe00:5301");
}

pub(super) fn devices<'m>(check: &mut Check<'m>, list: &At<'_>, devices: &'m [Device]) {
    for (index, device) in devices.iter().enumerate() {
        let at = &list.item(index);
        check.unique(&at.key("index"), "device index", device.index);
        let name = &device.name;
        let fits = words::is_file_name(name, DEVICE_NAME);
        check.shape(&at.key("name"), name, fits, "a device name of 1 to 63 bytes without a slash");
        check.unique(&at.key("name"), "device name", name);
        check.word(&at.key("nodeType"), Some(&device.node_type), words::NODE_TYPES);
        check.word(&at.key("protocol"), device.protocol.as_deref(), words::PROTOCOLS);
        check.word(&at.key("type"), device.device_type.as_deref(), words::DEVICE_TYPES);
        guid(check, &at.key("nodeGuid"), &device.node_guid);
        guid(check, &at.key("sysImageGuid"), &device.sys_image_guid);
        if let Some(parent) = &device.parent {
            let at = at.key("parent");
            if parent == name {
                check.wrong(&at, format!("parent {parent:?} is the device itself: expected another"));
            } else if !check.devices.contains(parent.as_str()) {
                check.wrong(&at, format!("parent {parent:?} is not in devices: add it there, or write null"));
            }
        }
        check.netdev(&at.key("parentNetdev"), device.parent_netdev.as_deref());
        if let Some(pci) = &device.pci {
            pci_function(check, &at.key("pci"), pci);
        }
        if let Some(node) = &device.uverbs {
            uverbs(check, &at.key("uverbs"), node);
        }
        file_names(check, &at.key("hwCounters"), device.hw_counters.as_ref());
        let list = at.key("ports");
        for (index, item) in device.ports.iter().enumerate() {
            port(check, &list.item(index), item, index);
        }
    }
}

fn pci_function(check: &mut Check<'_>, at: &At<'_>, pci: &Pci) {
    pci_address(check, &at.key("address"), Some(&pci.address));
    pci_address(check, &at.key("physfn"), pci.physfn.as_deref());
    if pci.physfn.as_ref() == Some(&pci.address) {
        let message = format!("physfn {:?} is the function itself: expected another", pci.address);
        check.wrong(&at.key("physfn"), message);
    }
    let ids = [
        ("class", &pci.class, 6, "six hex digits like 020700"),
        ("vendor", &pci.vendor, 4, "four hex digits like 15b3"),
        ("device", &pci.device, 4, "four hex digits like 1021"),
    ];
    for (key, id, digits, expected) in ids {
        if let Some(id) = id {
            check.shape(&at.key(key), id, words::is_id(id, digits), expected);
        }
    }
    if let Some(root) = &pci.root {
        check.shape(&at.key("root"), root, words::is_pci_root(root), "a root complex like pci0000:15");
    }
    if let Some(node) = pci.numa_node.filter(|node| *node < -1) {
        check.wrong(&at.key("numaNode"), format!("numaNode {node}: expected -1 or more"));
    }
}

fn uverbs(check: &mut Check<'_>, at: &At<'_>, node: &Uverbs) {
    let name = &node.name;
    check.shape(&at.key("name"), name, words::is_file_name(name, 63), "a node's name like uverbs0");
    check.unique(&at.key("name"), "node name", name);
    check.shape(&at.key("dev"), &node.dev, words::is_dev(&node.dev), "major:minor like 231:192");
    check.unique(&at.key("dev"), "device number", &node.dev);
}

fn file_names<T>(check: &mut Check<'_>, at: &At<'_>, files: Option<&BTreeMap<String, T>>) {
    for name in files.into_iter().flat_map(BTreeMap::keys) {
        let fits = words::is_file_name(name, 255);
        check.shape(&at.key(name), name, fits, "the name of a file, without a slash");
    }
}

fn port(check: &mut Check<'_>, at: &At<'_>, port: &Port, before: usize) {
    if usize::try_from(port.number) != Ok(before.saturating_add(1)) {
        let message = format!("port number {}: expected {}: ports count from 1", port.number, before + 1);
        check.wrong(&at.key("number"), message);
    }
    check.word(&at.key("linkLayer"), Some(&port.link_layer), words::LINK_LAYERS);
    check.word(&at.key("state"), Some(&port.state), words::STATES);
    check.word(&at.key("physState"), Some(&port.phys_state), words::PHYS_STATES);
    if let Some(lmc) = port.lmc.filter(|lmc| *lmc > 7) {
        check.wrong(&at.key("lmc"), format!("lmc {lmc}: expected 0 to 7, a count of three bits"));
    }
    if let Some(prefix) = &port.subnet_prefix {
        guid(check, &at.key("subnetPrefix"), prefix);
    }
    check.netdev(&at.key("netdev"), port.netdev.as_deref());
    if port.gid_table_size > SLOTS {
        let message = format!("gidTableSize {}: expected at most {SLOTS}", port.gid_table_size);
        check.wrong(&at.key("gidTableSize"), message);
    }
    gids(check, &at.key("gids"), port);
    if let Some(pkeys) = &port.pkeys {
        let at = at.key("pkeys");
        if u32::try_from(pkeys.len()).is_ok_and(|length| length > SLOTS) {
            check.wrong(&at, format!("pkeys has {} slots: expected at most {SLOTS}", pkeys.len()));
        }
        for (index, key) in pkeys.iter().enumerate() {
            check.shape(&at.item(index), key, words::is_pkey(key), "a P_Key like 0xffff");
        }
    }
    for (key, node) in [("umad", &port.umad), ("issm", &port.issm)] {
        if let Some(node) = node {
            let fits = words::is_file_name(node, 63) && node.starts_with(key);
            check.shape(&at.key(key), node, fits, &format!("a node's name like {key}0"));
            check.unique(&at.key(key), "node name", node);
        }
    }
    file_names(check, &at.key("counters"), port.counters.as_ref());
    file_names(check, &at.key("hwCounters"), port.hw_counters.as_ref());
    file_names(check, &at.key("optionalCounters"), port.optional_counters.as_ref());
}

fn gids(check: &mut Check<'_>, list: &At<'_>, port: &Port) {
    let mut before: Option<&Gid> = None;
    for (index, slot) in port.gids.iter().enumerate() {
        let at = list.item(index);
        if slot.index >= port.gid_table_size {
            let message =
                format!("GID index {}: expected less than gidTableSize {}", slot.index, port.gid_table_size);
            check.wrong(&at.key("index"), message);
        }
        if let Some(before) = before.filter(|before| before.index >= slot.index) {
            let message = format!(
                "GID index {} after {}: expected ascending slots, each once",
                slot.index, before.index
            );
            check.wrong(&at.key("index"), message);
        }
        let value = words::gid(&slot.gid);
        let expected = "eight groups of four hex digits like fe80:0000:0000:0000:0200:5eff:fe00:5301";
        check.shape(&at.key("gid"), &slot.gid, value.is_some(), expected);
        if value.is_some_and(|gid| gid.is_unspecified()) {
            check.wrong(&at.key("gid"), "a GID of zeros is an empty slot: leave it out".into());
        }
        check.word(&at.key("type"), slot.gid_type.as_deref(), words::GID_TYPES);
        check.netdev(&at.key("netdev"), slot.netdev.as_deref());
        before = Some(slot);
    }
}

pub(super) fn resources(check: &mut Check<'_>, list: &At<'_>, resources: &[Resources]) {
    for (index, resource) in resources.iter().enumerate() {
        let at = list.item(index);
        let device = &resource.device;
        if !check.devices.contains(device.as_str()) {
            let message =
                format!("resources of device {device:?}, which is not in devices: expected one that is");
            check.wrong(&at.key("device"), message);
        }
        check.unique(&at.key("device"), "resources' device", device);
        queue_pairs(check, &at.key("qps"), &resource.qps);
        let lists = [
            ("cqs", &resource.cqs),
            ("mrs", &resource.mrs),
            ("pds", &resource.pds),
            ("ctxs", &resource.ctxs),
            ("srqs", &resource.srqs),
            ("cmIds", &resource.cm_ids),
        ];
        for (key, objects) in lists {
            self::objects(check, &at.key(key), key, objects);
        }
    }
}

fn queue_pairs(check: &mut Check<'_>, list: &At<'_>, qps: &[QueuePair]) {
    for (index, qp) in qps.iter().enumerate() {
        let at = list.item(index);
        check.word(&at.key("type"), Some(&qp.qp_type), words::QP_TYPES);
        check.word(&at.key("state"), Some(&qp.state), words::QP_STATES);
        owner(check, &at, qp.kernel.as_deref(), qp.pid);
    }
}

fn objects(check: &mut Check<'_>, list: &At<'_>, what: &str, objects: &[Object]) {
    let mut ids = std::collections::BTreeSet::new();
    for (index, object) in objects.iter().enumerate() {
        let at = list.item(index);
        if !ids.insert(object.id) {
            check.wrong(&at.key("id"), format!("id {} is twice in {what}: expected each once", object.id));
        }
        owner(check, &at, object.kernel.as_deref(), object.pid);
    }
}

fn owner(check: &mut Check<'_>, at: &At<'_>, kernel: Option<&str>, pid: Option<u32>) {
    if kernel.is_some() && pid.is_some() {
        check.wrong(&at.key("pid"), "both kernel and pid: expected one owner".into());
    }
}
