//! Pieces: folders in the cache that take long to build, each kept under a key made of its version and a
//! hash of what it is built from. A piece is built under a temporary name and renamed when it is complete.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use sha2::{Digest as _, Sha256};

use crate::dirs::Dirs;
use crate::report::Reporter;
use crate::step::Step;

/// Collects what a piece is built from.
#[derive(Debug, Default)]
pub(crate) struct Inputs(Sha256);

impl Inputs {
    /// Adds a text: a version, a command line, the key of another piece.
    pub(crate) fn text(mut self, text: &str) -> Self {
        self.0.update((text.len() as u64).to_le_bytes());
        self.0.update(text);
        self
    }

    /// Adds the content of a file.
    pub(crate) fn file(self, path: &Path) -> Result<Self> {
        let content = fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
        Ok(self.text(&content))
    }

    fn digest(self) -> String {
        hex(&self.0.finalize())[..10].to_owned()
    }
}

/// One thing in the cache.
#[derive(Debug, Clone)]
pub(crate) struct Piece {
    name: String,
    /// Version and hash of the inputs.
    pub(crate) key: String,
    cache: PathBuf,
}

impl Piece {
    /// The piece `name` of this version, built from these inputs.
    pub(crate) fn new(dirs: &Dirs, name: &str, version: &str, inputs: Inputs) -> Self {
        let key = format!("{version}-{}", inputs.digest());
        Self { name: name.to_owned(), key, cache: dirs.cache.clone() }
    }

    /// Where it is once built.
    pub(crate) fn path(&self) -> PathBuf {
        self.cache.join(&self.name).join(&self.key)
    }

    /// Its folder; built by `build`, which gets an empty one, if it is not there yet.
    pub(crate) fn get(
        &self,
        reporter: &Reporter,
        build: impl FnOnce(&Step, &Path) -> Result<()>,
    ) -> Result<PathBuf> {
        let path = self.path();
        if path.exists() {
            return Ok(path);
        }
        let family = self.cache.join(&self.name);
        fs::create_dir_all(&family).with_context(|| format!("making {}", family.display()))?;
        reporter.step(&format!("build {} {}", self.name, self.version()), |step| {
            let _lock = lock(&family.join(".lock"))?;
            if path.exists() {
                return Ok(()); // another run built it while this one waited
            }
            let draft = family.join(format!(".{}", self.key));
            if draft.exists() {
                fs::remove_dir_all(&draft).with_context(|| format!("removing {}", draft.display()))?;
            }
            fs::create_dir(&draft)?;
            build(step, &draft)?;
            fs::rename(&draft, &path).with_context(|| format!("completing {}", path.display()))
        })?;
        Ok(path)
    }

    fn version(&self) -> &str {
        self.key.rsplit_once('-').map_or(self.key.as_str(), |(version, _)| version)
    }
}

/// Waits for the lock file and holds it until dropped.
pub(crate) fn lock(path: &Path) -> Result<File> {
    let file = File::create(path).with_context(|| format!("making {}", path.display()))?;
    file.lock().with_context(|| format!("locking {}", path.display()))?;
    Ok(file)
}

/// Bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Hard-links a file, or copies it where that cannot be.
pub(crate) fn link_or_copy(from: &Path, to: &Path) -> Result<()> {
    if to.exists() {
        fs::remove_file(to)?;
    }
    if fs::hard_link(from, to).is_err() {
        fs::copy(from, to).with_context(|| format!("copying {} to {}", from.display(), to.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_tells_inputs_apart() {
        let one = Inputs::default().text("ab").text("c").digest();
        let other = Inputs::default().text("a").text("bc").digest();
        assert_ne!(one, other);
        assert_eq!(one, Inputs::default().text("ab").text("c").digest());
    }
}
