//! The PCI function below a device.

use std::path::Path;

use serde::Serialize;

use super::{Result, Sysfs};

/// A PCI function.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Pci {
    /// `0000:1a:00.0`
    pub address: String,
    /// Vendor id, four hex digits.
    pub vendor: Option<String>,
    /// Device id, four hex digits.
    pub device: Option<String>,
    /// NUMA node; `None` where the kernel says −1.
    pub numa_node: Option<u32>,
    /// The root complex: `pci0000:15`.
    pub root: Option<String>,
    /// For a virtual function, the address of its physical function.
    pub physfn: Option<String>,
}

impl Sysfs {
    /// The PCI function of a device; `None` for a virtual device or one on another bus.
    ///
    /// # Errors
    /// When a file is there and cannot be read.
    pub fn pci(&self, device: &str) -> Result<Option<Pci>> {
        let link = Self::ib(device).join("device");
        let path = match self.tree.target(&link) {
            Ok(path) => path,
            Err(error) if super::absent(&error) => return Ok(None),
            Err(source) => return Err(self.failure(&link, source)),
        };
        let Some(address) = file_name(&path).filter(|name| is_pci_address(name)) else { return Ok(None) };
        let id = |name: &str| -> Result<Option<String>> {
            Ok(self.read(&link.join(name))?.map(|text| text.trim_start_matches("0x").to_owned()))
        };
        let numa_node = self.read(&link.join("numa_node"))?.and_then(|text| text.parse().ok());
        let root = path.ancestors().filter_map(file_name).find(|name| name.starts_with("pci"));
        let physfn = self.tree.target(&link.join("physfn")).ok().as_deref().and_then(file_name);
        Ok(Some(Pci { address, vendor: id("vendor")?, device: id("device")?, numa_node, root, physfn }))
    }
}

fn file_name(path: &Path) -> Option<String> {
    Some(path.file_name()?.to_string_lossy().into_owned())
}

/// True for a PCI function's address: `0000:1a:00.0`.
#[must_use]
pub fn is_pci_address(name: &str) -> bool {
    let hex = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut parts = name.split(':');
    let (Some(domain), Some(bus), Some(rest), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    let Some((slot, function)) = rest.split_once('.') else { return false };
    [domain, bus, slot, function].into_iter().all(hex)
}
