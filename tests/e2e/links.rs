//! SoftRdmaLinks: made, kept, explained, removed.

use crate::lab::{Link, NODES, allocatable, by_hand, condition, eventually, lab, rxe0};

#[test]
#[ignore = "needs the lab: cargo xtask test"]
fn a_link_is_made_on_both_nodes_shown_and_removed() {
    let link = rxe0();
    for node in NODES {
        assert_eq!(lab().devices(node), ["rxe0"]);
        let rdma = lab().get("rdmanode", node, &[]);
        let status = &rdma["status"];
        assert_eq!((&status["deviceCount"], &status["activePorts"]), (&1.into(), &1.into()), "{status}");
        let device = &status["devices"][0];
        assert_eq!(device["driver"], "rxe");
        let gids = device["ports"][0]["gids"].as_array().unwrap();
        assert!(gids.iter().any(|gid| gid["type"] == "RoCE v2" && gid["scope"] == "global"), "{gids:?}");
        eventually("the resource is offered", || allocatable(node, "rdma/rxe0") == 1);
        let columns = lab().kubectl(&["get", "rdmanode", node]);
        for word in ["READY", "DEVICES", "ACTIVE", "NETNS", "SOFT", "KERNEL", "AGE", "1/1", "shared"] {
            assert!(columns.contains(word), "{word}: {columns}");
        }
    }
    let columns = lab().kubectl(&["get", "softrdmalinks"]);
    for word in ["TYPE", "NETDEV", "DESIRED", "READY", "FAILED", "REASON", "AGE", "AllNodesReady"] {
        assert!(columns.contains(word), "{word}: {columns}");
    }
    drop(link);
    for node in NODES {
        assert!(lab().devices(node).is_empty());
        eventually("the resource is withdrawn", || allocatable(node, "rdma/rxe0") == 0);
    }
    assert!(lab().get("softrdmalink", "rxe0", &[]).is_null());
}

#[test]
#[ignore = "needs the lab: cargo xtask test"]
fn namespace_caveats_differ_between_the_kernels_and_are_said() {
    let link = rxe0();
    let isolation =
        |node: &str| lab().get("rdmanode", node, &[])["status"]["devices"][0]["isolation"].clone();
    let (newer, older) = (isolation(NODES[0]), isolation(NODES[1]));
    assert_eq!(
        (&newer["isolated"], newer["reason"].as_str()),
        (&false.into(), Some("SharedMode")),
        "{newer}"
    );
    assert_eq!(
        (&older["isolated"], older["reason"].as_str()),
        (&false.into(), Some("KernelTooOld")),
        "{older}"
    );
    assert_eq!((newer["confidence"].as_str(), older["confidence"].as_str()), (Some("Known"), Some("Known")));
    for node in NODES {
        let mode = condition(&lab().get("rdmanode", node, &[]), "NamespaceMode");
        assert_eq!(mode, ("True".into(), "NetnsShared".into()));
    }
    eventually("the link says it too", || {
        condition(&link.object(), "NamespaceIsolated") == ("False".into(), "Mixed".into())
    });
}

#[test]
#[ignore = "needs the lab: cargo xtask test"]
fn a_link_removed_behind_our_back_comes_back() {
    let _link = rxe0();
    for node in NODES {
        lab().node(node, "rdma link delete rxe0");
        eventually("rxe0 is back", || lab().devices(node) == ["rxe0"]);
    }
}

#[test]
#[ignore = "needs the lab: cargo xtask test"]
fn a_netdev_that_does_not_exist_is_named_and_breaks_nothing_else() {
    let _good = rxe0();
    let bad = Link::new("bad", "{type: rxe, netdev: {name: eth9}}");
    eventually("the reason is shown", || {
        condition(&bad.object(), "Ready") == ("False".into(), "NetdevNotFound".into())
    });
    let columns = lab().kubectl(&["get", "softrdmalinks", "-o", "wide"]);
    assert!(columns.contains("there is no netdev eth9"), "{columns}");
    for node in NODES {
        assert_eq!(lab().devices(node), ["rxe0"]);
        assert_eq!(condition(&lab().get("rdmanode", node, &[]), "Ready").0, "True");
    }
    // The netdev comes: nobody has to touch the object.
    for node in NODES {
        lab().node(node, "ip link add eth9 type dummy && ip link set eth9 up");
    }
    eventually("the link follows its netdev", || condition(&bad.object(), "Ready").0 == "True");
    for node in NODES {
        lab().node(node, "ip link del eth9");
    }
    eventually("and says so when it goes", || condition(&bad.object(), "Ready").1 == "NetdevNotFound");
}

#[test]
#[ignore = "needs the lab: cargo xtask test"]
fn a_foreign_device_is_left_alone() {
    let theirs = by_hand(NODES[1], "rdma link add theirs type rxe netdev eth0", "rdma link delete theirs");
    let link = Link::new("ours", "{type: rxe, netdev: {name: eth0}, nodes: {names: [node-b]}}");
    eventually("the conflict is named", || condition(&link.object(), "Ready").1 == "NetdevInUse");
    let message = link.object()["status"]["failures"][0]["message"].to_string();
    assert!(message.contains("theirs"), "{message}");
    drop(link);
    assert_eq!(lab().devices(NODES[1]), ["theirs"]);
    drop(theirs);
}

#[test]
#[ignore = "needs the lab: cargo xtask test"]
fn rxe_on_a_vlan_is_explained() {
    let vlan = "ip link add link eth0 name eth0.5 type vlan id 5 && ip link set eth0.5 up";
    let vlan = by_hand(NODES[0], vlan, "ip link del eth0.5");
    let link = Link::new("vlan", "{type: rxe, netdev: {name: eth0.5}, nodes: {names: [node-a]}}");
    eventually("the reason is shown", || condition(&link.object(), "Ready").1 == "VlanNotSupported");
    drop((link, vlan));
}

#[test]
#[ignore = "needs the lab: cargo xtask test"]
fn soft_iwarp_on_the_default_route_of_one_node() {
    let link =
        Link::new("siw", "{type: siw, netdev: {defaultRoute: true}, nodes: {names: [node-b]}}").ready();
    assert_eq!(lab().devices(NODES[1]), ["siw_eth0"]);
    assert!(lab().devices(NODES[0]).is_empty());
    eventually("siw cannot be isolated", || {
        condition(&link.object(), "NamespaceIsolated") == ("False".into(), "DriverCannotMove".into())
    });
}
