//! Restarts of either side, in any order, while pods come and go.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use proptest::prelude::{Strategy, any};
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

use rdma_operator::plugin::Timing;

use super::host::{Host, hard, soft, zero_node};
use super::kubelet::{End, Got, Kubelet, Pod, program};

const DEVICES: [(&str, &str); 4] =
    [("mlx5_0", "0000:1a:00.0"), ("mlx5_1", "0000:1a:00.1"), ("mlx5_2", "0000:3b:00.0"), ("rxe0", "rxe0")];

fn show(host: &Host) {
    let mut devices: Vec<_> =
        (0..).zip(&DEVICES[..3]).map(|(index, (name, address))| hard(index, name, address)).collect();
    devices.push(soft(3, "rxe0", "ACTIVE"));
    devices[1].uverbs = Some(zero_node("uverbs1"));
    host.show(devices);
}

fn everything() -> BTreeMap<String, (u64, u64)> {
    DEVICES.iter().map(|(name, _)| (format!("rdma/{name}"), (1, 1))).collect()
}

/// What happens in a round.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// Whose pod comes or goes before it.
    device: usize,
    /// What goes down.
    kubelet: bool,
    plugin: bool,
    /// By SIGKILL.
    kill: bool,
    /// The plugin is back first, where both go.
    first: bool,
}

fn rounds(count: usize) -> Vec<Round> {
    let round =
        (0..DEVICES.len(), 0..3, any::<bool>(), any::<bool>()).prop_map(|(device, down, kill, first)| {
            Round { device, kubelet: down != 0, plugin: down != 1, kill, first }
        });
    let mut runner = TestRunner::deterministic();
    proptest::collection::vec(round, count).new_tree(&mut runner).unwrap().current()
}

/// A kubelet's node.
struct Node {
    host: Host,
    kubelet: Option<Kubelet>,
    tools: tempfile::TempDir,
    /// Admitted pods and what they got.
    pods: Vec<(Pod, Got)>,
    admitted: u32,
    slowest: Duration,
}

impl Node {
    fn start_kubelet(&mut self) {
        let pods: Vec<Pod> = self.pods.iter().map(|(pod, _)| pod.clone()).collect();
        self.kubelet = Some(Kubelet::start(&program(self.tools.path()), self.host.dir(), &pods));
    }

    fn kubelet(&mut self) -> &mut Kubelet {
        self.kubelet.as_mut().unwrap()
    }

    /// Waits until everything is offered again by the plugin that runs now: the kubelet takes a while to see that
    /// one has ended, and shows its devices as healthy till then.
    async fn settled(&mut self) {
        let start = Instant::now();
        for (name, _) in DEVICES {
            self.host.wait_status(&format!("rdma/{name}"), |status| status.registered).await;
        }
        self.kubelet().wait_capacity(&everything());
        println!("  settled after {:?}", start.elapsed());
        self.slowest = self.slowest.max(start.elapsed());
    }

    /// Pods have what they had, and only that; nobody else gets it.
    fn check(&mut self) {
        for (pod, got) in self.pods.clone() {
            assert_eq!(self.kubelet().devices(&pod).devices, got.devices, "{pod:?}");
            let started = self.kubelet().start_container(&pod).unwrap_or_else(|why| panic!("{pod:?}: {why}"));
            assert_eq!(started.devices, got.devices, "{pod:?}");
            assert!(!started.nodes.is_empty() && !started.envs.is_empty(), "{pod:?}: {started:?}");
            let thief = Pod { uid: format!("{}-thief", pod.uid), ..pod };
            let refused = self.kubelet().allocate(&thief).unwrap_err();
            assert!(refused.contains("requested number of devices unavailable"), "{refused}");
        }
    }

    fn come_and_go(&mut self, (name, id): (&str, &str)) {
        let resource = format!("rdma/{name}");
        match self.pods.iter().position(|(pod, _)| pod.limits.contains_key(&resource)) {
            Some(place) => {
                let (pod, _) = self.pods.remove(place);
                self.kubelet().end_pod(&pod);
            }
            None => {
                self.admitted += 1;
                let pod = Pod::new(&format!("pod-{}", self.admitted), &resource, 1);
                let got = self.kubelet().allocate(&pod).unwrap();
                assert_eq!(got.devices, [(resource, vec![id.to_owned()])].into());
                self.pods.push((pod, got));
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the kubelet's device manager: cargo xtask test"]
async fn b01_b02_nothing_is_lost_by_restarts_of_either_side_in_any_order() {
    let rounds = rounds(std::env::var("RDMA_ROUNDS").map_or(20, |text| text.parse().unwrap()));
    let tools = tempfile::tempdir().unwrap();
    let mut node = Node {
        host: Host::with(|settings| settings.timing = Timing::default()),
        kubelet: None,
        tools,
        pods: Vec::new(),
        admitted: 0,
        slowest: Duration::ZERO,
    };
    show(&node.host);
    node.start_kubelet();
    node.host.start();
    node.settled().await;
    let count = rounds.len();
    for round in rounds {
        println!("{round:?}");
        let Round { device, kubelet, plugin, kill, first } = round;
        node.come_and_go(DEVICES[device]);
        if kubelet {
            node.kubelet.take().unwrap().end(if kill { End::Kill } else { End::Return });
        }
        if plugin {
            match kill {
                true => node.host.kill().await,
                false => node.host.stop().await,
            }
            if first {
                node.host.start();
            }
        }
        if kubelet {
            node.start_kubelet();
        }
        if plugin && !first {
            node.host.start();
        }
        node.settled().await;
        node.check();
    }
    println!("{count} rounds, {} pods; capacity back after {:?} at most", node.admitted, node.slowest);
}
