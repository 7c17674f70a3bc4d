//! Pods that use a device.

use crate::lab::{Link, NODES, allocatable, condition, eventually, lab, rxe0};

const NAMESPACE: &str = "e2e";

/// A pod of the pod network without any privilege, in a namespace that refuses every other.
fn pod(name: &str, node: &str, command: &str) {
    lab().apply(&format!(
        "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {NAMESPACE}\n  labels: {{pod-security.kubernetes.io/enforce: restricted}}\n"
    ));
    eventually("the namespace has its service account", || {
        lab().try_kubectl(&["-n", NAMESPACE, "get", "serviceaccount", "default"]).ok
    });
    lab().apply(&format!(
        r#"apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: {NAMESPACE}}}
spec:
  nodeName: {node}
  restartPolicy: Never
  terminationGracePeriodSeconds: 0
  securityContext: {{runAsNonRoot: true, runAsUser: 65534, seccompProfile: {{type: RuntimeDefault}}}}
  containers:
  - name: verbs
    image: docker.io/library/verbs:lab
    imagePullPolicy: IfNotPresent
    command: [sh, -c, "{command}"]
    resources: {{limits: {{rdma/rxe0: 1}}}}
    securityContext: {{allowPrivilegeEscalation: false, capabilities: {{drop: [ALL]}}}}
"#
    ));
}

fn phase(name: &str) -> String {
    lab().get("pod", name, &["-n", NAMESPACE])["status"]["phase"].as_str().unwrap_or_default().to_owned()
}

fn logs(name: &str) -> String {
    lab().kubectl(&["-n", NAMESPACE, "logs", name])
}

fn clean() {
    lab().kubectl(&["-n", NAMESPACE, "delete", "pods", "--all", "--force", "--grace-period=0"]);
}

#[test]
#[ignore = "needs the lab: cargo xtask test"]
fn a_pod_gets_its_device_and_nothing_else() {
    let _link = rxe0();
    eventually("the resource is offered", || allocatable(NODES[0], "rdma/rxe0") == 1);
    pod("look", NODES[0], "ls /dev/infiniband; env; ibv_devinfo | head -1");
    eventually("the pod ends", || phase("look") == "Succeeded");
    let said = logs("look");
    for word in ["RDMA_DEVICE_RXE0=rxe0", "RDMA_NETDEV_RXE0=eth0", "RDMA_GID_INDEX_RXE0=1", "hca_id:\trxe0"] {
        assert!(said.contains(word), "{word} is not in {said}");
    }
    let nodes: Vec<&str> = said.lines().take_while(|line| !line.contains('=')).collect();
    assert_eq!(nodes, ["rdma_cm", "uverbs0"], "only what Allocate gave");
    clean();
}

#[test]
#[ignore = "needs the lab: cargo xtask test"]
fn two_pods_on_two_kernels_talk_rdma() {
    let _link = rxe0();
    for node in NODES {
        eventually("the resource is offered", || allocatable(node, "rdma/rxe0") == 1);
    }
    let pingpong = |peer: &str| {
        format!(
            "for i in 1 2 3 4 5 6 7 8; do ibv_rc_pingpong -d rxe0 -g $RDMA_GID_INDEX_RXE0 -n 50 {peer} && exit 0; sleep 2; done; exit 1"
        )
    };
    pod("server", NODES[0], &pingpong(""));
    eventually("the server runs", || phase("server") == "Running");
    let object = lab().get("pod", "server", &["-n", NAMESPACE]);
    pod("client", NODES[1], &pingpong(object["status"]["podIP"].as_str().unwrap()));
    eventually("the client ends", || matches!(phase("client").as_str(), "Succeeded" | "Failed"));
    assert_eq!(phase("client"), "Succeeded", "{}", logs("client"));
    assert!(logs("client").contains("50 iters in"), "{}", logs("client"));
    clean();
}

#[test]
#[ignore = "needs the lab: cargo xtask test"]
fn an_exclusive_device_goes_to_one_pod_at_a_time() {
    let _link = rxe0();
    eventually("the resource is offered", || allocatable(NODES[0], "rdma/rxe0") == 1);
    pod("first", NODES[0], "sleep 600");
    eventually("the first runs", || phase("first") == "Running");
    pod("second", NODES[0], "true");
    eventually("the second is refused", || phase("second") == "Failed");
    let reason = lab().get("pod", "second", &["-n", NAMESPACE])["status"]["reason"].clone();
    assert!(
        reason.as_str().is_some_and(|r| r.contains("rdma/rxe0") || r == "UnexpectedAdmissionError"),
        "{reason}"
    );
    clean();
}

/// A pod that has the device open until it is deleted: a server without a client.
fn holder(name: &str, node: &str) {
    eventually("the resource is offered", || allocatable(node, "rdma/rxe0") == 1);
    pod(name, node, "exec ibv_rc_pingpong -d rxe0 -g $RDMA_GID_INDEX_RXE0");
    eventually("the device is open", || {
        let said = lab().node(node, "rdma -j resource show rxe0");
        let summary: serde_json::Value = serde_json::from_str(&said).unwrap_or_default();
        summary[0]["ctx"].as_i64().is_some_and(|contexts| contexts > 0)
    });
}

#[test]
#[ignore = "needs the lab: cargo xtask test"]
fn a_link_in_use_goes_when_its_user_does_or_at_once_by_kernel() {
    let link = rxe0();
    holder("older", NODES[1]);
    holder("newer", NODES[0]);
    lab().kubectl(&["delete", "softrdmalink", "rxe0", "--wait=false"]);
    // Linux 7.3 takes the device away from its users; 6.12 would wait for them, and the agent does not.
    eventually("7.3 lets go at once", || lab().devices(NODES[0]).is_empty());
    eventually("on 6.12 it is said who waits for what", || {
        let message = condition_message(&link.object());
        message.contains("node-b") && message.contains("in use (open contexts: 1)")
    });
    // The agent goes on meanwhile.
    let other = Link::new("other", "{type: siw, netdev: {name: eth0}, nodes: {names: [node-b]}}").ready();
    drop(other);
    assert_eq!(lab().devices(NODES[1]), ["rxe0"]);
    clean();
    eventually("it goes with its user", || lab().devices(NODES[1]).is_empty());
    eventually("and the object with it", || link.object().is_null());
}

fn condition_message(object: &serde_json::Value) -> String {
    assert_eq!(condition(object, "Ready").1, "Deleting", "{object}");
    let conditions = object["status"]["conditions"].as_array().unwrap();
    let ready = conditions.iter().find(|condition| condition["type"] == "Ready").unwrap();
    ready["message"].as_str().unwrap().to_owned()
}
