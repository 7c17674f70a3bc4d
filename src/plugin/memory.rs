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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::health::{Health, HealthState, reason};
    use crate::inventory::{CharDevice, Identity};
    use crate::plugin::DeviceNodes;
    use crate::pool::PoolDevice;

    fn grant(uverbs: &str, minor: u32) -> Grant {
        let device = PoolDevice {
            id: "rxe0".into(),
            index: 1,
            device: "rxe0".into(),
            identity: Identity::Name("rxe0".into()),
            numa_node: None,
            env_key: "RXE0".into(),
            netdev: None,
            gid_index: None,
            health: Health::new(HealthState::Healthy, reason::PORTS_ACTIVE, ""),
        };
        let uverbs = CharDevice { name: uverbs.into(), major: 231, minor, abi: None };
        Grant { device, nodes: DeviceNodes { device: "rxe0".into(), uverbs } }
    }

    #[test]
    fn what_was_given_outlives_the_process() {
        let dir = tempfile::tempdir().unwrap();
        let file = Some(dir.path().join("given/rdma_rxe0.json"));
        Memory::open(file.clone()).remember([grant("uverbs0", 192)].iter());
        let after = Memory::open(file);
        assert!(after.check(&grant("uverbs0", 192)).is_ok());
        let error = after.check(&grant("uverbs1", 193)).unwrap_err();
        assert!(matches!(error, AllocateError::Renumbered { .. }), "{error}");
    }

    #[test]
    fn a_damaged_memory_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("rdma_rxe0.json");
        fs::write(&file, "{").unwrap();
        assert!(Memory::open(Some(file)).check(&grant("uverbs1", 193)).is_ok());
    }
}
