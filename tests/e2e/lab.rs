//! The lab as tests use it: kubectl, helm, a node's shell, and waiting for what must come.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde_json::Value;

/// The two nodes: the newest kernel, and the stable one.
pub(crate) const NODES: [&str; 2] = ["node-a", "node-b"];
/// Where the chart is installed.
pub(crate) const NAMESPACE: &str = "rdma-operator";
/// Emulated nodes are slow; what does not come in this time does not come.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// What a program said.
pub(crate) struct Said {
    /// It exited with 0.
    pub(crate) ok: bool,
    /// Standard output.
    pub(crate) out: String,
    /// Standard error.
    pub(crate) err: String,
}

/// The running lab, with the chart installed once.
pub(crate) struct Lab {
    bin: PathBuf,
}

/// A program of the lab.
pub(crate) fn bin(program: &str) -> PathBuf {
    let bin = std::env::var_os("RDMA_LAB_BIN").expect("RDMA_LAB_BIN: run this by `cargo xtask test`");
    PathBuf::from(bin).join(program)
}

/// The lab of this run.
pub(crate) fn lab() -> &'static Lab {
    static LAB: OnceLock<Lab> = OnceLock::new();
    LAB.get_or_init(|| {
        let lab = Lab { bin: bin("") };
        lab.install();
        lab
    })
}

impl Lab {
    fn run(&self, program: &str, args: &[&str], input: &str) -> Said {
        let mut child = Command::new(self.bin.join(program))
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Said { ok: output.status.success(), out: text(&output.stdout), err: text(&output.stderr) }
    }

    /// kubectl, which must succeed; its output.
    pub(crate) fn kubectl(&self, args: &[&str]) -> String {
        let said = self.try_kubectl(args);
        assert!(said.ok, "kubectl {}: {}{}", args.join(" "), said.out, said.err);
        said.out
    }

    /// kubectl, whatever it says.
    pub(crate) fn try_kubectl(&self, args: &[&str]) -> Said {
        self.run("kubectl", args, "")
    }

    /// Applies YAML, whatever comes of it.
    pub(crate) fn try_apply(&self, yaml: &str, more: &[&str]) -> Said {
        self.run("kubectl", &[&["apply", "-f", "-"], more].concat(), yaml)
    }

    /// Applies YAML, which must succeed.
    pub(crate) fn apply(&self, yaml: &str) {
        let said = self.try_apply(yaml, &[]);
        assert!(said.ok, "{}\n{yaml}", said.err);
    }

    /// An object as JSON; null when there is none.
    pub(crate) fn get(&self, kind: &str, name: &str, more: &[&str]) -> Value {
        let said = self.try_kubectl(&[&["get", kind, name, "-o", "json"], more].concat());
        if said.ok { serde_json::from_str(&said.out).unwrap() } else { Value::Null }
    }

    /// A command line in a node's shell, which must succeed; its output.
    pub(crate) fn node(&self, node: &str, command: &str) -> String {
        let said = self.run("node", &[node, command], "");
        assert!(said.ok, "{node}: {command}: {}{}", said.out, said.err);
        said.out
    }

    /// Names of a node's RDMA devices, as rdma(8) sees them.
    pub(crate) fn devices(&self, node: &str) -> Vec<String> {
        let list: Value = serde_json::from_str(&self.node(node, "rdma -j dev")).unwrap();
        list.as_array().unwrap().iter().map(|device| device["ifname"].as_str().unwrap().to_owned()).collect()
    }

    /// Helm.
    pub(crate) fn helm(&self, args: &[&str]) -> Said {
        self.run("helm", args, "")
    }

    fn install(&self) {
        let image = std::env::var("RDMA_OPERATOR_IMAGE").expect("RDMA_OPERATOR_IMAGE");
        let (repository, tag) = image.rsplit_once(':').unwrap();
        let chart = concat!(env!("CARGO_MANIFEST_DIR"), "/charts/rdma-operator");
        let said = self.helm(&[
            "upgrade",
            "--install",
            "rdma-operator",
            chart,
            "--namespace",
            NAMESPACE,
            "--create-namespace",
            "--set",
            &format!("image.repository={repository},image.tag={tag}"),
            "--wait",
            "--timeout",
            "5m",
        ]);
        assert!(said.ok, "helm: {}{}\n{}", said.out, said.err, self.picture());
        for node in NODES {
            eventually(&format!("rdmanode {node} is ready"), || {
                condition(&self.get("rdmanode", node, &[]), "Ready")
                    == ("True".into(), "NoRdmaDevices".into())
            });
        }
    }

    /// What a person would look at when something is wrong.
    pub(crate) fn picture(&self) -> String {
        let mut picture = String::new();
        for args in [
            &["get", "pods", "-A", "-o", "wide"][..],
            &["get", "rdmanodes,softrdmalinks", "-o", "wide"],
            &["-n", NAMESPACE, "logs", "-l", "app.kubernetes.io/name=rdma-operator", "--prefix", "--tail=25"],
        ] {
            let said = self.try_kubectl(args);
            writeln!(picture, "$ kubectl {}\n{}{}", args.join(" "), said.out, said.err).unwrap();
        }
        picture
    }
}

/// Status and reason of an object's condition; empty when it has none.
pub(crate) fn condition(object: &Value, kind: &str) -> (String, String) {
    let conditions = object["status"]["conditions"].as_array();
    let found = conditions.into_iter().flatten().find(|condition| condition["type"] == kind);
    let word = |key: &str| found.and_then(|c| c[key].as_str()).unwrap_or_default().to_owned();
    (word("status"), word("reason"))
}

/// Waits until `reached` says yes.
pub(crate) fn eventually(what: &str, reached: impl FnMut() -> bool) {
    within(LIMIT, what, reached);
}

/// Waits until `reached` says yes, for `limit` at most.
pub(crate) fn within(limit: Duration, what: &str, mut reached: impl FnMut() -> bool) {
    let start = Instant::now();
    while !reached() {
        assert!(start.elapsed() < limit, "not within {limit:?}: {what}\n{}", picture());
        std::thread::sleep(Duration::from_millis(500));
    }
}

fn picture() -> String {
    std::env::var_os("RDMA_LAB_BIN").map_or_else(String::new, |bin| Lab { bin: bin.into() }.picture())
}

/// A SoftRdmaLink that goes with this value, from its nodes too.
pub(crate) struct Link {
    name: &'static str,
}

impl Link {
    /// Applies `spec`, a YAML flow mapping.
    pub(crate) fn new(name: &'static str, spec: &str) -> Self {
        lab().apply(&yaml(name, spec));
        Self { name }
    }

    /// The object.
    pub(crate) fn object(&self) -> Value {
        lab().get("softrdmalink", self.name, &[])
    }

    /// Waits for Ready=True.
    pub(crate) fn ready(self) -> Self {
        eventually(&format!("softrdmalink {} is ready", self.name), || {
            condition(&self.object(), "Ready").0 == "True"
        });
        self
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        lab().try_kubectl(&["delete", "softrdmalink", self.name, "--ignore-not-found", "--timeout=90s"]);
    }
}

/// Something made by hand on a node, undone also when the test fails: the tests after it need a clean node.
pub(crate) struct Undo {
    node: &'static str,
    command: &'static str,
}

impl Drop for Undo {
    fn drop(&mut self) {
        lab().node(self.node, &format!("{} || true", self.command));
    }
}

/// Runs `command` on a node, and `undo` at the end.
pub(crate) fn by_hand(node: &'static str, command: &str, undo: &'static str) -> Undo {
    lab().node(node, command);
    Undo { node, command: undo }
}

/// A SoftRdmaLink as YAML.
pub(crate) fn yaml(name: &str, spec: &str) -> String {
    format!(
        "apiVersion: rdma-operator.dev/v1alpha1\nkind: SoftRdmaLink\nmetadata: {{name: {name}}}\nspec: {spec}\n"
    )
}

/// The usual link: rxe0 on eth0 of every node.
pub(crate) fn rxe0() -> Link {
    Link::new("rxe0", "{type: rxe, netdev: {name: eth0}, deviceName: rxe0}").ready()
}

/// How many of a resource a node offers to pods.
pub(crate) fn allocatable(node: &str, resource: &str) -> i64 {
    let node = lab().get("node", node, &[]);
    node["status"]["allocatable"][resource].as_str().map_or(0, |number| number.parse().unwrap())
}

/// The agent pod of a node: (name, uid, number of restarts).
pub(crate) fn agent_pod(node: &str) -> (String, String) {
    let list = lab().kubectl(&[
        "-n",
        NAMESPACE,
        "get",
        "pods",
        "-l",
        "app.kubernetes.io/component=agent",
        "--field-selector",
        &format!("spec.nodeName={node}"),
        "-o",
        "json",
    ]);
    let list: Value = serde_json::from_str(&list).unwrap();
    let pods = list["items"].as_array().unwrap();
    let live = pods.iter().find(|pod| pod["metadata"]["deletionTimestamp"].is_null()).expect("an agent pod");
    let word = |key: &str| live["metadata"][key].as_str().unwrap().to_owned();
    (word("name"), word("uid"))
}
