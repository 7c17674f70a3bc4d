//! `rdma-operator crds`

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;

use crate::api::crds;

/// Arguments.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Write one file a CRD into this folder in place of printing them
    #[arg(long, value_name = "FOLDER")]
    write: Option<PathBuf>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    for (name, crd) in crds::all() {
        let text = crds::yaml(&crd)?;
        match &args.write {
            Some(folder) => {
                let path = folder.join(name);
                fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
            }
            None => write!(std::io::stdout(), "---\n{text}")?,
        }
    }
    Ok(())
}
