//! What the API server refuses.

use crate::lab::{NODES, agent_pod, lab, yaml};

#[path = "../support/links.rs"]
mod links;

use links::{BAD_LINKS, GOOD_LINKS};

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
    for spec in GOOD_LINKS {
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
