//! `helm uninstall` leaves nothing on the nodes. Last, as its name says.

use crate::lab::{NAMESPACE, NODES, lab, rxe0};

#[test]
#[ignore = "needs the lab: cargo xtask test"]
fn uninstalling_the_chart_takes_the_links_along() {
    let link = rxe0();
    let said =
        lab().helm(&["uninstall", "rdma-operator", "--namespace", NAMESPACE, "--wait", "--timeout", "4m"]);
    assert!(said.ok, "{}{}\n{}", said.out, said.err, lab().picture());
    for node in NODES {
        assert!(lab().devices(node).is_empty());
    }
    assert!(link.object().is_null());
    let left =
        lab().kubectl(&["get", "clusterroles,clusterrolebindings,validatingadmissionpolicies", "-o", "name"]);
    assert!(!left.contains("rdma-operator"), "{left}");
    assert!(
        lab().kubectl(&["get", "crds", "-o", "name"]).contains("softrdmalinks"),
        "kept with what they hold"
    );
}
