//! The command line.

use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result};
use clap::{Args, Parser, Subcommand};

use crate::dirs::Dirs;
use crate::lab::{self, Shape};
use crate::report::{Reporter, seconds};
use crate::{demo, image, setup, step, test};

/// Developer commands of rdma-operator.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Install and build everything the lab needs; what is there already is kept
    Setup,
    /// A real Kubernetes whose nodes are VMs with soft RDMA
    #[command(subcommand)]
    Lab(Lab),
    /// Build the operator's static binary and its image
    Image,
    /// From nothing to two pods that talk RDMA on a real cluster
    Demo {
        /// Leave the cluster up
        #[arg(long)]
        keep: bool,
    },
    /// Run every check and test, the end-to-end tests on the lab included
    Test {
        /// Also the tests that take long
        #[arg(long)]
        long: bool,
    },
}

#[derive(Debug, Subcommand)]
enum Lab {
    /// Bring the cluster up
    Up(Up),
    /// End it and remove what it left
    Down,
    /// Whether it is up, and its nodes
    Status,
    /// Run kubectl in the lab's network
    Kubectl(Words),
    /// Run helm in the lab's network
    Helm(Words),
    /// Run a command in the shell of a node: NODE CMD...
    Node(Words),
    /// Import an image archive into every node
    Load {
        /// A docker or OCI archive
        archive: PathBuf,
    },
}

#[derive(Debug, Args)]
struct Up {
    /// How many nodes
    #[arg(long, default_value_t = 2)]
    nodes: usize,
    /// A kernel argument for one node, such as node-b=lab.nordma; may be given again
    #[arg(long = "arg", value_name = "NODE=ARGUMENT", value_parser = node_argument)]
    arguments: Vec<(String, String)>,
}

#[derive(Debug, Args)]
struct Words {
    /// Handed on as they are
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

fn node_argument(text: &str) -> Result<(String, String), String> {
    let (node, argument) = text.split_once('=').ok_or("write NODE=ARGUMENT")?;
    Ok((node.to_owned(), argument.to_owned()))
}

impl Cli {
    /// Does what was asked for.
    pub(crate) fn run(self) -> Result<()> {
        let dirs = Dirs::find()?;
        let reporter = Reporter::new(dirs.logs());
        match self.task {
            Task::Setup => {
                let start = Instant::now();
                setup::run(&dirs, &reporter)?;
                println!("everything is there, after {}", seconds(start.elapsed()));
                Ok(())
            }
            Task::Image => {
                setup::host::prepare(&reporter)?;
                image::build(&dirs, &reporter).map(drop)
            }
            Task::Demo { keep } => demo::run(&dirs, &reporter, keep),
            Task::Test { long } => test::run(&dirs, &reporter, long),
            Task::Lab(command) => command.run(&dirs, &reporter),
        }
    }
}

impl Lab {
    fn run(self, dirs: &Dirs, reporter: &Reporter) -> Result<()> {
        match self {
            Self::Up(up) => {
                let start = Instant::now();
                let parts = setup::run(dirs, reporter)?;
                lab::up(dirs, reporter, &parts, &Shape { nodes: up.nodes, arguments: up.arguments })?;
                println!("the lab is up, after {}", seconds(start.elapsed()));
                Self::Status.run(dirs, reporter)
            }
            Self::Down => lab::down(dirs),
            Self::Status => status(dirs),
            Self::Kubectl(rest) => become_program(dirs, "kubectl", &rest.words),
            Self::Helm(rest) => become_program(dirs, "helm", &rest.words),
            Self::Node(rest) => become_program(dirs, "node", &rest.words),
            Self::Load { archive } => {
                let state = lab::running(dirs)?;
                reporter.step("load image", |step| lab::load(step, &state, &archive))
            }
        }
    }
}

fn status(dirs: &Dirs) -> Result<()> {
    let state = lab::running(dirs)?;
    println!("state: {}\nprograms: {}", state.folder.display(), state.bin().display());
    print!("{}", step::quiet(&mut lab::kubectl(&state, &["get", "nodes", "-o", "wide"]))?);
    Ok(())
}

/// Goes on as one of the lab's programs.
fn become_program(dirs: &Dirs, name: &str, words: &[String]) -> Result<()> {
    let program = lab::running(dirs)?.bin().join(name);
    let error = Command::new(&program).args(words).exec();
    Err(error).with_context(|| format!("running {}", program.display()))
}
