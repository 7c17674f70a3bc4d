//! Two pods on two nodes that only ask for `rdma/rxe0`, and what ibv_rc_pingpong says between them.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use super::Demo;
use crate::interrupt::wait_until;
use crate::lab::NODES;
use crate::step::{Step, quiet};

/// Where the pods are.
pub(super) const NAMESPACE: &str = "rdma-demo";
const LIMIT: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_secs(1);

/// Runs the test; returns what the client printed.
pub(super) fn pingpong(demo: &Demo<'_>, step: &Step) -> Result<String> {
    demo.apply(step, "namespace.yaml", &[])?;
    // The namespace's default service account is made a moment after it.
    wait_until(LIMIT, POLL, || {
        Ok(quiet(demo.program("kubectl").args(["get", "serviceaccount", "default", "-n", NAMESPACE])).is_ok())
    })?;
    demo.apply(step, "pod.yaml", &[("NAME", "server"), ("NODE", NODES[0]), ("PEER", "")])?;
    wait_for(demo, "server", |phase| phase == "Running")?;
    let address = field(demo, "server", "{.status.podIP}")?;
    demo.apply(step, "pod.yaml", &[("NAME", "client"), ("NODE", NODES[1]), ("PEER", &address)])?;
    let ended = wait_for(demo, "client", |phase| phase == "Succeeded" || phase == "Failed");
    let said = quiet(demo.program("kubectl").args(["logs", "-n", NAMESPACE, "client"]))?;
    step.note(&said);
    if ended? == "Failed" {
        bail!("the client pod failed");
    }
    let result: Vec<&str> =
        said.lines().filter(|line| line.contains("bytes in") || line.contains("iters in")).collect();
    if result.is_empty() {
        bail!("the client pod said nothing of a result");
    }
    Ok(format!("ibv_rc_pingpong between pods on {} and {}:\n{}", NODES[0], NODES[1], result.join("\n")))
}

fn wait_for(demo: &Demo<'_>, pod: &str, wanted: impl Fn(&str) -> bool) -> Result<String> {
    let mut phase = String::new();
    let reached = wait_until(LIMIT, POLL, || {
        phase = field(demo, pod, "{.status.phase}")?;
        Ok(wanted(&phase))
    })?;
    if !reached {
        bail!("pod {pod} is still {phase} after {LIMIT:?}");
    }
    Ok(phase)
}

fn field(demo: &Demo<'_>, pod: &str, path: &str) -> Result<String> {
    let query = format!("jsonpath={path}");
    quiet(demo.program("kubectl").args(["get", "pod", pod, "-n", NAMESPACE, "-o", &query]))
        .with_context(|| format!("asking for pod {pod}"))
}
