//! What is offered, and what a container gets.

use std::time::{Duration, Instant};

use rdma_operator::plugin::reason;
use rdma_operator::pool::Known;

use super::host::{Host, PATIENCE, hard, null_node, soft, zero_node};
use super::kubelet::Kubelet;
use super::{RXE0, running};

#[tokio::test]
async fn a_device_is_offered_and_given_to_a_container() {
    let (host, kubelet) = running().await;
    let known = kubelet.resource(RXE0);
    assert_eq!(known.endpoint, "rdma-operator.rdma_rxe0.sock");
    assert!(known.options.pre_start_required && known.options.get_preferred_allocation_available);
    let list = known.lists.last().unwrap();
    assert_eq!((list[0].id.as_str(), list[0].topology.as_ref()), ("rxe0", None));

    host.node("rdma_cm", "/dev/null");
    let response = kubelet.allocate(RXE0, &["rxe0"]).await.unwrap();
    let paths: Vec<_> = response.devices.iter().map(|spec| spec.host_path.as_str()).collect();
    assert_eq!(paths, ["/dev/infiniband/uverbs0", "/dev/infiniband/rdma_cm"]);
    assert_eq!(response.envs["RDMA_DEVICE_RXE0"], "rxe0");
    kubelet.pre_start(RXE0, &["rxe0"]).await.unwrap();
    assert_eq!(kubelet.preferred(RXE0, &["rxe0"], 1).await, ["rxe0"]);
    let error = kubelet.allocate(RXE0, &["rxe9"]).await.unwrap_err();
    assert_eq!(error.code(), tonic::Code::NotFound);
    assert!(error.message().contains("rdma/rxe0 has no device rxe9"), "{error}");
}

#[tokio::test]
async fn b06_nothing_is_registered_before_the_host_is_known() {
    let mut host = Host::with(|settings| {
        let known = |name: &str| Known {
            resource: format!("rdma/{name}"),
            id: name.to_owned(),
            device: name.to_owned(),
        };
        settings.known = vec![known("rxe0"), known("rxe1")];
        settings.timing.grace = PATIENCE;
    });
    let kubelet = Kubelet::start(host.dir());
    host.start();
    tokio::time::sleep(Duration::from_millis(150)).await;
    assert!(kubelet.resources().is_empty());
    assert_eq!(host.status.borrow().condition().reason, reason::ENUMERATING);
    // A slow boot: only one of them is there yet.
    host.show(vec![soft(0, "rxe0", "ACTIVE")]);
    kubelet.wait_capacity(RXE0, 1, 1).await;
    kubelet.wait_capacity("rdma/rxe1", 1, 0).await;
    host.show(vec![soft(0, "rxe0", "ACTIVE"), soft(1, "rxe1", "ACTIVE")]);
    let late = kubelet.wait_capacity("rdma/rxe1", 1, 1).await;
    assert_eq!(late.registrations, 1);
    assert_eq!(kubelet.resource(RXE0).lists.len(), 1, "the other saw nothing of it");
}

#[tokio::test]
async fn b10_names_that_fall_together_are_two_resources() {
    let mut host = Host::new();
    let kubelet = Kubelet::start(host.dir());
    host.show(vec![soft(0, "a!b", "ACTIVE"), soft(1, "a-b", "DOWN")]);
    host.start();
    kubelet.wait_capacity("rdma/a-b", 1, 0).await;
    let renamed = host.status.borrow().renamed.clone();
    assert!(renamed.len() == 1 && renamed[0].device == "a!b" && renamed[0].collision, "{renamed:?}");
    kubelet.wait_capacity(&renamed[0].resource, 1, 1).await;
    let response = kubelet.allocate(&renamed[0].resource, &["a!b"]).await.unwrap();
    assert!(
        response.envs.keys().all(|key| key.starts_with("RDMA_") && key.contains("A_B")),
        "{:?}",
        response.envs
    );
    assert!(response.envs.values().any(|value| value == "a!b"));
}

#[tokio::test]
async fn b16_a_missing_or_foreign_node_fails_the_allocation_and_is_named() {
    let (host, kubelet) = running().await;
    host.remove_node("uverbs0");
    let error = kubelet.allocate(RXE0, &["rxe0"]).await.unwrap_err();
    assert_eq!(error.code(), tonic::Code::FailedPrecondition);
    assert!(error.message().contains("/dev/infiniband/uverbs0 is missing"), "{error}");
    host.node("uverbs0", "/dev/zero");
    let error = kubelet.allocate(RXE0, &["rxe0"]).await.unwrap_err();
    assert!(error.message().contains("1:5"), "{error}");
    host.resolver.0.lock().unwrap().clear();
    let error = kubelet.allocate(RXE0, &["rxe0"]).await.unwrap_err();
    assert!(error.message().contains("index 0"), "{error}");
    host.resolver.set(0, "rxe0", null_node("uverbs0"));
    host.node("uverbs0", "/dev/null");
    kubelet.allocate(RXE0, &["rxe0"]).await.unwrap();
}

#[tokio::test]
async fn a_restarted_container_never_gets_another_device() {
    let (mut host, kubelet) = running().await;
    kubelet.allocate(RXE0, &["rxe0"]).await.unwrap();
    kubelet.pre_start(RXE0, &["rxe0"]).await.unwrap();
    host.resolver.set(0, "rxe0", zero_node("uverbs1"));
    let error = kubelet.pre_start(RXE0, &["rxe0"]).await.unwrap_err();
    assert!(error.message().contains("/dev/infiniband/uverbs1 (1:5) now"), "{error}");
    // A kubelet restart does not make us forget.
    kubelet.kill();
    let kubelet = Kubelet::start(host.dir());
    kubelet.wait_capacity(RXE0, 1, 1).await;
    kubelet.pre_start(RXE0, &["rxe0"]).await.unwrap_err();
    // A new container gets what is there now.
    kubelet.allocate(RXE0, &["rxe0"]).await.unwrap();
    kubelet.pre_start(RXE0, &["rxe0"]).await.unwrap();
    // After our own restart there is nothing to compare with: the device has to be there.
    host.stop().await;
    host.start();
    kubelet.wait(RXE0, "registered again", |known| known.connected && known.registrations == 2).await;
    kubelet.pre_start(RXE0, &["rxe0"]).await.unwrap();
    host.remove_node("uverbs1");
    kubelet.pre_start(RXE0, &["rxe0"]).await.unwrap_err();
}

#[tokio::test]
async fn b76_health_goes_both_ways() {
    let (host, kubelet) = running().await;
    let mut best = Duration::MAX;
    for _ in 0..3 {
        let start = Instant::now();
        host.show(vec![soft(0, "rxe0", "DOWN")]);
        kubelet.wait_capacity(RXE0, 1, 0).await;
        best = best.min(start.elapsed());
        host.show(vec![soft(0, "rxe0", "ACTIVE")]);
        kubelet.wait_capacity(RXE0, 1, 1).await;
    }
    assert!(best < Duration::from_millis(100), "{best:?}");
    let known = kubelet.resource(RXE0);
    assert_eq!((known.registrations, known.lists.len()), (1, 7), "by the list alone");
    assert_eq!(host.status.borrow().resources[0].usable, 1);
}

#[tokio::test]
async fn b77_a_device_that_goes_is_unhealthy_for_the_grace_period_and_then_dropped() {
    let mut host = Host::new();
    let kubelet = Kubelet::start(host.dir());
    host.show(vec![soft(0, "rxe0", "ACTIVE"), soft(1, "rxe1", "ACTIVE")]);
    host.start();
    kubelet.wait_capacity(RXE0, 1, 1).await;
    kubelet.wait_capacity("rdma/rxe1", 1, 1).await;

    let start = Instant::now();
    host.show(vec![soft(0, "rxe0", "ACTIVE")]);
    kubelet.wait_capacity("rdma/rxe1", 1, 0).await;
    kubelet.wait("rdma/rxe1", "an empty list", |known| known.lists.last().is_some_and(Vec::is_empty)).await;
    assert!(start.elapsed() >= host.settings.timing.grace, "{:?}", start.elapsed());
    kubelet.wait("rdma/rxe1", "no server", |known| !known.connected).await;
    host.status.clone().wait_for(|status| status.resources.len() == 1).await.unwrap();
    assert!(!host.socket("rdma/rxe1").exists());

    host.show(vec![soft(0, "rxe0", "ACTIVE"), soft(2, "rxe1", "ACTIVE")]);
    kubelet.wait_capacity("rdma/rxe1", 1, 1).await;
    kubelet.allocate("rdma/rxe1", &["rxe1"]).await.unwrap();
    let other = kubelet.resource(RXE0);
    assert_eq!((other.registrations, other.lists.len()), (1, 1), "the other device saw nothing of it");
}

#[tokio::test]
async fn b77_a_device_that_comes_back_within_the_grace_period_was_never_dropped() {
    let mut host = Host::with(|settings| settings.timing.grace = PATIENCE);
    let kubelet = Kubelet::start(host.dir());
    host.show(vec![soft(0, "rxe0", "ACTIVE")]);
    host.start();
    kubelet.wait_capacity(RXE0, 1, 1).await;
    host.show(vec![]);
    kubelet.wait_capacity(RXE0, 1, 0).await;
    host.show(vec![soft(3, "rxe0", "ACTIVE")]);
    kubelet.wait_capacity(RXE0, 1, 1).await;
    assert_eq!(kubelet.resource(RXE0).registrations, 1);
    assert_eq!(kubelet.resource(RXE0).lists.len(), 3);
}

#[tokio::test]
async fn a_resource_that_returns_while_it_is_taken_down_is_offered() {
    let (host, kubelet) = running().await;
    for _ in 0..5 {
        host.show(vec![]);
        kubelet.wait(RXE0, "an empty list", |known| known.lists.last().is_some_and(Vec::is_empty)).await;
        tokio::time::sleep(host.settings.timing.linger).await;
        host.show(vec![soft(0, "rxe0", "ACTIVE")]);
        kubelet.wait_capacity(RXE0, 1, 1).await;
    }
}

#[tokio::test]
async fn no_rdma_at_all_is_a_normal_state() {
    let mut host = Host::new();
    let kubelet = Kubelet::start(host.dir());
    host.start();
    host.show(vec![]);
    let mut status = host.status.clone();
    status.wait_for(|status| status.enumerated).await.unwrap();
    let condition = host.status.borrow().condition();
    assert_eq!((condition.status, condition.reason), (true, reason::NO_DEVICES));
    assert!(kubelet.resources().is_empty());
    host.show(vec![soft(0, "rxe0", "ACTIVE")]);
    kubelet.wait_capacity(RXE0, 1, 1).await;
    host.stop().await;
}

#[tokio::test]
async fn thirty_two_resources_end_in_time() {
    let mut host = Host::new();
    let kubelet = Kubelet::start(host.dir());
    host.show((0..40).map(|n| hard(n, &format!("mlx5_{n}"), &format!("0000:{n:02x}:00.0"))).collect());
    host.start();
    for n in 0..32 {
        kubelet.wait_capacity(&format!("rdma/mlx5_{n}"), 1, 1).await;
    }
    assert_eq!(host.status.borrow().omitted.len(), 8);
    let start = Instant::now();
    host.stop().await;
    // None of them waited for its streams to be cut off.
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    let left = std::fs::read_dir(host.dir()).unwrap().count();
    assert_eq!(left, 1, "kubelet.sock alone");
}
