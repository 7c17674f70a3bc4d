use std::fs;
use std::os::unix::fs::symlink;

use super::*;

/// A tree below a temporary folder, one file an entry.
fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, Sysfs) {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let sysfs = Sysfs::new(dir.path());
    (dir, sysfs)
}

#[test]
fn b48_a_sparse_gid_table_gives_its_filled_slots() {
    let port = "class/infiniband/rxe0/ports/1";
    let zero = "0000:0000:0000:0000:0000:0000:0000:0000\n";
    let empty: Vec<String> = (1..10).map(|slot| format!("{port}/gids/{slot}")).collect();
    let (first, last) = (format!("{port}/gids/0"), format!("{port}/gids/10"));
    let (kind, netdev) = (format!("{port}/gid_attrs/types/10"), format!("{port}/gid_attrs/ndevs/10"));
    let mut files = vec![
        (first.as_str(), "fe80:0000:0000:0000:0000:00ff:fe00:0011\n"),
        (&last, "0000:0000:0000:0000:0000:ffff:c000:020b\n"),
        (&kind, "RoCE v2\n"),
        (&netdev, "eth0\n"),
    ];
    files.extend(empty.iter().map(|slot| (slot.as_str(), zero)));
    let (_dir, sysfs) = tree(&files);
    let (gids, failures) = sysfs.gids("rxe0", 1);
    assert!(failures.is_empty(), "{failures:?}");
    assert_eq!(gids.iter().map(|gid| gid.index).collect::<Vec<_>>(), [0, 10]);
    assert_eq!((gids[0].gid_type, gids[0].scope), (GidType::Unknown, GidScope::LinkLocal));
    assert_eq!((gids[1].gid_type, gids[1].scope), (GidType::RoceV2, GidScope::Global));
    assert_eq!(gids[1].netdev.as_deref(), Some("eth0"));
}

#[test]
fn a_gid_that_is_none_is_named_with_its_file() {
    let port = "class/infiniband/rxe0/ports/1";
    let (_dir, sysfs) = tree(&[
        (&format!("{port}/gids/0"), "garbage\n"),
        (&format!("{port}/gids/1"), "fe80:0000:0000:0000:0000:00ff:fe00:0011\n"),
    ]);
    let (gids, failures) = sysfs.gids("rxe0", 1);
    assert_eq!(gids.iter().map(|gid| gid.index).collect::<Vec<_>>(), [1], "the others are not spoilt");
    assert!(failures[0].path.ends_with("ports/1/gids/0"));
    assert_eq!(failures[0].source.to_string(), "\"garbage\" is not a GID");
}

#[test]
fn a_table_that_cannot_be_read_at_all_comes_to_an_end() {
    let (dir, sysfs) = tree(&[]);
    let gids = dir.path().join("class/infiniband/rxe0/ports/1/gids");
    // A folder where a file should be is a file that cannot be read.
    (0..3).for_each(|slot| fs::create_dir_all(gids.join(slot.to_string())).unwrap());
    let (slots, failures) = sysfs.gids("rxe0", 1);
    assert_eq!((slots.len(), failures.len()), (0, 3));
}

#[test]
fn nothing_there_is_no_error() {
    let (_dir, sysfs) = tree(&[]);
    assert_eq!(sysfs.devices().unwrap(), None);
    assert!(sysfs.gids("mlx5_0", 1).0.is_empty());
    assert_eq!(sysfs.pci("mlx5_0").unwrap(), None);
    assert!(sysfs.rdma_modules().unwrap().is_empty());
    assert_eq!(sysfs.uverbs("mlx5_0").unwrap(), None);
}

#[test]
fn scopes_follow_the_bits_also_of_mapped_ipv4() {
    let cases = [
        ("fe80::1", GidScope::LinkLocal),
        ("::1", GidScope::Loopback),
        ("::ffff:127.0.0.1", GidScope::Loopback),
        ("::ffff:169.254.1.1", GidScope::LinkLocal),
        ("::ffff:192.0.2.1", GidScope::Global),
        ("ff02::1", GidScope::Multicast),
        ("2001:db8::1", GidScope::Global),
    ];
    for (text, expected) in cases {
        assert_eq!(scope(text.parse().unwrap()), expected, "{text}");
    }
}

#[test]
fn b97_pci_facts_come_from_the_function_and_minus_one_is_no_numa_node() {
    let function = "devices/pci0000:15/0000:15:01.0/0000:1a:00.1";
    let (dir, sysfs) = tree(&[
        (&format!("{function}/vendor"), "0x15b3\n"),
        (&format!("{function}/device"), "0x101e\n"),
        (&format!("{function}/numa_node"), "-1\n"),
        ("devices/pci0000:15/0000:15:01.0/0000:1a:00.0/vendor", "0x15b3\n"),
        ("class/infiniband/mlx5_1/node_guid", "0200:5eff:fe00:5301\n"),
    ]);
    symlink(dir.path().join(function), dir.path().join("class/infiniband/mlx5_1/device")).unwrap();
    symlink(
        dir.path().join("devices/pci0000:15/0000:15:01.0/0000:1a:00.0"),
        dir.path().join(function).join("physfn"),
    )
    .unwrap();
    let pci = sysfs.pci("mlx5_1").unwrap().unwrap();
    assert_eq!(pci.address, "0000:1a:00.1");
    assert_eq!((pci.vendor.as_deref(), pci.device.as_deref()), (Some("15b3"), Some("101e")));
    assert_eq!(pci.numa_node, None);
    assert_eq!(pci.root.as_deref(), Some("pci0000:15"));
    assert_eq!(pci.physfn.as_deref(), Some("0000:1a:00.0"));
}

#[test]
fn b33_an_unbound_function_has_no_driver() {
    let (_dir, sysfs) = tree(&[("class/infiniband/mlx5_0/node_guid", "x")]);
    assert_eq!(sysfs.driver_module("mlx5_0"), None);
}

#[test]
fn partition_keys_are_in_table_order_without_the_empty_ones() {
    let port = "class/infiniband/mlx5_0/ports/1";
    let mut table = ["0x0000\n"; 11];
    (table[0], table[2], table[10]) = ("0xffff\n", "0x8002\n", "0x8001\n");
    let files: Vec<_> =
        table.iter().enumerate().map(|(slot, key)| (format!("{port}/pkeys/{slot}"), *key)).collect();
    let files: Vec<_> = files.iter().map(|(path, key)| (path.as_str(), *key)).collect();
    let (_dir, sysfs) = tree(&files);
    assert_eq!(sysfs.pkeys("mlx5_0", 1).0, [0xffff, 0x8002, 0x8001]);
}

#[test]
fn mad_nodes_are_found_by_device_and_port() {
    let class = "class/infiniband_mad";
    let (_dir, sysfs) = tree(&[
        (&format!("{class}/umad0/ibdev"), "mlx5_0\n"),
        (&format!("{class}/umad0/port"), "1\n"),
        (&format!("{class}/umad1/ibdev"), "mlx5_0\n"),
        (&format!("{class}/umad1/port"), "2\n"),
        (&format!("{class}/issm1/ibdev"), "mlx5_0\n"),
        (&format!("{class}/issm1/port"), "2\n"),
    ]);
    let nodes = sysfs.mad_nodes().unwrap();
    assert_eq!(nodes[&("mlx5_0".into(), 1)], (Some("umad0".into()), None));
    assert_eq!(nodes[&("mlx5_0".into(), 2)], (Some("umad1".into()), Some("issm1".into())));
}
