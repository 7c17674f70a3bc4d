//! What was given out, kept over restarts of this process: containers outlive it.

use std::fs;
use std::io;
use std::path::PathBuf;

use super::allocate::{AllocateError, Given, Grant};

/// What one resource has given out, in memory and in a file of its own.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    given: Given,
    file: Option<PathBuf>,
}

impl Memory {
    /// Starts with what `file` has. A file that cannot be read is said, and is as good as none.
    pub(crate) fn open(file: Option<PathBuf>) -> Self {
        let given = file.as_ref().and_then(|path| match fs::read(path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .inspect_err(|error| tracing::warn!("{} is damaged and not used: {error}", path.display()))
                .ok(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                tracing::warn!("cannot read {}: {error}", path.display());
                None
            }
        });
        Self { given: given.unwrap_or_default(), file }
    }

    /// Remembers grants, all with one write. What cannot be written is still known until this process ends.
    pub(crate) fn remember<'a>(&mut self, grants: impl Iterator<Item = &'a Grant>) {
        let before = self.given.clone();
        grants.for_each(|grant| self.given.remember(grant));
        if self.given == before {
            return;
        }
        if let Some(path) = &self.file
            && let Err(error) = self.write(path)
        {
            tracing::warn!(
                "cannot write {}: {error}; it is remembered until the agent restarts",
                path.display()
            );
        }
    }

    /// Checks that a device still is what a container was given.
    pub(crate) fn check(&self, grant: &Grant) -> Result<(), AllocateError> {
        self.given.check(grant)
    }

    fn write(&self, path: &std::path::Path) -> io::Result<()> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let next = path.with_extension("next");
        fs::write(&next, serde_json::to_vec(&self.given)?)?;
        fs::rename(next, path)
    }
}
