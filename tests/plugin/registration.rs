//! Getting a resource to the kubelet, and keeping it there.

use std::os::unix::net::UnixListener as StdListener;
use std::time::{Duration, Instant};

use rdma_operator::plugin::{Timing, reason};

use super::host::{Host, PATIENCE, hard, soft};
use super::kubelet::{Kubelet, Manner};
use super::{RXE0, log, running};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b01_the_capacity_comes_back_after_each_of_20_kubelet_restarts() {
    let mut host = Host::new();
    let names: Vec<String> = (0..4).map(|n| format!("rxe{n}")).collect();
    host.show((0..4).map(|n| soft(n, &names[n as usize], "ACTIVE")).collect());
    host.start();
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let mut settled = 0;
    for round in 0..20 {
        let start = Instant::now();
        let kubelet = Kubelet::start(host.dir());
        for name in &names {
            kubelet.wait_capacity(&format!("rdma/{name}"), 1, 1).await;
        }
        assert!(start.elapsed() < PATIENCE, "round {round}: {:?}", start.elapsed());
        for name in &names {
            host.wait_status(&format!("rdma/{name}"), |entry| entry.registered).await;
        }
        if round == 2 {
            settled = tasks();
        }
        kubelet.kill();
    }
    let _last = Kubelet::start(host.dir());
    let deadline = Instant::now() + Duration::from_secs(5);
    while tasks() > settled + 8 && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(tasks() <= settled + 8, "{} tasks after 3 restarts, {} after 20", settled, tasks());
    host.stop().await;
}

#[tokio::test]
async fn b01_a_new_kubelet_is_registered_with_within_a_second() {
    let mut host = Host::with(|settings| settings.timing = Timing::default());
    host.show(vec![soft(0, "rxe0", "ACTIVE")]);
    host.start();
    let mut best = Duration::MAX;
    for _ in 0..3 {
        let kubelet = Kubelet::start(host.dir());
        let start = Instant::now();
        kubelet.wait_capacity(RXE0, 1, 1).await;
        best = best.min(start.elapsed());
        kubelet.kill();
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    // The best: the machine may be busy with something else at times.
    assert!(best < Duration::from_secs(1), "{best:?}");
}

#[tokio::test]
async fn b01_a_socket_replaced_by_a_rename_is_a_new_kubelet() {
    let (host, first) = running().await;
    let aside = tempfile::tempdir_in(host.dir().parent().unwrap()).unwrap();
    let second = Kubelet::start_beside(aside.path());
    // It would dial in its own directory.
    std::os::unix::fs::symlink(host.socket(RXE0), aside.path().join("rdma-operator.rdma_rxe0.sock")).unwrap();
    std::fs::rename(aside.path().join("kubelet.sock"), host.dir().join("kubelet.sock")).unwrap();
    second.wait_capacity(RXE0, 1, 1).await;
    drop(first);
}

#[tokio::test]
async fn b01_a_socket_that_somebody_removes_is_made_again() {
    let (host, kubelet) = running().await;
    std::fs::remove_file(host.socket(RXE0)).unwrap();
    kubelet.wait(RXE0, "a second registration", |known| known.registrations == 2 && known.connected).await;
    host.wait_status(RXE0, |entry| entry.restarts == 1 && entry.registered).await;
    // The old stream's end did not take the new client down.
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(kubelet.resource(RXE0).connected);
    kubelet.allocate(RXE0, &["rxe0"]).await.unwrap();
}

#[tokio::test]
async fn b01_the_same_kubelet_on_a_new_socket_is_not_registered_with_twice_over() {
    let (host, kubelet) = running().await;
    // Its registration server failed and came back: a new socket, and the old list streams still open.
    let second = Kubelet::start_beside(host.dir());
    second.wait_capacity(RXE0, 1, 1).await;
    assert!(!kubelet.resource(RXE0).connected, "the old stream ended first");
}

#[tokio::test]
async fn b02_after_a_restart_of_either_side_the_list_is_the_same() {
    let mut host = Host::new();
    let first = Kubelet::start(host.dir());
    host.show(vec![hard(0, "mlx5_0", "0000:1a:00.0"), soft(1, "rxe0", "DOWN")]);
    host.start();
    let lists = async |kubelet: &Kubelet| {
        let up = kubelet.wait_capacity("rdma/mlx5_0", 1, 1).await;
        let down = kubelet.wait_capacity(RXE0, 1, 0).await;
        (up.lists, down.lists)
    };
    let before = lists(&first).await;
    first.kill();
    let second = Kubelet::start(host.dir());
    assert_eq!(lists(&second).await, before, "the kubelet restarted");
    host.stop().await;
    second.kill();
    let third = Kubelet::start(host.dir());
    host.start();
    assert_eq!(lists(&third).await, before, "both restarted");
    assert_eq!(before.0[0][0].topology.as_ref().unwrap().nodes[0].id, 1);
}

#[tokio::test]
async fn b03_a_refusal_is_told_in_the_kubelets_words_and_tried_again() {
    let mut host = Host::new();
    let kubelet = Kubelet::start(host.dir());
    kubelet.manner(Manner::Refuse("the ResourceName \"rdma/rxe0\" is invalid".to_owned()));
    host.show(vec![soft(0, "rxe0", "ACTIVE")]);
    host.start();
    let told = host.wait_reason(RXE0, reason::REGISTRATION_REJECTED).await;
    assert!(told.message.contains("the ResourceName \"rdma/rxe0\" is invalid"), "{}", told.message);
    let condition = host.status.borrow().condition();
    assert_eq!((condition.status, condition.reason), (false, reason::REGISTRATION_REJECTED));
    tokio::time::sleep(Duration::from_millis(200)).await;
    kubelet.manner(Manner::Accept);
    kubelet.wait_capacity(RXE0, 1, 1).await;
    host.wait_status(RXE0, |entry| entry.registered).await;
    assert!(host.status.borrow().condition().status);
}

#[tokio::test]
async fn b03_a_kubelet_that_does_not_answer_is_asked_again() {
    let mut host = Host::with(|settings| settings.timing.call = Duration::from_millis(100));
    let kubelet = Kubelet::start(host.dir());
    kubelet.manner(Manner::Hang);
    host.show(vec![soft(0, "rxe0", "ACTIVE")]);
    host.start();
    host.wait_reason(RXE0, reason::REGISTRATION_TIMEOUT).await;
    kubelet.manner(Manner::Accept);
    kubelet.wait_capacity(RXE0, 1, 1).await;
}

/// A kubelet that starts removes all sockets, and may be asked before the plugin has seen it: it dials what it has
/// removed, for ten seconds, and the plugin must not wait for that.
#[tokio::test]
async fn b01_a_socket_that_goes_while_the_kubelet_is_asked_is_made_again() {
    let mut host = Host::with(|settings| settings.timing.call = 10 * PATIENCE);
    let kubelet = Kubelet::start(host.dir());
    kubelet.manner(Manner::Hang);
    host.show(vec![soft(0, "rxe0", "ACTIVE")]);
    host.start();
    kubelet.wait_asked().await;
    std::fs::remove_file(host.socket(RXE0)).unwrap();
    kubelet.manner(Manner::Accept);
    kubelet.wait_capacity(RXE0, 1, 1).await;
}

#[tokio::test]
async fn b01_a_kubelet_that_comes_while_another_is_asked_is_registered_with() {
    let mut host = Host::with(|settings| settings.timing.call = 10 * PATIENCE);
    let hangs = Kubelet::start(host.dir());
    hangs.manner(Manner::Hang);
    host.show(vec![soft(0, "rxe0", "ACTIVE")]);
    host.start();
    hangs.wait_asked().await;
    let kubelet = Kubelet::start(host.dir());
    kubelet.wait_capacity(RXE0, 1, 1).await;
}

#[tokio::test]
async fn b04_only_our_own_dead_sockets_are_removed() {
    let mut host = Host::new();
    let kubelet = Kubelet::start(host.dir());
    // Left by a killed run: of this resource, of one that is no more; and a dead one of somebody else's.
    for name in ["rdma-operator.rdma_rxe0.sock", "rdma-operator.rdma_gone.sock", "nvidia-gpu.sock"] {
        drop(StdListener::bind(host.dir().join(name)).unwrap());
    }
    std::fs::write(host.dir().join("rdma-operator.txt.sock"), "no socket").unwrap();
    host.show(vec![soft(0, "rxe0", "ACTIVE")]);
    host.start();
    kubelet.wait_capacity(RXE0, 1, 1).await;
    assert!(!host.dir().join("rdma-operator.rdma_gone.sock").exists());
    assert!(host.dir().join("nvidia-gpu.sock").exists());
    assert!(host.dir().join("rdma-operator.txt.sock").exists());
    host.stop().await;
    assert!(!host.socket(RXE0).exists(), "ours goes when we do");
}

#[tokio::test]
async fn b04_a_live_server_on_our_path_is_told_and_waited_for() {
    let mut host = Host::new();
    let kubelet = Kubelet::start(host.dir());
    let other = StdListener::bind(host.socket(RXE0)).unwrap();
    host.show(vec![soft(0, "rxe0", "ACTIVE"), soft(1, "rxe1", "ACTIVE")]);
    host.start();
    let told = host.wait_reason(RXE0, reason::RESOURCE_NAME_CONFLICT).await;
    assert!(told.message.contains(host.socket(RXE0).to_str().unwrap()), "{}", told.message);
    kubelet.wait_capacity("rdma/rxe1", 1, 1).await;
    drop(other);
    kubelet.wait_capacity(RXE0, 1, 1).await;
}

#[tokio::test]
async fn b04_a_file_in_the_way_is_not_touched() {
    let mut host = Host::new();
    let kubelet = Kubelet::start(host.dir());
    std::fs::write(host.socket(RXE0), "mine").unwrap();
    host.show(vec![soft(0, "rxe0", "ACTIVE"), soft(1, "rxe1", "ACTIVE")]);
    host.start();
    let told = host.wait_reason(RXE0, reason::SOCKET_FAILED).await;
    assert!(told.message.contains("is no socket"), "{}", told.message);
    kubelet.wait_capacity("rdma/rxe1", 1, 1).await;
    assert_eq!(std::fs::read(host.socket(RXE0)).unwrap(), b"mine");
    std::fs::remove_file(host.socket(RXE0)).unwrap();
    kubelet.wait_capacity(RXE0, 1, 1).await;
}

#[tokio::test]
async fn b04_a_list_that_the_kubelet_drops_again_and_again_is_a_conflict() {
    let (host, kubelet) = running().await;
    kubelet.forget(RXE0);
    kubelet.wait(RXE0, "registered again", |known| known.registrations == 2 && known.connected).await;
    kubelet.manner(Manner::Ignore);
    kubelet.forget(RXE0);
    host.wait_reason(RXE0, reason::RESOURCE_NAME_CONFLICT).await;
    kubelet.manner(Manner::Accept);
    kubelet.wait_capacity(RXE0, 1, 1).await;
    host.wait_status(RXE0, |entry| entry.registered).await;
}

#[tokio::test]
async fn b05_a_missing_kubelet_socket_is_told_with_its_path() {
    let mut host = Host::new();
    host.show(vec![soft(0, "rxe0", "ACTIVE")]);
    host.start();
    let told = host.wait_reason(RXE0, reason::KUBELET_SOCKET_MISSING).await;
    let path = host.dir().join("kubelet.sock");
    assert!(told.message.contains(path.to_str().unwrap()), "{}", told.message);
    let kubelet = Kubelet::start(host.dir());
    kubelet.wait_capacity(RXE0, 1, 1).await;
}

#[tokio::test]
async fn b05_a_missing_directory_is_told_and_waited_for() {
    let mut host = Host::new();
    std::fs::remove_dir(host.dir()).unwrap();
    host.show(vec![soft(0, "rxe0", "ACTIVE")]);
    host.start();
    let told = host.wait_reason(RXE0, reason::KUBELET_SOCKET_MISSING).await;
    assert!(told.message.contains(host.dir().to_str().unwrap()), "{}", told.message);
    std::fs::create_dir(host.dir()).unwrap();
    let kubelet = Kubelet::start(host.dir());
    kubelet.wait_capacity(RXE0, 1, 1).await;
    drop(kubelet);
    // And when it goes and comes back later.
    std::fs::remove_dir_all(host.dir()).unwrap();
    host.wait_reason(RXE0, reason::KUBELET_SOCKET_MISSING).await;
    std::fs::create_dir(host.dir()).unwrap();
    Kubelet::start(host.dir()).wait_capacity(RXE0, 1, 1).await;
}

#[tokio::test]
async fn each_trouble_is_one_line_in_the_log() {
    let (lines, _guard) = log::capture();
    let mut host = Host::new();
    host.show((0..8).map(|n| soft(n, &format!("rxe{n}"), "ACTIVE")).collect());
    host.start();
    for n in 0..8 {
        host.wait_reason(&format!("rdma/rxe{n}"), reason::KUBELET_SOCKET_MISSING).await;
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    let told = lines.take();
    assert_eq!(told.len(), 1, "{told:#?}");
    assert!(told[0].contains("WARN") && told[0].contains("kubelet.sock"), "{told:?}");

    let kubelet = Kubelet::start(host.dir());
    kubelet.manner(Manner::Refuse("no".to_owned()));
    for n in 0..8 {
        host.wait_reason(&format!("rdma/rxe{n}"), reason::REGISTRATION_REJECTED).await;
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    let told = lines.take();
    assert_eq!(told.len(), 2, "the socket is there, and a refusal: {told:#?}");
    assert!(told[1].contains("WARN") && told[1].contains("refused the registration: no"), "{told:?}");

    kubelet.manner(Manner::Accept);
    for n in 0..8 {
        host.wait_status(&format!("rdma/rxe{n}"), |entry| entry.registered).await;
    }
    assert_eq!(lines.take().len(), 8, "each resource that is back");
}

#[tokio::test]
async fn b09_the_longest_names_are_served() {
    let mut host = Host::with(|settings| {
        settings.pool.prefix = "a-rather-long-name.of-some-organisation.example.com".to_owned();
    });
    let kubelet = Kubelet::start(host.dir());
    let name = "n".repeat(63);
    host.show(vec![soft(0, &name, "ACTIVE")]);
    host.start();
    kubelet.wait_capacity(&format!("{}/{name}", host.settings.pool.prefix), 1, 1).await;
}

#[tokio::test]
async fn b28_a_missing_permission_is_told_with_directory_and_user() {
    // Nobody, root included, makes a socket there.
    let dir = std::path::PathBuf::from("/sys/kernel");
    let denied = StdListener::bind(dir.join("probe.sock")).map_err(|error| error.kind());
    if !matches!(denied, Err(std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem)) {
        eprintln!("skipped: binding in {} gives {denied:?}", dir.display());
        return;
    }
    let mut host = Host::with(|settings| settings.dir = dir.clone());
    host.show(vec![soft(0, "rxe0", "ACTIVE")]);
    host.start();
    let told = host.wait_reason(RXE0, reason::PERMISSION_DENIED).await;
    assert!(told.message.contains("/sys/kernel as uid "), "{}", told.message);
    host.stop().await;
}

#[tokio::test]
async fn a_killed_run_is_taken_over_from() {
    let (mut host, kubelet) = running().await;
    host.kill().await;
    host.start();
    kubelet.wait(RXE0, "registered again", |known| known.registrations == 2 && known.connected).await;
    kubelet.allocate(RXE0, &["rxe0"]).await.unwrap();
}
