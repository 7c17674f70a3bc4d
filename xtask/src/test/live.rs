//! Test programs that need a kernel with RDMA and no Kubernetes: built here, run on each node of the lab.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::lab::{self, State};
use crate::step::Step;

/// The programs, by the names of their files below `tests/`.
pub(super) const PROGRAMS: [&str; 4] = ["nl_live", "nl_examples", "syscalls", "conformance"];
/// The program that runs the examples, and these, which it expects beside it.
const RUNS_EXAMPLES: &str = "nl_examples";
const EXAMPLES: [&str; 4] = ["show_devices", "create_soft_devices", "monitor", "dump_devices"];
/// How long one may take on one node.
const LIMIT: Duration = Duration::from_secs(10 * 60);

/// Builds a test program with `cargo`; where it is.
pub(super) fn build(step: &Step, cargo: &mut Command, name: &str) -> Result<PathBuf> {
    if name == RUNS_EXAMPLES {
        let mut examples = same(cargo);
        EXAMPLES.iter().for_each(|example| {
            examples.args(["--example", example]);
        });
        step.run(&mut examples)?;
    }
    let said = step.output(cargo.args(["test", "--test", name, "--no-run", "--message-format=json"]))?;
    let program = executables(&said).find(|path| is_program(path, name));
    program.map(PathBuf::from).with_context(|| format!("cargo did not say where it built {name}"))
}

/// Runs the ignored tests of `program` in a node's shell, with the operator's binary beside it.
pub(super) fn run(
    step: &Step,
    state: &State,
    operator: &Path,
    node: &str,
    (program, name): (&Path, &str),
) -> Result<()> {
    // The node sees this folder as /host.
    let shared = state.node(node).join("host");
    let copy = |from: &Path, name: &str| {
        fs::copy(from, shared.join(name)).with_context(|| format!("copying {name} to {node}"))
    };
    copy(program, name)?;
    copy(operator, "rdma-operator")?;
    if name == RUNS_EXAMPLES {
        for example in EXAMPLES {
            copy(&beside(program, example), example)?;
        }
    }
    let script = format!("/host/{name} --ignored --test-threads=1 --nocapture");
    step.run_within(&mut lab::on_node(state, node, &script)?, LIMIT)
}

/// `cargo build` as `cargo` would run something else.
fn same(cargo: &Command) -> Command {
    let mut same = Command::new(cargo.get_program());
    same.args(cargo.get_args()).arg("build");
    for (name, value) in cargo.get_envs() {
        match value {
            Some(value) => same.env(name, value),
            None => same.env_remove(name),
        };
    }
    if let Some(folder) = cargo.get_current_dir() {
        same.current_dir(folder);
    }
    same
}

/// Where cargo puts an example: `debug/examples/NAME`, beside `debug/deps/PROGRAM`.
fn beside(program: &Path, example: &str) -> PathBuf {
    let profile = program.parent().and_then(Path::parent).unwrap_or(Path::new(""));
    profile.join("examples").join(example)
}

/// The paths of the executables in cargo's messages, one JSON object a line.
fn executables(messages: &str) -> impl Iterator<Item = &str> {
    messages.lines().filter_map(|line| line.split_once(r#""executable":""#)?.1.split('"').next())
}

fn is_program(path: &str, name: &str) -> bool {
    let file = Path::new(path).file_name().and_then(|file| file.to_str()).unwrap_or_default();
    file.strip_prefix(name).is_some_and(|rest| rest.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_built_as_the_program_is_and_found_beside_it() {
        let mut cargo = Command::new("nice");
        cargo.args(["cargo"]).env("CARGO_TARGET_DIR", "/t").current_dir("/r");
        let built = same(&cargo);
        assert_eq!(built.get_program(), "nice");
        assert_eq!(built.get_args().collect::<Vec<_>>(), ["cargo", "build"]);
        assert_eq!(built.get_envs().collect::<Vec<_>>(), cargo.get_envs().collect::<Vec<_>>());
        assert_eq!(built.get_current_dir(), Some(Path::new("/r")));
        let example = beside(Path::new("/t/debug/deps/nl_examples-2a"), "monitor");
        assert_eq!(example, Path::new("/t/debug/examples/monitor"));
    }

    #[test]
    fn the_program_is_found_by_its_name() {
        let said = "{\"reason\":\"x\",\"executable\":null}\n{\"executable\":\"/t/deps/other-1\",\"fresh\":true}\n\
                    {\"executable\":\"/t/deps/nl_live-2a\",\"fresh\":true}\n";
        let found: Vec<&str> = executables(said).filter(|path| is_program(path, "nl_live")).collect();
        assert_eq!(found, ["/t/deps/nl_live-2a"]);
    }
}
