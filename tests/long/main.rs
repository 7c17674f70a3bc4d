//! What takes long: chaos and soak on the lab, and our rdma(8) commands against the real ones. `cargo xtask test
//! --long` runs these after the end-to-end tests; docs/long-runs.md has what they last said.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod differential;
#[path = "../e2e/lab.rs"]
#[allow(dead_code)]
mod lab;

use std::time::{Duration, Instant};

use lab::{NAMESPACE, NODES, agent_pod, allocatable, condition, eventually, lab, rxe0};

/// Fixed, so that a run that failed can be had again; another one by CHAOS_SEED.
const SEED: u64 = 20_261_201;
/// Rounds of chaos.
const ROUNDS: u64 = 20;
/// How long the soak looks on.
const SOAK: Duration = Duration::from_secs(180);

/// A small generator: the sequence is part of the test.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }
}

fn restart_kubelet(node: &str) {
    lab().node(node, "pkill -x kubelet");
}

fn kill_agent(node: &str) {
    lab().node(node, "pkill -9 -f '[r]dma-operator agent' || true");
}

fn delete_agent_pod(node: &str) {
    let (pod, _) = agent_pod(node);
    lab().kubectl(&["-n", NAMESPACE, "delete", "pod", &pod, "--wait=false"]);
}

fn delete_link(node: &str) {
    lab().node(node, "rdma link delete rxe0 || true");
}

fn rename_link(node: &str) {
    lab().node(node, "rdma dev set rxe0 name renamed || true");
}

fn delete_rdmanode(node: &str) {
    lab().kubectl(&["delete", "rdmanode", node, "--ignore-not-found"]);
}

fn kill_controller(_: &str) {
    lab().kubectl(&[
        "-n",
        NAMESPACE,
        "delete",
        "pod",
        "-l",
        "app.kubernetes.io/component=controller",
        "--force",
        "--grace-period=0",
    ]);
}

fn wipe_sockets(node: &str) {
    lab().node(node, "rm -f /var/lib/kubelet/device-plugins/rdma*");
}

/// A blow to one node.
type Blow = (&'static str, fn(&str));

const BLOWS: [Blow; 8] = [
    ("kubelet restarted", restart_kubelet),
    ("agent killed", kill_agent),
    ("agent pod deleted", delete_agent_pod),
    ("link deleted by hand", delete_link),
    ("link renamed by hand", rename_link),
    ("rdmanode deleted", delete_rdmanode),
    ("controller killed", kill_controller),
    ("plugin sockets deleted", wipe_sockets),
];

#[test]
#[ignore = "needs the lab: cargo xtask test --long"]
fn chaos_ends_in_the_right_state() {
    let link = rxe0();
    let seed = std::env::var("CHAOS_SEED").map_or(SEED, |seed| seed.parse().unwrap());
    let mut dice = Dice(seed);
    let mut slowest = (Duration::ZERO, "");
    for round in 1..=ROUNDS {
        let (what, strike) = BLOWS[dice.roll(BLOWS.len())];
        let node = NODES[dice.roll(NODES.len())];
        strike(node);
        let start = Instant::now();
        eventually(&format!("seed {seed}, round {round}: all well after: {what} on {node}"), || {
            condition(&link.object(), "Ready").0 == "True"
                && NODES.iter().all(|node| {
                    let object = lab().get("rdmanode", node, &[]);
                    lab().devices(node) == ["rxe0"]
                        && condition(&object, "Ready").0 == "True"
                        && object["status"]["devices"][0]["resourceName"] == "rdma/rxe0"
                        && allocatable(node, "rdma/rxe0") == 1
                })
        });
        println!("round {round}: {what} on {node}: well after {:.1} s", start.elapsed().as_secs_f32());
        slowest = slowest.max((start.elapsed(), what));
    }
    println!("chaos: seed {seed}, {ROUNDS} rounds, slowest {:.1} s ({})", slowest.0.as_secs_f32(), slowest.1);
}

/// Anonymous memory in KiB, open files, and CPU ticks of the agent of a node.
fn agent_use(node: &str) -> [u64; 3] {
    let said = lab().node(
        node,
        "p=$(pgrep -f '[r]dma-operator agent'); awk '/^RssAnon/ {print $2}' /proc/$p/status; ls /proc/$p/fd | wc -l; \
         awk '{print $14 + $15}' /proc/$p/stat",
    );
    let mut numbers = said.split_whitespace().map(|word| word.parse().unwrap());
    [(); 3].map(|()| numbers.next().unwrap())
}

#[test]
#[ignore = "needs the lab: cargo xtask test --long"]
fn soak_costs_nothing_and_writes_nothing() {
    let _link = rxe0();
    std::thread::sleep(Duration::from_secs(45));
    let version = |node: &str| lab().get("rdmanode", node, &[])["metadata"]["resourceVersion"].clone();
    let before = NODES.map(|node| (agent_use(node), version(node)));
    std::thread::sleep(SOAK);
    for (node, (start, written)) in NODES.iter().zip(before) {
        let end = agent_use(node);
        println!(
            "soak {node}: RssAnon {} to {} KiB, open files {} to {}, {} CPU ticks in {} s",
            start[0],
            end[0],
            start[1],
            end[1],
            end[2] - start[2],
            SOAK.as_secs()
        );
        // The kubelet's probes come and go, one every few seconds: a leak would show dozens.
        assert!(end[1] <= start[1] + 2, "open files grow");
        assert!(end[0] <= start[0] + 512, "memory grows");
        assert_eq!(version(node), written, "nothing is written");
    }
}
