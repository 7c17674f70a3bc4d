use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::inventory::{Collector, Dirty, Inventory, Kernel, NetnsMode, watch};
use crate::nl::{Error, LinkKind};

pub(super) fn machine(name: &str) -> Machine {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/machines/{name}.yaml"));
    serde_saphyr::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn machines() -> Vec<Machine> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/machines");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let names = files.filter(|path| path.extension().is_some_and(|e| e == "yaml"));
    let names = names.filter(|path| !path.to_str().unwrap().contains(".expect."));
    names.map(|path| machine(path.file_stem().unwrap().to_str().unwrap())).collect()
}

pub(super) async fn read(host: &Simulator) -> Inventory {
    let mut collector = Collector::new(Arc::new(Kernel::new(Arc::new(host.clone()))));
    collector.collect(&Inventory::default(), &Dirty::all()).await
}

fn errno_of(result: nl::Result<()>) -> Option<i32> {
    result.err().and_then(|error| error.errno())
}

#[tokio::test]
async fn every_machine_is_read_and_twice_the_same() {
    for machine in machines() {
        let host = Simulator::new(machine.clone());
        let first = read(&host).await;
        let second = read(&host).await;
        let text = |inventory: &Inventory| serde_json::to_string(inventory).unwrap();
        assert_eq!(text(&first), text(&second), "{}", machine.metadata.name);
        assert_eq!(first.devices.len(), machine.devices.len(), "{}", machine.metadata.name);
        for (device, written) in first.devices.iter().zip(&machine.devices) {
            let gids: usize = device.ports.iter().map(|port| port.gids.len()).sum();
            assert_eq!(device.name, written.name);
            assert_eq!(
                gids,
                written.ports.iter().map(|port| port.gids.len()).sum::<usize>(),
                "{}",
                device.name
            );
        }
        assert!(first.problems.is_empty(), "{}: {:?}", machine.metadata.name, first.problems);
    }
}

#[tokio::test]
async fn sysfs_alone_tells_the_same_of_devices_but_for_what_only_netlink_knows() {
    for machine in machines().into_iter().filter(|machine| !machine.devices.is_empty()) {
        let host = Simulator::new(machine.clone());
        let full = read(&host).await;
        let alone = read(&host.without_netlink()).await;
        assert_eq!(alone.system.netns_mode, NetnsMode::Unknown);
        assert!(alone.system.rdma && !alone.problems.is_empty());
        let mut names: Vec<&str> = full.devices.iter().map(|device| device.name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(alone.devices.iter().map(|d| d.name.as_str()).collect::<Vec<_>>(), names);
        for device in &alone.devices {
            let known = full.device(&device.name).unwrap();
            let name = (&machine.metadata.name, &device.name);
            assert_eq!((&device.identity, &device.pci), (&known.identity, &known.pci), "{name:?}");
            assert_eq!(device.node_type, known.node_type, "{name:?}");
            for (port, known) in device.ports.iter().zip(&known.ports) {
                assert_eq!((&port.state, &port.phys_state), (&known.state, &known.phys_state), "{name:?}");
                assert_eq!((&port.gids, &port.rate), (&known.gids, &known.rate), "{name:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_link_is_made_with_events_and_gids_and_goes_with_its_netdev() {
    let mut machine = machine("soft-roce-node");
    machine.devices.clear();
    machine.resources.clear();
    let host = Simulator::new(machine);
    let mut events = host.monitor().unwrap();
    let handle = host.connect().unwrap();
    handle.link().add("rxe7", &LinkKind::Rxe, "eth0").await.unwrap();
    assert!(matches!(events.recv().await, Some(nl::Event::Register { name, .. }) if name == "rxe7"));
    assert!(
        matches!(events.recv().await, Some(nl::Event::NetdevAttach { netdev_name, .. }) if netdev_name == "eth0")
    );
    let inventory = read(&host).await;
    let device = inventory.device("rxe7").unwrap();
    assert_eq!((device.driver.name.as_str(), device.parent_netdev.as_deref()), ("rxe", Some("eth0")));
    assert!(device.ports[0].is_active() && device.ports[0].best_gid == Some(1), "{:?}", device.ports);
    assert!(device.netdevs.iter().any(|relation| relation.netdev == "eth0.100"));
    assert!(host.remove_netdev("eth0"));
    assert!(matches!(events.recv().await, Some(nl::Event::Unregister { .. })));
    assert!(read(&host).await.devices.is_empty());
}

#[tokio::test(start_paused = true)]
async fn del_link_waits_for_users_before_7_3() {
    let host = Simulator::new(machine("soft-roce-node"));
    let handle = host.connect().unwrap();
    host.open_contexts("rxe0", 2);
    let handle = handle.with_timeout(Duration::from_millis(200));
    let waited = handle.link().del(0).await;
    assert!(matches!(waited, Err(Error::StillRunning { .. })), "{waited:?}");
    assert!(!host.remove_netdev("eth0"), "the netdev waits too");
    host.close_contexts("rxe0");
    handle.link().del(0).await.ok();
    assert!(host.machine().devices.iter().all(|device| device.name != "rxe0"));
    assert!(host.machine().netdevs.iter().all(|netdev| netdev.name != "eth0"));
}

#[tokio::test]
async fn without_the_capability_reading_works_and_changing_does_not() {
    let host = Simulator::new(machine("soft-roce-node")).unprivileged();
    let handle = host.connect().unwrap();
    assert_eq!(handle.device().list().await.unwrap().len(), 2);
    assert_eq!(errno_of(handle.device().rename(0, "x").await), Some(errno::EPERM));
    assert_eq!(errno_of(handle.link().add("x", &LinkKind::Rxe, "eth0").await), Some(errno::EPERM));
}

#[tokio::test]
async fn a_host_without_rdma_has_no_netlink_for_it() {
    let host = Simulator::new(machine("empty-node"));
    assert!(host.connect().unwrap_err().is_no_rdma());
    let inventory = read(&host).await;
    assert!(!inventory.system.rdma && inventory.devices.is_empty() && inventory.problems.is_empty());
}

#[tokio::test]
async fn one_file_that_cannot_be_read_costs_itself_only() {
    let host = Simulator::new(machine("dgx-h100"));
    let before = read(&host).await;
    host.add_fault("class/infiniband/mlx5_3/ports/1/rate", "EIO");
    host.add_fault("class/infiniband/mlx5_4/ports/1/gids/1", "EIO");
    let after = read(&host).await;
    assert_eq!(after.problems.len(), 2, "{:?}", after.problems);
    assert!(after.problems[0].what.ends_with("class/infiniband/mlx5_3/ports/1/rate"));
    assert_eq!(after.device("mlx5_3").unwrap().ports[0].rate, None);
    let gids = |inventory: &Inventory| inventory.device("mlx5_4").unwrap().ports[0].gids.clone();
    let spared: Vec<_> = gids(&before).into_iter().filter(|gid| gid.index != 1).collect();
    assert_eq!(gids(&after), spared);
    assert_eq!(after.device("mlx5_5"), before.device("mlx5_5"));
    assert_eq!(after.devices.len(), before.devices.len());
}

/// The inventory once it shows what it should, or as it is in the end.
async fn until(
    watch: &mut tokio::sync::watch::Receiver<Option<Arc<Inventory>>>,
    reached: impl Fn(&Inventory) -> bool,
) -> Arc<Inventory> {
    let wait = watch.wait_for(|inventory| inventory.as_ref().is_some_and(|inventory| reached(inventory)));
    let reached = tokio::time::timeout(Duration::from_secs(60), wait).await;
    reached.expect("in time").unwrap().clone().unwrap()
}

#[tokio::test(start_paused = true)]
async fn b19_300_functions_that_come_one_by_one_are_each_read_about_once() {
    let mut machine = machine("vf-300");
    let vfs = machine.devices.split_off(1);
    let (count, slots) =
        (vfs.len(), vfs.iter().flat_map(|vf| &vf.ports).map(|p| p.gid_table_size).sum::<u32>());
    let host = Simulator::new(machine);
    let mut watch = watch(Arc::new(Kernel::new(Arc::new(host.clone())))).inventory;
    until(&mut watch, |inventory| inventory.devices.len() == 1).await;
    let files = || host.reads().files.load(Ordering::Relaxed);
    let (start, requests) = (files(), host.reads().requests.load(Ordering::Relaxed));
    for vf in vfs {
        host.plug(vf);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    until(&mut watch, |inventory| inventory.devices.len() == count + 1).await;
    let read = files() - start - u64::from(slots);
    // What is read of a device once: PCI, MAD nodes, keys, … and its filled slots.
    assert!(read < 60 * count as u64, "{read} files for {count} functions besides {slots} slots");
    let asked = host.reads().requests.load(Ordering::Relaxed) - requests;
    assert!(asked < 5 * count as u64 + 500, "{asked} requests");
}

#[tokio::test(start_paused = true)]
async fn a_port_that_flaps_costs_its_own_reads_and_ends_in_the_right_state() {
    let host = Simulator::new(machine("dgx-h100"));
    let mut watch = watch(Arc::new(Kernel::new(Arc::new(host.clone())))).inventory;
    until(&mut watch, |inventory| !inventory.devices.is_empty()).await;
    let files = host.reads().files.load(Ordering::Relaxed);
    let netdev = host.machine().netdevs.into_iter().find(|netdev| netdev.pci.is_some()).unwrap();
    for round in 0..500 {
        let up = round % 2 == 1;
        host.set_netdev(crate::machine::document::Netdev { carrier: up, ..netdev.clone() });
        let (state, phys) = if up { ("ACTIVE", "LinkUp") } else { ("DOWN", "Polling") };
        host.set_port("mlx5_0", 1, state, phys);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    host.set_port("mlx5_0", 1, "DOWN", "Polling");
    let state = |inventory: &Inventory| inventory.device("mlx5_0").unwrap().ports[0].state.clone();
    until(&mut watch, |inventory| state(inventory).as_deref() == Some("DOWN")).await;
    let read = host.reads().files.load(Ordering::Relaxed) - files;
    assert!(read < 50, "{read} files: states are no files");
}

#[tokio::test(start_paused = true)]
async fn an_idle_host_is_asked_for_port_states_and_no_clean_table_is_read() {
    let host = Simulator::new(machine("soft-roce-node"));
    let mut watch = watch(Arc::new(Kernel::new(Arc::new(host.clone())))).inventory;
    until(&mut watch, |inventory| !inventory.devices.is_empty()).await;
    let files = host.reads().files.load(Ordering::Relaxed);
    tokio::time::sleep(Duration::from_secs(25)).await;
    assert_eq!(host.reads().files.load(Ordering::Relaxed), files);
}

#[tokio::test(start_paused = true)]
async fn b54_a_gid_goes_with_its_address() {
    let host = Simulator::new(machine("soft-roce-node"));
    let mut watch = watch(Arc::new(Kernel::new(Arc::new(host.clone())))).inventory;
    let has = |inventory: &Inventory| {
        let gids = &inventory.device("rxe0").unwrap().ports[0].gids;
        gids.iter().any(|gid| gid.gid.to_string() == "2001:db8:10::110")
    };
    until(&mut watch, has).await;
    host.remove_address("eth0", "2001:db8:10::110/64");
    until(&mut watch, |inventory| !has(inventory)).await;
}

#[tokio::test]
async fn a_resync_reads_of_a_device_only_what_can_change() {
    for (name, number) in [("dgx-h100", 12), ("vf-300", 302)] {
        let host = Simulator::new(machine(name));
        let mut collector = Collector::new(Arc::new(Kernel::new(Arc::new(host.clone()))));
        let first = collector.collect(&Inventory::default(), &Dirty::all()).await;
        assert_eq!(first.devices.len(), number);
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let reads = host.reads();
        let before = (count(&reads.files), count(&reads.folders), count(&reads.requests));
        let mut again = collector.collect(&first, &Dirty::all_but_gids()).await;
        let after = (count(&reads.files), count(&reads.folders), count(&reads.requests));
        again.problems.clone_from(&first.problems);
        assert_eq!(again, first, "{name}");
        let ports: usize = first.devices.iter().map(|device| device.ports.len()).sum();
        // A port's rate.
        assert!(after.0 - before.0 <= ports as u64, "{name}: {} files", after.0 - before.0);
        assert!(after.1 - before.1 <= 4, "{name}: {} folders", after.1 - before.1);
        // A port's state; the list, the settings.
        assert!(after.2 - before.2 <= ports as u64 + 2, "{name}: {} requests", after.2 - before.2);
    }
}

#[tokio::test]
async fn a_resync_sees_nodes_that_have_changed_places() {
    let host = Simulator::new(machine("dgx-h100"));
    let mut collector = Collector::new(Arc::new(Kernel::new(Arc::new(host.clone()))));
    let first = collector.collect(&Inventory::default(), &Dirty::all()).await;
    let nodes = |inventory: &Inventory| -> Vec<String> {
        inventory.devices.iter().map(|device| device.uverbs.clone().unwrap().name).collect()
    };
    assert!(host.renumber_uverbs(&first.devices[0].name, 77));
    let again = collector.collect(&first, &Dirty::all_but_gids()).await;
    assert_ne!(nodes(&again), nodes(&first));
    let fresh = Collector::new(Arc::new(Kernel::new(Arc::new(host))));
    assert_eq!(nodes(&again), nodes(&{ fresh }.collect(&Inventory::default(), &Dirty::all()).await));
}

proptest! {
    #[test]
    fn any_bytes_are_answered_or_dropped_but_never_break_it(bytes in prop::collection::vec(any::<u8>(), 0..256), kind in 0u16..40) {
        let host = Simulator::new(machine("soft-roce-node"));
        let mut request = bytes;
        if request.len() >= 16 {
            let length = u32::try_from(request.len()).unwrap().to_ne_bytes();
            request[..4].copy_from_slice(&length);
            request[4..6].copy_from_slice(&(5u16 << 10 | kind).to_ne_bytes());
        }
        let _ = host.exchange(&request);
    }
}
