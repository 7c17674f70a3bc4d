//! Documents that are wrong, each in one place.

use super::super::Machine;

const GOOD: &str = r#"apiVersion: rdma-operator.dev/v1alpha1
kind: Machine
metadata: {name: small}
kernel:
  release: "6.12.57"
  netnsMode: shared
  modules: [ib_core, ib_uverbs]
netdevs:
  - {index: 2, name: eth0, kind: ether, mac: "00:00:5e:00:53:01", mtu: 1500, up: true, carrier: true, addresses: [192.0.2.1/24], pci: "0000:1b:00.0"}
  - {index: 3, name: bond0, kind: bond, mtu: 1500, up: true, carrier: true}
  - {index: 4, name: ib0, kind: ipoib, mac: "00:00:10:29:fe:80:00:00:00:00:00:00:02:00:5e:ff:fd:00:53:10", mtu: 4092, up: false, carrier: false}
devices:
  - index: 0
    name: mlx5_0
    nodeType: CA
    protocol: roce
    nodeGuid: "0200:5eff:fe00:5301"
    sysImageGuid: "0200:5eff:fe00:5301"
    parent: null
    pci: {address: "0000:1a:00.0", class: "020700", vendor: "15b3", device: "1021", numaNode: 0, root: "pci0000:15"}
    uverbs: {name: uverbs0, dev: "231:192", abi: 1}
    ports:
      - number: 1
        linkLayer: Ethernet
        state: ACTIVE
        physState: LinkUp
        lmc: 0
        netdev: eth0
        gidTableSize: 8
        gids:
          - {index: 0, gid: "fe80:0000:0000:0000:0200:5eff:fe00:5301", type: "RoCE v2", netdev: eth0}
          - {index: 1, gid: "0000:0000:0000:0000:0000:ffff:c000:0201", type: "RoCE v2", netdev: eth0}
        pkeys: ["0xffff"]
        umad: umad0
        issm: issm0
        counters: {port_rcv_data: "1"}
  - index: 1
    name: mlx5_1
    nodeType: CA
    nodeGuid: "0200:5eff:fe00:5302"
    sysImageGuid: "0200:5eff:fe00:5302"
    parentNetdev: null
    uverbs: {name: uverbs1, dev: "231:193"}
resources:
  - {device: mlx5_0, qps: [{lqpn: 1, type: GSI, state: RTS, kernel: ib_core}], pds: [{id: 1, pid: 7}, {id: 2, pid: 7}]}
charDevices: [rdma_cm]
faults:
  - {path: class/infiniband/mlx5_0/fw_ver, errno: EIO}
"#;

/// What is replaced, by what, and two parts of the message.
const BAD: &[(&str, &str, &str, &str)] = &[
    ("v1alpha1", "v7", "apiVersion \"rdma-operator.dev/v7\"", "expected rdma-operator.dev/v1alpha1"),
    ("kind: Machine", "kind: Pod", "kind \"Pod\"", "expected Machine"),
    ("{name: small}", "{name: a/b}", "name \"a/b\"", "without slashes"),
    ("\"6.12.57\"", "\"new\"", "release \"new\"", "uname -r"),
    ("netnsMode: shared", "netnsMode: both", "both", "shared"),
    ("  netnsMode: shared", "  netnsModes: shared", "netnsModes", "netnsMode"),
    ("[ib_core, ib_uverbs]", "[ib_core, ib_core]", "module ib_core", "kernel.modules[0]"),
    ("index: 3", "index: 2", "ifindex 2", "netdevs[0].index"),
    ("index: 2", "index: 0", "index 0", "from 1"),
    ("name: bond0", "name: eth0", "netdev name eth0", "netdevs[0].name"),
    ("name: bond0", "name: a_name_of_16_byt", "a_name_of_16_byt", "1 to 15 bytes"),
    ("kind: bond", "kind: bundle", "bundle", "bond"),
    ("00:00:5e:00:53:01\", mtu", "00:00:5e:00:53\", mtu", "mac \"00:00:5e:00:53\"", "6 bytes"),
    ("00:00:10:29:fe:80:00:00", "00:00:10:29:fe:80", "mac", "20 bytes"),
    ("192.0.2.1/24", "192.0.2.1", "addresses \"192.0.2.1\"", "prefix"),
    ("192.0.2.1/24", "192.0.2.1/33", "addresses \"192.0.2.1/33\"", "prefix"),
    ("pci: \"0000:1b:00.0\"", "pci: \"1b:00.0\"", "pci \"1b:00.0\"", "0000:1a:00.0"),
    ("carrier: true}", "carrier: true, master: br9}", "master \"br9\"", "not in netdevs"),
    ("carrier: true}", "carrier: true, lower: bond0}", "lower \"bond0\"", "itself"),
    ("carrier: true}", "carrier: true, lower: eth9}", "lower \"eth9\"", "not in netdevs"),
    ("mtu: 4092", "mtu: many", "many", "u32"),
    ("- index: 1", "- index: 0", "device index 0", "devices[0].index"),
    ("name: mlx5_1", "name: mlx5_0", "device name mlx5_0", "devices[0].name"),
    ("name: mlx5_1", "name: mlx5/1", "mlx5/1", "without a slash"),
    ("nodeType: CA\n    protocol", "nodeType: ca\n    protocol", "nodeType \"ca\" is unknown", "UNSPECIFIED"),
    ("protocol: roce", "protocol: rocket", "protocol \"rocket\" is unknown", "usnic"),
    ("nodeGuid: \"0200:5eff:fe00:5301\"", "nodeGuid: \"02005efffe005301\"", "nodeGuid", "four groups"),
    ("sysImageGuid: \"0200:5eff:fe00:5301\"", "sysImageGuid: \"\"", "sysImageGuid \"\"", "four groups"),
    ("parent: null", "parent: mlx5_9", "parent \"mlx5_9\"", "not in devices"),
    ("parent: null", "parent: mlx5_0", "parent \"mlx5_0\"", "itself"),
    ("parent: null", "type: big", "type \"big\"", "smi"),
    ("parentNetdev: null", "parentNetdev: eth9", "parentNetdev \"eth9\"", "not in netdevs"),
    ("0000:1a:00.0", "0000:1a:00.8", "address \"0000:1a:00.8\"", "PCI function"),
    ("\"020700\"", "\"0x020700\"", "class \"0x020700\"", "six hex digits"),
    ("\"15b3\"", "\"15B3\"", "vendor \"15B3\"", "four hex digits"),
    ("numaNode: 0", "numaNode: -2", "numaNode -2", "-1 or more"),
    ("pci0000:15", "0000:15", "root \"0000:15\"", "pci0000:15"),
    ("dev: \"231:192\"", "dev: \"231\"", "dev \"231\"", "major:minor"),
    ("dev: \"231:193\"", "dev: \"231:192\"", "device number 231:192", "devices[0].uverbs.dev"),
    ("name: uverbs1", "name: uverbs0", "node name uverbs0", "devices[0].uverbs.name"),
    ("number: 1", "number: 0", "port number 0", "expected 1"),
    ("number: 1", "number: 2", "port number 2", "expected 1"),
    ("linkLayer: Ethernet", "linkLayer: ethernet", "linkLayer \"ethernet\" is unknown", "InfiniBand"),
    ("state: ACTIVE", "state: UP", "state \"UP\" is unknown", "ACTIVE_DEFER"),
    ("physState: LinkUp", "physState: Up", "physState \"Up\" is unknown", "Polling"),
    ("lmc: 0", "lmc: 8", "lmc 8", "0 to 7"),
    ("lmc: 0", "subnetPrefix: fe80", "subnetPrefix \"fe80\"", "four groups"),
    ("lmc: 0\n        netdev: eth0", "lmc: 0\n        netdev: eth9", "netdev \"eth9\"", "not in netdevs"),
    ("gidTableSize: 8", "gidTableSize: 70000", "gidTableSize 70000", "at most 65535"),
    ("{index: 1, gid", "{index: 8, gid", "GID index 8", "less than gidTableSize 8"),
    ("{index: 1, gid", "{index: 0, gid", "GID index 0 after 0", "ascending"),
    ("ffff:c000:0201\"", "ffff:192.0.2.1\"", "gid \"0000", "eight groups"),
    ("0000:ffff:c000:0201\"", "0000:0000:0000:0000\"", "GID of zeros", "empty slot"),
    ("type: \"RoCE v2\"", "type: \"RoCE v3\"", "type \"RoCE v3\" is unknown", "IB/RoCE v1"),
    ("v2\", netdev: eth0", "v2\", netdev: net1", "netdev \"net1\"", "not in netdevs"),
    ("\"0xffff\"", "\"ffff\"", "pkeys \"ffff\"", "0xffff"),
    ("umad: umad0", "umad: mad0", "umad \"mad0\"", "umad0"),
    ("issm: issm0", "issm: issm0\n        issm: issm1", "issm", "duplicate"),
    ("{port_rcv_data:", "{../rate:", "\"../rate\"", "without a slash"),
    ("{device: mlx5_0", "{device: mlx5_7", "device \"mlx5_7\"", "not in devices"),
    ("type: GSI", "type: QP1", "type \"QP1\" is unknown", "GSI"),
    ("state: RTS", "state: READY", "state \"READY\" is unknown", "RTS"),
    ("kernel: ib_core", "kernel: ib_core, pid: 4", "both kernel and pid", "one owner"),
    ("{id: 2", "{id: 1", "id 1 is twice in pds", "once"),
    ("[rdma_cm]", "[rdma_cm, rdma_cm]", "node rdma_cm", "charDevices[0]"),
    ("path: class", "path: /sys/class", "path \"/sys/class", "below /sys"),
    ("path: class", "path: ../class", "path \"../class", "without .."),
    ("errno: EIO", "errno: EWHAT", "errno \"EWHAT\"", "like EINVAL"),
    ("charDevices: [rdma_cm]", "charDevices: rdma_cm", "sequence", "expected"),
];

#[test]
fn the_good_one_is_good() {
    Machine::load(GOOD, "<stdin>").unwrap();
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    assert!(BAD.len() >= 30);
    for (good, bad, what, expected) in BAD {
        let at = GOOD.find(good).unwrap_or_else(|| panic!("{good}"));
        let text = GOOD.replacen(good, bad, 1);
        // The line where the two first differ; of texts over two lines, that of the second.
        let differ = GOOD.bytes().zip(text.bytes()).position(|(a, b)| a != b).unwrap_or(at);
        let line = GOOD.get(..differ).unwrap().lines().count().max(1);
        let error = Machine::load(&text, "bad.yaml").expect_err(bad).to_string();
        assert!(error.starts_with(&format!("bad.yaml:{line}: ")), "{bad}: line {line}: {error}");
        assert!(error.contains(what) && error.contains(expected), "{bad}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[test]
fn what_is_missing_and_what_is_no_yaml_has_a_line_too() {
    let without = GOOD.replacen("    nodeType: CA\n", "", 1);
    let error = Machine::load(&without, "<stdin>").unwrap_err().to_string();
    assert!(error.starts_with("<stdin>:") && error.contains("nodeType"), "{error}");
    for text in ["", "{", "a: [", "- 1\n- 2\n", "kind: Machine\n\tx: 1\n", "\u{0}"] {
        let error = Machine::load(text, "f").unwrap_err().to_string();
        assert!(error.starts_with("f:") && error.lines().count() == 1, "{text:?}: {error}");
    }
}

#[test]
fn a_large_document_loads_and_what_is_wrong_at_its_end_has_a_line() {
    let mut machine = Machine::load(GOOD, "good").unwrap();
    let mut device = machine.devices[0].clone();
    (device.uverbs, device.ports[0].umad, device.ports[0].issm) = (None, None, None);
    device.ports[0].pkeys = Some(vec!["0x0000".into(); 128]);
    for index in 2..1_300 {
        device.index = index;
        device.name = format!("mlx5_{index}");
        machine.devices.push(device.clone());
    }
    let text = machine.to_yaml();
    assert_eq!(Machine::load(&text, "large").as_ref(), Ok(&machine));
    let bad = text.replace("mlx5_1299\n", "mlx5_1298\n");
    let line = text.lines().position(|line| line.ends_with("mlx5_1299")).unwrap() + 1;
    let error = Machine::load(&bad, "large").unwrap_err().to_string();
    assert!(error.starts_with(&format!("large:{line}: device name mlx5_1298")), "{error}");
}
