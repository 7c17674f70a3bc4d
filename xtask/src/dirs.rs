//! Where things live: the repository, the cache shared by all clones, and what is below it.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::setup::host::MUSL;

/// The folders that every command works with.
#[derive(Debug, Clone)]
pub(crate) struct Dirs {
    /// The repository this run works on.
    pub(crate) repo: PathBuf,
    /// `${XDG_CACHE_HOME:-$HOME/.cache}/rdma-operator`: shared by all clones.
    pub(crate) cache: PathBuf,
    /// Cargo's target folder: the environment's, else one below the cache.
    pub(crate) target: PathBuf,
}

impl Dirs {
    /// Finds the folders and makes the cache.
    pub(crate) fn find() -> Result<Self> {
        let cache_home = match env::var_os("XDG_CACHE_HOME").filter(|dir| !dir.is_empty()) {
            Some(dir) => PathBuf::from(dir),
            None => PathBuf::from(env::var_os("HOME").context("neither XDG_CACHE_HOME nor HOME is set")?)
                .join(".cache"),
        };
        let cache = cache_home.join("rdma-operator");
        fs::create_dir_all(&cache).with_context(|| format!("making {}", cache.display()))?;
        // `cargo run` sets the variable for the clone it runs in; a program built by another clone that
        // shares the target folder would else look in that one.
        let manifest = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
        let repo = Path::new(&manifest).parent().context("xtask has no parent folder")?.to_path_buf();
        let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| cache.join("target"), PathBuf::from);
        Ok(Self { repo, cache, target })
    }

    /// One log file a step.
    pub(crate) fn logs(&self) -> PathBuf {
        self.cache.join("logs")
    }

    /// The state of the one cluster that can be up.
    pub(crate) fn lab(&self) -> PathBuf {
        self.cache.join("lab")
    }

    /// A file of the repository's `lab/` folder.
    pub(crate) fn lab_file(&self, name: &str) -> PathBuf {
        self.repo.join("lab").join(name)
    }

    /// The static binary that `cargo xtask image` builds.
    pub(crate) fn operator_binary(&self) -> PathBuf {
        self.target.join(MUSL).join("release/rdma-operator")
    }

    /// The archive that `cargo xtask image` leaves.
    pub(crate) fn operator_archive(&self) -> PathBuf {
        self.target.join("image").join("rdma-operator.tar")
    }
}
