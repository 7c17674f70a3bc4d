//! The siw module (soft iWARP), which Debian's kernels leave out: built from the source package of the same
//! kernel.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::debian::{Mirror, required};
use super::kbuild::Module;
use crate::cache::Inputs;
use crate::dirs::Dirs;
use crate::report::Reporter;
use crate::step::{Step, nice};

const SOURCES: &str = "drivers/infiniband/sw/siw";
const KBUILD: &str = "obj-m := siw.o\n\
    siw-y := siw_cm.o siw_cq.o siw_main.o siw_mem.o siw_qp.o siw_qp_tx.o siw_qp_rx.o siw_verbs.o\n";

/// A folder with `siw.ko` for this kernel.
pub(crate) fn module(dirs: &Dirs, reporter: &Reporter, release: &str, suites: &[&str]) -> Result<PathBuf> {
    let module = Module { name: "siw", release, suites, inputs: Inputs::default().text(KBUILD) };
    module.get(dirs, reporter, |step, mirror, work| unpack_sources(step, mirror, suites, release, work))
}

fn unpack_sources(step: &Step, mirror: &Mirror, suites: &[&str], release: &str, work: &Path) -> Result<()> {
    let image = format!("linux-image-{release}");
    let version = required(mirror.find(step, suites, &image, None)?, &image)?.version;
    let series = release.splitn(3, '.').take(2).collect::<Vec<_>>().join(".");
    let name = format!("linux-source-{series}");
    let package = required(mirror.find(step, suites, &name, Some(&version))?, &name)?;
    let holder = work.join("package");
    fs::create_dir_all(&holder)?;
    mirror.unpack(step, &package, &holder)?;
    let archive = holder.join(format!("usr/src/{name}.tar.xz"));
    step.run(
        nice("tar")
            .arg("-xJf")
            .arg(archive)
            .arg("-C")
            .arg(work)
            .args(["--strip-components=5", "--wildcards"])
            .arg(format!("*/{SOURCES}/*")),
    )?;
    fs::remove_dir_all(holder)?;
    let _ = fs::remove_file(work.join("Makefile"));
    fs::write(work.join("Kbuild"), KBUILD).context("writing Kbuild")
}
