//! The demo: from a clone to two unprivileged pods that talk RDMA, on a real cluster, with one command.

mod memory;
mod verbs;

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::dirs::Dirs;
use crate::lab::{self, Shape, State};
use crate::report::{Reporter, seconds};
use crate::step::{Step, quiet};
use crate::{image, interrupt, setup};

/// Where the chart is installed.
const NAMESPACE: &str = "rdma-operator";
const ALLOCATABLE_LIMIT: Duration = Duration::from_secs(90);
const POLL: Duration = Duration::from_secs(1);

/// Runs the demo; leaves the cluster only when asked to.
pub(crate) fn run(dirs: &Dirs, reporter: &Reporter, keep: bool) -> Result<()> {
    let start = Instant::now();
    lab::expect_none(dirs)?;
    let parts = setup::run(dirs, reporter)?;
    image::build(dirs, reporter)?;
    lab::up(dirs, reporter, &parts, &Shape::default())?;
    let demo = Demo { dirs, reporter, state: State::new(dirs) };
    let shown = demo.show();
    if shown.is_err() {
        interrupt::forget();
        let folder = dirs.logs().join("cluster");
        lab::dump(&demo.state, &folder)?;
        reporter.say(&format!("what the cluster looked like: {}", folder.display()));
    }
    if keep && shown.is_ok() {
        let bin = demo.state.bin();
        println!("\nThe cluster stays up. Use it with:\n  export PATH={}:$PATH", bin.display());
        println!("  kubectl get rdmanodes -o wide\n  node node-a rdma link show\n  cargo xtask lab down");
    } else {
        reporter.step("lab down", |_| lab::down(dirs))?;
    }
    shown?;
    println!();
    for timing in reporter.timings() {
        println!("{:<44} {:>12}", timing.name, seconds(timing.took));
    }
    println!("{:<44} {:>12}", "total", seconds(start.elapsed()));
    Ok(())
}

struct Demo<'a> {
    dirs: &'a Dirs,
    reporter: &'a Reporter,
    state: State,
}

impl Demo<'_> {
    fn show(&self) -> Result<()> {
        self.reporter.step("install chart", |step| self.install(step))?;
        self.reporter.step("soft link ready", |step| self.link(step))?;
        self.reporter.step("resource on nodes", |_| self.wait_allocatable())?;
        self.tell("kubectl", &["get", "rdmanodes", "-o", "wide"])?;
        self.tell("kubectl", &["get", "softrdmalinks"])?;
        let columns = r"custom-columns=NODE:.metadata.name,RDMA/RXE0:.status.allocatable.rdma/rxe0";
        self.tell("kubectl", &["get", "nodes", "-o", columns])?;
        let outcome = self.reporter.step("verbs between two pods", |step| verbs::pingpong(self, step))?;
        self.tell("kubectl", &["get", "pods", "-n", verbs::NAMESPACE, "-o", "wide"])?;
        println!("\n{outcome}");
        memory::show(&self.state)
    }

    fn install(&self, step: &Step) -> Result<()> {
        let (repository, tag) = image::OPERATOR.rsplit_once(':').unwrap_or((image::OPERATOR, "latest"));
        step.run(
            self.program("helm")
                .args(["upgrade", "--install", "rdma-operator"])
                .arg(self.dirs.repo.join("charts/rdma-operator"))
                .args(["--namespace", NAMESPACE, "--create-namespace", "--wait", "--timeout", "5m"])
                .args([
                    "--set",
                    &format!("image.repository={repository}"),
                    "--set",
                    &format!("image.tag={tag}"),
                ]),
        )
    }

    fn link(&self, step: &Step) -> Result<()> {
        step.run(self.program("kubectl").arg("apply").arg("-f").arg(self.file("link.yaml")))?;
        let ready = ["wait", "--for=condition=Ready", "softrdmalink/rxe0", "--timeout=120s"];
        step.run(self.program("kubectl").args(ready))
    }

    fn wait_allocatable(&self) -> Result<()> {
        let path = r"jsonpath={.items[*].status.allocatable.rdma/rxe0}";
        let wanted = vec!["1"; self.state.nodes().len()].join(" ");
        let mut last = String::new();
        let there = interrupt::wait_until(ALLOCATABLE_LIMIT, POLL, || {
            last = quiet(self.program("kubectl").args(["get", "nodes", "-o", path]))?;
            Ok(last == wanted)
        })?;
        if !there {
            bail!("nodes' allocatable rdma/rxe0 is {last:?}, not {wanted:?}");
        }
        Ok(())
    }

    /// Runs a program of the lab and shows it as if typed.
    fn tell(&self, program: &str, words: &[&str]) -> Result<()> {
        let answer = quiet(self.program(program).args(words))?;
        println!("\n$ {program} {}\n{}", words.join(" "), answer.trim_end());
        Ok(())
    }

    fn program(&self, name: &str) -> Command {
        Command::new(self.state.bin().join(name))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dirs.lab_file("demo").join(name)
    }

    /// Applies a manifest after filling in its `@NAME@`s.
    fn apply(&self, step: &Step, name: &str, values: &[(&str, &str)]) -> Result<()> {
        let mut text = fs::read_to_string(self.file(name))?;
        for (key, value) in values {
            text = text.replace(&format!("@{key}@"), value);
        }
        let filled = self.state.folder.join("filled.yaml");
        fs::write(&filled, text)?;
        step.run(self.program("kubectl").args(["apply", "-f"]).arg(filled))
    }
}
