//! Commands that answer from a machine document.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/process.rs"]
mod process;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use process::{Running, binary, ends, free_address, get};

fn recorded(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/machines/{name}.yaml"));
    path.to_str().unwrap().to_owned()
}

fn says(args: &[&str]) -> String {
    let output = binary().args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_commands_of_rdma_answer_from_a_document() {
    let dgx = recorded("dgx-h100");
    let devices = says(&["--machine", &dgx, "dev"]);
    assert_eq!(devices.lines().count(), 12, "{devices}");
    assert!(devices.contains("mlx5_0: node_type ca protocol ib"), "{devices}");
    let links = says(&["--machine", &recorded("soft-roce-node"), "link", "show", "rxe0/1"]);
    assert!(links.contains("state ACTIVE physical_state LINK_UP netdev eth0"), "{links}");
    let best = says(&["--machine", &recorded("soft-roce-node"), "gid", "best", "netdev", "eth0.100"]);
    assert!(best.contains("::ffff:198.51.100.110"), "{best}");
    let system = says(&["--machine", &recorded("oci-h100-exclusive"), "system"]);
    assert!(system.contains("netns exclusive"), "{system}");
    let counters = says(&["--machine", &recorded("soft-roce-node"), "statistic", "show", "link", "rxe0/1"]);
    assert!(counters.contains("565827"), "{counters}");
}

#[test]
fn the_inventory_is_that_of_the_document_also_from_stdin() {
    let efa = recorded("aws-efa-p5");
    let json: serde_json::Value =
        serde_json::from_str(&says(&["inventory", "--machine", &efa, "-o", "json"])).unwrap();
    assert_eq!(json["devices"].as_array().unwrap().len(), 32);
    assert_eq!(json["devices"][0]["driver"]["name"], "efa");
    let mut child = binary()
        .args(["inventory", "--machine", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&std::fs::read(&efa).unwrap()).unwrap();
    let text = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    assert!(text.contains("rdmap79s0/1  driver efa"), "{text}");
}

#[test]
fn a_snapshot_of_a_document_is_the_document() {
    let first = says(&["snapshot", "--machine", &recorded("irdma-quad-plus-mlx5")]);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("again.yaml");
    std::fs::write(&path, &first).unwrap();
    assert_eq!(says(&["snapshot", "--machine", path.to_str().unwrap()]), first);
}

#[test]
fn a_document_that_cannot_be_used_is_named_with_its_line() {
    let dir = tempfile::tempdir().unwrap();
    let bad: PathBuf = dir.path().join("bad.yaml");
    let text = std::fs::read_to_string(recorded("empty-node")).unwrap();
    std::fs::write(&bad, format!("{text}surprise: 1\n")).unwrap();
    let line = text.lines().count() + 1;
    let (code, said) = ends(&["inventory", "--machine", bad.to_str().unwrap()]);
    assert_eq!(code, Some(1));
    assert!(said.contains(&format!("bad.yaml:{line}:")) && said.contains("surprise"), "{said}");
    let (code, said) = ends(&["dev", "--machine", "/no/such.yaml"]);
    assert_ne!(code, Some(0), "{said}");
    let (code, said) = ends(&["--machine", "/no/such.yaml", "dev"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("machine document /no/such.yaml"), "{said}");
    let (code, said) = ends(&["--machine", "/no/such.yaml", "crds"]);
    assert_eq!((code, said.lines().count()), (Some(2), 1), "{said}");
}

#[test]
fn an_agent_on_a_document_makes_links_in_the_simulated_kernel() {
    let dir = tempfile::tempdir().unwrap();
    let links = dir.path().join("links.yaml");
    let link = "apiVersion: rdma-operator.dev/v1alpha1\nkind: SoftRdmaLink\nmetadata: {name: lab}\n\
                spec: {type: siw, netdev: {name: eth0}, deviceName: siw7}\n";
    std::fs::write(&links, link).unwrap();
    let (listen, state) = (free_address(), dir.path().join("state"));
    let machine = recorded("soft-roce-node");
    let mut agent = Running::start(&[
        "agent",
        "--standalone",
        "--machine",
        &machine,
        "--links",
        links.to_str().unwrap(),
        "--state-dir",
        state.to_str().unwrap(),
        "--listen",
        &listen,
    ]);
    agent.says(&["made siw7 (siw) on eth0"]);
    let end = std::time::Instant::now() + process::WAIT;
    let ready = "\nrdma_operator_agent_soft_links_ready 1\n";
    while !get(&listen, "/metrics").is_some_and(|page| page.contains(ready)) {
        assert!(std::time::Instant::now() < end, "{:?}", get(&listen, "/metrics"));
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}
