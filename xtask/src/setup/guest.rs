//! The guests' root file system: Debian trixie with containerd and the RDMA tools, the same for every kernel.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use super::debian::{Mirror, SID, SUITE, required};
use crate::cache::{Inputs, Piece};
use crate::dirs::Dirs;
use crate::report::Reporter;
use crate::step::Step;

/// Where apt's own keys are on a Debian host.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// Where the newer `rdma` is in the guest, beside the suite's own.
const NEW_IPROUTE2: &str = "opt/iproute2-new";

/// What the guests start from.
#[derive(Debug, Clone)]
pub(crate) struct GuestRoot {
    folder: PathBuf,
}

impl GuestRoot {
    /// The file system image.
    pub(crate) fn image(&self) -> PathBuf {
        self.folder.join("root.erofs")
    }

    /// The files the image was made from.
    pub(crate) fn tree(&self) -> PathBuf {
        self.folder.join("tree")
    }

    /// The private key that opens a shell in a guest.
    pub(crate) fn ssh_key(&self) -> PathBuf {
        self.folder.join("id")
    }

    /// A name that changes when the content does.
    pub(crate) fn key(&self) -> String {
        self.folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }
}

/// The lines of a list file, without comments.
pub(crate) fn list(path: &Path) -> Result<Vec<String>> {
    let text = fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    Ok(text
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty() && !l.starts_with('#'))
        .map(str::to_owned)
        .collect())
}

/// Builds the root file system unless it is there.
pub(crate) fn root(dirs: &Dirs, reporter: &Reporter) -> Result<GuestRoot> {
    let packages = list(&dirs.lab_file("guest/packages.txt"))?.join(",");
    let inputs = Inputs::default().text(&packages).text(NEW_IPROUTE2);
    let folder = Piece::new(dirs, "guest-root", SUITE, inputs)
        .get(reporter, |step, draft| build(step, &Mirror::of_this_machine(dirs)?, &packages, draft))?;
    Ok(GuestRoot { folder })
}

fn build(step: &Step, mirror: &Mirror, packages: &str, draft: &Path) -> Result<()> {
    let tree = draft.join("tree");
    step.run(
        crate::step::nice("mmdebstrap")
            .args(["--variant=minbase", "--skip=output/dev"])
            .arg(format!("--include={packages}"))
            .arg(format!("--keyring={KEYRING}"))
            .arg("--aptopt=Apt::Install-Recommends \"false\"")
            .args(["doc", "man", "locale"].map(|part| format!("--dpkgopt=path-exclude=/usr/share/{part}/*")))
            .arg(SUITE)
            .arg(&tree)
            .arg(format!("deb {} {SUITE} main", mirror.main)),
    )?;
    let iproute2 = required(mirror.find(step, &[SID], "iproute2", None)?, "iproute2")?;
    let newer = tree.join(NEW_IPROUTE2);
    fs::create_dir_all(&newer)?;
    mirror.unpack(step, &iproute2, &newer)?;
    shell_access(step, draft, &tree)?;
    for mount_point in ["host", "lab"] {
        fs::create_dir_all(tree.join(mount_point))?;
    }
    step.run(Command::new("mkfs.erofs").args(["--all-root", "-T0"]).arg(draft.join("root.erofs")).arg(&tree))
}

/// One throw-away key pair for us, one host key for the guests.
fn shell_access(step: &Step, draft: &Path, tree: &Path) -> Result<()> {
    let key = draft.join("id");
    step.run(Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&key))?;
    let ssh = tree.join("root/.ssh");
    fs::create_dir_all(&ssh)?;
    fs::set_permissions(&ssh, fs::Permissions::from_mode(0o700))?;
    fs::copy(draft.join("id.pub"), ssh.join("authorized_keys"))?;
    fs::set_permissions(ssh.join("authorized_keys"), fs::Permissions::from_mode(0o600))?;
    fs::create_dir_all(tree.join("etc/dropbear"))?;
    step.run(Command::new("chroot").arg(tree).args([
        "dropbearkey",
        "-t",
        "ed25519",
        "-f",
        "/etc/dropbear/dropbear_ed25519_host_key",
    ]))
}
