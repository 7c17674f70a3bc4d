//! The whole test run: checks, tests without a cluster, the chart, and the end-to-end tests on the lab.

mod libtest;
mod live;
mod summary;

use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};

use self::summary::Summary;
use crate::dirs::Dirs;
use crate::lab::{self, Shape, State};
use crate::report::Reporter;
use crate::setup::{self, Parts};
use crate::step::nice;
use crate::{image, interrupt};

const CHART: &str = "charts/rdma-operator";
/// Test programs that need the lab or what it is made of, ignored when the workspace is tested, and how long each may
/// take.
const ON_THE_LAB: [(&str, Duration); 3] = [
    ("devicemanager", Duration::from_secs(15 * 60)),
    ("e2e", Duration::from_secs(30 * 60)),
    ("long", Duration::from_secs(2 * 60 * 60)),
];
/// Restarts of the device manager or the plugin, in a short and in a long run.
const ROUNDS: [&str; 2] = ["20", "200"];
/// How long building and running all other tests may take.
const IN_PROCESS_LIMIT: Duration = Duration::from_secs(40 * 60);

/// Runs everything; the last line says how many tests passed, failed and were skipped.
pub(crate) fn run(dirs: &Dirs, reporter: &Reporter, long: bool) -> Result<()> {
    lab::expect_none(dirs)?;
    let mut run = Run { dirs, reporter, summary: Summary::default() };
    // What the lab is made of takes longest and needs nothing of ours: it is built beside the rest.
    let parts = thread::scope(|scope| {
        let parts = scope.spawn(|| setup::run(dirs, reporter));
        run.checks();
        parts.join().map_err(|_| anyhow!("the thread that prepares the lab ended early"))?
    });
    run.summary.prepared(parts.is_ok());
    if let Ok(parts) = parts {
        run.on_the_lab(&parts, long);
    }
    run.summary.print(&reporter.timings())
}

struct Run<'a> {
    dirs: &'a Dirs,
    reporter: &'a Reporter,
    summary: Summary,
}

impl Run<'_> {
    /// What needs no cluster. Each goes on after another failed.
    fn checks(&mut self) {
        self.check("fmt", &["fmt", "--all", "--check"]);
        self.check("clippy", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]);
        self.check(
            "doc",
            &["doc", "--no-deps", "--lib", "--config", "build.rustdocflags=['-D', 'warnings']"],
        );
        self.tests("tests", &["test", "--workspace", "--no-fail-fast"], &[], IN_PROCESS_LIMIT);
    }

    fn on_the_lab(&mut self, parts: &Parts, long: bool) {
        self.chart(parts);
        let image = image::build(self.dirs, self.reporter);
        let up = image.and_then(|_| lab::up(self.dirs, self.reporter, parts, &Shape::default()));
        self.summary.prepared(up.is_ok());
        if let Err(error) = up {
            self.reporter.say(&format!("no tests on the lab: {error:#}"));
            return; // what was up of it is down again
        }
        for name in live::PROGRAMS {
            self.live(name);
        }
        for (name, limit) in ON_THE_LAB {
            if !self.has_tests(name) || (name == "long" && !long) {
                continue;
            }
            let test = ["test", "--test", name, "--", "--ignored", "--test-threads=1", "--nocapture"];
            if !self.tests(name, &test, &self.lab_environment(parts, long), limit) {
                self.dump();
            }
        }
        interrupt::forget();
        let down = self.reporter.step("lab down", |_| lab::down(self.dirs));
        self.summary.prepared(down.is_ok());
    }

    /// A test program that needs only a kernel, on each node.
    fn live(&mut self, name: &str) {
        let state = State::new(self.dirs);
        let mut cargo = self.cargo(&[]);
        let built = self.reporter.step(&format!("build {name}"), |step| live::build(step, &mut cargo, name));
        self.summary.prepared(built.is_ok());
        let Ok(program) = built else { return };
        let operator = self.dirs.operator_binary();
        // The nodes are machines of their own, so they run it side by side.
        let run = |node: &str| {
            let phase = format!("{name} on {node}");
            let mut output = String::new();
            let outcome = self.reporter.step(&phase, |step| {
                let ran = live::run(step, &state, &operator, node, (&program, name));
                output = step.text();
                ran
            });
            (phase, output, outcome.is_ok())
        };
        let nodes = state.nodes();
        let ran: Vec<_> = thread::scope(|scope| {
            let runs: Vec<_> = nodes.iter().map(|node| (node, scope.spawn(|| run(node)))).collect();
            let lost = |node: &str| (format!("{name} on {node}"), String::new(), false);
            runs.into_iter().map(|(node, run)| run.join().unwrap_or_else(|_| lost(node))).collect()
        });
        for (phase, output, passed) in ran {
            self.count(&phase, &output, &[], passed);
        }
    }

    /// The chart is well-formed and renders.
    fn chart(&mut self, parts: &Parts) {
        for (name, words) in [
            ("helm lint", &["lint", "--strict", CHART][..]),
            ("helm template", &["template", "rdma-operator", CHART, "--namespace", "rdma-operator"][..]),
        ] {
            let outcome = self.reporter.step(name, |step| {
                step.run(Command::new(&parts.helm).args(words).current_dir(&self.dirs.repo))
            });
            self.summary.check(name, outcome.is_ok());
        }
    }

    fn check(&mut self, name: &str, words: &[&str]) {
        let outcome = self.reporter.step(name, |step| step.run(&mut self.cargo(words)));
        self.summary.check(name, outcome.is_ok());
    }

    /// Runs tests and counts them; whether all passed.
    fn tests(
        &mut self,
        name: &str,
        words: &[&str],
        environment: &[(&str, PathBuf)],
        limit: Duration,
    ) -> bool {
        let mut output = String::new();
        let outcome = self.reporter.step(name, |step| {
            let mut cargo = self.cargo(words);
            let ran =
                step.run_within(cargo.envs(environment.iter().map(|(name, value)| (name, value))), limit);
            output = step.text();
            ran
        });
        let others = ON_THE_LAB.iter().map(|(other, _)| *other).chain(live::PROGRAMS);
        let elsewhere: Vec<&str> = others.filter(|other| *other != name).collect();
        self.count(name, &output, &elsewhere, outcome.is_ok());
        outcome.is_ok()
    }

    /// Counts the tests of a phase and names those that failed.
    fn count(&mut self, phase: &str, output: &str, elsewhere: &[&str], passed: bool) {
        for test in libtest::failed(output) {
            self.reporter.say(&format!("FAILED {phase}: {test}"));
        }
        self.summary.tests(phase, libtest::count(output, elsewhere), passed);
    }

    fn cargo(&self, words: &[&str]) -> Command {
        let mut cargo = nice("cargo");
        cargo.args(words).current_dir(&self.dirs.repo).env("CARGO_TARGET_DIR", &self.dirs.target);
        cargo
    }

    fn has_tests(&self, name: &str) -> bool {
        let tests = self.dirs.repo.join("tests");
        tests.join(name).join("main.rs").exists() || tests.join(format!("{name}.rs")).exists()
    }

    /// What the tests on the lab are told.
    fn lab_environment(&self, parts: &Parts, long: bool) -> [(&'static str, PathBuf); 7] {
        let state = State::new(self.dirs);
        [
            ("RDMA_LAB", state.folder.clone()),
            ("RDMA_LAB_BIN", state.bin()),
            ("RDMA_OPERATOR_IMAGE", image::OPERATOR.into()),
            ("RDMA_GUEST_ROOT", parts.root.tree()),
            ("RDMA_OPERATOR_BINARY", self.dirs.operator_binary()),
            ("RDMA_KUBE", parts.kube.program.clone()),
            ("RDMA_ROUNDS", ROUNDS[usize::from(long)].into()),
        ]
    }

    /// Keeps what the cluster looked like when a test failed.
    fn dump(&self) {
        let folder = self.dirs.logs().join("cluster");
        let written = lab::dump(&State::new(self.dirs), &folder).context("asking the cluster");
        self.reporter.say(&match written {
            Ok(()) => format!("what the cluster looked like: {}", folder.display()),
            Err(error) => format!("{error:#}"),
        });
    }
}
