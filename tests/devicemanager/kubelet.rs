//! The kubelet's device manager as a process.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::host::PATIENCE;

/// Runs a program with a folder as the kubelet's, seen by it alone.
const INSIDE: &str = "mount -t tmpfs none /var/lib; mkdir -p /var/lib/kubelet/device-plugins
    mount --bind \"$1\" /var/lib/kubelet/device-plugins; shift; exec \"$@\"";

/// How a kubelet ends.
#[derive(Clone, Copy, Debug)]
pub enum End {
    /// By SIGKILL.
    Kill,
    /// By itself.
    Return,
}

/// What a container asks for, by resource.
pub type Limits = BTreeMap<String, u32>;

/// A pod that the API server knows.
#[derive(Clone, Debug)]
pub struct Pod {
    pub uid: String,
    pub limits: Limits,
}

impl Pod {
    pub fn new(uid: &str, resource: &str, count: u32) -> Self {
        Self { uid: uid.to_owned(), limits: [(resource.to_owned(), count)].into() }
    }

    fn order(&self, what: &str) -> Value {
        json!({"do": what, "pod": self.uid, "limits": self.limits})
    }
}

/// What a container got.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Got {
    /// Ids by resource.
    pub devices: BTreeMap<String, Vec<String>>,
    /// Environment; only of a container that starts.
    pub envs: BTreeMap<String, String>,
    /// Device nodes of the host; likewise.
    pub nodes: Vec<String>,
}

/// A running device manager.
pub struct Kubelet {
    child: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

/// Where the multi-call program of Kubernetes is, under the name that makes it a device manager.
pub fn program(folder: &Path) -> PathBuf {
    let kube = std::env::var_os("RDMA_KUBE").expect("RDMA_KUBE: run this by `cargo xtask test`");
    let link = folder.join("kubelet-devices");
    if !link.exists() {
        symlink(kube, &link).unwrap();
    }
    link
}

impl Kubelet {
    /// Starts with `dir` as its device plugin folder; `pods` are those that were admitted before.
    pub fn start(program: &Path, dir: &Path, pods: &[Pod]) -> Self {
        let mut child = Command::new("unshare")
            .args(["--mount", "--propagation", "private", "sh", "-ec", INSIDE, "sh"])
            .args([dir, program])
            .args(pods.iter().map(|pod| pod.order("").to_string()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (orders, answers) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, orders, answers }
    }

    fn ask(&mut self, order: &Value) -> Result<Value, String> {
        let orders = self.orders.as_mut().unwrap();
        writeln!(orders, "{order}").unwrap();
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{order}: {line:?}"));
        match answer["error"].as_str() {
            Some(error) => Err(error.to_owned()),
            None => Ok(answer),
        }
    }

    /// Devices, and healthy devices, of each resource.
    pub fn capacity(&mut self) -> BTreeMap<String, (u64, u64)> {
        let answer = self.ask(&json!({"do": "capacity"})).unwrap();
        serde_json::from_value(answer["capacity"].clone()).unwrap_or_default()
    }

    /// Waits for a capacity; how long it took.
    pub fn wait_capacity(&mut self, wanted: &BTreeMap<String, (u64, u64)>) -> Duration {
        let start = Instant::now();
        loop {
            let found = self.capacity();
            if found == *wanted {
                return start.elapsed();
            }
            assert!(start.elapsed() < PATIENCE, "{found:?}, not {wanted:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Admits a pod.
    pub fn allocate(&mut self, pod: &Pod) -> Result<Got, String> {
        self.ask(&pod.order("allocate")).map(|answer| got(&answer))
    }

    /// Starts, or restarts, the container of an admitted pod.
    pub fn start_container(&mut self, pod: &Pod) -> Result<Got, String> {
        self.ask(&pod.order("start")).map(|answer| got(&answer))
    }

    /// What an admitted pod has.
    pub fn devices(&mut self, pod: &Pod) -> Got {
        got(&self.ask(&pod.order("devices")).unwrap())
    }

    /// A pod has ended.
    pub fn end_pod(&mut self, pod: &Pod) {
        self.ask(&pod.order("end")).unwrap();
    }

    pub fn end(mut self, how: End) {
        match how {
            End::Kill => self.child.kill().unwrap(),
            End::Return => drop(self.orders.take()),
        }
        self.child.wait().unwrap();
    }
}

fn got(answer: &Value) -> Got {
    let part = |key: &str| answer[key].clone();
    Got {
        devices: serde_json::from_value(part("devices")).unwrap_or_default(),
        envs: serde_json::from_value(part("envs")).unwrap_or_default(),
        nodes: serde_json::from_value(part("nodes")).unwrap_or_default(),
    }
}

impl Drop for Kubelet {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
