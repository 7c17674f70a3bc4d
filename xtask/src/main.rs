//! Developer commands: `cargo xtask --help`.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod cache;
mod cli;
mod demo;
mod dirs;
mod image;
mod interrupt;
mod lab;
mod report;
mod setup;
mod step;
mod test;

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
