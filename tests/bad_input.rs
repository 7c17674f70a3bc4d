//! Wrong input from outside: each gives one clear line that names what and where, is retried where waiting helps,
//! and ends nothing that can go on. The real binary, with a stand-in for an API server that refuses.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/process.rs"]
mod process;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use process::{Running, WAIT, binary, free_address, get, output};

/// An API server that answers every request with `status` and a Status object of `message`.
fn refusing_api_server(status: u16, reason: &str, message: &str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let body = format!(
        r#"{{"kind":"Status","apiVersion":"v1","status":"Failure","message":"{message}","reason":"{reason}","code":{status}}}"#
    );
    let answer = format!(
        "HTTP/1.1 {status} No\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let answer = answer.clone();
            thread::spawn(move || {
                let mut request = [0; 4096];
                let _ = stream.read(&mut request);
                let _ = stream.write_all(answer.as_bytes());
            });
        }
    });
    address
}

fn kubeconfig(dir: &Path, server: &str) -> String {
    let path = dir.join("kubeconfig");
    let text = format!(
        "apiVersion: v1\nkind: Config\nclusters: [{{name: c, cluster: {{server: \"{server}\"}}}}]\n\
         users: [{{name: u, user: {{token: t}}}}]\ncontexts: [{{name: x, context: {{cluster: c, user: u}}}}]\ncurrent-context: x\n"
    );
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

fn agent(dir: &Path, server: &str, listen: &str) -> Running {
    let config = kubeconfig(dir, server);
    let path = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    Running::start(&[
        "agent",
        "--node=n",
        "--kubeconfig",
        &config,
        "--state-dir",
        &path("state"),
        "--device-plugin-dir",
        &path("plugins"),
        "--sysfs",
        &path("sys"),
        "--listen",
        listen,
    ])
}

fn controller(dir: &Path, server: &str) -> Running {
    Running::start(&["controller", "--kubeconfig", &kubeconfig(dir, server), "--listen", "127.0.0.1:0"])
}

fn refuses_and_names(args: &[&str], code: i32, words: &[&str]) {
    let (output, text) = output(args);
    assert_eq!(output.status.code(), Some(code), "{text}");
    assert!(words.iter().all(|word| text.contains(word)), "{words:?} in {text}");
    assert!(!text.contains("panicked"), "{text}");
}

#[test]
fn an_unknown_flag_is_named() {
    refuses_and_names(&["agent", "--bogus"], 2, &["--bogus", "Usage: rdma-operator agent"]);
}

#[test]
fn a_bad_log_level_is_named() {
    refuses_and_names(&["crds", "--log", "a=b=c"], 2, &["--log a=b=c"]);
}

#[test]
fn a_level_that_is_none_is_named_and_does_not_silence_everything() {
    refuses_and_names(&["crds", "--log", "loud"], 2, &["--log loud", "no level"]);
}

#[test]
fn a_missing_node_name_is_asked_for() {
    refuses_and_names(&["agent"], 2, &["--node"]);
}

#[test]
fn an_unreadable_kubeconfig_is_named() {
    refuses_and_names(
        &["controller", "--kubeconfig", "/no/such/file"],
        1,
        &["kubeconfig /no/such/file", "No such file"],
    );
}

#[test]
fn a_damaged_kubeconfig_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kubeconfig");
    std::fs::write(&path, "clusters: [[[").unwrap();
    let path = path.to_str().unwrap();
    refuses_and_names(&["controller", "--kubeconfig", path], 1, &["cannot use the kubeconfig", path]);
}

#[test]
fn a_kubeconfig_of_the_environment_that_cannot_be_used_is_named_in_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let damaged = dir.path().join("kubeconfig");
    std::fs::write(&damaged, "clusters: [[[\n- x: {").unwrap();
    for path in ["/no/such/file", damaged.to_str().unwrap()] {
        let output = binary().arg("controller").env("KUBECONFIG", path).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains(&format!("cannot use the kubeconfig {path}")), "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
    }
}

#[test]
fn a_folder_that_is_no_sysfs_is_not_taken_for_a_host_without_rdma() {
    refuses_and_names(
        &["inventory", "--sysfs", "/no/such/sys"],
        1,
        &["--sysfs /no/such/sys", "No such file"],
    );
}

#[test]
fn a_snapshot_that_cannot_be_taken_or_written_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let nowhere = dir.path().join("no/such/folder");
    let nowhere = nowhere.to_str().unwrap();
    refuses_and_names(&["snapshot", "--sysfs", nowhere], 1, &["cannot read --sysfs", nowhere]);
    refuses_and_names(&["snapshot", "-o", nowhere], 1, &["cannot write", nowhere, "No such file"]);
}

#[test]
fn no_cluster_at_all_says_where_one_was_looked_for() {
    refuses_and_names(&["controller"], 1, &["--kubeconfig", "KUBECONFIG", "service account"]);
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    refuses_and_names(
        &["crds", "--write", "/no/such/folder"],
        1,
        &["cannot write /no/such/folder/rdmanodes.yaml"],
    );
}

#[test]
fn an_occupied_port_is_named_with_the_flag_that_moves_it() {
    let dir = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let config = kubeconfig(dir.path(), "http://127.0.0.1:9");
    let args = ["controller", "--kubeconfig", &config, "--listen", &address];
    refuses_and_names(&args, 1, &[&address, "--listen", "in use"]);
}

#[test]
fn an_api_server_out_of_reach_is_said_once_and_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let mut controller = controller(dir.path(), "http://127.0.0.1:9");
    controller.says(&["leader election", "Connection refused", "retrying"]);
    thread::sleep(Duration::from_secs(7));
    let again = controller.lines.try_iter().filter(|line| line.contains("refused")).count();
    assert_eq!(again, 0, "not at every try");
}

#[test]
fn missing_crds_are_named_with_the_remedy() {
    let dir = tempfile::tempdir().unwrap();
    let server = refusing_api_server(404, "NotFound", "the server could not find the requested resource");
    let mut agent = agent(dir.path(), &format!("http://{server}"), "127.0.0.1:0");
    agent.says(&["watching rdmanode n", "CRDs installed", "retrying"]);
}

#[test]
fn a_missing_rbac_verb_is_said_in_the_api_servers_words() {
    let dir = tempfile::tempdir().unwrap();
    let message = "rdmanodes.rdma-operator.dev is forbidden: User u cannot list resource rdmanodes";
    let server = refusing_api_server(403, "Forbidden", message);
    let listen = free_address();
    let line = {
        let mut agent = agent(dir.path(), &format!("http://{server}"), &listen);
        let line = agent.says(&["watching rdmanode n", "cannot list resource rdmanodes", "retrying"]);
        let ready = get(&listen, "/readyz").unwrap();
        assert!(ready.starts_with("HTTP/1.1 503"), "nobody would learn what it sees: {ready}");
        assert!(ready.contains("watch: watching rdmanode n") && ready.contains(message), "{ready}");
        line
    };
    assert_eq!(line.matches(message).count(), 1, "once: {line}");
    let mut controller = controller(dir.path(), &format!("http://{server}"));
    controller.says(&["leader election", "is forbidden", "retrying"]);
}

#[test]
fn b26_an_agent_without_rdma_without_kubelet_and_without_api_server_is_ready() {
    let dir = tempfile::tempdir().unwrap();
    let listen = free_address();
    let mut agent = agent(dir.path(), "http://127.0.0.1:9", &listen);
    agent.says(&["watching rdmanode n", "Connection refused"]);
    let end = Instant::now() + WAIT;
    while !get(&listen, "/readyz").is_some_and(|answer| answer.starts_with("HTTP/1.1 200")) {
        assert!(Instant::now() < end, "not ready: {:?}", get(&listen, "/readyz"));
        thread::sleep(Duration::from_millis(50));
    }
    let metrics = get(&listen, "/metrics").unwrap();
    assert!(metrics.contains("\nrdma_operator_agent_devices 0\n"), "{metrics}");
}
