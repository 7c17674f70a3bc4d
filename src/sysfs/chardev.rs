//! Char devices of RDMA devices, as their classes show them.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::tree::Entry;
use super::{Result, Sysfs};

const VERBS: &str = "class/infiniband_verbs";
const MAD: &str = "class/infiniband_mad";

/// A character device node below `/dev/infiniband`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CharDevice {
    /// `uverbs0`
    pub name: String,
    /// Device major number.
    pub major: u32,
    /// Device minor number.
    pub minor: u32,
    /// The kernel ABI that user space drivers must know.
    pub abi: Option<u64>,
}

/// `umad0` and `issm0` by device and port.
pub type MadNodes = BTreeMap<(String, u32), (Option<String>, Option<String>)>;

/// Which nodes there are. A node that has come anew under an old name makes a stamp another: the kernel gives each
/// file of sysfs a number of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeStamp {
    verbs: Vec<Entry>,
    mad: Vec<Entry>,
}

impl Sysfs {
    /// Which char devices there are now. `None` where sysfs does not tell.
    #[must_use]
    pub fn node_stamp(&self) -> Option<NodeStamp> {
        let entries = |class: &str| {
            let mut entries = self.tree.list(Path::new(class)).ok()?;
            entries.sort();
            Some(entries)
        };
        // Without ib_umad there is no such class, and its coming is a change.
        Some(NodeStamp { verbs: entries(VERBS)?, mad: entries(MAD).unwrap_or_default() })
    }

    /// The user MAD and subnet manager nodes of all ports, by device and port: the class is read once.
    ///
    /// # Errors
    /// When the class folder is there and cannot be read.
    pub fn mad_nodes(&self) -> Result<MadNodes> {
        let class = Path::new(MAD);
        let mut nodes = MadNodes::new();
        for name in self.list(class)?.unwrap_or_default() {
            let file = |file: &str| self.read(&class.join(&name).join(file)).ok().flatten();
            // A node that goes meanwhile is not there.
            let place = file("ibdev").and_then(|device| Some((device, file("port")?.parse().ok()?)));
            let Some(place) = place else { continue };
            let (umad, issm) = nodes.entry(place).or_default();
            let node = if name.starts_with("umad") { umad } else { issm };
            node.get_or_insert(name);
        }
        Ok(nodes)
    }

    /// The verbs node of a device by scanning the class: for kernels without GET_CHARDEV (before 5.3).
    ///
    /// # Errors
    /// When a file is there and cannot be read.
    pub fn uverbs(&self, device: &str) -> Result<Option<CharDevice>> {
        let class = Path::new(VERBS);
        for name in self.list(class)?.unwrap_or_default() {
            if self.read(&class.join(&name).join("ibdev")).ok().flatten().as_deref() != Some(device) {
                continue;
            }
            let path = class.join(&name).join("dev");
            let Some(text) = self.read(&path)? else { continue };
            let numbers = text.split_once(':').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
            let Some((major, minor)) = numbers else {
                return Err(self.malformed(&path, &text, "major:minor"));
            };
            let abi = self.read(&class.join(&name).join("abi_version"))?.and_then(|text| text.parse().ok());
            return Ok(Some(CharDevice { name, major, minor, abi }));
        }
        Ok(None)
    }
}
