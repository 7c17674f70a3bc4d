//! Rows of the list of known troubles that a recorded machine shows.

use std::sync::Arc;
use std::time::Duration;

use rdma_operator::inventory::movable::Movable;
use rdma_operator::inventory::{Collector, Dirty, GidType, Identity, Inventory, Kernel, Watch, watch};
use rdma_operator::machine::{Machine, Simulator};

use super::{documents, inventory, load, machine, recorded};

/// The inventory of `machine` after it has been that of `before`.
async fn afterwards(before: &Machine, machine: &Machine, dirty: &Dirty) -> Inventory {
    let last = inventory(before).await;
    let kernel = Arc::new(Kernel::new(Arc::new(Simulator::new(machine.clone()))));
    Collector::new(kernel).collect(&last, dirty).await
}

#[tokio::test]
async fn b13_only_rdma_devices_are_looked_at_and_no_node_but_uverbs_is_needed() {
    // The netdevs of network functions without RDMA (eno1, docker0) are no devices and no problems.
    let dgx = inventory(&machine("dgx-h100")).await;
    assert!(dgx.netdev("eno1").is_some() && dgx.problems.is_empty());
    assert!(dgx.devices.iter().all(|device| device.netdevs.iter().all(|netdev| netdev.netdev != "eno1")));
    // No issm anywhere, no umad at the siw devices: all are there with their verbs nodes.
    for name in ["azure-ib-vf", "soft-iwarp-node", "vf-300"] {
        let found = inventory(&machine(name)).await;
        assert!(!found.devices.is_empty() && found.problems.is_empty(), "{name}");
        assert!(found.devices.iter().all(|device| device.uverbs.is_some()), "{name}");
        assert!(found.devices.iter().flat_map(|device| &device.ports).all(|port| port.issm.is_none()));
    }
}

/// Follows a machine until its inventory is as wanted; how long that took, of a clock that does not wait.
async fn until(watch: &mut Watch, wanted: impl Fn(&Inventory) -> bool) -> Duration {
    let start = tokio::time::Instant::now();
    let wanted = |inventory: &Option<Arc<Inventory>>| inventory.as_deref().is_some_and(&wanted);
    let reached = tokio::time::timeout(Duration::from_secs(120), watch.inventory.wait_for(wanted)).await;
    reached.expect("in two minutes").expect("it is followed");
    start.elapsed()
}

fn follow(host: &Simulator) -> Watch {
    watch(Arc::new(Kernel::new(Arc::new(host.clone()))))
}

#[tokio::test(start_paused = true)]
async fn b18_devices_that_come_later_are_found() {
    let later = machine("azure-ib-vf");
    // The modules are loaded, and the driver is not: there is no device.
    let mut early = later.clone();
    early.devices.clear();
    let host = Simulator::new(early);
    let mut watch = follow(&host);
    until(&mut watch, |found| found.devices.is_empty() && found.problems.is_empty()).await;
    for device in later.devices.clone() {
        host.plug(device);
    }
    let took = until(&mut watch, |found| found.devices.len() == 9).await;
    assert!(took <= Duration::from_secs(2), "{took:?}");
    let found = watch.inventory.borrow().clone().unwrap();
    assert_eq!(found.devices, inventory(&later).await.devices);
}

#[tokio::test(start_paused = true)]
async fn b19_functions_that_are_added_and_removed_come_and_go() {
    let all = machine("vf-300");
    let mut few = all.clone();
    few.devices.truncate(10);
    let host = Simulator::new(few);
    let mut watch = follow(&host);
    until(&mut watch, |found| found.devices.len() == 10).await;
    for device in &all.devices[10..40] {
        host.plug(device.clone());
    }
    let took = until(&mut watch, |found| found.devices.len() == 40).await;
    assert!(took <= Duration::from_secs(2), "{took:?}");
    for device in &all.devices[..5] {
        assert!(host.unplug(&device.name));
    }
    let took = until(&mut watch, |found| found.devices.len() == 35).await;
    assert!(took <= Duration::from_secs(2), "{took:?}");
    let found = watch.inventory.borrow().clone().unwrap();
    assert_eq!(found.devices, inventory(&all).await.devices[5..40]);
}

#[tokio::test]
async fn b20_soft_devices_have_no_function_and_name_their_netdev() {
    for (name, drivers) in [("soft-roce-node", "rxe"), ("soft-iwarp-node", "siw")] {
        let found = inventory(&machine(name)).await;
        assert_eq!(found.devices.len(), 2);
        for device in &found.devices {
            assert!(device.pci.is_none() && device.is_soft() && device.driver.name == drivers);
            assert_eq!(device.parent_netdev.as_deref(), device.netdev(), "{}", device.name);
            assert!(found.netdev(device.netdev().unwrap()).is_some());
        }
    }
}

#[tokio::test]
async fn b21_b27_every_driver_is_read_the_same_way() {
    let mut drivers = std::collections::BTreeSet::new();
    for file in documents(&recorded()) {
        let machine = load(&file);
        let found = inventory(&machine).await;
        assert_eq!(found.devices.len(), machine.devices.len(), "{}", file.display());
        for (device, written) in found.devices.iter().zip(&machine.devices) {
            assert_ne!(device.driver.name, "unknown", "{}", device.name);
            assert_eq!(device.name, written.name);
            assert_eq!(device.ports.len(), written.ports.len());
            // Kernels do not share their numbers of devices with us: an unknown one is a device like another.
            drivers.insert(device.driver.name.clone());
        }
    }
    let expected = ["bnxt_re", "efa", "erdma", "hfi1", "i40iw", "irdma", "mlx5", "rxe", "siw"];
    assert_eq!(drivers.iter().map(String::as_str).collect::<Vec<_>>(), expected);
    // A function that nobody has heard of.
    let mut new = machine("bnxt-thor2");
    for device in &mut new.devices {
        device.driver = Some("nextgen_core".into());
        device.uverbs.as_mut().unwrap().driver_id = Some(99);
        let pci = device.pci.as_mut().unwrap();
        (pci.vendor, pci.device) = (Some("ffff".into()), Some("0001".into()));
    }
    let found = inventory(&new).await;
    assert_eq!(found.devices.len(), 5);
    assert!(
        found.devices.iter().all(|device| device.movable.0 == Movable::Unknown && !device.ports.is_empty())
    );
}

#[tokio::test]
async fn b23_every_device_has_a_name_and_the_netdev_that_is_known() {
    let found = inventory(&machine("bnxt-thor2")).await;
    let function = found.device("bnxt_re12").unwrap();
    assert!(function.is_virtual_function());
    assert_eq!(function.netdev(), Some("ens3f0v3"));
    for file in documents(&recorded()) {
        let machine = load(&file);
        for (device, written) in inventory(&machine).await.devices.iter().zip(&machine.devices) {
            assert!(!device.name.is_empty());
            let netdevs: Vec<_> = written.ports.iter().map(|port| port.netdev.clone()).collect();
            assert_eq!(device.ports.iter().map(|port| port.netdev.clone()).collect::<Vec<_>>(), netdevs);
        }
    }
}

#[tokio::test]
async fn b29_a_name_tells_nothing_of_the_driver() {
    let names =
        ["rocep3s0f0", "ibp26s0", "opap129s0", "rocex00005efffe005301", "rocep193s0f0S88", "siw0", "rxe7"];
    let mut renamed = machine("dgx-h100");
    renamed.resources.clear();
    let before = inventory(&renamed).await;
    for (device, name) in renamed.devices.iter_mut().zip(names) {
        device.name = name.into();
    }
    let found = inventory(&renamed).await;
    for (device, before) in found.devices.iter().zip(&before.devices) {
        assert_eq!((&device.driver, &device.identity), (&before.driver, &before.identity), "{}", device.name);
        assert_eq!((device.movable, device.is_soft()), (before.movable, false));
    }
}

#[tokio::test]
async fn b30_a_device_is_known_by_its_index_over_a_rename() {
    let before = machine("oci-h100-exclusive");
    let mut after = before.clone();
    after.devices[3].name = "rocep42s0f0".into();
    let list = Dirty { list: true, ..Dirty::default() };
    let found = afterwards(&before, &after, &list).await;
    let renamed = found.device_by_index(3).unwrap();
    assert_eq!(renamed.name, "rocep42s0f0");
    assert_eq!(renamed.identity, Identity::Pci("0000:2a:00.0".into()));
    assert!(found.device("mlx5_3").is_none());
    // Two that exchange their names are read anew, both.
    let mut swapped = before.clone();
    (swapped.devices[0].name, swapped.devices[1].name) = ("mlx5_1".into(), "mlx5_0".into());
    let found = afterwards(&before, &swapped, &list).await;
    assert_eq!(found.devices, inventory(&swapped).await.devices);
}

#[tokio::test]
async fn b31_an_unknown_link_layer_is_a_link_layer() {
    let found = inventory(&machine("aws-efa-p5")).await;
    assert_eq!(found.devices.len(), 32);
    for port in found.devices.iter().flat_map(|device| &device.ports) {
        assert_eq!(port.link_layer.as_deref(), Some("Unknown"));
        assert!(port.is_active() && port.best_gid.is_none() && port.gids.len() == 1);
    }
}

#[tokio::test]
async fn b32_a_kernel_without_netlink_rdma_is_a_state() {
    let found = inventory(&machine("empty-node")).await;
    assert!(!found.system.rdma && found.problems.is_empty());
    assert!(!found.netdevs.is_empty());
    // Where only the socket is refused, devices are found with what sysfs tells, and that is a problem to be told.
    let full = inventory(&machine("irdma-quad-plus-mlx5")).await;
    let host = Simulator::new(machine("irdma-quad-plus-mlx5")).without_netlink();
    let mut collector = Collector::new(Arc::new(Kernel::new(Arc::new(host))));
    let found = collector.collect(&Inventory::default(), &Dirty::all()).await;
    assert!(found.system.rdma && found.devices.len() == 5);
    assert_eq!(found.problems.len(), 1, "{:?}", found.problems);
    assert_eq!(found.problems[0].device, None);
    for device in &full.devices {
        let poor = found.device(&device.name).unwrap();
        assert_eq!(poor.identity, device.identity);
        assert_eq!(poor.driver, device.driver);
        let facts = |device: &rdma_operator::inventory::Device| {
            device.ports.iter().map(|port| (port.state.clone(), port.best_gid)).collect::<Vec<_>>()
        };
        assert_eq!(facts(poor), facts(device), "{}", device.name);
    }
}

#[tokio::test]
async fn b33_a_function_without_a_driver_costs_its_driver_only() {
    let mut machine = machine("dgx-h100");
    machine.devices[0].driver = None;
    let found = inventory(&machine).await;
    assert_eq!(found.devices.len(), 12);
    assert_eq!(found.devices[0].driver.module, None);
    assert_eq!(found.devices[0].driver.name, "mlx5");
    assert!(found.problems.is_empty());
}

#[tokio::test]
async fn b48_a_file_that_fails_costs_its_slot_only() {
    let mut machine = machine("soft-roce-node");
    machine.faults.push(rdma_operator::machine::document::Fault {
        path: "class/infiniband/rxe0/ports/1/gid_attrs/types/1".into(),
        errno: "EIO".into(),
    });
    let found = inventory(&machine).await;
    let port = &found.device("rxe0").unwrap().ports[0];
    assert_eq!(port.gids.iter().map(|gid| gid.index).collect::<Vec<_>>(), [0, 2, 3, 4]);
    assert_eq!(port.best_gid, Some(2), "the next best");
    let problem = &found.problems[0];
    assert_eq!((found.problems.len(), problem.device.as_deref()), (1, Some("rxe0")));
    assert!(problem.what.ends_with("gid_attrs/types/1"), "{problem:?}");
}

#[tokio::test]
async fn b54_gids_are_read_again_after_an_address_has_gone() {
    let before = machine("soft-roce-node");
    let mut after = before.clone();
    after.netdevs[1].addresses.retain(|address| !address.starts_with("192.0.2."));
    after.devices[0].ports[0].gids.retain(|gid| gid.index != 1);
    let mut dirty = Dirty { netdevs: true, ..Dirty::default() };
    // eth0, as rtnetlink tells it.
    dirty.addresses.insert(2);
    let found = afterwards(&before, &after, &dirty).await;
    let port = &found.device("rxe0").unwrap().ports[0];
    assert!(port.gids.iter().all(|gid| gid.index != 1));
    assert_eq!(port.best_gid, Some(2));
}

#[tokio::test]
async fn b57_every_gid_has_its_type() {
    for file in documents(&recorded()) {
        let found = inventory(&load(&file)).await;
        for gid in found.devices.iter().flat_map(|device| &device.ports).flat_map(|port| &port.gids) {
            assert_ne!(gid.gid_type, GidType::Unknown, "{}", file.display());
        }
        let text = serde_json::to_string(&found).unwrap();
        let (gids, types) = (text.matches("\"gid\":").count(), text.matches("\"type\":\"").count());
        assert_eq!(types, gids, "{}", file.display());
    }
}

/// Sub-devices of multi-plane adapters, which no public listing shows whole.
#[tokio::test]
async fn a_sub_device_is_its_parents_companion() {
    let mut machine = machine("dgx-h100");
    machine.kernel.release = "6.12.57".into();
    let mut smi = machine.devices[0].clone();
    (smi.index, smi.name) = (40, "smi0".into());
    (smi.device_type, smi.parent) = (Some("smi".into()), Some("mlx5_0".into()));
    (smi.uverbs, smi.pci, smi.driver) = (None, None, None);
    (smi.ports[0].umad, smi.ports[0].issm) = (Some("umad40".into()), None);
    machine.devices.push(smi);
    assert_eq!(machine.contradiction(), None);
    let found = inventory(&machine).await;
    assert_eq!(found.device("mlx5_0").unwrap().companions, ["smi0"]);
    let smi = found.device("smi0").unwrap();
    assert_eq!((smi.parent.as_deref(), smi.device_type.as_deref()), (Some("mlx5_0"), Some("smi")));
    assert!(smi.uverbs.is_none() && smi.pci.is_none() && found.problems.is_empty(), "{:?}", found.problems);
    assert_eq!(smi.ports[0].umad.as_deref(), Some("umad40"));
}
