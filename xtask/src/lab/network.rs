//! The lab's network: one namespace with a bridge, documentation addresses only. Nothing leaves it.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::step::{Step, quiet};

/// The namespace's name.
pub(crate) const NAMESPACE: &str = "rdma-operator-lab";
/// The host's end of the bridge, and the nodes' gateway.
pub(crate) const GATEWAY: &str = "192.0.2.1";
/// Where the services of the cluster are.
pub(crate) const SERVICES: &str = "198.18.0.0/24";
/// The API server's address inside pods.
pub(crate) const API_SERVICE: &str = "198.18.0.1";

/// The address of the node of this number, from 1.
pub(crate) fn node_address(number: usize) -> String {
    format!("192.0.2.{}", 10 + number)
}

/// The addresses of the pods of the node of this number.
pub(crate) fn pod_range(number: usize) -> String {
    format!("198.51.100.{}/27", 32 * number)
}

/// Whether the namespace is there.
pub(crate) fn exists() -> bool {
    Path::new("/run/netns").join(NAMESPACE).exists()
}

/// Makes the namespace, the bridge, and a tap device and a route to its pods for each node.
pub(crate) fn create(step: &Step, nodes: usize) -> Result<()> {
    let outside = |words: &[&str]| step.run(Command::new("ip").args(words));
    outside(&["netns", "add", NAMESPACE])?;
    let within = |words: &[&str]| step.run(Command::new("ip").args(["-n", NAMESPACE]).args(words));
    within(&["link", "set", "lo", "up"])?;
    within(&["link", "add", "br0", "type", "bridge"])?;
    within(&["addr", "add", &format!("{GATEWAY}/24"), "dev", "br0"])?;
    within(&["link", "set", "br0", "up"])?;
    for number in 1..=nodes {
        let tap = format!("tap{number}");
        within(&["tuntap", "add", &tap, "mode", "tap"])?;
        within(&["link", "set", &tap, "master", "br0", "up"])?;
        within(&["route", "add", &pod_range(number), "via", &node_address(number)])?;
    }
    Ok(())
}

/// Removes the namespace and all that is in it.
pub(crate) fn remove() -> Result<()> {
    if exists() {
        quiet(Command::new("ip").args(["netns", "del", NAMESPACE]))
            .context("removing the network namespace")?;
    }
    Ok(())
}

/// The processes that run in the namespace.
pub(crate) fn pids() -> Vec<i32> {
    if !exists() {
        return Vec::new();
    }
    let list = quiet(Command::new("ip").args(["netns", "pids", NAMESPACE])).unwrap_or_default();
    list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// The same command, run in the namespace.
pub(crate) fn inside(command: &Command) -> Command {
    let mut inside = Command::new("ip");
    inside.args(["netns", "exec", NAMESPACE]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => inside.env(name, value),
            None => inside.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        inside.current_dir(folder);
    }
    inside
}
