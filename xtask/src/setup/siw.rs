//! The siw module (soft iWARP), which Debian's kernels leave out: built from the source package of the same
//! kernel, in a trixie chroot, for its headers want that release's compiler and tools.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use super::debian::{Mirror, SUITE, required};
use crate::cache::{Inputs, Piece};
use crate::dirs::Dirs;
use crate::report::Reporter;
use crate::step::{Step, nice};

const CHROOT_PACKAGES: &str = "gcc-14,make,libelf1t64,libdw1t64,kmod,xz-utils,zlib1g,bc,python3-minimal";
const SOURCES: &str = "drivers/infiniband/sw/siw";
const KBUILD: &str = "obj-m := siw.o\n\
    siw-y := siw_cm.o siw_cq.o siw_main.o siw_mem.o siw_qp.o siw_qp_tx.o siw_qp_rx.o siw_verbs.o\n";

/// A folder with `siw.ko` for this kernel.
pub(crate) fn module(dirs: &Dirs, reporter: &Reporter, release: &str, suites: &[&str]) -> Result<PathBuf> {
    let piece = Piece::new(dirs, "siw", release, Inputs::default().text(KBUILD).text(CHROOT_PACKAGES));
    if piece.path().exists() {
        return Ok(piece.path());
    }
    let mirror = Mirror::of_this_machine(dirs)?;
    let inputs = Inputs::default().text(CHROOT_PACKAGES);
    let chroot = Piece::new(dirs, "kbuild", SUITE, inputs)
        .get(reporter, |step, draft| make_chroot(step, &mirror, draft))?;
    piece.get(reporter, |step, draft| {
        // Two kernels' builds may run at once: each unpacks into folders of its own name.
        let headers = add_headers(step, &mirror, suites, release, &chroot)?;
        let work = chroot.join("src").join(release);
        if work.exists() {
            fs::remove_dir_all(&work)?;
        }
        fs::create_dir_all(&work)?;
        unpack_sources(step, &mirror, suites, release, &work)?;
        compile(step, &chroot, &headers, release)?;
        step.run(
            Command::new("strip")
                .args(["--strip-debug", "-o"])
                .arg(draft.join("siw.ko"))
                .arg(work.join("siw.ko")),
        )
    })
}

fn make_chroot(step: &Step, mirror: &Mirror, draft: &Path) -> Result<()> {
    step.run(
        nice("mmdebstrap")
            .args(["--variant=minbase", "--skip=output/dev"])
            .arg(format!("--include={CHROOT_PACKAGES}"))
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

/// Builds the module; objtool wants /proc, which must be gone again whatever happens.
fn compile(step: &Step, chroot: &Path, headers: &str, release: &str) -> Result<()> {
    let script = format!(
        "mount -t proc proc /proc && exec make -s -C {headers} M=/src/{release} CC=gcc-14 \
         CONFIG_DEBUG_INFO_BTF_MODULES= modules"
    );
    // A mount namespace of its own: the mount ends with the command.
    step.run(nice("unshare").args(["--mount", "chroot"]).arg(chroot).args(["sh", "-c", &script]))
}
