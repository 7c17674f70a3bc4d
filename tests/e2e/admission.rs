//! What the API server refuses.

use crate::lab::{NODES, agent_pod, lab, yaml};

/// A bad SoftRdmaLink: (what is wrong, spec, words of the refusal).
const BAD_LINKS: [(&str, &str, &str); 29] = [
    ("no spec", "null", "spec"),
    ("no type", "{netdev: {name: eth0}}", "spec.type"),
    ("no netdev", "{type: rxe}", "spec.netdev"),
    ("an unknown type", "{type: iser, netdev: {name: eth0}}", "Unsupported value: \"iser\""),
    ("an upper-case type", "{type: RXE, netdev: {name: eth0}}", "Unsupported value: \"RXE\""),
    ("an empty netdev", "{type: rxe, netdev: {}}", "exactly one of netdev.name"),
    (
        "two kinds of netdev",
        "{type: rxe, netdev: {name: eth0, defaultRoute: true}}",
        "exactly one of netdev.name",
    ),
    (
        "three kinds of netdev",
        "{type: rxe, netdev: {name: eth0, defaultRoute: true, cidr: 192.0.2.0/24}}",
        "exactly one",
    ),
    ("defaultRoute: false", "{type: rxe, netdev: {defaultRoute: false}}", "either true or left out"),
    ("an empty netdev name", "{type: rxe, netdev: {name: \"\"}}", "spec.netdev.name"),
    ("a netdev name of 16 characters", "{type: rxe, netdev: {name: abcdefghijklmnop}}", "spec.netdev.name"),
    ("a netdev name with a slash", "{type: rxe, netdev: {name: a/b}}", "spec.netdev.name"),
    ("a netdev name with a space", "{type: rxe, netdev: {name: \"a b\"}}", "spec.netdev.name"),
    ("the netdev ..", "{type: rxe, netdev: {name: \"..\"}}", "no interface names"),
    ("a cidr without length", "{type: rxe, netdev: {cidr: 192.0.2.0}}", "like 192.0.2.0/24"),
    ("a cidr that is none", "{type: rxe, netdev: {cidr: here/24}}", "like 192.0.2.0/24"),
    ("an empty device name", "{type: rxe, netdev: {name: eth0}, deviceName: \"\"}", "spec.deviceName"),
    ("a device name with a slash", "{type: rxe, netdev: {name: eth0}, deviceName: a/b}", "spec.deviceName"),
    (
        "a device name with a percent sign",
        "{type: rxe, netdev: {name: eth0}, deviceName: \"rxe%d\"}",
        "spec.deviceName",
    ),
    (
        "a device name that starts with a dot",
        "{type: rxe, netdev: {name: eth0}, deviceName: .rxe}",
        "spec.deviceName",
    ),
    (
        "a device name of 64 characters",
        "{type: rxe, netdev: {name: eth0}, deviceName: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}",
        "spec.deviceName",
    ),
    (
        "an empty node selection",
        "{type: rxe, netdev: {name: eth0}, nodes: {}}",
        "exactly one of nodes.selector",
    ),
    (
        "a node selector with an unknown operator",
        "{type: rxe, netdev: {name: eth0}, nodes: {selector: {matchExpressions: [{key: a, operator: Gt, values: [\"1\"]}]}}}",
        "Unsupported value: \"Gt\"",
    ),
    (
        "In without values",
        "{type: rxe, netdev: {name: eth0}, nodes: {selector: {matchExpressions: [{key: a, operator: In}]}}}",
        "In and NotIn need values",
    ),
    (
        "Exists with values",
        "{type: rxe, netdev: {name: eth0}, nodes: {selector: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}}}",
        "Exists and DoesNotExist take none",
    ),
    (
        "a label key that is none",
        "{type: rxe, netdev: {name: eth0}, nodes: {selector: {matchExpressions: [{key: a b, operator: Exists}]}}}",
        "matchExpressions[0].key",
    ),
    (
        "a label value that is none",
        "{type: rxe, netdev: {name: eth0}, nodes: {selector: {matchLabels: {a: \"b c\"}}}}",
        "matchLabels",
    ),
    ("no node names", "{type: rxe, netdev: {name: eth0}, nodes: {names: []}}", "spec.nodes.names"),
    (
        "an unknown policy",
        "{type: rxe, netdev: {name: eth0}, deletionPolicy: Orphan}",
        "Unsupported value: \"Orphan\"",
    ),
];

#[test]
#[ignore = "needs the lab: cargo xtask test"]
fn bad_softrdmalinks_are_refused_with_words_that_help() {
    for (what, spec, words) in BAD_LINKS {
        let said = lab().try_apply(&yaml("bad", spec), &["--dry-run=server"]);
        assert!(!said.ok, "{what} was accepted");
        assert!(said.err.contains(words), "{what}: {words:?} is not in {}", said.err);
    }
}

#[test]
#[ignore = "needs the lab: cargo xtask test"]
fn good_softrdmalinks_are_accepted() {
    for spec in [
        "{type: rxe, netdev: {name: eth0}}",
        "{type: siw, netdev: {defaultRoute: true}, deletionPolicy: Retain, adopt: IfIdentical}",
        "{type: rxe, netdev: {cidr: \"2001:db8::/32\"}, updatePolicy: {whenInUse: Recreate}}",
        "{type: rxe, netdev: {name: eth0.5}, deviceName: r-0_x.y, nodes: {names: [a, b]}}",
        "{type: rxe, netdev: {name: eth0}, nodes: {selector: {matchLabels: {a: b}}}}",
        "{type: rxe, netdev: {name: eth0}, nodes: {selector: {matchLabels: {a.b.c/d: \"\"}, matchExpressions: [{key: a, operator: DoesNotExist}, {key: x.y/z, operator: NotIn, values: [b, \"\"]}]}}}",
    ] {
        let said = lab().try_apply(&yaml("good", spec), &["--dry-run=server"]);
        assert!(said.ok, "{spec}: {}", said.err);
    }
}

#[test]
#[ignore = "needs the lab: cargo xtask test"]
fn the_type_of_a_link_cannot_change() {
    let link = crate::lab::Link::new("fixed", "{type: rxe, netdev: {name: eth9}}");
    let said = lab().try_apply(&yaml("fixed", "{type: siw, netdev: {name: eth9}}"), &[]);
    assert!(said.err.contains("type cannot be changed"), "{}", said.err);
    drop(link);
}

#[test]
#[ignore = "needs the lab: cargo xtask test"]
fn an_agent_writes_only_about_its_own_node() {
    let (pod, uid) = agent_pod(NODES[0]);
    let token = lab().kubectl(&[
        "-n",
        "rdma-operator",
        "create",
        "token",
        "rdma-operator-agent",
        "--bound-object-kind=Pod",
        &format!("--bound-object-name={pod}"),
        &format!("--bound-object-uid={uid}"),
    ]);
    // As the agent writes: a server-side apply of the status, which reads nothing first.
    let as_agent = |node: &str| {
        let status = format!(
            "apiVersion: rdma-operator.dev/v1alpha1\nkind: RdmaNode\nmetadata: {{name: {node}}}\nstatus: {{truncated: true}}\n"
        );
        let more = [
            "--kubeconfig=/dev/null",
            "--server=https://192.0.2.1:6443",
            "--insecure-skip-tls-verify",
            "--token",
            token.trim(),
            "--server-side",
            "--subresource=status",
            "--field-manager=e2e",
            "--validate=false",
        ];
        lab().try_apply(&status, &more)
    };
    let other = as_agent(NODES[1]);
    assert!(!other.ok && other.err.contains("node its token is bound to"), "{}{}", other.out, other.err);
    let own = as_agent(NODES[0]);
    assert!(own.ok, "{}", own.err);
    lab().kubectl(&[
        "patch",
        "rdmanode",
        NODES[0],
        "--subresource=status",
        "--type=merge",
        "-p",
        r#"{"status":{"truncated":null}}"#,
    ]);
}
