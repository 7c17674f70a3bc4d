//! The ownership file: which links this agent has made, so that it never deletes one that it has not.
//!
//! A record is on disk before the kernel is asked for the link. What is found after a crash in between is
//! settled by name, type and netdev.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::api::{DeletionPolicy, LinkType};

/// One link that we have made, or were about to make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Owned {
    /// Name of the SoftRdmaLink.
    pub name: String,
    /// rxe or siw.
    #[serde(rename = "type")]
    pub link_type: LinkType,
    /// Device name asked for.
    pub device: String,
    /// Netdev it is on.
    pub netdev: String,
    /// Kernel index of the device; absent until it has been seen.
    pub index: Option<u32>,
    /// What to do when nobody wants it any more.
    pub deletion_policy: DeletionPolicy,
    /// Generation of the SoftRdmaLink last acted on.
    pub generation: i64,
}

/// Records by uid of the SoftRdmaLink.
pub type Records = BTreeMap<String, Owned>;

/// The file's content.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Content {
    /// /proc/sys/kernel/random/boot_id.
    boot_id: String,
    links: Records,
}

/// Cannot read or write the ownership file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Reading failed.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It is no ownership file.
    #[error("{} is damaged. Remove it to go on: the links it recorded are then nobody's, and adopt: IfIdentical takes them over", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// Writing failed.
    #[error("cannot write {}: no link is made that could not be recorded", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// The ownership file of this node.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    boot_id: String,
    records: Records,
}

impl Ledger {
    /// Reads the file; a missing one is empty. Soft links end with the boot that made them, so what an earlier
    /// boot recorded is gone: a device of that name now is somebody else's.
    ///
    /// # Errors
    /// When it is there and cannot be read or understood.
    pub fn open(path: impl Into<PathBuf>, boot_id: &str) -> Result<Self, Error> {
        let path = path.into();
        let content: Content = match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map_err(|source| Error::Damaged { path: path.clone(), source })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Content::default(),
            Err(source) => return Err(Error::Read { path, source }),
        };
        let records = if content.boot_id == boot_id { content.links } else { Records::new() };
        Ok(Self { path, boot_id: boot_id.to_owned(), records })
    }

    /// What is recorded.
    #[must_use]
    pub fn records(&self) -> &Records {
        &self.records
    }

    /// Changes the records and brings them to disk; when that fails the records are as before.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn update(&mut self, change: impl FnOnce(&mut Records)) -> Result<(), Error> {
        let before = self.records.clone();
        change(&mut self.records);
        if before == self.records {
            return Ok(());
        }
        let content = Content { boot_id: self.boot_id.clone(), links: self.records.clone() };
        write_durably(&self.path, &content).map_err(|source| {
            self.records = before;
            Error::Write { path: self.path.clone(), source }
        })
    }
}

/// Writes JSON beside `path`, syncs it, renames it over, and syncs the folder.
///
/// # Errors
/// The first step that fails; `path` is then as before.
pub fn write_durably(path: &Path, content: &impl Serialize) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let next = path.with_extension("next");
    let mut file = File::create(&next)?;
    file.write_all(&serde_json::to_vec_pretty(content)?)?;
    file.sync_all()?;
    fs::rename(&next, path)?;
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned() -> Owned {
        Owned {
            name: "rxe0".into(),
            link_type: LinkType::Rxe,
            device: "rxe0".into(),
            netdev: "eth0".into(),
            index: Some(3),
            deletion_policy: DeletionPolicy::Delete,
            generation: 1,
        }
    }

    #[test]
    fn b72_records_outlive_a_restart_and_end_with_the_boot() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state/links.json");
        let mut ledger = Ledger::open(&path, "boot-1").unwrap();
        ledger.update(|records| drop(records.insert("u1".into(), owned()))).unwrap();
        assert_eq!(Ledger::open(&path, "boot-1").unwrap().records()["u1"], owned());
        assert!(Ledger::open(&path, "boot-2").unwrap().records().is_empty());
    }

    #[test]
    fn a_damaged_file_is_named_and_left_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("links.json");
        fs::write(&path, "{").unwrap();
        let error = Ledger::open(&path, "boot-1").unwrap_err();
        assert!(error.to_string().contains("links.json is damaged"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"{");
    }

    #[test]
    fn what_cannot_be_written_is_not_recorded() {
        let dir = tempfile::tempdir().unwrap();
        // A folder stands where the file should go.
        let path = dir.path().join("links.json");
        let mut ledger = Ledger::open(&path, "boot-1").unwrap();
        fs::create_dir(&path).unwrap();
        let error = ledger.update(|records| drop(records.insert("u1".into(), owned()))).unwrap_err();
        assert!(matches!(error, Error::Write { .. }), "{error}");
        assert!(ledger.records().is_empty());
    }
}
