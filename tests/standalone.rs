//! The agent without Kubernetes: links from files, on whatever host this is.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/links.rs"]
mod links;
#[path = "support/process.rs"]
mod process;

use std::path::{Path, PathBuf};

use links::{BAD_LINKS, GOOD_LINKS};
use process::{Running, free_address, get};
use rdma_operator::agent::standalone::read;

fn object(name: &str, spec: &str) -> String {
    format!(
        "apiVersion: rdma-operator.dev/v1alpha1\nkind: SoftRdmaLink\nmetadata: {{name: {name}}}\nspec: {spec}\n"
    )
}

fn write(dir: &Path, name: &str, text: &str) -> PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn refusal(text: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    let path = write(dir.path(), "links.yaml", text);
    let error = read(std::slice::from_ref(&path), "n").unwrap_err().to_string();
    assert!(error.starts_with(path.to_str().unwrap()), "it names the file: {error}");
    error
}

#[test]
fn what_an_api_server_refuses_a_file_cannot_have_either() {
    for (what, spec, _) in BAD_LINKS {
        let error = refusal(&object("bad", spec));
        assert!(error.contains("SoftRdmaLink bad") && !error.contains('\n'), "{what}: {error}");
    }
}

#[test]
fn what_an_api_server_accepts_a_file_may_have() {
    let dir = tempfile::tempdir().unwrap();
    for spec in GOOD_LINKS {
        let path = write(dir.path(), "links.yaml", &object("good", spec));
        match read(&[path], "a") {
            Ok(links) => assert_eq!(links.len(), 1, "{spec}"),
            Err(error) => {
                assert!(spec.contains("selector"), "{spec}: {error}");
                assert!(error.to_string().contains("needs a cluster"), "{error}");
            }
        }
    }
}

#[test]
fn a_typing_error_is_named_and_nothing_is_guessed() {
    let typo = refusal(&object("lab", "{type: rxe, netdev: {name: eth0}, devicename: rxe0}"));
    assert!(typo.contains("there is no field spec.devicename"), "{typo}");
    let other =
        refusal("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {type: rxe, netdev: {name: e}}\n");
    assert!(other.contains("this is v1 Pod"), "{other}");
    let yaml = refusal("apiVersion: [\n");
    assert!(yaml.contains("line"), "{yaml}");
    let twice = object("lab", "{type: rxe, netdev: {name: eth0}}");
    let twice = refusal(&format!("{twice}---\n{twice}"));
    assert!(twice.contains("two of this name"), "{twice}");
}

#[test]
fn links_for_other_nodes_are_left_to_them() {
    let dir = tempfile::tempdir().unwrap();
    let text = ["a", "b"].map(|node| {
        object(node, &format!("{{type: rxe, netdev: {{name: eth0}}, nodes: {{names: [{node}]}}}}"))
    });
    let path = write(dir.path(), "links.yaml", &text.join("---\n"));
    let links = read(&[path], "b").unwrap();
    assert_eq!(links.iter().map(|link| link.name.as_str()).collect::<Vec<_>>(), ["b"]);
}

#[test]
fn the_agent_keeps_links_of_files_and_reads_them_again() {
    let dir = tempfile::tempdir().unwrap();
    let spec = |netdev: &str| format!("{{type: rxe, netdev: {{name: {netdev}}}}}");
    let path = write(dir.path(), "links.yaml", &object("lab", &spec("nosuch0")));
    let listen = free_address();
    let state = dir.path().join("state");
    let args =
        ["--state-dir", state.to_str().unwrap(), "--listen", &listen, "--links", path.to_str().unwrap()];
    let mut agent = Running::start(&[&["agent", "--standalone"][..], &args].concat());
    agent.says(&["no Kubernetes", "soft links wanted: 1"]);
    agent.says(&["soft link lab", "NetdevNotFound", "nosuch0"]);
    let ready = get(&listen, "/readyz").unwrap();
    assert!(ready.starts_with("HTTP/1.1 200"), "{ready}");
    assert!(get(&listen, "/metrics").unwrap().contains("\nrdma_operator_agent_soft_links_wanted 1\n"));
    write(dir.path(), "links.yaml", "kind: [");
    agent.says(&["reading soft links", "links.yaml", "those read last stay"]);
    write(dir.path(), "links.yaml", &object("lab", &spec("nosuch1")));
    agent.says(&["soft link lab", "NetdevNotFound", "nosuch1"]);
}

#[test]
fn a_file_that_cannot_be_used_ends_the_start_and_is_named() {
    let (code, text) = process::ends(&["agent", "--standalone", "--links", "/no/such/links.yaml"]);
    assert_eq!(code, Some(1));
    assert!(text.contains("cannot read /no/such/links.yaml: No such file"), "{text}");
    let (code, text) = process::ends(&["agent", "--links", "/no/such/links.yaml", "--node", "n"]);
    assert_eq!(code, Some(2), "links of files are for --standalone: {text}");
}
