//! The fakehca module, our own: devices that rxe and siw cannot be, from `lab/fakehca`.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};

use super::kbuild::Module;
use crate::cache::Inputs;
use crate::dirs::Dirs;
use crate::report::Reporter;

/// A folder with `fakehca.ko` for this kernel.
pub(crate) fn module(dirs: &Dirs, reporter: &Reporter, release: &str, suites: &[&str]) -> Result<PathBuf> {
    let folder = dirs.lab_file("fakehca");
    let entries = fs::read_dir(&folder).with_context(|| format!("reading {}", folder.display()))?;
    let mut sources = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    sources.sort();
    let mut inputs = Inputs::default();
    for source in &sources {
        inputs = inputs.file(source)?;
    }
    Module { name: "fakehca", release, suites, inputs }.get(dirs, reporter, |_, _, work| {
        for source in &sources {
            fs::copy(source, work.join(source.file_name().context("a source without a name")?))?;
        }
        Ok(())
    })
}
