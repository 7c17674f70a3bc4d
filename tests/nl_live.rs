//! Against the kernel of this machine, as root, with rxe and siw. The tests make dummy network devices and soft
//! links of their own and take them away again.
#![allow(clippy::unwrap_used, clippy::panic)]

mod nl_support {
    pub(crate) mod fake_hca;
    pub(crate) mod netdev;
}

use std::{
    fs::File,
    process::Command,
    time::{Duration, Instant},
};

use netlink_proto::sys::AsyncSocket;
use rdma_operator::nl::{
    Device, DeviceType, Error, Event, Events, Handle, LinkKind, Owner, PortState, errno, new_connection,
    new_monitor_connection,
    packet::{NldevAttribute, NldevCommand, NldevMessage},
};

use nl_support::fake_hca::FakeHca;
use nl_support::netdev::Netdev;

const WAIT: Duration = Duration::from_secs(20);

fn connect() -> (Handle, Events) {
    let (connection, handle, events) = new_monitor_connection().unwrap();
    connection.spawn_on_thread().unwrap();
    (handle.with_timeout(WAIT), events)
}

async fn device(handle: &Handle, name: &str) -> Device {
    find(handle, name).await.unwrap_or_else(|| panic!("{name} is not there"))
}

async fn find(handle: &Handle, name: &str) -> Option<Device> {
    handle.device().list().await.unwrap().into_iter().find(|device| device.name == name)
}

/// The next event that this picks.
async fn event<T>(events: &mut Events, pick: impl Fn(Event) -> Option<T>) -> T {
    let next = async {
        loop {
            if let Some(picked) = pick(events.recv().await.unwrap()) {
                return picked;
            }
        }
    };
    tokio::time::timeout(WAIT, next).await.unwrap()
}

/// Whether this kernel is that release or later.
fn kernel_is(major: u32, minor: u32) -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers = release.split('.').map_while(|number| number.parse().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (major, minor)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a kernel with RDMA: cargo xtask test"]
async fn link_lives_and_dies() {
    let (handle, mut events) = connect();
    let _netdev = Netdev::new("nlt0");
    handle.link().add("nlt_rxe", &LinkKind::Rxe, "nlt0").await.unwrap();
    let index = event(&mut events, |event| match event {
        Event::Register { index, name } if name == "nlt_rxe" => Some(index),
        _ => None,
    })
    .await;
    event(&mut events, |event| {
        matches!(event, Event::NetdevAttach { index: of, port: 1, netdev_name, .. } if of == index && netdev_name == "nlt0")
            .then_some(())
    })
    .await;

    let seen = device(&handle, "nlt_rxe").await;
    assert_eq!((seen.index, seen.port_count, seen.protocol.as_deref()), (index, 1, Some("roce")));
    assert_eq!(handle.device().get(index).await.unwrap(), seen);
    let port = handle.port(index).get(1).await.unwrap();
    assert_eq!(port.state, Some(PortState::Active));
    assert_eq!(port.netdev_name.as_deref(), Some("nlt0"));
    assert_eq!(handle.port(index).list().await.unwrap(), [port]);
    assert_eq!(handle.port(index).get(2).await.unwrap_err().errno(), Some(errno::EINVAL));

    let uverbs = handle.chardev().uverbs(index).await.unwrap();
    assert_eq!(uverbs.driver_id.unwrap().as_str(), "rxe");
    let sysfs = format!("/sys/class/infiniband_verbs/{}/dev", uverbs.name);
    assert_eq!(std::fs::read_to_string(sysfs).unwrap().trim(), format!("{}:{}", uverbs.major, uverbs.minor));
    assert_eq!(handle.chardev().rdma_cm().await.unwrap().name, "rdma_cm");

    handle.device().rename(index, "nlt_new").await.unwrap();
    assert_eq!(handle.device().get(index).await.unwrap().name, "nlt_new");
    if kernel_is(6, 13) {
        event(&mut events, |event| {
            matches!(event, Event::Rename { index: of, name } if of == index && name == "nlt_new")
                .then_some(())
        })
        .await;
    }
    handle.link().del(index).await.unwrap();
    event(&mut events, |event| {
        matches!(event, Event::Unregister { index: of, .. } if of == index).then_some(())
    })
    .await;
    assert_eq!(handle.device().get(index).await.unwrap_err().errno(), Some(errno::EINVAL));
    assert!(find(&handle, "nlt_new").await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a kernel with RDMA: cargo xtask test"]
async fn refusals_have_their_errno() {
    let (handle, _events) = connect();
    let _netdevs = (Netdev::new("nlt0"), Netdev::new("nlt1"));
    let link = handle.link();
    link.add("nlt_a", &LinkKind::Rxe, "nlt0").await.unwrap();
    let index = device(&handle, "nlt_a").await.index;
    for (name, kind, netdev, expected) in [
        ("nlt_b", LinkKind::Rxe, "nlt0", errno::EEXIST),
        ("nlt_a", LinkKind::Rxe, "nlt1", errno::ENFILE),
        ("nlt_a", LinkKind::Siw, "nlt1", errno::ENFILE),
        ("nlt_b", LinkKind::Rxe, "nlt_none", errno::ENODEV),
        ("nlt_b", LinkKind::from("nosuch"), "nlt1", errno::EINVAL),
        ("nlt_%d", LinkKind::Rxe, "nlt1", errno::EINVAL),
    ] {
        let failure = link.add(name, &kind, netdev).await.unwrap_err();
        assert_eq!(failure.errno(), Some(expected), "{name} {kind} {netdev}: {failure}");
    }
    assert_eq!(link.del(u32::MAX).await.unwrap_err().errno(), Some(errno::EINVAL));
    let netns = File::open("/proc/self/ns/net").unwrap();
    let shared = handle.system().get().await.unwrap().netns_mode.unwrap().as_str() == "shared";
    let moved = handle.device().set_netns(index, &netns).await;
    // To where it is already: nothing to do since 7.3, no way in shared mode before.
    match (shared, kernel_is(7, 3)) {
        (true, false) => assert_eq!(moved.unwrap_err().errno(), Some(errno::EOPNOTSUPP)),
        (_, true) => moved.unwrap(),
        _ => {}
    }
    link.del(index).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a kernel with RDMA: cargo xtask test"]
async fn delete_of_a_held_siw_does_not_hold_the_caller() {
    let (handle, _events) = connect();
    let _netdev = Netdev::new("nlt0");
    handle.link().add("nlt_siw", &LinkKind::Siw, "nlt0").await.unwrap();
    let index = device(&handle, "nlt_siw").await.index;
    let uverbs = handle.chardev().uverbs(index).await.unwrap();
    let held = File::open(format!("/dev/infiniband/{}", uverbs.name)).unwrap();

    let hurried = handle.with_timeout(Duration::from_millis(500));
    let start = Instant::now();
    let failure = hurried.link().del(index).await.unwrap_err();
    assert!(matches!(failure, Error::StillRunning { .. }), "{failure:?}");
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    assert_eq!(handle.link().running().len(), 1);
    // Everything else goes on meanwhile.
    handle.system().get().await.unwrap();
    handle.device().list().await.unwrap();

    drop(held);
    // Waits for the work under way, unless that is done already and the device gone.
    if let Err(failure) = handle.link().del(index).await {
        assert_eq!(failure.errno(), Some(errno::EINVAL), "{failure:?}");
    }
    assert!(handle.link().running().is_empty());
    assert!(find(&handle, "nlt_siw").await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a kernel with RDMA: cargo xtask test"]
async fn every_list_and_view_is_answered() {
    let (handle, _events) = connect();
    let _netdev = Netdev::new("nlt0");
    handle.link().add("nlt_rxe", &LinkKind::Rxe, "nlt0").await.unwrap();
    handle.link().add("nlt_siw", &LinkKind::Siw, "nlt0").await.unwrap();
    let rxe = device(&handle, "nlt_rxe").await.index;
    let siw = device(&handle, "nlt_siw").await.index;
    for device in [rxe, siw] {
        let resource = handle.resource();
        let summary = resource.summary(device).await.unwrap();
        let qps = resource.queue_pairs(device).list().await.unwrap();
        assert_eq!(summary.count("qp"), Some(qps.len() as u64));
        let mut streamed = resource.queue_pairs(device).stream();
        for qp in &qps {
            assert_eq!(streamed.next().await.unwrap().unwrap().lqpn, qp.lqpn);
        }
        assert!(streamed.next().await.is_none());
        for qp in qps {
            let again = resource.queue_pairs(device).port(qp.port.unwrap()).get(qp.id()).await.unwrap();
            assert_eq!((again.lqpn, again.qp_type, &again.owner), (qp.lqpn, qp.qp_type, &qp.owner));
            assert!(matches!(qp.owner, Owner::Kernel(_)), "{:?}", qp.owner);
        }
        for pd in resource.protection_domains(device).list().await.unwrap() {
            assert_eq!(resource.protection_domains(device).get(pd.pdn.unwrap()).await.unwrap().pdn, pd.pdn);
        }
        for cq in resource.completion_queues(device).list().await.unwrap() {
            assert_eq!(resource.completion_queues(device).get(cq.cqn.unwrap()).await.unwrap().cqe, cq.cqe);
        }
        resource.memory_regions(device).list().await.unwrap();
        resource.cm_ids(device).list().await.unwrap();
        resource.shared_receive_queues(device).list().await.unwrap();
        assert_eq!(resource.contexts(device).list().await.unwrap(), []);
        let missing = resource.contexts(device).get(99).await.unwrap_err();
        assert_eq!(missing.errno(), Some(errno::ENOENT));
        assert!(handle.stats().mr_counters(device).await.unwrap().is_empty());
        if kernel_is(7, 1) {
            assert_eq!(handle.frmr().list(device).await.unwrap(), []);
        } else {
            assert_eq!(handle.frmr().list(device).await.unwrap_err().errno(), Some(errno::EINVAL));
        }
    }
    let counters = handle.stats().get(rxe, 1).await.unwrap();
    assert!(counters.counters.iter().any(|counter| counter.name == "sent_pkts"), "{counters:?}");
    let status = handle.stats().status(rxe, 1).await.unwrap();
    assert_eq!(status.counters.len(), counters.counters.len());
    assert_eq!(handle.stats().get(siw, 1).await.unwrap_err().errno(), Some(errno::EINVAL));
    handle.stats().qp_mode(rxe, 1).await.unwrap();
    assert!(handle.stats().qp_counters(rxe, None).await.unwrap().is_empty());
    let sub = handle.device().add_sub_device(rxe, "nlt_smi", DeviceType::Smi).await.unwrap_err();
    assert_eq!(sub.errno(), Some(errno::EOPNOTSUPP));
    handle.link().del(siw).await.unwrap();
    handle.link().del(rxe).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a kernel with RDMA: cargo xtask test"]
async fn requests_made_together_are_all_answered() {
    let (connection, handle, _events) = new_connection().unwrap();
    connection.spawn_on_thread().unwrap();
    let handle = handle.with_timeout(WAIT);
    let _netdev = Netdev::new("nlt0");
    handle.link().add("nlt_rxe", &LinkKind::Rxe, "nlt0").await.unwrap();
    let index = device(&handle, "nlt_rxe").await.index;
    let mut tasks = tokio::task::JoinSet::new();
    for turn in 0..200 {
        let handle = handle.clone();
        tasks.spawn(async move {
            match turn % 5 {
                0 => handle.device().list().await.map(drop),
                1 => handle.resource().summaries().await.map(drop),
                2 => handle.port(index).get(1).await.map(drop),
                3 => handle.resource().queue_pairs(index).list().await.map(drop),
                // Not through the queue of lists: has to be asked again while another list runs.
                _ => handle
                    .send_dump(NldevMessage::new(NldevCommand::Get, Vec::new()))
                    .collect()
                    .await
                    .map(drop),
            }
        });
    }
    while let Some(result) = tasks.join_next().await {
        result.unwrap().unwrap();
    }
    handle.link().del(index).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a kernel with RDMA: cargo xtask test"]
async fn failed_dump_is_an_error() {
    let (handle, _events) = connect();
    // A dump of counters that does not say whose: EINVAL, in NLMSG_DONE.
    let message = NldevMessage::new(NldevCommand::StatGet, vec![NldevAttribute::DevIndex(0)]);
    let failure = handle.dump(message).await.unwrap_err();
    assert!(matches!(failure, Error::DumpFailed { code: -22, .. }), "{failure:?}");
    let failure = handle.resource().queue_pairs(u32::MAX).list().await.unwrap_err();
    assert!(matches!(failure, Error::DumpFailed { code: -22, .. }), "{failure:?}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a kernel with RDMA: cargo xtask test"]
async fn lost_events_are_a_resync() {
    let (handle, _events) = connect();
    let (mut connection, deaf, mut events) = new_monitor_connection().unwrap();
    // Room for one or two, and nobody reads yet.
    connection.socket_mut().socket_mut().set_rx_buf_sz(256_i32).unwrap();
    let _netdev = Netdev::new("nlt0");
    for _ in 0..4 {
        handle.link().add("nlt_siw", &LinkKind::Siw, "nlt0").await.unwrap();
        let index = device(&handle, "nlt_siw").await.index;
        handle.link().del(index).await.unwrap();
    }
    connection.spawn_on_thread().unwrap();
    event(&mut events, |event| (event == Event::Resync).then_some(())).await;
    // The connection is as good as before.
    deaf.with_timeout(WAIT).system().get().await.unwrap();
}

/// Set for the test below when it runs again as nobody.
const NOBODY: &str = "NL_LIVE_NOBODY";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a kernel with RDMA: cargo xtask test"]
async fn nobody_may_look_and_not_touch() {
    if std::env::var_os(NOBODY).is_none() {
        let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups"];
        let output = Command::new("setpriv")
            .args(nobody)
            .arg(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "nobody_may_look_and_not_touch"])
            .env(NOBODY, "1")
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        return;
    }
    let (connection, handle, _events) = new_connection().unwrap();
    connection.spawn_on_thread().unwrap();
    let handle = handle.with_timeout(WAIT);
    handle.device().list().await.unwrap();
    handle.system().get().await.unwrap();
    let failure = handle.device().rename(u32::MAX, "x").await.unwrap_err();
    assert!(failure.is_permission(), "{failure:?}");
    let failure = handle.link().add("nlt_x", &LinkKind::Rxe, "lo").await.unwrap_err();
    assert!(failure.is_permission(), "{failure:?}");
    // Kernels that notify let everybody listen; those before want CAP_NET_ADMIN for any group.
    if let Err(failure) = new_monitor_connection() {
        assert!(matches!(failure, Error::Join(_)) && failure.is_permission(), "{failure:?}");
        assert!(!kernel_is(6, 12), "{failure:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a kernel with RDMA: cargo xtask test"]
async fn hca_shows_ports_counters_and_sub_devices() {
    let Some(_module) = FakeHca::load() else {
        println!("skipped: this machine has no fakehca module");
        return;
    };
    let (handle, _events) = connect();
    let hca = device(&handle, "fake0").await;
    assert_eq!((hca.port_count, hca.protocol.as_deref()), (2, Some("ib")));
    for (number, port) in handle.port(hca.index).all(3).await {
        match port {
            Ok(port) => {
                assert!(number <= 2);
                assert!(
                    port.lid.is_some() && port.subnet_prefix.is_some() && port.cap_flags.is_some(),
                    "{port:?}"
                );
            }
            Err(failure) => assert_eq!((number, failure.errno()), (3, Some(errno::EINVAL))),
        }
    }

    let stats = handle.stats();
    let optional = async || -> Vec<_> {
        let status = stats.status(hca.index, 1).await.unwrap();
        status.optional().map(|counter| (counter.name.clone(), counter.enabled)).collect()
    };
    let all = optional().await;
    assert!(all.len() >= 2 && all.iter().all(|(_, enabled)| *enabled == Some(false)), "{all:?}");
    let names: Vec<_> = all.iter().map(|(name, _)| name.as_str()).collect();
    stats.enable(hca.index, 1, &names[..1]).await.unwrap();
    stats.enable(hca.index, 1, &names[1..]).await.unwrap();
    assert!(optional().await.iter().all(|(_, enabled)| *enabled == Some(true)));
    let counters = stats.get(hca.index, 1).await.unwrap().counters;
    assert!(names.iter().all(|name| counters.iter().any(|counter| counter.name == *name)), "{counters:?}");
    stats.disable(hca.index, 1, &names).await.unwrap();
    assert!(optional().await.iter().all(|(_, enabled)| *enabled == Some(false)));
    let failure = stats.set_optional(hca.index, 1, &[0]).await.unwrap_err();
    assert_eq!(failure.errno(), Some(errno::EINVAL));

    let devices = handle.device();
    devices.add_sub_device(hca.index, "nlt_smi", DeviceType::Smi).await.unwrap();
    let sub = device(&handle, "nlt_smi").await;
    assert_eq!((sub.device_type, sub.parent.as_deref()), (Some(DeviceType::Smi), Some("fake0")));
    devices.delete_sub_device(sub.index).await.unwrap();
    assert!(find(&handle, "nlt_smi").await.is_none());

    let failure = handle.link().del(hca.index).await.unwrap_err();
    assert_eq!(failure.errno(), Some(errno::EINVAL), "hardware is not to be deleted");
}
