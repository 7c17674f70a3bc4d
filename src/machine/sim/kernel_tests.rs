//! What no row can show: several requests at once, requests that wait, bytes, and documents of odd content.

use std::path::Path;
use std::time::Duration;

use super::tests::{machine, read};
use super::*;
use crate::machine::document::{Device, Netdev};
use crate::nl::packet::{AttributeList, NldevAttribute as A, NldevCommand as C, NldevMessage};
use crate::nl::{Error, LinkKind};
use crate::sysfs::Tree as _;

fn request(command: C, attributes: Vec<A>, flags: u16, sequence: u32) -> Vec<u8> {
    let message = NldevMessage::new(command, attributes);
    let payload = message.encode();
    let mut bytes = u32::try_from(16 + payload.len()).unwrap().to_ne_bytes().to_vec();
    bytes.extend(message.message_type().to_ne_bytes());
    bytes.extend(flags.to_ne_bytes());
    bytes.extend(sequence.to_ne_bytes());
    bytes.extend([0; 4]);
    bytes.extend(payload);
    bytes
}

/// Type, sequence number, and the number an error or the end of a list carries.
fn told(answer: &[Vec<u8>]) -> Vec<(u16, u32, Option<i32>)> {
    let one = |bytes: &Vec<u8>| {
        let kind = u16::from_ne_bytes([bytes[4], bytes[5]]);
        let errno = (kind < 16).then(|| i32::from_ne_bytes(bytes[16..20].try_into().unwrap()));
        (kind, u32::from_ne_bytes(bytes[8..12].try_into().unwrap()), errno)
    };
    answer.iter().map(one).collect()
}

fn file(host: &Simulator, path: &str) -> io::Result<Vec<u8>> {
    tree::Rendered(host.shared.clone()).read(Path::new(path))
}

fn soft_roce(release: &str) -> Simulator {
    let mut machine = machine("soft-roce-node");
    machine.kernel.release = release.to_owned();
    Simulator::new(machine)
}

fn new_device(name: &str) -> Device {
    let device = machine("dgx-h100").devices.swap_remove(0);
    Device { name: name.to_owned(), ..device }
}

#[tokio::test]
async fn indices_end_at_31_bits_and_none_is_given_twice() {
    for last in [u32::MAX, i32::MAX as u32, i32::MAX as u32 - 1] {
        let mut machine = machine("soft-roce-node");
        machine.devices[1].index = last;
        let host = Simulator::new(machine);
        let mut taken: Vec<u32> = host.machine().devices.iter().map(|device| device.index).collect();
        for name in ["x0", "x1", "x2"] {
            let index = host.plug(new_device(name));
            assert!(!taken.contains(&index) && i32::try_from(index).is_ok(), "{index} after {taken:?}");
            taken.push(index);
        }
    }
}

/// A request that waits runs on a thread of its own.
async fn until_unlisted(host: &Simulator, name: &str) {
    let handle = host.connect().unwrap();
    while handle.device().list().await.unwrap().iter().any(|device| device.name == name) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn a_removal_that_waits_ends_when_the_device_is_unplugged() {
    let host = Simulator::new(machine("soft-roce-node"));
    let handle = host.connect().unwrap().with_timeout(Duration::from_secs(5));
    host.open_contexts("rxe0", 1);
    let removal = tokio::spawn(async move { handle.link().del(0).await });
    until_unlisted(&host, "rxe0").await;
    assert!(host.unplug("rxe0"));
    removal.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_device_that_waits_for_its_end_is_in_no_list_but_holds_its_name() {
    let host = soft_roce("6.12.117");
    let handle = host.connect().unwrap().with_timeout(Duration::from_millis(100));
    let mut events = host.monitor().unwrap();
    host.open_contexts("rxe0", 1);
    assert!(matches!(handle.link().del(0).await, Err(Error::StillRunning { .. })));
    let other = host.connect().unwrap();
    until_unlisted(&host, "rxe0").await;
    assert_eq!(other.device().get(0).await.unwrap().name, "rxe0");
    assert!(!host.has_node("uverbs0"));
    let taken = other.link().add("rxe0", &LinkKind::Siw, "eth1").await.unwrap_err();
    assert_eq!(taken.errno(), Some(errno::ENFILE));
    host.close_contexts("rxe0");
    assert!(matches!(events.recv().await, Some(nl::Event::Unregister { name, .. }) if name == "rxe0"));
    other.link().add("rxe0", &LinkKind::Siw, "eth1").await.unwrap();
}

#[tokio::test]
async fn sub_devices_follow_their_parent_and_go_with_it() {
    let mut machine = machine("dgx-h100");
    machine.kernel.release = "7.3.4".to_owned();
    let host = Simulator::new(machine);
    let parent = host.machine().devices[0].clone();
    let made = vec![A::DevIndex(parent.index), A::DevName("smi0".into()), A::DevType(1)];
    let answer = host.exchange(&request(C::NewDev, made, 5, 1)).unwrap();
    assert_eq!(told(&answer), [(2, 1, Some(0))]);
    let renamed = vec![A::DevIndex(parent.index), A::DevName("new0".into())];
    assert_eq!(told(&host.exchange(&request(C::Set, renamed, 5, 1)).unwrap()), [(2, 1, Some(0))]);
    let sub = |host: &Simulator| host.machine().devices.into_iter().find(|device| device.name == "smi0");
    assert_eq!(sub(&host).unwrap().parent.as_deref(), Some("new0"));
    let mut events = host.monitor().unwrap();
    assert!(host.unplug("new0"));
    assert_eq!(sub(&host), None);
    for gone in ["smi0", "new0"] {
        let event = events.recv().await;
        assert!(matches!(&event, Some(nl::Event::Unregister { name, .. }) if name == gone), "{event:?}");
    }
}

#[tokio::test]
async fn every_request_of_a_datagram_is_answered() {
    let host = soft_roce("7.3.4");
    let get = |sequence| request(C::Get, vec![A::DevIndex(0)], 5, sequence);
    let both = [get(1), get(2)].concat();
    let (get_type, done, error) = (5 << 10 | 1, 3, 2);
    assert_eq!(
        told(&host.exchange(&both).unwrap()),
        [(get_type, 1, None), (error, 1, Some(0)), (get_type, 2, None), (error, 2, Some(0))]
    );
    // A list is given out as it is received, and there is one at a time.
    let lists = [request(C::Get, vec![], 0x305, 3), request(C::Get, vec![], 0x305, 4), get(5)].concat();
    let answer = told(&host.exchange(&lists).unwrap());
    assert_eq!(answer[..2], [(get_type, 3, None), (error, 4, Some(-errno::EBUSY))]);
    assert_eq!(answer.last(), Some(&(done, 3, Some(0))));
    // A rest that is no message is dropped.
    let cut = [get(6), get(7)[..20].to_vec()].concat();
    assert_eq!(told(&host.exchange(&cut).unwrap()).len(), 2);
}

#[tokio::test]
async fn requests_after_one_that_waits_wait_too() {
    let host = soft_roce("6.12.117");
    host.open_contexts("rxe0", 1);
    let both = [request(C::DelLink, vec![A::DevIndex(0)], 5, 1), request(C::SysGet, vec![], 5, 2)].concat();
    assert_eq!(host.exchange(&both), None);
    let mut exchange = Exchange::new(&both, true);
    assert_eq!(host.shared.serve(&mut exchange), None);
    host.close_contexts("rxe0");
    let answer = told(&host.shared.serve(&mut exchange).unwrap());
    assert_eq!(answer, [(2, 1, Some(0)), (5 << 10 | 6, 2, None), (2, 2, Some(0))]);
}

#[tokio::test]
async fn a_new_rxe_has_what_a_real_one_has() {
    let host = soft_roce("6.12.117");
    host.make_link("rxe7", "rxe", "eth1").unwrap();
    let index = host.machine().devices.last().unwrap().index;
    // As recorded of a real rxe with nobody on it, but for the header and the device.
    let recorded = [
        (
            C::ResQpGet,
            "3c00130038001400080003000100000008001500010000000c001d0069625f636f726500080018000000000005001a000100000005001b0003000000",
        ),
        (
            C::ResCqGet,
            "400023003c00240008002500ff0300000c00260002000000000000000500270002000000050054000000000008003d00000000000c001d0069625f636f726500",
        ),
    ];
    for (command, bytes) in recorded {
        let bytes: Vec<u8> = (0..bytes.len() / 2)
            .map(|place| u8::from_str_radix(&bytes[2 * place..2 * place + 2], 16).unwrap())
            .collect();
        let answer = host.exchange(&request(command, vec![A::DevIndex(index)], 0x305, 1)).unwrap();
        let shown = NldevMessage::decode(command, &answer[0][16..]).attributes.split_off(2);
        assert_eq!(NldevMessage::new(command, shown).encode(), bytes, "{command}");
    }
}

#[tokio::test]
async fn nests_have_the_flag_that_the_kernel_sets() {
    let host = soft_roce("7.3.4");
    host.make_link("rxe7", "rxe", "eth1").unwrap();
    let index = host.machine().devices.last().unwrap().index;
    let ask = |command, mut attributes: Vec<A>, flags| {
        attributes.insert(0, A::DevIndex(index));
        let answer = host.exchange(&request(command, attributes, flags, 1)).unwrap();
        NldevMessage::decode(command, &answer[0][16..])
    };
    let queue_pairs = ask(C::ResQpGet, vec![], 0x305);
    let Some(A::ResQp(table)) = queue_pairs.find(19) else { panic!("{queue_pairs:?}") };
    assert!(!table.flagged && matches!(&table.attributes[0], A::ResQpEntry(entry) if !entry.flagged));
    let counters = ask(C::StatGet, vec![A::PortIndex(1)], 5);
    let Some(A::StatHwcounters(table)) = counters.find(80) else { panic!("{counters:?}") };
    let A::StatHwcounterEntry(counter) = &table.attributes[0] else { panic!("{table:?}") };
    assert!(table.flagged && counter.flagged);
    assert_eq!(
        (counter.attributes.get_string(82).as_deref(), table.attributes.len()),
        (Some("sent_pkts"), 17)
    );
    let summary = ask(C::ResGet, vec![], 5);
    let Some(A::ResSummary(table)) = summary.find(15) else { panic!("{summary:?}") };
    let A::ResSummaryEntry(domains) = &table.attributes[0] else { panic!("{table:?}") };
    assert!(!table.flagged && !domains.flagged);
    assert_eq!(domains.attributes.get_u64(18), Some(1));
    assert_eq!(domains.attributes.get_u64(118), Some(1 << 20));
}

#[tokio::test]
async fn nodes_beyond_the_fixed_minors_have_another_major() {
    let mut machine = machine("soft-roce-node");
    machine.kernel.modules.push("ib_umad".to_owned());
    let host = Simulator::new(machine);
    for number in 0..66 {
        let netdev =
            Netdev { index: 100 + number, name: format!("d{number}"), ..host.machine().netdevs[0].clone() };
        host.set_netdev(netdev);
        host.make_link(&format!("c{number}"), "rxe", &format!("d{number}")).unwrap();
    }
    let devices = host.machine().devices;
    let verbs = |name: &str| devices.iter().filter_map(|d| d.uverbs.clone()).find(|node| node.name == name);
    assert_eq!(verbs("uverbs31").unwrap().dev, "231:223");
    assert_eq!(verbs("uverbs32").unwrap().dev, "511:0");
    let umads: Vec<_> = devices.iter().filter_map(|device| device.ports[0].umad.clone()).collect();
    let number = |name: &String| name.strip_prefix("umad").unwrap().parse::<u32>().unwrap();
    let last = umads.iter().max_by_key(|name| number(name)).unwrap();
    assert!(number(last) >= 64, "{last}");
    let device = devices.iter().find(|device| device.ports[0].umad.as_ref() == Some(last)).unwrap();
    let node = A::ChardevType("umad".into());
    let asked = vec![A::DevIndex(device.index), A::PortIndex(1), node];
    let answer = host.exchange(&request(C::GetChardev, asked, 5, 1)).unwrap();
    let node = NldevMessage::decode(C::GetChardev, &answer[0][16..]);
    assert_eq!(node.get_u64(72), Some(510 << 8 | u64::from(number(last) - 64)));
}

#[tokio::test]
async fn a_monitor_that_is_gone_is_forgotten() {
    let host = Simulator::new(machine("soft-roce-node"));
    let kept = host.monitor().unwrap();
    drop(host.monitor().unwrap());
    // Its task ends on its own.
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    host.unplug("rxe0");
    assert_eq!(lock(&host.shared.monitors).len(), 1);
    drop(kept);
}

#[tokio::test]
async fn a_fault_can_begin_at_a_later_read() {
    let host = Simulator::new(machine("soft-roce-node"));
    let path = "class/infiniband/rxe0/node_guid";
    host.add_late_fault(path, 5, 2);
    let errors: Vec<_> = (0..4).map(|_| file(&host, path).is_err()).collect();
    assert_eq!(errors, [false, false, true, true]);
    host.clear_faults();
    assert!(file(&host, path).is_ok());
}

#[tokio::test]
async fn sysfs_has_the_words_of_the_kernel() {
    let mut machine = machine("soft-roce-node");
    machine.devices[0].node_type = "USNIC_UDP".to_owned();
    machine.devices[0].ports[0].phys_state = "PhyTest".to_owned();
    let host = Simulator::new(machine);
    let text = |path: &str| file(&host, &format!("class/infiniband/rxe0/{path}")).unwrap();
    assert_eq!(text("node_type"), b"6: usNIC UDP\n");
    assert_eq!(text("ports/1/phys_state"), b"7: Phy Test\n");
    assert!(read(&host).await.problems.is_empty());
}

#[tokio::test]
async fn a_netdev_that_comes_back_is_attached_and_only_attached_ones_are_told_of() {
    let mut machine = machine("dgx-h100");
    machine.kernel.release = "7.3.4".to_owned();
    let attached = |netdev: &&Netdev| {
        machine.devices.iter().flat_map(|d| &d.ports).any(|port| port.netdev.as_ref() == Some(&netdev.name))
    };
    let netdev = machine.netdevs.iter().filter(|n| n.pci.is_some()).find(attached).unwrap().clone();
    let other = machine.netdevs.iter().find(|netdev| !attached(netdev)).unwrap().name.clone();
    let host = Simulator::new(machine);
    let mut events = host.monitor().unwrap();
    host.rename_netdev(&other, "other");
    host.remove_netdev(&netdev.name);
    assert!(matches!(events.recv().await, Some(nl::Event::NetdevDetach { .. })));
    host.set_netdev(netdev.clone());
    let came = events.recv().await;
    assert!(
        matches!(&came, Some(nl::Event::NetdevAttach { netdev_name, .. }) if *netdev_name == netdev.name)
    );
    host.rename_netdev(&netdev.name, "new0");
    let renamed = events.recv().await;
    assert!(matches!(&renamed, Some(nl::Event::NetdevRename { netdev_name, .. }) if netdev_name == "new0"));
}

#[tokio::test]
async fn modules_bring_their_nodes() {
    let mut machine = machine("soft-roce-node");
    machine.char_devices.clear();
    machine.kernel.modules.retain(|module| module != "rdma_ucm" && module != "ib_umad");
    machine.devices.iter_mut().flat_map(|device| &mut device.ports).for_each(|port| port.umad = None);
    let host = Simulator::new(machine);
    assert!(!host.has_node("rdma_cm") && !host.has_node("umad0"));
    let kind = |kind: &str| A::ChardevType(kind.into());
    host.exchange(&request(C::GetChardev, vec![kind("rdma_cm")], 5, 1)).unwrap();
    let umad = vec![A::DevIndex(0), A::PortIndex(1), kind("umad")];
    let answer = told(&host.exchange(&request(C::GetChardev, umad.clone(), 5, 1)).unwrap());
    assert_eq!(answer.last(), Some(&(2, 1, Some(0))));
    assert!(host.has_node("rdma_cm") && host.has_node("umad0"));
    let host = Simulator::new(super::tests::machine("soft-roce-node"));
    host.forbid_module("rdma_ucm");
    let answer = told(&host.exchange(&request(C::GetChardev, vec![kind("rdma_cm")], 5, 1)).unwrap());
    assert_eq!(answer, [(2, 1, Some(-errno::EOPNOTSUPP))]);
}

#[tokio::test]
async fn blocking_requests_go_on_when_users_are_gone() {
    let host = soft_roce("6.12.117");
    host.open_contexts("rxe0", 1);
    let mut socket = host.blocking()().unwrap();
    let waiting =
        std::thread::spawn(move || socket.exchange(&request(C::DelLink, vec![A::DevIndex(0)], 5, 1)));
    std::thread::sleep(Duration::from_millis(50));
    assert!(!waiting.is_finished());
    host.close_contexts("rxe0");
    assert_eq!(told(&waiting.join().unwrap().unwrap()), [(2, 1, Some(0))]);
}
