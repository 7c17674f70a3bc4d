//! Reading sysfs for a snapshot: what fails is a fault of the machine.

use std::collections::BTreeMap;

use super::super::document::{Fault, Gid, Pci};
use super::super::errno;
use crate::sysfs::{Failure, Sysfs};

/// A sysfs, and what went wrong in it.
pub(super) struct Files {
    sysfs: Sysfs,
    /// Files that are there and cannot be read.
    pub(super) faults: Vec<Fault>,
    /// What a document cannot say.
    pub(super) notes: Vec<String>,
}

impl Files {
    pub(super) fn new(sysfs: Sysfs) -> Self {
        Self { sysfs, faults: Vec::new(), notes: Vec::new() }
    }

    /// The text of a file, without its line end; `None` where there is none, it is empty, or the read fails.
    pub(super) fn text(&mut self, path: &str) -> Option<String> {
        let result = self.sysfs.text(path);
        self.noted(path, result).filter(|text| !text.is_empty())
    }

    fn noted(&mut self, path: &str, result: Result<Option<String>, Failure>) -> Option<String> {
        match result {
            Ok(text) => text,
            Err(failure) => {
                let errno = failure.source.raw_os_error().and_then(errno::name).unwrap_or("EIO");
                if !self.faults.iter().any(|fault| fault.path == path) {
                    self.faults.push(Fault { path: path.to_owned(), errno: errno.to_owned() });
                }
                None
            }
        }
    }

    /// A file of a device.
    pub(super) fn device(&mut self, device: &str, name: &str) -> Option<String> {
        self.text(&format!("class/infiniband/{device}/{name}"))
    }

    /// The texts of a folder's files; `None` where there is no folder. A file that fails is there, with no text.
    pub(super) fn folder(&mut self, path: &str) -> Option<BTreeMap<String, String>> {
        let names = self.sysfs.names(path).ok().flatten()?;
        let mut texts = BTreeMap::new();
        for name in names {
            let text = self.text(&format!("{path}/{name}")).unwrap_or_default();
            texts.insert(name, text);
        }
        Some(texts)
    }

    /// The PCI function below a device.
    pub(super) fn pci(&mut self, device: &str) -> Option<Pci> {
        let found = self.sysfs.pci(device).ok().flatten()?;
        let class = self.device(device, "device/class");
        Some(Pci {
            address: found.address,
            class: class.map(|text| text.trim_start_matches("0x").to_owned()),
            vendor: found.vendor,
            device: found.device,
            numa_node: self.device(device, "device/numa_node").and_then(|text| text.parse().ok()),
            root: found.root,
            physfn: found.physfn,
        })
    }

    /// The number of slots of a table of the port at `port`: `gids`, `pkeys`.
    fn slots(&mut self, port: &str, table: &str) -> Option<Vec<u32>> {
        let names = self.sysfs.names(format!("{port}/{table}")).ok().flatten()?;
        let mut slots: Vec<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
        slots.sort_unstable();
        Some(slots)
    }

    /// The whole P_Key table.
    pub(super) fn pkeys(&mut self, port: &str) -> Option<Vec<String>> {
        let slots = self.slots(port, "pkeys")?;
        let key = |slot| self.text(&format!("{port}/pkeys/{slot}")).unwrap_or_else(|| "0x0000".to_owned());
        Some(slots.into_iter().map(key).collect())
    }

    /// The size of the GID table, and its filled slots.
    pub(super) fn gids(&mut self, port: &str) -> (u32, Vec<Gid>) {
        let slots = self.slots(port, "gids").unwrap_or_default();
        let size = slots.last().map_or(0, |last| last.saturating_add(1));
        let mut gids = Vec::new();
        for index in slots {
            let Some(gid) = self.slot(&format!("{port}/gids/{index}")) else { continue };
            if gid.bytes().all(|byte| matches!(byte, b'0' | b':')) {
                continue;
            }
            let gid_type = self.slot(&format!("{port}/gid_attrs/types/{index}"));
            let netdev = self.slot(&format!("{port}/gid_attrs/ndevs/{index}"));
            gids.push(Gid { index, gid, gid_type, netdev });
        }
        (size, gids)
    }

    /// EINVAL is how the kernel says that a slot is empty or has no netdev.
    fn slot(&mut self, path: &str) -> Option<String> {
        let result = match self.sysfs.text(path) {
            Err(failure) if failure.source.kind() == std::io::ErrorKind::InvalidInput => Ok(None),
            other => other,
        };
        self.noted(path, result).filter(|text| !text.is_empty())
    }
}
