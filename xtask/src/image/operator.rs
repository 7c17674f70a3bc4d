//! The operator's image: its static binary, built FROM scratch by the Containerfile.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::archive::{Content, write};
use crate::dirs::Dirs;
use crate::report::Reporter;
use crate::setup::host::MUSL;
use crate::step::{Step, nice, succeeds};

/// The image's name in the lab.
pub(crate) const OPERATOR: &str = "docker.io/library/rdma-operator:dev";
const BINARY: &str = "rdma-operator";
const LIMIT: u64 = 16 << 20;

/// Builds the binary and the archive; prints and checks their sizes.
pub(crate) fn build(dirs: &Dirs, reporter: &Reporter) -> Result<PathBuf> {
    let binary = reporter.step("build operator", |step| compile(dirs, step))?;
    let archive = dirs.operator_archive();
    let by = reporter.step("build image", |step| pack(dirs, step, &binary, &archive))?;
    let (binary_size, image_size) = (fs::metadata(&binary)?.len(), fs::metadata(&archive)?.len());
    println!("{OPERATOR}: binary {}, image {} ({by})", mebibytes(binary_size), mebibytes(image_size));
    println!("{}", archive.display());
    if binary_size.max(image_size) > LIMIT {
        bail!("larger than {}", mebibytes(LIMIT));
    }
    Ok(archive)
}

/// Compiles the static release binary and returns where it is.
fn compile(dirs: &Dirs, step: &Step) -> Result<PathBuf> {
    let mut cargo = nice("cargo");
    cargo
        .args(["build", "--release", "--package", BINARY, "--bin", BINARY, "--target", MUSL])
        .arg("--message-format=json-render-diagnostics")
        .current_dir(&dirs.repo)
        .env("CARGO_TARGET_DIR", &dirs.target);
    let cross_compiler = "CC_x86_64_unknown_linux_musl";
    if std::env::var_os(cross_compiler).is_none() && !succeeds(Command::new("musl-gcc").arg("--version")) {
        cargo.env(cross_compiler, "gcc"); // the little C there is needs no libc
    }
    let messages = step.output(&mut cargo)?;
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .context("cargo built no executable")
}

/// Writes the archive with buildah, or without it where it cannot run; says which.
fn pack(dirs: &Dirs, step: &Step, binary: &Path, archive: &Path) -> Result<&'static str> {
    let folder = archive.parent().context("no parent")?;
    let context = folder.join("context");
    if context.exists() {
        fs::remove_dir_all(&context)?;
    }
    fs::create_dir_all(&context)?;
    fs::copy(binary, context.join(BINARY))?;
    let draft = folder.join("draft.tar");
    let _ = fs::remove_file(&draft);
    let by = match buildah(dirs, step, folder, &context, &draft) {
        Ok(()) => "by buildah",
        Err(error) => {
            step.note(&format!("buildah: {error:#}; writing the same content without it"));
            let entrypoint = format!("/{BINARY}");
            write(step, &Content { name: OPERATOR, files: &context, entrypoint: &[&entrypoint] }, &draft)?;
            "written without buildah"
        }
    };
    fs::rename(&draft, archive)?;
    fs::remove_dir_all(context)?;
    Ok(by)
}

fn buildah(dirs: &Dirs, step: &Step, folder: &Path, context: &Path, archive: &Path) -> Result<()> {
    let storage = folder.join("storage");
    let program = || {
        let mut command = Command::new("buildah");
        command.args(["--storage-driver", "vfs", "--root"]).arg(storage.join("root"));
        command.arg("--runroot").arg(storage.join("run"));
        command
    };
    let outcome = step
        .run(
            program()
                .args(["bud", "--isolation", "chroot", "--tag", OPERATOR, "--file"])
                .arg(dirs.repo.join("Containerfile"))
                .arg(context),
        )
        .and_then(|()| {
            let target = format!("docker-archive:{}:{OPERATOR}", archive.display());
            step.run(program().args(["push", OPERATOR, &target]))
        });
    // Layers of earlier builds are of no use.
    let _ = fs::remove_dir_all(&storage);
    outcome
}

fn mebibytes(bytes: u64) -> String {
    format!("{}.{} MiB", bytes >> 20, ((bytes & 0xf_ffff) * 10) >> 20)
}
