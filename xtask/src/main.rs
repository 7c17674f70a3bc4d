//! Developer commands: `cargo xtask --help`.

mod cache;
mod dirs;
mod image;
mod interrupt;
mod report;
mod setup;
mod step;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::dirs::Dirs;
use crate::report::{Reporter, seconds};

/// Developer commands of rdma-operator.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Install and build everything the lab needs; what is there already is kept
    Setup,
    /// Build the operator's static binary and its image
    Image,
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> Result<()> {
    interrupt::catch()?;
    let dirs = Dirs::find()?;
    let reporter = Reporter::new(dirs.logs());
    match task {
        Task::Setup => {
            let start = std::time::Instant::now();
            setup::run(&dirs, &reporter)?;
            println!("everything is there, after {}", seconds(start.elapsed()));
        }
        Task::Image => {
            setup::host::prepare(&reporter)?;
            image::build(&dirs, &reporter)?;
        }
    }
    Ok(())
}
