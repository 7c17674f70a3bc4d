//! Developer commands: `cargo xtask --help`.

mod cache;
mod cli;
mod dirs;
mod image;
mod interrupt;
mod lab;
mod report;
mod setup;
mod step;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    match interrupt::catch().and_then(|()| cli.run()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
