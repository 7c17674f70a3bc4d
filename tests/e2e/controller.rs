//! The controller: one leads, another takes over, and nothing is written when nothing changes.

use std::time::Duration;

use serde_json::Value;

use crate::lab::{NAMESPACE, NODES, condition, eventually, lab, rxe0, within};

fn holder() -> String {
    let lease = lab().get("lease", "rdma-operator-controller", &["-n", NAMESPACE]);
    lease["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned()
}

#[test]
#[ignore = "needs the lab: cargo xtask test"]
fn another_controller_takes_over() {
    lab().kubectl(&["-n", NAMESPACE, "scale", "deployment", "rdma-operator-controller", "--replicas=2"]);
    lab().kubectl(&[
        "-n",
        NAMESPACE,
        "rollout",
        "status",
        "deployment/rdma-operator-controller",
        "--timeout=120s",
    ]);
    let first = holder();
    lab().kubectl(&["-n", NAMESPACE, "delete", "pod", &first, "--grace-period=0", "--force"]);
    eventually("another holds the lease", || !holder().is_empty() && holder() != first);
    let _link = rxe0();
    lab().kubectl(&["-n", NAMESPACE, "scale", "deployment", "rdma-operator-controller", "--replicas=1"]);
}

#[test]
#[ignore = "needs the lab: cargo xtask test"]
fn nothing_is_written_when_nothing_changes() {
    let link = rxe0();
    let objects = || {
        let node = |name: &str| lab().get("rdmanode", name, &["--show-managed-fields"]);
        [node(NODES[0]), node(NODES[1]), link.object()]
    };
    let versions =
        |objects: &[Value; 3]| objects.each_ref().map(|object| object["metadata"]["resourceVersion"].clone());
    // Devices of the tests before this one stay resources for their grace period.
    within(Duration::from_secs(240), "each node offers what it has", || {
        NODES.iter().all(|node| lab().get("rdmanode", node, &[])["status"]["resources"] == "rdma/rxe0")
    });
    let mut before = objects();
    eventually("the cluster comes to rest", || {
        std::thread::sleep(Duration::from_secs(10));
        let last = std::mem::replace(&mut before, objects());
        versions(&last) == versions(&before)
    });
    std::thread::sleep(Duration::from_secs(20));
    let after = objects();
    assert_eq!(versions(&after), versions(&before), "written:\n{before:#?}\nthen:\n{after:#?}");
}

#[test]
#[ignore = "needs the lab: cargo xtask test"]
fn an_rdmanode_that_is_deleted_comes_back_and_its_links_stay() {
    let _link = rxe0();
    let node = NODES[0];
    let device = lab().node(node, "rdma -j dev");
    let uid = lab().get("rdmanode", node, &[])["metadata"]["uid"].clone();
    lab().kubectl(&["delete", "rdmanode", node]);
    eventually("it is back, with its status", || {
        let object = lab().get("rdmanode", node, &[]);
        object["metadata"]["uid"] != uid
            && condition(&object, "Ready").0 == "True"
            && object["status"]["softLinks"][0]["state"] == "Ready"
    });
    assert_eq!(lab().node(node, "rdma -j dev"), device, "the same device");
}
