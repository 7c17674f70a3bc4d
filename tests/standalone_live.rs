//! The agent without Kubernetes on a host with a real kernel: it keeps the links of its files in place.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod nl_support {
    pub(crate) mod netdev;
}
#[path = "support/process.rs"]
mod process;

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use nl_support::netdev::Netdev;
use process::{Running, WAIT, free_address, get};

fn link(name: &str, kind: &str, netdev: &str) -> String {
    format!(
        "apiVersion: rdma-operator.dev/v1alpha1\nkind: SoftRdmaLink\nmetadata: {{name: {name}}}\n\
         spec: {{type: {kind}, netdev: {{name: {netdev}}}, deviceName: {name}}}\n---\n"
    )
}

/// RDMA devices of the host by name.
fn devices() -> Vec<String> {
    let folder = fs::read_dir("/sys/class/infiniband").into_iter().flatten().flatten();
    let mut names: Vec<String> = folder.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn eventually(what: &str, reached: impl Fn() -> bool) {
    let end = Instant::now() + WAIT;
    while !reached() {
        assert!(Instant::now() < end, "not within {WAIT:?}: {what}; there are {:?}", devices());
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn rdma(words: &[&str]) {
    assert!(Command::new("rdma").args(words).status().unwrap().success(), "rdma {words:?}");
}

#[test]
#[ignore = "needs root on Linux with rxe and siw: cargo xtask test"]
fn links_of_files_are_made_kept_and_taken_away() {
    let (_first, _second) = (Netdev::new("sal0"), Netdev::new("sal1"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("links.yaml");
    fs::write(&file, link("salrxe", "rxe", "sal0") + &link("salsiw", "siw", "sal1")).unwrap();
    let (state, listen) = (folder.path().join("state"), free_address());
    let start = || {
        let args = ["agent", "--standalone", "--links", file.to_str().unwrap()];
        Running::start(&[&args[..], &["--state-dir", state.to_str().unwrap(), "--listen", &listen]].concat())
    };
    let agent = start();
    eventually("both are made", || devices() == ["salrxe", "salsiw"]);
    eventually("the metrics have them", || {
        get(&listen, "/metrics")
            .is_some_and(|text| text.contains("\nrdma_operator_agent_soft_links_ready 2\n"))
    });
    rdma(&["link", "delete", "salrxe"]);
    eventually("the one that somebody removed is made again", || devices() == ["salrxe", "salsiw"]);

    drop(agent);
    assert_eq!(devices(), ["salrxe", "salsiw"], "they outlive the agent");
    rdma(&["link", "add", "foreign", "type", "siw", "netdev", "sal0"]);
    fs::write(&file, link("salrxe", "rxe", "sal0")).unwrap();
    let _agent = start();
    eventually("what is no longer wanted goes, and what others made stays", || {
        devices() == ["foreign", "salrxe"]
    });
    fs::write(&file, "").unwrap();
    eventually("a file that was emptied wants nothing", || devices() == ["foreign"]);
    rdma(&["link", "delete", "foreign"]);
}
