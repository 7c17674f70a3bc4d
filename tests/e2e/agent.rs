//! The agent as a pod: its privileges, restarts around it, and nodes without RDMA.

use std::time::Duration;

use crate::lab::{LIMIT, NAMESPACE, NODES, agent_pod, allocatable, condition, eventually, lab, rxe0, within};

#[test]
#[ignore = "needs the lab: cargo xtask test"]
fn the_agent_has_one_capability_and_nothing_else() {
    let (pod, _) = agent_pod(NODES[1]);
    let object = lab().get("pod", &pod, &["-n", NAMESPACE]);
    let spec = &object["spec"];
    let container = &spec["containers"][0]["securityContext"];
    assert_eq!(container["capabilities"], serde_json::json!({"drop": ["ALL"], "add": ["NET_ADMIN"]}));
    assert_eq!(container["privileged"], false);
    assert_eq!(container["readOnlyRootFilesystem"], true);
    assert_eq!(container["allowPrivilegeEscalation"], false);
    assert_eq!(spec["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
    assert!(spec["hostPID"].is_null() && spec["hostIPC"].is_null() && spec["hostNetwork"] == true);
    // What the kernel says of the process: CAP_NET_ADMIN is bit 12; a filter is on; it cannot gain more.
    let status = lab().node(
        NODES[1],
        "grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/$(pgrep -f '[r]dma-operator agent')/status",
    );
    let words: Vec<&str> = status.split_whitespace().collect();
    assert_eq!(
        words,
        ["CapEff:", "0000000000001000", "CapBnd:", "0000000000001000", "NoNewPrivs:", "1", "Seccomp:", "2"]
    );
}

#[test]
#[ignore = "needs the lab: cargo xtask test"]
fn resources_outlive_a_kubelet_restart() {
    let _link = rxe0();
    let node = NODES[1];
    eventually("the resource is offered", || allocatable(node, "rdma/rxe0") == 1);
    let before = agent_pod(node);
    let pid = lab().node(node, "pgrep -x kubelet");
    lab().node(node, "pkill -x kubelet");
    eventually("another kubelet runs", || {
        let said = lab().node(node, "pgrep -x kubelet || true");
        !said.trim().is_empty() && said != pid
    });
    // The node's status says 1 all along if all goes well: the kubelet's own view is its socket's folder.
    eventually("the plugin's socket is there again", || {
        lab().node(node, "ls /var/lib/kubelet/device-plugins").contains("rdma")
    });
    eventually("the resource is registered again", || {
        let object = lab().get("rdmanode", node, &[]);
        condition(&object, "PluginRegistered").0 == "True" && allocatable(node, "rdma/rxe0") == 1
    });
    assert_eq!(agent_pod(node), before, "the agent was not restarted for it");
}

#[test]
#[ignore = "needs the lab: cargo xtask test"]
fn links_outlive_an_agent_restart() {
    let _link = rxe0();
    let node = NODES[0];
    let index = lab().node(node, "rdma -j dev");
    let (pod, _) = agent_pod(node);
    lab().kubectl(&["-n", NAMESPACE, "delete", "pod", &pod]);
    eventually("another agent is ready", || {
        let (name, _) = agent_pod(node);
        name != pod && condition(&lab().get("pod", &name, &["-n", NAMESPACE]), "Ready").0 == "True"
    });
    eventually("the resource is offered", || allocatable(node, "rdma/rxe0") == 1);
    assert_eq!(lab().node(node, "rdma -j dev"), index, "the same device, not another of its name");
}

#[test]
#[ignore = "needs the lab: cargo xtask test"]
fn a_node_without_rdma_is_ready_and_notices_when_it_comes() {
    let node = NODES[1];
    let modules = "rdma_ucm rdma_rxe siw ib_uverbs ib_umad rdma_cm iw_cm ib_cm";
    // As on a host that forbids it: no module, no autoload.
    lab().node(
        node,
        &format!(
            "for m in {modules} ib_core; do echo \"install $m /bin/false\"; done > /etc/modprobe.d/none.conf; rmmod {modules} 2>/dev/null; true"
        ),
    );
    let (pod, _) = agent_pod(node);
    lab().kubectl(&["-n", NAMESPACE, "delete", "pod", &pod]);
    within(Duration::from_secs(30), "ib_core goes once nobody has a socket open", || {
        lab()
            .node(node, "rmmod ib_core 2>/dev/null; test -d /sys/class/infiniband && echo there || echo gone")
            .trim()
            == "gone"
    });
    eventually("an agent is ready on it", || {
        let (name, _) = agent_pod(node);
        name != pod && condition(&lab().get("pod", &name, &["-n", NAMESPACE]), "Ready").0 == "True"
    });
    eventually("its RdmaNode says so", || {
        let object = lab().get("rdmanode", node, &[]);
        condition(&object, "Ready") == ("True".into(), "NoRdmaSubsystem".into())
            && object["status"]["deviceCount"] == 0
    });
    let before = agent_pod(node);
    lab().node(node, "rm /etc/modprobe.d/none.conf; modprobe -a ib_uverbs rdma_ucm; rdma link add late type rxe netdev eth0");
    within(LIMIT, "the device is offered", || allocatable(node, "rdma/late") == 1);
    assert_eq!(agent_pod(node), before, "without a restart");
    lab().node(node, "rdma link delete late");
    eventually("and withdrawn", || allocatable(node, "rdma/late") == 0);
}
