//! Writes an image of one layer as a docker archive, which `ctr images import` takes.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::cache::hex;
use crate::step::Step;

/// What an image holds.
pub(crate) struct Content<'a> {
    /// Its full name with the tag.
    pub(crate) name: &'a str,
    /// The folder that becomes its root.
    pub(crate) files: &'a Path,
    /// What it runs.
    pub(crate) entrypoint: &'a [&'a str],
}

/// Writes the archive; the same content gives the same bytes.
pub(crate) fn write(step: &Step, content: &Content<'_>, archive: &Path) -> Result<()> {
    let work = archive.with_extension("parts");
    fs::create_dir_all(&work)?;
    let layer = work.join("layer.tar");
    tar(step, content.files, &layer, &["."])?;
    let mut sum = Sha256::new();
    std::io::copy(&mut File::open(&layer)?, &mut sum)?;
    let config = json!({
        "architecture": "amd64",
        "os": "linux",
        "config": {
            "User": "0",
            "Env": ["PATH=/bin:/usr/bin"],
            "Entrypoint": content.entrypoint,
        },
        "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{}", hex(&sum.finalize()))]},
    });
    let manifest = json!([{"Config": "config.json", "RepoTags": [content.name], "Layers": ["layer.tar"]}]);
    fs::write(work.join("config.json"), config.to_string())?;
    fs::write(work.join("manifest.json"), manifest.to_string())?;
    tar(step, &work, archive, &["manifest.json", "config.json", "layer.tar"])?;
    fs::remove_dir_all(&work).context("removing the parts of an archive")
}

fn tar(step: &Step, folder: &Path, archive: &Path, names: &[&str]) -> Result<()> {
    step.run(
        Command::new("tar")
            .args(["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner", "-C"])
            .arg(folder)
            .arg("-cf")
            .arg(archive)
            .args(names),
    )
}
