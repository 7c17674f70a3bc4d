//! The device plugin against a kubelet over real unix sockets. Names: the row of the collected user reports
//! (`b01` …) that the test answers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, unreachable_pub)]

mod devices;
#[path = "../support/kubelet_host.rs"]
mod host;
#[path = "../support/kubelet.rs"]
mod kubelet;
#[path = "../support/kubelet_log.rs"]
mod log;
mod registration;

use host::{Host, soft};
use kubelet::Kubelet;

const RXE0: &str = "rdma/rxe0";

/// A plugin with one device, registered.
async fn running() -> (Host, Kubelet) {
    let mut host = Host::new();
    let kubelet = Kubelet::start(host.dir());
    host.show(vec![soft(0, "rxe0", "ACTIVE")]);
    host.start();
    kubelet.wait_capacity(RXE0, 1, 1).await;
    (host, kubelet)
}
