//! The agent on a machine document, beside the nodes of the lab: a host of the field on a real API server.

use std::fs;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::lab::{LIMIT, bin, condition, eventually, lab};

/// A Node without a machine, and an agent that takes a document for its host.
struct Host {
    name: &'static str,
    agent: Child,
    folder: tempfile::TempDir,
}

impl Host {
    fn new(name: &'static str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        lab().apply(&format!(
            "apiVersion: v1\nkind: Node\nmetadata: {{name: {name}}}\n---\n\
             apiVersion: rdma-operator.dev/v1alpha1\nkind: RdmaNode\nmetadata: {{name: {name}}}\nspec: {{}}\n"
        ));
        let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let binary = std::env::var_os("RDMA_OPERATOR_BINARY").expect("RDMA_OPERATOR_BINARY");
        let document = format!("{}/tests/data/machines/{name}.yaml", env!("CARGO_MANIFEST_DIR"));
        let agent = Command::new(bin("inside"))
            .arg(binary)
            .args(["agent", "--machine", &document, "--node", name, "--listen", "127.0.0.1:0"])
            .args(["--state-dir", &at("state"), "--device-plugin-dir", &at("plugins")])
            .stderr(Stdio::from(fs::File::create(at("log")).unwrap()))
            .spawn()
            .unwrap();
        Self { name, agent, folder }
    }

    fn object(&self) -> Value {
        lab().get("rdmanode", self.name, &["--show-managed-fields"])
    }

    /// Anonymous resident memory of the agent, KiB.
    fn memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.agent.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.agent.kill();
        let _ = self.agent.wait();
        lab().try_kubectl(&["delete", "node", self.name, "--timeout=60s"]);
        lab().try_kubectl(&["delete", "rdmanode", self.name, "--ignore-not-found", "--timeout=60s"]);
        if std::thread::panicking() {
            let log = fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            eprintln!("the agent of {} said:\n{log}", self.name);
        }
    }
}

#[test]
#[ignore = "needs the lab: cargo xtask test"]
fn hosts_of_the_field_are_published_from_their_documents() {
    for (name, devices) in [("dgx-h100", 12), ("vf-300", 302)] {
        let host = Host::new(name);
        eventually(&format!("{name} is published within {LIMIT:?}"), || {
            host.object()["status"]["deviceCount"] == devices
        });
        let object = host.object();
        let listed = object["status"]["devices"].as_array().unwrap();
        assert_eq!(listed.len(), devices, "{name}");
        assert!(listed.iter().all(|device| device["name"].is_string()), "{name}");
        // There is no kubelet, and that is said.
        assert_eq!(condition(&object, "PluginRegistered").0, "False", "{name}");
        let size = object.to_string().len();
        assert!(size <= 512 << 10, "{name}: {size} bytes");
        let memory = host.memory();
        println!("{name}: {size} bytes, RssAnon {memory} KiB with the simulated kernel");
        assert!(memory <= 20 << 10, "{name}: {memory} KiB");
    }
}
