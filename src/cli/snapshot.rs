//! `rdma-operator snapshot`

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;

use super::host::{Folders, simulator};
use crate::inventory::Host;
use crate::machine::snapshot::snapshot;

/// Arguments.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Replaces the host's name and every MAC, GUID, GID and address by documentation values
    #[arg(long)]
    anonymise: bool,
    /// Where to write it; without one to stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    folders: Folders,
}

pub(super) async fn run(args: Args, machine: Option<PathBuf>) -> anyhow::Result<()> {
    let (host, name): (Arc<dyn Host>, String) = match &machine {
        Some(path) => {
            let simulator = simulator(path)?;
            let name = simulator.machine().metadata.name;
            (Arc::new(simulator), name)
        }
        None => {
            let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
            let name = Some(name.trim()).filter(|name| !name.is_empty()).unwrap_or("machine");
            (args.folders.host_that_is_there(None)?, name.to_owned())
        }
    };
    let mut machine = snapshot(host, &name).await?;
    if args.anonymise {
        machine = machine.anonymised(&[&name])?;
    }
    let text = machine.to_yaml();
    match &args.output {
        Some(file) => std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display())),
        None => std::io::stdout().write_all(text.as_bytes()).context("cannot write to stdout"),
    }
}
