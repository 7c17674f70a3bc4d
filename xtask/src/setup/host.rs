//! What the machine itself needs: Debian packages and Rust's musl target.

use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::report::Reporter;
use crate::step::{quiet, succeeds};

/// Debian packages of the host, and a file that each is wanted for.
const PACKAGES: [(&str, &str); 14] = [
    ("buildah", "/usr/bin/buildah"),
    ("busybox-static", "/bin/busybox"),
    ("cpio", "/usr/bin/cpio"),
    ("curl", "/usr/bin/curl"),
    ("erofs-utils", "/usr/bin/mkfs.erofs"),
    ("gcc", "/usr/bin/gcc"),
    ("iproute2", "/usr/bin/ip"),
    ("kmod", "/usr/sbin/modprobe"),
    ("libc6-dev", "/usr/lib/x86_64-linux-gnu/libc.a"),
    ("mmdebstrap", "/usr/bin/mmdebstrap"),
    ("openssh-client", "/usr/bin/ssh"),
    ("openssl", "/usr/bin/openssl"),
    ("qemu-system-x86", "/usr/bin/qemu-system-x86_64"),
    ("xz-utils", "/usr/bin/xz"),
];

/// The Rust target of the operator's static binary.
pub(crate) const MUSL: &str = "x86_64-unknown-linux-musl";

/// Installs what is missing.
pub(crate) fn prepare(reporter: &Reporter) -> Result<()> {
    if !rustix::process::getuid().is_root() {
        bail!("the lab needs root: it makes VMs, a network namespace and file systems");
    }
    let missing: Vec<&str> = PACKAGES
        .iter()
        .filter(|(_, file)| !std::path::Path::new(file).exists())
        .map(|(package, _)| *package)
        .collect();
    if !missing.is_empty() {
        reporter.step("install packages", |step| {
            // One broken third-party source must not stop the others; a package that is then still not to
            // be had fails the install.
            if step.run(Command::new("apt-get").arg("update")).is_err() {
                step.note("apt-get update failed; going on with the lists there are");
            }
            step.run(
                Command::new("apt-get")
                    .args(["install", "-y", "--no-install-recommends"])
                    .args(&missing)
                    .env("DEBIAN_FRONTEND", "noninteractive"),
            )
        })?;
    }
    musl_target(reporter)
}

fn musl_target(reporter: &Reporter) -> Result<()> {
    let root = quiet(Command::new("rustc").args(["--print", "sysroot"])).context("asking rustc")?;
    if std::path::Path::new(root.trim()).join("lib/rustlib").join(MUSL).exists() {
        return Ok(());
    }
    reporter.step("install musl target", |step| {
        if !succeeds(Command::new("rustup").arg("--version")) {
            bail!("no rustup: install Rust's {MUSL} target by hand");
        }
        step.run(Command::new("rustup").args(["target", "add", MUSL]))
    })
}
