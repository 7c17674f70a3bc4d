//! The lab: a real Kubernetes whose nodes are VMs with real soft RDMA, in a network of its own.

mod accelerator;
mod control_plane;
mod dump;
mod network;
mod node;
mod pki;
mod shell;
mod state;
mod wrappers;

pub(crate) use self::control_plane::kubectl;
pub(crate) use self::dump::write as dump;
pub(crate) use self::state::State;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;

use anyhow::{Context as _, Result, anyhow, bail};

use self::node::{Node, Site};
use self::pki::Authority;
use crate::cache;
use crate::dirs::Dirs;
use crate::interrupt;
use crate::report::Reporter;
use crate::setup::Parts;
use crate::step::Step;

/// The nodes' names, in order; the first boots the newest kernel, the second the stable one, and so on in turn.
pub(crate) const NODES: [&str; node::MOST] = ["node-a", "node-b", "node-c", "node-d"];

/// What cluster to bring up.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    /// How many nodes.
    pub(crate) nodes: usize,
    /// More kernel arguments, each for one node.
    pub(crate) arguments: Vec<(String, String)>,
}

impl Default for Shape {
    fn default() -> Self {
        Self { nodes: 2, arguments: Vec::new() }
    }
}

/// Brings a cluster up; what is left of one that broke is removed first.
pub(crate) fn up(dirs: &Dirs, reporter: &Reporter, parts: &Parts, shape: &Shape) -> Result<()> {
    let _lock = cache::lock(&dirs.cache.join("lab.lock"))?;
    let state = State::new(dirs);
    expect_none(dirs)?;
    if !state.exists() && network::exists() {
        bail!("the network namespace {} is there, but not from this cache", network::NAMESPACE);
    }
    state.remove(&dirs.logs().join("lab"))?;
    let done = bring_up(dirs, reporter, parts, shape, &state);
    if done.is_err() {
        interrupt::forget();
        state.remove(&dirs.logs().join("lab"))?;
        reporter.say(&format!("logs of the lab: {}", dirs.logs().join("lab").display()));
    }
    done
}

fn bring_up(dirs: &Dirs, reporter: &Reporter, parts: &Parts, shape: &Shape, state: &State) -> Result<()> {
    let nodes = nodes(parts, shape)?;
    for folder in ["logs", "pids", "nodes", "bin"] {
        fs::create_dir_all(state.folder.join(folder))?;
    }
    cache::link_or_copy(&parts.root.ssh_key(), &state.folder.join("id"))?;
    reporter.step("lab network", |step| network::create(step, nodes.len()))?;
    let authority = reporter.step("lab keys", |step| Authority::create(step, &state.folder.join("pki")))?;
    wrappers::write(state, parts)?;
    let accelerator = accelerator::options(dirs, &parts.kernels[0])?;
    let site = &Site { dirs, state, parts, authority: &authority, accelerator };
    thread::scope(|scope| {
        let boots: Vec<_> = nodes
            .iter()
            .map(|node| {
                scope.spawn(move || {
                    let name = format!("boot {} {}", node.name, node.kernel.release);
                    reporter.step(&name, |step| node.start(step, site))
                })
            })
            .collect();
        let plane = reporter.step("control plane", |step| {
            control_plane::start(step, state, &parts.kube.program, site.authority)
        });
        for boot in boots {
            boot.join().map_err(|_| anyhow!("the thread of a node ended early"))??;
        }
        plane
    })?;
    reporter.step("nodes ready", |step| nodes.iter().try_for_each(|node| node.wait_ready(step, state)))?;
    state.mark_up()
}

fn nodes(parts: &Parts, shape: &Shape) -> Result<Vec<Node>> {
    if !(1..=node::MOST).contains(&shape.nodes) {
        bail!("a lab has 1 to {} nodes", node::MOST);
    }
    let names = &NODES[..shape.nodes];
    if let Some((other, _)) = shape.arguments.iter().find(|(node, _)| !names.contains(&node.as_str())) {
        bail!("there is no node {other}: {}", names.join(", "));
    }
    let node = |(index, name): (usize, &&str)| Node {
        name: (*name).to_owned(),
        number: index + 1,
        kernel: parts.kernels[index % parts.kernels.len()].clone(),
        arguments: shape
            .arguments
            .iter()
            .filter(|(node, _)| node == name)
            .map(|(_, argument)| argument.clone())
            .collect(),
    };
    Ok(names.iter().enumerate().map(node).collect())
}

/// Fails if a cluster is up already.
pub(crate) fn expect_none(dirs: &Dirs) -> Result<()> {
    if State::new(dirs).is_up() {
        bail!("a lab is up already: use it, or `cargo xtask lab down` first");
    }
    Ok(())
}

/// Ends what runs and removes what is left; the logs stay.
pub(crate) fn down(dirs: &Dirs) -> Result<()> {
    let _lock = cache::lock(&dirs.cache.join("lab.lock"))?;
    State::new(dirs).remove(&dirs.logs().join("lab"))
}

/// The state, if a cluster is up.
pub(crate) fn running(dirs: &Dirs) -> Result<State> {
    let state = State::new(dirs);
    if !state.is_up() {
        bail!("no lab is up: `cargo xtask lab up`");
    }
    Ok(state)
}

/// A command that runs `script` in the shell of a node.
pub(crate) fn on_node(state: &State, name: &str, script: &str) -> Result<Command> {
    let address = fs::read_to_string(state.node(name).join("ip"))
        .with_context(|| format!("there is no node {name}: {}", state.nodes().join(", ")))?;
    Ok(shell::script(state, name, &address, script))
}

/// Imports an image archive into every node.
pub(crate) fn load(step: &Step, state: &State, archive: &Path) -> Result<()> {
    let name = archive.file_name().context("the archive has no name")?;
    let script = format!("ctr -n k8s.io images import '/host/images/{}'", name.to_string_lossy());
    let import = |node: String| -> Result<()> {
        cache::link_or_copy(archive, &state.node(&node).join("host/images").join(name))?;
        step.run(&mut on_node(state, &node, &script)?)
    };
    thread::scope(|scope| {
        let imports: Vec<_> =
            state.nodes().into_iter().map(|node| scope.spawn(move || import(node))).collect();
        imports
            .into_iter()
            .try_for_each(|import| import.join().map_err(|_| anyhow!("the thread of a node ended early"))?)
    })
}
