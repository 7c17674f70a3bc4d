//! Test programs that need a kernel with RDMA and no Kubernetes: built here, run on each node of the lab.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::lab::{self, State};
use crate::step::Step;

/// The programs, by the names of their files below `tests/`.
pub(super) const PROGRAMS: [&str; 1] = ["nl_live"];
/// How long one may take on one node.
const LIMIT: Duration = Duration::from_secs(10 * 60);

/// Builds a test program with `cargo`; where it is.
pub(super) fn build(step: &Step, cargo: &mut Command, name: &str) -> Result<PathBuf> {
    let said = step.output(cargo.args(["test", "--test", name, "--no-run", "--message-format=json"]))?;
    let program = executables(&said).find(|path| is_program(path, name));
    program.map(PathBuf::from).with_context(|| format!("cargo did not say where it built {name}"))
}

/// Runs the ignored tests of `program` in a node's shell.
pub(super) fn run(step: &Step, state: &State, node: &str, program: &Path, name: &str) -> Result<()> {
    // The node sees this folder as /host.
    let shared = state.node(node).join("host").join(name);
    fs::copy(program, &shared).with_context(|| format!("copying {name} to {node}"))?;
    let script = format!("/host/{name} --ignored --test-threads=1 --nocapture");
    step.run_within(&mut lab::on_node(state, node, &script)?, LIMIT)
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
    fn the_program_is_found_by_its_name() {
        let said = "{\"reason\":\"x\",\"executable\":null}\n{\"executable\":\"/t/deps/other-1\",\"fresh\":true}\n\
                    {\"executable\":\"/t/deps/nl_live-2a\",\"fresh\":true}\n";
        let found: Vec<&str> = executables(said).filter(|path| is_program(path, "nl_live")).collect();
        assert_eq!(found, ["/t/deps/nl_live-2a"]);
    }
}
