//! The soft link plan against a small model of the kernel.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use proptest::prelude::*;

use super::*;
use crate::inventory::DefaultRoute;
use crate::inventory::testing::{device, netdev};

fn link(uid: &str, netdev: &str) -> NodeSoftLink {
    NodeSoftLink {
        name: format!("link-{uid}"),
        uid: uid.into(),
        generation: 1,
        created_at: Time(Timestamp::UNIX_EPOCH),
        link_type: LinkType::Rxe,
        netdev: NetdevSelector { name: Some(netdev.into()), ..NetdevSelector::default() },
        device_name: None,
        deletion_policy: DeletionPolicy::Delete,
        adopt: AdoptPolicy::Never,
        update_policy: crate::api::UpdatePolicy::default(),
    }
}

/// A host on which steps are carried out as the kernel would.
#[derive(Default)]
struct Host {
    inventory: Inventory,
    records: Records,
    next: u32,
}

impl Host {
    fn new(netdevs: &[&str]) -> Self {
        let mut host = Self { next: 10, ..Self::default() };
        host.inventory.netdevs = netdevs.iter().zip(1..).map(|(name, index)| netdev(index, name)).collect();
        host
    }

    fn make(&mut self, name: &str, kind: LinkType, netdev: &str) -> u32 {
        self.next += 1;
        self.inventory.devices.push(device(self.next, name, kind.as_str(), netdev));
        self.next
    }

    fn carry_out(&mut self, step: Step) {
        match step {
            Step::Add { uid, record } => {
                let taken = self.inventory.devices.iter().any(|device| {
                    device.name == record.device
                        || (device.driver.name == record.link_type.as_str()
                            && device.parent_netdev.as_deref() == Some(&*record.netdev))
                });
                assert!(!taken, "the kernel would refuse {record:?}");
                let index = self.make(&record.device, record.link_type, &record.netdev);
                self.records.insert(uid, Owned { index: Some(index), ..record });
            }
            Step::Rename { uid, index, to, .. } => {
                assert!(self.records.contains_key(&uid), "renames only what is on record");
                assert!(self.inventory.device(&to).is_none(), "the kernel would refuse {to}");
                let renamed = self.inventory.devices.iter_mut().find(|device| device.index == index);
                renamed.unwrap().name = to;
            }
            Step::Delete { uid, index, .. } => {
                assert!(self.records.contains_key(&uid), "deletes only what is on record");
                self.inventory.devices.retain(|device| device.index != index);
            }
            Step::Record { uid, record } => drop(self.records.insert(uid, record)),
            Step::Forget { uid } => drop(self.records.remove(&uid)),
        }
    }

    /// Plans and does until nothing is left to do; the number of rounds is bounded.
    fn settle(&mut self, wanted: &[NodeSoftLink]) -> Plan {
        for _ in 0..6 {
            let plan = plan(Some(wanted), &self.records, &self.inventory);
            if plan.steps.is_empty() {
                return plan;
            }
            plan.steps.into_iter().for_each(|step| self.carry_out(step));
        }
        panic!("no fixpoint: {:?}", plan(Some(wanted), &self.records, &self.inventory));
    }

    fn names(&self) -> Vec<&str> {
        self.inventory.devices.iter().map(|device| device.name.as_str()).collect()
    }
}

#[test]
fn a_wanted_link_is_made_and_a_dropped_one_removed() {
    let mut host = Host::new(&["eth0"]);
    let plan = host.settle(&[link("a", "eth0")]);
    assert_eq!(host.names(), ["rxe_eth0"]);
    assert_eq!(plan.verdicts[0].state, SoftLinkState::Ready);
    host.settle(&[]);
    assert!(host.names().is_empty() && host.records.is_empty());
}

#[test]
fn an_unknown_spec_touches_nothing() {
    let mut host = Host::new(&["eth0"]);
    host.settle(&[link("a", "eth0")]);
    assert_eq!(plan(None, &host.records, &host.inventory), Plan::default());
}

#[test]
fn a_link_removed_behind_our_back_comes_back() {
    let mut host = Host::new(&["eth0"]);
    host.settle(&[link("a", "eth0")]);
    host.inventory.devices.clear();
    host.settle(&[link("a", "eth0")]);
    assert_eq!(host.names(), ["rxe_eth0"]);
}

#[test]
fn a_link_renamed_behind_our_back_gets_its_name_again() {
    let mut host = Host::new(&["eth0"]);
    host.settle(&[link("a", "eth0")]);
    host.inventory.devices[0].name = "mlx5_9".into();
    let index = host.inventory.devices[0].index;
    host.settle(&[link("a", "eth0")]);
    assert_eq!((host.names(), host.inventory.devices[0].index), (vec!["rxe_eth0"], index), "users keep it");
}

#[test]
fn a_link_with_another_device_name_is_renamed_and_its_record_follows() {
    let mut host = Host::new(&["eth0"]);
    host.settle(&[link("a", "eth0")]);
    let index = host.inventory.devices[0].index;
    let mut wanted = link("a", "eth0");
    (wanted.device_name, wanted.generation) = (Some("fast".into()), 2);
    host.settle(&[wanted]);
    assert_eq!((host.names(), host.inventory.devices[0].index), (vec!["fast"], index));
    assert_eq!((host.records["a"].device.as_str(), host.records["a"].generation), ("fast", 2));
}

#[test]
fn a_name_that_a_stranger_has_taken_meanwhile_is_a_conflict_and_the_link_stays() {
    let mut host = Host::new(&["eth0"]);
    host.settle(&[link("a", "eth0")]);
    host.inventory.devices[0].name = "renamed".into();
    host.make("rxe_eth0", LinkType::Siw, "eth9");
    let plan = host.settle(&[link("a", "eth0")]);
    assert_eq!(plan.verdicts[0].reason, "NameConflict");
    assert_eq!(host.names(), ["renamed", "rxe_eth0"]);
}

#[test]
fn two_links_that_want_each_others_name_get_it() {
    let mut host = Host::new(&["eth0", "eth1"]);
    let named = |uid: &str, netdev: &str, name: &str| {
        let mut link = link(uid, netdev);
        link.device_name = Some(name.into());
        link
    };
    host.settle(&[named("a", "eth0", "one"), named("b", "eth1", "two")]);
    host.settle(&[named("a", "eth0", "two"), named("b", "eth1", "one")]);
    let on = |name: &str| host.inventory.device(name).and_then(|device| device.parent_netdev.clone());
    assert_eq!((on("two").as_deref(), on("one").as_deref()), (Some("eth0"), Some("eth1")));
}

#[test]
fn an_interrupted_add_is_found_again() {
    let mut host = Host::new(&["eth0"]);
    host.settle(&[link("a", "eth0")]);
    // Killed after NEWLINK, before the index was written.
    host.records.get_mut("a").unwrap().index = None;
    let plan = host.settle(&[link("a", "eth0")]);
    assert_eq!((host.names(), plan.verdicts[0].state), (vec!["rxe_eth0"], SoftLinkState::Ready));
    assert!(host.records["a"].index.is_some());
}

#[test]
fn b60_a_foreign_link_on_the_netdev_is_named_and_left_alone() {
    let mut host = Host::new(&["eth0"]);
    host.make("theirs", LinkType::Rxe, "eth0");
    let plan = host.settle(&[link("a", "eth0")]);
    assert_eq!(plan.verdicts[0].reason, "NetdevInUse");
    assert!(plan.verdicts[0].message.contains("theirs"));
    host.settle(&[]);
    assert_eq!(host.names(), ["theirs"]);
}

#[test]
fn b61_a_taken_name_is_a_conflict_and_the_other_device_stays() {
    let mut host = Host::new(&["eth0", "eth1"]);
    host.make("rxe0", LinkType::Siw, "eth1");
    let named = NodeSoftLink { device_name: Some("rxe0".into()), ..link("a", "eth0") };
    let plan = host.settle(&[named]);
    assert_eq!(plan.verdicts[0].reason, "NameConflict");
    assert_eq!(host.names(), ["rxe0"]);
}

#[test]
fn an_identical_link_is_adopted_only_when_asked() {
    let mut host = Host::new(&["eth0"]);
    host.make("rxe_eth0", LinkType::Rxe, "eth0");
    assert_eq!(host.settle(&[link("a", "eth0")]).verdicts[0].reason, "NetdevInUse");
    let adopting = NodeSoftLink { adopt: AdoptPolicy::IfIdentical, ..link("a", "eth0") };
    assert_eq!(host.settle(&[adopting]).verdicts[0].state, SoftLinkState::Ready);
}

#[test]
fn of_two_links_for_one_netdev_the_older_wins_and_the_other_says_so() {
    let mut host = Host::new(&["eth0"]);
    let younger = NodeSoftLink { created_at: Time(Timestamp::from_second(9).unwrap()), ..link("a", "eth0") };
    // The younger came first; then the older one arrives and takes the place.
    host.settle(std::slice::from_ref(&younger));
    let older = NodeSoftLink { device_name: Some("rxe0".into()), ..link("b", "eth0") };
    let plan = host.settle(&[younger, older]);
    assert_eq!(host.names(), ["rxe0"]);
    let loser = plan.verdicts.iter().find(|verdict| verdict.uid == "a").unwrap();
    assert_eq!((loser.state, loser.reason), (SoftLinkState::Failed, "NetdevInUse"));
    assert!(loser.message.contains("link-b"), "{}", loser.message);
}

#[test]
fn rxe_and_siw_share_a_netdev() {
    let mut host = Host::new(&["eth0"]);
    let siw = NodeSoftLink { link_type: LinkType::Siw, ..link("b", "eth0") };
    host.settle(&[link("a", "eth0"), siw]);
    assert_eq!(host.names(), ["rxe_eth0", "siw_eth0"]);
}

#[test]
fn retained_links_stay_and_are_forgotten() {
    let mut host = Host::new(&["eth0"]);
    host.settle(&[NodeSoftLink { deletion_policy: DeletionPolicy::Retain, ..link("a", "eth0") }]);
    host.settle(&[]);
    assert_eq!(host.names(), ["rxe_eth0"]);
    assert!(host.records.is_empty());
}

#[test]
fn a_missing_netdev_is_named_and_an_existing_link_stays() {
    let mut host = Host::new(&["eth0"]);
    host.settle(&[link("a", "eth0")]);
    let plan = host.settle(&[link("a", "eth9")]);
    assert_eq!(plan.verdicts[0].reason, "NetdevNotFound");
    assert!(plan.verdicts[0].message.contains("eth9"));
    assert_eq!(host.names(), ["rxe_eth0"]);
}

#[test]
fn b70_a_port_that_is_down_is_not_ready_and_not_made_again() {
    let mut host = Host::new(&["eth0"]);
    host.settle(&[link("a", "eth0")]);
    host.inventory.devices[0].ports[0].state = Some("DOWN".into());
    host.inventory.netdevs[0].up = false;
    let plan = host.settle(&[link("a", "eth0")]);
    assert_eq!(plan.verdicts[0].reason, "PortDown");
    assert!(plan.verdicts[0].message.contains("ip link set eth0 up"));
}

#[test]
fn selectors_by_route_and_by_network() {
    let mut host = Host::new(&["eth0", "eth1", "eth2"]);
    host.inventory.netdevs[0].default_route = Some(DefaultRoute { ipv6: true, metric: 0 });
    host.inventory.netdevs[1].default_route = Some(DefaultRoute { ipv6: false, metric: 100 });
    host.inventory.netdevs[2].addresses = vec![("192.0.2.130".parse().unwrap(), 25)];
    let by = |selector: NetdevSelector| resolve(&selector, &host.inventory).map(|netdev| netdev.name.clone());
    let cidr = |text: &str| NetdevSelector { cidr: Some(text.into()), ..NetdevSelector::default() };
    let route = NetdevSelector { default_route: Some(true), ..NetdevSelector::default() };
    assert_eq!(by(route).unwrap(), "eth1", "IPv4 before IPv6");
    assert_eq!(by(cidr("192.0.2.128/25")).unwrap(), "eth2");
    assert!(by(cidr("192.0.2.0/25")).is_err());
    assert!(by(cidr("2001:db8::/32")).is_err());
    assert!(by(cidr("nonsense")).unwrap_err().contains("nonsense"));
}

#[test]
fn default_names_have_only_legal_characters() {
    assert_eq!(device_name(&link("a", "eth0.5"), "eth0.5"), "rxe_eth0.5");
    assert_eq!(device_name(&link("a", "we@ird"), "we@ird"), "rxe_we_ird");
}

fn any_link(uid: usize) -> impl Strategy<Value = NodeSoftLink> {
    let names = prop_oneof![Just(None), Just(Some("x".to_owned())), Just(Some("y".to_owned()))];
    (0..4usize, any::<bool>(), names, any::<bool>(), any::<bool>(), 0..3i64).prop_map(
        move |(netdev, siw, device_name, adopt, retain, created)| NodeSoftLink {
            link_type: if siw { LinkType::Siw } else { LinkType::Rxe },
            device_name,
            adopt: if adopt { AdoptPolicy::IfIdentical } else { AdoptPolicy::Never },
            deletion_policy: if retain { DeletionPolicy::Retain } else { DeletionPolicy::Delete },
            created_at: Time(Timestamp::from_second(created).unwrap()),
            ..link(&uid.to_string(), &format!("eth{netdev}"))
        },
    )
}

fn any_links() -> impl Strategy<Value = Vec<NodeSoftLink>> {
    (any_link(0), any_link(1), any_link(2), any::<[bool; 3]>()).prop_map(|(a, b, c, keep)| {
        [a, b, c].into_iter().zip(keep).filter_map(|(link, keep)| keep.then_some(link)).collect()
    })
}

proptest! {
    #[test]
    fn every_sequence_of_specs_settles_and_foreign_devices_survive(
        specs in proptest::collection::vec(any_links(), 1..5),
        foreign in any::<[bool; 2]>(),
    ) {
        let mut host = Host::new(&["eth0", "eth1", "eth2"]);
        let mut theirs = Vec::new();
        if foreign[0] { theirs.push(host.make("x", LinkType::Siw, "eth1")); }
        if foreign[1] { theirs.push(host.make("theirs", LinkType::Rxe, "eth0")); }
        let adopts = specs.iter().flatten().any(|link| link.adopt == AdoptPolicy::IfIdentical);
        for wanted in &specs {
            let plan = host.settle(wanted);
            prop_assert_eq!(plan.verdicts.len(), wanted.len());
        }
        if !adopts {
            for index in theirs {
                prop_assert!(host.inventory.device_by_index(index).is_some());
            }
        }
    }
}
