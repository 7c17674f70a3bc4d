//! A snapshot of a simulated machine is that machine.

use std::sync::Arc;

use rdma_operator::machine::snapshot::snapshot;
use rdma_operator::machine::{Machine, Simulator};

use super::{documents, load, recorded};

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

/// What the kernel does not tell, or this host does not: where a driver's file fails, what it would have said.
fn without_untold(mut machine: Machine) -> Machine {
    machine.notes = None;
    machine.kernel.modules.sort();
    machine.resources.clear();
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
    for port in machine.devices.iter_mut().flat_map(|device| &mut device.ports) {
        port.optional_counters = None;
    }
    machine
}
