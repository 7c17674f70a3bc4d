//! A snapshot of a simulated machine is that machine.

use std::sync::Arc;

use rdma_operator::inventory::Port;
use rdma_operator::machine::document::{Fault, Object, QueuePair};
use rdma_operator::machine::snapshot::snapshot;
use rdma_operator::machine::{Machine, Simulator};

use super::{documents, load, machine, read, recorded};

#[tokio::test]
async fn a_snapshot_of_a_snapshot_is_the_same() {
    for file in documents(&recorded()) {
        let recorded = load(&file);
        let name = recorded.metadata.name.clone();
        let first = snapshot(Arc::new(Simulator::new(recorded.clone())), &name).await.unwrap();
        let text = first.to_yaml();
        let again = Machine::load(&text, "snapshot").unwrap_or_else(|error| panic!("{error}"));
        let second = snapshot(Arc::new(Simulator::new(again)), &name).await.unwrap();
        assert_eq!(second.to_yaml(), text, "{}", file.display());
        let (found, expected) = (without_untold(first).to_yaml(), without_untold(recorded).to_yaml());
        let differ: Vec<_> =
            found.lines().zip(expected.lines()).filter(|(found, expected)| found != expected).collect();
        assert!(found == expected, "{}: (found, expected) {differ:#?}", file.display());
    }
}

/// A machine with everything that the recorded ones lack: objects of processes, a sub-device, files that fail.
#[tokio::test]
async fn what_no_recorded_machine_has_is_in_a_snapshot_too() {
    let mut machine = machine("dgx-h100");
    machine.notes = None;
    machine.kernel.release = "6.12.57".into();
    machine.kernel.modules.sort();
    for device in &mut machine.devices {
        device.name_assign_type = Some(0);
    }
    let mut smi = machine.devices[0].clone();
    smi.index = 40;
    smi.name = "smi0".into();
    smi.device_type = Some("smi".into());
    smi.parent = Some("mlx5_0".into());
    (smi.uverbs, smi.pci, smi.driver, smi.hca_type, smi.board_id) = (None, None, None, None, None);
    (smi.movable, smi.name_assign_type) = (false, Some(1));
    (smi.ports[0].umad, smi.ports[0].issm) = (Some("umad40".into()), None);
    machine.devices.push(smi);
    let objects = |first: u32| {
        vec![
            Object { id: first, kernel: Some("ib_ipoib".into()), pid: None },
            Object { id: first + 1, kernel: None, pid: Some(4711) },
        ]
    };
    let own = &mut machine.resources[0];
    own.qps.push(QueuePair {
        lqpn: 200,
        qp_type: "RC".into(),
        state: "RTS".into(),
        kernel: None,
        pid: Some(4711),
    });
    (own.cqs, own.mrs, own.pds) = (objects(1), objects(10), objects(20));
    (own.srqs, own.cm_ids) = (objects(30), objects(40));
    own.ctxs = vec![Object { id: 7, kernel: None, pid: Some(4711) }];
    for (path, errno) in [
        ("class/infiniband/mlx5_0/ports/1/hw_counters/lifespan", "EIO"),
        ("class/infiniband/mlx5_1/board_id", "ENODEV"),
        ("class/infiniband/mlx5_1/ports/1/rate", "EINVAL"),
        ("class/infiniband/mlx5_1/ports/1/gids/3", "EIO"),
    ] {
        machine.faults.push(Fault { path: path.into(), errno: errno.into() });
    }
    let found = snapshot(Arc::new(Simulator::new(machine.clone())), "dgx-h100").await.unwrap();
    // What fails is not told besides.
    let counters = machine.devices[0].ports[0].hw_counters.as_mut().unwrap();
    counters.insert("lifespan".into(), String::new());
    (machine.devices[1].board_id, machine.devices[1].ports[0].rate) = (None, None);
    machine.devices[1].ports[0].gids.retain(|gid| gid.index != 3);
    machine.faults.sort_by(|a, b| a.path.cmp(&b.path));
    let mut found = found;
    found.faults.sort_by(|a, b| a.path.cmp(&b.path));
    let (found, expected) = (without_untold(found).to_yaml(), without_untold(machine).to_yaml());
    let differ: Vec<_> =
        found.lines().zip(expected.lines()).filter(|(found, expected)| found != expected).collect();
    assert!(found == expected, "(found, expected) {differ:#?}");
}

/// What the kernel does not tell, or this host does not: where a driver's file fails, what it would have said.
fn without_untold(mut machine: Machine) -> Machine {
    machine.notes = None;
    machine.kernel.modules.sort();
    for netdev in &mut machine.netdevs {
        netdev.addresses.iter_mut().for_each(|text| {
            let (address, prefix) = text.split_once('/').unwrap();
            *text = format!("{}/{prefix}", address.parse::<std::net::IpAddr>().unwrap());
        });
        netdev.addresses.sort();
    }
    for fault in machine.faults.clone() {
        let parts: Vec<&str> = fault.path.split('/').collect();
        let ["class", "infiniband", device, "ports", port, "counters", name] = parts.as_slice() else {
            continue;
        };
        let device = machine.devices.iter_mut().find(|known| known.name == *device).unwrap();
        let port = device.ports.iter_mut().find(|known| known.number.to_string() == *port).unwrap();
        port.counters.as_mut().unwrap().insert((*name).to_owned(), String::new());
    }
    machine
}

/// A host whose security policy refuses NETLINK_RDMA is described all the same, and says what is missing.
#[tokio::test]
async fn where_netlink_is_refused_a_snapshot_is_what_sysfs_shows() {
    for file in documents(&recorded()) {
        let recorded = load(&file);
        let name = recorded.metadata.name.clone();
        let host = Simulator::new(recorded).without_netlink();
        let first = snapshot(Arc::new(host.clone()), &name).await.unwrap();
        let text = first.to_yaml();
        let again = Machine::load(&text, "snapshot").unwrap_or_else(|error| panic!("{error}"));
        let again = Simulator::new(again);
        let second = snapshot(Arc::new(again.without_netlink()), &name).await.unwrap();
        assert_eq!(second.to_yaml(), text, "{}", file.display());

        let (host, told) = (read(&host).await, read(&again).await);
        assert_eq!(told.devices.len(), host.devices.len(), "{name}");
        for device in &host.devices {
            let found = told.device(&device.name).unwrap();
            assert_eq!(
                (&found.identity, &found.pci),
                (&device.identity, &device.pci),
                "{name} {}",
                device.name
            );
            for (found, port) in found.ports.iter().zip(&device.ports) {
                let facts = |port: &Port| (port.state.clone(), port.netdev.clone(), port.gids.clone());
                assert_eq!(facts(found), facts(port), "{name} {}", device.name);
            }
        }
        // A host without RDMA has no NETLINK_RDMA that could be refused.
        let noted = first.notes.unwrap_or_default().contains("NETLINK_RDMA cannot be used");
        assert_eq!(noted, first.kernel.modules.contains(&"ib_core".to_owned()), "{name}");
    }
}
