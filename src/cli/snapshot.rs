//! `rdma-operator snapshot`

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;

use crate::inventory::{LiveHost, Options};
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
    /// Where sysfs is mounted
    #[arg(long, value_name = "FOLDER", default_value = "/sys")]
    sysfs: PathBuf,
    /// Where the host's /dev is seen
    #[arg(long, value_name = "FOLDER", default_value = "/dev")]
    dev: PathBuf,
}

pub(super) async fn run(args: Args) -> anyhow::Result<()> {
    for (flag, folder) in [("--sysfs", &args.sysfs), ("--dev", &args.dev)] {
        std::fs::read_dir(folder).with_context(|| format!("cannot read {flag} {}", folder.display()))?;
    }
    let host = LiveHost::new(Options { sysfs: args.sysfs, dev: args.dev });
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = Some(name.trim()).filter(|name| !name.is_empty()).unwrap_or("machine");
    let mut machine = snapshot(Arc::new(host), name).await?;
    if args.anonymise {
        machine = machine.anonymised(&[name])?;
    }
    let text = machine.to_yaml();
    match &args.output {
        Some(file) => std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display())),
        None => std::io::stdout().write_all(text.as_bytes()).context("cannot write to stdout"),
    }
}
