use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;
use crate::health::{HealthState, reason};
use crate::inventory::{CharDevice, Driver, Guid, Pci, Port};

fn port(netdev: &str) -> Port {
    Port {
        number: 1,
        state: Some("ACTIVE".to_owned()),
        phys_state: Some("LINK_UP".to_owned()),
        link_layer: Some("Ethernet".to_owned()),
        netdev: Some(netdev.to_owned()),
        ..Port::default()
    }
}

fn soft(index: u32, name: &str) -> Device {
    Device {
        index,
        name: name.to_owned(),
        identity: Identity::Name(name.to_owned()),
        driver: Driver { name: "rxe".to_owned(), module: None },
        node_type: "ca".to_owned(),
        protocol: Some("roce".to_owned()),
        node_guid: Some(Guid(7)),
        parent_netdev: Some("eth0".to_owned()),
        uverbs: Some(CharDevice {
            name: format!("uverbs{index}"),
            major: 231,
            minor: 192 + index,
            abi: Some(1),
        }),
        ports: vec![port("eth0")],
        ..Device::default()
    }
}

fn hard(index: u32, name: &str, address: &str, physfn: Option<&str>) -> Device {
    Device {
        driver: Driver { name: "mlx5".to_owned(), module: Some("mlx5_core".to_owned()) },
        identity: Identity::Pci(address.to_owned()),
        pci: Some(Pci {
            address: address.to_owned(),
            numa_node: Some(1),
            physfn: physfn.map(str::to_owned),
            ..Pci::default()
        }),
        ..soft(index, name)
    }
}

fn host(devices: Vec<Device>) -> Inventory {
    Inventory { devices, ..Inventory::default() }
}

fn names(resources: &Resources) -> Vec<&str> {
    resources.resources.iter().map(|resource| resource.name.as_str()).collect()
}

#[test]
fn each_physical_and_soft_device_is_a_resource() {
    let mut sub = hard(3, "smi0", "0000:1a:00.0", None);
    sub.parent = Some("mlx5_0".to_owned());
    let found = resources(
        &host(vec![
            soft(9, "rxe0"),
            hard(1, "mlx5_10", "0000:1b:00.0", None),
            hard(0, "mlx5_2", "0000:1a:00.0", None),
            hard(2, "mlx5_v", "0000:1a:00.1", Some("0000:1a:00.0")),
            sub,
        ]),
        &Settings::default(),
    );
    assert_eq!(names(&found), ["rdma/mlx5_2", "rdma/mlx5_10", "rdma/rxe0"]);
    assert_eq!(found.resources[0].devices[0].id, "0000:1a:00.0", "a PCI device goes by its address");
    assert_eq!(found.resources[0].devices[0].numa_node, Some(1));
    assert_eq!(found.resources[2].devices[0].id, "rxe0", "a soft one by its name");
    assert!(found.omitted.is_empty() && found.renamed.is_empty());
    assert_eq!(
        resources(&host(vec![soft(0, "rxe0")]), &Settings { enabled: false, ..Settings::default() }),
        Resources::default()
    );
}

#[test]
fn what_is_over_the_limit_is_named() {
    let devices =
        (0..40).map(|n| hard(n, &format!("mlx5_{n}"), &format!("0000:{n:02x}:00.0"), None)).collect();
    let found = resources(&host(devices), &Settings::default());
    assert_eq!(found.resources.len(), 32);
    assert_eq!(found.omitted, (32..40).map(|n| format!("mlx5_{n}")).collect::<Vec<_>>());
}

#[test]
fn b10_renames_and_collisions_are_told() {
    let found = resources(&host(vec![soft(0, "a!b"), soft(1, "a-b"), soft(2, "x!")]), &Settings::default());
    let told: Vec<_> =
        found.renamed.iter().map(|renamed| (renamed.device.as_str(), renamed.collision)).collect();
    assert_eq!(told, [("a!b", true), ("x!", false)]);
    assert_eq!(found.renamed[1].resource, "rdma/x");
    assert!(names(&found).contains(&"rdma/a-b"));
    let keys: std::collections::BTreeSet<_> = found.resources.iter().map(|r| &r.devices[0].env_key).collect();
    assert_eq!(keys.len(), 3);
}

#[test]
fn b48_the_gid_is_the_hosts_and_only_of_soft_devices() {
    let mut rxe = soft(0, "rxe0");
    rxe.ports[0].best_gid = Some(7);
    let mut mlx = hard(1, "mlx5_0", "0000:1a:00.0", None);
    mlx.ports[0].best_gid = Some(7);
    let found = resources(&host(vec![rxe, mlx]), &Settings::default());
    let index = |name: &str| found.resources.iter().find(|r| r.name == name).unwrap().devices[0].gid_index;
    assert_eq!(index("rdma/rxe0"), Some(7));
    assert_eq!(index("rdma/mlx5_0"), None);
}

#[test]
fn b77_a_device_that_goes_is_unhealthy_for_a_while_and_then_dropped() {
    let start = Instant::now();
    let after = |seconds| start + Duration::from_secs(seconds);
    let mut grace = Grace::new(Duration::from_secs(60), &[], start);
    let both = resources(&host(vec![soft(0, "rxe0"), soft(1, "rxe1")]), &Settings::default());
    let one = resources(&host(vec![soft(0, "rxe0")]), &Settings::default());
    assert_eq!(grace.apply(both.clone(), start), both);
    assert_eq!(grace.deadline(), None);

    let left = grace.apply(one.clone(), after(1));
    assert_eq!(names(&left), ["rdma/rxe0", "rdma/rxe1"]);
    assert_eq!(left.resources[1].devices[0].health.reason, reason::DEVICE_GONE);
    assert_eq!(grace.deadline(), Some(after(61)));
    assert_eq!(names(&grace.apply(one.clone(), after(60))).len(), 2);
    assert_eq!(grace.apply(one.clone(), after(61)), one);
    assert_eq!(grace.deadline(), None);

    assert_eq!(grace.apply(both.clone(), after(62)), both, "and back");
    let _ = grace.apply(one.clone(), after(63));
    assert_eq!(grace.apply(both.clone(), after(64)), both, "back within the period");
    assert_eq!(names(&grace.apply(one, after(124))).len(), 2, "the period starts anew");
}

#[test]
fn b06_what_was_offered_before_a_reboot_is_unhealthy_until_it_comes() {
    let start = Instant::now();
    let known = Known { resource: "rdma/rxe0".to_owned(), id: "rxe0".to_owned(), device: "rxe0".to_owned() };
    let mut grace = Grace::new(Duration::from_secs(60), &[known], start);
    let early = grace.apply(Resources::default(), start);
    assert_eq!(names(&early), ["rdma/rxe0"]);
    assert_eq!(early.resources[0].devices[0].health.state, HealthState::Unhealthy);
    let there = resources(&host(vec![soft(0, "rxe0")]), &Settings::default());
    assert_eq!(grace.apply(there.clone(), start + Duration::from_secs(5)), there);
}

proptest! {
    #[test]
    fn the_order_of_the_inventory_does_not_matter(
        order in Just((0..12_usize).collect::<Vec<_>>()).prop_shuffle(), max in 0..14_usize,
    ) {
        let names = ["a!b", "a-b", "a@b", "mlx5_0", "mlx5_1", "mlx5_10", "mlx5_2", "x", "X", "rxe0", "-", "!"];
        let build = |at: usize| if at.is_multiple_of(2) {
            soft(at as u32, names[at])
        } else {
            hard(at as u32, names[at], &format!("0000:{at:02x}:00.0"), None)
        };
        let settings = Settings { max, ..Settings::default() };
        let sorted = resources(&host((0..12).map(build).collect()), &settings);
        prop_assert_eq!(&resources(&host(order.into_iter().map(build).collect()), &settings), &sorted);
        prop_assert_eq!(sorted.resources.len() + sorted.omitted.len(), 12);
        for resource in &sorted.resources {
            prop_assert_eq!(name::check(&resource.name), Ok(()));
        }
    }
}
