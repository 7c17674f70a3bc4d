//! Builds kernel modules against the headers of a Debian kernel, in a trixie chroot, for the headers want that
//! release's compiler and tools.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use super::debian::{Mirror, SUITE, required};
use crate::cache::{Inputs, Piece};
use crate::dirs::Dirs;
use crate::report::Reporter;
use crate::step::{Step, nice};

/// What the chroot has; a part of every module's key.
pub(super) const PACKAGES: &str = "gcc-14,make,libelf1t64,libdw1t64,kmod,xz-utils,zlib1g,bc,python3-minimal";

/// A module to build for one kernel.
pub(super) struct Module<'a> {
    /// Its name, without `.ko`.
    pub(super) name: &'a str,
    /// The kernel.
    pub(super) release: &'a str,
    /// Where Debian has that kernel.
    pub(super) suites: &'a [&'a str],
    /// The module's own inputs.
    pub(super) inputs: Inputs,
}

impl Module<'_> {
    /// A folder with the module, built unless it is there from what `sources` puts into a folder.
    pub(super) fn get(
        self,
        dirs: &Dirs,
        reporter: &Reporter,
        sources: impl FnOnce(&Step, &Mirror, &Path) -> Result<()>,
    ) -> Result<PathBuf> {
        let Self { name, release, suites, inputs } = self;
        let piece = Piece::new(dirs, name, release, inputs.text(PACKAGES));
        if piece.path().exists() {
            return Ok(piece.path());
        }
        let mirror = Mirror::of_this_machine(dirs)?;
        let chroot = Piece::new(dirs, "kbuild", SUITE, Inputs::default().text(PACKAGES))
            .get(reporter, |step, draft| make_chroot(step, &mirror, draft))?;
        piece.get(reporter, |step, draft| {
            // Several builds may run at once: each has a folder of its own name.
            let headers = add_headers(step, &mirror, suites, release, &chroot)?;
            let folder = format!("{name}-{release}");
            let work = chroot.join("src").join(&folder);
            if work.exists() {
                fs::remove_dir_all(&work)?;
            }
            fs::create_dir_all(&work)?;
            sources(step, &mirror, &work)?;
            compile(step, &chroot, &headers, &folder)?;
            let file = format!("{name}.ko");
            step.run(
                Command::new("strip")
                    .args(["--strip-debug", "-o"])
                    .arg(draft.join(&file))
                    .arg(work.join(&file)),
            )
            .with_context(|| format!("keeping {file}"))
        })
    }
}

fn make_chroot(step: &Step, mirror: &Mirror, draft: &Path) -> Result<()> {
    step.run(
        nice("mmdebstrap")
            .args(["--variant=minbase", "--skip=output/dev"])
            .arg(format!("--include={PACKAGES}"))
            .arg("--keyring=/usr/share/keyrings/debian-archive-keyring.gpg")
            .arg("--aptopt=Apt::Install-Recommends \"false\"")
            .arg(SUITE)
            .arg(draft)
            .arg(format!("deb {} {SUITE} main", mirror.main)),
    )?;
    for name in ["gcc", "gcc-14-for-host", "x86_64-linux-gnu-gcc"] {
        let link = draft.join("usr/bin").join(name);
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink("gcc-14", link)?;
    }
    Ok(())
}

/// Unpacks the headers of the kernel and returns their folder as the chroot sees it. Installing them would
/// bring in the kernel itself.
fn add_headers(
    step: &Step,
    mirror: &Mirror,
    suites: &[&str],
    release: &str,
    chroot: &Path,
) -> Result<String> {
    let base = release.trim_end_matches("-amd64");
    for name in [
        format!("linux-headers-{release}"),
        format!("linux-headers-{base}-common"),
        format!("linux-kbuild-{base}"),
    ] {
        mirror.unpack(step, &required(mirror.find(step, suites, &name, None)?, &name)?, chroot)?;
    }
    Ok(format!("/usr/src/linux-headers-{release}"))
}

/// Builds what the folder's Kbuild says; objtool wants /proc, which must be gone again whatever happens.
fn compile(step: &Step, chroot: &Path, headers: &str, folder: &str) -> Result<()> {
    let script = format!(
        "mount -t proc proc /proc && exec make -s -C {headers} M=/src/{folder} CC=gcc-14 \
         CONFIG_DEBUG_INFO_BTF_MODULES= modules"
    );
    // A mount namespace of its own: the mount ends with the command.
    step.run(nice("unshare").args(["--mount", "chroot"]).arg(chroot).args(["sh", "-c", &script]))
}
