//! What only sysfs tells: GIDs, PCI, modules, rates, and the char devices where netlink is silent.
//!
//! The root is a parameter. Absence (`ENOENT`, `ENOTDIR`) is `None`: most files exist for some drivers only.
//! Everything else that goes wrong is a [`Failure`] naming the file.

mod chardev;
mod gid;
mod pci;
mod tree;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use chardev::{CharDevice, MadNodes, NodeStamp};
pub use gid::{Gid, GidScope, GidType, parse_gid, scope};
pub use pci::{Pci, is_pci_address};
pub use tree::{Entry, Tree};

/// A file that is there but cannot be read or understood.
#[derive(Debug, thiserror::Error)]
#[error("{}", path.display())]
pub struct Failure {
    /// The file.
    pub path: PathBuf,
    /// Why.
    #[source]
    pub source: io::Error,
}

/// Result of a read.
pub type Result<T> = std::result::Result<T, Failure>;

/// A sysfs.
#[derive(Clone, Debug)]
pub struct Sysfs {
    tree: Arc<dyn Tree>,
}

impl Sysfs {
    /// The sysfs mounted at `root`, normally `/sys`.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self::of(Arc::new(tree::Mounted(root.into())))
    }

    /// The sysfs that `tree` shows.
    #[must_use]
    pub fn of(tree: Arc<dyn Tree>) -> Self {
        Self { tree }
    }

    fn ib(device: &str) -> PathBuf {
        Path::new("class/infiniband").join(device)
    }

    /// A file without its trailing white space; `None` when there is none.
    fn read(&self, path: &Path) -> Result<Option<String>> {
        match self.tree.read(path) {
            Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).trim_end().to_owned())),
            Err(error) if absent(&error) => Ok(None),
            Err(source) => Err(self.failure(path, source)),
        }
    }

    /// Sorted names in a folder; `None` when there is no such folder.
    fn list(&self, path: &Path) -> Result<Option<Vec<String>>> {
        match self.tree.list(path) {
            Ok(entries) => {
                let mut names: Vec<String> = entries.into_iter().map(|entry| entry.name).collect();
                names.sort();
                Ok(Some(names))
            }
            Err(error) if absent(&error) => Ok(None),
            Err(source) => Err(self.failure(path, source)),
        }
    }

    fn failure(&self, path: &Path, source: io::Error) -> Failure {
        Failure { path: self.tree.display(path), source }
    }

    fn malformed(&self, path: &Path, text: &str, expected: &str) -> Failure {
        let message = format!("{:?} is not {expected}", text.chars().take(64).collect::<String>());
        self.failure(path, io::Error::new(io::ErrorKind::InvalidData, message))
    }

    /// Any file, without its trailing white space; `None` when there is none. `path` is relative to the root.
    ///
    /// # Errors
    /// When it is there and cannot be read.
    pub fn text(&self, path: impl AsRef<Path>) -> Result<Option<String>> {
        self.read(path.as_ref())
    }

    /// Sorted names in any folder; `None` when there is no such folder. `path` is relative to the root.
    ///
    /// # Errors
    /// When it is there and cannot be read.
    pub fn names(&self, path: impl AsRef<Path>) -> Result<Option<Vec<String>>> {
        self.list(path.as_ref())
    }

    /// A file of a device, without its trailing newline: `fw_ver`, `node_guid`, …
    ///
    /// # Errors
    /// When it is there and cannot be read.
    pub fn device_file(&self, device: &str, name: &str) -> Result<Option<String>> {
        self.read(&Self::ib(device).join(name))
    }

    /// A file of a port: `state`, `rate`, `link_layer`, …
    ///
    /// # Errors
    /// When it is there and cannot be read.
    pub fn port_file(&self, device: &str, port: u32, name: &str) -> Result<Option<String>> {
        self.read(&Self::port(device, port).join(name))
    }

    /// Numbers of a device's ports, ascending.
    ///
    /// # Errors
    /// When the folder is there and cannot be read.
    pub fn ports(&self, device: &str) -> Result<Vec<u32>> {
        let names = self.list(&Self::ib(device).join("ports"))?.unwrap_or_default();
        let mut numbers: Vec<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// The PCI function below a netdev: `0000:1b:00.0`; `None` for a virtual one or one on another bus.
    #[must_use]
    pub fn netdev_pci(&self, netdev: &str) -> Option<String> {
        let target = self.tree.target(&Path::new("class/net").join(netdev).join("device")).ok()?;
        let name = target.file_name()?.to_string_lossy().into_owned();
        is_pci_address(&name).then_some(name)
    }

    fn port(device: &str, port: u32) -> PathBuf {
        Self::ib(device).join("ports").join(port.to_string())
    }

    /// Names of the devices that sysfs shows, sorted. `None`: there is no class folder, so no RDMA.
    ///
    /// # Errors
    /// When the folder is there and cannot be read.
    pub fn devices(&self) -> Result<Option<Vec<String>>> {
        self.list(Path::new("class/infiniband"))
    }

    /// The kernel module of the function below a device (`mlx5_core`); `None` for virtual and unbound ones.
    #[must_use]
    pub fn driver_module(&self, device: &str) -> Option<String> {
        let target = self.tree.target(&Self::ib(device).join("device/driver")).ok()?;
        Some(target.file_name()?.to_string_lossy().into_owned())
    }

    /// Loaded or built-in modules of RDMA: the core, user access, soft drivers and whatever needs the core.
    ///
    /// # Errors
    /// When the module folder cannot be read.
    pub fn rdma_modules(&self) -> Result<Vec<String>> {
        let all = self.list(Path::new("module"))?.unwrap_or_default();
        let mut names: Vec<String> = all.into_iter().filter(|name| is_rdma_module(name)).collect();
        // Vendors' drivers are those that hold the core.
        let holders = self.list(Path::new("module/ib_core/holders"))?.unwrap_or_default();
        names.extend(holders);
        names.sort();
        names.dedup();
        Ok(names)
    }

    /// True when the module is loaded or built in.
    #[must_use]
    pub fn has_module(&self, name: &str) -> bool {
        self.tree.is_dir(&Path::new("module").join(name))
    }

    /// The partition keys of a port that are set, in table order, and what of the table cannot be read.
    #[must_use]
    pub fn pkeys(&self, device: &str, port: u32) -> (Vec<u16>, Vec<Failure>) {
        let folder = Self::port(device, port).join("pkeys");
        self.numbered(&folder, |index, text| {
            let text = text?;
            match u16::from_str_radix(text.trim_start_matches("0x"), 16) {
                Ok(key) => Ok(Some(key).filter(|key| *key != 0)),
                Err(_) => {
                    Err(self.malformed(&folder.join(index.to_string()), &text, "a partition key like 0xffff"))
                }
            }
        })
    }

    /// What `parse` makes of the files 0, 1, 2, … of a folder. A table has no gaps, so that it need not be listed.
    fn numbered<T>(
        &self,
        folder: &Path,
        parse: impl Fn(u32, Result<String>) -> Result<Option<T>>,
    ) -> (Vec<T>, Vec<Failure>) {
        let (mut entries, mut failures) = (Vec::new(), Vec::new());
        let mut end = u32::MAX;
        for index in 0.. {
            if index >= end {
                break;
            }
            let entry = match self.read(&folder.join(index.to_string())) {
                Ok(None) => break,
                Ok(Some(text)) => parse(index, Ok(text)),
                Err(failure) => parse(index, Err(failure)),
            };
            match entry {
                Ok(entry) => entries.extend(entry),
                Err(failure) => {
                    if failures.is_empty() {
                        // Where nothing can be read, nothing says where the table ends.
                        end = self.list(folder).ok().flatten().map_or(0, |names| {
                            names
                                .iter()
                                .filter_map(|name| name.parse::<u32>().ok())
                                .max()
                                .map_or(0, |last| last.saturating_add(1))
                        });
                    }
                    failures.push(failure);
                }
            }
        }
        (entries, failures)
    }
}

fn is_rdma_module(name: &str) -> bool {
    const NAMES: [&str; 11] = [
        "iw_cm",
        "siw",
        "irdma",
        "erdma",
        "efa",
        "hfi1",
        "mana_ib",
        "nvme_rdma",
        "nvmet_rdma",
        "rds_rdma",
        "rpcrdma",
    ];
    name.starts_with("ib_") || name.starts_with("rdma_") || name.ends_with("_ib") || NAMES.contains(&name)
}

/// The number of a file that prints it as hex or as decimal: `0x7`, `7`.
#[must_use]
pub fn number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// The number of a file that prints its name behind it: `4: ACTIVE` → 4.
#[must_use]
pub fn named_number(text: &str) -> Option<u8> {
    text.split_once(':')?.0.trim().parse().ok()
}

fn absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests;
