//! The real rdma(8) of the guest root, with a recording in place of the kernel.

use std::env;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::rdma_support::Case;

/// The newest first.
const PLACES: [&str; 2] = ["opt/iproute2-new/usr/bin/rdma", "usr/bin/rdma"];
/// Its own libraries: the host's may be too old.
const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";

/// Seconds after which it has hung.
const LIMIT: &str = "10";

/// rdma(8), and where its kernel is kept.
pub(super) struct Tool {
    root: PathBuf,
    program: PathBuf,
    folder: TempDir,
}

/// What it did.
pub(super) struct Theirs {
    pub(super) stdout: String,
    pub(super) stderr: String,
    /// `None` when it crashed or hung.
    pub(super) code: Option<i32>,
}

impl Tool {
    pub(super) fn new() -> Self {
        let root = PathBuf::from(env::var_os("RDMA_GUEST_ROOT").expect("RDMA_GUEST_ROOT is set"));
        let program = PLACES.iter().map(|place| root.join(place)).find(|path| path.exists()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("lab/shim/rdma-shim.c");
        let built = Command::new("gcc")
            .args(["-Wall", "-Werror", "-O1", "-shared", "-fPIC", "-o"])
            .arg(folder.path().join("shim.so"))
            .arg(source)
            .status()
            .unwrap();
        assert!(built.success(), "the shim compiles");
        Self { root, program, folder }
    }

    pub(super) fn run(&self, case: &Case) -> Theirs {
        let recording = self.folder.path().join("recording.hex");
        fs::write(&recording, case.lines.join("\n") + "\n").unwrap();
        let libraries = self.root.join(LIBRARIES);
        let output = Command::new("timeout")
            .args(["-s", "KILL", LIMIT])
            .arg(libraries.join("ld-linux-x86-64.so.2"))
            .arg("--library-path")
            .arg(&libraries)
            .arg("--preload")
            .arg(self.folder.path().join("shim.so"))
            .arg(&self.program)
            .args(&case.command)
            .env_clear()
            .env("RDMA_SHIM", &recording)
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let code = output.status.code().filter(|_| output.status.signal().is_none());
        Theirs { stdout: text(&output.stdout), stderr: text(&output.stderr), code }
    }
}
